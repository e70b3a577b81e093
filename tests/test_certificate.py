"""The certificate of a run: checks, cautions, and what a representation says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from scipy.optimize import brentq

import explorer as ex
from explorer import Certificate, Check
from explorer.quantities import quantity


def test_a_check_holds_up_to_its_bound_and_nan_never_does():
    assert Check("a", 1.0, 1.0).ok
    assert not Check("a", 1.0 + 1e-12, 1.0).ok
    assert not Check("a", math.nan, 1.0).ok


def test_a_certificate_names_what_does_not_hold():
    good, bad = Check("a", 0.0, 1.0), Check("b", 2.0, 1.0, "m", "It is too deep.")
    found = Certificate((good, bad))
    assert not found.ok
    assert found.cautions == ("It is too deep.",)
    assert found.summary == "1 of 2 checks fails"
    assert repr(found).splitlines()[-1] == "  ! b 2 m (allowed 1 m): It is too deep."
    assert found["a"] is good
    assert Certificate((good,)).summary == "1 check holds"


def test_a_scheme_certifies_its_runs(monkeypatch):
    words = "It is too deep."
    monkeypatch.setattr(
        ex.MoreauJean, "certify", lambda self, run: [Check("b", 2.0, 1.0, words=words)]
    )
    run = ex.simulate(ex.models.bouncing_ball())
    assert run.certificate is run.certificate
    assert run.cautions == (words,)
    assert repr(run).endswith("success, 1 caution: It is too deep.)")


LINEAR = ex.LinearMechanicalSystem("oscillator", [[1.0]], [[1e4]], start={"q": [0.1], "t_end": 3})


def decay(rate):
    return ex.FirstOrderSystem("decay", x="x", f=[f"-{rate}*x"], start={"x": [1.0], "t_end": 2.0})


def stiff_pair(e, g):
    system = ex.MechanicalSystem(
        "stiff pair", q="x y", mass=[[1, 0], [0, 1e-3]],
        force=[f"-1e8*(x-y)-{g}", f"1e8*(x-y)-1e-3*{g}"],
        start={"q": [0.5, 0.5], "v": [-1.0, -1.0], "t_end": 3.0},
    )  # fmt: skip
    system.contact(ex.Contact("y", e=e))
    return system


def four_bar():
    system = ex.MechanicalSystem(
        "four-bar linkage", q="x1 y1 x2 y2", mass=np.eye(4).tolist(), force=[0, -9.81, 0, -9.81],
        constraints=["x1**2+y1**2-1", "(x2-2)**2+y2**2-9/4", "(x2-x1)**2+(y2-y1)**2-4"],
    )  # fmt: skip
    # the coupler's end: 3/2 from (2, 0) and 2 from (0, 1)
    s = brentq(lambda a: np.hypot(2 * np.cos(a) - 2, 1 + 2 * np.sin(a)) - 1.5, 0, np.pi / 3)
    system.start(q=[0, 1, 2 * np.cos(s), 1 + 2 * np.sin(s)], v=[0] * 4, t_end=5.0)
    return system


@pytest.mark.parametrize("h", [0.5, 1.0])
def test_a_ball_deep_in_the_floor_is_no_plain_success(h):
    run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=h))
    check = run.certificate["penetration"]
    deep = -run.gap.min()
    assert check.value > 0.9 * deep / (1 + 2 * deep + run.gap.max())
    assert not check.ok
    assert any("'floor' is penetrated by" in words for words in run.cautions)
    assert ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=h / 200)).certificate.ok


def test_a_motion_that_blows_up_is_a_failure():
    run = ex.simulate(LINEAR, ex.MoreauJean(h=0.1, theta=0), throw=False)
    assert (run.status.ok, run.status.name) == (False, "unstable")
    with pytest.raises(ex.StepFailed, match="blew up"):
        ex.simulate(LINEAR, ex.MoreauJean(h=0.01, theta=0.3))
    run = ex.simulate(decay(50), ex.EulerMoreau(h=0.1, theta=0), throw=False)
    assert run.status.name == "unstable"
    assert "stable up to h = 0.04 s" in run.status.message


@pytest.mark.parametrize("theta", [0.0, 0.2, 0.45])
def test_the_limit_of_the_theta_scheme_is_that_of_its_eigenvalues(theta):
    most = 2 / ((1 - 2 * theta) * 50)  # h |1 - 2 theta| |lambda|^2 = -2 Re lambda
    below = ex.simulate(decay(50), ex.EulerMoreau(h=0.97 * most, theta=theta), t_end=50 * most)
    above = ex.simulate(decay(50), ex.EulerMoreau(h=1.03 * most, theta=theta), t_end=50 * most)
    assert below.certificate["growth"].value == 0
    z = -50 * 1.03 * most
    factor = abs((1 + (1 - theta) * z) / (1 - theta * z))
    expected = (len(above.t) - 1) * np.log(factor)
    assert above.certificate["growth"].value == pytest.approx(expected)
    assert not above.certificate.ok


def test_slow_growth_is_a_caution():
    run = ex.simulate(LINEAR, ex.MoreauJean(h=1e-3, theta=0.4))
    grown = np.abs(run.v[-100:]).max() / np.abs(run.v[:100]).max()
    assert grown == pytest.approx(np.exp(run.certificate["growth"].value), rel=0.2)
    assert {"growth", "energy made"} == {check.name for check in run.certificate.broken}


@pytest.mark.parametrize(("e", "g"), [(0.0, 9.81), (0.5, 9.81), (0.0, 0.0)])
def test_energy_from_impacts_on_a_stiff_spring_is_named(e, g):
    run = ex.simulate(stiff_pair(e, g), ex.MoreauJean(h=1e-3))
    rises = run.energy - np.minimum.accumulate(run.energy)
    assert rises.max() > 0.02 * run.energy[0]
    assert not run.certificate["energy made"].ok
    assert "without a cause" in " ".join(run.cautions)


def test_a_linkage_that_loses_energy_says_so():
    run = ex.simulate(four_bar(), ex.MoreauJean(h=1e-3, projection="none"))
    assert run.energy[0] - run.energy[-1] > 0.4
    assert not run.certificate["energy lost"].ok
    fine = ex.MoreauJean(h=5e-5, projection="none")
    assert ex.simulate(four_bar(), fine, t_end=1.0).certificate.ok


@pytest.mark.parametrize("theta", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("model", ["shear_building", "elastic_bar", "impact_oscillator", "column"])
def test_what_theta_damps_is_known_to_round_off(model, theta):
    system = getattr(ex.models, model)()
    run = ex.simulate(system, ex.MoreauJean(h=5 * system.h, theta=theta), t_end=100 * system.h)
    assert run.certificate["energy lost"].value < 1e-12


@pytest.mark.parametrize("beta", [0.0, 1 / 12, 1 / 6, 0.25, 0.3])
def test_what_newmark_conserves_is_known_to_round_off(beta):
    run = ex.simulate(LINEAR, ex.Newmark(h=0.015, beta=beta))
    assert run.certificate["energy made"].value < 1e-11
    assert run.certificate["energy lost"].value < 1e-11


def test_contact_problems_that_were_left_early_are_named():
    run = ex.simulate(ex.models.disc_pile(8), ex.MoreauJean(h=4e-3))
    run.residuals[50, 0] = 1e-3
    assert not run.certificate["contact laws"].ok
    assert "lcp_tol = 1e-09" in run.cautions[0]


@pytest.mark.parametrize("what", ["p", "v"])
def test_a_step_that_breaks_a_law_is_found_whatever_was_recorded(what):
    run = ex.simulate(ex.models.column())
    row = int((run.p > 0).any(axis=1).argmax())
    getattr(run, what)[row] *= 1 + 1e-6
    assert {"contact laws", "momentum"} & {check.name for check in run.certificate.broken}


def test_steps_of_a_circuit_that_do_not_hold_are_found():
    assert ex.simulate(ex.models.diode_bridge()).certificate.ok
    run = ex.simulate(ex.models.diode_bridge())
    run.q[40] *= 1 + 1e-6
    assert not run.certificate["step"].ok


def test_a_disc_that_spins_in_the_air_does_not_excuse_what_a_pile_leaves():
    system = ex.DiscSystem("pile", 7, params={"mu": 0.4})
    system.discs(0.1, mass=1, walls=[(0, 1, 0), (1, 0, 0), (-1, 0, -0.75)], e=0, mu="mu")
    q = [
        x
        for k in range(6)
        for x in (0.105 + 0.2 * (k % 3) + 0.1 * (k // 3), 0.1 + 0.18 * (k // 3), 0.0)
    ]
    scheme = ex.MoreauJean(h=2e-3, lcp="pgs", lcp_tol=1e-5)
    left = []
    for spin in (0.0, 1e3):
        v = [0.0] * 18 + [0.0, 0.0, spin]
        run = ex.simulate(system, scheme, q0=[*q, 0.649, 2.0, 0.0], v0=v, t_end=0.06)
        left.append(run.certificate["contact laws"].value)
    assert left[0] > 0
    assert left[1] == pytest.approx(left[0])


def test_the_figure_of_a_step_is_its_defect_beside_its_terms():
    """M (v1 - v0) - h (theta F1 + (1 - theta) F0) of an oscillator whose record is wrong once."""
    m, k, h, theta = 3.0, 50.0, 1e-2, 0.6
    system = ex.MechanicalSystem(
        "oscillator", q="x", mass=[[m]], force=[-k * sp.Symbol("x")],
        start={"q": [0.2], "v": [1], "t_end": 1},
    )  # fmt: skip
    scheme = ex.MoreauJean(h=h, theta=theta)
    for defect in (1e-3, 1e-6, 1e-9, 1e-10):
        run = ex.simulate(system, scheme)
        run.v[37] += defect
        q, v = run.q[:, 0], run.v[:, 0]
        end = q[:-1] + h * (theta * v[1:] + (1 - theta) * v[:-1])
        off = np.abs(m * np.diff(v) + h * k * (theta * end + (1 - theta) * q[:-1]))
        size = m * (np.abs(v[1:]) + np.abs(v[:-1])) + h * k * (np.abs(end) + np.abs(q[:-1]))
        check = run.certificate["momentum"]
        assert check.value == pytest.approx((off / size).max(), rel=1e-3, abs=1e-14)
        assert scheme.newton_tol < check.allowed < scheme.newton_tol + 1e-11
        assert not check.ok or defect < 1e-9
        time = quantity(run.t[1:][(off / size).argmax()], "s", 4)
        assert f"at t = {time} leaves" in check.words


def test_each_law_of_a_circuit_is_looked_at_in_its_own_unit():
    """A current that is wrong by a millionth of its largest breaks the law of its own diode."""
    good = ex.simulate(ex.models.diode_bridge())
    most = np.abs(good.lam).max(axis=0)
    for j in range(good.lam.shape[1]):
        run = ex.simulate(ex.models.diode_bridge())
        row = int(run.lam[:, j].argmax())
        run.lam[row, j] += 1e-3 * most[j]
        assert not run.certificate["laws"].ok
        assert run.certificate["laws"].value > good.certificate["laws"].value


def test_the_figure_of_a_step_of_newmark_is_its_defect_beside_its_terms():
    """q1 - q0 - h v0 - h^2 ((1/2 - beta) a0 + beta a1), v1 - v0 - h ((1 - gamma) a0 + gamma a1)."""
    m, k, h, beta, gamma = 3.0, 50.0, 1e-2, 0.3, 0.55
    system = ex.MechanicalSystem(
        "oscillator", q="x", mass=[[m]], force=[-k * sp.Symbol("x")],
        start={"q": [0.2], "v": [1], "t_end": 1},
    )  # fmt: skip
    for defect in (1e-3, -1e-2, 2e-4):
        run = ex.simulate(system, ex.Newmark(h=h, beta=beta, gamma=gamma))
        run.v[37] += defect
        q, v, a = run.q[:, 0], run.v[:, 0], run.a[:, 0]
        rules = [
            (np.diff(q) - h * v[:-1] - h**2 * ((0.5 - beta) * a[:-1] + beta * a[1:]), q),
            (np.diff(v) - h * ((1 - gamma) * a[:-1] + gamma * a[1:]), v),
        ]
        parts = [
            np.abs(off)
            / (np.abs(x[1:]) + np.abs(x[:-1]) + h * np.abs(v[:-1]) + h**2 * np.abs(a[1:]))
            for off, x in rules
        ]
        check = run.certificate["equilibrium"]
        assert check.value == pytest.approx(np.max(parts), rel=1e-6)
        assert not check.ok


def test_the_figure_of_a_constraint_is_its_speed_beside_its_terms():
    """A bead on a line x = y, once slow and once fast: the same speed off it is worse when slow."""
    line = ex.MechanicalSystem(
        "bead", q="x y", mass=[[1, 0], [0, 1]], force=[10, 10], constraints=["x - y"],
        start={"q": [0, 0], "v": [0.1, 0.1], "t_end": 1},
    )  # fmt: skip
    run = ex.simulate(line, ex.MoreauJean(h=1e-2))
    run.v[5, 0] += 1e-5
    run.v[80, 0] += 2e-5
    off, size = np.abs(run.v[1:, 0] - run.v[1:, 1]), np.abs(run.v[1:]).sum(axis=1)
    check = run.certificate["constraints"]
    assert check.value == pytest.approx((off / size)[4], rel=1e-3)
    assert "at t = 0.05 s" in check.words
    assert not check.ok


def test_a_linear_system_keeps_its_energy_beside_what_drives_it():
    """Runs with located events: K gives the potential, the force and C their work."""
    system = ex.LinearMechanicalSystem(
        "driven", M=np.diag([1.0, 2.0]), K=[[30, -10], [-10, 20]], C=0.3 * np.eye(2),
        f=["sin(5*t)", "0"], H=[[1, 0]], b=0.05, e=0.7, start={"q": [0.3, 0.2], "t_end": 3},
    )  # fmt: skip
    run = ex.simulate(system, ex.EventDriven(rtol=1e-10, atol=1e-12))
    assert any(e.kind == "impact" for e in run.located)
    assert run.certificate["energy"].value < 1e-6


def test_figures_of_a_circuit_are_its_defects_beside_their_terms():
    """v' = -v + sin(9 t) + i, 0 <= v perp i >= 0: each equation of a step is once wrong."""
    system = ex.FirstOrderSystem(
        "half-wave rectifier", "v", A=[[-1]], b=["sin(9*t)"], B=[[1]], C=[[1]],
        laws={"i": "complementarity"}, start={"x": [0.2], "t_end": 1.8},
    )  # fmt: skip
    h, theta, gamma = 0.01, 0.6, 0.7
    scheme = ex.EulerMoreau(h=h, theta=theta, gamma=gamma)
    for defect in (1e-2, 1e-5, 1e-8):
        run = ex.simulate(system, scheme)
        flows = int(run.lam[:, 0].argmax())
        free = int((run.lam[:, 0] == 0).nonzero()[0][3])
        run.q[free] += defect
        x, i, f = run.q[:, 0], run.lam[:, 0], np.sin(9 * run.t) - run.q[:, 0]
        terms = [np.diff(x), -h * theta * f[1:], -h * (1 - theta) * f[:-1],
                 -h * gamma * i[1:], -h * (1 - gamma) * i[:-1]]  # fmt: skip
        size = np.abs(x[1:]) + np.abs(x[:-1]) + np.abs(terms).sum(axis=0)
        check = run.certificate["step"]
        assert check.value == pytest.approx((np.abs(sum(terms)) / size).max(), rel=1e-4)
        assert 10 * scheme.newton_tol < check.allowed < 10 * scheme.newton_tol + 1e-10
        # a current where the voltage is large, or a voltage below zero
        run = ex.simulate(system, scheme)
        high = int(run.q[:, 0].argmax())
        run.lam[high] = defect * run.lam[flows]
        check = run.certificate["laws"]
        assert check.value == pytest.approx(defect, rel=1e-3)
        assert scheme.lcp_tol < check.allowed < scheme.lcp_tol + 1e-11
        run = ex.simulate(system, scheme)
        run.q[free] = -defect
        most = max(np.abs(run.q[1:, 0]).max(), h * gamma * run.lam[flows, 0])
        assert run.certificate["laws"].value == pytest.approx(defect / most, rel=1e-3)


