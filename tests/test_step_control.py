"""The control of an event-driven step, uncompiled: the next length, stiffness, what samples show."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import NOT_FINITE, STIFF, SUCCESS
from explorer.kernels.event_driven.records import (
    DOP853,
    DOPRI5,
    HIDDEN,
    NONE,
    RADAU,
    SAMPLES,
    UNARMED,
)
from explorer.kernels.friction.coefficients import IMPROPER

making, locating = plain("event_driven.make_step"), plain("event_driven.locate_event")
AGAIN, ORDER, LENGTH = making.AGAIN, 5, 0.5
FAILS = 77  # a status
LIMIT = 3.3  # of stability


def judged(
    monkeypatch, error, *, reach=0.0, code=DOPRI5, surfaces_free=True, rubs=True, length=LENGTH,
    run=None, **now,
):  # fmt: skip
    """Return the status, the next length, the run, and what was called, of a step with an error."""
    told, space = [], making.control.__globals__
    step, problem = SimpleNamespace(new="new"), SimpleNamespace(sizes=SimpleNamespace(n_x=4))
    run = {
        "t": 2.0, "h": 7.0, "rejected": 3, "failed": 0, "wary": 0, "error": 9.0, "length": 9.0,
        "stiff": 0, "calm": 0, "steps": 1000, **now, **(run or {}),
    }  # fmt: skip
    run = SimpleNamespace(**run)
    work = SimpleNamespace(run=[run], step=step, y="y")
    method = SimpleNamespace(exponent=-1 / ORDER, code=code, stages=7, stiff=LIMIT)

    def step_error(*given):
        assert given == (method, step, "y", length, 5, 6)
        return error

    def frictions(*given):
        assert given == (problem, 2.0 + length, "new")
        return SUCCESS if rubs else IMPROPER

    def stiffness(*given):
        assert given == (step, 7, length, 4)
        assert code != RADAU
        return reach

    for name, stand_in in {
        "step_error": step_error, "frictions": frictions, "stiffness": stiffness,
        "free": lambda _: surfaces_free, "release": lambda *given: told.append(given),
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    options = SimpleNamespace(columns=6, t_end=4.0)
    status, following = making.control(problem, "surfaces", method, options, work, length)
    assert told in ([], [(problem, "surfaces")])
    return status, following, run, bool(told)


@for_each(("error", "failed", "told"), [
    (1.0, 0, 0.9), (1.0, 1, 0.9), (0.5, 0, 0.9 * 2**0.2), (0.5, 1, 1.0), (0.9**5, 0, 1.0), (1e-3, 0, 0.9 * 10**0.6),
    (1e-3, 1, 1.0), (1e-6, 0, 10.0), (0.0, 0, 10.0), (0.0, 1, 1.0),
])  # fmt: skip
def test_the_next_step_has_nine_tenths_of_the_length_that_just_holds_its_error(
    monkeypatch, error, failed, told
):
    """At most ten times as long, and no longer behind one that was made again."""
    status, following, run, _ = judged(monkeypatch, error, failed=failed)
    assert status == SUCCESS
    assert following == pytest.approx(LENGTH * told)
    assert (run.failed, run.rejected, run.h) == (0, 3, 7.0)
    assert (run.error, run.length) == (error, LENGTH)


@for_each(("error", "told"), [
    (1.0 + 1e-12, 0.9), (2.0, 0.9 * 2**-0.2), (32.0, 0.45), (1e4, 0.9 * 10**-0.8), (1e6, 0.1), (np.inf, 0.1), (np.nan, 0.1),
])  # fmt: skip
def test_a_step_with_too_large_an_error_is_made_again(monkeypatch, error, told):
    """With at least a tenth of its length."""
    status, _, run, released = judged(monkeypatch, error)
    assert status == AGAIN
    assert run.h == pytest.approx(LENGTH * told)
    assert (run.failed, run.rejected, released) == (1, 4, False)
    assert (run.error, run.length, run.calm) == (9, 9, 0), "those of the step before"


def test_a_step_that_time_cannot_tell_from_none_ends_a_run(monkeypatch):
    for length, told in ((1e-15, NOT_FINITE), (1e-13, AGAIN)):
        assert judged(monkeypatch, np.nan, length=length)[0] == told


def test_where_a_formula_ends_at_its_surface_the_surface_is_released(monkeypatch):
    """Before the step is made shorter; a large error alone is none."""
    status, _, run, released = judged(monkeypatch, np.nan, surfaces_free=False)
    assert (status, released, run.rejected, run.failed, run.h) == (AGAIN, True, 4, 0, 7)
    status, _, run, released = judged(monkeypatch, 2.0, surfaces_free=False)
    assert (status, released, run.failed) == (AGAIN, False, 1)


@for_each(("length", "told"), [(0.5, AGAIN), (9e-12, AGAIN), (7e-12, IMPROPER)])
def test_a_coefficient_of_friction_that_is_none_halves_the_step(monkeypatch, length, told):
    """Down to 1e-12 of the run."""
    status, _, run, _ = judged(monkeypatch, 0.1, length=length, rubs=False)
    assert (status, run.h, run.rejected) == (told, 0.5 * length, 3)


@for_each(("wary", "before", "told"), [(0, 8.0, 1e-3), (1, 8.0, 8 / 2 / 2**ORDER), (1, 1e-3, 1e-3)])
def test_an_error_falls_by_no_more_than_a_half_near_the_limit_of_stability(
    monkeypatch, wary, before, told
):
    """Beside what it falls by because the step is half as long."""
    last = {"error": before, "length": 2 * LENGTH}
    status, following, run, _ = judged(monkeypatch, 1e-3, wary=wary, run=last)
    assert status == SUCCESS
    assert run.error == pytest.approx(told)
    assert following == pytest.approx(LENGTH * 0.9 * told ** (-1 / ORDER))


@for_each(("reach", "wary", "stiff", "calm"), [
    (0.0, 0, 5, 3), (0.19 * LIMIT, 0, 5, 3), (0.21 * LIMIT, 1, 5, 3), (0.99 * LIMIT, 1, 5, 3), (1.01 * LIMIT, 1, 6, 0),
])  # fmt: skip
def test_steps_beyond_the_limit_of_stability_are_counted(monkeypatch, reach, wary, stiff, calm):
    status, _, run, _ = judged(monkeypatch, 0.5, reach=reach, stiff=5, calm=2)
    assert (status, run.wary, run.stiff, run.calm) == (SUCCESS, wary, stiff, calm)


def test_six_steps_within_the_limit_forgive_those_beyond(monkeypatch):
    for calm, stiff in ((4, 30), (5, 0), (6, 0)):
        assert judged(monkeypatch, 0.5, stiff=30, calm=calm)[2].stiff == stiff


@for_each(("stiff", "steps", "told"), [(38, 201, SUCCESS), (39, 201, STIFF), (39, 200, SUCCESS)])
def test_forty_steps_beyond_the_limit_are_stiff(monkeypatch, stiff, steps, told):
    """But not at the begin of a run."""
    given = {"reach": 2 * LIMIT, "stiff": stiff, "steps": steps}
    assert judged(monkeypatch, 0.5, **given)[0] == told
    assert judged(monkeypatch, 0.5, code=DOP853, **given)[0] == told
    assert judged(monkeypatch, 0.5, code=RADAU, **given)[0] == SUCCESS, "it has no limit"


# ---------------------------------------------------------------- what samples show of guards


@for_each("seed", range(4))
def test_samples_show_what_a_quartic_through_every_other_one_is(seed):
    """In parts of 3 % of how far they go, and ten tolerances; the worst guard counts."""
    rng, count, band = np.random.default_rng(seed), 3, 1e-3
    s, even = np.linspace(0, 1, SAMPLES + 1), np.arange(0, SAMPLES + 1, 2)
    samples = np.full((SAMPLES + 3, count + 1), np.nan)
    for off in (0.0, 1.0):
        values = np.array([np.polyval(rng.normal(size=5), s) for _ in range(count)]).T
        samples[: SAMPLES + 1, :count] = values + off * rng.normal(size=values.shape)
        blur = []
        for g in samples[: SAMPLES + 1, :count].T:
            fitted = np.polyval(np.polyfit(s[even], g[even], 4), s)
            blur.append(np.abs(g - fitted).max() / (0.03 * np.ptp(g) + 10 * band))
        found = locating.blurring(samples, count, band)
        assert found == pytest.approx(max(blur), rel=1e-9, abs=1e-9)
        assert (found > 1) == (off > 0)


@for_each("at", range(1, SAMPLES, 2))
def test_a_single_sample_off_the_quartic_is_seen(at):
    samples = np.zeros((SAMPLES + 3, 1))
    samples[at] = -0.5
    assert locating.blurring(samples, 1, 0.0) == pytest.approx(1 / 0.03)


def test_without_guards_nothing_is_blurred():
    assert locating.blurring(np.ones((SAMPLES + 3, 0)), 0, 0.0) == 0


# ---------------------------------------------------------------- what a step meets


def looked(
    monkeypatch, *, sides=0, turned=NONE, at=0.25, guard=NONE, guards=2, blurs=(0.0, 0.0), blurred=0,
    last=7, fails="", final=True, length=LENGTH,
):  # fmt: skip
    """Return the status of a look for what a step meets, its reach, the run and what was called."""
    told, space = [], making.locate.__globals__
    found = [SimpleNamespace(blur=np.nan, length=np.nan, status=FAILS)]
    step, search = SimpleNamespace(dense="dense"), SimpleNamespace(found=found)
    run = SimpleNamespace(t=2.0, blurred=blurred, rejected=3, h=7.0)
    work = SimpleNamespace(run=[run], step=step, search=search, y="y")
    problem = SimpleNamespace(sides=np.zeros(sides), sizes=SimpleNamespace(n_x=4))
    method = SimpleNamespace(stages=7, last=last, code=DOP853)
    options = SimpleNamespace(columns=6, band=1e-6)

    def cross(*given):
        told.append("cross")
        assert given == (
            problem,
            method,
            "surfaces",
            step,
            search,
            2.0,
            "y",
            length,
            6,
            blurred < 6,
        )
        found[0].blur, found[0].length = blurs[0], at
        return turned

    def turn(*given):
        told.append("turn")
        assert given == (problem, "surfaces", step, search, turned, 2.0, "y", length, 6)
        return FAILS if fails == "turn" else SUCCESS

    def advance(*given):
        told.append("advance")
        goes = at if turned >= 0 else length
        assert given == (problem, method, step, 8, last, 2.0, "y", goes, 0)
        return FAILS if fails == "advance" else SUCCESS

    def first_event(_, __, polynomial, ___, ends, band, patient):
        told.append("events")
        goes = at if turned >= 0 else length
        assert tuple(polynomial) == (DOP853, "dense", "y", 2.0, goes)
        assert (ends, band, patient) == (final and turned < 0, 1e-6, blurred < 6)
        found[0].blur = blurs[1]
        return guard

    for name, stand_in in {
        "cross": cross, "turn": turn, "advance": advance, "first_event": first_event,
        "interpolate": lambda *given: told.append(("interpolate", *given[2:])),
        "guard_count": lambda *_: guards,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    given = (problem, "automaton", "surfaces", method, options, work, length, final)
    status, reach = making.locate(*given)
    return status, tuple(reach), run, [one for one in told if isinstance(one, str)]


@for_each("final", [False, True])
def test_a_step_without_surfaces_goes_to_its_first_event(monkeypatch, final):
    for guard, last in ((NONE, 7), (1, 7), (1, 9)):
        status, reach, run, told = looked(
            monkeypatch, guard=guard, blurs=(9.0, 0.4), blurred=2, last=last, final=final
        )
        assert (status, run.blurred, run.rejected, run.h) == (SUCCESS, 0, 3, 7)
        assert reach == (LENGTH, final, guard, NONE, 0.4)
        assert told == ["advance"] * (last > 7) + ["events"]
    assert looked(monkeypatch, guards=0)[3] == []


def test_a_step_ends_at_the_surface_that_it_meets(monkeypatch):
    """Before the end of the run; events are looked for up to there."""
    status, reach, *_, told = looked(monkeypatch, sides=2, turned=0, guard=1, blurs=(0.3, 0.2))
    assert (status, told) == (SUCCESS, ["cross", "events"])
    assert reach == (0.25, False, 1, 0, 0.3)
    status, reach, *_ = looked(monkeypatch, sides=2, blurs=(0.1, 0.2))
    assert (status, reach) == (SUCCESS, (LENGTH, True, NONE, NONE, 0.2))


def test_a_surface_at_the_start_of_a_step_is_crossed_and_the_step_made_again(monkeypatch):
    given = {"sides": 1, "turned": 0, "at": 0.0}
    status, reach, *_, told = looked(monkeypatch, **given)
    assert (status, told, reach[2:4]) == (AGAIN, ["cross", "turn"], (NONE, 0))
    assert looked(monkeypatch, fails="turn", **given)[0] == FAILS


def test_a_look_that_fails_tells_its_status(monkeypatch):
    status, *_, told = looked(monkeypatch, sides=1, turned=making.FAILED)
    assert (status, told) == (FAILS, ["cross"])
    assert looked(monkeypatch, last=9, fails="advance")[::3] == (FAILS, ["advance"])


@for_each(("blur", "told"), [(1.01, 0.9 * 1.01**-0.2), (32.0, 0.45), (1e5, 0.2)])
def test_a_step_whose_samples_show_nothing_is_made_shorter(monkeypatch, blur, told):
    """By a fifth at least, to a fifth at most; after six in a row it is taken as it is."""
    for surface in (False, True):
        given = (
            {"sides": 1, "turned": HIDDEN, "blurs": (blur, 0)}
            if surface
            else {"guard": HIDDEN, "blurs": (0, blur)}
        )
        status, _, run, called = looked(monkeypatch, blurred=5, **given)
        assert (status, run.blurred, run.rejected) == (AGAIN, 6, 4)
        assert run.h == pytest.approx(LENGTH * told)
        assert called == (["cross"] if surface else ["events"])
        assert looked(monkeypatch, length=5e-16, **given)[0] == NOT_FINITE
        assert looked(monkeypatch, blurred=6, sides=1, blurs=(blur, blur))[0] == SUCCESS


@for_each(("t", "h", "goes", "final"), [
    (1.0, 0.5, 0.5, False), (1.0, 1.5, 1.0, True), (1.0, 1.0, 1.0, True), (1.0, 1 - 1e-8, 1.0, True),
    (1.0, 1 - 1e-6, 1 - 1e-6, False),
])  # fmt: skip
def test_a_step_ends_where_the_interval_ends(monkeypatch, t, h, goes, final):
    """Then the next one is at least as long as this one was meant to be."""
    for next_h in (0.25, 4.0):
        seen, run = made(monkeypatch, t=t, h=h, stop=2.0, next_h=next_h)
        assert seen == [("advance", goes), ("locate", goes, final)]
        assert run.h == (max(next_h, h) if final else next_h)


@for_each(("blur", "told"), [(0.0, 2.5), (1e-9, 2.5), (1.0, 0.45), (32.0, 0.225)])
def test_a_step_goes_no_farther_than_its_samples_would_show(monkeypatch, blur, told):
    """Nine tenths of the length at which they just do, at most ten times as far."""
    for given in ({"guards": 1}, {"sides": 1}):
        assert made(monkeypatch, blur=blur, next_h=2.5, **given)[1].h == pytest.approx(told)
    assert made(monkeypatch, blur=blur, next_h=2.5)[1].h == 2.5, "nothing is looked for"
    assert made(monkeypatch, blur=1e-12, next_h=99.0, guards=1)[1].h == 5.0


def made(monkeypatch, *, t=1.0, h=0.5, stop=9.0, next_h=1.0, blur=0.0, guards=0, sides=0):
    """Return what has been called in a step, and the run behind it."""
    seen, space = [], making.make_step.__globals__

    def advance(problem, method, step, first, last, time, y, length, width):
        assert (first, last, time, width) == (1, 7, t, 6)
        seen.append(("advance", length))
        return SUCCESS

    def locate(problem, automaton, surfaces, method, options, work, length, final):
        seen.append(("locate", length, final))
        return SUCCESS, making.Reach(length, final, NONE, NONE, blur)

    for name, stand_in in {
        "advance": advance, "locate": locate, "control": lambda *_: (SUCCESS, next_h),
        "arrive": lambda *_: SUCCESS, "go_on": lambda *_: SUCCESS, "step_length": lambda options, t, h: h,
        "guard_count": lambda *_: guards,
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    run = SimpleNamespace(t=t, h=h, stop=stop, steps=0, evaluations=0)
    problem = SimpleNamespace(sides=np.zeros(sides), state=[SimpleNamespace(dependent=0)])
    work = SimpleNamespace(run=[run], step=None, y=None)
    method, options = SimpleNamespace(stages=7), SimpleNamespace(columns=6, max_steps=9)
    assert making.make_step(problem, None, None, method, options, work, None) == (SUCCESS, NONE)
    return seen, run


@for_each(("guard", "fraction", "final", "told"), [
    (NONE, 9.0, False, 2.0 + LENGTH), (NONE, 9.0, True, 7.5), (1, 1.0, True, 7.5), (1, 0.25, True, 2.0 + 0.25 * LENGTH),
    (1, 1.0, False, 2.0 + LENGTH), (1, 1 + 1e-14, True, 7.5),
])  # fmt: skip
def test_a_step_to_the_end_of_its_interval_ends_there_to_the_last_bit(
    monkeypatch, guard, fraction, final, told
):
    """Unless an event comes before; none comes behind."""
    run = SimpleNamespace(t=2.0, stop=7.5, steps=3)
    found = [SimpleNamespace(fraction=fraction, length=np.nan)]
    search = SimpleNamespace(found=found, watch=[None, SimpleNamespace(arm=UNARMED)])
    step, noted = SimpleNamespace(new=np.array([4.0, 5.0]), slope="slope"), []
    for name, stand_in in {
        "advance": lambda *_: SUCCESS, "keeps_rank": lambda *_: SUCCESS,
        "note": lambda problem, steps, k, t, tau, y, slope: noted.append((k, t, tau, y.tolist(), slope)),
    }.items():  # fmt: skip
        monkeypatch.setitem(making.arrive.__globals__, name, stand_in)
    work = SimpleNamespace(run=[run], step=step, search=search, y=np.zeros(2), rank=None)
    reach = making.Reach(LENGTH, final, guard, NONE, 0.0)
    method = SimpleNamespace(stages=7)
    status = making.arrive(None, None, method, SimpleNamespace(columns=0), work, None, reach)
    assert (status, run.t, run.steps, work.y.tolist()) == (SUCCESS, told, 4, [4, 5])
    tau = min(fraction, 1.0) * LENGTH if guard >= 0 else LENGTH
    assert noted == [(3, 2.0, tau, [0, 0], "slope")]
