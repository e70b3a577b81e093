"""Every step against Siconos's trajectories and against the twin of the recursion."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse
import sympy as sp
from loops import for_each
from twin import DATA, Equations, linear_moreau_jean, moreau_jean

import explorer as ex

TOL = 1e-10


def close(got, expected, tol=TOL):
    """Equal to `tol`, absolutely and at every entry."""
    assert np.shape(got) == np.shape(expected)
    assert np.abs(np.asarray(got) - expected).max() <= tol


@pytest.fixture(scope="module")
def ball_data() -> np.ndarray:
    """Columns t, q, v, p, P."""
    return np.loadtxt(DATA / "BouncingBallTS.ref", skiprows=1)


@pytest.fixture(scope="module")
def column_data() -> np.ndarray:
    """Columns t, q0, v0, ..., q9, v9; every tenth step."""
    return np.loadtxt(DATA / "ColumnOfBeadsTS.every10.dat")


def linear_ball(wrap=np.asarray):
    """Return the reference ball as matrices."""
    return ex.LinearMechanicalSystem(
        "ball", wrap(np.eye(1)), f=[-9.81], H=wrap(np.eye(1)), e=0.9, start={"q": [1.0], "v": [0.0]}
    )


def linear_column(wrap=np.asarray, n=10):
    """Return the reference column as matrices."""
    H = np.eye(n) - np.eye(n, k=-1)
    return ex.LinearMechanicalSystem(
        "column", wrap(np.eye(n)), f=[-9.81] * n, H=wrap(H), b=[-0.1] + [-0.2] * (n - 1), e=0.9,
        start={"q": [1 + 0.25 * i for i in range(n)], "v": [0.0] * n},
    )  # fmt: skip


@pytest.mark.parametrize("mass_point", ["q_star", "iterate"])
@pytest.mark.parametrize("lcp", ["lemke", "enumeration", "pgs"])
def test_bouncing_ball_is_siconos_ball(ball_data, lcp, mass_point):
    """q, v and impulse of all 2001 rows; the gallery's ball, any LCP solver."""
    scheme = ex.MoreauJean(h=0.005, theta=0.5, lcp=lcp, mass_point=mass_point)
    sol = ex.simulate(ex.models.bouncing_ball(), scheme, t_end=10, m=1, g=9.81, e=0.9, y0=1)
    close(np.column_stack([sol.t, sol.q, sol.v, sol.p]), ball_data[:, [0, 1, 2, 4]])


