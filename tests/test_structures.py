"""Structures: closed forms of the pendulum, the gap spring, the portal frame and the elastic bar."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.linalg
from scipy.special import ellipk

import explorer as ex
from explorer.compiled import compile_system
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-12, atol=1e-13)


def published(model: str) -> float:
    """Return the one published number of a model."""
    ((number, _, _),) = models[model]().published.values()
    return number


def module(model: str):
    """Return the module of a model, which the registry hides behind its function."""
    return sys.modules[f"explorer.models.{model}"]


def returns(run, level: float = 0.0) -> np.ndarray:
    """Return the times at which the first coordinate passes a level upwards, by its own slope."""
    x = run.q[:, 0] - level
    i = np.flatnonzero((x[:-1] < 0) & (x[1:] >= 0))
    return run.t[i] - x[i] * np.diff(run.t)[i] / np.diff(x)[i]


@pytest.mark.parametrize(
    ("model", "rho"),
    [
        ("pendulum", {"theta0": 3.1}),
        ("pendulum", {"theta0": 1.0, "w0": 2.0}),
        ("pendulum", {"theta0": -1.0, "w0": -5.0, "g": 3.0, "l": 2.0}),
        ("pendulum", {"theta0": 7.0, "w0": 0.5}),  # it hangs a turn further
        ("pendulum", {"theta0": 0.5, "w0": 9.0}),
        ("pendulum", {"theta0": 0.5, "w0": -9.0}),
        ("gap_stop", {}),
        ("gap_stop", {"k2": 200.0, "s": 0.0}),
        ("gap_stop", {"k2": 3.0, "s": 1.4, "k": 5.0, "m": 2.0}),
        ("gap_stop", {"s": 2.0}),  # never met
    ],
)
def test_closed_form_is_the_motion(model, rho):
    system = models[model]()
    run = ex.simulate(system, TIGHT, rho=rho, t_end=10)
    exact = system.exact(run.t, run.rho)
    scale = 1 + np.abs(run.x).max()
    # between two springs the flow has a kink, which the step control sees, but no event
    near = 1e-8 if model == "pendulum" else 1e-7
    assert np.abs(run.q - exact["q"]).max() <= near * scale
    assert np.abs(run.v - exact["v"]).max() <= near * scale


@pytest.mark.parametrize("theta0", [0.1, np.pi / 2, 3.0])
def test_pendulum_has_the_period_of_the_elliptic_integral(theta0):
    run = ex.simulate(
        models["pendulum"](), TIGHT, theta0=theta0, t_end=15, t_eval=np.linspace(0, 15, 15001)
    )
    period = 4 * np.sqrt(1 / 9.81) * ellipk(np.sin(theta0 / 2) ** 2)
    assert module("pendulum").period(run.rho) == pytest.approx(period, rel=1e-12)
    assert np.diff(returns(run)) == pytest.approx(period, rel=1e-6)
    if theta0 == np.pi / 2:
        assert period * np.sqrt(9.81) / (2 * np.pi) == pytest.approx(
            published("pendulum"), abs=1e-7
        )


def test_pendulum_that_turns_over_comes_round_in_its_period():
    rho = {"theta0": 0.0, "w0": 8.0}
    run = ex.simulate(models["pendulum"](), TIGHT, rho=rho)
    assert run.at(module("pendulum").period(run.rho)).q[0] == pytest.approx(2 * np.pi, abs=1e-9)


@pytest.mark.parametrize("scheme", [ex.Newmark, ex.GeneralizedAlpha, ex.MoreauJean])
def test_a_gap_spring_keeps_second_order(scheme):
    """The force has a kink only: halving h quarters the error, whatever side Newton begins on."""
    system, error = models["gap_stop"](), []
    for h in (4e-3, 2e-3, 1e-3):
        run = ex.simulate(system, scheme(h=h), t_end=8)
        error.append(np.abs(run.q - system.exact(run.t, run.rho)["q"]).max())
    assert np.log2(error[0] / error[2]) / 2 > 1.8


def test_the_stop_shortens_the_period():
    run = ex.simulate(models["gap_stop"](), TIGHT, t_eval=np.linspace(0, 20, 20001))
    assert np.diff(returns(run)) == pytest.approx(module("gap_stop").period(run.rho), rel=1e-6)
    assert module("gap_stop").period(run.rho) == pytest.approx(published("gap_stop"), abs=1e-6)


def frame(**rho) -> tuple[np.ndarray, np.ndarray]:
    """Return M and K of the portal frame."""
    system = models["portal_frame"]()
    compiled = compile_system(system)
    M, K, _, _ = compiled.matrices(compiled.input(system.rho(rho)))
    return M, K


def condensed(K: np.ndarray) -> float:
    """Return the stiffness of the first coordinate, the others free."""
    return K[0, 0] - K[0, 1:] @ np.linalg.solve(K[1:, 1:], K[1:, 0])


def test_the_frame_has_the_stiffness_of_the_textbooks():
    """24 EI / H^3 for a rigid beam, 6 EI / H^3 for one that only joins, Chopra's formula between."""
    EI, H, B = 3e6, 3.0, 5.0
    for EI_b, factor in ((1e14, 24), (1e-4, 6), (3e6 * 5 / 3, 24 * 7 / 10)):
        _, K = frame(EI_c=EI, EI_b=EI_b, H=H, B=B)
        assert np.allclose(K, K.T)
        assert condensed(K) == pytest.approx(factor * EI / H**3, rel=1e-6)
        assert module("portal_frame").stiffness(EI, EI_b, H, B) == pytest.approx(
            factor * EI / H**3, rel=1e-6
        )


