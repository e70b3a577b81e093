"""Pictures of systems with step functions: what is drawn is what the equations say."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorer as ex
from explorer.compiled import compile_switched
from explorer.views.drawing.contours import areas, lines
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.lanes import bars
from explorer.views.drawing.picture import OFF
from explorer.views.drawing.regions import SIDES, Regions

SIDE = {"minus": -1, "sliding": 0, "plus": 1}


@functools.cache
def run(name: str, representation: str = "step", **settings) -> ex.Solution:
    system = getattr(ex.models, name)()
    return ex.simulate(system, ex.FESD(h=system.h, representation=representation), **settings)


def traces(picture, name: str) -> list[dict]:
    return [t for t in picture.data if t["name"] == name]


def signed(polygon: np.ndarray) -> float:
    x, y = polygon.T
    return 0.5 * float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())


def size(trace: dict) -> float:
    """Area that a trace fills: holes turn the other way round."""
    points = np.column_stack([trace["x"], trace["y"]]).astype(float)
    cuts = np.flatnonzero(np.isnan(points[:, 0]))
    parts = [p[~np.isnan(p[:, 0])] for p in np.split(points, cuts)]
    return sum(signed(p) for p in parts if len(p))


# -- regions as polygons --------------------------------------------------------------------------

number = st.floats(-2, 2)


@given(number, number, number)
def test_a_half_plane_and_the_other_half_fill_the_box(a, b, c):
    x, y = np.linspace(-1, 2, 11), np.linspace(0, 1, 7)
    g = a * x + b * y[:, None] + c
    halves = [sum(map(signed, areas(x, y, s * g))) for s in (1, -1)]
    assert min(halves) >= 0
    if np.abs(g).max() > 1e-6:  # exact: along an edge the function is linear
        assert sum(halves) == pytest.approx(3, abs=1e-6)


def test_a_ring_has_a_hole_and_a_disk_its_area():
    x = y = np.linspace(-2, 2, 81)
    r2 = x**2 + y[:, None] ** 2
    disk, ring = areas(x, y, 1 - r2), areas(x, y, (r2 - 0.25) * (1 - r2))
    assert sum(map(signed, disk)) == pytest.approx(np.pi, rel=2e-3)
    assert len(ring) == 2
    assert sorted(np.sign([signed(p) for p in ring])) == [-1, 1]
    assert sum(map(signed, ring)) == pytest.approx(0.75 * np.pi, rel=5e-3)
    assert areas(x, y, -1 - r2) == []
    whole = areas(x, y, 1 + r2)
    assert len(whole) == 1
    assert len(whole[0]) == 5  # the last corner is the first one


def test_lines_leave_out_the_border():
    x, y = np.linspace(0, 1, 9), np.linspace(0, 1, 9)
    (line,) = lines(x, y, x - 0.3 + 0 * y[:, None])
    np.testing.assert_allclose(line[:, 0], 0.3)
    assert np.ptp(line[:, 1]) == 1
    (circle,) = lines(x, y, 0.1 - (x - 0.5) ** 2 - (y[:, None] - 0.5) ** 2)
    np.testing.assert_array_equal(circle[0], circle[-1])
    np.testing.assert_allclose(np.hypot(*(circle - 0.5).T), np.sqrt(0.1), atol=0.01)
    assert lines(x, y, np.ones((9, 9))) == []


# -- multipliers ----------------------------------------------------------------------------------


def top(trace: dict) -> tuple[np.ndarray, np.ndarray]:
    """Upper edge of an area."""
    return np.asarray(trace["x"][:-3], float), np.asarray(trace["y"][:-3], float)


def test_alpha_of_a_slide_is_what_holds_the_disturbance():
    solution = run("sliding_mode")
    front, back = ex.views.multipliers.picture(solution).data[::-1]
    t, alpha = top(front)
    hit = solution.switch_times[0]
    rho = solution.rho
    slides = t > hit + 1e-5
    exact = 0.5 * (1 + rho["d"] / rho["a"] * np.sin(rho["w"] * t))
    np.testing.assert_allclose(alpha[slides], exact[slides], atol=2e-3)
    np.testing.assert_array_equal(alpha[t < hit - 1e-5], 1)
    np.testing.assert_array_equal(top(back)[1], 1)
    assert np.count_nonzero(t == np.float32(hit)) == 2, "upright at the switch"


@pytest.mark.parametrize("representation", ["step", "stewart"])
def test_theta_are_areas_that_fill_the_lane(representation):
    solution = run("switched_oscillator", representation)
    picture = ex.views.multipliers.picture(solution)
    lane = [t for t in picture.data if t["name"] in ("inside", "outside")]
    t, inside = top(next(t for t in lane if t["name"] == "inside"))
    np.testing.assert_array_equal(inside, [1, 1, 0, 0])
    np.testing.assert_allclose(t, [0, 1, 1, np.pi / 2], atol=1e-4)
    t, total = top(next(t for t in lane if t["name"] == "outside"))
    np.testing.assert_allclose(total, 1, atol=1e-12)
    assert len(picture.data) == (4 if representation == "step" else 2)


def test_each_alpha_has_a_lane_of_its_own():
    solution = fine(run("three_blocks"))
    picture = ex.views.multipliers.picture(solution)
    for k in range(3):
        (trace,) = traces(picture, f"v{k + 1} &gt; 0")
        t, y = top(trace)
        base = trace["y"][-2]
        assert (2 - k, 3 - k) == (base, np.floor(y.max()) + 1)
        jumps = np.flatnonzero(np.abs(np.diff(y)) > 0.01)
        steep = np.abs(np.diff(y)[jumps] / np.maximum(np.diff(t)[jumps], 1e-9))
        assert (steep > 1e3).all(), "no edge leans through a switch"
        middle = np.abs(solution.t[:, None] - solution.switch_times).min(axis=1) > 1e-3
        drawn = (np.interp(solution.t[middle], t, y) - base) / 0.84
        np.testing.assert_allclose(drawn, solution.alpha[middle, k], atol=0.02)


# -- active sets ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["stribeck_belt", "three_blocks", "relay_feedback"])
def test_bars_last_as_long_as_their_side(name):
    solution = run(name)
    picture = ex.views.active_set.picture(solution)
    finer = fine(solution)
    spent = np.diff(finer.t)
    for kind, side in SIDE.items():
        (trace,) = traces(picture, kind)
        assert trace["line"]["color"] == SIDES[side]
        t, level = np.asarray(trace["x"], float), np.asarray(trace["y"], float)
        held = [spent[finer.signs[1:, k] == side].sum() for k in range(finer.signs.shape[1])]
        if len(t) == 1:
            assert sum(held) == 0
            continue
        lane = np.round(len(held) - 1 - level[::3] + 0.27 * side).astype(int)
        drawn = np.bincount(lane, t[1::3] - t[::3], len(held))
        np.testing.assert_allclose(drawn, held, atol=1e-4)
    (switches,) = traces(picture, "switches")
    np.testing.assert_allclose(switches["x"][::3], solution.switch_times, rtol=1e-6)


def test_elements_and_their_lengths():
    solution = run("switched_oscillator", t_end=0.2, r0=float(np.exp(-0.131)))
    picture = ex.views.active_set.picture(solution)
    (ends,), (lengths,) = traces(picture, "elements"), traces(picture, "h<sub>n</sub>")
    np.testing.assert_allclose(ends["x"], solution.boundaries, atol=1e-7)
    h = np.diff(solution.boundaries)
    for a, b, length in zip(lengths["x"][::3], lengths["x"][1::3], lengths["y"][::3], strict=True):
        inside = (solution.boundaries[:-1] > a - 1e-6) & (solution.boundaries[1:] < b + 1e-6)
        np.testing.assert_allclose(h[inside], length, rtol=1e-5)
    covered = (lengths["x"][1::3] - lengths["x"][::3]).sum()
    assert covered == pytest.approx(0.2, rel=1e-5)
    assert len(np.unique(np.round(lengths["y"][::3], 6))) == 3, "two of them beside the switch"


# -- phase plane ----------------------------------------------------------------------------------


def test_the_belt_slides_where_friction_holds_the_spring():
    """It sticks while the spring pulls less than friction at rest: |q| < F = 0.6."""
    solution = run("stribeck_belt", F=0.6)
    picture = ex.views.phase_plane.picture(solution)
    (sliding,), (crossing,) = (traces(picture, f"{k} surface") for k in ("sliding", "crossing"))
    np.testing.assert_allclose(sliding["y"], 0.2, rtol=1e-6)
    low, high = picture.layout["xaxis"]["range"]
    assert sliding["x"].min() == pytest.approx(max(low, -0.6), abs=(high - low) / 40)
    assert sliding["x"].max() == pytest.approx(0.6, abs=(high - low) / 40)
    assert crossing["x"].max() == pytest.approx(high)
    (slides,) = traces(picture, "slides")
    assert np.nanmax(slides["x"]) == pytest.approx(0.6, abs=1e-4), "where the run leaves it"
    np.testing.assert_allclose(slides["y"][np.isfinite(slides["y"])], 0.2, atol=1e-6)


def test_a_surface_that_both_fields_leave_is_escaping():
    split = ex.FilippovSystem("split", "x y", c=["x"], modes={"right": [1, 1], "left": [-1, 1]},
                              start={"x": [0, 0], "t_end": 1})  # fmt: skip
    picture = ex.views.phase_plane.picture(ex.simulate(split))
    (escaping,) = traces(picture, "escaping surface")
    np.testing.assert_allclose(escaping["x"], 0, atol=1e-7)
    assert np.ptp(escaping["y"]) == pytest.approx(np.ptp(picture.layout["yaxis"]["range"]))


def test_regions_are_shaded_and_arrows_point_along_their_field():
    solution = run("switched_oscillator")
    picture = ex.views.phase_plane.picture(solution)
    area, arrows = traces(picture, "inside")
    box = np.prod([np.ptp(picture.layout[a]["range"]) for a in ("xaxis", "yaxis")])
    assert size(area) == pytest.approx(np.pi, rel=5e-3)
    assert size(traces(picture, "outside")[0]) == pytest.approx(box - np.pi, rel=5e-3)
    points = np.column_stack([arrows["x"], arrows["y"]]).reshape(-1, 8, 2)
    head, tail = points[:, 0], points[:, 3:5].mean(axis=1)
    middle, along = (head + tail) / 2, head - tail
    assert (np.hypot(*middle.T) < 1).all()
    w = solution.rho["w"]
    field = middle @ np.array([[1, -w], [w, 1]])
    turn = along[:, 0] * field[:, 1] - along[:, 1] * field[:, 0]
    np.testing.assert_allclose(turn / np.hypot(*along.T) / np.hypot(*field.T), 0, atol=1e-4)
    assert ((along * field).sum(axis=1) > 0).all()


@pytest.mark.parametrize(("x", "left", "right"), [((-1, 1), 4, 4), ((0, 9), 0, 9), ((-9, 0), 9, 0)])
def test_no_arrow_stands_on_a_surface(x, left, right):
    """There the flow has two values. Of nine columns of nine arrows, that at x = 0 is left out."""
    split = ex.FilippovSystem("split", "x y", c=["x"], modes={"right": [1, 1], "left": [-1, 1]},
                              start={"x": [0, 0], "t_end": 1})  # fmt: skip
    plane = Regions(compile_switched(split), split.rho({}), np.zeros(2), 0, 1, 0.0)
    arrows = [t for t in plane(x, (0, 1)) if t.get("fillcolor", "").endswith("0.8)")]
    count = {t["name"]: np.isnan(t["x"]).sum() if len(t["x"]) > 1 else 0 for t in arrows}
    assert count == {"left": 9 * left, "right": 9 * right}


@pytest.mark.parametrize(("name", "count"), [("switched_oscillator", 2), ("glass_network", 4)])
def test_a_legend_beside_a_run_names_two_regions_at_most(name, count):
    system = getattr(ex.models, name)()
    compiled, rho = compile_switched(system), system.rho({})
    ends = (-1.5, 1.5), (-1.5, 1.5)
    for named in (False, True):
        for flow in (False, True):
            plane = Regions(compiled, rho, np.zeros(system.n), 0, 1, 0.0, named, flow)
            assert len(plane.cells) == count
            arrows = [t for t in plane(*ends) if t.get("fillcolor", "").endswith("0.8)")]
            assert [t["showlegend"] for t in arrows] == [named or count <= 2] * count
            assert all((t["x"] is OFF[0]) != flow for t in arrows)
            surfaces = [t for t in plane(*ends) if t["name"].endswith("surface")]
            assert [t["showlegend"] for t in surfaces] == [named] * 3


def test_a_plane_before_any_run():
    """It is that of a run; by default every region is seen."""
    system = ex.models.switched_oscillator()
    picture = ex.views.regions.picture(system)
    assert size(traces(picture, "inside")[0]) == pytest.approx(np.pi, rel=5e-3)
    box = [picture.layout[axis]["range"] for axis in ("xaxis", "yaxis")]
    again = ex.views.regions.picture(system, within=box, w=3)
    assert again.layout["xaxis"]["range"] == box[0]
    turned = [traces(p, "inside")[1]["x"] for p in (picture, again)]
    assert not np.array_equal(*turned), "slower is another direction"
    kinds = {
        t["name"] for t in ex.views.regions.picture(ex.models.sliding_entry()).data
        if t["name"].endswith("surface") and len(t["x"]) > 1
    }  # fmt: skip
    assert {"crossing surface", "sliding surface"} <= kinds
    for name in ("glass_network", "three_blocks", "two_genes", "chua"):
        picture = ex.views.regions.picture(getattr(ex.models, name)())
        box = np.prod([np.ptp(picture.layout[a]["range"]) for a in ("xaxis", "yaxis")])
        filled = [t for t in picture.data if t.get("fill")]  # the regions, then their arrows
        areas = [size(t) for t in filled[: len(filled) // 2]]
        assert sum(areas) == pytest.approx(box, rel=5e-3), name
    for within in (((1, 0), (0, 1)), 3, ((0, 1),), "ab"):
        with pytest.raises(ex.BadValue, match="within"):
            ex.views.regions(system, within=within)
    with pytest.raises(ex.BadValue, match="no state 'x9'"):
        ex.views.regions(system, "x9")
    for other in (ex.models.bouncing_ball(), ex.models.sliding_mode()):
        with pytest.raises(ex.NotApplicable):
            ex.views.regions(other)


def test_what_fills_the_axes_follows_them():
    picture = ex.views.explore.picture(run("switched_oscillator"))
    x, y = (picture.data[picture.grounds[0][0]][a] for a in ("xaxis", "yaxis"))
    names = [f"{a[0]}axis{a[1:]}" for a in (x, y)]
    layout = {**picture.layout, **{k: {**picture.layout[k], "range": [-4, 4]} for k in names}}
    wider = picture.within(layout)
    assert len(wider.data) == len(picture.data)
    shaded = sum(size(next(t for t in traces(wider, n) if t["xaxis"] == x)) for n in ("inside", "outside"))  # fmt: skip
    assert shaded == pytest.approx(64, rel=1e-6)
    assert picture.within(picture.layout).data == picture.data


def test_two_states_are_chosen():
    solution = run("three_blocks")
    usual = ex.views.phase_plane(solution)
    assert usual.layout.xaxis.title.text.startswith("v<sub>1</sub> (m/s)")
    chosen = ex.views.phase_plane(solution, "q3", "v3", at=0.0)
    assert chosen.layout.xaxis.title.text == "q<sub>3</sub> (m) · surfaces at t = 0 s"
    assert chosen.layout.yaxis.title.text == "v<sub>3</sub> (m/s)"
    with pytest.raises(ex.BadValue, match="Did you mean"):
        ex.views.phase_plane(solution, "v33")
    with pytest.raises(ex.BadValue, match="outside the run"):
        ex.views.phase_plane(solution, at=7.0)
    with pytest.raises(ex.NotApplicable, match="draws two states"):
        ex.views.phase_plane(run("sliding_mode"))


def test_a_system_that_never_switches_is_drawn_too():
    smooth = ex.StepSystem("smooth", "x y", f=["y", "-x"], start={"x": [1, 0], "t_end": 2})
    solution = ex.simulate(smooth)
    with pytest.raises(ex.NotApplicable, match="draws step functions"):
        ex.views.multipliers(solution)
    for view in ("explore", "active_set", "phase_plane"):
        assert getattr(ex.views, view).picture(solution).data, view


def test_a_notebook_shows_equations_and_regions(monkeypatch):
    """The picture follows the equations of a system with two states; with one there is none."""
    import IPython.display
    from IPython.core.formatters import DisplayFormatter

    shown: list = []
    shell = SimpleNamespace(display_formatter=DisplayFormatter())
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr(IPython.display, "display", shown.append)
    ex._show_with_regions()
    show = shell.display_formatter.ipython_display_formatter
    assert show(ex.models.sliding_entry())
    equations, picture = shown
    assert "above" in equations.data
    assert {"above", "below", "sliding surface"} <= {t["name"] for t in picture.data}
    assert show(ex.models.sliding_mode())
    assert len(shown) == 3
    assert not show(ex.models.bouncing_ball())


@pytest.mark.parametrize("name", ["stribeck_belt", "three_blocks", "two_blocks_on_belt"])
def test_every_area_of_the_multipliers_is_named(name):
    solution = ex.simulate(getattr(ex.models, name)(), ex.FESD(h=0.1), t_end=2)
    picture = ex.views.multipliers.picture(solution)
    assert all(t["showlegend"] for t in picture.data)
    assert {t.get("legend", "legend") for t in picture.data} <= set(picture.layout)


def test_bars_of_a_lane_last_from_switch_to_switch_and_to_the_end():
    t = np.array([0.0, 1, 2, 3, 5])
    signs = np.array([[0, 0, 1, 1, -1], [2, 1, 1, 2, 2]]).T
    for sides, wanted in (
        ((1, -1), [(2, 5, 1.27), (5, 5, 0.73), (1, 3, 0.27)]), ((0,), [(0, 2, 1)]),
        ((2,), [(0, 1, 0), (3, 5, 0)]), ((7,), []),
    ):  # fmt: skip
        x, y = bars(t, signs, sides, 2)
        if wanted:
            np.testing.assert_allclose(np.stack([x[::3], x[1::3], y[::3]], axis=1), wanted)
        else:
            assert (x, y) == OFF
