"""Formulations of constraints side by side: drift over time; the penalty's error over alpha."""

from __future__ import annotations

import numpy as np

from explorer.results.solution import Solution
from explorer.study.formulations import Formulated, Formulations
from explorer.verification.constraint_rates import constraint_drifts
from explorer.views.constraint_drift import decades, drift_curve, drift_title, largest
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import few
from explorer.views.drawing.picture import COLOURS, GREY, Picture, Plot, curve, time_title
from explorer.views.drawing.traces import Line, Trace
from explorer.views.drawing.view import view

__all__ = ["formulations"]

_DASHES = ("solid", "dash", "dot", "dashdot")
_POINTS = 250
_LEAST = 1e-16


@view
def formulations(found: Formulations) -> Picture:
    """Draw the drift of each formulation, and error and price of the penalty over alpha.

    Parameters
    ----------
    found : Formulations
        What `explorer.study.formulations` returns.
    """
    left = [_drifts(found, rate=False), _drifts(found, rate=True)]
    if not found.penalties:
        return compose([left], [1])
    return compose([left, [_errors(found), _price(found)]], [1, 1])


def _drifts(found: Formulations, *, rate: bool) -> Plot:
    system, traces, sizes = found.system, [], []
    for k, one in enumerate(found.runs):
        t, size = _largest(one.run, rate)
        look = COLOURS[k % len(COLOURS)], one.name, system.time_unit, _DASHES[k % len(_DASHES)]
        traces.append(drift_curve(t, size, *look) | {"showlegend": not rate})
        sizes.append(size)
    end = max(float(one.run.t[-1]) for one in found.runs)
    title, seen = drift_title(system, rate=rate), decades(np.concatenate(sizes))
    return Plot(traces, time_title(system), title, (0.0, end), seen, log_y=True)


def _largest(run: Solution, rate: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return times and the largest |phi| or |phi'| of all constraints, thinned."""
    values = constraint_drifts(run)[rate]
    events = np.array([e.row for e in run.events], int) if run.has("march") else np.zeros(0, int)
    rows = np.unique([*few(np.arange(len(run.t)), _POINTS), *events, *(events - 1)])
    return run.t[rows], largest(values)[rows]


def _errors(found: Formulations) -> Plot:
    """Draw error and drift of the penalty over alpha, with a line of slope -1."""
    alphas = found.alphas
    error, phi = (_all(found.penalties, name) for name in ("error", "phi"))
    guide = np.sort(alphas)[[0, -1]]
    traces: list[Trace] = [
        curve(
            guide,
            np.maximum(error[0] * guide[0] / guide, _LEAST),
            GREY,
            name="1/α",
            line={"dash": "dot", "width": 1},
            showlegend=True,
            hoverinfo="skip",
        ),
        _marked(alphas, error, COLOURS[0], "error at the end", "circle"),
        _marked(alphas, phi, COLOURS[1], "largest |φ|", "diamond"),
    ]
    seen = decades(np.concatenate([error, phi]))
    return Plot(
        traces,
        "penalty α (kg)",
        "error, " + drift_title(found.system, rate=False),
        _span(alphas),
        seen,
        time=False,
        log=True,
        log_y=True,
    )


def _price(found: Formulations) -> Plot:
    """Draw right-hand sides over alpha, beside those of the other formulations."""
    alphas, traces, sizes = found.alphas, [], [_all(found.penalties, "calls")]
    for k, one in enumerate(found.runs):
        if not one.calls or one.name == found.penalties[0].name:
            continue
        level, colour = np.full(2, float(one.calls)), COLOURS[k % len(COLOURS)]
        line: Line = {"dash": _DASHES[k % len(_DASHES)], "width": 1.4}
        traces.append(curve(np.array(_span(alphas)), level, colour, name=one.name, line=line))
        sizes.append(level)
    place = next(k for k, one in enumerate(found.runs) if one.name == found.penalties[0].name)
    traces.append(_marked(alphas, sizes[0], COLOURS[place % len(COLOURS)], "penalty", "circle"))
    traces[-1]["showlegend"] = False
    most = 1.15 * max(float(size.max()) for size in sizes)
    return Plot(
        traces,
        "penalty α (kg)",
        "right-hand sides",
        _span(alphas),
        (0.0, most),
        time=False,
        log=True,
        share=0.7,
    )


def _marked(x: np.ndarray, y: np.ndarray, colour: str, name: str, symbol: str) -> Trace:
    return curve(
        x,
        np.maximum(y, _LEAST),
        colour,
        name=name,
        mode="lines+markers",
        marker={"color": colour, "size": 7, "symbol": symbol},
        showlegend=True,
        hovertemplate=f"α = %{{x:.2g}} kg<br>{name}: %{{y:.3g}}<extra></extra>",
    )


def _span(alphas: np.ndarray) -> tuple[float, float]:
    return float(alphas.min()) / 2, float(alphas.max()) * 2


def _all(runs: tuple[Formulated, ...], name: str) -> np.ndarray:
    return np.array([getattr(one, name) for one in runs], float)
