"""Constraints phi(t, q) = 0 at order 2 by time stepping: states, multipliers, energy, both levels."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer import Constraint, Contact, GeneralizedAlpha, MoreauJean, NonsmoothGeneralizedAlpha
from explorer.errors import BadValue
from explorer.models import models
from explorer.study import work_precision
from explorer.verification.gradients import Rows

G = 9.81
TIGHT = ex.EventDriven(rtol=1e-12, atol=1e-13, max_steps=1_000_000)
FREE = {"T": 0, "s": 1.3}  # the four-bar without torque, its stop out of reach
PENDULUM = models["spherical_pendulum"]()
SCHEMES = MoreauJean, GeneralizedAlpha, NonsmoothGeneralizedAlpha
VELOCITY = {"level": "velocity"}


@functools.cache
def four_bar(contacts=True):
    system = models["four_bar_stop"]()
    if not contacts:
        system.contacts = ()
    return system


@functools.cache
def fixed_top():
    """Return a top whose tip is held by a joint; it nods."""
    space = ex.Multibody("top")
    theta = 0.5
    body = space.body(
        "top", mass=0.5, inertia=(2.2e-4, 2.2e-4, 4e-4), turn=((1, 0, 0), theta),
        at=(0, -0.05 * np.sin(theta), 0.05 * np.cos(theta)), spin=(0, 0, 150),
    )  # fmt: skip
    space.spherical(body.point(0, 0, -0.05))
    return space.system(t_end=0.2)


def pendulum(angle=0.9, speed=0.0):
    """Return a mass of 2 kg on a rod of 1 m in Cartesian coordinates."""
    q = [np.sin(angle), -np.cos(angle)]
    return ex.MechanicalSystem(
        "pendulum", q="x y", mass=[[2, 0], [0, 2]], force=[0, -2 * G], potential="2*9.81*y",
        constraints=[Constraint("(x**2 + y**2 - 1)/2", "rod")],
        start={"q": q, "v": [-speed * q[1], speed * q[0]], "t_end": 2},
    )  # fmt: skip


def orders(errors) -> np.ndarray:
    errors = np.asarray(errors)
    return np.log2(errors[:-1] / errors[1:])


@functools.cache
def located(system, t_end, rho):
    """Return the state at the end by located events, and what positions and velocities range over."""
    run = ex.simulate(system, TIGHT, t_end=t_end, rho=dict(rho))
    return run.q[-1], run.v[-1], np.ptp(run.q, axis=0).max(), np.ptp(run.v, axis=0).max()


def states(system, scheme, steps, t_end, **rho):
    """Return the error of the state at the end for each step, beside its range."""
    q, v, way, speed = located(system, t_end, (*rho.items(),))
    found = []
    for h in steps:
        run = ex.simulate(system, scheme(h=h), t_end=t_end, rho=rho)
        assert run.certificate.ok, run.certificate
        found.append(max(np.abs(run.q[-1] - q).max() / way, np.abs(run.v[-1] - v).max() / speed))
    return found


@for_each("scheme", SCHEMES)
def test_states_are_of_order_2(scheme):
    """Against located events at 1e-12: a four-bar, a mass on a rod in space, a top on a joint."""
    has_contacts = scheme is not GeneralizedAlpha
    halved = (2e-3, 1e-3, 5e-4)
    assert orders(states(four_bar(has_contacts), scheme, halved, 1.0, **FREE))[1:] == (
        pytest.approx(2, abs=0.15)
    )
    found = orders(states(PENDULUM, scheme, halved, 1.0))
    assert found == pytest.approx(2, abs=0.05)
    top = orders(states(fixed_top(), scheme, (4e-4, 2e-4, 1e-4), 0.1))
    assert top == pytest.approx(2, abs=0.15)


def test_a_closed_contact_on_a_curve_is_of_order_2_beside_constraints():
    """The tip of a top slides on a table; without constraints gradients are taken once a step."""
    top = models["spinning_top"]()
    for scheme, knobs in ((MoreauJean, {}), (NonsmoothGeneralizedAlpha, {}),
                          (NonsmoothGeneralizedAlpha, VELOCITY)):  # fmt: skip
        errors = states(top, functools.partial(scheme, **knobs), (4e-4, 2e-4, 1e-4), 0.1, spin=0.8)
        assert orders(errors) == pytest.approx(2, abs=0.15), (scheme, knobs)
        assert scheme(**knobs).orders_on(top) == (2, 1)
    mixed = functools.partial(NonsmoothGeneralizedAlpha, force="interpolated")
    errors = states(top, mixed, (4e-4, 2e-4, 1e-4), 0.1, spin=0.8)
    assert orders(errors) == pytest.approx(mixed().orders_on(top)[0], abs=0.15)
    assert mixed().orders_on(top) == (1, 1)
    assert mixed().orders_on(PENDULUM) == (2, 1)
    nods = ex.simulate(top, NonsmoothGeneralizedAlpha(h=1e-4), spin=0.7)
    assert np.ptp(nods.energy) <= 1e-6 * nods.energy[0]
    assert (nods.gap <= 1e-12).all()
    assert MoreauJean().orders_on(top) == (2, 1)
    assert MoreauJean(projection="constraints").orders_on(top) == (1, 1)
    assert MoreauJean(theta=1.0).orders_on(top) == (1, 1)


@for_each(("scheme", "knobs"), [*((s, {}) for s in SCHEMES), (GeneralizedAlpha, {"family": "wbz"}),
                                (GeneralizedAlpha, {"force": "interpolated"})])  # fmt: skip
def test_multipliers_are_of_order_2_from_the_start(scheme, knobs):
    """The mean of a step is the tension m (v^2 + g cos) in its middle, but for h^2."""
    steps, errors = (4e-3, 2e-3, 1e-3), []
    truth = ex.simulate(pendulum(), TIGHT)
    for h in steps:
        run = ex.simulate(pendulum(), scheme(h=h, **knobs))
        assert run.certificate.ok
        rows = range(1, len(run.t), len(run.t) // 40)
        at = [truth.at(0.5 * (run.t[i] + run.t[i - 1])) for i in (1, *rows)]
        tension = np.array([2 * (s.v @ s.v - G * s.q[1]) for s in at])
        errors.append(np.abs(run.lam_phi[[1, *rows], 0] - tension).max())
    assert orders(errors) == pytest.approx(2, abs=0.15)


def test_rigid_bars_keep_their_energy():
    """To 1e-6 of its range over 5 s; gradients at one place of the step lose percents."""
    system, lost = four_bar(), []
    for knobs in ({}, {"projection": "constraints"}):
        run = ex.simulate(system, MoreauJean(h=1e-3, **knobs), t_end=5, rho=FREE)
        lost.append(np.ptp(run.energy) / (np.ptp(run.kinetic) + np.ptp(run.potential)))
    assert lost[0] <= 1e-9
    assert lost[1] > 1e-3
    wide = ex.simulate(system, MoreauJean(h=4e-3), t_end=5, rho=FREE)
    near = ex.simulate(system, MoreauJean(h=2e-3), t_end=5, rho=FREE)
    assert np.log2(np.ptp(wide.energy) / np.ptp(near.energy)) > 3.5  # O(h^4)


def test_a_top_neither_gains_nor_loses():
    """M depends on the orientation: an error of O(h^2) that has no trend."""
    run = ex.simulate(fixed_top(), MoreauJean(h=4e-4), t_end=4)
    off = run.energy - run.energy[0]
    late, early = off[len(off) // 2 :], off[: len(off) // 2]
    assert np.ptp(off) < 1e-5 * run.energy[0]
    assert abs(late.mean() - early.mean()) < 0.05 * np.ptp(off)


@for_each(("scheme", "knobs"), [(MoreauJean, {}), (NonsmoothGeneralizedAlpha, {}),
                                (NonsmoothGeneralizedAlpha, VELOCITY)])  # fmt: skip
def test_both_levels_hold_also_through_impacts_and_where_constraints_move(scheme, knobs):
    for name, t_end in (("four_bar_stop", 1.0), ("pendulum_moving_pivot", 1.0),
                        ("double_pendulum_stop", 1.0)):  # fmt: skip
        run = ex.simulate(models[name](), scheme(h=1e-3, **knobs), t_end=t_end)
        rows = Rows(run, run.q, run.v, run.t)
        held = slice(run.p.shape[1] + len(run.system.tangents), None)
        assert np.abs(run.phi).max() <= 1e-14
        assert np.abs(rows.w[:, held]).max() <= 1e-11 * rows.size.max(), name
        assert run.certificate.ok, run.certificate


@for_each(("scheme", "knobs"), [(MoreauJean, {}), (NonsmoothGeneralizedAlpha, {}),
                                (NonsmoothGeneralizedAlpha, VELOCITY)])  # fmt: skip
def test_newtons_law_holds_at_an_impact_of_a_mechanism(scheme, knobs):
    """gap' turns to -e gap', at the time and with the energy that located events know."""
    system = four_bar()
    right = ex.simulate(system, TIGHT, t_end=0.5)
    hit = next(e for e in right.events if e.kind == "impact")
    run = ex.simulate(system, scheme(h=1e-4, **knobs), t_end=0.5)
    first = int(np.flatnonzero(run.p[:, 0] > 0)[0])
    assert abs(run.t[first] - hit.t) <= 2e-4
    assert run.gap_dot[first, 0] == pytest.approx(-0.7 * run.gap_dot[first - 1, 0], rel=1e-9)
    assert run.p[first, 0] == pytest.approx(hit.impulse, rel=5e-3)
    if scheme is NonsmoothGeneralizedAlpha and not knobs:
        assert run.gap.min() >= -1e-12
    assert run.at(0.5).q == pytest.approx(right.at(0.5).q, abs=2e-3)


def test_friction_and_compliance_act_beside_constraints():
    """A rod slides with one end on a rough floor, and falls on a spring that only pushes."""
    x, y, u, w = sp.symbols("x y u w")
    rod = ex.MechanicalSystem(
        "rod", q="x y u w", mass=np.eye(4).tolist(), force=[0, -G, 0, -G], potential=G * (y + w),
        constraints=[((x - u) ** 2 + (y - w) ** 2 - 1) / 2],
        contacts=[Contact(y, mu=0.3, slip="v_x", name="floor"),
                  Contact(w - sp.Rational(1, 5), compliance=1e-3, name="pad")],
        start={"q": [0, 0, 0.6, 0.8], "t_end": 0.6},
    )  # fmt: skip
    run = ex.simulate(rod, MoreauJean(h=1e-3))
    assert {c.name for c in run.certificate.broken} <= {"penetration"}
    assert np.abs(run.phi).max() < 1e-14
    assert (np.abs(run.p_t[:, 0]) <= 0.3 * run.p[:, 0] + 1e-12).all()
    assert run.p[:, 1].max() > 0
    fine = ex.simulate(rod, MoreauJean(h=1e-4))
    assert run.q[-1] == pytest.approx(fine.q[-1], abs=5e-3)


def test_a_step_that_was_tampered_with_fails_its_certificate():
    for scheme, rows in ((MoreauJean(h=1e-3), ("v", "gamma_phi", "p_phi")),
                         (GeneralizedAlpha(h=1e-3), ("v", "q", "a", "lam_alpha", "p_jump"))):  # fmt: skip
        run = ex.simulate(pendulum(), scheme, t_end=0.1)
        assert run.certificate.ok
        for name in rows:
            values = getattr(run, name).copy()
            values[50] = 1.001 * values[50] + 1e-9
            assert not run.changed(**{name: values}).certificate.ok, (scheme, name)


def test_runs_with_constraints_are_saved_and_judged_again(tmp_path):
    for number, scheme in enumerate(SCHEMES):
        run = ex.simulate(pendulum(), scheme(h=1e-3), t_end=0.1)
        again = ex.load(run.save(tmp_path / f"run{number}"))
        assert np.array_equal(again.lam_phi, run.lam_phi)
        assert again.certificate.ok


def test_linear_constraints_that_move_hold_too():
    """x = sin(3 t): both levels, though all matrices are constant."""
    system = ex.MechanicalSystem(
        "driven", q="x y", mass=[[1, 0], [0, 1]], force=["-20*(x - y)", "20*(x - y)"],
        constraints=["x - sin(3*t)"], start={"q": [0, 0], "v": [3, 0], "t_end": 2},
    )  # fmt: skip
    root = np.sqrt(20)
    y = 20 / (20 - 9) * (np.sin(6) - 3 / root * np.sin(2 * root))
    for scheme in SCHEMES:
        errors = []
        for h in (4e-3, 2e-3, 1e-3):
            run = ex.simulate(system, scheme(h=h))
            assert run.v[1:, 0] == pytest.approx(3 * np.cos(3 * run.t[1:]), abs=1e-11)
            assert np.abs(run.phi).max() < 1e-13
            errors.append(abs(run.q[-1, 1] - y))
        assert orders(errors) == pytest.approx(2, abs=0.15)


def test_work_precision_compares_schemes_on_a_mechanism():
    found = work_precision(
        four_bar(contacts=False), h=(2e-3, 1e-3, 5e-4, 2.5e-4), t_end=0.5, T=0, repeats=1,
        schemes=SCHEMES,
    )  # fmt: skip
    assert found.refused == ()
    assert [c.name for c in found.curves] == [s.__name__ for s in SCHEMES]
    assert [c.order for c in found.curves] == pytest.approx([2, 2, 2], abs=0.15)


def test_what_a_scheme_cannot_do_with_constraints_is_said():
    for scheme, words in (
        (GeneralizedAlpha(rho_inf=1.0), "never decay.*rho_inf < 1"),
        (GeneralizedAlpha(error_tol=1e-6), "error_tol > 0 together with constraints"),
        (NonsmoothGeneralizedAlpha(rho_inf=1.0), "beta > 1/4"),
    ):
        with pytest.raises(BadValue, match=words):
            ex.simulate(pendulum(), scheme)
    with pytest.raises(BadValue, match=r"record=... together with constraints"):
        ex.simulate(pendulum(), GeneralizedAlpha(), record=ex.Recorder(every=10))
    assert not ex.Newmark.fits(pendulum())
