"""Runs of hybrid systems: flow between events, guards at events and between them, resets."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from examiner.flows import defect, stretches, tolerance_of
from examiner.written import kept, plain, rho_of, slope, symbols_of

ROWS, SAMPLES = 6, 60


class Automaton:
    """Modes and guards by NumPy."""

    def __init__(self, system: Any) -> None:
        args = [system.t, list(system.x), symbols_of(system)]
        self.flows = [plain(args, list(mode.flow)) for mode in system.modes]
        self.guards = list(system.guards)
        self.r = [plain(args, g.r) for g in self.guards]
        self.slope = [
            plain(args, [slope(g.r, s) for s in (system.t, *system.x)]) for g in self.guards
        ]
        self.when = [None if g.when is None else plain(args, g.when) for g in self.guards]
        self.reset = [plain(args, list(g.reset)) for g in self.guards]
        self.branches = [
            [(b.to, plain(args, list(b.when))) for b in g.branches] for g in self.guards
        ]

    def watched(self, mode: int) -> list[int]:
        return [k for k, g in enumerate(self.guards) if g.mode == mode]


written = kept(Automaton)


def judge_hybrid(run: Any, rng: np.random.Generator, unit: Any = None) -> Iterator[str]:
    """Yield what a run of `EventDriven` on a `HybridSystem` breaks, or, frozen, of `FESD`."""
    errors = unit or (lambda t0, t1: tolerance_of(run, t0, t1))
    system, rho = run.system, rho_of(run)
    known = written(system)
    names = [m.name for m in system.modes]
    size = np.abs(run.x).max(axis=0) + 1e-300
    unit = errors(0.0, run.t[-1])
    located = run.located
    for k, event in enumerate(located):
        yield from _event(known, run, event, names, rho, unit, size)
        if (
            k
            and located[k - 1].t == event.t
            and not np.allclose(
                located[k - 1].x_plus, event.x_minus, rtol=1e-9, atol=1e-12 * size.max()
            )
            and event.chained
        ):
            yield f"events at t = {event.t:.6g} do not follow each other"
    for a, b in stretches(run, rng, ROWS):
        mode, sol = int(run.mode[a]), []
        rate = known.flows[mode]
        flow = lambda t, x, rate=rate: np.array(rate(t, x, rho), float)  # noqa: E731
        unit_here = errors(run.t[a], run.t[b])
        yield from defect(flow, run.t[a], run.t[b], run.x[a], run.x[b], unit_here,
                          f"mode {names[mode]!r}", sol)  # fmt: skip
        if sol:
            yield from _missed(known, run, sol[0], mode, (a, b), rho, unit_here)


def _off(known: Automaton, k: int, t: float, x: np.ndarray, rho: Any, unit: float) -> float:
    """Return what errors of the state leave of a guard's value."""
    slopes = np.abs(np.array(known.slope[k](t, x, rho), float))
    return float(slopes[1:].sum() * unit + slopes[0] * 1e-14 * abs(t)) + 1e-14


def _event(
    known: Automaton, run: Any, event: Any, names: list[str], rho: Any, unit: float,
    size: np.ndarray,
) -> Iterator[str]:  # fmt: skip
    mode = names.index(event.mode)
    mine = [k for k in known.watched(mode) if known.guards[k].name == event.contact]
    if not mine:
        yield f"event {event.contact!r} at t = {event.t:.6g} is no guard of {event.mode!r}"
        return
    k, guard, t, x = mine[0], known.guards[mine[0]], event.t, event.x_minus
    if event.kind == "zeno":
        return
    off = 10 * _off(known, k, t, x, rho, unit)
    r = float(known.r[k](t, x, rho))
    if not event.chained and not abs(r) <= off:
        yield f"guard {guard.name!r} is {r:.2g} at its event, t = {t:.6g}, allowed {off:.2g}"
    if event.chained and guard.direction and not -guard.direction * r <= off:
        yield f"guard {guard.name!r} at t = {t:.6g} fires on the wrong side: {r:.2g}"
    if known.when[k] is not None and not float(known.when[k](t, x, rho)) > -1e3 * unit - 1e-8:
        yield f"guard {guard.name!r} counts at t = {t:.6g} though its condition does not hold"
    after = np.array(known.reset[k](t, x, rho), float)
    if not np.abs(after - event.x_plus).max() <= 1e-11 * (np.abs(after).max() + size.max()):
        yield f"reset of {guard.name!r} at t = {t:.6g}: off by {np.abs(after - event.x_plus).max():.2g}"
    to = names.index(event.to)
    holds = [m for m, when in known.branches[k] if min(when(t, after, rho), default=1) > -1e-6]
    if to not in (holds if known.branches[k] else [guard.to]) and guard.zeno != to:
        yield f"after {guard.name!r} at t = {t:.6g} follows {event.to!r}"


def _missed(
    known: Automaton, run: Any, sol: Any, mode: int, rows: tuple[int, int], rho: Any, unit: float
) -> Iterator[str]:
    """Yield guards that are crossed between two events."""
    t0, t1 = run.t[rows[0]], run.t[rows[1]]
    times = np.linspace(t0, t1, SAMPLES)
    states = sol(times).T
    ends = {e.contact for e in run.located if e.row in (rows[0], rows[1] + 2)}
    for k in known.watched(mode):
        guard = known.guards[k]
        r = np.array([known.r[k](t, x, rho) for t, x in zip(times, states, strict=True)], float)
        off = np.array([_off(known, k, t, x, rho, 1e3 * unit) for t, x in
                        zip(times, states, strict=True)])  # fmt: skip
        off += 1e-7 * np.abs(r).max()
        sides = np.where(r > off, 1, np.where(r < -off, -1, 0))
        kept_ = np.flatnonzero(sides)
        for i, j in pairwise(kept_):
            if sides[i] == sides[j]:
                continue
            if guard.direction and sides[j] != guard.direction:
                continue
            if guard.name in ends and (i < 2 or j >= SAMPLES - 2):
                continue
            when = known.when[k]
            if (
                when is not None
                and not min(float(when(times[m], states[m], rho)) for m in (i, j)) > 1e-6
            ):
                continue
            yield (
                f"guard {guard.name!r} of {run.system.modes[mode].name!r} is crossed near "
                f"t = {times[j]:.6g}, without an event"
            )
            break
