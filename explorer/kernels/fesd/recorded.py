"""The elements of a record, as they were when they were solved."""

from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.structures import Element, Phases, Record
from explorer.kernels.jit import kernel
from explorer.kernels.model.held_inputs import hold_at

__all__ = ["last_of", "load", "restore"]


@kernel(inner=True)
def restore(el: Element, phases: Phases, p: int) -> None:
    """Set up the active set of phase `p`."""
    for j in range(el.problem.n_c):
        el.mode.sign[j] = phases.signs[p, j]
    arrange(el.problem, el.mode, phases.switches[p].choice)


@kernel(inner=True)
def load(el: Element, record: Record, phases: Phases, e: int, h: float) -> None:
    """Set up the active set of element `e`, its K and W as a guess, and a length h."""
    K, W, B = el.stages.K, el.stages.W, el.mode.B
    n, nsel = el.problem.n_x, el.problem.n_sel
    restore(el, phases, record.phase[e])
    close = 1e-9 * record.length[e]
    hold_at(el.problem.drive, el.problem.inp, record.begin[e], close)
    for i in range(K.shape[0]):
        for k in range(n):
            K[i, k] = record.slopes[e, i * n + k]
        for a in range(el.mode.active[0].sliding):
            for k in range(nsel):
                if B[k, a] == 1.0:
                    W[i, a] = record.mult[e, i * nsel + k]
    el.solver.newton[0].h = h
    el.solver.newton[0].factored = 0.0


@kernel(inline=True)
def last_of(record: Record, e: int) -> int:
    """Return the last element of the phase and the interval of element `e`."""
    last = e
    while (
        last + 1 < len(record.begin)
        and record.interval[last + 1] == record.interval[e]
        and record.phase[last + 1] == record.phase[e]
    ):
        last += 1
    return last