def test_the_frame_carries_its_masses():
    """M belongs to the shapes of the members: integrals of their squares, by quadrature."""
    m_b, m_c, H, B = 3000.0, 500.0, 3.0, 5.0
    M, _ = frame(m_b=m_b, m_c=m_c, H=H, B=B)
    s, w = np.polynomial.legendre.leggauss(8)
    s, w = (s + 1) / 2, w / 2
    column = np.array([s**2 * (3 - 2 * s), -H * s**2 * (1 - s)])
    beam = np.array([-B * s * (1 - s) ** 2, B * s**2 * (1 - s)])
    of_column, of_beam = (m * (f * w) @ f.T for m, f in ((m_c, column), (m_b, beam)))
    expected = np.zeros((3, 3))
    expected[1:, 1:] = of_beam
    for joint in (1, 2):
        expected[np.ix_([0, joint], [0, joint])] += of_column
    expected[0, 0] += m_b
    np.testing.assert_allclose(M, expected, rtol=1e-12)
    moved = np.array([m_b + m_c, *[m_c * w @ column[1]] * 2])  # with the ground, as a rigid body
    compiled = compile_system(models["portal_frame"]())
    rho = models["portal_frame"]().rho({"m_b": m_b, "m_c": m_c, "H": H, "B": B, "omega": 1.0})
    inp = compiled.input(rho)
    inp[0] = np.pi / 2
    assert compiled.bundles["force"](inp) == pytest.approx(-moved, rel=1e-12)


def test_the_frame_sways_in_its_own_shapes():
    """Released from a shape of scipy's it goes on in it, cos(omega t)."""
    M, K = frame(a0=0, a1=0)
    squares, shapes = scipy.linalg.eigh(K, M)
    for square, shape in zip(squares, shapes.T, strict=True):
        run = ex.simulate(models["portal_frame"](), TIGHT, a_g=0, a0=0, a1=0, t_end=0.5,
                          q0=(0.01 * shape).tolist())  # fmt: skip
        there = 0.01 * np.outer(np.cos(np.sqrt(square) * run.t), shape)
        assert np.abs(run.q - there).max() <= 1e-8 * np.abs(there).max()


def test_the_bar_touches_the_wall_for_two_lengths_of_the_wave():
    """2 L / c = 2/3 s, one stretch of contact; it leaves with the speed it came with."""
    bar = models["elastic_bar"](60)
    run = ex.simulate(bar, ex.MoreauJean(h=5e-4))
    ((first, after),) = run.closed_runs(0)
    assert run.t[after] - run.t[first] == pytest.approx(published("elastic_bar"), rel=0.01)
    assert module("elastic_bar").contact_time(10, 900, 1) == pytest.approx(2 / 3, abs=1e-12)
    late = run.t > run.t[after]
    weights = np.full(61, 1.0)
    weights[[0, -1]] = 0.5
    assert run.v[late] @ weights / 60 == pytest.approx(10, rel=0.03)
    assert (run.energy[late] < run.energy[0]).all()
    force = np.diff(run.t)[0]
    middle = (run.t > run.t[first] + 0.15) & (run.t < run.t[after] - 0.15)
    assert run.p[middle, 0].mean() / force == pytest.approx(300, rel=0.01)  # V A sqrt(E rho)


def test_the_end_of_the_bar_loses_its_own_energy_and_no_more():
    run = ex.simulate(models["elastic_bar"](10), ex.EventDriven())
    assert run.events[0].t == pytest.approx(0.3, abs=1e-9)
    assert run.energy[-1] / run.energy[0] == pytest.approx(1 - 1 / 20, abs=1e-6)


def test_finer_bars_come_nearer_to_the_waves():
    off = []
    for n in (10, 40):
        bar = models["elastic_bar"](n)
        run = ex.simulate(bar, ex.MoreauJean(h=1e-3))
        exact = bar.exact(run.t, run.rho)
        off.append(np.sqrt(((run.q - exact["q"]) ** 2).mean()))
        u, v = exact["q"], exact["v"]
        flat = np.abs(np.diff(v, axis=0)).max(axis=1) == 0
        slope = np.diff(u, axis=0) / np.diff(run.t)[:, None]
        assert np.abs(slope - v[1:])[flat].max() < 1e-8, "v is the rate of u"
    assert off[1] < 0.5 * off[0]
