"""A stretch of elements of one active set: equal lengths, the last one cut at the first switch.

In a fixed active set an element is a smooth step (`explorer.kernels.fesd.element`): c_j > 0 or
c_j < 0 with alpha_j = 1 or 0, or c_j = 0 with alpha_j in [0, 1] (Nurkanovic et al. 2023, eq. (10)).
Where one of these ends within an element the element is cut: c_j(x_end) = 0, or its multiplier is
at the bound (eq. (18): the same sign holds at all points of an element, its end included).
"""

from explorer.codes import SUCCESS
from explorer.kernels.fesd.active_set_ends import BOUND, dips, drift, first_end, free, violated
from explorer.kernels.fesd.element import element, solve
from explorer.kernels.fesd.structures import (
    COARSE,
    MULTIPLIER,
    SURFACE,
    Element,
    Kept,
    Record,
    Start,
    Workspace,
)
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Vector

__all__ = ["AT_ONCE", "OTHER", "at_end", "stretch", "write"]

OTHER = -1  # something else happened than what was aimed at
AT_ONCE = -2  # a multiplier leaves [0, 1] in an element of any length
HALVINGS = 60
TINY = 1e-12  # beside an element: as long as none
PROBE = 8  # iterations towards a second crossing, which may not exist
TURNS = 8  # attempts to find the first of two zeros


@kernel(inline=True)
def put_aside(el: Element, kept: Kept) -> None:
    """Copy K and W."""
    for i in range(el.stages.K.shape[0]):
        for k in range(el.problem.n_x):
            kept.K[i, k] = el.stages.K[i, k]
        for a in range(el.mode.active[0].sliding):
            kept.W[i, a] = el.stages.W[i, a]


@kernel(inline=True)
def bring_back(el: Element, kept: Kept) -> None:
    """Copy K and W back."""
    for i in range(el.stages.K.shape[0]):
        for k in range(el.problem.n_x):
            el.stages.K[i, k] = kept.K[i, k]
        for a in range(el.mode.active[0].sliding):
            el.stages.W[i, a] = kept.W[i, a]


@kernel(inline=True)
def on_it(start: Start, which: int) -> float:
    """Return 1 if an element starts on a surface, else 0."""
    return 1.0 if start.c[which] == 0.0 else 0.0


@kernel(inner=True)
def there_and_back(ws: Workspace, t: float, x: Vector, h: float, end: Vector, coarse: int) -> int:
    """End an element at a surface that its polynomial crosses twice; else solve it over h again."""
    el, start, ending, newton = ws.element, ws.start, ws.ending, ws.element.solver.newton
    put_aside(el, ws.kept)
    which = ending[0].which
    newton[0].h = ending[0].fraction * h
    ending[0].bound = on_it(start, which)
    bound = ending[0].bound
    cap = newton[0].cap
    newton[0].cap = min(cap, PROBE)
    status = element(el, t, x, end, SURFACE, which, bound)
    newton[0].cap = cap
    if status == SUCCESS and newton[0].h <= h:
        slope = drift(el, which)
        if el.mode.sign[which] * slope < 0.0 and not violated(el, start, ending, coarse):
            ending[0].which = which
            ending[0].bound = bound
            ending[0].kind = SURFACE
            return SUCCESS
    bring_back(el, ws.kept)
    newton[0].h = h
    ending[0].kind = 0
    return element(el, t, x, end, 0, 0, 0.0)


