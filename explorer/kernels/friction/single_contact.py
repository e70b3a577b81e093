"""One contact with Coulomb friction, in closed form or nearly so: w = D P + q, all others held.

Along a line the cases open, sticking, sliding either way are tried. In space, with w_n = 0 and P_n
eliminated (S: Schur complement), sliding is w_T = -alpha P_T::

    P_T(alpha) = -(S + alpha)^-1 s,     mu P_n(alpha) / |P_T(alpha)| = 1

whose left side is linear in alpha where S is a multiple of one; Newton's method on it, kept inside
a bracket, needs a few steps else. (The equation is the quartic of Bonnefon and Daviet, *Quartic
formulation of Coulomb 3D frictional contact*, INRIA 2011, in the form of a secular equation.)
"""

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.structures import Vector

__all__ = ["MARGIN", "NONE", "OPEN", "STICK", "in_plane", "off_cone", "on_line"]

# what a contact does; +1 and -1: it slides this way, in space +1; NONE: no case fits
OPEN, STICK, NONE = 0, 2, 3
# of the tolerance, at which solvers aim: the laws are judged in other norms than theirs, at most so
# many times larger
MARGIN = 0.1


@kernel(inline=True)
def on_line(
    nn: float, nt: float, tn: float, tt: float, mu: float, q_n: float, q_t: float
) -> tuple[float, float, float]:
    """Return P_n, P_t and what the contact does: open, sticking or sliding, the first that fits."""
    if q_n >= 0.0:
        return 0.0, 0.0, OPEN * 1.0
    determinant = nn * tt - nt * tn
    if determinant > 1e-14 * nn * tt:
        P_n, P_t = (q_t * nt - q_n * tt) / determinant, (q_n * tn - q_t * nn) / determinant
        if P_n >= 0.0 and abs(P_t) <= mu * P_n:
            return P_n, P_t, STICK * 1.0
    for sign in (1.0, -1.0):
        unit = nn - sign * mu * nt
        if unit > 0.0:
            P_n = -q_n / unit
            along, across = tn * P_n, sign * mu * tt * P_n
            slack = 1e-14 * (abs(along) + abs(across) + abs(q_t))
            if sign * (along - across + q_t) >= -slack:
                return P_n, -sign * mu * P_n, sign
    return 0.0, 0.0, NONE * 1.0


