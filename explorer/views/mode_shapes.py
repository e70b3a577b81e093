"""The shapes of natural modes over the coordinates, each with its frequency."""

from __future__ import annotations

import numpy as np

from explorer.study.modes import Modes
from explorer.views.drawing.picture import COLOURS, Plot, curve, extent
from explorer.views.drawing.traces import Trace

__all__ = ["shapes_plot"]

_MOST = len(COLOURS)  # modes that are drawn: the lowest
_NAMES = 12  # more coordinates than these have no mark each


def shapes_plot(modes: Modes) -> Plot:
    """Draw a line through the entries of each shape, scaled to a largest entry of 1."""
    names, count = modes.system.coordinates, len(modes.q)
    traces: list[Trace] = []
    x, seen = np.arange(1, count + 1), [np.array([-1.0, 1.0])]
    for k, shape in enumerate(modes.shapes.T[:_MOST]):
        y = shape / np.abs(shape).max()
        square = modes.squares[k]
        frequency = f"{modes.frequencies[k]:.4g} Hz" if square >= 0 else f"ω² = {square:.4g} 1/s²"
        seen.append(y)
        traces.append(
            {
                **curve(
                    x.astype(np.float32),
                    y.astype(np.float32),
                    COLOURS[k],
                    name=f"{k + 1}: {frequency}",
                    text=list(names),
                    hovertemplate=f"%{{text}}: %{{y:.4g}}<extra>mode {k + 1}</extra>",
                ),
                "mode": "lines+markers" if count <= _NAMES else "lines",
                "showlegend": True,
            }
        )
    room = 0.02 * max(count - 1, 10)
    return Plot(
        traces,
        "coordinate",
        "shape (largest entry 1)",
        (1 - room, count + room),
        extent(*seen),
        time=False,
    )
