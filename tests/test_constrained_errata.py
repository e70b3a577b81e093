"""Corner, Sandu, Sandu 2019 on constrained systems: forms as printed fail, corrected ones hold.

Each equation is formed by SymPy from the paper and met with the numbers of a run.
(docs/references.md, corner-2019.)
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from natural import Motion
from test_constrained_events import bars, by_paper

import explorer as ex
from explorer.models import models

TIGHT = ex.EventDriven(rtol=1e-11, atol=1e-12)
SOFT = ex.EventDriven(rtol=1e-11, atol=1e-12, formulation="penalty", alpha=1e3, xi=0.7, omega=8.0)


class Formulas:
    """Formulas of a system as numbers at a state; derivatives are columns of `x` = (q, v, rho)."""

    def __init__(self, system, wrt):
        self.t, self.q, self.v = system.t, list(system.q), list(system.v)
        self.wrt = [sp.Symbol(k) for k in wrt]
        self.phi = sp.Matrix([c.phi for c in system.constraints])
        self.M, self.F, self.system = system.mass, system.force, system
        self.G = self.phi.jacobian(self.q)
        self.rate = self.G * sp.Matrix(self.v) + self.phi.diff(self.t)

    def at(self, run, row, *formulas, **others):
        """Return the numbers of formulas at a row of a run."""
        names = {sp.Symbol(k): x for k, x in run.rho.items()} | {self.t: run.t[row]}
        names |= dict(zip(self.q, run.q[row], strict=True))
        names |= dict(zip(self.v, run.v[row], strict=True)) | others
        keys = list(names)
        found = sp.lambdify(keys, list(formulas), "numpy")(*names.values())
        return [np.array(x, float) for x in found]


@cache
def pinned():
    """Return a mass on a rod whose pin moves, and its run."""
    system = ex.MechanicalSystem(
        "moving pin", q="x y", params={"a": 0.2, "w": 3.0, "g": 9.81, "m": 1.5, "L": 1.1},
        mass=[["m", 0], [0, "m"]], force=[0, "-m*g"],
        constraints=["(x - a*sin(w*t))**2 + y**2 - L**2"],
        start={"q": ["0", "-L"], "v": ["a*w", 0], "t_end": 1.0},
    )  # fmt: skip
    return system, ["a", "m", "L"]


def test_accelerations_need_twice_the_mixed_derivative():
    """Correction 5. Eq. (51c) has phi_tq v once."""
    system, _ = pinned()
    run, has = ex.simulate(system, TIGHT), Formulas(system, [])
    bend = (has.G * sp.Matrix(has.v)).jacobian(has.q) * sp.Matrix(has.v)
    mixed = has.phi.diff(has.t).jacobian(has.q) * sp.Matrix(has.v)
    for row in range(5, len(run.t), 20):
        G, bent, once, twice = has.at(run, row, has.G, bend, mixed, has.phi.diff(has.t, 2))
        a = run.rates[row, 2:]
        assert np.abs(G @ a + (bent + 2 * once + twice).ravel()).max() <= 1e-12
        assert (
            np.abs(G @ a + (bent + once + twice).ravel()).max() >= 0.9 * np.abs(once).max() > 0.02
        )


def test_multipliers_of_the_penalty_depend_on_accelerations():
    """Corrections 8 and 12. Eq. (69) lacks lam_v' V'; (A.1) to (A.11) hold with dots and a plus."""
    system, wrt = pinned()
    sens = ex.sensitivity(system, SOFT, wrt, {"w": "x"})
    run, has = sens.solution, Formulas(system, wrt)
    a = sp.symbols("a_x a_y")
    phi2 = has.rate.jacobian(has.q) * sp.Matrix(has.v) + has.rate.diff(has.t)
    alpha, xi, omega = SOFT.alpha, SOFT.xi, SOFT.omega
    lam = alpha * (has.G * sp.Matrix(a) + phi2 + 2 * xi * omega * has.rate + omega**2 * has.phi)
    left = has.M * sp.Matrix(a) + has.G.T * lam - has.F  # (64): extended mass and force
    by = [has.q, has.v, list(a), has.wrt]
    slopes = [lam.jacobian(x) for x in by] + [left.jacobian(x) for x in by]
    G_t, undotted = has.rate.diff(has.t).jacobian(has.q), has.phi.diff(has.t).jacobian(has.q)
    printed_q = slopes[0] - alpha * (G_t - undotted)  # (A.10)
    for row in range(5, len(run.t), 20):
        rates = dict(zip(a, run.rates[row, 2:], strict=True))
        mine, *all_ = has.at(
            run, row, lam, *slopes, printed_q, **{s.name: x for s, x in rates.items()}
        )
        lam_q, lam_v, lam_a, lam_rho, f_q, f_v, f_a, f_rho, wrong = all_
        Q, V, A = sens.Q[row], sens.V[row], sens.A[row]
        assert run.lam_phi[row] == pytest.approx(mine.ravel(), rel=1e-9)
        size = np.abs(lam_a @ A).max()
        right = lam_q @ Q + lam_v @ V + lam_a @ A + lam_rho
        assert np.abs(sens.Lam_phi[row] - right).max() <= 1e-10 * size
        assert np.abs(right - lam_a @ A - sens.Lam_phi[row]).max() > 0.9 * np.abs(right).max()
        assert np.abs((wrong - lam_q) @ Q).max() > 0.05 * np.abs(right).max()
        assert np.abs(f_q @ Q + f_v @ V + f_a @ A + f_rho).max() <= 1e-10 * np.abs(f_a @ A).max()


@cache
def captured():
    """Return two masses on two rods, and a slope that holds what falls on it: e = 0."""
    system = ex.MechanicalSystem(
        "two rods", q="x y u w",
        params={"m": 1.0, "M": 2.0, "l": 1.0, "L": 0.8, "s": 0.2, "g": 9.81, "h": 1.2},
        mass=[["m*(1 + x**2/5)", 0, 0, 0], [0, "m", 0, 0], [0, 0, "M", 0], [0, 0, 0, "M"]],
        force=["m*v_x**2*x/5 - 2*m*v_x**2*x/5", "-m*g", 0, "-M*g"],
        constraints=["x**2 + y**2 - l**2", "(u - x)**2 + (w - y)**2 - L**2"],
        contacts=[ex.Contact("w + h - s*u - t/20", e=0, name="slope")],
        start={"q": ["l", 0, "l + L", 0], "t_end": 0.7},
    )  # fmt: skip
    wrt = ["m", "L", "s", "l"]
    return system, wrt, ex.sensitivity(system, TIGHT, wrt, {"w": "x"})


def test_a_capture_takes_the_time_of_its_event_with_it():
    """Correction 9. Eq. (91) lacks dt/drho in its first row, and has M_rho v+ for M_rho (v+ - v-)."""
    system, wrt, sens = captured()
    event, run = sens.events[0], sens.solution
    assert event.kind == "closed"
    row, has, n = event.row, Formulas(system, wrt), 4
    phi = has.phi.col_join(sp.Matrix([system.contacts[0].gap]))
    G = phi.jacobian(has.q)
    rate = G * sp.Matrix(has.v) + phi.diff(has.t)
    jump, push = sp.symbols("j_:4"), sp.symbols("p_:3")
    upper = has.M * sp.Matrix(jump) + G.T * sp.Matrix(push)
    before, after = run.v[row - 1], run.v[row]
    M, G0, free = has.at(run, row, has.M, G, phi.diff(has.t))
    saddle = np.block([[M, G0.T], [G0, np.zeros((3, 3))]])
    v_plus = np.linalg.solve(saddle, np.concatenate([M @ before, -free.ravel()]))
    assert v_plus[:4] == pytest.approx(after, abs=1e-10)  # (82)
    p = v_plus[4:]
    named = {s.name: x for s, x in zip((*jump, *push), (*(after - before), *p), strict=True)}
    up_q, up_rho, r_q, r_rho, r_t, M_rho = has.at(
        run, row, upper.jacobian(has.q), upper.jacobian(has.wrt), rate.jacobian(has.q),
        rate.jacobian(has.wrt), rate.diff(has.t),
        (has.M * sp.Matrix(jump)).jacobian(has.wrt), **named,
    )  # fmt: skip
    minus, plus = sens.at(event.t, "left"), sens.at(event.t, "right")
    Q, V, dt = minus[:n], minus[n:], event.dt_drho[None]
    a_minus, a_plus = run.rates[row - 1, n:, None], run.rates[row, n:, None]
    moved = Q + before[:, None] * dt
    right = np.vstack([M @ (V + a_minus * dt) - up_q @ moved - up_rho,
                       -r_q @ moved - r_rho - r_t * dt])  # fmt: skip
    whole = np.linalg.solve(saddle, right)[:n] - a_plus * dt
    assert np.abs(whole - plus[n:]).max() <= 1e-8
    assert np.abs(Q - (after - before)[:, None] * dt - plus[:n]).max() <= 1e-10  # (35)
    Q_plus = plus[:n]
    (full,) = has.at(run, row, (has.M * sp.Matrix(has.v)).jacobian(has.wrt))
    printed = np.vstack([M @ V - up_q @ Q_plus - (up_rho - M_rho + full), -r_q @ Q_plus - r_rho])
    assert np.abs(np.linalg.solve(saddle, printed)[:n] - plus[n:]).max() > 0.2 * np.abs(plus).max()


@for_each("make", [captured, lambda: (bars(0.7), ["LA", "ground"], None)])
def test_multipliers_have_no_memory(make):
    """Correction 10. Eq. (94) adds Lam- to f_q Q+ + f_v V+ + f_rho."""
    system, wrt, sens = make()
    sens = sens or ex.sensitivity(system, TIGHT, wrt, {"w": "y2"}, t_end=0.8)
    run, row = sens.solution, sens.events[0].row
    d = 1e-5
    for k, name in [*enumerate(wrt)][-2:]:
        sides = []
        for s in (-d, d):
            moved = Motion(system, **{name: run.rho[name] + s})
            if run.lam[row, 0] > 0:  # what is held behind the event is a constraint
                held = ex.MechanicalSystem(
                    "held", q=[x.name for x in system.q], params=dict(run.rho), mass=system.mass,
                    force=system.force, constraints=[*system.constraints, system.contacts[0].gap],
                )  # fmt: skip
                moved = Motion(held, **{name: run.rho[name] + s})
            x = run.q[row] + s * sens.Q[row, :, k], run.v[row] + s * sens.V[row, :, k]
            sides.append(moved.accelerations(run.t[row], *x)[1][: len(system.constraints)])
        wanted = (sides[1] - sides[0]) / (2 * d)
        size = np.abs(sens.Lam_phi[row]).max()
        assert np.abs(sens.Lam_phi[row, :, k] - wanted).max() <= 1e-6 * size
    assert np.abs(sens.Lam_phi[row - 1]).max() > 0.01 * size  # what (94) adds


@for_each("make", [by_paper, bars])
def test_dependent_rows_of_jumps_agree_with_the_constraints(make):
    """Eq. (86) to (90): jumps of all coordinates have those of the dependent ones in them."""
    system, wrt = make(), ["LA", "L2", "ground", "x2"]
    sens = ex.sensitivity(system, TIGHT, wrt, {"w": "y2"}, t_end=2.5)
    run, has = sens.solution, Formulas(system, wrt[:3])
    speeds = has.rate.jacobian(has.q), has.rate.jacobian(has.wrt)
    assert len(sens.events) >= 2
    for event in sens.events:
        row, dof = event.row, [2, 3]
        G, by_rho, r_q, r_rho = has.at(run, row, has.G, has.phi.jacobian(has.wrt), *speeds)
        by_rho, r_rho = (np.pad(x, ((0, 0), (0, 1))) for x in (by_rho, r_rho))  # x2 is a start
        Q, V = np.split(sens.at(event.t, "right"), 2)
        P, W = np.split(sens.at(event.t, "left"), 2)
        size = 1 + np.abs(V).max()
        dep = [0, 1, 4, 5]
        R = -np.linalg.solve(G[:, dep], G[:, dof])
        found = R @ Q[dof] - np.linalg.solve(G[:, dep], by_rho)
        assert np.abs(found - Q[dep]).max() <= 1e-11 * size  # (86), (88b)
        found = R @ V[dof] - np.linalg.solve(G[:, dep], r_q @ Q + r_rho)
        assert np.abs(found - V[dep]).max() <= 1e-11 * size  # (87), (90c)
        dt, jump = event.dt_drho[None], (run.v[row] - run.v[row - 1])[:, None]
        assert np.abs(P - jump * dt - Q).max() <= 1e-11 * size  # (88a), (89)
        if system.contacts[0].reset:
            h_v = np.diag([1.0, -1.0])
            a_minus, a_plus = run.rates[row - 1 : row + 1, 6:]
            kick = (h_v @ a_minus[dof] - a_plus[dof])[:, None]
            assert np.abs(h_v @ W[dof] + kick * dt - V[dof]).max() <= 1e-11 * size  # (90a)


def test_a_release_by_penalty_leaves_all_coordinates_free():
    """Correction 11. Eq. (88b) and (90c) hold for the DAE; by penalty Q+ = Q-, and V+ jumps with v'."""
    system, wrt = ex.models.five_bar_b(), ["LA", "k"]
    for alpha in (1e4, 1e6):
        scheme = ex.EventDriven(rtol=1e-11, atol=1e-12, formulation="penalty", alpha=alpha)
        rho = {"e": 0.0, "k": 87.1, "L01": 2.26, "ground": -2.263, "x20": -0.27, "y20": -2.0}
        sens = ex.sensitivity(system, scheme, wrt, {"w": "y_2"}, t_end=2.2, **rho)
        event, run = next(e for e in sens.events if e.kind == "released"), sens.solution
        before, after = sens.at(event.t, "left"), sens.at(event.t, "right")
        jump = run.rates[event.row, 6:] - run.rates[event.row - 1, 6:]
        wanted = before[6:] - jump[:, None] * event.dt_drho
        assert np.abs(after[:6] - before[:6]).max() == 0
        assert np.abs(after[6:] - wanted).max() <= 1e-9 * np.abs(after).max()


