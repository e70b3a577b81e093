"""What a user may mistype or forget: a sentence with what would work, and none where all is well."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer.dispatch import mistakes
from explorer.models import models


def ball(gap="y", q=1.0, force=-9.81, **contact):
    start = {} if q is None else {"start": {"q": [q], "t_end": 1.0}}
    contacts = [ex.Contact(gap, name="floor", **contact)]
    return ex.MechanicalSystem("ball", q="y", force=[force], contacts=contacts, **start)


def said(run) -> str:
    with pytest.warns(ex.ModelWarning) as caught:
        run()
    return " ".join(str(w.message) for w in caught)


@pytest.mark.parametrize("scheme", [ex.MoreauJean(h=1e-2), ex.EventDriven()])
class TestRuns:
    """What the run itself shows; each with its cure, which is silent."""

    def test_a_gap_of_the_wrong_sign_is_suspected(self, scheme):
        words = said(lambda: ex.simulate(ball("3 - y", e=0.5), scheme))
        assert "the gap of 'floor'" in words
        assert "reverse the sign of the gap" in words
        assert "reverse the sign" in said(lambda: ex.simulate(ball("1 - y", e=0.5), scheme))
        ex.simulate(ball("y", e=0.5), scheme)
        ex.simulate(ball("3 - y", e=0.5, force=9.81), scheme)
        ex.simulate(ball("y - 0.5", e=0.5), scheme, v0=[0.5], t_end=0.01)  # it will come back

    def test_a_start_inside_names_the_sign(self, scheme):
        with pytest.raises(ex.BadModel, match="reverse the sign of the gap"):
            ex.simulate(ball("-y", e=0.5), scheme)

    def test_no_start(self, scheme):
        assert "no start is set" in said(lambda: ex.simulate(ball(q=None, e=0.5), scheme))
        ex.simulate(ball(q=None, e=0.5), scheme, q0=[0.0])
        ex.simulate(ball(q=0.0, e=0.5), scheme)
        ex.simulate(ball("y + 1", q=None, e=0.5), scheme)  # it falls

    def test_no_restitution(self, scheme):
        words = said(lambda: ex.simulate(ball(), scheme))
        assert "'floor' has no restitution e" in words
        ex.simulate(ball(e=0), scheme)
        ex.simulate(ball(), scheme, t_end=0.1)  # it has not hit anything yet


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"g": -9.81}, "opposite sign of its range"),
        ({"g": 981}, "far outside its range"),
        ({"m": 1e4}, "far outside its range"),
    ],
)
def test_a_value_far_outside_its_range(given, words):
    found = mistakes.before(models["bouncing_ball"](), given, list(
        models["bouncing_ball"]().rho(given)))  # fmt: skip
    assert len(found) == 1
    assert words in found[0]
    with pytest.warns(ex.ModelWarning, match=words):
        ex.simulate(models["bouncing_ball"](), ex.EventDriven(), t_end=0.01, **given)


@pytest.mark.parametrize("given", [{"g": 1.62}, {"g": 24.8}, {"g": 0.0}, {"m": 20}, {}])
def test_a_value_beside_its_range_is_taken_in_silence(given):
    run = ex.simulate(models["bouncing_ball"](), ex.EventDriven(), t_end=0.1, **given)
    assert run.warned == ()


def test_a_range_that_nobody_declared_says_nothing():
    free = ball(e=0.5)
    free.params(c=0.01)
    assert mistakes.before(free, {"c": 3.0}, [3.0]) == []


def test_a_default_outside_its_own_range():
    with pytest.warns(ex.ModelWarning, match="the value 100 lies outside its own range"):
        param = ex.Param(100, 1, 20)
    assert param.value == 100  # the range is advice
    ex.Param(20, 1, 20)


@pytest.mark.broad
@pytest.mark.parametrize("name", models)
def test_the_gallery_is_left_in_peace(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        system = models[name]()
        warnings.simplefilter("ignore")
        run = ex.simulate(system, throw=False)
    assert mistakes.after(system, run, False) == []
    for preset in system.presets.values():
        values = {k: x for k, x in preset.items() if k in system.parameters}
        assert mistakes.before(system, values, system.rho(values)) == []


@pytest.mark.parametrize(
    ("where", "name", "near"),
    [
        (ex, "MoreauJaen", "MoreauJean"),
        (ex, "simulat", "simulate"),
        (ex.views, "energi", "energy"),
        (ex.study, "limitcycle", "LimitCycle"),
        (ex.models, "bouncing_bal", "bouncing_ball"),
        (ex.reformulations, "smoothin", "smoothing"),
    ],
)
def test_a_mistyped_name_has_a_suggestion(where, name, near):
    with pytest.raises(ex.NoSuchName, match=f"Did you mean '{near}'"):
        getattr(where, name)
    assert not hasattr(where, name)


@pytest.mark.parametrize("scheme", [ex.MoreauJean(h=1e-2), ex.EventDriven()])
def test_what_a_run_does_not_have(scheme):
    run = ex.simulate(models["bouncing_ball"](), scheme, t_end=1.0)
    np.testing.assert_array_equal(run["y"], run.q[:, 0])
    np.testing.assert_array_equal(run["v_y"], run.v[:, 0])
    with pytest.raises(ex.BadValue, match=r"no column 'yy'.* Did you mean"):
        run["yy"]
    with pytest.raises(ex.NoSuchName, match=r"It is a column: run\['y'\]"):
        run.y
    with pytest.raises(ex.NoSuchName, match="Did you mean 'events'"):
        run.event
    with pytest.raises(TypeError, match="not iterable"):
        list(run)
    assert not hasattr(pickle.loads(pickle.dumps(run)), "yy")


def test_functions_of_numpy_refuse_formulas_in_a_sentence():
    (q,) = ball().q
    for formula in (q, 2 * q + 1):
        with pytest.raises(ex.BadValue, match=r"NumPy's sin takes numbers.*sympy\.sin"):
            np.sin(formula)
    with pytest.raises(ex.BadValue, match=r"sympy\.atan2"):
        np.arctan2(q, 1.0)
    with pytest.raises(ex.BadValue, match="functions of SymPy"):
        np.log1p(q)
    assert np.float64(2) * q == 2.0 * q  # arithmetic is as it was
    assert (np.array([1.0, 2.0]) * q).tolist() == [1.0 * q, 2.0 * q]
    assert np.array([[1, 2]]) @ np.array([q, sp.Integer(3)]) == q + 6


@pytest.mark.parametrize("model", [5, 0.5, ["bouncing_ball"]])
def test_a_panel_of_models_refuses_what_is_none(model):
    with pytest.raises(ex.BadValue, match="is not a system"):
        ex.gallery(model)
    with pytest.raises(ex.BadValue, match="is not a system"):
        ex.write_model(model)


def test_a_contact_with_a_law_of_velocities_needs_no_restitution():
    ball = ex.MechanicalSystem("ball", q="x y", force=[0, "-9.81"])
    ball.contact(ex.Contact("y", reset={"y": "-v_y/2"}))
    ball.start(q=[0, 1], v=[1, 0], t_end=1)
    run = ex.simulate(ball, ex.EventDriven())
    assert not run.cautions
    assert run.events[0].gap_dot_plus == pytest.approx(-0.5 * run.events[0].gap_dot_minus)
    for law in (5, "v_y", ("y",), [("y", 1)]):
        with pytest.raises(ex.BadValue, match=r"The reset of 'contact 1' must be a dict"):
            ex.MechanicalSystem("b", q="y", contacts=[ex.Contact("y", reset=law)])


@pytest.mark.parametrize(("ask", "wrong"), [
    (ex.study.lyapunov, {"x0": "a"}), (ex.study.lyapunov, {"x0": [float("nan")]}),
    (ex.study.lyapunov, {"iterates": float("nan")}), (ex.study.orbit_diagram, {"points": "a"}),
    (ex.study.orbit_diagram, {"points": float("nan")}), (ex.study.orbit_diagram, {"transient": float("inf")}),
    (ex.study.continuation, {"guess": "a"}), (ex.study.continuation, {"guess": [None]}),
])  # fmt: skip
def test_studies_of_maps_refuse_what_is_no_number(ask, wrong):
    tent = models["tent_map"]()
    usual = {
        ex.study.orbit_diagram: {"over": {"mu": [1.2, 1.3]}},
        ex.study.continuation: {"parameter": "mu", "over": (0.5, 0.9)},
    }
    with pytest.raises(ex.BadValue):
        ask(tent, **usual.get(ask, {}) | wrong)


@pytest.mark.parametrize("tol", [-1, 0, 1.0, "a"])
def test_a_cycle_needs_a_tolerance_that_its_start_does_not_meet(tol):
    """tol = 1e30 called the start a stable cycle."""
    with pytest.raises(ex.BadValue, match="tol"):
        ex.study.limit_cycle(models["impact_oscillator"](), period="2*pi/omega", tol=tol)


def swinging():
    """A pendulum in the plane, whose start is assembled."""
    system = ex.MechanicalSystem(
        "swinging", q="x y", force=[0, -9.81], constraints=["(x**2 + y**2 - 1)/2"]
    )
    system.start(q=[0.6, -0.8], v=[0, 0], t_end=0.2, assemble=True)
    return system


def test_a_given_start_that_assembly_moves_is_said():
    with pytest.warns(ex.ModelWarning, match="does not keep the constraints: y = -0.8 became"):
        run = ex.simulate(swinging(), "EventDriven", q0=[0.7, -0.8])
    assert len(run.cautions) == 1
    sens = ex.sensitivity(swinging(), wrt="x", cost={"w": "y"}, q0=[0.7, -0.8])
    assert "those of another start" in " ".join(sens.cautions)


def test_a_given_start_that_keeps_the_constraints_is_kept_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ex.simulate(swinging(), "EventDriven", q0=[0.8, -0.6], v0=[0.6, 0.8])
    assert run.q[0] == pytest.approx([0.8, -0.6])
    sens = ex.sensitivity(swinging(), wrt="x", cost={"w": "y"}, q0=[0.8, -0.6])
    assert sens.cautions == ()
