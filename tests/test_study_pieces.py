"""Parts of studies by themselves, each against a closed form or what defines it."""

from __future__ import annotations

import dataclasses
import inspect

import kinds
import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.derivatives import doubts
from explorer.errors import BadValue, StepFailed
from explorer.optimise.fit import _data
from explorer.runs.members import Asked, Members, Observed
from explorer.study import (
    diagram_branches,
    switched_cycle,
    trace,
)
from explorer.study import question as asking
from explorer.study import search_attractors as search
from explorer.study.branch import _Reader, _stacked
from explorer.study.cycles import Cycle
from explorer.study.exponents import Exponents
from explorer.study.fesd_reference import _GIVEN_UP, _LAST, _LATER, _SIGMA, _Interval
from explorer.study.forcing import _formulas, check_period, usual_section
from explorer.study.recurrence import cloud, period

COVERS = ("study/search_attractors.py", "study/trace.py")  # see mutant_rooms.py

ONE = np.ones(1)


# ---------------------------------------------------------------- points that recur


@for_each(("size", "ratio", "shift", "there"), [
    (0.5, 1.0, 0.0, True), (0.5, 0.85, 0.0, True), (0.5, 0.75, 0.0, False), (0.5, 1.2, 0.0, True), (0.5, 1.5, 0.0, False), (0.5, 1.0, 0.5, False),
    (0.05, 1.2, 0.0, True), (0.05, 1.3, 0.0, False), (0.05, 0.85, 0.0, True), (0.05, 0.75, 0.0, False), (5.0, 1.0, 0.05, True),
])  # fmt: skip
def test_a_set_is_visited_again_as_wide_as_before(size, ratio, shift, there):
    """Halves of one state, `size` in parts of its scale: 95 % of each lie next to the other one."""
    one = 0.5 * size * np.linspace(-1, 1, 101)
    two = ratio * one + 0.5 * shift
    found = cloud(np.concatenate([[9.0], one, two])[:, None], 0.5 * ONE)
    assert (found is not None) == there
    if found is not None:
        away = [abs(x - b).min() for a, b in ((one, two), (two, one)) for x in a]
        part = max(np.quantile(away[:101], 0.95), np.quantile(away[101:], 0.95)) / 0.5
        assert (found.period, found.points[:, 0].tolist()) == (0, [*one, *two])
        assert found.residual == pytest.approx(part)
        assert found.drift == pytest.approx(0.5 * part)


def test_few_points_are_no_set():
    assert cloud(np.linspace(0, 1, 39)[:, None], ONE) is None
    assert cloud(np.tile(np.linspace(0, 1, 20), 2)[:, None], ONE) is not None


def test_each_state_has_its_drift():
    """Between the last two rounds of three points, whose largest one counts."""
    rng = np.random.default_rng(2)
    rounds = rng.normal(size=(3, 2)) + 1e-6 * rng.normal(size=(4, 3, 2))
    rounds[3, :, 1] = rounds[2, :, 1] + [1e-7, -3e-7, 2e-7]
    found = period(rounds.reshape(-1, 2), np.array([1.0, 2.0]), tol=1e-4, sure=1e-4)
    assert found.period == 3
    np.testing.assert_array_equal(found.points, rounds[-1])
    np.testing.assert_allclose(found.drift, abs(rounds[3] - rounds[2]).max(axis=0))
    assert found.residual == (abs(rounds[3] - rounds[2]) / [1.0, 2.0]).max()


@for_each(("factor", "far", "there"), [
    (0.5, 1.0, True), (0.9, 1.0, True), (0.9, 9.0, False), (0.5, 11.0, False), (0.9, 1e-9, True),
])  # fmt: skip
def test_what_is_left_of_a_way_is_the_sum_of_its_returns(factor, far, there):
    """Two points each lie factor^k from their ends, so the last return is 1 / factor - 1 of the rest.

    Within the tolerance it is one return that ends, within ten times of it what is left.
    """
    k = np.arange(60)
    rest = factor**k
    points = np.stack([rest, 5 - rest], axis=1).reshape(-1, 1)
    left = rest[-1]
    tol = left * max(1 / far / 9.9, 0) if far < 10 else left / 10.5
    last = left * (1 / factor - 1)
    found = period(points, ONE, tol=tol, sure=0.0)
    assert (found is not None) == (there and last <= tol)
    if found is not None:
        assert found.period == 2
        assert found.points[:, 0].tolist() == points[-2:, 0].tolist()
        assert found.drift[0] == pytest.approx(last, rel=1e-3)
        assert found.residual == pytest.approx(last, rel=1e-3)


