"""Pictures: honest at jumps, light, legible, the same for a script and for the panel."""

from __future__ import annotations

import functools

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import explorer as ex
from explorer.models import models
from explorer.views.decimate import rows, usual
from explorer.views.picture import COLOURS, GREY, label, nice, steady

NAMES = sorted(models)
VIEWS = ["energy", "explore", "impulses", "mechanism", "phase", "positions", "trajectory",
         "velocities"]  # fmt: skip
OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}


@functools.cache
def run(name: str, preset: str = "") -> ex.Solution:
    system = models[name]()
    chosen = {k: v for k, v in system.presets.get(preset, {}).items() if k != "text"}
    h = chosen.pop("h", system.h)
    return ex.simulate(system, ex.MoreauJean(h=h), **chosen)


RUNS = [(m, p) for m in NAMES for p in ("", *models[m]().presets)]


def linear() -> ex.Solution:
    """Two masses, one of which meets a wall; no sketch, no closed form."""
    system = ex.LinearMechanicalSystem(
        "two masses", M=np.eye(2), K=[[2, -1], [-1, 2]], H=[[1, 0]], b=0.2, e=0.7,
        start={"q": [0.5, 0], "v": [0, 0.3], "t_end": 8, "h": 1e-3}, units="m",
    )  # fmt: skip
    return ex.simulate(system)


# -- figures --------------------------------------------------------------------------------------


def test_no_view_is_forgotten_here():
    assert {n for n in ex.views.__all__ if n not in ("Picture", "event_table")} == set(VIEWS)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_a_plain_figure(view, name):
    figure = getattr(ex.views, view)(run(name))
    assert type(figure) is go.Figure
    again = go.Figure(figure.to_dict(), skip_invalid=False)  # plotly checks every property
    assert len(again.data) == len(figure.data) > 0
    axes = [a for a in figure.layout.to_plotly_json() if a[1:5] == "axis"]
    for trace in figure.data:
        assert len(trace.x) == len(trace.y)
        assert f"xaxis{(trace.xaxis or 'x')[1:]}" in axes
        assert f"yaxis{(trace.yaxis or 'y')[1:]}" in axes


@pytest.mark.parametrize("view", VIEWS)
def test_a_linear_system_without_sketch_is_drawn_too(view):
    assert type(getattr(ex.views, view)(linear())) is go.Figure


@pytest.mark.parametrize("name", NAMES)
def test_axes_carry_their_units(name):
    solution = run(name)
    unit = solution.system.units[0]
    titles = {}
    for view in ("positions", "velocities", "impulses", "energy", "phase"):
        layout = getattr(ex.views, view)(solution).layout
        titles[view] = (layout.xaxis.title.text, layout.yaxis.title.text)
    for view in ("positions", "velocities", "impulses", "energy"):
        assert titles[view][0].endswith("(s)")
    assert f"({unit}" in titles["positions"][1]
    assert f"({unit}/s" in titles["velocities"][1]
    assert titles["impulses"][1].endswith("(N s)")
    assert titles["energy"][1].endswith("(J)")
    assert f"({unit}" in titles["phase"][0]
    assert f"({unit}/s" in titles["phase"][1]


@pytest.mark.parametrize("name", NAMES)
def test_ranges_hold_all_that_is_drawn(name):
    picture = ex.views.explore.picture(run(name))
    for trace in picture.data:
        for axis in "xy":
            low, high = picture.layout[f"{axis}axis{trace[axis + 'axis'][1:]}"]["range"]
            drawn = np.asarray(trace[axis], float)
            drawn = drawn[np.isfinite(drawn) & (drawn > -1e8)]  # an empty trace waits far below
            slack = 1e-6 * (high - low)
            assert (drawn >= low - slack).all(), (trace["name"], axis)
            assert (drawn <= high + slack).all(), (trace["name"], axis)


@pytest.mark.parametrize(("name", "preset"), RUNS)
def test_only_colours_that_all_eyes_tell_apart(name, preset):
    assert set(COLOURS) <= OKABE_ITO
    solution = run(name, preset)
    for trace in ex.views.explore.picture(solution, solution).data:
        for part in ("line", "marker"):
            if "color" in trace.get(part, {}):
                assert trace[part]["color"] in {*COLOURS, GREY}


