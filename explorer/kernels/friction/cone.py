"""Coulomb friction in space: the impulses of all active contacts together.

With w = D P + q per contact, K the cone |P_T| <= mu P_n and K* its dual::

    K  contains  P   perp   w + mu |w_T| n   in   K*

(De Saxce's form: Acary, Bremond, Huber, *On solving contact problems with Coulomb friction: formu-
lations and numerical comparisons*, 2018, eq. (14)), which is open, sticking, or sliding with P_T
against w_T. Two solvers, both from the impulses given:

- nonsmooth Gauss-Seidel: contact by contact, each exactly (Jourdan, Alart, Jean, CMAME 155 (1998)
  31), by `explorer.kernels.friction.single_contact`; between the sweeps Newton's method for all
  contacts together, `explorer.kernels.friction.alart_curnier`, the longer the more sweeps have not
  sufficed;
- accelerated projected gradients (Mazhar, Heyn, Negrut, Tasora, ACM Trans. Graph. 34 (2015) 32) of
  P'D P / 2 + P'(q + s n) on the cones, with s = mu |w_T| made anew whenever the inner problem is
  solved ten times better than the law. (With s = 0, as there, slipping contacts would part.)

Neither converges for all problems, and hardly a problem defeats both: where one has not converged,
the other goes on from there.

D is kept as the blocks of `explorer.kernels.friction.cone_blocks`.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.friction.alart_curnier import approach, harden, polish
from explorer.kernels.friction.cone_blocks import gather, moved, residual
from explorer.kernels.friction.single_contact import (
    MARGIN,
    NONE,
    OPEN,
    STICK,
    in_plane,
    off_cone,
    on_line,
)
from explorer.kernels.friction.structures import Cones, ConeWorkspace, Contacts
from explorer.kernels.references import kernel, refer, value_of

__all__ = ["GAUSS_SEIDEL", "in_space"]

GAUSS_SEIDEL, PROJECTED_GRADIENT = 1, 2  # 0: friction is along lines
HARD = 8  # sweeps without success after which contacts are made soft, and hard again
SETTLED = 4  # sweeps within the tolerance after which what they leave is taken
FINE = 1e-3  # of the tolerance: what opens a resting contact by round-off only
VANISHES = 1e-100  # beside the largest: squares of what is smaller are no numbers


@kernel(inner=True)
def sweep(cones: Cones) -> bool:
    """Solve contact by contact, the others held, once; False if one has no solution."""
    B, rows, m, mu, vec = cones.B, cones.rows, cones.m, cones.mu, cones.vec
    x, b = vec.P, vec.q
    for k in range(m):
        i, at = 3 * k, 9 * (rows[k].before + k - rows[k].first)
        x_n, x_1, x_2 = x[i], x[i + 1], x[i + 2]
        q_n, q_1, q_2 = moved(B, rows, x, k)
        q_n += b[i] - (B[at] * x_n + B[at + 1] * x_1 + B[at + 2] * x_2)
        q_1 += b[i + 1] - (B[at + 3] * x_n + B[at + 4] * x_1 + B[at + 5] * x_2)
        q_2 += b[i + 2] - (B[at + 6] * x_n + B[at + 7] * x_1 + B[at + 8] * x_2)
        what = 1.0
        if rows[k].width == 2:
            x[i], x[i + 1], x[i + 2], what = in_plane(B, at, mu[k], q_n, q_1, q_2)
        elif rows[k].width == 1:
            x[i], x[i + 1], what = on_line(B[at], B[at + 1], B[at + 3], B[at + 4], mu[k], q_n, q_1)
        else:
            x[i] = max(0.0, -q_n / B[at]) if B[at] > 0.0 else 0.0
        if what == NONE:
            return False
    return True


@kernel(inner=True)
def gauss_seidel(cones: Cones, tol: float, max_iter: int) -> int:
    """Sweep until the residual is below `tol`; steps of Newton's method that reduce it help.

    It ends with less than MARGIN of `tol`, unless a few more sweeps do not get there.
    """
    m = cones.m
    pause, after, polished = 1, 1, False  # sweeps up to the next try of Newton's method
    within = 0
    for count in range(1, max_iter + 1):
        if not sweep(cones):
            return LCP_ITERATIONS
        off = residual(cones, 0.0)
        within += off <= tol
        done = polished and (off <= MARGIN * tol or within > SETTLED)
        if off <= tol and (m == 1 or done or off <= FINE * tol):
            return SUCCESS
        if m > 1 and (off <= tol or count >= after):
            now = polish(cones, 0.0, off, 0.1 * FINE * tol, pause)
            if pause > 1 and now > MARGIN * tol:
                now = approach(cones, now, MARGIN * tol)
            if pause >= HARD and now > tol:
                now = harden(cones, now, tol)
                if now == np.inf:
                    return LCP_RAY
            polished = now <= tol
            pause *= 2  # though it may have helped: the next sweep can undo it
            after = count + pause
    return LCP_ITERATIONS


@kernel(inner=True)
def descend(cones: Cones, L: float) -> float:
    """P = the projection of Y - (D Y + q + s n) / (L size) on the cones; how far uphill that goes.

    Positive where the momentum of Y leads uphill from the P before, vec.P_old.
    """
    m, mu, vec = cones.m, cones.mu, cones.vec
    x, y, b, dy = vec.P, vec.Y, vec.q, vec.DY
    old, size, shift = vec.P_old, vec.size, vec.shift
    uphill = 0.0
    for k in range(m):
        i, rate = 3 * k, 1.0 / (L * size[k])
        g_n, g_1, g_2 = dy[i] + b[i] + shift[k], dy[i + 1] + b[i + 1], dy[i + 2] + b[i + 2]
        x_n, x_1, x_2 = y[i] - rate * g_n, y[i + 1] - rate * g_1, y[i + 2] - rate * g_2
        radius = np.sqrt(x_1 * x_1 + x_2 * x_2)
        if mu[k] * radius <= -x_n:
            x_n = x_1 = x_2 = 0.0
        elif radius > mu[k] * x_n:
            x_n = (mu[k] * radius + x_n) / (1.0 + mu[k] * mu[k])
            ratio = mu[k] * x_n / radius
            x_1, x_2 = ratio * x_1, ratio * x_2
        x[i], x[i + 1], x[i + 2] = x_n, x_1, x_2
        uphill += g_n * (x_n - old[i]) + g_1 * (x_1 - old[i + 1])
        uphill += g_2 * (x_2 - old[i + 2])
    return uphill


@kernel(inner=True, wide=True)
def curvature(cones: Cones) -> tuple[float, float]:
    """Set vec.DP = D P; return (P - Y)' D (P - Y) and (P - Y)' size (P - Y)."""
    B, rows, m, vec = cones.B, cones.rows, cones.m, cones.vec
    x, y, d, dy, size = vec.P, vec.Y, vec.DP, vec.DY, vec.size
    bent, length = 0.0, 0.0
    for k in range(m):
        i = 3 * k
        d[i], d[i + 1], d[i + 2] = moved(B, rows, x, k)
        for j in range(i, i + 3):
            bent += (x[j] - y[j]) * (d[j] - dy[j])
            length += size[k] * (x[j] - y[j]) ** 2
    return bent, length


@kernel(inner=True)
def set_shift(cones: Cones) -> None:
    """s = mu |w_T| of each contact, at P."""
    m, mu, vec = cones.m, cones.mu, cones.vec
    b, d, shift = vec.q, vec.DP, vec.shift
    for k in range(m):
        w_1, w_2 = d[3 * k + 1] + b[3 * k + 1], d[3 * k + 2] + b[3 * k + 2]
        shift[k] = mu[k] * np.sqrt(w_1 * w_1 + w_2 * w_2)


@kernel(inner=True)
def residuals(cones: Cones) -> tuple[float, float]:
    """Return the natural residuals of Coulomb's law and of the problem with s as it is."""
    m, mu, vec = cones.m, cones.mu, cones.vec
    x, b, d, size, shift = vec.P, vec.q, vec.DP, vec.size, vec.shift
    off, inner = 0.0, 0.0
    for k in range(m):
        i = 3 * k
        w_n, w_1, w_2 = d[i] + b[i], d[i + 1] + b[i + 1], d[i + 2] + b[i + 2]
        now = mu[k] * np.sqrt(w_1 * w_1 + w_2 * w_2)
        law = off_cone(size[k], mu[k], x[i], x[i + 1], x[i + 2], w_n, w_1, w_2, now)
        given = off_cone(size[k], mu[k], x[i], x[i + 1], x[i + 2], w_n, w_1, w_2, shift[k])
        off = law if not law <= off else off
        inner = max(inner, given)
    return off, inner


