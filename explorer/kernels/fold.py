"""Where a slide on several surfaces ends because dc/dt = 0 has no solution any more.

Two of its solutions alpha meet there, and neither goes on: a fold. The state is what it is, but no
element of the slide gets beyond. The last of them is as long as it has a solution.
"""

from explorer.codes import SUCCESS
from explorer.kernels.element import FACTORED, MULTIPLIER, NC, NSEL, H, N, S, element
from explorer.kernels.fesd_structures import Element, Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.phase import MADE
from explorer.kernels.structures import Integers, takes

__all__ = ["FOLD", "furthest"]

FOLD = MULTIPLIER + 1  # kind of a switch
HALVINGS = 50
CLOSE = 1e-12  # beside the rest: no closer to the fold


@kernel(takes(Workspace, Record, Integers, int, float, float, returns=int), inner=True)
def furthest(ws, record, counts, first, t, rest):
    """Record the longest element from ``states[first]`` at t that has a solution; 0 without one.

    Rows 5 and 6 of `vec`: w and x' at the start. ``found``: as behind a phase.
    """
    shape, tableau = ws.model.shape, ws.model.tableau
    zeros = ws.mode.zeros
    K, W, sel = ws.stages.K, ws.stages.W, ws.stages.sel
    work = ws.solver.work
    vec, found = ws.vec, ws.found
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    nsel = shape[NSEL]
    s = shape[S]
    low = 0.0
    high = rest
    length = 0.5 * rest
    for turn in range(HALVINGS):
        last = turn == HALVINGS - 1 or high - low <= CLOSE * rest
        if last:
            length = low
        if not length > 0.0:
            return 0
        for i in range(s):
            for k in range(n):
                K[i, k] = vec[6, k]
            for a in range(zeros[shape[NC]]):
                W[i, a] = vec[5, a]
        work[H] = length
        work[FACTORED] = 0.0
        status = element(
            Element(ws.model, ws.mode, ws.stages, ws.solver),
            t,
            states[first],
            states[first + 1],
            0,
            0,
            0.0,
        )
        inside = status == SUCCESS
        for i in range(s):
            for k in range(nsel):
                inside = inside and -1e-9 <= sel[i, k] <= 1.0 + 1e-9
        if last:
            break
        if inside:
            low = length
        else:
            high = length
        length = 0.5 * (low + high)
    if not inside:
        return 0
    times[first, 0] = t
    times[first, 1] = work[H]
    for i in range(s):
        for k in range(n):
            slopes[first, i * n + k] = K[i, k]
        for k in range(nsel):
            mult[first, i * nsel + k] = sel[i, k]
    for k in range(nsel):
        vec[14, k] = 0.0
        for i in range(s):
            vec[14, k] += tableau[3 * s + 3, i] * sel[i, k]
    counts[MADE] = 1
    found[0] = zeros[0]
    found[1] = 0.0
    found[2] = 0.0
    found[3] = FOLD
    return 1
