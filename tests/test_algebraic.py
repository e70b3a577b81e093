"""Algebraic variables of optimal control problems: closed forms, the same problems without them."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadModel, BadValue, NotApplicable

PARAMS = {"u": 0.0, "z": 0.0}
ROOT = "2*sinh(asinh(3*sqrt(3)/2*(x + u))/3)/sqrt(3)"  # of z + z^3 = x + u


def solved(task, guess=None):
    return ex.optimize(task, guess, progress=False)


def test_a_rate_that_is_a_root():
    """x' = z with z^3 = 8 u: u^2 = z^6/64 is convex in z, so z = X/T all the time."""
    system = ex.StepSystem("root", x="x", f=["z"], params=PARAMS)
    system.start(x=[0], t_end=2)
    task = ex.OptimalControlProblem(
        system, intervals=3, controls="u", running="u**2", bounds={"u": (0, 9)}, end={"x": 3},
        algebraic={"z": None}, equations=["z**3 = 8*u"],
    )  # fmt: skip
    plan = solved(task, {"algebraic": {"z": 1}})
    assert plan.ok, plan
    assert plan.objective == pytest.approx(2 * (1.5**3 / 8) ** 2, abs=1e-9)
    assert plan.algebraic["z"] == pytest.approx(np.full(3 * 6 + 1, 1.5), abs=1e-7)
    assert plan.defect < 1e-8
    with pytest.raises(BadValue, match="singular at the guess, z = 0 at t = "):
        solved(task, {"algebraic": {"z": 0}})
    with pytest.raises(BadValue, match=r"z of guess has the shape \(2,\), but \(4,\)"):
        solved(task, {"algebraic": {"z": [1, 2]}})
    with pytest.raises(BadValue, match="'z' is an algebraic variable"):
        ex.optimize(task, z=3, progress=False)


def test_a_push_to_where_there_is_no_root():
    """x' = u + z - 1 with z^2 = x stays at x = z = 1 without a control, and x = -1 has no z."""
    system = ex.StepSystem("tank", x="x", f=["u + z - 1"], params=PARAMS)
    system.start(x=[1], t_end=1)
    more = {"algebraic": {"z": None}, "equations": ["z**2 = x"], "intervals": 4}
    task = ex.OptimalControlProblem(system, controls="u", running="u**2", **more)
    plan = solved(task, {"algebraic": {"z": 2}})
    assert plan.objective == pytest.approx(0, abs=1e-12)
    assert plan.defect < 1e-9
    picture = ex.views.plan.picture(plan)
    drawn = next(trace for trace in picture.data if trace["name"] == "z")
    drawn = np.array(drawn["y"], float)
    assert np.isnan(drawn).sum() == 3  # it may jump between the intervals
    assert drawn[~np.isnan(drawn)] == pytest.approx(np.ones(drawn.size - 3), abs=1e-9)
    run = plan.follow(disturbance=ex.Disturbance([ex.Push(0.5, {"x": -2})]))
    assert "no root that Newton's method finds from z = 1" in run.failed


def sliding(with_z):
    """Return a problem of two regions; z is a variable or a formula."""
    rate = "z" if with_z else ROOT
    system = ex.FilippovSystem("two sides", x="x y", params=PARAMS)
    fields = {"plus": ["-x + u", f"{rate} - 0.3"], "minus": ["-x + u", f"{rate} + 0.3"]}
    system.subsystem(fields, {"c": "y"})
    system.start(x=[0.5, 0.2], t_end=2)
    more = {"algebraic": {"z": (-2, 2)}, "equations": ["z + z**3 = x + u"]} if with_z else {}
    return ex.OptimalControlProblem(
        system, intervals=6, controls="u", running=f"u**2 + ({rate})**2/9", bounds={"u": (-3, 3)},
        end={"x": -0.2, "y": -0.5}, representation="stewart", **more,
    )  # fmt: skip


