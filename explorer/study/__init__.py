"""Studies: what many runs of one system say together."""

from explorer.study.limit_cycle import LimitCycle, limit_cycle
from explorer.study.oscillator import Oscillation, oscillation
from explorer.study.power_law import PowerLaw, power_law
from explorer.study.return_map import Return, ReturnMap
from explorer.study.stability import Stability, stability, stability_table

__all__ = [
    "LimitCycle",
    "Oscillation",
    "PowerLaw",
    "Return",
    "ReturnMap",
    "Stability",
    "limit_cycle",
    "oscillation",
    "power_law",
    "stability",
    "stability_table",
]
