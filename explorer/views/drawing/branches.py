"""Branches of cycles or equilibria as lines: solid where stable, dashed where not, and marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from explorer.study.branch import Branch
from explorer.views.drawing.picture import INK, OFF, curve, label
from explorer.views.drawing.traces import Marker, Trace

__all__ = ["SYMBOLS", "growth", "over_dots", "runs"]

SYMBOLS = {
    "fold": "circle",
    "flip": "diamond",
    "Neimark-Sacker": "star",
    "Hopf": "star",
    "grazing": "triangle-up",
    "sliding": "square",
    "corner": "square",
    "boundary": "triangle-up",
    "branch point": "cross",
    "border collision": "x",
}
_OF_CYCLES = (
    "fold",
    "flip",
    "Neimark-Sacker",
    "grazing",
    "sliding",
    "corner",
    "branch point",
    "border collision",
)
_AT_BOUND = 1e-6  # a multiplier this close to its bound is at it


def growth(branch: Branch) -> np.ndarray:
    mu = branch.multipliers
    if not mu.shape[1]:
        return np.zeros(len(branch))
    sizes = np.abs(mu) if branch.kind == "cycles" else mu.real
    return np.asarray(np.nanmax(sizes, axis=1))


def _solid(branch: Branch) -> np.ndarray:
    """Return how the line from each point to the next is drawn: 1 solid, 0 dashed, -1 not at all.

    A point at the bound of stability, a bifurcation, belongs to both sides.
    """
    bound = 1.0 if branch.kind == "cycles" else 0.0
    free = branch.stable | (np.abs(growth(branch) - bound) < _AT_BOUND)
    joined = branch.piece[1:] == branch.piece[:-1]
    return np.where(joined, (free[1:] & free[:-1]).astype(int), -1)


def runs(branch: Branch) -> Iterator[tuple[slice, bool]]:
    """Yield slices of points that one line joins, and whether it is solid."""
    solid = _solid(branch)
    edges = [0, *(np.flatnonzero(np.diff(solid)) + 1).tolist(), len(solid)]
    for begin, end in pairwise(edges):
        if end > begin and solid[begin] >= 0:
            yield slice(begin, end + 1), bool(solid[begin])


def over_dots(branches: Sequence[Branch], by: str, place: int) -> list[Trace]:
    """Return the lines and marks that lie over the dots of a diagram; always as many traces.

    Each cycle is drawn at all its points on the section.
    """
    parts: dict[bool, tuple[list[float], list[float]]] = {True: ([], []), False: ([], [])}
    for one in branches:
        for run, solid in runs(one):
            x, y = parts[solid]
            for found in one.returns[run, :, place].T:
                x += [*one.values[run].tolist(), np.nan]
                y += [*found.tolist(), np.nan]
    traces = [
        _line(parts[stable], word, dash, label(by))
        for stable, word, dash in ((True, "stable branch", "solid"), (False, "unstable", "dash"))
    ]
    for kind, symbol in SYMBOLS.items():
        if kind not in _OF_CYCLES:
            continue
        found = [
            (point.parameter, float(x[place]), f"{kind} {point.name}".strip())
            for one in branches
            for point in one.points
            if point.kind == kind
            for x in point.returns
        ]
        traces.append(_mark(kind, symbol, found, label(by)))
    return traces


def _line(part: tuple[Sequence[float], Sequence[float]], word: str, dash: str, by: str) -> Trace:
    there = bool(part[0])
    x, y = (np.array(part[0]), np.array(part[1])) if there else OFF
    return curve(
        x,
        y,
        INK,
        name=word,
        line={"dash": dash, "width": 1.2},
        hovertemplate=f"{by} = %{{x:.7g}}: %{{y:.6g}}<extra>{word}</extra>",
        legendrank=1001,
    ) | {"showlegend": there}


def _mark(kind: str, symbol: str, found: Sequence[tuple[float, float, str]], by: str) -> Trace:
    """Return the marks of one kind of bifurcation; what happens there is said on hovering."""
    marker: Marker = {"size": 6, "color": INK, "symbol": symbol}
    x, y = (np.array([q[k] for q in found], float) for k in (0, 1)) if found else OFF
    words = [q[2] for q in found] or [""]
    return curve(
        x,
        y,
        INK,
        name=kind,
        mode="markers",
        text=words,
        hovertemplate=f"{by} = %{{x:.9g}}: %{{y:.6g}}<extra>%{{text}}</extra>",
    ) | {"marker": marker, "showlegend": bool(found), "legendrank": 1002}
