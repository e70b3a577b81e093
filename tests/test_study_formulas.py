"""Small parts of studies, each against its definition; no run is made."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import space

from explorer.errors import StepFailed
from explorer.study import diagram_branches as diagram
from explorer.study import trace
from explorer.study.formulations import Formulations
from explorer.study.grazing import _curvature
from explorer.study.limit_cycle import _multipliers

COVERS = ("study/trace.py",)  # see mutant_rooms.py

EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- columns of a diagram


def columns(period, **given):
    """Return the columns of a diagram of two states; each has three points found."""
    count = len(period)
    rng = np.random.default_rng(1)
    told = {"period": np.array(period), "code": np.zeros(count, int), "points": rng.normal(size=(count, 4, 2)),
            "states": ("x", "y"), "values": np.linspace(1.0, 3.0, count), "found": np.full(count, 3)}  # fmt: skip
    return diagram._Columns(space(**{**told, **given}))


def test_columns_that_repeat_soon_are_open():
    one = columns([1, 0, -1, 6, 7, 2], code=np.array([0, 0, 0, 0, 0, 3]))
    assert one.open.tolist() == [True, False, False, True, False, False]
    assert one.left == 2
    points = np.full((2, 2, 2), np.nan)
    points[0] = [[1.0, 5.0], [4.0, 5.0]]
    points[1, 0] = [2.0, 5.0]
    one = columns([1, 2], points=points)
    assert one.size.tolist() == [3.0, 1.0]  # a state that stays has no size
    assert columns([0, 0]).size.tolist() == [1.0, 1.0]


@for_each(("period", "tried", "told"), [
    ([1, 1, 1, 2, 2], [], 1), ([1, 1, 2, 2, 2, 2], [], 4), ([1, 1, 2, 2], [], 1), ([0, 0, 0, 2], [], 3), ([0, 0], [], None),
    ([1, 1, 1, 1, 1, 2, 2, 2], [2], 6), ([1, 2, 1], [0, 1], 2), ([1], [0], None), ([2, 2, 2, 2], [], 2),
])  # fmt: skip
def test_the_middle_of_the_longest_stretch_is_next(period, tried, told):
    one = columns(period)
    one.tried[tried] = True
    assert one.next() == told


@for_each(("period", "k", "tried", "skipped"), [
    ([1] * 9, 4, [], range(2, 7)), ([2, *[1] * 8, 2], 3, [], range(2, 8)), ([1, 1, 2], 0, [], range(2)), ([2, 1, 2], 1, [], [1]),
    ([1] * 9, 6, [4], [4, 5, 6, 7, 8]), ([1] * 9, 0, [], range(2, 7)), ([1] * 9, 8, [], range(2, 7)), ([1] * 5, 2, [], range(1, 4)),
])  # fmt: skip
def test_the_middle_half_of_a_stretch_is_skipped(period, k, tried, skipped):
    one = columns(period)
    one.tried[tried] = True
    one.skip(k)
    assert np.flatnonzero(one.tried).tolist() == sorted({*tried, *skipped})


@for_each(("points", "told"), [
    ([0.0, 1.0, 0.0, 1.0], True), ([0.0, 1.0, 0.0, 2.0], False), ([0.0, 1.0, 2.0], False), ([1.0, 1.0, 1.0], True), ([5.0], False),
    ([0.0, 1.0, 2.0, 0.0, 1.0, 2.0], True), ([0.0, 1.0, 0.0, 1.0 + 3.9e-5], True), ([0.0, 1.0, 0.0, 1.0 + 4.1e-5], False),
    ([np.nan, np.nan], False), ([0.0, 1.0, 2.0, 0.0, 1.0], False),
])  # fmt: skip
def test_cycles_that_repeat_after_a_part_of_their_points_are_shorter(points, told):
    """In units of the diagram's size: here 4 of the first state."""
    one = columns([1, 1])
    one.size = np.array([4.0, 1.0])
    x = np.array(points)[:, None] * [1.0, 0.0]
    assert one.shorter(space(returns=np.array([x, x]))) == told


@for_each(("off", "along", "told"), [
    (0.9, 0.3, True), (1.1, 0.3, False), (0.9, -0.2, False), (0.0, -0.02, True), (0.0, -0.05, False), (0.0, 1.05, False), (0.9, 1.0, True),
])  # fmt: skip
def test_a_column_lies_on_a_branch_near_its_line(off, along, told):
    """Between two of its points, in the plane of the parameter and the states; not across pieces."""
    one = columns([1, 1, 1])
    one.size = np.array([2.0, 4.0])
    wide = 2.0  # of the parameter, from 1 to 3
    a, b = np.array([1.2, 0.5, 1.0]), np.array([1.8, 1.5, -1.0])
    unit = np.array([wide, *one.size])
    across = np.array([0.0, 1.0, 1.0]) / np.sqrt(2)
    way = (b - a) / unit
    across -= (across @ way) / (way @ way) * way
    across *= off * diagram._NEAR / abs(across).max()
    spot = (a / unit + along * way + across) * unit
    one.found.values[1] = spot[0]
    one.found.points[1, 2] = spot[1:]  # the last that is found
    branch = space(
        values=np.array([a[0], b[0]]), returns=np.array([[a[1:]], [b[1:]]]), piece=np.array([3, 3])
    )
    assert one._on(branch, 1) == told
    one.take(branch, 0)
    assert one.tried.tolist() == [True, False, False]
    assert one.open[:2].tolist() == [False, not told]
    branch.piece[1] = 4
    assert not one._on(branch, 1)


