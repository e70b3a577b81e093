"""Pictures: honest at jumps, light, legible, the same for a script and for the panel."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import pydoc
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from kinds import FIRST, KINDS, SYSTEMS, alike, schemes_of
from loops import for_each

import explorer as ex
from explorer.models import models
from explorer.parameters import knobs_of
from explorer.systems import StateSpaceSystem
from explorer.views.drawing.decimate import fine
from explorer.views.drawing.picture import COLOURS, GREY, INK, label, nice, prose, steady
from explorer.views.drawing.polyline import STATIC
from explorer.views.drawing.view import views
from explorer.views.mechanism import frames

VIEWS = sorted(name for name, view in views.items() if ex.Solution in view.takes)
OKABE_ITO = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}


@functools.cache
def run(name: str, preset: str = "", scheme: str = "") -> ex.Solution:
    system = SYSTEMS[name]
    chosen = {k: v for k, v in system.presets.get(preset, {}).items() if k != "text"}
    schemes = {type(s).__name__: s for s in ex.schemes_for(system)}
    chosen_scheme = schemes[scheme or next(iter(schemes))]
    knobs = set(chosen) & set(knobs_of(chosen_scheme)) - set(system.parameters)
    chosen_scheme = dataclasses.replace(chosen_scheme, **{k: chosen.pop(k) for k in knobs})
    chosen.pop("h", None)  # of a scheme that has none
    return ex.simulate(
        system, chosen_scheme, throw=False, rho=chosen, t_end=chosen.pop("t_end", None)
    )


# each model as it runs by itself and each kind of run; each preset once, the schemes taking turns
CASES = sorted({*FIRST, *KINDS})
RUNS = [(name, "", s) for name, s in CASES] + [
    (name, preset, scheme) for name in SYSTEMS
    for preset, scheme in zip(SYSTEMS[name].presets, itertools.cycle(schemes_of(name)), strict=False)
    if (name, scheme) in KINDS
]  # fmt: skip
MECHANICAL = [case for case in CASES if not isinstance(SYSTEMS[case[0]], StateSpaceSystem)]
SMOOTH = [name for name, system in SYSTEMS.items()
          if isinstance(system, ex.MechanicalSystem) and not system.contacts]  # fmt: skip
ROUGH = [name for name, system in SYSTEMS.items() if system.rough]
MOVES = [r for r in RUNS if (r[0], r[2]) in MECHANICAL]


def has(part: str, name: str, scheme: str = "") -> bool:
    """Whether runs of a system have what some views draw."""
    system = SYSTEMS[name]
    hybrid, located = isinstance(system, StateSpaceSystem), ("EventDriven", "FESD")
    stepped = isinstance(system, ex.StepSystem) and scheme != "EulerMoreau"
    return {
        "active sets": stepped or scheme == "EulerMoreau",
        "billiard table": system.discrete and system.straight,
        "constraints": bool(getattr(system, "constraints", ())),
        "contacts": bool(system.contacts),
        "friction": name in ROUGH,
        "inputs": bool(system.input_names),
        "located impacts": scheme == "EventDriven"
        and bool(system.contacts or getattr(system, "changes", ())),
        "modes": hybrid and not system.discrete,
        "multipliers": scheme == "EulerMoreau",
        "one-step problem": bool(system.contacts) and scheme not in located,
        "one state of a map": system.discrete and len(system.coordinates) == 1,
        "phase plane": stepped and len(system.coordinates) > 1,
        "pseudo-time": scheme == "FESD" and not stepped,
        "switches": stepped,
        "velocities": not hybrid,
    }[part]


def applies(view: str, name: str, scheme: str = "") -> bool:
    """Whether a view is made for runs of a system by a scheme."""
    parts = views[view].of
    return not parts or any(has(part, name, scheme) for part in parts)


def one_of_each(wanted: bool) -> list[tuple[str, str, str]]:
    """Return for each view one case of each kind among those to which it applies.

    Or of those to which it does not: one for each scheme, as the result is what it refuses.
    """
    found: dict[tuple, tuple[str, str, str]] = {}
    for view, (name, scheme) in itertools.product(VIEWS, CASES):
        if applies(view, name, scheme) == wanted:
            key = alike(name, scheme)[:4] if wanted else (scheme,)
            found.setdefault((view, *key), (view, name, scheme))
    return list(found.values())


def linear() -> ex.Solution:
    """Two masses, one of which meets a wall; no sketch, no closed form."""
    system = ex.LinearMechanicalSystem(
        "two masses", M=np.eye(2), K=[[2, -1], [-1, 2]], H=[[1, 0]], b=0.2, e=0.7,
        start={"q": [0.5, 0], "v": [0, 0.3], "t_end": 8, "h": 1e-3}, units="m",
    )  # fmt: skip
    return ex.simulate(system)


# -- figures --------------------------------------------------------------------------------------


@for_each(("view", "name", "scheme"), one_of_each(False))
def test_a_view_refuses_in_a_sentence_what_it_is_not_made_for(view, name, scheme):
    assert not views[view].draws(run(name, scheme=scheme))
    for draw in (views[view], views[view].picture):
        with pytest.raises(
            ex.NotApplicable, match=rf"^views\.{view} .*{re.escape(SYSTEMS[name].name)}"
        ):
            draw(run(name, scheme=scheme))


@pytest.mark.broad
@pytest.mark.parametrize(("view", "name", "scheme"), one_of_each(True))
def test_every_view_is_a_plain_figure(view, name, scheme):
    assert views[view].draws(run(name, scheme=scheme))
    figure = getattr(ex.views, view)(run(name, scheme=scheme))
    assert type(figure) is go.Figure  # of which plotly has checked every property
    assert len(figure.data) > 0 or view == "mechanism"
    picture = getattr(ex.views, view).picture(run(name, scheme=scheme))
    assert len(figure.data) == len(picture.data)


@pytest.mark.broad
@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_every_curve_has_its_axes(name, scheme):
    for view in VIEWS:
        if not applies(view, name, scheme):
            continue
        picture = getattr(ex.views, view).picture(run(name, scheme=scheme))
        assert picture.data or view == "mechanism"
        for trace in picture.data:
            assert len(trace["x"]) == len(trace["y"]), (view, trace["name"])
            for axis in "xy":
                there = f"{axis}axis{trace.get(f'{axis}axis', axis)[1:]}"
                assert there in picture.layout, (view, trace["name"])


@for_each("view", sorted(views))
def test_a_view_shows_its_own_signature_and_text(view):
    drawn = getattr(ex.views, view)
    assert inspect.isfunction(drawn)
    shown = inspect.signature(drawn)
    assert shown.parameters == inspect.signature(drawn.picture).parameters
    assert "Figure" in shown.return_annotation
    assert str(next(iter(shown.parameters))) in pydoc.plain(pydoc.render_doc(drawn))
    assert drawn.__doc__.startswith(drawn.picture.__doc__.splitlines()[0])


def test_what_is_offered_are_views_models_and_studies_not_their_modules():
    for package in (ex, ex.views, ex.study, ex.reformulations):
        assert set(package.__all__) <= set(dir(package))
    assert set(models) <= set(dir(ex.models))
    for package in (ex.views, ex.study, ex.reformulations):
        assert all(callable(getattr(package, name)) for name in dir(package))
    assert not {"importlib", "metadata", "solution"} & set(dir(ex))


@pytest.mark.parametrize(
    ("view", "given", "said"),
    [
        ("trajectory", lambda: ex.models.bouncing_ball(), r"explorer\.simulate\(system\)"),
        ("trajectory", lambda: [run("bouncing_ball")] * 2, r"draws what simulate returns, not a list: draw them one"),
        ("saltation", lambda: run("bouncing_ball"), "draws what sensitivity returns, not a Solution"),
        ("regions", lambda: run("switched_oscillator"), r"views\.regions\(run\.system\)"),
        ("stability", lambda: "Newmark", r"draws what study.stability returns, not 'Newmark'"),
        ("one_step_problem", lambda: run("bouncing_ball", "", "EventDriven"),
         "views.one_step_problem draws .* MoreauJean. The run of 'bouncing ball' by EventDriven has none"),
        ("quantities", lambda: run("bouncing_ball"), "views.quantities draws .* EulerMoreau returns"),
        ("laws", lambda: run("duffing"), "views.laws draws contacts .* or the multipliers and laws"),
    ],
)  # fmt: skip
def test_a_view_that_cannot_draw_names_itself_and_what_it_draws(view, given, said):
    with pytest.raises((ex.BadValue, ex.NotApplicable), match=said):
        getattr(ex.views, view)(given())


@pytest.mark.parametrize(
    "view", [v for v in VIEWS if not views[v].of or {*views[v].of} & {"contacts", "velocities"}]
)
def test_a_linear_system_without_sketch_is_drawn_too(view):
    assert type(getattr(ex.views, view)(linear())) is go.Figure


@for_each(("name", "scheme"), MECHANICAL)
def test_axes_carry_their_units(name, scheme):
    solution = run(name, scheme=scheme)
    unit = solution.system.units[0]
    titles = {}
    on_time = [v for v in ("positions", "velocities", "impulses", "energy") if applies(v, name)]
    for view in (*on_time, "phase"):
        layout = getattr(ex.views, view).picture(solution).layout
        titles[view] = tuple(layout[axis]["title"]["text"] for axis in ("xaxis", "yaxis"))
    for view in on_time:
        assert titles[view][0].endswith("(s)")
    assert f"({unit}" in titles["positions"][1]
    assert f"({unit}/s" in titles["velocities"][1]
    assert "impulses" not in titles or titles["impulses"][1].endswith("(N s)")
    assert titles["energy"][1].endswith("(J)")
    assert f"({unit}" in titles["phase"][0]
    assert f"({unit}/s" in titles["phase"][1]


@for_each(("name", "scheme"), CASES)
def test_ranges_hold_all_that_is_drawn(name, scheme):
    picture = ex.views.explore.picture(run(name, scheme=scheme))
    for trace in picture.data:
        for axis in "xy":
            shown = picture.layout[f"{axis}axis{trace[axis + 'axis'][1:]}"]
            low, high = (
                shown["range"] if shown.get("type") != "log" else 10.0 ** np.array(shown["range"])
            )
            drawn = np.asarray(trace[axis], float)
            there = np.asarray(trace["y"], float) > -1e8  # an empty trace waits far below
            drawn = drawn[np.isfinite(drawn) & there]
            slack = 1e-6 * (high - low)
            assert (drawn >= low - slack).all(), (trace["name"], axis)
            assert (drawn <= high + slack).all(), (trace["name"], axis)


@pytest.mark.broad
@pytest.mark.parametrize(("name", "preset", "scheme"), RUNS)
def test_only_colours_that_all_eyes_tell_apart(name, preset, scheme):
    assert set(COLOURS) <= OKABE_ITO
    solution = run(name, preset, scheme)
    for trace in ex.views.explore.picture(solution, solution).data:
        for part in ("line", "marker"):
            if "color" in trace.get(part, {}):
                assert trace[part]["color"] in {*COLOURS, GREY, INK}


@for_each(("name", "scheme"), MECHANICAL)
def test_a_closed_form_is_a_broad_band_and_a_pinned_run_dotted(name, scheme):
    solution = run(name, scheme=scheme)
    other = ex.simulate(solution.system, solution.scheme, t_end=0.5 * solution.t[-1])
    dashes = {"exact": [], "pinned": [], "own": []}
    for trace in ex.views.explore.picture(other, solution).data:
        kind = next((k for k in ("exact", "pinned") if trace["name"].startswith(k)), "own")
        if kind == "own" and trace["line"]["color"] == GREY:
            assert trace["name"] == "law"  # each curve of a pinned run is named
        if trace["mode"].startswith("lines") and trace["name"] != "law":
            dashes[kind].append(trace["line"].get("dash", "solid"))
    assert set(dashes["own"]) == {"solid"}
    assert set(dashes["pinned"]) == {"dot"}
    assert set(dashes["exact"]) == ({"solid"} if solution.system.exact else set())


def test_the_time_axis_holds_a_pinned_run_too():
    """Of every view that takes one, whichever of the two is the longer one."""
    looked = {}
    for view, name, scheme in one_of_each(True):
        if "pinned" in inspect.signature(views[view].picture).parameters:
            looked.setdefault((view, type(SYSTEMS[name])), (name, scheme))
    for (view, _), (name, scheme) in looked.items():
        long = run(name, scheme=scheme)
        for pair in ((halved(name, scheme), long), (long, halved(name, scheme))):
            layout = views[view].picture(*pair).layout
            ends = {
                tuple(a["range"]) for k, a in layout.items()
                if k.startswith("xaxis") and a.get("title", {}).get("text", "").startswith("t (")
            }  # fmt: skip
            assert ends <= {(0.0, float(long.t[-1]))}, (view, name)


@functools.cache
def halved(name: str, scheme: str) -> ex.Solution:
    solution = run(name, scheme=scheme)
    return ex.simulate(solution.system, solution.scheme, t_end=0.5 * solution.t[-1])


def test_the_closed_form_lies_on_the_curve():
    solution = ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=1e-4), t_end=2)
    exact, curve = ex.views.positions.picture(solution).data
    assert exact["name"] == "exact"
    form = solution.system.exact(curve["x"].astype(float), solution.rho)["q"][:, 0]
    np.testing.assert_allclose(form, curve["y"], atol=2e-3)
    there = np.interp(exact["x"].astype(float), solution.t, solution.q[:, 0])
    np.testing.assert_allclose(exact["y"], there, atol=2e-3)


def test_the_closed_form_is_not_drawn_for_another_start():
    solution = ex.simulate(models["bouncing_ball"](), q0=[0.5])
    assert [t["name"] for t in ex.views.positions.picture(solution).data] == ["y"]


def test_a_closed_form_does_not_ignore_a_start_velocity():
    solution = ex.simulate(models["bouncing_ball"](), v0=[2.0])
    assert [t["name"] for t in ex.views.positions.picture(solution).data] == ["y"]


def test_the_closed_form_of_many_coordinates_is_drawn_for_three():
    solution = run("elastic_bar")
    exact = [t for t in ex.views.positions.picture(solution).data if t["name"] == "exact"]
    assert [t["showlegend"] for t in exact] == [True, False, False]
    for trace, j in zip(exact, (0, 8, 20), strict=True):  # of the six that are drawn
        there = solution.system.exact(trace["x"].astype(float), solution.rho)["q"][:, j]
        np.testing.assert_allclose(trace["y"], there, atol=1e-4)


# -- jumps ----------------------------------------------------------------------------------------


def crossings(t, y, solution, j, seen: float) -> list[float]:
    """Times of jumps larger than `seen` that a drawn curve of velocity j runs through."""
    own = solution.t.astype(np.float32)
    t, y = np.asarray(t), np.asarray(y)
    drawn, found = np.isfinite(y[:-1]) & np.isfinite(y[1:]), []
    for i in solution.jump_rows:
        before, after = np.float32(solution.v[i - 1, j]), np.float32(solution.v[i, j])
        if abs(before - after) < seen:
            continue
        starts = (t[:-1] < own[i]) | ((t[:-1] == own[i]) & (y[:-1] == before))
        ends = (t[1:] > own[i]) | ((t[1:] == own[i]) & (y[1:] == after))
        if (starts & ends & drawn).any():
            found.append(float(own[i]))
    return found


def seen_at(picture, trace, px: float = 1.5) -> float:
    """Return what is so many pixels high on the axis of a trace, in a notebook."""
    axis, margin = picture.layout[f"yaxis{trace['yaxis'][1:]}"], picture.layout["margin"]
    share, (low, high) = np.subtract(*axis["domain"][::-1]), axis["range"]
    return px * (high - low) / (share * (STATIC.height - margin["t"] - margin["b"]))


@for_each(("name", "preset", "scheme"), MOVES)
def test_no_portrait_is_drawn_through_a_jump(name, preset, scheme):
    """Curves over time: tests/test_open_jumps.py."""
    solution = fine(run(name, preset, scheme))
    still = ("elastic_pendulum", "spinning_top", *ROUGH, *SMOOTH)
    assert len(solution.jump_rows) or preset == "free swing" or name in still
    names = [label(c) for c in solution.system.coordinates]
    picture = ex.views.phase.picture(solution)
    assert picture.data
    for trace in picture.data:
        j, t = names.index(trace["name"]), trace["meta"]["t"]
        assert crossings(t, trace["y"], solution, j, seen_at(picture, trace)) == []


@pytest.mark.parametrize("pinned", ["superball", "clay"])
def test_a_pinned_velocity_is_open_at_its_jumps_too(pinned):
    other = run("bouncing_ball", pinned)
    picture = ex.views.explore.picture(run("bouncing_ball"), other)
    ghosts = [t for t in picture.data if t["name"] == f"pinned {label('y', dot=True)}"]
    assert len(ghosts) == 1
    ghost = ghosts[0]
    assert crossings(ghost["x"], ghost["y"], other, 0, seen_at(picture, ghost)) == []


def test_both_sides_of_a_jump_are_drawn_at_one_time():
    solution = run("bouncing_ball")
    (trace,) = ex.views.velocities.picture(solution).data
    for i in solution.jump_rows[:10]:
        at = np.flatnonzero(trace["x"] == np.float32(solution.t[i]))
        np.testing.assert_array_equal(
            trace["y"][at], np.float32([solution.v[i - 1, 0], np.nan, solution.v[i, 0]])
        )


# -- hybrid systems -------------------------------------------------------------------------------

HYBRID = [r for r in RUNS if r not in MOVES]
LOCATED = [r for r in HYBRID if r[2] != "EulerMoreau"]
FLOWS = [r for r in HYBRID if r[2] != "Iteration"]  # a map has no modes


@for_each(("name", "preset", "scheme"), LOCATED)
def test_no_state_is_drawn_through_its_reset(name, preset, scheme):
    solution = fine(run(name, preset, scheme))
    t, resets = solution.t.astype(np.float32), 0
    times = np.array([-np.inf, *(e.t for e in solution.events), np.inf])
    # events that share a time in single precision cannot be told apart
    far = np.minimum(np.diff(times)[:-1], np.diff(times)[1:]) > 1e-5
    apart = [e for e, alone in zip(solution.events, far, strict=True) if alone]
    for view in ("positions", "trajectory", "phase", "explore"):
        picture = getattr(ex.views, view).picture(solution)
        for trace in picture.data:
            names = [label(c) for c in solution.system.coordinates]
            if trace["name"] not in names or trace["mode"] == "markers" or "meta" not in trace:
                continue
            portrait = trace["x"] is not trace["meta"]["t"]
            values, j = solution.x, names.index(trace["name"])
            if portrait and len(names) == 1:
                values = solution.rates
            elif portrait:
                j = 1
            x, y = np.asarray(trace["meta"]["t"]), np.asarray(trace["y"])
            assert (np.diff(x) >= 0).all()
            drawn = np.isfinite(y[:-1]) & np.isfinite(y[1:])
            for event in apart:
                before, after = values[[event.row - 1, event.row], j].astype(np.float32)
                if abs(before - after) > seen_at(picture, trace):
                    starts = (x[:-1] < t[event.row]) | (
                        (x[:-1] == t[event.row]) & (y[:-1] == before)
                    )
                    ends = (x[1:] > t[event.row]) | ((x[1:] == t[event.row]) & (y[1:] == after))
                    assert not (starts & ends & drawn).any(), (view, event.t)
                    resets += 1
    unseen = 0.02 * np.ptp(solution.x, axis=0)
    assert resets or all((np.abs(e.x_minus - e.x_plus) <= unseen).all() for e in apart)


@pytest.mark.parametrize(("name", "units"), [("thermostat", ["°C"]), ("ball_with_reset", ["m", "m/s"]),
                                             ("clock", ["rad", "rad/s", "V, A, K"])])  # fmt: skip
def test_states_share_a_plot_by_their_unit(name, units):
    layout = ex.views.positions.picture(run(name)).layout
    titles = [axis["title"]["text"] for key, axis in layout.items() if key.startswith("yaxis")]
    assert len(titles) == len(units)
    assert all(title.endswith(f"({unit})") for title, unit in zip(titles, units, strict=True))


@for_each(("name", "preset", "scheme"), FLOWS)
def test_modes_are_bars_with_their_names_and_events_marks(name, preset, scheme):
    solution = run(name, preset, scheme)
    picture = ex.views.modes.picture(solution)
    names = list(solution.mode_names)
    assert picture.layout["yaxis"]["ticktext"] == [prose(name) for name in names]
    for k, trace in enumerate(picture.data[: len(names)]):
        t, level = np.asarray(trace["x"], float), trace["y"]
        lasted = np.nansum(t[1::3] - t[::3]) if len(t) > 1 else 0.0
        spent = np.diff(solution.t)[solution.mode[1:] == k].sum()
        assert lasted == pytest.approx(spent, abs=1e-4)
        assert len(t) == 1 or set(level[np.isfinite(level)]) == {k}
    marks = [t for t in picture.data if t["mode"] == "markers"]
    guards = solution.system.guard_names
    assert [t["name"] for t in marks] == [prose(name) for name in guards]
    for guard, trace in zip(guards, marks, strict=True):
        times = [e.t for e in solution.events if e.contact == guard]
        assert len(trace["x"]) == max(min(len(times), 100), 1)
        assert np.isin(trace["x"], np.float32(times or [0])).all()
        assert prose(guard) in trace["hovertemplate"]


def test_the_portrait_of_one_state_has_its_rate_and_of_more_the_second():
    one, two = run("thermostat"), run("ball_with_reset")
    axes = [ex.views.phase.picture(s).layout for s in (one, two)]
    titles = [(a["xaxis"]["title"]["text"], a["yaxis"]["title"]["text"]) for a in axes]
    assert titles == [("T (°C)", "T\u0307 (°C/s)"), ("y (m)", "v (m/s)")]


def test_the_portrait_of_one_state_is_not_drawn_through_its_resets():
    solution = ex.simulate(ex.models.integrate_and_fire(), "EventDriven", t_end=8)
    (trace,) = ex.views.phase.picture(solution).data
    resets = [e for e in solution.events if np.ptp([e.x_minus, e.x_plus]) > 0.5]
    assert len(resets) > 5
    steps = np.abs(np.diff(trace["x"]))
    assert np.nanmax(steps) < 0.5  # from v = 1 to v = 0 there is no line
    assert np.isnan(trace["x"]).sum() + np.isnan(trace["y"]).sum() >= len(resets)


def test_a_closed_form_with_resets_lies_on_the_curve():
    solution = run("ball_with_reset", "dull")
    traces = ex.views.positions.picture(solution).data
    exact = [t for t in traces if t["name"] == "exact"]
    states = [t for t in traces if "meta" in t]
    assert len(exact) == len(states) == 2
    for form, state in zip(exact, states, strict=True):
        np.testing.assert_array_equal(np.isnan(form["y"]), np.isnan(state["y"]))
        np.testing.assert_allclose(form["y"], state["y"], atol=2e-4)
    begun = ex.simulate(solution.system, mode0="rest")
    assert [t for t in ex.views.positions.picture(begun).data if t["name"] == "exact"] == []


def test_what_a_reset_moves_does_not_glide():
    solution = run("ball_with_reset")
    film = frames(solution)
    assert (np.diff(film["t"]) >= 0).all()
    np.testing.assert_allclose(
        film["xy"][:, -1, 1],
        0.1 + np.interp(film["t"], fine(solution).t, fine(solution).x[:, 0]),
        atol=1e-5,
    )
    assert np.isin(np.float32([e.t for e in solution.events[:10]]), film["t"]).all()


# -- decimation -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "scheme"), [c for c in MECHANICAL if c[0] in ROUGH])
def test_the_laws_of_contacts_go_through_the_run(name, scheme):
    """Every point of a run lies on its graph; the graph, the points and the lanes say the same."""
    solution = fine(run(name, scheme=scheme))
    picture = ex.views.laws.picture(solution)
    kinds = {axis: [t for t in picture.data if t["xaxis"] == axis] for axis in ("x", "x2")}
    graph, *contacts = kinds["x"]
    assert [tuple(corner) for corner in zip(graph["x"], graph["y"], strict=True)][1] == (0, 0)
    assert len(contacts) == min(len(solution.system.contacts), 6)
    for trace in contacts:
        x, y = (np.asarray(trace[k], float) for k in "xy")
        asked = np.isfinite(x)
        whole = solution.gap if scheme in ("EventDriven", "FESD") else solution.gap_dot
        size_x, size_y = np.abs(whole).max() + 1e-9, np.abs(y[asked]).max(initial=1e-9)
        assert (y[asked] >= -1e-6 * size_y).all()
        assert np.minimum(x[asked] / size_x, y[asked] / size_y).max(initial=0) <= 2e-2
    for trace in kinds["x2"][1:]:  # friction along lines
        share = np.asarray(trace["y"], float)
        assert (np.abs(share[np.isfinite(share)]) <= 1.05).all()


@pytest.mark.parametrize("h", [1e-3, 1e-4])
def test_an_impact_is_no_friction_force(h):
    """What the other tip's impact asks of the one that slides is an impulse: a gap, no peak."""
    run = ex.simulate(ex.models.falling_rod(), ex.MoreauJean(h=h))
    (hit,) = [e.t for e in run.events if e.kind == "impact"]
    picture = ex.views.friction.picture(run)
    assert picture.layout["yaxis"]["range"][1] < 10  # N; the rod weighs as much
    (tip,) = [t for t in picture.data if t["name"] == "tip" and t["yaxis"] == "y"]
    at = np.abs(tip["x"] - np.float32(hit)) < h / 2
    assert np.isnan(tip["y"][at]).all()
    # a step in which the closed contact has drifted open, and the next one with twice the force,
    # are no force either
    drawn = np.isfinite(tip["y"])
    drawn = np.interp(run.t, tip["x"][drawn], tip["y"][drawn])
    away = np.abs(run.t - hit) > 3 * h
    np.testing.assert_allclose(
        drawn[1:-1][away[1:-1]],
        np.median([run.lam_t[:-2, 0], run.lam_t[1:-1, 0], run.lam_t[2:, 0]], axis=0)[away[1:-1]],
        atol=0.05,
    )


