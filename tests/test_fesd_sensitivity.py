"""Sensitivities of FESD: the derivative of the discrete solution, and of the true one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from test_panels import Wire

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.panels import panels
from explorer.panels.sensitivity.state import SensitivitySession


def differences(system, scheme, name: str, t_end: float, d: float = 2e-5):
    """Return the derivatives of the end state and of the switch times, by runs of the scheme."""
    runs = []
    for k in (1, -1, 2, -2):
        if name in system.parameters:
            rho, x0 = {name: system.parameters[name].value + k * d}, None
        else:
            rho, x0 = {}, scheme.compile(system).start(system.rho({}))[0]
            x0[system.coordinates.index(name)] += k * d
        runs.append(ex.simulate(system, scheme, t_end=t_end, x0=x0, rho=rho))
    for read in ("x", "switch_times"):
        a, b, c, e = (getattr(run, read) for run in runs)
        if read == "x":
            a, b, c, e = a[-1], b[-1], c[-1], e[-1]
        yield (8 * (a - b) - (c - e)) / (12 * d)


COARSE = {
    "switched_oscillator": (0.3, 1.5), "relay_feedback": (0.1, 1.2), "stribeck_belt": (0.5, 15),
    "three_blocks": (0.2, 3.0), "glass_network": (0.3, 4), "sliding_mode": (0.3, 4),
}  # fmt: skip


@pytest.mark.parametrize("name", COARSE)
@pytest.mark.parametrize(("stages", "tableau"), [(2, "radau_iia"), (3, "gauss")])
def test_it_is_the_derivative_of_the_discrete_solution(name, stages, tableau):
    """Differences of the runs themselves, at coarse steps: end state, switch times, jumps."""
    system = getattr(ex.models, name)()
    h, t_end = COARSE[name]
    scheme = ex.FESD(stages=stages, elements=3, h=h, tableau=tableau)
    wrt = (*system.parameters, system.coordinates[-1])[-3:]
    sens = ex.sensitivity(system, scheme, wrt=wrt, t_end=t_end)
    for j, by in enumerate(wrt):
        end, times = differences(system, scheme, by, t_end)
        assert np.abs(sens.S[-1, :, j] - end).max() <= 1e-7 * (1 + np.abs(end).max())
        shifts = np.array([e.dt_drho[j] for e in sens.events])
        assert shifts == pytest.approx(times, abs=1e-7 * (1 + np.abs(times).max(initial=0)))
    # S+ = Xi S- + Pi holds for the discrete equations, not only in the limit
    assert max((sens.saltation(k).residual for k in range(len(sens.events))), default=0) <= 1e-11


FINE = {
    "switched_oscillator": (0.02, 1.5, {}), "relay_feedback": (0.01, 3.5, {}),
    "stribeck_belt": (0.1, 15, {}), "three_blocks": (0.05, 3, {}), "glass_network": (0.05, 4, {}),
    "sliding_mode": (0.1, 4, {"d": 1.5}),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_it_agrees_with_the_jumps_of_the_event_driven_method(name):
    """Four stages, small steps: the end, every switch's shift, and both sides of it."""
    system = getattr(ex.models, name)()
    h, t_end, rho = FINE[name]
    asked = {"wrt": (*system.parameters, system.coordinates[-1])[-3:], "t_end": t_end, "rho": rho}
    ours, theirs = (
        ex.sensitivity(system, scheme, **asked)
        for scheme in (ex.FESD(stages=4, h=h), ex.EventDriven(rtol=1e-11, atol=1e-12))
    )
    assert ours.S[-1] == pytest.approx(theirs.S[-1], rel=1e-7, abs=1e-7)
    assert [e.kind for e in ours.events] == [e.kind for e in theirs.events]
    assert ours.events
    for k, (a, b) in enumerate(zip(ours.events, theirs.events, strict=True)):
        assert a.dt_drho == pytest.approx(b.dt_drho, rel=1e-7, abs=1e-7)
        one, other = ours.saltation(k), theirs.saltation(k)
        for side in ("S_minus", "S_plus"):
            known = getattr(other, side)
            assert getattr(one, side) == pytest.approx(known, rel=1e-6, abs=1e-6), (k, side)


