"""All points of a run that a picture may need; `polyline` selects the visible ones.

A run with located events is also evaluated between its rows: where a curve bends, and in the zoom
window. A time-stepping run has only its rows. At a jump a curve has its left and its right limit at
the same time with a gap between them, so that no line connects them.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.errors import BadValue
from explorer.results.solution import Solution
from explorer.views.drawing.polyline import Look

__all__ = ["MOST_CURVES", "NONE", "Rows", "drawn", "few", "fine", "rows", "seen"]

MOST_CURVES = 6  # as many as there are colours that all eyes tell apart
NONE = np.empty(0, np.int64)  # no breaks
_EVEN, _FINER = 300, 1000  # times at least; multipliers move where no state bends
_BEND = 1e-3  # of the range of a state: a chord off by less is not seen to be
_ROUNDS = 5
_MOST = 60_000
_WHOLE = (None, 0, 1)
_CLOSE = 3  # times a pixel, in a window


@dataclass(frozen=True)
class Rows:
    """The points of a run.

    Attributes
    ----------
    t : (k,) times
    q, v : n arrays (k,) of what is drawn: coordinates and velocities; of a hybrid system x and x'
    jumps : rows before which what jumps is interrupted
    torn : rows before which a state is: at the resets of a hybrid system
    """

    t: np.ndarray
    q: list[np.ndarray]
    v: list[np.ndarray]
    jumps: np.ndarray
    torn: np.ndarray


def fine(
    solution: Solution, window: tuple[float, float] | None = None, width: float = 0, zoom: float = 1
) -> Solution:
    """Return a run with enough rows for drawing; only runs with located events change.

    Parameters
    ----------
    solution : Solution
    window, width : (from, to) and px, optional
        The part that is looked at, and how wide it is drawn.
    zoom : float
        How many times larger than the whole run its portrait is drawn.
    """
    if not solution.has("march"):
        return solution
    asked = (window, width, zoom)
    if asked == _WHOLE and "_looked" in solution.__dict__:
        return solution
    kept: Solution | None = solution.__dict__.get("_fine")
    if kept is not None and kept.__dict__["_looked"] == asked:
        return kept
    whole: Solution = solution.__dict__.get("_whole", solution)
    kept = whole.march.rows(whole, _times(whole, *asked))
    kept.__dict__.update(_looked=asked, _fine=kept, _whole=whole)
    whole.__dict__["_fine"] = kept
    return kept


def seen(solution: Solution, look: Look) -> Solution:
    """Return the run with the rows that the explore panel draws; its first axis is time."""
    window = look.ranges.get("xaxis")
    if window is not None and not 0.0 < window[1] - window[0] < solution.t[-1]:
        window = None
    return fine(solution, window, look.width if window else 0.0, look.zoom)


def _times(
    run: Solution, window: tuple[float, float] | None, width: float, zoom: float
) -> np.ndarray:
    """Return the times at which a run is drawn: equally spaced, and denser where it bends."""
    march, end = run.march, float(run.t[-1])
    own, hits = march.knots, march.hits
    even = _FINER if march.of_elements else _EVEN
    sides = np.concatenate([hits, np.nextafter(hits, 0.0)])
    t = np.unique(np.concatenate([np.linspace(0.0, end, even + 1), own, sides]))
    if window is not None:
        low, high = (min(max(x, 0.0), end) for x in window)
        t = np.union1d(t, np.linspace(low, high, int(_CLOSE * width) + 2))
    t = t[(t >= 0.0) & (t <= end)]
    x = march.sample(t, exact=False)[0][:, : march.n_x]
    high = np.ptp(x, axis=0)
    scale = _BEND / zoom * np.where(high > 0, high, 1.0)
    todo = np.diff(t) > 1e-12 * end
    for _ in range(_ROUNDS):
        left = np.flatnonzero(todo)
        if not len(left) or len(t) + len(left) > _MOST:
            break
        middle = (t[left] + t[left + 1]) / 2
        between = march.sample(middle, exact=False)[0][:, : march.n_x]
        off = (np.abs(between - (x[left] + x[left + 1]) / 2) > scale).any(axis=1)
        left, middle, between = left[off], middle[off], between[off]
        place = left + 1 + np.arange(len(left))  # of the new times among all
        t, x = np.insert(t, left + 1, middle), np.insert(x, left + 1, between, axis=0)
        todo = np.zeros(len(t) - 1, bool)
        todo[place - 1] = todo[place] = True
    return t[~np.isin(t, sides)]


def drawn(names: Sequence[str], most: int = MOST_CURVES) -> np.ndarray:
    """Return the coordinates that are drawn: all, or `most` of them spread evenly.

    Of bodies with the same coordinates each some bodies are drawn with all of theirs. Fewer than
    `MOST_CURVES` are some of those.

    >>> drawn(["x1", "y1", "phi1", "x2", "y2", "phi2", "x3", "y3", "phi3"])
    array([0, 1, 2, 6, 7, 8])
    """
    return _drawn(tuple(names), most)


@functools.cache
def _drawn(names: tuple[str, ...], most: int) -> np.ndarray:
    n, heads = len(names), [name.rstrip("0123456789") for name in names]
    each = next((k for k in range(1, MOST_CURVES + 1) if heads == (heads[:k] * n)[:n]), 1)
    each = each if n % each == 0 else 1
    bodies = _spread(n // each, MOST_CURVES // each)
    shown: np.ndarray = (each * bodies[:, None] + np.arange(each)).ravel()
    shown = shown[_spread(len(shown), most)]
    shown.flags.writeable = False  # it is shared
    return shown


def _spread(count: int, most: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def few(at: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` rows, spread evenly, for marks."""
    return at[np.linspace(0, len(at) - 1, most).astype(int)] if len(at) > most else at


def rows(solution: Solution) -> Rows:
    """Return the points of a run; several curves share these arrays."""
    if solution.system.discrete:
        raise BadValue("No curve is drawn through the iterates of a map.")
    resets = not solution.has_velocities
    rate = solution.rates if resets else solution.v
    wild = rate if solution.q.shape[1] == 1 or not resets else solution.q
    jumps = _jumps(solution, wild)
    q, v = (list(np.ascontiguousarray(a.T)) for a in (solution.q, rate))
    return Rows(solution.t, q, v, jumps, jumps if resets else NONE)


def _jumps(solution: Solution, wild: np.ndarray) -> np.ndarray:
    """Return the rows that follow a jump of a drawn quantity."""
    if solution.has("march") and not solution.has_velocities:
        rows_of_jumps = [i for i, *_ in solution.event_rows if (wild[i] != wild[i - 1]).any()]
        return np.unique(rows_of_jumps).astype(np.int64)
    return np.asarray(solution.jump_rows, np.int64)
