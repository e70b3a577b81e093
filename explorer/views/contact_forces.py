"""Forces of contacts over time in N, and below them the impulses of impacts in N s, as arrows.

A force lasts and has a value at each time; an impulse is given at one time and has none. Each has
its own axis: an impact that a scheme spreads over a step would else look like a force of p / h,
which grows as the step shrinks. Time stepping knows the mean force of each step, which is drawn
from the begin of the step to its end. A force jumps where a contact closes or opens, and is not
known in the step of an impact; there the curve has a gap.
"""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.results.stepped import began
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.picture import COLOURS, TIME, Picture, Plot, curve, nice
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view
from explorer.views.events import impulses_plot

__all__ = ["contact_forces", "contact_forces_plot"]


def contact_forces_plot(solution: Solution) -> Plot:
    """Draw the normal force of each contact; of more than six, their sum."""
    run = fine(solution)
    names = [c.name for c in run.system.contacts]
    force, unknown = run.lam, _impacts(run)
    if len(names) > len(COLOURS):
        names = [f"sum of all {len(names)} contacts"]
        force = force.sum(axis=1, keepdims=True)
        unknown = np.asarray(unknown.any(axis=1, keepdims=True))
    events = np.unique([row for row, *_ in run.event_rows]).astype(np.int64)
    traces: list[Trace] = []
    for k, name in enumerate(names):
        f = np.ascontiguousarray(force[:, k])
        if run.has("march"):  # also where impacts have accumulated, which ends behind its event
            t, y, breaks = run.t, f, np.union1d(events, np.flatnonzero(np.diff(f > 0)) + 1)
        else:
            t, y, breaks = _steps(run.t, f, unknown[:, k])
        text = f"t = %{{x:.5g}} s<br>force = %{{y:.4g}} N<extra>{name}</extra>"
        traces.append(
            curve(
                t,
                y,
                COLOURS[k],
                name=name,
                breaks=breaks,
                held=bool(run.has("march")),
                hovertemplate=text,
                showlegend=len(names) > 1 or names[0].startswith("sum"),
            )
        )
    top = max(float(trace["y"].max(initial=0.0)) for trace in traces)
    return Plot(traces, TIME, "force λ (N)", (0.0, float(run.t[-1])), nice(0.0, top or 1.0))


def _impacts(run: Solution) -> np.ndarray:
    """Return in which steps an impact gives an impulse beside any force, (n_t, n_c) bool."""
    found = np.zeros(run.lam.shape, bool)
    if not run.has("march"):
        for row, kind, a in run.event_rows:
            if kind == "impact":
                found[began(run, row, a) : row + 1, a] = True
    return found


def _steps(
    t: np.ndarray, force: np.ndarray, unknown: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return both ends of each step with a known force, and the points before which it jumps."""
    ends, values = np.column_stack([t[:-1], t[1:]]), np.repeat(force[1:, None], 2, axis=1)
    known = ~unknown[1:]
    at = np.flatnonzero(known)
    on = force[1:][at] > 0
    torn = (np.diff(at) > 1) | (on[1:] != on[:-1])
    return ends[at].ravel(), values[at].ravel(), 2 * (np.flatnonzero(torn) + 1)


@view(of="contacts")
def contact_forces(solution: Solution) -> Picture:
    """Draw contact forces over time, and below them the impulses of impacts as arrows.

    Parameters
    ----------
    solution : Solution
        In a run by time stepping, forces are means over the steps.

    Raises
    ------
    NotApplicable
        A run without contacts.
    """
    blows = impulses_plot(solution)
    for trace in blows.traces:
        if trace.get("mode") == "markers":
            trace["marker"] = trace["marker"] | {"symbol": "triangle-up", "size": 9}
            trace["showlegend"] = False  # the forces above have the same colours
    return compose([[contact_forces_plot(solution), blows]], [1])
