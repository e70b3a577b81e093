"""The members of a sweep by `simulate`, one after the other: where no kernel runs many.

What is observed means the same. States at the times of a section are those of `Solution.at`, exact
where the scheme locates events; extrema are those of the rows, and of both sides of events.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.dispatch.simulate import simulate
from explorer.errors import ExplorerError
from explorer.results.event import LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.capture import catch
from explorer.runs.members import APART, FREE, Asked, Known, Members, Observed, caps
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.study.asked import with_knobs
from explorer.study.over import states_of
from explorer.systems import LagrangianSystem, StateSpaceSystem, System
from explorer.types import Plain
from explorer.warned import unsaid

__all__ = ["arguments", "one_by_one", "together"]

_PARTS = 16  # of a step with a polynomial, for extrema
_OPENS = ("released", "slips", "sticks", "turns")  # events of a contact that are no points


def arguments(system: System, scheme: Scheme, members: Members, i: int) -> Plain:
    """Return member `i` as arguments of `simulate`, the scheme included."""
    rho = dict(zip(system.parameters, members.rho[i].tolist(), strict=True))
    t_end = float(members.t_end[i])
    found: Plain = {"scheme": lasting(scheme, system, t_end), "rho": rho, "t_end": t_end}
    start, given = members.start[i], ~np.isnan(members.start[i])
    if not given.any():
        return found
    if not given.all():
        own = np.concatenate(scheme.compile(system).start(members.rho[i].tolist())[:2], axis=None)
        start = np.where(given, start, own[: len(start)])
    if isinstance(system, LagrangianSystem):
        n = len(system.coordinates)
        return found | {"q0": start[:n], "v0": start[n:]}
    return found | {"x0": start}


def lasting(scheme: Scheme, system: System, t_end: float) -> Scheme:
    """Return a scheme whose limits of steps and events, if it has any, are those of a long run."""
    if not isinstance(scheme, EventDriven):
        return scheme
    n_x = len(states_of(system)[0])
    steps, events = caps(scheme.max_steps, scheme.max_events, np.array([t_end]), system.t_end, n_x)
    if (steps[0], events[0]) == (scheme.max_steps, scheme.max_events):
        return scheme
    return with_knobs(scheme, max_steps=int(steps[0]), max_events=int(events[0]))


def one_by_one(system: System, scheme: Scheme, members: Members, asked: Asked) -> Observed:
    """Run all members; a start that is refused has the code -1."""
    seen = Observed.empty(members.size, members.start.shape[1], asked)
    modes = getattr(system, "modes", ()) if isinstance(system, StateSpaceSystem) else ()
    with unsaid():
        for i in range(members.size):
            follows = members.chained and i > 0 and seen.leads(i - 1, asked)
            mode = members.mode if i == 0 or not members.chained else -1
            if follows:
                members.start[i], mode = seen.end[i - 1], int(seen.mode[i - 1])
            more = {"mode0": modes[mode]} if modes and mode >= 0 else {}
            try:
                given = arguments(system, scheme, members, i)
                run = simulate(system, throw=False, **given, **more)
            except ExplorerError:
                seen.code[i] = -1
                continue
            seen.code[i], seen.t[i] = (
                run.status.code,
                run.status.t if not run.status.ok else run.t[-1],
            )
            if run.status.ok and asked.known is not None:
                _catch(run, members, asked, asked.known, seen, i)
            elif run.status.ok:
                _read(run, members, asked, seen, i)
    return seen.without_failed()


def together(
    system: System,
    scheme: Scheme,
    fast: Callable[[Members, Asked], Observed],
    members: Members,
    asked: Asked,
) -> Observed:
    """Run all members by an ensemble, and by themselves those that it leaves."""
    if not members.chained or scheme.located:
        seen = fast(members, asked)
        left = np.flatnonzero(seen.code == APART)
        if len(left):
            seen.put(left, one_by_one(system, scheme, members.some(left), asked))
        return seen
    seen = Observed.empty(members.size, members.start.shape[1], asked)
    for i in range(members.size):
        one = members.some(np.array([i]))._replace(chained=False)
        if i > 0 and seen.leads(i - 1, asked):
            one.start[0] = seen.end[i - 1]
        found = fast(one, asked)
        if found.code[0] == APART:
            found = one_by_one(system, scheme, one, asked)
        seen.put(np.array([i]), found)
    return seen


def _catch(
    run: Solution, members: Members, asked: Asked, known: Known, seen: Observed, i: int
) -> None:
    """Write which attractor a run has come to, and the point where it did."""
    one = members.some(slice(i, i + 1))
    n = seen.end.shape[1]
    room = len(run.events)
    if asked.section == "period":
        room = int((one.t_end[0] - one.since[0]) / one.period[0]) + 2
    own = asked._replace(most=room, known=None)
    alone = Observed.empty(1, n, own)
    _read(run, one, own, alone, 0)
    found = int(alone.found[0])
    points = alone.points[0, :found]
    caught, place = catch(known, points)
    for part, value in zip(seen, alone, strict=True):
        if part.shape[1:] == value.shape[1:] and part is not seen.code and part is not seen.t:
            part[i] = value[0]
    seen.found[i], seen.caught[i] = min(place + 1, found), caught
    if found > 0:
        last = min(place, found - 1)
        seen.points[i, 0], seen.times[i, 0] = points[last], alone.times[0, last]
    if caught != FREE:
        seen.end[i], seen.t[i] = seen.points[i, 0], seen.times[i, 0]


def _read(run: Solution, members: Members, asked: Asked, seen: Observed, i: int) -> None:
    """Write what is observed of a run that has reached its end."""
    since = float(members.since[i])
    located = run.has("march") and run.march.of_steps  # FESD keeps elements
    seen.end[i] = run.march.y[: seen.end.shape[1]] if located else run.x[-1]
    if run.has("mode") and not run.by_laws:  # places of laws are no modes to begin in
        seen.mode[i] = run.recorded_row("mode")[-1]
    events = [e for e in run.events if e.t >= since]
    for k, name in enumerate(asked.names):
        seen.events[i, k] = sum(e.contact == name for e in events)
    x, t = np.zeros((0, seen.end.shape[1])), np.zeros(0)
    if asked.section == "event":
        mine = [e for e in events if e.contact == asked.event and e.kind not in _OPENS]
        t = np.array([e.t for e in mine])
        x = np.array([_beside(run, e, asked.before) for e in mine]).reshape(len(mine), x.shape[1])
    elif asked.section == "period":
        period, offset = members.period[i], members.offset[i]
        first = max(int(np.ceil((since - offset) / period - 1e-9)), 0)
        t = offset + np.arange(first, first + asked.most) * period
        t = np.minimum(t[t <= run.t[-1] * (1 + 1e-12)], run.t[-1])
        if located:
            x = run.march.sample(t)[0][:, : x.shape[1]]
        else:
            at = run.at(t)
            x = np.hstack([at.q, at.v]) if run.has_velocities else at.q
    seen.found[i] = len(t)
    kept = min(len(t), asked.most)
    seen.points[i, :kept], seen.times[i, :kept] = x[:kept], t[:kept]
    if asked.extrema:
        rows = run.x[run.t >= since]
        if located:
            knots = np.append(run.march.steps.t, run.t[-1])
            fine = np.linspace(knots[:-1], knots[1:], _PARTS, endpoint=False, axis=1).ravel()
            fine = np.append(fine[fine > since], run.t[-1])
            rows = np.vstack([rows, run.march.sample(fine, exact=False)[0][:, : rows.shape[1]]])
        seen.low[i], seen.high[i] = rows.min(axis=0), rows.max(axis=0)


def _beside(run: Solution, event: LocatedEvent, before: bool) -> np.ndarray:
    """Return the state on one side of an event; where it was stepped over, that of its row."""
    if run.has("march"):
        state = event.x_minus if before else event.x_plus
        if state.size:
            return state
    return np.asarray(run.x[max(event.row - 1, 0) if before else event.row])
