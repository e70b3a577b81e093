"""What is tested of a cycle on a branch: its multipliers, and whether it repeats earlier."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.study.near_misses import Miss

__all__ = [
    "events_of",
    "genuine",
    "is_point",
    "margins",
    "multipliers_of",
    "rotated",
    "shorter",
    "tests",
]

_HITS = ("impact", "event", "crosses")  # events whose guard is met with a speed
_AT_FOLD = 0.1  # how far a multiplier may be from 1 at a located fold
_POINT = 3e-3  # of the width of the first cycle, below which one has shrunk to a point
_REPEATS = 1e-7  # of the largest states: how near a cycle comes back to its start before its period


def multipliers_of(M: np.ndarray, kept: int, autonomous: bool) -> np.ndarray:
    """Return the multipliers by falling modulus, without the trivial one along the flow.

    Parameters
    ----------
    M : (n_x, n_x) monodromy matrix
    kept : int
        How many belong to directions along what is held at the start; the others are 0.
    autonomous : bool
        Whether there is a trivial one.
    """
    values = np.linalg.eigvals(M).astype(complex)
    values = values[np.argsort(-np.abs(values), kind="stable")][:kept]
    if autonomous:
        values = np.delete(values, np.argmin(np.abs(values - 1)))
    return values


def genuine(kind: str, mu: np.ndarray) -> bool:
    """Whether the zero of a test function is a bifurcation of a cycle with these multipliers.

    Real mu and 1 / mu are none, nor is a turn of the branch that no multiplier 1 makes.
    """
    if kind == "fold":
        return bool(np.abs(mu - 1).min(initial=np.inf) < _AT_FOLD)
    if kind != "Neimark-Sacker":
        return True
    pairs = [(abs(mu[i] * mu[j] - 1), i) for i in range(len(mu)) for j in range(i)]
    return bool(abs(mu[min(pairs)[1]].imag) > 1e-6)


def tests(mu: np.ndarray) -> dict[str, float]:
    """Return what changes its sign at a flip and at a Neimark-Sacker bifurcation."""
    pairs = [mu[i] * mu[j] - 1 for i in range(len(mu)) for j in range(i)]
    return {
        "flip": float(np.prod(1 + mu).real),
        "Neimark-Sacker": float(np.prod(pairs).real) if pairs else 1.0,
    }


def shorter(
    run: Solution, x: np.ndarray, T: float, count: int, unit: np.ndarray
) -> tuple[tuple[str, str], ...]:
    """Return an entry of the sequence for a cycle of `count` returns that repeats after fewer.

    Close to a flip a step along the doubled cycles may come to the simple ones. Both have the same
    events, and no test changes its sign: only this tells them apart.

    Parameters
    ----------
    run : Solution over the period T in s, from x (n_x,)
    unit : (n_x,) the largest states
    """
    parts = [k for k in range(1, count) if count % k == 0]
    if not parts:
        return ()
    there = run.march.sample(np.array(parts) * T / count, slopes=False)[0][:, : len(x)]
    near = bool((np.abs(there - x) / unit).max(axis=1).min() < _REPEATS)
    return (("repeats", ""),) if near else ()


def events_of(run: Solution) -> list[LocatedEvent]:
    """Return what happens in a cycle, without the impacts that lead to an accumulation.

    There are infinitely many; how many are located before the others are summed up says nothing.
    """
    leads: set[str] = set()  # contacts whose impacts end in an accumulation
    for _ in range(2):  # it may lie behind the end of the period, where the cycle begins again
        found: list[LocatedEvent] = []
        for event in reversed(run.located):
            if event.kind == "zeno":
                leads.add(event.contact)
            elif event.contact in leads and event.kind == "impact":
                continue
            else:
                leads.discard(event.contact)
            found.append(event)
    return found[::-1]


def is_point(run: Solution, wide: np.ndarray) -> bool:
    """Whether a cycle is so small beside one that is `wide` (n_x,) that it is one no more.

    Behind such a point, as a Hopf bifurcation is, come the same cycles again, or none.
    """
    states = run.march.steps.y[:, : len(wide)]
    unit = np.maximum(wide, 1e-3 * wide.max(initial=1e-300))
    return bool((np.ptp(states, axis=0) / unit).max() < _POINT)


def rotated(sequence: tuple[object, ...]) -> tuple[object, ...]:
    """Return the events of a cycle, turned to the least list: where it begins is no matter."""
    turned = [sequence[k:] + sequence[:k] for k in range(len(sequence))]
    return min(turned, default=())


def margins(run: Solution, misses: Sequence[Miss], T: float, ends: str) -> dict[str, float]:
    """Return the least speed at each guard, and the least distance of a near miss.

    Parameters
    ----------
    run : Solution over the period T in s
    ends : str
        What the distance of the events from both ends of the period is called.
    """
    found: dict[str, float] = {}
    events = events_of(run)
    for event in events:
        if event.kind in _HITS:
            key = f"hit {event.contact}"
            found[key] = min(found.get(key, np.inf), abs(event.slope))
    found.update({f"miss {miss.name}": miss.value for miss in misses})
    times = np.array([e.t for e in events])
    if len(times) > 1:
        found["spacing"] = float(np.append(np.diff(times), T + times[0] - times[-1]).min()) / T
    times = np.array([e.t for e in run.located])
    if len(times):
        found[ends] = float(np.minimum(times, T - times).min()) / T
    return found
