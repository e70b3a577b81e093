"""Coulomb friction along lines as a linear complementarity problem in standard form.

With the velocities w = D P + q of the normals and tangents of contacts, P_t = -sigma mu P_n for a
contact that slides and P_t = lam_r - mu P_n for one that may stick (Glocker, *Set-Valued Force
Laws*, 2001, 6.5)::

    0 <= w_n             perp  P_n   >= 0
    0 <= w_t + a_l       perp  lam_r >= 0      a_l, a_r: what it moves left and right
    0 <= 2 mu P_n - lam_r  perp  a_l >= 0
"""

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["FREE", "standard_form"]

FREE = 2  # sigma of a contact that may stick


@kernel(inner=True)
def standard_form(
    D: Matrix,
    act: Integers,
    m: int,
    place: Integers,
    ratio: Vector,
    sigma: Integers,
    q: Vector,
    B: Matrix,
    g: Vector,
) -> int:
    """Write the matrix B and the vector g of the problem of m contacts; return its size.

    Its unknowns are P_n of all contacts and, behind them, lam_r and a_l of each that may stick.

    Parameters
    ----------
    D, act : rows act of D take part: m normals, then tangents
    place : (m,) where the tangent of a contact stands in `act`, or -1
    ratio : (m,) mu of a contact that may stick, sigma mu of one that slides
    sigma : by the place of a tangent in `act`: FREE, +1 or -1
    """
    size = m
    for k in range(m):
        if place[k] >= 0 and sigma[place[k]] == FREE:
            size += 2
    for i in range(size):
        for j in range(size):
            B[i, j] = 0.0
    at = m
    for k in range(m):
        t = place[k]
        free = t >= 0 and sigma[t] == FREE
        g[k] = q[k]
        row = m
        for i in range(m):
            B[i, k] = D[act[i], act[k]]
            if t >= 0:
                B[i, k] -= ratio[k] * D[act[i], act[t]]
            if free:
                B[i, at] = D[act[i], act[t]]
            s = place[i]
            if s >= 0 and sigma[s] == FREE:
                B[row, k] = D[act[s], act[k]]
                if t >= 0:
                    B[row, k] -= ratio[k] * D[act[s], act[t]]
                if free:
                    B[row, at] = D[act[s], act[t]]
                row += 2
        if free:  # the last row scaled like a velocity, for the tolerance of the solver
            unit = D[act[t], act[t]]
            B[at, at + 1] = unit
            B[at + 1, at] = -unit
            B[at + 1, k] = 2.0 * ratio[k] * unit
            g[at], g[at + 1] = q[t], 0.0
            at += 2
    return size
