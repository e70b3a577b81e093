"""The laboratory of stability: its picture, and the panel without a browser."""

from __future__ import annotations

import json
import time

import numpy as np
import plotly.graph_objects as go
import pytest
from test_panels import Wire, check, size, trials

import explorer as ex
from explorer.panels import Session, panels
from explorer.panels.stability.state import SCHEMES, StabilitySession, build
from explorer.study import oscillation, stability
from explorer.views.drawing.picture import COLOURS

BUDGET = 40_000


def opened(scheme=None, **settings) -> Wire:
    return Wire(panels["stability"](StabilitySession(scheme, **settings)))


def named(picture, name: str) -> list[dict]:
    return [t for t in picture.data if t["name"] == name]


def trace(content: dict, buffers: list, name: str, number: int = 0) -> np.ndarray:
    found = [t for t in content["figure"]["data"] if t["name"] == name]
    return np.frombuffer(buffers[found[number]["y"]["buf"]], "<f4")


# -- the view --------------------------------------------------------------------------------------


def test_the_picture_is_a_plain_figure_whose_axes_have_names_and_units():
    found = [stability(x) for x in ("central difference", ex.GeneralizedAlpha(rho_inf=0.3))]
    figure = ex.views.stability(*found, at=0.5)
    assert type(figure) is go.Figure
    assert len(go.Figure(figure.to_dict(), skip_invalid=False).data) == len(figure.data) > 0
    titles = {k: a["title"].get("text", "") for k, a in figure.layout.to_plotly_json().items()
              if k[1:5] == "axis" and "title" in a}  # fmt: skip
    assert [titles[f"yaxis{k}"] for k in ("", 2, 3)] == [
        "spectral radius", "damping ratio − ξ", "period error"
    ]  # fmt: skip
    assert titles["yaxis4"] == "overshoot"
    assert titles["xaxis4"] == "step ωh (rad)"
    assert titles["xaxis6"] == "time ωt (rad)"
    assert titles["yaxis6"] == "displacement d / d(0)"
    assert {figure.layout[f"xaxis{k}"].type for k in ("", 2, 3, 4)} == {"log"}
    assert figure.layout.xaxis.range == (-2, 3)
    assert figure.layout.xaxis5.type != "log"
    assert figure.layout.yaxis5.scaleanchor == "x5", "a circle is round"


def test_the_curves_are_the_numbers_of_the_study():
    found = stability("linear acceleration", 0.1)
    picture = ex.views.stability.picture(found, at=1.0)
    curves = [t for t in named(picture, "linear acceleration") if t["mode"] == "lines"]
    for drawn, values in zip(
        curves, (found.radius, found.damping, found.period_error), strict=False
    ):
        np.testing.assert_allclose(drawn["x"], found.omega_h, rtol=1e-6)
        np.testing.assert_allclose(drawn["y"], values, rtol=1e-6, atol=1e-9)
    overshoot = curves[3]["y"]
    assert np.isnan(overshoot[found.omega_h > found.limit * 1.01]).all(), "growth is no overshoot"
    limits = named(picture, "stability limit")
    assert len(limits) == 4
    for line in limits:
        np.testing.assert_allclose(line["x"], np.sqrt(12), rtol=1e-6)
    marks = [
        t for t in named(picture, "linear acceleration") if t.get("marker", {}).get("size") == 9
    ]
    one = stability("linear acceleration", 0.1, [1.0])
    assert [float(m["y"][0]) for m in marks[:3]] == pytest.approx(
        [one.radius[0], one.damping[0], one.period_error[0]], rel=1e-6
    )
    locus = marks[-1]
    assert np.hypot(locus["x"], locus["y"]).max() == pytest.approx(one.radius[0])
    circle = named(picture, "unit circle")[0]
    np.testing.assert_allclose(np.hypot(circle["x"], circle["y"]), 1, rtol=1e-6)


