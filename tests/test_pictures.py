"""What is drawn is what was computed, to a pixel and a half, at the size and in the window drawn."""

from __future__ import annotations

import functools
import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kinds import SYSTEMS
from seen import apart, dense, numbers, painted, pixels

import explorer as ex
from explorer.models import models
from explorer.panels import Session
from explorer.panels.answer import SessionAnswer
from explorer.panels.packing import pack
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, Picture, Plot, curve, label
from explorer.views.drawing.polyline import PANEL, STATIC, Look

LEAST = 1.5  # px
SPANS = (0.3, 1, 4, 16)


def check(picture, run, look, most=4) -> int:
    """Compare the curves of the states and of the portrait with the run; return how many."""
    t, q, v = dense(run)
    names = [label(x) for x in run.system.coordinates]
    rates = [label(x, dot=True) for x in run.system.coordinates]
    count, seen = 0, set()
    for trace in picture.data:
        if trace["mode"] != "lines" or trace["line"].get("dash", "solid") != "solid":
            continue
        on_time = [trace["xaxis"], trace["yaxis"]] in picture.layout["meta"]["time_axes"]
        name = trace["name"]
        if on_time and name in names:
            x, y = t, q[:, names.index(name)]
        elif on_time and name in rates and v is not None:
            x, y = t, v[:, rates.index(name)]
        elif not on_time and name in names and run.has_velocities:
            x, y = q[:, names.index(name)], v[:, names.index(name)]
        elif not on_time and name in ("run", names[0]) and len(names) > 1:
            titles = [picture.layout[f"{a[0]}axis{a[1:]}"]["title"]["text"].split(" ")[0]
                      for a in (trace["xaxis"], trace["yaxis"])]  # fmt: skip
            x, y = (q[:, names.index(title)] for title in titles)
        else:
            continue
        kind = trace["yaxis"]
        if sum(k == kind for k, _ in seen) >= most:
            continue
        seen.add((kind, name))
        if not on_time and trace["meta"]["t"][0] > t[0]:  # the last turns alone, and it says so
            later = ~(t < trace["meta"]["t"][0] - 1e-7 * np.nanmax(t))  # single precision
            x, y = x[later], y[later]
            title = picture.layout[f"xaxis{trace['xaxis'][1:]}"]["title"]["text"]
            since = float(title.split("from t = ")[1].split()[0])
            assert since <= 1.001 * trace["meta"]["t"][0]
        drawn, size = pixels(picture, trace, trace["x"], trace["y"], look.width, look.height)
        true, _ = pixels(picture, trace, x, y, look.width, look.height)
        assert apart(drawn, true, size) <= LEAST, (name, kind)
        count += 1
    return count


@functools.cache
def run(name: str, span: float) -> ex.Solution:
    system = SYSTEMS[name]
    t_end = span * system.t_end
    t_end = max(round(t_end), 1) if system.discrete else t_end
    return ex.simulate(system, t_end=t_end, throw=False)


def dots_are_iterates(picture, solution) -> bool:
    """Whether each dot over the iterates is one of them, and no line joins them."""
    found = 0
    for trace in picture.data:
        if "t" not in trace.get("meta", {}):
            continue
        rows = np.asarray(trace["meta"]["t"], int)
        if trace["mode"] == "markers" and np.array_equal(trace["x"], rows.astype(np.float32)):
            near = solution.q[rows].astype(np.float32)
            found += int((near == np.asarray(trace["y"])[:, None]).all(axis=0).any())
    return found == min(solution.q.shape[1], 6)


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(models))
def test_every_model_is_drawn_as_it_runs_whatever_the_span(name):
    """Every model at its span and far beyond; each fourth also at a part of it and in between."""
    for span in SPANS if sorted(models).index(name) % 4 == 0 else (1, 16):
        solution = run(name, span)
        picture = ex.views.explore.picture(solution, look=PANEL)
        if solution.system.discrete:
            assert dots_are_iterates(picture, solution)
            continue
        assert check(picture, solution, PANEL, most=2) or solution.q.shape[1] > 6


