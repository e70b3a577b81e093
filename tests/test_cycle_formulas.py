"""What tells cycles apart, and where branches and curves of them go on: each against its rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.derivatives import adjoint
from explorer.errors import BadValue, NotApplicable, StepFailed
from explorer.kernels.event_driven.records import CHAINED
from explorer.study import cycle_tests, equilibria, two_parameters
from explorer.study.curve_problems import LEFT, REAL, Curve
from explorer.study.grazing import _check_later
from explorer.study.trace import CLOSED, Traced

EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- tests of cycles


@for_each(("kind", "mu", "told"), [
    ("fold", [0.3, 1.09], True), ("fold", [0.3, 1.11], False), ("fold", [0.91, -1.0], True), ("fold", [0.89], False), ("fold", [], False),
    ("flip", [5.0], True), ("other", [0.2], True), ("Neimark-Sacker", [0.6 + 0.8j, 0.6 - 0.8j, 0.1], True), ("Neimark-Sacker", [2.0, 0.5, 0.3], False),
    ("Neimark-Sacker", [0.1, 0.6 + 0.8j, 0.6 - 0.8j], True), ("Neimark-Sacker", [0.5 + 0.5j, 0.5 - 0.5j, 2.0, 0.5001], False),
    ("Neimark-Sacker", [np.exp(2e-6j), np.exp(-2e-6j)], True), ("Neimark-Sacker", [np.exp(5e-7j), np.exp(-5e-7j)], False),
])  # fmt: skip
def test_a_bifurcation_is_genuine_by_its_multipliers(kind, mu, told):
    """One of 1 at a fold; a complex pair, and not mu and 1 / mu, at a Neimark-Sacker bifurcation."""
    assert cycle_tests.genuine(kind, np.array(mu, complex)) == told


def test_tests_are_products_over_multipliers_and_pairs():
    mu = np.array([0.3 + 0.4j, 0.3 - 0.4j, -0.7])
    flip = abs(1.3 + 0.4j) ** 2 * 0.3
    pair = (0.25 - 1) * abs((0.3 + 0.4j) * -0.7 - 1) ** 2
    assert cycle_tests.tests(mu) == pytest.approx({"flip": flip, "Neimark-Sacker": pair})
    assert cycle_tests.tests(mu[2:]) == pytest.approx({"flip": 0.3, "Neimark-Sacker": 1.0})


@for_each(("count", "back", "told"), [
    (1, [], False), (2, [1], True), (2, [], False), (6, [2], True), (6, [3], True), (6, [1], True), (6, [4, 5], False), (5, [2], False), (4, [2], True),
])  # fmt: skip
def test_a_cycle_that_comes_back_after_a_part_of_its_returns_is_shorter(count, back, told):
    """To 1e-7 of the largest states, after a number of returns that divides theirs."""
    x, unit, T = np.array([1.0, -2.0]), np.array([2.0, 50.0]), 3.0

    def run(part):
        def sample(times, slopes):
            assert not slopes
            near = [any(abs(t - k * T / count) < 1e-9 for k in back) for t in times]
            off = np.where(near, part * 1e-7, 1e-3)[:, None]
            return (np.column_stack([x + off * unit * [1.0, -1.0], np.zeros(len(times))]),)

        return space(march=space(sample=sample))

    repeats = (("repeats", ""),) if told else ()
    assert cycle_tests.shorter(run(0.9), x, T, count, unit) == repeats
    assert cycle_tests.shorter(run(1.1), x, T, count, unit) == ()


@for_each(
    ("sequence", "told"),
    [
        ("", ""),
        ("b", "b"),
        ("bca", "abc"),
        ("abab", "abab"),
        ("baba", "abab"),
        ("cab", "abc"),
        ("aab", "aab"),
        ("aba", "aab"),
    ],
)
def test_a_sequence_is_turned_to_the_least(sequence, told):
    assert cycle_tests.rotated(tuple(sequence)) == tuple(told)


# ---------------------------------------------------------------- an adjoint


@for_each(
    ("seed", "chained", "stops", "wrong"),
    itertools.product(range(3), ((), (1,), (1, 2)), (0, 1), (None, 0, 1, 2)),
)
def test_an_adjoint_is_dual_to_the_columns_at_each_event(seed, chained, stops, wrong):
    """mu+ S+ = mu- S- + gains: a chain of events at one time is one; the cost may end at the last."""
    rng, events, n, p = np.random.default_rng(seed), 3, 2, 2
    minus, plus = rng.normal(size=(2, events, n + 1, p))
    dt, moved, mu = (
        rng.normal(size=(events, p)),
        rng.normal(size=events),
        rng.normal(size=(events, 2, n + 1)),
    )
    gains, jumps = rng.normal(size=(events, p)), events - stops
    heads = np.where(np.isin(np.arange(events), chained), CHAINED, CHAINED + 1)
    first = [k for k in range(events) if heads[k] != CHAINED]
    worst = 0.0
    for k, after in zip(first, [*first[1:], events], strict=True):
        last = after - 1
        ends = mu[last, 1] @ (plus if last < jumps else minus)[last] + (
            moved[k:after, None] * dt[k:after]
        ).sum(axis=0)
        gains[k] = ends - mu[k, 0] @ minus[k] - gains[k + 1 : after].sum(axis=0)
        if wrong is not None and k <= wrong < after:
            gains[wrong, 1] += 0.3
            total = gains[k:after].sum(axis=0)
            size = 1 + (abs(mu[k, 0][:, None] * minus[k])).sum(axis=0) + abs(total)
            worst = 0.3 / size[1]
    run = space(
        march=space(
            jump=lambda k: space(s_minus=minus[k], s_plus=plus[k], dt_drho=dt[k]),
            events=space(head={"how": heads}),
        )
    )
    swept = space(mu=mu, jumps=jumps, moved=moved, gains=gains)
    assert adjoint._duality(swept, run) == pytest.approx(worst, abs=1e-13)
    gains[0, 0] = np.nan
    assert np.isnan(adjoint._duality(swept, run))


# ---------------------------------------------------------------- grazing


@for_each(
    ("kicks", "told"),
    [
        ((1.0, 0.5), None),
        ((-1.0, 0.5), "b"),
        ((1.0, -0.5), "c"),
        ((0.0, 1.0), "b"),
        ((-1.0, -1.0), "b"),
    ],
)
def test_another_guard_that_is_touched_is_met_where_the_kick_drives_into_it(
    monkeypatch, kicks, told
):
    """By g_x S z on its free side."""
    n, z = 2, np.array([1.0, 0.0])
    g_x, sides = {"b": np.array([2.0, 0.0]), "c": np.array([0.0, 3.0])}, {"b": -1, "c": 1}
    S = np.zeros((n + 1, n + 1))
    S[0, 0], S[1, 0] = -kicks[0], kicks[1]
    S[:, n] = S[n] = 99.0

    def guard(problem, name):
        return lambda t, x, rho: (
            (g_x[name], 9.0, sides[name]) if (t, x, rho) == (0.5, "x", "rho") else None
        )

    put(monkeypatch, _check_later, _guard=guard)
    run = space(
        march=space(slopes_at=lambda times: S[None] if times.tolist() == [0.5] else None, rho="rho")
    )
    later = [space(name="b", t=0.5, x="x"), space(name="c", t=0.5, x="x")]
    problem = space(n=n, parameter="p")
    if told is None:
        _check_later(problem, run, "a", later, z)
        return
    with pytest.raises(NotApplicable, match=f"touches 'a' and '{told}' at one value of p"):
        _check_later(problem, run, "a", later, z)


# ---------------------------------------------------------------- equilibria


@for_each(("side", "key", "mechanical", "told"), [
    (1, "low wall", False, 0), (-1, "high wall", False, 0), (0, "low wall", False, -1), (0, "high wall", False, 1), (0, "low wall", True, 1),
])  # fmt: skip
@for_each(
    ("moved", "found"),
    [
        ((None, 0.4, 0.6), (1, 2)),
        ((0.6, 9.0, 9.0), (1, 0)),
        ((0.4, None, 0.5), None),
        ((-0.6, -0.6, -0.6), None),
    ],
)
def test_behind_a_surface_one_of_its_equations_is_released(
    monkeypatch, side, key, mechanical, told, moved, found
):
    """The point lies along the null vector of what remains, by half a step at least; else on the other side."""
    rng = np.random.default_rng(1)
    J, scale, w, said = rng.normal(size=(2, 3)), np.array([1.0, 2.0, 0.5]), rng.normal(size=3), []
    one = space(names=["floor", "wall"], side=np.array([7, side]), mechanical=mechanical, scale=scale,
                evaluate=lambda u, full: space(jacobian=J) if not full and np.allclose(u, w * scale) else None)  # fmt: skip
    sizes = equilibria._STEP

    def correct(problem, guess, way, tol):
        k = len(said)
        assert abs(J * scale @ way).max() < 1e-12
        assert np.linalg.norm(way) == pytest.approx(1.0)
        np.testing.assert_allclose(guess, w + sizes[k % 3] * way, rtol=1e-12)
        said.append((way, problem.side.tolist(), tol))
        if moved[k % 3] is None:
            return None
        return space(w=w + moved[k % 3] * sizes[k % 3] * way, k=k), 2

    monkeypatch.setattr(equilibria, "correct", correct)
    ended = space(node=space(at=space(margins={"other": 0.5, key: 1e-9})), name="wall", w=w)
    got = equilibria.Equilibria.beyond(one, None, ended, space(tol=1e-9))
    assert said[0][1:] == ([7, told], 1e-9)
    if found is None:
        assert got is None
        assert len(said) == 6
        np.testing.assert_allclose(said[3][0], -said[0][0])
        assert one.side.tolist() == [7, side]
    else:
        assert got.k == found[1]
        assert one.side.tolist() == [7, told]


# ---------------------------------------------------------------- curves of bifurcations


def line(evaluate, *, margin="", genuine=True, kind="flip"):
    """Return a curve of a problem whose equations are those of a function of u = (x, p, q)."""
    base = space(rho=np.zeros(3), parameter="p", genuine=lambda kind, node: genuine,
                 evaluate=lambda u, full: evaluate(u, full, base.rho[2]))  # fmt: skip
    one = space(base=base, place=2, margin=margin, level=0.25, scale=np.array([2.0, 4.0, 5.0]), kind=kind, first=space(options=space(low=-1.0, high=1.0)),
                test=lambda u, at: at.test)  # fmt: skip
    one._at = lambda u: Curve._at(one, u)
    one._beside = lambda *given: Curve._beside(one, *given)
    return one


def smooth(u, full, q):
    x, p = u
    G, test = np.array([x**2 + 3 * p - q * x]), np.sin(x) * p + q**2
    near = {"near": 0.5} if full else {}
    return space(
        G=G,
        jacobian=np.array([[2 * x - q, 3.0]]),
        size=0.125,
        sequence="s",
        margins=near,
        data="data",
        test=test,
    )


@for_each("margin", ("", "near"))
def test_a_curve_adds_an_equation_and_a_column(margin):
    """By difference quotients, to one side only where nothing lies behind the bifurcation."""
    u = np.array([0.7, -1.5, 1.2])
    x, p, q = u
    found = Curve.evaluate(line(smooth, margin=margin), u)
    test = np.sin(x) * p + q**2 - 0.25
    np.testing.assert_allclose(found.G, [x**2 + 3 * p - q * x, test])
    np.testing.assert_allclose(found.jacobian, [[2 * x - q, 3.0, -x], [np.cos(x) * p, np.sin(x), 2 * q]], rtol=1e-3 if margin else 1e-6, atol=1e-5)  # fmt: skip
    assert found.size == max(0.125, abs(test))
    assert (found.sequence, found.data) == ("s", "data")


def test_a_curve_ends_with_the_range_and_with_its_pair():
    for p, out in ((-4.0, False), (4.0, False), (4.1, True), (-4.1, True)):
        u = np.array([0.7, p, 1.2])
        if not out:
            Curve.evaluate(line(smooth), u)
            continue
        with pytest.raises(BadValue) as caught:
            Curve.evaluate(line(smooth), u)
        assert str(caught.value) == f"p{LEFT}"
    u = np.array([0.7, 1.0, 1.2])
    for kind, genuine, full, fails in (("Hopf", False, True, True), ("Hopf", True, True, False), ("Hopf", False, False, False), ("flip", False, True, False),
                                       ("Neimark-Sacker", False, True, True)):  # fmt: skip
        one = line(smooth, genuine=genuine, kind=kind)
        if fails:
            with pytest.raises(BadValue) as caught:
                Curve.evaluate(one, u, full)
            assert str(caught.value) == REAL
        else:
            Curve.evaluate(one, u, full)


@for_each(("up", "down", "told"), [
    (0.5, 0.1, "up"), (0.2, 0.6, "down"), (0.2, 0.1, "up"), (0.1, 0.2, "down"), (None, 0.1, "down"), (0.1, None, "up"), ("other", 0.1, "down"), (None, "other", None),
    (None, None, None),
])  # fmt: skip
def test_beside_a_margin_the_neighbour_counts_that_lies_farther_inside(up, down, told):
    """The first one, if it lies farther than the point itself, here 0.3."""
    from explorer.study.curve_problems import _STEP

    u, moved = np.array([0.7, 1.0, 1.2]), _STEP * 4.0
    at = space(sequence="s")
    one, asked = line(None, margin="near"), []

    def beside(given):
        side = "up" if given[1] > u[1] else "down"
        np.testing.assert_allclose(
            given - u, [0.0, moved if side == "up" else -moved, 0.0], atol=1e-12
        )
        asked.append(side)
        value = up if side == "up" else down
        if value is None:
            raise StepFailed("no", None)
        return (space(sequence="t"), 9.0) if value == "other" else (space(sequence="s"), value)

    one._at = beside
    if told is None:
        with pytest.raises(BadValue, match="none with the same events"):
            Curve._beside(one, u, at, 0.3, 1)
        return
    (_, value), other, width = Curve._beside(one, u, at, 0.3, 1)
    assert other == (at, 0.3)
    assert value == (up if told == "up" else down)
    assert width == pytest.approx(moved if told == "up" else -moved)
    assert asked == (["up"] if up == 0.5 else ["up", "down"])


@for_each(
    ("closed", "first", "second"),
    itertools.product((False, True), (False, True), (None, True, False)),
)
def test_a_curve_goes_both_ways_from_where_it_is_found(monkeypatch, closed, first, second):
    """At the branch's value of the second parameter, if need be on the other side; once round if closed."""
    said, tries = [], iter([first, second])
    start = space(w="w", tangent=np.array([0.0, 2.0]), at="at")
    curve = space(
        scale=np.array([1.0, 1.0, 4.0]),
        w=np.array([0.5, 0.25]),
        other_side=lambda: second is not None,
        kind="fold",
        parameter="q",
    )

    def correct(given, guess, plane, tol):
        assert (given, guess.tolist(), plane.tolist()) == (
            curve,
            [0.5, 0.25, 0.75],
            [0.0, 0.0, 1.0],
        )
        return (start, 3) if next(tries) else None

    def trace(given, node, options):
        said.append((node.w, node.tangent.tolist(), node.at, options))
        return Traced([[node]], [], CLOSED if closed else f"end {len(said)}")

    monkeypatch.setattr(two_parameters, "correct", correct)
    monkeypatch.setattr(two_parameters, "trace", trace)
    if not first and not second:
        with pytest.raises(BadValue, match="fold is not found again at q = 3"):
            two_parameters._both(curve, 3.0, "options")
        return
    back, forth = two_parameters._both(curve, 3.0, "options")
    assert said[0] == ("w", [0.0, -2.0], "at", "options")
    if closed:
        assert (forth.pieces, forth.reason, len(said)) == ([[start]], CLOSED, 1)
    else:
        assert said[1] == ("w", [0.0, 2.0], "at", "options")
        assert (back.reason, forth.reason) == ("end 1", "end 2")
