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
from explorer.kernels.complementarity.structures import Lcp
from explorer.kernels.linear_algebra.saddle_point import solve_step
from explorer.kernels.model.inputs import evaluate
from explorer.kernels.model.structures import GAP
from explorer.kernels.references import kernel
from explorer.kernels.time_stepping.moreau_jean_iteration import respond
from explorer.kernels.time_stepping.moreau_jean_structures import Problem, Workspace

__all__ = ["CONSTRAINTS", "CONTACTS", "NOTHING", "project"]

NOTHING, CONSTRAINTS, CONTACTS = 0, 1, 2  # what is projected
CLOSE = 3e-14  # beside what the coordinates add to a gap, and move it by in a step
STILL = 1e-9  # of where it began: what falls no more there is round-off
MOST = 20


@kernel(inline=True)
def close_to(problem: Problem, row: int) -> float:
    """Return what round-off may leave of a gap or a constraint, in its unit."""
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    inp, n, h, size = problem.bundles.inp, problem.sizes.n, problem.method.h, 0.0
    for k in range(ptr[row], ptr[row + 1]):
        size += abs(val[k]) * (abs(inp[1 + col[k]]) + h * abs(inp[1 + n + col[k]]))
    return CLOSE * size


@kernel(inline=True)
def defects(problem: Problem, work: Workspace, known: int) -> tuple[float, bool, int]:
    """Set dq = (0, -phi), list the contacts that penetrate behind those known.

    Return the largest defect (infinite if one is not finite), whether all are round-off, and the
    number of these contacts.
    """
    sizes, out, pushed = problem.sizes, problem.bundles.out, work.projection.contacts
    n, dq, compliance = sizes.n, work.projection.dq, problem.contacts.compliance.diagonal
    at_phi, both = problem.outputs.phi, problem.options.projected == CONTACTS
    evaluate(problem.bundles, GAP)
    off, done, count = 0.0, True, known
    for j in range(n):
        dq[j] = 0.0
    for c in range(sizes.constraints):
        dq[n + c] = -out[at_phi + c]
        if not np.isfinite(out[at_phi + c]):  # max() would swallow a NaN
            return np.inf, False, count
        off = max(off, abs(out[at_phi + c]))
        done = done and abs(out[at_phi + c]) <= close_to(problem, sizes.rows + c)
    for c in range(sizes.contacts if both else 0):
        if not np.isfinite(out[c]):
            return np.inf, False, count
        if compliance[c] == 0.0 and not out[c] >= -close_to(problem, c):
            off, done = max(off, -out[c]), False
            new = True
            for k in range(count):
                new = new and pushed[k] != c
            if new:
                pushed[count] = c
                count += 1
    return off, done, count


@kernel(inline=True)
def push_apart(problem: Problem, work: Workspace, known: int, count: int) -> int:
    """Set dq to what opens the contacts that penetrate; return a status."""
    G, D, out, projection = problem.contacts.G, work.active.D, problem.bundles.out, work.projection
    pushed, dq, gap, z = projection.contacts, projection.dq, projection.gap, projection.z
    ptr, col, val, N = G.ptr, G.col, G.val, dq.size
    for k in range(count):
        gap[k] = out[pushed[k]] + along(ptr, col, val, pushed[k], dq)
    for k in range(count if not problem.options.constant and known < count else 0):
        for j in range(N):
            dq[j] = 0.0
        push(ptr, col, val, pushed[k], 1.0, dq)
        solve_step(problem.saddle, dq)
        for i in range(count):
            D[pushed[i], pushed[k]] = along(ptr, col, val, pushed[i], dq)
    work.lcp.kept[0].count = -1
    lcp, options = Lcp(D, pushed, gap, z), problem.options.lcp
    status, _ = solve(lcp, count, count, options, work.lcp)
    work.lcp.kept[0].count = -1
    if status != SUCCESS:
        return status
    for j in range(N):
        dq[j] = 0.0
    for k in range(count):
        push(ptr, col, val, pushed[k], z[k], dq)
    respond(problem, dq)
    return SUCCESS


@kernel(inner=True)
def project(problem: Problem, work: Workspace) -> int:
    """Move the iterate q until constraints hold and, if asked for, no rigid contact penetrates.

    The input vector holds the state and follows q. Return a status.
    """
    inp, n, q, dq = problem.bundles.inp, problem.sizes.n, work.iterate.q, work.projection.dq
    count, before, first = 0, np.inf, 0.0
    for _ in range(MOST):
        known = count
        off, done, count = defects(problem, work, known)
        if not np.isfinite(off):
            return NOT_FINITE
        if done or (off > 0.5 * before and before <= STILL * first):
            return SUCCESS
        first = max(first, off)
        before = off
        if problem.sizes.constraints > 0:
            respond(problem, dq)
            for j in range(n):
                q[j] += dq[j]
        if count > 0:
            status = push_apart(problem, work, known, count)
            if status != SUCCESS:
                return status
            for j in range(n):
                q[j] += dq[j]
        for j in range(n):
            inp[1 + j] = q[j]
    return NEWTON_CAP
