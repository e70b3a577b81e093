"""Schatzman-Paoli: its two-step form, the law on means of positions, closed forms, orders, energy."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer import EventDriven, LinearMechanicalSystem, MechanicalSystem, SchatzmanPaoli
from explorer.errors import BadValue, NotApplicable
from explorer.models import models

G = 9.81


def slope(h, errors) -> float:
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


# -- its equations --------------------------------------------------------------------------------


@st.composite
def systems(draw):
    n = draw(st.integers(1, 4))
    nc = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    A, B, C = rng.normal(size=(3, n, n))
    H, q0 = rng.normal(size=(nc, n)), rng.normal(size=n)
    return LinearMechanicalSystem(
        "random", M=A @ A.T + np.eye(n), K=draw(st.sampled_from([0, 1, 50])) * B @ B.T,
        C=draw(st.sampled_from([0, 0.5])) * C @ C.T, f=[f"3*sin(2*t + {k})" for k in range(n)], H=H,
        b=rng.uniform(0, 0.1, nc) - H @ q0, e=rng.uniform(0, 1, nc).tolist(),
        start={"q": q0.tolist(), "v": rng.normal(size=n).tolist(), "t_end": 2.0},
    )  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(system=systems(), beta=st.sampled_from([0.1, 0.25]))
def test_it_is_the_two_step_recursion_of_its_authors(system, beta):
    h = 0.02
    sol = ex.simulate(system, SchatzmanPaoli(h=h, beta=beta))
    M, H, q, t = system.M, system.H, sol.q, sol.t
    load = 3 * np.sin(2 * t[:, None] + np.arange(len(M)))
    F = load - q @ system.K - sol.v @ system.C
    left = (q[2:] - 2 * q[1:-1] + q[:-2]) @ M
    smooth = beta * F[2:] + (1 - 2 * beta) * F[1:-1] + beta * F[:-2]
    right = h**2 * smooth + h * sol.p[2:] @ H
    assert np.abs(left - right).max() <= 1e-11 * np.abs(M).sum() * (1 + np.abs(q).max())
    e = np.array([float(c.e) for c in system.contacts])
    gap = ((q[2:, None] + e[:, None] * q[:-2, None]) * H).sum(axis=2) / (1 + e) + system.b
    assert (sol.p >= 0).all()
    assert gap.min() >= -1e-9
    assert np.abs(np.where(sol.p[2:] > 0, gap, 0)).max() <= 1e-9


@pytest.mark.parametrize("name", ["double pendulum", "elastic pendulum"])
def test_order_on_a_smooth_stretch(name):
    """With a mass matrix that moves and a force of the velocities."""
    system = models["elastic_pendulum"]()
    far = {"d": 50.0, "t_end": 2.0}
    if name == "double pendulum":
        system, far = MechanicalSystem(
            "double pendulum", q="a b", mass=[[2, "cos(a - b)"], ["cos(a - b)", 1]],
            force=["-v_b**2*sin(a - b) - 2*9.81*sin(a) - v_a/5", "v_a**2*sin(a - b) - 9.81*sin(b)"],
            contacts=[ex.Contact("9 + a", 0.5)], start={"q": [2.0, 1.0], "v": [0.0, 0.0]},
        ), {"t_end": 2.0}  # fmt: skip
    truth = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13), **far).x[-1]
    for beta in (0.0, 0.25):
        steps, errors = (8e-3, 4e-3, 2e-3, 1e-3), []
        for h in steps:
            sol = ex.simulate(system, SchatzmanPaoli(h=h, beta=beta), **far)
            assert not sol.p.any()
            errors.append(np.abs([*sol.q[-1], *sol.v[-1]] - truth).max())
        assert slope(steps, errors) == pytest.approx(SchatzmanPaoli.order, abs=0.15), errors


@functools.cache
def located() -> np.ndarray:
    system = models["impact_oscillator"]()
    run = ex.simulate(system, EventDriven(rtol=1e-12, atol=1e-13), t_end=12)
    assert sum(e.kind == "impact" for e in run.events) >= 3
    return run.x[-1]


def test_order_across_impacts():
    """The mean over steps near h: the error of one run depends on where in a step it was hit."""
    system, centres, means = models["impact_oscillator"](), (8e-3, 4e-3, 2e-3, 1e-3), []
    for centre in centres:
        errors = []
        for h in centre * np.linspace(0.8, 1.25, 30):
            sol = ex.simulate(system, SchatzmanPaoli(h=h), t_end=12)
            errors.append(np.abs([*sol.q[-1], *sol.v[-1]] - located()).max())
        means.append(np.mean(errors))
    order = SchatzmanPaoli.order_across_events
    assert slope(centres, means) == pytest.approx(order, abs=0.25), means


# -- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize("e", [0.0, 0.3, 0.8, 1.0])
@pytest.mark.parametrize("h", [1e-2, 7.3e-3])
def test_without_forces_an_impact_is_newtons_to_round_off(e, h):
    """Two steps, in which the whole impulse m (1 + e) V is given, wherever the wall is hit."""
    m, V = 2.0, 3.0
    body = MechanicalSystem("body", q="x", mass=[[m]], contacts=[ex.Contact("x", e)],
                            start={"q": [1.0], "v": [-V], "t_end": 1.0})  # fmt: skip
    for x0 in np.linspace(0.9, 1.1, 23):
        sol = ex.simulate(body, SchatzmanPaoli(h=h), q0=[x0])
        (hit,) = [x for x in sol.events if x.kind == "impact"]
        assert np.count_nonzero(sol.p) <= 2 or e == 0
        assert hit.impulse == pytest.approx(m * (1 + e) * V, rel=1e-12)
        assert (hit.v_minus[0], hit.v_plus[0]) == pytest.approx((-V, e * V), rel=1e-12)
        assert hit.t == pytest.approx(x0 / V, abs=3 * h)
        assert sol.v[-1, 0] == pytest.approx(e * V, abs=1e-12)
        late = sol.q[-1, 0] - e * V * (1.0 - x0 / V)
        assert abs(late) <= 2 * h * V  # of first order in the place
        assert sol.gap.min() >= -2 * e / (1 + e) * h * V - 1e-12


@pytest.mark.parametrize("h", [4e-3, 1e-3, 2.5e-4])
@pytest.mark.parametrize("e", [0.5, 0.8])
def test_the_ball_follows_its_closed_form_to_first_order(h, e):
    """|y - exact| <= C h with one C for all step sizes, through the accumulation of its impacts."""
    model = models["bouncing_ball"]()
    sol = ex.simulate(model, SchatzmanPaoli(h=h), e=e, t_end=4.5)
    assert np.abs(sol.q - model.exact(sol.t, sol.rho)["q"]).max() <= 12 * h
    if e == 0.8:  # rests from 4.06 s on
        rest = sol.t > 4.3
        assert np.abs(sol.q[rest]).max() <= G * h**2
        assert sol.p[rest].mean() == pytest.approx(G * h, rel=1e-3)
        assert sol.events[-1].kind == "closed"


def test_a_ball_at_rest_stays_at_rest():
    h, m = 0.01, 2.0
    ball = MechanicalSystem("ball", q="y", mass=[[m]], force=[-m * G], contacts=[ex.Contact("y", 0.5)],
                            start={"q": [0.0], "t_end": 1.0})  # fmt: skip
    sol = ex.simulate(ball, SchatzmanPaoli(h=h))
    assert np.abs(sol.q).max() <= 1e-13
    assert sol.p[2:] == pytest.approx(m * G * h, rel=1e-10)
    assert [x.kind for x in sol.events] == []


def test_a_moving_obstacle_gives_its_own_speed():
    """In the frame of a plate that moves evenly the impact is that of a plate at rest."""
    plate = MechanicalSystem("plate", q="x", contacts=[ex.Contact("x - 2*t", 0.5)],
                             start={"q": [1.0], "v": [-1.0], "t_end": 1.0})  # fmt: skip
    sol = ex.simulate(plate, SchatzmanPaoli(h=7e-3))
    (hit,) = [x for x in sol.events if x.kind == "impact"]
    assert hit.gap_dot_minus == pytest.approx(-3.0, rel=1e-12)
    assert hit.gap_dot_plus == pytest.approx(1.5, rel=1e-12)


def test_an_elastic_bar_leaves_the_wall_and_no_energy_is_made():
    """Its plastic nodes: at the wall for the 2/3 s that a wave takes there and back."""
    n, size = 100, 0.1
    mass = np.full(n + 1, size)
    mass[[0, -1]] /= 2
    K = 900 / size * (2 * np.eye(n + 1) - np.eye(n + 1, k=1) - np.eye(n + 1, k=-1))
    K[0, 0] = K[-1, -1] = 900 / size
    bar = LinearMechanicalSystem("bar", M=np.diag(mass), K=K, H=np.eye(1, n + 1), b=0.02,
                                 start={"v": [-10.0] * (n + 1), "t_end": 1.0})  # fmt: skip
    sol = ex.simulate(bar, SchatzmanPaoli(h=1e-3))
    touch = sol.t[sol.p[:, 0] > 0]
    assert touch[-1] - touch[0] == pytest.approx(2 / 3, rel=0.01)
    assert sol.energy.max() <= sol.energy[0] * (1 + 1e-9)
    assert sol.gap.min() >= -1e-12


def test_impacts_that_overlap_need_steps_that_tell_them_apart():
    """Balls 2 mm apart at 0.6 m/s: with 4 ms energy is made, with 1 ms and less up to O(h)."""
    cradle, gains = models["newtons_cradle"](), []
    for h in (4e-3, 1e-3, 5e-4, 2.5e-4):
        energy = ex.simulate(cradle, SchatzmanPaoli(h=h)).energy
        gains.append(energy.max() / energy[0] - 1)
    assert gains[0] > 0.1
    assert (np.array(gains[1:]) <= 0.1 * np.array([1e-3, 5e-4, 2.5e-4])).all(), gains


# -- what it is not for ---------------------------------------------------------------------------


def test_what_it_cannot_take_is_named():
    with pytest.raises(BadValue, match="beta"):
        SchatzmanPaoli(beta=0.3)
    with pytest.raises(NotApplicable, match="without friction"):
        ex.simulate(models["block_on_slope"](), SchatzmanPaoli())
    with pytest.raises(BadValue, match="stability limit"):
        ex.simulate(models["elastic_bar"](), SchatzmanPaoli(h=0.1, beta=0), t_end=1)
    assert SchatzmanPaoli() in [type(s)() for s in ex.schemes_for(models["bouncing_ball"]())]