def test_what_is_left_is_told_by_the_returns_of_half_the_run():
    """Of 1 / k, which no series is: by its last return and that of half as many points ago."""
    x = 1 / np.arange(1.0, 42.0)
    last, before = x[-2] - x[-1], x[19] - x[20]
    tol = last / (1 - (last / before) ** (1 / 20)) / 10
    assert period(x[:, None], ONE, 1.001 * tol, 0.0).period == 1
    assert period(x[:, None], ONE, 0.999 * tol, 0.0) is None


def test_the_shortest_period_is_told_if_it_is_seen_three_times():
    points = np.tile([1.0, 2.0, 1.0, 4.0], 9)[:, None]
    for many, told in ((36, 4), (12, 4), (11, None)):
        found = period(points[-many:], 2 * ONE, 1e-9, 1e-9)
        assert (found and found.period) == told
    assert period(points, 1e10 * ONE, 1e-9, 1e-9).period == 1
    grows = np.cumsum(np.linspace(1e-9, 2e-9, 30))[:, None]
    assert period(grows, ONE, tol=1e-8, sure=1e-10) is None
    assert period(grows, ONE, tol=1e-8, sure=1e-8).period == 1


# ---------------------------------------------------------------- exponents


@for_each(("exponents", "dimension"), [
    ([0.5, 0.0, -2.0], 2.25), ([1.0, -0.5, -2.0], 2.25), ([-0.1, -1.0], 0.0), ([0.2, 0.1], 2.0), ([0.0, -3.0], 1.0),
])  # fmt: skip
def test_the_dimension_is_kaplans_and_yorkes(exponents, dimension):
    found = bare(Exponents, exponents=np.array(exponents))
    assert found.dimension == pytest.approx(dimension)
    assert found.largest == exponents[0]


# ---------------------------------------------------------------- columns that lie on branches


def columns(periods, points, code=None):
    periods = np.array(periods)
    found = space(
        period=periods, code=np.zeros(len(periods), int) if code is None else np.array(code),
        points=np.array(points, float), states=("x",), values=np.linspace(2.0, 4.0, len(periods)),
        found=np.full(len(periods), 4),
    )  # fmt: skip
    return diagram_branches._Columns(found)


def test_the_longest_stretch_of_one_period_is_tried_in_its_middle():
    points = np.zeros((9, 4, 1))
    points[:, :, 0] = np.arange(9)[:, None]
    one = columns([1, 1, 1, 2, 2, 2, 2, 0, 7], points)
    assert one.left == 7
    assert one.size.tolist() == [6.0]
    assert one.next() == 5
    one.skip(5)  # of 3 to 6, a quarter of whose width is none
    assert one.tried.tolist() == [False] * 3 + [True] * 4 + [False] * 2
    assert one.next() == 1
    one.skip(1)
    assert one.next() is None
    assert one.left == 7
    wide = columns([1] * 9, points, [0] * 8 + [1])
    wide.skip(2)
    assert wide.tried.tolist() == [False] + [True] * 6 + [False] * 2
    assert wide.next() == 0  # of two as long, the first
    assert columns([2, 2, 1, 1, 1, 2], points[:6]).next() == 3
    assert columns([0] * 9, points).next() is None