def test_closed_form_of_the_switched_oscillator():
    """x = r0 e^t (cos phi, sin phi), phi = w (t - 2 t_s) behind t_s = -log r0."""
    system = ex.models.switched_oscillator()
    grid = np.array([0.1, 0.4, 0.9, 1.1, 1.3, 1.37, 1.5])
    sens = ex.sensitivity(system, ex.FESD(stages=4, h=0.05), wrt=("w", "r0"), t_eval=grid)
    w, r0 = sens.solution.rho.values()
    assert sens.events[0].dt_drho == pytest.approx([0, -1 / r0], abs=1e-9)
    late = sens.t > 1
    ts = -np.log(r0)
    late[sens.events[0].row - 1] = False
    late[sens.events[0].row] = True
    phi = np.where(late, w * (sens.t - 2 * ts), -w * sens.t)
    by_w, by_r0 = np.where(late, sens.t - 2 * ts, -sens.t), np.where(late, 2 * w / r0, 0)
    size = r0 * np.exp(sens.t)
    out, turned = np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)])
    exact = np.stack([size * turned * by_w, np.exp(sens.t) * out + size * turned * by_r0], axis=2)
    assert np.abs(sens.S - exact.transpose(1, 0, 2)).max() <= 1e-7
    event = sens.events[0]
    assert (sens.at(event.t, "left") == sens.S[event.row - 1]).all()
    assert sens.at(1.3) == pytest.approx(sens.S[-3], abs=1e-12)


def crossing(after: float, **more) -> ex.FilippovSystem:
    return ex.FilippovSystem(
        "crossing", x="x", c=["x"], S=[[1], [-1]], modes={"right": [after], "left": [3]},
        start={"x": ["x0"], "t_end": 1}, params={"x0": -1.0}, **more,
    )  # fmt: skip


@pytest.mark.parametrize("h", [1.0, 0.3, 0.07])
def test_a_linear_crossing_is_exact_at_any_step(h):
    """x' = 3 below 0 and 1 above: x(1) = 1 + x0 / 3; from 3 to -1 it slides: derivative 0."""
    sens = ex.sensitivity(crossing(1), ex.FESD(h=h), cost={"g": "x + d_x"})
    assert sens.S[-1] == pytest.approx(1 / 3, abs=1e-13)
    assert sens.S[0] == pytest.approx(1, abs=1e-13)
    assert sens.events[0].dt_drho == pytest.approx([-1 / 3], abs=1e-13)
    # int x dt = -x0^2 / 6 + (1 + x0 / 3)^2 / 2, int x' dt = x(1) - x0
    assert sens.cost == pytest.approx(-1 / 6 + 2 / 9 + 5 / 3)
    assert sens.cost_gradient == pytest.approx([1 / 3 + 2 / 9 + 1 / 3 - 1], abs=1e-12)
    until = ex.sensitivity(crossing(1), ex.FESD(h=h), cost={"w": "t**2"}, until="c1")
    assert until.cost_gradient == pytest.approx([-2 / 9], abs=1e-12)
    held = ex.sensitivity(crossing(-1), ex.FESD(h=h), wrt="x")
    assert held.S[0] == pytest.approx(1)
    assert np.abs(held.S[held.events[0].row :]).max() <= 1e-12


def test_elements_that_could_not_be_made_equal():
    """A phase whose elements differ in length is differentiated as it is."""
    system = ex.models.switched_oscillator()
    scheme = ex.FESD(stages=3, elements=2, h=1.5, split="no")
    sens = ex.sensitivity(system, scheme, t_end=4.5)
    lengths = np.diff(sens.solution.boundaries)
    assert sens.solution.boundaries[6] == sens.events[0].t
    assert lengths[4] > 3 * lengths[5]
    for j, name in enumerate(sens.wrt):
        end, times = differences(system, scheme, name, 4.5)
        assert sens.S[-1, :, j] == pytest.approx(end, rel=1e-6, abs=1e-7)
        assert sens.events[0].dt_drho[j] == pytest.approx(times[0], rel=1e-6)


def test_costs_and_their_methods_agree():
    """Both forms; the finite difference of the runs; a final time that is a switch."""
    system = ex.models.stribeck_belt()
    asked = {"wrt": ("d", "v"), "t_end": 15, "cost": {"g": "d_v**2 + q*v", "w": "q*v*d"}}
    for form in ("step", "stewart"):
        scheme = ex.FESD(stages=2, h=0.5, representation=form)
        for until in (None, (system.guard_names[0], 2)):
            both = [
                ex.sensitivity(system, scheme, **asked, until=until, **more)
                for more in ({}, {"method": "finite_difference", "delta": 1e-5})
            ]
            assert both[0].cost_gradient == pytest.approx(both[1].cost_gradient, rel=1e-6)
            between = ~np.isin(both[0].t, both[0].solution.switch_times)
            assert np.abs(both[0].S - both[1].S)[between].max() <= 1e-7
            assert np.abs(both[0].Z - both[1].Z)[between].max() <= 1e-7


