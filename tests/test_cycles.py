"""Problems of cycles and of their bifurcations, and columns of diagrams, each part by itself."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import (
    curve_problems,
    cycles,
    map_cycles,
    sharpening,
)
from explorer.study.attractors import _drawn
from explorer.study.curve_problems import Curve
from explorer.study.section import Section

COVERS = ("study/map_cycles.py",)  # see mutant_rooms.py

# ---------------------------------------------------------------- problems of cycles, columns


def cycling(period, count=1, **more):
    """Return a problem of cycles over b of two parameters, of two states."""
    system = bare(type("Own", (ex.HybridSystem,), {"constraints": (), "drive": None}), name="m", parameters={"a": 1, "b": 2}, time_unit="s")  # fmt: skip
    object.__setattr__(system, "symbols", lambda state: {"a": sp.Symbol("a"), "b": sp.Symbol("b")})
    one = bare(cycles.Cycles, system=system, parameter="b", rho=np.array([3.0, 5.0]), place=1, count=count, n=2, **more)  # fmt: skip
    one.period, one._by_p = one._formulas(period)
    return one


@for_each("count", [1, 3])
def test_the_period_of_a_forced_cycle_is_that_of_its_parameters(monkeypatch, count):
    """T = count (a + b^2), which moves by 2 count b; without a formula it is unknown."""
    monkeypatch.setattr(cycles, "check_period", lambda *given: None)
    one = cycling("a + b**2", count)
    assert one.first(cycles.Shot(np.array([7.0, 8.0]), 9.0)).tolist() == [7.0, 8.0, 5.0]
    x, T = one._split(np.array([7.0, 8.0, 2.0]))
    assert (x.tolist(), T, one.rho.tolist()) == ([7.0, 8.0], count * 7.0, [3.0, 2.0])
    assert one._of_rho(one._by_p) == count * 4.0
    assert not one.autonomous
    free = cycling(None, count)
    assert (free.autonomous, free._by_p) == (True, None)
    assert free.first(cycles.Shot(np.array([7.0, 8.0]), 9.0)).tolist() == [7.0, 8.0, 9.0, 5.0]
    x, T = free._split(np.array([7.0, 8.0, 6.0, 2.0]))
    assert (x.tolist(), T, free.rho[1]) == ([7.0, 8.0], 6.0, 2.0)
    assert free.state(np.array([7.0, 8.0, 6.0, 2.0])).tolist() == [7.0, 8.0]
    for T in (0.0, -1.0):
        with pytest.raises(BadValue, match="is not positive"):
            free._split(np.array([7.0, 8.0, T, 2.0]))
    names = {"hit wall": ("grazing", "wall"), "miss a b": ("grazing", "a b"), "spacing": ("corner", ""), "phase": ("phase", ""), "edge": ("grazing", "")}  # fmt: skip
    assert {key: one.at_margin(key) for key in names} == names


@for_each(("mode", "to", "agrees", "why"), [
    (0, ["b", "a"], True, None), (0, [], True, None), (0, ["a", "b"], True, "ends in another mode, 'b'"), (-1, ["b"], True, None), (0, [], False, "Other contacts of 'm' are held"),
])  # fmt: skip
def test_a_cycle_ends_in_the_mode_of_its_begin(mode, to, agrees, why):
    held = space(agrees=lambda run: agrees)
    one = cycling(None, mode=mode, held=held)
    type(one.system).modes = [space(name="a"), space(name="b")]
    run = space(located=[space(to=name) for name in to])
    if why is None:
        one._check_begin(run)
    else:
        with pytest.raises(BadValue, match=why):
            one._check_begin(run)


@for_each(("multipliers", "stable"), [([0.9, -0.9], True), ([0.6 + 0.7j, 0.6 - 0.7j], True), ([0.5, -1.1], False), ([1.0, 0.0], False), ([], True)])  # fmt: skip
def test_a_cycle_is_stable_if_its_multipliers_lie_in_the_unit_circle(multipliers, stable):
    own = bare(cycles.Cycle, multipliers=np.array(multipliers))
    assert bare(cycles.Cycles).stable(space(at=space(data=own))) == stable


@dataclasses.dataclass
class Asks:
    """What a diagram asks for."""

    t_end: float
    transient: float
    section: object


@for_each(("driven", "discrete", "phase", "t_end", "transient", "most"), [
    (True, False, 0.0, 12.0, 7.0, 5), (True, False, 0.25, 14.0, 7.0, 5), (True, True, 0.0, 12.0, 8.0, 5), (False, False, 0.0, 12.0, 6.0, 10),
])  # fmt: skip
def test_columns_take_whole_returns_and_leave_the_first_ones_out(driven, discrete, phase, t_end, transient, most):  # fmt: skip
    """Of returns of 2 s each: six, of which three settle. At events twice the room is taken."""
    returns = space(driven=driven, section=Section(period=2.0, phase=phase), span=lambda count: 2.0 * count)  # fmt: skip
    system = space(discrete=discrete)
    one = bare(sharpening.Sharpening, returns=returns, system=system, question=Asks(9.0, 0.0, None))
    found = one.asking(6, 3, 5)
    assert (found.t_end, found.transient, found.section.most) == (t_end, transient, most)


@for_each("own", [True, False])
def test_a_column_settles_from_a_start_that_is_given_or_its_own(monkeypatch, own):
    asked, codes = [], [0, 4]

    @dataclasses.dataclass
    class Settle:
        axes: object

        def run(self, first, last, begin):
            asked.append((self.axes, first, last, begin))
            return space(code=[codes.pop(0)], end=np.array([[7.0, 8.0]]), mode=np.array([3]), t=[0.5])  # fmt: skip

    monkeypatch.setattr(sharpening.Axes, "of", lambda system, over: over)
    one = bare(sharpening.Sharpening, system=space(name="m"), by="b", begin="usual", settle=Settle(None))  # fmt: skip
    x, mode = one.settled(2.5, "given" if own else None)
    assert (x.tolist(), mode) == ([7.0, 8.0], 3)
    assert asked == [({"b": [2.5]}, 0, 1, "given" if own else "usual")]
    with pytest.raises(BadValue, match="the run of 'm' ends at t = "):
        one.settled(2.5)


def test_a_span_of_returns_is_that_of_the_parameter():
    system = space(parameters=("a", "b"), symbols=lambda state: {"a": sp.Symbol("a"), "b": sp.Symbol("b")})  # fmt: skip
    one = bare(sharpening.Sharpening, question=space(rho=(3.0, 5.0)), system=system, by="b", returns=space(each="a + 2*b"))  # fmt: skip
    assert one.span(7.0, 4) == 4 * 17.0


class Pieces:
    """What is known of the pieces of a run between its events, and which are clear."""

    def __init__(self, pieces, clear):
        self.pieces, self.free = pieces, clear

    def segments(self, run, mode):
        return [*self.pieces]

    def clear(self, run, t, mode):
        return (t, mode) in self.free


@for_each(("pieces", "clear", "told"), [
    ([(0.0, 1.0, 4), (1.0, 3.0, 5), (3.0, 3.5, 6)], {(0.5, 4), (2.0, 5)}, (2.0, 5)), ([(0.0, 1.0, 4), (1.0, 3.0, 5), (3.0, 3.5, 6)], {(0.5, 4), (3.25, 6)}, (0.5, 4)),
    ([(0.0, 1.0, 4), (1.0, 3.0, 5)], set(), (2.0, 5)),
])  # fmt: skip
def test_a_cycle_begins_anew_in_the_middle_of_its_longest_clear_piece(pieces, clear, told):
    """With its derivatives there; on a surface if there is no other place."""
    sample = lambda t, slopes: (np.array([[10 * t[0], 20 * t[0], 9.0]]), None, None)  # noqa: E731
    slopes = lambda t: np.full((1, 3, 4), t[0])  # noqa: E731
    run = space(march=space(sample=sample, slopes_at=slopes, wrt=(1, 2), t_last=3.5))
    kind = type("Turning", (cycles.Cycles,), {"_holds": False})
    one = bare(kind, n=2, misses=Pieces(pieces, clear))
    shot, S = one.middle(run, 7)
    assert (shot.x.tolist(), shot.T, shot.mode) == ([10 * told[0], 20 * told[0]], 3.5, told[1])
    assert S.tolist() == np.full((2, 4), told[0]).tolist()
    run.march.wrt = ()
    assert one.middle(run, 7)[1].shape == (2, 0)
    assert one.clear(run, 7) == bool(clear)
    kind._holds = True
    assert one.clear(run, 7)
    one.misses.free = set()
    assert one.clear(run, 7)


@for_each(("observed", "told"), [
    ([(0, 8.0, 4), (0, 3.0, 3), (0, 12.0, 3)], 2.0), ([(5, 8.0, 4), (0, 3.0, 3), (0, 9.0, 0)], 1.0), ([(0, 8.0, 4), (0, 3.0, 3), (5, 9.0, 3)], 1.5), ([(5, 8.0, 4), (0, 3.0, 0), (6, 9.0, 3)], None),
])  # fmt: skip
def test_a_return_to_an_event_lasts_as_long_as_those_of_three_runs(observed, told):
    """At both ends of the parameter and in its middle; the median of those that meet the event."""
    asked = []

    @dataclasses.dataclass
    class Pilot:
        section: object
        axes: object = dataclasses.field(default_factory=lambda: space(axes=[space(values=np.zeros(9))]))  # fmt: skip
        system: object = dataclasses.field(default_factory=lambda: space(name="m", t_end=99.0))

        def run(self, first, last):
            asked.append((self.section, first, last))
            code, t, found = observed[len(asked) - 1]
            return space(code=[code], t=[t], found=[found])

    section = Section(event="stop")
    if told is None:
        with pytest.raises(BadValue, match="does not meet the section 'stop' up to t = 99"):
            sharpening._returns(Pilot(None), section)
    else:
        found = sharpening._returns(Pilot(None), section)
        assert (found.section, float(found.each), found.driven) == (section, told, False)
    assert asked == [(section, 0, 1), (section, 4, 5), (section, 8, 9)]
    driven = sharpening._returns(None, Section(period="2*a"))
    assert (driven.each, driven.driven) == ("2*a", True)


@for_each(("x", "branch", "told"), [
    ((5.0, 0.25), 0, (0.25, [0.0, 1.0])), ((0.5, 9.0), 0, (0.5, [1.0, 0.0])), ((-3.0, 9.0), 1, (1.0, [1.0, 0.0])), ((-0.5, 9.0), 1, (0.5, [-1.0, 0.0])),
    ((-9.0, -1.0), 1, (-5.0, [1.0, 0.0])), ((1.0, -2.0), 1, (2.0, [0.0, -1.0])),
])  # fmt: skip
def test_a_border_of_a_branch_is_its_own_or_that_of_one_before_it(x, branch, told):
    """The first holds where x > 0 and y > 0; the second, behind it, where x + 4 > 0."""

    def borders(inp):
        assert (inp[0], inp[3]) == (0.0, 7.0)
        _, x, y, _ = inp
        return np.array([x, y, x + 4, 1, 0, 0, 1, 1, 0], float)

    compiled = space(borders=type("Native", (), {"size": 9, "__call__": lambda self, inp: borders(inp)})(), n_x=2,
                     input=lambda rho: np.array([0.0, 0.0, 0.0, *rho]), system=space(branches=[space(when=[1, 1]), space(when=[1])]))  # fmt: skip
    best, gradient = map_cycles._margin(compiled, np.array(x), np.array([7.0]), branch)
    assert (best, gradient.tolist()) == told
    values, slopes = map_cycles._conditions(compiled, np.array(x), np.array([7.0]))
    assert [v.tolist() for v in values] == [[*x], [x[0] + 4]]
    assert [v.tolist() for v in slopes] == [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]]]
    if best > 0:
        assert map_cycles._branch_of(compiled, np.array(x), np.array([7.0])) == branch


@for_each(("over", "told"), [({"q0.x": (0, 1)}, True), ({}, True), ({3: (0, 1)}, False), ({"a": 1, 3: 2}, False), ([("a", 1)], False), (["a"], False)])  # fmt: skip
def test_starts_are_drawn_by_their_names(over, told):
    assert _drawn(over) == told


@for_each(("margin", "missing", "other", "told"), [
    (False, (), (), (1, -1)), (True, (), (), (1, 0)), (True, (1,), (), (-1, 0)), (True, (), (1,), (-1, 0)), (True, (1, -1), (), None), (True, (), (1, -1), None),
])  # fmt: skip
def test_a_slope_is_taken_where_the_same_events_happen(margin, missing, other, told):
    """On both sides of a test function; of a margin on that side where it grows, if it is one."""
    step, scale, slope = curve_problems._STEP, np.array([2.0, 5.0]), 3.0
    u = np.array([1.0, 4.0])

    def at(place):
        side = round((place - u)[1] / (step * scale[1]))
        if side in missing:
            raise BadValue("none")
        return space(sequence=("b" if side in other else "a",), side=side), slope * side * step * scale[1]  # fmt: skip

    kind = type("Own", (Curve,), {"_at": staticmethod(at), "scale": scale, "margin": margin})
    one, here = bare(kind), space(sequence=("a",), side=0)
    if told is None:
        with pytest.raises(BadValue, match="none with the same events"):
            one._beside(u, here, 0.0, 1)
        return
    (a, more), (b, less), width = one._beside(u, here, 0.0, 1)
    assert (a.side, b.side) == told
    assert (more - less) / width == pytest.approx(slope)


@for_each(("grows", "side"), [(3.0, 1), (-3.0, -1)])
def test_a_margin_is_differentiated_towards_where_it_grows(grows, side):
    asked = []
    own = {"_at": lambda self, u: asked.append(u[0]) or (space(sequence=()), grows * u[0]), "scale": np.ones(1), "margin": True}  # fmt: skip
    (_, more), (_, less), width = bare(type("Own", (Curve,), own))._beside(np.zeros(1), space(sequence=()), 0.0, 0)  # fmt: skip
    assert np.sign(width) == side
    assert (more - less) / width == pytest.approx(grows)
    assert len(asked) == (1 if side == 1 else 2)


@for_each(("reach", "levels"), [(1e3, [1e-4]), (10.5, [1e-4, 1e-3, 1e-4]), (0.5, None)])
def test_a_level_that_is_too_far_is_reached_by_smaller_steps(monkeypatch, reach, levels):
    """From 1e-2 to 1e-4: the geometric mean is tried where Newton's method does not get there."""
    asked, one = [], bare(Curve, level=9.0)

    def correct(problem, w, plane, tol):
        asked.append(one.level)
        return (space(w=one.level), 3) if w / one.level <= reach else None

    monkeypatch.setattr(curve_problems, "correct", correct)
    found = one._nearer(space(w=1e-2), "plane", 1e-9, 1e-2, 1e-4)
    if levels is None:
        assert found is None
        assert len(asked) == curve_problems._HALVINGS
        assert all(1e-4 <= level < 1e-2 for level in asked)
        assert asked == sorted(asked)
        return
    assert found.w == pytest.approx(1e-4)
    assert asked == pytest.approx(levels)


