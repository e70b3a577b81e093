"""The mechanism: equally spaced frames of a sketch, and one frame as a figure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NotRequired, TypedDict

import numpy as np

from explorer.parameters import number
from explorer.quantities import unit
from explorer.results.solution import Solution, within
from explorer.systems.sketch import Shape
from explorer.systems.units import length_unit
from explorer.views.drawing.compose import compose
from explorer.views.drawing.contact_arrows import Arrows, arrows_of
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.elements import look
from explorer.views.drawing.picture import COLOURS, GREY, Picture, Plot, label
from explorer.views.drawing.pictured import shapes_of
from explorer.views.drawing.traces import Line, Trace
from explorer.views.drawing.view import view

__all__ = ["Film", "Ghost", "LeanFilm", "frames", "items_of", "lean", "mechanism"]

_BYTES = 5600
_FEWEST, _MOST = 16, 240  # frames
_SHEET = ("node", "part", "lamp", "blade", "point")  # roles of a sheet, which has no metres
_OUTLINES = ("part", "lamp")  # filled only while they are lit
_REST = 0.98  # of an iterate, in which a picture without a path rests
_COILS = 12  # whatever its length: the zigzag stretches as a spring does


class Item(TypedDict):
    """A shape of a sketch."""

    kind: str
    role: str
    n: int  # points
    closed: bool
    radius: float  # m, 0 unless a circle
    label: NotRequired[str]
    grip: NotRequired[str]  # what moves it when it is dragged; "": nothing
    value: NotRequired[int]  # the column of what it shows
    unit: NotRequired[str]  # of that
    most: NotRequired[float]  # the largest size of the run, of all items with this role and unit


class Moving(TypedDict):
    """Frames of shapes."""

    t: np.ndarray  # (k,) float32
    xy: np.ndarray  # (k, points, 2) float32, m


class Ghost(Moving):
    """The frames of another run, of the same shapes."""

    colour: str
    dash: str


class Film(Moving):
    """The frames of a run."""

    box: list[float]  # x0, x1, y0, y1
    unit: str
    items: list[Item]
    arrows: Arrows | None  # what contacts do
    values: np.ndarray  # (k, values) float32: what items show
    ghosts: NotRequired[list[Ghost]]


class LeanMoving(TypedDict):
    """Frames in which a number that never changes stands once."""

    t: np.ndarray  # (k,) float32
    xy: np.ndarray  # (k, moving) float32, m
    still: np.ndarray  # (2 points,) float32: the first frame
    moving: np.ndarray  # (moving,): which numbers of a frame change


class LeanGhost(LeanMoving):
    """Those of another run."""

    colour: str
    dash: str


class LeanFilm(LeanMoving):
    """The frames of a run, as they are sent."""

    box: list[float]
    unit: str
    items: list[Item]
    arrows: Arrows | None
    values: np.ndarray  # (k, values) float32
    ghosts: list[LeanGhost]


def items_of(shapes: Sequence[Shape], radii: np.ndarray) -> list[Item]:
    """Return what a sketch draws, with the radii (n,) of its circles in m."""
    items: list[Item] = []
    columns: dict[object, int] = {}  # of values; what several shapes show stands once
    for s, r in zip(shapes, radii, strict=True):
        kind, role, n = s.kind, s.role, len(s.points)
        item: Item = {"kind": kind, "role": role, "n": n, "closed": s.closed, "radius": float(r)}
        if s.value is not None:
            item |= {"value": columns.setdefault(s.value, len(columns)), "unit": unit(s.unit)}
        if s.label:
            item["label"] = label(s.label) if s.label.isidentifier() else s.label
        items.append(item)
    return items


def frames(solution: Solution, share: float = 1.0) -> Film | None:
    """Return the animation of a solution, or None if its system has no sketch.

    `share` of the usual number of frames is made.

    Returns
    -------
    dict
        t (k,), xy (k, points, 2) as float32; box [x0, x1, y0, y1]; items: kind, role, n, closed,
        radius of each shape.
    """
    shapes, system = shapes_of(solution), solution.system
    if not shapes or solution.observe is None:
        return None
    solution = fine(solution)
    points = sum(len(s.points) for s in shapes)
    some = _observed(solution, _rows(solution, _FEWEST))[:, : 2 * points]
    moving = int((some != some[0]).any(axis=0).sum())
    shown = _shown(solution, shapes)
    count = int(np.clip(share * _BYTES / (4 * max(moving + shown.shape[1], 1)), _FEWEST, _MOST))
    at = _rows(solution, count)
    times = None
    if solution.system.discrete:  # consecutive ones: of others no path is known
        rests = not solution.system.straight
        at = np.arange(min(count // (1 + rests), len(solution.t)))
        if rests:  # what has no path stays until the next iterate
            times = np.column_stack([at, at + _REST]).ravel()
            at = np.repeat(at, 2)
    if solution.has("march"):  # what a reset moves must not glide: both its sides
        resets = solution.jump_rows if not solution.has_velocities else solution.jump_rows[:0]
        resets = resets[: count // 2]
        at = np.unique(np.concatenate([at, resets, resets - 1]))
    values = _observed(solution, at)
    xy = values[:, : 2 * points].reshape(len(at), points, 2)
    radii = values[0, 2 * points :]
    low, high = np.nanmin(xy, axis=(0, 1)), np.nanmax(xy, axis=(0, 1))
    k = 0
    for shape, radius in zip(shapes, radii, strict=True):
        if radius:
            part = xy[:, k : k + 1]
            low = np.fmin(low, part.min(axis=(0, 1)) - radius)
            high = np.fmax(high, part.max(axis=(0, 1)) + radius)
        k += len(shape.points)
    pad = 0.04 * max(*(high - low), 1e-9)
    items = items_of(shapes, radii)
    _measure(items, shown)
    return {
        "t": (solution.t[at] if times is None else times).astype(np.float32),
        "xy": xy.astype(np.float32),
        "box": [low[0] - pad, high[0] + pad, low[1] - pad, high[1] + pad],
        "unit": "" if any(s.role in _SHEET for s in shapes) else length_unit(system, shapes),
        "items": items,
        "arrows": arrows_of(solution, at),
        "values": shown[at].astype(np.float32),
    }


def _rows(solution: Solution, count: int) -> np.ndarray:
    """Return the rows (count,) that come first after equally spaced times."""
    times = np.linspace(0, solution.t[-1], count)
    return np.clip(np.searchsorted(solution.t, times), 0, len(solution.t) - 1)


def _observed(solution: Solution, at: np.ndarray) -> np.ndarray:
    """Return the coordinates and the radii of the sketch at some rows."""
    assert solution.observe is not None
    names = ("t", "q", "v") if solution.has_velocities else ("t", "q")
    rows = solution.changed(**{name: getattr(solution, name)[at] for name in names})
    return solution.observe(rows, "sketch")


def _shown(solution: Solution, shapes: Sequence[Shape]) -> np.ndarray:
    """Return what shapes show in all rows, (n_t, values)."""
    if solution.observe is None or all(s.value is None for s in shapes):
        return np.zeros((len(solution.t), 0))
    return solution.observe(solution, "sketched values")


def _measure(items: Sequence[Item], shown: np.ndarray) -> None:
    """Set the largest size of what items show; those of a role and a unit share it."""
    sizes = np.nanmax(np.abs(shown), axis=0, initial=0.0) if shown.size else np.zeros(0)
    most: dict[tuple[str, str], float] = {}
    showing = [item for item in items if "value" in item]
    for item in showing:
        key = item["role"], item["unit"]
        most[key] = max(most.get(key, 0.0), float(sizes[item["value"]]))
    for item in showing:
        item["most"] = most[item["role"], item["unit"]]


def lean(film: Film | None) -> LeanFilm | None:
    """Return a film in which a number that never changes stands once."""
    if film is None:
        return None
    return {
        **_lean(film),
        "box": film["box"],
        "unit": film["unit"],
        "items": film["items"],
        "arrows": film["arrows"],
        "values": film["values"],
        "ghosts": [
            {**_lean(ghost), "colour": ghost["colour"], "dash": ghost["dash"]}
            for ghost in film.get("ghosts", ())
        ],
    }


def _lean(film: Moving) -> LeanMoving:
    rows = film["xy"].reshape(len(film["t"]), -1)
    moving = np.flatnonzero((rows != rows[0]).any(axis=0))
    return {"t": film["t"], "xy": rows[:, moving], "still": rows[0], "moving": moving}


def _zigzag(points: np.ndarray, wide: float) -> np.ndarray:
    """Return springs along a line as zigzags with a fixed number of coils."""
    parts = []
    for start, end in itertools.pairwise(points):
        along = end - start
        across = wide * np.array([-along[1], along[0]]) / (np.hypot(*along) or 1.0)
        at = np.linspace(0.1, 0.9, _COILS)
        side = np.where(np.arange(_COILS) % 2, 1.0, -1.0)
        inside = start + at[:, None] * along + side[:, None] * across
        parts += [start, start + 0.08 * along, *inside, start + 0.92 * along, end]
    return np.array(parts)


def _head(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return the head of an arrow as a line: one barb, the tip, the other barb."""
    along = 0.2 * (end - start)
    across = 0.5 * np.array([-along[1], along[0]])
    return np.array([end - along + across, end, end - along - across])


