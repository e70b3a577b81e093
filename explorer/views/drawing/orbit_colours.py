"""What the colours of an orbit diagram tell: the period of a column, or how fast motions part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from explorer.quantities import quantity
from explorer.study.orbits import LONGEST, Orbits
from explorer.views.drawing.picture import COLOURS, OFF, curve
from explorer.views.drawing.traces import Trace

__all__ = ["FAILED", "REST", "Colouring", "by_attractor", "by_exponent", "by_period"]

FAILED = "#b2182b"  # of columns without a result: a mark at the foot
REST = "#797979"  # as far from white as from black
_COLOURED = len(COLOURS)  # periods with a colour of their own
_FALLS = ("#0072B2", "#56B4E9", "#8CB4C8")  # of exponents below zero, the least first
_GROWS = ("#C8A070", "#E69F00", "#D55E00")
_UNKNOWN = "#A6A6A6"
_PARTS = (1 / 50, 1 / 3, 2 / 3)  # of the largest size, between two colours
_USUAL = 95  # percent of the exponents that are not beyond the scale


@dataclass(frozen=True)
class Colouring:
    """A colour for each column.

    Attributes
    ----------
    kind : (k,) int, index of the colour
    colours, names : of each kind; the last one is that of columns without a result
    thick : (k,) bool, whether the dots of a column are drawn as thick as a line
    words : what is said of each column
    """

    kind: np.ndarray
    colours: tuple[str, ...]
    names: tuple[str, ...]
    thick: np.ndarray
    words: list[str]

    def legend(self, found: Orbits, others: Sequence[tuple[Orbits, Colouring]]) -> list[Trace]:
        """Return the entries of the colours that are seen; always as many traces."""
        there = {*self.kind[found.known & ~found.failed].tolist()}
        for other, told in others:
            there |= {*told.kind[other.known & ~other.failed].tolist()}
        if found.failed.any():
            there.add(len(self.colours) - 1)
        return [
            {
                **curve(*OFF, colour, name=name, hoverinfo="skip"),
                "mode": "markers",
                "marker": {"size": 7, "color": colour},
                "showlegend": k in there,
            }
            for k, (name, colour) in enumerate(zip(self.names, self.colours, strict=True))
        ]


def by_period(found: Orbits) -> Colouring:
    """Return the colours of periods 1, 2, ..., of all others, and of none."""
    short = (found.period > 0) & (found.period <= _COLOURED)
    return Colouring(
        np.where(short, found.period - 1, _COLOURED).astype(np.int64),
        (*COLOURS, REST, FAILED),
        (*(f"period {p}" for p in range(1, _COLOURED + 1)), "longer, or none", "no result"),
        short,
        _words(found),
    )


def by_exponent(found: Orbits, values: np.ndarray, unit: str) -> Colouring:
    """Return the colours of largest Lyapunov exponents (k,): blue falls, orange is chaos.

    Between the two lies grey, where neighbours neither part nor come together.
    """
    finite = np.abs(values[np.isfinite(values)])
    size = float(np.percentile(finite, _USUAL)) if finite.size else 1.0
    ends = np.array(_PARTS) * (size or 1.0)
    edges = [*(-ends[::-1]), *ends]
    kind = np.searchsorted(edges, np.nan_to_num(values, nan=0.0, neginf=-1e300, posinf=1e300))
    unknown = len(edges) + 1
    kind = np.where(np.isnan(values), unknown, kind)
    said = [quantity(x, unit, 2) for x in edges]
    names = [f"λ < {said[0]}"]
    names += [f"{a} to {b}" for a, b in pairwise(said[:3])]
    names += [f"|λ| < {said[3]}"]
    names += [f"{a} to {b}" for a, b in pairwise(said[3:])]
    names += [f"λ > {said[-1]}", "λ not known", "no result"]
    known = ["λ not known" if np.isnan(x) else f"λ = {quantity(x, unit, 4)}" for x in values]
    words = [
        word if bad else f"{about}, {word}"
        for word, about, bad in zip(_words(found), known, found.failed, strict=True)
    ]
    colours = (*_FALLS, REST, *_GROWS, _UNKNOWN, FAILED)
    return Colouring(kind.astype(np.int64), colours, tuple(names), found.period > 0, words)


def by_attractor(found: Orbits) -> list[Colouring]:
    """Return the colours of the attractors that the starts of each column come to, one by one."""
    numbers = found.attractors()
    names = ("of the first start", *(f"{k}. other attractor" for k in range(1, _COLOURED)))
    several = (numbers >= 0).any(axis=0) & (numbers.max(axis=0) > 0)
    each = []
    for one, number in zip((found, *found.others), numbers, strict=True):
        kind = np.where((number >= 0) & (number < _COLOURED), number, _COLOURED)
        words = [
            f"{word}, {numbers[:, k].max() + 1} attractors" if several[k] else word
            for k, word in enumerate(_words(found))
        ]
        each.append(
            Colouring(
                kind.astype(np.int64),
                (*COLOURS, REST, FAILED),
                (*names, "more", "no result"),
                (one.period > 0) & (one.period <= _COLOURED),
                words,
            )
        )
    return each


def _words(found: Orbits) -> list[str]:
    return [_said(p, bad) for p, bad in zip(found.period, found.failed, strict=True)]


def _said(period: int, failed: bool) -> str:
    if failed:
        return "no result"
    return f"period {period}" if period else f"no period up to {LONGEST}"