def test_a_filippov_system_with_and_without(tmp_path):
    """A nonlinear equation: plan, replay, feedback and files are those of the eliminated form."""
    plan, plain = solved(sliding(True)), solved(sliding(False))
    assert plan.ok, plan
    assert [part.signs for part in plan.sequence] == [(1,), (-1,)]
    assert plan.objective == pytest.approx(plain.objective, abs=1e-8)
    assert plan.u == pytest.approx(plain.u, abs=1e-8)
    assert plan.x == pytest.approx(plain.x, abs=1e-8)
    defects = plan.replay().defects
    assert defects == pytest.approx(plain.replay().defects, abs=1e-8)
    assert pytest.approx(plain.feedback().K, abs=1e-6) == plan.feedback().K
    z, at = plan.algebraic["z"][-1], float(plan.x[-1, 0] + plan.u[-1, 0])
    assert z + z**3 == pytest.approx(at, abs=1e-9)
    loaded = ex.Plan.load(plan.save(tmp_path / "plan"))
    assert loaded.objective == pytest.approx(plan.objective, abs=1e-9)
    again = plan.again(x0=[0.45, 0.2], judged=False)
    assert again.objective == pytest.approx(
        plain.again(x0=[0.45, 0.2], judged=False).objective, abs=1e-8
    )


def motor(with_z):
    """Return a cart that is thrown against a wall; the current of its motor is z."""
    system = ex.MechanicalSystem("motor", q="q", params={**PARAMS, "k": 0.5, "e": 0.0})
    force = "z" if with_z else "(u - k*v_q + sin(t)/10)/2"
    system.mass, system.force = [[1]], [f"{force} - 1"]
    system.contact(ex.Contact("q", e="e", name="wall"))
    system.start(q=[0.5], v=[-1], t_end=2)
    equation = "2*z + k*v_q == u + sin(t)/10"
    more = {"algebraic": {"z": None}, "equations": [equation]} if with_z else {}
    return ex.OptimalControlProblem(
        system, intervals=4, controls="u", running="u**2", bounds={"u": (-9, 9)}, end={"q": 1},
        knots=["q <= 1"], **more,
    )  # fmt: skip


def test_a_linear_equation_of_a_mechanical_system():
    guess = {"modes": ["open", "bounce", "bounce", "bounce"]}
    plan, plain = solved(motor(True), guess), solved(motor(False), guess)
    assert plan.solved
    assert plan.objective == pytest.approx(plain.objective, abs=1e-7)
    assert plan.x == pytest.approx(plain.x, abs=1e-6)
    assert plan.replay().defects == pytest.approx(plain.replay().defects, abs=1e-6)
    assert (plan.x[1:, 0] <= 1 + 1e-8).all()