def test_no_limit_no_line_and_each_scheme_its_colour():
    found = [stability(x) for x in ("average acceleration", "Fox-Goodwin", "central difference")]
    picture = ex.views.stability.picture(*found)
    assert all((t["y"] < -1e8).all() for t in named(picture, "stability limit")
               if t["line"]["color"] == COLOURS[0])  # fmt: skip
    for colour, one in zip(COLOURS, found, strict=False):
        assert {t["line"]["color"] for t in named(picture, one.name)} == {colour}
    legend = sorted((t for t in picture.data if t["showlegend"] and t.get("legendrank", 900) < 900),
                    key=lambda t: t["legendrank"])  # fmt: skip
    assert [t["name"] for t in legend] == [one.name for one in found]


def test_the_oscillator_is_drawn_beside_the_exact_one():
    run = oscillation("average acceleration", 0.05, 0.6)
    picture = ex.views.stability.picture(stability("average acceleration", 0.05), at=0.6)
    exact = named(picture, "exact oscillation")[0]
    np.testing.assert_allclose(
        np.interp(run.motion.t, exact["x"], exact["y"]), run.exact, atol=2e-3
    )
    drawn = named(picture, "by the scheme")[0]
    np.testing.assert_allclose(drawn["y"], run.motion.q[:, 0], rtol=1e-6)
    both = ex.views.stability.picture(
        *map(stability, ("Fox-Goodwin", "average acceleration")), at=1
    )
    runs = [
        oscillation(name, 0, 1).motion.q[:, 0] for name in ("average acceleration", "Fox-Goodwin")
    ]
    for trace, run in zip(named(both, "by the scheme"), runs, strict=True):
        np.testing.assert_allclose(trace["y"], run, rtol=1e-6)
    grown = ex.views.stability.picture(stability("central difference"), at=2.5)
    drawn = named(grown, "powers of the amplification matrix")[0]["y"]
    assert np.abs(drawn[-1]) > 12 > np.abs(drawn[-2]), "it ends where it leaves the picture"


@pytest.mark.parametrize("arguments", [(), ("central difference",), (ex.Newmark(),)])
def test_a_picture_of_nothing_is_refused(arguments):
    with pytest.raises(ex.BadValue, match="draws what study"):
        ex.views.stability(*arguments)


# -- the panel -------------------------------------------------------------------------------------


@pytest.mark.broad
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_control_moved_on_every_scheme(scheme):
    wire = opened(scheme)
    controls = wire.controls()
    assert {"scheme", "xi", "omega_h", "compare", *(f"knob.{k}" for k in SCHEMES[scheme])} == set(
        controls
    )
    for key, control in controls.items():
        start = control["value"]
        for k, value in enumerate([*trials(control), -1e300, 1e300]):
            content, _ = wire.pull(drag=bool(k % 2), **{key: value})
            refused = key in content["errors"]
            assert refused == (content["status"]["level"] == "error"), (key, value)
            if refused:
                assert content["values"][key] == value, "what was typed stays"
                assert len(content["errors"][key]) > 15
            elif not isinstance(value, str):
                assert content["values"][key] == pytest.approx(value), key
        if key == "scheme":
            wire.do("reset")
            start = scheme
        content, _ = wire.pull(**{key: start})
        assert content["errors"] == {}, key


@pytest.mark.parametrize(
    ("key", "typed", "said"),
    [
        ("knob.beta", "-1", "negative"), ("knob.gamma", "much", "finite number"), ("xi", "-0.1", "xi"),
        ("omega_h", "0", "greater than zero"), ("omega_h", "1e9", "between"), ("scheme", "Wilson", "no scheme"),
        ("compare", "Houbolt", "no scheme"), ("knob.beta", "1e300", "coefficient"),
    ],
)  # fmt: skip
def test_what_is_typed_wrong_is_a_sentence_and_stays(key, typed, said):
    wire = opened()
    before = wire.panel.session.solution
    content, _ = wire.pull(**{key: typed})
    assert said in content["errors"][key]
    assert content["values"][key] == typed
    assert wire.panel.session.solution is before


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_action_and_a_picture_of_at_most_40_kb(scheme):
    wire = opened(scheme)
    wire.do("pin")
    for drag, xi in ((True, 0.02), (False, 0.03)):
        assert size(*wire.pull(drag, xi=xi)) <= BUDGET
    for action in ("undo", "redo", "reset", "undo", "unpin"):
        assert wire.do(action)[0]["status"]["level"] in ("ok", "warn"), action
    kinds = {
        "copy_code": "clipboard",
        "copy_state": "clipboard",
        "export_csv": "file",
        "export_html": "file",
    }
    for action, kind in kinds.items():
        assert [c["type"] for c, _ in wire.say(type="do", action=action)] == [kind]
    text = wire.say(type="do", action="copy_state")[0][0]["text"]
    other = opened()
    other.do("load_state", text)
    assert other.panel.session.scheme == wire.panel.session.scheme
    assert other.panel.session.state["xi"] == wire.panel.session.state["xi"]


