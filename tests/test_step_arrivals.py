"""How a step is judged, where it arrives and how the next one begins, also on a bound or with one of a kind."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import (
    ARMED,
    DOPRI5,
    NONE,
    RADAU,
    SAMPLES,
    UNARMED,
)
from explorer.kernels.friction.coefficients import IMPROPER

making = plain("event_driven.make_step")
FAILS = 77


# ---------------------------------------------------------------- the error of a step


def judge(
    monkeypatch,
    error=0.5,
    *,
    code=DOPRI5,
    stiff=3.0,
    reach=0.0,
    rubs=SUCCESS,
    free=True,
    length=0.5,
    **now,
):
    """Return the status, the next length and the run of a step that is judged."""
    run = space(**{"t": 2.0, "h": 7.0, "rejected": 0, "failed": 0, "wary": 0, "error": 9.0, "length": 9.0, "stiff": 5, "calm": 2, "steps": 1000} | now)  # fmt: skip
    put(monkeypatch, making.control, step_error=lambda *_: error, frictions=lambda *_: rubs, stiffness=lambda *_: reach, free=lambda _: free,
        release=lambda *_: None)  # fmt: skip
    method = space(exponent=-0.2, code=code, stages=7, stiff=stiff)
    work = space(run=[run], step=space(new=None), y=None)
    status, following = making.control(
        space(sizes=space(n_x=1)), None, method, space(columns=0, t_end=4.0), work, length
    )
    return status, following, run


@for_each("before", [0.25, 0.5, 2.0])
def test_an_error_near_the_limit_of_stability_falls_with_the_length_of_the_step(
    monkeypatch, before
):
    """By half of that at most; lengths are compared, not multiplied."""
    *_, run = judge(monkeypatch, 1e-9)
    assert (run.error, run.length) == (1e-9, 0.5)
    run.wary, run.error, run.length = 1, 1e-3, before
    making.control(space(sizes=space(n_x=1)), None, space(exponent=-0.2, code=RADAU, stages=3, stiff=0.0), space(columns=0, t_end=4.0),
                   space(run=[run], step=space(new=None), y=None), 0.5)  # fmt: skip
    assert run.error == pytest.approx(making.FALL * 1e-3 * (0.5 / before) ** 5)


@for_each(("code", "stiff", "reach", "wary", "counted"), [
    (RADAU, 0.0, 9.0, 0, 5), (DOPRI5, 3.0, 3.0, 1, 5), (DOPRI5, 3.0, 3.0 * (1 + 1e-15), 1, 6), (DOPRI5, 3.0, 0.0, 0, 5),
])  # fmt: skip
def test_a_method_without_a_limit_of_stability_reaches_none(
    monkeypatch, code, stiff, reach, wary, counted
):
    status, _, run = judge(monkeypatch, code=code, stiff=stiff, reach=reach)
    assert (status, run.wary, run.stiff, run.calm) == (
        SUCCESS,
        wary,
        counted,
        0 if counted == 6 else 3,
    )


@for_each(
    "given",
    [
        {"error": np.nan, "free": False},
        {"error": 2.0},
        {"rubs": IMPROPER},
        {"reach": 9.0, "stiff": 3.0},
    ],
)
def test_a_step_that_does_not_stand_has_no_next_length(monkeypatch, given):
    more = {"steps": 201} if "reach" in given else {}
    status, following, _ = judge(monkeypatch, **given | more)
    if "reach" in given:
        assert status == SUCCESS
        run = space(
            t=2.0,
            h=7.0,
            rejected=0,
            failed=0,
            wary=0,
            error=9.0,
            length=9.0,
            stiff=39,
            calm=2,
            steps=201,
        )
        work = space(run=[run], step=space(new=None), y=None)
        status, following = making.control(space(sizes=space(n_x=1)), None, space(exponent=-0.2, code=DOPRI5, stages=7, stiff=3.0),
                                           space(columns=0, t_end=4.0), work, 0.5)  # fmt: skip
    assert status != SUCCESS
    assert following == 0.0


# ---------------------------------------------------------------- the end of a step


def arrived(monkeypatch, fraction, arm, *, final=False, guard=0, ends="", landed=0.375):
    """Return the status, what was called and the run of a step of length 1/2 from t = 1."""
    said, run = [], space(t=1.0, stop=1.5, steps=4)
    found = [space(fraction=fraction, length=np.nan)]

    def told(name, *what):
        said.append((name, *what))
        return FAILS if name == ends else SUCCESS

    def land(problem, automaton, method, step, search, guard, t, y, h, most, width):
        found[0].length = landed
        return told("land", guard, t, h, most, width)

    put(monkeypatch, making.arrive, land=land, note=lambda problem, steps, row, t, tau, y, slope: told("note", row, t, tau),
        advance=lambda problem, method, step, first, last, t, y, tau, width: told("step", first, last, t, tau, width),
        keeps_rank=lambda problem, rank, t, y, new, tau: told("rank", t, tau))  # fmt: skip
    step, y = space(new=np.array([5.0, 6.0]), slope=None), np.zeros(2)
    search = space(found=found, watch=[space(arm=arm), space(arm=9)])
    work = space(run=[run], step=step, search=search, y=y, rank=None)
    reach = making.Reach(0.5, final, guard, NONE, 0.0)
    status = making.arrive(None, None, space(stages=7), space(columns=2), work, None, reach)
    assert y.tolist() == ([5.0, 6.0] if run.steps == 5 else [0.0, 0.0])
    return status, said, run


@for_each(("fraction", "arm", "final", "said", "t"), [
    (0.5, ARMED, False, ("land", 0, 1.0, 0.5, 0.75, 2), 1.375), (0.5, ARMED, True, ("land", 0, 1.0, 0.5, 0.5, 2), 1.375), (0.5, UNARMED, False, ("step", 1, 7, 1.0, 0.25, 2), 1.25),
    (1.0, ARMED, False, None, 1.5), (1.0 - 1e-15, ARMED, False, ("step", 1, 7, 1.0, 0.5 * (1.0 - 1e-15), 2), 1.0 + 0.5 * (1.0 - 1e-15)), (2.0, UNARMED, True, None, 1.5),
])  # fmt: skip
def test_a_step_arrives_at_its_event(monkeypatch, fraction, arm, final, said, t):
    """Where that is armed it is landed on, at most half a step further; the end of a run is not passed."""
    status, called, run = arrived(monkeypatch, fraction, arm, final=final)
    tau = {"land": 0.375, "step": said[4] if said else 0}.get(said[0]) if said else 0.5
    assert called == [*([said] if said else []), ("rank", 1.0, tau), ("note", 4, 1.0, tau)]
    assert (status, run.t, run.steps) == (SUCCESS, t, 5)


@for_each("arm", [UNARMED])
def test_a_step_of_no_length_is_none(monkeypatch, arm):
    status, said, run = arrived(monkeypatch, 0.0, arm)
    assert (status, said, run.t, run.steps) == (SUCCESS, [], 1.0, 4)
    assert arrived(monkeypatch, 0.5, ARMED, landed=0.0)[1] == [("land", 0, 1.0, 0.5, 0.75, 2)]


@for_each(("ends", "count"), [("land", 1), ("rank", 2)])
def test_an_arrival_that_fails_writes_nothing(monkeypatch, ends, count):
    status, said, run = arrived(monkeypatch, 0.5, ARMED, ends=ends)
    assert (status, len(said), run.steps) == (FAILS, count, 4)


@for_each(("sides", "status"), [(0, SUCCESS), (1, SUCCESS), (1, FAILS), (2, SUCCESS)])
def test_slopes_and_guards_are_taken_over_for_the_next_step(monkeypatch, sides, status):
    """Where there are surfaces the guards are evaluated on the sides that are held then."""
    said, samples = [], np.arange(2.0 * (SAMPLES + 3)).reshape(-1, 2)
    K, values, before = np.arange(12.0).reshape(4, 3), np.zeros(2), samples.copy()
    put(monkeypatch, making.go_on, guard_count=lambda *_: 2, turn=lambda *given: said.append(given[2:]) or status,
        guards=lambda problem, automaton, t, y, into: said.append(t) or into.__setitem__(slice(None), [70.0, 71.0]))  # fmt: skip
    step, search, y = (
        space(slope=K[0], end=K[3]),
        space(samples=samples, values=values),
        np.zeros(3),
    )
    work = space(step=step, search=search, y=y, run=[space(t=1.5)])
    told = making.go_on(
        space(sides=np.zeros(sides)),
        None,
        "surfaces",
        space(columns=2),
        work,
        1,
        0.25,
    )
    assert told == status
    assert K.tolist() == [[9, 10, 11], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    if sides:
        assert said == [(step, search, 1, 1.5, y, 0.25, 2), *[1.5] * (status == SUCCESS)]
    first = [70.0, 71.0] if sides and status == SUCCESS else before[SAMPLES].tolist()
    assert samples[0].tolist() == first
    np.testing.assert_array_equal(samples[1:], before[1:])


@for_each("guard", [0, 1, NONE])
def test_a_step_with_an_event_goes_on_behind_it(monkeypatch, guard):
    """Also where it is that of the first guard; the next length is chosen then."""
    said, run = [], space(t=1.0, h=0.5, stop=9.0, steps=0, evaluations=0)
    put(monkeypatch, making.make_step, step_length=lambda options, t, h: h, advance=lambda *_: SUCCESS, control=lambda *_: (SUCCESS, 0.125),
        locate=lambda *_: (SUCCESS, making.Reach(0.5, False, guard, NONE, 0.0)), guard_count=lambda *_: 0, arrive=lambda *_: SUCCESS,
        go_on=lambda *_: said.append("on") or SUCCESS)  # fmt: skip
    problem, work = (
        space(sides=np.zeros(0), state=[space(dependent=0)]),
        space(run=[run], step=None, y=None),
    )
    assert making.make_step(
        problem, None, None, space(stages=7), space(columns=0, max_steps=9), work, None
    ) == (SUCCESS, guard)
    assert (said, run.h) == (([], 0.5) if guard >= 0 else (["on"], 0.125))


def test_a_single_guard_is_looked_for(monkeypatch):
    said, found = [], [space(blur=0.25)]
    put(
        monkeypatch,
        making.locate,
        guard_count=lambda *_: 1,
        interpolate=lambda *_: None,
        first_event=lambda *_: said.append("looked") or 0,
    )
    work = space(
        run=[space(t=0.0, blurred=0)], step=space(dense=None), search=space(found=found), y=None
    )
    status, reach = making.locate(space(sides=np.zeros(0), sizes=space(n_x=1)), None, None, space(stages=7, last=7, code=DOPRI5),
                                  space(columns=0, band=0.1), work, 0.5, True)  # fmt: skip
    assert (status, said) == (SUCCESS, ["looked"])
    assert tuple(reach) == (0.5, True, 0, NONE, 0.25)
