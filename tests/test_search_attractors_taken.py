"""What recurs in a run: the half of its points that is looked at, and what is run longer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

from explorer.runs.members import FREE
from explorer.study import search_attractors as search
from explorer.study.search_attractors import Attractor, Search

SCALE = np.array([1.0, 2.0])


@dataclasses.dataclass
class Asked:
    t_end: object
    ran: list
    more: object = None

    def run(self, first, last, begin):
        self.ran.append((self.t_end, first, last, begin[0].tolist(), begin[1]))
        return self.more


def attractor(*points):
    points = np.array(points, float)
    return Attractor(1, points, points[0], 0.0, 0.1, (3, 3), {})


def taken(
    monkeypatch,
    *,
    periods,
    sets=(None,),
    more=None,
    caught=FREE,
    known=(),
    refused=(),
    count=7,
    residual=0.01,
    near=0.2,
):
    """Return the search, and the points that a period and a set are looked for in."""
    looked, clouds, ran, around = [], [], [], []
    answers = iter(periods)

    def period(points, scale, tol, sure):
        assert (scale is SCALE, tol, sure) == (True, 0.5, 0.25)
        looked.append(points[:, 0].tolist())
        many = next(answers)
        return None if many is None else search.Found(many, np.array([[5.0, 6.0]]), np.zeros(2), residual)  # fmt: skip

    def cloud(points, scale):
        clouds.append(points[:, 0].tolist())
        return sets[0] and search.Found(0, np.array([[5.0, 6.0]]), np.zeros(2), residual)

    one = bare(Search, settings=space(tol=0.5, sure=0.25, near=near, t_end="3 s"), scale=SCALE, attractors=[*known], refused=[*refused], at={"a": 1.0},
               known=lambda: "known", _ended=lambda question, k, seen: seen.ended if k == 0 and question.t_end != "asked" else None,
               _neighbours=lambda asked, found, reach, radius, end, mode: around.append((asked.t_end, reach, radius, end.tolist(), mode)) or (3, 3))  # fmt: skip
    put(monkeypatch, Search._take, period=period, cloud=cloud, catch=lambda known, points: (caught if known == "known" and points.shape[1:] == (2,) else None, 0))  # fmt: skip
    seen = space(end=np.array([[9.0, 9.0], [1.0, 2.0]]), mode=np.array([9.0, 4.0]))
    points = np.column_stack([np.arange(count), np.zeros(count)])
    one._take(Asked("asked", ran, more), seen, 1, points)
    return one, looked, clouds, ran, around


def longer(points=9, found=None, code=0, ended=False):
    at = np.column_stack([100.0 + np.arange(points), np.zeros(points)])
    return space(code=[code], ended=ended, points=at[None], found=[points if found is None else found], end=np.array([[7.0, 8.0]]), mode=np.array([2.0]))  # fmt: skip


@for_each(("count", "half"), [(7, [3, 4, 5, 6]), (8, [4, 5, 6, 7]), (1, [0])])
def test_a_period_is_looked_for_in_the_last_half_of_a_run(monkeypatch, count, half):
    one, looked, clouds, ran, around = taken(monkeypatch, periods=[3], count=count)
    assert (looked, clouds, ran) == ([half], [], [])
    assert around == [("asked", 0.2, 0.2, [1.0, 2.0], 4)]
    (kept,) = one.attractors
    assert (kept.period, kept.radius, kept.neighbours, kept.at) == (3, 0.1, (3, 3), {"a": 1.0})


@for_each(("points", "found", "half"), [(9, 9, range(104, 109)), (8, 6, range(103, 106)), (8, 20, range(104, 108))])  # fmt: skip
@for_each("second", [2, None])
def test_a_run_without_a_period_goes_on_five_times_as_long(monkeypatch, points, found, half, second):  # fmt: skip
    """From where it has ended; of its points those that there was room for."""
    one, looked, clouds, ran, around = taken(monkeypatch, periods=[None, second], sets=(True,), more=longer(points, found))  # fmt: skip
    assert ran == [("5 * (3 s)", 1, 2, [1.0, 2.0], 4)]
    assert looked == [[3, 4, 5, 6], [*map(float, half)]]
    assert clouds == ([] if second else [[*map(float, half)]])
    assert around[0][3:] == ([7.0, 8.0], 2)
    assert one.attractors[0].period == (second or 0)


@for_each("given", [{"code": 3}, {"ended": True}, {"caught": 0}, {"caught": FREE, "none": True}])
def test_a_run_that_fails_leaves_or_comes_to_what_is_known_is_nothing_new(monkeypatch, given):
    caught, none = given.pop("caught", FREE), given.pop("none", False)
    one, looked, _, _, around = taken(monkeypatch, periods=[None, None], more=longer(**given), caught=caught)  # fmt: skip
    assert one.attractors == one.refused == around == []
    assert len(looked) == (2 if none else 1)


def test_of_a_set_the_last_five_hundred_points_are_kept(monkeypatch):
    _, _, clouds, _, _ = taken(monkeypatch, periods=[None, None], sets=(True,), more=longer(1003))
    assert clouds == [[*np.arange(100.0 + 503, 100.0 + 1003)]]


@for_each(("periodic", "residual", "at", "radius"), [
    (True, 0.01, None, 0.5), (True, 0.01, (5.75, 6.0), 0.3), (True, 0.01, (5.0, 7.5), 0.3), (True, 0.01, (5.0, 60.0), 0.5), (False, 0.375, None, 0.75), (False, 0.05, None, 0.5), (False, 0.375, (5.75, 6.0), 0.3),
    (True, 0.375, None, 0.5),
])  # fmt: skip
def test_a_radius_is_less_than_half_of_the_way_to_the_next_attractor(monkeypatch, periodic, residual, at, radius):  # fmt: skip
    """That of a set is twice of what its points are apart, if that is more than the usual one, 1/2."""
    known = [] if at is None else [attractor(at)]
    given = {"periods": [2]} if periodic else {"periods": [None, None], "sets": (True,), "more": longer()}  # fmt: skip
    *_, around = taken(monkeypatch, known=known, residual=residual, near=0.5, **given)
    assert around[0][1:3] == (pytest.approx(radius), pytest.approx(radius))


@for_each("where", ["known", "refused"])
@for_each(("at", "same"), [((5.0, 6.9), True), ((5.0, 7.0), True), ((5.0, 7.1), False)])
def test_what_lies_within_the_tolerance_of_a_known_one_is_that_one(monkeypatch, where, at, same):
    """Here 0.5, in parts of the scale."""
    one, *_, around = taken(monkeypatch, periods=[1], **{where: [attractor(at)]})
    assert (around == []) == same
    assert len(one.attractors) + len(one.refused) == (1 if same else 2)
