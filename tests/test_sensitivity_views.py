"""Pictures of sensitivities: open at every jump, arrows at the events, honest about the twins."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import plotly.graph_objects as go
import pytest
from hybrids import HYBRIDS

import explorer as ex
from explorer.views.drawing.picture import COLOURS, GREY, label, nice
from explorer.views.drawing.slopes import SHIFT, arrow_scale, per
from explorer.views.gradient import cost_plot
from explorer.views.saltation import matrix
from explorer.views.sensitivity import as_csv
from explorer.views.twins import pair, zoom


@functools.cache
def ball(wrt: str = "e", t_end: float = 2.4, **values: float) -> ex.Sensitivity:
    return ex.sensitivity(
        ex.models.bouncing_ball(), ex.EventDriven(rtol=1e-10), wrt=wrt, cost="v_y**2", t_end=t_end,
        rho=values,
    )  # fmt: skip


def named(picture, name: str) -> list[dict]:
    return [t for t in picture.data if t["name"] == name]


def draw(*args, **kwargs):
    return ex.views.sensitivity.picture(*args, **kwargs)


@pytest.mark.parametrize("view", ["sensitivity", "twins", "saltation"])
@pytest.mark.parametrize("system", [ex.models.bouncing_ball, *HYBRIDS.values()])
def test_every_view_is_a_plain_figure(view, system):
    figure = getattr(ex.views, view)(ex.sensitivity(system()))
    assert type(figure) is go.Figure
    assert len(go.Figure(figure.to_dict(), skip_invalid=False).data) == len(figure.data) > 0


@pytest.mark.parametrize("window", [None, (0.9, 1.5)])
def test_no_line_runs_through_a_jump(window):
    sens = ball()
    times = [e.t for e in sens.events]
    for trace in named(draw(sens, delta=0.02, window=window), "derivative"):
        t, y = (np.asarray(trace[k], float) for k in "xy")
        for (t0, y0), (t1, y1) in itertools.pairwise(zip(t, y, strict=True)):
            if np.isfinite([y0, y1]).all():
                assert not any(t0 <= hit + 1e-6 and hit - 1e-6 <= t1 for hit in times if t1 > t0
                               and t0 < hit - 1e-6 and hit + 1e-6 < t1)  # fmt: skip
        for hit in (hit for hit in times if window is None or window[0] < hit < window[1]):
            at = np.flatnonzero(np.abs(t - hit) < 1e-6)
            assert len(at) == 3, "left limit, gap, right limit"
            assert np.isnan(y[at]).tolist() == [False, True, False]


@pytest.mark.parametrize("t_end", [10.0, 50.0])
def test_no_arc_that_could_be_seen_is_left_out(t_end):
    """The ball rests after 4 s: all its arcs lie in a small part of the plot."""
    sens = ball(t_end=t_end)
    picture = draw(sens, delta=0.02)
    y, low, high = (named(picture, name)[0] for name in (label("y"), "− δ/2", "+ δ/2"))
    times = [0.0, *(e.t for e in sens.events)]
    for trace, near in ((y, 1e-6), (low, 0.05), (high, 0.05)):
        t, drawn = (np.asarray(trace[k], float) for k in "xy")
        for begin, end in itertools.pairwise(times[1:7]):
            inside = (t > begin) & (t < end)
            top = 9.81 * (end - begin) ** 2 / 8
            assert np.nanmax(drawn[inside]) == pytest.approx(top, rel=0.1 + near)


def test_left_limits_are_open_and_right_ones_closed():
    sens = ball()
    picture = draw(sens)
    left, right = (named(picture, f"{side} limit")[-2] for side in ("left", "right"))  # of dv/de
    assert (left["marker"]["symbol"], right["marker"]["symbol"]) == ("circle-open", "circle")
    assert left["mode"] == right["mode"] == "markers"
    for trace, side in ((left, "left"), (right, "right")):
        expected = [sens.at(e.t, side)[1, 0] for e in sens.events]
        np.testing.assert_allclose(trace["y"], expected, rtol=1e-5)
        np.testing.assert_allclose(trace["x"], [e.t for e in sens.events], rtol=1e-6)


def test_what_does_not_jump_has_no_marks():
    sens = ex.sensitivity(HYBRIDS["heater"](), wrt="a", t_end=6.0)
    left = named(draw(sens), "left limit")[0]  # the temperature itself
    assert (left["y"] < -1e8).all()
    assert (named(draw(sens), "left limit")[1]["y"] > -1e8).all()  # its derivative does


def test_arrows_stand_at_the_events_and_are_as_long_as_dt_drho():
    sens = ball()
    for kwargs in ({}, {"delta": 0.02, "at": 1}):
        picture = draw(sens, **kwargs)
        shaft = next(t for t in picture.data if t["name"].startswith(SHIFT))
        scale = 0.02 if kwargs else float(shaft["name"].rpartition("× ")[2])
        x = np.asarray(shaft["x"], float).reshape(-1, 6)
        events = sens.events if not kwargs else [sens.events[1]]
        np.testing.assert_allclose(x[:, 0], [e.t for e in events], rtol=1e-6)
        expected = [scale * e.dt_drho[0] for e in events]
        np.testing.assert_allclose(x[:, 4] - x[:, 3], expected, atol=1e-6)
        low, high = picture.layout["yaxis"]["range"]
        assert low < shaft["y"][3] < low + 0.2 * (high - low), "along the time axis"


def test_the_scale_of_the_arrows_stays_as_long_as_it_serves():
    span, runs = (0.0, 3.0), [ball(e=e) for e in np.linspace(0.6, 0.9, 31)]
    scale = None
    for sens in runs:
        scale = arrow_scale(sens, 0, span, scale)
        longest = max(abs(event.dt_drho[0]) for event in sens.events if event.t <= 3)
        assert 0.05 * 3 <= scale * longest <= 0.25 * 3
    anew = [arrow_scale(sens, 0, span) for sens in runs]
    k = next(k for k in range(1, 31) if anew[k] != anew[k - 1])
    for sens in (runs[k - 1], runs[k], runs[k - 1]):  # to and fro
        assert arrow_scale(sens, 0, span, anew[k]) == anew[k]


def test_arrows_point_to_where_the_twins_meet_the_event():
    sens, delta = ball(), 1e-3
    twin = pair(sens, 0, delta)
    for k, event in enumerate(sens.events):
        times = [run.rows.located[k].t for run in (twin.low, twin.high)]
        assert (times[1] - times[0]) / delta == pytest.approx(event.dt_drho[0], abs=1e-4)


def test_the_finite_difference_is_the_derivative_but_for_its_spikes():
    sens, delta = ball(), 1e-4
    twin = pair(sens, 0, delta)
    gap = min(abs(twin.t[:, None] - np.array([e.t for e in sens.events])).min(axis=1).max(), 1.0)
    assert gap > 0.1
    away = np.abs(twin.t[:, None] - np.array([e.t for e in sens.events])).min(axis=1) > 1e-2
    exact = np.array([sens.at(t)[1, 0] for t in twin.t[away]])
    np.testing.assert_allclose(twin.difference[away, 1], exact, atol=0.05)
    # between the two event times: (v+ - v-) / delta
    event = sens.events[1]
    spike = np.abs(twin.difference[np.abs(twin.t - event.t) < 1e-2, 1]).max()
    jump = abs(event.v_plus[0] - event.v_minus[0])
    assert spike == pytest.approx(jump / delta, rel=1e-2)


def test_the_prediction_is_shaded_between_the_events_only():
    sens = ball()
    shade = named(draw(sens, delta=0.02), "first order")[0]
    assert shade["fill"] == "toself"
    parts = np.isnan(shade["x"]).sum()
    assert parts == len(sens.events) + 1
    half = np.flatnonzero(np.isnan(shade["x"]))[0] // 2
    for edge, sign in ((slice(half), -1), (slice(half, 2 * half), 1)):
        for t, y in zip(shade["x"][edge][1:-1], shade["y"][edge][1:-1], strict=True):
            t = float(t)
            expected = sens.solution.at(t).q[0] + sign * 0.01 * sens.at(t)[0, 0]
            assert y == pytest.approx(expected, abs=1e-4)


def test_twins_that_meet_different_events_say_from_when():
    sens = ball(t_end=4.5)
    twin = pair(sens, 0, 0.02)
    assert 2.0 < twin.until < 4.5
    shown = named(draw(sens, delta=0.02, twin=twin), "finite difference")[0]
    assert shown["x"].max() < twin.until


def test_twins_at_the_end_of_a_range_lie_on_one_side():
    for e, ends in ((1.0, (-1.0, 0.0)), (0.0, (0.0, 1.0)), (0.5, (-0.5, 0.5))):
        assert pair(ball(e=e), 0, 0.02).ends == ends
    names = {t["name"] for t in draw(ball(e=1.0), delta=0.02).data}
    assert {"− δ", "± 0"} <= names


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: ex.views.sensitivity(s, wrt="mass"),
        lambda s: ex.views.sensitivity(s, coordinate="x"),
        lambda s: ex.views.sensitivity(s, at=99),
        lambda s: ex.views.sensitivity(s, delta=-1),
        lambda s: ex.views.twins(s, "e", delta=5.0),
        lambda s: ex.views.twins(s, "e", at=99),
        lambda s: ex.views.saltation(s, k=99),
    ],
)
def test_what_cannot_be_drawn_is_a_sentence(ask):
    with pytest.raises(ex.ExplorerError) as refusal:
        ask(ball())
    assert len(str(refusal.value)) > 15


def test_a_parameter_without_influence_is_a_zero_column():
    sens = ball("m")
    picture = draw(sens, delta=0.02)
    assert not np.nan_to_num(named(picture, "derivative")[0]["y"]).any()
    table = matrix(sens.saltation(1))
    assert [row[-1] for row in table["values"]] == [0, 0, 0]


def test_the_matrix_is_that_of_the_event():
    salt = ball().saltation(1)
    table = matrix(salt)
    np.testing.assert_allclose(table["values"], np.hstack([salt.Xi, salt.Pi]), rtol=1e-3, atol=1e-9)
    assert table["rows"] == ["y", label("y", dot=True), "z"]
    assert table["columns"] == ["y", label("y", dot=True), "z", "e"]
    shades = np.array(table["shades"])
    assert np.abs(shades).max() == 1
    assert (np.sign(shades) == np.sign(table["values"])).all()


def test_of_a_large_system_the_matrix_shows_what_the_event_touches():
    sens = ex.sensitivity(ex.models.newtons_cradle(), wrt="g")
    table = matrix(sens.saltation(0))
    assert len(table["rows"]) <= 6
    assert len(table["columns"]) == len(table["rows"]) + 1 == table["split"] + 1


def test_axes_carry_the_unit_of_the_quotient():
    titles = [a["title"]["text"] for k, a in draw(ball("g")).layout.items() if k[:5] == "yaxis"]
    assert "y (m)" in titles
    assert "dy/dg (m/(m/s²))" in titles
    assert f"d{label('y', dot=True)}/dg ((m/s)/(m/s²))" in titles
    assert (per("", "1/s"), per("m", "1/s"), per("s", "1/s")) == ("s", "m s", "s²")
    assert (per("m", "m"), per("", "s"), per("", "m/s"), per("m", "")) == (
        "1",
        "1/s",
        "1/(m/s)",
        "m",
    )


def test_the_gradient_arrow_is_tangent_and_points_uphill():
    for wrt, sign in (("e", 1), ("y0", 1)):
        sens = ball(wrt)
        assert np.sign(sens.cost_gradient[0]) == sign
        arrow = named(draw(sens), "gradient")[0]
        (x0, x1), (y0, y1) = arrow["x"][:2], arrow["y"][:2]
        assert y1 > y0
        assert (y1 - y0) / (x1 - x0) == pytest.approx(sens.cost_gradient[0], rel=1e-3)
        assert y0 == pytest.approx(sens.cost, rel=1e-5)


def test_the_window_around_an_event_holds_both_twins():
    sens = ball()
    for k in range(1, len(sens.events)):
        for delta in (1e-3, 0.02, 0.05):
            low, high = zoom(sens, 0, k, delta)
            times = [run.located[k].t for run in _runs(sens, delta)]
            assert low < min(times) < max(times) < high


def _runs(sens, delta):
    twin = pair(sens, 0, delta)
    return twin.low.rows, twin.high.rows


def test_colours_are_told_apart():
    sent = {t["line"]["color"] for t in draw(ball(), delta=0.02).data}
    assert sent <= {*COLOURS, GREY}


def test_the_csv_has_every_derivative():
    text = as_csv(ball())
    header, first, *_ = text.splitlines()
    assert header == "t,y,v_y,z,dy/de,dv_y/de,dz/de"
    assert len(first.split(",")) == 7


def test_the_plot_of_a_cost_holds_the_range_of_its_parameter():
    """A free fall: psi = a - g t^2 / 2; of its start there is no range, so one to either side."""
    fall = ex.MechanicalSystem(
        "fall", q="y", params={"a": ex.Param(4.0, 2, 6), "c": ex.Param(1.0, -1, 3)}, force=["-9.81"],
        start={"q": ["a"], "t_end": 0.5},
    )  # fmt: skip
    psi = 8 - 9.81 / 8
    for wrt, x, y in (
        ("a", (2 - 0.18, 8 + 0.18), 1.5 * 0.14 * 6.36), ("v_y", (-1.06, 1.06), 1.5 * 0.14 * 2.12 / 2),
        ("c", (-1.12, 3.12), psi / 2),
    ):  # fmt: skip
        sens = ex.sensitivity(fall, wrt=wrt, cost={"w": "y"}, a=8.0)
        plot = cost_plot(sens, 0, None)
        assert plot.x_range == pytest.approx(x)
        assert plot.y_range == pytest.approx(nice(psi - y, psi + y))


def test_a_pinned_sensitivity_is_drawn_beside_each_curve():
    """Dotted, with the derivative by the same parameter at its own value."""
    sens, pinned = ball(), ball(e=0.5)
    picture = draw(sens, pinned=pinned)
    ghosts = named(picture, "pinned")
    run = pinned.solution
    wanted = [run.q[:, 0], run.v[:, 0], *pinned.S[:, :2, 0].T, pinned.Z[:, 0]]
    for trace, values in zip(ghosts, wanted, strict=True):
        y = np.asarray(trace["y"], float)
        assert [np.nanmin(y), np.nanmax(y)] == pytest.approx([values.min(), values.max()], abs=1e-5)
    assert all(trace["line"]["dash"] == "dot" for trace in ghosts)
    assert not named(draw(sens), "pinned")


def test_the_event_at_which_a_cost_ends_is_a_line_through_all_plots():
    sens = ex.sensitivity(ex.models.bouncing_ball(), wrt="e", cost={"w": "t"}, until=("floor", 2))
    picture = draw(sens)
    ends = named(picture, "end T")
    assert len({trace["yaxis"] for trace in ends}) == len(ends) == 5
    assert [bool(trace["showlegend"]) for trace in ends] == [True] + [False] * 4
    for trace in ends:
        assert np.asarray(trace["x"])[:2] == pytest.approx([sens.events[1].t] * 2)
        low, high = picture.layout["yaxis" + trace["yaxis"][1:]]["range"]
        assert trace["y"][0] < low < high < trace["y"][1]
    assert not named(draw(ball()), "end T")
