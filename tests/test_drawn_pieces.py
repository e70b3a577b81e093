"""Parts of pictures by themselves: each trace is what its numbers say."""

from __future__ import annotations

import dataclasses
import itertools
import re
import struct
import zlib

import numpy as np
import pytest
from loops import for_each
from plain import space
from test_study_branches import bare

from explorer.errors import BadValue
from explorer.kernels.drawing import polyline as kernels
from explorer.views.drawing import (
    branches,
    iterates,
    orbit_colours,
    polyline,
    raster,
    slopes,
    still_marks,
    table,
)
from explorer.views.drawing.ghosts import Ghost
from explorer.views.drawing.polyline import PANEL, Axis
from explorer.views.drawing.still import still

COLOURS = ["#102030", "#ff8000"]


def read(image: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return the palette indices (rows, columns) and the palette (k, 4) of a PNG, by its standard."""
    assert image[:8] == b"\x89PNG\r\n\x1a\n"
    parts, at = {}, 8
    while at < len(image):
        (size,) = struct.unpack(">I", image[at : at + 4])
        name, data = image[at + 4 : at + 8], image[at + 8 : at + 8 + size]
        assert struct.unpack(">I", image[at + 8 + size : at + 12 + size]) == (zlib.crc32(name + data),)  # fmt: skip
        parts[name], at = data, at + 12 + size
    assert [*parts] == [b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND"]
    columns, rows, *kind = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert kind == [8, 3, 0, 0, 0]  # bits, a palette, and the only methods that there are
    lines = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(rows, columns + 1)
    assert not lines[:, 0].any()
    colours = np.frombuffer(parts[b"PLTE"], np.uint8).reshape(-1, 3)
    opaque = np.frombuffer(parts[b"tRNS"], np.uint8)
    return lines[:, 1:], np.column_stack([colours, opaque])


def test_cells_have_the_colours_of_their_kinds():
    seen, palette = read(raster.cells(np.array([[0, 1, -1], [1, -2, 0]]), COLOURS))
    dark, light, none = [0x10, 0x20, 0x30, 255], [255, 128, 0, 255], [0, 0, 0, 0]
    assert palette[seen].tolist() == [[dark, light, none], [light, none, dark]]


def test_dots_are_the_less_transparent_the_more_there_are():
    """8, 4, 2 and 1 of them: by their logarithm in equal steps."""
    column = np.repeat([0, 1, 2, 1], [8, 4, 2, 1])
    row = np.repeat([0, 0, 1, 1], [8, 4, 2, 1])
    kind = np.array([0] * 4 + [1] * 4 + [0] * 4 + [1, 0] + [1])
    seen, palette = read(raster.pixels(column, row, kind, (2, 3), COLOURS))
    found = palette[seen]
    assert found[0, 0].tolist() == [255, 128, 0, 255]  # the last kind counts
    assert found[0, 1, :3].tolist() == found[1, 2, :3].tolist() == [0x10, 0x20, 0x30]
    assert found[1, 1, :3].tolist() == [255, 128, 0]
    assert raster._SHADES == 4
    opaque = [255 * (raster._FAINTEST + (1 - raster._FAINTEST) * k / 3) for k in range(4)]
    for at, k in (((1, 1), 0), ((1, 2), 1), ((0, 1), 2)):
        assert abs(found[at][3] - opaque[k]) <= 0.5
    assert not found[0, 2].any()
    assert not found[1, 0].any()
    alone, palette = read(raster.pixels(column[-1:], row[-1:], kind[-1:], (2, 3), COLOURS))
    assert palette[alone][1, 1].tolist() == [255, 128, 0, 255]


def branch(kind, multipliers, stable, piece, **fields):
    mu = np.array(multipliers, complex)
    return bare(branches.Branch, kind=kind, multipliers=mu, stable=np.array(stable),
                piece=np.array(piece), values=np.arange(float(len(mu))), **fields)  # fmt: skip


def test_lines_join_points_of_a_piece_and_are_solid_between_stable_ones():
    """A point at the bound belongs to both sides: a multiplier of modulus 1, an exponent of 0."""
    mu = [[0.5, 0.1], [1.0, 0.2j], [2.0, 0.5], [0.6, 0.8j], [0.9, -0.1], [0.9, -0.9]]
    one = branch("cycles", mu, [True, False, False, True, True, True], [0, 0, 0, 0, 1, 1])
    assert branches.growth(one).tolist() == [0.5, 1.0, 2.0, 0.8, 0.9, 0.9]
    assert [*branches.runs(one)] == [(slice(0, 2), True), (slice(1, 4), False), (slice(4, 6), True)]
    rest = branch("equilibria", [[-1, -2], [0 + 1j, -1j], [1, -5]], [True, False, False], [3, 3, 3])
    assert branches.growth(rest).tolist() == [-1.0, 0.0, 1.0]
    assert [*branches.runs(rest)] == [(slice(0, 2), True), (slice(1, 3), False)]
    none = branch("cycles", np.zeros((2, 0)), [True, True], [0, 0])
    assert branches.growth(none).tolist() == [0.0, 0.0]


def test_branches_over_dots_are_drawn_at_all_points_of_their_cycles():
    returns = np.array([[[5.0, 1.0], [5.0, 2.0]], [[5.0, 3.0], [5.0, 4.0]], [[5.0, 6.0], [5.0, 7.0]]])  # fmt: skip
    flip = space(kind="flip", parameter=1.0, name="A", returns=returns[1])
    hopf = space(kind="Hopf", parameter=2.0, name="", returns=returns[2])
    one = branch("cycles", [[0.5], [1.0], [3.0]], [True, True, False], [0, 0, 0],
                 returns=returns, points=(flip, hopf))  # fmt: skip
    stable, unstable, *marks = branches.over_dots([one], "mu", 1)
    nan = np.nan
    for trace, x, y in ((stable, [0, 1, nan, 0, 1, nan], [1, 3, nan, 2, 4, nan]),
                        (unstable, [1, 2, nan, 1, 2, nan], [3, 6, nan, 4, 7, nan])):  # fmt: skip
        np.testing.assert_array_equal(trace["x"], x)
        np.testing.assert_array_equal(trace["y"], y)
        assert trace["showlegend"]
    assert (stable["line"]["dash"], unstable["line"]["dash"]) == ("solid", "dash")
    shown = [trace for trace in marks if trace["showlegend"]]
    assert len(marks) == len(branches._OF_CYCLES)
    assert [(one["name"], [*one["x"]], [*one["y"]], [*one["text"]]) for one in shown] == [
        ("flip", [1.0, 1.0], [3.0, 4.0], ["flip A", "flip A"])
    ]
    assert not any(trace["showlegend"] for trace in branches.over_dots([], "mu", 1))


def test_walls_of_a_table_are_all_shapes_but_the_ball():
    shapes = [space(kind=kind, points=[()] * many) for kind, many in (("line", 2), ("circle", 1), ("line", 3), ("circle", 1))]  # fmt: skip
    places = [0, 1, 2, 3, 10, 20, 4, 5, 6, 7, 8, 9, 99, 99]
    found = table._walls(shapes, np.array([*places, 0.0, 2.0, 0.0, 0.5]))
    assert len(found) == 3
    assert [*zip(found[0]["x"], found[0]["y"], strict=True)] == [(0, 1), (2, 3)]
    assert [*zip(found[2]["x"], found[2]["y"], strict=True)] == [(4, 5), (6, 7), (8, 9)]
    away = np.hypot(found[1]["x"] - 10, found[1]["y"] - 20)
    assert np.abs(away - 2).max() < 1e-5
    assert (found[1]["x"][0], found[1]["y"][0]) == (12, 20)
    assert abs(found[1]["y"][-1] - 20) < 1e-5


@for_each(("many", "coarse", "kept"), [(3, None, 3), (401, None, 401), (403, None, 401), (403, 1.0, 121), (403, 4.0, 31), (9, 1.0, 9)])  # fmt: skip
def test_a_way_on_a_table_is_that_of_its_ball(monkeypatch, many, coarse, kept):
    """From collision to collision, of each run; a figure shows more of it than a panel."""
    shapes = [space(kind=kind, points=[()] * n) for kind, n in (("line", 2), ("circle", 1), ("circle", 1))]  # fmt: skip
    monkeypatch.setattr(table, "shapes_of", lambda solution: shapes)
    asked = []

    def run(step, since=0):
        def observe(rows, what):
            asked.append((len(rows.t), what))
            ball = np.stack([rows.q[:, 0], 1 + step * rows.t], axis=1)
            walls = np.tile([0.0, 1.0, 10.0, 3.0, 4.0, 7.0], (len(rows.t), 1)) + rows.t[:, None]
            return np.column_stack([walls, ball, np.tile([0.0, 2.0, 0.5], (len(rows.t), 1))])

        t = since + np.arange(float(many)) / many
        return space(t=t, q=t[:, None] ** 2, observe=observe, changed=lambda t, q: space(t=t, q=q, observe=observe))  # fmt: skip

    ghost = space(solution=run(3.0), colour="#abcdef", dash="dot", name="old")
    look = table.STATIC if coarse is None else dataclasses.replace(PANEL, coarse=coarse)
    plot = table.table_plot(run(2.0), (ghost,), look)
    line, circle, old, own = (plot.traces[k] for k in (1, 2, 0, 3))
    assert asked == [(kept, "sketch")] * 2
    t = np.arange(float(kept)) / many
    for trace, step in ((old, 3.0), (own, 2.0)):
        assert trace["x"] == pytest.approx(t**2)
        assert trace["y"] == pytest.approx(1 + step * t)
    assert [one["name"] for one in plot.traces] == ["old way", "wall", "wall", "way"]
    assert (old["line"]["color"], old["line"]["dash"], old["meta"]) == ("#abcdef", "dot", {})
    assert "dash" not in own["line"]
    assert own["meta"]["t"].tolist() == t.tolist()
    assert (line["x"].tolist(), line["y"].tolist()) == ([0, 10], [1, 3])
    assert np.hypot(circle["x"] - 4, circle["y"] - 7) == pytest.approx(2, abs=1e-5)
    # from 0 to 10 and from 1 to 9, so about (5, 5), and as far on both axes
    assert plot.x_range == pytest.approx((-0.3, 10.3))
    assert plot.y_range == pytest.approx((-0.3, 10.3))
    larger = space(solution=run(3.0, since=10), colour="#abcdef", dash="dot", name="old")
    plot = table.table_plot(run(2.0), (larger,), look)
    assert [one["name"] for one in plot.traces] == [
        "old wall",
        "old wall",
        "old way",
        "wall",
        "wall",
        "way",
    ]
    assert plot.traces[0]["x"].tolist() == [10, 20]
    assert plot.x_range == pytest.approx((-0.6, 20.6))  # all walls, wherever a way ends
    with monkeypatch.context() as alone:
        alone.setattr(table, "_walls", lambda shapes, row, ghost=None: [])
        assert table.table_plot(run(2.0)).y_range == pytest.approx((-0.53e-9, 0.53e-9))


@for_each(("units", "groups"), [
    (["m", "m", "rad"], [[0, 1], [2]]), (["m", "rad", "m"], [[0, 2], [1]]), (["a", "b", "c", "d", "a"], [[0, 4], [1], [2, 3]]),
])  # fmt: skip
def test_states_over_iterates_share_a_plot_by_their_unit(monkeypatch, units, groups):
    monkeypatch.setattr(iterates, "_over_time", lambda solution, which, ghosts, look: which)
    names = tuple(f"x{k}" for k in range(len(units)))
    solution = space(system=space(coordinates=names, units=tuple(units)))
    assert iterates.states_plots(solution) == groups


@for_each(("own", "other"), [(4, 7), (7, 4)])
def test_iterates_of_a_run_and_of_a_pinned_one_are_told_apart(own, other):
    """Over the numbers of both from 0 on; a dot of the pinned run says its name, the others none."""
    system = space(coordinates=("x", "y"), units=("m", "m"), exact=None, discrete=True)

    def run(last):
        t = np.arange(1.0 + last)
        return space(system=system, t=t, q=np.stack([t, -t], axis=1), has_velocities=False)

    solution, ghost = run(own), Ghost(run(other), "pinned A", "#123456")
    (plot,) = iterates.states_plots(solution, (ghost,))
    assert plot.x_range == (0.0, 7.0)
    dots = [*zip(plot.traces, (other, other, own, own), "xyxy", strict=True)]
    for k, (trace, last, name) in enumerate(dots):
        pinned = k < 2
        assert trace["name"] == (f"pinned A {name}" if pinned else name)
        assert trace["hovertemplate"].endswith(f"<extra>{'pinned A' if pinned else ''}</extra>")
        assert (trace["x"].tolist(), "t" in trace["meta"]) == ([*range(last + 1)], not pinned)


@for_each(("start", "shown"), [([0.5, 0.25], True), ([0.5, 0.26], False)])
def test_the_closed_form_is_drawn_beside_a_run_from_its_own_start(start, shown):
    """Of x = 2^-n / 2 and its square; the rows after the first are no matter."""
    t = np.arange(4.0)

    def exact(t, rho):
        return {"x": np.stack([2.0 ** (-t - 1), 4.0 ** (-t - 1)], axis=1)}

    q = np.vstack([start, np.full((3, 2), 9.0)])
    solution = space(system=space(exact=exact), t=t, q=q, rho=())
    found = iterates._exact(solution, np.array([0, 2, 3]), [1, 0])
    assert [trace["showlegend"] for trace in found] == [True, False]
    for trace, form in zip(found, (4.0 ** -(t + 1), 2.0 ** -(t + 1)), strict=True):
        assert [*trace["x"]] == [0, 2, 3]
        np.testing.assert_allclose(trace["y"], form[[0, 2, 3]] if shown else [np.nan] * 3)


def test_each_start_of_a_column_has_the_colour_of_its_attractor(monkeypatch):
    """More attractors than colours share one; what is not known has it too."""
    many = len(orbit_colours.COLOURS)
    numbers = np.array([[0, 0, 0, -1], [0, 1, many - 1, -1], [0, -1, many, 0]])
    one, two, three = (
        space(period=np.array(period)) for period in ([1, 0, many, many + 1], [1] * 4, [2] * 4)
    )
    one.others, one.attractors = (two, three), lambda: numbers
    monkeypatch.setattr(orbit_colours, "_words", lambda found: ["w", "x", "y", "z"])
    found = orbit_colours.by_attractor(one)
    assert [colouring.kind.tolist() for colouring in found] == [
        [0, 0, 0, many], [0, 1, many - 1, many], [0, many, many, 0]
    ]  # fmt: skip
    assert found[0].thick.tolist() == [True, False, True, False]
    assert found[1].thick.tolist() == [True] * 4
    for colouring in found:
        assert colouring.words == ["w", "x, 2 attractors", f"y, {many + 1} attractors", "z"]
        assert len(colouring.colours) == len(colouring.names) == many + 2
    assert found[0].names[0] == "of the first start"
    assert found[0].names[many - 1 :] == (f"{many - 1}. other attractor", "more", "no result")


def test_a_column_has_the_colour_of_its_period_or_that_of_the_rest(monkeypatch):
    many = len(orbit_colours.COLOURS)
    monkeypatch.setattr(orbit_colours, "_words", lambda found: [])
    found = orbit_colours.by_period(space(period=np.array([1, 2, many, many + 1, 0, -1])))
    assert found.kind.tolist() == [0, 1, many - 1, many, many, many]
    assert found.thick.tolist() == [True, True, True, False, False, False]
    assert found.names[:2] == ("period 1", "period 2")
    assert len(found.names) == len(found.colours) == many + 2


@for_each(("failed", "other", "told"), [
    ((0, 0, 0), None, [0, 2]), ((0, 1, 0), None, [0, 3]), ((0, 0, 0), (1, 1), [0, 1, 2]), ((0, 0, 1), (0, 1), [0, 2, 3]),
])  # fmt: skip
def test_a_legend_names_the_colours_that_are_seen(failed, other, told):
    """Those of columns with a result, of all starts; the last one where there is none."""
    colours, names = ("red", "green", "blue", "grey"), ("a", "b", "c", "d")
    whole = orbit_colours.Colouring(np.array([0, 2, 0]), colours, names, np.ones(3, bool), [""] * 3)
    one = space(known=np.array([True, True, True]), failed=np.array(failed, bool))
    others = []
    if other:
        two = orbit_colours.Colouring(np.array([1, 0]), colours, names, np.ones(2, bool), [""] * 2)
        known = np.array(other) == 1
        others = [(space(known=known, failed=~known), two)]
    traces = whole.legend(one, others)
    assert [t["name"] for t in traces] == [*names]
    assert [t["marker"]["color"] for t in traces] == [*colours]
    assert [k for k, t in enumerate(traces) if t["showlegend"]] == told


def test_cells_of_a_heat_map_lie_between_their_edges_in_the_shades_of_their_values():
    scale = [[0.0, "rgb(0,0,0)"], [1.0, "rgb(200,100,50)"]]
    trace = {
        "x": [0.0, 1.0, 2.0],
        "y": [0.0, 2.0, 4.0],
        "z": [[1.0, 2.0], [3.0, 5.0]],
        "text": [["a", "b"], ["c", "d"]],
        "colorscale": scale,
    }
    svg = still_marks.cells(trace, lambda x: 100 * x, lambda y: 500 - 100 * y)
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" fill="rgb\((\d+),(\d+),(\d+)\)"/>', svg)  # fmt: skip
    at = [(z - 1) / 4 for z in (1.0, 2.0, 3.0, 5.0)]
    assert [tuple(map(float, one)) for one in found] == [
        (100.0 * j + 1, 300.0 - 200 * i + 1, 98, 198, round(200 * at[2 * i + j]), round(100 * at[2 * i + j]), np.rint(50 * at[2 * i + j]))
        for i in (0, 1) for j in (0, 1)
    ]  # fmt: skip
    assert [word for word in "abcd" if f">{word}<" in svg] == ["a", "b", "c", "d"]
    flat = still_marks.cells(
        trace | {"z": [[2.0, 2.0], [2.0, 2.0]], "text": None}, lambda x: x * 100, lambda y: y
    )
    assert flat.count("rgb(0,0,0)") == 4
    given = still_marks.cells(
        trace | {"zmin": 0.0, "zmax": 10.0, "text": None}, lambda x: x * 100, lambda y: y * 100
    )
    assert 'fill="rgb(100,50,25)"' in given


def test_a_derivative_is_drawn_of_one_coordinate_and_its_rate():
    system = space(
        name="m",
        coordinates=("x", "v_a", "a"),
        units=("m", "", "rad"),
        parameters={"k": space(unit="N/m")},
    )
    sens = space(
        question=space(system=system),
        solution=space(has_velocities=True),
        wrt=("k", "x", "v_x", "v_a", "v_v_a", "v_a"),
    )
    assert [slopes.parameter(sens, j)[1] for j in range(5)] == ["N/m", "m", "m/s", "", ""]
    assert slopes.parameter(sens, 1)[0].endswith("(0)")
    assert slopes.parameter(sens, 1)[0] != slopes.parameter(sens, 2)[0]
    for coordinate, i in ((None, 0), ("x", 0), ("a", 2), (2, 2), ("v_a", 1)):
        q, v = slopes.quantities(sens, coordinate)
        assert (q.source, q.i, q.place) == ("q", i, i)
        assert (v.source, v.i, v.place) == ("v", i, 3 + i)
        assert (q.unit, v.unit) == (("m", "m/s"), ("", ""), ("rad", "rad/s"))[i]
    sens.solution.has_velocities = False
    (x,) = slopes.quantities(sens, "a")
    assert (x.source, x.i, x.place) == ("x", 2, 2)
    with pytest.raises(BadValue, match="no coordinate 'b'"):
        slopes.quantities(sens, "b")


def test_a_range_without_a_width_has_its_value_in_the_middle():
    """Of a plot from 80 to 740 px, in tenths of them."""
    trace = {"x": [3.0, 3.0], "y": [0.0, 1.0], "line": {"color": "#123456"}}
    drawn = still({"data": [trace], "layout": {"xaxis": {"range": [3, 3]}, "yaxis": {"range": [0, 1]}}})  # fmt: skip
    (path,) = re.findall(r'd="M(\d+),(\d+)[^"]*" stroke="#123456"', drawn)
    assert path[0] == "4100"


# ---------------------------------------------------------------- points of a curve


@for_each(
    ("columns", "held", "many"), itertools.product((True, False), (True, False), (True, False))
)
def test_a_curve_is_searched_in_pixels(monkeypatch, columns, held, many):
    """Of many rows the extremes of each column, with the breaks that are seen; else all its rows."""
    x = np.array([0.0, 1.0, 1.0, 2.0, 3.0, 4.0, 4.0, 5.0])
    y = np.array([0.0, 1.0, 5.0, 5.01, 9.0, 2.0, 8.0, 7.0])
    box, asked = space(x=Axis(1.0, 5.0, 1.0 if many else 400.0), y=Axis(0.0, 10.0, 100.0)), []
    take = np.array([0, 2, 3, 7])

    def fill(points):
        points.across[:4], points.up[:4], points.lift[:4] = take, take[::-1], [0, 1, 0, 1]
        return 4

    def extremes(given, starts, breaks, late, points):
        asked.append((given.tolist(), starts, breaks.tolist(), late.tolist()))
        return fill(points)

    def candidates(px, py, breaks, held, wide, near, points):
        asked.append((px, py.tolist(), breaks.tolist(), held, wide, near))
        return fill(points)

    monkeypatch.setattr(kernels, "extremes", extremes)
    monkeypatch.setattr(kernels, "candidates", candidates)
    px = box.x.pixels(x)
    rows = polyline._Across(x, np.empty(0) if columns else px, "starts" if columns else np.empty(0))
    one, breaks = space(y=y.astype(np.float32), box=box), np.array([0, 2, 2, 3, 6])
    across, up, lift = polyline._Chosen._worth(one, rows, breaks, held)
    assert (across.tolist(), up.tolist(), lift.tolist()) == (
        take.tolist(),
        take[::-1].tolist(),
        [0, 1, 0, 1],
    )
    np.testing.assert_allclose(one.px, box.x.pixels(x)[take], rtol=1e-12)
    np.testing.assert_allclose(one.py, 10 * y[take[::-1]], rtol=1e-6)
    if columns:  # a jump of 0.1 px is not seen, and the one at row 4 is no break
        ((given, starts, seen, late),) = asked
        assert (starts, seen, late) == ("starts", [2, 6], [0, 0])
        x[6] = 4.5
        polyline._Chosen._worth(one, rows, breaks, held)
        assert asked[1][2:] == ([2, 6], [0, int(held)])
        return
    ((given, py, seen, kept, wide, near),) = asked
    assert given is px
    np.testing.assert_allclose(py, 10 * y, rtol=1e-6)
    assert (seen, kept, wide) == (breaks.tolist(), held, 1.2)
    assert near == (0.1 if many else 0.0)
