"""Central difference: its recursions, closed forms, limit of stability, orders, what it refuses."""

import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer import CentralDifference, EventDriven, LinearMechanicalSystem, MechanicalSystem
from explorer.errors import BadValue
from explorer.models import models

G = 9.81
WAYS = ("decomposition", "multipliers")


def slope(h, errors) -> float:
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


def oscillator(omega: float, c: float = 0.0, **start) -> LinearMechanicalSystem:
    return LinearMechanicalSystem(
        "oscillator", M=[[2.0]], K=[[2 * omega**2]], C=[[c]], start={"q": [1.0], "v": [0.0]} | start
    )


def masses(n: int, whole: float = 10.0) -> np.ndarray:
    """Return the lumps of a bar of n elements."""
    m = np.full(n + 1, whole / n)
    m[[0, -1]] /= 2
    return m


# -- its equations --------------------------------------------------------------------------------


@st.composite
def systems(draw, restitution=True):
    n = draw(st.integers(1, 4))
    nc = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    A, B, C = rng.normal(size=(3, n, n))
    H, q0 = rng.normal(size=(nc, n)), rng.normal(size=n)
    return LinearMechanicalSystem(
        "random", M=A @ A.T + np.eye(n), K=draw(st.sampled_from([0, 1, 50])) * B @ B.T,
        C=draw(st.sampled_from([0, 0.5])) * C @ C.T, f=[f"3*sin(2*t + {k})" for k in range(n)], H=H,
        b=rng.uniform(0, 0.1, nc) - H @ q0, e=(restitution * rng.uniform(0, 1, nc)).tolist(),
        start={"q": q0.tolist(), "v": rng.normal(size=n).tolist(), "t_end": 2.0},
    )  # fmt: skip


def forces(system, sol) -> np.ndarray:
    """Return F at the rows, evaluated from the matrices."""
    load = 3 * np.sin(2 * sol.t[:, None] + np.arange(len(system.M)))
    return load - sol.q @ system.K - sol.v @ system.C


@settings(deadline=None, max_examples=15)
@given(system=systems(restitution=False))
def test_multipliers_are_the_central_difference_of_carpenter(system):
    """M (u_{k+1} - 2 u_k + u_{k-1}) = h^2 F_k + h G' p, 0 <= gap(u_{k+1}) perp p >= 0."""
    h = 0.02
    sol = ex.simulate(system, CentralDifference(h=h, contact="multipliers"))
    M, H, q = system.M, system.H, sol.q
    left = (q[2:] - 2 * q[1:-1] + q[:-2]) @ M
    right = h**2 * forces(system, sol)[1:-1] + h * sol.p[2:] @ H
    assert np.abs(left - right).max() <= 1e-11 * np.abs(M).sum() * (1 + np.abs(q).max())
    gap = q @ H.T + system.b
    assert (sol.p >= 0).all()
    assert gap.min() >= -1e-9
    assert np.abs(np.where(sol.p > 0, gap, 0)).max() <= 1e-9


@settings(deadline=None, max_examples=15)
@given(system=systems())
def test_decomposition_balances_momentum_and_keeps_both_laws(system):
    """M (v1 - v0) = h/2 (M a0 + F1) + G' p, 0 <= G v1 + e G v0 perp p where the gap is closed."""
    h = 0.02
    sol = ex.simulate(system, CentralDifference(h=h))
    M, H, q, v = system.M, system.H, sol.q, sol.v
    F, size = forces(system, sol), np.abs(system.M).sum() * (1 + np.abs(v).max())
    left = np.diff(v, axis=0) @ M - sol.p[1:] @ H
    assert np.abs(left - h / 2 * (F[1:] + sol.a[:-1] @ M)).max() <= 1e-11 * size
    free = ~(sol.p > 0).any(axis=1)  # an impact leaves M a = F(v before it)
    assert np.abs(sol.a @ M - F)[free].max() <= 1e-11 * size * (1 + np.abs(F).max())
    moved = q[:-1] + h * v[:-1] + h**2 / 2 * sol.a[:-1]
    gap, ahead = q @ H.T + system.b, moved @ H.T + system.b
    assert gap.min() >= -1e-9
    corrected = np.abs(q[1:] - moved).max(axis=1) > 1e-9 * (1 + np.abs(q).max())
    assert (ahead[corrected].min(axis=1) < 1e-9).all()  # only what would penetrate is moved
    assert np.abs(np.where(sol.p > 0, gap, 0)).max() <= 1e-9
    e = np.array([float(c.e) for c in system.contacts])
    law = v[1:] @ H.T + e * (v[:-1] @ H.T)
    assert (sol.p >= 0).all()
    assert np.abs(law[sol.p[1:] > 0]).max(initial=0.0) <= 1e-9 * (1 + np.abs(v).max())
    assert law[gap[1:] <= 0].min(initial=0.0) >= -1e-9 * (1 + np.abs(v).max())


