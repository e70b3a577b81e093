"""The set of contacts that hold, stick and slide, exchanged until nothing contradicts it.

w = 0 for the normals that hold and the tangents that stick; what slides adds -sigma mu times the
column of its tangent to that of its normal. D over these rows is a band, which is factored. What
contradicts the set changes it; one contradiction at a time after a while, so that it ends (Judice,
Pires, Computers & OR 21 (1994) 587, doi:10.1016/0305-0548(94)90106-6).
"""

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.friction.contact_modes import impulses, unknowns, verdict
from explorer.kernels.friction.graph_gauss_seidel import follow
from explorer.kernels.friction.graph_newton import assemble
from explorer.kernels.friction.graph_structures import WIDEST, Exchange, Graph
from explorer.kernels.friction.single_contact import OPEN
from explorer.kernels.linear_algebra.banded_lu import band_factor, band_solve
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers

__all__ = ["exchange"]


@kernel(inner=True)
def factor_set(graph: Graph, work: Exchange, steady: bool) -> tuple[int, int, float]:
    """Factor the band of the set in `mode`, unless it is that of before.

    Returns a status, the number of steps that its solution takes and the proximal term of these:
    more than one if redundant contacts make it singular. LCP_RAY: the band is too wide;
    LCP_ITERATIONS: it is singular for all that.
    """
    act, m, place, mode = graph.act, graph.m, graph.place, graph.mode
    band, known = work.band, work.known
    A, chosen, state = band.A, band.chosen, band.state
    n = unknowns(mode, act, place, m, chosen)
    same = steady and state[0].width >= 0 and n == state[0].factored
    for k in range(m if same else 0):
        same = same and abs(mode[act[k]]) != 1  # it slides, and its mu may have changed
    for c in range(n if same else 0):
        same = same and known[c] == act[chosen[c]]
    state[0].chosen = n
    steps, shift = 1, 0.0
    while not same:
        width = assemble(graph, band, WIDEST)
        state[0].width = -1
        if width < 0:
            return LCP_RAY, steps, shift
        trace = 0.0
        for c in range(n):
            trace += abs(A[c, width])
            A[c, width] += shift
            known[c] = act[chosen[c]]
        if band_factor(A, n, width, band.pivots) == 0:
            state[0].factored = n
            state[0].width = width
            break
        if steps > 1:
            return LCP_ITERATIONS, steps, shift
        steps, shift = 4, 1e-7 * trace / n
    return SUCCESS, steps, shift


@kernel(inner=True)
def solve_set(graph: Graph, work: Exchange, steady: bool) -> int:
    """Solve w = 0 for the rows of the set in `mode`, and set u; status of `factor_set`."""
    status, steps, shift = factor_set(graph, work, steady)
    if status != SUCCESS:
        return status
    band, x, b, q = work.band, work.x, work.b, graph.q
    chosen, state = band.chosen, band.state
    n = state[0].chosen
    for c in range(n):
        x[c] = 0.0
    for _ in range(steps):
        for c in range(n):
            b[c] = shift * x[c] - q[chosen[c]]
        band_solve(band.A, n, state[0].width, band.pivots, b)
        for c in range(n):
            x[c] = b[c]
    if steps > 1:
        state[0].width = -1
    act, place, mu, m = graph.act, graph.place, graph.mu, graph.m
    impulses(graph.mode, act, place, mu, m, graph.rows, chosen, n, x, graph.P)
    follow(graph)
    return SUCCESS


@kernel(inner=True)
def judge(graph: Graph, wanted: Integers, size: float) -> tuple[int, int]:
    """Set what each contact should do; return how many do something else, and the last of them."""
    ptr, col, val, act, m, place = graph.ptr, graph.col, graph.val, graph.act, graph.m, graph.place
    mu, q, P, mode, u = graph.mu, graph.q, graph.P, graph.mode, graph.u
    wrong, last = 0, 0
    for k in range(m):
        what, t, w, sizes, P_t = mode[act[k]], place[k], 0.0, 0.0, 0.0
        if what == OPEN or abs(what) == 1:
            j = k if what == OPEN else t
            w, sizes = q[j], abs(q[j])
            for s in range(ptr[act[j]], ptr[act[j] + 1]):
                w += val[s] * u[col[s]]
                sizes += abs(val[s] * u[col[s]])
        if t >= 0:
            P_t = P[t]
        wanted[k] = verdict(what, P[k], P_t, mu[k], w, 1e-14 * size + 1e-15 * sizes)
        if wanted[k] != what:
            wrong += 1
            last = k
    return wrong, last


@kernel(inner=True)
def exchange(graph: Graph, work: Exchange, size: float, steady: bool) -> int:
    """Solve for the set in `mode`, exchange what contradicts it, and again.

    Redundant contacts make the band singular; then the smallest of all solutions is found by
    proximal steps. `size`: the largest |q|; `steady`: G is that of the last call. Returns LCP_RAY
    where the band is too wide, LCP_ITERATIONS where it is singular for all that or the exchange has
    no end.
    """
    act, m, rows, mode, wanted = graph.act, graph.m, graph.rows, graph.mode, work.wanted
    fewest, patience = rows + 1, 10
    for _ in range(20 + (m if rows == m else 20)):
        status = solve_set(graph, work, steady)
        if status != SUCCESS:
            return status
        wrong, last = judge(graph, wanted, size)
        if wrong == 0:
            return SUCCESS
        if wrong < fewest:
            fewest, patience = wrong, 10
        else:
            patience -= 1
        for k in range(m if patience > 0 else 0):
            mode[act[k]] = wanted[k]
        mode[act[last]] = wanted[last]
    return LCP_ITERATIONS
