"""The local error of a step of the Newmark family: its quadrature against Simpson's rule.

The equations are evaluated once more, in the middle of the step. With a_0, a_m, a_1 the
accelerations M^-1 F at the start, in the middle and at the end ::

    e_d = h^2 (a_0 + 2 a_m) / 6 - (d_1 - d_0 - h v_0)
    e_v = h (a_0 + 4 a_m + a_1) / 6 - (v_1 - v_0)

are the errors of d and v but for terms of fourth and fifth order. So whatever beta, gamma and the
alphas are, they do not vanish as long as the motion is not a polynomial that the step integrates
exactly: with beta = 1/6 the error is all in v. An error of v moves d by e_v / omega in the end,
with omega the frequency of the motion: of x = A sin(omega t + phi), at any phase,
omega^4 = (x'''^2 + k^2 x''''^2) / (x'^2 + k^2 x''^2).
"""

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Vector

__all__ = ["following", "local_error", "middle"]

SPAN = 8.0  # steps over which the frequency of the motion is seen: k = SPAN h


@kernel(inline=True)
def middle(
    n: int,
    h: float,
    d0: Vector,
    v0: Vector,
    a0: Vector,
    d1: Vector,
    v1: Vector,
    a1: Vector,
    state: Vector,
) -> None:
    """Write (d, v) in the middle of a step to `state` (2 n,): cubics through both ends."""
    for i in range(n):
        state[i] = 0.5 * (d0[i] + d1[i]) + 0.125 * h * (v0[i] - v1[i])
        state[n + i] = 0.5 * (v0[i] + v1[i]) + 0.125 * h * (a0[i] - a1[i])


@kernel(inline=True)
def local_error(
    n: int,
    h: float,
    longest: float,
    d0: Vector,
    v0: Vector,
    a0: Vector,
    am: Vector,
    a1: Vector,
    d1: Vector,
    v1: Vector,
) -> float:
    """Return the local error in m: max |e_d|, or max |e_v| / omega where that is more.

    1 / omega is at most `longest`, in s.
    """
    e_d, e_v, speed, pull, jerk, snap = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        moved = d1[i] - d0[i]
        off = h * h * (a0[i] + 2.0 * am[i]) / 6.0 - (moved - h * v0[i])
        if not abs(off) < np.inf:
            return np.inf
        e_d = max(e_d, abs(off))
        e_v = max(e_v, abs(h * (a0[i] + 4.0 * am[i] + a1[i]) / 6.0 - (v1[i] - v0[i])))
        speed = max(speed, abs(moved))  # the derivatives, each in units of h
        pull = max(pull, abs(am[i]))
        jerk = max(jerk, abs(a1[i] - a0[i]))
        snap = max(snap, abs(a0[i] - 2.0 * am[i] + a1[i]))
    if not e_v < np.inf:
        return np.inf
    top = jerk * jerk + (4.0 * SPAN * snap) ** 2
    bottom = speed * speed + (SPAN * h * h * pull) ** 2
    slow = longest
    if bottom < top * longest**4:
        slow = np.sqrt(np.sqrt(bottom / top))
    return max(e_d, e_v * slow)


@kernel(inline=True)
def following(
    error: float,
    tol: float,
    order: int,
    step: float,
    h: float,
    h_max: float,
    t1: float,
    t_end: float,
) -> float:
    """Return the h that follows a step to t1 of a method of this order; negative: repeat.

    A small change is not made: it is not worth a new factorisation. Factors come in 64ths, so that
    round-off in the error does not make other steps. A step that is too short to be repeated does
    not become shorter: near a singularity it would come to nothing, and time would stand still.
    """
    factor = 0.9 * (tol / max(error, 1e-300)) ** (1.0 / (order + 1.0))
    factor = np.floor(64.0 * min(factor, 2.0)) / 64.0
    if not error <= tol:
        return -step * max(0.2, factor) if step > 1e-12 * t_end else h
    if t1 < t_end and (factor > 1.3 or factor < 1.0):
        return min(step * factor, h_max)
    return h
