"""Runs with an error tolerance beside one that is a thousand times tighter.

Errors of the steps add up, each grown by what the flow and its events make of it: by how much is
measured, by runs from starts that are a little off. Beyond the moment at which such a neighbour
meets other events, or is a million times as far off, nothing is said.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

import explorer as ex

POINTS = 24
FACTOR = 3.0  # an error in units of the tolerances of all steps, grown; 0.3 is the most seen
NEAR = 1e-4  # of the span: there events of two runs are not told apart
SHARE = 1e-6  # of the state: how far neighbours are off


def _again(run: Any, scheme: Any, times: np.ndarray, x0: np.ndarray | None) -> Any:
    start = {} if x0 is None else {"x0": x0}
    if x0 is not None and isinstance(run.system, ex.HybridSystem):
        start["mode0"] = run.system.modes[int(run.mode[0])].name
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return ex.simulate(
            run.system, scheme, rho=run.rho, t_end=float(times[-1]), t_eval=times, throw=False,
            **start,
        )  # fmt: skip


def _at(run: Any, times: np.ndarray) -> np.ndarray:
    """Return the states at the times that were asked for (those between events)."""
    rows = np.searchsorted(run.t, times)
    return np.array(run.x[np.minimum(rows, len(run.t) - 1)])


def _sequence(run: Any, t: float) -> list[list[Any]]:
    """Return the events before t, cut behind each accumulation."""
    parts: list[list[Any]] = [[]]
    for e in run.located:
        if e.t < t:
            parts[-1].append(e)
            if e.kind == "zeno":
                parts.append([])
    return parts


def _names(parts: list[list[Any]]) -> list[list[tuple[str, int]]]:
    return [[(e.kind, e.index) for e in part] for part in parts]


def agree(one: list[list[Any]], other: list[list[Any]], near: float) -> bool:
    """Whether two runs meet the same events.

    An accumulation has infinitely many. After how many a run goes to its limit is a matter of
    round-off, so one may have more than the other, no more than `near` before the limit.
    """
    if len(one) != len(other):
        return False
    for parts in zip(one, other, strict=True):
        few, many = sorted(([e for e in part if e.kind != "zeno"] for part in parts), key=len)
        if _names([few]) != _names([many[: len(few)]]):
            return False
        ends = [part[-1].t for part in parts if part and part[-1].kind == "zeno"]
        if any(not ends or max(ends) - e.t > near for e in many[len(few) :]):
            return False
    return True


def excess(run: Any) -> tuple[float, float, float] | None:
    """Return error / (growth x steps x tolerance), its time, and the growth; None: no verdict."""
    scheme, end = run.scheme, float(run.t[-1])
    tight = replace(
        scheme, rtol=max(1e-3 * scheme.rtol, 1e-13), atol=max(1e-3 * scheme.atol, 1e-14),
        max_steps=200_000,
    )  # fmt: skip
    times = np.linspace(0.0, end, POINTS + 1)
    mine = _again(run, scheme, times, None)
    best = _again(run, tight, times, None)
    if not (mine.status.ok and best.status.ok):
        return None
    x0 = best.x[0]
    size = np.abs(best.x).max(axis=0)
    size = np.maximum(size, 1e-3 * size.max() + 1e-300)
    off = SHARE * size * np.where(np.arange(len(size)) % 2, 1.0, -1.0)
    others = []
    for sign in (1.0, -1.0):
        try:
            others.append(_again(run, tight, times, x0 + sign * off))
        except ex.ExplorerError:
            continue
    others = [o for o in others if o.status.ok]
    if not others:
        return None
    hits = np.array([e.t for r in (mine, best, *others) for e in r.located] or [-1.0])
    worst, grown = (0.0, 0.0, 1.0), 1.0
    for k in range(1, len(times)):
        t = times[k]
        several = [_sequence(r, t) for r in (best, *others)]
        if any(_names(s) != _names(several[0]) for s in several):
            break
        for o in others:
            grown = max(grown, float((np.abs(_at(o, times[[k]]) - _at(best, times[[k]]))
                                      / (SHARE * size)).max()))  # fmt: skip
        met = _sequence(mine, t)
        if grown > 1e5 or not agree(met, several[0], NEAR * end):
            steps = 1 + (mine.march.steps.t < t).sum()
            sure = grown * steps * (scheme.rtol + scheme.atol / size.min()) < 1e-4
            return (np.inf, t, grown) if sure and grown <= 1e5 else worst
        if _names(met) != _names(several[0]):
            break  # a jump more or less of an accumulation: what is at rest has another name
        if np.abs(hits - t).min() < NEAR * end:
            continue
        steps = 1 + (mine.march.steps.t < t).sum()
        error = float((np.abs(_at(mine, times[[k]]) - _at(best, times[[k]])) / size).max())
        unit = grown * steps * (scheme.rtol + scheme.atol / size.min()) + 1e-11 * grown
        if error / unit > worst[0]:
            worst = error / unit, t, grown
    return worst