@pytest.mark.parametrize("wrap", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_bouncing_ball_from_matrices_is_siconos_ball(ball_data, wrap):
    """The same through LinearMechanicalSystem, dense and sparse."""
    sol = ex.simulate(linear_ball(wrap), ex.MoreauJean(h=0.005), t_end=10)
    close(np.column_stack([sol.t, sol.q, sol.v, sol.p]), ball_data[:, [0, 1, 2, 4]])


def column_systems():
    """Return the column as formulas, dense and sparse matrices."""
    return {
        "formulas": lambda: ex.models.column(10),
        "dense": linear_column,
        "sparse": lambda: linear_column(scipy.sparse.csc_matrix),
    }


@pytest.mark.parametrize(("form", "lcp"), [
    ("formulas", "lemke"), ("dense", "enumeration"), ("sparse", "lemke"), ("sparse", "enumeration"),
])  # fmt: skip
def test_column_of_beads_is_siconos_column(column_data, form, lcp):
    """q, v of each stored row, and the impulses of the ten steps between two of them."""
    sol = ex.simulate(column_systems()[form](), ex.MoreauJean(h=5e-4, lcp=lcp), t_end=2)
    assert len(sol.t) == 4001
    q, v = column_data[:, 1:21:2], column_data[:, 2:22:2]
    close(sol.t[::10], column_data[:, 0])
    close(sol.q[::10], q)
    close(sol.v[::10], v)
    change = np.diff(v, axis=0) + 10 * 5e-4 * 9.81  # = H' p, contact i pushes ball i up, i-1 down
    impulse = np.cumsum(change[:, ::-1], axis=1)[:, ::-1]
    close(sol.p[1:].reshape(-1, 10, 10).sum(axis=1), impulse)


# -- the twin, for other parameters -----------------------------------------------------------

CHAIN_M = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
CHAIN_K = np.array([[40.0, -15.0, 0.0], [-15.0, 30.0, -12.0], [0.0, -12.0, 12.0]])
CHAIN_C = 0.05 * CHAIN_K + np.array([[0.0, 0.3, 0.0], [-0.3, 0.0, 0.0], [0.0, 0.0, 0.2]])
CHAIN_H = np.array([[1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, -1.0]])
CHAIN_B = np.array([0.10, 0.05, 0.08, 0.12])
CHAIN_E = np.array([0.0, 0.5, 0.9, 0.3])
CHAIN_START = np.array([0.02, -0.01, 0.03]), np.array([1.5, -0.7, 0.4])


def load(t):
    """Return the forces on the chain."""
    return np.array([3 * np.sin(7 * t), -2.0, 4 * np.cos(3 * t)])


@functools.cache
def chain_twin(theta, forecast):
    """Return the motion of the chain, of which both forms are the system."""
    return linear_moreau_jean(
        CHAIN_M, CHAIN_C, CHAIN_K, load, (CHAIN_H, CHAIN_B, CHAIN_E), *CHAIN_START, 2e-3, 0.9991,
        theta, forecast,
    )  # fmt: skip


@for_each("theta", [0.5, 0.75, 1.0])
@for_each("forecast", [0.0, 0.5, 1.0])
@for_each("form", ["formulas", "matrices"])
def test_chain_with_stiffness_and_damping_is_its_twin(theta, forecast, form):
    """Three masses, four contacts, C not symmetric, forcing; a last partial step."""
    h, t_end = 2e-3, 0.9991
    start = {"q": CHAIN_START[0], "v": CHAIN_START[1]}
    f = ["3*sin(7*t)", -2, "4*cos(3*t)"]
    if form == "matrices":
        system = ex.LinearMechanicalSystem(
            "chain", CHAIN_M, CHAIN_K, CHAIN_C, f, H=CHAIN_H, b=CHAIN_B, e=CHAIN_E, start=start
        )
    else:
        system = ex.MechanicalSystem("chain", q=3, mass=CHAIN_M, start=start)
        q, v = sp.Matrix(system.q), sp.Matrix(system.v)
        smooth = sp.Matrix([sp.sympify(x) for x in f])
        system.force = smooth - sp.Matrix(CHAIN_K) * q - sp.Matrix(CHAIN_C) * v
        for row, b, e in zip(CHAIN_H, CHAIN_B, CHAIN_E, strict=True):
            system.contact(ex.Contact((sp.Matrix([row]) * q)[0] + b, float(e)))
    sol = ex.simulate(system, ex.MoreauJean(h=h, theta=theta, forecast=forecast), t_end=t_end)
    t, q, v, p = chain_twin(theta, forecast)
    assert (p > 0).any(axis=0).sum() >= 3
    for got, expected in ((sol.t, t), (sol.q, q), (sol.v, v), (sol.p, p)):
        close(got, expected)
    assert sol.t[-1] == t_end


def test_explicit_scheme_is_its_twin():
    """theta = 0: W = M, still the same recursion, for a short time span."""
    system = ex.LinearMechanicalSystem(
        "chain", CHAIN_M, CHAIN_K, CHAIN_C, H=CHAIN_H, b=CHAIN_B, e=CHAIN_E,
        start={"q": CHAIN_START[0], "v": CHAIN_START[1]},
    )  # fmt: skip
    sol = ex.simulate(system, ex.MoreauJean(h=1e-3, theta=0), t_end=0.5)
    twin = linear_moreau_jean(
        CHAIN_M, CHAIN_C, CHAIN_K, lambda t: np.zeros(3), (CHAIN_H, CHAIN_B, CHAIN_E),
        *CHAIN_START, 1e-3, 0.5, theta=0.0,
    )  # fmt: skip
    assert (twin[3] > 0).any()
    for got, expected in zip((sol.t, sol.q, sol.v, sol.p), twin, strict=True):
        close(got, expected)


@pytest.mark.parametrize("theta", [0.5, 0.8])
@pytest.mark.parametrize("a", [0.6, 2.2])
def test_rheonomic_gap_is_its_twin(theta, a):
    """Vibrating table: gap_t at the end of the step, e gap' with gap_t at its start."""
    g, w, e = 9.81, 20.0, 0.8
    amplitude = a * g / w**2
    table = Equations(
        mass=lambda q: np.eye(1),
        force=lambda t, q, v: np.array([-g]),
        K=lambda t, q, v: np.zeros((1, 1)),
        C=lambda t, q, v: np.zeros((1, 1)),
        gap=lambda t, q: q - amplitude * np.sin(w * t),
        G=lambda t, q: np.eye(1),
        gap_t=lambda t, q: np.array([-amplitude * w * np.cos(w * t)]),
        e=np.array([e]),
    )
    model = ex.models.vibrating_table()
    sol = ex.simulate(model, ex.MoreauJean(h=1e-3, theta=theta), t_end=1.5, a=a, e=e, y0=0.02, v0=0)
    t, q, v, p = moreau_jean(table, [0.02], [0.0], 1e-3, 1.5, theta=theta)
    assert (p > 0).sum() > 3
    for got, expected in ((sol.t, t), (sol.q, q), (sol.v, v), (sol.p, p)):
        close(got, expected, 1e-9)  # errors grow with each impact


def pendulum(k=60.0, length=1.0, g=9.81, d=0.3, e=0.8) -> Equations:
    """Return the elastic pendulum between two walls, m = 1, derivatives by hand."""

    def force(t, q, v):
        r, a = q
        return np.array(
            [r * v[1] ** 2 + g * np.cos(a) - k * (r - length),
             -2 * r * v[0] * v[1] - g * r * np.sin(a)]
        )  # fmt: skip

    def K(t, q, v):
        r, a = q
        return -np.array(
            [[v[1] ** 2 - k, -g * np.sin(a)],
             [-2 * v[0] * v[1] - g * np.sin(a), -g * r * np.cos(a)]]
        )  # fmt: skip

    def C(t, q, v):
        r = q[0]
        return -np.array([[0.0, 2 * r * v[1]], [-2 * r * v[1], -2 * r * v[0]]])

    def G(t, q):
        r, a = q
        row = np.array([np.sin(a), r * np.cos(a)])
        return np.array([-row, row])

    return Equations(
        mass=lambda q: np.diag([1.0, q[0] ** 2]), force=force, K=K, C=C,
        gap=lambda t, q: d + q[0] * np.sin(q[1]) * np.array([-1.0, 1.0]), G=G,
        gap_t=lambda t, q: np.zeros(2), e=np.full(2, e),
    )  # fmt: skip


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
@pytest.mark.parametrize(
    ("mass_point", "gamma"), [("iterate", 0.5), ("q_star", 0.5), ("q_star", 0.0), ("q_star", 1.0)]
)
def test_nonlinear_recursion_is_its_twin(theta, mass_point, gamma):
    """Elastic pendulum through several impacts, Newton converged in both; a last partial step."""
    h, t_end = 5e-3, 0.9987
    scheme = ex.MoreauJean(
        h=h, theta=theta, mass_point=mass_point, gamma=gamma, newton_tol=1e-14, forecast=0.5
    )
    sol = ex.simulate(
        ex.models.elastic_pendulum(), scheme, t_end=t_end, d=0.3, theta0=0.25, v0=[0.3, 1.5]
    )
    t, q, v, p = moreau_jean(
        pendulum(), [1.0, 0.25], [0.3, 1.5], h, t_end, theta=theta, mass_point=mass_point,
        gamma=gamma, tol=2e-14,
    )  # fmt: skip
    assert (p > 0).sum(axis=0).min() >= 1
    for got, expected in ((sol.t, t), (sol.q, q), (sol.v, v), (sol.p, p)):
        close(got, expected)


@pytest.mark.parametrize("mass_point", ["iterate", "q_star"])
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_one_newton_iteration_is_that_of_the_twin(mass_point, theta):
    """A tolerance that the first iterate meets shows the start and the order of the updates."""
    scheme = ex.MoreauJean(h=0.01, theta=theta, mass_point=mass_point, newton_tol=1e9)
    sol = ex.simulate(
        ex.models.elastic_pendulum(), scheme, t_end=1.5, d=0.3, theta0=0.25, v0=[0.3, 1.5]
    )
    assert (sol.iterations[1:] == 1).all()
    t, q, v, p = moreau_jean(
        pendulum(), [1.0, 0.25], [0.3, 1.5], 0.01, 1.5, theta=theta, mass_point=mass_point, cap=1
    )
    assert (p > 0).any()
    for got, expected in ((sol.t, t), (sol.q, q), (sol.v, v), (sol.p, p)):
        close(got, expected)


def test_unequal_restitutions_in_one_impact_are_the_twin():
    """Two walls with their own e, met at once by symmetric balls."""
    H = np.array([[1.0, 0.0], [0.0, 1.0]])
    M = np.array([[1.0, 0.5], [0.5, 1.0]])
    e = np.array([0.2, 0.9])
    system = ex.LinearMechanicalSystem(
        "coupled", M, f=[-1.0, -1.0], H=H, e=e, start={"q": [0.5, 0.5], "v": [-1.0, -1.0]}
    )
    sol = ex.simulate(system, ex.MoreauJean(h=1e-2), t_end=3)
    twin = linear_moreau_jean(
        M, 0 * M, 0 * M, lambda t: -np.ones(2), (H, np.zeros(2), e), np.full(2, 0.5), -np.ones(2),
        1e-2, 3.0,
    )  # fmt: skip
    assert (twin[3] > 0).all(axis=1).any()
    for got, expected in zip((sol.t, sol.q, sol.v, sol.p), twin, strict=True):
        close(got, expected)


@pytest.mark.parametrize("h", [2e-2, 1e-3])
@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
@pytest.mark.parametrize(
    ("force", "q"),
    [
        ("-9.81*sin(y) + 5 - 0.5*v_y", 0),
        ("-9.81 - 1e4*(y + 100*y**3) - 5*v_y", 0),
        ("-9.81 + 1e6*Max(0, -y)**1.5 - 20*v_y", 0),
        ("-1e6*(y**3 - 1) - 2e3*v_y", 1.001),
        ("5*cos(y) - 5 - 0.1*v_y - y**3", 1e-3),
    ],
)
def test_a_nonlinear_system_comes_to_rest(force, q, theta, h):
    """There the terms of its force cancel: Newton's method ends at what round-off leaves."""
    system = ex.MechanicalSystem("rest", "y", force=force, start={"q": [q]})
    run = ex.simulate(system, ex.MoreauJean(h=h, theta=theta), t_end=20)
    assert run.iterations.max() <= 10
    assert np.abs(run.v[-1, 0]) < 2e-2
