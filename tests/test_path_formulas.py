"""Where a path changes, ends, or goes on from another point: each against its rule; no run is made."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.study import cycles, trace
from explorer.study.arclength import BranchEnds
from explorer.study.flow_spectrum import _units

COVERS = ("study/cycles.py", "study/trace.py")

EQUAL = np.testing.assert_array_equal
LIKE = np.array([0.6, 0.8])


def node(w, sequence="a", **margins):
    return space(w=np.array(w), p=w[-1], tangent=LIKE, at=space(sequence=sequence, margins=margins))


# ---------------------------------------------------------------- steps of a branch


@for_each(
    ("place", "length", "jump", "fails"),
    itertools.product((0.03, 0.4, 0.9), (0.1, 1e-6), (0.0, 0.009, 0.011), (False, True)),
)
def test_a_change_is_located_by_halves_unless_the_branch_jumps(
    monkeypatch, place, length, jump, fails
):
    """By a hundredth of the chord; its place is the middle of both sides, and its error their distance."""
    way, aside, asked = np.array([0.8, 0.6]), np.array([-0.6, 0.8]), []
    a, b = node([1.0, 2.0], "a"), node([1.0, 2.0] + length * way, "b")
    options = trace.Options(0.1, 1e-3, 1.0, 1e-13, -9.0, 9.0, 50)

    def correct(problem, guess, plane, tol, like):
        part = (guess - a.w) @ way / length
        np.testing.assert_allclose(plane, way, rtol=1e-6)
        assert (tol, like is LIKE) == (1e-13, True)
        asked.append(part)
        if fails and len(asked) == 3:
            return None
        behind = part > place
        return node(guess + behind * jump * length * aside, "b" if behind else "a"), 2

    monkeypatch.setattr(trace, "correct", correct)
    monkeypatch.setattr(
        trace, "_what_changes", lambda one, two: ("grazing", one.sequence + two.sequence, 0.125)
    )
    found = trace._change(None, a, b, options)
    if fails or jump > 0.01:
        assert found is None
        return
    special, before = found
    steps, wide = [], trace._EXTREME * min(1.0, 1e-3 / length)
    low, high = 0.0, 1.0
    while high - low > wide:
        steps.append((low + high) / 2)
        low, high = (steps[-1], high) if steps[-1] <= place else (low, steps[-1])
    assert asked == pytest.approx(steps, abs=1e-8)
    assert (special.kind, special.name, special.test, special.node is before) == (
        "grazing",
        "ab",
        0.125,
        True,
    )
    np.testing.assert_allclose(before.w, a.w + low * length * way, atol=1e-8 * length)
    behind = a.w + high * length * way + jump * length * aside
    np.testing.assert_allclose(special.w, (before.w + behind) / 2, atol=1e-8 * length)
    assert special.error == pytest.approx(max(abs(behind[1] - before.w[1]), 1e-13), rel=1e-2)


@for_each(("p", "edge"), [(1.5, 1.0), (-2.0, -0.5)])
@for_each("what", ["found", "none", "other"])
def test_at_the_end_of_the_range_its_point_is_added(monkeypatch, p, edge, what):
    here, beyond, joined, asked = node([1.0, 0.5]), node([3.0, p]), [], []
    last = node([9.0, edge], "b" if what == "other" else "a")

    def correct(problem, guess, plane, tol, like):
        asked.append((guess.tolist(), plane.tolist(), tol, like is LIKE))
        return None if what == "none" else (last, 1)

    monkeypatch.setattr(trace, "correct", correct)
    monkeypatch.setattr(
        trace, "_join", lambda problem, a, b, options, found: joined.append((a, b, found))
    )
    trace._to_the_edge(None, here, beyond, space(low=-0.5, high=1.0, tol=1e-9), "found")
    part = (edge - 0.5) / (p - 0.5)
    assert asked == [([pytest.approx(1.0 + 2 * part), edge], [0.0, 1.0], 1e-9, True)]
    assert joined == ([(here, last, "found")] if what == "found" else [])


@for_each(("before", "now", "told"), [
    ({"hit a": 0.5}, {"hit a": 0.4}, []), ({"hit a": 0.5}, {"hit a": 0.37}, ["hit a"]), ({"hit a": 0.7}, {"hit a": 0.52}, ["hit a"]),
    ({"hit a": 0.7}, {"hit a": 0.54}, []), ({"hit a": 0.3}, {"hit a": 0.4}, []), ({"hit a": 0.4}, {"hit a": 0.4}, []), ({"edge": 0.5}, {"edge": 0.1}, []),
    ({}, {"hit a": 0.1}, []), ({"b": 0.5, "hit a": 0.5}, {"b": 0.3, "hit a": 0.2}, ["hit a", "b"]), ({"c": 0.5}, {"c": 0.3}, ["c"]),
])  # fmt: skip
@for_each("reached", (True, False))
def test_the_margin_is_sought_that_vanishes_first_within_three_steps(
    monkeypatch, before, now, told, reached
):
    """At the rate of the last step, of length 0.1; its path joins the branch."""
    h, asked, joined = 0.1, [], []
    a, b = node([1.0, 2.0], **{}), node([1.06, 2.08])
    a.at.margins, b.at.margins = before, now
    path = [node([1.1, 2.1]), node([1.2, 2.2])]

    def approach(problem, history, key, tol):
        asked.append(key)
        if not reached or (len(told) > 1 and key == told[0]):
            return None
        path[-1].at.margins[key] = 1e-8
        return "w", path, 1e-12

    monkeypatch.setattr(trace, "approach", approach)
    monkeypatch.setattr(
        trace, "_join", lambda problem, one, two, options, found: joined.append((one, two))
    )
    problem = space(at_margin=lambda key: ("kind", key))
    assert trace._at_margin(problem, [b], h, space(tol=1e-9), None) is None
    found = trace._at_margin(problem, [space(), a, b], h, space(tol=1e-9), None)
    assert asked == told
    if not told or not reached:
        assert found is None
        return
    assert joined == [(b, path[0]), (path[0], path[1])]
    assert (found.kind, found.w, found.test, found.error, found.name) == (
        "kind",
        "w",
        1e-8,
        1e-9,
        told[-1],
    )
    assert found.node is path[1]


# ---------------------------------------------------------------- where a cycle begins


def settling(monkeypatch, times, *, edge=0.0, clear=True, point=False):
    """Return a problem of two states whose cycle has events at these times of 4 s, its node, and its new start."""
    n, rng = 2, np.random.default_rng(2)
    S, x = rng.normal(size=(n, n + 1)), np.array([5.0, 6.0])
    start, rate = space(mode=8, x=x), np.array([0.3, -0.4])
    run = space(
        located=[space(t=t) for t in times],
        march=space(sample=lambda t, slopes: (None, np.array([[7.0, 8.0, 9.0]]))),
    )
    cycle = space(run=run, T=4.0, mode=3)
    one = space(autonomous=True, n=n, scale=np.array([2.0, 4.0, 0.5, 10.0]), wide=None, edge=edge, anchor="anchor", along="along", mode=3, parameter="p",
                clear=lambda given, mode: clear, middle=lambda given, mode: (start, S), _look=lambda given: rate,
                evaluate=lambda u: space(u=u))  # fmt: skip
    put(
        monkeypatch,
        cycles.Cycles.settled,
        cycle_of=lambda node: cycle,
        is_point=lambda run, wide: point,
        tangent=lambda problem, at, like: ("tangent", like),
    )
    here = space(w=np.array([1.0, 2.0, 3.0, 4.0]), tangent=np.array([0.1, -0.2, 0.3, 0.4]))
    return one, here, S, x, rate


@for_each(("times", "before", "anchored"), [
    ([1.0, 2.0], 0.0, True), ([0.5, 2.0], 1.0, True), ([0.39, 2.0], 1.0, False), ([2.0, 3.61], 1.0, False), ([2.0, 3.59], 1.0, True), ([], 1.0, True),
])  # fmt: skip
def test_a_cycle_begins_elsewhere_where_an_event_comes_near_its_start(
    monkeypatch, times, before, anchored
):
    """To 0.4 of what was left; else only the anchor of its phase moves."""
    one, here, *_ = settling(monkeypatch, times, edge=before)
    found = cycles.Cycles.settled(one, here)
    assert (found is None) == anchored
    if anchored:
        assert (one.anchor.tolist(), one.along.tolist(), one.mode) == ([2.0, 8.0], [7.0, 8.0], 3)
        assert one.edge == (before or 1.0)
    one, here, *_ = settling(monkeypatch, times, edge=before, clear=False)
    assert cycles.Cycles.settled(one, here) is None
    assert isinstance(one.anchor, str) != anchored
    one.autonomous = False
    assert cycles.Cycles.settled(one, None) is None
    one, here, *_ = settling(monkeypatch, times, point=True)
    with pytest.raises(BranchEnds, match="shrinks to a point, at p = 40"):
        cycles.Cycles.settled(one, here)


def test_the_way_of_a_branch_moves_along_with_the_start_of_its_cycle(monkeypatch):
    """By the derivatives there, without what lies along the flow."""
    one, here, S, x, rate = settling(monkeypatch, [0.1], edge=1.0)
    found = cycles.Cycles.settled(one, here)
    dw = here.tangent * one.scale
    dx = S @ [*dw[:2], dw[3]]
    dx -= rate * (rate @ dx) / (rate @ rate)
    np.testing.assert_allclose(found.tangent[1], [*dx / one.scale[:2], 0.3, 0.4])
    assert abs(rate @ (found.tangent[1][:2] * one.scale[:2])) < 1e-14
    u = [5.0, 6.0, 1.5, 40.0]
    assert found.at.u.tolist() == u
    np.testing.assert_allclose(found.w, u / one.scale)
    assert (one.mode, one.anchor.tolist(), one.along is rate, one.edge) == (
        8,
        [5.0, 6.0],
        True,
        0.0,
    )
    assert one.anchor is not x


# ---------------------------------------------------------------- units of a flow


@for_each(("largest", "velocities", "told"), [
    ([1.0, 3.0], False, [1.0, 1.0]), ([1e-3, 1.0], False, [1e-3, 1.0]), ([1e-9, 1.0], False, [1e-3, 1.0]), ([40.0, 2e6], False, [1e3, 1e6]),
    ([1e-9, 1e6], True, [1e-9, 1e6]), ([0.0, 0.0], False, [1e-3, 1e-3]), ([1e-9, 1.0, 1e6, 1.0], True, [1e-3, 1.0, 1e6, 1e3]), ([31.0, 32.0], False, [1.0, 1e3]),
])  # fmt: skip
def test_units_of_states_are_powers_of_a_thousand_beside_their_kind(largest, velocities, told):
    y = np.array([largest, -0.5 * np.array(largest)])
    y = np.column_stack([-y, [99.0, 99.0]])
    run = space(
        x=np.zeros((1, len(largest))), march=space(steps=space(y=y)), has_velocities=velocities
    )
    np.testing.assert_allclose(_units(run), told)
