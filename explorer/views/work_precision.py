"""Work-precision diagram: error over steps and over time, log-log; the slope is the order."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.errors import BadValue
from explorer.study.work_precision import WorkPrecision
from explorer.views.picture import COLOURS, GREY, Picture, Plot, compose, curve, view

__all__ = ["work_precision"]

_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star")
_LEAST = 1e-16  # an error of zero cannot be drawn


@view
def work_precision(found: WorkPrecision) -> Picture:
    """Draw the error of several schemes over their steps and over their time.

    Parameters
    ----------
    found : WorkPrecision
        What `explorer.study.work_precision` returns.

    Raises
    ------
    BadValue
        Anything else.
    """
    if not isinstance(found, WorkPrecision):
        raise BadValue(
            "views.work_precision draws what study.work_precision returns, such as "
            "views.work_precision(study.work_precision(models.pendulum()))."
        )
    errors = np.concatenate([np.maximum(c.error, _LEAST) for c in found.curves])
    low, high = _decades(errors)
    plots = []
    for title, scale, work in (("steps", 1, "steps"), ("time of the run (ms)", 1e3, "seconds")):
        every = np.concatenate([scale * getattr(c, work) for c in found.curves])
        span = _decades(every)
        traces = [] if work == "seconds" else _guides(span, (low, high), found)
        for i, c in enumerate(found.curves):
            colour = COLOURS[i % len(COLOURS)]
            drawn: dict[str, Any] = curve(
                (scale * getattr(c, work)).astype(np.float32),
                np.maximum(c.error, _LEAST).astype(np.float32), colour,
                name=c.name + (f": order {c.order:.2g}" if np.isfinite(c.order) else ""),
                mode="lines+markers", showlegend=work == "steps",
                marker={"size": 7, "symbol": _SYMBOLS[i % len(_SYMBOLS)]},
                hovertemplate=f"%{{x:.4g}} {'ms' if scale > 1 else 'steps'}: %{{y:.2e}}"
                              f"<extra>{c.name}</extra>",
            )  # fmt: skip
            traces.append(drawn)
        plots.append([Plot(traces, title, "relative error", span, (low, high), time=False,
                           log=True, log_y=True)])  # fmt: skip
    return compose(plots, [1, 1])


def _decades(values: np.ndarray) -> tuple[float, float]:
    """Return a range with a little room, in a logarithmic sense."""
    low, high = np.log10(values.min()), np.log10(values.max())
    room = 0.06 * max(high - low, 1.0)
    return float(10 ** (low - room)), float(10 ** (high + room))


def _guides(
    span: tuple[float, float], errors: tuple[float, float], found: WorkPrecision
) -> list[dict[str, Any]]:
    """Return thin lines of the orders that occur, from the upper left corner."""
    orders = sorted({round(c.order) for c in found.curves if 0.5 < c.order < 4.5})
    lines = []
    for p in orders:
        far = min(span[1], span[0] * (errors[1] / errors[0]) ** (1 / p))
        x = np.array([span[0], far])
        y = errors[1] * (x / span[0]) ** -p
        drawn = curve(x.astype(np.float32), y.astype(np.float32), GREY,
                      name=f"order {p}", line={"dash": "dot", "width": 1}, hoverinfo="skip",
                      mode="lines+text")  # fmt: skip
        text = {"text": ["", f"order {p} "], "textposition": "bottom left"}
        lines.append(drawn | text | {"textfont": {"color": GREY, "size": 11}})
    return lines
