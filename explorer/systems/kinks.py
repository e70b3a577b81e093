"""Kinks of a right-hand side within a mode, which estimates of errors by orders misjudge."""

from __future__ import annotations

from typing import Any

import sympy as sp

from explorer.systems.hybrid import HybridSystem
from explorer.systems.linear import LinearMechanicalSystem
from explorer.systems.mechanical import MechanicalSystem
from explorer.systems.step import StepSystem

__all__ = ["kinked"]

_SHARP = (
    sp.Abs, sp.sign, sp.Min, sp.Max, sp.Heaviside, sp.Piecewise, sp.floor, sp.ceiling, sp.Mod,
)  # fmt: skip


def kinked(system: Any) -> bool:
    """Whether x' has a kink or a jump in t or the state, as abs, max, cases and floor have.

    What a `StepSystem` rewrites to step functions has none left.
    """
    if "kinked" not in system.made:
        formulas: list[Any] = []
        if isinstance(system, HybridSystem):
            formulas = [f for mode in system.modes for f in mode.flow]
        elif isinstance(system, (StepSystem, LinearMechanicalSystem)):
            formulas = list(system.f)
        elif isinstance(system, MechanicalSystem):
            formulas = [*system.force, *system.inertia.values()]
        fixed = {sp.Symbol(name) for name in system.parameters}
        system.made["kinked"] = any(
            sharp.free_symbols - fixed
            for formula in formulas
            for sharp in sp.sympify(formula).atoms(*_SHARP)
        )
    return bool(system.made["kinked"])
