"""Where inputs change: contacts that are decided anew, modes that begin anew, and what is written of it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import EVENT_CAP, SUCCESS
from explorer.kernels.event_driven.records import NONE, RELEASE, REVERSAL

breaking = plain("event_driven.input_break")
NC, NT, FAILS = 3, 2, 77
PARTNER = [3, -1, 4, 0, 2, -1]  # contacts 0 and 2 have tangents


class Anew:
    """Contacts that slide and hold, and what they do at the inputs of interval 3."""

    def __init__(
        self, monkeypatch, closed, sigma, then, *, event=(NONE, RELEASE), room=1, fails=""
    ):
        self.rows = [space(closed=int(c in closed), sigma=0) for c in range(6)]
        self.sigma, self.then, self.said, self.fails = sigma, then, [], fails
        self.set_sigma(sigma)
        self.contacts = space(rows=[space(prior=9) for _ in range(6)])
        self.problem = space(
            rows=self.rows,
            state=[space(held=5)],
            partner=PARTNER,
            sizes=space(n_c=NC, n_t=NT, rows=6),
        )
        self.work = space(search=space(when=np.full(4, np.nan)), run=[space(events=7)])
        put(monkeypatch, breaking.settle_anew, enter_interval=lambda problem, k: self.said.append(k), decide=self.decide, changed_row=lambda *_: event,
            write_event=self.write_event, end_event=lambda *given: self.said.append("end") or (FAILS if fails == "end" else SUCCESS))  # fmt: skip
        self.status = breaking.settle_anew(
            self.problem, self.contacts, space(max_events=7 + room), self.work, "events", 3
        )

    def set_sigma(self, sigma):
        for j in range(NT):
            self.rows[NC + j].sigma = sigma[j]

    def decide(self, problem, contacts, options, work):
        self.said.append("decide")
        for row, prior in zip(self.rows, contacts.rows, strict=True):
            prior.prior = row.closed
        self.set_sigma(self.then)
        self.rows[1].closed, self.problem.state[0].held = 0, 4
        late = self.said.count("decide") == 2
        return FAILS if self.fails == ("again" if late else "decide") else SUCCESS

    def write_event(self, problem, options, work, events, contact, kind):
        assert events == "events"
        self.said.append(
            (
                contact,
                kind,
                [row.sigma for row in self.rows[NC:5]],
                [row.closed for row in self.rows],
                problem.state[0].held,
            )
        )
        return FAILS if self.fails == "write" else SUCCESS


@for_each(("sigma", "then"), itertools.product(itertools.product((-1, 0, 1), repeat=2), repeat=2))
@for_each("closed", [(0,), (2,), (1,), (0, 2), (0, 1, 2, 5)])
def test_a_contact_that_slides_the_other_way_reverses_by_its_input(
    monkeypatch, closed, sigma, then
):
    """The first of those that stay closed; else nothing has happened."""
    case = Anew(monkeypatch, closed, sigma, then)
    turned = [c for j, c in enumerate((0, 2)) if sigma[j] * then[j] < 0 and c in closed]
    assert case.status == SUCCESS
    held = [int(c in closed) for c in range(6)]
    if turned:
        before = (turned[0], REVERSAL, [*sigma], held, 5)
        assert case.said == [3, "decide", 2, before, 3, "decide", "end"]
    else:
        assert case.said == [3, "decide"]
    assert [row.sigma for row in case.rows[NC:5]] == [*then]
    assert [row.closed for row in case.rows] == [h if c != 1 else 0 for c, h in enumerate(held)]


@for_each("contact", range(3))
def test_what_lets_go_comes_before_what_reverses(monkeypatch, contact):
    case = Anew(monkeypatch, (0, 1, 2), (1, 1), (-1, -1), event=(contact, RELEASE))
    assert case.said[3][:2] == (contact, RELEASE)
    assert (
        Anew(monkeypatch, (0, 1, 2), (1, 1), (-1, -1), event=(contact, RELEASE), room=0).status
        == EVENT_CAP
    )


@for_each(("fails", "said"), [("decide", 2), ("write", 4), ("again", 6), ("end", 7), ("", 7)])
def test_what_fails_where_inputs_change_is_told(monkeypatch, fails, said):
    case = Anew(monkeypatch, (0, 1, 2), (1, 1), (-1, 1), fails=fails)
    assert (case.status, len(case.said)) == (FAILS if fails else SUCCESS, said)


def test_open_contacts_stay_open_whatever_tangents_and_constraints_do(monkeypatch):
    case = Anew(monkeypatch, (3, 4, 5), (1, -1), (-1, 1), event=(0, RELEASE))
    assert (case.status, case.said) == (SUCCESS, [3])


# ---------------------------------------------------------------- modes


def begins(values, to, present):
    """Return the mode that a start has: see `input_break.begin_anew`."""
    least = [-np.inf if np.isnan(part).any() else min(part, default=np.inf) for part in values]
    sure = [mode for low, mode in zip(least, to, strict=True) if low > 0.0]
    if present in sure:
        return present
    if sure:
        return sure[0]
    near = max(least)
    return to[least.index(near)] if near > -1e-6 else -1


@for_each("seed", range(300))
def test_a_mode_begins_whose_conditions_hold_or_nearly_do(monkeypatch, seed):
    """The present one if it may; values are few, so that they are equal, or exactly zero."""
    rng = np.random.default_rng(seed)
    values = [
        rng.choice([1.0, 0.5, 0.0, -1e-7, -1e-6, -2e-6, -1.0, np.nan], rng.integers(1, 3))
        for _ in range(3)
    ]
    to, present, told = [int(mode) for mode in rng.permutation(4)[:3]], int(rng.integers(4)), []
    ends = np.cumsum([len(part) for part in values])
    starts = np.array(
        [
            space(first=int(e - len(part)), last=int(e), to=k)
            for e, part, k in zip(ends, values, to, strict=True)
        ],
        object,
    )
    put(
        monkeypatch,
        breaking.begin_anew,
        evaluate=lambda table, which, inp, out: told.append((table, which)),
    )
    problem = space(
        out=np.concatenate([*values, [9.0]]),
        state=[space(mode=present)],
        inp=np.zeros(2),
        sizes=space(n_x=1),
    )
    automaton = space(starts=starts, conditions="conditions")
    assert breaking.begin_anew(problem, automaton, 0.5, space(y=np.array([3.0]))) == begins(
        values, to, present
    )
    assert told == [("conditions", 0)]


# ---------------------------------------------------------------- what is written


@for_each("y", [(9.0, 0.25, 9.0), (9.0, 0.0, 9.0), (9.0, -7.0, 9.0)])
def test_contacts_are_slow_beside_one_and_the_largest_velocity(monkeypatch, y):
    told = []
    put(monkeypatch, breaking.decide, settle=lambda *given: told.append(given[2:]) or SUCCESS)
    problem = space(sizes=space(n=1, n_x=2, rows=0), inp=np.zeros(3), rows=[])
    assert (
        breaking.decide(
            problem, space(rows=[]), space(band=0.5), space(y=np.array(y), run=[space(t=0.0)])
        )
        == SUCCESS
    )
    assert told == [(0.5, pytest.approx(1e-12 * (1 + abs(y[1])), abs=0), -1, 0)]


@for_each("k", [0, 1])
def test_one_event_is_written_and_no_other(monkeypatch, k):
    """Its head and its row, and all of these."""
    at = space(size=8, x_minus=0, x_plus=2, f_minus=4, s_minus=6)
    head = np.array([space(), space(), space()], object)
    parts, seen = np.full((3, 8), 7.0), []
    put(monkeypatch, breaking.write_event, flow=lambda problem, t, y, slope, width: slope.__setitem__(slice(None), [0.5, 0.25]) or SUCCESS,
        identity=lambda sizes, event: seen.append(event))  # fmt: skip
    put(
        monkeypatch,
        breaking.end_event,
        depart=lambda problem, options, work, event, cause: seen.append((event, cause)) or SUCCESS,
    )
    work = space(
        run=[space(events=k, t=1.5, steps=4)],
        y=np.array([1.0, 2.0, 3.0, 4.0]),
        step=space(slope=np.zeros(2)),
    )
    problem, events = (
        space(sizes=space(n_x=1), state=[space(mode=6)]),
        space(head=head, parts=parts, at=at),
    )
    options = space(columns=1)
    assert breaking.write_event(problem, options, work, events, 5, RELEASE) == SUCCESS
    (one,) = seen[0].head
    assert one is head[k]
    assert parts[k].tolist() == [1, 2, 1, 2, 0.5, 0.25, 3, 4]
    assert (np.delete(parts, k, axis=0) == 7.0).all()
    assert (one.t, one.guard, one.kind, one.before, one.together, one.how) == (
        1.5,
        5,
        RELEASE,
        6,
        1,
        breaking.DRIVEN,
    )
    assert (one.rest, one.D, one.r_t, one.bend) == (0, 0, 0, 0)
    assert breaking.end_event(problem, options, work, events) == SUCCESS
    event, cause = seen[1]
    assert cause is event
    assert [*event.head] == [one]
    assert (one.after, one.step, work.run[0].events) == (6, 4, k + 1)
