"""The equation that a curve of bifurcations adds, for each kind of problem, and where it begins."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

from explorer.errors import NotApplicable
from explorer.study import curve_problems
from explorer.study.curve_problems import Curve, _sides, _spacing, _sums
from explorer.study.cycles import Cycle, Cycles
from explorer.study.equilibria import Equilibria
from explorer.study.map_cycles import MapCycles

SCALE = np.array([2.0, 5.0, 4.0])


def cycles(autonomous=False, **own):
    """Return a problem of cycles with two states that is told where cycles begin."""
    kind = type("Own", (Cycles,), {"autonomous": autonomous, "begin_as": lambda self, cycle: self.began.append(cycle)})  # fmt: skip
    given = {"scale": SCALE, "n": 2, "began": [], "system": space(parameters=("p", "q", "r")), "wide": np.array([0.3, 7.0]), "rho": np.zeros(3)}  # fmt: skip
    return bare(kind, **given | own)


def cycle_node(w=(1.0, 2.0, 3.0), sequence="ab", rate=(6.0, 7.0), **margins):
    """Return a node with a cycle, whose rates at the start are known."""
    asked = np.array([*rate, 99.0])

    def sample(t, slopes):
        assert (t.tolist(), slopes) == ([0.0], False)
        return None, np.array([asked, -asked])

    cycle = bare(Cycle, run=space(march=space(sample=sample)))
    at = space(data=cycle, margins=margins, sequence=tuple(sequence), jacobian=np.ones((2, 3)))
    return space(w=np.array(w), at=at)


def begun(base, kind, node, name="", **own):
    """Return a curve from a point of a branch; `q` is its second parameter."""
    branch = space(problem=base, options=space(low=0.0, high=1.0))
    point = space(kind=kind, name=name, node=node, parameter=8.0)
    return Curve(branch, point, "q", 10.0)


# ---------------------------------------------------------------- where it begins


def test_a_curve_has_the_unknowns_of_its_branch_and_one_more():
    base, node = cycles(), cycle_node()
    one = begun(base, "flip", node)
    assert one.scale.tolist() == [2.0, 5.0, 4.0, 10.0]
    assert (one.n, one.place, one.kind, one.parameter) == (2, 1, "flip", "q")
    assert (one.level, one.margin, one.unit, one.nearest) == (0.0, "", 1.0, 0)
    assert one.w.tolist() == [1.0, 2.0, 3.0]
    assert one.w is not node.w
    assert base.began == [node.at.data]
    assert not hasattr(base, "anchor")


def test_an_autonomous_cycle_keeps_the_phase_of_its_start():
    """The state there, in its units, and x' of as many states."""
    base = cycles(autonomous=True)
    begun(base, "flip", cycle_node())
    assert base.anchor.tolist() == [2.0, 10.0]
    assert base.along.tolist() == [6.0, 7.0]


@for_each(("kind", "name", "told"), [("grazing", "g", True), ("sliding", "g", True), ("corner", "", False), ("sliding", "h", False)])  # fmt: skip
def test_a_curve_without_cycles_behind_it_runs_just_before_it(monkeypatch, kind, name, told):
    """At the distance of the guard, in parts of the widest state; or of two events, of the period."""
    base = cycles()
    point = cycle_node(**{"miss g": 0.5})
    outside = cycle_node(w=(0.5, 0.25, 0.125), **{"miss g": 0.7})
    close = cycle_node(w=(9.0, 8.0, 7.0), spacing=0.5 * curve_problems._CLOSE)
    monkeypatch.setattr(curve_problems, "from_outside", lambda *given: (given, outside, "error"))
    monkeypatch.setattr(curve_problems, "_sides", lambda *given: iter([point, close]))
    one = begun(base, kind, point, name)
    assert one.level == curve_problems._LEVEL
    assert base.began == [(outside if told else close).at.data]
    assert one.w.tolist() == (outside if told else close).w.tolist()
    assert (one.margin, one.unit) == (("miss g", 7.0) if told else ("spacing", 1.0))
    at = space(margins={"miss g": 2.1, "spacing": 0.3})
    assert one.test(None, at) == pytest.approx(0.3)
    if not told:
        monkeypatch.setattr(curve_problems, "_CLOSE", 0.5 * curve_problems._CLOSE)  # not below it
        with pytest.raises(NotApplicable, match=f"This {kind} is neither a touch nor two events"):
            begun(base, kind, point, name)


