"""The layout of plots on a grid in px, and the words of its axes, each with its numbers."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from loops import for_each

from explorer.views.drawing.picture import HEIGHT, Plot, curve
from explorer.views.drawing.polyline import PANEL, STATIC, Look

layouts = importlib.import_module("explorer.views.drawing.compose")
COVERS = ("views/drawing/compose.py",)  # see mutant_rooms.py
compose = layouts.compose
WIDE, RIGHT, BOTTOM, LINE, FOOT = 560, 14, 44, 19, 44


def plot(names=(), **more):
    traces = [curve(np.zeros(2), np.ones(2), "#123456", name=name, showlegend=True) for name in names]  # fmt: skip
    given = {"x_title": "time t (s)", "y_title": "x (m)", "x_range": (0.0, 1.0), "y_range": (0.0, 1.0), **more}  # fmt: skip
    return Plot(traces, **given)


# ---------------------------------------------------------------- a grid in parts of a figure


def test_columns_lie_beside_each_other_by_their_widths():
    """34 px and 7 for each letter of a tick, four at least, beside each; 14 on the right."""
    picture = compose([[plot()], [plot(x_title="p", time=False)], [plot(x_title="q", time=False)]], [1, 2, 1])  # fmt: skip
    beside, whole = 34 + 7 * 4, WIDE - (34 + 7 * 4) - RIGHT
    inner = WIDE - 3 * beside - RIGHT
    left = 0.0
    for k, part in enumerate((0.25, 0.5, 0.25)):
        left += beside / whole * (k > 0)
        axis = picture.layout["xaxis" + ("" if k == 0 else str(k + 1))]
        assert axis["domain"] == pytest.approx([left, left + inner * part / whole], abs=1e-4)
        assert axis["anchor"] == "y" + ("" if k == 0 else str(k + 1))
        left += inner * part / whole
    assert left == pytest.approx(1.0)
    assert picture.layout["margin"] == {"l": beside, "r": RIGHT, "t": 20, "b": BOTTOM, "autoexpand": False}  # fmt: skip
    assert "height" not in picture.layout
    assert picture.layout["meta"] == {"time_axes": [["x", "y"]]}
    assert "matches" not in picture.layout["xaxis2"]
    assert compose([[plot()]], [1], height=300).layout["height"] == 300


@for_each(("joined", "names", "height"), [(True, (), None), (False, (), None), (True, ("a",), None), (False, ("a",), 300), (False, ("a", "b"), 700)])  # fmt: skip
def test_plots_of_a_column_lie_below_each_other_by_their_shares(joined, names, height):
    """Between two that share their axis 16 px or more, else room for numbers and a title too."""
    first, second = plot(share=2.0), plot(names, time=joined, x_title="time t (s)" if joined else "p")  # fmt: skip
    picture = compose([[first, second]], [1], height=height)
    tall = (height or HEIGHT) - 20 - BOTTOM
    foot = 0 if joined else FOOT
    gap = max(foot + 3 + LINE * bool(names), foot + 8, 16) / tall
    unit = (1 - gap) / 3
    assert picture.layout["yaxis"]["domain"] == pytest.approx([1 - 2 * unit, 1.0], abs=1e-4)
    assert picture.layout["yaxis2"]["domain"] == pytest.approx([0.0, unit], abs=1e-4)
    assert picture.layout["yaxis2"]["anchor"] == "x2"
    assert picture.layout["xaxis"]["showticklabels"] != joined
    assert picture.layout["xaxis2"]["showticklabels"]
    assert ("title" in picture.layout["xaxis"]) != joined
    assert picture.layout["xaxis2"].get("matches") == ("x" if joined else None)
    assert [trace.get("legend") for trace in picture.data] == ["legend2"] * len(names)
    assert [(trace["xaxis"], trace["yaxis"]) for trace in picture.data] == [("x2", "y2")] * len(names)  # fmt: skip
    if names:
        assert picture.layout["legend2"]["y"] == pytest.approx(unit, abs=1e-4)
        assert "tracegroupgap" not in picture.layout["legend2"]
    assert "legend" not in picture.layout


def test_logarithmic_axes_of_a_name_go_together():
    """Not those of another name, nor one that is no such axis."""
    log = {"time": False, "log": True, "x_range": (1.0, 10.0)}
    picture = compose([[plot(x_title="h", **log), plot(x_title="h", **log), plot(x_title="k", **log), plot(x_title="h", time=False)]], [1])  # fmt: skip
    axes = [picture.layout[f"xaxis{k}"].get("matches") for k in ("", 2, 3, 4)]
    assert axes == [None, "x", None, None]
    assert picture.layout["meta"]["time_axes"] == []
    assert picture.layout["xaxis"]["range"] == [0.0, 1.0]


def test_names_of_a_curve_may_stand_above_the_next_plot():
    """Where both share their axis: then it counts there; and the last one has none below it."""
    for joined in (True, False):
        first, second = plot(["a", "b"]), plot(["c"], time=joined, x_title="time t (s)")
        first.traces[0]["legend"] = second.traces[0]["legend"] = "next"
        picture = compose([[first, second]], [1])
        by_name = {trace["name"]: trace.get("legend") for trace in picture.data}
        assert by_name == {"a": "legend2" if joined else None, "b": None, "c": "legend2"}
        assert all("below" not in trace for trace in picture.data)
    assert first.traces[0]["legend"] == "next"


def test_a_narrow_look_stacks_all_plots_and_tells_its_height():
    look = Look(400, 700)
    assert look.narrow
    columns = [[plot(["a"])], [plot(time=False, x_title="p", share=2.0), plot(time=False, log=True, log_y=True, x_title="q", x_range=(1.0, 10.0), y_range=(1.0, 10.0))]]  # fmt: skip
    picture = compose(columns, [1, 1], look=look)
    top = 32 + LINE
    gaps = [FOOT + 8] * 2
    height = top + BOTTOM + round(120 * (1 + 2 + 2) + sum(gaps))
    assert picture.layout["meta"]["height"] == height
    assert "height" not in picture.layout
    edge = 18
    assert picture.layout["margin"]["r"] == edge
    assert picture.layout["margin"]["t"] == top
    tall = height - top - BOTTOM
    unit = (1 - sum(gaps) / tall) / 5
    domains = [picture.layout[f"yaxis{k}"]["domain"] for k in ("", 2, 3)]
    assert domains[0] == pytest.approx([1 - unit, 1.0], abs=1e-4)
    assert domains[2] == pytest.approx([0.0, 2 * unit], abs=1e-4)
    assert picture.layout["xaxis2"]["domain"] == [0.0, 1.0]
    for width, told in ((520, 18), (521, 14)):
        assert compose([[plot()]], [1], look=Look(width, 700)).layout["margin"]["r"] == told


def test_curves_are_drawn_in_the_window_of_their_axes(monkeypatch):
    """Its px are those of the figure less its margins, by the parts that the plot has."""
    asked = []
    monkeypatch.setattr(layouts, "draw", lambda traces, box, shared, double: asked.append((box, double)))  # fmt: skip
    look = Look(1000, 600, ranges={"xaxis2": (0.25, 0.5)})
    compose([[plot()], [plot(time=False, x_title="p", y_range=(1.0, 100.0), log_y=True)]], [1, 1], look=look)  # fmt: skip
    (first, double), (second, _) = asked
    assert double
    beside = (34 + 28, 34 + 7 * 5)
    whole = WIDE - beside[0] - RIGHT
    inner = WIDE - sum(beside) - RIGHT
    px, py = 1000 - beside[0] - RIGHT, 600 - 20 - BOTTOM
    for box in (first, second):
        assert (box.x.size, box.y.size) == pytest.approx((px * inner / 2 / whole, py))
    assert (first.x.low, first.x.high, first.over_time) == (0.0, 1.0, True)
    assert (second.x.low, second.x.high, second.over_time) == (0.25, 0.5, False)
    assert (second.y.low, second.y.high, second.y.log) == (0.0, 2.0, True)
    asked.clear()
    compose([[plot(x_range=None)]], [1], look=PANEL)
    assert (asked[0][0].x.low, asked[0][0].x.high, asked[0][1]) == (0.0, 1.0, False)


def test_a_ground_is_drawn_first_where_its_ranges_are_known():
    def ground(x, y):
        return [curve(np.array(x), np.array(y), "#abcdef")]

    for known in (True, False):
        one = plot(["a"], ground=ground, x_range=(0.0, 1.0) if known else None)
        picture = compose([[plot(["b"]), one]], [1])
        assert [first for first, *_ in picture.grounds] == ([1] if known else [])
        assert len(picture.data) == 2 + known
        if known:
            assert picture.grounds[0][1:] == ("x2", "y2", ground)
    assert not compose([[plot(["a"])]], [1]).grounds


def test_words_say_from_when_on_a_curve_is_drawn(monkeypatch):
    monkeypatch.setattr(layouts, "draw", lambda *given, **more: 12.345678)
    picture = compose([[plot(time=False, x_title="p", time_unit="min")]], [1])
    assert picture.layout["xaxis"]["title"]["text"] == "p · from t = 12.35 min on"


# ---------------------------------------------------------------- names above a plot


def legends(names, room, first=0.0, most=5):
    drawn = [[curve(np.zeros(1), np.zeros(1), "#123456", name=n, showlegend=True) for n in names]]
    lines = layouts._legends([plot()], drawn, room, first, most)
    return lines[0], [t["name"] for t in drawn[0]], [t.get("legendgroup") for t in drawn[0]]


@for_each(("room", "lines"), [(4 * 57.8, 1), (4 * 57.8 - 1e-6, 2), (2 * 57.8, 2), (2 * 57.8 - 1e-6, 4), (57.8, 4), (10.0, 4)])  # fmt: skip
def test_names_take_as_many_lines_as_they_need(room, lines):
    """45 px of a sign and 6.4 of each letter; names below each other go together."""
    found, names, groups = legends(["ab", "cd", "ef", "gh"], room)
    assert found == lines
    wanted = {1: [None] * 4, 2: ["0", "0", "1", "1"], 4: ["0"] * 4}[lines]
    assert (names, groups) == (["ab", "cd", "ef", "gh"], wanted)
    assert legends(["ab", "cd", "ef", "gh"], 10.0, 4 * 57.8)[0] == 1
    assert legends(["ab"] * 9, 10.0, most=3)[0] == 3


@for_each(("room", "name", "lines"), [(0.9 * (45 + 6.4 * 10), "name: what", 1), (0.9 * (45 + 6.4 * 10) - 1e-6, "name:<br>what", 2), (10.0, "word", 1)])  # fmt: skip
def test_a_single_name_is_broken_behind_its_colon(room, name, lines):
    found, names, groups = legends([name.replace(":<br>", ": ")], room)
    assert (found, names, groups) == (lines, [name], [None])
    assert legends([name], 1e3)[:2] == (1, [name.replace(":<br>", ": ")])


def test_no_name_takes_no_line():
    assert legends([], 100.0)[0] == 0
    traces = [[curve(np.zeros(1), np.zeros(1), "#123456", name="a")]]
    assert layouts._legends([plot()], traces, 100.0) == [0]
    rank = [curve(np.zeros(1), np.zeros(1), "#1", name=n, showlegend=True, legendrank=r) for n, r in (("c", 1001), ("a", 999))]  # fmt: skip
    rank.append(curve(np.zeros(1), np.zeros(1), "#1", name="b", showlegend=True))
    layouts._legends([plot()], [rank], 10.0, most=2)
    assert {t["name"]: t["legendgroup"] for t in rank} == {"a": "0", "b": "0", "c": "1"}
    assert layouts._legend(0.25, 0.5, 1)["y"] == 0.5
    assert layouts._legend(0.25, 0.5, 2)["tracegroupgap"] == 0


# ---------------------------------------------------------------- words of axes


@for_each(("low", "high", "told"), [
    (0, 1, 3), (0, 10, 2), (0, 5, 1), (-5, 5, 2), (0, 0.5, 3), (0, 0.04, 4), (0, 0.05, 4), (-0.05, 0, 5), (0, 9999, 4), (0, 1e4, 5), (0, 1e-6, 5), (0, 2e-6, 9), (3, 3, 4), (5, 1, 4), (0, np.inf, 4), (0, 25, 2), (100, 200, 3), (0, 0.25, 4), (-100, 1, 4),
])  # fmt: skip
def test_the_longest_label_of_an_axis(low, high, told):
    """Of steps of 1, 2 or 5 times a power of ten, about five of them; far numbers have a letter."""
    assert layouts._digits(low, high) == told


@for_each(("more", "told"), [({"ticks": ["a", "long name"]}, 28), ({"ticks": {0.0: "long name", 1.0: "a<sub>1</sub>"}}, 34 + 63), ({"ticks": {}}, 34 + 28), ({"log_y": True}, 34 + 35),
                            ({"y_range": None}, 34 + 35), ({"y_range": (0.0, 1.0)}, 34 + 28), ({"y_range": (-0.05, 0.0)}, 34 + 35)])  # fmt: skip
def test_the_room_beside_a_plot_is_that_of_its_words(more, told):
    assert layouts._beside(plot(**more)) == told


@for_each(("limits", "wide", "told"), [
    (None, 10.0, 1), ((1.0, 10.0), np.inf, 1), ((1.0, 1e8), np.inf, 1), ((1.0, 1.1e8), np.inf, 2), ((1.0, 1e14), np.inf, 2), ((1e-3, 1e12), np.inf, 3), ((1.0, 1e4), 144.0, 1), ((1.0, 1e4), 143.0, 2), ((10.0, 100.0), 10.0, 4),
])  # fmt: skip
def test_ticks_of_a_logarithmic_axis_stay_apart(limits, wide, told):
    """About six of them, and 36 px for each along an axis."""
    assert layouts._each(limits, wide) == told


@for_each(("limits", "title", "powers"), [
    ((1e-4, 1.0), "n", True), ((1e-4, 1.0), "x (m)", False), ((1e-3, 1.0), "n", False), ((1.0, 1e9), "x (m)", True), ((1.0, 9e8), "n", False), ((1e-4, 1e9), "x (m)", True),
])  # fmt: skip
def test_powers_stand_where_a_prefix_is_none(limits, title, powers):
    assert layouts._unprefixed(limits, title) == powers
    across, _ = layouts._axes(plot(time=False, log=True, x_range=limits, x_title=title), True)
    assert (across.get("exponentformat") == "power") == powers


@for_each(("title", "told"), [("x (m)", "m"), ("v (m/s)", "m/s"), ("c (1/(m s))", "1/(m s)"), ("x", ""), ("f(x) of t", ""), ("a (b) (c)", "c"), ("", "")])  # fmt: skip
def test_a_unit_stands_at_the_end_of_a_title(title, told):
    assert layouts._unit(title) == told


@for_each(("limits", "far"), [((0.0, 1.0), False), ((0.0, 1e-3), False), ((0.0, 0.9e-3), True), ((-1e4, 1.0), True), ((0.0, 9999.0), False), ((0.0, 0.0), False), ((-2.0, 1e5), True), ((-1e-4, 0.0), True)])  # fmt: skip
def test_an_axis_is_far_whose_digits_are_hard_to_read(limits, far):
    assert layouts._far(limits) == far
    for title, letters in (("x (m)", True), ("x", False)):
        one = plot(["a"], y_range=limits, y_title=title)
        one.traces[0]["hovertemplate"] = "t = %{x:.4g} s: %{y:.5g} m"
        _, up = layouts._axes(one, True)
        assert ("exponentformat" in up) == (far and not letters)
        layouts._say(one.traces, one)
        wanted = "%{y:.5g} m" if not far else "%{y:.4~s}m" if letters else "%{y} m"
        assert one.traces[0]["hovertemplate"] == f"t = %{{x:.4g}} s: {wanted}"


def test_axes_have_names_or_numbers_as_ticks():
    _, up = layouts._axes(plot(ticks=["a", "b"]), True)
    assert (up["tickvals"], up["ticktext"], up["ticklabelposition"]) == ([0, 1], ["a", "b"], "inside top")  # fmt: skip
    across, up = layouts._axes(plot(ticks={0.5: "a"}, y_range=None), False)
    assert (up["tickvals"], up["ticktext"], up["showgrid"]) == ([0.5], ["a"], False)
    assert ("title" in across, across["showticklabels"], "range" in up) == (False, False, False)
    across, up = layouts._axes(plot(log=True, log_y=True, time=False, x_range=(1.0, 1e9), y_range=(1e-2, 1.0)), True)  # fmt: skip
    assert (across["type"], across["dtick"], up["type"], up["exponentformat"]) == ("log", 2, "log", "power")  # fmt: skip
    assert (across["range"], up["range"]) == ([0.0, 9.0], [-2.0, 0.0])


@for_each(("shares", "lines", "told"), [((1.0,), [1], 120), ((1.0, 2.0), [0, 0], 360 + FOOT + 8), ((1.0, 1.0), [2, 3], 240 + FOOT + 3 + 57), ((0.5, 0.5, 1.0), [9, 0, 1], 240 + 2 * FOOT + 8 + 22)])  # fmt: skip
def test_a_narrow_column_needs_room_for_plots_and_what_is_between(shares, lines, told):
    column = [plot(share=s, time=False, x_title="p") for s in shares]
    assert layouts._needed(column, lines) == told


@for_each(("joined", "lines", "told"), [(True, 0, 16), (True, 1, 22), (True, 2, 41), (False, 0, 52), (False, 1, 66)])  # fmt: skip
def test_plots_are_as_far_apart_as_their_words_need(joined, lines, told):
    assert layouts._below(plot(), plot(time=joined), lines) == told


def test_a_static_picture_is_as_wide_as_it_may_become(monkeypatch):
    asked = []
    monkeypatch.setattr(layouts, "draw", lambda traces, box, *given, **more: asked.append(box.x.size))  # fmt: skip
    compose([[plot()]], [1])
    assert asked == [pytest.approx(STATIC.width - 62 - RIGHT)]
