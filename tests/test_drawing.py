"""Where a still, a region and a thinned curve put their points: places that are known by hand."""

from __future__ import annotations

import base64
import functools
import itertools
import re
import sys
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import numpy as np
import plotly
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import for_each

import explorer as ex
from explorer.views import events, gradient
from explorer.views.active_set import lengths_plot
from explorer.views.drawing import (
    compose,
    contours,
    decimate,
    one_sided,
    picture,
    recorded,
    regions,
    slopes,
    still,
    still_marks,
)
from explorer.views.drawing.polyline import Axis, Box, Look, Shared, _across, _Chosen, _round, draw
from explorer.views.drawing.view import _check, views
from explorer.views.modes import _MOST, _events
from explorer.views.multipliers import _area
from explorer.views.trajectory import _exact
from explorer.views.twins import _parting, band
from explorer.views.work_precision import _looks

SVG = "{http://www.w3.org/2000/svg}"
LAYOUT = {"height": 400, "margin": {"l": 60, "r": 100, "t": 100, "b": 100}}  # 600 x 200 px


def svg(*traces, **layout):
    """Return the tree of a still whose plot goes from (60, 100) to (660, 300)."""
    return ET.fromstring(still.still({"data": list(traces), "layout": LAYOUT | layout}))


def texts(tree):
    """Return the words of a still: where they are, by what they say."""
    return {"".join(t.itertext()): (float(t.get("x")), float(t.get("y")))
            for t in tree.iter(f"{SVG}text")}  # fmt: skip


def ranged(low, high, name="x", **more):
    """Return an axis over 600 px (x) or, upwards, 200 px (y)."""
    axis = still._Axis(
        name, {"range": [low, high]} | more, (60, 660) if name == "x" else (300, 100)
    )
    axis.scale([])
    return axis


# -- axes of a still -----------------------------------------------------------------------------


def test_an_axis_goes_over_its_domain():
    half = ranged(-2, 2, domain=[0.25, 0.75])
    assert half([-2, 0, 2]).tolist() == [210, 360, 510]
    up = ranged(0, 4, "y")
    assert up([0, 1, 4]).tolist() == [300, 250, 100]
    log = ranged(-2, 1, type="log")
    assert log([0.01, 0.1, 10]) == pytest.approx([60, 260, 660])
    assert np.isnan(log([-1.0])).all()


@pytest.mark.parametrize(
    ("values", "more", "wanted"),
    [
        ([[1, 3], [2, 5]], {}, (0.8, 5.2)),
        ([[1, 3], [np.nan, np.inf, 5]], {}, (0.8, 5.2)),
        ([[3, 3]], {}, (2.5, 3.5)),
        ([[]], {}, (-0.05, 1.05)),
        ([[1, 5]], {"autorange": "reversed"}, (5.2, 0.8)),
        ([[0.1, 1000]], {"type": "log"}, (-1.2, 3.2)),
        ([[9]], {"range": [2, 2]}, (1.5, 2.5)),
        ([[9]], {"range": [4, 1]}, (4, 1)),
    ],
)
def test_a_range_is_given_or_that_of_the_values(values, more, wanted):
    axis = still._Axis("x", more, (0, 100))
    axis.scale([np.array(v, float) for v in values])
    assert axis.range == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("axis", "wanted"),
    [
        (ranged(0, 8), "0 1 2 3 4 5 6 7 8"),  # 600 px have room for eight steps of 70
        (ranged(0, 10), "0 2 4 6 8 10"),
        (ranged(0, 60 / 7), "0 1 2 3 4 5 6 7 8"),  # just as many as have room
        (ranged(0, 120 / 7), "0 2 4 6 8 10 12 14 16"),
        (ranged(-0.3, 0.4), "−0.3 −0.2 −0.1 0 0.1 0.2 0.3 0.4"),
        (ranged(0.1, 3.9), "0.5 1 1.5 2 2.5 3 3.5"),
        (ranged(3.9, 0.1), "0.5 1 1.5 2 2.5 3 3.5"),
        (ranged(0, 5, "y"), "0 1 2 3 4 5"),  # 200 px: five steps of 34
        (ranged(0, 6, "y"), "0 2 4 6"),
        (ranged(0, 30, domain=[0, 0.1]), "0"),
        (ranged(-2.5, 3.2, type="log"), "10−2 10−1 100 101 102 103"),
        (ranged(0, 20, type="log"), "100 103 106 109 1012 1015 1018"),
        (ranged(0, 2, tickvals=[0, 1, 2, 3], ticktext=["a", "b", "c", "d"]), "a b c"),
    ],
)
def test_ticks_are_round_and_have_room(axis, wanted):
    ticks = axis.ticks()
    said = [re.sub("<[^>]*>", "", text) for _, text in ticks]
    assert said == wanted.split()
    for at, text in ticks:
        if axis.axis.get("ticktext") is None and not axis.log:
            assert at == pytest.approx(float(axis([float(text.replace("−", "-"))])[0]))


def test_an_equal_scale_widens_the_shorter_range():
    x, y = ranged(0, 6), ranged(0, 1, "y")  # 100 px and 200 px for 1
    still._square(x, y)
    assert x.range == (0, 6)
    assert y.range == pytest.approx((-0.5, 1.5))
    x, y = ranged(2, 4), ranged(0, 10, "y")  # 300 and 20 px
    still._square(x, y)
    assert x.range == pytest.approx((-12, 18))
    assert y.range == (0, 10)


# -- what is drawn in it -------------------------------------------------------------------------


def test_titles_ticks_and_names_stand_where_they_belong():
    tree = svg(
        {"x": [0, 1], "y": [0, 1], "name": "one", "line": {"color": "#123"}},
        {"x": [0, 1], "y": [1, 0], "name": "two", "mode": "markers", "legendrank": 1},
        {"x": [0, 1], "y": [1, 1], "name": "three", "fill": "toself", "fillcolor": "#456"},
        {"x": [0, 1], "y": [1, 1], "name": "none", "showlegend": False},
        {"x": [0, 1], "y": [1, 1], "name": "off", "visible": "legendonly"},
        xaxis={"range": [0, 1], "title": {"text": "time"}}, title={"text": "All"},
        yaxis={"range": [0, 1], "title": {"text": "height"}},
    )  # fmt: skip
    at = texts(tree)
    assert at["All"] == (380, 22)
    assert at["time"] == (360, 334)
    assert at["height"][1] == 200
    assert at["height"][0] == 60 - 14 - 7 * 3  # beside labels of three letters, "0.5"
    assert at["0"] == (55, 304)  # of the ordinate, whose labels come last
    assert at["0.2"] == (55, 264)
    assert "none" not in at
    assert "off" not in at
    width = {name: 34 + 6.2 * len(name) for name in ("one", "two", "three")}
    assert at["two"] == (60 + 26, 100 - 8 + 4)  # its rank comes first
    assert at["one"][0] == pytest.approx(60 + width["two"] + 26, abs=0.5)
    assert at["three"][0] == pytest.approx(60 + width["two"] + width["one"] + 26, abs=0.5)
    (box,) = [r for r in tree.iter(f"{SVG}rect") if r.get("fill") == "#456"]
    assert float(box.get("x")) == pytest.approx(at["three"][0] - 26 + 3, abs=1)
    assert float(box.get("y")) == 100 - 8 - 5
    clip = tree.find(f".//{SVG}clipPath/{SVG}rect")
    assert [float(clip.get(k)) for k in ("x", "y", "width", "height")] == [60, 100, 600, 200]


