"""Where a slide on several surfaces ends because dc/dt = 0 has no solution any more.

Two of its solutions alpha meet there, and neither goes on: a fold. The state is what it is, but no
element of the slide gets beyond, and alpha has the slope of a square root. So elements are graded:
each has half of the longest length that has a solution, down to what is no length.
"""

from explorer.codes import SUCCESS
from explorer.kernels.fesd.element import element
from explorer.kernels.fesd.march_active_set import at_end, write
from explorer.kernels.fesd.structures import FOLD, Record, Tally, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Vector

__all__ = ["furthest"]

HALVINGS = 50
ROUGHLY = 1e-3  # how well the longest length has to be known, of which half is taken
CLOSE = 1e-10  # beside the rest: no length
GRADED = 40  # elements


@kernel(inner=True)
def solved(ws: Workspace, t: float, x: Vector, end: Vector, length: float) -> int:
    """Solve an element of a length from the start's w and x'; whether it is one of the slide."""
    el, newton = ws.element, ws.element.solver.newton
    K, W, sel = el.stages.K, el.stages.W, el.stages.sel
    for i in range(K.shape[0]):
        for k in range(el.problem.n_x):
            K[i, k] = ws.start.rate[k]
        for a in range(el.mode.active[0].sliding):
            W[i, a] = ws.start.w[a]
    newton[0].h = length
    newton[0].factored = 0.0
    inside = element(el, t, x, end, 0, 0, 0.0) == SUCCESS
    for i in range(K.shape[0]):
        for k in range(el.problem.n_sel):
            inside = inside and -1e-9 <= sel[i, k] <= 1.0 + 1e-9
    return 1 if inside else 0


@kernel(inner=True)
def longest(ws: Workspace, t: float, x: Vector, end: Vector, most: float) -> float:
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


@kernel(inline=True)
def follow(ws: Workspace) -> None:
    """Start the next element with x', w and the multipliers at the end of the last."""
    stages, end = ws.element.stages, ws.element.tableau.end
    for k in range(ws.element.problem.n_x):
        ws.start.rate[k] = 0.0
        for i in range(len(end)):
            ws.start.rate[k] += end[i] * stages.K[i, k]
    for a in range(ws.element.mode.active[0].sliding):
        ws.start.w[a] = 0.0
        for i in range(len(end)):
            ws.start.w[a] += end[i] * stages.W[i, a]
    for k in range(ws.element.problem.n_sel):
        ws.end[k] = at_end(ws, k)


@kernel(inner=True)
def furthest(ws: Workspace, record: Record, tally: Tally, first: int, t: float, rest: float) -> int:
    """Record the elements from ``states[first]`` at t up to the fold; 0 where there is none.

    ``start`` holds w and x' there. ``ending`` and ``tally[0].made``: as behind a phase.
    """
    el, ending, states = ws.element, ws.ending, record.states
    behind = min(first + GRADED, len(record.begin) - 1)
    room = rest
    made = 0
    for e in range(first, behind):
        length = longest(ws, t, states[e], states[e + 1], room)
        last = length <= CLOSE * rest or e == behind - 1
        room = length
        length = length if last else 0.5 * length
        if not (length > 0.0 and solved(ws, t, states[e], states[e + 1], length)):
            break
        write(el, record, e, t)
        follow(ws)
        t += length
        made += 1
        if last:
            break
    if made == 0:
        return 0
    tally[0].made = made
    ending[0].kind = FOLD
    ending[0].which = el.mode.zeros[0]
    ending[0].bound = 0.0
    return 1