@pytest.mark.parametrize("name", NAMES)
def test_a_closed_form_is_dashed_and_a_pinned_run_dotted(name):
    solution = run(name)
    other = ex.simulate(solution.system, solution.scheme, t_end=0.5 * solution.t[-1])
    dashes = {"exact": [], "pinned": [], "own": []}
    for trace in ex.views.explore.picture(other, solution).data:
        kind = next((k for k in ("exact", "pinned") if trace["name"].startswith(k)), "own")
        if trace["line"]["color"] == GREY and kind == "own":
            kind = "pinned"  # the phase portrait's
        if trace["mode"].startswith("lines"):
            dashes[kind].append(trace["line"].get("dash", "solid"))
    assert set(dashes["own"]) == {"solid"}
    assert set(dashes["pinned"]) == {"dot"}
    assert set(dashes["exact"]) == ({"dash"} if solution.system.exact else set())


def test_the_closed_form_lies_on_the_curve():
    solution = ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=1e-4), t_end=2)
    curve, exact = ex.views.positions.picture(solution).data
    np.testing.assert_allclose(exact["y"], curve["y"], atol=2e-3)


def test_the_closed_form_is_not_drawn_for_another_start():
    solution = ex.simulate(models["bouncing_ball"](), q0=[0.5])
    assert [t["name"] for t in ex.views.positions.picture(solution).data] == ["y"]


def test_a_closed_form_does_not_ignore_a_start_velocity():
    solution = ex.simulate(models["bouncing_ball"](), v0=[2.0])
    assert [t["name"] for t in ex.views.positions.picture(solution).data] == ["y"]


# -- jumps ----------------------------------------------------------------------------------------


def crossings(x, y, solution, j) -> list[float]:
    """Times of impacts that a drawn curve of velocity j runs through; from its numbers alone."""
    t = solution.t.astype(np.float32)
    impacts = {i for i, kind, _ in solution.event_rows if kind == "impact"}
    x, y = np.asarray(x), np.asarray(y)
    found = []
    for i in impacts:
        before, after = np.float32(solution.v[i - 1, j]), np.float32(solution.v[i, j])
        if before == after:
            continue
        left, right = slice(None, -1), slice(1, None)
        starts = (x[left] <= t[i - 1]) | ((x[left] == t[i]) & (y[left] == before))
        ends = (x[right] > t[i]) | ((x[right] == t[i]) & (y[right] == after))
        drawn = np.isfinite(y[left]) & np.isfinite(y[right])
        if (starts & ends & drawn).any():
            found.append(float(t[i]))
    return found


@pytest.mark.parametrize(("name", "preset"), RUNS)
def test_no_velocity_is_drawn_through_a_jump(name, preset):
    solution = run(name, preset)
    assert len(solution.jump_rows) or preset == "free swing" or name == "elastic_pendulum"
    for view in ("velocities", "phase", "explore"):
        picture = getattr(ex.views, view).picture(solution)
        titles = [label(c, dot=True) for c in solution.system.coordinates]
        phase = f"x{4 if solution.system.contacts else 3}"
        count = 0
        for trace in picture.data:
            if trace["name"] in titles and (view != "phase"):
                j = titles.index(trace["name"])
                found = crossings(trace["x"], trace["y"], solution, j)
            elif view == "phase" or trace["xaxis"] == phase:
                j = [label(c) for c in solution.system.coordinates].index(trace["name"])
                found = crossings(trace["meta"]["t"], trace["y"], solution, j)
            else:
                continue
            count += 1
            assert found == [], (view, trace["name"])
        assert count


@pytest.mark.parametrize(("name", "preset"), RUNS)
def test_the_energy_is_open_at_jumps(name, preset):
    solution = run(name, preset)
    t = solution.t.astype(np.float32)
    for trace in ex.views.energy.picture(solution).data:
        if trace["name"] == "V":
            continue
        x, y = trace["x"], trace["y"]
        for i in solution.jump_rows:
            inside = (x[:-1] <= t[i - 1]) & (x[1:] > t[i])
            assert not (inside & np.isfinite(y[:-1]) & np.isfinite(y[1:])).any()


