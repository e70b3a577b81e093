"""First-order systems: Siconos's trajectories, the printed equations and the corrected ones."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from twin import DATA

import explorer as ex
from explorer.errors import BadModel, BadValue, NotApplicable, StepFailed
from explorer.systems import from_spec

TOL = 1e-10
INF = np.inf


def close(got, expected, tol=TOL):
    """Equal to `tol`, absolutely and at every entry."""
    assert np.shape(got) == np.shape(expected)
    assert np.abs(np.asarray(got) - expected).max() <= tol


# -- Siconos, step by step ------------------------------------------------------------------------


def relays(B, x0, A=None, C=None):
    """Return x' = A x + B lam with y = C x (or x) and relays in [-1, 1]."""
    n, m = len(x0), len(B[0])
    return ex.FirstOrderSystem(
        "relays", x=[f"x{k}" for k in range(n)], B=B, A=A or np.zeros((n, n)), C=C or np.eye(n),
        laws={f"u{k}": {"kind": "relay", "lb": -1, "ub": 1} for k in range(m)}, start={"x": x0},
    )  # fmt: skip


def run(system, h, rows, **knobs):
    """Return t, x, y, lam of a run of `rows` rows side by side."""
    sol = ex.simulate(system, ex.EulerMoreau(h=h, **knobs), t_end=h * (rows - 1))
    assert len(sol.t) == rows
    return np.column_stack([sol.t, sol.x]), sol.y, sol.lam


@pytest.mark.parametrize("lcp", ["pivoting", "lemke", "enumeration"])
def test_circuits_are_those_of_siconos(lcp):
    """RLCD circuit and diode bridge: states, voltages and currents of every stored row."""
    data = np.loadtxt(DATA / "CircuitRLCD.every5.dat")
    x, y, lam = run(ex.models.rlcd_circuit(), 1e-5, 500, theta=0.5000000000001, lcp=lcp)
    close(np.column_stack([x, -y, lam])[::5], data[:, :5])
    data = np.loadtxt(DATA / "DiodeBridge.every25.dat")
    x, y, lam = run(ex.models.diode_bridge(), 1e-6, 5000, lcp=lcp)
    shown = [x, y[:, :1], -lam[:, :2], lam[:, 2:3], y[:, :1] + lam[:, 2:3]]
    close(np.column_stack(shown)[::25], data)


@pytest.mark.parametrize("on", ["r", "relation"])
@pytest.mark.parametrize(("name", "gamma"), [("0", 0.0), ("half", 0.5), ("1", 1.0)])
def test_theta_gamma_variants_are_those_of_siconos(on, name, gamma):
    """gamma on r, with lam_0 = 0, and gamma on the relation."""
    C = 1 / (4 * np.pi**2)
    tank = ex.FirstOrderSystem(
        "tank", x="x0 x1", A=[[0, -1], [1 / C, 0]], C=[[1 / C, 0]], D=[[10]], B=[[1], [0]],
        laws={"lam": "complementarity"}, start={"x": [1, 1]},
    )  # fmt: skip
    data = np.loadtxt(DATA / f"CircuitRLCD-gamma{'FR' * (on == 'relation')}{name}.dat")
    x, _, lam = run(tank, 0.05, len(data), gamma=gamma, gamma_on=on)
    y = x[:, 1:2] / C + 10 * lam
    close(np.column_stack([x, -y, lam]), data[:, :5])