@pytest.mark.parametrize("name", ["duffing", "bouncing_ball", "relay_feedback", "woodpecker"])
def test_a_large_panel_and_a_notebook_are_as_true(name):
    solution = run(name, 4)
    for look in (Look(1400, 900), Look(300, 490)):
        assert check(ex.views.explore.picture(solution, look=look), solution, look)
    assert check(ex.views.explore.picture(solution), solution, STATIC)


def test_the_duffing_oscillator_of_the_finding_is_an_oval_and_not_a_web():
    solution = ex.simulate(models["duffing"](), t_end=400)
    picture = ex.views.explore.picture(solution, look=PANEL)
    portrait = next(t for t in picture.data if t["xaxis"] == "x3")
    x, y = portrait["x"].astype(float), portrait["y"].astype(float)
    chord = np.hypot(np.diff(x) / np.ptp(x), np.diff(y) / np.ptp(y))
    assert np.nanmax(chord) < 0.2, "0.87 of the diameter it was"
    turns = np.abs(np.diff(np.unwrap(np.arctan2(np.diff(y), np.diff(x)))))
    assert np.degrees(np.median(turns)) < 9, "40 points a turn"


@pytest.mark.parametrize("scheme", [ex.EventDriven(), ex.MoreauJean(h=2e-3)])
def test_a_window_is_drawn_from_the_run_itself(scheme):
    solution = ex.simulate(models["bouncing_ball"](), scheme)
    look = Look(560, 490, {"xaxis": (1.15, 1.21), "yaxis": (0.0, 0.02), "xaxis2": (1.15, 1.21),
                           "xaxis3": (1.15, 1.21)})  # fmt: skip
    picture = ex.views.explore.picture(solution, look=look)
    for key, limits in look.ranges.items():
        picture.layout[key]["range"] = list(limits)
    assert check(picture, solution, look) >= 2
    y = next(t for t in picture.data if t["name"] == "y")
    assert y["x"].dtype == np.float64
    assert (y["x"][0], y["x"][-1]) == (0.0, solution.t[-1]), "the rest is there, coarsely"
    inside = (y["x"] > 1.15) & (y["x"] < 1.21)
    assert inside.sum() >= 10


def test_a_small_window_of_a_long_run_is_not_drawn_in_single_precision():
    solution = ex.simulate(models["duffing"](), t_end=400)
    window = (399.0, 399.01)
    look = Look(560, 490, {f"xaxis{k}": window for k in ("", "2", "4")})
    picture = ex.views.explore.picture(solution, look=look)
    for key in look.ranges:
        picture.layout[key]["range"] = list(window)
    content, buffers = pack({"x": picture.data[0]["x"]}, double=True)
    np.testing.assert_array_equal(np.frombuffer(buffers[0], "<f8"), picture.data[0]["x"])
    assert content["x"]["kind"] == "f8"
    x = picture.data[0]["x"]
    inside = x[(x > window[0]) & (x < window[1])]
    assert len(inside) == ((solution.t > window[0]) & (solution.t < window[1])).sum()


@pytest.mark.parametrize("span", SPANS)
def test_pseudo_time_is_drawn_as_it_runs(span):
    solution = ex.simulate(models["bouncing_ball"](), ex.FESD(h=0.1), t_end=2 * span, throw=False)
    picture, pseudo = ex.views.pseudo_time.picture(solution), solution.pseudo
    t = np.linspace(0, pseudo.t[-1], 60_000)
    x = pseudo.march.sample(t, exact=False)[0]
    names = [label(c) for c in pseudo.system.coordinates]
    curves = [trace for trace in picture.data if trace["name"] in names]
    assert len(curves) == len(names)
    for trace in curves:
        drawn, size = pixels(picture, trace, trace["x"], trace["y"], STATIC.width, STATIC.height)
        true, _ = pixels(picture, trace, t, x[:, names.index(trace["name"])],
                         STATIC.width, STATIC.height)  # fmt: skip
        assert apart(drawn, true, size) <= LEAST, trace["name"]