def test_lanes_tell_sticking_from_sliding():
    """A block that is thrown up a slope slides, and sticks: two bars, one after the other."""
    run = ex.simulate(ex.models.block_on_slope(), mu=0.6, alpha=0.4)
    bars = {t["name"]: t for t in ex.views.active_set.picture(run).data}
    (stop,) = [e.t for e in run.events if e.kind == "sticks"]
    assert np.nanmax(bars["slides +"]["x"]) == pytest.approx(stop, abs=2 * run.scheme.h)
    assert np.nanmin(bars["sticks"]["x"]) == pytest.approx(stop, abs=2 * run.scheme.h)
    assert np.nanmax(bars["sticks"]["x"]) == pytest.approx(run.t[-1])
    assert not bars["slides −"]["showlegend"]


def test_a_run_of_one_step_is_drawn():
    solution = ex.simulate(models["bouncing_ball"](), ex.MoreauJean(h=0.01), t_end=0.01)
    for view in VIEWS:
        if applies(view, "bouncing_ball"):
            assert type(getattr(ex.views, view)(solution)) is go.Figure


# -- impulses and table ---------------------------------------------------------------------------


@for_each(
    ("name", "scheme"), [c for c in MECHANICAL if SYSTEMS[c[0]].contacts and c[0] not in ROUGH]
)
def test_impulses_stand_at_the_impacts(name, scheme):
    solution = run(name, scheme=scheme)
    dots = [t for t in ex.views.impulses.picture(solution).data if t["mode"] == "markers"]
    t, p = (np.concatenate([[], *(d[axis][d["y"] > 0] for d in dots)]) for axis in "xy")
    impacts = [e for e in solution.events if e.kind == "impact"]
    if solution.has("march"):  # closing is one, and an event may be one at several
        impacts = [e for e in solution.events if e.impulse > 0]
    assert set(t) <= {np.float32(e.t) for e in impacts}
    for e in impacts:  # a dot covers the weaker ones beneath it, and none else
        beside = np.abs(t - e.t) <= solution.t[-1] / 99
        assert p[beside].max() >= np.float32(e.impulse)
    strongest = max([e.impulse for e in impacts], default=0.0)
    assert p.max(initial=0.0) == np.float32(strongest)


