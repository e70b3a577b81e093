"""The contact problem of one Moreau-Jean step, handed to the solver that suits its size::

    0 <= G v_free + gap_t + e gap'_i + D p  perp  p >= 0,   D = G W^-1 G'

Few contacts: D is formed, for `explorer.kernels.complementarity.lcp` or
`explorer.kernels.friction.coulomb`. Many, with a diagonal W: `explorer.kernels.friction.graph`; it
also takes what those could not solve.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, NOT_FINITE, SUCCESS
from explorer.kernels.complementarity.delassus import along, push
from explorer.kernels.complementarity.lcp import solve, solve_one
from explorer.kernels.complementarity.structures import FACTORED, Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.friction.coulomb import coulomb
from explorer.kernels.friction.graph import GRAPH_WORK, on_graph
from explorer.kernels.friction.graph_gauss_seidel import coupling
from explorer.kernels.friction.graph_structures import GraphWorkspace
from explorer.kernels.friction.structures import (
    CONES,
    ActiveSet,
    ConeWorkspace,
    Contacts,
    Friction,
    FrictionOptions,
    FrictionWorkspace,
    Glocker,
)
from explorer.kernels.jit import kernel
from explorer.kernels.linear_algebra.dense_lu import bandwidth
from explorer.kernels.linear_algebra.factored_solve import FACTORS, solve_factored
from explorer.kernels.linear_algebra.saddle_point import solve_step
from explorer.kernels.model.structures import Rows
from explorer.kernels.structures import Table
from explorer.kernels.time_stepping.compliant_contact import FLEX, give

__all__ = ["forget", "step_delassus", "step_impulses"]

ROUND_OFF = 2e-15  # of sums whose terms cancel, beside the largest of them

# G by rows (ptr, col, val), factors of W, N, number of rows, of contacts, D of the law, h^2 theta
RESPONSE = f"int64[::1], int64[::1], float64[::1], {FACTORS}, int64, int64, int64, {FLEX}, float64"
WORK = (
    f"float64[:, :, ::1], float64[:, ::1], float64[:, ::1], int64[:, ::1], int8[::1], {GRAPH_WORK}"
)

STEP = (
    f"int64({RESPONSE}, float64[:, ::1], int64[::1], boolean, boolean, boolean, int64, int64,"
    " int64, float64[::1], float64[::1], float64[::1], int64, float64, int64, float64[:, ::1],"
    f" float64[::1], int8[::1], int64, int64[::1], int64, {WORK})"
)


@kernel(inline=True)
def forget(ints: Table) -> None:
    """Keep no factors and no blocks of a D that has changed."""
    kept, cones_kept = ints[4][:3].view(FACTORED), ints[4][3:4].view(CONES)
    kept[0].count = cones_kept[0].contacts = -1


@kernel(f"int64({RESPONSE}, float64[:, ::1], float64[::1])", inner=True)
def step_delassus(ptr, col, val, factors, N, rows, nc, flex, hht, D, rhs):
    """Fill in D of all rows from the factors of a constant W; return its bandwidth."""
    for a in range(rows):
        for j in range(N):
            rhs[j] = 0.0
        push(ptr, col, val, a, 1.0, rhs)
        solve_factored(factors, N, rhs)
        for c in range(rows):
            D[c, a] = along(ptr, col, val, c, rhs)
        give(flex, a, nc, hht, D)
    return max(bandwidth(D, rows))


@kernel(
    "boolean(int64[::1], int64[::1], float64[::1], int64[::1], int64, float64[::1], float64[::1],"
    " float64[::1], float64[::1], float64[::1], float64[::1])",
    inner=True,
)
def cancels(ptr, col, val, act, held, probe, e_dot, v_free, w, z, found):
    """Tell whether w is but round-off of its terms; then impulses have nothing to answer to."""
    terms, size = 0.0, 0.0
    for i in range(held):
        terms = max(terms, abs(probe[i] + e_dot[i]))
        for k in range(ptr[act[i]], ptr[act[i] + 1]):
            terms = max(terms, abs(val[k] * v_free[col[k]]))
        size = max(size, abs(w[i]))
    if size > ROUND_OFF * terms:
        return False
    for i in range(held):
        z[i] = 0.0
    found[0] = size
    return True


@kernel(STEP, inline=True)
def step_impulses(
    ptr, col, val, factors, N, rows, nc, flex, hht, W, pivots, constant, many, steady, m,
    held, width, probe, e_dot, v_free, method, tol, max_iter, coefficients, slip, before, step,
    tangents, solver, cc, T, vec, ints, member, band, graph_vec, graph_ints, near,
):  # fmt: skip
    """Solve for the impulses vec[7, :held] of the rows ints[2, :held]; vec[12, 0]: the residual.

    Parameters
    ----------
    W, pivots : factored here, if W is not constant; D is then formed for these rows
    many : whether W is diagonal and the graph of the contacts serves
    steady : whether W and G are those of the last call
    m, held, width : number of contacts, of rows; bandwidth of D
    probe, e_dot : (held,) velocities at v = 0, impact terms; v_free (N,)
    coefficients, slip, before : see `explorer.kernels.friction.coulomb.coulomb`
    step : number of the time step
    tangents, solver : see `explorer.kernels.friction.coulomb.coulomb`
    """
    D, rhs, z, w, found = cc[0], vec[3], vec[7], vec[8], vec[12]
    act, place, mode = ints[2], ints[7], ints[8]
    kept, cones_kept = ints[4][:3].view(FACTORED), ints[4][3:4].view(CONES)
    glocker_kept = ints[15][:3].view(FACTORED)
    options = LcpOptions(method, tol, max_iter)
    contacts = Contacts(D, act, m, held, place, tangents, vec[13], w, z, mode)
    friction = Friction(coefficients[0], coefficients[1], slip, before)
    if not constant:
        for i1 in range(held):
            a = act[i1]
            for j in range(N):
                rhs[j] = 0.0
            push(ptr, col, val, a, 1.0, rhs)
            solve_step(False, factors, W, N, pivots, rhs)
            for i2 in range(held):
                D[act[i2], a] = along(ptr, col, val, act[i2], rhs)
            give(flex, a, nc, hht, D)
        forget(ints)
    for i1 in range(held):
        total = probe[i1] + e_dot[i1]
        for k in range(ptr[act[i1]], ptr[act[i1] + 1]):
            total += val[k] * v_free[col[k]]
        w[i1] = total
        if not np.isfinite(total):
            return NOT_FINITE
    if many and held > m and D.size > 0:
        for i1 in range(held):
            for i2 in range(held):
                D[act[i1], act[i2]] = coupling(ptr, col, val, factors[0], act[i1], act[i2])
            give(flex, act[i1], nc, hht, D)
        cones_kept[0].contacts = -1
    status = LCP_ITERATIONS
    if held > m and D.size > 0:
        glocker = LcpWorkspace(member, glocker_kept, ints[14], cc[1], ints[13], T, vec[16])
        work = FrictionWorkspace(
            ActiveSet(cc[1], vec[16], vec[17], ints[9], ints[10]),
            Glocker(cc[2], vec[18], vec[19], ints[9], ints[12], glocker),
            ConeWorkspace(cc[1], cc[2], ints[9:], vec[25:], cones_kept),
        )
        how = FrictionOptions(options, solver)
        status, found[0] = coulomb(contacts, friction, nc, how, work)
        if status != SUCCESS and cancels(
            ptr, col, val, act, held, probe, e_dot, v_free, w, z, found
        ):
            status = SUCCESS
        if status != LCP_ITERATIONS or not many:
            return status
    if many:
        G, inverse, stiff = Rows(ptr, col, val), factors[0], flex[0]
        shared = GraphWorkspace(band, graph_vec, graph_ints, near)
        status, found[0] = on_graph(
            contacts, friction, nc, options, G, inverse, stiff, hht, step, steady, shared
        )
        return status
    a, k = act[0], m - 1
    if m == 1:
        done, z[k], off = solve_one(method, D[a, a], w[k])
        if done:
            found[0] = off
            return SUCCESS
    work_one = LcpWorkspace(member, kept, ints[3], cc[1], ints[5], T, vec[9])
    status, found[0] = solve(Lcp(D, act, w, z), m, min(width, m), options, work_one)
    return status