@for_each(
    ("margin", "tangent"),
    [(False, (1.0, 0.0, 0.0)), (True, (0.99, 0.1, 0.05)), (True, (0.6, 0.0, 0.8))],
)
def test_a_bifurcation_is_extrapolated_from_levels_that_come_near(margin, tangent):
    """w = (2, 3, 5) + (7, 8, 0) s + (1, 0, 0) s^2 at the level s; what gets no nearer is left out."""
    planes, tangent = [], np.array(tangent)

    def w(level):
        return np.array([2 + 7 * level + level**2, 3 + 8 * level, 5.0])

    def nearer(self, node, plane, tol, before, level):
        planes.append(plane.tolist())
        assert node.level == before
        return None if node.lost and level == curve_problems._FINER[-1] else space(w=w(level), level=level, lost=node.lost)  # fmt: skip

    level = curve_problems._LEVEL
    nodes = [space(w=w(level), level=level, lost=lost, tangent=tangent) for lost in (False, True, False)]  # fmt: skip
    one = bare(type("Own", (Curve,), {"_nearer": nearer, "margin": margin, "scale": np.ones(3)}), level=9.0)  # fmt: skip
    found, ends = one.finish(nodes, 1e-9)
    if not margin:
        assert found == nodes
        assert ends.tolist() == [node.w.tolist() for node in nodes]
        return
    assert [node.level for node in found] == [curve_problems._FINER[-1]] * 2
    np.testing.assert_allclose(ends, [[2.0, 3.0, 5.0]] * 2, rtol=1e-12)
    assert one.level == level
    flat = [0.0, 0.0, 1.0]
    assert planes == [flat if tangent[-1] > 0.1 else tangent.tolist()] * len(planes)
    assert one.finish([], 1e-9)[1].shape == (0, 3)
