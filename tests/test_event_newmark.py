"""`EventDriven(method=Newmark(...))`: structural schemes that stop at their events."""

from dataclasses import replace

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.models import models
from explorer.models.bouncing_ball import exact
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.newmark import GeneralizedAlpha, Newmark

FAMILY = [
    Newmark(), Newmark.named("central difference"), Newmark.named("linear acceleration"),
    GeneralizedAlpha(rho_inf=0.8), GeneralizedAlpha(rho_inf=0.3, force="interpolated"),
]  # fmt: skip


def at(scheme, h):
    """The scheme with another step."""
    return EventDriven(method=replace(scheme, h=h))


@pytest.mark.parametrize("scheme", FAMILY, ids=repr)
@pytest.mark.parametrize("h", [0.37, 0.013])
def test_a_bouncing_ball_is_exact_at_any_step(scheme, h):
    """Constant acceleration is integrated exactly, so what is left is how events are located."""
    system = models["bouncing_ball"]()
    run = ex.simulate(system, at(scheme, h), t_end=2.0)
    truth = exact(run.t, run.rho)
    jump = np.isin(run.t, [e.t for e in run.events])
    np.testing.assert_allclose(run.q, truth["q"], rtol=0, atol=1e-10)
    np.testing.assert_allclose(run.v[~jump], truth["v"][~jump], rtol=0, atol=1e-10)
    assert len(run.events) >= 3


@pytest.mark.parametrize(
    ("name", "scheme"),  # F and M^-1 F are interpolated differently where M moves
    [(name, s) for name in ("duffing", "elastic_pendulum") for s in FAMILY
     if name == "duffing" or not s.interpolated],
    ids=str,
)  # fmt: skip
def test_without_events_it_is_the_scheme_itself(name, scheme):
    """Same motion as the structural kernel, which solves M a = F instead of a = M^-1 F."""
    system = models[name]()
    if name == "elastic_pendulum":
        system.contacts = ()
        system.touch()
    h = 2e-3
    one = ex.simulate(system, replace(scheme, h=h), t_end=0.5)
    two = ex.simulate(system, at(scheme, h), t_end=0.5)
    np.testing.assert_allclose(two.t, one.t, rtol=1e-14)
    np.testing.assert_allclose(two.q, one.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.v, one.v, rtol=0, atol=1e-10)


@pytest.mark.parametrize("scheme", FAMILY, ids=repr)
def test_the_order_survives_impacts(scheme):
    """Forced impact oscillator, T = 12: order 2; 1e-5 at 4800 steps if the period error is small."""
    system = models["impact_oscillator"]()
    truth = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13), t_end=12)
    steps, errors = np.array([600, 1200, 2400, 4800]), []
    for n in steps:
        run = ex.simulate(system, at(scheme, 12 / n), t_end=12)
        assert [e.kind for e in run.events] == [e.kind for e in truth.events]
        errors.append(np.abs(run.q[-1] - truth.q[-1]).max())
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope >= 1.9
    assert errors[-1] <= (1e-5 if scheme in FAMILY[1:3] else 3e-5)
    late = [abs(a.t - b.t) for a, b in zip(run.events, truth.events, strict=True)]
    assert len(late) >= 2
    assert max(late) <= 1e-5
    assert run.gap.min() >= -1e-9


def test_a_closed_contact_is_held_and_let_go():
    """A ball on a table that begins to shake: released where the table falls faster than g."""
    system = models["vibrating_table"]()
    truth = ex.simulate(system, EventDriven(rtol=1e-11, atol=1e-12), t_end=1.0)
    run = ex.simulate(system, EventDriven(method=Newmark(h=1e-3)), t_end=1.0)
    assert [e.kind for e in run.events] == [e.kind for e in truth.events]
    np.testing.assert_allclose([e.t for e in run.events], [e.t for e in truth.events], atol=1e-4)
    held = ex.MechanicalSystem("held", q="y", mass=2, force="-19.62", contacts=[ex.Contact("y")])
    held.start(q=[0.0])
    run = ex.simulate(held, EventDriven(method=GeneralizedAlpha(h=0.1)), t_end=1)
    np.testing.assert_allclose(run.lam, 19.62)
    np.testing.assert_allclose(run.q, 0, atol=1e-15)


def bar(n=100, E=900.0, length=10.0, v0=-10.0):
    """Bar of n lumped elements that flies against a wall at x = 0."""
    d = length / n
    m = np.full(n + 1, d)
    m[[0, -1]] /= 2
    K = E / d * (2 * np.eye(n + 1) - np.eye(n + 1, k=1) - np.eye(n + 1, k=-1))
    K[0, 0] = K[-1, -1] = E / d
    H = np.zeros((1, n + 1))
    H[0, 0] = 1
    return ex.LinearMechanicalSystem(
        "bar", np.diag(m), K, H=H, b=0.5, start={"v": [v0] * (n + 1), "t_end": 1.0}
    )


@pytest.mark.parametrize("scheme", [FAMILY[1], GeneralizedAlpha(rho_inf=0.6)], ids=repr)
def test_a_bar_leaves_the_wall_when_the_wave_is_back(scheme):
    """Contact lasts 2 L / c = 2/3 s; no energy comes from nowhere."""
    system = bar()
    run = ex.simulate(system, at(scheme, 1e-3), t_end=0.8)
    struck = run.events[0].t
    left = [e.t for e in run.events if e.kind == "released"][-1]
    assert struck == pytest.approx(0.05, abs=1e-9)
    assert left - struck == pytest.approx(2 / 3, rel=0.01)
    M, K = system.M, system.K
    energy = 0.5 * (
        np.einsum("ti,ij,tj->t", run.v, M, run.v) + np.einsum("ti,ij,tj->t", run.q, K, run.q)
    )
    before = 0.5 * M.trace() * 100
    assert energy.max() <= before * (1 + 1e-9) if isinstance(scheme, GeneralizedAlpha) else True
    assert energy[-1] <= before * (1 + 1e-9)
    assert energy[-1] >= 0.95 * before