@for_each(("off", "told"), [(0.9, True), (-0.9, True), (1.1, False), (-1.1, False)])
def test_at_a_fold_a_column_is_near_a_branch_by_its_parameter(off, told):
    """As a part of the width of the diagram; the branch stands upright at 2, in the middle."""
    one, wide = columns([1, 1, 1]), 2.0
    one.found.values[1], one.found.points[1, 2] = 2.0 + off * diagram._NEAR * wide, [0.5, 0.5]
    upright = np.array([[[0.0, 0.5]], [[1.0, 0.5]]])
    branch = space(values=np.full(2, 2.0), returns=upright, piece=np.zeros(2))
    assert one._on(branch, 1) == told


# ---------------------------------------------------------------- cycles


@for_each(
    ("section", "kept"), [(False, 0), (False, 1), (True, 0), (True, 1), (True, 2), (False, 2)]
)
def test_trivial_multipliers_are_told_apart(section, kept):
    """Those nearest to 1, and one of 0 for a section."""
    rng = np.random.default_rng(kept)
    V, values = rng.normal(size=(5, 5)), [1.0, 1.001, 1e-12, -3.0, 0.5]
    free, trivial = _multipliers(V @ np.diag(values) @ np.linalg.inv(V), section, kept)
    apart = [1.0, 1.001][:kept] + [0.0] * section
    assert np.real(trivial) == pytest.approx(apart, abs=1e-9)
    rest = sorted({*values} - {1.0, 1.001, 1e-12}, key=lambda x: -abs(x))
    rest = sorted([*rest, *[1.0, 1.001][kept:], *([] if section else [0.0])], key=lambda x: -abs(x))
    assert np.real(free) == pytest.approx(rest, abs=1e-9)
    alone, none = _multipliers(np.array([[0.7]]), section, 1)
    assert (len(alone), len(none)) == (0, 1)


def test_a_guard_is_as_curved_as_its_rate_changes():
    """(g'(t + s) - g'(t - s)) / (2 s), at the states of the run."""
    t0, t_last, asked = 1.0, 5.0, []

    def sample(times, slopes):
        (t,) = times
        return np.array([[t, t**2, 9.0]]), np.array([[1.0, 2 * t, 9.0]]), None

    def rate(t, x, rho, dx):
        asked.append(t)
        assert (x.tolist(), rho) == ([t, t**2], "rho")
        return -(3.0 * t**2) + 0.0 * dx[1]

    guards = [space(name="other", rate=None), space(name="g", rate=rate)]
    problem = space(n=2, misses=space(guards=guards))
    run = space(march=space(t_last=t_last, sample=sample, rho="rho"))
    assert _curvature(problem, run, space(t=t0), "g") == pytest.approx(6.0)
    assert asked == pytest.approx([t0 - 5e-4, t0 + 5e-4])


# ---------------------------------------------------------------- branches


def point(sequence, **margins):
    return space(sequence=sequence, margins={k.replace("_", " "): v for k, v in margins.items()})


@for_each(("a", "b", "told"), [
    (point([]), point([]), ("corner", "", np.inf)), (point([], spacing=0.3), point([], spacing=0.2), ("corner", "", 0.2)),
    (point([], spacing=0.3), point([], phase=0.9e-7), ("phase", "", 0.0)), (point([], phase=1.1e-7), point([]), ("corner", "", np.inf)),
    (point([("repeats", "a")]), point([]), ("branch point", "", 0.0)), (point([("slides", "a")], spacing=0.4), point([]), ("sliding", "a", 0.4)),
    (point([("impact", "wall")], near_wall=-0.2), point([], near_wall=0.1, near_floor=0.01), ("grazing", "wall", 0.1)),
    (point([("impact", "wall")]), point([]), ("grazing", "wall", 0.0)),
    (point([("impact", "a")] * 2), point([("impact", "a"), ("impact", "b")], near_b=0.3, near_a=-0.4), ("grazing", "b, a", 0.3)),
    (point([("repeats", "a"), ("impact", "b")]), point([]), ("grazing", "a, b", 0.0)), (point([7]), point([]), ("grazing", "", 0.0)),
])  # fmt: skip
def test_a_change_of_the_events_has_a_kind(a, b, told):
    assert trace._what_changes(a, b) == told