@pytest.mark.parametrize("pinned", ["superball", "clay"])
def test_a_pinned_velocity_is_open_at_its_jumps_too(pinned):
    other = run("bouncing_ball", pinned)
    picture = ex.views.explore.picture(run("bouncing_ball"), other)
    ghosts = [t for t in picture.data if t["name"] == f"pinned {label('y', dot=True)}"]
    assert len(ghosts) == 1
    assert crossings(ghosts[0]["x"], ghosts[0]["y"], other, 0) == []


def test_both_sides_of_a_jump_are_drawn_at_one_time():
    solution = run("bouncing_ball")
    (trace,) = ex.views.velocities.picture(solution).data
    for i in solution.jump_rows[:10]:
        at = np.flatnonzero(trace["x"] == np.float32(solution.t[i]))
        np.testing.assert_array_equal(
            trace["y"][at], np.float32([solution.v[i - 1, 0], np.nan, solution.v[i, 0]])
        )


# -- decimation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "preset"), RUNS)
@pytest.mark.parametrize("budget", [None, 120, 1000])
def test_few_points_with_the_extremes_and_the_events(name, preset, budget):
    solution = run(name, preset)
    points = rows(solution, budget)
    n = solution.q.shape[1]
    wanted = budget or usual(n)
    assert len(points.t) <= 2.3 * wanted
    assert (np.diff(points.position) >= 0).all()
    assert (points.position[0], points.position[-1]) == (0, len(solution.t) - 1)
    for j in range(min(n, 3)):
        drawn, real = points.v[j], solution.v[:, j].astype(np.float32)
        assert (np.nanmin(drawn), np.nanmax(drawn)) == (real.min(), real.max())
        slack = (0.15 if budget == 120 else 0.04) * np.ptp(solution.q[:, j])
        assert points.q[j].min() <= solution.q[:, j].min() + slack
        assert points.q[j].max() >= solution.q[:, j].max() - slack
    jumps = solution.jump_rows
    if len(jumps) <= wanted // 8:
        assert set(jumps) <= set(points.position)
        assert not points.hidden
    else:
        step = np.abs(solution.v[jumps] - solution.v[jumps - 1]).max(axis=1)
        largest = jumps[np.argsort(-step)[:10]]
        assert set(largest) <= set(points.position)
        assert points.hidden


@pytest.mark.parametrize(("name", "preset"), RUNS)
def test_the_drawn_positions_follow_the_run(name, preset):
    """Between two drawn points a curve is a straight line: it must not be seen."""
    solution = run(name, preset)
    points = rows(solution)
    kept, first = np.unique(points.position, return_index=True)
    for j in range(min(solution.q.shape[1], len(COLOURS))):
        drawn = np.interp(solution.t, solution.t[kept], points.q[j][first])
        error = np.abs(drawn - solution.q[:, j]).max()
        dense = len(solution.jump_rows) > len(points.t)  # more kinks than points
        assert error <= (0.25 if dense else 0.05) * np.ptp(solution.q[:, j])


def test_a_short_run_is_drawn_whole():
    solution = ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=0.01), t_end=0.4)
    points = rows(solution)
    np.testing.assert_array_equal(points.position, np.arange(41))
    np.testing.assert_array_equal(points.v[0], solution.v[:, 0].astype(np.float32))


def test_a_run_of_one_step_is_drawn():
    solution = ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=0.01), t_end=0.01)
    for view in VIEWS:
        assert type(getattr(ex.views, view)(solution)) is go.Figure


@pytest.mark.parametrize("name", NAMES)
def test_equal_arrays_are_shared(name):
    """Each travels to the browser once."""
    picture = ex.views.explore.picture(run(name))
    times = {id(t["x"]) for t in picture.data if t["name"] in ("T", "V", "T + V")}
    times |= {id(t["meta"]["t"]) for t in picture.data if "meta" in t}
    assert len(times) == 1


# -- impulses and table ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in NAMES if models[n]().contacts])
def test_impulses_stand_at_the_impacts(name):
    solution = run(name)
    dots = [t for t in ex.views.impulses.picture(solution).data if t["mode"] == "markers"]
    shown = np.concatenate([t["x"][t["y"] > 0] for t in dots])
    impacts = [e for e in solution.events if e.kind == "impact"]
    assert len(shown) == len(impacts) or len(shown) >= 100
    assert set(shown) <= {np.float32(e.t) for e in impacts}
    strongest = max(e.impulse for e in impacts)
    assert max(t["y"].max() for t in dots) == np.float32(strongest)


