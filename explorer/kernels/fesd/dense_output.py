"""States inside the elements of a march: each by an element of its own that ends there."""

from explorer.codes import SUCCESS
from explorer.kernels.fesd.element import element
from explorer.kernels.fesd.march_active_set import at_end
from explorer.kernels.fesd.recorded import load
from explorer.kernels.fesd.structures import Phases, Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["within"]


@kernel()
def within(
    ws: Workspace,
    record: Record,
    phases: Phases,
    t: Vector,
    which: Integers,
    x: Matrix,
    multipliers: Matrix,
) -> None:
    """Set x (k, n) and the multipliers (k, n_sel) at times t (k,) inside the elements `which`.

    They come with the values of the element's polynomials, which stay where it has no solution.
    """
    el = ws.element
    for p in range(len(t)):
        e = which[p]
        begin = record.begin[e]
        if not t[p] > begin or t[p] >= begin + record.length[e]:
            continue
        load(el, record, phases, e, t[p] - begin)
        if element(el, begin, record.states[e], ws.x, 0, 0, 0.0) == SUCCESS:
            for k in range(el.problem.n_x):
                x[p, k] = ws.x[k]
            for k in range(el.problem.n_sel):
                multipliers[p, k] = at_end(ws, k)