@pytest.mark.parametrize("name", ["elastic_bar", "vibrating_table"])
def test_multipliers_move_a_linear_system_as_schatzman_and_paoli_without_restitution(name):
    system = models[name]()
    mine = ex.simulate(system, CentralDifference(contact="multipliers"), e=0, t_end=1.2)
    theirs = ex.simulate(system, ex.SchatzmanPaoli(beta=0, h=mine.scheme.h), e=0, t_end=1.2)
    assert mine.p.any()
    np.testing.assert_allclose(mine.q, theirs.q, atol=1e-10)
    np.testing.assert_allclose(mine.p, theirs.p, atol=1e-10 * mine.p.max())


# -- smooth motion --------------------------------------------------------------------------------


@pytest.mark.parametrize("omega_h", [0.05, 0.5, 1.5, 1.99])
def test_an_oscillator_has_the_frequency_of_the_central_difference(omega_h):
    """u_k = cos(k theta), v_k = -sin(theta) sin(k theta) / h, theta = 2 asin(omega h / 2)."""
    omega = 3.0
    h = omega_h / omega
    sol = ex.simulate(oscillator(omega), CentralDifference(h=h), t_end=60 * h)
    k, theta = np.round(sol.t / h), 2 * np.arcsin(omega_h / 2)
    assert sol.q[:, 0] == pytest.approx(np.cos(k * theta), abs=1e-10)
    assert sol.v[:, 0] == pytest.approx(-np.sin(theta) * np.sin(k * theta) / h, abs=1e-9 / h)
    if omega_h < 0.1:
        assert 1 - (2 * np.pi / theta) / (2 * np.pi / omega_h) == pytest.approx(
            omega_h**2 / 24, rel=1e-3
        )


@pytest.mark.parametrize("c", [0.0, 0.6, 6.0])
def test_a_step_beyond_two_over_omega_is_refused(c):
    """With damping too, as the force of the velocity is taken at the end of the step."""
    omega = 5.0
    system = oscillator(omega, c)
    below = ex.simulate(system, CentralDifference(h=0.999 * 2 / omega), t_end=100)
    assert np.abs(below.q).max() <= 60
    with pytest.raises(BadValue, match=r"above the stability limit 0\.4 s .*omega = 5 rad/s"):
        ex.simulate(system, CentralDifference(h=1.001 * 2 / omega), t_end=100)


def test_the_limit_of_many_masses_is_that_of_the_highest_mode_and_contact_does_not_lower_it():
    bar = models["elastic_bar"](20)
    c_over_element = np.sqrt(900 / 1) / (10 / 20)  # lumped: omega_max = 2 c / element
    limit = 1 / c_over_element
    with pytest.raises(BadValue, match="stability limit"):
        ex.simulate(bar, CentralDifference(h=1.01 * limit))
    for contact in WAYS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ex.SchemeWarning)  # T + V alone sways near the limit
            run = ex.simulate(bar, CentralDifference(h=0.99 * limit, contact=contact), t_end=20)
        assert run.p.any()
        kept = run.energy - (0.99 * limit) ** 2 / 8 * (run.a**2 @ masses(20))
        assert kept.max() <= run.energy[0] * (1 + 1e-9)


