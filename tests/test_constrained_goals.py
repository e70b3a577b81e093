"""`minimize`, `fit` and `limit_cycle` on constrained systems: answers known from the angle."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from scipy.special import ellipk

import explorer as ex

TIGHT = ex.EventDriven(rtol=1e-11, atol=1e-12)


def rod(assemble=None, **start):
    """Return a driven and damped mass on a rod in x and y."""
    system = ex.MechanicalSystem(
        "rod", q="x y", params={"L": 1.0, "g": 9.81, "c": 0.4, "F": 1.5, "w": 2.5},
        force=["-c*v_x + F*sin(w*t)", "-g - c*v_y"], constraints=["x**2 + y**2 - L**2"],
    )  # fmt: skip
    system.start(q=["L*sin(0.6)", "-L*cos(0.6)"], assemble=assemble, **start)
    return system


def pendulum():
    """Return the same by its angle."""
    return ex.MechanicalSystem(
        "pendulum", q="a", params={"L": 1.0, "g": 9.81, "c": 0.4, "F": 1.5, "w": 2.5},
        force=["-g/L*sin(a) - c*v_a + F*sin(w*t)*cos(a)/L"], start={"q": [0.6]},
    )  # fmt: skip


def placed(a, rate):
    """Return (x, y, v_x, v_y) on a rod of length 1."""
    return [np.sin(a), -np.cos(a), rate * np.cos(a), rate * np.sin(a)]


def test_a_fit_finds_length_and_damping():
    t = np.linspace(0.1, 2.0, 15)
    a = ex.simulate(pendulum(), TIGHT, t_end=2.0, t_eval=t, L=1.13, c=0.31).q[:, 0]
    data = 1.13 * np.stack([np.sin(a), -np.cos(a)], axis=1)
    found = ex.fit(rod(t_end=2.0), t, data, ["x", "y"], ["L", "c"], scheme=TIGHT)
    assert found.parameters == pytest.approx({"L": 1.13, "c": 0.31}, abs=1e-9)


def test_a_length_is_found_by_its_quarter_period():
    """x = 0 at T = sqrt(L / g) K(sin(0.3)); the start moves with L."""
    system = rod(True, t_end=0.55)
    found = ex.minimize(system, {"w": "x**2/L**2"}, ["L"], scheme=TIGHT, F=0, c=0)
    wanted = 9.81 * (0.55 / ellipk(np.sin(0.3) ** 2)) ** 2
    assert found.parameters["L"] == pytest.approx(wanted, rel=1e-6)


@for_each("assemble", [None, True, "y"])
def test_a_driven_rod_has_the_cycle_and_multipliers_of_its_angle(assemble):
    """Newton's steps leave the constraint; directions across it have the multiplier 0."""
    by_angle = ex.study.limit_cycle(pendulum(), TIGHT, period="2*pi/w", guess=[0, 0])
    cycle = ex.study.limit_cycle(rod(assemble), TIGHT, period="2*pi/w", guess=[0, -1, 0, 0])
    assert cycle.x == pytest.approx(placed(*by_angle.x), abs=1e-9)
    assert cycle.multipliers[:2] == pytest.approx(by_angle.multipliers, abs=1e-9)
    assert np.abs(cycle.multipliers[2:]).max() < 1e-12


def test_impacts_on_a_wall_repeat_as_those_of_the_angle():
    params, wall = {"b": 0.6}, {"e": 0.7, "name": "wall"}
    by_angle = ex.MechanicalSystem(
        "angle", q="a", params=params, force=["-9.81*sin(a) + b*v_a*(1 - 4*sin(a)**2)"],
        contacts=[ex.Contact("sin(a) + 0.3", **wall)], start={"q": [0.9], "t_end": 4.0},
    )  # fmt: skip
    places = ex.MechanicalSystem(
        "places", q="x y", params=params, constraints=["(x**2 + y**2 - 1)/2"],
        force=["b*v_x*(1 - 4*x**2)", "-9.81 + b*v_y*(1 - 4*x**2)"],
        contacts=[ex.Contact("x + 0.3", **wall)], start={"q": [0.8, -0.6], "t_end": 4.0},
    )  # fmt: skip
    guess = [-np.arcsin(0.3), 1.5]
    wanted = ex.study.limit_cycle(by_angle, TIGHT, section="wall", guess=guess)
    cycle = ex.study.limit_cycle(places, TIGHT, section="wall", guess=placed(*guess))
    assert cycle.period == pytest.approx(wanted.period, abs=1e-9)
    assert cycle.x == pytest.approx(placed(*wanted.x), abs=1e-9)
    assert cycle.multipliers[0] == pytest.approx(wanted.multipliers[0], abs=1e-9)


def test_a_constraint_that_moves_has_no_section():
    with pytest.raises(ex.BadModel, match="depends on t, so a return to 'wall' has another phase"):
        ex.study.limit_cycle(ex.models.pendulum_moving_pivot(), section="wall")
