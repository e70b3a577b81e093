"""The system types: declarations only, checked when they are built."""

from __future__ import annotations

from explorer.errors import BadModel, suggest
from explorer.systems import numpy_functions  # noqa: F401  (a refusal of SymPy formulas)
from explorer.systems.base import System
from explorer.systems.constraints import Constraint
from explorer.systems.contacts import Contact
from explorer.systems.discs import DiscSystem
from explorer.systems.filippov import FilippovSystem
from explorer.systems.first_order import FirstOrderSystem
from explorer.systems.given import check_meant, check_start, check_step, check_system, values_given
from explorer.systems.hybrid import HybridSystem
from explorer.systems.lagrangian import LagrangianSystem
from explorer.systems.linear import LinearMechanicalSystem
from explorer.systems.maps import MapSystem
from explorer.systems.mechanical import MechanicalSystem
from explorer.systems.record import Record
from explorer.systems.springs import BilinearSpring
from explorer.systems.state_space import StateSpaceSystem
from explorer.systems.step import StepSystem
from explorer.types import Plain

__all__ = [
    "SYSTEMS",
    "BilinearSpring",
    "Constraint",
    "Contact",
    "DiscSystem",
    "FilippovSystem",
    "FirstOrderSystem",
    "HybridSystem",
    "LagrangianSystem",
    "LinearMechanicalSystem",
    "MapSystem",
    "MechanicalSystem",
    "Record",
    "StateSpaceSystem",
    "StepSystem",
    "System",
    "check_meant",
    "check_start",
    "check_step",
    "check_system",
    "from_spec",
    "values_given",
]


SYSTEMS: dict[str, type[System]] = {
    c.__name__: c
    for c in (
        MechanicalSystem,
        LinearMechanicalSystem,
        DiscSystem,
        HybridSystem,
        StepSystem,
        FilippovSystem,
        FirstOrderSystem,
        MapSystem,
    )
}


def from_spec(spec: Plain) -> System:
    """Build a system from the plain data of its ``to_spec()``."""
    kind = spec.get("type")
    if kind not in SYSTEMS:
        raise BadModel(f"There is no system type {kind!r}.{suggest(kind, SYSTEMS)}")
    return SYSTEMS[kind].from_spec(spec)
