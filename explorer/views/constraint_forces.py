"""Constraint forces lam over time, M v' + phi_q' lam = F, and their derivatives by a parameter.

A force is algebraic in the state: it jumps with it at an event, and its derivative jumps as well
(Corner et al. 2019, eq. (94) and (95), corrected: Lam+ = lam_q Q+ + lam_v V+ + lam_rho).
"""

from __future__ import annotations

import numpy as np

from explorer.derivatives import Sensitivity
from explorer.errors import NotApplicable
from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.systems.units import constraint_units
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import MOST_CURVES, drawn, fine
from explorer.views.drawing.one_sided import limits, sides
from explorer.views.drawing.parts import PARTS, has_constraints
from explorer.views.drawing.picture import (
    COLOURS,
    Picture,
    Plot,
    curve,
    extent,
    left_out,
    time_title,
    titled,
)
from explorer.views.drawing.slopes import force_slopes, parameter, slope_unit
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view
from explorer.views.twins import column

__all__ = ["constraint_forces"]

_POINTS = 300


@view(of="constraints")
def constraint_forces(solution: Solution | Sensitivity, wrt: str | int | None = None) -> Picture:
    """Draw the constraint forces over time and, of a sensitivity, their derivatives with jumps.

    Parameters
    ----------
    solution : Solution or Sensitivity
    wrt : str, optional
        For a sensitivity: the parameter, by default the first one.

    Raises
    ------
    NotApplicable
        A run without constraints.
    """
    if isinstance(solution, Solution):
        return compose([[_forces(fine(solution))]], [1])
    if not has_constraints(solution.solution):
        raise NotApplicable(
            f"views.constraint_forces draws {PARTS['constraints'].text}. "
            f"'{solution.question.system.name}' declares none."
        )
    j = column(solution, wrt)
    return compose([[_forces(fine(solution.solution), named=False), _slopes(solution, j)]], [1])


def _shown(system: System) -> tuple[list[str], list[int]]:
    names = [c.name for c in system.constraints]
    return names, drawn(names).tolist()


def _units(system: System, shown: list[int]) -> str:
    found = [constraint_units(system)[k][1] for k in shown]
    known = dict.fromkeys(unit(u) for u in found if u is not None)
    return ", ".join(known) if None not in found else ""


def _forces(run: Solution, *, named: bool = True) -> Plot:
    names, shown = _shown(run.system)
    force, time = run.lam_phi, run.system.time_unit
    breaks = np.unique([e.row for e in run.events]).astype(np.int64)
    if not run.has("march"):
        force = _of_steps(force, np.asarray(run.jump_rows, int))
        breaks = np.asarray(run.jump_rows, np.int64)
    traces = [
        curve(
            run.t,
            np.ascontiguousarray(force[:, k]),
            COLOURS[rank],
            name=names[k],
            breaks=breaks,
            showlegend=named,
            meta={"t": run.t},
            hovertemplate=f"t = %{{x:.4g}} {time}<br>λ of {names[k]} = %{{y:.5g}}<extra></extra>",
        )
        for rank, k in enumerate(shown)
    ]
    if len(shown) < len(names):
        traces.append(left_out(len(shown), len(names)))
    span = (0.0, float(run.t[-1]))
    title = titled("force λ", _units(run.system, shown))
    return Plot(traces, time_title(run.system), title, span, extent(force[:, shown]))


def _of_steps(force: np.ndarray, jumps: np.ndarray) -> np.ndarray:
    """Return the mean forces of steps; a step with an impact shows the force of its neighbour."""
    found, last = force.copy(), len(force) - 1
    for row in jumps[::-1].tolist():
        found[row] = found[min(row + 1, last)]
    found[0] = found[min(1, last)]
    return found


def _slopes(sens: Sensitivity, j: int) -> Plot:
    run = sens.solution
    names, shown = _shown(run.system)
    at = sides(run, points=_POINTS, given=sens.own is not None)
    by, by_unit = parameter(sens, j)
    slopes = force_slopes(at.rows)[:, :, j]
    traces: list[Trace] = []
    for rank, k in enumerate(shown):
        own = limits(at, slopes[:, k], COLOURS[rank % MOST_CURVES], names[k])
        own[0]["showlegend"] = True
        traces += own
    known = _units(run.system, shown)
    title = titled(f"dλ/d{by}", slope_unit(known, by_unit) if known and "," not in known else "")
    seen = [at.drawn(slopes[:, k]) for k in shown]
    return Plot(
        traces, time_title(run.system), title, (0.0, float(run.march.t_last)), extent(*seen)
    )
