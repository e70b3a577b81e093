"""Work-precision diagram: error over steps and over time, log-log; the slope is the order.

Curves of the same method share their dash, and curves with the same number of stages their colour.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from explorer.errors import BadValue
from explorer.study.work_precision import WorkCurve, WorkPrecision
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, GREY, INK, Picture, Plot, curve, titled
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = ["work_precision"]

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
_DASHES = ("solid", "dash", "dot", "dashdot")
_LEAST, _MOST = 1e-16, 1e2  # an error of zero cannot be drawn, that of a run that flew off is far
_OVER = {"steps": "steps", "h": "mean step h"}


@view
def work_precision(
    found: WorkPrecision,
    *,
    over: str = "steps",
    pinned: WorkPrecision | None = None,
    look: Look = STATIC,
) -> Picture:
    """Draw the error of several schemes over their steps and over their time.

    Parameters
    ----------
    found : WorkPrecision
        What `explorer.study.work_precision` or `explorer.study.order_diagram` returns.
    over : str
        "steps": their number; "h": the span over it, in s.
    pinned : WorkPrecision, optional
        To compare with: dotted grey.
    look : Look
        The size at which the picture is seen.

    Raises
    ------
    BadValue
        The argument is no such result.
    """
    if over not in _OVER:
        raise BadValue(f"over = {over!r} is not one of {', '.join(map(repr, _OVER))}.")
    drawn = [(found, c, look) for c, look in zip(found.curves, _looks(found.curves), strict=True)]
    if pinned is not None:
        drawn = [(pinned, c, (GREY, "circle-open", "dot")) for c in pinned.curves] + drawn
    errors = np.concatenate([np.clip(c.error, _LEAST, _MOST) for _, c, _ in drawn])
    low, high = _decades(errors)
    plots = []
    time = found.system.time_unit if over == "h" else ""
    for work, title, unit in (
        (over, titled(_OVER[over], time), time or "steps"),
        ("seconds", "time of the run (ms)", "ms"),
    ):
        every = [_work(study, c, work) for study, c, _ in drawn]
        span = _decades(np.concatenate(every))
        timed = work == "seconds"
        traces = [] if timed else _guides(span, (low, high), found, over == "h")
        for (study, c, (colour, symbol, dash)), x in zip(drawn, every, strict=True):
            order = f": order {c.order:.2g}" if np.isfinite(c.order) else ""
            traces.append(
                curve(
                    x.astype(np.float32),
                    np.maximum(c.error, _LEAST).astype(np.float32),
                    colour,
                    name="pinned" if study is pinned else c.name + order,
                    mode="lines+markers",
                    showlegend=study is found and not timed,
                    marker={"size": 7, "symbol": symbol},
                    line={"dash": dash},
                    hovertemplate=f"%{{x:.4g}} {unit}: %{{y}}<extra>{c.name}</extra>",
                )
            )
        plots.append(
            [
                Plot(
                    traces,
                    title,
                    "relative error",
                    span,
                    (low, high),
                    time=False,
                    log=True,
                    log_y=True,
                )
            ]
        )
    return compose(plots, [1, 1], look=look)


def _work(study: WorkPrecision, one: WorkCurve, work: str) -> np.ndarray:
    return (
        study.t_end / one.steps
        if work == "h"
        else one.steps
        if work == "steps"
        else (1e3 * one.seconds)
    )


def _looks(curves: Sequence[WorkCurve]) -> list[tuple[str, str, str]]:
    """Return the colour, the symbol and the dash of each curve."""
    stages = [getattr(c.schemes[0], "stages", 0) for c in curves]
    kinds = list(
        dict.fromkeys(type(c.schemes[0]) for c, s in zip(curves, stages, strict=True) if s)
    )
    free = itertools.count(max(stages))
    looks = []
    for i, (c, s) in enumerate(zip(curves, stages, strict=True)):
        other = c.name.startswith("smoothing")  # of another system: one look in all diagrams
        colour = INK if other else COLOURS[(s - 1 if s else next(free)) % len(COLOURS)]
        symbol = _SYMBOLS[(s - 1 if s else i) % len(_SYMBOLS)]
        kind = kinds.index(type(c.schemes[0])) if s else 0
        looks.append((colour, symbol + "-open" * (kind % 2), _DASHES[kind % len(_DASHES)]))
    return looks


def _decades(values: np.ndarray) -> tuple[float, float]:
    """Return a range with some margin on a logarithmic scale."""
    low, high = np.log10(values.min()), np.log10(values.max())
    room = 0.06 * max(high - low, 1.0)
    return float(10 ** (low - room)), float(10 ** (high + room))


def _guides(
    span: tuple[float, float], errors: tuple[float, float], study: WorkPrecision, grows: bool
) -> list[Trace]:
    """Return thin lines of the orders that occur, from the upper corner of the coarsest step."""
    orders = sorted({round(c.order) for c in study.curves if 0.5 < c.order < 8.5})
    begin, end = span[::-1] if grows else span
    lines = []
    for p in orders:
        fall = (errors[1] / errors[0]) ** (1 / p)  # by this factor, to the lower edge
        last = max(end, begin / fall) if grows else min(end, begin * fall)
        x = np.array([begin, last])
        y = errors[1] * (x / begin) ** (p if grows else -p)
        drawn = curve(
            x.astype(np.float32),
            y.astype(np.float32),
            GREY,
            name=f"order {p}",
            line={"dash": "dot", "width": 1},
            hoverinfo="skip",
            mode="lines+text",
        )
        up = last != end  # it ends at the lower edge: its name stands beside it, not below
        place = f"{'top' if up else 'bottom'} {'left' if up == grows else 'right'}"
        drawn |= {"text": ["", f" order {p} "], "textposition": place}
        drawn["textfont"] = {"color": GREY, "size": 11}
        lines.append(drawn)
    return lines