def test_columns_lie_on_a_branch_near_the_line_between_its_points():
    """Of x = mu and x = -mu, once with period 2; a piece of its own joins no other."""
    mu = np.linspace(2, 4, 9)
    points = np.full((9, 4, 1), np.nan)
    points[:, ::2, 0], points[:, 1::2, 0] = mu[:, None], -mu[:, None]
    points[6, 3, 0] = 3.0  # one point is not there
    one = columns([2] * 9, points)
    values = np.array([2.0, 3.1, 3.1, 4.0])
    returns = np.stack([-values, values], axis=1)[:, :, None]
    branch = space(values=values, returns=returns, piece=np.array([0, 0, 1, 1]))
    one.take(branch, 8)
    assert one.open.tolist() == [False] * 6 + [True, False, False]
    assert one.tried.tolist() == [False] * 8 + [True]
    apart = columns([2] * 9, points)
    apart.take(space(values=values[[0, 3]], returns=returns[[0, 3]], piece=np.array([0, 1])), 0)
    assert apart.left == 8
    assert not one.shorter(branch)
    twice = np.concatenate([returns, returns], axis=1)
    assert one.shorter(space(returns=twice))
    assert one.shorter(space(returns=np.full((3, 2, 1), 5.0)))
    assert not one.shorter(space(returns=np.full((3, 2, 1), np.nan)))
    assert not one.shorter(space(returns=np.concatenate([twice, returns + 1], axis=1)))


# ---------------------------------------------------------------- branches


def test_cycles_are_turned_to_lie_near_the_one_before():
    one = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    found = _stacked([one, one[[1, 2, 0]] + 0.1, one[:1], one[[2, 0, 1]], one[[2, 0, 1]]])
    assert found[0] == pytest.approx(one)
    assert found[1] == pytest.approx(one + 0.1)
    assert found[2, 0] == pytest.approx(one[0])
    assert np.isnan(found[2, 1:]).all()
    assert found[3] == pytest.approx(one[[2, 0, 1]])  # of one point nothing tells the turn
    assert found[4] == pytest.approx(one[[2, 0, 1]])


def test_a_cycle_is_read_at_the_event_that_goes_on():
    events = [space(contact="wall", kind=kind, x_plus=np.array([x, -x]))
              for kind, x in (("impact", 1.0), ("released", 2.0), ("impact", 5.0))]  # fmt: skip
    located = [space(contact="floor", kind="impact", x_plus=np.array([9.0, 9.0])), *events]
    cycle = bare(Cycle, run=space(located=located), T=6.0)
    node = space(at=space(data=cycle), w=np.array([1.0, 2.0, 3.0]))
    problem = space(scale=np.array([2.0, 2.0, 1.0]), state=lambda w: w[:2], count=3)
    own = _Reader(problem, None)
    assert own.state(node).tolist() == [2.0, 4.0]
    reader = _Reader(problem, "wall")
    assert reader.state(node).tolist() == [1.0, -1.0]  # the first, where nothing is known
    assert reader.state(node, np.array([4.0, -4.0])).tolist() == [5.0, -5.0]
    assert reader.state(node).tolist() == [5.0, -5.0]  # near the last one
    assert reader.state(node, np.array([np.nan, 0.0])).tolist() == [1.0, -1.0]
    assert reader.returns(node).tolist() == [[1.0, -1.0], [5.0, -5.0]]
    assert np.isnan(_Reader(problem, "door").state(node)).all()
    assert _Reader(problem, "door").returns(node).shape == (0, 2)


# ---------------------------------------------------------------- cycles of switched systems


def loop(rng, n, sizes):
    """Return a closed orbit's numbers, drawn at random, of states of some sizes."""
    sizes = np.array(sizes)
    S = np.eye(n) + 0.5 * rng.standard_normal((n, n)) * sizes[:, None] / sizes
    slopes = rng.standard_normal((2, n)) * sizes
    march = space(
        sample=lambda t, slopes_=slopes, slopes=False: (None, np.atleast_2d(slopes_[0])),
        steps=space(y=np.stack([sizes, -0.5 * sizes])),
    )
    run = space(march=march, rates=[None, slopes[1]])
    off = 0.1 * rng.standard_normal(n) * sizes
    return switched_cycle.Loop(np.zeros(n), 3.0, run, S, off, 0.0), slopes, sizes


@pytest.mark.parametrize("sizes", [[1.0, 1.0], [1.0, 100.0, 0.5]])
def test_newtons_step_of_a_cycle_solves_its_bordered_equations(sizes):
    """(S - I) dx + f dT = x(0) - x(T), and dx is normal to the flow in the metric of the sizes."""
    one, (before, after), units = loop(np.random.default_rng(3), len(sizes), sizes)
    step = switched_cycle._newton(None, one)
    n = len(sizes)
    assert (one.monodromy - np.eye(n)) @ step[:n] + after * step[n] == pytest.approx(-one.off)
    assert abs((before / units**2) @ step[:n]) < 1e-9 * np.abs(before * step[:n] / units**2).max()
    assert switched_cycle._newton(None, dataclasses.replace(one, monodromy=np.eye(n))) is None


