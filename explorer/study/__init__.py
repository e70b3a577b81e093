"""Studies: what many runs of one system say together."""

from explorer.study.limit_cycle import LimitCycle, limit_cycle
from explorer.study.power_law import PowerLaw, power_law
from explorer.study.return_map import Return, ReturnMap

__all__ = ["LimitCycle", "PowerLaw", "Return", "ReturnMap", "limit_cycle", "power_law"]
