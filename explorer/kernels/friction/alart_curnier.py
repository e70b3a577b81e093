"""Newton's method for all contacts with friction in space together.

With the projections on P_n >= 0 and on the disc of radius mu P_n, in the unit of each contact::

    P_n - proj(P_n - w_n) = 0,   P_T - proj(P_T - w_T) = 0,   w = D P + q

(Alart, Curnier, CMAME 92 (1991) 353.) Near a solution it needs a few steps. Far from one it may run
in circles, and redundant contacts make its matrix singular. There are two ways round::

    approach   w + soft (P - P_k) = 0 gives P_{k+1}: proximal points (Rockafellar, SIAM J. Control
               Optim. 14 (1976) 877), with `soft` the smaller the better this goes
    harden     w + soft P = 0: soft contacts, which are made harder: a path to the solution
"""

import numpy as np

from explorer.kernels.friction.cone_blocks import residual
from explorer.kernels.friction.structures import Cones
from explorer.kernels.linear_algebra.dense_lu import lu_factor, lu_solve
from explorer.kernels.references import kernel

__all__ = ["WEDGED", "approach", "harden", "polish"]

MOST_LEVELS = 40  # of softness on the way
MOST_POINTS = 60
SOFTEST, HARDEST = 30.0, 1e-11  # proximal terms beside D
WEDGED = 1e-5  # softness: a contact that gives way no less than before, hardened to this, wedges


@kernel(inner=True, wide=True)
def newton(cones: Cones, soft: float) -> bool:
    """P += one step of Newton's method.

    A little is added to the diagonal, for contacts that are redundant. vec.DP = D P, with what is
    soft, is read; False if the matrix is singular.
    """
    B, rows, m, mu, vec, A = cones.B, cones.rows, cones.m, cones.mu, cones.vec, cones.A
    x, b, d, y, hard = vec.P, vec.q, vec.DP, vec.Y, 1.0 - soft
    n, band = 3 * m, 2
    for k in range(m):
        band = max(band, 3 * max(k - rows[k].first, rows[k].end - 1 - k) + 2)
    for k in range(m):
        i, size = 3 * k, vec.size[k]
        for r in range(i, i + 3):
            for c in range(max(0, i - band - 2), min(n, i + 3 * band + 4)):
                A[r, c] = 0.0
        w_n, w_1, w_2 = d[i] + b[i], d[i + 1] + b[i + 1], d[i + 2] + b[i + 2]
        y_1, y_2 = size * x[i + 1] - w_1, size * x[i + 2] - w_2
        length, radius = np.sqrt(y_1 * y_1 + y_2 * y_2), size * mu[k] * max(x[i], 0.0)
        closed = size * x[i] - w_n > 0.0
        # rows of J = keep size + turn (D - size), of the tangents less mu size times the normal
        n_1, n_2, turn = 0.0, 0.0, 1.0
        if closed and length > radius:
            n_1, n_2, turn = y_1 / length, y_2 / length, radius / length
            y[i + 1], y[i + 2] = radius * n_1 - size * x[i + 1], radius * n_2 - size * x[i + 2]
        elif closed:
            y[i + 1], y[i + 2] = -w_1, -w_2
        else:
            y[i + 1], y[i + 2] = -size * x[i + 1], -size * x[i + 2]
        y[i] = -w_n if closed else -size * x[i]
        T_11, T_12, T_22 = turn * (1.0 - n_1 * n_1), -turn * n_1 * n_2, turn * (1.0 - n_2 * n_2)
        for j in range(rows[k].first if closed else k, rows[k].end if closed else k):
            at = 9 * (rows[k].before + j - rows[k].first)
            for c in range(3):
                A[i, 3 * j + c] = B[at + c]
                A[i + 1, 3 * j + c] = T_11 * B[at + 3 + c] + T_12 * B[at + 6 + c]
                A[i + 2, 3 * j + c] = T_12 * B[at + 3 + c] + T_22 * B[at + 6 + c]
        if closed:
            A[i + 1, i] -= size * mu[k] * n_1
            A[i + 2, i] -= size * mu[k] * n_2
            A[i, i] += (soft + 1e-9) * size
            A[i + 1, i + 1] += size * (1.0 + 1e-9 - hard * T_11)
            A[i + 1, i + 2] -= size * hard * T_12
            A[i + 2, i + 1] -= size * hard * T_12
            A[i + 2, i + 2] += size * (1.0 + 1e-9 - hard * T_22)
        else:
            A[i, i] = A[i + 1, i + 1] = A[i + 2, i + 2] = size
    if lu_factor(A, n, band, band, cones.pivots) != 0:
        return False
    lu_solve(A, n, band, band, cones.pivots, y)
    for i in range(n):
        x[i] += y[i]
    return True