@for_each(("ok", "last", "why"), [(True, 2.0, ""), (False, 2.0, "no"), (True, 1.9, "no"), (False, 1.9, "no")])  # fmt: skip
def test_an_orbit_that_does_not_come_to_its_end_is_no_loop(ok, last, why):
    ends = (None, np.array([1.5, 2.0, 7.0]), None, np.diag([2.0, 3.0, 4.0]))
    march = space(t_last=last, end=lambda: ends,
                  steps=space(y=np.array([[1.0, 0.0, 8.0], [-2.0, 1e-9, 9.0]])))  # fmt: skip
    run = space(status=space(ok=ok, message="it ends"), march=march)
    P = space(scheme=space(run=lambda *a, **k: run), compiled=None, rho=(), system=space(name="m", time_unit="s"))  # fmt: skip
    if why:
        with pytest.raises(StepFailed, match="'m': it ends"):
            switched_cycle._closed(P, np.array([1.0, 2.0]), 2.0)
        return
    found = switched_cycle._closed(P, np.array([1.0, 2.0]), 2.0)
    assert found.off.tolist() == [0.5, 0.0]
    assert found.monodromy.tolist() == [[2.0, 0.0], [0.0, 3.0]]
    assert found.residual == 0.25  # in parts of the largest value of the state, 2
    half = space(status=run.status, march=space(**{**vars(march), "t_last": 0.5}))
    P.scheme.run = lambda *a, **k: half
    assert switched_cycle._closed(P, np.array([1.0, 2.0]), 0.5).T == 0.5
    with pytest.raises(BadValue, match="not positive"):
        switched_cycle._closed(P, np.array([1.0, 2.0]), 0.0)


# ---------------------------------------------------------------- where a motion is seen


def test_a_section_is_a_period_or_an_event_that_there_is():
    free = ex.systems.FirstOrderSystem("free", x=["x"], f=["-x"])
    with pytest.raises(BadValue, match="no event to stop at and no period"):
        usual_section(free)
    assert usual_section(ex.models.bouncing_ball()).event == "floor"
    assert usual_section(ex.models.impact_oscillator()).period == "2*pi/omega"
    assert usual_section(ex.models.tent_map()).period == 1


def test_the_formulas_of_a_system_are_those_of_its_flow_and_its_events():
    x, y, z = sp.symbols("x y z")
    guards = [
        space(r=x, reset=[y, z], conditions=[x + 1], when=None),
        space(r=z, reset=[], conditions=[], when=x - y),
    ]
    kind = ex.systems.HybridSystem if hasattr(ex.systems, "HybridSystem") else ex.HybridSystem
    system = bare(kind, modes=[space(flow=[x * y, 0]), space(flow=[z**2, 1])], guards=guards)
    assert [*_formulas(system)] == [x * y, 0, z**2, 1, x, y, z, x + 1, z, x - y]


@for_each(("fast", "begin"), [(True, None), (False, None), (True, (7.0, 3)), (False, (7.0, 3))])
def test_members_run_from_a_state_and_mode_of_the_first(monkeypatch, fast, begin):
    asked = []
    members = Members(
        np.zeros((2, 1)),
        np.ones((2, 1)),
        np.full(2, 9.0),
        np.zeros(2),
        np.ones(2),
        np.zeros(2),
        True,
    )
    monkeypatch.setattr(
        asking,
        "together",
        lambda system, scheme, quick, some, asked_for: asked.append((quick, some)) or seen,
    )
    monkeypatch.setattr(
        asking,
        "one_by_one",
        lambda system, scheme, some, asked_for: asked.append((None, some)) or seen,
    )
    seen = Observed.empty(2, 1, Asked())
    one = bare(
        asking.Question,
        scheme=space(ensemble=lambda system: "quick" if fast else None),
        system=None,
        asked=None,
    )
    object.__setattr__(one, "members", lambda first, last: members)
    one.run(4, 6, begin)
    quick, some = asked[0]
    assert quick == ("quick" if fast else None)
    assert some.start[:, 0].tolist() == ([7.0, 1.0] if begin else [1.0, 1.0])
    if begin:
        assert some.mode == 3