@pytest.mark.parametrize(("name", "preset"), RUNS)
@pytest.mark.parametrize("most", [5, 100])
def test_the_table_lists_the_events_in_order(name, preset, most):
    solution = run(name, preset)
    table = ex.views.event_table(solution, most)
    assert len(table["rows"]) == min(most, len(solution.events))
    times = [row[table["time_column"]] for row in table["rows"]]
    assert times == sorted(times)
    assert str(len(solution.events) or "No events") in table["note"]
    assert ("shown" in table["note"]) == (len(solution.events) > most)
    for row, event in zip(table["rows"], solution.events, strict=False):
        assert row[0] == pytest.approx(event.t, rel=1e-4)
        assert event.kind in row[1]


# -- axes that stay put ---------------------------------------------------------------------------

finite = st.floats(-1e12, 1e12, allow_nan=False, allow_infinity=False)


@given(finite, finite)
def test_nice_holds_its_values_and_is_not_much_wider(a, b):
    low, high = sorted((a, b))
    assume(high - low > 1e-9 * max(abs(low), abs(high), 1e-9))
    begin, end = nice(low, high)
    assert begin <= low < high <= end
    assert end - begin <= 2 * (high - low)
    unit = 10.0 ** np.floor(np.log10((end - begin) / 4)) / 10
    assert begin / unit == pytest.approx(round(begin / unit), abs=1e-3 + 1e-9 * abs(begin / unit))


@given(finite)
def test_nice_of_one_value_has_it_inside(x):
    low, high = nice(x, x)
    assert low < x < high


@given(finite, st.floats(1e-3, 1e6), st.floats(0, 0.01))
def test_nice_seldom_changes(low, span, part):
    ends = {nice(low, low + span * (1 + k * part / 10)) for k in range(11)}
    assert len(ends) <= 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nice_of_nothing_is_a_range_all_the_same(bad):
    assert nice(bad, 1) == nice(0, bad) == (-1, 1)


@pytest.mark.parametrize("low", [0, 1e-300, -1e300, 5e-324])
def test_nice_at_the_edge_of_numbers(low):
    begin, end = nice(low, low)
    assert begin < end


def axes(low: float, high: float) -> dict:
    return {"xaxis": {"range": [low, high]}, "yaxis2": {"range": [0, 1]}, "height": 3}


def test_steady_axes_grow_at_once_and_shrink_late():
    first = axes(0, 10)
    assert steady(first, None) == first
    assert steady(axes(0, 12), first)["xaxis"]["range"] == [0, 12]
    assert steady(axes(-1, 9), first)["xaxis"]["range"] == [-1, 10]
    assert steady(axes(0, 6), first)["xaxis"]["range"] == [0, 10]
    assert steady(axes(0, 4), first)["xaxis"]["range"] == [0, 4]
    assert steady(axes(0, 6), {})["xaxis"]["range"] == [0, 6]
    assert first == axes(0, 10), "nothing is changed in place"


@given(st.lists(st.tuples(finite, st.floats(1e-6, 1e6)), min_size=1, max_size=8))
def test_steady_axes_always_hold_the_new_range(ranges):
    layout = None
    for low, span in ranges:
        layout = steady(axes(low, low + span), layout)
        begin, end = layout["xaxis"]["range"]
        assert begin <= low
        assert end >= low + span
        assert end - begin <= 2 * (low + span - low) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "dot", "text"),
    [("y", False, "y"), ("theta", False, "θ"), ("theta1", False, "θ<sub>1</sub>"),
     ("q_in", False, "q<sub>in</sub>"), ("omega_n2", False, "ω<sub>n,2</sub>"),
     ("y", True, "y\u0307"), ("phi12", True, "φ\u0307<sub>12</sub>"), ("theta0", False, "θ<sub>0</sub>")],
)  # fmt: skip
def test_label(name, dot, text):
    assert label(name, dot=dot) == text