def test_two_variables_of_a_hybrid_system():
    def task(with_z):
        system = ex.HybridSystem("two", x="x", params={**PARAMS, "y": 0.0})
        system.mode("up", ["1 + z" if with_z else "1 + (u + x)/2.5"])
        system.mode("down", ["-1 + y" if with_z else "-1 - (u + x)/5"])
        system.guard("up", "x - 0.9", to="down", direction=1)
        system.start(x=[0], t_end=2)
        more = {"algebraic": {"z": None, "y": (-3, 3)}} if with_z else {}
        more |= {"equations": ["2*z - y = u + x", "z + 2*y"]} if with_z else {}
        return ex.OptimalControlProblem(
            system, intervals=4, controls="u", running="u**2", bounds={"u": (-1, 1)},
            end={"x": 0.1}, **more,
        )  # fmt: skip

    guess = {"modes": ["up", "up", "down", "down"]}
    plan, plain = solved(task(True), guess), solved(task(False), guess)
    assert plan.ok
    assert plan.objective == pytest.approx(plain.objective, abs=1e-8)
    assert plan.x == pytest.approx(plain.x, abs=1e-8)
    kick = ex.Disturbance([ex.Push(0.3, {"x": 0.05})])
    ends = [one.follow(one.feedback(), disturbance=kick).x[-1] for one in (plan, plain)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


def test_a_force_at_its_bounds():
    """Least time from rest to rest with a force z in [-3, 3] against friction c = 1/2."""
    system = ex.StepSystem("block", x="q v", f=["v", "z - sign(v)/2"], params=PARAMS)
    system.start(x=[0, 0], t_end=2)
    task = ex.OptimalControlProblem(
        system, t_end=(0.1, 10), intervals=2, grid="free", controls="u", bounds={"u": (-90, 90)},
        terminal="t", end={"q": 1, "v": 0}, algebraic={"z": (-3, 3)}, equations=["2*z = u"],
    )  # fmt: skip
    plan, most, c = solved(task), 3, 0.5
    push = np.sqrt((most + c) / ((most - c) * most))
    assert plan.ok, plan
    assert plan.t_end == pytest.approx(push * (1 + (most - c) / (most + c)), abs=1e-8)
    long = np.repeat(np.diff(plan.t) > 1e-6, 6)  # an interval of no length may have any force
    force = np.abs(plan.algebraic["z"][1:])[long]
    assert force == pytest.approx(np.full(force.size, most), abs=1e-6)
    assert plan.defect < 1e-9


def test_a_bound_that_cannot_hold():
    """x' = u on [0, 1] from 0 to 1 with z = x: no plan has z <= 1/2."""
    system = ex.StepSystem("line", x="x", f=["u + 0*z"], params=PARAMS)
    system.start(x=[0], t_end=1)
    more = {"controls": "u", "running": "u**2", "end": {"x": 1}, "equations": "z = x"}
    free = ex.OptimalControlProblem(system, intervals=2, algebraic={"z": (0, 2)}, **more)
    assert solved(free).objective == pytest.approx(1, abs=1e-9)
    tight = ex.OptimalControlProblem(system, intervals=2, algebraic={"z": (0, 0.5)}, **more)
    plan = solved(tight)
    assert plan.status == "infeasible"
    assert {"bounds: 0 <= z <= 0.5", "end: x = 1"} & set(plan.unmet)


@pytest.mark.parametrize(("given", "error", "said"), [
    ({"algebraic": {"z": None}}, BadValue, r"variables given 1 \(z\), equations 0"),
    ({"equations": ["z = x"]}, BadValue, "variables given 0, equations 1"),
    ({"algebraic": {"z": None}, "equations": ["x = 1"]}, BadValue, "write it as path="),
    ({"algebraic": {"z": None}, "equations": ["z = abs(x)"]}, BadModel, "not smooth"),
    ({"algebraic": {"z": None}, "equations": ["z >= x"]}, BadModel, "is no equation"),
    ({"algebraic": {"w": None}, "equations": ["z = x"]}, BadValue, "no parameter 'w'"),
    ({"algebraic": {"u": None}, "equations": ["u = x"]}, BadValue, "each parameter has one role"),
])  # fmt: skip
def test_refused(given, error, said):
    system = ex.StepSystem("line", x="x", f=["u + z"], params=PARAMS)
    with pytest.raises(error, match=said):
        ex.OptimalControlProblem(system, controls="u", running="u**2", **given)


def test_places_that_are_refused():
    sharp = ex.StepSystem("sharp", x="x", f=["u - sign(x - z)"], params=PARAMS)
    more = {"controls": "u", "running": "u**2", "algebraic": {"z": None}}
    with pytest.raises(BadValue, match="'z' stands in the switching function"):
        ex.OptimalControlProblem(sharp, equations=["z = x/2"], **more)
    body = ex.MechanicalSystem("body", q="q", params=PARAMS)
    body.mass, body.force = [[1]], ["u + z"]
    with pytest.raises(NotApplicable, match="not linear in z"):
        ex.OptimalControlProblem(body, equations=["z + z**3 = q"], **more)
