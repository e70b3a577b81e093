"""Orbit diagram: the points of a section over a parameter, as dots."""

from __future__ import annotations

import numpy as np

from explorer.quantities import unit
from explorer.study.orbit_diagram import OrbitDiagram
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import (
    COLOURS,
    Picture,
    Plot,
    curve,
    extent,
    label,
    state_label,
    titled,
)
from explorer.views.drawing.traces import Marker, Trace
from explorer.views.drawing.view import view

__all__ = ["orbit_diagram"]

_MOST = 200_000  # dots that a browser draws at once


@view
def orbit_diagram(found: OrbitDiagram, state: str | None = None) -> Picture:
    """Draw the points of a section over a parameter; a colour for each way of continuation.

    Parameters
    ----------
    found : OrbitDiagram
        What `explorer.study.orbit_diagram` returns.
    state : str, optional
        By default the first one.

    Raises
    ------
    BadValue
        There is no such state.
    """
    state = found.first.states[0] if state is None else state
    units, drawn = found.first.units, []
    traces: list[Trace] = []
    by = label(found.by)
    marker: Marker = {"size": 2}
    for colour, way in zip(np.resize(COLOURS, len(found.branches)), found.branches, strict=True):
        at, x = found.dots(state, way)
        kept = slice(None, None, max(1, -(-len(x) // _MOST)))
        traces.append(
            {
                **curve(
                    at[kept].astype(np.float32),
                    x[kept].astype(np.float32),
                    str(colour),
                    name=way,
                    hovertemplate=f"{by} = %{{x:.6g}}: %{{y:.6g}}<extra>{way}</extra>",
                ),
                "mode": "markers",
                "marker": {**marker, "color": str(colour)},
                "showlegend": len(found.branches) > 1,
            }
        )
        drawn.append(x)
    values = found.first.axes[found.by]
    plot = Plot(
        traces,
        titled(by, unit(units[found.by])),
        titled(state_label(state, found.first.states), unit(units[state])),
        (float(values.min()), float(values.max())),
        extent(*drawn),
        time=False,
    )
    return compose([[plot]], [1])
