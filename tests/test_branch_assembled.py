"""A branch is put together from both directions of a trace; how it and its points are read."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

from explorer.errors import BadValue
from explorer.study import branch
from explorer.study.branch import Branch, BranchPoint, _padded, _Reader, _stacked, assembled
from explorer.study.cycles import Cycle, Cycles
from explorer.study.equilibria import Equilibria, Rest
from explorer.study.map_cycles import Orbit
from explorer.study.trace import Special, Traced

SCALE = np.array([2.0, 4.0, 10.0])


def rest(p, *mu, across=()):
    """Return an equilibrium at the scaled parameter p, with these eigenvalues."""
    data = Rest(np.array(mu, complex), np.array(across))
    at = space(data=data, size=p / 8, sequence=(("s", round(p)),))
    return space(w=np.array([p + 0.25, -p, p]), p=p, at=at)


def problem():
    kind = type("Own", (Equilibria,), {"state": lambda self, u: u[:2]})
    system = space(_state_names=lambda: ["x", "y"], name="m", parameters={"q": space(unit="N")})
    return bare(kind, scale=SCALE, system=system, parameter="q")


def special(kind, node, p, error=0.5, name=""):
    return Special(kind, np.array([p, p / 2, p]), 0.125, error, node, name)


# ---------------------------------------------------------------- both directions


def test_a_branch_runs_from_the_last_point_down_to_the_last_one_up():
    """The start, which both directions have, is one point; pieces stay apart."""
    start = rest(3.0, -1, -2)
    down = [start, rest(2.0, -3)], [rest(1.0, -1 + 2j, -1 - 2j, 5)], [rest(0.0, -1)]
    up = [start, rest(4.0, 7)], [rest(5.0), rest(6.0, -1)]
    back = Traced([*map(list, down)], [special("fold", down[0][1], 2.25), special("Hopf", down[1][0], 1.5)], "down")  # fmt: skip
    forth = Traced([*map(list, up)], [special("boundary", up[0][1], 3.75, 0.25, "s")], "up")
    one = assembled(problem(), back, forth, "options", "section")
    assert one.values.tolist() == [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    assert one.x.tolist() == [[2 * (p + 0.25), -4 * p] for p in range(7)]
    assert one.piece.tolist() == [0, 1, 2, 2, 2, 3, 3]
    assert one.residual.tolist() == [p / 8 for p in range(7)]
    assert one.sequences == tuple((("s", p),) for p in range(7))
    assert one.stable.tolist() == [True, False, True, True, False, True, True]
    assert np.isnan(one.period).all()
    assert one.multipliers.shape == (7, 3)
    np.testing.assert_array_equal(one.multipliers[1], [-1 + 2j, -1 - 2j, 5])
    np.testing.assert_array_equal(one.multipliers[3, :2], [-1, -2])
    assert np.isnan(one.multipliers).sum(axis=1).tolist() == [2, 0, 2, 1, 2, 3, 2]
    np.testing.assert_array_equal(one.returns, one.x[:, None])
    assert [(point.kind, point.parameter, point.name) for point in one.points] == [("Hopf", 15.0, ""), ("fold", 22.5, ""), ("boundary", 37.5, "s")]  # fmt: skip
    assert one.ends == ("down", "up")
    assert (one.parameter, one.kind, one.states, one.section, one.options) == ("q", "equilibria", ("x", "y"), "section", "options")  # fmt: skip
    assert len(one) == 7
    fold = one.points[1]
    assert fold.x.tolist() == [4.5, -8.0]
    assert (fold.test, fold.error, fold.node) == (0.125, 5.0, down[0][1])
    assert fold.multipliers.tolist() == [-3]
    assert np.isnan(fold.period)
    assert fold.returns.tolist() == [[4.5, -8.0]]
    assert len(back.pieces[0]) == len(forth.pieces[0]) == 2  # they stay as they are


@for_each(("ends", "told"), [(None, ("start", "up")), (("flip", "why"), ("flip", "why"))])
def test_a_branch_in_one_direction_begins_at_its_start(ends, told):
    nodes = [rest(3.0, -1), rest(4.0, -1)], [rest(5.0, -1)]
    forth = Traced([*map(list, nodes)], [special("fold", nodes[1][0], 4.5)], "up")
    one = assembled(problem(), None, forth, "options", None, ends)
    assert one.values.tolist() == [30.0, 40.0, 50.0]
    assert one.piece.tolist() == [0, 0, 1]
    assert one.ends == told
    assert [point.kind for point in one.points] == ["fold"]
    assert one.points[0].x.tolist() == [9.0, 9.0]  # without a section that of its own unknowns
    assert len(forth.pieces[0]) == 2


def test_cycles_of_two_points_are_turned_and_fixed_points_stay():
    two = np.array([[0.0, 1.0], [4.0, 3.0]])
    found = _stacked([two, two[::-1] + 0.5, two[:1], two[1:]])
    np.testing.assert_array_equal(found[1], two + 0.5)
    assert found[2, 0].tolist() == [0.0, 1.0]
    assert found[3, 0].tolist() == [4.0, 3.0]
    assert np.isnan(found[2:, 1]).all()


def test_rows_of_several_lengths_are_padded():
    found = _padded([np.array([1.0, 2.0]), np.array([]), np.array([3.0, 4.0, 5.0])])
    np.testing.assert_array_equal(found, [[1, 2, np.nan], [np.nan] * 3, [3, 4, 5]])
    assert found.dtype == complex
    assert _padded([]).shape == (0, 0)


# ---------------------------------------------------------------- points


def hit(x, contact="g", kind="impact"):
    return space(contact=contact, kind=kind, x_plus=np.array([x, -x]))


def cycle_at(p, *located, T=6.0, sample=None):
    cycle = bare(Cycle, run=space(located=[*located], march=space(sample=sample)), T=T, multipliers=np.array([0.5]))  # fmt: skip
    return space(w=np.array([p, 2 * p, p]), p=p, at=space(data=cycle))


@for_each("near", [1, 2])
def test_a_point_of_a_cycle_is_read_at_the_event_that_the_nearest_node_has(near):
    """Nearness is that of all scaled unknowns together."""
    nodes = [cycle_at(1.0), cycle_at(2.0), cycle_at(3.0)]
    node = cycle_at(near + 1.1, hit(1.0), hit(7.0))
    x = np.array([[0.0, 0.0], [1.5, -1.5], [6.0, -6.0]])
    kind = type("Own", (Cycles,), {"state": lambda self, u: u[:2]})
    reader = _Reader(bare(kind, scale=SCALE), "g")
    found = branch._point(reader.problem, reader, special("fold", node, 2.5), nodes, x)
    assert found.x.tolist() == ([1.0, -1.0] if near == 1 else [7.0, -7.0])
    assert (found.period, found.parameter) == (6.0, 25.0)
    assert found.returns.tolist() == [[1.0, -1.0], [7.0, -7.0]]
    reader = _Reader(reader.problem, None)
    later = np.array([[8.0, 9.0, 99.0]])
    node.at.data.run.march.sample = lambda t, slopes: (later[: len(t)],)
    reader.problem.count = 2
    found = branch._point(reader.problem, reader, special("fold", node, 2.5), nodes, x)
    assert found.x.tolist() == [5.0, 5.0]  # that of its own unknowns


@for_each("count", [1, 2, 4])
def test_a_forced_cycle_is_seen_once_in_each_period(count):
    """At its start, and after each of the equal parts of its period."""
    asked = []

    def sample(t, slopes):
        asked.append((t.tolist(), slopes))
        return np.column_stack([t, -t, np.full(len(t), 99.0)]), None

    kind = type("Own", (Cycles,), {"state": lambda self, u: u[:2]})
    reader = _Reader(bare(kind, scale=SCALE, count=count), None)
    found = reader.returns(cycle_at(1.0, sample=sample))
    later = [6.0 * k / count for k in range(1, count)]
    assert asked == [(later, False)]
    assert found.tolist() == [[2.0, 8.0], *([t, -t] for t in later)]


def test_events_that_are_released_are_no_hits_and_maps_have_their_own_points():
    cycle = cycle_at(1.0, hit(1.0), hit(2.0, kind="released"), hit(3.0, "other"), hit(4.0)).at.data
    reader = _Reader(space(scale=SCALE, state=lambda u: u[:2]), "g")
    assert [x[0] for x in reader._hits(cycle)] == [1.0, 4.0]
    points = np.array([[1.0, 2.0], [3.0, 4.0]])
    node = space(w=np.ones(3), at=space(data=bare(Orbit, points=points)))
    assert reader.returns(node) is points
    assert reader.state(node).tolist() == [2.0, 4.0]


# ---------------------------------------------------------------- what a branch tells


def point(kind, parameter=2.5):
    none = np.zeros(1)
    return BranchPoint(kind, parameter, none, 1.0, none, 0.0, 0.0, "", none, None)


def made(**own):
    system = space(name="m", parameters={"q": space(unit="N")})
    given = {"values": np.array([3.0, 1.0, 2.0]), "stable": np.array([True, False, True]), "points": (), "parameter": "q", "kind": "cycles", "system": system,
             "ends": ("one", "two"), "states": ("x", "y"), "x": np.arange(6.0).reshape(3, 2)}  # fmt: skip
    return bare(Branch, **given | own)


def test_a_branch_tells_its_range_and_its_points():
    assert repr(made()) == "Branch of cycles of 'm', q = 1 to 3: 3 points, 2 stable; ends: one; two"
    one = made(points=(point("fold"), point("flip", 2.75)))
    assert "; fold at 2.5 N, flip at 2.75 N; ends: one; two" in repr(one)
    assert one.found("flip") == one.points[1:]
    assert one.found("Hopf") == ()
    assert one.state("y").tolist() == [1.0, 3.0, 5.0]
    with pytest.raises(BadValue, match="no state 'z'"):
        one.state("z")


@for_each(("size", "there"), [(0.51, True), (0.5, False), (-0.51, True), (-0.49, False)])
def test_a_doubled_cycle_is_another_one_if_it_lies_half_a_step_away(monkeypatch, size, there):
    way = np.array([0.0, 1.0, 0.0])
    step = 2.0**-10
    monkeypatch.setattr(branch, "_LEAVE", (step,))
    put(monkeypatch, Branch.switch, correct=lambda problem, guess, plane, tol: (space(w=np.array([5.0, size * step, 7.0])), 1),
        trace=lambda problem, node, options: space(reason="over"), assembled=lambda *given: given[-1], dataclasses=space(replace=lambda one, h: h))  # fmt: skip
    own = space(doubled=lambda node: ("doubled", np.zeros(3), way))
    one = made(problem=own, points=(point("fold"), point("flip")), options=space(tol=1e-9), section=None)  # fmt: skip
    object.__setattr__(one.points[1], "node", "node")
    if there:
        assert one.switch() == ("flip", "over")
    else:
        with pytest.raises(BadValue, match=r"beside the flip at q = 2\.5"):
            one.switch()
