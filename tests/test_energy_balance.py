"""The energy of a run: works that add up, physics told from the scheme, for every model."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest
from kinds import SYSTEMS, schemes_of

import explorer as ex
from explorer.models import models
from explorer.quantities import quantity
from explorer.study import energy_balance, oscillator

SCHEMES = [(name, scheme) for name in models
           if isinstance(SYSTEMS[name], ex.MechanicalSystem)
           for scheme in schemes_of(name)]  # fmt: skip


def scale(balance) -> float:
    """Return the size of the energies, in J."""
    return max(balance.kinetic.max(), np.abs(balance.energy).max())


@pytest.mark.broad
@pytest.mark.parametrize(("name", "scheme"), SCHEMES)
def test_every_model_accounts_for_its_energy(name, scheme):
    """What is located is exact, so nothing is left; what steps leaves an error that h takes away."""
    system = SYSTEMS[name]
    default = next(s for s in ex.schemes_for(system) if type(s).__name__ == scheme)
    left = []
    # corrections of positions at an impact do work of order h times where it lies in its step: of the
    # ball on a plate 6.2, 2.9, 1.2, 2.2, 4.4, 3.6, 0.8, 1.7, 0.5 (1e-4) at h / (1, 1.5, 2, 3, ..., 16)
    finer = 8 if scheme == "NonsmoothGeneralizedAlpha" and system.constraints else 4
    for run in [default] if scheme == "EventDriven" else [
        dataclasses.replace(default, h=system.h / k) for k in (1, finer)
    ]:  # fmt: skip
        solution = ex.simulate(system, run)
        found = energy_balance(solution)
        parts = sum(found.works.values()) + found.numerical
        assert found.energy - found.energy[0] == pytest.approx(parts, abs=1e-12 * scale(found))
        left.append(np.abs(found.numerical).max() / scale(found))
    if scheme == "EventDriven":
        # on an obstacle that moves, impacts that accumulate are cut short, and leave 3e-6 each
        moves = any(system.t in c.gap.free_symbols for c in system.contacts)
        cut = sum(e.kind == "zeno" for e in solution.events) if moves else 0
        assert left[0] < 3e-7 + 4e-6 * cut
    else:
        assert left[1] < max(0.6 * left[0], 1e-11)


@pytest.mark.parametrize("method", [ex.Newmark(h=0.02), ex.MoreauJean(h=0.02),
                                    ex.EventDriven(method=ex.Newmark(h=0.02))], ids=repr)  # fmt: skip
def test_average_acceleration_leaves_nothing_in_a_linear_system(method):
    """Damped, driven, with matrices that are full: the balance closes to round-off."""
    rng = np.random.default_rng(3)
    A, B = rng.normal(size=(2, 4, 4))
    system = ex.LinearMechanicalSystem(
        "four", M=A @ A.T + np.eye(4), K=B @ B.T, C=0.1 * A @ A.T, f=["cos(3*t)", "0", "1", "t"],
        start={"q": [1, 0, 0, -1], "v": [0, 1, 0, 0], "t_end": 5},
    )  # fmt: skip
    found = energy_balance(ex.simulate(system, method))
    assert set(found.works) == {"external", "damping"}
    assert np.abs(found.numerical).max() <= 1e-12 * scale(found)
    assert (np.diff(found.damping) <= 0).all()


def test_what_a_damped_scheme_takes_is_its_spectral_radius():
    """Far above the frequencies of interest every step keeps the share radius^2 of the energy."""
    scheme = ex.GeneralizedAlpha(h=30.0, rho_inf=0.8)
    found = energy_balance(ex.simulate(oscillator(), scheme, t_end=900))
    radius = ex.study.stability(scheme, omega_h=[30.0]).radius[0]
    assert found.works == {}
    assert found.numerical[-1] == found.energy[-1] - found.energy[0]
    fast = np.log(found.energy[-1] / found.energy[10]) / 20
    assert fast == pytest.approx(2 * np.log(radius), rel=0.05)
    growing = ex.simulate(models["pendulum"](), ex.Newmark(h=0.02, gamma=0.4), theta0=0.5)
    assert energy_balance(growing).numerical[-1] > 0.1


def test_works_are_those_of_closed_forms():
    """A damper takes c v^2, a force gives f v, an impact takes (1 - e^2) of the energy."""
    c, f, w = 0.3, 2.0, 3.0
    system = ex.MechanicalSystem(
        "driven", q="x", mass=[[1]], force=[f"{f}*cos({w}*t) - {c}*v_x - x"], potential="x**2/2",
        start={"q": [1.0], "v": [0.0], "t_end": 6.0},
    )  # fmt: skip
    run = ex.simulate(system, ex.EventDriven(rtol=1e-12, atol=1e-13, points=6001))
    found = energy_balance(run)
    t, v = run.t, run.v[:, 0]
    for work, power in ((found.damping, -c * v**2), (found.external, f * np.cos(w * t) * v)):
        assert work[-1] == pytest.approx(np.trapezoid(power, t), rel=1e-5)
    ball = energy_balance(ex.simulate(models["bouncing_ball"](), ex.EventDriven(), e=0.6, t_end=1))
    assert set(ball.works) == {"contact"}
    assert ball.energy[-1] == pytest.approx(0.6**4 * 9.81, rel=1e-9)  # after two impacts


def test_a_table_drives_a_ball_by_its_impacts():
    found = energy_balance(ex.simulate(models["vibrating_table"](), ex.EventDriven()))
    assert (np.diff(found.contact) > 0).any()
    assert set(found.works) == {"contact"}


def test_yielding_takes_the_area_of_the_loops():
    system = models["bilinear_oscillator"]()
    run = ex.simulate(system, ex.Newmark(h=1e-3))
    found = energy_balance(run)
    k, b = run.rho["k"], run.rho["b"]
    x, z = run.q[:, 0], run.slip[:, 0]
    r = k * x - (1 - b) * k * z
    loop = np.sum((r[1:] + r[:-1]) / 2 * np.diff(x))
    stored = found.potential[-1] - found.potential[0]
    assert found.yielding[-1] == pytest.approx(stored - loop, rel=1e-6)
    assert (np.diff(found.yielding) <= 1e-12).all()
    assert np.abs(found.numerical).max() < 1e-12 * np.abs(found.external).max()


def test_friction_and_a_belt():
    """Sliding to rest takes all of the energy; on a belt friction drives, too."""
    block = ex.MechanicalSystem(
        "block", q="x y", force=[0, -9.81], mass=[[2, 0], [0, 2]],
        potential="9.81*y", contacts=[ex.Contact("y", mu=0.3, slip="v_x", name="floor")],
        start={"q": [0, 0], "v": [3, 0], "t_end": 3.0},
    )  # fmt: skip
    found = energy_balance(ex.simulate(block, ex.EventDriven()))
    assert found.friction[-1] == pytest.approx(-9.0, rel=1e-6)
    assert set(found.works) == {"friction"}
    belt = energy_balance(ex.simulate(models["stick_slip"](), ex.EventDriven()))
    assert (np.diff(belt.friction) > 1e-9).any()


def test_friction_at_impacts_is_friction_in_every_scheme():
    ball = models["thrown_ball"]()
    located, stepped = (
        energy_balance(ex.simulate(ball, scheme))
        for scheme in (ex.EventDriven(), ex.MoreauJean(h=1e-4))
    )
    assert located.friction[-1] < located.contact[-1] < -1
    assert located.contact[-1] == pytest.approx(stepped.contact[-1], rel=1e-3)
    assert located.friction[-1] == pytest.approx(stepped.friction[-1], rel=1e-3)


def test_it_says_what_it_cannot_tell():
    odd = ex.MechanicalSystem("odd", q="x", force=["-sin(x)*exp(x)"], start={"q": [1.0]})
    with pytest.raises(ex.NotApplicable, match="potential of 'odd' is not known"):
        energy_balance(ex.simulate(odd))
    with pytest.raises(ex.BadValue, match="accepts what simulate returns, not 3"):
        energy_balance(3)
    with pytest.raises(ex.NotApplicable, match="no forces, so no work"):
        energy_balance(ex.simulate(models["thermostat"]()))


def test_the_picture_shows_the_parts_and_their_sum():
    run = ex.simulate(models["shear_building"](), ex.GeneralizedAlpha(h=0.02, rho_inf=0.5))
    found = energy_balance(run)
    picture = ex.views.energy_balance.picture(found)
    parts = {"external forces": found.works["external"], "damping": found.works["damping"],
             "numerical: the scheme": found.numerical}  # fmt: skip
    total = found.energy - found.energy[0]
    assert sum(parts.values()) == pytest.approx(total, abs=1e-5 * scale(found))
    curves = {t["name"]: t for t in picture.data if t["yaxis"] == "y2"}
    parts["change of T + V"] = total
    assert set(curves) == set(parts)
    for name, values in parts.items():  # a straight stretch is drawn with few points
        drawn = np.interp(found.t, curves[name]["x"], curves[name]["y"])
        assert drawn == pytest.approx(values, abs=5e-3 * np.ptp(total)), name
    (own,) = (t for t in picture.data if t["yaxis"] == "y3")
    low, high = picture.layout["yaxis3"]["range"]
    assert low <= own["y"].min() <= own["y"].max() <= high < np.ptp(parts["external forces"]) / 50
    assert picture.layout["yaxis2"]["title"]["text"] == "work (J)"


def test_energies_and_works_are_shown_each_with_its_unit():
    """A woodpecker of millijoules, which ends at microjoules below zero."""
    balance = ex.study.energy_balance(ex.simulate(ex.models.woodpecker(), t_end=0.1))
    numbers = re.findall(r"[ (](-?[\d.]+(?: × 10\S+)?)(?: (\S?J))?", repr(balance))
    assert all(unit for _, unit in numbers), repr(balance)
    assert f"contact {quantity(balance.works['contact'][-1], 'J', 4)}" in repr(balance)