@kernel(inner=True)
def in_plane(
    B: Vector, at: int, mu: float, q_n: float, q_1: float, q_2: float
) -> tuple[float, float, float, float]:
    """Return P_n, P_1, P_2 and what the contact does.

    Parameters
    ----------
    B, at : B[at : at + 9] is its block of D, row by row: normal, first, second direction
    """
    if q_n >= 0.0:
        return 0.0, 0.0, 0.0, OPEN * 1.0
    nn = B[at]
    if not nn > 0.0:
        return 0.0, 0.0, 0.0, NONE * 1.0
    P_n = -q_n / nn
    a_1, a_2 = B[at + 1] / nn, B[at + 2] / nn
    s_1, s_2 = q_1 + B[at + 3] * P_n, q_2 + B[at + 6] * P_n
    S_11, S_12 = B[at + 4] - B[at + 3] * a_1, B[at + 5] - B[at + 3] * a_2
    S_21, S_22 = B[at + 7] - B[at + 6] * a_1, B[at + 8] - B[at + 6] * a_2
    trace, most = S_11 + S_22, B[at + 4] + B[at + 8]
    alpha, low, high = 0.0, 0.0, np.inf
    determinant = S_11 * S_22 - S_12 * S_21
    singular = not (determinant > 1e-14 * trace * trace and trace > 1e-13 * most)
    if not singular:
        P_1, P_2 = (S_12 * s_2 - S_22 * s_1) / determinant, (S_21 * s_1 - S_11 * s_2) / determinant
        normal = P_n - a_1 * P_1 - a_2 * P_2
        if normal >= 0.0 and np.sqrt(P_1 * P_1 + P_2 * P_2) <= mu * normal:
            return normal, P_1, P_2, STICK * 1.0
    else:  # one direction has no answer: it sticks as good as never, or has nothing to hold
        rest = 1e-13 * (abs(q_1) + abs(q_2) + (abs(B[at + 3]) + abs(B[at + 6])) * P_n)
        if abs(s_1) + abs(s_2) <= rest:
            return P_n, 0.0, 0.0, STICK * 1.0
        if not trace > 1e-13 * most:
            S_11, S_12, S_21, S_22, trace = 0.0, 0.0, 0.0, 0.0, most
        alpha = 1e-8 * trace
    if mu < 1e-100:  # nothing beside P_n
        return P_n, 0.0, 0.0, 1.0
    if not trace > 0.0:
        return 0.0, 0.0, 0.0, NONE * 1.0
    normal, P_1, P_2, off = 0.0, 0.0, 0.0, np.inf
    for _ in range(100):
        T_11, T_22 = S_11 + alpha, S_22 + alpha
        determinant = T_11 * T_22 - S_12 * S_21
        P_1, P_2 = (S_12 * s_2 - T_22 * s_1) / determinant, (S_21 * s_1 - T_11 * s_2) / determinant
        normal, size = P_n - a_1 * P_1 - a_2 * P_2, np.sqrt(P_1 * P_1 + P_2 * P_2)
        off = mu * normal / size - 1.0
        if singular and off >= 0.0 and alpha * size <= 1e-4 * (abs(s_1) + abs(s_2)):
            r_1, r_2 = alpha * P_1, alpha * P_2  # what it still slides, -w_T
            P_1 += (T_22 * r_1 - S_12 * r_2) / determinant
            P_2 += (T_11 * r_2 - S_21 * r_1) / determinant
            return P_n - a_1 * P_1 - a_2 * P_2, P_1, P_2, STICK * 1.0
        if off < 0.0:
            low = alpha
        else:
            high = alpha
        # the derivatives of P_T, then of the quotient
        d_1, d_2 = (S_12 * P_2 - T_22 * P_1) / determinant, (S_21 * P_1 - T_11 * P_2) / determinant
        along = (P_1 * d_1 + P_2 * d_2) / (size * size)
        slope = mu * (-a_1 * d_1 - a_2 * d_2 - normal * along) / size
        new = alpha - off / slope if slope > 0.0 else np.inf
        if abs(off) <= 4e-16 or abs(new - alpha) <= 1e-15 * (alpha + trace):
            break
        if not low < new < high:
            new = 0.5 * (low + high) if high < np.inf else 2.0 * alpha + trace
        alpha = new
    ratio = 1.0 + off
    if not abs(off) <= 1e-6:
        return 0.0, 0.0, 0.0, NONE * 1.0
    return normal, ratio * P_1, ratio * P_2, 1.0


@kernel(inline=True)
def off_cone(
    unit: float,
    mu: float,
    P_n: float,
    P_1: float,
    P_2: float,
    w_n: float,
    w_1: float,
    w_2: float,
    shift: float,
) -> float:
    """Return |unit P - proj(unit P - w - shift n)|, the projection being that on the cone of mu.

    With shift = mu |w_T| it vanishes where Coulomb's law holds (De Saxce's bipotential); NaN if
    anything is.
    """
    y_n, y_1, y_2 = unit * P_n - w_n - shift, unit * P_1 - w_1, unit * P_2 - w_2
    size = np.sqrt(y_1 * y_1 + y_2 * y_2)
    if np.isnan(mu) or not np.isfinite(size + y_n):
        return np.nan
    if mu * size <= -y_n:
        y_n = y_1 = y_2 = 0.0
    elif size > mu * y_n:
        y_n = (mu * size + y_n) / (1.0 + mu * mu)
        ratio = mu * y_n / size
        y_1, y_2 = ratio * y_1, ratio * y_2
    off_n, off_1, off_2 = unit * P_n - y_n, unit * P_1 - y_1, unit * P_2 - y_2
    return np.sqrt(off_n * off_n + off_1 * off_1 + off_2 * off_2)
