"""Events of a run that locates them: both sides of each, and exact evaluation anywhere between.

Rows come in time order; an event has two, its left and its right limit at the same time. What lies
between rows is not interpolated: the run marches from its nearest step.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import scipy

from explorer.results.event import LocatedEvent, Sample
from explorer.results.run import Run

__all__ = ["at", "closed_runs", "event_rows", "events", "jump_rows", "rubbed", "state"]

_PANELS = 6  # of a piece between rows, over which the power of friction is integrated
_CLOSED_ROWS = 3
_SLOW = 1e-9  # of the largest speed: so slow a contact does not slide
_NEAR = 2e-10  # m/s: twice as near as guards of slips are located
_SHORT = 1e-4  # of a run: between two guards of one slip
_RUBS = ("slips", "sticks", "turns")
_KINDS = {(False, False): "", (False, True): "slips", (True, False): "sticks"}


def events(run: Run) -> list[LocatedEvent]:
    """Return events in order of time; each of several contacts that meet at once has its own."""
    seen = _seen(run)
    named = [(event, seen.get(id(event), event.kind)) for event in _all(run)]
    return [e if kind == e.kind else dataclasses.replace(e, kind=kind) for e, kind in named if kind]


def _all(run: Run) -> list[LocatedEvent]:
    """Return events in order of time, also those of contacts that only share a force anew."""
    found = [one for event in run.located for one in (event, *_beside(run, event))]
    return sorted(found, key=lambda e: e.t)  # an accumulation ends behind what it outlasts


def _seen(run: Run) -> dict[int, str]:
    """Return by `id` of an event of friction what its motion shows; empty where nothing slides.

    Of several feet of one body some are at the bound of their friction while others hold it. Which
    of them these are is not unique, and changes without a motion; and the foot with which the body
    comes to rest may be at its bound then.
    """
    told = run.located
    rough = sum(len(contact.slips) == 1 for contact in run.system.contacts)
    if rough < 2 or run.has("pseudo") or all(event.kind not in _RUBS for event in told):
        return {}
    t = np.unique([0.0, *(e.t for e in told), run.t[-1]])
    middle = 0.5 * (t[1:] + t[:-1])
    fine = run.march.rows(run, np.unique(np.concatenate([run.t, middle])))
    slip = fine.slip[np.searchsorted(fine.t, middle)]
    way = np.sign(slip) * (np.abs(slip) > _SLOW * np.abs(run.v).max(initial=0.0))
    short = (np.diff(t) < _SHORT * t[-1]) & (np.abs(slip).max(axis=1) < _NEAR)
    found, lasting = {}, np.flatnonzero(~short)
    for event in (e for e in told if e.kind in _RUBS):
        here = int(np.searchsorted(t, event.t))
        place = int(np.searchsorted(lasting, here))
        before = int(lasting[place - 1]) if place else -1
        after = int(lasting[place]) if place < len(lasting) else here - 1
        beside = np.abs(run.slip[event.row - 1 : event.row + 1, event.index])
        if not (beside <= _NEAR).all():  # an impact has it
            continue
        was, then = (way[k, event.index] if k >= 0 else 0.0 for k in (before, after))
        turned = "turns" if was != then else ""
        again = here - 1 > 0 and bool(short[here - 1])  # the event before has told it
        found[id(event)] = "" if again else _KINDS.get((bool(was), bool(then)), turned)
    return found


def _beside(run: Run, event: LocatedEvent) -> list[LocatedEvent]:
    """Return the events of other contacts that strike where `event` is located.

    Through time freezing every contact that strikes has an event of its own already.
    """
    if event.together < 2 or not run.system.contacts or run.has("pseudo"):
        return []
    row = event.row
    others = np.flatnonzero((run.p[row] > 0) & (run.gap_dot[row - 1] < 0))
    return [
        dataclasses.replace(
            event,
            contact=run.system.contacts[a].name,
            index=int(a),
            impulse=float(run.p[row, a]),
            kind="closed" if run.active[row, a] else "impact",
            gap_dot_minus=float(run.gap_dot[row - 1, a]),
            gap_dot_plus=float(run.gap_dot[row, a]),
        )
        for a in others
        if a != event.index
    ]


def event_rows(run: Run) -> list[tuple[int, str, int]]:
    """Return (row of the right limit, kind, contact or guard) in order of time."""
    found = []
    for event in _all(run):
        contact = event.index < len(run.system.contacts)
        if contact and event.kind in ("closed", "zeno") and event.impulse > 0:
            found.append((event.row, "impact", event.index))
        found.append((event.row, event.kind, event.index))
    return found


def closed_runs(run: Run, a: int) -> list[tuple[int, int]]:
    """Return (first, one past last) rows of each stretch over which contact `a` stays closed."""
    closed = run.active[:, a] == 1
    edges = np.flatnonzero(np.diff(np.concatenate([[False], closed, [False]]).astype(np.int8)))
    return [(i, j) for i, j in edges.reshape(-1, 2).tolist() if j - i >= _CLOSED_ROWS]


def jump_rows(run: Run) -> np.ndarray:
    """Return the rows behind an event at which the state or its derivative jumps."""
    rows = [
        e.row for e in run.located if not np.array_equal(e.x_minus, e.x_plus) or run.S.shape[2] > 0
    ]
    return np.unique(rows).astype(int)


def at(run: Run, t: float, side: str) -> Sample:
    """Return the state at one time, marched to exactly there."""
    x, n = state(run, t, side), run.q.shape[1]
    gap = run.march.gaps(np.array([t]), x[None])[0][0]
    return Sample(t, x[:n], x[n:], gap)


def state(run: Run, t: float, side: str) -> np.ndarray:
    """Return x at one time; at an event its left or right limit."""
    here = [e for e in run.located if e.t == t]
    if here:
        limit: np.ndarray = here[0].x_minus if side == "left" else here[-1].x_plus
        return limit
    found: np.ndarray = run.march.sample(np.array([float(t)]))[0][0, : run.x.shape[1]]
    return found


def rubbed(run: Run) -> np.ndarray:
    """Return the work of friction at each contact since the start in J, (n_t, n_c)."""
    breaks = np.flatnonzero(np.diff(run.t) == 0) + 1
    parts = [
        np.linspace(run.t[i], run.t[i + 1], _PANELS + 1)[1:-1]
        for i in np.flatnonzero(np.diff(run.t) > 0)
    ]
    fine = run.march.rows(run, np.unique(np.concatenate([run.t, *parts])))
    power = fine.lam_t * fine.slip
    work, t = np.zeros_like(power), fine.t
    ends = np.flatnonzero(np.diff(t) == 0) + 1
    for part in np.split(np.arange(len(t)), ends):
        begin = work[part[0] - 1] if part[0] else np.zeros(power.shape[1])
        if part[0]:
            jump = 0.5 * fine.p_t[part[0]] * (fine.slip[part[0]] + fine.slip[part[0] - 1])
            begin = begin + jump
        work[part] = begin
        if len(part) > 1:
            order = min(len(part) - 1, 3)
            spline = scipy.interpolate.make_interp_spline(t[part], power[part], k=order)
            work[part] += spline.antiderivative()(t[part]) - spline.antiderivative()(t[part[0]])
    place = np.searchsorted(t, run.t, side="left")
    place[breaks] += 1
    for i in breaks:  # of several events at one time
        place[i] = max(place[i], place[i - 1] + 1)
    return np.asarray(work[place])
