"""The gallery as one figure, for pages without a kernel: each mechanism at a time of its film."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.panels.gallery.films import Card, as_film
from explorer.views.drawing.picture import COLOURS, GREY, Picture
from explorer.views.drawing.traces import Trace
from explorer.views.mechanism import LeanFilm

__all__ = ["POSE", "overview"]

POSE = 0.3  # of a film: the still that stands for it
_COLUMNS, _TALL = 6, 0.78  # cells in a row; height of a cell, of its width
_BLUE = ("body", "point", "part", "lamp")  # what a picture is about
_LETTERS = 20  # of a name
_TURN = np.linspace(0, 2 * np.pi, 17)


def overview(cards: Sequence[Card]) -> Picture:
    """Return a figure of the mechanisms of some cards, in rows."""
    lines: dict[str, list[np.ndarray]] = {COLOURS[0]: [], GREY: []}
    names: list[str] = []
    places: list[tuple[float, float]] = []
    for k, card in enumerate(cards):
        x, y = k % _COLUMNS + 0.5, -_TALL * (k // _COLUMNS) - 0.5 * _TALL
        title = card["title"]
        names.append(title if len(title) <= _LETTERS else title[: _LETTERS - 1] + "…")
        places.append((x, y - 0.45 * _TALL))
        for colour, line in _drawn(as_film(card["film"]), x, y) if card["film"] else ():
            lines[colour] += [line, np.full((1, 2), np.nan)]
    data: list[Trace] = []
    for colour, parts in lines.items():
        points = np.concatenate(parts) if parts else np.empty((0, 2))
        data.append(_trace(points, mode="lines", line={"color": colour, "width": 1.2}))
    data.append(_trace(np.array(places).reshape(-1, 2), mode="text", text=names))
    rows = -(-len(cards) // _COLUMNS)
    hidden = {"showgrid": False, "showticklabels": False, "zeroline": False}
    layout = {
        "height": 20 + 100 * max(rows, 1),
        "margin": {"l": 10, "r": 10, "t": 10, "b": 10},
        "showlegend": False,
        "xaxis": {"range": [0, _COLUMNS], **hidden},
        "yaxis": {"range": [-_TALL * max(rows, 1), 0], **hidden},
    }
    return Picture(data, layout)


def _trace(points: np.ndarray, **more: object) -> Trace:
    made = {"type": "scatter", "x": points[:, 0], "y": points[:, 1], "hoverinfo": "skip"}
    return made | more  # type: ignore[return-value]


def _drawn(film: LeanFilm, x: float, y: float) -> list[tuple[str, np.ndarray]]:
    """Return lines of a frame around a point, in a cell of width 1."""
    left, right, bottom, top = film["box"]
    scale = min(0.8 / max(right - left, 1e-12), 0.75 * _TALL / max(top - bottom, 1e-12))
    frame = film["still"].astype(float)
    frame[film["moving"]] = film["xy"][int(POSE * (len(film["t"]) - 1))]
    points = (frame.reshape(-1, 2) - [(left + right) / 2, (bottom + top) / 2]) * scale
    points += [x, y + 0.05 * _TALL]
    found, at = [], 0
    for item in film["items"]:
        line = points[at : at + item["n"]]
        at += item["n"]
        if item["kind"] == "circle":
            radius = max(scale * item["radius"], 0.012)
            line = line + radius * np.column_stack([np.cos(_TURN), np.sin(_TURN)])
        elif item["closed"]:
            line = np.vstack([line, line[:1]])
        if item["kind"] != "text":
            found.append((COLOURS[0] if item["role"] in _BLUE else GREY, line))
    return found
