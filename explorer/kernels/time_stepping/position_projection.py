"""Take positions back to where they may be: phi(t, q) = 0, and no contact penetrates.

At the end of a step, along the directions in which it has moved by impulses (W of the step is the
metric; simplified Newton, so that one factorisation serves)::

    q += dq,  [[W, -G_c'], [G_c, 0]] (dq, .) = (G' z, -phi(q)),   0 <= gap(q) + D z  perp  z >= 0

Of constraints: Gear, Leimkuhler, Gupta, J. Comput. Appl. Math. 12 (1985) 77 (stabilised index 2,
here by projection after the step). With the contacts too it is the combined projection of Acary,
CMAME 256 (2013) 224. Velocities are left as they are.
"""

import numpy as np

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.complementarity.lcp import solve
from explorer.kernels.complementarity.structures import FACTORED, Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.jit import call, kernel
from explorer.kernels.linear_algebra.factored_solve import FACTORS
from explorer.kernels.linear_algebra.saddle_point import solve_step

__all__ = ["CONSTRAINTS", "CONTACTS", "NOTHING", "project"]

NOTHING, CONSTRAINTS, CONTACTS = 0, 1, 2  # what is projected: options[6]
CLOSE = 3e-14  # beside what the coordinates add to a gap, and move it by in a step
STILL = 1e-9  # of where it began: what falls no more there is round-off
MOST = 20


@kernel(
    "float64(int64[::1], int64[::1], float64[::1], int64, float64[::1], int64, float64)",
    inline=True,
)
def close_to(ptr, col, val, row, inp, n, h):
    """Return what round-off may leave of a gap or a constraint, in its unit."""
    size = 0.0
    for k in range(ptr[row], ptr[row + 1]):
        size += abs(val[k]) * (abs(inp[1 + col[k]]) + h * abs(inp[1 + n + col[k]]))
    return CLOSE * size


@kernel(
    "int64(int64[:, ::1], float64[::1], int64[::1], float64[::1], float64[::1], int64[::1],"
    f" int64[::1], float64[::1], {FACTORS}, float64[:, ::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1], float64[::1], float64[::1], int64, int64, int64, int64, int64,"
    " float64[:, ::1], int64[:, ::1], int8[::1])",
    inner=True,
)
def project(
    table, knobs, options, inp, out, gap_ptr, gap_col, gap_val, factors, W, D, A, T, compliance, q,
    n, nc, rows, bound, at_phi, vec, ints, member,
):  # fmt: skip
    """Move q (n,) until constraints hold and, if asked for, no rigid contact penetrates.

    `inp` holds the state and follows q. Parameters as those of
    `explorer.kernels.time_stepping.moreau_jean.run`.
    """
    dq, z, w = vec[0], vec[1], vec[2]
    pivots, near, N = ints[1], ints[9], n + bound
    lcp_options, kept = LcpOptions(options[4], knobs[6], options[5]), ints[4][:3].view(FACTORED)
    lcp = LcpWorkspace(member, kept, ints[3], A, ints[5], T, vec[0])
    constant = options[0] == 1
    pushed, before, first = 0, np.inf, 0.0
    for _ in range(MOST):
        call(table[3, 0], table[3, 1], out, inp)
        off, done = 0.0, True
        for j in range(n):
            dq[j] = 0.0
        for c in range(bound):
            dq[n + c] = -out[at_phi + c]
            off = max(off, abs(out[at_phi + c]))
            slack = close_to(gap_ptr, gap_col, gap_val, rows + c, inp, n, knobs[0])
            done = done and abs(out[at_phi + c]) <= slack
        known = pushed
        for c in range(nc if options[6] == CONTACTS else 0):
            slack = close_to(gap_ptr, gap_col, gap_val, c, inp, n, knobs[0])
            if compliance[c] == 0.0 and not out[c] >= -slack:
                off, done = max(off, -out[c]), False
                new = True
                for k in range(pushed):
                    new = new and near[k] != c
                if new:
                    near[pushed] = c
                    pushed += 1
        if not np.isfinite(off):
            return NOT_FINITE
        if done or (off > 0.5 * before and before <= STILL * first):
            return SUCCESS
        first = max(first, off)
        before = off
        if bound > 0:
            solve_step(constant, factors, W, N, pivots, dq)
            for j in range(n):
                q[j] += dq[j]
        if pushed > 0:
            for k in range(pushed):
                w[k] = out[near[k]] + along(gap_ptr, gap_col, gap_val, near[k], dq)
            for k in range(pushed if not constant and known < pushed else 0):
                for j in range(N):
                    dq[j] = 0.0
                push(gap_ptr, gap_col, gap_val, near[k], 1.0, dq)
                solve_step(False, factors, W, N, pivots, dq)
                for i in range(pushed):
                    D[near[i], near[k]] = along(gap_ptr, gap_col, gap_val, near[i], dq)
            kept[0].count = -1
            status, _ = solve(Lcp(D, near, w, z), pushed, pushed, lcp_options, lcp)
            kept[0].count = -1
            if status != SUCCESS:
                return status
            for j in range(N):
                dq[j] = 0.0
            for k in range(pushed):
                push(gap_ptr, gap_col, gap_val, near[k], z[k], dq)
            solve_step(constant, factors, W, N, pivots, dq)
            for j in range(n):
                q[j] += dq[j]
        for j in range(n):
            inp[1 + j] = q[j]
    return NEWTON_CAP
