"""Studies: what many runs of one system say together."""

from typing import Any

from explorer.errors import NoSuchName
from explorer.study.end_state import EndCurve, EndState, end_state
from explorer.study.fesd_reference import FesdReference, fesd_reference
from explorer.study.limit_cycle import LimitCycle, limit_cycle
from explorer.study.modes import Modes, modes
from explorer.study.order_diagram import order_diagram
from explorer.study.oscillator import Oscillation, oscillation, oscillator
from explorer.study.power_law import PowerLaw, power_law
from explorer.study.return_map import Return, ReturnMap
from explorer.study.stability import Stability, stability, stability_table
from explorer.study.work_precision import WorkCurve, WorkPrecision, work_precision
from explorer.verification.energy_balance import EnergyBalance, energy_balance

__all__ = [
    "EndCurve",
    "EndState",
    "EnergyBalance",
    "FesdReference",
    "LimitCycle",
    "Modes",
    "Oscillation",
    "PowerLaw",
    "Return",
    "ReturnMap",
    "Stability",
    "WorkCurve",
    "WorkPrecision",
    "end_state",
    "energy_balance",
    "fesd_reference",
    "limit_cycle",
    "modes",
    "order_diagram",
    "oscillation",
    "oscillator",
    "power_law",
    "stability",
    "stability_table",
    "work_precision",
]


def __dir__() -> list[str]:
    """Offer the studies, not the modules that hold them."""
    return __all__


def __getattr__(name: str) -> Any:
    raise NoSuchName("explorer.study", name, lambda: __all__)