def test_a_contact_that_pushes_across_a_gap_that_jumped_is_no_plain_success():
    step = ex.MechanicalSystem(
        "step", q="x y", mass=[[1, 0], [0, 1]], force=["0", "-9.81"],
        contacts=[ex.Contact("y - Piecewise((0, x < 1), (-0.3, True))", e=0.2, name="stair")],
        start={"q": [0, 0.5], "v": [2, 0], "t_end": 1.2},
    )  # fmt: skip
    run = ex.simulate(step, "EventDriven")
    assert run.certificate["held contacts"].value > 0.1
    assert any("pushes with 9.81 N" in words for words in run.cautions)
    run = ex.simulate(step, "EventDriven", t_end=0.4)
    assert run.certificate["held contacts"].value == 0.0
    assert run.certificate.ok


def test_a_constraint_that_holds_a_direction_at_rest_is_measured_beside_the_motion_across_it():
    rail = ex.MechanicalSystem(
        "rail", q="x y", mass=[[1, 0], [0, 1]], force=["5*cos(3*t)", "-9.81"], units="m",
        constraints=["y"], start={"q": [0, 0], "v": [0, 0], "t_end": 3.0},
    )  # fmt: skip
    run = ex.simulate(rail, ex.EventDriven(formulation="penalty"))
    assert 0 < np.abs(run.phi).max() < 1e-7  # weight / (alpha omega^2)
    assert run.certificate.ok
    run = ex.simulate(rail, ex.EventDriven(formulation="penalty", alpha=1e3))
    assert any("is violated by" in words for words in run.cautions)


