"""The defect of a flow: a run's stretch integrated anew, by SciPy's DOP853 at rtol 1e-12."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

MOST = 2_500  # times 4 states: right-hand sides of one stretch; a stiff one is left out
STEPS_OFF = 100.0  # an error in units of the tolerances of its steps


class TooStiff(Exception):
    """A stretch that an explicit method does not get through."""


def integrate(rate: Callable, t0: float, t1: float, x0: np.ndarray, rtol: float = 1e-12) -> Any:
    count = 0

    def counted(t: float, x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        if count * len(x0) > 4 * MOST:
            raise TooStiff
        found = rate(t, x)
        if not np.isfinite(found).all():
            raise TooStiff
        return found

    size = np.abs(x0).max() + 1e-300
    return solve_ivp(
        counted, (t0, t1), x0, "DOP853", rtol=rtol, atol=1e-3 * rtol * size, dense_output=True
    )


def growth(rate: Callable, t0: float, t1: float, x0: np.ndarray, end: np.ndarray) -> float:
    """Return by how much a small error at the start grows, at least 1."""
    size = np.maximum(np.abs(x0), 1e-3 * np.abs(x0).max() + 1e-12)
    most = 1.0
    for sign in (1.0, (-1.0) ** np.arange(len(x0))):
        moved = integrate(rate, t0, t1, x0 + 1e-6 * sign * size, 1e-10).y[:, -1]
        most = max(most, np.abs(moved - end).max() / (1e-6 * size.max()))
    return float(most)


def defect(
    rate: Callable, t0: float, t1: float, x0: np.ndarray, x1: np.ndarray, unit: float, what: str,
    sol: list[Any] | None = None,
) -> Iterator[str]:  # fmt: skip
    """Yield a sentence if the flow from (t0, x0) misses x1 by more than `unit` lets it."""
    try:
        found = integrate(rate, t0, t1, x0)
        if not found.success:
            return
        left = float(np.abs(found.y[:, -1] - x1).max())
        if sol is not None:
            sol.append(found.sol)
        floor = 1e-10 * max(np.abs(x0).max(), np.abs(x1).max()) + 1e-13
        if left <= floor + unit:
            return
        grows = growth(rate, t0, t1, x0, found.y[:, -1])
    except TooStiff:
        return
    if not left <= (floor + unit) * grows:
        yield f"{what}: flow from t = {t0:.6g} to {t1:.6g}: {left:.2g}, allowed {unit * grows:.2g}"


def tolerance_of(run: Any, t0: float, t1: float) -> float:
    """Return what the steps of an `EventDriven` run let a stretch be off.

    By their tolerances; a Newmark scheme promises none, and its steps are off by a few times what
    the change of the acceleration in each makes of the velocity.
    """
    begins = run.march.steps.t
    steps = 2 + ((begins > t0) & (begins < t1)).sum()
    size = np.abs(run.x).max()
    allowed = float(STEPS_OFF * steps * (run.scheme.atol + run.scheme.rtol * size))
    if run.scheme.newmark is None:
        return allowed
    h, turned, _ = _turned(run, t0, t1)
    return allowed + 3 * float((h * turned).sum())


def _turned(run: Any, t0: float, t1: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return steps, by how much the acceleration changes from each to the next, and at no event."""
    h = np.diff(run.t)
    near = np.flatnonzero(
        (h > 0) & (run.t[1:] >= t0 - 3 * h.max()) & (run.t[:-1] <= t1 + 3 * h.max())
    )
    acceleration = np.diff(run.v, axis=0)[near] / h[near, None]
    turned = np.abs(np.diff(acceleration, axis=0)).sum(axis=1)
    return h[near[1:]], turned, np.diff(near) == 1


def drift_of(run: Any, t: float) -> float:
    """Return by how much positions that are held may be off at t, by all steps before.

    Contacts are held at the level of accelerations, so what a step makes of a gap stays. A Newmark
    step takes the acceleration for linear in time, or nearly: its position is off by a share of
    h^2 times the change of the acceleration in it. Methods with a tolerance keep to that.
    """
    if getattr(run.scheme, "newmark", None) is None:
        return 0.0
    h, turned, inside = _turned(run, 0.0, t)
    return 3 * float((h**2 * turned)[inside].sum())


def stretches(run: Any, rng: np.random.Generator, rows: int) -> Iterator[tuple[int, int]]:
    """Yield rows between which nothing happens: some between neighbours, some between events."""
    hits = sorted({event.row for event in run.located})
    edges = [0, *hits, len(run.t)]
    whole = [(a, b - 2 if b < len(run.t) else b - 1)
             for a, b in itertools.pairwise(edges)]  # fmt: skip
    whole = [(a, b) for a, b in whole if b > a and run.t[b] > run.t[a]]
    for k in rng.permutation(len(whole))[:rows]:
        a, b = whole[k]
        yield a, b
        i = int(rng.integers(a, b))
        if b - a > 1 and run.t[i + 1] > run.t[i]:
            yield i, i + 1