@kernel(inner=True)
def cut(ws: Workspace, t: float, x: Vector, h: float, end: Vector, kind: int, coarse: int) -> int:
    """Find the length of an element up to the first switch, of which ``ending`` has a guess.

    Newton's method with the length unknown, from a point between `low`, up to which the active set
    holds, and `high`, where it does not; where that fails the interval is halved.
    """
    el, start, ending, newton = ws.element, ws.start, ws.ending, ws.element.solver.newton
    put_aside(el, ws.kept)
    status = SUCCESS
    low = 0.0
    high = h
    guess = ending[0].fraction * h
    turns = 0
    for _ in range(HALVINGS):
        bring_back(el, ws.kept)
        newton[0].h = guess
        which = ending[0].which
        if kind == SURFACE:
            ending[0].bound = on_it(start, which)
        bound = ending[0].bound
        status = element(el, t, x, end, kind, which, bound)
        if status == SUCCESS and low < newton[0].h and newton[0].h <= high * (1.0 + 1e-9):
            earlier = violated(el, start, ending, coarse)
            may_turn = earlier == 0 and kind == SURFACE and turns < TURNS
            if may_turn and el.mode.sign[which] * drift(el, which) > 0.0:
                # where it comes back to its own side it has crossed zero before
                turns += 1
                high = newton[0].h * (1.0 - 1e-3)
                guess = low + 0.5 * (high - low)
                ending[0].which = which
                continue
            if earlier == COARSE:
                return OTHER
            if earlier != 0 and (ending[0].which != which or earlier != kind):
                kind = earlier
                high = newton[0].h
                guess = ending[0].fraction * high
                continue
            ending[0].which = which
            ending[0].bound = bound
            if earlier == 0:
                ending[0].kind = kind
                return SUCCESS
        bring_back(el, ws.kept)
        middle = 0.5 * (low + high)
        newton[0].h = middle
        status = element(el, t, x, end, 0, 0, 0.0)
        if status != SUCCESS:
            return status
        at = violated(el, start, ending, coarse)
        if at == COARSE:
            return OTHER
        if at == 0:
            ending[0].which = which
            ending[0].bound = bound
            low = middle
            guess = 0.5 * (low + high)
        else:
            kind = at
            high = middle
            guess = max(ending[0].fraction * high, low + 0.01 * (high - low))
            put_aside(el, ws.kept)
            if kind == MULTIPLIER and high < TINY * h:
                return AT_ONCE
    return status if status != SUCCESS else OTHER


@kernel(inline=True)
def reach(ws: Workspace, t: float, x: Vector, h: float, end: Vector, kind: int, coarse: int) -> int:
    """Solve an element from (t, x) of length h, cut where its active set ends.

    With `kind` it is to end at the ending's which and bound, and its length is found from h. On
    return ``ending`` is what it ends at. The guess is in K and W. OTHER: it does not end where it
    was to. AT_ONCE: the ending ends it where it begins.
    """
    el, start, ending, newton = ws.element, ws.start, ws.ending, ws.element.solver.newton
    newton[0].h = h
    if kind == SURFACE:
        ending[0].bound = on_it(start, ending[0].which)
    which = ending[0].which
    status = solve(el, t, x, end, kind, which, ending[0].bound)
    ending[0].kind = kind
    if kind > 0 and (status != SUCCESS or newton[0].h > 4.0 * h):
        return OTHER
    if status != SUCCESS:
        return status
    first = first_end(el, start, ending, coarse)
    if kind > 0:
        ending[0].which = which
        return SUCCESS if first == 0 else OTHER
    if first == 0 and dips(el, start, ending, ws.nodes, ws.differences, h):
        return there_and_back(ws, t, x, h, end, coarse)
    if first == 0:
        return SUCCESS
    if first == COARSE:
        return OTHER
    return cut(ws, t, x, h, end, first, coarse)


@kernel(inline=True)
def predict(ws: Workspace, record: Record, e: int, at_first: bool) -> None:
    """Set the guess of K and W of element `e`: constant, or the polynomials of the one before."""
    tableau, solver = ws.element.tableau, ws.element.solver
    K, W = ws.element.stages.K, ws.element.stages.W
    s, n = K.shape
    for k in range(n):
        for i in range(s):
            total = ws.start.rate[k]
            if not at_first:
                total = 0.0
                for j in range(s):
                    total += tableau.ahead[i, j] * record.slopes[e - 1, j * n + k]
            K[i, k] = total
    for a in range(ws.element.mode.active[0].sliding):
        for i in range(s):
            total = ws.start.w[a]
            if not at_first:
                total = 0.0
                for j in range(s):
                    total += tableau.ahead[i, j] * W[j, a]
            solver.rhs[i] = total
        for i in range(s):
            W[i, a] = solver.rhs[i]


