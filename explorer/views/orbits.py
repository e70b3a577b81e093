"""An orbit diagram that is still being computed, with the motion at one value beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.study.branch import Branch
from explorer.study.diagram_exponents import DiagramExponents
from explorer.study.orbits import Orbits
from explorer.views.cobweb import cobweb_plot
from explorer.views.drawing.branches import over_dots
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import rows, seen
from explorer.views.drawing.iterates import states_plot, states_plots
from explorer.views.drawing.orbit_colours import Colouring, by_attractor, by_exponent, by_period
from explorer.views.drawing.parts import undragged
from explorer.views.drawing.picture import (
    INK,
    OFF,
    Picture,
    Plot,
    curve,
    extent,
    label,
    state_label,
    titled,
)
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.raster import pixels, placed
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view
from explorer.views.phase import phase_plot
from explorer.views.trajectory import positions_plot

__all__ = ["orbits"]

_ROWS = 420  # of the image of the dots
_FOOT = 6  # rows
Window = tuple[float, float]


@view
def orbits(
    found: Orbits,
    state: str | None = None,
    *,
    window: Window | None = None,
    at: float | None = None,
    run: Solution | None = None,
    branches: Sequence[Branch] = (),
    exponents: DiagramExponents | None = None,
    attractors: bool = False,
    key: str = "",
    look: Look = STATIC,
) -> Picture:
    """Draw the points of a section over a parameter, coloured by period or by exponent.

    Parameters
    ----------
    found : Orbits
        What `explorer.study.Sharpening` yields.
    state : str, optional
        By default the first one.
    window : (low, high), optional
        Range of the state; by default that of all points.
    at : float, optional
        A value of the parameter that is marked.
    run : Solution, optional
        The motion there: over time, and in the phase plane with its points on the section.
    branches : sequence of Branch, optional
        Drawn over the dots, solid where stable and dashed where not, with their bifurcations; as in
        ``sharper.branches(found).branches``.
    exponents : DiagramExponents, optional
        Then the colours tell the largest Lyapunov exponent, as in ``sharper.exponents(found)``.
        Dots of further starts are not drawn then.
    attractors : bool
        Whether the colours tell which attractor each start has come to, see `Orbits.attractors`.
    key : str
        The setting of a panel that a click changes to the value of the parameter.
    look : Look
        The size for which the points of the curves are chosen.

    Raises
    ------
    BadValue
        There is no such state; a branch is over another parameter; exponents are of other columns.
    """
    if exponents is not None and len(exponents.values) != len(found.values):
        raise BadValue(
            f"exponents has {len(exponents.values)} values, but the diagram has "
            f"{len(found.values)} columns: use what sharper.exponents(found) returns."
        )
    if any(one.parameter != found.by or one.states != found.states for one in branches):
        raise BadValue(
            f"A branch that lies over the dots must be one of the same system over {found.by}: use "
            "the branches that sharper.branches(found) returns."
        )
    state = found.states[0] if state is None else state
    place, (low, high) = found.place(state), (float(found.values[0]), float(found.values[-1]))
    drawn = window or extent(*(one.points[..., place] for one in (found, *found.others)))
    lines = over_dots(branches, found.by, place)
    colouring = by_period(found)
    others = [(one, by_period(one)) for one in found.others]
    if attractors:
        colouring, *told = by_attractor(found)
        others = list(zip(found.others, told, strict=True))
    elif exponents is not None:
        colouring, others = by_exponent(found, exponents.values, exponents.unit), []
    hover = _hover(found, drawn, key, colouring.words)
    traces = [*colouring.legend(found, others), hover, *lines, *_marked(at, drawn)]
    diagram = Plot(
        traces,
        titled(label(found.by), unit(found.unit)),
        titled(state_label(state, found.states), unit(found.units[place])),
        (low, high),
        drawn,
        time=False,
        share=2.0,
    )
    columns, widths = [[diagram]], [1.0]
    if run is not None:
        columns, widths = [[diagram], _motion(run, found, at, look)], [2.0, 1.0]
    picture = compose(columns, widths, look=look)
    half = 0.5 * (high - low) / (len(found.values) - 1)
    image = placed(
        _image([*others[::-1], (found, colouring)], place, drawn), (low - half, high + half), drawn
    )
    picture.layout["images"] = [image]
    return picture


def _image(each: list[tuple[Orbits, Colouring]], place: int, window: Window) -> bytes:
    """Return the dots as an image, those of the last diagram on top."""
    found, colouring = each[-1]
    parts = [_dots(one, place, window, told, one is found) for one, told in each]
    column, row, kind = (np.concatenate([part[i] for part in parts]) for i in range(3))
    shape = (_ROWS, len(found.values))
    return pixels(column, row, kind, shape, colouring.colours)


def _dots(
    found: Orbits, place: int, window: Window, colouring: Colouring, foot: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return column, row and colour of dots; a column not known yet shows its neighbour's.

    With `foot` a column without a result has a mark; a further start may be none.
    """
    known, many = np.flatnonzero(found.known), len(found.values)
    if not known.size:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing
    source = known[np.abs(np.arange(many)[:, None] - known).argmin(axis=1)]
    x = found.points[source, :, place]
    up = (x - window[0]) / (window[1] - window[0])
    inside = (up >= 0) & (up < 1)  # no NaN either
    column, _ = np.nonzero(inside)
    row = _ROWS - 1 - (up[inside] * _ROWS).astype(np.int64)
    kind = colouring.kind[source][column]
    thick = np.where(colouring.thick[source][column], -1, 0)
    high = np.concatenate([np.zeros_like(row), np.ones_like(row), thick])
    column, kind = np.tile(column, 3), np.tile(kind, 3)  # what repeats is as thick as a line
    row = np.clip(np.tile(row, 3) + high, 0, _ROWS - 1)
    bad = np.flatnonzero(found.failed[source] & foot)
    column = np.concatenate([np.repeat(bad, _FOOT), column])
    row = np.concatenate([np.tile(np.arange(_ROWS - _FOOT, _ROWS), len(bad)), row])
    kind = np.concatenate([np.full(_FOOT * len(bad), len(colouring.colours) - 1), kind])
    order = np.argsort(-kind, kind="stable")  # and lies on top
    return column[order], row[order], kind[order]