@pytest.mark.parametrize("scheme", [Newmark(), GeneralizedAlpha(rho_inf=0.5)], ids=repr)
def test_sensitivities_are_those_of_the_steps(scheme):
    """Their error falls like h^2, jumps included."""
    system = models["impact_oscillator"]()
    truth = ex.sensitivity(system, EventDriven(rtol=1e-12, atol=1e-13), t_end=3.0)
    errors = []
    for h in (4e-3, 2e-3, 1e-3):
        mine = ex.sensitivity(system, at(scheme, h), t_end=3.0)
        errors.append(np.abs(mine.solution.S[-1] - truth.solution.S[-1]).max())
    assert np.log2(np.divide(errors[:-1], errors[1:])).min() > 1.8


def test_refusals():
    with pytest.raises(NotApplicable, match="second-order"):
        ex.simulate(models["thermostat"](), EventDriven(method=Newmark()))
    with pytest.raises(BadValue, match="recomputes"):
        EventDriven(method=Newmark(a0="zero"))
    with pytest.raises(BadValue, match="Newmark"):
        EventDriven(method="euler")
    with pytest.raises(NotApplicable, match="explicit"):
        ex.sensitivity(models["bouncing_ball"](), EventDriven(method=Newmark()), method="adjoint")


def test_it_survives_saving(tmp_path):
    run = ex.simulate(
        models["bouncing_ball"](),
        EventDriven(method=GeneralizedAlpha(h=0.05, rho_inf=0.5)),
        t_end=2,
    )
    again = ex.load(run.save(tmp_path / "run"))
    assert again.scheme == run.scheme
    np.testing.assert_array_equal(again.q, run.q)
    assert (
        ex.simulate(
            models["bouncing_ball"](), EventDriven(method="newmark", step=0.05)
        ).scheme.newmark.h
        == 0.05
    )


def test_a_panel_keeps_the_method_it_was_given():
    """As plain data: a link to the panel, and the code it shows, make the same run."""
    from explorer.panels.code import opening

    method = GeneralizedAlpha(h=0.05, rho_inf=0.5)
    session = ex.explore(models["bouncing_ball"](), EventDriven(method=method)).session
    assert session.solution.scheme == EventDriven(method=method)
    assert "GeneralizedAlpha(h=0.05, rho_inf=0.5)" in opening(session)[-1]
    assert EventDriven(method=str(method)) == EventDriven(method=method)
    session.load_state(session.to_json())
    assert session.solution.scheme == EventDriven(method=method)


@pytest.mark.parametrize("force", ["combined", "interpolated"])
def test_sensitivities_follow_steps_that_change(force):
    """A pendulum by generalised-alpha with error control, repeated by hand with a complex w.

    What a0 differs from the acceleration by is proportional to the step, and so is its derivative.
    """
    system = ex.MechanicalSystem(
        "pendulum", q="u", params={"w": 3.0}, force=["-w**2*sin(u)"],
        start={"q": [2.0], "t_end": 4.0},
    )  # fmt: skip
    form = {"force": force} if force == "interpolated" else {}
    scheme = GeneralizedAlpha(h=0.1, rho_inf=0.5, error_tol=1e-4, **form)
    sens = ex.sensitivity(system, EventDriven(method=scheme), "w")
    steps, co = sens.run.march.steps, scheme.coefficients
    assert np.ptp(steps.h[:-1]) > 0.3 * steps.h[:-1].max()

    w = 3.0 + 1e-30j
    d, v = 2.0 + 0j, 0j
    a, was = -(w**2) * np.sin(d), None
    am, af = co.alpha_m, co.alpha_f
    for h in steps.h:
        true = -(w**2) * np.sin(d)
        a = a if was is None else true + h / was * (a - true)
        new = a
        for _ in range(60):  # Newton, with a slope that is good enough
            d1 = d + h * v + h * h * ((0.5 - co.beta) * a + co.beta * new)
            if force == "interpolated":
                pull = -(w**2) * ((1 - af) * np.sin(d1) + af * np.sin(d))
            else:
                pull = -(w**2) * np.sin((1 - af) * d1 + af * d)
            r = (1 - am) * new + am * a - pull
            new = new - r / ((1 - am) + (1 - af) * h * h * co.beta * w**2 * np.cos(d1))
        d, v = (
            d + h * v + h * h * ((0.5 - co.beta) * a + co.beta * new),
            v + h * ((1 - co.gamma) * a + co.gamma * new),
        )
        a, was = new, h
    end = sens.run.march.end()[3][:2, 0]
    np.testing.assert_allclose(end, [d.imag / 1e-30, v.imag / 1e-30], rtol=1e-9)
    # and the rows between steps continue those at the steps, whatever other times are asked for
    t, tau = steps.t[5:7].sum() / 2, steps.t[6]
    alone = sens.run.march.sample(np.array([t]))[0]
    among = sens.run.march.sample(np.array([t - 0.01 * tau, t, t + 0.01 * tau]))[0]
    np.testing.assert_allclose(among[1], alone[0], rtol=1e-12)
    near = sens.run.march.sample(np.array([tau * (1 - 1e-9)]))[0][0]
    np.testing.assert_allclose(near, steps.y[6], rtol=1e-6)
