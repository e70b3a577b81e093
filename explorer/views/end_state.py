"""Final state over a parameter, above its derivative."""

from __future__ import annotations

import numpy as np

from explorer.quantities import unit
from explorer.study.end_state import EndState
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    Picture,
    Plot,
    curve,
    extent,
    label,
    titled,
)
from explorer.views.drawing.slopes import per
from explorer.views.drawing.traces import Line
from explorer.views.drawing.view import view

__all__ = ["end_state"]


@view
def end_state(found: EndState) -> Picture:
    """Draw the final value of a state over a parameter, and below it its derivative by each scheme.

    Parameters
    ----------
    found : EndState
        What `explorer.study.end_state` returns.

    Raises
    ------
    BadValue
        The argument is no such result.
    """
    system = found.system
    param = system.parameters.get(found.by)
    of_unit = system.units[system.coordinates.index(found.of)]
    by_unit = param.unit if param else system.units[system.coordinates.index(found.by)]
    by = label(found.by) if param else f"{label(found.by)}(0)"
    end = f"{label(found.of)}({found.t_end:g} {system.time_unit})"
    values = found.values.astype(np.float32)
    plots = []
    for read, title, u in (
        ("x", end, unit(of_unit)),
        ("slope", f"d{label(found.of)}/d{by}", per(of_unit, by_unit)),
    ):
        drawn = [getattr(c, read) for c in found.curves]
        traces, colours = [], iter(np.resize(COLOURS, len(drawn)))
        for c, y in zip(found.curves, drawn, strict=True):
            exact = c.name == "exact"
            line: Line = {"width": 5, "color": GREY} if exact else {}
            if read == "slope" and not exact:
                line |= {"shape": "hvh"}  # it jumps between two values
            traces.append(
                curve(
                    values,
                    y.astype(np.float32),
                    GREY if exact else str(next(colours)),
                    name=c.name,
                    line=line,
                    opacity=0.45 if exact else 1,
                    showlegend=read == "x",
                    hovertemplate=f"{by} = %{{x:.4g}}: %{{y:.5g}}<extra>{c.name}</extra>",
                )
            )
        span = float(values.min()), float(values.max())
        plots.append(
            Plot(
                traces,
                titled(by, unit(by_unit)),
                titled(title, u),
                span,
                extent(*drawn),
                time=False,
            )
        )
    return compose([plots], [1])
