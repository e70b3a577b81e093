"""States inside the elements of a march: each by an element of its own that ends there."""

from explorer.codes import SUCCESS
from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.element import FACTORED, NC, NSEL, H, N, S, element
from explorer.kernels.fesd.march import SIGNS
from explorer.kernels.fesd.structures import Element, Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Table, Vector, takes

__all__ = ["within"]


@kernel(takes(Workspace, Record, Table, Table, Vector, Integers, Matrix, Matrix))
def within(ws, record, places, switches, t, which, x, multipliers):
    """Set x (k, n) and the multipliers (k, n_sel) at times t (k,) inside the elements `which`.

    They come with the values of the element's polynomials, which stay where it has no solution.
    """
    shape, tableau = ws.model.shape, ws.model.tableau
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    K, W, sel = ws.stages.K, ws.stages.W, ws.stages.sel
    work = ws.solver.work
    vec = ws.vec
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    nsel = shape[NSEL]
    s = shape[S]
    for p in range(len(t)):
        e = which[p]
        if not t[p] > times[e, 0] or t[p] >= times[e, 0] + times[e, 1]:
            continue
        phase = places[e, 1]
        for j in range(shape[NC]):
            sign[j] = switches[phase, SIGNS + j]
        arrange(shape, sign, zeros, base, B, switches[phase, SIGNS - 1])
        for i in range(s):
            for k in range(n):
                K[i, k] = slopes[e, i * n + k]
            for a in range(zeros[shape[NC]]):
                for k in range(nsel):
                    if B[k, a] == 1.0:
                        W[i, a] = mult[e, i * nsel + k]
        work[H] = t[p] - times[e, 0]
        work[FACTORED] = 0.0
        status = element(
            Element(ws.model, ws.mode, ws.stages, ws.solver),
            times[e, 0],
            states[e],
            vec[0],
            0,
            0,
            0.0,
        )
        if status == SUCCESS:
            for k in range(n):
                x[p, k] = vec[0, k]
            for k in range(nsel):
                multipliers[p, k] = 0.0
                for i in range(s):
                    multipliers[p, k] += tableau[3 * s + 3, i] * sel[i, k]