@pytest.mark.parametrize("name", ["bouncing_ball", "woodpecker"])
def test_bars_below_the_axis_are_the_times_of_contact(name):
    solution = run(name)
    picture = ex.views.impulses.picture(solution)
    bars = [t for t in picture.data if t["line"]["width"] == 4]
    heights = []
    for c, bar in enumerate(bars):
        spans = list(solution.closed_runs(c))
        if not spans:
            assert (bar["y"] < -1e8).all()  # off the picture
            continue
        ends = bar["x"].reshape(-1, 3)
        heights.append(bar["y"][0])
        for first, after in spans:
            t = np.float32(0.5 * (solution.t[first] + solution.t[after - 1]))
            assert ((ends[:, 0] <= t) & (t <= ends[:, 1])).any()
    assert heights
    assert max(heights) < 0
    assert len(set(heights)) == len(heights)


def every_row(solution) -> list:
    """Rows of all events, on one page."""
    return ex.views.event_table(solution, most=max(len(solution.events), 1))["rows"]


@for_each(("name", "preset", "scheme"), RUNS)
def test_the_table_lists_the_events_in_order(name, preset, scheme):
    solution = run(name, preset, scheme)
    for most in (5, 100):
        listed(solution, most)


def listed(solution, most: int) -> None:
    """Assert that a table of so many rows a page says what happened."""
    table = ex.views.event_table(solution, most=most)
    assert len(table["rows"]) == min(most, len(solution.events))
    times = [row[table["time_column"]] for row in table["rows"]]
    assert times == sorted(times)
    assert str(len(solution.events) or "No events") in table["note"]
    assert ("shown" in table["note"]) == (len(solution.events) > most)
    pages = [ex.views.event_table(solution, most=most, page=k) for k in range(table["pages"])]
    assert [row for page in pages for row in page["rows"]] == every_row(solution)
    for row, event in zip(table["rows"], solution.events, strict=False):
        assert row[0] == pytest.approx(event.t, rel=1e-4)
        assert (event.contact if event.kind == "event" else event.kind) in row[1]


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


