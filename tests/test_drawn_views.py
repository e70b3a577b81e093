"""Views by themselves, on runs that are only numbers: each trace is what these numbers say."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_drawn_pieces import read
from test_study_branches import bare

from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD
from explorer.study.stability import Stability
from explorer.study.two_starts import Apart
from explorer.views.basins import (
    _MARK,
    _REST,
    _colour,
    _ends,
    _hover,
    _image,
    _mixed,
    _name,
    _places,
    _short,
    _wider,
)
from explorer.views.drawing.decimate import Rows
from explorer.views.drawing.orbit_colours import Colouring
from explorer.views.drawing.picture import COLOURS, OFF, extent, nice
from explorer.views.drawing.polyline import STATIC
from explorer.views.events import _impacts, blows, impulses_plot
from explorer.views.formulations import _errors, _price
from explorer.views.friction import _forces, _sticking, cone_plot, friction_plot
from explorer.views.gap_velocity import _hits, _portrait, _strongest
from explorer.views.laws import law_plot
from explorer.views.mechanism import _head, _lean, _measure, _rows, _zigzag, items_of
from explorer.views.orbits import _dots
from explorer.views.saltation import matrix
from explorer.views.stability import _oscillator, _over_step
from explorer.views.trajectory import _exact, positions_plots, unit_of
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


# ---------------------------------------------------------------- basins


def basin(labels, shape, computed=None, periods=(1, 2), by_period=False):
    families = [[space(period=p)] for p in periods]
    return space(label=np.array(labels), computed=np.ones(len(labels), bool) if computed is None else np.array(computed), families=families,
                 attractors=[one for (one,) in families], by_period=by_period)  # fmt: skip


def test_a_map_has_a_shade_for_each_kind_and_patterns_for_what_is_none():
    """Row by row from the top; what was filled is paler; lines every eight pixels."""
    own = basin([0, 1, 0, UNDECIDED, FAILED, REFUSED], (3, 2), [True, True, False, True, True, True])  # fmt: skip
    image = _image(own, (3, 2))
    seen, palette = read(image)
    across, up = -(-640 // 3), 240
    assert seen.shape == (2 * up, 3 * across)

    def at(i, j):
        """Return the colours in the cell of the start (i, j), j upwards, with their places."""
        rows, columns = np.arange((1 - j) * up, (2 - j) * up), np.arange(i * across, (i + 1) * across)  # fmt: skip
        return palette[seen[np.ix_(rows, columns)]], *np.meshgrid(rows, columns, indexing="ij")

    def rgb(text):
        return [*(int(text[k : k + 2], 16) for k in (1, 3, 5)), 255]

    assert (at(0, 0)[0] == rgb(_colour(own, 0))).all()
    assert (at(0, 1)[0] == rgb(_colour(own, 1))).all()
    assert (at(1, 0)[0] == rgb(_mixed(_colour(own, 0), 0.45, 255))).all()
    for (i, j), kind, lines in (((1, 1), UNDECIDED, lambda r, c: (r + c) % 8 < 2), ((2, 0), FAILED, lambda r, c: ((r + c) % 8 < 2) | ((r - c) % 8 < 2)),
                                ((2, 1), REFUSED, lambda r, c: (r % 8 < 2) & (c % 8 < 2))):  # fmt: skip
        found, r, c = at(i, j)
        on = lines(r, c)
        assert (found[on] == rgb(_MARK[kind])).all()
        assert (found[~on] == (rgb(_colour(own, kind)) if kind != REFUSED else [0, 0, 0, 0])).all()
    assert _mixed("#804020", 0.5, 0) == "#402010"
    assert _mixed("#804020", 0.45, 255) == "#B99684"


@for_each(("k", "by_period", "name", "colour"), [
    (0, False, "attractor 0", 0), (1, False, "attractor 1", 1), (0, True, "period 1", 0), (1, True, "period 2", 1), (2, True, "longer, or no period", None), (3, True, "longer, or no period", None),
    (ESCAPES, False, "escaped", None), (UNTOLD, False, "not computed yet", None), (4, False, "not computed yet", None),
])  # fmt: skip
def test_a_label_has_its_name_and_its_colour(k, by_period, name, colour):
    own = basin([0], (1, 1), periods=(1, 2, len(COLOURS) + 1, 0), by_period=by_period)
    assert _name(own, k) == name
    if colour is not None:
        assert _colour(own, k) == COLOURS[colour]
    elif by_period:
        assert _colour(own, k) == _REST
    many = len(COLOURS)
    dark = _mixed(COLOURS[0], 0.45, 0)
    own.by_period = False
    assert [_colour(own, j) for j in (0, many, 2 * many)] == [COLOURS[0], dark, COLOURS[0]]  # fmt: skip


def test_under_the_pointer_is_the_attractor_of_a_start():
    """A panel answers for 80 cells of an axis at most."""
    n = 200
    own = basin((np.arange(n * 3) % 2).tolist(), (n, 3))
    values = [np.linspace(0, 1, n), np.array([5.0, 6.0, 7.0])]
    found = _hover(own, values, (n, 3), ("a", "b"), space())
    assert found["x"].tolist() == values[0][::3].tolist()
    assert found["y"].tolist() == [5, 6, 7]
    label = own.label.reshape(n, 3)[::3]
    assert np.array(found["z"]).tolist() == label.T.tolist()
    assert found["text"] == [[f"attractor {k}" for k in row] for row in label.T]
    assert found["meta"] == {"key": "a", "up": "b"}
    whole = _hover(own, values, (n, 3), None, STATIC)
    assert (len(whole["x"]), np.shape(whole["z"])) == (n, (3, n))
    assert "meta" not in whole


@for_each(("names", "found"), [
    (["q0.x", "v0.x"], (0, 2)), (["x0.y", "q0.x"], (1, 0)), (["v0.y", "x0.v_x"], (3, 2)), (["q0.x", "k"], None),
])  # fmt: skip
def test_axes_of_a_map_may_be_states(names, found):
    own = space(states=("x", "y", "v_x", "v_y"))
    assert _places(own, names) == found
    assert [_short(one) for one in ("q0.x", "v0.x", "x0.y", "k")] == ["x", "v_x", "y", "k"]
    assert _ends(np.array([2.0, 3.0])) == (2.0, 3.0)
    assert _ends(np.array([2.0])) == (1.5, 2.5)
    assert _wider(2.0, 4.0) == pytest.approx((1.9, 4.1))


# ---------------------------------------------------------------- orbits


@for_each("foot", [True, False])
def test_dots_lie_in_the_rows_of_their_values(foot):
    """From 0 at the bottom to 1 at the top; what repeats is a row thicker; a failed column has a mark."""
    points = np.array([[[0.0], [0.5]], [[0.25], [1.0]], [[NAN], [NAN]], [[-0.1], [0.999]]])
    own = space(known=np.array([True, True, False, True]), failed=np.array([False, False, False, foot]), values=np.arange(4), points=points)  # fmt: skip
    colouring = Colouring(np.array([2, 0, 1, 1]), ("a", "b", "c", "d"), (), np.array([True, False, False, True]), [])  # fmt: skip
    column, row, kind = _dots(own, 0, (0.0, 1.0), colouring, True)
    dots = {*zip(column.tolist(), row.tolist(), kind.tolist(), strict=True)}
    rows = 420
    level = lambda x: rows - 1 - int(x * rows)  # noqa: E731
    wanted = set()
    for c, x, k, thick in ((0, 0.0, 2, True), (0, 0.5, 2, True), (1, 0.25, 0, False), (3, 0.999, 1, True)):  # fmt: skip
        for more in (0, 1, *([-1] if thick else [])):
            wanted.add((c, min(max(level(x) + more, 0), rows - 1), k))
    # the third is as its nearest known neighbour, the first of two
    wanted |= {(2, r, 0) for c, r, k in wanted if c == 1}
    if foot:
        wanted |= {(3, r, 3) for r in range(rows - 6, rows)}
    assert dots == wanted
    assert (np.diff(kind) <= 0).all()
    own.known[:] = False
    assert [len(one) for one in _dots(own, 0, (0.0, 1.0), colouring, True)] == [0, 0, 0]  # fmt: skip


# ---------------------------------------------------------------- stability


def test_growth_is_no_overshoot_and_limits_are_lines():
    step = np.array([0.1, 1.0, 10.0])
    one = bare(Stability, omega_h=step, radius=np.array([0.5, 1.0, 1.1]), overshoot_d=np.array([1.0, 2.0, 9.0]), overshoot_v=np.array([1.5, 0.5, 9.0]), damping=np.array([0.0, -0.7, 2.0]), limit=1.0)  # fmt: skip
    shown = [(one, "#111111", "A", {})]
    grids = {id(one.omega_h): step.astype(np.float32)}
    plot = _over_step(3, shown, grids, (0.1, 10.0), [])
    d, v, limit = plot.traces
    same(d, step, [1, 2, NAN])
    same(v, step, [1.5, 0.5, NAN])
    assert plot.y_range == extent([0.9, 1.5], [1.0, 2.0], [1.5, 1.0])
    same(limit, [1, 1], plot.y_range)
    assert limit["showlegend"]
    plot = _over_step(1, shown, grids, (0.1, 10.0), [one])
    damping, limit, mark = plot.traces
    same(damping, step, one.damping)
    assert plot.y_range == extent([-0.05, 0.05], [0.0, -0.5, 1.0])
    same(mark, step, one.damping)
    assert not limit["showlegend"]
    one = bare(Stability, omega_h=step, radius=one.radius, limit=20.0)  # fmt: skip
    plot = _over_step(0, [(one, "#111111", "A", {})], {id(one.omega_h): step}, (0.1, 10.0), [])
    assert plot.traces[1]["y"].tolist() == OFF[1].tolist()
    assert plot.y_range == extent([0.0, 1.5])


def test_a_run_of_the_oscillator_is_drawn_as_far_as_it_is_near():
    """Beside cos t; behind a size of 12 nothing; of many points at most 400."""
    runs = []
    for n, grows in ((60, False), (900, False), (30, True)):
        t = np.linspace(0, 10, n)
        q = 0.5**t if not grows else np.where(np.arange(n) < 20, 1.0, -13.0)
        runs.append(space(motion=space(t=t, q=q[:, None]), xi=0.0, grows=grows))
    plot = _oscillator(runs, ["a", "b", "c"])
    exact, third, second, first = plot.traces
    assert exact["y"] == pytest.approx(np.cos(exact["x"]), abs=1e-6)
    assert (exact["x"][0], exact["x"][-1], len(exact["x"])) == (0, 10, 250)
    assert (len(third["x"]), third["y"][-1]) == (21, -13)
    assert (len(second["x"]), len(first["x"])) == (300, 60)
    same(second, runs[1].motion.t[::3], 0.5 ** runs[1].motion.t[::3])
    assert ["markers" in t["mode"] for t in (third, second, first)] == [True, False, True]
    assert plot.y_range == extent([-12.0, 1.0])
    assert plot.x_range == (0.0, 10.0)


# ---------------------------------------------------------------- mechanisms


def test_a_spring_is_a_zigzag_and_an_arrow_has_a_head():
    for turn in (1.0, 1j, np.exp(0.7j)):
        ends = np.array([[0.0, 0.0], [np.real(10 * turn), np.imag(10 * turn)]]) + 3.0
        z = (_zigzag(ends, 0.5) - 3.0) @ [1, 1j] / turn
        at = np.linspace(0.1, 0.9, 12)
        wanted = [0, 0.8, *(10 * at + 0.5j * (-1) ** (1 + np.arange(12))), 9.2, 10]
        assert z == pytest.approx(np.array(wanted), abs=1e-12)
        barbs = (_head(*ends) - 3.0) @ [1, 1j] / turn
        assert barbs == pytest.approx(np.array([8 + 1j, 10, 8 - 1j]), abs=1e-12)
    twice = _zigzag(np.array([[0.0, 0], [1, 0], [1, 1]]), 0.1)
    assert len(twice) == 32
    assert np.isfinite(_zigzag(np.zeros((2, 2)), 0.1)).all()


def test_items_show_values_of_which_the_largest_is_shared():
    def shape(kind="line", role="body", n=2, value=None, unit="", label=""):
        return space(kind=kind, role=role, points=[()] * n, closed=kind == "circle", value=value, unit=unit, label=label)  # fmt: skip

    shapes = [shape(), shape("circle", "wire", 1, "i1", "A", "i_1"), shape(role="wire", value="i2", unit="A"), shape(role="lamp", value="i1", unit="V", label="a b")]  # fmt: skip
    items = items_of(shapes, np.array([0.0, 2.0, 0.0, 0.0]))
    assert [one.get("value") for one in items] == [None, 0, 1, 0]
    assert [one["radius"] for one in items] == [0, 2, 0, 0]
    assert [one["n"] for one in items] == [2, 1, 2, 2]
    _measure(items, np.array([[1.0, -7.0], [-3.0, NAN]]))
    assert [one.get("most") for one in items] == [None, 7.0, 7.0, 3.0]
    film = {"t": np.arange(3.0), "xy": np.array([[[0.0, 1.0], [2.0, 3.0]], [[0.0, 1.5], [2.0, 3.0]], [[0.0, 1.0], [2.0, 4.0]]])}  # fmt: skip
    lean = _lean(film)
    assert lean["moving"].tolist() == [1, 3]
    assert lean["xy"].tolist() == [[1, 3], [1.5, 3], [1, 4]]
    assert lean["still"].tolist() == [0, 1, 2, 3]
    rows = _rows(space(t=np.array([0.0, 1.0, 1.5, 4.0])), 5)
    assert rows.tolist() == [0, 1, 3, 3, 3]


# ---------------------------------------------------------------- trajectories


@for_each(("units", "groups"), [
    (["m", "m"], [[0, 1]]), (["m", "rad", "m"], [[0, 2], [1]]), (["a", "b", "c", "d"], [[0], [1], [2, 3]]), (["a", "b", "c", "d", "a"], [[0, 4], [1], [2, 3]]),
])  # fmt: skip
def test_states_share_a_plot_by_their_unit(monkeypatch, units, groups):
    put(monkeypatch, positions_plots, positions_plot=lambda run, points, ghosts, which=None: which)
    names = tuple(f"x{k}y" for k in range(len(units)))
    run = space(has_velocities=False, system=space(units=tuple(units), coordinates=names))
    assert positions_plots(run, None) == groups
    run.has_velocities = True
    assert positions_plots(run, None) == [None]


@for_each(("units", "which", "rate", "found"), [
    (("m", "rad"), None, False, " (m, rad)"), (("m", ""), None, False, " (m, 1)"), (("", ""), None, True, ""), (("m", "rad"), [1], True, " (rad/s)"), (("m", ""), None, True, " (m/s, 1/s)"),
])  # fmt: skip
def test_a_title_has_all_units_that_occur(units, which, rate, found):
    run = space(system=space(units=units, time_unit="s"))
    assert unit_of(run, rate, which) == found


@for_each(("q0", "v0", "known"), [(1.0, 0.0, True), (1.0 + 1e-5, 0.0, False), (1.0, 1e-5, False)])
def test_a_closed_form_is_drawn_on_both_sides_of_its_jumps(q0, v0, known):
    """At a jump it is asked for a little before and behind it; of many rows some are left out."""
    asked = []

    def exact(t, rho):
        asked.append(t.copy())
        return {"q": np.cos(t)[:, None], "v": -np.sin(t)[:, None]}

    run = space(system=space(exact=exact), rho={}, q=np.array([[q0]]), v=np.array([[v0]]))
    t = np.array([0.0, 1.0, 1.0, 2.0, 4.0])
    found = _exact(run, Rows(t, [], [], None, np.array([2])))
    assert asked[0] == pytest.approx([0, 1 - 4e-6, 1 + 4e-6, 2, 4], abs=1e-12)
    assert (found is not None) == known
    if known:
        times, form, torn = found
        assert times is t
        assert form[:, 0] == pytest.approx(np.cos(asked[0]))
        assert torn.tolist() == [2]
    many = np.linspace(0, 4, 50_001)
    found = _exact(run, Rows(many, [], [], None, np.array([777])))
    if known:
        times, form, torn = found
        assert 20_000 <= len(times) <= 25_010
        assert (times[0], times[-1], times[torn[0]]) == (0.0, 4.0, many[777])
        assert times[torn[0] - 1] == many[776]
    run.system.exact = None
    assert _exact(run, None) is None
