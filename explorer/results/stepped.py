"""Events of schemes that step over impacts: read from impulses and from what each contact does."""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import quantity
from explorer.results.event import Event, Sample
from explorer.results.run import Run

__all__ = [
    "STICK", "at", "began", "closed_runs", "event_rows", "events", "jump_rows", "means",
    "without_impacts",
]  # fmt: skip

STICK = 2  # of `doing`; +1 and -1 slide
_CLOSED_STEPS = 3
_SHORT = 3  # rows of rest between sliding one way and the other that are part of the turn


def event_rows(run: Run) -> list[tuple[int, str, int]]:
    """Return (row, kind, contact) of every event, in order of time.

    "slips", "sticks" and "turns" of friction are known to one step, like impacts.
    """
    found = []
    for a in range(run.p.shape[1]):
        for first, after in _runs(run, a):
            lasting = after - first >= _CLOSED_STEPS
            rigid = run.system.contacts[a].compliance == 0
            over = min(first + run.scheme.impact_steps, after) - 1
            if first > 0 and rigid and run.gap_dot[first - 1, a] < 0:
                found.append((over, "impact", a))
            if first > 0 and lasting:
                found.append((over, "closed", a))
            if lasting and after < len(run.t):
                found.append((after, "released", a))
    found.sort(key=lambda event: event[0])
    rough = run.system.rough
    if rough:
        doing = run.recorded_row("doing")
        found += [event for a in rough for event in _friction_events(doing[:, a], a)]
        found.sort(key=lambda event: event[0])
    return found


def _friction_events(doing: np.ndarray, a: int) -> list[tuple[int, str, int]]:
    """Return (row, kind, contact) of the changes of one contact while it is closed."""
    edges = np.append(np.flatnonzero(np.diff(doing)) + 1, len(doing))
    found: list[tuple[int, str, int]] = []
    before = int(doing[0])  # what it did last, moments of rest in a turn left out
    for first, after in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        now = int(doing[first])
        if now == STICK and after - first < _SHORT and after < len(doing) and doing[after]:
            continue
        if now and before and now != before:
            kind = "sticks" if now == STICK else "slips" if before == STICK else "turns"
            found.append((first, kind, a))
        before = now
    return found


def closed_runs(run: Run, a: int) -> list[tuple[int, int]]:
    """Return (first, one past last) rows of each stretch over which contact `a` stays closed."""
    return [(i, j) for i, j in _runs(run, a) if j - i >= _CLOSED_STEPS]


def _runs(run: Run, a: int) -> list[tuple[int, int]]:
    """Return (first, one past last) rows of each stretch in which contact `a` carries impulses.

    A contact that opens for a step or two and closes at almost no speed, or faster than it had
    left, has not bounced: a velocity-level scheme lets a closed gap drift by O(h^3) and closes
    it again.
    """
    on = run.p[:, a] > 0
    on[0] = abs(run.gap[0, a]) <= 1e-9 and abs(run.gap_dot[0, a]) <= 1e-9
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(np.int8)))
    slow = 0.02 * np.abs(run.gap_dot[:, a]).max()
    runs: list[tuple[int, int]] = []
    for first, after in edges.reshape(-1, 2).tolist():
        if runs and first - runs[-1][1] < _CLOSED_STEPS:
            back, away = -run.gap_dot[first - 1, a], run.gap_dot[runs[-1][1] - 1, a]
            if back <= slow or away < back / 2:
                runs[-1] = (runs[-1][0], after)
                continue
        runs.append((first, after))
    return runs


def events(run: Run) -> list[Event]:
    """Return impacts, closings, releases and what friction does, in order of time."""
    names = [c.name for c in run.system.contacts]
    return [
        Event(
            float(run.t[i]),
            kind,
            names[a],
            a,
            i,
            run.v[first - 1],
            run.v[i],
            float(run.gap_dot[first - 1, a]),
            float(run.gap_dot[i, a]),
            float(run.p[first : i + 1, a].sum()),
        )
        for i, kind, a in run.event_rows
        for first in [began(run, i, a)]
    ]


def began(run: Run, i: int, a: int) -> int:
    """Return the first row of what contact `a` did until row `i`."""
    first, steps = i, run.scheme.impact_steps if run.p[i, a] > 0 else 1
    while i - first + 1 < steps and run.p[first - 1, a] > 0:
        first -= 1
    return first


def jump_rows(run: Run) -> np.ndarray:
    """Return the rows at which a velocity jumps."""
    return np.unique([i for i, kind, _ in run.event_rows if kind == "impact"]).astype(int)


def means(t: np.ndarray, impulse: np.ndarray) -> np.ndarray:
    """Return the mean force of the step that ends at each row."""
    force = np.zeros_like(impulse)
    force[1:] = (impulse[1:].T / np.diff(t)).T
    return force


def without_impacts(run: Run, impulse: np.ndarray) -> np.ndarray:
    """Return the mean forces of the steps, zero in those of an impact."""
    force = means(run.t, impulse)
    for row, kind, a in run.event_rows:
        if kind == "impact":
            force[began(run, row, a) : row + 1, a] = 0.0
    return force


def at(run: Run, t: float, side: str) -> Sample:
    """Return the state at one time, interpolated linearly inside a step.

    Raises
    ------
    BadValue
        A time between rows of a run whose steps were not all kept.
    """
    thinned = run.recorded is not None and run.recorded.thinned
    if thinned:
        near = run.t[int(np.abs(run.t - t).argmin())]
        t = float(near) if abs(near - t) <= 1e-12 * run.t[-1] else t
    i = int(np.searchsorted(run.t, t))
    if run.t[i] != t and thinned:
        raise BadValue(
            f"t = {quantity(t, 's')} lies between the recorded rows {run.t[i - 1]:g} and "
            f"{quantity(run.t[i], 's')}: evaluate at a recorded time (solution.t), or record "
            "this time."
        )
    none = np.zeros((len(run.t), 0))
    v, gap = (run.v, run.gap) if run.has_velocities else (none, none)
    if run.t[i] == t:
        left = side == "left" and i in run.jump_rows
        return Sample(t, run.q[i], v[i - left], gap[i])
    s = (t - run.t[i - 1]) / (run.t[i] - run.t[i - 1])
    mix = [(1 - s) * a[i - 1] + s * a[i] for a in (run.q, v, gap)]
    if i in run.jump_rows:
        mix[1] = v[i - 1]
    return Sample(t, *mix)