@kernel(inner=True)
def polish(cones: Cones, soft: float, off: float, target: float, patience: int) -> float:
    """Take steps of Newton's method, keep the P with the least residual, and return that.

    Its steps may have to pass through larger residuals before they know what slips and what is
    open: it ends after more than `patience` in a row that did not halve the least one.
    """
    m, vec = cones.m, cones.vec
    x, best = vec.P, vec.P_old
    waited = 0
    for i in range(3 * m):
        best[i] = x[i]
    while off > target and waited <= patience:
        if not newton(cones, soft):
            break
        now = residual(cones, soft)
        waited = 0 if now <= 0.5 * off else waited + 1
        if now < off:
            off = now
            for i in range(3 * m):
                best[i] = x[i]
        elif not now < np.inf:
            break
    for i in range(3 * m):
        x[i] = best[i]
    return off


@kernel(inner=True)
def approach(cones: Cones, off: float, target: float) -> float:
    """Go from one proximal point to the next; return the residual, which has not grown.

    Each is solved for by Newton's method from the one before. Where that fails the term is made
    larger, else smaller: far from a solution it keeps impulses that nothing determines in place,
    and near one it vanishes.
    """
    m, vec = cones.m, cones.vec
    x, b, before, best, origin = vec.P, vec.q, vec.DP_old, vec.DY, vec.q_kept
    least, soft = off, 1e-4
    for i in range(3 * m):
        before[i] = best[i] = x[i]
        origin[i] = b[i]
    for _ in range(MOST_POINTS):
        if not least > target:
            break
        for i in range(3 * m):
            b[i] = origin[i] - soft * vec.size[i // 3] * before[i]
        inner = max(0.1 * off, 0.3 * target)
        now = residual(cones, soft)
        now = polish(cones, soft, now, inner, 8)
        for i in range(3 * m):
            b[i] = origin[i]
        if now <= inner:
            off = residual(cones, 0.0)
            for i in range(3 * m):
                before[i] = x[i]
                best[i] = x[i] if off < least else best[i]
            least = min(least, off)
            soft = max(0.1 * soft, HARDEST)
        else:
            for i in range(3 * m):
                x[i] = before[i]
            soft *= 5.0
            if soft > SOFTEST or not np.isfinite(now):
                break
    for i in range(3 * m):
        x[i] = best[i]
    return least


@kernel(inner=True)
def harden(cones: Cones, off: float, target: float) -> float:
    """Solve for soft contacts by Newton's method, make them harder, and again.

    Redundant contacts that give way share their load in one way only, and as they harden what
    slips and what is open changes little by little: where it does not, they harden less at a time.
    Returns the residual, which has not grown, or infinity if impulses have as contacts harden: they
    wedge, and rigid ones have no solution.
    """
    m, vec = cones.m, cones.vec
    x, before, solved = vec.P, vec.DP_old, vec.DY
    for i in range(3 * m):
        before[i], solved[i], x[i] = x[i], 0.0, 0.0
    known, ratio, now, gives, wedged = 1.0, 0.1, np.inf, 0.0, False
    for _ in range(MOST_LEVELS):
        soft = known * ratio if known > 1e-9 else 0.0
        now = residual(cones, soft)
        now = polish(cones, soft, now, target, 20)
        if soft == 0.0:
            break
        if now <= target:
            before_it, gives = gives, 0.0
            for i in range(3 * m):
                solved[i] = x[i]
                gives = max(gives, soft * vec.size[i // 3] * abs(x[i]))
            wedged = soft <= WEDGED and gives > before_it * (soft / known) ** 0.1
            known, ratio = soft, max(0.1, ratio * ratio)
        else:
            ratio = np.sqrt(ratio)
            for i in range(3 * m):
                x[i] = solved[i]
    wedged = wedged and not now <= target
    if not now < off:  # nor is a residual that is no number
        now = off
        for i in range(3 * m):
            x[i] = before[i]
    return np.inf if wedged else now
