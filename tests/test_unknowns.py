"""Parameters that a plan chooses, over the horizon or in each interval: closed forms, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadArgument, BadValue, NotApplicable
from tests.loops import for_each


def chain():
    """Return three bodies in a row; the first one hits the second, and that the third."""
    system = ex.MechanicalSystem(
        "chain", q="a b c", params={"m": ex.Param(1, 0.1, 9, "kg"), "e": 0.7}
    )
    system.inputs("u", low=-1, high=1)
    system.mass, system.force = [[4, 0, 0], [0, "m", 0], [0, 0, 1]], ["u", 0, 0]
    system.contact(ex.Contact("b - a", e="e", name="first"))
    system.contact(ex.Contact("c - b", e="e", name="second"))
    system.start(q=[0, 0.5, 1], v=[1, 0, 0], t_end=1.6)
    return system


def test_the_best_mass_between_two_is_their_geometric_mean():
    """v_c = (1 + e)^2 4 m / ((4 + m)(m + 1)) is largest at m = sqrt(4 1), for each e."""
    task = ex.OptimalControlProblem(
        chain(), intervals=4, running="u**2", bounds={"u": (0, 0)}, terminal="-v_c",
        unknowns={"m": (0.2, 8)},
    )  # fmt: skip
    free, hit = ("open", "open"), ("bounce", "open")
    guess = {"modes": [free, free, hit, ("bounce", "bounce")], "unknowns": {"m": 3}}
    plan = ex.optimize(task, guess, progress=False)
    assert plan.ok, plan
    assert plan.unknowns["m"] == pytest.approx(2, abs=1e-6)
    assert plan.rho["m"] == plan.unknowns["m"]
    assert plan.objective == pytest.approx(-(1.7**2) * 8 / 18, abs=1e-9)
    assert plan.defect < 1e-9
    assert "m = 2 kg" in repr(plan)
    assert plan.multipliers["m"] == pytest.approx(0, abs=1e-8)
    assert plan.again(e=0.6).unknowns["m"] == pytest.approx(2, abs=1e-6)
    held = plan.again(m=3)
    assert held.objective == pytest.approx(-(1.7**2) * 12 / 28, abs=1e-9)
    slope = 1.7**2 * 4 * (9 - 4) / (7 * 4) ** 2  # of -m / ((4 + m)(m + 1))
    assert held.multipliers["m"] == pytest.approx(slope, abs=1e-7)


@for_each("form", ["step", "stewart"])
def test_friction_that_stops_in_time(form, tmp_path):
    """v0^2 / (2 mu) is the way to rest: mu is found, in both forms, and kept by a file."""
    if form == "step":
        block = ex.StepSystem("block", x="q v", params={"mu": 0.5})
        block.inputs("u", low=-1, high=1)
        block.f = ["v", "u - mu*sign(v)"]
    else:
        block = ex.FilippovSystem("block", x="q v", params={"mu": 0.5})
        block.inputs("u", low=-1, high=1)
        regions = {"forward": ["v", "u - mu"], "backward": ["v", "u + mu"]}
        block.subsystem(regions, {"c": "v"})
    block.start(x=[0, 1], t_end=2)
    task = ex.OptimalControlProblem(
        block, intervals=3, running="u**2", end={"q": 0.8, "v": 0}, representation=form,
        unknowns={"mu": (0.1, 2)},
    )  # fmt: skip
    plan = ex.optimize(task, progress=False)
    assert plan.ok, plan
    assert plan.unknowns["mu"] == pytest.approx(1 / 1.6, abs=1e-9)
    assert plan.defect < 1e-9
    loaded = ex.Plan.load(plan.save(tmp_path / "plan"))
    assert loaded.unknowns["mu"] == pytest.approx(1 / 1.6, abs=1e-9)
    other = plan.again(x0=[0.2, 1])
    assert other.unknowns["mu"] == pytest.approx(1 / 1.2, abs=1e-9)
    begun = plan.again(begin=1)  # what an interval has used that is over can no longer change
    assert begun.unknowns == plan.unknowns


def test_a_threshold_of_a_mode():
    """x rises up to r, then falls: x(T) = 2 r - T."""
    system = ex.HybridSystem("thermostat", x="x", params={"r": 0.8})
    system.inputs("u", low=-1, high=1)
    system.mode("up", ["1 + u"])
    system.mode("down", ["-1 + u"])
    system.guard("up", "x - r", to="down", direction=1)
    system.start(x=[0], t_end=2)
    task = ex.OptimalControlProblem(
        system, intervals=4, running="u**2", end={"x": 0.5}, unknowns={"r": (0.1, 1.9)}
    )
    plan = ex.optimize(task, {"modes": ["up", "up", "up", "down"]}, progress=False)
    assert plan.ok
    assert plan.unknowns["r"] == pytest.approx(1.25, abs=1e-9)
    assert plan.defect < 1e-9


def cart():
    """Return a cart with friction, a gear and a load."""
    system = ex.StepSystem(
        "cart", x="q v", params={"mu": 0.5, "load": 0.0, "g": ex.Param(1, 0, 2, "N")}
    )
    system.inputs("u", low=-1, high=1)
    system.f = ["v", "g*u + load - mu*sign(v)"]
    system.start(x=[0, 1], t_end=2)
    return system


LOADS = (0.1, 0.2, 0.3, -0.2)


def geared(**more):
    """Return the problem in which a load is given and a gear is chosen, in each interval."""
    given = {"running": "u**2 + g**2", "end": {"q": 1.8, "v": 0.5}}
    given["stagewise"] = {"load": list(LOADS), "g": (0.1, 2)}
    return ex.OptimalControlProblem(cart(), intervals=4, **(given | more))


def test_each_interval_has_its_value(tmp_path):
    """u^2 + g^2 >= 2 g u, so the cost is twice the impulse that the loads leave: 2 0.3."""
    plan = ex.optimize(geared(), progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(2 * (-0.5 + 2 * 0.5 - 0.5 * sum(LOADS)), abs=1e-8)
    np.testing.assert_array_equal(plan.stagewise["load"], LOADS)
    np.testing.assert_allclose(plan.stagewise["g"], plan.u[:, 0], atol=1e-5)
    assert plan.defect < 1e-9
    feedback = plan.feedback()
    assert np.abs(feedback.K[:, 0]).max() > 1e-3
    assert np.abs(feedback.K[:, 1:]).max() == 0
    loaded = ex.Plan.load(plan.save(tmp_path / "plan"))
    assert loaded.objective == pytest.approx(plan.objective, abs=1e-8)
    np.testing.assert_array_equal(loaded.stagewise["load"], LOADS)
    drawn = next(t for t in ex.views.plan.picture(plan).data if t["name"] == "load")
    np.testing.assert_allclose(drawn["y"][::3], LOADS, rtol=1e-6)
    with pytest.raises(NotApplicable, match="'load' has ranges of its own"):
        plan.follow(ex.PredictiveControl(horizon="receding"))


def test_a_run_keeps_the_parameters_that_were_chosen():
    """Predictive control cannot build another block while it moves."""
    task = geared(stagewise=None, unknowns={"mu": (0.1, 0.6)}, running="u**2")
    plan = ex.optimize(task, progress=False)
    assert plan.ok
    course = plan.follow(ex.PredictiveControl(), x0=[0.01, 1.02])
    assert course.ok, course
    made = [decision.plan for decision in course.decisions]
    assert {one.rho["mu"] for one in made} == {plan.rho["mu"]}
    assert "mu = " in ex.views.plan(plan).data[0].name


REFUSED = [
    ({"unknowns": {"k": (0, 1)}}, "no parameter 'k'"),
    ({"unknowns": {"mu": (2, 1)}}, "is empty: 2 > 1"),
    ({"unknowns": {"mu": None}}, "needs two bounds"),
    ({"unknowns": {"mu": (1, None)}}, "needs two bounds"),
    ({"unknowns": {"u": (0, 1)}}, "is a control already"),
    ({"stagewise": {"g": [1, 2, 3]}}, "has 3 values"),
    ({"stagewise": {"g": 5}}, "has 5"),
    ({"stagewise": {"g": (1, float("nan"))}}, "must be a finite number"),
    ({"unknowns": {"g": (0, 1)}, "stagewise": {"g": (0, 1)}}, "each has one role"),
    ({"unknowns": {"load": (0, 1)}, "stagewise": {"g": (0, 1)}}, ""),
]


@for_each(("given", "why"), REFUSED)
def test_what_is_inconsistent_is_refused(given, why):
    """Each mistake gets a sentence of its own; the last one is none."""
    if not why:
        geared(**({"stagewise": None} | given))
        return
    with pytest.raises(BadValue, match=why):
        geared(**({"stagewise": None} | given))


def test_more_that_is_refused():
    """No dict, a parameter without effect, a jump of a gap, a start that moves, a value given."""
    with pytest.raises(BadArgument, match="must be a dict"):
        geared(unknowns="mu")
    idle = cart()
    idle.params(k=1)
    with pytest.raises(BadValue, match="depends on 'k'"):
        ex.OptimalControlProblem(idle, running="u**2", unknowns={"k": (0, 1)})
    ball = ex.MechanicalSystem("ball", q="y", params={"r": 0.1})
    ball.inputs("u")
    ball.mass, ball.force = 1, ["u - 9.81"]
    ball.contact(ex.Contact("y - r", e=0, name="floor"))
    ball.start(q=["2*r"], v=[0], t_end=1)
    with pytest.raises(BadValue, match="the gap of 'floor' would jump with it"):
        ex.OptimalControlProblem(ball, running="u**2", stagewise={"r": (0, 1)})
    task = ex.OptimalControlProblem(ball, running="u**2", unknowns={"r": (0, 1)}, intervals=2)
    with pytest.raises(BadValue, match="depends on 'r', which the plan chooses"):
        ex.optimize(task, progress=False)
    task = geared(unknowns={"mu": (0.1, 1)})
    with pytest.raises(BadValue, match="is an unknown of this problem: the plan chooses it"):
        ex.optimize(task, mu=0.4)
    with pytest.raises(BadValue, match="'k' is no unknown"):
        ex.optimize(task, {"unknowns": {"k": 0.4}})


@for_each(["rate", "ranges", "open_"], [
    ("u - mu*sign(v)", {"mu": (0.1, 2)}, ()),
    ("u - mu*sign(v) + Piecewise((a, v < -1), (0, True))", {"mu": (0.1, 2), "a": (0, 1)}, ("a",)),
    ("u - 2*a*mu*sign(v)", {"mu": (0.1, 2), "a": (0.1, 2)}, ("mu", "a")),
    ("u - (a + mu)*sign(v)", {"mu": (0.1, 2), "a": (0.01, 0.02)}, ("mu", "a")),
])  # fmt: skip
def test_an_unknown_that_nothing_determines_is_named(rate, ranges, open_):
    """Friction determines mu; what counts at v < -1 alone, and the factors of mu, stay open."""
    block = ex.StepSystem("block", x="q v", params={"mu": 0.5, "a": 0.5, "u": 0.0})
    block.f = ["v", rate]
    block.start(x=[0, 1], t_end=2)
    task = ex.OptimalControlProblem(
        block, intervals=3, controls="u", bounds={"u": (-1, 1)}, running="u**2",
        end={"q": 1.2, "v": 0}, unknowns=ranges,
    )  # fmt: skip
    plan = ex.optimize(task, progress=False)
    assert plan.ok, plan
    assert plan.undetermined == open_
    assert repr(plan).count("(not determined)") == len(open_)