def test_a_panel_draws_a_long_run_as_truly_as_a_short_one():
    """However many bytes its curves take."""
    answer = SessionAnswer(Session("woodpecker", t_end=16 * models["woodpecker"]().t_end))
    frame = answer.frame()
    picture = Picture(frame["figure"]["data"], frame["figure"]["layout"])
    assert check(picture, answer.session.solution, PANEL, most=2)


@pytest.mark.parametrize("name", ["bouncing_ball", "portal_frame", "stick_slip", "compass_gait"])
def test_an_arc_shows_no_corners(name):
    """A chord a quarter of a pixel off is not seen to be one, on any screen."""
    solution = run(name, 1)
    picture = ex.views.explore.picture(solution, look=PANEL)
    t, q, _ = dense(solution)
    names = [label(x) for x in solution.system.coordinates]
    for trace in picture.data:
        if trace["name"] not in names[:3] or trace["xaxis"] != "x" or trace["mode"] != "lines":
            continue
        (x, y), _ = pixels(picture, trace, trace["x"], trace["y"], PANEL.width, PANEL.height)
        true, _ = pixels(picture, trace, t, q[:, names.index(trace["name"])],
                         PANEL.width, PANEL.height)  # fmt: skip
        whole = np.isfinite(y)
        known = np.isfinite(true[1]) & (np.diff(true[0], prepend=-1) > 0)
        drawn = np.interp(true[0][known], x[whole], y[whole])
        slope = np.gradient(true[1][known], true[0][known])
        away = np.abs(drawn - true[1][known]) / np.hypot(1, slope)
        assert np.quantile(away, 0.995) < 0.3, (name, trace["name"])


def test_on_a_phone_all_plots_stand_below_each_other():
    picture = ex.views.explore.picture(run("woodpecker", 1), look=Look(350, 400))
    axes = {k: a for k, a in picture.layout.items() if k[1:5] == "axis"}
    across = {tuple(a["domain"]) for k, a in axes.items() if k[0] == "x"}
    assert len(across) == 1
    up = sorted(tuple(a["domain"]) for k, a in axes.items() if k[0] == "y")
    assert len(up) == 6
    assert all(low[1] < high[0] for low, high in itertools.pairwise(up))
    tall = picture.layout["meta"]["height"]
    assert min(high - low for low, high in up) * tall > 80
    beside = ex.views.explore.picture(run("woodpecker", 1), look=PANEL)
    assert "height" not in beside.layout["meta"]


def test_what_was_too_much_in_a_drag_is_drawn_as_coarsely_at_once(monkeypatch):
    answer = SessionAnswer(Session("column"))
    answer.frame()
    seen = []
    whole = ex.views.explore.picture
    monkeypatch.setattr(ex.views.explore, "picture",
                        lambda *a, look, **k: seen.append(look.coarse) or whole(*a, look=look, **k))  # fmt: skip
    answer.pull({"rho.e": 0.5}, False)
    rest, last = len(seen), seen[-1]
    answer.pull({"rho.e": 0.51}, True)
    assert seen[rest:][0] == last


# -- which points ---------------------------------------------------------------------------------


def one(x, y, breaks=(), *, time=True, look=PANEL, **more):
    """Return the trace that is drawn of a curve, and its plot's picture."""
    t = np.asarray(x if time else more.pop("t"), float)
    trace = curve(np.asarray(x, float) if not time else t, np.asarray(y, float), COLOURS[0],
                  name="c", breaks=np.array(breaks, int), meta={"t": t}, **more)  # fmt: skip
    ends = [(float(np.nanmin(a)) - 0.1, float(np.nanmax(a)) + 0.1) for a in (x, y)]
    picture = compose([[Plot([trace], "x", "y", *ends, time=time)]], [1], look=look)
    return picture.data[0], picture


