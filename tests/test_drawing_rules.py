"""Rules by which pictures are drawn, each with its numbers: ranges, bars, events, colours, dots."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each

from explorer.views.drawing import (
    decimate,
    iterates,
    lanes,
    one_sided,
    orbit_colours,
    picture,
    slopes,
)
from explorer.views.drawing.polyline import PANEL, STATIC, Look

COVERS = (
    "views/drawing/decimate.py", "views/drawing/iterates.py", "views/drawing/lanes.py", "views/drawing/one_sided.py",
    "views/drawing/orbit_colours.py", "views/drawing/picture.py", "views/drawing/slopes.py",
)  # fmt: skip  # see mutant_rooms.py
space = SimpleNamespace
EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- ranges


@for_each(("low", "high", "told"), [
    (0, 1, (-0.2, 1.2)), (0, 10, (-2, 12)), (0, 3, (-0.5, 3.5)), (-1, 1, (-1.5, 1.5)), (5, 5, (2, 8)), (0, 0, (-1.5, 1.5)), (-3, -3, (-5, -1)), (100, 101, (99.8, 101.2)),
    (0.2, 0.97, (0, 1)), (0.2, 0.96, (0.1, 1.0)), (np.nan, 1, (-1, 1)), (0, np.inf, (-1, 1)), (-np.inf, 0, (-1, 1)), (1e6, 1e6 + 1e-7, (4e5, 1.6e6)),
])  # fmt: skip
def test_a_range_ends_at_round_numbers(low, high, told):
    """1, 2 or 5 times a power of ten, of which eight or fewer fill it; by a fiftieth wider at least."""
    assert picture.nice(low, high) == pytest.approx(told)


@for_each(("values", "told"), [([], None), ([3.0], (3, 3)), ([2.0, -1.0], (-1, 2)), ([np.inf, 1.0, 2.0], (1, 2)), ([-np.inf, 1.0], (1, 1)), ([np.nan], None), ([np.nan, 5.0, np.inf], (5, 5))])  # fmt: skip
def test_a_span_is_that_of_finite_values(values, told):
    found = picture.span(np.array(values))
    assert found == told if told else all(map(math.isnan, found))
    assert picture.extent(values, []) == picture.nice(*(told or (np.nan, np.nan)))
    both = (min(told[0], -7.0), max(told[1], -7.0)) if told else (-7.0, -7.0)
    assert picture.extent(values, [-7.0]) == picture.nice(*both)


@for_each(("new", "old", "moving", "told"), [
    ((0, 1), (0, 2), False, (0, 2)), ((0, 1), (0, 2.1), False, (0, 1)), ((0, 1), (0, 4), True, (0, 4)), ((0, 1), (0, 4.1), True, (0, 1)), ((0, 4), (0, 3), False, (0, 4)),
    ((0, 4), (0, 3), True, picture.nice(0, 4 + 1.2)), ((-1, 3), (0, 3), True, picture.nice(-1 - 1.2, 3)), ((-1, 4), (0, 3), True, picture.nice(-1 - 1.5, 4 + 1.5)), ((1, 2), (0, 3), False, (1, 2)),
    ((1, 2), (0.5, 2.5), False, (0.5, 2.5)), ((1, 2), (0.5, 2.5), True, (0.5, 2.5)), ((-1, 1), (-1.5, 0.5), False, (-1.5, 1)),
])  # fmt: skip
def test_an_axis_grows_at_once_and_shrinks_late(new, old, moving, told):
    """To half of the last one, of a slider that moves to a quarter; then by more than it has to."""
    before = {"xaxis": {"range": old}, "height": 5}
    layout = {"xaxis": {"range": new, "title": "t"}, "yaxis2": {"range": (3, 4)}, "height": 7}
    kept = picture.steady(layout, before, moving=moving)
    assert tuple(kept["xaxis"]["range"]) == pytest.approx(told)
    assert kept["xaxis"]["title"] == "t"
    assert (kept["yaxis2"], kept["height"]) == (layout["yaxis2"], 7)
    assert layout["xaxis"]["range"] == new
    assert picture.steady(layout, None) is layout


def test_what_is_left_out_is_an_entry_without_a_line():
    trace = picture.left_out(6, 9)
    assert (trace["name"], trace["showlegend"], trace["line"]["width"]) == ("6 of 9 shown", True, 0)
    assert trace["y"][0] < -1e8


# ---------------------------------------------------------------- lanes, and rows of many


def test_bars_lie_in_lanes_from_one_switch_to_the_next():
    """The first lane on top; those of sides lie a little above and below it."""
    t = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    signs = np.array([[1, 0], [1, 0], [-1, 1], [0, 1], [0, 0]])
    x, y = lanes.bars(t, signs, (1, -1), 2, 0.5)
    EQUAL(x, np.float32([0, 2, np.nan, 2, 3, np.nan, 2, 4, np.nan]))
    np.testing.assert_allclose(y, [1.77, 1.77, np.nan, 1.23, 1.23, np.nan, 0.77, 0.77, np.nan])
    x, y = lanes.bars(t, signs, (0,), 2)
    EQUAL(x, np.float32([3, 4, np.nan, 0, 2, np.nan, 4, 4, np.nan]))
    EQUAL(y, np.float32([1, 1, np.nan, 0, 0, np.nan, 0, 0, np.nan]))
    assert lanes.bars(t, signs, (7,), 2) is picture.OFF
    assert lanes.bars(t, signs[:, :0], (0,), 0) is picture.OFF


@for_each("more", (0, 1, 5))
def test_of_many_bars_the_longest_are_drawn_in_their_order(more):
    many = lanes.MOST_BARS + more
    long = np.random.default_rng(more).permutation(many) + 1.0
    t = np.append(0.0, np.cumsum(np.column_stack([long, np.ones(many)]).ravel()))
    signs = np.append(np.tile([2, 0], many), 2)[:, None]
    signs[-1] = 0
    x, _ = lanes.bars(t, signs, (2,), 1)
    begin, end, _ = x.reshape(-1, 3).T
    kept = np.flatnonzero(long > more)
    assert len(begin) == lanes.MOST_BARS
    np.testing.assert_allclose(end - begin, long[kept], rtol=1e-3)
    np.testing.assert_allclose(begin, t[2 * kept], rtol=1e-6)


@for_each(("count", "most", "told"), [(3, 3, [0, 1, 2]), (4, 3, [0, 1, 3]), (9, 3, [0, 4, 8]), (1, 3, [0]), (10, 1, [0]), (7, 4, [0, 2, 4, 6])])  # fmt: skip
def test_few_rows_of_many_are_spread_evenly(count, most, told):
    assert decimate.few(np.arange(count), most).tolist() == told


@for_each(("names", "most", "told"), [
    ("x", 6, [0]), ("x1 y1 x2 y2", 6, [0, 1, 2, 3]), ("x1 y1 x2 y2 x3 y3 x4 y4", 6, [0, 1, 4, 5, 6, 7]), ("x1 y1 x2 y2 x3 y3 x4 y4", 3, [0, 4, 7]), ("a b c d e f g h", 6, [0, 1, 3, 4, 6, 7]),
    ("q1 q2 q3 q4 q5 q6 q7", 6, [0, 1, 2, 4, 5, 6]), ("x1 y1 x2", 6, [0, 1, 2]), ("a1 b1 c1 d1 a2 b2 c2 d2", 6, [0, 1, 2, 3]), ("a1 b1 c1 d1 e1 f1 a2 b2 c2 d2 e2 f2", 6, [0, 1, 2, 3, 4, 5]),
])  # fmt: skip
def test_of_bodies_some_are_drawn_with_all_of_their_coordinates(names, most, told):
    found = decimate.drawn(names.split(), most)
    assert found.tolist() == told
    assert not found.flags.writeable


# ---------------------------------------------------------------- one-sided limits


@for_each(("times", "window", "told"), [
    ([0.0, 0.25, 0.5, 1.0], (0.0, 1.0), [0, 1, 2, 3]), ([0.0, 0.24, 0.25, 0.5, 0.74, 1.0], (0.0, 1.0), [0, 2, 3, 5]), ([-0.1, 0.1, 1.1], (0.0, 1.0), [1]), ([0.5, 1.0, 1.5], (0.5, 1.5), [0, 1, 2]), ([], (0.0, 1.0), []),
])  # fmt: skip
def test_events_are_told_apart_by_half_of_their_share(times, window, told):
    """Of two in a window of 1 s: a quarter of a second."""
    assert one_sided.apart(np.array(times), window, 2) == told


def test_arcs_between_events_get_points_of_their_own_where_they_are_short():
    """The eighteen longest, but those that are not seen; three points inside of each short one."""
    grid = np.linspace(0.0, 1.0, 5)
    EQUAL(one_sided.arcs(np.zeros(0), (0.0, 1.0), 5), grid)
    EQUAL(one_sided.arcs(np.array([0.0, 1.0]), (0.0, 1.0), 5), grid)
    found = one_sided.arcs(np.array([0.5, 0.6]), (0.0, 1.0), 5)
    inside = [0.125, 0.25, 0.375, 0.525, 0.55, 0.575, 0.7, 0.8, 0.9]
    np.testing.assert_allclose(found, np.union1d(grid, inside))
    wide = one_sided.arcs(np.array([0.5, 0.6]), (0.0, 1.0), 11)  # 4 / 11 of the window
    np.testing.assert_allclose(wide, np.union1d(np.linspace(0, 1, 11), inside[3:6]))
    seen, hidden = (one_sided.arcs(np.array([0.5, 0.5 + d]), (0.0, 1.0), 5) for d in (6e-4, 4e-4))
    assert ((seen > 0.5) & (seen < 0.5006)).sum() == 3
    assert not ((hidden > 0.5) & (hidden < 0.5004)).any()
    begin, end = one_sided._long(np.linspace(0, 1, 31)[1:-1] ** 2, (0.0, 1.0))
    assert len(begin) == 18
    assert begin.min() == pytest.approx((12 / 30) ** 2)
    assert (end > begin).all()


def at_events(right, pick=None, gap=()):
    t = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0])
    pick = np.arange(6) if pick is None else np.array(pick)
    gaps = np.zeros(len(pick), bool)
    gaps[list(gap)] = True
    rows = space(t=t, system=space(time_unit="s"))
    return one_sided.Sides(rows, t[pick].astype(np.float32), pick, gaps, np.array(right, int), [*range(len(right))])  # fmt: skip


def test_limits_are_marked_where_a_curve_jumps():
    """By more than a millionth of its largest value; open before, closed behind."""
    at = at_events([2, 4], [0, 1, 2, 2, 3, 4, 5], [2])
    values = np.array([0.0, 1.0, -4.0, 2.0, 2.0 + 3.9e-6, 3.0])
    line, left, right = one_sided.limits(at, values, "#123456", "x")
    np.testing.assert_allclose(line["y"], [0, 1, np.nan, -4, 2, 2, 3], rtol=1e-5)
    EQUAL(line["x"], at.t)
    assert (left["marker"]["symbol"], right["marker"]["symbol"]) == ("circle-open", "circle")
    assert (left["x"].tolist(), left["y"].tolist()) == ([1.0], [1.0])
    assert (right["x"].tolist(), right["y"].tolist()) == ([1.0], [-4.0])
    values[4] = 2.0 + 4.1e-6
    assert one_sided.limits(at, values, "#123456", "x")[1]["x"].tolist() == [1.0, 2.0]
    assert one_sided.limits(at, np.zeros(6), "#123456", "x")[1]["y"][0] < -1e8


@for_each(("slope", "right", "left"), [((0.5, -0.25), [[2.0], [0.5]], [[1.5], [0.5]]), ((0.5, 1.0), [[2.0, 4.0], [0.5, 0.5]], None), ((0.0, -1e-12), None, None), ((-2e-12, 0.0), None, [[1.0], [0.5]])])  # fmt: skip
def test_arrows_lead_from_events_to_where_they_move(slope, right, left):
    """By their slope times the scale, 2 s; a head for each that moves."""
    at = at_events([2, 4])
    shaft, ahead, back = one_sided.shifts(at, np.array(slope), 0.5, 0.125, 2.0, "moves")
    x, y = shaft["x"].reshape(2, 6), shaft["y"].reshape(2, 6)
    for k, t in enumerate((1.0, 2.0)):
        np.testing.assert_allclose(x[k], [t, t, np.nan, t, t + 2 * slope[k], np.nan])
        EQUAL(y[k], np.float32([0.375, 0.625, np.nan, 0.5, 0.5, np.nan]))
    for head, wanted in ((ahead, right), (back, left)):
        if wanted is None:
            assert head["y"][0] < -1e8
        else:
            np.testing.assert_allclose([head["x"], head["y"]], wanted)
    assert (ahead["marker"]["symbol"], back["marker"]["symbol"]) == ("triangle-right", "triangle-left")  # fmt: skip
    assert one_sided.shifts(at_events([]), np.zeros(0), 0.5, 0.1, 2.0, "")[0]["y"][0] < -1e8


# ---------------------------------------------------------------- colours of an orbit diagram


def orbits(period, failed=None, known=None):
    period = np.array(period)
    none = np.zeros(len(period), bool)
    return space(period=period, failed=none if failed is None else np.array(failed, bool), known=~none if known is None else np.array(known, bool))  # fmt: skip


def test_short_periods_have_a_colour_of_their_own():
    found = orbit_colours.by_period(orbits([0, 1, 2, 6, 7, 3], [0, 0, 0, 0, 0, 1]))
    assert found.kind.tolist() == [6, 0, 1, 5, 6, 2]
    assert found.thick.tolist() == [False, True, True, True, False, True]
    assert found.names[:2] == ("period 1", "period 2")
    assert found.names[5:] == ("period 6", "longer, or none", "no result")
    assert len(found.colours) == len(found.names) == 8
    assert found.words[1:] == ["period 1", "period 2", "period 6", "period 7", "no result"]
    assert found.words[0].startswith("no period up to ")


def test_a_legend_names_what_is_seen_of_known_columns():
    one = orbits([1, 2, 3, 7], [0, 0, 1, 0], [1, 0, 1, 1])
    for bad in (True, False):
        one.failed = np.array([False, False, bad, False])
        told = orbit_colours.by_period(one)
        seen = [trace["showlegend"] for trace in told.legend(one, [])]
        assert seen == [True, False, not bad, False, False, False, True, bad]
    other = orbits([5, 4], [0, 1])
    seen = [t["showlegend"] for t in told.legend(one, [(other, orbit_colours.by_period(other))])]
    assert seen == [True, False, True, False, True, False, True, False]


@for_each("size", (1.0, 30.0))
def test_exponents_are_told_in_parts_of_the_usual_largest(size):
    """Fiftieth, third, two thirds of it; what is beyond all numbers is beyond the scale."""
    parts = np.array([-1.0, -0.6, -0.3, -0.01, 0.0, 0.01, 0.03, 0.5, 0.7, np.nan, np.inf, -np.inf])
    values = size * np.append(parts, np.ones(200))
    failed = np.zeros(len(values), bool)
    failed[0] = True
    found = orbit_colours.by_exponent(orbits(np.arange(len(values)) % 3, failed), values, "1/s")
    assert found.kind[:12].tolist() == [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 6, 0]
    assert (found.kind[12:] == 6).all()
    assert found.thick[:4].tolist() == [False, True, True, False]
    assert len(found.names) == len(found.colours) == 9
    assert found.words[0] == "no result"
    assert found.words[9].startswith("λ not known, ")
    assert found.words[1].startswith("λ = ")
    assert found.names[7:] == ("λ not known", "no result")
    assert found.names[3].startswith("|λ| < ")
    assert found.names[6].startswith("λ > ")
    nothing = orbit_colours.by_exponent(orbits([0]), np.array([np.nan]), "")
    assert nothing.kind.tolist() == [7]
    assert orbit_colours.by_exponent(orbits([0, 0]), np.zeros(2), "").kind.tolist() == [3, 3]


# ---------------------------------------------------------------- iterates as dots


@for_each(("width", "coarse", "most"), [(None, 1.0, 20_000), (2 * PANEL.width, 1.0, 420), (2 * PANEL.width + 1, 1.0, 20_000), (PANEL.width, 2.0, 210), (PANEL.width, 9.0, 50)])  # fmt: skip
def test_as_many_iterates_are_drawn_as_a_plot_has_room_for(width, coarse, most):
    look = STATIC if width is None else Look(width, PANEL.height, coarse=coarse)
    for count in (most, most + 1, 3 * most):
        rows = iterates.chosen(space(t=np.arange(count)), look)
        if count == most:
            EQUAL(rows, np.arange(count))
            continue
        assert len(rows) == pytest.approx(most, abs=3)
        assert rows[0] == 0
        assert {*(rows % 2)} == {0, 1}


def test_iterates_of_a_window_are_drawn_if_there_are_any():
    t = np.arange(10.0)
    for window, told in (((2.0, 5.0), [2, 3, 4, 5]), ((2.5, 3.5), [3]), ((20.0, 30.0), [*range(10)]), ((2.2, 2.8), [*range(10)])):  # fmt: skip
        look = Look(PANEL.width, PANEL.height, ranges={"xaxis": window})
        assert iterates.chosen(space(t=t), look).tolist() == told


@for_each(("whole", "size"), [(600, 4.0), (601, 2.4)])
def test_dots_are_small_where_there_are_many(whole, size):
    trace = iterates.dots(np.zeros(2), np.ones(2), "#123456", "x", "", {}, whole)
    assert (trace["marker"]["size"], trace["mode"]) == (size, "markers")


# ---------------------------------------------------------------- a quantity and its derivative


@for_each(("x", "told"), [(1.0, 1.0), (1.9, 1.0), (2.0, 2.0), (4.99, 2.0), (5.0, 5.0), (9.9, 5.0), (10.0, 10.0), (0.03, 0.02), (7e-9, 5e-9), (123.0, 100.0)])  # fmt: skip
def test_a_scale_is_rounded_down(x, told):
    assert slopes._round(x) == told


def sensitivity(slope, low=0.0, high=0.0, times=(0.5,)):
    events = [space(t=t, dt_drho=[9.0, s]) for t, s in zip(times, slope, strict=True)]
    parameters = {"a": space(low=low, high=high)}
    return space(events=events, wrt=["b", "a"], question=space(system=space(parameters=parameters)))


@for_each(("slope", "times", "before", "told"), [
    ((0.5,), (0.5,), None, 0.5), ((0.5,), (0.5,), 0.2, 0.2), ((0.5,), (0.5,), 1.0, 1.0), ((0.5,), (0.5,), 1.01, 0.5), ((0.5,), (0.5,), 0.19, 0.5), ((-0.5, 0.1), (0.5, 0.6), None, 0.5),
    ((0.5, 50.0), (0.5, 3.0), None, 0.5), ((0.5, 50.0), (0.5, 2.0), None, 0.005), ((0.5, 50.0), (0.5, 0.0), None, 0.005), ((0.0,), (0.5,), None, 1.0), ((), (), None, 1.0), ((1e-9,), (0.5,), None, 1.0), ((3e-9,), (0.5,), None, 1e8),
])  # fmt: skip
def test_arrows_are_a_seventh_of_the_window_long_or_stay(slope, times, before, told):
    """0.15 of 2 s, rounded down; one from before stays between 0.05 and 0.25 of it."""
    sens = sensitivity(slope, times=times)
    assert slopes.arrow_scale(sens, 1, (0.0, 2.0), before) == pytest.approx(told)


@for_each(("low", "high", "told"), [(0.0, 3.0, 3.0), (2.0, 2.0, 1.0), (3.0, 1.0, 1.0), (-1.0, 0.5, 1.5)])  # fmt: skip
def test_a_parameter_reaches_over_its_range(low, high, told):
    sens = sensitivity((), low, high, ())
    assert slopes._reach(sens, 1) == told
    assert slopes._reach(sens, 0) == 1.0


@for_each(("spiky", "told"), [([], (-0.2, 1.2)), ([np.nan, np.inf], (-0.2, 1.2)), ([0.5], None), ([-9.0], (-1.6, 1.2)), ([9.0], (-0.2, 2.6)), ([-9.0, 9.0], (-1.6, 2.6)), ([-0.5], (-0.5, 1.2))])  # fmt: skip
def test_spikes_are_drawn_up_to_as_far_beyond_as_the_curve_is_high(spiky, told):
    low, high = told or (-0.2, 1.2)
    found = slopes._roomy(np.array([0.0, 1.0]), np.array(spiky))
    plain = not np.isfinite(spiky).any()
    assert found == (pytest.approx((low, high)) if plain else picture.nice(low, high))


def test_a_unit_of_a_slope_is_the_shortest():
    cases = {("m/s", "m/s2"): "(m/s)/(m/s²)", ("m", "kg"): "m/kg", ("m", ""): "m", ("", ""): "", ("m", "m"): "1", ("s", "1/s"): "s²", ("", "1/s"): "s",
             ("m", "1/(kg s)"): "m kg s", ("", "m/s"): "1/(m/s)", ("", "kg"): "1/kg", ("m", "1/s/kg"): "m/(1/s/kg)"}  # fmt: skip
    for (top, bottom), told in cases.items():
        assert slopes.per(top, bottom) == told
    assert slopes.slope_unit("m2/s", "") == "m²/s"


def test_a_start_is_a_coordinate_or_its_rate():
    system = space(parameters={"k": space(unit="N/m")}, coordinates=["x", "v_x", "phi"], units=["m", "m/s", ""])  # fmt: skip
    sens = space(wrt=["k", "x", "v_x", "v_phi", "phi"], question=space(system=system))
    told = [slopes.parameter(sens, j) for j in range(5)]
    assert [u for _, u in told] == ["N/m", "m", "m/s", "", ""]
    assert [text for text, _ in told][1:] == ["x(0)", f"{picture.label('v_x')}(0)", "φ\u0307(0)", "φ(0)"]  # fmt: skip
    del system.coordinates[1], system.units[1]
    assert slopes.parameter(sens, 2) == ("x\u0307(0)", "m/s")


def test_a_derivative_is_drawn_of_a_coordinate_by_its_name_or_number():
    system = space(name="s", coordinates=["x", "phi"], units=["m", ""])
    for moves, wanted in itertools.product((True, False), (None, 0, 1, "x", "phi")):
        i = {"x": 0, "phi": 1, None: 0}.get(wanted, wanted)
        sens = space(question=space(system=system), solution=space(has_velocities=moves))
        found = slopes.quantities(sens, wanted)
        assert [(q.source, q.i, q.place) for q in found] == ([("q", i, i), ("v", i, 2 + i)] if moves else [("x", i, i)])  # fmt: skip
        assert [q.unit for q in found] == [["m", "m/s"], ["", ""]][i][: 1 + moves]


def test_arrows_lie_in_a_strip_below_the_curves():
    plot, at = picture.Plot([], "t", "y", (0.0, 1.0), (2.0, 12.0)), at_events([2])
    at.rows.located = [space(dt_drho=[9.0, 0.5]), space(dt_drho=None)]
    slopes.add_arrows(plot, at, 1, 2.0, "said")
    assert plot.y_range == pytest.approx((0.6, 12.0))
    y = plot.traces[0]["y"]
    np.testing.assert_allclose(y[:2], [1.3 - 0.42, 1.3 + 0.42], rtol=1e-6)
    assert plot.traces[0]["x"][4] == 2.0
    assert plot.traces[0]["name"] == f"{slopes.SHIFT} said"