def test_growth_of_a_nonlinear_system_is_told():
    """A stiff spring on a pendulum, above 2 / omega: no linear system, so nothing is refused."""
    system = models["elastic_pendulum"]()
    run = functools.partial(ex.simulate, system, t_end=1.0, d=50.0, k=4000.0, throw=False)
    calm, wild = run(CentralDifference(h=5e-3)), run(CentralDifference(h=4e-2))
    assert calm.status.ok
    assert calm.certificate.ok
    assert "growth" in [check.name for check in wild.certificate.broken]


def test_order_with_a_mass_matrix_that_moves_and_forces_of_velocities():
    system = MechanicalSystem(
        "double pendulum", q="a b", mass=[[2, "cos(a - b)"], ["cos(a - b)", 1]],
        force=["-v_b**2*sin(a - b) - 2*9.81*sin(a) - v_a/5", "v_a**2*sin(a - b) - 9.81*sin(b)"],
        contacts=[ex.Contact("9 + a", 0.5)], start={"q": [2.0, 1.0], "v": [0.0, 0.0]},
    )  # fmt: skip
    truth = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13), t_end=2.0).x[-1]
    steps, errors = (8e-3, 4e-3, 2e-3, 1e-3), []
    for h in steps:
        sol = ex.simulate(system, CentralDifference(h=h), t_end=2.0)
        errors.append(np.abs([*sol.q[-1], *sol.v[-1]] - truth).max())
    assert slope(steps, errors) == pytest.approx(CentralDifference.order, abs=0.15), errors


# -- impacts --------------------------------------------------------------------------------------


@functools.cache
def located(e: float) -> np.ndarray:
    system = models["impact_oscillator"]()
    run = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13), t_end=12, e=e)
    assert sum(event.kind == "impact" for event in run.events) >= 2
    return run.x[-1]


@pytest.mark.parametrize(("contact", "e"), [("decomposition", 0.7), ("multipliers", 0.0)])
def test_order_across_impacts(contact, e):
    """The mean over steps near h: the error of one run depends on where in a step it was hit."""
    system, centres, means = models["impact_oscillator"](), (8e-3, 4e-3, 2e-3, 1e-3), []
    for centre in centres:
        errors = []
        for h in centre * np.linspace(0.8, 1.25, 30):
            sol = ex.simulate(system, CentralDifference(h=h, contact=contact), t_end=12, e=e)
            errors.append(np.abs([*sol.q[-1], *sol.v[-1]] - located(e)).max())
        means.append(np.mean(errors))
    order = CentralDifference.order_across_events
    assert slope(centres, means) == pytest.approx(order, abs=0.25), means


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("h", [1e-2, 7.3e-3])
def test_an_impact_is_newtons_to_round_off(e, h):
    """In one step the whole impulse m (1 + e) V is given, wherever the wall is hit."""
    m, V = 2.0, 3.0
    body = MechanicalSystem("body", q="x", mass=[[m]], contacts=[ex.Contact("x", e)],
                            start={"q": [1.0], "v": [-V], "t_end": 1.0})  # fmt: skip
    for x0 in np.linspace(0.9, 1.1, 23):
        sol = ex.simulate(body, CentralDifference(h=h), q0=[x0])
        (hit,) = [x for x in sol.events if x.kind == "impact"]
        assert hit.impulse == pytest.approx(m * (1 + e) * V, rel=1e-12)
        assert (hit.v_minus[0], hit.v_plus[0]) == pytest.approx((-V, e * V), rel=1e-12)
        assert x0 / V - 1e-12 <= hit.t <= x0 / V + h
        assert abs(sol.q[-1, 0] - e * V * (1.0 - x0 / V)) <= h * V
        assert sol.gap.min() >= -1e-12


def test_multipliers_stop_a_body_within_two_steps():
    """They realise e = 0: the impulse of both steps is m V."""
    m, V, h = 2.0, 3.0, 1e-2
    body = MechanicalSystem("body", q="x", mass=[[m]], contacts=[ex.Contact("x", 0)],
                            start={"q": [1.0], "v": [-V], "t_end": 1.0})  # fmt: skip
    for x0 in np.linspace(0.9, 1.1, 23):
        sol = ex.simulate(body, CentralDifference(h=h, contact="multipliers"), q0=[x0])
        assert np.count_nonzero(sol.p) <= 2
        assert sol.p.sum() == pytest.approx(m * V, rel=1e-12)
        assert np.abs(sol.q[-1]) == pytest.approx(0.0, abs=1e-12)
        assert sol.v[-1, 0] == pytest.approx(0.0, abs=1e-12)
        assert sol.gap.min() >= -1e-12