# ---------------------------------------------------------------- attractors


@for_each(("kind", "residual", "back", "radius", "tried"), [
    (1, 0.3, 3, 0.1, [0.2]), (0, 0.25, 3, 0.5, [0.5]), (0, 0.05, 3, 0.2, [0.2]),
    (0, 0.05, 2, None, [0.2, 0.06, 0.02, 0.006, 0.002]), (1, 1e-4, 2, None, [0.2, 0.06, 0.02, 0.006, 0.002]),
])  # fmt: skip
def test_a_set_is_caught_within_twice_of_what_its_points_are_apart(
    monkeypatch, kind, residual, back, radius, tried
):
    """That of a period is half of what its neighbours come back from; other ones are refused."""
    found = search.Found(kind, np.zeros((2, 1)), np.zeros(1), residual)
    monkeypatch.setattr(search, "period", lambda *a: found)
    asked: list[float] = []

    def neighbours(question, found, away, within, end, mode):
        asked.append(away)
        assert within == pytest.approx(away if kind else max(away, 2 * residual))
        return back, 3

    one = bare(search.Search, settings=space(tol=1e-6, sure=1e-9, near=0.2), attractors=[],
               refused=[], scale=ONE, _neighbours=neighbours, at=0)  # fmt: skip
    seen = space(end=np.zeros((1, 1)), mode=np.zeros(1))
    one._take(None, seen, 0, np.zeros((4, 1)))
    assert asked == pytest.approx(tried)
    kept = one.attractors if radius else one.refused
    assert len(kept) == 1
    assert len(one.attractors) + len(one.refused) == 1
    if radius:
        assert kept[0].radius == pytest.approx(radius)
    one._take(None, seen, 0, np.zeros((4, 1)))  # it is known
    assert len(one.attractors) + len(one.refused) == 1


def test_runs_are_counted_by_how_they_end(monkeypatch):
    """Of those that end, some meet nothing, some escape."""
    caught = space(
        code=np.array([0, 0, 0, 3, 0, 0, 0, 5, 0]),
        caught=np.array([-1, -1, 0, -1, -2, -2, -2, 0, 1]),
    )
    one = space(attractors=["a", "b"], refused=["c"], learn=lambda rows: caught)
    study = inspect.unwrap(ex.study.attractors)
    put(monkeypatch, study, Search=lambda *given: one, Settings=space(of=lambda *given: None),
        Starts=space(of=lambda *given: space(parameters=(), rows=None)))  # fmt: skip
    found = study(ex.models.bouncing_ball(), over={"q0.y": [0, 1]})
    assert (found.found, found.refused) == (("a", "b"), ("c",))
    assert (found.runs, found.undecided, found.failed, found.escaped) == (9, 2, 2, 3)
    assert "2 attractors of 9 runs; 3 escaped, 2 undecided, 2 failed; 1 recur" in repr(found)
    put(monkeypatch, study, Starts=space(of=lambda *given: space(parameters=(space(label="e"),))))
    with pytest.raises(BadValue, match="'e' is a parameter"):
        study(ex.models.bouncing_ball(), over={"e": [0, 1]})


# ---------------------------------------------------------------- a homotopy