@kernel(inner=True)
def projected_gradient(cones: Cones, tol: float, max_iter: int) -> int:
    """Solve by accelerated projected gradients, until the residual is below `tol`.

    Every contact has the step 1 / (L size), with L kept above what D shows along the steps; the
    momentum is dropped wherever it points uphill. Newton's method finishes. vec.shift: s.
    """
    m, vec = cones.m, cones.vec
    x, y, d, dy, old, d_old = vec.P, vec.Y, vec.DP, vec.DY, vec.P_old, vec.DP_old
    off = residual(cones, 0.0)
    for i in range(3 * m):
        y[i], dy[i] = x[i], d[i]
    set_shift(cones)
    L, momentum = 1.0, 1.0
    for _ in range(max_iter):
        if off <= tol:
            off = polish(cones, 0.0, off, FINE * tol, 0)
            if off > MARGIN * tol:
                approach(cones, off, MARGIN * tol)
            return SUCCESS
        if not np.isfinite(off):
            return LCP_RAY
        for i in range(3 * m):
            old[i], d_old[i] = x[i], d[i]
        while True:
            uphill = descend(cones, L)
            bent, length = curvature(cones)
            if bent <= L * length * (1.0 + 1e-9) or not L < 1e12:
                break
            L *= 2.0
        following = 0.5 * (momentum * np.sqrt(momentum * momentum + 4.0) - momentum * momentum)
        beta = momentum * (1.0 - momentum) / (momentum * momentum + following)
        momentum = following
        if uphill > 0.0:
            beta, momentum = 0.0, 1.0
        off, inner = residuals(cones)
        if inner <= 0.1 * off:
            set_shift(cones)
            beta, momentum = 0.0, 1.0
        for i in range(3 * m):
            y[i] = x[i] + beta * (x[i] - old[i])
            dy[i] = d[i] + beta * (d[i] - d_old[i])
        L *= 0.9
    return LCP_ITERATIONS