def _hover(found: Orbits, window: Window, key: str, words: list[str]) -> Trace:
    """Return what tells of a column under the mouse, and takes clicks; it is not seen."""
    return {
        "type": "heatmap",
        "x": found.values.astype(np.float32),
        "y": np.array(window, np.float32),  # the lower and the upper end of its cells
        "z": [found.period.astype(np.float32)],
        "text": [words],
        "hovertemplate": f"{label(found.by)} = %{{x:.6g}}: %{{text}}<extra></extra>",
        "colorscale": [(0.0, "rgba(0,0,0,0)"), (1.0, "rgba(0,0,0,0)")],
        "showscale": False,
        "showlegend": False,
        "opacity": 0.0,
        "name": "periods",
        **({"meta": {"key": key}} if key else {}),
    }


def _marked(at: float | None, window: Window) -> list[Trace]:
    """Return the line at the value that is looked at."""
    where = (np.full(2, at, np.float32), np.array(window, np.float32)) if at is not None else OFF
    return [curve(*where, INK, name="shown", hoverinfo="skip", line={"width": 1.0, "dash": "dot"})]


def _motion(run: Solution, found: Orbits, at: float | None, look: Look) -> list[Plot]:
    """Return the plots of the motion: over time, and in the plane."""
    if run.system.discrete:
        plane = cobweb_plot if len(found.states) == 1 else states_plot
        return [undragged(p) for p in (*states_plots(run, None, look)[:1], plane(run, None, look))]
    run = seen(run, look)
    points = rows(run)
    plots = [undragged(positions_plot(run, points))]
    if len(found.states) > 1:
        plots.append(_with_section(undragged(phase_plot(run, points)), found, at))
    return plots


def _with_section(plot: Plot, found: Orbits, at: float | None) -> Plot:
    """Return a phase plot with the points of the section at the nearest column."""
    column = None if at is None else found.nearest(at)
    x = found.points[column, : found.found[column]] if column is not None else np.zeros((0, 2))
    n = len(found.states)
    second = n // 2 if any(s.startswith("v_") for s in found.states) else 1
    dots: Trace = {
        **curve(
            *(OFF if not len(x) else (x[:, 0].astype(np.float32), x[:, second].astype(np.float32))),
            INK,
            name="on the section",
            hovertemplate="%{x:.6g}, %{y:.6g}<extra>on the section</extra>",
        ),
        "mode": "markers",
        "marker": {"size": 6, "color": INK, "symbol": "circle-open"},
        "showlegend": True,
    }
    ranges = [plot.x_range, plot.y_range]
    if len(x):
        ranges = [extent(np.array(r), x[:, c]) for r, c in zip(ranges, (0, second), strict=True)]
    return replace(plot, traces=[*plot.traces, dots], x_range=ranges[0], y_range=ranges[1])
