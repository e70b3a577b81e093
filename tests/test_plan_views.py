"""Pictures of plans: what is drawn is what the plan holds, with gaps where something jumps."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import plotly.graph_objects as go
import pytest

import explorer as ex
from explorer.views.drawing.plan_curves import course_curve, grips, pieces, range_of
from explorer.views.drawing.polyline import Look
from explorer.views.plan import said


@pytest.fixture(scope="module")
def block():
    """A block that moves by 1 m from rest to rest in least time, against friction."""
    task = ex.OptimalControlProblem(
        ex.models.pushed_block(), t_end=(0.1, 10), intervals=8, terminal="t", end={"x": 1, "v": 0},
        bounds={"v": (-5, 5)},
    )  # fmt: skip
    return ex.optimize(task, progress=False)


@pytest.fixture(scope="module")
def rocket():
    """Its speed jumps from 2 to 4 at h = 1, after 1 s."""
    system = ex.HybridSystem("rocket", x="h v", units=["m", "m/s"], params={"boost": 2.0})
    system.inputs("u", low=0, high=3, units="m/s2")
    system.mode("full", ["v", "u - 1"])
    system.mode("light", ["v", "2*u - 1"])
    system.guard("full", "h - 1", direction=1, to="light", reset={"v": "v + boost"}, name="drop")
    system.start(x=[0, 0], mode="full", t_end=4)
    task = ex.OptimalControlProblem(
        system, t_end=(0.1, 9), intervals=4, terminal="t", end={"h": 5}, path=["h <= 5"]
    )
    return ex.optimize(task, progress=False)


def named(picture, name: str) -> list[dict]:
    return [t for t in picture.data if t["name"] == name]


def test_states_controls_and_their_bounds_are_those_of_the_plan(block):
    picture = ex.views.plan.picture(block)
    for i, name in enumerate("xv"):
        (grid,) = named(picture, f"{name} at the grid")
        np.testing.assert_allclose(grid["y"], block.x[:, i], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(grid["x"], block.t, rtol=1e-6)
        (line,) = named(picture, name)
        at = np.interp(line["x"], *(a[np.isfinite(a)] for a in (line["x"], line["y"])))
        np.testing.assert_allclose(at[[0, -1]], block.x[[0, -1], i], atol=1e-5)
    (steps,) = named(picture, "u")
    assert np.isnan(steps["y"][2::3]).all(), "steps are not joined"
    np.testing.assert_allclose(steps["y"][0::3], block.u[:, 0], rtol=1e-6)
    np.testing.assert_allclose(steps["x"][1::3], block.t[1:], rtol=1e-6)
    bounds = {float(y) for t in named(picture, "bound") for y in t["y"] if y > -1e8}
    assert bounds == {-5.0, 5.0}
    titles = {a["title"]["text"] for k, a in picture.layout.items() if k[:5] == "yaxis"}
    assert {"x (m)", "v (m/s)", "u (m/s²)", "multiplier μ"} <= titles


def test_the_replay_is_drawn_over_the_plan_and_its_defect_is_said(block):
    figure = ex.views.plan(block)
    assert type(figure) is go.Figure
    replays = [t for t in figure.data if t.name == "replay"]
    assert len(replays) == 2
    assert np.nanmax(replays[0].y) == pytest.approx(1, abs=1e-6)
    words = next(t.name for t in figure.data if t.name.startswith("stationary"))
    assert words == said(block, block.replay())
    assert "T = " in words
    assert "replay misses by" in words
    bare = ex.views.plan.picture(block, replayed=False)
    assert named(bare, "replay") == []
    assert "replay" not in next(t["name"] for t in bare.data if t["name"].startswith("stat"))


def test_the_multiplier_of_a_bound_is_what_a_wider_one_saves(block):
    """Friction and thrust are constant, so dT/dU is known: all control intervals add up to it."""
    picture = ex.views.plan.picture(block, replayed=False)
    (mu,) = named(picture, "μ of u")
    saved = np.abs(mu["y"][::3]) @ np.diff(block.t)
    wider = [
        ex.optimize(
            ex.OptimalControlProblem(
                block.task.system, t_end=(0.1, 10), intervals=8, terminal="t",
                end={"x": 1, "v": 0}, bounds={"u": (-U, U), "v": (-5, 5)},
            ),
            block, progress=False,
        ).t_end
        for U in (4.999, 5.0)
    ]  # fmt: skip
    assert saved == pytest.approx((wider[0] - wider[1]) / 0.001, rel=1e-2)


def test_a_jump_is_a_gap_and_modes_are_lanes(rocket):
    t, x, rows = pieces(rocket)
    assert len(rows) == 1
    np.testing.assert_allclose(t[rows - 1], 1, atol=1e-6)
    np.testing.assert_allclose(x[rows - 1, 1], 2, atol=1e-6)
    np.testing.assert_allclose(x[rows, 1], 4, atol=1e-6)
    picture = ex.views.plan.picture(rocket)
    for name in ("v", "replay"):
        line = named(picture, name)[-1]
        gap = np.flatnonzero(np.isnan(line["y"]))
        sides = {round(float(line["y"][i + s]), 3) for i in gap for s in (-1, 1)}
        assert {2.0, 4.0} <= sides, name
    full, light = (named(picture, mode)[0] for mode in ("full", "light"))
    np.testing.assert_allclose(full["x"][:2], [0, 1], atol=1e-6)
    np.testing.assert_allclose(light["x"][:2], [1, rocket.t_end], atol=1e-6)
    (switch,) = named(picture, "switch")
    assert switch["x"][0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_what_is_a_jump_does_not_depend_on_units(rocket, unit):
    """What round-off leaves between two elements is none, however large the numbers are."""
    outcome = rocket.outcome
    program, w = outcome.program, outcome.w.copy()
    w[program.of["x"]] *= unit
    scaled = SimpleNamespace(**{
        **vars(program), "begun": lambda _, p: unit * np.asarray(program.begun(outcome.w, p), float),
    })  # fmt: skip
    told = SimpleNamespace(program=scaled, w=w, p=outcome.p)
    plan = SimpleNamespace(outcome=told, t=rocket.t, t_end=rocket.t_end)
    (t, x, rows), (t_there, x_there, rows_there) = pieces(rocket), pieces(plan)
    assert rows_there.tolist() == rows.tolist()
    assert t_there.tolist() == t.tolist()
    np.testing.assert_allclose(x_there, unit * x, rtol=1e-9, atol=1e-9 * unit)


def test_biactive_switches_are_marked(block):
    (mark,) = named(ex.views.plan.picture(block, replayed=False), "biactive")
    assert len(block.biactive) == 1
    assert mark["x"][0] == pytest.approx(block.t_end)
    assert mark["showlegend"]
    assert "touched" in mark["text"][0]


def test_what_is_missed_is_said_and_the_picture_stays_whole():
    """No push reaches 1 m in 0.1 s."""
    task = ex.OptimalControlProblem(
        ex.models.pushed_block(), t_end=0.1, intervals=3, running="u**2", end={"x": 1}
    )
    plan = ex.optimize(task, progress=False)
    picture = ex.views.plan.picture(plan)
    words = next(t["name"] for t in picture.data if "infeasible" in t["name"])
    assert "end: x = 1 missed by 0.8" in words or "missed by 0.9" in words


def test_handles_name_the_settings_that_they_move(block):
    picture = ex.views.plan.picture(block, handles=True)
    found = {
        k: t for t in picture.data for k in t.get("meta", {}).get("handles", {}).get("keys", ())
    }
    assert set(found) == {"x0.x", "x0.v", "end.x", "end.v"}
    assert found["end.x"]["y"][0] == 1
    assert found["x0.v"]["y"][0] == block.x[0, 1]
    assert found["x0.v"]["meta"]["handles"]["high"] == 5
    narrow = ex.views.plan.picture(block, look=Look(390, 400))
    assert narrow.layout["meta"]["height"] > 400


def test_what_is_left_of_a_plan_is_drawn_from_its_own_begin(block):
    rest = block.again(begin=3, judged=False)
    t, x, _ = pieces(rest)
    assert t[0] == pytest.approx(block.t[3])
    np.testing.assert_allclose(x[[0, -1]], block.x[[3, -1]], atol=1e-6)
    picture = ex.views.plan.picture(rest, replayed=False)
    assert picture.layout["xaxis"]["range"][0] == pytest.approx(block.t[3])


def test_only_a_plan_is_drawn_as_one():
    with pytest.raises(ex.ExplorerError, match="draws what optimize returns"):
        ex.views.plan(ex.simulate(ex.models.pushed_block()))


def test_the_legend_has_the_room_that_is_left_for_it():
    """Four states of two units share plots, so the first legend has names, and is one line high."""
    system = ex.StepSystem("four masses", x="a b c d e", units=["m", "m", "m", "m/s", "m/s"])
    system.inputs("u", low=-1, high=1)
    system.f = ["d", "e", "0", "u", "-u"]
    system.start(x=[0, 0.1, 0.2, 0, 0], t_end=1)
    task = ex.OptimalControlProblem(
        system, intervals=2, running="u**2", end={"a": 0.1}, bounds={"b": (-1, 0.3)}
    )
    plan = ex.optimize(task, progress=False)
    picture = ex.views.plan.picture(plan, replayed=False, handles=True)
    titles = [a["title"]["text"] for k, a in picture.layout.items() if k[:5] == "yaxis"]
    assert titles[:2] == ["states (m)", "d, e (m/s)"]
    above = [t for t in picture.data if t.get("showlegend") and t["yaxis"] == "y"]
    assert [t["name"] for t in above] == ["a", "b", "bound", "c"]
    assert not any("legendgroup" in t for t in above), "a group would stack them"
    assert picture.layout["margin"]["t"] == 20 + 19


def test_a_course_jumps_where_two_times_are_one():
    """They differ by less than 1e-9 of its span."""
    for apart, jumps in ((5e-9, [2]), (5e-8, [])):
        course = SimpleNamespace(t=np.array([0.0, 1.0, 1.0 + apart, 2.0, 10.0]), x=np.zeros((5, 1)))
        assert course_curve(course)[2].tolist() == jumps
    late = SimpleNamespace(t=np.array([0.0, 1.0, 1.0 + 5e-9, 10.0]), x=np.zeros((4, 1)))
    assert course_curve(late)[2].tolist() == [2]


def test_a_bound_is_in_the_range_up_to_three_spans_from_the_curve():
    values = np.array([4.0, 5.0, np.nan])
    for low, high, around in ((1.0, 8.0, (1.0, 8.0)), (0.75, 8.25, (4.0, 5.0))):
        least, most = range_of(low, high, (0.0, 1.0), "red", values)[1]
        assert least <= around[0]
        assert most >= around[1]
        assert most - least < 1.5 * (around[1] - around[0])


def test_a_plan_is_gripped_by_its_first_state_and_by_a_goal_of_one_value():
    plan = SimpleNamespace(t=np.array([0.5, 1.0, 2.0]), x=np.array([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]),
                           task=SimpleNamespace(limits=[np.array([[-1.0, 9.0], [-np.inf, 7.0]])]))  # fmt: skip
    for goal, marks in (((8.0, 8.0), 2), ((7.0, 8.0), 1)):
        traces = grips("v", "speed", plan, 1, goal, "red")
        at = [([*one["x"]], [*one["y"]]) for one in traces]
        assert at == [([0.5], [4.0]), ([2.0], [8.0])][:marks]
        handles = [one["meta"]["handles"] for one in traces]
        assert [one["keys"] for one in handles] == [["x0.v"], ["end.v"]][:marks]
        assert {(one["low"], one["high"]) for one in handles} == {(None, 7.0)}