@settings(max_examples=12, deadline=None)
@given(
    st.integers(2, 2000), st.floats(0.1, 600), st.floats(0, 1), st.integers(0, 2**32 - 1),
    st.booleans(),
)  # fmt: skip
def test_any_curve_is_drawn_to_a_pixel_and_a_half(n, turns, noise, seed, time):
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0, 1, n)) if seed % 2 else np.linspace(0, 1, n)
    y = np.sin(2 * np.pi * turns * t) + noise * rng.normal(size=n)
    x = t if time else np.cos(2 * np.pi * turns * t)
    trace, picture = one(x, y, time=time, t=t) if not time else one(x, y)
    begin = trace["meta"]["t"][0] if not time else -1.0
    later = t >= np.float64(begin) - 1e-7
    drawn, size = pixels(picture, trace, trace["x"], trace["y"], PANEL.width, PANEL.height)
    true, _ = pixels(picture, trace, x[later], y[later], PANEL.width, PANEL.height)
    assert apart(drawn, true, size) <= LEAST + 1.0 * (not time and begin > t[0])


def test_the_measure_sees_a_line_that_is_two_pixels_off():
    x = np.linspace(0, 100, 50)
    assert apart((x, 0 * x + 10), (x, 0 * x + 12), (100, 50)) == pytest.approx(2, abs=0.5)
    assert apart((x, 0 * x + 10), (x, 0 * x + 10), (100, 50)) == 0
    gap = np.where(np.abs(x - 50) < 5, np.nan, 10)
    assert apart((x, gap), (x, 0 * x + 10), (100, 50)) > 4
    assert painted(x, 0 * x + 10, (100, 50)).sum() == 201


def test_extremes_are_kept_of_what_swings_faster_than_pixels():
    t = np.linspace(0, 1, 200_000)
    y = (1 + t) * np.sin(2 * np.pi * 3000 * t)
    y[123_457] = 7.0
    trace, picture = one(t, y)
    assert trace["y"].max() == np.float32(7.0)
    wide = PANEL.width - picture.layout["margin"]["l"] - picture.layout["margin"]["r"]
    assert len(trace["x"]) <= 2.2 * wide + 2
    band = np.abs(t[:, None] - np.array([0.25, 0.75])) < 0.002
    for inside, centre in zip(band.T, (0.25, 0.75), strict=True):
        near = np.abs(trace["x"] - centre) < 0.002
        assert trace["y"][near].max() == pytest.approx(y[inside].max(), abs=0.02)


def test_curves_that_swing_share_their_times():
    t = np.linspace(0, 1, 50_000)
    traces = [curve(t, np.sin(k * t), COLOURS[0], name=str(k), breaks=np.empty(0, int))
              for k in (9000, 9500)]  # fmt: skip
    plots = [Plot([trace], "t", "y", (0, 1), (-1, 1)) for trace in traces]
    first, second = compose([plots], [1], look=PANEL).data
    assert first["x"] is second["x"]


def test_a_jump_is_open_and_the_value_before_it_lasts():
    t = np.arange(11.0)
    y = np.where(t < 5, 1.0, -1.0)
    trace, _ = one(t, y, [5])
    k = int(np.flatnonzero(np.isnan(trace["y"]))[0])
    assert (trace["x"][k - 1], trace["y"][k - 1]) == (5, 1)
    assert (trace["x"][k + 1], trace["y"][k + 1]) == (5, -1)
    np.testing.assert_array_equal(np.isfinite(trace["x"]), True)


def test_a_straight_line_has_points_to_hover_at():
    trace, _ = one(np.linspace(0, 1, 5000), np.linspace(0, 1, 5000))
    assert 20 < len(trace["x"]) < 80


