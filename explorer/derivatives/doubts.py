"""Where a run has no derivative, or another one to either side: events that graze or meet.

At a grazing event D = r_t + r_x f- goes to zero, and dt/drho = -(r_x S- + r_rho) / D with the root
of the depth that the guard would reach: it is as good as that depth is known. The depth is compared
with the tolerances first; where they leave it open, with that of a run at another tolerance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from explorer.certificate import Check
from explorer.derivatives.one_sided import limit
from explorer.derivatives.question import Question, gradient_of
from explorer.errors import ExplorerError
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.runs.event_driven.march import March
from explorer.runs.event_driven.meetings import SURE
from explorer.schemes.event_driven import EventDriven

__all__ = ["Doubt", "examine"]

SAME = 1e-3  # how far D may differ from that of a run at another tolerance
FINEST = 1e-13  # tolerance of that run
COARSER = 30.0  # or, over one's own, where that is as fine
CLOSE = 1e-5  # derivatives to both sides that differ by no more are one
_ROUNDS = 1e-12  # of its terms: what a change of a gap may be by round-off


@dataclass(frozen=True, kw_only=True)
class Doubt(Check):
    """What is not known of a derivative: a check that does not hold, with what it concerns.

    It is one of the checks of `Trust`. Its name, also `kind`, is "grazing" (there is no number) or
    "directional" (there is another one to either side).

    Attributes
    ----------
    event : int
        Index among the located events; of a miss that may be none, the next one.
    t : float
        Time, in its unit.
    columns : (p,) bool
        Parameters whose derivative it concerns, from there on.
    alone : bool
        Whether it concerns the time of the event only, since nothing jumps there.
    """

    event: int
    t: float
    columns: np.ndarray = field(compare=False)
    alone: bool = False

    @property
    def kind(self) -> str:
        """Its name."""
        return self.name

    @property
    def sentence(self) -> str:
        """Its words."""
        return self.words


def examine(
    question: Question, run: Solution, columns: Callable[[], Solution] | None = None
) -> tuple[Doubt, ...]:
    """Return what is doubtful in the derivative of a run.

    Costs nothing where no event grazes or meets another one; else some runs more.

    Parameters
    ----------
    columns : callable, optional
        Returns the same run with its columns, if `run` has none.
    """
    march = run.march
    if not isinstance(march, March) or not question.wrt or not march.screened[0]:
        return ()
    if columns is not None:
        run = columns()
    found = [*_grazing(question, run), *_directional(question, run)]
    return tuple(sorted(found, key=lambda doubt: doubt.event))


def _grazing(question: Question, run: Solution) -> list[Doubt]:
    from explorer.kernels.event_driven.doubtful import NEAR

    march, scheme = run.march, question.scheme
    assert isinstance(scheme, EventDriven)  # nothing else has such a march
    head = march.events.head
    doubtful, margins = march.screened
    tau = march.part("dtau")
    suspects = np.flatnonzero((margins < SURE) | ~np.isfinite(tau).all(axis=1))
    j, near = int(march.watch["nearest"].argmin()), bool(doubtful & NEAR)
    miss = march.nearest
    if near:
        here = np.unique([g.mode for g in march.flow.guards], return_index=True)[1] + j
        near = not (len(here) and all(_watches(question, g) for g in here))
    if not len(suspects) and not near:
        return []
    unit = question.system.time_unit
    cure = (
        "A smaller rtol may resolve this" if scheme.rtol > FINEST else "No tolerance resolves this"
    )
    try:
        other = dataclasses.replace(question, scheme=_other(scheme), t_eval=None).run(wrt=False)
    except ExplorerError:
        other = None
    theirs = None if other is None else other.march
    told = "guard", "kind"
    found = []
    for k in suspects:
        columns, apart = ~(tau[k] == 0), np.inf
        if (
            theirs is not None
            and margins[k] > 0
            and np.isfinite(tau[k]).all()
            and len(theirs.events.head) > k
            and all(np.array_equal(theirs.events.head[: k + 1][n], head[: k + 1][n]) for n in told)
        ):
            apart = abs(float(theirs.events.head["D"][k] / head["D"][k]) - 1)
        if apart <= SAME:  # the depth is known better than the tolerances promise
            margins[k] = max(margins[k], 0.5 / max(apart, 1e-12))
        elif columns.any():
            event, alone = run.located[k], _watches(question, head["guard"][k])
            what = "its dt/drho" if alone else "the derivative behind it"
            found.append(
                Doubt(
                    name="grazing",
                    value=0.5 / margins[k] if 0 < margins[k] < SURE else np.inf,
                    allowed=0.5 / SURE,
                    event=int(k),
                    t=event.t,
                    columns=columns,
                    alone=alone,
                    words=f"At t = {quantity(event.t, unit)} the run grazes {event.contact!r}: it "
                    f"crosses zero by so little that rtol = {scheme.rtol:g} does not resolve the "
                    f"crossing, and {what} is unknown. {cure}.",
                )
            )
    if len(suspects):
        run.forget_rows()
    if near and not found:
        same = theirs is not None and theirs.sequence == march.sequence
        seen = np.inf if theirs is None else theirs.watch["nearest"][j]
        if not same or (np.isfinite(seen) and abs(seen - miss) > 0.5 * miss):
            t = float(march.watch["miss_at"][j])
            end = (march.end()[3] != 0).any(axis=0) & _moves(march, j, t) | _in_guards(question)
            size = np.abs(march.steps.y[:, : march.flow.n_x]).max(initial=1.0)
            found.append(
                Doubt(
                    name="grazing",
                    value=(scheme.atol + scheme.rtol * size) / miss if miss else np.inf,
                    allowed=1 / SURE,
                    event=int(np.searchsorted(head["t"], t)),
                    t=t,
                    columns=end,
                    words=f"At t = {quantity(t, unit)} a guard comes to {number(miss, 2)} of its "
                    f"zero and turns back: rtol = {scheme.rtol:g} does not resolve whether the "
                    f"event occurs, and the derivative after it is unknown. {cure}.",
                )
            )
    return found


def _moves(march: March, j: int, t: float) -> np.ndarray:
    """Return which columns (p,) move the gap of contact `j` at t; all, if guard `j` is no gap."""
    flow = march.flow
    if not flow.mechanical or j >= flow.n_c:
        return np.ones(len(march.wrt), bool)
    y = march.sample(np.array([t]))[0][0].reshape(-1, flow.n_x + 1)
    inp, at = flow.input(march.rho), 2 * flow.rows + j * flow.n
    inp[0], inp[1 : 1 + flow.n_x] = t, y[0, : flow.n_x]
    G, Q = flow.bundles[1](inp)[at : at + flow.n], y[1:, : flow.n].T
    return np.asarray(np.abs(G @ Q) > _ROUNDS * (np.abs(G) @ np.abs(Q)))


def _watches(question: Question, k: int) -> bool:
    """Whether nothing jumps at guard `k`: it only watches. (Contacts do more.)"""
    guards = question.cost.flow.guards
    return k < len(guards) and not guards[k].jumps and guards[k].targets == (guards[k].mode,)


def _in_guards(question: Question) -> np.ndarray:
    """Return which parameters (p,) the guards depend on."""
    flow = question.cost.flow
    formulas = [g.r for g in flow.guards]
    for contact in question.system.contacts:
        formulas += [contact.gap, contact.mu, contact.mu_s, *contact.slips]
    formulas += [c.when for c in question.system.constraints]
    symbols = {s.name for f in formulas if f is not None for s in sp.sympify(f).free_symbols}
    return np.array([name in symbols for name in question.wrt])


def _other(scheme: EventDriven) -> EventDriven:
    """Return the scheme at another tolerance or step: finer where that is possible."""
    if scheme.newmark is not None:
        return dataclasses.replace(
            scheme, method=dataclasses.replace(scheme.newmark, h=scheme.newmark.h / 2)
        )
    method = "radau" if scheme.method == "radau" else "dop853"
    if scheme.rtol >= 10 * FINEST:
        rtol = FINEST if method == "dop853" else max(FINEST, 1e-3 * scheme.rtol)
        return dataclasses.replace(scheme, method=method, rtol=rtol, atol=min(scheme.atol, FINEST))
    return dataclasses.replace(
        scheme, method=method, rtol=COARSER * scheme.rtol, atol=min(COARSER * scheme.atol, 1e-3)
    )


def _directional(question: Question, run: Solution) -> list[Doubt]:
    """Return the events that meet and at which the derivatives to both sides differ."""
    march = run.march
    meetings = march.meetings
    if not meetings:
        return []
    cost, gradient = gradient_of(question, run)
    ends = march.end()[3]
    asked = np.any(list(meetings.values()), axis=0)
    differ = np.zeros(len(asked), bool)
    for j in np.flatnonzero(asked):
        differ[j] = not _smooth(question, int(j), cost, np.append(ends[:, j], gradient[j]))
    march.meetings = {k: both for k, one in meetings.items() if (both := one & differ).any()}
    if march.meetings.keys() != meetings.keys():
        run.forget_rows()
    found = []
    for k, columns in march.meetings.items():
        event, unit = run.located[k], question.system.time_unit
        names = ", ".join(repr(question.wrt[j]) for j in np.flatnonzero(columns))
        found.append(
            Doubt(
                name="directional",
                value=1.0,
                allowed=0.0,
                unit="events",
                event=k,
                t=event.t,
                columns=columns,
                words=f"At t = {quantity(event.t, unit)} {event.contact!r} coincides with "
                f"{_other_one(run, k)}, and {names} decides which comes first, or couples them: "
                "the two one-sided derivatives differ.",
            )
        )
    return found


def _other_one(run: Solution, k: int) -> str:
    """Say what event `k` meets."""
    march = run.march
    if run.located[k].together > 1:
        return "another contact"
    t = march.events.head["t"]
    near = [j for j in range(k) if t[k] - t[j] <= 1e-9]
    if near:
        return repr(run.located[near[-1]].contact)
    return "the start" if k == 0 and march.events.head["how"][k] else "the end of the run"


def _smooth(question: Question, j: int, cost: float, here: np.ndarray) -> bool:
    """Whether cost and derivative (n_x + 2,) by parameter `j` are their limits from both sides."""
    for sign in (1, -1):
        try:
            one = limit(question, sign * np.eye(len(question.wrt))[j])
        except ExplorerError:
            return False
        there = sign * np.append(one.S, one.slope)
        size = 1 + np.abs(here).max()
        if not (np.abs(there - here) <= (CLOSE + 10 * one.error) * size).all():
            return False
        if not abs(one.cost - cost) <= CLOSE * (1 + abs(cost)):
            return False
    return True
