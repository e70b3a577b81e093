"""A billiard table with the way of its ball: straight from one collision to the next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.results.solution import Solution
from explorer.systems.sketch import Shape
from explorer.views.drawing.ghosts import Ghost, Ghosts
from explorer.views.drawing.picture import COLOURS, INK, Plot, curve
from explorer.views.drawing.pictured import shapes_of
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.traces import Line, Trace

__all__ = ["table_plot"]

_ROUND = 49  # points of a circle
_WAYS, _FEW = 400, 120  # chords of a figure, and of a panel: the first ones


def table_plot(solution: Solution, ghosts: Ghosts = None, look: Look = STATIC) -> Plot:
    """Draw the shapes that do not move, and the way of the last one, the ball.

    A pinned run that has another table is drawn with its own walls. The axes hold all walls, hence
    all ways.
    """
    shapes = shapes_of(solution)
    most = _WAYS if look == STATIC else int(_FEW / look.coarse)
    points = 2 * sum(len(s.points) for s in shapes)
    shown = [(one, *_sketched(one.solution, most)) for one in ghosts or ()]
    last = (None, *_sketched(solution, most))
    own = _places(_walls(shapes, last[2][0]))
    traces: list[Trace] = []
    corners: list[np.ndarray] = []
    for ghost, rows, seen in (*shown, last):
        way = seen[:, points - 2 : points]
        walls = _walls(shapes, seen[0], ghost)
        corners += _places(walls)
        if ghost is None or not all(map(np.array_equal, _places(walls), own)):
            traces += walls
        colour = ghost.colour if ghost else COLOURS[0]
        traces.append(
            curve(
                way[:, 0].astype(np.float32),
                way[:, 1].astype(np.float32),
                colour,
                line={"width": 0.8, **({"dash": ghost.dash} if ghost else {})},
                name=f"{ghost.name} way" if ghost else "way",
                hoverinfo="skip",
                meta={} if ghost else {"t": rows.t},
            )
        )
    every = np.concatenate(corners) if corners else np.zeros((1, 2))
    middle = (every.max(axis=0) + every.min(axis=0)) / 2
    reach = 0.53 * max(float(np.ptp(every, axis=0).max()), 1e-9)
    ranges = [(float(m - reach), float(m + reach)) for m in middle]
    return Plot(traces, "x (m)", "y (m)", ranges[0], ranges[1], time=False, time_unit="")


def _sketched(run: Solution, most: int) -> tuple[Solution, np.ndarray]:
    """Return the first rows of a run, `most` chords of it, and its sketch in each of them."""
    count = min(most, len(run.t) - 1) + 1
    rows = run.changed(t=run.t[:count], q=run.q[:count])
    assert run.observe is not None
    return rows, run.observe(rows, "sketch")


def _places(walls: Sequence[Trace]) -> list[np.ndarray]:
    return [np.column_stack([one["x"], one["y"]]) for one in walls]


def _walls(shapes: Sequence[Shape], values: np.ndarray, ghost: Ghost | None = None) -> list[Trace]:
    """Return all shapes but the ball, from the coordinates and radii of a row."""
    found, k = [], 0
    radii = values[2 * sum(len(s.points) for s in shapes) :]
    turn = np.linspace(0, 2 * np.pi, _ROUND)
    for shape, radius in zip(shapes[:-1], radii, strict=False):
        points = values[k : k + 2 * len(shape.points)].reshape(-1, 2)
        k += 2 * len(shape.points)
        if shape.kind == "circle":
            points = points + radius * np.column_stack([np.cos(turn), np.sin(turn)])
        x, y = points.astype(np.float32).T
        line: Line = {"width": 1.6} if ghost is None else {"width": 0.8, "dash": ghost.dash}
        name = "wall" if ghost is None else f"{ghost.name} wall"
        colour = INK if ghost is None else ghost.colour
        found.append(curve(x, y, colour, line=line, name=name, hoverinfo="skip"))
    return found