def test_a_legend_has_as_many_lines_as_it_needs():
    traces = [{"x": [0, 1], "y": [0, 1], "name": f"a rather long name {k}"} for k in range(9)]
    at = texts(svg(*traces))
    rows = [at[f"a rather long name {k}"] for k in range(9)]
    each = 34 + 6.2 * 20
    in_line = int((756 - 60) // each)
    for k, (x, y) in enumerate(rows):
        line = k // in_line
        assert x == pytest.approx(60 + each * (k % in_line) + 26, abs=0.6)
        assert y == 100 - 8 + 4 - 15 * (8 // in_line - line)


def test_alone_a_curve_has_no_name_unless_it_is_asked_for():
    trace = {"x": [0, 1], "y": [0, 1], "name": "one"}
    assert "one" not in texts(svg(trace))
    assert "one" in texts(svg(trace | {"showlegend": True}))
    assert "one" not in texts(svg(trace, trace, showlegend=False))


def test_two_plots_have_a_frame_each_and_their_axes_are_shared_where_asked_for():
    tree = svg(
        {"x": [0, 2], "y": [0, 1]}, {"x": [0, 9], "y": [5, 6], "xaxis": "x2", "yaxis": "y2"},
        xaxis={"range": [0, 2]}, xaxis2={"matches": "x"}, yaxis={"domain": [0.6, 1]},
        yaxis2={"domain": [0, 0.4]},
        shapes=[{"type": "line", "x0": 1, "x1": 1, "y0": 5, "y1": 6, "yref": "y2",
                 "line": {"color": "#abc"}}, {"type": "rect", "x0": 0, "x1": 1, "y0": 0, "y1": 1},
                {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "yref": "y7"},
                {"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "xref": "x7"}],
    )  # fmt: skip
    assert sum("L" in p.get("d") for p in tree.iter(f"{SVG}path")) == 1  # nothing but that line
    boxes = [r for clip in tree.iter(f"{SVG}clipPath") for r in clip]
    assert [(float(b.get("y")), float(b.get("height"))) for b in boxes] == [(100, 80), (220, 80)]
    (shape,) = [p for p in tree.iter(f"{SVG}path") if p.get("stroke") == "#abc"]
    x0, y0, x1, y1 = map(float, re.findall(r"[\d.]+", shape.get("d")))
    assert x0 == x1 == 360  # the middle of the range that the two share
    assert (y0, y1) == pytest.approx((300 - 80 / 22, 220 + 80 / 22), abs=0.1)
    assert shape.get("stroke-width") == "2"


@pytest.mark.parametrize(
    ("shape", "corners"),
    [
        (None, [(0, 0), (10, 5), (20, 0)]),
        ("hv", [(0, 0), (10, 0), (10, 5), (20, 5), (20, 0)]),
        ("vh", [(0, 0), (0, 5), (10, 5), (10, 0), (20, 0)]),
        ("hvh", [(0, 0), (5, 0), (5, 5), (15, 5), (15, 0), (20, 0)]),
    ],
)
def test_steps_of_a_curve(shape, corners):
    drawn = still_marks.lines(
        {"line": {"shape": shape, "width": 3, "dash": "dot"}}, np.array([0.0, 10, 20]),
        np.array([0.0, 5, 0]), 0.1,
    )  # fmt: skip
    path = ET.fromstring(drawn)
    at, found = np.zeros(2), []
    for kind, pair in re.findall(r"([Ml])([-\d,]+)", path.get("d")):
        at = np.array(pair.split(","), float) / 10 + (at if kind == "l" else 0)
        found.append(tuple(at))
    assert found == corners
    assert path.get("stroke-width") == "30"
    assert path.get("stroke-dasharray") == "15,30"


def test_a_thinned_curve_stays_within_its_slack():
    """No point left out is farther off than that, and none that is kept could be spared."""
    t = np.linspace(0, 30, 700)
    x, y = 20 * t, 90 * np.sin(t) + 5 * np.cos(9 * t)
    for slack in (0.1, 1.0, 8.0):
        kept = np.flatnonzero(still_marks._thinned(x, y, slack))
        assert {0, 699} <= {*kept.tolist()}
        for a, b in itertools.pairwise(kept):
            along = np.array([x[b] - x[a], y[b] - y[a]]) / np.hypot(x[b] - x[a], y[b] - y[a])
            off = np.abs(along[0] * (y[a:b] - y[a]) - along[1] * (x[a:b] - x[a]))
            assert off.max() <= slack * (1 + 1e-9)
        assert len(kept) < (700 if slack < 1 else 300)
    line = still_marks._thinned(np.arange(9.0), 2 * np.arange(9.0), 1e-6)
    assert line.tolist() == [True] + [False] * 7 + [True]
    there_and_back = still_marks._thinned(np.array([0.0, 3, 0]), np.zeros(3), 1.0)
    assert there_and_back.all()  # its ends coincide


def test_a_gap_parts_a_curve_and_a_point_alone_is_a_dot():
    x = np.array([0.0, 1, 2, 3, 4, 5])
    y = np.array([0.0, 1, np.nan, 3, np.nan, 5])
    drawn = still_marks.lines({}, x, y, 0.1)
    assert ET.fromstring(drawn).get("d") == "M0,0l10,10M30,30h0M50,50h0"
    assert still_marks.lines({}, x, np.full(6, np.nan), 0.1) == ""
    far = still_marks.lines({}, np.array([-1e9, 1e9]), np.zeros(2), 0.1)
    assert ET.fromstring(far).get("d") == "M-30000,0l90000,0"


def test_marks_have_the_size_shape_and_colour_that_each_has():
    marker = {"size": [6, 6, 10], "color": ["#111", "#111", "#222"],
              "symbol": ["circle", "circle", "square-open"]}  # fmt: skip
    drawn = still_marks.marks({"marker": marker}, np.array([1.0, 2, 3]), np.array([4.0, 5, 6]))
    dots, square = ET.fromstring(f"<g>{drawn}</g>")
    assert (dots.get("d"), dots.get("stroke-width")) == ("M10,40h0M20,50h0", "60")
    assert square.get("d") == "M30,60m-45,-45h90v90h-90z"
    assert (square.get("fill"), square.get("stroke")) == ("none", "#222")
    ring = still_marks.marks({"marker": {"symbol": "circle-open", "size": 4}}, *np.ones((2, 1)))
    assert ET.fromstring(ring).get("d") == "M10,10m-20,0a20,20 0 1,0 40,0a20,20 0 1,0 -40,0"
    away = np.array([1.0, np.nan, 1, 4000, 2])
    some = still_marks.marks({}, away, np.array([1.0, 1, -4000, 1, 3]))
    assert ET.fromstring(some).get("d") == "M10,10h0M20,30h0"
    many = still_marks.marks({}, np.arange(901.0), np.zeros(901))
    assert many.count("M") == 301


def test_cells_have_the_shades_of_the_scale():
    """A heat map from black to white: cells side by side, texts in the ink that is seen."""
    trace = {"type": "heatmap", "x": ["a", "b"], "y": ["c"], "z": [[0.0, 2.0]], "text": [["p", "q"]],
             "colorscale": [[0, "#000000"], [1, "rgb(255, 255, 255)"]]}  # fmt: skip
    tree = svg(trace | {"zmax": 4}, xaxis={"range": [-0.5, 1.5]}, yaxis={"range": [-0.5, 0.5]})
    first, second = [r for r in tree.iter(f"{SVG}rect") if (r.get("fill") or "").startswith("rgb")]
    assert (first.get("fill"), second.get("fill")) == ("rgb(0,0,0)", "rgb(128,128,128)")
    size = [[float(r.get(k)) for k in ("x", "y", "width", "height")] for r in (first, second)]
    assert size == [[61, 101, 298, 198], [361, 101, 298, 198]]
    words = {"".join(t.itertext()): t for t in tree.iter(f"{SVG}text")}
    assert (words["p"].get("x"), words["p"].get("y")) == ("210", "204")
    assert (words["p"].get("fill"), words["q"].get("fill")) == ("#fff", "#000")
    for across, up in ((2, 1), (1, 4), (3, 3)):  # all cells, and a twentieth around them
        names = {
            "x": ["x"] * across,
            "y": ["y"] * up,
            "z": np.arange(1.0, 1 + across * up).reshape(up, across),
        }
        rects = [
            r
            for r in svg(trace | names | {"text": None}).iter(f"{SVG}rect")
            if "rgb" in str(r.get("fill"))
        ]
        left, width = ([float(r.get(k)) for r in rects] for k in ("x", "width"))
        top, height = ([float(r.get(k)) for r in rects] for k in ("y", "height"))
        wide, tall = 600 / 1.1 / across, 200 / 1.1 / up
        assert width == pytest.approx([wide - 2] * len(rects), abs=0.11)
        assert height == pytest.approx([tall - 2] * len(rects), abs=0.11)
        assert min(left) == pytest.approx(60 + 0.05 * across * wide + 1, abs=0.11)
        assert min(top) == pytest.approx(100 + 0.05 * up * tall + 1, abs=0.11)
    one = svg(trace | {"z": [[3.0, 3.0]]})  # one value: the lowest shade
    assert "rgb(0,0,0)" in ET.tostring(one, "unicode")


def test_numbers_may_be_packed():
    a = np.arange(6, dtype="f4")
    packed = {"dtype": "f4", "bdata": base64.b64encode(a.tobytes()).decode(), "shape": "2, 3"}
    np.testing.assert_array_equal(still_marks.numbers(packed), a.reshape(2, 3))
    packed.pop("shape")
    np.testing.assert_array_equal(still_marks.numbers(packed), a)


def test_what_stands_low_or_high_comes_back_to_the_line():
    text = still_marks.written("a<sub>1</sub>b<sup>2</sup>c &lt; <b>d</b>")
    tree = ET.fromstring(f"<text>{text}</text>")
    shifts = [float(s.get("dy")) for s in tree]
    assert shifts == [3, -3, -3, 3]
    assert "".join(tree.itertext()).replace("\u200b", "") == "a1b2c < d"


# -- lines and areas of a function ---------------------------------------------------------------


def test_a_circle_has_its_area_and_its_line():
    x, y = np.linspace(-2, 2, 81), np.linspace(-1.5, 1.5, 61)
    g = 1 - x**2 - y[:, None] ** 2
    (area,) = contours.areas(x, y, g)
    assert np.hypot(*area.T) == pytest.approx(1, abs=1e-3)
    a, b = area[:-1], area[1:]
    assert abs(0.5 * (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum()) == pytest.approx(
        np.pi, rel=1e-2
    )
    (line,) = contours.lines(x, y, g)
    assert line[0].tolist() == line[-1].tolist()
    ring = contours.areas(x, y, np.minimum(g, x**2 + y[:, None] ** 2 - 0.25))
    assert len(ring) == 2  # its hole too
    assert contours.areas(x, y, -1 - g**2) == []
    g[:, :40] = np.nan
    assert contours.areas(x, y, g)[0][:, 0].min() >= -1e-12


def test_a_straightened_line_keeps_its_corners():
    line = np.array([[0, 0], [1, 1], [1, 1], [2, 2], [4, 2], [3, 2], [3, 9], [3, 9.0]])
    assert contours.straightened(line).tolist() == [[0, 0], [2, 2], [3, 2], [3, 9]]
    for short in ([[0, 0], [1, 2]], [[0, 0], [0, 0], [1, 2]], [[3, 3]], [[0, 0], [1, 2], [2, 4]]):
        ends = contours.straightened(np.array(short, float))
        assert ends.tolist() == [short[0], short[-1]][: len(short)]
    bent = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0.0]])
    assert contours.straightened(1e-7 * bent).tolist() == (1e-7 * bent).tolist()


def test_a_dense_line_has_no_part_longer_than_the_grid():
    line = np.array([[0, 0], [3, 0], [3, 0.1], [0, 4.0]])
    dense = regions._dense(line, ((0, 6), (-1, 4)))
    assert {*map(tuple, line)} <= {*map(tuple, dense)}
    steps = np.abs(np.diff(dense, axis=0)) / [6, 5] * 49
    assert steps.max() <= 1 + 1e-9
    counts = [np.ceil(49 * 3 / 6), 1, np.ceil(49 * 3.9 / 5)]
    assert len(dense) == sum(counts) + 1


def test_a_cell_is_where_all_functions_have_its_signs():
    c = np.array([[1.0, -2, 3], [1, 2, 3], [-1, -2, 3]])
    assert regions._least(c, np.array([1, -1, 0])).tolist() == [1, -2, -1]
    assert regions._least(c, np.array([0, 0, -1])).tolist() == [-3, -3, -3]


# -- which points of a run are drawn -------------------------------------------------------------


def test_pixels_and_values_are_inverse():
    axis = Axis(-1.0, 3.0, 400.0)
    values = np.array([-1.0, 0.0, 3.0, 2.5])
    assert axis.pixels(values).tolist() == [0, 100, 400, 350]
    assert axis.values(axis.pixels(values), (-1, 3)) == pytest.approx(values)
    wide = np.array([-1e6, -1.5, 1.0, 3.5, 2e5])
    at = axis.pixels(wide)
    assert (np.diff(at) > 0).all()
    assert at[2] == 200
    assert axis.values(at, (-1e6, 2e5)) == pytest.approx(wide, rel=1e-9)
    outside = -at[0] / 400
    assert at[-1] - 400 == pytest.approx(-at[0])  # what lies outside has as much room on each side
    assert axis.pixels(wide * 1e3)[0] / -400 == pytest.approx(outside)
    for near in ([-1.3, 0.0, 3.0], [-1.0, 1.0, 3.4], [-1.3, 2.0, 3.4], [-9.0, 0.0, 3.4]):
        at = axis.pixels(np.array(near))
        assert axis.values(at, (near[0], near[-1])) == pytest.approx(near)
    log = Axis(-2.0, 2.0, 400.0, True)
    assert log.pixels(np.array([0.01, 1, 10, 100.0])) == pytest.approx([0, 200, 300, 400])
    assert Axis(2.0, 2.0, 10.0).pixels(np.array([2.0, 3.0])).tolist() == [0, 10]


@pytest.mark.parametrize(
    ("since", "end", "wanted"),
    [
        (3.2, 10, 3.5),
        (3.5, 10, 3.5),
        (97, 100, 97),
        (97.2, 100, 97.5),
        (0.31, 0.36, 0.31),
        (5, 5, 5),
    ],
)
def test_a_round_time_is_a_little_later(since, end, wanted):
    """A half of the power of ten below what is left."""
    assert _round(since, end) == pytest.approx(wanted)


def test_a_time_that_would_be_after_the_end_is_the_end():
    assert _round(9.7, 9.75) == pytest.approx(9.7)
    assert _round(0.96, 1.0) == pytest.approx(0.96)
    assert _round(0.9999, 1.9998) <= 1.9998


def test_few_rows_are_spread_over_all():
    at = np.arange(10, 110)
    assert decimate.few(at, 4).tolist() == [10, 43, 76, 109]
    assert decimate.few(at, 100) is at
    assert len(decimate.few(at, 99)) == 99


def test_of_many_bodies_some_are_drawn_whole():
    names = [f"{a}{k}" for k in range(1, 21) for a in ("x", "y")]
    shown = decimate.drawn(names)
    assert len(shown) == 6
    assert (shown[::2] + 1 == shown[1::2]).all()
    assert {shown[0], shown[-1]} == {0, 39}
    assert decimate.drawn(list("abc")).tolist() == [0, 1, 2]
    assert decimate.drawn(names, 2).tolist() == [0, 39]
    angles = decimate.drawn([f"phi{k}" for k in range(11)])
    assert angles.tolist() == [0, 2, 4, 6, 8, 10]


def test_a_run_is_read_where_it_bends():
    """No chord of the rows is off by more than a thousandth of a state's range."""
    run = ex.simulate(ex.models.bouncing_ball(), ex.EventDriven, t_end=2.0)
    read = decimate.fine(run)
    assert (np.diff(read.t) >= 0).all()
    assert {*run.march.hits} <= {*read.t.tolist()}
    middle = 0.5 * (read.t[1:] + read.t[:-1])
    long = np.diff(read.t) > 1e-9
    y, *_ = run.march.sample(middle[long], exact=False)
    chords = 0.5 * (read.x[1:] + read.x[:-1])[long]
    assert np.abs(y[:, :2] - chords).max(axis=0) == pytest.approx(
        0, abs=2e-3 * np.ptp(read.x, axis=0).max()
    )
    assert decimate.fine(run) is read
    assert decimate.fine(read) is read
    look = Look(560, 490, ranges={"xaxis": (0.5, 0.6)})
    part = decimate.seen(read, look)
    inside = (part.t >= 0.5) & (part.t <= 0.6)
    assert inside.sum() >= 3 * 560
    for window in ((0.0, 2.0), (-1.0, 3.0), (0.7, 0.7)):
        whole = decimate.seen(read, Look(560, 490, ranges={"xaxis": window}))
        assert len(whole.t) == len(read.t)
    closer = decimate.fine(run, None, 0, 100.0)
    assert len(closer.t) > 2 * len(read.t)
    assert decimate.fine(SimpleNamespace(has=lambda name: False)).has("march") is False


@for_each("window", [(0.2, 0.3), (-1.0, 0.3), (0.9, 7.0)])
def test_a_window_is_read_three_times_a_pixel(window):
    """Equally spaced, both ends included, beside the times of the whole run."""

    def sample(t, exact):
        return (np.column_stack([3 * t, 5 + 0 * t]),)

    march = SimpleNamespace(
        knots=np.array([0.0, 1.0]), hits=np.array([]), sample=sample, n_x=2, of_elements=False
    )
    run, width = SimpleNamespace(march=march, t=np.array([0.0, 1.0])), 70
    own = np.linspace(*np.clip(window, 0.0, 1.0), 3 * width + 2)
    expected = np.union1d(np.linspace(0.0, 1.0, decimate._EVEN + 1), own)
    np.testing.assert_array_equal(decimate._times(run, window, width, 1.0), expected)


@for_each("hits", ([], [0.25, 0.75]))
def test_only_what_bends_is_read_more_often(hits):
    """Times are halved until the chord is near enough, and no further; a straight line is left."""

    def sample(t, exact):
        bent = np.where(t > 0.5, np.sin(300 * (t - 0.5)), 0.0)
        return (np.column_stack([bent, 3 * t, 5 + 0 * t]),)

    march = SimpleNamespace(
        knots=np.array([0.0, 1.0]), hits=np.array(hits), sample=sample, n_x=3, of_elements=False
    )
    t = decimate._times(SimpleNamespace(march=march, t=np.array([0.0, 1.0])), None, 0, 1.0)
    even = np.linspace(0.0, 1.0, decimate._EVEN + 1)
    expected = even[(even < 0.5) & ~np.isin(even, hits)]  # beside events it is read by others
    np.testing.assert_allclose(t[t < 0.5], expected, atol=1e-12)

    def off(low, high):
        ends = sample(np.array([low, (low + high) / 2, high]).ravel(), False)[0][:, 0].reshape(
            3, -1
        )
        return abs(ends[1] - (ends[0] + ends[2]) / 2)

    inside = t[(t >= 0.5) & (t < 0.75)]
    limit = 2 * decimate._BEND
    assert off(inside[:-1], inside[1:]).max() <= 1.001 * limit
    assert len(inside) > 1.5 * (even > 0.75).sum()
    # what was halved last could not be left whole
    parts = np.diff(inside)
    pairs = np.flatnonzero(np.isclose(parts[:-1], parts[1:]) & (parts[1:] < 0.9 * even[1]))
    whole = off(inside[pairs], inside[pairs + 2])
    assert (whole > 0.9 * limit).mean() > 0.4


@for_each(("wide", "reach", "wanted"), [
    (2.0, 120.0, True), (2.0, 119.1, True), (2.0, 118.9, False), (2.9, 300.0, True),
    (3.1, 300.0, False),
])  # fmt: skip
def test_gaps_are_crowded_if_a_narrow_arc_beside_them_reaches_as_far(wide, reach, wanted):
    """Every second arc goes from 50 px to its reach and back; the others stay at 120 px.

    Less than three pixels are narrow, wherever they are, and a pixel less far is as far.
    """
    for shift in (0.0, 500.0, -500.0):
        for flip in (1, -1):
            begin = shift + np.repeat((wide + 9.2) * np.arange(4), 2) + np.tile([0, wide + 0.1], 4)
            width = np.tile([wide, 9.0], 4)
            one = object.__new__(_Chosen)
            one.px = (begin[:, None] + width[:, None] * np.array([0, 0.5, 1])).ravel()
            one.py = flip * np.tile([50.0, reach, 50, 120, 120, 120], 4)
            one.all = None, None, np.tile([1, 0, 0], 8)
            assert one._crowded == wanted, (shift, flip)
            one.py = flip * np.tile([0.0, 0, 0, 1.4, 1.4, 1.4], 4)  # gaps too small to be seen
            assert one._crowded


@for_each(("size", "coarse", "most"), [
    (180.0, 1.0, 1700), (400.0, 1.0, 1700), (90.0, 1.0, 850), (180.0, 1.5, 850), (90.0, 4.0, 425),
])  # fmt: skip
def test_a_portrait_has_as_many_points_as_its_width_has_room_for(size, coarse, most):
    """Its last turns; half as many on half of the usual width, and where it is drawn coarsely."""
    t = np.linspace(0, 400 * np.pi, 30_000)
    line = picture.curve(np.cos(t), np.sin(t), "#000000", breaks=decimate.NONE, meta={"t": t})
    axis = Axis(-1.0, 1.0, size)
    since = draw([line], Box(axis, axis, False, coarse), Shared())
    assert line["meta"]["t"][0] >= np.float32(since)
    assert line["meta"]["t"][-1] == np.float32(t[-1])
    assert 0.5 * most < len(line["x"]) <= most
    few = picture.curve(np.cos(t), np.sin(t), "#000000", breaks=decimate.NONE, meta={"t": t / 1e3})
    assert draw([few], Box(axis, axis, True, coarse), Shared()) is None  # over time all is drawn


def test_a_portrait_that_is_cut_begins_at_its_first_later_point():
    """Though that may be one which the whole curve could spare; later ones are as before."""
    t = np.linspace(0, 8 * np.pi, 400)
    x, y = np.cos(t) * (1 - t / 60), np.sin(t)
    box = Box(Axis(-1.0, 1.0, 90.0), Axis(-1.0, 1.0, 90.0), False)
    spared = 0
    for k in range(100, 130):
        trace = picture.curve(x, y, "#000000", breaks=decimate.NONE, meta={"t": t})
        chosen = _Chosen(trace, box, _across(x, box, Shared()))
        whole = chosen.across
        chosen.cut(t[k] - 1e-6)
        assert chosen.across[0] == k
        later = whole[whole > k]
        assert chosen.across[1 : 1 + len(later)].tolist() == later.tolist()
        spared += k not in whole
    assert 5 <= spared <= 25


@for_each(("states", "reset", "torn"), [
    ("x", None, True), ("x y", None, False), ("x y", "x + 1", True),
])  # fmt: skip
def test_curves_are_torn_where_what_is_drawn_jumps(states, reset, torn):
    """Of one state its rate is drawn too, which jumps at a change of mode; of more only resets."""
    names = states.split()
    system = ex.HybridSystem(
        "turns", x=states, modes={"up": ["1"] * len(names), "down": ["-1"] * len(names)},
        guards=[{"mode": "up", "r": "t - 1", "direction": 1, "to": "down", "name": "turn",
                 **({"reset": {"x": reset}} if reset else {})}],
        start={"x": [0.0] * len(names), "t_end": 2.0},
    )  # fmt: skip
    run = decimate.fine(ex.simulate(system))
    points = decimate.rows(run)
    assert points.torn is points.jumps
    assert points.t[points.jumps].tolist() == [1.0] * torn
    assert (points.t[points.jumps - 1] == 1.0).all()
    for values, own in zip(points.q, run.x.T, strict=True):
        assert (values == own).all()


# -- ranges --------------------------------------------------------------------------------------


@for_each("low", [-3e5, -0.37, 0.0, 2.0, 98.7])
@for_each("width", [3e-4, 0.9, 7.7, 4e6])
def test_a_nice_range_has_round_ends_close_by(low, width):
    """Ends are multiples of 1, 2 or 5 times a power of ten, at least a fiftieth of all outside."""
    a, b = picture.nice(low, low + width)
    assert a <= low - 0.02 * width * (1 - 1e-6)
    assert b >= low + width * (1.02 - 1e-6)
    unit = next(  # between an eighth and a quarter of what is shown, the least
        u
        for e in range(-6, 8)
        for u in (10.0**e, 2 * 10.0**e, 5 * 10.0**e)
        if u >= 1.04 * width / 8
    )
    assert a / unit == pytest.approx(round(a / unit), abs=1e-6)
    assert b / unit == pytest.approx(round(b / unit), abs=1e-6)
    assert low - 0.02 * width - a < unit * (1 + 1e-6)
    assert b - low - 1.02 * width < unit * (1 + 1e-6)


def test_a_range_without_a_width_has_room():
    assert picture.nice(0.0, 0.0) == (-1.5, 1.5)
    assert picture.nice(4.0, 4.0) == (1.0, 7.0)
    assert picture.nice(-4.0, -4.0) == (-7.0, -1.0)
    for ends in ((np.nan, 1.0), (0.0, np.inf), (np.nan, np.nan)):
        assert picture.nice(*ends) == (-1, 1)


def test_an_extent_is_that_of_all_finite_values():
    assert picture.span(np.array([2.0, -1, 5])) == (-1, 5)
    assert picture.span(np.array([2.0, np.nan, -np.inf])) == (2, 2)
    assert np.isnan(picture.span(np.array([np.nan]))).all()
    assert np.isnan(picture.span(np.empty(0))).all()
    assert picture.extent([np.nan], []) == (-1, 1)
    assert picture.extent([3.0, 4.0], [np.inf, -7.0], [np.nan]) == picture.nice(-7, 4)


def layout(*ends):
    return {"xaxis": {"range": list(ends), "type": "log"}, "height": 3}


@pytest.mark.parametrize(
    ("new", "old", "moving", "wanted"),
    [
        ((0, 4), (1, 3), False, (0, 4)),  # it grows
        ((1, 3), (0, 4), False, (0, 4)),  # it does not shrink to a half
        ((1, 2.9), (0, 4), False, (1, 2.9)),  # but to less
        ((1, 2.9), (0, 4), True, (0, 4)),  # not while it moves,
        ((1, 1.9), (0, 4), True, (1, 1.9)),  # unless to less than a quarter
        ((2, 5), (0, 4), False, (0, 5)),
        ((0, 4), (9, 13), False, (0, 4)),
    ],
)
def test_an_axis_stays_as_it_was_where_that_serves(new, old, moving, wanted):
    given, before = layout(*new), layout(*old)
    kept = picture.steady(given, before, moving=moving)
    assert tuple(kept["xaxis"]["range"]) == wanted
    assert (kept["xaxis"]["type"], kept["height"]) == ("log", 3)
    assert picture.steady(given, None) is given
    assert picture.steady(given, {"xaxis": 3, "height": 3}) == given


def test_an_axis_that_moves_grows_to_where_it_moves():
    up = picture.steady(layout(0, 5), layout(0, 4), moving=True)["xaxis"]["range"]
    down = picture.steady(layout(-1, 4), layout(0, 4), moving=True)["xaxis"]["range"]
    assert up[1] > picture.nice(0, 5)[1]
    assert up[0] == picture.nice(0, 6)[0]
    assert down[0] < picture.nice(-1, 4)[0]
    assert down[1] == picture.nice(-2, 4)[1]


def test_what_is_black_is_legible_on_a_dark_page():
    ink, other = picture.INK, "#0072B2"
    bold = picture._neutral({"line": {"color": ink, "width": 1.5}, "marker": {"color": ink}})
    assert bold["line"] == {"color": picture._ANY, "width": 3.0}
    assert bold["marker"]["color"] == picture._ANY
    same = {"line": {"color": other, "width": 1.5}, "marker": {"color": other}}
    assert picture._neutral(same) == same
    assert picture._neutral({}) == {}


# -- slopes --------------------------------------------------------------------------------------


def test_units_of_derivatives_are_written_short():
    written = {("m/s", "m"): "(m/s)/m", ("m", "s"): "m/s", ("", "s"): "1/s", ("", "m/s"): "1/(m/s)",
               ("s", "1/s"): "s²", ("m", "1/(m s)"): "m m s", ("m", "m"): "1", ("N m", "s"): "(N m)/s"}  # fmt: skip
    for (top, bottom), wanted in written.items():
        assert slopes.per(top, bottom) == wanted


def test_a_derivative_is_legible_beside_its_spikes():
    """All of it is seen, and of the spikes as much as its own room on either side."""
    clean = np.array([0.0, 4.0])
    low, high = picture.extent(clean)
    room = high - low
    assert slopes._roomy(clean, np.full(3, np.nan)) == (low, high)
    assert slopes._roomy(clean, np.array([1.0, 2.0])) == picture.nice(low, high)
    assert slopes._roomy(clean, np.array([1e9, np.inf, -1e9])) == picture.nice(
        low - room, high + room
    )
    assert slopes._roomy(clean, np.array([high + 0.5 * room])) == picture.nice(
        low, high + 0.5 * room
    )


@pytest.mark.parametrize(
    ("x", "wanted"), [(1, 1), (1.99, 1), (2, 2), (4.9, 2), (5, 5), (99, 50), (0.031, 0.02)]
)
def test_an_arrow_has_a_round_scale(x, wanted):
    assert slopes._round(x) == pytest.approx(wanted)


def test_the_longest_arrow_is_a_seventh_of_the_time():
    events = [
        SimpleNamespace(t=t, dt_drho=np.array([9.0, d])) for t, d in ((1, 0.5), (3, -2), (7, 50))
    ]
    question = SimpleNamespace(system=SimpleNamespace(parameters={}))
    sens = SimpleNamespace(events=events, question=question, wrt=("a", "b"))
    scale = slopes.arrow_scale(sens, 1, (0.0, 4.0))
    assert scale == 0.2  # 0.15 * 4 / 2 = 0.3
    for before, wanted in ((0.1, 0.1), (0.5, 0.5), (0.09, 0.2), (0.51, 0.2)):
        assert slopes.arrow_scale(sens, 1, (0.0, 4.0), before) == wanted
    assert slopes.arrow_scale(sens, 1, (4.0, 6.0)) == 1
    few = [SimpleNamespace(t=1, dt_drho=np.array([0.0, 1e-15]))]  # round-off, over the whole range
    question.system.parameters["b"] = ex.Param(1.0, 0.0, 2.0)
    assert slopes.arrow_scale(SimpleNamespace(**vars(sens) | {"events": few}), 1, (0.0, 4.0)) == 1
    plot = picture.Plot([], "", "", None, (1.0, 2.0))
    at = SimpleNamespace(rows=SimpleNamespace(located=[]), t=np.zeros(0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            slopes, "shifts", lambda at, d, y, h, scale, name: [(list(d), y, h, scale, name)]
        )
        at.rows.located = [*events, SimpleNamespace(dt_drho=None)]
        slopes.add_arrows(plot, at, 1, 0.2, "x 5")
    assert plot.y_range == pytest.approx((0.86, 2.0))
    ((d, y, height, scale, name),) = plot.traces
    assert (d, scale, name) == ([0.5, -2, 50, 0], 0.2, "event shift x 5")
    assert (y, height) == pytest.approx((1 - 0.07, 0.3 * 0.14))  # within the strip below


def test_arrows_go_from_each_event_to_where_it_moves():
    at = SimpleNamespace(rows=SimpleNamespace(t=np.arange(10.0)), right=[2, 5, 7], events=[0, 2, 3])
    shaft, later, sooner = one_sided.shifts(at, np.array([3.0, 9, -1, 0]), 6.0, 0.5, 0.1, "shift")
    x, y = shaft["x"].reshape(3, 6), shaft["y"].reshape(3, 6)
    assert x[:, [0, 1, 3]].tolist() == [[2] * 3, [5] * 3, [7] * 3]
    assert x[:, 4] == pytest.approx([2.3, 4.9, 7])
    assert y[:, [0, 1, 3, 4]].tolist() == [[5.5, 6.5, 6, 6]] * 3
    assert np.isnan(x[:, [2, 5]]).all()
    assert np.isnan(y[:, [2, 5]]).all()
    assert (later["x"], later["y"]) == (pytest.approx([2.3]), pytest.approx([6]))
    assert (sooner["x"], sooner["y"]) == (pytest.approx([4.9]), pytest.approx([6]))
    at.right, at.events = [], []
    at.rows.t = np.empty(0)
    none = one_sided.shifts(at, np.empty(0), 6.0, 0.5, 0.1, "shift")
    assert all(trace["x"] is picture.OFF[0] and trace["y"] is picture.OFF[1] for trace in none)


# -- what a recorder kept ------------------------------------------------------------------------


def test_what_was_recorded_is_named_with_its_unit():
    swing = ex.MechanicalSystem(
        "two", q="x phi", units=["m", "rad"], mass=[[1, 0], [0, 1]], force=["-9*x", "-4*phi"],
        start={"q": [1, 0.5], "t_end": 0.5},
    )  # fmt: skip
    every = ex.simulate(swing, ex.Newmark(h=0.01), record=ex.Recorder(every=10, q=["x"]))
    (at, rate) = (recorded._plot(every, every.recorded, k) for k in "qv")
    assert at.y_title.endswith(" (m)")
    assert rate.y_title.endswith(" (m/s, rad/s)")
    assert at.x_title == f"time t (s); {len(every.t)} rows of 50 steps"
    assert at.x_range == (0.0, 0.5)
    (curve,) = at.traces
    assert curve["mode"] == "markers"
    assert curve["y"] == pytest.approx(every.q[:, 0])
    assert "breaks" not in curve
    assert [t["y"].tolist() for t in rate.traces] == every.v.T.tolist()
    all_of_it = ex.simulate(swing, ex.Newmark(h=0.01), record=ex.Recorder(q=["phi"], v=()))
    plot = recorded._plot(all_of_it, all_of_it.recorded, "q")
    assert plot.x_title == "time t (s)"
    assert plot.y_title.endswith(" (rad)")
    (curve,) = plot.traces
    assert curve["breaks"].size == 0
    assert len(curve["y"]) == 51


def test_only_a_curve_with_times_is_drawn_from_a_late_time_on():
    """A spectrum is not: its x is a frequency, whatever the number of its points."""
    x = np.linspace(0, 200, 20001)
    y = 1 + np.random.default_rng(0).random(x.size)
    for meta in ({}, {"meta": {"t": x}}):
        line = picture.curve(x, y, "#000000", breaks=np.zeros(0, int), name="a", **meta)
        axes = (0, 200), (0.5, 2.5)
        plot = picture.Plot([line], "frequency (Hz)", "a (m/s)", *axes, time=False)
        drawn = compose.compose([[plot]], [1])
        cut = "from t = " in str(drawn.layout)
        assert cut == bool(meta)
        assert (np.nanmin(drawn.data[0]["x"]) > 100) == cut


# -- small parts of pictures ----------------------------------------------------------------------


def test_times_of_a_run_have_four_digits_and_at_most_three_decimals():
    for end, unit, factor, digits in (
        (0.0, "s", 1, 3), (3e-5, "µs", 1e6, 2), (4e-3, "ms", 1e3, 3), (0.5, "s", 1, 3),
        (9.9, "s", 1, 3), (10.0, "s", 1, 3), (50.0, "s", 1, 2), (500.0, "s", 1, 1),
        (5e3, "s", 1, 0), (5e5, "ks", 1e-3, 1),
    ):  # fmt: skip
        shown = events.shown_time(end, "s")
        assert (shown["unit"], shown["digits"]) == (unit, digits), end
        assert shown["factor"] == pytest.approx(factor)


@pytest.mark.parametrize(("x", "y"), [([1, 4], [2, 1]), ([3, -2], [5, 5]), ([2, 2], [-1, 6])])
def test_the_head_of_an_arrow_has_two_strokes_beside_its_shaft(x, y):
    """As seen on axes of these lengths: 0.09 long, 0.054 to either side, and the tip between."""
    wide, tall = 7.0, 3.0
    xs, ys = gradient._head(x, y, wide, tall)
    assert (xs[1], ys[1]) == (x[1], y[1])
    shaft = np.array([(x[1] - x[0]) / wide, (y[1] - y[0]) / tall])
    along = shaft / np.hypot(*shaft)
    for k, side in ((0, 1), (2, -1)):
        stroke = np.array([(xs[k] - x[1]) / wide, (ys[k] - y[1]) / tall])
        assert stroke @ along == pytest.approx(-0.09)
        assert stroke @ [-along[1], along[0]] == pytest.approx(side * 0.054)


def test_the_sign_of_a_name_looks_like_its_curve():
    dots = {"name": "dots", "mode": "markers", "marker": {"color": "#123456", "size": 9}}
    dashed = {"name": "dashed", "line": {"color": "#654321", "dash": "dash"}}
    for trace in (dots, dashed):
        both = [{"x": [0.0, 1.0], "y": [0.0, 1.0], **one} for one in (trace, {"name": "other"})]
        named, bare = (
            ET.tostring(svg(*both, **more)).decode() for more in ({}, {"showlegend": False})
        )
        for sign in ("#123456",) if trace is dots else ("#654321", "dasharray"):
            assert named.count(sign) > bare.count(sign) > 0


def test_curves_without_stages_have_colours_of_their_own_and_the_first_dash():
    def one(name, scheme):
        return SimpleNamespace(name=name, schemes=[scheme])

    curves = [one("a", ex.FESD(stages=2)), one("b", ex.ThetaRK(stages=2)), one("c", ex.ThetaRK(stages=1)),
              one("d", ex.EulerMoreau()), one("smoothing, width 1", ex.EventDriven())]  # fmt: skip
    looks = _looks(curves)
    colours, symbols, dashes = zip(*looks, strict=True)
    assert colours[0] == colours[1] == picture.COLOURS[1]
    assert colours[2] == picture.COLOURS[0]
    assert (colours[3], colours[4]) == (picture.COLOURS[2], picture.INK)
    assert dashes[0] == dashes[3] == dashes[4] != dashes[1] == dashes[2]
    assert [s.endswith("-open") for s in symbols] == [False, True, True, False, False]


@for_each("seed", range(40))
def test_room_for_the_longest_number_beside_an_axis(seed):
    """Ticks at multiples of 1, 2 or 5 times a power of ten, at most five steps in the range."""
    draw = np.random.default_rng(seed)
    size = 10.0 ** draw.uniform(-5, 3.9)
    low, high = np.sort(size * draw.uniform(-1, 1, 2))
    steps = [k * 10.0**e for e in range(-9, 5) for k in (1, 2, 5)]
    step = min(s for s in steps if 5 * s >= high - low)
    decimals = max(0, -int(np.floor(np.log10(step * 1.0001))))
    ticks = step * np.arange(np.ceil(low / step), np.floor(high / step) + 1)
    if max(abs(low), abs(high)) > 1e-6:
        longest = max(len(f"{t:.{decimals}f}") for t in ticks)
        assert compose._digits(low, high) == longest, (low, high)
        plot = picture.Plot([], "", "", None, (low, high))
        assert compose._beside(plot) == 34 + 7 * max(longest, 4)
    for ends in ((0.0, 2e4), (-1e5, 3.0), (0.0, 1e-7)):  # with a prefix
        assert compose._digits(*ends) == 5
    for ends in ((2.0, 2.0), (0.0, np.inf), (np.nan, 1.0)):
        assert compose._digits(*ends) == 4


def test_in_a_narrow_look_all_plots_stand_below_each_other():
    """As high as usual ones, in px; a plot of two logarithms is twice as high."""
    x = np.linspace(1, 9, 50)

    def one(**more):
        line = picture.curve(x, x, "#000000", breaks=decimate.NONE, name="a", showlegend=True)
        return picture.Plot([line], "time t (s)", "a (m)", (1.0, 9.0), (1.0, 9.0), **more)

    both = {"log": True, "log_y": True, "time": False}
    columns = [[one(), one(share=0.5)], [one(**both), one(log=True, time=False), one(time=False)]]
    narrow = compose.compose(columns, [1, 2], look=Look(360, 500)).layout
    height, margin = narrow["meta"]["height"], narrow["margin"]
    inner = height - margin["t"] - margin["b"]
    names = ["", *"2345"]
    up = np.array([narrow[f"yaxis{k}"]["domain"] for k in names])
    assert np.diff(up).ravel() * inner == pytest.approx([120, 60, 240, 120, 120], abs=0.2)
    gaps = (up[:-1, 0] - up[1:, 1]) * inner
    assert (gaps > 0).all()
    assert gaps[0] < gaps[1]  # the two share their time axis
    for k in names:
        assert narrow[f"xaxis{k}"]["domain"] == [0, 1]
    wide = compose.compose(columns, [1, 2], look=Look(500, 500)).layout
    assert "height" not in wide["meta"]
    assert wide["xaxis3"]["domain"][0] > wide["xaxis"]["domain"][1]
    widths = [np.diff(wide[f"xaxis{k}"]["domain"])[0] for k in ("", "3")]
    assert widths[1] == pytest.approx(2 * widths[0], rel=1e-3)
    assert not Look(450, 500).narrow


@pytest.mark.parametrize("ranges", [{}, {"xaxis2": (0.2, 0.3), "yaxis3": (-1.0, 5.0)}])
def test_points_are_chosen_for_the_size_and_the_window_of_each_plot(ranges, monkeypatch):
    found = []
    monkeypatch.setattr(
        compose, "draw", lambda traces, box, shared, double: found.append((box, double))
    )
    log = picture.Plot([], "h", "e", (1e-3, 1.0), (1e-6, 1.0), time=False, log=True, log_y=True)
    columns = [[picture.Plot([], "t", "a", (0.0, 4.0), (-1.0, 1.0))] * 2, [log]]
    look = Look(900, 400, ranges, coarse=2.0)
    layout = compose.compose(columns, [2, 1], look=look).layout
    margin = layout["margin"]
    wide, tall = 900 - margin["l"] - margin["r"], 400 - margin["t"] - margin["b"]
    for k, (box, double) in zip(("", "2", "3"), found, strict=True):
        for axis, size, name in ((box.x, wide, f"xaxis{k}"), (box.y, tall, f"yaxis{k}")):
            assert axis.size == pytest.approx(size * np.ptp(layout[name]["domain"]), abs=0.1)
            assert (axis.low, axis.high) == pytest.approx(ranges.get(name) or layout[name]["range"])
            assert axis.log == (k == "3")
        assert (box.over_time, box.coarse, double) == (k != "3", 2.0, bool(ranges))


def test_names_of_friction_at_two_contacts_stand_in_two_lines():
    """Short names above each other, long ones too: that is narrow enough beside a mechanism."""
    run = ex.simulate(ex.models.rough_block(), t_end=0.1)
    named = [t for t in ex.views.explore(run).data if t.legend == "legend3" and t.showlegend]
    ordered = sorted(named, key=lambda trace: trace.legendrank or 1000)
    assert [t.name for t in ordered] == ["left corner", "right corner", "± μ λ", "sticks"]
    assert [t.legendgroup for t in ordered] == ["0", "0", "1", "1"]


def test_between_two_plots_there_is_room_for_labels_and_legends():
    """19 px a line of a legend, 44 px of tick labels and a title where the axis is not shared."""
    time, log, other = (
        picture.Plot([], name, "", time=name == "t", log=name == "log")
        for name in ("t", "log", "x")
    )
    for one, two in itertools.product((time, log, other), repeat=2):
        foot = 0 if one is two is not other else 44
        room = [compose._below(one, two, n) for n in range(5)]
        assert room[0] == max(16, foot + 8)
        assert np.diff(room[1:]).tolist() == [19] * 3
        assert foot + 19 <= room[1] <= foot + 19 + 8
    assert compose._joined(log, picture.Plot([], "other", "", time=False, log=True)) is False


def test_a_logarithmic_axis_has_every_power_of_ten():
    plot = picture.Plot(
        [], "h (s)", "error", (1e-3, 1.0), (1e-9, 1e5), time=False, log=True, log_y=True
    )
    for axis, ends, each in zip(compose._axes(plot, True), ((-3, 0), (-9, 5)), (1, 2), strict=True):
        assert (axis["type"], axis["dtick"]) == ("log", each)  # every second of very many
        assert axis["range"] == pytest.approx(ends)
    plain = picture.Plot([], "t (s)", "y (m)", (0.0, 1.0), (0.0, 1.0), ticks=["a", "b"])
    across, up = compose._axes(plain, False)
    assert (across["range"], up["range"], up["tickvals"]) == ([0, 1], [0, 1], [0, 1])
    assert "type" not in across | up
    assert "title" not in across


@for_each(("top", "unit", "said"), [
    (0.9e-3, "", "power"), (1e-3, "", None), (9e3, "", None), (1e4, "", "power"), (0.0, "", None),
    (1e-5, "m", None), (1e6, "(m/s)/kg", "power"),
])  # fmt: skip
def test_values_far_from_one_have_their_power_on_the_axis_or_a_prefix(top, unit, said):
    title = f"y ({unit})" if unit else "y"
    plot = picture.Plot([], "t (s)", title, (0.0, 1.0), (-top, 0.5 * top))
    _, up = compose._axes(plot, True)
    assert up.get("exponentformat") == said
    assert compose._far((-top, 0.5 * top)) == compose._far((0.0, top)) == bool(said or unit)


def test_what_a_method_has_of_its_own_is_drawn():
    """A derivative over the rows of its own; at the place behind the states that of z."""
    S, Z = np.arange(24.0).reshape(4, 3, 2), -np.arange(8.0).reshape(4, 2)
    asked = SimpleNamespace(cost=SimpleNamespace(flow=SimpleNamespace(n_x=3)))
    at = SimpleNamespace(rows=SimpleNamespace(S=2 * S))
    own, none = (SimpleNamespace(own=given, question=asked) for given in ((S, Z), None))
    assert slopes._slopes(own, at, 3, 1).tolist() == Z[:, 1].tolist()
    assert slopes._slopes(own, at, 2, 0).tolist() == S[:, 2, 0].tolist()
    assert slopes._slopes(none, at, 2, 1).tolist() == (2 * S[:, 2, 1]).tolist()


def test_a_placeholder_is_as_large_as_its_still():
    for height in (None, 333):
        layout = LAYOUT | {"height": height}
        figure = {"data": [{"x": [0, 1], "y": [0, 1]}], "layout": layout}
        box = ET.fromstring(still.still(figure)).get("viewBox")
        assert box == f"0 0 760 {height or 490}"
        plotted = SimpleNamespace(to_plotly_json=lambda figure=figure: figure)
        for one in (figure, plotted):
            html = ET.fromstring(still.placeholder(one, "name"))
            assert html.get("data-nsx-still") == "name"
            assert html[0].get("viewBox") == box
            assert html[0][0].get("href") == still.image(figure)


@for_each("renderer", ["notebook", "", "none", "silent"])
def test_a_notebook_gets_the_figure_and_its_still_in_one_output(renderer, monkeypatch):
    """Where plotly itself shows it by a renderer; else plotly does what it does."""
    said, kind = [], "application/vnd.plotly.v1+json"

    class Figure:
        def _repr_mimebundle_(self):
            return {kind: {"config": {"scrollZoom": True}}} if renderer != "none" else {}

        def _ipython_display_(self):
            said.append("plotly")

        def to_plotly_json(self):
            return {"data": [{"x": [0, 1], "y": [0, 1]}], "layout": LAYOUT}

    ways = SimpleNamespace(default=renderer, render_on_display=renderer != "silent")
    monkeypatch.setitem(sys.modules, "plotly.io", SimpleNamespace(renderers=ways))
    monkeypatch.setattr(plotly, "io", SimpleNamespace(renderers=ways), raising=False)
    monkeypatch.setattr(still, "display", lambda bundle, raw: said.append(bundle))
    still.show(Figure())
    (one,) = said
    if renderer != "notebook":
        assert one == "plotly"
        return
    assert one[kind]["config"] == {"showSendToCloud": False, "scrollZoom": True}
    assert one["text/html"] == still.mark(Figure())


@for_each("seed", range(12))
def test_a_legend_has_the_fewest_lines_whose_columns_fit(seed):
    """Names stand below each other in columns, as wide as the widest; the first plot has more room."""
    draw = np.random.default_rng(seed)
    room = float(draw.uniform(60, 700))
    names = [["n" * k for k in draw.integers(1, 30, draw.integers(1, 9))] for _ in range(2)]
    drawn = [[{"name": name, "showlegend": True} for name in each] for each in names]
    lines = compose._legends([picture.Plot([], "", "")] * 2, drawn, room, 2 * room, 4)

    def wide(each, count):
        columns = [each[k : k + count] for k in range(0, len(each), count)]
        return sum(45 + 6.4 * max(map(len, column)) for column in columns)

    for each, traces, count, free in zip(names, drawn, lines, (2 * room, room), strict=True):
        assert all(wide(each, n) > free for n in range(1, count))
        assert count == 4 or wide(each, count) <= free
        columns = [trace.get("legendgroup") for trace in traces]
        assert columns == [None if count == 1 else str(k // count) for k in range(len(each))]
        assert ("traceorder" in compose._legend(0.0, 1.0, count)) == (count > 1)
    assert compose._legend(0.0, 1.0, 2)["tracegroupgap"] == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_polygon_under_a_curve_has_its_area(seed):
    """Of steps, ramps and jumps: what constant parts leave out has no area."""
    draw = np.random.default_rng(seed)
    t = np.cumsum(draw.choice([0.0, 1.0, 0.3], 60))
    y = np.repeat(draw.random(20), 3) + np.where(np.arange(60) > 40, draw.random(), 0.0) * t
    base = -0.7
    px, py = _area(t, base, y, 60)
    area = np.sum((px - np.roll(px, -1)) * (py + np.roll(py, -1))) / 2  # clockwise is positive
    wanted = np.trapezoid(y - base, t)
    assert abs(area) == pytest.approx(wanted, rel=1e-3)
    assert (px[0], px[-4]) == pytest.approx((t[0], t[-1]))


def test_bars_of_contact_cover_its_times_and_join_those_closer_than_a_dot():
    spans = {0: [(0, 2), (4, 5)], 1: [(1, 3), (9, 11)]}
    solution = SimpleNamespace(
        t=np.array([0.0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 10.5]), system=SimpleNamespace(contacts="ab"),
        closed_runs=spans.get,
    )  # fmt: skip
    for a, wanted in ((0, [0, 1, 5, 5]), (1, [1, 2, 10, 10.5]), (None, [0, 2, 5, 5, 10, 10.5])):
        x, y = events._closed(solution, a, 10.5, 0.25)
        assert x[np.isfinite(x)].tolist() == wanted
        assert np.isnan(x[2::3]).all()
        assert np.isnan(y[2::3]).all()
        assert (y[np.isfinite(x)] == 0.25).all()
    near = SimpleNamespace(
        t=np.array([0.0, 1.0, 1.0 + 1e-9, 2.0, 1.5]), system=solution.system,
        closed_runs={0: [(0, 2), (2, 4)], 1: [(4, 5)]}.get,
    )  # fmt: skip
    assert events._closed(near, None, 2.0, 1.0)[0].tolist()[:2] == [0, 2]


def test_a_view_of_steps_takes_a_run_of_which_none_is_left_out():
    system = ex.models.shear_building()
    one = system.coordinates[0]
    for record, drawn in ((ex.Recorder(q=[one]), True), (ex.Recorder(every=2), False)):
        solution = ex.simulate(system, ex.Newmark(h=1e-2), t_end=0.5, record=record)
        for view in (view for view in views.values() if view.recorded == "steps"):
            if drawn:
                assert view(solution).data
                title = ex.views.trajectory(solution).layout.yaxis.title.text
                assert title.startswith(f"{picture.label(one)} (")
            else:
                with pytest.raises(ex.NotApplicable, match="needs all rows"):
                    view(solution)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), count=st.integers(0, 12))
def test_every_arc_that_can_be_seen_has_points_of_its_own(seed, count):
    window = (2.0, 5.0)
    times = np.sort(np.random.default_rng(seed).uniform(1.0, 6.0, count) ** 3 / 20)
    drawn = one_sided.arcs(times, window, 50)
    assert (drawn[0], drawn[-1]) == window
    edges = [2.0, *times[(times > 2) & (times < 5)], 5.0]
    for begin, end in itertools.pairwise(edges):
        if end - begin > 1.01 * one_sided._SHORT * 3.0:
            inside = drawn[(drawn > begin) & (drawn < end)]
            assert len(inside) >= 3
            assert np.diff([begin, *inside, end]).max() <= 0.5 * (end - begin)


@for_each(("e", "points"), [(0.3, 200), (0.9, 60), (0.9, 13)])
def test_about_as_many_rows_are_drawn_as_asked_for(e, points):
    """All but those for the limits at events, and half of them at least, are spread evenly."""
    sens = ex.sensitivity(ex.models.bouncing_ball(), wrt="e", t_end=3.0, e=e)
    at = one_sided.sides(sens.solution, None, points)
    times = at.rows.t[at.pick]
    even = max(points - 2 * len(at.events), points // 2)
    assert np.isin(np.linspace(0, 3, even), times).all()
    assert even <= len(np.unique(times)) <= even + 4 * len(sens.events) + 3
    part = one_sided.sides(sens.solution, (-1.0, 9.0), points)
    assert (part.t == at.t).all()
    some = one_sided.sides(sens.solution, (0.5, 1.5), points)
    assert (some.t.min(), some.t.max()) == pytest.approx((0.5, 1.5))


def test_events_closer_than_a_mark_are_one():
    """A thirty-sixth of the window, whose events alone count; the first one always does."""
    times = np.linspace(-1, 3, 4 * 3600 + 1)
    shown = times[one_sided.apart(times, (0.0, 2.0))]
    assert shown[0] == 0
    assert len(shown) in (36, 37)
    assert np.diff(shown) == pytest.approx(np.full(len(shown) - 1, 1 / 18), abs=2 / 3600)
    assert one_sided.apart(np.array([0.5, 0.51, 0.6]), (0.0, 1.0)) == [0, 2]
    assert one_sided.apart(np.array([-0.1, 0.0, 1.0, 1.1]), (0.0, 1.0)) == [1, 2]


def test_of_many_lengths_of_elements_the_shortest_are_drawn():
    """And some of all others, from the first to the last; few of them all."""
    draw = np.random.default_rng(7)
    for count in (1, 144, 145, 700):
        h = draw.uniform(0.1, 1.0, count)
        t = np.append(0.0, np.cumsum(h))
        system = SimpleNamespace(time_unit="s", discrete=False)
        run = SimpleNamespace(boundaries=t, t=t, system=system)
        (line,) = lengths_plot(run).traces
        x, y = (np.asarray(line[k], float).reshape(-1, 3) for k in "xy")
        assert np.isnan(x[:, 2]).all()
        assert np.isnan(y[:, 2]).all()
        at = np.searchsorted(t, x[:, 0] + 1e-3) - 1
        np.testing.assert_allclose(x[:, :2], np.column_stack([t[at], t[at + 1]]), rtol=1e-6)
        np.testing.assert_allclose(y[:, :2], h[at][:, None].repeat(2, 1), rtol=1e-6)
        assert len(at) == count if count <= 144 else 144 <= len(at) <= 180
        assert {0, count - 1, *np.argsort(h)[:36]} <= {*at.tolist()}


def test_of_many_modes_and_events_some_are_marked():
    """The longest stays in a mode, and events spread from the first to the last."""
    draw = np.random.default_rng(8)
    modes = np.tile([0, 1, 2], 200)
    t = np.cumsum(draw.uniform(0.1, 1, 600))
    events = [SimpleNamespace(contact="ab"[k % 2], row=k, t=t[k]) for k in range(600)]
    run = SimpleNamespace(mode=modes, t=t, events=events, has=lambda part: False)
    marked, level = _events(run, "b")
    assert (marked[0], marked[-1]) == pytest.approx((t[1], t[599]))
    rows = np.searchsorted(t, marked - 1e-3)
    assert (rows % 2 == 1).all()
    assert len(rows) == len({*rows}) == _MOST
    assert level.tolist() == modes[rows].tolist()
    assert _events(run, "c")[0] is picture.OFF[0]


@for_each("count", [300, 40_000, 40_001])
def test_a_closed_form_of_many_rows_is_drawn_at_some_of_them(count):
    """At both ends and on both sides of each reset, and of few rows at all; there it is the limit."""
    t = np.sort(np.random.default_rng(9).uniform(0, 8, count))
    torn = np.array([100, 200, count - 5])
    t[torn] = t[torn - 1]
    times = []

    def exact(at, rho):
        times.append(at)
        return {"q": np.column_stack([at, rho["a"] * at])}

    run = SimpleNamespace(
        system=SimpleNamespace(exact=exact), rho={"a": 3.0}, q=np.array([[0.0, 0.0]])
    )
    run.q = np.array([[t[0], 3 * t[0]]])
    at, form, gaps = _exact(run, decimate.Rows(t, [], [], torn, torn))
    assert len(at) == count if count <= 40_000 else 20_000 <= len(at) <= 40_000
    assert (at[0], at[-1]) == (t[0], t[-1])
    assert np.isin(at, t).all()
    assert at[gaps].tolist() == at[gaps - 1].tolist() == t[torn].tolist()
    assert (form[:, 1] == 3 * form[:, 0]).all()
    assert (form[gaps, 0] > at[gaps]).all()
    assert (form[gaps - 1, 0] < at[gaps - 1]).all()
    np.testing.assert_allclose(form[:, 0], at, atol=1e-5)
    run.q = run.q + 1e-3
    assert _exact(run, decimate.Rows(t, [], [], torn, torn)) is None


def test_a_band_needs_points_between_two_events():
    twin = SimpleNamespace(delta=0.2, ends=(-0.5, 0.5))
    for count in (1, 2, 3, 9):
        at = SimpleNamespace(t=np.arange(count) / 1.0, gap=np.zeros(count, bool), drawn=np.asarray)
        drawn = band(at, np.ones(count), np.full(count, 5.0), twin)
        if count < 2:
            assert (drawn["x"].tolist(), drawn["y"].tolist()) == ([0], [np.float32(-1e9)])
            continue
        up, down = drawn["y"][:count], drawn["y"][count : 2 * count]
        assert (up.tolist(), down.tolist()) == ([0.5] * count, [1.5] * count)
        assert drawn["x"][:-1].tolist() == [*range(count), *reversed(range(count))]


@functools.cache
def simulated(name, t_end):
    return ex.simulate(getattr(ex.models, name)(), t_end=t_end)


@for_each(
    "by",
    [(0, False), (0, True), (1, False), (2, False), (2, True), (3, True), (4, True), (-1, True)],
)
def test_events_are_listed_in_the_order_that_is_asked_for(by):
    """By a column, either way; by one that is not there in time."""
    run = simulated("bouncing_ball", 3.0)
    plain, table = (events.event_table(run, most=4, page=1, by=b) for b in ((0, False), by))
    every = [(e.t, f"{e.kind}", -e.gap_dot_minus, e.impulse) for e in run.events]
    place = by[0] if 0 < by[0] < len(plain["columns"]) else 0
    order = sorted(every, key=lambda row: row[place], reverse=by[1])
    assert [row[0] for row in table["rows"]] == [float(f"{row[0]:.5g}") for row in order[4:8]]
    assert table["by"] == [place, by[1]]
    assert table["page"] == 1
    beyond = events.event_table(run, most=4, page=99, by=by)
    assert beyond["page"] == beyond["pages"] - 1 == (len(every) - 1) // 4
    assert len(beyond["rows"]) == len(every) - 4 * beyond["page"]


def test_twins_part_at_the_first_event_that_only_one_has():
    def one(*events):
        kinds = [name for name, _ in events]
        hits = np.array([t for _, t in events])
        return SimpleNamespace(march=SimpleNamespace(sequence=kinds, hits=hits))

    low = one(("a", 1.0), ("b", 2.0))
    for high, wanted in (
        (one(("a", 1.1), ("a", 1.7)), 1.7), (one(("a", 1.1), ("c", 2.5)), 2.0),
        (one(("a", 0.9)), 2.0), (one(), 1.0), (one(("a", 1.0), ("b", 2.1)), 9.0),
        (one(("a", 1.0), ("b", 2.0), ("b", 3.0)), 3.0), (one(("b", 0.5), ("b", 2.0)), 0.5),
    ):  # fmt: skip
        assert _parting(low, high, 9.0) == _parting(high, low, 9.0) == wanted


@for_each("last", (False, True))
def test_a_legend_that_asks_for_the_next_plot_stands_there_if_there_is_one(last):
    """The last plot of a column has no next one, and keeps its own."""
    plots = [SimpleNamespace(), SimpleNamespace()]
    named = {"name": "a", "showlegend": True, "legend": "next"}
    drawn = [[], [dict(named)]] if last else [[dict(named)], []]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compose, "_joined", lambda plot, follower: True)
        assert compose._legends(plots, drawn, 500.0) == [0, 1]


def test_what_a_view_does_not_draw_is_told_with_what_would_help():
    system, run = ex.models.tent_map(), ex.simulate(ex.models.tent_map(), t_end=3)

    def picture(given):
        """Draw nothing."""

    for kinds, one, hint in (
        ((ex.systems.System,), run, r": give its system, views\.picture\(run\.system\)\.$"),
        ((ex.systems.System,), 3, r"draws a system, not 3\.$"), ((ex.systems.System,), [system], "draw them one by one"),
        ((ex.Solution,), system, ": simulate it first"), ((ex.Solution,), 3, r"returns, not 3\.$"),
        ((ex.Sensitivity,), system, r"not a MapSystem\.$"), ((ex.Sensitivity,), run, r"not a Solution\.$"),
    ):  # fmt: skip
        with pytest.raises(ex.BadValue, match=hint):
            _check(SimpleNamespace(picture=picture, takes=kinds, recorded=""), [one])
    _check(SimpleNamespace(picture=picture, takes=(ex.systems.System,), recorded=""), [system])
