"""The mechanism: equally spaced frames of a sketch, and one frame as a figure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NotRequired, TypedDict

import numpy as np

from explorer.results.solution import Solution
from explorer.systems.sketch import Shape
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.picture import COLOURS, GREY, Picture, Plot
from explorer.views.drawing.traces import Trace
from explorer.views.drawing.view import view

__all__ = ["Film", "Ghost", "frames", "items_of", "mechanism"]

_BYTES = 5600
_COILS = 12  # whatever its length: the zigzag stretches as a spring does


class Item(TypedDict):
    """A shape of a sketch."""

    kind: str
    role: str
    n: int  # points
    closed: bool
    radius: float  # m, 0 unless a circle


class Ghost(TypedDict):
    """The frames of another run, of the same shapes."""

    t: np.ndarray  # (k,) float32
    xy: np.ndarray  # (k, points, 2) float32, m


class Film(Ghost):
    """The frames of a run."""

    box: list[float]  # x0, x1, y0, y1
    unit: str
    items: list[Item]
    ghost: NotRequired[Ghost | None]


def items_of(shapes: Sequence[Shape], radii: np.ndarray) -> list[Item]:
    """Return what a sketch draws, with the radii (n,) of its circles in m."""
    return [
        {"kind": s.kind, "role": s.role, "n": len(s.points), "closed": s.closed, "radius": float(r)}
        for s, r in zip(shapes, radii, strict=True)
    ]


def frames(solution: Solution, share: float = 1.0) -> Film | None:
    """Return the animation of a solution, or None if its system has no sketch.

    `share` of the usual number of frames is made.

    Returns
    -------
    dict
        t (k,), xy (k, points, 2) as float32; box [x0, x1, y0, y1]; items: kind, role, n, closed,
        radius of each shape.
    """
    shapes, observe = solution.system.shapes, solution.observe
    if not shapes or observe is None:
        return None
    solution = fine(solution)
    points = sum(len(s.points) for s in shapes)
    count = int(np.clip(share * _BYTES / (8 * points), 16, 240))
    times = np.linspace(0, solution.t[-1], count)
    at = np.clip(np.searchsorted(solution.t, times), 0, len(solution.t) - 1)
    if solution.has("march"):  # what a reset moves must not glide: both its sides
        resets = solution.jump_rows if not solution.has_velocities else solution.jump_rows[:0]
        resets = resets[: count // 2]
        at = np.unique(np.concatenate([at, resets, resets - 1]))
    names = ("t", "q", "v") if solution.has_velocities else ("t", "q")
    rows = solution.changed(**{name: getattr(solution, name)[at] for name in names})
    values = observe(rows, "sketch")
    xy = values[:, : 2 * points].reshape(len(at), points, 2)
    radii = values[0, 2 * points :]
    low, high = xy.min(axis=(0, 1)), xy.max(axis=(0, 1))
    k = 0
    for shape, radius in zip(shapes, radii, strict=True):
        if radius:
            part = xy[:, k : k + 1]
            low = np.minimum(low, part.min(axis=(0, 1)) - radius)
            high = np.maximum(high, part.max(axis=(0, 1)) + radius)
        k += len(shape.points)
    pad = 0.04 * max(*(high - low), 1e-9)
    items = items_of(shapes, radii)
    return {
        "t": solution.t[at].astype(np.float32),
        "xy": xy.astype(np.float32),
        "box": [low[0] - pad, high[0] + pad, low[1] - pad, high[1] + pad],
        "unit": "m",
        "items": items,
    }


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
    """Draw the mechanism at time `t` (an empty picture if the system has no sketch)."""
    film = frames(solution)
    traces: list[Trace] = []
    if film is not None:
        now = film["xy"][int(np.abs(film["t"] - t).argmin())]
        k = 0
        for item in film["items"]:
            points = now[k : k + item["n"]]
            k += item["n"]
            colour = GREY if item["role"] in ("ground", "spring") else COLOURS[0]
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
                    "line": {"color": colour},
                    "showlegend": False,
                    "hoverinfo": "skip",
                }
            )
            if item["closed"]:
                traces[-1]["fill"] = "toself"
    picture = compose([[Plot(traces, "x (m)", "y (m)", time=False)]], [1])
    picture.layout["yaxis"]["scaleanchor"] = "x"
    return picture
