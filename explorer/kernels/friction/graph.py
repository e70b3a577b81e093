"""Many contacts with a diagonal W: `explorer.kernels.friction.coulomb` on their graph.

Two contacts act on each other only where they share a coordinate, so D = G W^-1 G' is sparse and
is never formed. Impulses act through the velocities u = W^-1 G' P that they make::

    w = q + G u     (for a contact that gives way: + s P, s its compliance divided by h^2 theta)

    exchange   the contacts that hold (of those with friction: stick, or slide) make a band, which
               is factored; what contradicts their set changes it, and again. One contradiction at
               a time after a while, so that it ends (Judice, Pires, Computers & OR 21 (1994) 587).
    sweeps     contact by contact in closed form: `explorer.kernels.friction.graph_gauss_seidel`

Both begin where the last step ended. Their cost grows like the number of contacts. In a pile with
friction impulses are not determined, and sweeps converge slowly: from where they come near, or
after 80, 160, 320, ... of them, proximal steps along paths of exact solutions lead on
(`explorer.kernels.friction.graph_proximal`). Discs that wedge each other can lead both round and
round. Then Newton's method for all contacts together is tried, at last from soft contacts on
(`explorer.kernels.friction.graph_newton`), and once more sweeps from nothing that go half the way.
In a pile a residual of 3e-3 |q| is taken after 1280 sweeps, which the record shows and a caution
names.

Status: SUCCESS; LCP_RAY, q is no number, a contact has no solution, or contacts wedge;
LCP_ITERATIONS, no solution was found; IMPROPER, a coefficient that counts is none.
"""

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.lcp import PGS
from explorer.kernels.complementarity.structures import LcpOptions
from explorer.kernels.friction.coefficients import revised
from explorer.kernels.friction.coulomb import count_coefficients
from explorer.kernels.friction.graph_exchange import exchange
from explorer.kernels.friction.graph_gauss_seidel import coupling, residual, sweeps
from explorer.kernels.friction.graph_newton import harden, newton
from explorer.kernels.friction.graph_proximal import approach
from explorer.kernels.friction.graph_structures import (
    Graph,
    GraphWorkspace,
    Newton,
)
from explorer.kernels.friction.single_contact import MARGIN, OPEN, STICK
from explorer.kernels.friction.structures import Contacts, Friction
from explorer.kernels.model.structures import Rows
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Integers, Vector

__all__ = ["on_graph"]

SWEEPS = 20  # between two attempts to do so
NEAR = 1e-3  # residual beside |q| with which proximal steps begin
TRY = 80  # sweeps after which they begin anyhow; twice as many before the next
CHANGES, MOST = 4, 2400  # on their paths: for each sweep before them, and at most
SETTLED = 4  # times SWEEPS within the tolerance after which what they leave is taken
SMALLEST = 1e-12  # residual beside |q| that is aimed at, unless the tolerance is smaller
NEAR_ROUND_OFF = 1e-10  # beside |q|: what such a step may leave, and 1e3 lcp_tol at most
LAST, AIM = 1280, 3e-3  # sweeps, and residual beside |q| that is taken then: the record names it
PATIENCE = 400  # sweeps, after which Newton's method is tried
FINE = 1e-9  # residual beside |q| that it aims at


@kernel(inline=True)
def copy(values: Vector, to: Vector, count: int) -> None:
    """Copy the first `count` values."""
    for k in range(count):
        to[k] = values[k]


@kernel(inline=True)
def reconsider(graph: Graph, friction: Friction, nc: int, first: bool) -> bool:
    """Change mu where a contact has been found to slide, or to turn; whether any was changed."""
    act, place, mu, mode = graph.act, graph.place, graph.mu, graph.mode
    kinetic, static, slip = friction.kinetic, friction.static, friction.slip
    again = False
    for k in range(graph.m):
        what = mode[act[k]]
        if place[k] < 0 or abs(what) != 1:
            continue
        r = act[place[k]] - nc
        old = mu[k]
        mu[k] = revised(old, kinetic[r], static[r], first and what * slip[nc + r] < 0.0)
        again = again or mu[k] != old
    return again


@kernel(inner=True)
def measure(graph: Graph, compliance: Vector, ht: float) -> tuple[float, float]:
    """Set the sizes of all rows; return the largest |q|, NaN if q is none, and the lowest normal q.

    compliance : (nc,) of the contacts in m/N; ht : h^2 theta in s2
    """
    ptr, col, val, inverse, act = graph.ptr, graph.col, graph.val, graph.inverse, graph.act
    m, rows, place, q, P, unit = graph.m, graph.rows, graph.place, graph.q, graph.P, graph.unit
    cross, soft = graph.cross, graph.soft
    size, lowest = 0.0, 0.0
    for k in range(rows):
        a = act[k]
        unit[k] = coupling(ptr, col, val, inverse, a, a)
        size = max(size, abs(q[k]))
        P[k] = soft[k] = 0.0
        if not np.isfinite(q[k]):
            return np.nan, lowest
        if k < m:
            lowest = min(lowest, q[k])
            soft[k] = compliance[a] / ht if compliance[a] > 0.0 else 0.0
            unit[k] += soft[k]
            cross[k] = 0.0
            if place[k] >= 0:
                cross[k] = coupling(ptr, col, val, inverse, a, act[place[k]])
    return size, lowest


@kernel(inner=True)
def resume(graph: Graph, last: Vector, listed: Integers, step: int) -> None:
    """Begin where contacts that were active in the last step were at its end."""
    act, place, q, P, mode = graph.act, graph.place, graph.q, graph.P, graph.mode
    for k in range(graph.m):
        if listed[act[k]] == step - 1:
            P[k] = last[act[k]]
            if place[k] >= 0:
                P[place[k]] = last[act[place[k]]]
        else:
            mode[act[k]] = STICK if q[k] <= 0.0 else OPEN
        listed[act[k]] = step