@pytest.mark.parametrize("text", ["{", "[]", "null", '{"format": 1}', "[" * 100_000,
                                  json.dumps({"format": 1, "scheme": "Wilson"})])  # fmt: skip
def test_another_state_is_refused_in_a_sentence(text):
    wire = opened()
    before = wire.panel.session.state
    content, _ = wire.do("load_state", text)
    assert content["status"]["level"] == "error"
    assert wire.panel.session.state == before


def test_every_curve_moves_with_its_slider():
    wire = opened("Chung-Hulbert")
    first, raw = wire.pull(**{"knob.rho_inf": 0.9})
    before = [trace(first, raw, "Chung-Hulbert", k).copy() for k in range(4)]
    content, buffers = wire.pull(True, **{"knob.rho_inf": 0.2})
    for k, old in enumerate(before):
        new = trace(content, buffers, "Chung-Hulbert", k)
        assert not np.array_equal(new, old, equal_nan=True), k
    radius = stability(ex.GeneralizedAlpha(rho_inf=0.2), 0, wire.panel.session.found.omega_h).radius
    np.testing.assert_allclose(trace(content, buffers, "Chung-Hulbert"), radius, rtol=1e-6)


def test_a_free_beta_is_named_where_it_is_a_classical_one():
    wire = opened("average acceleration")
    content, _ = wire.pull(**{"knob.beta": "1/6"})
    assert content["values"]["scheme"] == "linear acceleration"
    content, _ = wire.pull(**{"knob.beta": 0.2})
    assert content["values"]["scheme"] == "Newmark, free"
    content, _ = wire.pull(scheme="central difference")
    assert (content["values"]["knob.beta"], content["values"]["knob.gamma"]) == (0, 0.5)
    assert content["cards"][0]["rows"][0] == ["stability limit ωh", "2"]


def test_a_free_scheme_begins_where_the_last_one_was():
    wire = opened("WBZ-α")
    wire.pull(**{"knob.rho_inf": 0.4})
    before = wire.panel.session.scheme.coefficients
    wire.pull(scheme="generalised-α, free")
    assert wire.panel.session.scheme.coefficients == before
    content, _ = wire.pull(scheme="HHT-α")
    assert content["errors"] == {}


def test_a_step_above_the_limit_is_shown_growing_and_said():
    wire = opened("central difference")
    content, buffers = wire.pull(omega_h=2.2)
    assert content["status"]["level"] == "warn"
    assert "above the stability limit 2" in content["status"]["text"]
    assert "2.4282" in content["status"]["text"], "(|1 - W^2/2| + sqrt(..)) of W = 2.2"
    assert np.abs(trace(content, buffers, "powers of the amplification matrix")).max() > 10
    content, _ = wire.pull(omega_h=1.9)
    assert content["status"]["level"] == "ok"


def test_an_unusual_choice_says_what_is_lost():
    wire = opened("Newmark, free", beta=0.3, gamma=0.7)
    note = wire.pull(xi=0.0)[0]["cards"][0]["note"]
    assert "first order only" in note
    assert "not stable for every step" in note
    assert wire.pull(scheme="average acceleration")[0]["cards"][0]["note"] == ""


