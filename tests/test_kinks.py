"""Formulas with abs, max, cases and floor: steps end where they turn, and keep their order."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import for_each

import explorer as ex
from explorer.compiled.bundle import smooth
from explorer.systems.energies import set_energies
from explorer.systems.kinks import slope

PERIOD = 1.5 * np.pi


def bilinear(force):
    """Return a mass on a spring of 1 that is four times as stiff where it pushes."""
    system = ex.MechanicalSystem("bilinear", q="x", params={"k": 1.0}, force=[force])
    system.start(q=[0.0], v=[1.0], t_end=3 * PERIOD + 1)
    return system


def motion(t):
    """Return x and x' at a time: half waves of two frequencies."""
    s = t % PERIOD
    if s < np.pi:
        return np.array([np.sin(s), np.cos(s)])
    return np.array([-np.sin(2 * (s - np.pi)) / 2, -np.cos(2 * (s - np.pi))])


WAYS = [
    "-x - 3*Min(x, 0)", "-x - 3*(x - Abs(x))/2", "-x - 3*x*Heaviside(-x)", "-x + 3*Max(-x, 0)",
    "-Piecewise((x, x > 0), (4*x, True))", "-x*(5 - 3*sign(x))/2", "-x*(1 - 3*floor(tanh(x)))",
]  # fmt: skip


@for_each("force", WAYS)
@for_each("method", ["dopri5", "dop853", "radau"])
def test_steps_end_where_a_force_turns_and_keep_their_tolerance(force, method):
    """By the closed form, down to the finest tolerance, and with a step's end at each kink."""
    for rtol in (1e-6, 1e-9, 1e-12)[: 2 if method == "radau" else 3]:
        run = ex.simulate(
            bilinear(force), ex.EventDriven(method=method, rtol=rtol, atol=0.1 * rtol)
        )
        assert np.abs(run.x[-1] - motion(run.t[-1])).max() <= 30 * rtol
        ends = np.append(run.march.steps.t, run.t[-1])
        for kink in (np.pi, PERIOD, PERIOD + np.pi, 3 * PERIOD):
            assert np.abs(ends - kink).min() <= 30 * rtol
        assert run.certificate.ok
        assert not run.events


@pytest.mark.parametrize("method", ["newmark", "generalized-alpha"])
def test_newmarks_methods_keep_their_order_across_kinks(method):
    h = 0.04 / 2.0 ** np.arange(5)
    off = [
        np.abs(ex.simulate(bilinear(WAYS[0]), ex.EventDriven(method=method, step=one)).x[-1]
               - motion(3 * PERIOD + 1)).max()
        for one in h.tolist()
    ]  # fmt: skip
    assert np.polyfit(np.log(h), np.log(off), 1)[0] == pytest.approx(2, abs=0.15)


@pytest.mark.parametrize("t_end", [3.7, 32.0, 64.0])
@pytest.mark.parametrize(("rate", "total"), [
    ("floor(t)", lambda t: t * np.floor(t) - np.floor(t) * (np.floor(t) + 1) / 2),
    ("Mod(t, 1)", lambda t: np.floor(t) / 2 + (t - np.floor(t)) ** 2 / 2),
    ("sign(sin(pi*t))", lambda t: 1 - abs(t % 2 - 1)),
    ("abs(sin(pi*t))", lambda t: (2 * np.floor(t) + 1 - np.cos(np.pi * (t % 1))) / np.pi),
])  # fmt: skip
def test_what_turns_with_time_alone_is_met_every_time(rate, total, t_end):
    """Steps of a flow that is constant between its jumps grow, and pass none for all that."""
    clock = ex.HybridSystem("clock", x="x", modes={"on": [rate]}, guards=[], start={"x": [0.0]})
    run = ex.simulate(clock, ex.EventDriven(), t_end=t_end)
    assert run.x[-1, 0] == pytest.approx(total(t_end), abs=1e-7)


def test_a_run_across_kinks_costs_little_more_than_a_smooth_one():
    smooth = ex.simulate(bilinear("-x"), ex.EventDriven())
    run = ex.simulate(bilinear(WAYS[0]), ex.EventDriven())
    assert run.march.counts[2] < 4 * smooth.march.counts[2]


def test_a_kink_of_a_running_cost_ends_a_step_too():
    """The way of a thrown body, up and down: psi = int |v| dt and dpsi/dv0, g = 2."""
    thrown = ex.MechanicalSystem("thrown", q="y", params={"v0": 3.0}, force=["-2"],
                                 start={"q": [0.0], "v": ["v0"], "t_end": 4.0})  # fmt: skip
    scheme = ex.EventDriven(rtol=1e-12, atol=1e-13)
    for method in ("direct", "adjoint"):
        sens = ex.sensitivity(thrown, scheme, ("v0",), "abs(v_y)", method)
        assert sens.cost == pytest.approx(9 / 2 - 3 * 4 + 16, rel=1e-13)  # v0^2/2 - v0 T + T^2
        assert sens.cost_gradient[0] == pytest.approx(3 - 4, rel=1e-11)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.floats(-2, 2), st.floats(0.01, 2), st.floats(0.05, 3), st.floats(0.1, 5))
