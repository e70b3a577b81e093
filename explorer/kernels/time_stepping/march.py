"""The march of a one-step scheme: rows are taken one by one until t_end.

A scheme is a `begin`, which is done at the row where the march begins, a `cross`, which goes on to
the next interval of the inputs, and a `step`. It hands them over, so the loop stands once, and
nothing of it costs. They take the scheme's own structures:

    problem.grid    a `Grid`
    record.t        (n_t,) s; the row where the march begins is given
    work.state      (1,) with the fields row: the last row that holds; h: the next step, in s
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from explorer.codes import SUCCESS
from explorer.kernels.model.held_inputs import Drive, hold
from explorer.kernels.references import kernel
from explorer.kernels.templates import template
from explorer.kernels.time_stepping.time_grid import even_step, next_step

__all__ = ["AGAIN", "BREAK", "FULL", "UNFACTORED", "Grid", "changes_at", "march"]

# what is no end of a run, besides the statuses of `explorer.codes`
FULL = -1  # the record is full: call again with a larger one
UNFACTORED = -2  # factors for another step are wanted: make them and call again
AGAIN = -3  # within the march: the step is taken again, with another h
BREAK = -4  # inputs change at this row, and `cross` cannot: correct what is carried and call again


class Grid(NamedTuple):
    """Where steps end."""

    t_end: float  # s
    steps: int  # how many there are; 0: as many as it takes
    even: bool  # whether all but the last are of one size
    drive: Drive  # where inputs change


@kernel(inline=True)
def changes_at(grid: Grid, t: float) -> bool:
    """Whether the present interval of the inputs begins at a time."""
    k = grid.drive.now[0]
    return k > 0 and abs(grid.drive.t[k - 1] - t) <= 1e-12 * grid.t_end


@template
def march(begin: Any, cross: Any, step: Any, problem: Any, record: Any, work: Any) -> int:
    """March from row state.row to t_end; return a status, FULL, UNFACTORED or BREAK."""
    t, state, grid = record.t, work.state, problem.grid
    t_end, steps, even = grid.t_end, grid.steps, grid.even
    drive, row = grid.drive, state[0].row
    breaks, k, close = drive.t, 0, 1e-9 * state[0].h
    while k < breaks.size and breaks[k] <= t[row] + close:
        k += 1
    hold(drive, problem.bundles.inp, k)
    ahead = breaks[k] if k < breaks.size else np.inf
    begin(problem, record, work, row)
    while t[row] < t_end:
        if row + 1 >= t.size:
            return FULL
        if steps > 0:
            h, t1 = even_step(t[row], state[0].h, t[0], t_end, row, steps)
        else:
            end = t_end if even else min(ahead, t_end)
            h, t1 = next_step(t[row], state[0].h, t[0], end, row, even)
        status = step(problem, record, work, row, h, t1)
        if status == SUCCESS:
            row += 1
            t[row] = t1
            state[0].row = row
            if ahead <= t1 + close:
                while k < breaks.size and breaks[k] <= t1 + close:
                    k += 1
                ahead = breaks[k] if k < breaks.size else np.inf
                if not cross(problem, record, work, row, k):
                    return BREAK
        elif status != AGAIN:
            return status
    return SUCCESS