def test_axes_of_a_moving_slider_seldom_change():
    layout, seen = axes(0, 1), set()
    for high in np.linspace(1, 4, 61):
        layout = steady(axes(0, high), layout, moving=True)
        assert layout["xaxis"]["range"][1] >= high
        seen.add(tuple(layout["xaxis"]["range"]))
    assert len(seen) <= 8
    for high in np.linspace(4, 2, 21):
        assert steady(axes(0, high), layout, moving=True) == layout
    assert steady(axes(0, 1), layout)["xaxis"]["range"] == [0, 1], "at rest it fits"


@pytest.mark.parametrize("moving", [False, True])
@given(ranges=st.lists(st.tuples(finite, st.floats(1e-6, 1e6)), min_size=1, max_size=8))
def test_steady_axes_always_hold_the_new_range(moving, ranges):
    layout = None
    for low, span in ranges:
        layout = steady(axes(low, low + span), layout, moving=moving)
        begin, end = layout["xaxis"]["range"]
        assert begin <= low
        assert end >= low + span
        if not moving:
            assert end - begin <= 2 * (low + span - low) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "dot", "text"),
    [("y", False, "y"), ("theta", False, "θ"), ("theta1", False, "θ<sub>1</sub>"),
     ("q_in", False, "q<sub>in</sub>"), ("omega_n2", False, "ω<sub>n,2</sub>"),
     ("y", True, "y\u0307"), ("phi12", True, "φ\u0307<sub>12</sub>"), ("theta0", False, "θ<sub>0</sub>")],
)  # fmt: skip
def test_label(name, dot, text):
    assert label(name, dot=dot) == text