@pytest.mark.parametrize("h", [4e-3, 1e-3, 2.5e-4])
@pytest.mark.parametrize("e", [0.5, 0.8])
def test_the_ball_follows_its_closed_form_to_first_order(h, e):
    """|y - exact| <= C h with one C for all step sizes, through the accumulation of its impacts."""
    model = models["bouncing_ball"]()
    sol = ex.simulate(model, CentralDifference(h=h), e=e, t_end=4.5)
    assert np.abs(sol.q - model.exact(sol.t, sol.rho)["q"]).max() <= 12 * h


@pytest.mark.parametrize("contact", WAYS)
def test_a_ball_at_rest_stays_at_rest_on_the_force_of_its_weight(contact):
    h, m = 0.01, 2.0
    ball = MechanicalSystem("ball", q="y", mass=[[m]], force=[-m * G], contacts=[ex.Contact("y", 0)],
                            start={"q": [0.0], "t_end": 1.0})  # fmt: skip
    sol = ex.simulate(ball, CentralDifference(h=h, contact=contact))
    assert np.abs(sol.q).max() <= 1e-13
    assert sol.p[2:] == pytest.approx(m * G * h, rel=1e-10)
    late = {"decomposition": 0.0, "multipliers": -G * h / 2}[contact]  # as the docstring says
    assert sol.v[1:] == pytest.approx(late, abs=1e-12)
    assert [x.kind for x in sol.events] == []


@pytest.mark.parametrize("contact", WAYS)
def test_an_elastic_bar_leaves_the_wall_after_its_wave_was_there_and_back(contact):
    """2 L / c under the force V A sqrt(E rho); then it flies away with V (d'Alembert)."""
    n, L, E, rho, A, V = 100, 10.0, 900.0, 1.0, 1.0, 10.0
    bar = models["elastic_bar"](n)
    sol = ex.simulate(bar, CentralDifference(h=1e-3, contact=contact))
    touch = sol.t[sol.p[:, 0] > 0]
    assert touch[-1] - touch[0] == pytest.approx(2 * L * np.sqrt(rho / E), rel=0.01)
    plateau = (sol.t > touch[0] + 0.1) & (sol.t < touch[-1] - 0.1)
    force = sol.p[plateau, 0] / 1e-3
    assert force.mean() == pytest.approx(V * A * np.sqrt(E * rho), rel=0.01)
    m = masses(n)
    assert sol.v[-1] @ m / m.sum() == pytest.approx(V, rel=0.02)
    assert sol.p.sum() == pytest.approx(2 * V * m.sum(), rel=0.01)
    assert sol.energy.max() <= sol.energy[0] * (1 + 1e-9)
    assert sol.energy[-1] == pytest.approx(sol.energy[0] * (1 - 1 / (2 * n)), rel=1e-4)
    assert sol.gap.min() >= -1e-12


# -- what it refuses ------------------------------------------------------------------------------


def test_restitution_is_refused_where_there_is_no_law_of_impact():
    ball = models["bouncing_ball"]()
    wanted = r"cannot give the restitution e = 0\.8 of 'floor'.*Set e = 0, or use contact='decomp"
    with pytest.raises(BadValue, match=wanted):
        ex.simulate(ball, CentralDifference(contact="multipliers"))
    assert ex.simulate(ball, CentralDifference(contact="multipliers"), e=0).status.ok
    with pytest.raises(ex.NotApplicable, match="without friction"):
        ex.simulate(models["block_on_slope"](), CentralDifference())
    with pytest.raises(BadValue, match="contact"):
        CentralDifference(contact="penalty")


def test_each_way_of_contact_cites_its_own_source():
    assert "carpenter-1991" in CentralDifference(contact="multipliers").sources()
    assert "carpenter-1991" not in CentralDifference().sources()
    assert "cirak-west-2005" in CentralDifference().sources()
