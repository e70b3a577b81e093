"""Basins of attraction: a colour for the attractor of each start, and where attractors lie."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import unit
from explorer.results.solution import Solution
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD, Basins
from explorer.study.over import states_of
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import rows, seen
from explorer.views.drawing.iterates import states_plot, states_plots
from explorer.views.drawing.orbit_colours import REST
from explorer.views.drawing.parts import undragged
from explorer.views.drawing.picture import (
    COLOURS,
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
from explorer.views.drawing.raster import cells, placed
from explorer.views.drawing.traces import Marker, Meta, Trace
from explorer.views.drawing.view import view
from explorer.views.phase import phase_plot
from explorer.views.trajectory import positions_plot

__all__ = ["basins"]

_OTHERS = {ESCAPES: "#8C8C8C", UNDECIDED: "#D9D9D9", FAILED: "#3B3B3B", REFUSED: "#A6A6A6"}
_WORDS = {ESCAPES: "escaped", UNDECIDED: "undecided", FAILED: "failed"}
_SAID = {**_WORDS, REFUSED: "no start", UNTOLD: "not computed yet"}
_MARKS = {UNDECIDED: "line-ne", FAILED: "x-thin", REFUSED: "circle"}  # in the legend
_MARK = {UNDECIDED: "#5A5A5A", FAILED: "#B8B8B8", REFUSED: "#A6A6A6"}  # of the pattern
_PALE = 0.45  # part of white in the colour of what was filled
_DARK = 0.45  # part of black in the colours of the seventh attractor and those behind it
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
_MOST = 2_000  # points of an attractor
_FINE = 640, 480  # px of an image at least
_EVERY = 8  # px from one line of a pattern to the next
_HOVER = 80  # cells of an axis of a panel that answer the pointer


@view
def basins(
    found: Basins,
    *,
    at: tuple[float, float] | None = None,
    run: Solution | None = None,
    keys: tuple[str, str] | None = None,
    look: Look = STATIC,
) -> Picture:
    """Draw the attractor of each start: pale where it was filled; attractors are marked over them.

    What is undecided, failed or no start at all has a pattern.

    Parameters
    ----------
    found : Basins
        What `explorer.study.basins` or `explorer.study.FinerBasins` returns, over two axes or of
        random samples of two starts. Axes of one value are not counted.
    at : (float, float), optional
        A start that is marked.
    run : Solution, optional
        The run from there: over time, and in the plane of the map if that is one of two states.
    keys : (str, str), optional
        The settings of a panel that a click changes to the values of a start.
    look : Look
        The size for which the points of the curves are chosen.

    Raises
    ------
    BadValue
        It has other axes.
    """
    wide = [axis for axis in found.over if len(axis.values) > 1 or len(axis.names) > 1]
    axes = wide if wide else list(found.over)
    names = [name for axis in axes for name in axis.names]
    if len(names) != 2:
        raise BadValue(
            f"views.basins draws two axes, and these basins have {len(names)} "
            f"({', '.join(names)}): ask for basins over two of them, with the others as arguments."
        )
    there = {*np.unique(found.label).tolist(), *range(len(found.families))}
    kinds = sorted((k for k in there if k != UNTOLD), key=lambda k: (k < 0, abs(k)))
    ranges = [_ends(axis.values[:, c]) for axis in axes for c in range(len(axis.names))]
    mapped, image = len(axes) == 2, None
    if mapped:
        shape = tuple(len(axis.values) for axis in axes)
        traces = [_hover(found, [a.values[:, 0] for a in axes], shape, keys, look)]
        image = _image(found, shape)
    else:
        ranges = [_wider(*r) for r in ranges]
        traces = _dots(found, kinds)
    traces += [_named(found, k) for k in kinds]
    places = _places(found, names)
    traces += _attractors(found, places)
    if at is not None:
        traces.append(_start(at))
    x, y = (titled(_start_label(n, found.states), unit(found.units[n])) for n in names)
    diagram = Plot(traces, x, y, ranges[0], ranges[1], time=False, share=2.0)
    if run is None:
        picture = compose([[diagram]], [1], look=look)
    else:
        beside = _motion(run, places, at, look)
        picture = compose([[diagram], beside], [2.0, 1.0], look=look)
    if mapped and image is not None:
        half = [0.5 * (r[1] - r[0]) / (n - 1) for r, n in zip(ranges, shape, strict=True)]
        sides = [(r[0] - h, r[1] + h) for r, h in zip(ranges, half, strict=True)]
        picture.layout["images"] = [placed(image, sides[0], sides[1])]
    return picture


def _start_label(name: str, states: tuple[str, ...]) -> str:
    """Return the label of a start on an axis: ``q0.x`` is x, ``v0.x`` its velocity."""
    kind, _, state = name.partition(".")
    if not state:
        return label(name)
    return label(state, dot=True) if kind == "v0" else state_label(state, states)


def _ends(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _wider(low: float, high: float) -> tuple[float, float]:
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _mixed(colour: str, part: float, other: int) -> str:
    """Return a colour with a part of white (255) or of black (0)."""
    own = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(c + part * (other - c)):02X}" for c in own)


def _colour(found: Basins, k: int) -> str:
    """Return the colour of an attractor, or of a period, or of a status."""
    if k < 0:
        return _OTHERS[k]
    if found.by_period:
        period = found.attractors[k].period
        return COLOURS[period - 1] if 1 <= period <= len(COLOURS) else REST
    own = COLOURS[k % len(COLOURS)]
    return own if k // len(COLOURS) % 2 == 0 else _mixed(own, _DARK, 0)


def _image(found: Basins, shape: tuple[int, ...]) -> bytes:
    """Return the map: two shades for each kind, computed and filled; patterns of what is none."""
    codes = [*range(len(found.families)), *_OTHERS]
    shades = list(dict.fromkeys(_colour(found, k) for k in codes))
    pale = [_mixed(shade, _PALE, 255) for shade in shades]
    colours = [*shades, *pale, *_MARK.values()]
    tall, wide = shape[1], shape[0]
    up, across = (max(1, -(-px // n)) for px, n in zip(_FINE[::-1], (tall, wide), strict=True))
    label_of = np.repeat(np.repeat(found.label.reshape(shape).T[::-1], up, 0), across, 1)
    kind = np.full(label_of.shape, -1)
    for k in codes:
        if k != REFUSED:  # nothing is there but its pattern
            kind[label_of == k] = shades.index(_colour(found, k))
    filled = np.repeat(np.repeat(~found.computed.reshape(shape).T[::-1], up, 0), across, 1)
    kind[filled & (kind >= 0)] += len(shades)
    r, c = np.indices(kind.shape)
    rising, falling = (r + c) % _EVERY < 2, (r - c) % _EVERY < 2
    dotted = (r % _EVERY < 2) & (c % _EVERY < 2)
    patterns = {UNDECIDED: rising, FAILED: rising | falling, REFUSED: dotted}
    for i, k in enumerate(_MARK):
        kind[(label_of == k) & patterns[k]] = 2 * len(shades) + i
    return cells(kind, colours)


def _hover(
    found: Basins,
    values: list[np.ndarray],
    shape: tuple[int, ...],
    keys: tuple[str, str] | None,
    look: Look,
) -> Trace:
    """Return what says the attractor under the pointer, and takes clicks; it is not seen."""
    every = [1, 1] if look == STATIC else [max(1, -(-n // _HOVER)) for n in shape]
    label_of = found.label.reshape(shape)[:: every[0], :: every[1]]
    words = {k: _name(found, k) for k in np.unique(label_of).tolist()}
    meta: Meta = {"key": keys[0], "up": keys[1]} if keys else {}
    return {
        "type": "heatmap",
        "x": values[0][:: every[0]],
        "y": values[1][:: every[1]],
        "z": [*label_of.T.astype(np.float32)],
        "text": [[words[k] for k in row] for row in label_of.T.tolist()],
        "hovertemplate": "%{x:.5g}, %{y:.5g}: %{text}<extra></extra>",
        "colorscale": [(0.0, "rgba(0,0,0,0)"), (1.0, "rgba(0,0,0,0)")],
        "showscale": False,
        "showlegend": False,
        "opacity": 0.0,
        "name": "basins",
        **({"meta": meta} if keys else {}),
    }


def _dots(found: Basins, kinds: list[int]) -> list[Trace]:
    """Return random starts as dots."""
    values = found.over[0].values
    drawn: list[Trace] = []
    for k in kinds:
        there, colour = found.label.ravel() == k, _colour(found, k)
        marker: Marker = {"size": 4, "color": colour}
        drawn.append(
            {
                **curve(values[there, 0], values[there, 1], colour),
                "mode": "markers",
                "marker": marker,
                "hovertemplate": f"%{{x:.5g}}, %{{y:.5g}}: {_name(found, k)}<extra></extra>",
            }
        )
    return drawn


def _name(found: Basins, k: int) -> str:
    if k < 0 or k >= len(found.families):
        return _SAID.get(k, "not computed yet")
    period = found.attractors[k].period
    if not found.by_period:
        return f"attractor {k}"
    return f"period {period}" if 1 <= period <= len(COLOURS) else "longer, or no period"


def _named(found: Basins, k: int) -> Trace:
    """Return the entry of the legend: name, period and part of the starts."""
    colour, name = _colour(found, k), _name(found, k)
    if k != REFUSED:
        if k >= 0 and not found.by_period:
            name += _period(found.attractors[k].period)
        part, error = found.fractions[_WORDS[k] if k < 0 else k]
        name += f": {100 * part:.1f} ± {100 * error:.1f} %"
    marker: Marker = {"size": 10, "color": colour, "symbol": "square"}
    if k in _MARKS:
        symbol, mark = _MARKS[k], _MARK[k]
        marker = {"size": 8, "color": mark, "symbol": symbol, "line": {"color": mark, "width": 2}}
    return {
        **curve(*OFF, colour, name=name),
        "mode": "markers",
        "marker": marker,
        "showlegend": True,
        "hoverinfo": "skip",
    }


def _period(period: int) -> str:
    return f" (period {period})" if period else " (no period)"


def _places(found: Basins, names: list[str]) -> tuple[int, int] | None:
    """Return which states the axes are, if both are states."""
    rates = {f"q0.{s}": s for s in found.states}
    rates |= {f"x0.{s}": s for s in found.states}
    rates |= {f"v0.{s[2:]}": s for s in found.states if s.startswith("v_")}
    if not all(name in rates for name in names):
        return None
    i, j = (found.states.index(rates[name]) for name in names)
    return i, j


def _attractors(found: Basins, places: tuple[int, int] | None) -> list[Trace]:
    """Return the points of the attractors, where both axes are states."""
    if places is None:
        return []
    drawn: list[Trace] = []
    for k, family in enumerate(found.families):
        points = np.vstack([one.points for one in family])
        points = points[:: max(1, len(points) // _MOST)]
        marker: Marker = {
            "size": 9 if len(points) < 100 else 4,
            "color": "#FFFFFF",
            "symbol": _SYMBOLS[k % len(_SYMBOLS)],
            "line": {"color": "#000000", "width": 1.5},
        }
        drawn.append(
            {
                **curve(points[:, places[0]], points[:, places[1]], _colour(found, k)),
                "mode": "markers",
                "marker": marker,
                "hovertemplate": f"%{{x:.6g}}, %{{y:.6g}}<extra>attractor {k}</extra>",
            }
        )
    return drawn


def _start(at: tuple[float, float] | None) -> Trace:
    """Return the mark of the start that is looked at."""
    where = OFF if at is None else tuple(np.full(1, x, float) for x in at)
    marker: Marker = {
        "size": 12,
        "color": "#F0E442",
        "symbol": "star",
        "line": {"color": "#000000", "width": 1.5},
    }
    return {
        **curve(where[0], where[1], INK, name="start"),
        "mode": "markers",
        "marker": marker,
        "hovertemplate": "%{x:.6g}, %{y:.6g}<extra>start</extra>",
    }


def _motion(
    run: Solution, places: tuple[int, int] | None, at: tuple[float, float] | None, look: Look
) -> list[Plot]:
    """Return the plots of a run: over time, and its path in the plane of the map."""
    if run.system.discrete:
        plots = states_plots(run, None, look)[:1]
        if places is not None:
            plots.append(states_plot(run, None, look, places))
        return [undragged(plot) for plot in plots]
    run = seen(run, look)
    points = rows(run)
    over_time = undragged(positions_plot(run, points))
    if places is None:
        return [over_time, undragged(phase_plot(run, points))]
    states = [*points.q, *points.v] if run.has_velocities else points.q
    x, y = states[places[0]], states[places[1]]
    names, units = states_of(run.system)
    path = curve(
        x,
        y,
        COLOURS[0],
        breaks=points.jumps if run.has_velocities else points.torn,
        held=run.has_velocities,
        line={"width": 1.2},
        hovertemplate="%{x:.4g}, %{y:.4g}<extra></extra>",
        meta={"t": points.t},
    )
    across, up = (titled(state_label(names[k], names), unit(units[k])) for k in places)
    return [over_time, Plot([path, _start(at)], across, up, extent(x), extent(y), time=False)]