def losing_mass(**options):
    system = ex.MechanicalSystem("loses mass", q="x", mass=[["1 - x"]], force=["0"], **options)
    system.start(q=[0], v=[1], t_end=2)
    return system


FESD = ex.FESD(h=0.01)


@pytest.mark.parametrize(
    "scheme", [ex.EventDriven(), ex.Newmark(h=0.01), ex.GeneralizedAlpha(h=0.01), FESD]
)
def test_a_mass_that_is_lost_on_the_way_is_said(scheme):
    system = losing_mass(**{"contacts": [ex.Contact("x + 1", e=0)]} if scheme == FESD else {})
    run = ex.simulate(system, scheme, throw=False)
    assert not run.status.ok or "indefinite at t = 1" in run.outcome
    assert ex.simulate(system, scheme, t_end=0.5).certificate["mass matrix"].ok


def test_with_constraints_the_mass_of_free_directions_counts():
    system = ex.MechanicalSystem(
        "bound", q="x y", mass=[["3/2 - x**2", 0], [0, 0]], force=[0, 0], constraints=["x - y"]
    )
    system.start(q=[1, 1], v=[0.2, 0.2], t_end=1.0)  # y has no mass, and needs none
    assert ex.simulate(system).certificate["mass matrix"].ok
    system.start(q=[1, 1], v=[2, 2], t_end=1.0)
    assert "indefinite at t = 0.1" in ex.simulate(system, throw=False).outcome


