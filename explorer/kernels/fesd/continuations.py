"""All the ways in which a run of FESD could have gone on at a moment, for it to be shown."""

from explorer.kernels.fesd.active_set import PICK
from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.enter import enter
from explorer.kernels.fesd.recorded import restore
from explorer.kernels.fesd.structures import Mode, Phases, Problem, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.model.held_inputs import hold_at
from explorer.kernels.structures import Vector

__all__ = ["PICK", "arranged", "examine"]


@kernel()
def arranged(problem: Problem, mode: Mode, choice: int) -> int:
    """`arrange`, for Python."""
    return arrange(problem, mode, choice)


@kernel()
def examine(
    ws: Workspace, t: float, x: Vector, h: float, phases: Phases, p: int, pick: int, found: Phases
) -> int:
    """Choose continuation `pick` at (t, x), where phase `p` began in a run.

    ``ws.end`` holds the multipliers before. Sets phase 0 of `found` as `enter` does, and returns
    its status.
    """
    switch, mode, problem = phases.switches[p], ws.element.mode, ws.element.problem
    hold_at(problem.drive, problem.inp, t, 1e-9 * h)
    if switch.kind > 0:
        restore(ws.element, phases, p - 1)
    mode.active[0].choice = phases.switches[max(p - 1, 0)].choice
    return enter(ws, t, x, h, switch.kind, switch.which, PICK + pick, 0, found, 0)
