"""Stills: what they draw lies where its values are."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
from loops import for_each

from explorer.views.drawing import (
    still_marks,
)
from explorer.views.drawing.still import still

stills = importlib.import_module("explorer.views.drawing.still")


# the plot of a still: x from 100 to 700 px, y from 330 up to 50
PAPER = {"height": 400, "margin": {"l": 100, "r": 60, "t": 50, "b": 70}, "showlegend": False}


LINE = {"x": [0, 1, 2], "y": [0, 10, 20], "line": {"color": "#123456"}}


def said_in(svg):
    """Return the words of a still with their place, and how they stand."""
    found = re.findall(r'<text x="(-?\d+)" y="(-?\d+)" text-anchor="(\w+)" font-size="([\d.]+)"([^>]*)>([^<]*)<', svg)  # fmt: skip
    return [(word, int(x), int(y), anchor) for x, y, anchor, _, _, word in found]


def drawn(traces, **layout):
    return still({"data": traces, "layout": PAPER | layout})


@for_each(("x", "y", "across", "up", "grid"), [
    ({}, {}, ("middle", 345), ("end", 95, 4), (True, True)), ({"side": "top"}, {"ticklabelposition": "inside top"}, ("middle", 42), ("start", 104, -6), (True, True)),
    ({"showgrid": False}, {"showticklabels": False}, ("middle", 345), None, (False, True)), ({"showticklabels": False}, {"showgrid": False}, None, ("end", 95, 4), (True, False)),
])  # fmt: skip
def test_a_frame_has_a_grid_at_its_ticks_and_their_numbers_beside_it(x, y, across, up, grid):
    """Ticks at 0, 0.5, ... 2 and at 0, 5, ... 20: 600 px and 280 px have room for eight of each."""
    svg = drawn([LINE], xaxis={"range": [0, 2], **x}, yaxis={"range": [0, 20], **y})
    columns, rows = [100, 250, 400, 550, 700], [330, 260, 190, 120, 50]
    wanted = [(name, at, across[1], across[0]) for name, at in zip(("0", "0.5", "1", "1.5", "2"), columns, strict=True)] if across else []  # fmt: skip
    wanted += [(name, up[1], at + up[2], up[0]) for name, at in zip(("0", "5", "10", "15", "20"), rows, strict=True)] if up else []  # fmt: skip
    assert said_in(svg) == wanted
    path = "".join(f"M{at}.0,50.0V330.0" for at in columns) * grid[0] + "".join(f"M100.0,{at}.0H700.0" for at in rows) * grid[1]  # fmt: skip
    assert f'<path d="{path}" stroke="rgba' in svg
    assert '<clipPath id="c0"><rect x="100.0" y="50.0" width="600.0" height="280.0"/></clipPath>' in svg  # fmt: skip
    assert 'viewBox="0 0 760 400" width="760" height="400"' in svg


@for_each(
    ("inside", "top", "left"), [(False, 20, 100 - 14 - 14), (True, 20, 86), (False, 20_000_000, 12)]
)
def test_titles_stand_below_the_numbers_and_beside_them(inside, top, left):
    """Seven pixels for each letter of the longest number, as far as there is paper."""
    y = {"range": [0, top], "title": {"text": "up"}} | ({"ticklabelposition": "inside"} if inside else {})  # fmt: skip
    svg = drawn([LINE], xaxis={"range": [0, 2], "title": {"text": "time"}}, yaxis=y, title={"text": "all"})  # fmt: skip
    said = {word: (x, y) for word, x, y, _ in said_in(svg)}
    assert (said["time"], said["all"]) == ((400, 364), (380, 22))
    assert said["up"][1] == 190
    longest = max(len(word) for word, x, *_ in said_in(svg) if x == 95) if not inside else 0
    assert said["up"][0] == max(100 - 14 - 7 * longest, 12)
    assert left in (said["up"][0], 12)
    assert f'transform="rotate(-90,{said["up"][0]},190)"' in svg


@for_each(("axis", "values", "low", "high"), [
    ({}, [1.0, 3.0, np.nan], 0.9, 3.1), ({}, [], -0.05, 1.05), ({}, [2.0], 1.5, 2.5), ({"type": "log"}, [1.0, 100.0], -0.1, 2.1),
    ({"autorange": "reversed"}, [1.0, 3.0], 3.1, 0.9), ({"range": [4, 4]}, [1.0], 3.5, 4.5), ({"range": [5, 2]}, [1.0], 5, 2), ({"type": "log"}, [0.0, 1.0], -315, 15),
])  # fmt: skip
def test_an_axis_reaches_a_little_beyond_its_values(axis, values, low, high):
    one = stills._Axis("x", axis | {"domain": [0.25, 0.75]}, (100, 500))
    assert (one.from_, one.to) == (200, 400)
    one.scale([np.array(values), np.array([])])
    assert one.range == pytest.approx((low, high))
    value = 10.0**0.5 if one.log else 2.5
    exponent = np.log10(value) if one.log else value
    assert one([value]) == pytest.approx([200 + 200 * (exponent - low) / (high - low)])


@for_each(("axis", "range_", "told"), [
    ({}, (0, 6), {0: "0", 2: "2", 4: "4", 6: "6"}), ({}, (-0.05, 0.05), {-0.05: "−0.05", 0: "0", 0.05: "0.05"}), ({"type": "log"}, (-1.2, 2.1), {-1: "10<sup>−1</sup>", 1: "10<sup>1</sup>"}),
    ({"tickvals": [1, 5, 9], "ticktext": ["a", "b", "c"]}, (0, 6), {1: "a", 5: "b"}), ({"type": "log"}, (0.5, 2.5), {1: "10<sup>1</sup>", 2: "10<sup>2</sup>"}), ({}, (6, 0), {0: "0", 2: "2", 4: "4", 6: "6"}),
])  # fmt: skip
def test_ticks_are_whole_numbers_of_steps_that_have_room(axis, range_, told):
    """Of 1, 2 or 5 times a power of ten, or of powers of ten; here every 70 px or more of 210."""
    one = stills._Axis("x", axis, (0, 210))
    one.range = range_
    place = [210 * (value - range_[0]) / (range_[1] - range_[0]) for value in told]
    assert [name for _, name in one.ticks()] == [*told.values()]
    assert [at for at, _ in one.ticks()] == pytest.approx(place)


@for_each(("x", "y", "told"), [(100, 50, [(-5, 15), (0, 10)]), (50, 100, [(0, 10), (-5, 15)]), (100, 100, [(0, 10), (0, 10)])])  # fmt: skip
def test_the_longer_axis_reaches_further_where_units_are_as_long(x, y, told):
    one, two = stills._Axis("x", {}, (0, x)), stills._Axis("y", {}, (y, 0))
    one.range = two.range = (0, 10)
    stills._square(one, two)
    assert [one.range, two.range] == [pytest.approx(r) for r in told]


@for_each(("names", "legend", "rows"), [
    (("a", "bb"), {}, [[("a", 100), ("bb", 100 + 40.2)]]), (("a" * 50, "b" * 50), {"x": 0.25, "y": 0.5}, [[("a" * 50, 250)], [("b" * 50, 250)]]),
    (("<i>a</i>&nbsp;", "b"), {}, [[("", 100), ("b", 140.2)]]), (("a" * 50, "b" * 40), {}, [[("a" * 50, 100), ("b" * 40, 444)]]),
])  # fmt: skip
def test_names_stand_above_a_plot_in_as_many_lines_as_they_need(names, legend, rows):
    """34 px and 6.2 for each letter; the last line lies 8 px above the plot, the others above that."""
    traces = [LINE | {"name": name} for name in names]
    svg = drawn([*traces, LINE | {"name": "off", "visible": False}, LINE | {"name": "none", "showlegend": False}], showlegend=True, legend=legend,
                xaxis={"showticklabels": False}, yaxis={"showticklabels": False})  # fmt: skip
    bottom = 330 - 280 * legend.get("y", 1)
    wanted = [(name, round(x + 26), round(bottom - 8 - 15 * n + 4), "start") for n, row in enumerate(rows[::-1]) for name, x in row]  # fmt: skip
    assert [(x, y, anchor) for _, x, y, anchor in said_in(svg)] == [one[1:] for one in wanted]
    assert "off" not in svg
    assert "none</text>" not in svg


def test_a_sign_of_a_curve_looks_like_it():
    """An area, a line 20 px long, or a mark in its middle."""
    area = stills._sign({"fill": "toself", "line": {"color": "#111111"}, "x": [1]}, 40.0, 9.0)
    assert area == '<rect x="43" y="4" width="18" height="9" fill="#111111"/>'
    assert 'fill="#222222"' in stills._sign({"fill": "toself", "fillcolor": "#222222"}, 40.0, 9.0)
    line = stills._sign({"line": {"color": "#111111", "shape": "hv", "width": 3}}, 40.0, 9.0)
    assert '<path d="M420,90l200,0" stroke="#111111" stroke-width="30"/>' in line
    both = stills._sign({"mode": "lines+markers", "marker": {"color": ["#333333", "#444444"], "size": [4, 8]}}, 40.0, 9.0)  # fmt: skip
    assert both.count("<path") == 2
    assert 'd="M520,90h0" stroke="#333333" stroke-width="40"' in both
    assert "M420" not in stills._sign({"mode": "markers"}, 40.0, 9.0)


def test_images_shapes_and_words_lie_at_their_values():
    picture = {"x": 0.5, "y": 15, "sizex": 1.0, "sizey": 10, "source": "data:,"}
    shapes = [{"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 10, "line": {"color": "#abcdef", "width": 3}}, {"type": "rect", "x0": 0, "x1": 1, "y0": 0, "y1": 1},
              {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 1}]  # fmt: skip
    named = {"x": [0, 1, np.nan], "y": [10, 20, 5], "mode": "text", "text": ["one", "", "gone"]}
    svg = drawn([named | {"opacity": 0.5}, LINE | {"opacity": 0}, LINE | {"visible": "legendonly"}], images=[picture, picture | {"xref": "x2"}], shapes=shapes,
                xaxis={"range": [0, 2], "showticklabels": False}, yaxis={"range": [0, 20], "showticklabels": False})  # fmt: skip
    assert svg.count("<image") == 1
    assert '<image x="250.0" y="120.0" width="300.0" height="140.0" preserveAspectRatio="none" href="data:,"/>' in svg  # fmt: skip
    assert svg.count('stroke-width="3"/>') == 1
    assert '<path d="M100.0,330.0L400.0,190.0" stroke="#abcdef" stroke-width="3"/>' in svg
    assert said_in(svg) == [("one", 100, 186, "middle")]
    assert "#123456" not in svg


def test_plots_that_match_have_the_range_of_the_first():
    """And each cuts its own curves off; a still that is too long leaves more points out."""
    other = {"x": [0, 9], "y": [0, 1], "xaxis": "x2", "yaxis": "y2"}
    x = {"range": [0, 2], "showticklabels": False, "domain": [0, 0.4]}
    svg = drawn([LINE, other], xaxis=x, xaxis2={"matches": "x", "domain": [0.6, 1]}, yaxis={"showticklabels": False}, yaxis2={"showticklabels": False})  # fmt: skip
    assert [x for _, x, *_ in said_in(svg)] == [460, 580, 700]
    assert svg.count('clip-path="url(#c0)"') == svg.count('clip-path="url(#c1)"') == 1
    t = np.linspace(0, 1, 400)
    wave = {"x": t, "y": np.sin(200 * t)}
    longer, shorter = (len(still({"data": [wave], "layout": PAPER}, most=most)) for most in (10**6, 2000))  # fmt: skip
    assert shorter < longer


@for_each(("shape", "corners"), [
    (None, [(0, 0), (10, 5), (20, 7)]), ("hv", [(0, 0), (10, 0), (10, 5), (20, 5), (20, 7)]), ("vh", [(0, 0), (0, 5), (10, 5), (10, 7), (20, 7)]),
    ("hvh", [(0, 0), (5, 0), (5, 5), (15, 5), (15, 7), (20, 7)]),
])  # fmt: skip
def test_a_curve_in_steps_turns_where_its_shape_says(shape, corners):
    svg = still_marks.lines({"line": {"shape": shape, "color": "#111111", "dash": "dash"}}, np.array([0.0, 10, 20]), np.array([0.0, 5, 7]), 0.01)  # fmt: skip
    steps = re.fullmatch(r'<path d="M0,0((?:l-?\d+,-?\d+)*)" stroke="#111111" stroke-width="20" stroke-dasharray="70,50"/>', svg)[1]  # fmt: skip
    at = np.cumsum([(0, 0), *[tuple(map(int, one.split(","))) for one in steps.split("l")[1:]]], axis=0) / 10  # fmt: skip
    seen = [tuple(one) for k, one in enumerate(at.tolist()) if k == 0 or one != at[k - 1].tolist()]
    assert seen == corners


def test_a_curve_is_broken_where_it_has_no_value_and_thinned_between():
    """Within `slack` px of what is left out; an area has a shade, at half strength if it has none."""
    x, y = np.arange(7.0), np.array([0.0, 0.2, 0.0, np.nan, 5.0, np.nan, 9.0])
    assert 'd="M0,0l20,0M40,50h0M60,90h0"' in still_marks.lines({}, x, y, 0.3)
    assert 'd="M0,0l10,2l10,-2M40' in still_marks.lines({}, x, y, 0.1)
    assert still_marks.lines({}, x, x * np.nan, 0.1) == ""
    area = still_marks.lines(
        {"fill": "toself", "line": {"color": "#111111", "width": 0}}, x, y, 0.3
    )
    assert area.endswith('fill="#111111" fill-opacity=".5" stroke="none"/>')
    shaded = still_marks.lines({"fill": "toself", "fillcolor": "#222222", "line": {"width": 1}}, x, y, 0.3)  # fmt: skip
    assert 'fill="#222222" stroke="none"/>' in shaded
    assert shaded.endswith('stroke-width="10"/>')
    loop = np.exp(1j * np.linspace(0, 2 * np.pi, 41))  # its ends are one point
    kept = still_marks._thinned(10 * loop.real, 10 * loop.imag, 0.5)
    left = np.interp(np.arange(41), np.flatnonzero(kept), 10 * loop[kept])
    assert 4 < kept.sum() < 41
    assert np.abs(left - 10 * loop).max() < 2.5


def test_marks_of_one_look_are_one_path():
    """Dots, rings and signs, each in its colour and size; none far off the paper."""
    x, y = np.array([1.0, 2, 3, np.nan, 4000]), np.array([10.0, 20, 30, 40, 50])
    dots = still_marks.marks({"marker": {"size": 4, "color": "#111111"}}, x, y)
    assert dots == '<path d="M10,100h0M20,200h0M30,300h0" stroke="#111111" stroke-width="40" stroke-linecap="round"/>'  # fmt: skip
    two = still_marks.marks({"marker": {"size": [4, 4, 6, 4, 4], "symbol": ["square", "circle-open", "square-open", "x", "x"]}}, x, y)  # fmt: skip
    assert two.count("<path") == 3
    assert 'd="M10,100m-18,-18h36v36h-36z"' in two
    assert 'd="M20,200m-20,0a20,20 0 1,0 40,0a20,20 0 1,0 -40,0"' in two
    assert 'd="M30,300m-27,-27h54v54h-54z" stroke="#797979" fill="none" stroke-width="10"' in two
    many = still_marks.marks({}, np.arange(1000.0), np.zeros(1000))
    assert many.count("h0") == 334


@for_each(("given", "shape", "told"), [
    ([1.0, 3.0, 4.0], (2, 3), [0.0, 2.0, 3.5, 4.5]), ([1.0, 3.0, 4.0, 9.0], (2, 3), [1.0, 3.0, 4.0, 9.0]), ([5.0], (2, 1), [4.5, 5.5]), (["a", "b"], (9, 2), [-0.5, 0.5, 1.5]),
])  # fmt: skip
def test_cells_end_halfway_between_their_centres(given, shape, told):
    assert still_marks.edges({"x": given, "z": np.zeros(shape)}, "x").tolist() == told
    assert still_marks.edges({"y": given, "z": np.zeros(shape[::-1])}, "y").tolist() == told


def test_cells_are_shaded_and_their_words_can_be_read():
    """Black on what is bright, white on what is dark; a pixel is left free around each."""
    trace = {"x": [0, 10, 20], "y": [0, 10], "z": [[0.0, 1.0]], "text": [["a", "b"]], "colorscale": [[0, "#000000"], [1, "rgb(200, 100, 90)"]]}  # fmt: skip
    svg = still_marks.cells(trace, lambda v: 3 * v, lambda v: 100 - 2 * v)
    assert svg.startswith('<rect x="1.0" y="81.0" width="28.0" height="18.0" fill="rgb(0,0,0)"/>')
    assert '<rect x="31.0" y="81.0" width="28.0" height="18.0" fill="rgb(200,100,90)"/>' in svg
    assert [re.findall(r'fill="(#\w+)"', one)[0] for one in re.findall("<text[^>]*>", svg)] == ["#fff", "#000"]  # fmt: skip
    assert said_in(svg)[0][1:3] == (15, 94)
    flat = still_marks.cells(trace | {"z": [[2.0, 2.0]], "text": None}, lambda v: v, lambda v: v)
    assert flat.count('fill="rgb(0,0,0)"') == 2
    half = still_marks.cells(trace | {"zmin": -1, "zmax": 3, "text": None}, lambda v: v, lambda v: v)  # fmt: skip
    assert re.findall(r"rgb\((\d+)", half) == ["50", "100"]


def test_raised_and_lowered_words_return_to_their_line():
    assert still_marks.written("a<b>b</b> &amp; c") == "ab &amp; c"
    svg = still_marks.written("x<sub>1</sub>y<sup>2</sup>z")
    assert re.findall(r'dy="(-?\d+)"', svg) == ["3", "-3", "-3", "3"]
    assert re.sub("<[^>]*>|\u200b", "", svg) == "x1y2z"