@view
def mechanism(solution: Solution, t: float = 0.0) -> Picture:
    """Draw the mechanism at time `t` in s (an empty picture if the system has no sketch).

    Raises
    ------
    BadValue
        `t` is no time of the run.
    """
    t = number(t, "t", solution.system.time_unit)
    within(t, "right", float(solution.t[0]), float(solution.t[-1]))
    film = frames(solution)
    traces: list[Trace] = []
    if film is not None:
        at = int(np.abs(film["t"] - t).argmin())
        now = film["xy"][at]
        k = 0
        for item in film["items"]:
            points = now[k : k + item["n"]]
            k += item["n"]
            colour = COLOURS[0] if item["role"] in ("body", "point") else GREY
            pen: Line = {"color": colour}
            fill = ""
            if "value" in item:
                own = look(
                    item["role"], points, float(film["values"][at, item["value"]]), item["most"]
                )
                points, fill = own["points"], own["fill"]
                pen = {"color": own["colour"], "width": own["width"]}
            if item["kind"] == "circle":
                turn = np.linspace(0, 2 * np.pi, 49)
                points = points + item["radius"] * np.column_stack([np.cos(turn), np.sin(turn)])
            elif item["role"] == "spring":
                points = _zigzag(points, 0.012 * float(np.ptp(film["box"])))
            elif item["role"] == "arrow":
                points = np.vstack([points, _head(*points)])
            elif item["closed"]:
                points = np.vstack([points, points[:1]])
            traces.append(
                {
                    "type": "scatter",
                    "mode": "lines",
                    "x": points[:, 0],
                    "y": points[:, 1],
                    "line": pen,
                    "showlegend": False,
                    "hoverinfo": "skip",
                }
            )
            if item["kind"] == "text":
                traces[-1] |= {
                    "mode": "text",
                    "text": [item.get("label", "")],
                    "x": points[:1, 0],
                    "y": points[:1, 1],
                }
            if item["closed"] and (fill or item["role"] not in _OUTLINES):
                traces[-1]["fill"] = "toself"
            if fill:
                traces[-1]["fillcolor"] = fill
    unit = "" if film is None else film["unit"]
    x, y = (f"{axis} ({unit})" if unit else "" for axis in "xy")
    picture = compose([[Plot(traces, x, y, time=False)]], [1])
    picture.layout["yaxis"]["scaleanchor"] = "x"
    return picture