@for_each(("count", "left"), [(1, None), (3, None), (3, 0.25), (2, 0.5)])
def test_an_interval_begins_with_equal_elements_or_a_first_one_of_its_own(count, left):
    """With x' of the middle of both sides; lambda is what c is at the start, or small beside its way."""
    rates = {0.0: [1.0, -1.0], 1.0: [3.0, 2.0], 0.5: [5.0, 7.0]}
    c, gradient, span, s = np.array([2.0, -9.0]), np.array([[1.0, 0.0], [1.0, 1.0]]), 0.5, 2

    def functions(t, x):
        assert (t.tolist(), x.tolist()) == ([4.0], [[0.1, 0.2]])
        return c[None], gradient[None]

    march = space(compiled=space(n_x=2, n_c=2), method=space(stages=s), functions=functions,
                  rates=lambda t, x, alpha: np.array([rates[float(alpha[0, 0])]]))  # fmt: skip
    one = _Interval(march, np.array([0.1, 0.2]), 4.0, span, count, left)
    K, alpha, below, above, h = one.split(one.z)
    assert K.tolist() == [[[5.0, 7.0]] * s] * count
    part = 1 / count if left is None else left
    assert h == pytest.approx([span * part] + [span * (1 - part) / max(count - 1, 1)] * (count - 1))
    speed = [3.0, 5.0]  # the faster side, of |c'|
    assert one.scale == pytest.approx([span * v for v in speed])
    sigma = _SIGMA if left is None else _LATER
    assert one.sigma == sigma
    for k, size in enumerate(speed):
        least = sigma * span * size
        assert below[..., k] == pytest.approx(np.full((count, s), max(-c[k], least)))
        assert above[..., k] == pytest.approx(np.full((count, s), max(c[k], least)))
    assert alpha == pytest.approx(above / (above + below))
    assert one.size == np.inf


@for_each(("signs", "slopes", "kinds"), [
    ((-1, 0), (1, 1), ["branch point"]), ((-1, 1), (1, 1), ["branch point"]), ((0, 1), (1, 1), []), ((1, 1), (1, 1), []),
    ((-1, -1), (1, -1), ["fold"]), ((-1, 1), (-1, 1), ["fold"]), ((1, 1), (0, 1), []), ((1, 1), (-1, 0), ["fold"]),
])  # fmt: skip
def test_zero_counts_as_positive_where_a_branch_is_tested(monkeypatch, signs, slopes, kinds):
    """So a point that is one exactly is found once, on one of its two sides."""
    asked = []
    monkeypatch.setattr(trace, "_bordered", lambda node: float(node.sign))
    put(monkeypatch, trace._tested, located=lambda problem, a, b, test, tol: asked.append((test(a), test(b))) or (b, 0.0))  # fmt: skip
    problem = space(scale=np.ones(3), genuine=lambda kind, node: True)
    a, b = (space(sign=s, tangent=np.array([0.25, 0.5, slope]), w=np.array([k, 0.0, 0.0]), at=space(tests={}, jacobian=np.eye(2, 3), margins={}))
            for k, (s, slope) in enumerate(zip(signs, slopes, strict=True)))  # fmt: skip
    found = trace._tested(problem, a, b, space(tol=1e-9))
    assert [one.kind for one in found] == kinds
    for before, after in asked:
        assert (before < 0) != (after < 0)


def test_a_homotopy_ends_at_its_last_level_or_where_it_is_lost():
    """Of z - (1 + sigma, 2), which is solved at each level; lost, where nothing solves it."""
    for lost in (False, True):
        levels: list[float] = []

        def equations(z, w, slope, levels=levels, lost=lost):
            levels.append(w)
            more = [1.0] if lost else [0.0]
            return np.append(z - [1 + w, 2.0], more), np.vstack([np.eye(2), np.zeros((1, 2))])

        one = bare(_Interval, sigma=1.0, z=np.zeros(2), equations=equations,
                   blocks=lambda: {"a": 1.0, "b": 3.0})  # fmt: skip
        one.follow()
        seen = sorted({*levels}, reverse=True)
        assert seen[:3] == pytest.approx([1.0, 0.3, 0.09])
        assert one.z == pytest.approx([1 + seen[-1], 2.0], abs=1e-9)
        assert one.size == 3.0
        if lost:
            assert seen[-1] < _GIVEN_UP <= seen[-2]
        else:
            assert _LAST < seen[-1] <= 100 * _LAST


# ---------------------------------------------------------------- choices of studies


def test_a_diagram_takes_as_few_columns_points_and_returns_as_there_can_be():
    system = ex.models.tent_map()
    least = {"columns": 2, "points": 1, "transient": 0}
    ex.study.Sharpening(system, over={"mu": [0.5, 0.9]}, **least)
    for name, value in least.items():
        for wrong in (value - 1, value + 0.5, True):
            with pytest.raises(BadValue, match=f"{name} = {wrong!r} must be a whole number of at least {value}"):  # fmt: skip
                ex.study.Sharpening(system, over={"mu": [0.5, 0.9]}, **least | {name: wrong})