def test_where_no_derivative_exists_is_a_sentence():
    """A start that moves off its surface; methods that repeat steps; schemes without events."""
    system = crossing(1)
    with pytest.raises(BadValue, match="start lies on the switching surface 'c1' = 0"):
        ex.sensitivity(system, ex.FESD, x0=0.0, wrt="x")
    assert ex.sensitivity(system, ex.FESD, x0=[0.0], wrt="x0").S[-1] == 0
    corner = ex.StepSystem(
        "corner", x="x", params={"a": 0.0}, f=["1 + 0*sign(x - 9) + sqrt(a)"], start={"t_end": 1}
    )
    with pytest.raises(BadValue, match="no finite derivative"):
        ex.sensitivity(corner, ex.FESD)
    for method in ("adjoint", "complex_step"):
        with pytest.raises(NotApplicable, match="finite_difference"):
            ex.sensitivity(system, ex.FESD, method=method)


def test_the_end_over_a_parameter_and_its_derivative():
    """The closed form, FESD on it at any step; questions that make no sense get a sentence."""
    system = ex.models.sign_crossing()
    for h in (0.5, 0.1):
        found = ex.study.end_state(system, {"FESD": ex.FESD(h=h)}, values=np.linspace(1, 4, 7))
        assert found["FESD"].x == pytest.approx(found["exact"].x, abs=1e-12)
        assert found["FESD"].slope == pytest.approx(1 / found.values**2, abs=1e-12)
        assert found["exact"].slope == pytest.approx(1 / found.values**2, abs=1e-7)
    every = {c.name.split("(")[0] for c in ex.study.end_state(system, values=[1]).curves}
    assert every >= {"exact", "FESD", "EventDriven", "ThetaRK"}
    start = ex.study.end_state(system, [ex.FESD(h=0.3)], by="x", values=[-1.0, 0.5])
    assert start.curves[0].slope == pytest.approx([1 / 3, 1], abs=1e-12)
    assert len(ex.views.end_state(found).data) == 4
    for asked, said in (
        ({"by": "q"}, "'q'"),
        ({"by": "x"}, "start values of x are missing"),
        ({"of": "y"}, "'y'"),
    ):
        with pytest.raises(BadValue, match=said):
            ex.study.end_state(system, **asked)
    with pytest.raises(BadValue, match=r"study\.end_state"):
        ex.views.end_state(system)


@pytest.mark.parametrize("stages", [1, 3])
def test_fixed_steps_have_a_wrong_derivative_however_small(stages):
    """x(1) by x0 is 1 / 3. Steps converge to x, and are as wrong in the derivative as before."""
    values = np.linspace(-1.5031, -0.5017, 30)
    system, scheme = ex.models.sign_crossing(), ex.ThetaRK(stages=stages)
    for h in (0.05, 2e-3):
        fixed = dataclasses.replace(scheme, h=h)
        found = ex.study.end_state(system, {"fixed": fixed}, "x0", values=values)
        assert np.abs(found["fixed"].x - found["exact"].x).max() < h
        wrong = np.abs(found["fixed"].slope - 1 / 3)
        assert wrong.min() > 0.3
        if stages == 1:
            assert set(found["fixed"].slope.round(6)) == {0, 1}


def test_the_sensitivity_panel_takes_it():
    """Sliders, a cost, what is compared; a state made elsewhere keeps its scheme."""
    wire = Wire(panels["sensitivity"](SensitivitySession("stribeck_belt", ex.FESD(h=0.2))))
    choices = [c[0] for c in wire.controls()["scheme"]["choices"]]
    assert "FESD" in choices
    for changes in ({"see.zoom": True, "see.wrt": "v"}, {"rho.d": 1.5}, {"cost.g": "d_v*q"}):
        content, _ = wire.pull(**changes)
        assert content["errors"] == {}
        assert content["status"]["level"] == "ok"
    session = wire.panel.session
    assert session.sensitivity.cost_gradient == pytest.approx(
        ex.sensitivity(session.system, session.scheme, "v", cost="d_v*q", d=1.5,
                       t_end=session.state["t_end"]).cost_gradient
    )  # fmt: skip
    content, _ = wire.pull(**{"see.compare": True})
    card = next(c for c in content["cards"] if c["title"].startswith("Gradient"))
    assert [row[0] for row in card["rows"]] == ["direct", "finite difference"]
    assert card["rows"][0][1][:7] == card["rows"][1][1][:7]
    other = panels["sensitivity"](session)
    assert other.session.scheme == session.scheme
    content, _ = wire.pull(scheme="MoreauJean")
    assert "does not locate events" in content["errors"]["scheme"]
