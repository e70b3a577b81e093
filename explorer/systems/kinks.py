"""Formulas of a motion that may jump or have a kink, where error estimates fail."""

from __future__ import annotations

import sympy as sp

__all__ = ["SHARP", "sharp_formulas"]

SHARP = (
    sp.Abs,
    sp.sign,
    sp.Min,
    sp.Max,
    sp.Heaviside,
    sp.Piecewise,
    sp.floor,
    sp.ceiling,
    sp.Mod,
)


def sharp_formulas(system: object) -> list[sp.Expr]:
    """Return the formulas of a system's motion that may jump or have a kink.

    What a `StepSystem` rewrites to step functions has none left.
    """
    flows = [x for mode in getattr(system, "modes", ()) for x in getattr(mode, "flow", ())]
    mass = list(getattr(system, "inertia", {}).values())
    own = [*getattr(system, "force", ()), *getattr(system, "f", ()), *mass, *flows]
    return [x for x in map(sp.sympify, own) if x.has(*SHARP)]
