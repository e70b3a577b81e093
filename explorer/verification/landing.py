"""Orbits of a map that end on a cycle that repels: only round-off, or a chosen start, leads there.

Doubles have 53 binary digits. A map such as x -> 2 x mod 1, or the tent map of slope 2, takes one
of them away in each iterate without error, so any orbit of theirs ends at 0: that is no property of
the map.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.compiled.maps import CompiledMap
from explorer.types import Reals

__all__ = ["landed", "sentence"]

_LONGEST = 12  # iterates of a cycle
_REPELS = 1 + 1e-6  # multiplier of a direction


def landed(compiled: CompiledMap, x: Reals, rho: Reals) -> np.ndarray | None:
    """Return the states (period, n) of the cycle on which x lies exactly, if it repels all around.

    None: x lies on no short cycle, or some direction of the cycle does not repel.
    """
    n = compiled.n_x
    inp, native = compiled.input(rho), compiled.tangents
    states, product = [np.array(x, float)], np.eye(n)
    with np.errstate(all="ignore"):
        for _ in range(_LONGEST):
            inp[1 : 1 + n] = states[-1]
            out = native(inp)
            product = out[n : n + n * n].reshape(n, n) @ product
            if not (np.isfinite(out[:n]).all() and np.isfinite(product).all()):
                return None
            if np.array_equal(out[:n], states[0]):
                least = np.abs(np.linalg.eigvals(product)).min()
                return np.array(states) if least > _REPELS else None
            states.append(out[:n].copy())
    return None


def sentence(names: Sequence[str], x: np.ndarray) -> str:
    """Return what is to be said of an orbit that has come to x."""
    place = ", ".join(f"{k} = {v:.6g}" for k, v in zip(names, x, strict=True))
    return (
        f"comes exactly to {place}, a cycle that repels: a start that was chosen for it leads "
        "there, or binary numbers that lose a digit at each iterate, as they do where a map "
        "doubles. Of the map it says nothing. Use parameters that are no binary fractions, such "
        "as 1.9999999 instead of 2."
    )