def test_random_stops_with_clearance_keep_the_energy(x, v, gap, k):
    """Two springs of clearance: all its energy is what it started with."""
    system = CLEARANCE
    run = ex.simulate(system, ex.EventDriven(rtol=1e-11, atol=1e-12), q0=[x], v0=[v],
                      rho={"d": gap, "k": k}, t_end=12.0)  # fmt: skip

    def energy(x, v):
        return v * v / 2 + k * max(abs(x) - gap, 0.0) ** 2 / 2

    start = energy(x, v)
    assert energy(*run.x[-1]) == pytest.approx(start, rel=1e-9, abs=1e-10)
    assert run.certificate.ok


CLEARANCE = ex.MechanicalSystem(
    "clearance", q="x", params={"d": 1.0, "k": 1.0}, force=["-k*Max(x - d, 0) + k*Max(-x - d, 0)"],
    start={"q": [0.0], "v": [1.0], "t_end": 12.0},
)  # fmt: skip


def test_time_freezing_keeps_its_order_across_kinks_of_a_force():
    """They become step functions: the switches of the run meet them."""
    system = ex.MechanicalSystem(
        "beside a ball", q="x y", force=[WAYS[0], "-1"], contacts=[ex.Contact("y", 0.5)],
        start={"q": [0.0, 1.0], "v": [1.0, 0.0], "t_end": 3 * PERIOD + 1},
    )  # fmt: skip
    h, off = [0.1, 0.05, 0.025], []
    for one in h:
        run = ex.simulate(system, ex.FESD(h=one))
        off.append(np.abs([run.q[-1, 0], run.v[-1, 0]] - motion(run.t[-1])).max())
    assert np.polyfit(np.log(h), np.log(off), 1)[0] == pytest.approx(3, abs=0.15)


@pytest.mark.parametrize("force", [WAYS[0], "-x - sign(x)"])
def test_newmarks_error_is_held_where_a_step_holds_a_kink(force):
    """The step's own error, found by a march from its start: no worse than a smooth step's."""
    system, tol = bilinear(force), 1e-5
    run = ex.simulate(system, ex.Newmark(h=0.01, error_tol=tol), t_end=4.0)
    beside = np.flatnonzero(np.diff(np.sign(run.q[:, 0])))
    assert len(beside) >= 1
    for k in beside:
        one = ex.simulate(
            system, ex.EventDriven(), q0=run.q[k], v0=run.v[k], t_end=run.t[k + 1] - run.t[k]
        )
        assert abs(one.q[-1, 0] - run.q[k + 1, 0]) <= tol


def test_forces_at_a_kink_are_those_of_the_side_of_the_rates():
    """A row on the kink is the start of the next side: its force is none of the side before."""
    system = ex.MechanicalSystem(
        "steps up", q="x y", force=["2 + sign(x)", "-2 - sign(x)"],
        contacts=[ex.Contact("y", e=0.0)], start={"q": [-0.5, 0.0], "t_end": 2.0},
    )  # fmt: skip
    run = ex.simulate(system, ex.EventDriven(method="newmark", step=0.03))
    (row,) = np.flatnonzero(np.abs(run.q[:, 0]) < 1e-9)
    assert run.t[row] == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(run.lam[:row, 0], 1.0, rtol=1e-12)
    np.testing.assert_allclose(run.lam[row:, 0], 3.0, rtol=1e-12)
    np.testing.assert_allclose(run.rates[:, 2], run.lam[:, 0], rtol=1e-12)


# -- derivatives of such formulas ---------------------------------------------------------------------

X, A = sp.symbols("x a")
SHARP = [
    "abs(x)", "sign(x)*x**2", "floor(x)*x", "ceiling(x)*x", "Mod(x**2, a)", "Max(x, a*x**2, 1)", "Min(0, x**3)*a",
    "Heaviside(x)*x", "Piecewise((x**2, x > 0), (a*x, True))", "sqrt(abs(x))", "abs(sin(a*abs(x)))", "exp(-abs(x - a))/a",
]  # fmt: skip


@functools.cache
def compiled(text):
    """Return a formula and its derivatives by x and a, as functions of both."""
    formula = sp.sympify(text)
    return [sp.lambdify([X, A], f) for f in (formula, slope(formula, X), slope(formula, A))]


