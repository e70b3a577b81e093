"""Whether constraints depend on each other where a step could not be made."""

from __future__ import annotations

import numpy as np

from explorer.compiled.mechanical import Compiled
from explorer.quantities import quantity
from explorer.systems.assembly import dependence

__all__ = ["lost_rank"]

_SMALL = 1e-6  # of a gradient of length one: what is left beside the others


def lost_rank(compiled: Compiled, inp: np.ndarray, h: float) -> str:
    """Return a sentence that names constraints that are dependent at a state or a step behind it.

    Parameters
    ----------
    compiled : Compiled
    inp : (1 + 2 n + p,)
        Input vector at the last state.
    h : float
        Length of the step that was not made, in s.

    Returns
    -------
    str
        Empty if they are independent.
    """
    n = compiled.n
    for ahead in (0.0, h) if compiled.bound else ():
        there = inp.copy()
        there[0] += ahead
        there[1 : 1 + n] += ahead * inp[1 + n : 1 + 2 * n]
        G = compiled.constrained(compiled.matrices(there)[3])
        size = np.linalg.norm(G, axis=1, keepdims=True)
        if not np.isfinite(G).all():
            continue
        rows = G / np.where(size > 0, size, 1.0)
        if which := dependence(compiled.system.constraints, rows, _SMALL):
            return (
                f" Its constraints depend linearly on each other at t = "
                f"{quantity(there[0], compiled.system.time_unit)}: {which}, so their impulses are "
                "not determined there. Leave one out, or end before this time."
            )
    return ""
