"""How marches of FESD go on and end, uncompiled: what they ask of others stands in for these."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import (
    ACCUMULATION,
    MORE_SWITCHES,
    NEWTON_CAP,
    NO_ACTIVE_SET,
    NOT_FINITE,
    SUCCESS,
    SWITCH_CAP,
)
from explorer.kernels.fesd.structures import SURFACE

cutting, marching = plain("fesd.march_active_set"), plain("fesd.march")
FAILS = 77  # a status


def cut_that_turns(monkeypatch, turns, h=2.0, fraction=0.6):
    """Cut an element whose function comes back to its own side in the first attempts."""
    newton, ending = space(h=np.nan), space(which=1, bound=0.5, fraction=fraction, kind=0)
    el = space(mode=space(sign=np.array([0, 1])), solver=space(newton=[newton]))
    ws = space(element=el, start=None, ending=[ending], kept=None)
    asked = []

    def element(el, t, x, end, kind, which, bound):
        asked.append(newton.h)
        return SUCCESS

    put(monkeypatch, cutting.cut, put_aside=lambda *_: None, bring_back=lambda *_: None,
        on_it=lambda *_: 1.0, element=element, violated=lambda *_: 0,
        drift=lambda *_: 1.0 if len(asked) <= turns else -1.0)  # fmt: skip
    assert cutting.cut(ws, 0.0, None, h, None, SURFACE, 0) == SUCCESS
    assert (ending.kind, ending.which, ending.bound) == (SURFACE, 1, 1.0)
    return asked


@for_each("turns", [0, 1, 3, 7, 8, 99])
def test_a_function_that_turns_has_crossed_zero_before(monkeypatch, turns):
    """Each time half of what is left is tried, but for 1e-3, and that eight times at most."""
    asked = cut_that_turns(monkeypatch, turns)
    wanted = 1.2 * (0.5 * (1 - 1e-3)) ** np.arange(min(turns, 8) + 1)
    np.testing.assert_allclose(asked, wanted, rtol=1e-12)


def marched(monkeypatch, answers, *, driven=(), retreats=False, rest=0.0, affine=0, sliding=0,
            furthest=False, ends=(1.0,), wanted=1, switches=9, **asked):  # fmt: skip
    """March by phases that answer with a status; return how it ends, the tally and what was asked."""
    said, left, holds = [], iter(answers), iter([*driven, *[False] * len(ends)])
    now = space(t=0.0, begin=0, count=0, phases=0, due=0, again=0, kind=0, which=-1, other=0,
                wanted=1, back=-1, halvings=0)  # fmt: skip
    element = space(problem=space(drive=None, inp=None, affine=affine),
                    mode=space(active=[space(sliding=sliding)]))  # fmt: skip
    ws, tally = space(march=[now], element=element), [space(reached=9.0, needed=1, intervals=-1)]
    record, phases = space(states=np.zeros((50, 1))), space(t=None, switches=np.zeros(switches))
    usual = {"jumps": False, "elements": 8, "split": True}
    options = space(h=0.5, ends=np.array(ends), **usual | asked)

    def rewind(ws, phases):
        now.due = 1

    def enter(*given):
        said.append("enter")
        now.due = 0
        now.phases += 1
        return SUCCESS

    def phase(ws, record, options, tally, e, t, t_next, close, most, halved):
        said.append((e, t, t_next, most, halved))
        return next(left)

    def conclude(ws, record, phases, options, tally, interval, t_next, close):
        now.t, now.count, now.wanted = t_next, now.count + 2, wanted
        said.append(("done", interval))
        return SUCCESS

    put(
        monkeypatch, marching.march, rewind=rewind, enter=enter, phase=phase, conclude=conclude,
        prepare=lambda *_: 0, hold_at=lambda *_: next(holds), goes_on=lambda *_: False,
        count=lambda *_: said.append("count"), carry_on=lambda *_: said.append("on"),
        anew=lambda ws: said.append("anew"), over_at_once=lambda ws: said.append("over"),
        retreats=lambda ws, record, phases, options, lost: said.append(("lost", lost)) or retreats,
        furthest=lambda *given: said.append(("furthest", *given[3:])) or furthest,
        accumulates=lambda *_: rest,
    )  # fmt: skip
    return marching.march(ws, record, phases, options, tally), tally[0], said


@for_each(("told", "status", "lost"), [
    (marching.OTHER, NO_ACTIVE_SET, True), (NO_ACTIVE_SET, NO_ACTIVE_SET, True), (NEWTON_CAP, NEWTON_CAP, True),
    (NOT_FINITE, NOT_FINITE, False), (SWITCH_CAP, SWITCH_CAP, False),
])  # fmt: skip
def test_a_march_that_finds_no_way_on_says_why_and_where(monkeypatch, told, status, lost):
    """Where it has lost its active set, switches that accumulate may be the reason."""
    for rest in (0.0, 0.25):
        found, tally, said = marched(monkeypatch, [told], rest=rest)
        assert found == (ACCUMULATION if lost and rest else status)
        assert tally.reached == (rest if lost else 0.0)
        assert said == ["enter", "count", (0, 0.0, 1.0, 8, 0), ("lost", lost)]
    found, _, said = marched(monkeypatch, [told, SUCCESS], retreats=True)
    assert found == SUCCESS  # it has retreated, and tries again
    assert said[-1] == ("done", 0)


def test_a_march_goes_over_its_intervals(monkeypatch):
    status, tally, said = marched(monkeypatch, [SUCCESS] * 2, ends=(0.5, 1.5))
    assert (status, tally.intervals, tally.reached) == (SUCCESS, 2, 0.0)
    assert said == ["enter", "count", (0, 0.0, 0.5, 8, 0), ("done", 0), "on", (2, 0.5, 1.5, 8, 0), ("done", 1)]  # fmt: skip
    assert marched(monkeypatch, [], switches=0)[0] == SWITCH_CAP
    for wanted, split, told in ((9, False, MORE_SWITCHES), (8, False, SUCCESS), (9, True, SUCCESS)):
        status, tally, _ = marched(monkeypatch, [SUCCESS], wanted=wanted, split=split)
        assert (status, tally.needed) == (told, 9 if wanted == 9 else 1)
    status, _, said = marched(monkeypatch, [marching.AT_ONCE, SUCCESS])
    assert (status, said[3]) == (SUCCESS, "over")


def test_an_input_that_jumps_lets_a_march_begin_anew(monkeypatch):
    """Also where what went on before it leads nowhere; but only at the first phase of an interval."""
    for told in (marching.AT_ONCE, NEWTON_CAP, NO_ACTIVE_SET, marching.OTHER):
        status, _, said = marched(monkeypatch, [told, SUCCESS], driven=[True])
        assert (status, said.count("anew")) == (SUCCESS, 1)
    status, _, said = marched(monkeypatch, [NOT_FINITE], driven=[True])
    assert (status, said.count("anew")) == (NOT_FINITE, 0)
    for jumps in (True, False):
        _, _, said = marched(monkeypatch, [SUCCESS], driven=[True], jumps=jumps)
        assert said.count("anew") == jumps


@for_each(("sliding", "affine", "told", "status", "folds"), [
    (2, 1, NEWTON_CAP, SUCCESS, True), (1, 1, NEWTON_CAP, NEWTON_CAP, False), (2, 0, NEWTON_CAP, NEWTON_CAP, False),
    (2, 1, NO_ACTIVE_SET, NO_ACTIVE_SET, False),
])  # fmt: skip
def test_several_that_slide_may_fold(monkeypatch, sliding, affine, told, status, folds):
    given = {"sliding": sliding, "affine": affine, "furthest": True}
    found, _, said = marched(monkeypatch, [told], **given)
    assert found == status
    assert (("furthest", 0, 0.0, 1.0) in said) == folds
