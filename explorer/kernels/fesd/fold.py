"""Where a slide on several surfaces ends because dc/dt = 0 has no solution any more.

Two of its solutions alpha meet there, and neither goes on: a fold. The state is what it is, but no
element of the slide gets beyond, and alpha has the slope of a square root. So elements are graded:
each has half of the longest length that has a solution, down to what is no length.
"""

from explorer.codes import SUCCESS
from explorer.kernels.fesd.element import FACTORED, MULTIPLIER, NC, NSEL, H, N, S, element
from explorer.kernels.fesd.equilibrate import MADE
from explorer.kernels.fesd.structures import Element, Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Vector, takes

__all__ = ["FOLD", "furthest"]

FOLD = MULTIPLIER + 1  # kind of a switch
HALVINGS = 50
ROUGHLY = 1e-3  # how well the longest length has to be known, of which half is taken
CLOSE = 1e-10  # beside the rest: no length
GRADED = 40  # elements


@kernel(takes(Workspace, float, Vector, Vector, float, returns=int), inner=True)
def solved(ws, t, x, end, length):
    """Solve an element of a length from rows 5 and 6 of `vec`; whether it is one of the slide."""
    K, W, sel = ws.stages.K, ws.stages.W, ws.stages.sel
    work, vec, shape = ws.solver.work, ws.vec, ws.model.shape
    for i in range(shape[S]):
        for k in range(shape[N]):
            K[i, k] = vec[6, k]
        for a in range(ws.mode.zeros[shape[NC]]):
            W[i, a] = vec[5, a]
    work[H] = length
    work[FACTORED] = 0.0
    el = Element(ws.model, ws.mode, ws.stages, ws.solver)
    inside = element(el, t, x, end, 0, 0, 0.0) == SUCCESS
    for i in range(shape[S]):
        for k in range(shape[NSEL]):
            inside = inside and -1e-9 <= sel[i, k] <= 1.0 + 1e-9
    return 1 if inside else 0


@kernel(takes(Workspace, float, Vector, Vector, float, returns=float), inner=True)
def longest(ws, t, x, end, most):
    """Return about the longest length up to `most` that has a solution; 0 if there is none."""
    low = 0.0
    high = most
    for _ in range(HALVINGS):
        length = 0.5 * (low + high)
        if solved(ws, t, x, end, length):
            low = length
        else:
            high = length
        if high - low <= ROUGHLY * low or high <= 1e-14 * most:
            break
    return low


@kernel(takes(Workspace, Record, Integers, int, float, float, returns=int), inner=True)
def furthest(ws, record, counts, first, t, rest):
    """Record the elements from ``states[first]`` at t up to the fold; 0 where there is none.

    Rows 5 and 6 of `vec`: w and x' at the start. ``found``: as behind a phase.
    """
    shape, tableau, zeros = ws.model.shape, ws.model.tableau, ws.mode.zeros
    K, W, sel = ws.stages.K, ws.stages.W, ws.stages.sel
    vec, found = ws.vec, ws.found
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    nsel = shape[NSEL]
    s = shape[S]
    room = rest
    made = 0
    while made < GRADED and first + made + 1 < len(times):
        e = first + made
        length = longest(ws, t, states[e], states[e + 1], room)
        last = length <= CLOSE * rest or made == GRADED - 1 or e + 2 >= len(times)
        room = length
        length = length if last else 0.5 * length
        if not (length > 0.0 and solved(ws, t, states[e], states[e + 1], length)):
            break
        times[e, 0] = t
        times[e, 1] = length
        for i in range(s):
            for k in range(n):
                slopes[e, i * n + k] = K[i, k]
            for k in range(nsel):
                mult[e, i * nsel + k] = sel[i, k]
        for k in range(n):
            vec[6, k] = 0.0
            for i in range(s):
                vec[6, k] += tableau[3 * s + 3, i] * K[i, k]
        for a in range(zeros[shape[NC]]):
            vec[5, a] = 0.0
            for i in range(s):
                vec[5, a] += tableau[3 * s + 3, i] * W[i, a]
        for k in range(nsel):
            vec[14, k] = 0.0
            for i in range(s):
                vec[14, k] += tableau[3 * s + 3, i] * sel[i, k]
        t += length
        made += 1
        if last:
            break
    if made == 0:
        return 0
    counts[MADE] = made
    found[0] = zeros[0]
    found[1] = 0.0
    found[2] = 0.0
    found[3] = FOLD
    return 1