@for_each(("repeats", "runs"), [(1, 1), (3, 3)])
def test_each_formulation_runs_as_often_as_is_asked_for(monkeypatch, repeats, runs):
    names: list[str] = []
    end = space(q=np.zeros((2, 1)), v=np.zeros((2, 1)))

    def ran(name, system, scheme, asked):
        names.append(name)
        return end

    asked: list[int] = []
    study = inspect.unwrap(ex.study.formulations)
    put(monkeypatch, study, _ran=ran, _timed=lambda *given: asked.append(given[-1]))
    system = next(one for one in kinds.SYSTEMS.values() if getattr(one, "constraints", ()))
    found = study(system, repeats=repeats, alphas=[2.0, 1.0])
    assert names == ["the reference"]
    assert {*asked} == {runs}
    assert found.alphas.tolist() in ([1.0, 2.0], [])


@for_each(("t", "why"), [
    ([0.0, 1.0], ""), ([0.0], "must not be negative"), ([-1.0, 1.0], "must not be negative"), ([1.0, 1.0], "must increase"),
    ([], "must increase"), ([0.0, np.inf], "must increase"), ([0.5], ""),
])  # fmt: skip
def test_data_begin_at_the_start_of_a_run_or_later(t, why):
    if why:
        with pytest.raises(BadValue, match=why):
            _data(t, np.zeros(len(t)), None)
        return
    times, values, weights = _data(t, np.arange(len(t)), [[4.0]])
    assert times.tolist() == t
    assert values.tolist() == [[k] for k in range(len(t))]
    assert weights.tolist() == [[0.25]] * len(t)


@for_each(("plus", "minus", "smooth"), [
    ([2.0, 3.0, 5.0], [-2.0, -3.0, 5.0], True), ([2.0, 3.0, 5.0], [-2.0, -3.1, 5.0], False),
    ([2.1, 3.0, 5.0], [-2.0, -3.0, 5.0], False), ([2.0, 3.0, 5.0], [-2.0, -3.0, 5.1], False), ([2.0, 3.0, 5.0], None, False),
])  # fmt: skip
def test_a_derivative_is_smooth_if_both_one_sided_ones_are_its_limits(
    monkeypatch, plus, minus, smooth
):
    asked: list[list[float]] = []

    def limit(question, way):
        asked.append(way.tolist())
        side = plus if way.sum() > 0 else minus
        if side is None:
            raise StepFailed("no", None)
        return space(S=np.array(side[:1]), slope=side[1], error=0.0, cost=side[2])

    monkeypatch.setattr(doubts, "limit", limit)
    question = space(wrt=("a", "b"))
    assert doubts._smooth(question, 1, 5.0, np.array([2.0, 3.0])) == smooth
    assert asked[0] == [0.0, 1.0]
    assert asked[1:] in ([], [[0.0, -1.0]])


@for_each(("off", "error", "smooth"), [
    (3.9 * doubts.CLOSE, 0.0, True), (4.1 * doubts.CLOSE, 0.0, False), (3.9, 0.1, True), (4.1, 0.1, False),
])  # fmt: skip
def test_one_sided_derivatives_are_compared_as_far_as_their_size_and_error_tell(
    monkeypatch, off, error, smooth
):
    """Of derivatives up to 3 they may differ by 4 (CLOSE + 10 error)."""

    def limit(question, way):
        sign = way.sum()
        return space(S=np.array([sign * 2.0]), slope=sign * (3.0 + off), error=error, cost=5.0)

    monkeypatch.setattr(doubts, "limit", limit)
    assert doubts._smooth(space(wrt=("a",)), 0, 5.0, np.array([2.0, 3.0])) == smooth


@for_each(("begins", "repeats"), [(0.5, False), (1.5, False), (-0.5, True), (9.0, True)])
def test_a_drive_that_begins_within_two_periods_does_not_repeat(begins, repeats):
    """Nothing is asked of what has been before the run, nor of what comes later."""
    late = ex.MechanicalSystem("late", q="x", mass=1, start={"q": [0], "v": [0], "t_end": 20})
    late.force = [sp.Piecewise((0, late.t < begins), (1, True))]
    if repeats:
        check_period(late, 1.0, {})
    else:
        with pytest.raises(BadValue, match="not the same after"):
            check_period(late, 1.0, {})