@kernel(inline=True)
def at_end(ws: Workspace, k: int) -> float:
    """Return a multiplier at the end of the element that was solved."""
    total = 0.0
    for i in range(ws.element.stages.K.shape[0]):
        total += ws.element.tableau.end[i] * ws.element.stages.sel[i, k]
    return total


@kernel(inline=True)
def ends_just_there(ws: Workspace) -> None:
    """Set the ending if the element ends just on a surface, or at the bound of a multiplier."""
    el, start, ending = ws.element, ws.start, ws.ending
    C = el.stages.C
    for j in range(el.problem.n_c):
        if el.mode.sign[j] != 0 and abs(C[C.shape[0] - 1, j]) <= start.tolerance[j] < abs(
            start.c[j]
        ):
            ending[0].which = j
            ending[0].kind = SURFACE
    if el.mode.active[0].sliding == 0 or ending[0].kind != 0:
        return
    for k in range(el.problem.n_sel):
        end = at_end(ws, k)
        goal = 0.0 if end < 0.5 else 1.0
        if free(el, k) and abs(end - goal) <= BOUND < abs(start.multipliers[k] - goal):
            ending[0].which = k
            ending[0].bound = goal
            ending[0].kind = MULTIPLIER


@kernel(inline=True)
def write(el: Element, record: Record, e: int, t: float) -> None:
    """Record the element that was solved as number `e`."""
    K, sel = el.stages.K, el.stages.sel
    n, nsel = el.problem.n_x, el.problem.n_sel
    record.begin[e] = t
    record.length[e] = el.solver.newton[0].h
    for i in range(K.shape[0]):
        for k in range(n):
            record.slopes[e, i * n + k] = K[i, k]
        for k in range(nsel):
            record.mult[e, i * nsel + k] = sel[i, k]


@kernel(inline=True)
def follow(ws: Workspace) -> None:
    """Set c and the multipliers at the start of the next element."""
    C = ws.element.stages.C
    for j in range(ws.element.problem.n_c):
        ws.start.c[j] = C[C.shape[0] - 1, j]
    for k in range(ws.element.problem.n_sel):
        ws.start.multipliers[k] = at_end(ws, k)


@kernel(inner=True)
def stretch(
    ws: Workspace, record: Record, first: int, t: float, h: float, most: int, kind: int, coarse: int
) -> tuple[int, int]:
    """March from ``states[first]`` at t in elements of length h; return a status, and how many.

    Without `kind` at most `most` of them, up to the first switch (``ending``). With it `most` - 1
    of them without one, and a last one that ends at the ending's which and bound. ``start`` holds
    what the stretch begins with, and afterwards again; ``newton[0].h`` is the length of the last.
    """
    el, start, kept, ending = ws.element, ws.start, ws.kept, ws.ending
    states, newton = record.states, el.solver.newton
    which = ending[0].which
    bound = ending[0].bound
    for j in range(el.problem.n_c):
        kept.c[j] = start.c[j]
    for k in range(el.problem.n_sel):
        kept.multipliers[k] = start.multipliers[k]
    status = SUCCESS
    e = 0
    while e < most:
        predict(ws, record, first + e, e == 0)
        goal = kind if e == most - 1 else 0
        ending[0].which = which
        ending[0].bound = bound
        status = reach(ws, t, states[first + e], h, states[first + e + 1], goal, coarse)
        if status == SUCCESS and ending[0].kind == 0:
            ends_just_there(ws)
        if status == SUCCESS and kind > 0 and goal == 0 and ending[0].kind != 0:
            status = OTHER
        if status == AT_ONCE and e > 0 and kind == 0:  # so the element before is the last
            status = SUCCESS
            ending[0].kind = MULTIPLIER
            newton[0].h = record.length[first + e - 1]
            break
        if status != SUCCESS:
            break
        write(el, record, first + e, t)
        follow(ws)
        t += newton[0].h
        e += 1
        if ending[0].kind != 0:
            break
    for j in range(el.problem.n_c):
        start.c[j] = kept.c[j]
    for k in range(el.problem.n_sel):
        ws.end[k] = start.multipliers[k]
        start.multipliers[k] = kept.multipliers[k]
    return status, e