@cache
def formulas_of(name, *wrt):
    """Return a model and its formulas."""
    system = models[name]()
    return system, Formulas(system, wrt)


@for_each("formulation", ["index1", "projected"])
def test_states_and_sensitivities_do_not_drift(formulation):
    """|phi| to 1e-12 over 200 s and dozens of impacts; columns to round-off of their size."""
    scheme = ex.EventDriven(formulation=formulation)
    for name, wrt in (("pendulum_moving_pivot", ["L", "A"]), ("five_bar_b", ["LA", "L2"])):
        system, has = formulas_of(name, *wrt)
        run = ex.simulate(system, scheme, t_end=200)
        rate = sp.lambdify([has.t, has.q, has.v, list(map(sp.Symbol, run.rho))], list(has.rate))
        rates = rate(run.t, list(run.q.T), list(run.v.T), list(run.rho.values()))
        assert len(run.events) > 10
        assert np.abs(run.phi).max() <= 1e-12
        assert max(np.abs(x).max() for x in rates) <= 1e-12
        sens = ex.sensitivity(system, scheme, wrt, {"w": "y_1"}, t_end=20)
        run, r_q, r_rho = sens.solution, has.rate.jacobian(has.q), has.rate.jacobian(has.wrt)
        for row in range(0, len(run.t), len(run.t) // 5):
            G, by_rho, *speeds = has.at(run, row, has.G, has.phi.jacobian(has.wrt), r_q, r_rho)
            Q, V = sens.Q[row], sens.V[row]
            size = 1 + np.abs(Q).max() + np.abs(V).max()
            assert np.abs(G @ Q + by_rho).max() <= 1e-12 * size
            assert np.abs(G @ V + speeds[0] @ Q + speeds[1]).max() <= 1e-12 * size