def test_events_of_a_cycle_without_a_spacing_are_far_apart():
    assert _spacing(cycle_node(spacing=0.25)) == 0.25
    assert _spacing(cycle_node()) == np.inf


@for_each("found", [(), (0,), (1,), (0, 1, 6), (2, 3, 7), tuple(range(8))])
def test_cycles_on_both_sides_of_a_change_have_other_events(monkeypatch, found):
    """Farther and farther away, first above: those with the same events are no other ones."""
    base, point = cycles(), cycle_node(sequence="ab")
    asked = []

    def correct(problem, guess, plane, tol):
        assert (problem, plane.tolist(), tol) == (base, [0.0, 0.0, 1.0], curve_problems._TOL)
        k = len(asked)
        asked.append(guess)
        if k not in found:
            return None if k % 2 else (cycle_node(sequence="ab"), 1)
        return cycle_node(sequence="ba", w=(k, k, k)), 1

    monkeypatch.setattr(curve_problems, "correct", correct)
    first, *others = _sides(base, space(node=point, parameter=8.0))
    assert first is point
    assert [int(node.w[0]) for node in others] == [*found]
    assert base.began == [point.at.data]
    sizes = [s * size for size in curve_problems._BESIDE for s in (1, -1)]
    np.testing.assert_allclose(asked, [[1.0, 2.0, 2.0 + size] for size in sizes], rtol=1e-12)
    assert point.w.tolist() == [1.0, 2.0, 3.0]


# ---------------------------------------------------------------- the added equation


MU = np.array([0.5 + 0.25j, 0.5 - 0.25j, -3.0])


@for_each(("kind", "value"), [
    ("flip", (2.25 + 0.0625) * -2), ("Neimark-Sacker", (0.3125 - 1) * abs(-1.5 + 0.75j - 1) ** 2), ("Hopf", 1.0 * abs(-2.5 + 0.25j) ** 2),
])  # fmt: skip
def test_multipliers_of_maps_and_equilibria_make_an_equation(kind, value):
    """prod (1 + mu), prod (mu_i mu_j - 1) and prod (mu_i + mu_j) over all pairs."""
    for base in (bare(MapCycles), bare(Equilibria)):
        one = bare(Curve, base=base, kind=kind, margin="")
        test = one._test(space(node=cycle_node()))
        assert test(None, space(data=space(multipliers=MU))) == pytest.approx(value)
    assert _sums(np.array([2.0, 3.0, 7.0])) == 5.0 * 9.0 * 10.0
    assert _sums(np.array([2.0])) == 1.0
    assert _sums(np.array([1.0 + 1j, 2.0])) == 3.0


@for_each("seed", [1, 2])
def test_a_flip_of_a_cycle_is_a_determinant_of_its_monodromy_matrix(seed):
    M = np.random.default_rng(seed).normal(size=(2, 2))
    one = begun(cycles(), "flip", cycle_node())
    found = one.test(None, space(data=space(monodromy=M)))
    assert found == pytest.approx(1 + np.trace(M) + np.linalg.det(M))


@for_each(("problem", "autonomous"), [("map", False), ("cycle", False), ("cycle", True)])
def test_a_fold_is_a_determinant_of_the_equations_in_their_scales(problem, autonomous):
    """Rows of a cycle have the scales of the states, and its phase condition 1; those of a map the largest entries at the point."""
    rng = np.random.default_rng(3)
    m = 3 if autonomous else 2
    scale = np.array([2.0, 5.0, 0.5, 4.0][: m + 1])
    J, there = rng.normal(size=(m, m + 1)), rng.normal(size=(m, m + 1))
    if problem == "map":
        base = bare(MapCycles, scale=scale)
        rows = np.abs(there * scale).max(axis=1)
    else:
        base = cycles(autonomous=autonomous, scale=scale)
        rows = np.array([2.0, 5.0, 1.0][:m])
    one = bare(Curve, base=base, kind="fold", margin="")
    test = one._test(space(node=space(at=space(jacobian=there))))
    wanted = np.linalg.det(J[:, :m] * scale[:m]) / np.prod(rows)
    assert test(None, space(jacobian=J)) == pytest.approx(wanted)


