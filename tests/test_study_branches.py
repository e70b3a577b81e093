"""How studies choose and go on, each choice by itself: what they ask of others stands in for these."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import space

import explorer as ex
from explorer.derivatives import doubts
from explorer.errors import BadModel
from explorer.optimise.fit import _covariance
from explorer.study import columns, cycles, equilibria, orbits, parts, trace
from explorer.study.leading_terms import leading_terms
from explorer.study.recurrence import Recurrence
from explorer.study.search_attractors import seed_of

COVERS = ("study/parts.py",)  # see mutant_rooms.py


def bare(kind: type, /, **fields):
    """Return an object of a class that only has some attributes."""
    one = object.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(one, name, value)
    return one


@for_each(("fall", "step", "h", "asked"), [
    ({"x": 0.5, "y": 0.1}, 2.0, 1.5, ["x"]), ({"x": 0.5, "y": 0.5}, 0.5, 1.0, ["y", "x"]), ({"x": -0.5, "y": 0.0}, 0.5, 9.0, []),
    ({"x": 0.9, "y": 0.01, "edge": 0.9}, 0.1, 1.0, ["x", "y"]), ({"x": 0.9, "new": None}, 4.0, 1.0, []), ({"x": 1.0}, 3.0, 1.0, []),
])  # fmt: skip
def test_margins_that_fall_to_zero_within_three_steps_are_approached(
    monkeypatch, fall, step, h, asked
):
    """A margin m that falls by d on a way s is zero m s / d further on; the nearest comes first."""
    value = {"x": 1.0, "y": 0.25, "edge": 0.01, "new": 1e-9}
    a = space(w=np.zeros(2), at=space(margins={k: value[k] + d for k, d in fall.items() if d is not None}))  # fmt: skip
    b = space(w=np.array([0.6, 0.8]) * step, at=space(margins={k: value[k] for k in fall}))
    told: list[str] = []
    monkeypatch.setattr(trace, "approach", lambda problem, history, key, tol: told.append(key))
    options = space(tol=1e-9)
    assert trace._at_margin(None, [a, b], h, options, None) is None
    assert told == asked
    assert trace._at_margin(None, [b], h, options, None) is None
    assert told == asked  # of one point nothing is known


def test_points_are_added_to_a_column_as_long_as_there_is_room():
    diagram = bare(columns.Columns, points=np.full((3, 4, 1), np.nan), found=np.array([0, 3, 2]),
                   ends=[None] * 3, code=np.full(3, -9))  # fmt: skip
    seen = space(code=[0], points=np.arange(1.0, 6.0).reshape(1, 5, 1), found=np.array([3]),
                 end=[np.array([7.0])], mode=[2.0])  # fmt: skip
    for k in (0, 1):
        diagram._take(k, seen)
    assert diagram.found.tolist() == [3, 4, 2]
    assert diagram.points[0, :3, 0].tolist() == [1, 2, 3]
    assert np.isnan(diagram.points[0, 3, 0])
    assert diagram.points[1, 3, 0] == 1
    assert diagram.ends[1][0].tolist() == [7.0]
    assert diagram.ends[1][1] == 2
    diagram.found[2] = 0  # a walker that has fallen: nobody begins there
    diagram._take(2, space(**vars(seen) | {"found": np.array([0])}))
    assert (diagram.found[2], diagram.ends[2], diagram.code[2]) == (0, None, 0)
    diagram._take(1, space(code=[5]))
    assert (diagram.found[1], diagram.ends[1], diagram.code[1]) == (0, None, 5)
    assert np.isnan(diagram.points[1]).all()


@for_each(("follow", "k", "place"), [("none", 2, None), ("up", 2, 1), ("down", 2, 4), ("up", 0, None), ("down", 5, None),
                                    ("up", 1, None)])  # fmt: skip
def test_a_column_begins_where_its_neighbour_has_ended(follow, k, place):
    ends = [None, "b", None, None, "e", None]
    diagram = bare(columns.Columns, asked=space(follow=follow), ends=ends)
    assert diagram._neighbour(k) == (None if place is None else ends[place])


@for_each(
    ("off", "chosen"), [([], 1), ([2.0], 2), ([2.0, 5.5], 0), ([5.5, 8.5], 1), ([2.0, 5.5, 8.5], 1)]
)
def test_a_cycle_begins_in_the_middle_of_its_longest_piece(off, chosen):
    """Of those that are off all surfaces there; of all if none is."""
    pieces = [(1.0, 3.0, 7), (3.0, 8.0, 8), (8.0, 9.0, 9)]
    clear = {0.5 * (a + b): 0.5 * (a + b) not in off for a, b, _ in pieces}
    asked = []

    def is_clear(run, t, mode):
        asked.append((t, mode))
        return clear[t]

    march = space(sample=lambda t, slopes: [np.array([[t[0], 2.0, 99.0]])], t_last=9.0, wrt=(),
                  slopes_at=None)  # fmt: skip
    one = bare(
        cycles.Cycles,
        misses=space(segments=lambda run, mode: list(pieces), clear=is_clear),
        n=2,
        system=None,
    )
    order = [1, 0, 2]
    wanted = next((k for k in order if clear[0.5 * sum(pieces[k][:2])]), order[0])
    shot, slopes = one.middle(space(march=march), 4)
    begin, end, mode = pieces[wanted]
    assert shot.x.tolist() == [0.5 * (begin + end), 2.0]
    assert (shot.T, shot.mode, slopes.shape) == (9.0, mode, (2, 0))
    assert sorted(asked) == [(2.0, 7), (5.5, 8), (8.5, 9)]
    assert one.clear(space(march=march), 4) == any(clear.values())
    one.system = ex.MechanicalSystem("on its contacts", q="x")  # there a cycle may begin as well
    assert one.clear(space(march=march), 4)


def shown(points, period, code=None):
    points = np.asarray(points, float)[:, :, None]
    size = len(points)
    return bare(
        orbits.Orbits, states=("x",), values=np.arange(size), points=points, others=(),
        found=np.isfinite(points[..., 0]).sum(axis=1), period=np.array(period),
        code=np.zeros(size, int) if code is None else np.array(code),
    )  # fmt: skip


def test_starts_that_come_to_one_cycle_are_of_one_attractor():
    """Only the last points of those that repeat count: before them it has not come there yet."""
    nan, rest = np.nan, [0.0] * 5
    first = shown(
        [[-7.0, 9.0, 5.0, 1.0, 2.0], [-7.0, 1.0, 2.0, 1.0, 2.0], rest, rest],
        [2, 2, 1, 1],
        [0, 0, 0, 3],
    )
    second = shown(
        [[3.0, 0.0, 7.0, 2.0, 1.0], [3.0, 1.0, 2.1, 1.0, 2.1], [0.0, 0.0, 1.0, 0.0, 1.0], rest],
        [2, 2, 2, 1],
    )
    third = shown(
        [[8.0, 1.0, 2.0, 8.0, 9.0], [8.0, 2.0, 1.0, 2.0, 1.0], [nan] * 5, rest], [2, 2, 0, 1]
    )
    object.__setattr__(first, "others", (second, third))
    assert first.attractors().tolist() == [[0, 0, 0, -1], [0, 1, 1, 0], [1, 0, -1, 0]]


def test_a_chain_shows_its_first_member_at_once(monkeypatch):
    """Each begins where the one before has ended, if that leads on; parts then take their time."""
    clock, asked, written = [0.0], [], []
    monkeypatch.setattr(parts.time, "perf_counter", lambda: clock[0])

    def run(first, last, state):
        asked.append((first, last, state))
        clock[0] += 0.25 * parts._TARGET * (last - first)
        return f"{first} to {last}"

    axes = space(size=9)
    question = space(axes=axes, system=space(name="a model"), run=run, asked="asked")
    whole = space(code=np.zeros(9, int), end=np.arange(9.0), mode=np.arange(9.0) + 0.5,
                  put=lambda part, seen: written.append((part, seen)),
                  leads=lambda k, asked: asked == "asked" and k != 4)  # fmt: skip
    told = [(one.start, one.stop) for one in parts.run_chain(question, whole, progress=False)]
    assert told == [(0, 1), (1, 5), (5, 9)]
    assert asked == [(0, 1, None), (1, 5, (0.0, 0)), (5, 9, None)]
    assert [seen for _, seen in written] == ["0 to 1", "1 to 5", "5 to 9"]
    stop = iter([False, True])
    assert len([*parts.run_chain(question, whole, progress=False, stop=lambda: next(stop))]) == 1


def test_only_what_does_not_depend_on_time_has_equilibria(monkeypatch):
    x, t, a = sp.symbols("x t a")
    system = space(t=t, name="one", parameters={"a": 1}, _state_names=lambda: ("x",))
    for force, refused in ((a - x, False), (a - sp.sin(t), True), (sp.Integer(0), False)):
        monkeypatch.setattr(equilibria, "formulas_of", lambda _, force=force: ([force], [], []))
        one = bare(equilibria.Equilibria, system=system, n=1, place=0, mechanical=False)
        if refused:
            with pytest.raises(BadModel, match="depends on t"):
                one._compile()
        else:
            one._compile()
            assert one.m == 0


def test_a_search_without_options_is_one_with_those_by_default():
    assert seed_of(None) == seed_of(Recurrence())
    assert seed_of(Recurrence(seed=5)) == 5


@for_each("j", [0, 1, 2])
def test_what_moves_a_gap_is_told_by_its_gradient_there(j):
    """G_j at the state and the time that is looked at; what goes along the contact moves no gap."""
    n, n_c, rows, t, rho = 2, 2, 3, 1.5, 7.0
    state, G = np.array([0.3, -0.4, 5.0, 6.0]), np.array([[0.6, 0.8], [1.0, -1.0]])
    along, across = np.array([-G[:, 1], G[:, 0]]).T, G
    columns = [across[j % 2], along[j % 2], 1e-3 * across[j % 2] + along[j % 2], 0 * along[0]]
    y = np.vstack([[*state, 9.0], *([*q, 4.0, 4.0, 9.0] for q in columns)])

    def contacts(inp):
        assert inp.tolist() == [t, *state, rho]
        return np.concatenate([np.full(2 * rows, np.nan), G.ravel(), np.full(5, np.nan)])

    flow = space(mechanical=True, n_c=n_c, rows=rows, n=n, n_x=2 * n, bundles=[None, contacts],
                 input=lambda rho: np.array([0.0] * (1 + 2 * n) + [rho]))  # fmt: skip
    march = space(flow=flow, wrt=range(4), rho=rho, sample=lambda t: [y.ravel()[None]])
    told = doubts._moves(march, j, t).tolist()
    assert told == ([True, False, True, False] if j < n_c else [True] * 4)
    flow.mechanical = False
    assert doubts._moves(march, j, t).all()


def test_leading_terms_of_symbols_are_those_of_fractions():
    for numbers in ((0, 0, "1/4", "1/2"), ("1/5", "2/5", "9/25", "7/10"), (0, 0, "1/3", "3/5")):
        exact, symbols = [Fraction(one) for one in numbers], [sp.Rational(one) for one in numbers]
        for xi in (Fraction(0), Fraction(1, 10)):
            for one, other in zip(
                leading_terms(exact, xi), leading_terms(symbols, xi), strict=True
            ):
                assert one.power == other.power
                assert one(0.5) == pytest.approx(other(0.5), rel=1e-12)


def test_what_data_do_not_determine_has_no_part_in_the_errors_of_the_rest():
    """Beside a direction without data the covariance is the pseudoinverse of J' J."""
    weak = np.array([1.0, -1.0, 5e-4, 0.0])
    others = np.linalg.svd(weak[None])[2][1:]
    J = 1e4 * np.random.default_rng(1).normal(size=(9, 3)) @ others
    scale = np.array([1.0, 1.0, 2.0, 3.0])
    search = space(question=space(wrt=["a", "b", "c", "d", "e"]), scale=np.append(scale, 1.0))
    model = space(search=search, loss="linear", scale=1.0, residuals=lambda x: np.zeros(9))
    found = space(active_mask=np.array([0, 0, 0, 0, 1]), x=None, cost=1.0)
    covariance, told = _covariance(model, found, np.column_stack([J / scale, np.zeros(9)]), True)
    wanted = np.linalg.pinv(J.T @ J, rcond=1e-9) * np.outer(scale, scale)
    np.testing.assert_allclose(covariance[2:4, 2:4], wanted[2:, 2:], rtol=1e-6)
    assert np.isinf(covariance[:2, :2]).all()
    assert np.isnan(covariance[4]).all()
    assert told == [
        "e is at its bound, so it has no standard error",
        "the data do not determine a, b (only together)",
    ]


@for_each(("old", "new", "margins", "told"), [
    ("ab", "ab", [{"phase": 1e-12}, {}], ("phase", "", 0.0)), ("ab", "ba", [{"spacing": 0.5}, {"spacing": 0.2}], ("corner", "", 0.2)),
    ([("hits", "a")], [], [{"of a": -0.3, "of b": 0.1}, {"of a": 0.7}], ("grazing", "a", 0.3)), ([], [("hits", "b")], [{}, {"of b": -0.1}], ("grazing", "b", 0.1)),
    ([("hits", "a")], [], [{}, {}], ("grazing", "a", 0.0)), ([("repeats", "")], [], [{}, {}], ("branch point", "", 0.0)),
])  # fmt: skip
def test_what_changes_is_told_by_the_events_that_come_or_go(old, new, margins, told):
    a, b = (
        space(sequence=tuple(one), margins=m) for one, m in zip((old, new), margins, strict=True)
    )
    assert trace._what_changes(a, b) == told