def test_exact_leading_terms_when_the_slider_rests():
    wire = opened("Fox-Goodwin")
    rows = dict(wire.pull(omega_h=0.3)[0]["cards"][0]["rows"])
    assert rows["period error, small ωh"] == "-1/480 (ωh)⁴"
    assert rows["stability limit ωh"] == "2.44949"
    assert dict(wire.pull(True, omega_h=0.4)[0]["cards"][0]["rows"])["damping, small ωh"] == "…"
    assert dict(wire.pull(xi=1.5)[0]["cards"][0]["rows"])["damping, small ωh"] == "none"


def test_a_pinned_scheme_is_drawn_dotted():
    wire = opened("average acceleration")
    wire.do("pin")
    content, buffers = wire.pull(scheme="linear acceleration")
    ghosts = [
        t for t in content["figure"]["data"] if t["name"] == "pinned" and t["mode"] == "lines"
    ]
    assert {t["line"]["dash"] for t in ghosts} == {"dot"}
    np.testing.assert_allclose(trace(content, buffers, "pinned"), 1, atol=1e-6)


def test_the_copied_script_makes_the_same_numbers():
    wire = opened("HHT-α")
    wire.pull(**{"knob.rho_inf": 0.7, "xi": 0.02, "omega_h": 0.3})
    names: dict = {}
    exec(wire.say(type="do", action="copy_code")[0][0]["text"], names)
    assert names["found1"].scheme == wire.panel.session.scheme
    assert names["found1"].limit == wire.panel.session.found.limit
    assert names["found2"].name == "average acceleration"


def test_a_plain_session_gives_its_scheme():
    assert (
        panels["stability"](Session("bouncing_ball")).session.state["scheme"]
        == "average acceleration"
    )
    scheme = ex.GeneralizedAlpha(rho_inf=0.3)
    system = ex.LinearMechanicalSystem("two", np.eye(2), np.eye(2), start={"q": [1, 0]})
    own = panels["stability"](Session(system, scheme)).session
    assert own.scheme == scheme


@pytest.mark.parametrize(
    ("scheme", "smooth"),
    [
        (ex.NonsmoothGeneralizedAlpha(rho_inf=0.3), ex.GeneralizedAlpha(rho_inf=0.3)),
        (ex.ContactInNewmark(beta=0.3, gamma=0.6), ex.Newmark(beta=0.3, gamma=0.6)),
    ],
)
def test_a_scheme_for_impacts_is_studied_between_them(scheme, smooth):
    assert stability(scheme, 0.1, [0.7]).radius == stability(smooth, 0.1, [0.7]).radius
    run = oscillation(scheme, 0.1, 0.7)
    assert np.array_equal(run.motion.q, oscillation(smooth, 0.1, 0.7).motion.q)
    ball = Session("bouncing_ball", type(scheme)())
    assert panels["stability"](ball).session.scheme == type(smooth)()


def test_a_script_opens_it(monkeypatch):
    panel = ex.explore_stability("Chung-Hulbert", rho_inf=0.3, omega_h=0.7, compare="")
    assert panel.session.scheme == ex.GeneralizedAlpha(rho_inf=0.3)
    check(*Wire(panel).pull(xi=0.1))
    for scheme, said in ((ex.MoreauJean(), "Newmark family"), ("Wilson", "no Newmark scheme")):
        with pytest.raises(ex.ExplorerError, match=said):
            ex.explore_stability(scheme)
    with pytest.raises(ex.ExplorerError, match="no setting 'theta'"):
        ex.explore_stability(theta=1)
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    assert type(ex.explore_stability("Fox-Goodwin")) is go.Figure


def test_every_name_builds_its_scheme():
    for name in SCHEMES:
        assert isinstance(build(name), ex.Newmark | ex.GeneralizedAlpha)


def test_a_frame_takes_little_while_a_slider_moves():
    wire = opened("Chung-Hulbert")
    wire.hello()
    spent = []
    for i in range(20):
        begin = time.process_time()
        wire.panel._answer.pull({"knob.rho_inf": 0.8 - 0.02 * i}, True)
        spent.append(time.process_time() - begin)
    assert np.median(spent) < 0.05  # 12 ms on a quiet machine
