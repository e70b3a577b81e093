"""Bilinear springs with kinematic hardening: a force that remembers how far it has slipped.

A spring of stiffness k yields at the force f_y; beyond, its stiffness is b k. In parallel: b k u,
and (1 - b) k (u - z) held within (1 - b) f_y by the slip z (the model known as Steel01 without
isotropic hardening). z is committed when a step is, never inside a Newton iteration.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.model.inputs import evaluate
from explorer.kernels.model.structures import SPRINGS, Bundles
from explorer.kernels.structures import Integers, Vector

__all__ = ["Springs", "bilinear", "spring_forces", "springs_at_rest"]


class Springs(NamedTuple):
    """The springs, and how far they have slipped.

    Their bundle writes the elongations u, then k, f_y, b of each, then du/dq by `pattern`.
    """

    pattern: Integers  # pattern[s] to pattern[s + 1] are the places, in `pattern` itself, of the
    # coordinates on which the elongation of spring s depends, and of du/dq among the outputs
    committed: Vector  # (k,) slip at the start of the step
    trial: Vector  # (k,) slip at the state of the last evaluation


def springs_at_rest(pattern: np.ndarray, count: int) -> Springs:
    """Return springs that have not slipped."""
    return Springs(pattern, np.zeros(count), np.zeros(count))


@kernel(inline=True)
def bilinear(bundles: Bundles, springs: Springs, F: Vector, K: Vector, tangent: bool) -> None:
    """Subtract the springs' forces at the input vector from F; `tangent`: add their stiffness to K.

    The slip at this state becomes the trial slip. F (n,), K flat (n, n).
    """
    out, pattern, committed = bundles.out, springs.pattern, springs.committed
    count, n = committed.size, F.size
    evaluate(bundles, SPRINGS)
    at = 4 * count - (count + 1)  # the pattern begins with its own places
    for s in range(count):
        u = out[s]
        k, yields, b = out[count + s], out[2 * count + s], out[3 * count + s]
        z = committed[s]
        trial = (1.0 - b) * k * (u - z)
        most = (1.0 - b) * yields
        stiffness = k
        if abs(trial) > most:
            trial = most if trial > 0.0 else -most
            z = u - trial / ((1.0 - b) * k)
            stiffness = b * k
        springs.trial[s] = z
        pull = b * k * u + trial
        for p in range(pattern[s], pattern[s + 1]):
            i, g = pattern[p], out[at + p]
            F[i] -= g * pull
            if tangent:
                for r in range(pattern[s], pattern[s + 1]):
                    K[i * n + pattern[r]] += stiffness * g * out[at + r]


@kernel()
def spring_forces(bundles: Bundles, springs: Springs, F: Vector, K: Vector) -> None:
    """`bilinear` with its stiffness, for a call from Python."""
    bilinear(bundles, springs, F, K, True)