@for_each(("kind", "key"), [(MapCycles, 3), (Equilibria, "side 3")])
def test_a_border_is_where_the_distance_vanishes_that_is_least(kind, key):
    margins = {"side 1": 0.5, "side 3": -0.25, "low 2": 0.1}
    own = type("Own", (kind,), {"distance": lambda self, k, u: (k, u)})
    one = bare(Curve, base=bare(own), kind="boundary", margin="")
    test = one._test(space(node=space(at=space(margins=margins))))
    assert test("u", None) == (key, "u")
    assert one.nearest == 3


@for_each(("kind", "is_map", "told"), [("border collision", True, "behind"), ("border collision", False, False), ("fold", True, False)])  # fmt: skip
def test_only_a_map_has_another_branch_behind_its_border(kind, is_map, told):
    own = type("Own", (MapCycles if is_map else Equilibria,), {"pass_border": lambda self, k, w: "behind" if (k, w) == (2, "w") else None})  # fmt: skip
    assert bare(Curve, base=bare(own), kind=kind, nearest=2, w="w").other_side() == told


@for_each(("margin", "there", "fails"), [("", {}, False), ("miss g", {"miss g": 1.0}, False), ("miss g", {"hit g": 1.0}, True)])  # fmt: skip
def test_the_second_parameter_is_the_last_unknown(margin, there, fails):
    """Margins are evaluated where they make the equation, which holds at a level."""
    asked = []

    def evaluate(self, u, full):
        asked.append((u.tolist(), full, self._last, self.rho.tolist()))
        return space(margins=there)

    base = cycles(_last="run")
    type(base).evaluate = evaluate
    one = bare(Curve, base=base, place=1, margin=margin, level=0.25, test=lambda u, at: 10.0 * u[2])
    u = np.array([1.0, 2.0, 3.0, 4.0])
    if fails:
        with pytest.raises(curve_problems.BadValue, match="does not come near"):
            one._at(u)
        return
    at, value = one._at(u)
    assert (at.margins, value) == (there, 29.75)
    assert asked == [([1.0, 2.0, 3.0], bool(margin), None, [0.0, 4.0, 0.0])]
    one.base = space(evaluate=lambda u, full: space(margins=there), rho=np.zeros(3))
    one._at(u)
    assert one.base.rho.tolist() == [0.0, 4.0, 0.0]
    assert not hasattr(one.base, "_last")


def test_nothing_happens_on_a_curve_as_it_is_followed():
    one = bare(Curve)
    assert one.settled("node") is None
    assert one.beyond("here", "ended", "options") is None
    assert one.genuine("fold", "node") is False
    assert one.at_margin("miss g") == ("grazing", "miss g")


@for_each(("reason", "told"), [("first", True), ("never", False)])
def test_a_level_is_left_where_no_step_reaches_it(monkeypatch, reason, told):
    """Each step that fails is halved on a logarithmic scale, and those that remain are taken."""
    asked, one = [], bare(Curve, level=9.0)

    def correct(problem, w, plane, tol):
        asked.append((float(w), one.level))
        assert (problem, plane, tol) == (one, "plane", 1e-9)
        return (space(w=one.level), 3) if told and w / one.level < 101 else None

    put(monkeypatch, Curve._nearer, correct=correct)
    found = one._nearer(space(w=1.0), "plane", 1e-9, 1.0, 1e-4)
    if told:
        assert found.w == pytest.approx(1e-4)
        assert asked == [(1.0, 1e-4), (1.0, pytest.approx(1e-2)), (pytest.approx(1e-2), 1e-4)]
    else:
        assert found is None
        assert [level for _, level in asked] == pytest.approx([10.0 ** (-4 * 0.5**k) for k in range(12)])  # fmt: skip
