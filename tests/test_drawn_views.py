"""Views by themselves, on runs that are only numbers: each trace is what these numbers say."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space

from explorer.study.two_starts import Apart
from explorer.views.drawing.decimate import Rows
from explorer.views.drawing.picture import COLOURS, OFF, extent, nice
from explorer.views.events import _impacts, blows, impulses_plot
from explorer.views.formulations import _errors, _price
from explorer.views.friction import _forces, _sticking, cone_plot, friction_plot
from explorer.views.gap_velocity import _hits, _portrait, _strongest
from explorer.views.laws import law_plot
from explorer.views.saltation import matrix
from explorer.views.two_starts import _broken, _decades, distance_plot

NAN = np.nan


def same(trace, x, y):
    np.testing.assert_allclose(trace["x"], x, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(trace["y"], y, rtol=1e-6, atol=1e-12)


# ---------------------------------------------------------------- impulses


def struck(p, event_rows, closed, t=(0.0, 1.0, 2.0, 4.0)):
    """Return a run of two contacts with impulses p (rows, 2) and stretches of closed contact."""
    system = space(contacts=[space(name="a"), space(name="b")])
    p = np.array(p, float)
    return space(system=system, t=np.array(t), event_rows=event_rows, has=lambda name: False, p=p,
                 impulse=lambda i, c: p[i, c], closed_runs=lambda c: closed[c])  # fmt: skip


def test_impulses_are_stems_and_closed_contacts_bars():
    """A bar lies 4 % of the height below the one above it."""
    p = [[0, 0], [3.0, 5.0], [0, -2.0], [1.0, 0]]
    rows = [(1, "impact", 0), (1, "impact", 1), (2, "impact", 1), (3, "closed", 0), (3, "impact", 0)]  # fmt: skip
    run = struck(p, rows, {0: [(1, 3)], 1: []})
    ghost = space(solution=struck([[0, 0], [7.0, 0], [0, 0], [0, 0]], [(1, "impact", 0)], {}, (0, 1, 2, 5)), name="old", colour="#111111")  # fmt: skip
    plot = impulses_plot(run, (ghost,))
    old, stem_a, dots_a, bar_a, stem_b, dots_b, bar_b = plot.traces
    same(old, [1.0], [7.0])
    high = nice(0.0, 7.0)[1]
    same(stem_a, [1, 1, 1, 4, 4, 4], [0, 3, NAN, 0, 1, NAN])
    same(dots_a, [1, 4], [3, 1])
    same(stem_b, [1, 1, 1, 2, 2, 2], [0, 5, NAN, -2, -2, NAN])
    same(dots_b, [1, 2], [5, -2])
    same(bar_a, [1, 2, NAN], [-0.04 * high, -0.04 * high, NAN])
    same(bar_b, *OFF)
    assert plot.x_range == (0.0, 5.0)
    assert plot.y_range == pytest.approx((-0.12 * high, high))
    assert (dots_a["showlegend"], [t["line"]["color"] for t in (stem_a, stem_b)]) == (True, list(COLOURS[:2]))  # fmt: skip


def test_of_impacts_that_one_dot_would_cover_the_strongest_is_drawn():
    """There is room for 100 of them side by side."""
    t = np.array([0.0, 0.301, 0.302, 0.303, 0.31, 1.0])
    p = np.zeros((6, 2))
    p[1:5, 0], p[2, 1] = [1.0, 4.0, 2.0, 0.5], 9.0
    rows = [(1, "impact", 0), (2, "impact", 0), (2, "impact", 1), (3, "impact", 0), (4, "impact", 0)]  # fmt: skip
    run = struck(p, rows, {}, t)
    for a, x, y in ((0, [0.302, 0.31], [4.0, 0.5]), (1, [0.302], [9.0]), (None, [0.302, 0.31], [9.0, 0.5])):  # fmt: skip
        told = _impacts(run, a, 1.0)
        assert [told[0].tolist(), told[1].tolist()] == [pytest.approx(x), pytest.approx(y)]
    run.has = lambda name: name == "march"
    run.event_rows = []
    assert _impacts(run, 0, 1.0)[1].tolist() == [4.0, 0.5]


def test_blows_are_the_largest_impulse_of_each_time():
    made = lambda t, kind, impulse: space(t=t, kind=kind, impulse=impulse)  # noqa: E731
    every = [made(2.0, "impact", 3.0), made(1.0, "closed", 9.0), made(2.0, "impact", 5.0), made(3.0, "impact", 1.0)]  # fmt: skip
    assert [one.tolist() for one in blows(every, 2)] == [[1.0, 2.0], [0.0, 5.0]]
    assert [one.tolist() for one in blows(every, 9)] == [[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]]


# ---------------------------------------------------------------- friction


def test_a_force_is_the_median_of_three_steps_and_none_at_jumps():
    force = np.array([[1.0], [5.0], [2.0], [0.0], [2.0], [3.0], [4.0]])
    run = space(has=lambda name: False, jump_rows=[4])
    wanted = [NAN, 2.0, 2.0, 2.0, NAN, 3.0, 4.0]
    np.testing.assert_array_equal(_forces(run, force)[:, 0], wanted)
    assert force[0, 0] == 1.0
    run.has = lambda name: name == "march"
    assert _forces(run, force).tolist() == force.tolist()
    run.has = lambda name: False
    run.jump_rows = []
    np.testing.assert_array_equal(_forces(run, force[:2])[:, 0], [NAN, 5.0])


@for_each(("sticks", "found"), [
    ([1, 1, 0, 0, 1, 0], [0, 1, 4, 4]), ([0, 0, 0, 0, 0, 0], None), ([0, 1, 1, 1, 1, 1], [1, 5]), ([1, 0, 1, 0, 1, 1], [0, 0, 2, 2, 4, 5]),
])  # fmt: skip
def test_sticking_is_a_bar_from_its_first_to_its_last_row(sticks, found):
    t = np.arange(6.0) ** 2
    run = space(t=t, sticks=np.array([sticks, [1] * 6]).T.astype(bool))
    x, y = _sticking(run, 0, -3.0)
    if found is None:
        same({"x": x, "y": y}, *OFF)
        return
    bars = np.array(found).reshape(-1, 2)
    wanted = np.column_stack([t[bars], np.full(len(bars), NAN)]).ravel()
    same({"x": x, "y": y}, wanted, np.where(np.isnan(wanted), NAN, -3.0))


@for_each("space_of", [1, 2])
def test_friction_is_drawn_between_its_bounds(space_of):
    """In space its size: bounded by zero, so there is no lower bound, and bars lie higher."""
    n = 5
    size = np.array([[0.0, 0.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0], [1.0, 2.0]])
    lam_t = size if space_of == 1 else np.stack([0.6 * size, -0.8 * size], axis=-1)
    contacts = [space(name="a"), space(name="b")]
    run = space(t=np.arange(float(n)), lam_t=lam_t, lam_max=np.full((n, 2), 4.0), has=lambda name: False, jump_rows=[], event_rows=[(3, "impact", 0)],
                system=space(contacts=contacts, rough=[0, 1]), sticks=np.zeros((n, 2), bool))  # fmt: skip
    points = Rows(run.t, [], [], None, None)
    plot = friction_plot(run, points)
    each = 4 if space_of == 1 else 3
    assert len(plot.traces) == 2 * each
    top = nice(0.0, 4.0)[1]
    depth = 1.0 if space_of == 1 else 0.0
    for k in (0, 1):
        own = plot.traces[each * k : each * (k + 1)]
        bound, force = own[0], own[-2]
        same(bound, run.t, [NAN, 4, 4, 4, 4])
        same(force, run.t, [NAN, *[k + 1.0] * 4])
        if space_of == 1:
            same(own[1], run.t, [NAN, -4, -4, -4, -4])
        assert (bound["showlegend"], own[-1]["showlegend"], force["showlegend"]) == (k == 0, k == 0, True)  # fmt: skip
        assert force["name"] == "ab"[k]
        assert bound["breaks"].tolist() == [3]
        assert own[0]["legendrank"] == 1001
    assert plot.y_range == pytest.approx((-(depth + 0.2) * top, 1.1 * top))
    run.sticks[1:3, 1] = True
    bar = friction_plot(run, points).traces[-1]
    same(bar, [1, 2, NAN], [-(depth + 0.12) * top, -(depth + 0.12) * top, NAN])


def test_friction_in_its_cone_is_relative_to_its_bound():
    p_t = np.array([[[9.0, 9.0]], [[3.0, -4.0]], [[1.0, 1.0]]])
    run = space(t=np.arange(3.0), p_t=p_t, p_max=np.array([[1.0], [5.0], [0.0]]), system=space(rough=[0], contacts=[space(name="a")]))  # fmt: skip
    plot = cone_plot(run)
    circle, own = plot.traces
    assert np.hypot(circle["x"], circle["y"]) == pytest.approx(1)
    assert circle["x"][0] == pytest.approx(circle["x"][-1])
    same(own, [0.6, NAN], [-0.8, NAN])
    assert own["meta"]["t"].tolist() == [1, 2]
    assert (plot.x_range, plot.y_range) == ((-1.1, 1.1), (-1.1, 1.1))


# ---------------------------------------------------------------- laws


@for_each(("low", "high"), [(0.0, np.inf), (-np.inf, 2.0), (-1.0, 1.0), (-np.inf, np.inf)])
def test_a_law_is_a_monotone_graph_with_its_set_valued_parts(low, high):
    y, lam = np.array([[-3.0], [2.0], [0.5]]), np.array([[0.25], [0.75], [0.5]])
    a, b = sp.Symbol("a"), sp.Symbol("b")
    law = space(lb=a if np.isfinite(low) else -sp.oo, ub=b if np.isfinite(high) else sp.oo, y_name="u", y_unit="V", name="i", unit="")  # fmt: skip
    run = space(y=y, lam=lam, laws=[law], rho={"a": low, "b": high})
    plot = law_plot(run, Rows(np.arange(3.0), [], [], None, None))
    graph, dots = plot.traces
    same(dots, y[:, 0], lam[:, 0])
    bounds = [one for one in (low, high) if np.isfinite(one)]
    wide, tall = extent(y, [0.0]), extent(lam, bounds)
    assert (plot.x_range, plot.y_range) == (wide, tall)
    bottom, top = max(low, tall[0]), min(high, tall[1])
    corners = [*([(wide[0], high)] if np.isfinite(high) else []), (0, top), (0, bottom), *([(wide[1], low)] if np.isfinite(low) else [])]  # fmt: skip
    same(graph, *np.array(corners, float).T)
    assert (plot.x_title, plot.y_title) == ("u (V)", "i")


# ---------------------------------------------------------------- gaps


def test_impacts_of_a_gap_are_those_that_are_seen_and_told_once():
    """Weaker ones than 1/10000 of the strongest lie in one point."""

    def event(row, index, before, behind, kind="impact", impulse=1.0):
        return space(t=float(row), row=row, index=index, gap_dot_minus=before, gap_dot_plus=behind, kind=kind, impulse=impulse)  # fmt: skip

    every = [event(0, 0, -2.0, 1.0), event(1, 1, -1e-4, 0.0), event(2, 1, -3e-4, 0.0), event(3, 0, -1.0, 0.0), event(3, 0, -1.0, 0.0, "closed"),
             event(4, 0, -5.0, 0.0, "closed", 0.0), event(5, 1, 0.5, 0.0, "closed"), event(6, 1, -0.5, 0.0, "closed")]  # fmt: skip
    gap = np.arange(14.0).reshape(7, 2)
    found = _hits(space(events=every, gap=gap))
    assert found[0].tolist() == [[0, 0, -2, 1], [3, 6, -1, 0]]
    assert found[1].tolist() == [[2, 5, -3e-4, 0], [6, 13, -0.5, 0]]
    many = np.column_stack([np.arange(300.0), np.zeros(300), -(np.arange(300.0) % 250), np.zeros(300)])  # fmt: skip
    kept = _strongest(many)
    assert len(kept) == 200
    assert (np.diff(kept[:, 0]) > 0).all()
    assert sorted(kept[:, 2]) == sorted(many[:, 2])[:200]


def test_a_portrait_of_a_gap_joins_the_sides_of_its_impacts():
    run = space(system=space(contacts=[space(name="a"), space(name="b")]), gap=np.array([[9, 1.0], [9, np.inf], [9, 3.0]]), gap_dot=np.array([[9, -1.0], [9, 2.0], [9, 4.0]]))  # fmt: skip
    hits = np.array([[0.5, 0.0, -2.0, 1.0], [0.7, 0.1, -3.0, 2.0]])
    own, jumps, before, behind = _portrait(run, np.arange(3.0), np.array([2]), 1, "#123456", hits, True)  # fmt: skip
    same(own, [1, NAN, 3], [-1, NAN, 4])
    same(jumps, [0, 0, 0, 0.1, 0.1, 0.1], [-2, 1, NAN, -3, 2, NAN])
    same(before, [0, 0.1], [-2, -3])
    same(behind, [0, 0.1], [1, 2])
    assert (before["marker"]["symbol"], behind["marker"]["symbol"]) == ("circle-open", "circle")


# ---------------------------------------------------------------- two starts


@for_each(("values", "found"), [
    ([], (1e-4, 1.0)), ([1.0], (1.0, 100.0)), ([2e-3, 0.5], (1e-4, 1.0)), ([1e-4, 1e-2], (1e-4, 1e-2)), ([5e-9, 30.0], (1e-10, 100.0)), ([101.0], (100.0, 1e4)),
])  # fmt: skip
def test_an_axis_of_distances_goes_over_pairs_of_decades(values, found):
    assert _decades(np.array(values)) == pytest.approx(found)


@for_each("many", [6, 3000])
def test_a_distance_is_interrupted_at_its_jumps(many):
    t = np.arange(float(many))
    distance = 1.0 + t
    distance[1] = 0.0
    jumps = np.array([0, 2, 4, many])
    x, y = _broken(Apart(t, distance, jumps))
    kept = ~np.isnan(x)
    assert y[kept][0] == 1.0
    gaps = np.flatnonzero(~kept)
    assert [x[g + 1] for g in gaps] == [2.0, 4.0]
    assert np.isnan(y[gaps]).all()
    if many == 6:
        same({"x": x, "y": y}, [0, 1, NAN, 2, 3, NAN, 4, 5], [1, NAN, NAN, 3, 4, NAN, 5, 6])
    else:
        assert {0, 1, 2, 3, 4, many - 1} <= {*x[kept].tolist()}
        assert 900 <= kept.sum() <= 905
        assert y[kept][2:] == pytest.approx(1 + x[kept][2:])


@for_each(("discrete", "far"), [(False, 1e3), (True, 1e5)])
def test_distances_are_drawn_beside_what_is_predicted(discrete, far):
    """What is predicted beyond 100 times the largest distance is no matter of the axis."""
    t = np.arange(3.0)
    own, told = Apart(t, np.array([0.02, 0.5, 20.0]), np.zeros(0, int)), Apart(t, np.array([0.02, 3.0, far]), np.zeros(0, int))  # fmt: skip
    run = lambda end: space(t=[0.0, end])  # noqa: E731
    found = space(apart=own, predicted=told, first=run(2.0), second=run(3.0), system=space(discrete=discrete, time_unit="s"))  # fmt: skip
    plot = distance_plot(found)
    predicted, distance = plot.traces
    same(distance, t, own.distance)
    same(predicted, t, told.distance)
    assert plot.x_range == (0.0, 3.0)
    assert plot.y_range == pytest.approx((1e-2, 1e4 if far < 2e3 else 1e2))
    assert distance["mode"] == ("markers" if discrete else "lines")
    found.predicted = None
    same(distance_plot(found).traces[0], *OFF)


# ---------------------------------------------------------------- saltation


def test_the_shade_of_an_entry_is_its_logarithm():
    salt = space(Xi=np.array([[1.0, 0.0], [-3.0, 2.0]]), Pi=np.array([[0.5], [0.0]]), states=("x", "v_x"), wrt=("e",))  # fmt: skip
    table = matrix(salt)
    values = np.array([[1.0, 0.0, 0.5], [-3.0, 2.0, 0.0]])
    shades = np.sign(values) * np.log(1 + abs(values)) / np.log(4)
    assert table["values"] == values.tolist()
    assert table["shades"] == np.round(shades, 3).tolist()
    assert (table["split"], len(table["columns"]), len(table["rows"])) == (2, 3, 2)
    Xi = np.eye(8)
    Xi[5, 2], Xi[1, 1] = 4.0, -1.0
    large = space(Xi=Xi, Pi=np.zeros((8, 1)), states=tuple("abcdefgh"), wrt=("e",))
    table = matrix(large)
    assert table["rows"] == ["b", "f"]
    assert table["values"] == [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    assert table["columns"] == ["b", "f", "e"]


# ---------------------------------------------------------------- formulations


def test_errors_of_a_penalty_are_drawn_with_a_line_of_slope_minus_one():
    runs = tuple(space(name="penalty", error=e, phi=f, calls=c) for e, f, c in ((4.0, 0.5, 10), (2.0, 1e-20, 30), (1.0, 0.125, 20)))  # fmt: skip
    others = (space(name="index 1", calls=50), runs[0], space(name="none", calls=0))
    found = space(alphas=np.array([10.0, 20.0, 40.0]), penalties=runs, runs=others, system=space(constraints=(), name="m"))  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        put(patch, _errors, drift_title=lambda system, rate: f"drift {rate}")
        plot = _errors(found)
    guide, error, phi = plot.traces
    same(guide, [10, 40], [4, 1])
    same(error, found.alphas, [4, 2, 1])
    same(phi, found.alphas, [0.5, 1e-16, 0.125])
    assert plot.x_range == (5.0, 80.0)
    price = _price(found)
    level, own = price.traces
    same(level, [5, 80], [50, 50])
    same(own, found.alphas, [10, 30, 20])
    assert price.y_range == pytest.approx((0, 57.5))
    assert own["line"]["color"] == COLOURS[1]
    assert not own["showlegend"]
