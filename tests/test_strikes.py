"""A contact whose guard fires, uncompiled: it strikes, comes to rest, lets go, or has never left."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import ACCUMULATION, CLOSING, RELEASE, STRIKE

transition = plain("event_driven.transition")
N, NX, NC, NT, NOW = 2, 4, 3, 2, 1  # sizes, and the contact
ROWS = NC + NT
T, LAST, REST, LOW = 5.0, 1.0, 1e-3, 1e-4  # s, s, s, m
FAILS = 77  # a status


def touched(
    monkeypatch, *, D=-2.0, e=0.5, rest=1.0, fall=10.0, crowd=LAST, law=False, closes=False,
    fails=False, now=NOW,
):  # fmt: skip
    """Return the event of contact `NOW`, the coefficients of its impact, and what has been called."""
    told, after = [], np.arange(10.0, 10.0 + NX)
    row = np.append(np.full(3, np.nan), after)
    rows = [SimpleNamespace(closed=0, sigma=0) for _ in range(ROWS)]
    event = SimpleNamespace(
        head=[SimpleNamespace(t=T, D=D, rest=0.0, kind=-1)], row=row, at=SimpleNamespace(x_plus=3)
    )
    contacts = SimpleNamespace(e=np.array([0.9, e, 0.7]), e_now=np.full(NC, np.nan))
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=N, n_x=NX, n_c=NC, n_t=NT), rows=rows, inp=np.full(1 + NX, np.nan),
        state=[SimpleNamespace(fired=-9)], resets=np.full((NC, 1), -1),
    )  # fmt: skip
    if law:
        problem.resets[NOW, 0] = 4
    options = SimpleNamespace(band=1e-7, rest=REST, lowest=LOW, slopes="slopes")

    def largest(y, first, behind):
        assert (first, behind) == (N, NX)
        return 3.0

    def rest_of(_, contact, speed, coefficient):
        assert (contact, coefficient) == (NOW, e)
        assert speed == pytest.approx(-e * D)
        return rest, fall

    def impact(*given):
        assert given == (problem, contacts, 1e-7, event, "slopes", NOW)
        told.append("impact")
        return FAILS if fails else SUCCESS

    def reset_velocities(*given):
        assert given == (problem, contacts, event, "slopes", NOW)
        told.append("law")
        return FAILS if fails else SUCCESS

    def settle(_, __, band, slow, held, begins):
        assert (band, held, begins) == (1e-7, -1, 0)
        assert problem.inp[1:].tolist() == after.tolist()
        told.append(("settle", slow))
        rows[NOW].closed = int(closes)
        return SUCCESS

    def noted(name):
        return lambda *given: told.append((name, *given[2:])) or FAILS

    stand_ins = {
        "largest": largest, "rest_of": rest_of, "impact": impact, "settle": settle,
        "reset_velocities": reset_velocities, "is_change": lambda _, j: j >= NC + 2 * NT,
        "change_constraints": noted("change"), "slide_or_stick": noted("tangent"),
    }  # fmt: skip
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(transition.touch.__globals__, name, stand_in)
    status = transition.touch(problem, contacts, options, event, now, "y", crowd)
    assert now != NOW or problem.state[0].fired == NOW
    return SimpleNamespace(
        status=status, kind=event.head[0].kind, rest=event.head[0].rest, e=contacts.e_now.tolist(),
        told=told, event=event, options=options,
    )  # fmt: skip


SLOW = 4e-12  # of velocities of 3


@for_each(("law", "closes"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_contact_strikes_by_its_law_and_may_stay_closed(monkeypatch, law, closes):
    found = touched(monkeypatch, law=law, closes=closes)
    assert found.status == SUCCESS
    assert found.kind == (CLOSING if closes else STRIKE)
    assert (found.rest, found.e) == (0, [0.9, 0.5, 0.7])
    assert found.told == ["law" if law else "impact", ("settle", pytest.approx(SLOW, abs=0))]


@for_each(("given", "rests"), [
    ({"rest": 1.1 * REST}, False), ({"rest": 0.9 * REST}, True), ({"rest": 0.9 * REST, "e": 0.0}, False),
    # it rises to v^2 / (2 a) with v = 1
    ({"fall": 0.9 / (2 * LOW)}, False), ({"fall": 1.1 / (2 * LOW)}, True), ({"fall": 1.1 / (2 * LOW), "e": 0.0}, False),
    ({"fall": 1.1 / (2 * LOW), "rest": np.inf}, False),
])  # fmt: skip
def test_what_rebounds_too_short_or_too_low_comes_to_rest(monkeypatch, given, rests):
    """Its own restitution is 0 then, and that of a law is not asked."""
    for law in (False, True):
        found = touched(monkeypatch, law=law, closes=rests, **given)
        assert found.kind == (ACCUMULATION if rests else STRIKE)
        e = given.get("e", 0.5)
        assert found.e == [0.9, 0.0 if rests else e, 0.7]
        assert found.rest == (given.get("rest", 1.0) if rests else 0.0)
        assert found.told[0] == ("law" if law and not rests else "impact")


@for_each("D", [0.0, 1e-3])
def test_a_contact_that_has_never_left_closes_without_a_rebound(monkeypatch, D):
    """Whatever its rest, and with what velocity it seems to open taken as none."""
    for law in (False, True):
        found = touched(monkeypatch, D=D, rest=0.1 * REST, law=law, closes=True)
        assert (found.kind, found.e, found.rest) == (CLOSING, [0, 0, 0], 0)
        assert found.told == ["impact", ("settle", pytest.approx(max(SLOW, 2 * D)))]


def test_many_events_within_a_moment_end_all_rebounds(monkeypatch):
    for back, crowded in ((0.9 * REST, True), (1.1 * REST, False)):
        for closes in (False, True):
            found = touched(monkeypatch, crowd=T - back, closes=closes)
            assert found.e == ([0, 0, 0] if crowded else [0.9, 0.5, 0.7])
            assert found.kind == (ACCUMULATION if crowded else CLOSING if closes else STRIKE)


@for_each("law", [False, True])
def test_an_impact_that_fails_ends_the_run(monkeypatch, law):
    found = touched(monkeypatch, law=law, fails=True)
    assert (found.status, found.told) == (FAILS, ["law" if law else "impact"])


@for_each(("now", "row"), [(NC, NC), (NC + 1, NC + 1), (NC + NT, NC), (NC + NT + 1, NC + 1)])
def test_each_tangent_has_two_guards_behind_those_of_contacts(monkeypatch, now, row):
    """Its bounds, or where its velocity is zero."""
    found = touched(monkeypatch, now=now)
    told = ("tangent", found.event, now, row, 1e-7, pytest.approx(SLOW))
    assert (found.status, found.told) == (FAILS, [told])


def test_guards_of_constraints_stand_last(monkeypatch):
    found = touched(monkeypatch, now=NC + 2 * NT)
    told = ("change", found.event, found.options, NC + 2 * NT, "y")
    assert (found.status, found.told) == (FAILS, [told])


@for_each("tangent", [(-1, 0, 0), (NC, 0, -1), (NC, 1, 0)])
def test_a_contact_lets_go_with_its_tangent(monkeypatch, tangent):
    """Neither is held behind it, and its own guards are not asked at once."""
    place, closed, sigma = tangent
    rows = [SimpleNamespace(closed=1, sigma=5) for _ in range(ROWS)]
    if place >= 0:
        rows[place] = SimpleNamespace(closed=closed, sigma=sigma)
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_c=NC, n_t=NT), rows=rows, state=[SimpleNamespace(held=4, fired=-9)],
        partner=np.array([9, place, 9]),
    )  # fmt: skip
    event, told = SimpleNamespace(head=[SimpleNamespace(kind=-1)]), []
    monkeypatch.setitem(
        transition.let_go.__globals__, "identity", lambda *given: told.append(given)
    )
    transition.let_go(problem, event, NOW)
    assert told == [(problem.sizes, event)]
    assert event.head[0].kind == RELEASE
    assert problem.state[0].held == 4 - 1 - closed
    assert problem.state[0].fired == NOW + NC + 2 * NT
    freed = [NOW, *([place] if place >= 0 else [])]
    assert [k for k in range(ROWS) if rows[k].closed == 0] == freed
    assert place < 0 or rows[place].sigma == 0
