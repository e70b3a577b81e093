"""What is not known of a derivative: its columns, both sides of it, and who may not ask for it."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space

from explorer.derivatives import differences, doubts, judge, methods, one_sided
from explorer.derivatives.one_sided import OneSided, Side
from explorer.errors import BadModel, BadValue, ExplorerError
from explorer.models import models
from explorer.schemes.moreau_jean import MoreauJean

COVERS = (
    "derivatives/differences.py",
    "derivatives/doubts.py",
    "derivatives/judge.py",
    "derivatives/methods.py",
    "derivatives/one_sided.py",
)  # see mutant_rooms.py


BALL = models["bouncing_ball"]()


# ---------------------------------------------------------------- methods


def asked_of(monkeypatch, **given):
    """Return what is asked of each method and of the judge."""
    told = {}
    study = inspect.unwrap(methods.sensitivity)

    def method(name):
        return lambda *given: told.update(method=(name, *given)) or name

    put(monkeypatch, study, ask=lambda *given: told.update(asked=given) or "question",
        judged=lambda found, both: told.update(judged=(found, both)) or "judged",
        **{f"solve_{name}": method(name) for name in ("difference", "discrete", "adjoint")})  # fmt: skip
    for name in ("direct", "complex_step"):
        monkeypatch.setitem(methods.METHODS, name, method(name))
    told["found"] = study(BALL, **given)
    return told


@for_each(
    ("given", "method", "both"),
    [
        ({}, ("direct", "question"), False),
        ({"directional": "both"}, ("direct", "question"), True),
        ({"method": "adjoint", "check": True}, ("adjoint", "question", True), False),
        ({"method": "complex_step"}, ("complex_step", "question"), False),
        ({"method": "finite_difference", "delta": 1e-3}, ("difference", "question", 1e-3), False),
    ],
)
def test_a_method_is_asked_and_its_derivative_judged(monkeypatch, given, method, both):
    told = asked_of(monkeypatch, scheme="scheme", wrt="a", q0=1.0, rho={"b": 2}, c=3, u="u", t_end=4.0,
                    until="e", t_eval="t", cost="g", **given)  # fmt: skip
    start = {"q0": 1.0, "v0": None, "x0": None, "mode0": None}
    assert told["asked"] == (
        BALL, "scheme", "a", "g", 4.0, "e", "t", {"b": 2, "c": 3}, start, "u",
    )  # fmt: skip
    assert told["method"] == method
    assert told["judged"] == (method[0], both)
    assert told["found"] == "judged"


@for_each(("scheme", "own"), [(MoreauJean(h=0.5), True), (None, False), ("scheme", False)])
def test_steps_are_differentiated_as_they_are(monkeypatch, scheme, own):
    told = asked_of(monkeypatch, scheme=scheme, method="discrete", h=0.25)
    assert told["method"] == ("discrete", "question", 0.25, scheme if own else None)
    assert told["asked"][1] is (None if own else scheme)
    assert (told["found"], "judged" in told) == ("discrete", False)
    told = asked_of(monkeypatch, scheme=scheme)
    assert told["asked"][1] is scheme


@for_each("given", [{"method": "indirect"}, {"directional": "left"}])
def test_what_is_no_method_and_no_side_is_refused(monkeypatch, given):
    with pytest.raises(BadValue, match=next(iter(given))):
        asked_of(monkeypatch, **given)


# ---------------------------------------------------------------- judged


def doubt(event, columns, kind="grazing", alone=False):
    return space(event=event, columns=np.array(columns, bool), kind=kind, alone=alone, t=10.0 * event,
                 sentence="A doubt.")  # fmt: skip


@for_each(
    ("given", "last", "lost"),
    [
        ([doubt(1, [1, 0, 0])], None, [0]),
        ([doubt(1, [1, 0, 0]), doubt(2, [0, 0, 1])], None, [0, 2]),
        ([doubt(1, [1, 0, 0]), doubt(2, [0, 0, 1])], 1, [0]),
        ([doubt(1, [1, 0, 0]), doubt(2, [0, 0, 1])], 2, [0, 2]),
        ([doubt(1, [1, 0, 0], alone=True), doubt(2, [0, 0, 1], alone=True)], 2, [2]),
        ([doubt(1, [1, 0, 0], alone=True)], None, []),
    ],
)
def test_doubtful_columns_of_a_gradient_are_no_numbers(monkeypatch, given, last, lost):
    """Those of events before the end of the cost; the time of the last event counts too."""
    gone = []
    put(monkeypatch, judge.judged, forget=lambda run, doubts: gone.append((run, doubts)))
    found = space(doubts=given, solution="run", cost=5.0, cost_gradient=np.array([1.0, 2.0, 3.0]),
                  question=space(wrt="abc", last_place=lambda run: last if run == "run" else "no"),
                  judged=lambda *given: given)  # fmt: skip
    doubts, gradient, sides = judge.judged(found, False)
    assert doubts is given
    assert np.flatnonzero(np.isnan(gradient)).tolist() == lost
    assert gradient[1] == 2.0
    assert sides == [None, None]
    assert gone == [("run", given)]
    found.doubts = ()
    assert judge.judged(found, False) is found


@for_each("last", [None, 1, 2, 3])
def test_both_sides_are_told_of_the_columns_that_have_two(monkeypatch, last):
    """Of the others a side has the gradient, which may be no number."""
    asked = []
    given = [doubt(2, [1, 1, 0], "directional"), doubt(0, [0, 0, 1])]

    def side(question, cost, columns, sign):
        asked.append((cost, columns.tolist(), sign))
        return OneSided(sign * np.array([10.0, 20.0, 30.0, 40.0]), None, None)

    put(monkeypatch, judge.judged, forget=lambda *_: None, side=side)
    for one in given:
        one.columns = np.append(one.columns, False)
    found = space(doubts=given, solution="run", cost=5.0, cost_gradient=np.array([1.0, 2.0, 3.0, 4.0]),
                  question=space(wrt="abcd", last_place=lambda run: last), judged=lambda *given: given)  # fmt: skip
    _, gradient, (left, right) = judge.judged(found, True)
    split = [True, True, False, False]
    assert asked == [(5.0, split, -1), (5.0, split, 1)]
    behind = last is not None and last < 2
    np.testing.assert_array_equal(
        gradient, [*([1.0, 2.0] if behind else [np.nan] * 2), np.nan, 4.0]
    )
    np.testing.assert_array_equal(left.cost_gradient, [-10.0, -20.0, np.nan, 4.0])
    np.testing.assert_array_equal(right.cost_gradient, [10.0, 20.0, np.nan, 4.0])
    if behind:
        judge.judged(found, False)
        return
    with pytest.raises(BadValue, match=r"A doubt\. Use directional='both'"):
        judge.judged(found, False)


def test_doubtful_rows_are_forgotten_from_their_event_on():
    """Rows of (x, z) and of three columns: those behind its time, and both sides of later events."""

    def fresh():
        parts = {
            name: np.zeros((4, size)) for name, size in (("s_minus", 9), ("s_plus", 9), ("dtau", 3))
        }
        steps = space(t=np.array([0.0, 10.0, 15.0, 20.0]), y=np.zeros((4, 12)))
        march = space(flow=space(n_x=2), steps=steps, y=np.zeros(12), part=parts.__getitem__)
        return space(march=march, forget_rows=lambda: told.append("rows")), parts

    told = []
    run, parts = fresh()
    judge.forget(run, [doubt(1, [0, 1, 0])])
    wide = np.repeat([False, False, True, False], 3)
    np.testing.assert_array_equal(
        np.isnan(run.march.steps.y), np.outer([0, 1, 1, 1], wide).astype(bool)
    )
    np.testing.assert_array_equal(np.isnan(run.march.y), wide)
    own = np.repeat([False, True, False], 3)
    np.testing.assert_array_equal(
        np.isnan(parts["s_minus"]), np.outer([0, 0, 1, 1], own).astype(bool)
    )
    np.testing.assert_array_equal(
        np.isnan(parts["s_plus"]), np.outer([0, 1, 1, 1], own).astype(bool)
    )
    np.testing.assert_array_equal(
        np.isnan(parts["dtau"]), np.outer([0, 1, 1, 1], [0, 1, 0]).astype(bool)
    )
    assert told == ["rows"]
    run, parts = fresh()
    judge.forget(run, [doubt(1, [0, 1, 0], alone=True)])
    assert np.argwhere(np.isnan(parts["dtau"])).tolist() == [[1, 1]]
    assert not np.isnan(run.march.steps.y).any()
    assert not np.isnan(parts["s_plus"]).any()


# ---------------------------------------------------------------- one side


def test_derivatives_to_one_side_are_limits_from_there(monkeypatch):
    asked = []

    def limit(question, direction):
        asked.append(direction.tolist())
        if direction[2]:
            raise ExplorerError("no")
        return Side(7.0, 3.0, np.array([1.0, 2.0, 9.0]), 0.0)

    put(monkeypatch, one_sided.side, limit=limit)
    question = space(wrt="abcd", cost=space(flow=space(n_x=2)))
    for sign in (1, -1):
        asked.clear()
        found = one_sided.side(question, 5.0, np.array([True, False, True, True]), sign)
        assert asked == [[sign, 0, 0, 0], [0, 0, sign, 0], [0, 0, 0, sign]]
        np.testing.assert_array_equal(found.cost_gradient, [3.0 * sign, np.nan, np.nan, 3.0 * sign])
        np.testing.assert_array_equal(found.cost_jump, [2.0, np.nan, np.nan, 2.0])
        np.testing.assert_array_equal(found.S[:, 3], [sign, 2.0 * sign])
        assert np.isnan(found.S[:, 1:3]).all()


@for_each(("value", "unit"), [([2.0, 8.0], 4.0), ([0.0, 8.0], 2.0), ([-2.0, 1.0], 0.5)])
def test_a_limit_is_extrapolated_from_runs_in_its_direction(monkeypatch, value, unit):
    """Steps are parts of the parameters: of the direction (0.5, -2) what fits them all.

    Cost 5 + s + 7 s^2, slope 1 + 14 s, derivatives by x and z of order 2 in the step s.
    """
    steps = []

    def moved(question, direction, step):
        steps.append(step)
        S = np.array([[1.0 + step**2], [2.0 - step]]) * np.array([[1.0, 0.0]]) / 0.5
        return space(s=step), space(march=space(end=lambda: (0, 0, 0, S), sequence="same"))

    def gradient(question, run):
        s = question.s
        return 5 + s + 7 * s * s, np.array([(1 + 14 * s) / 0.5, 0.0])

    put(monkeypatch, one_sided.limit, _moved=moved, gradient_of=gradient)
    found = one_sided.limit(space(wrt="ab", value=value.__getitem__), np.array([0.5, -2.0]))
    size = np.where(np.array(value) == 0, 1.0, np.abs(value))
    unit = 1 / max(0.5 / size[0], 2.0 / size[1])
    assert steps == pytest.approx([k * s * unit for s in one_sided._STEPS for k in (1, 2, 4)])
    assert (found.cost, found.slope) == pytest.approx((5.0, 1.0), abs=1e-12)
    assert pytest.approx([1.0, 2.0], abs=1e-12) == found.S
    assert 0 <= found.error < 1e-10


@for_each(("same", "why"), [("never", "sequence changes at every distance"), ("refused", "no run"), ("once", None)])  # fmt: skip
def test_a_limit_is_taken_where_the_events_stay(monkeypatch, same, why):
    count = []

    def moved(question, direction, step):
        count.append(step)
        if same == "refused":
            raise ExplorerError("no run")
        other = same == "never" or step > 1e-6 * 5
        march = space(end=lambda: (0, 0, 0, np.ones((1, 1))), sequence=len(count) if other else "s")
        return space(), space(march=march)

    put(
        monkeypatch,
        one_sided.limit,
        _moved=moved,
        gradient_of=lambda question, run: (2.0, np.array([3.0])),
    )
    one = space(wrt="a", value=lambda j: 1.0)
    if why is None:
        found = one_sided.limit(one, np.array([1.0]))
        assert [found.cost, found.slope, *found.S] == pytest.approx([2.0, 3.0, 1.0])
        return
    with pytest.raises(ExplorerError, match=why):
        one_sided.limit(one, np.array([1.0]))


@for_each("kind", ["parameter", "start", "refused"])
def test_twins_lie_to_both_sides(kind):
    """Half a difference off; of a start along its own derivative."""

    def moved(j, change):
        def run(wrt):
            assert wrt is False
            if kind == "refused":
                raise BadModel("It violates a constraint.")
            return ("moved", j, change)

        return space(run=run)

    one = space(places=(0, -1), wrt=("a", "y"), value=lambda j: 3.0, moved=moved,
                start=lambda: (np.array([1.0, 2.0]), None), seeds=lambda: np.array([[9.0, 4.0], [9.0, -8.0]]),
                run=lambda wrt, x0: ("start", wrt, x0.tolist()))  # fmt: skip
    if kind == "refused":
        with pytest.raises(BadModel, match=r"A difference in 'a' needs a run at a = 2\.75"):
            differences.twins(one, 0, 0.5)
        return
    found = differences.twins(one, int(kind == "start"), 0.5)
    if kind == "start":
        assert found == (("start", False, [0.0, 4.0]), ("start", False, [2.0, 0.0]))
    else:
        assert found == (("moved", 0, -0.25), ("moved", 0, 0.25))


# ---------------------------------------------------------------- doubts


@for_each(("k", "told"), [(0, True), (1, False), (2, False), (3, False), (4, False)])
def test_a_guard_only_watches_where_nothing_jumps(k, told):
    guards = [space(jumps=False, targets=(2,), mode=2), space(jumps=True, targets=(2,), mode=2),
              space(jumps=False, targets=(1,), mode=2), space(jumps=False, targets=(2, 1), mode=2)]  # fmt: skip
    assert doubts._watches(space(cost=space(flow=space(guards=guards))), k) is told


def test_guards_depend_on_what_their_formulas_name():
    a, b, c, d, e = sp.symbols("a b c d e")
    contact = space(gap=a * sp.Symbol("x"), mu=None, mu_s=b + 1, slips=[c, 2.0])
    question = space(cost=space(flow=space(guards=[space(r=d - 1)])), wrt=tuple("abcdefg"),
                     system=space(contacts=[contact], constraints=[space(when=e), space(when=None)]))  # fmt: skip
    assert doubts._in_guards(question).tolist() == [True] * 5 + [False] * 2


@for_each("smooth", [(True, True, True), (False, True, True), (False, False, True), (False, False, False)])  # fmt: skip
def test_events_that_meet_are_doubtful_by_columns_with_two_sides(monkeypatch, smooth):
    """Each column that some meeting asks for is looked at once, with its end and its slope."""
    ends, asked = np.arange(9.0).reshape(3, 3), []
    meetings = {1: np.array([True, True, False]), 4: np.array([False, True, True])}
    march = space(meetings=meetings, end=lambda: (0, 0, 0, ends))
    run = space(march=march, located={1: space(t=2.0, contact="one"), 4: space(t=3.0, contact="four")},
                forget_rows=lambda: asked.append("forgotten"))  # fmt: skip

    def limits(question, j, cost, here):
        asked.append((j, cost, here.tolist()))
        return smooth[j]

    put(monkeypatch, doubts._directional, _smooth=limits, _other_one=lambda run, k: f"what {k} meets",
        gradient_of=lambda question, run: (5.0, np.array([10.0, 20.0, 30.0])))  # fmt: skip
    question = space(wrt=("a", "b", "c"), system=space(time_unit="s"))
    found = doubts._directional(question, run)
    left = {k: one & ~np.array(smooth) for k, one in meetings.items()}
    left = {k: one for k, one in left.items() if one.any()}
    assert {d.event: d.columns.tolist() for d in found} == {k: x.tolist() for k, x in left.items()}
    assert {k: x.tolist() for k, x in march.meetings.items()} == {
        k: x.tolist() for k, x in left.items()
    }
    wanted = [(j, 5.0, [ends[0, j], ends[1, j], ends[2, j], 10.0 * (j + 1)]) for j in range(3)]
    assert asked == wanted + ["forgotten"] * (len(left) < 2)
    for one in found:
        assert (one.name, one.value, one.allowed, one.unit) == ("directional", 1.0, 0.0, "events")
        assert not one.ok
        names = ", ".join(repr("abc"[j]) for j in np.flatnonzero(one.columns))
        assert f"coincides with what {one.event} meets, and {names} decides" in one.words
    march.meetings = {}
    assert doubts._directional(question, run) == []