RELAYS = {
    "SimpleExampleRelay.every4": (4, 1e-3, 800, relays([[2, 0], [0, 2]], [1, -1])),
    "Filippov.every10": (10, 1e-3, 2000, relays([[2, -52], [52, 2]], [3, 3])),
    "FrictionOscillator.every5": (
        5, 1e-2, 10000, relays([[0], [1]], [12, 6], [[0, 1], [-1, 0]], [[0, 1]]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RELAYS)
def test_relays_are_those_of_siconos(name):
    """Sliding, infinitely many crossings in a finite time, a finite stop; the signs of
    correction 9 of siconos-schemes."""
    every, h, rows, system = RELAYS[name]
    x, y, lam = run(system, h, rows)
    data = np.loadtxt(DATA / f"{name}.dat")
    shown = np.column_stack([x, lam, y])
    close(shown[::every][1:], data[1:, : shown.shape[1]], 1e-8)


# -- the equations of the summary, one by one -----------------------------------------------------


def box(M, q, low, high):
    """Return the first lam that fits, by trying the three places of each: the slow twin."""
    m = len(q)
    for places in itertools.product((-1, 0, 1), repeat=m):
        side = np.array(places)
        if (np.isinf(low) & (side < 0)).any() or (np.isinf(high) & (side > 0)).any():
            continue
        lam, free = np.where(side < 0, low, high), side == 0
        lam[free] = 0
        if free.any():
            block = M[np.ix_(free, free)]
            if abs(np.linalg.det(block)) < 1e-300:
                continue
            lam[free] = -np.linalg.solve(block, (q + M @ lam)[free])
        y = M @ lam + q
        tiny = 1e-11 * (np.abs(q) + np.abs(M) @ np.abs(lam))
        inside = ((lam >= low - 1e-11) & (lam <= high + 1e-11)).all()
        if (
            inside
            and (y[side < 0] >= -tiny[side < 0]).all()
            and (y[side > 0] <= tiny[side > 0]).all()
        ):
            return lam, y
    raise AssertionError("no lam fits")


def linear_steps(system, bounds, x0, h, count, theta=0.5, gamma=1.0, on="r"):
    """March as the summary says for linear dynamics and relations (all functions of t)."""
    M, A, b, B, C, D, e = system
    x, lam, r, found = np.array(x0, float), 0.0, 0.0, []
    for i in range(count):
        t, t1 = i * h, (i + 1) * h
        W = M - h * theta * A(t1)
        x_free = np.linalg.solve(
            W, (M + h * (1 - theta) * A(t)) @ x + h * theta * (b(t1) - b(t)) + h * b(t)
        )
        at = t1 if on == "r" else t + gamma * h
        WB = h * np.linalg.solve(W, B(at))
        if on == "r":
            x_free = x_free + h * (1 - gamma) * np.linalg.solve(W, np.ones(len(x)) * r)
            WB, u, weight = gamma * WB, x_free, 1.0
        else:
            u, weight = gamma * x_free + (1 - gamma) * x, gamma
        lam, y = box(D(at) + weight * C(at) @ WB, C(at) @ u + e(at), *bounds)
        x = x_free + WB @ lam
        r = B(at) @ lam
        found.append(np.concatenate([x, lam, y]))
    return np.array(found)


def still(value):
    """Return a constant function of time."""
    value = np.array(value, float)
    return lambda t: value


LINEAR = {
    "three states, two pairs": (
        [[0, 3, 0], [-3, -0.05, 0.5], [0.3, 0, -0.5]], [0, 1, 0.2], [[1, 0], [0, 1], [0.3, -0.2]],
        [[1, 0, 0.5], [0, 1, -0.4]], [[2, 0.3], [-0.3, 1.5]], [-0.2, 0.1],
        ["complementarity"] * 2,
    ),
    "three states, two relays with bounds of their own": (
        [[-1, 2, 0], [-2, -0.5, 1], [0, -1, -0.2]], [0.3, 0, 0.4], [[1, 0], [0.2, 1], [0, -1]],
        [[1, 0.1, 0], [0, 1, -0.5]], np.zeros((2, 2)), [0, 0], [("relay", -0.5, 2), ("relay", -3, 1)],
    ),
    "mixed": (
        [[0, 3, 0], [-3, -0.1, 1], [0, 0.5, -1]], [0, 0.4, 0.7], [[1, 0, 0], [0, 0.1, 1], [0, 1, 0]],
        [[1, 0, 0], [0, 0, 1], [0, 1, 0]], np.diag([2, 0, 0]), [0.1, -0.2, 0],
        ["complementarity", "equality", ("relay", -0.1, 0.3)],
    ),
}  # fmt: skip


def built(case, mass=None, more=None):
    """Return a linear case as a system and the bounds of lam."""
    A, b, B, C, D, e, kinds = LINEAR[case]
    laws, bounds = {}, []
    for k, kind in enumerate(kinds):
        name, low, high = kind if isinstance(kind, tuple) else (kind, None, None)
        laws[f"u{k}"] = {"kind": name, "lb": low, "ub": high}
        low = {"complementarity": 0, "equality": -INF}.get(name, low)
        bounds.append((low, INF if high is None else high))
    given = {"A": A, "b": b, "B": B, "C": C, "D": D, "e": e} | (more or {})
    system = ex.FirstOrderSystem(
        case, x="x0 x1 x2", mass=mass, laws=laws, start={"x": [1, -0.5, 0.3]}, **given
    )
    return system, np.array(bounds, float).T


@pytest.mark.parametrize(("theta", "gamma", "on"), [
    (0.5, 1.0, "r"), (1.0, 1.0, "r"), (0.7, 0.6, "r"), (0.5, 0.5, "relation"), (0.0, 1.0, "r"),
])  # fmt: skip
@pytest.mark.parametrize("case", LINEAR)
def test_linear_systems_are_their_twin(case, theta, gamma, on):
    """Time-invariant A, b with a matrix M and linear relations, W made once; all laws."""
    mass = [[2, 0.3, 0], [0.3, 1, 0], [0, 0.1, 0.5]]
    system, bounds = built(case, mass)
    A, b, B, C, D, e = map(np.array, LINEAR[case][:6])
    h = 0.02
    scheme = ex.EulerMoreau(h=h, theta=theta, gamma=gamma, gamma_on=on)
    sol = ex.simulate(system, scheme, t_end=200 * h)
    twin = linear_steps(
        (np.array(mass), *map(still, (A, b, B, C, D, e))), bounds, [1, -0.5, 0.3], h, 200, theta,
        gamma, on,
    )  # fmt: skip
    close(np.column_stack([sol.x, sol.lam, sol.y])[1:], twin, 1e-9)
    assert (sol.iterations[1:] == 1).all()
    assert len(np.unique(sol.side[1:], axis=0)) > 1


def test_time_varying_matrices_are_their_twin():
    """A(t), b(t), B(t), C(t), D(t), e(t) at the times that the summary says, F z as part of e."""
    A = [["-1 - t", "2*cos(t)", 0], [-2, -0.5, "t"], [0, -1, "-0.2"]]
    parts = {
        "b": ["sin(3*t)", 0, "0.4*t"], "B": [["1 + t/2", 0], [0.2, "cos(t)"], [0, -1]],
        "C": [["1 + t", 0.1, 0], [0, "2 - cos(t)", -0.5]], "D": [["0.2 + 0.1*t", 0], [0.1, 0.3]],
        "e": ["0.1*sin(5*t)", "-0.2"], "F": [[1, 0.5], [0, "t"]], "z": [0.1, -0.2],
    }  # fmt: skip
    system, bounds = built("three states, two pairs", more={"A": A, **parts})
    values = {k: sp.lambdify(sp.Symbol("t"), sp.Matrix(v), "numpy") for k, v in parts.items()}
    at = {k: (lambda t, f=f: np.array(f(t), float)) for k, f in values.items()}
    of_A = sp.lambdify(sp.Symbol("t"), sp.Matrix(A), "numpy")
    h = 0.02
    sol = ex.simulate(system, ex.EulerMoreau(h=h, theta=0.6), t_end=100 * h)
    twin = linear_steps(
        (np.eye(3), lambda t: np.array(of_A(t), float), lambda t: at["b"](t).ravel(), at["B"],
         at["C"], at["D"], lambda t: (at["e"](t) + at["F"](t) @ at["z"](t)).ravel()), bounds,
        [1, -0.5, 0.3], h, 100, 0.6,
    )  # fmt: skip
    close(np.column_stack([sol.x, sol.lam, sol.y])[1:], twin, 1e-9)
    assert (sol.lam[1:] > 0).any(axis=0).all()


NONLINEAR = {
    "f": ["x1 - x0**3", "sin(x0) - x1 + cos(2*t)"],
    "y": [
        "x0 + lam0/2 + lam0**3/5 + x0*lam1/10 - 1/2",
        "x1*(1 + x0**2/4) + lam1 + lam0/5 - sin(t)",
    ],
    "r": ["lam0*(1 + 3*x0/10)", "lam1*(1 - x1/5) + lam0**2/10"],
}


def nonlinear_steps(h, count, theta, corrected):
    """March by the summary's nonlinear relations with W and I - h W^-1 G0, as corrected or printed.

    Printed: no h in front of W^-1 in M_lcp and q_lcp (correction 1 of siconos-schemes), but the
    update x = x_free + h W^-1 r.
    """
    t, x0, x1, lam0, lam1 = sp.symbols("t x0 x1 lam0 lam1")
    states, multipliers = [x0, x1], [lam0, lam1]
    f, y, r = (sp.Matrix([sp.sympify(k) for k in NONLINEAR[p]]) for p in ("f", "y", "r"))
    args = [t, *states, *multipliers]
    blocks = [f, f.jacobian(states), y, y.jacobian(states), y.jacobian(multipliers), r,
              r.jacobian(states), r.jacobian(multipliers)]  # fmt: skip
    functions = [sp.lambdify(args, block, "numpy") for block in blocks]

    def at(t, x, lam):
        found = [np.array(k(t, *x, *lam), float) for k in functions]
        return [k.ravel() if i in (0, 2, 5) else k for i, k in enumerate(found)]

    x, lam, found = np.array([0.5, -0.5]), np.zeros(2), []
    bounds = np.array([[0.0, 0.0], [INF, INF]])
    scale = h if corrected else 1.0
    for i in range(count):
        before, f0 = x, at(i * h, x, lam)[0]
        for _ in range(30):
            f1, F, y_k, H0, H1, R, G0, G1 = at((i + 1) * h, x, lam)
            W = np.eye(2) - h * theta * F
            free = x - np.linalg.solve(W, x - before - h * theta * f1 - h * (1 - theta) * f0)
            left = np.linalg.inv(np.eye(2) - scale * np.linalg.solve(W, G0))
            M_lcp = H1 + scale * H0 @ left @ np.linalg.solve(W, G1)
            known = free + scale * np.linalg.solve(W, R - G0 @ x - G1 @ lam)
            q_lcp = y_k - H0 @ x - H1 @ lam + H0 @ left @ known
            new, _ = box(M_lcp, q_lcp, *bounds)
            # X from R linearised around the iterate; h stands in the dynamics in both forms
            A = np.eye(2) - h * np.linalg.solve(W, G0)
            rest = free + h * np.linalg.solve(W, R - G0 @ x - G1 @ lam + G1 @ new)
            x, lam = np.linalg.solve(A, rest), new
        found.append(np.concatenate([x, lam]))
    return np.array(found)


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_nonlinear_relations_are_the_corrected_ones(theta):
    """Newton with W = M - h theta f_x and all of H0, H1, G0, G1; the printed M_lcp is far off."""
    system = ex.FirstOrderSystem(
        "nonlinear", x="x0 x1", laws={"lam0": "complementarity", "lam1": "complementarity"},
        start={"x": [0.5, -0.5]}, **NONLINEAR,
    )  # fmt: skip
    h = 0.05
    sol = ex.simulate(system, ex.EulerMoreau(h=h, theta=theta), t_end=40 * h)
    got = np.column_stack([sol.x, sol.lam])[1:]
    close(got, nonlinear_steps(h, 40, theta, corrected=True), 1e-9)
    assert (sol.lam > 0).any(axis=0).all()
    assert (sol.iterations[1:] > 1).any()
    printed = nonlinear_steps(h, 10, theta, corrected=False)
    assert np.abs(printed - got[:10]).max() > 1e-2
    along = [sp.lambdify([system.t, *system.x, *system.lam], k) for k in system.y]
    y = np.column_stack([k(sol.t, *sol.x.T, *sol.lam.T) for k in along])[1:]
    assert (y >= -1e-9).all()
    assert np.abs(y * sol.lam[1:]).max() <= 1e-9


# -- convergence and what it is good for ----------------------------------------------------------


def slope(h, errors):
    """Return the slope of log(error) over log(h)."""
    return float(np.polyfit(np.log(h), np.log(errors), 1)[0])


@pytest.mark.parametrize(("theta", "order"), [(0.5, 2), (1.0, 1), (0.0, 1)])
def test_order_where_no_multiplier_acts(theta, order):
    """x' = -x^2 + t, nonlinear, against Runge-Kutta by somebody else."""
    from scipy.integrate import solve_ivp

    end = solve_ivp(lambda t, x: t - x**2, (0, 2), [1.0], rtol=1e-12, atol=1e-13).y[0, -1]
    system = ex.FirstOrderSystem("riccati", x="x", f=["t - x**2"], start={"x": [1]})
    steps = (0.04, 0.02, 0.01, 0.005)
    errors = [abs(ex.simulate(system, ex.EulerMoreau(h=h, theta=theta), t_end=2).x[-1, 0] - end)
              for h in steps]  # fmt: skip
    assert slope(steps, errors) == pytest.approx(order, abs=0.15)


def test_order_across_the_switches_of_the_bridge():
    """Order 1 against the closed form of the tank; its published value."""
    model = ex.models.diode_bridge()
    number, tolerance, _ = model.published["diode bridge: v(4.999 ms), in V"]
    steps, errors = np.array([8e-6, 4e-6, 2e-6, 1e-6]), []
    assert model.exact(np.array([4.999e-3]), {"R": 1e3, "L": 1e-2, "C": 1e-6, "v0": 10})["x"][
        0, 0
    ] == pytest.approx(number, abs=tolerance)
    for h in steps:
        sol = ex.simulate(model, ex.EulerMoreau(h=h), t_end=4.999e-3)
        errors.append(np.abs(model.exact(sol.t, sol.rho)["x"] - sol.x)[:, 0].mean())
    assert slope(steps, errors) == pytest.approx(ex.EulerMoreau.order_across_events, abs=0.15)
    assert sol.x[-1, 0] == pytest.approx(0.786384, abs=1e-6)  # Siconos


@pytest.mark.parametrize("h", [0.01, 0.003])
def test_an_explicit_relay_chatters_and_an_implicit_one_does_not(h):
    """x' = -a sgn x: at rest to round-off after x0 / a, or for ever within a h."""
    a = 2.0
    system = relays([[a]], [1.0])
    rest = ex.simulate(system, ex.EulerMoreau(h=h), t_end=1)
    explicit = ex.simulate(system, ex.EulerMoreau(h=h, gamma=0, gamma_on="relation"), t_end=1)
    late = rest.t > 1 / a + h
    assert np.abs(rest.x[late]).max() <= 1e-14
    assert (rest.side[late] == 0).all()
    chatter = explicit.x[late, 0]
    assert 0.25 * a * h <= np.abs(chatter).max() <= 1.01 * a * h
    assert np.abs(np.diff(chatter[:-1])) == pytest.approx(a * h)


def test_an_equality_is_kept_and_its_multiplier_is_the_force_that_it_takes():
    """x0 = sin t by an equality: lam is what is missing, cos t + x1, to first order."""
    system = ex.FirstOrderSystem(
        "held", x="x0 x1", f=["-x1", "x0"], laws={"u": "equality"}, r={"x0": "u"},
        y=["x0 - sin(t)"], start={"x": [0, 1]},
    )  # fmt: skip
    sol = ex.simulate(system, ex.EulerMoreau(h=1e-3, theta=1), t_end=3)
    assert np.abs(sol.x[:, 0] - np.sin(sol.t)).max() <= 1e-14
    assert np.abs(sol.lam[1:, 0] - np.cos(sol.t[1:]) - sol.x[1:, 1]).max() <= 1e-3


def test_two_relays_arrive_after_infinitely_many_switches():
    """At t = s / b, Siconos's Filippov at 1.5; and explicitly within some b k h for ever."""
    model = ex.models.two_relays()
    number, tolerance, _ = model.published["two relays: time of arrival, b = 2, s = 3, in s"]
    assert number == pytest.approx(3 / 2, abs=tolerance)
    sol = ex.simulate(model, ex.EulerMoreau(h=1e-5))
    size = np.abs(sol.x).sum(axis=1)
    arrived = sol.t[np.flatnonzero(size > 1e-10)[-1]]
    assert arrived == pytest.approx(number, abs=2e-2)
    assert len(sol.event_rows) > 50
    early = sol.t < 1
    assert np.abs(size - (6 - 4 * sol.t))[early].max() <= 0.05
    explicit = ex.EulerMoreau(h=1e-4, gamma=0, gamma_on="relation")
    late = ex.simulate(model, explicit).x[-1000:]
    assert 2 * 2 * 1e-4 < np.abs(late).max() < 40 * 27 * 2 * 1e-4


# -- the buck converter ---------------------------------------------------------------------------

BUCK = {"R": 22.0, "L": 20e-3, "C": 47e-6, "T": 400e-6}


def buck_period(x, V_in):
    """March one period of the clock exactly, from switch to switch: the slow twin."""
    from scipy.optimize import brentq

    R, L, C, T = BUCK.values()
    w, V = np.linalg.eig(np.array([[-1 / (R * C), 1 / C], [-1 / L, 0]]))
    inverse = np.linalg.inv(V)
    t, u = 0.0, 1 if 8.4 * (x[0] - 11.3) < 3.8 else 0
    while True:
        rest = np.array([V_in * u, V_in * u / R])

        def after(s, x=x, rest=rest):
            return rest + (V @ (np.exp(w * s) * (inverse @ (x - rest)))).real

        def above(s, t=t, after=after):
            return 8.4 * (after(s)[0] - 11.3) - 3.8 - 4.4 * (t + s) / T

        grid = np.linspace(0, T - t, 40)[1:]
        side = 1 if u == 0 else -1
        over = next((s for s in grid if side * above(s) < 0), None)
        if over is None:
            return after(T - t)
        s = brentq(above, max(over - grid[0], 1e-12), over, xtol=1e-15)
        x, t, u = after(s), t + s, 1 - u


def buck_cycle(V_in, periods=1, start=(12.02, 0.6)):
    """Return the cycle of so many periods of the clock and its multipliers."""
    x = np.array(start)

    def after(x):
        for _ in range(periods):
            x = buck_period(x, V_in)
        return x

    for _ in range(12):
        J = np.array([(after(x + e) - after(x - e)) / 2e-6 for e in 1e-6 * np.eye(2)]).T
        change = np.linalg.solve(np.eye(2) - J, after(x) - x)
        x = x + change
        if np.abs(change).max() < 1e-9:
            break
    return x, np.linalg.eigvals(J)


def test_the_buck_converter_doubles_its_period_where_it_was_published():
    """Multiplier -1 of the exact map at 24.516 V; the scheme follows both sides of it."""
    number, tolerance, _ = ex.models.buck_converter().published[
        "buck converter: the period doubles at V_in, in V"
    ]
    below, above = (buck_cycle(number + d)[1].real.min() for d in (-tolerance, tolerance))
    assert below > -1 > above

    def ticks(V_in):
        h = BUCK["T"] / 200
        sol = ex.simulate(
            ex.models.buck_converter(), ex.EulerMoreau(h=h), t_end=100 * BUCK["T"], V_in=V_in
        )
        assert (sol.outputs["v_ramp"] >= 3.8 - 1e-9).all()
        return sol.x[::200][-20:]

    single, double = ticks(20), ticks(28)
    assert single.mean(axis=0) == pytest.approx(buck_cycle(20)[0], rel=5e-3)
    assert np.abs(np.diff(single[:, 1])).max() < 0.02
    assert (np.abs(np.diff(double[:, 1])) > 0.08).all()
    assert np.ptp(double[::2, 1]) < 0.03


def test_the_buck_converter_doubles_its_period_again():
    """At 31.12 V: the multipliers of the cycle of two periods, from where the scheme stands."""
    number, tolerance, _ = ex.models.buck_converter().published[
        "buck converter: the period doubles again at V_in, in V"
    ]
    n = 1000
    run = ex.simulate(ex.models.buck_converter(), ex.EulerMoreau(h=BUCK["T"] / n),
                      t_end=200 * BUCK["T"], V_in=30)  # fmt: skip
    multipliers, x = [], run.x[-1]
    for V_in in (30, number - tolerance, number + tolerance):
        x, found = buck_cycle(V_in, 2, x)
        assert np.abs(buck_period(x, V_in) - x).max() > 0.05  # not the cycle of one period
        multipliers.append(found.real.min())
    assert multipliers[1] > -1 > multipliers[2]


def test_a_diode_keeps_the_current_of_a_light_load_from_turning():
    """Rest at i = 0 in each period, where v_D takes what is left of the voltage."""
    sol = ex.simulate(ex.models.buck_converter(), R=200, V_in=24)
    i, v_D = sol.x[:, 1], sol.lam[:, 1]
    assert i.min() >= -1e-12
    resting = v_D > 0
    assert 0.05 < resting.mean() < 0.9
    assert np.abs(i[resting]).max() <= 1e-9
    off = resting & (sol.lam[:, 0] == 0)
    steady = off[1:] & off[:-1] & resting[:-1]
    mean = (sol.x[1:, 0] + sol.x[:-1, 0])[steady] / 2
    assert v_D[1:][steady] == pytest.approx(mean, rel=1e-6)


# -- step functions and regions -------------------------------------------------------------------


@pytest.mark.parametrize(("name", "representation"), [
    ("relay_feedback", "step"), ("stribeck_belt", "step"), ("stribeck_belt", "stewart"),
    ("three_blocks", "step"),
])  # fmt: skip
def test_time_stepping_of_step_functions_tends_to_fesd(name, representation):
    """Slides on one surface and on several, entered and left: first order against order 7."""
    system = getattr(ex.models, name)()
    sharp = ex.simulate(system, ex.FESD(h=system.h, stages=4))
    errors = []
    for h in (system.h / 16, system.h / 128):
        scheme = ex.EulerMoreau(h=h, representation=representation)
        sol = ex.simulate(system, scheme)
        errors.append(np.abs(sol.x[-1] - sharp.x[-1]).max())
        assert sol.system is system
        assert len(sol.route) == 1
    assert errors[1] < errors[0] / 4
    assert set(sol.mode_names) <= set(sharp.mode_names) | {sol.mode_names[sol.mode[0]]}


def test_both_forms_are_the_same_on_one_surface():
    """theta = (alpha, 1 - alpha): the same steps; the regions have their names in both."""
    system = ex.models.stribeck_belt()
    step, stewart = (
        ex.simulate(system, ex.EulerMoreau(h=1e-2, representation=form))
        for form in ("step", "stewart")
    )
    close(step.x, stewart.x, 1e-9)
    assert set(step.mode_names) == set(stewart.mode_names)
    with pytest.raises(NotApplicable, match="representation='step'"):
        ex.simulate(ex.models.sliding_mode(), ex.EulerMoreau(representation="stewart"))


@pytest.mark.parametrize("representation", ["step", "stewart"])
def test_multipliers_of_regions_are_those_of_fesd(representation, tmp_path):
    """x' = sum theta f in every step; the same questions as of a run by FESD."""
    fields = [[-1, -2], [-1, 1], [2, -1], [3, 1.5]]
    corner = ex.FilippovSystem(
        "corner", "x y", c=["x", "y"], S=[[1, 1], [1, -1], [-1, 1], [-1, -1]],
        modes=dict(zip("abcd", fields, strict=True)), start={"x": [1, 0.7]},
    )  # fmt: skip
    run = ex.simulate(corner, ex.EulerMoreau(h=1e-2, representation=representation), t_end=2)
    close(np.diff(run.x, axis=0) / 1e-2, run.theta[1:] @ np.array(fields), 1e-12)
    fesd = ex.simulate(corner, ex.FESD(h=1e-2), t_end=0.99)  # before both surfaces hold it
    for t in (0.0, 0.2, 0.7):
        rows = [np.searchsorted(s.t, t + 1e-9) for s in (run, fesd)]
        close(run.theta[rows[0]], fesd.theta[rows[1]], 1e-9)
    close(ex.load(run.save(tmp_path / "run")).theta, run.theta, 0)
    if representation == "step":
        close(run.alpha[1:], run.lam[1:], 0)
    else:
        with pytest.raises(NotApplicable, match="has no alpha"):
            run.alpha


def test_multipliers_that_a_run_does_not_have_are_refused():
    signs = ex.simulate(ex.StepSystem("s", "x", f=["-sign(x)"], start={"x": [1]}), "EulerMoreau")
    assert signs.alpha[0] == 1
    for run, name, other in ((signs, "theta", "alpha"), (ex.simulate(small(r=["u"])), "alpha", "lam"),
                             (ex.simulate(small(r=["u"])), "theta", "lam")):  # fmt: skip
        with pytest.raises(NotApplicable, match=f"solution.{other} holds"):
            getattr(run, name)


def test_fesd_stays_the_first_choice_of_step_functions():
    """A rewriting comes behind what takes the system as it is."""
    schemes = [type(s).__name__ for s in ex.schemes_for(ex.models.sliding_mode())]
    assert schemes.index("FESD") < schemes.index("EulerMoreau")


# -- the problem in a box -------------------------------------------------------------------------


def solved(method, M, q, low, high):
    """Return status, lam, residual of `solve_box`."""
    from explorer.kernels.complementarity.box_lcp import solve_box
    from explorer.kernels.complementarity.structures import Box, Sides, box_workspaces

    m = len(q)
    side = np.where(np.isinf(low), 0, -1).astype(np.int8)
    answer = Sides(side, *np.zeros((2, m)))
    code, residual = solve_box(method, Box(M, q, low, high), answer, 1e-9, *box_workspaces(m))
    return code, answer.lam, residual


@pytest.mark.parametrize("method", [0, 1, 2])
def test_every_method_solves_problems_with_one_solution(method):
    """Positive definite, not symmetric: one solution, that of the twin; all three kinds of rows."""
    rng = np.random.default_rng(11)
    for _ in range(150):
        m = int(rng.integers(1, 6))
        A, S = rng.standard_normal((2, m, m))
        M, q = A @ A.T + 0.1 * np.eye(m) + S - S.T, 3 * rng.standard_normal(m)
        kind = rng.integers(0, 3, m)
        low = np.where(kind == 0, 0.0, np.where(kind == 1, -INF, -rng.random(m)))
        high = np.where(kind == 2, rng.random(m), INF)
        code, lam, residual = solved(method, M, q, low, high)
        assert code == 0
        assert residual <= 1e-9
        close(lam, box(M, q, low, high)[0], 1e-8)


@pytest.mark.parametrize("method", [0, 1, 2])
def test_what_has_no_solution_gets_none_from_round_off(method):
    """Two laws that pull one state apart: u'y < 0 for u > 0 in the left null space of M = c c'.

    A pivot that is zero but for round-off would give multipliers of 1e17.
    """
    rng = np.random.default_rng(3)
    for _ in range(200):
        c = rng.random(2) * [1, -1] * 10.0 ** rng.integers(-6, 3)
        low = np.array([rng.choice([0, -INF]), 0])
        code, _, residual = solved(method, np.outer(c, c), -1 - rng.random(2), low, np.full(2, INF))
        assert code != 0, c
        assert residual > 1e-3


@pytest.mark.parametrize("method", [0, 1, 2])
def test_a_relay_without_a_matrix_takes_its_bound(method):
    """M = 0: y = q decides alone, the sign of correction 9 of siconos-schemes."""
    code, lam, _ = solved(
        method, np.zeros((2, 2)), np.array([0.5, -2.0]), *np.array([[-1.0, -3], [2, 4]])
    )
    assert code == 0
    assert lam.tolist() == [-1.0, 4.0]


# -- bad input ------------------------------------------------------------------------------------


def small(**changes):
    """Return x' = -1 + r, y = x, with changes."""
    given = {"x": "x", "f": ["-1"], "laws": {"u": "complementarity"}, "y": ["x"],
             "start": {"x": [1], "t_end": 2, "h": 0.1}}  # fmt: skip
    return ex.FirstOrderSystem("s", **(given | changes))


REFUSED = {
    "relay without bounds": ({"laws": {"u": "relay"}}, ["'u'", "lb=-1"]),
    "bounds the wrong way": (
        {"laws": {"u": {"kind": "relay", "lb": 1, "ub": -1}}}, ["lb = 1", "ub = -1"],
    ),
    "bounds of no relay": ({"laws": {"u": {"lb": 0}}}, ["only a relay"]),
    "kind": ({"laws": {"u": "relais"}}, ["'relais'", "relay"]),
    "name": ({"laws": {"x": "relay"}}, ["'x'"]),
    "unknown symbol": ({"y": ["x + v"]}, ["'v'"]),
    "multiplier in f": ({"f": ["-u"]}, ["'u'"]),
    "y": ({"y": ["x", "x"]}, ["1 component"]),
    "shape": ({"y": None, "C": [[1, 2]]}, ["1 x 1", "1 x 2"]),
    "state in a matrix": ({"y": None, "C": [["x"]]}, ["'x'"]),
    "output": ({"outputs": {"u": "x"}}, ["'u'"]),
    "output of three": ({"outputs": {"p": ("x", "W", "z")}}, ["'p'", "(formula, unit)"]),
    "laws as a list": ({"laws": ["u"]}, ["laws of 's'", "dict", "complementarity"]),
    "laws as text": ({"laws": "complementarity"}, ["laws of 's'", "dict"]),
    "law that is a number": ({"laws": {"u": 3}}, ["'u'", "dict", "3"]),
    "entry of a law": ({"laws": {"u": {"kind": "relay", "low": 1}}}, ["'u'", "'low'", "lb"]),
    "states as a number": ({"x": 3}, ["states of 's'", "names", "3"]),
    "no states": ({"x": None}, ["states of 's'", "names", "None"]),
    "start as a list": ({"start": [1]}, ["start of 's'", "dict", "x=["]),
    "entry of a start": ({"start": {"q": [1]}}, ["start of 's'", "'q'", "x, t_end, h"]),
    "f twice": ({"A": [[1]]}, ["f", "A", "remove one of them"]),
    "y twice": ({"C": [[1]]}, ["y", "C", "remove one of them"]),
    "z without F": ({"y": None, "C": [[1]], "z": [1]}, ["F", "z", "both"]),
    "F without z": ({"y": None, "C": [[1]], "F": [[1]]}, ["F", "z", "both"]),
    "rows of two lengths": (
        {"x": "x z", "f": None, "A": [[1, 2], [1]], "start": None}, ["2 x 2", "rows of 2 and 1"],
    ),
    "state in M": ({"mass": [["x"]]}, ["may not depend on 'x'", "parameters"]),
    "state in a bound": (
        {"laws": {"u": {"kind": "relay", "lb": "x", "ub": 1}}, "params": {"a": 1}},
        ["lb may not depend on 'x'", "only on a"],
    ),
    "Python's word as a state": ({"x": "lambda"}, ["'lambda'", "state", "lambda_"]),
    "Python's word as a multiplier": ({"laws": {"is": "relay"}}, ["'is'", "multiplier"]),
    "Python's word as an output": ({"outputs": {"if": "x"}}, ["'if'", "output"]),
    "complex entry": ({"f": None, "A": [[1j]]}, ["A", "real"]),
}  # fmt: skip


@for_each("case", REFUSED)
def test_refusals_when_it_is_built(case):
    """One sentence that names what and why."""
    changes, words = REFUSED[case]
    with pytest.raises((BadModel, BadValue)) as caught:
        small(**changes)
    for word in words:
        assert word in str(caught.value)


def test_a_single_number_stands_for_a_vector_of_one():
    """z = 1 with F = [[1]]."""
    assert small(y=None, C=[[1]], F=[[2]], z=3).y == small(y=["x + 6"]).y


def test_refusals_when_it_is_run():
    """No f, no y, bounds that parameters make wrong, M singular, a start that is no number."""
    with pytest.raises(BadModel, match="right-hand side"):
        ex.simulate(small(f=None))
    with pytest.raises(BadModel, match="1 law, but no formula y"):
        ex.simulate(small(y=None))
    relay = {"u": {"kind": "relay", "lb": "a", "ub": 1}}
    with pytest.raises(BadValue, match="lb = 2 above ub = 1"):
        ex.simulate(small(params={"a": 0}, laws=relay), a=2)
    for bound, value in (("1/a", "inf"), ("sqrt(-a)", "nan")):
        relay = {"u": {"kind": "relay", "lb": -1, "ub": f"{bound} + 0*a"}}
        with pytest.raises(BadValue, match=f"'u'.* finite.*ub = {value}"):
            ex.simulate(small(params={"a": -1}, laws=relay), a=0 if value == "inf" else 1)
    with pytest.raises(BadModel, match=r"'x'.*equality"):
        ex.simulate(small(mass=[[0]]))
    with pytest.raises(BadModel, match="start"):
        ex.simulate(small(params={"a": 0}, start={"x": ["1/a"]}))
    with pytest.raises(NotApplicable, match="EulerMoreau"):
        ex.simulate(small(), "MoreauJean")


def test_an_unsolvable_law_is_named_with_its_step_and_ray():
    """x' = -1 with 0 <= x perp u >= 0 and no r: nothing can hold x; what ran is kept."""
    with pytest.raises(StepFailed) as caught:
        ex.simulate(small())
    said = str(caught.value)
    assert "step 10" in said
    assert "laws of u" in said
    assert "ray 1 y_u" in said
    assert caught.value.solution.x[-1, 0] == pytest.approx(0, abs=1e-12)
    two = {"u": "complementarity", "w": "complementarity"}
    with pytest.raises(StepFailed, match=r"y_u \+ .*y_w"):
        ex.simulate(small(laws=two, y=["x - u + w - 2", "u - w"]))


def test_why_a_law_is_not_met_depends_on_what_was_chosen():
    """gamma = 0 leaves out the multiplier of the step; r = u^2 has no slope where u = 0."""
    with pytest.raises(StepFailed, match="try gamma > 0"):
        ex.simulate(small(r=["u"]), ex.EulerMoreau(h=1e-2, gamma=0))
    with pytest.raises(StepFailed, match=r"Jacobian of the relation is singular.*u does not act"):
        ex.simulate(small(r=["u**2"]), ex.EulerMoreau(h=1e-2))


def test_a_formula_that_jumps_is_told_which_law_would_hold():
    signs = ex.FirstOrderSystem("signs", "x", f=["-sign(x)"], start={"x": [1]})
    with pytest.raises(StepFailed, match=r"f of 'x' jumps where x = 0.* relay .*y = x.*StepSystem"):
        ex.simulate(signs, ex.EulerMoreau(h=1e-2), t_end=2)


def test_a_step_that_determines_nothing_is_named():
    """W = 1 - h theta / (h theta) = 0; and a formula that is no number any more."""
    with pytest.raises(StepFailed, match=r"theta f_x.*singular"):
        ex.simulate(small(f=["20*x"], laws={}, y=None))
    with pytest.raises(StepFailed, match="right-hand side of 'x'"):
        ex.simulate(small(f=["-1 - sqrt(x - 0.5)"], laws={}, y=None))


# -- the object -----------------------------------------------------------------------------------


def test_step_by_step_is_the_same_as_one_call():
    """Formulas or matrices, calls or keywords; and from plain data: the same numbers."""
    whole = ex.models.diode_bridge()
    again = from_spec(json.loads(json.dumps(whole.to_spec())))
    a, b = ex.simulate(whole, t_end=1e-3), ex.simulate(again, t_end=1e-3)
    for name in ("x", "lam", "y", "side"):
        assert np.array_equal(getattr(a, name), getattr(b, name))
    text = whole._repr_markdown_()
    for word in (r"\perp", "v_{load}", "Ω", "diode bridge"):
        assert word in text


def test_modes_are_named_with_short_numbers():
    law = {"kind": "relay", "lb": -0.7, "ub": "k/3"}
    relay = ex.FirstOrderSystem("relay", "x", params={"k": 1.0}, f=["0.1"], y=["x"], r=["u"],
                                laws={"u": law}, start={"x": [0.1]})  # fmt: skip
    assert ex.simulate(relay, ex.EulerMoreau(h=1e-2)).mode_names == ("u = -0.7", "y_u = 0")


def test_voltages_and_currents_have_their_names(tmp_path):
    """Outputs, modes and switches of a circuit; a saved run is the same run."""
    sol = ex.simulate(ex.models.diode_bridge())
    assert np.abs(sol.outputs["v_load"] - np.abs(sol.x[:, 0]))[1:].max() <= 1e-9
    assert set(sol.mode_names) == {"v_R1, i_F1 > 0", "v_F2, i_R2 > 0"}
    change = sol.events[0]
    assert (change.kind, change.contact) in [("opens", "v_R1"), ("closes", "v_R1")]
    assert change.mode != change.to
    again = ex.load(sol.save(tmp_path / "run"))
    assert np.array_equal(again.lam, sol.lam)
    assert again.mode_names == sol.mode_names


# -- Newton's method at round-off -----------------------------------------------------------------


def nonlinear(name):
    """Systems whose terms cancel: what is left is round-off beside their sum."""
    if name == "equality":
        return ex.FirstOrderSystem("circle", "v w", f=["w", "-v"], laws={"i": "equality"},
                                   y=["v**2 + w**2 - 25"], r=["2*v*i", "2*w*i"],
                                   start={"x": [3, 4]})  # fmt: skip
    if name == "sliding relay":
        return ex.FirstOrderSystem("slide", "a", f=["0.5*cos(t)"], start={"x": [3.2]}, r=["k"],
                                   laws={"k": {"kind": "relay", "lb": -1, "ub": 1}},
                                   y=["a - 3 + 0.02*k**3"])  # fmt: skip
    if name == "equilibrium":
        return ex.FirstOrderSystem("rest", "y z", f=["z", "-100*(y**3 - 27) - z"],
                                   start={"x": [4, 0]})  # fmt: skip
    return ex.models.two_blocks_on_belt()


@for_each("name", ["equality", "sliding relay", "equilibrium", "belt"])
@for_each("h", [1e-2, 4e-3, 5e-4])
@for_each("variant", [{}, {"gamma": 0.5}, {"gamma": 0.5, "gamma_on": "relation"}])
def test_newtons_method_ends_where_round_off_begins(name, h, variant):
    run = ex.simulate(nonlinear(name), ex.EulerMoreau(h=h, **variant), t_end=10)
    assert run.iterations.max() <= 12
    if name == "equality" and not variant:
        assert np.abs((run.x[1:] ** 2).sum(axis=1) - 25).max() <= 1e-9
    if name == "sliding relay":
        assert np.abs(run.lam[-1, 0]) < 1


# -- enumeration ----------------------------------------------------------------------------------


@pytest.mark.parametrize("lever", [1.0, 1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("lcp", ["pivoting", "lemke", "enumeration"])
def test_a_relay_with_a_small_lever_takes_the_right_bound(lever, lcp):
    weak = ex.FirstOrderSystem("weak", "x", A=[[0]], B=[[lever]], C=[[1]], start={"x": [-1]},
                               laws={"u": {"kind": "relay", "lb": -1, "ub": 1}})  # fmt: skip
    assert (ex.simulate(weak, ex.EulerMoreau(h=1e-3, lcp=lcp), t_end=0.02).lam[1:, 0] == 1).all()


def test_where_there_are_too_many_patterns_the_other_methods_serve():
    n = 14
    many = ex.FirstOrderSystem(
        "many", [f"x{i}" for i in range(n)], A=-np.eye(n), B=np.eye(n), C=np.eye(n),
        e=-np.ones(n), laws={f"l{i}": "complementarity" for i in range(n)},
    )  # fmt: skip
    one, two = (ex.simulate(many, ex.EulerMoreau(h=1e-2, lcp=lcp), t_end=1)
                for lcp in ("enumeration", "pivoting"))  # fmt: skip
    assert np.abs(one.x - two.x).max() < 1e-12


def test_a_system_whose_laws_have_no_y_yet_shows_what_it_has():
    system = ex.FirstOrderSystem(
        "f", x="v", laws={"i": "complementarity"}, f=["0"], r=["-i"], start={"x": [5]}
    )
    assert r"\dot{v} = - i" in system._repr_markdown_()