@kernel(inner=True)
def try_newton(
    graph: Graph, work: Newton, done: int, off: float, tol: float, size: float
) -> tuple[int, float]:
    """Try Newton's method, at last from soft contacts on; return a status and the residual.

    `done`: sweeps up to now. LCP_RAY: contacts wedge.
    """
    widest = (work.band.A.shape[1] - 1) // 3
    copy(graph.P, work.given, graph.rows)
    if done < 20 * PATIENCE:
        _, off = newton(graph, work, off, MARGIN * max(tol, FINE) * size, widest)
        return LCP_ITERATIONS, off
    return harden(graph, work, off, max(tol, FINE) * size, widest)


@kernel(inner=True)
def solve_graph(
    graph: Graph, options: LcpOptions, size: float, steady: bool, work: GraphWorkspace
) -> tuple[int, float]:
    """Solve for one coefficient of friction per contact; return a status and the residual.

    `size`: the largest |q|.
    """
    method, tol, max_iter = options.method, options.tol, options.max_iter
    rows, m = graph.rows, graph.m
    P, kept, change = graph.P, work.kept, work.sweeps.change
    off, done, enough, plain, pile, goal = 0.0, 0, tol * size, False, False, TRY
    nearby, within = NEAR * size, 0
    aim = min(enough, max(MARGIN * enough, SMALLEST * size))
    last_size, share = 0.0, 0.0  # of the sweeps before
    while True:
        if method != PGS and not pile:
            copy(P, kept, rows)
            status = exchange(graph, work.exchange, size, steady)
            pile = status == LCP_RAY and rows > m
            if status == SUCCESS:
                off = residual(graph)
                if off <= aim or (off <= enough and within > SETTLED):
                    break
            if status != SUCCESS or not off <= enough:
                copy(kept, P, rows)
        if pile and done >= min(LAST, max_iter) and off <= AIM * size:
            break
        if rows > m and done in (PATIENCE, 5 * PATIENCE, 20 * PATIENCE):
            status, off = try_newton(graph, work.newton, done, off, tol, size)
            if status == LCP_RAY and off > enough:
                return LCP_RAY, off
            if off <= enough:
                break
            last_size, share = 0.0, 0.0
        if done >= max_iter and plain:
            return LCP_ITERATIONS, off
        if done >= max_iter:
            plain, done = True, 0
            for k in range(rows):
                P[k] = 0.0
        for _ in range(SWEEPS if plain else 1):
            if plain:
                last_size, share = 0.0, 0.0
            count = 1 if plain else SWEEPS
            status, last_size, share = sweeps(graph, work.sweeps, last_size, share, count)
            if status != SUCCESS:
                return status, off
            for k in range(rows if plain else 0):
                P[k] -= 0.5 * change[k]
        done += SWEEPS
        off = residual(graph)
        within += off <= enough
        ended = method == PGS or within > SETTLED or done >= max_iter
        if off <= aim or (off <= enough and ended):
            break
        if not np.isfinite(off):
            return LCP_RAY, off
        due = (done == goal or off <= nearby) and done <= max_iter
        if due and rows > m and method != PGS:
            goal, nearby = max(goal, 2 * done), 0.0
            left = max(enough, min(NEAR_ROUND_OFF, 1e3 * tol) * size)
            most = min(CHANGES * done, MOST)
            status, off = approach(graph, work.path, off, left, aim, most)
            if status == SUCCESS:
                break
            last_size, share = 0.0, 0.0
    return SUCCESS, off


@kernel(inner=True)
def on_graph(
    contacts: Contacts,
    friction: Friction,
    nc: int,
    options: LcpOptions,
    G: Rows,
    inverse: Vector,
    compliance: Vector,
    ht: float,
    step: int,
    steady: bool,
    work: GraphWorkspace,
) -> tuple[int, float]:
    """Solve for the impulses of the active contacts; return a status and the residual.

    Parameters
    ----------
    contacts : its D is not used
    nc : rows of G before the first tangent
    inverse : (n,) the diagonal of W^-1
    compliance : (nc,) of the contacts in m/N
    ht : h^2 theta in s2
    step : number of the time step: a contact that was active in the last one begins where it was
    steady : whether G and h are those of the last call
    """
    act, m, rows, mode, P = contacts.act, contacts.m, contacts.rows, contacts.mode, contacts.P
    graph = refer(
        Graph(
            G.ptr,
            G.col,
            G.val,
            inverse,
            act,
            m,
            rows,
            contacts.place,
            contacts.mu,
            contacts.q,
            P,
            mode,
            work.unit,
            work.cross,
            work.soft,
            work.u,
        )
    )
    last, listed = work.last, work.listed
    if not steady:
        work.exchange.band.state[0].width = -1
    size, lowest = measure(graph, compliance, ht)
    if not np.isfinite(size):
        return LCP_RAY, np.nan
    if lowest >= 0.0:
        for k in range(m):
            mode[act[k]], listed[act[k]] = OPEN, step
        for k in range(rows):
            last[act[k]] = 0.0
        return SUCCESS, 0.0
    resume(graph, last, listed, step)
    status, off = count_coefficients(contacts, friction, nc), 0.0
    if status != SUCCESS:
        return status, off
    for attempt in range(2 + m):
        status, off = solve_graph(graph, options, size, steady, work)
        if status != SUCCESS:
            return status, off
        if not reconsider(graph, friction, nc, attempt == 0):
            break
    for k in range(rows):
        last[act[k]] = P[k]
    return SUCCESS, off