def test_a_portrait_that_goes_round_too_often_shows_its_last_turns_and_says_so():
    t = np.linspace(0, 1000, 400_000)
    x, y = np.sin(t) * (1 + t / 1e4), np.cos(t)
    trace, picture = one(x, y, time=False, t=t)
    begin = trace["meta"]["t"][0]
    assert begin > 100
    assert f"from t = {begin:.4g} s on" in picture.layout["xaxis"]["title"]["text"]
    assert len(trace["x"]) / ((1000 - begin) / (2 * np.pi)) >= 40


# -- the panel ------------------------------------------------------------------------------------


def test_the_panel_draws_the_window_that_is_looked_at():
    answer = SessionAnswer(Session("duffing", t_end=400))
    answer.schema()
    of = answer.frame()["figure"]["layout"]["uirevision"]
    answer.look({"size": [560, 490], "of": of, "ranges": {"xaxis": [100.0, 101.0]}})
    frame = answer.frame()
    x = frame["figure"]["data"][0]["x"]
    assert ((x >= 100) & (x <= 101)).sum() > 20
    answer.look({"size": [560, 490], "of": "another model", "ranges": {"xaxis": [100.0, 101.0]}})
    x = answer.frame()["figure"]["data"][0]["x"]
    assert ((x >= 100) & (x <= 101)).sum() < 10


def test_a_zoom_is_the_models_own():
    answer = SessionAnswer(Session("bouncing_ball"))
    of = [answer.frame()["figure"]["layout"]["uirevision"]]
    of.append(answer.pull({"rho.e": 0.7}, False)["figure"]["layout"]["uirevision"])
    of.append(answer.pull({"model": "duffing"}, False)["figure"]["layout"]["uirevision"])
    assert of[0] == of[1] != of[2]


@pytest.mark.parametrize("given", [
    {}, {"size": "no"}, {"size": [0, 0]}, {"ranges": {"xaxis": [1, 1]}},
    {"ranges": {"xaxis": ["a", None]}}, {"ranges": {"__class__": [0, 1]}, "size": [1e9, 1e9]},
])  # fmt: skip
def test_a_look_that_makes_no_sense_changes_nothing(given):
    answer = SessionAnswer(Session("bouncing_ball"))
    of = answer.frame()["figure"]["layout"]["uirevision"]
    answer.look({"of": of, **given})
    json.dumps(pack(answer.frame())[0], allow_nan=False)


@pytest.mark.parametrize(("values", "double"), [
    (np.sin(np.arange(20000.0)), False), (np.array([np.nan, 1.0]), False),
    (np.where(np.arange(9000) % 7, np.arange(9000.0), np.nan), False), (np.zeros(9000), False),
    (np.full(9000, np.nan), False), (np.arange(5.0), True),
])  # fmt: skip
def test_numbers_arrive_as_they_were_sent(values, double):
    figure = {"figure": {"data": [{"x": values, "y": values}]}}
    content, buffers = pack(figure, double, short=True)
    sent = content["figure"]["data"][0]["x"]
    back = numbers(sent, buffers)
    known = np.isfinite(values).any()
    short = len(values) > 8000 and known
    assert sent.get("kind") == ("u2" if short else "f8" if double else None)
    slack = 3e-5 * np.nanmax(np.abs(values)) if short else 0
    np.testing.assert_allclose(back, values, atol=slack, rtol=1e-7)


@pytest.mark.parametrize(("name", "planar"), [("irma", False), ("switched_oscillator", True)])
def test_arrows_stand_beside_a_run_only_where_they_are_true_of_all_of_it(name, planar):
    picture = ex.views.phase_plane.picture(run(name, 1))
    assert {len(picture.data[first : first + 1]) for first, *_ in picture.grounds} == {1}
    arrows = [t for t in picture.data if "0.8)" in t.get("fillcolor", "")]
    assert arrows
    assert any(len(t["x"]) > 1 for t in arrows) == planar
    assert ("flow at" in picture.layout["xaxis"]["title"]["text"]) is False