@kernel(inner=True, wide=True)
def load(contacts: Contacts, cones: Cones, size: float) -> None:
    """Take q and P to three entries a contact; what is no number when squared becomes zero."""
    B, rows, m, vec = cones.B, cones.rows, cones.m, cones.vec
    place, P_of, q = contacts.place, contacts.P, contacts.q
    x, b = vec.P, vec.q
    for k in range(m):
        i, at = 3 * k, 9 * (rows[k].before + k - rows[k].first)
        width = rows[k].width
        trace = B[at] + B[at + 4] + B[at + 8]
        unit = vec.size[k] = trace / (1 + width) if trace > 0.0 else 1.0
        for d in range(3):
            j = k if d == 0 else place[k] + d - 1
            P_j, q_j = (P_of[j], q[j]) if d <= width else (0.0, 0.0)
            x[i + d] = P_j if unit * abs(P_j) > VANISHES * size else 0.0
            b[i + d] = q_j if abs(q_j) > VANISHES * size else 0.0


@kernel(inner=True)
def unload(contacts: Contacts, cones: Cones) -> None:
    """Write the impulses, kept in their cones, and what each contact does."""
    rows, m, mu, vec = cones.rows, cones.m, cones.mu, cones.vec
    act, place, z, mode = contacts.act, contacts.place, contacts.P, contacts.mode
    x, b, d = vec.P, vec.q, vec.DP
    for k in range(m):
        i, what = 3 * k, STICK
        most, length = mu[k] * max(x[i], 0.0), np.sqrt(x[i + 1] ** 2 + x[i + 2] ** 2)
        if length > most:  # by round-off
            x[i + 1], x[i + 2] = most / length * x[i + 1], most / length * x[i + 2]
        z[k] = x[i] = max(x[i], 0.0)
        for c in range(rows[k].width):
            z[place[k] + c] = x[i + 1 + c]
        if rows[k].width > 0:
            w_1, w_2 = d[i + 1] + b[i + 1], d[i + 2] + b[i + 2]
            if np.sqrt(w_1 * w_1 + w_2 * w_2) > vec.size[k] * (most - length):
                what = -1 if rows[k].width == 1 and w_1 < 0.0 else 1
        mode[act[k]] = what if x[i] > 0.0 else OPEN


@kernel(inner=True)
def in_space(
    contacts: Contacts, solver: int, tol: float, max_iter: int, work: ConeWorkspace
) -> tuple[int, float]:
    """Solve from the impulses given; return a status and the residual.

    The blocks of D are made anew if D or the list of active contacts has changed. LCP_RAY: q is no
    number, or contacts wedge and have no solution; LCP_ITERATIONS: none was found.
    """
    m, act, q, rows, kept = contacts.m, contacts.act, contacts.q, work.rows, work.kept
    blocks = work.blocks.reshape(work.blocks.size)
    vec = value_of(work.vec)
    cones = refer(Cones(blocks, rows, m, contacts.mu, vec, work.A, work.pivots))
    same = kept[0].contacts == m
    for k in range(m):
        same = same and rows[k].listed == act[k]
    if not same:
        gather(contacts, cones)
        kept[0].contacts = m
    size = 0.0
    for j in range(contacts.rows):
        size = max(size, abs(q[j]))
        if not np.isfinite(q[j]):
            return LCP_RAY, np.nan
    load(contacts, cones, size)
    status = LCP_ITERATIONS
    for turn in range(2):
        if status == LCP_ITERATIONS:
            if (solver == GAUSS_SEIDEL) == (turn == 0):
                status = gauss_seidel(cones, tol * size, max_iter)
            else:
                status = projected_gradient(cones, tol * size, max_iter)
    off = residual(cones, 0.0)
    unload(contacts, cones)
    if status == LCP_RAY:
        return LCP_RAY, off
    return SUCCESS if off <= tol * size else LCP_ITERATIONS, off