@given(text=st.sampled_from(SHARP), x=st.floats(-2, 2), a=st.floats(0.3, 2))
@settings(max_examples=100, deadline=None)
def test_the_derivative_of_a_formula_with_kinks_is_its_difference_quotient(text, x, a):
    """Where the formula is nearly straight over the three points: no kink lies between."""
    value, *slopes = compiled(text)
    for found, (dx, da) in zip(slopes, ((1e-5, 0), (0, 1e-5)), strict=True):
        low, here, high = (float(value(x + s * dx, a + s * da)) for s in (-1, 0, 1))
        if abs(high - 2 * here + low) < 1e-8:
            quotient = (high - low) / 2e-5
            assert float(found(x, a)) == pytest.approx(quotient, abs=1e-4 * (1 + abs(quotient)))


def test_a_potential_may_have_a_kink():
    """V = |x|: a parabola on each side, of period 4 v0."""
    system = ex.MechanicalSystem("valley", q="x")
    set_energies(system, "v_x**2/2", "abs(x)")
    system.start(q=[0.0], v=[0.5], t_end=5.0)
    run = ex.simulate(system, ex.EventDriven())
    s = 5.0 % 2
    exact = (0.5 * s - s**2 / 2) if s < 1 else -(0.5 * (s - 1) - (s - 1) ** 2 / 2)
    assert run.q[-1, 0] == pytest.approx(exact, abs=1e-8)
    assert run.energy == pytest.approx(0.125, abs=1e-8)


def test_what_is_observed_may_have_a_kink():
    """|cos(sqrt(k) t)| is fitted; SymEngine ends the process where it is given SymPy's derivative."""
    system = ex.MechanicalSystem(
        "swing", q="x", params={"k": ex.Param(1.2, 0.1, 3)}, force=["-k*x"]
    )
    system.start(q=[1.0], v=[0.0], t_end=6.0)
    t = np.linspace(0.2, 5.8, 29)
    found = ex.fit(system, t, np.abs(np.cos(t)), observe="abs(x)", wrt=["k"], progress=False)
    assert found.parameters["k"] == pytest.approx(1.0, abs=1e-7)


@for_each("formula", [sp.re(X), sp.Abs(X).diff(X), sp.sign(X).diff(X), sp.Mod(X, 1).diff(X)])
def test_what_symengine_cannot_read_is_refused_and_never_given_to_it(formula):
    with pytest.raises(ex.BadModel, match="cannot be compiled"):
        smooth(formula)


def test_rows_next_to_where_a_formula_ends_have_a_state():
    """20 beads that touch: Hertz's force k d^(3/2) is no number for d < 0, where a row may lie."""
    n, m, k = 20, 0.037, 2e6 * 0.04**0.5 / 2.25
    chain = ex.MechanicalSystem("chain", q=[f"x{i}" for i in range(n)])
    near = [sp.Max(0, a - b) for a, b in itertools.pairwise(chain.q)]
    pushes = [0, *(k * d ** sp.Rational(3, 2) for d in near), 0]
    chain.mass = sp.eye(n) * m
    chain.force = [a - b for a, b in itertools.pairwise(pushes)]
    chain.potential = sp.Rational(2, 5) * k * sum(d ** sp.Rational(5, 2) for d in near)
    chain.start(q=[0] * n, t_end=0.0024 * n)
    for v0 in (0.5, 1.0):
        run = ex.simulate(chain, ex.EventDriven(), x0=[0] * n + [v0] + [0] * (n - 1))
        assert not run.cautions
        assert np.isfinite(run.x).all()
        np.testing.assert_allclose(run.v.sum(axis=1), v0, rtol=1e-12)
        np.testing.assert_allclose(run.energy, m * v0**2 / 2, rtol=1e-7)


def test_forces_at_the_impacts_of_a_rocking_block_are_those_of_the_corner_it_stood_on():
    """Closed form at theta = 0: the block turns about one corner, before and after each impact.

    The kink of |theta| lies on the impacts, on either side of them by round-off.
    """
    run = ex.simulate(ex.models.rocking_block(), ex.EventDriven())
    B, H, g, m = (run.rho[name] for name in ("B", "H", "g", "m"))
    turns = 3 * g * B / (2 * (B**2 + H**2))  # theta'' = -+ turns
    (_, theta), (_, omega), a = run.q.T, run.v.T, run.a
    rows = np.flatnonzero((np.abs(theta) < 1e-11) & (np.abs(omega) > 1e-6))
    assert len(rows) > 200
    falls = turns * B / 2 + omega[rows] ** 2 * H / 2
    np.testing.assert_allclose(run.lam[rows].sum(axis=1), m * (g - falls), rtol=1e-9)
    np.testing.assert_allclose(a[rows, 0], -falls, rtol=1e-9)
    corner = np.where(run.lam[rows, 0] > 0, -1, 1)  # the left one is down for theta > 0
    np.testing.assert_allclose(a[rows, 1], corner * turns, rtol=1e-9)