def test_a_branch_says_why_it_ends():
    """By what was located there, or by what happens a step ahead."""
    asked = []

    def evaluate(u):
        asked.append(u.tolist())
        if u[0] > 10:
            raise StepFailed("it is too far", None)

    problem = space(scale=np.array([2.0, 3.0]), evaluate=evaluate)
    here = space(w=np.array([1.0, 1.0]), tangent=np.array([0.5, -0.5]), at=space(margins={}))
    assert trace._why(problem, here, 0.2, space(kind="phase", name="")) == trace._ENDED
    ended = trace._why(problem, here, 0.2, space(kind="grazing", name="wall"))
    assert ended.startswith("grazing of 'wall'")
    assert asked == []
    assert trace._why(problem, here, 0.2, None).startswith("the step is too small")
    assert asked == [pytest.approx([2.2, 2.7])]
    for margin, told in ((0.9e-2, "the cycle hardly leaves"), (1e-2, "the step is too small")):
        here.at.margins["edge"] = margin
        assert trace._why(problem, here, 0.2, None).startswith(told)
    assert "it is too far" in trace._why(problem, here, 20.0, None)


@for_each(("way", "low", "high", "told"), [
    (1.0, 0.0, 1.0, 1), (-1.0, 0.0, 1.0, -1), (0.0, 0.0, 1.0, 1), (1.0, 0.0, 0.5, -1), (-1.0, 0.5, 1.0, 1), (1.0, 0.5, 0.5, None),
    (-1.0, 0.5 - 1e-4, 1.0, -1), (1.0, 0.0, 0.5 + 1e-4, 1),
])  # fmt: skip
def test_the_other_side_lies_onward_first(monkeypatch, way, low, high, told):
    """Of an end at 0.5, by the least distance at which a point of another sequence is near."""
    asked = []

    def correct(problem, guess, plane, tol, like):
        asked.append((round((guess[-1] - 0.5) / 1e-5), plane.tolist(), like.tolist()))
        if abs(guess[-1] - 0.5) < 5e-5:
            return None
        return (space(w=guess, at=space(sequence=["b"])), 0)

    monkeypatch.setattr(trace, "correct", correct)
    end = space(w=np.array([3.0, 0.5]), node=space(tangent=np.array([1.0, way])))
    found = trace.other_side(
        None, space(at=space(sequence=["a"])), end, space(low=low, high=high, tol=1e-9)
    )
    if told is None:
        assert found is None
        assert asked == []
        return
    assert found.w.tolist() == pytest.approx([3.0, 0.5 + told * 1e-4])
    assert asked == [(told, [0.0, 1.0], [0.0, told]), (10 * told, [0.0, 1.0], [0.0, told])]
    assert (
        trace.other_side(
            None, space(at=space(sequence=["b"])), end, space(low=low, high=high, tol=1e-9)
        )
        is None
    )
    monkeypatch.setattr(
        trace,
        "correct",
        lambda problem, guess, *_, like: (
            space(w=np.add(guess, [0.1, 0.0]), at=space(sequence=["b"])),
            0,
        ),
    )
    far = trace.other_side(
        None, space(at=space(sequence=["a"])), end, space(low=low, high=high, tol=1e-9)
    )
    assert abs(far.w[-1] - 0.5) == pytest.approx(1e-3)  # 0.1 is near beside 200 times that


@for_each(("errors", "told"), [
    ([1.0, 1e-1, 1e-2], 1.0), ([1.0, 1e-2, 1e-4, 1e-4], 2.0), ([4.0, 1.0, 0.0], 2.0), ([1.0, 0.0, 0.0], None), ([1.0, 1e-2, 1e-4, 1e-6, 1e-9], 2.0),
    ([1.0, 1e-3, 0.9e-3], (3.0 + 0.0) / 2),
])  # fmt: skip
def test_an_order_is_that_before_round_off(errors, told):
    """Of more than three penalties those count whose errors are 1000 times the least, if three are."""
    base = 2.0 if 4.0 in errors else 10.0
    alphas = base ** np.arange(len(errors))
    order = Formulations.order.fget(
        space(penalties=[space(error=e) for e in errors], alphas=alphas)
    )
    if told is None:
        assert np.isnan(order)
        return
    error = np.array(errors)
    kept = error > 1e3 * error.min() if len(error) > 3 else error > 0
    kept = kept if kept.sum() > 2 else error > 0
    x, y = np.log(alphas[kept]), np.log(error[kept])
    slope = -((x - x.mean()) @ (y - y.mean())) / ((x - x.mean()) @ (x - x.mean()))
    assert order == pytest.approx(slope)