def test_a_gap_without_a_normal_where_it_closes_is_said():
    def run(gap, scheme):
        system = ex.MechanicalSystem("b", q="x y", contacts=[ex.Contact(gap, e=0.5)])
        system.start(q=[1, 1], v=[-1, -1], t_end=2)
        return ex.simulate(system, scheme, throw=False)

    for gap in ("y**2", "sqrt(x**2 + y**2)"):  # passed through
        assert "no normal" in run(gap, ex.EventDriven()).outcome, gap
        assert "no normal" in run(gap, ex.NonsmoothGeneralizedAlpha(h=3e-2)).outcome, gap
    for scheme in (ex.MoreauJean(h=1e-3), ex.NonsmoothGeneralizedAlpha(h=1e-3)):  # hit, at a zero
        assert "no normal" in run("x**2 + y**2", scheme).outcome
    for gap in ("y*(1 + x**2)", "x**2 + y**2 - 0.01"):
        assert run(gap, ex.EventDriven()).certificate["normals"].ok, gap
        assert run(gap, ex.MoreauJean(h=1e-2)).certificate["normals"].ok, gap


def test_an_impact_that_gives_energy_is_said_and_not_laid_on_the_step():
    """A rod at 125 degrees: Newton's law with friction gives it kinetic energy."""
    rod = ex.MechanicalSystem(
        "rod", q="x y a", mass=np.diag([1, 1, 0.05]).tolist(), force=[0, "-9.81", 0],
        params={"e": 0.9},
    )  # fmt: skip
    rod.contact(ex.Contact("y + cos(a)/2", e="e", mu=1.0, slip="v_x - cos(a)*v_a/2", name="tip"))

    def given(a, v, e, scheme):
        rod.start(q=[0, 1, a], v=v, t_end=0.6)
        run = ex.simulate(rod, scheme, e=e)
        energy = run.energy
        return float(np.diff(energy).max() / energy.max()), run

    rng = np.random.default_rng(3)
    starts = [(np.pi + rng.uniform(-1.2, 1.2), rng.uniform(-4, 4, 3).tolist()) for _ in range(12)]
    part, a, v = max((given(a, v, 0.9, ex.EventDriven())[0], a, v) for a, v in starts)
    assert part > 0.01
    run = given(a, v, 0.9, ex.EventDriven())[1]
    assert "The impact of 'tip' at" in run.outcome
    check = run.certificate["impact energy"]
    hit = max(run.events, key=lambda event: event.energy)
    assert check.value >= hit.energy / run.kinetic[hit.row - 1] * (1 - 1e-9) > 0.01
    assert "Impacts give the motion" in given(a, v, 0.9, ex.MoreauJean(h=1e-3))[1].outcome
    for scheme in (ex.EventDriven(), ex.MoreauJean(h=1e-3)):
        assert "give" not in given(a, v, 0.0, scheme)[1].outcome


def test_a_reset_that_leads_into_the_obstacle_is_said():
    contact = ex.Contact("y", reset={"y": "0.3*v_y"}, name="floor")
    start = {"q": [1.0], "v": [-1.0], "t_end": 2.0}
    system = ex.MechanicalSystem("ball", q="y", contacts=[contact], start=start)
    check = ex.simulate(system, "EventDriven").certificate["reset"]
    assert check.value == pytest.approx(0.3)
    assert not check.ok
    assert "at t = 1 s its gap still closes" in check.words
