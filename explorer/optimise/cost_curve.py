"""A cost over one parameter, broken where it jumps.

psi(rho) is smooth only as long as the run meets the same events. Where two neighbouring values meet
different ones, the value between them at which the events change is found by bisection: the curve
is broken there if psi jumps, and marked if it has a kink.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from explorer.derivatives.question import Question, gradient_of
from explorer.errors import ExplorerError
from explorer.optimise.search import Met, met

__all__ = ["Break", "CostCurve", "cost_curve"]

_FINE = 1e-5  # of the range: a change of events is known to this
_STEP = 0.01  # of what psi spans: less is not seen as a jump
_STEEP = 10  # times what the slopes beside it explain
_BEND = 0.05  # of the larger slope: less is not seen as a kink


@dataclass(frozen=True)
class Break:
    """Where the events of the run change.

    Attributes
    ----------
    value : float, of the parameter
    kind : str, "jump" or "kink"
    left, right : float, the limits of psi
    """

    value: float
    kind: str
    left: float
    right: float


class CostCurve(NamedTuple):
    """psi over a parameter.

    Attributes
    ----------
    rho, psi : (k,) float
        NaN between the two limits of a jump, and where no run exists.
    breaks : tuple of Break
    """

    rho: np.ndarray
    psi: np.ndarray
    breaks: tuple[Break, ...]


class _Curve:
    """Values of psi and what the runs meet, looked up or run."""

    def __init__(self, question: Question, j: int) -> None:
        self.question, self.place = question, question.places[j]
        self.found: dict[float, tuple[float, Met | None]] = {}

    def at(self, value: float) -> tuple[float, Met | None]:
        """Return psi and the event sequence; NaN and None without a run."""
        if value not in self.found:
            rho = self.question.rho.copy()
            rho[self.place] = value
            moved = dataclasses.replace(self.question, rho=rho, wrt=(), places=(), t_eval=None)
            try:
                run = moved.run()
                self.found[value] = gradient_of(moved, run)[0], met(run, moved.until)
            except ExplorerError:
                self.found[value] = np.nan, None
        return self.found[value]

    def differ(self, low: float, high: float) -> bool:
        return self.at(low)[1] != self.at(high)[1]

    def refine(self, values: list[float], fine: float, runs: int) -> None:
        """Bisect where the events change, first where psi differs most."""
        heap: list[tuple[float, float, float]] = []

        def put(low: float, high: float) -> None:
            if self.differ(low, high) and high - low > fine:
                apart = abs(self.at(high)[0] - self.at(low)[0])
                heapq.heappush(heap, (-apart if np.isfinite(apart) else 0.0, low, high))

        for low, high in itertools.pairwise(values):
            put(low, high)
        while heap and runs > 0:
            _, low, high = heapq.heappop(heap)
            middle = 0.5 * (low + high)
            runs -= 1
            self.at(middle)
            put(low, middle)
            put(middle, high)


def cost_curve(question: Question, j: int, values: np.ndarray, runs: int = 60) -> CostCurve:
    """Return psi over parameter `j`, with its jumps and kinks.

    Parameters
    ----------
    question : Question
    j : int
        Number of a parameter in ``question.wrt``.
    values : (k,) increasing
    runs : int
        So many runs more may be taken to find where the events change.
    """
    curve = _Curve(question, j)
    given = [float(x) for x in values]
    fine = _FINE * (given[-1] - given[0])
    for x in given:
        curve.at(x)
    curve.refine(given, fine, runs)
    at = np.array(sorted(curve.found))
    psi = np.array([curve.found[x][0] for x in at])
    finite = psi[np.isfinite(psi)]
    span = float(np.ptp(finite)) if len(finite) else 0.0
    breaks, cuts = [], []
    for i in range(len(at) - 1):
        if not curve.differ(at[i], at[i + 1]) or not np.isfinite(psi[i : i + 2]).all():
            continue
        # at the end of the range, or beside no run, one slope is all that is known
        left, right = (_slope(at, psi, k, d) for k, d in ((i, -1), (i + 1, 1)))
        left = right if np.isnan(left) else left
        right = left if np.isnan(right) else right
        wide, step = at[i + 1] - at[i], abs(psi[i + 1] - psi[i])
        middle = float(0.5 * (at[i] + at[i + 1]))
        # what is not bisected to the end may be steep: it jumps if its neighbours are flat
        known = 0.0 if wide <= 2 * fine else _STEEP * max(abs(left), abs(right)) * wide
        if step > max(_STEP * span, known):
            cuts.append(i + 1)
            breaks.append(Break(middle, "jump", float(psi[i]), float(psi[i + 1])))
        elif wide <= 2 * fine and abs(left - right) > _BEND * max(abs(left), abs(right)):
            breaks.append(Break(middle, "kink", float(psi[i]), float(psi[i + 1])))
    return CostCurve(np.insert(at, cuts, np.nan), np.insert(psi, cuts, np.nan), tuple(breaks))


def _slope(at: np.ndarray, psi: np.ndarray, i: int, side: int) -> float:
    """Return the slope of psi on one side of a point; NaN where there is none."""
    k = i + side
    return float((psi[k] - psi[i]) / (at[k] - at[i])) if 0 <= k < len(at) else np.nan
