"""Many runs of the event-driven kernel in one call, of which only what is asked for stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from explorer.compiled import Flow
from explorer.compiled.checks import refused_inertia
from explorer.compiled.start_mode import start_mode
from explorer.errors import BadModel
from explorer.kernels.event_driven.records import TRACK
from explorer.kernels.event_driven.structures import Options
from explorer.runs.capture import kernel_known
from explorer.runs.event_driven.march import LOWEST, REST_MAX
from explorer.runs.event_driven.run import BAND
from explorer.runs.event_driven.settings import Settings
from explorer.runs.event_driven.workspace import lend
from explorer.runs.members import FREE, SECTIONS, Asked, Members, Observed, caps

if TYPE_CHECKING:
    from explorer.kernels.event_driven.ensemble import Seen

__all__ = ["makes_starts", "march_members"]

_REFUSED = -1
_FIRST = np.full(64, -1)
_STAGES = 17  # slopes of a step


def makes_starts(flow: Flow, settings: Settings) -> bool:
    """Whether members are marched in one call: no start is corrected, no continuation picked."""
    return not (flow.system.drive is not None or flow.assembles or settings.picks)


def _modes(flow: Flow, members: Members) -> np.ndarray:
    """Return the modes in which members begin that follow no other, (k,); -1: in none."""
    own = 0 if flow.automaton is None else flow.automaton.start_mode
    found = np.full(members.size, own)
    if members.mode >= 0:
        found[: 1 if members.chained else members.size] = members.mode
    if flow.automaton is None or not flow.automaton.start_branches:
        return found
    for k in range(members.size):
        if members.mode >= 0 and (k == 0 or not members.chained):
            continue
        rho, x = members.rho[k], members.start[k]
        if not np.isfinite(rho).all():  # its own parameters are refused
            continue
        if np.isnan(x).any():
            x = np.where(np.isnan(x), flow.start(rho)[0], x)
        try:
            found[k] = start_mode(flow, rho, x)
        except BadModel:
            found[k] = _REFUSED
    return found


def _surface(flow: Flow, guard: int) -> str:
    """Return the name under which the events of a guard are counted."""
    name = flow.guard_name(guard)
    if flow.active_sets is None:
        return name
    return str(flow.system.guard_names[flow.active_sets.functions[name]])  # type: ignore[attr-defined]


def _room(counts: np.ndarray) -> int:
    """Return room for the largest of some counts: one of few sizes, so that few are kept."""
    return 1 << int(counts.max() - 1).bit_length()


def _blank(k: int, n: int, guards: int, most: int, extrema: bool) -> Seen:
    """Return room for what is observed of k members with n states and `most` points each."""
    from explorer.kernels.event_driven.ensemble import Seen

    low, high = np.full((2, k if extrema else 0, n), np.nan)
    return Seen(
        code=np.zeros(k, np.int64),
        at=np.zeros(k, np.int64),
        t=np.zeros(k),
        end=np.full((k, n), np.nan),
        mode=np.zeros(k, np.int64),
        events=np.zeros((k, guards), np.int64),
        found=np.zeros(k, np.int64),
        points=np.full((k, most, n + 1), np.nan),
        low=low,
        high=high,
        times=np.empty(most),
        which=np.empty(most, np.int64),
        rates=np.empty((most, n + 1)),
        caught=np.full(k, FREE),
        track=np.zeros(1, TRACK),
        kept=np.empty((_STAGES, n + 1)),
    )


def march_members(flow: Flow, settings: Settings, members: Members, asked: Asked) -> Observed:
    """Run all members on this thread, without the lock of Python.

    Each is the run that `March` makes alone, to the last bit.
    """
    from explorer.kernels.event_driven import ensemble as kernel

    k, n = members.size, flow.n_x
    count = flow.n_c + flow.n_phi if flow.mechanical else len(flow.guards)
    names = [_surface(flow, j) for j in range(count)]
    met = np.array([name == asked.event for name in names], np.int64)
    refused = refused_inertia(flow.system, members.rho)
    if refused.any():  # one behind it begins at the start of the model
        members = members._replace(rho=np.where(refused[:, None], np.nan, members.rho))
    most = asked.most if asked.known is None else 1
    seen = _blank(k, n, count, most, asked.extrema)
    steps, happenings = caps(
        settings.max_steps, settings.max_events, members.t_end, flow.system.t_end, n
    )
    roomy = settings._replace(max_steps=_room(steps), max_events=_room(happenings))
    runs = kernel.Members(
        members.rho,
        members.start,
        members.t_end,
        members.since,
        members.period,
        members.offset,
        members.chained,
        members.behind,
        SECTIONS.index(asked.section),
        asked.before,
        met,
        asked.extrema,
        steps,
        happenings,
    )
    known = kernel_known(asked.known, n)
    options = Options(
        t_end=0.0,
        h=settings.h,
        h_max=settings.grid,
        grid=settings.grid,
        band=BAND,
        rest=REST_MAX,
        lowest=LOWEST,
        max_steps=0,
        max_events=0,
        columns=0,
        slopes=False,
        given_state=True,
        given_seeds=False,
        picks=_FIRST,
    )
    modes, first = _modes(flow, members), 0
    while first < k:
        with lend(flow, roomy, (), members.rho[first]) as lent:
            blank = kernel.Blank(
                lent.problem.inp.copy(),
                modes,
                int(lent.problem.state[0]["form"]),
                lent.problem.rows.view(np.uint8),
                lent.work.run.view(np.uint8),
            )
            first = kernel.ensemble(lent.bound(), options, blank, known, runs, seen, first)
        if first < k:
            flow.make(int(seen.at[first]))
    events = np.zeros((k, len(asked.names)), np.int64)
    for j, name in enumerate(names):
        if name in asked.names:  # a constraint that always holds has no events
            events[:, asked.names.index(name)] += seen.events[:, j]
    found = Observed(
        np.where(refused, _REFUSED, seen.code),
        seen.t,
        seen.end,
        seen.mode,
        events,
        seen.found,
        seen.points[:, :, :n].copy(),
        seen.points[:, :, n].copy(),
        seen.low if asked.extrema else np.empty((k, 0)),
        seen.high if asked.extrema else np.empty((k, 0)),
        seen.caught,
    )
    return found.without_failed()
