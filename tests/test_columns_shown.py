"""What of the columns of a diagram is shown, and how many of them are run at a time."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.study import columns
from explorer.study.columns import Columns
from explorer.study.orbits import UNKNOWN


def asked(**more):
    system = space(parameters={"a": ex.Param(1, 0, 9, "N")})
    axis = space(values=np.array([[1.0], [2.0], [4.0]]))
    own = {"system": system, "by": "a", "most": 5, "first": 2, "question": space(axes=space(axes=[axis]))}  # fmt: skip
    return space(**own | more)


def made(monkeypatch, **more):
    put(monkeypatch, Columns.__init__, states_of=lambda system: (("x", "y"), ("m", "s")))
    return Columns(asked(**more), "stop")


def test_columns_have_room_for_twice_the_first_points_more(monkeypatch):
    one = made(monkeypatch)
    assert one.values.tolist() == [1.0, 2.0, 4.0]
    assert one.points.shape == (3, 9, 2)
    assert np.isnan(one.points).all()
    assert one.code.tolist() == [UNKNOWN] * 3
    assert (one.found.tolist(), one.period.tolist(), one.repeats.tolist()) == ([0] * 3, [0] * 3, [False] * 3)  # fmt: skip
    assert one.ends == [None] * 3
    assert one.stop == "stop"


def test_what_is_shown_is_a_copy_of_the_points_that_are_asked_for(monkeypatch):
    one = made(monkeypatch)
    one.points[:] = np.arange(54.0).reshape(3, 9, 2)
    one.found[:], one.code[:], one.period[:], one.ends[1] = [9, 3, 5], [0, 4, 0], [2, 0, 1], "end"
    seen = one.seen(0.75)
    assert (seen.by, seen.unit, seen.states, seen.units, seen.done) == ("a", "N", ("x", "y"), ("m", "s"), 0.75)  # fmt: skip
    assert seen.points.tolist() == one.points[:, :5].tolist()
    assert seen.found.tolist() == [5, 3, 5]
    assert (seen.code.tolist(), seen.period.tolist(), seen.ends) == ([0, 4, 0], [2, 0, 1], [None, "end", None])  # fmt: skip
    for name in ("points", "found", "code", "period"):
        getattr(one, name)[:] = 7
    one.ends[0] = "another"
    assert seen.points[0, 0, 0] == 0.0
    assert (seen.found[0], seen.code[0], seen.period[0], seen.ends[0]) == (5, 0, 2, None)


@for_each(("code", "part"), [([UNKNOWN] * 4, 0.0), ([0, UNKNOWN, 5, -1], 0.75), ([0] * 4, 1.0)])
def test_a_column_that_has_failed_is_known_too(code, part):
    assert bare(Columns, code=np.array(code))._known() == part


@for_each(("cost", "parts", "pauses"), [
    (1e-3, [8, 92], 0), (1 / 128, [8] + [12] * 7 + [8], 2), (1 / 32, [8] + [3] * 30 + [2], 10), (1.0, [8] + [2] * 46, 46), (0.0, [8, 92], 0),
])  # fmt: skip
def test_so_many_columns_are_run_at_once_as_fill_a_part_of_a_picture(monkeypatch, cost, parts, pauses):  # fmt: skip
    """Of 8 first, then of as many as take 0.1 s, from 2 to 256; all threads share them."""
    now, taken, judged = [0.0], [], []
    put(monkeypatch, Columns._spread, time=space(perf_counter=lambda: now[0]))

    def pool_map(each, part):
        taken.append(len(part))
        now[0] += cost * len(part)
        return [each(k) for k in part]

    done = []
    one = bare(Columns, stop=lambda: False, _judge=lambda: judged.append(now[0]))
    seen = [*one._spread(space(map=pool_map), list(range(100)), done.append)]
    assert done == [*range(100)]
    assert taken == parts
    assert len(seen) == len(judged) == pauses
    gaps = np.diff([0.0, *judged])
    assert (gaps > columns.EACH).all()


def test_no_more_than_so_many_columns_are_run_at_once(monkeypatch):
    taken = []
    put(monkeypatch, Columns._spread, time=space(perf_counter=lambda: 0.0))
    one = bare(Columns, stop=lambda: False, _judge=None)
    pool = space(map=lambda each, part: taken.append(len(part)) or [])
    assert [*one._spread(pool, list(range(600)), None)] == []
    assert taken == [8, 256, 256, 80]


@for_each("stops", [0, 3, 9])
def test_columns_that_are_stopped_are_not_run(monkeypatch, stops):
    """Not even those of a part that has begun."""
    done = []
    one = bare(Columns, stop=lambda: len(done) >= stops, _judge=lambda: None)
    pool = space(map=map)
    assert [*one._spread(pool, list(range(100)), done.append)] == []
    assert done == [*range(stops)]


@for_each(("most", "chunk"), [(3, 1), (4, 1), (9, 2), (40, 10)])
def test_points_are_added_in_four_parts(most, chunk):
    wanted = []
    one = bare(Columns, asked=space(most=most, asking=lambda *given: wanted.append(given)), code=np.zeros(0), repeats=np.zeros(0, bool), found=np.zeros(0))  # fmt: skip
    assert [*one.extended(None)] == []
    assert wanted == [(chunk, 0, chunk)]


def test_a_part_of_added_points_is_shown_on_the_way():
    """By what is complete: the first part is none yet."""
    one = bare(Columns, asked=space(most=8, asking=lambda *given: None), stop=lambda: False, code=np.zeros(1), repeats=np.zeros(1, bool), found=np.ones(1), _more="more",
               _judge=lambda: None, _spread=lambda pool, some, each: iter([None]) if (pool, some, each) == ("pool", [0], "more") else None)  # fmt: skip
    assert [*one.extended("pool")] == [0.0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1.0]


@for_each(("follow", "k", "place"), [("up", 1, 0), ("up", 8, 0), ("up", 9, None), ("down", 8, 9), ("down", 1, 9), ("down", 0, None), ("down", 9, None), ("up", 0, None), ("none", 1, None)])  # fmt: skip
def test_a_column_is_followed_from_up_to_eight_columns_away(follow, k, place):
    """Here the first one and the last one have ended somewhere."""
    ends = ["first", *[None] * 8, "last"]
    one = bare(Columns, asked=space(follow=follow), ends=ends)
    assert one._neighbour(k) == (None if place is None else ends[place])


@for_each("size", [1e-6, 1.0, 1e6])
def test_points_repeat_in_parts_of_the_size_of_the_diagram(size):
    """A state that stays has none of its own."""
    points = np.zeros((2, 6, 2))
    points[0, :, 0] = size * np.tile([0.0, 1.0], 3)
    points[1, :, 0] = size * np.linspace(0.2, 0.9, 6)
    points[:, :, 1] = 7.0
    one = bare(Columns, points=points, found=np.array([6, 6]), code=np.zeros(2, int), period=np.full(2, -9), repeats=np.zeros(2, bool))  # fmt: skip
    one._judge()
    assert one.period.tolist() == [2, 0]
    assert one.repeats.tolist() == [True, False]
