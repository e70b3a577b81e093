"""Drift from the constraints: |phi| and |phi'| = |phi_q v + phi_t| over time, logarithmic.

An integrator that holds only phi'' = 0 leaves phi = 0 and phi' = 0, the faster the longer it runs;
what projects keeps both at round-off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.systems.units import constraint_units
from explorer.verification.constraint_rates import constraint_drifts
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import drawn, fine
from explorer.views.drawing.one_sided import Sides
from explorer.views.drawing.picture import (
    COLOURS,
    Picture,
    Plot,
    curve,
    left_out,
    time_title,
    titled,
)
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = [
    "LEAST",
    "constraint_drift",
    "decades",
    "drift_curve",
    "drift_plot",
    "drift_title",
    "largest",
]

_DRIFTS = ("|φ|", "|φ\u0307|")
_FEW, _MOST = 5, 20  # decades of one axis
LEAST = 1e-16  # zero has no logarithm, and what is below is round-off


@view(of="constraints")
def constraint_drift(solution: Solution) -> Picture:
    """Draw |phi| and |phi'| of the constraints over time, on logarithmic axes."""
    run = fine(solution)
    names = [c.name for c in run.system.constraints]
    shown = drawn(names).tolist()
    plots = []
    for rate, values in enumerate(constraint_drifts(run)):
        traces = [
            drift_curve(run.t, values[:, k], COLOURS[rank], names[k], run.system.time_unit)
            for rank, k in enumerate(shown)
        ]
        for trace in traces:
            trace["showlegend"] = not rate
        if not rate and len(shown) < len(names):
            traces.append(left_out(len(shown), len(names)))
        title = drift_title(run.system, rate=bool(rate))
        span, seen = (0.0, float(run.t[-1])), decades(values[:, shown])
        plots.append(Plot(traces, time_title(run.system), title, span, seen, log_y=True))
    return compose([plots], [1])


def drift_plot(at: Sides, span: tuple[float, float]) -> Plot:
    """Draw the largest |phi| and the largest |phi'| of all constraints in one plot."""
    rows = at.rows
    sizes = [largest(values)[at.pick] for values in constraint_drifts(rows)]
    time = rows.system.time_unit
    traces = [
        drift_curve(at.t, size, colour, name, time, dash) | {"showlegend": True}
        for size, colour, name, dash in zip(
            sizes, (COLOURS[0], COLOURS[1]), _DRIFTS, ("solid", "dot"), strict=True
        )
    ]
    title = titled("drift", ", ".join(filter(None, _measures(rows.system))))
    return Plot(traces, time_title(rows.system), title, span, decades(np.array(sizes)), log_y=True)


def largest(values: np.ndarray) -> np.ndarray:
    """Return the largest size in each row, (k,), of what holds there; 0 if nothing does."""
    found: np.ndarray = np.abs(np.nan_to_num(values, nan=0.0)).max(axis=1)
    return found


def drift_curve(
    t: np.ndarray, values: np.ndarray, colour: str, name: str, time: str, dash: str = "solid"
) -> Trace:
    """Return the curve of the size of some values, (k,), on a logarithmic axis.

    It is interrupted where a time comes twice: at an event, whose left and right limit these are.
    """
    cuts = np.flatnonzero(np.diff(t) == 0) + 1
    t, values = np.insert(t, cuts, np.nan), np.insert(values, cuts, np.nan)
    return curve(
        t.astype(np.float32),
        np.maximum(np.abs(values), LEAST).astype(np.float32),
        colour,
        name=name,
        line={"width": 1.4, "dash": dash},
        hovertemplate=f"t = %{{x:.4g}} {time}<br>{name}: %{{y:.2g}}<extra></extra>",
    )


def drift_title(system: System, *, rate: bool) -> str:
    """Return the title of an axis of |phi| or of |phi'|, with the unit if all have the same."""
    return titled(_DRIFTS[rate], _measures(system)[rate])


def _measures(system: System) -> tuple[str, str]:
    """Return the units of phi and phi', empty if constraints differ or are pure numbers."""
    known = {u for u, _ in constraint_units(system)}
    shared = known.pop() if len(known) == 1 else None
    measure = unit(shared) if shared else ""
    return measure, f"{measure}/{system.time_unit}" if measure else ""


def decades(values: np.ndarray | Sequence[float]) -> tuple[float, float]:
    """Return whole decades that contain the sizes of some values, five of them at least."""
    sizes = np.abs(np.asarray(values, float)).ravel()
    sizes = np.clip(sizes[np.isfinite(sizes)], LEAST, None)
    if not sizes.size:
        sizes = np.array([LEAST])
    low, high = np.floor(np.log10(sizes.min())), np.ceil(np.log10(sizes.max()))
    low = max(low, high - _MOST)
    return float(10.0**low), float(10.0 ** max(high, low + _FEW))
