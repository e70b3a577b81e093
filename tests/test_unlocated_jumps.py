"""Formulas that jump where no event is: their derivatives are refused, never wrong."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
import sympy as sp
from loops import for_each
from scipy.integrate import solve_ivp

import explorer as ex
from explorer.derivatives.unlocated import _zeros

SCHEME = ex.EventDriven(rtol=1e-11, atol=1e-12)


def falling(force: str) -> ex.MechanicalSystem:
    return ex.MechanicalSystem(
        "falling", q="u", params={"k": 1.0, "T": 1.0}, force=[force],
        start={"q": [1.0], "t_end": 3.0},
    )  # fmt: skip


@for_each("force", ["-k*sign(u)", "-k*Piecewise((1, u > 0), (-2, True))", "-k*floor(2*u) - 1",
     "-k*Heaviside(u/10**12)", "-k*Mod(40*u, 1) - 1", "Piecewise((1, t < T), (k, u < 9), (0, True)) - 2*Heaviside(t - T)"])  # fmt: skip
@for_each("method", ["direct", "adjoint", "complex_step"])
def test_a_jump_that_no_event_locates_has_no_derivative(force, method):
    """The sentence says where the formula jumps, when the run meets it, and what would work."""
    with pytest.raises(ex.NotApplicable, match=r"jumps where .* crosses this at t = .*StepSystem"):
        ex.sensitivity(falling(force), SCHEME, ("k", "T"), {"w": "u"}, method)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize(
    "force", ["-k*abs(u)", "-k*max(u, u/2)", "-k*Piecewise((u, u > 0), (2*u, True))"]
)
def test_a_kink_has_one(force, method):
    """A continuous force is differentiated: against the closed form of each branch."""
    sens = ex.sensitivity(falling(force), SCHEME, ("k",), {"w": "u"}, method)
    slope = {"-k*abs(u)": 1.0, "-k*max(u, u/2)": -0.5}.get(force, -2.0)

    def end(k: complex) -> complex:  # cos to u = 0, then a linear force of slope s k
        root, w = np.sqrt(k), np.sqrt(slope * k + 0j)
        return -root * np.sinh(w * (3 - np.pi / 2 / root)) / w

    exact = (end(1 + 1e-6).real - end(1 - 1e-6).real) / 2e-6
    assert sens.cost_gradient[0] == pytest.approx(exact, rel=1e-6)


def test_a_jump_by_time_alone_moves_with_nothing():
    """A known time of the jump: dq/dk of k (t - 1/2) is that of the force while it acts."""
    sens = ex.sensitivity(falling("k*Piecewise((1, t < 1), (0, True))"), SCHEME, ("k",))
    assert sens.Q[-1, 0, 0] == pytest.approx(2.5, rel=1e-9)
    sens = ex.sensitivity(falling("k*Piecewise((1, t < T), (0, True))"), SCHEME, ("k",))
    assert sens.Q[-1, 0, 0] == pytest.approx(2.5, rel=1e-9)


def test_a_jump_in_a_running_cost_counts_too():
    """psi = int sign(v) dt turns over with v, whatever the system is."""
    thrown = ex.MechanicalSystem(
        "thrown", q="y", params={"v0": 5.0}, force=["-9.81"],
        start={"q": [0.0], "v": ["v0"], "t_end": 0.8},
    )  # fmt: skip
    with pytest.raises(ex.NotApplicable, match="jumps where v_y = 0"):
        ex.sensitivity(thrown, SCHEME, ("v0",), "sign(v_y)")
    late = ex.sensitivity(thrown, SCHEME, ("v0",), "sign(v_y)", t_end=0.3)
    assert late.cost_gradient == pytest.approx([0.0])


def test_an_event_on_the_surface_of_a_jump_is_not_differentiated():
    """The rocking block changes its pivot at the impact: its force jumps there."""
    with pytest.raises(ex.NotApplicable, match="jumps where theta = 0"):
        ex.sensitivity(ex.models.rocking_block(), SCHEME, ("tilt",), {"w": "theta"}, t_end=1.5)
    before = ex.sensitivity(ex.models.rocking_block(), SCHEME, ("tilt",), t_end=0.4)
    assert np.isfinite(before.Q).all()


def test_finite_differences_go_through():
    """u = 1 - k t^2 / 2 to u = 0, then upwards: u(3) = 3 + 4.5 k - 6 sqrt(2 k)."""
    sens = ex.sensitivity(
        falling("-k*sign(u)"), SCHEME, ("k",), {"w": "u"}, "finite_difference", delta=1e-5
    )
    assert sens.cost_gradient[0] == pytest.approx(4.5 - 3 * np.sqrt(2), abs=1e-3)


def test_systems_with_located_switches_are_not_asked():
    """A step function is located: its formulas jump, and its derivatives are right."""
    sens = ex.sensitivity(ex.models.sliding_mode(), ex.EventDriven(), ("a",), {"w": "x"}, t_end=0.2)
    assert np.isfinite(sens.cost_gradient).all()


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
def test_a_kink_costs_no_digits(method, rtol):
    """A step ends on both sides of it, so that the error is that of any other step."""
    scheme = ex.EventDriven(method=method, rtol=rtol, atol=rtol / 10)

    def end(k, slope):  # u = cos(root t) to u = 0, then a force -slope k u
        root, w = mp.sqrt(k), mp.sqrt(slope * k)
        return -root * mp.sin(w * (3 - mp.pi / 2 / root)) / w

    for force, slope in (("-k*abs(u)", -1), ("-k*max(u, u/2)", 0.5), ("-k*u + k*max(0, -u)", 2)):
        with mp.workdps(30):
            exact = float(mp.re(mp.diff(lambda k, s=slope: end(k, s), mp.mpf(1))))
        for way in ("direct", "adjoint")[: 1 if method == "radau" else 2]:
            sens = ex.sensitivity(falling(force), scheme, ("k",), {"w": "u"}, way)
            assert sens.cost_gradient[0] == pytest.approx(exact, rel=5 * rtol), (force, way)


def test_many_kinks_are_met_one_after_the_other():
    """A stop with clearance that is pushed to and fro: each kink is where the run before met it."""
    system = ex.MechanicalSystem(
        "stop", q="u", params={"k": 30.0, "d": 0.1, "F": 1.0}, start={"t_end": 12.0},
        force=["F*cos(2*t) - u - 0.1*v_u - k*max(0, u - d) + k*max(0, -u - d)"],
    )  # fmt: skip
    loose, tight = (ex.EventDriven(rtol=r, atol=r) for r in (1e-8, 1e-12))
    truth = ex.sensitivity(system, tight, cost={"w": "u"}).cost_gradient
    for method in ("direct", "adjoint"):
        found = ex.sensitivity(system, loose, cost={"w": "u"}, method=method)
        np.testing.assert_allclose(found.cost_gradient, truth, rtol=0, atol=1e-6 * abs(truth).max())

    def end(F):  # by SciPy: no step is long where a kink may lie in it
        def field(t, x):
            u, v = x
            push = 30 * max(0.0, u - 0.1) - 30 * max(0.0, -u - 0.1)
            return v, F * np.cos(2 * t) - u - 0.1 * v - push

        run = solve_ivp(
            field, (0, 12), [0, 0], method="DOP853", rtol=3e-14, atol=1e-14, max_step=0.01
        )
        return run.y[0, -1]

    d = 1e-5
    assert truth[2] == pytest.approx((end(1 + d) - end(1 - d)) / (2 * d), rel=1e-6)


LATE = np.log(7 / 6)  # when 7/2 - x has brought x to 1/2


@pytest.mark.parametrize("method", ["direct", "adjoint"])
@pytest.mark.parametrize(
    ("on", "off", "wanted"),
    [
        ("1 + 2*k", "3 + sign(x - 1/2)", None),  # at the event it is 3, behind it 4
        ("1 + 2*k", "3 + (x - 1/2)*sign(x - 1/2)", np.exp(0.3 - 1 / 6) / 3),
        ("3 + (x - 1/2)*sign(x - 1/2)", "1 + 2*k", 2 * (0.3 - LATE)),
        ("1 + 2*k", "3 + sign(x + 1)", 4 / 9),
    ],
)
def test_a_jump_at_an_event_is_seen_beside_it(method, on, off, wanted):
    """The guard is where the formula jumps, so no step runs over the jump."""
    system = ex.HybridSystem(
        "gate", x="x", params={"k": ex.Param(1.0, 0.5, 2)}, modes={"on": [on], "off": [off]},
        guards=[{"mode": "on", "r": "x - 1/2", "direction": 1, "when": "1", "reset": ["x"],
                 "to": "off", "name": "gate"}],
        start={"x": [0.0], "t_end": 0.3},
    )  # fmt: skip
    if wanted is None:
        with pytest.raises(ex.NotApplicable, match=r"jumps where x - 1/2 = 0"):
            ex.sensitivity(system, SCHEME, ("k",), {"w": "x"}, method)
    else:
        sens = ex.sensitivity(system, SCHEME, ("k",), {"w": "x"}, method)
        assert sens.cost_gradient[0] == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_a_jump_that_the_guard_meets_from_one_side_is_seen_or_refused(method):
    """The event is met from the side where the formula is 2: round-off puts it on either side."""
    found, said = [], []
    for power in range(7, 13):
        system = ex.HybridSystem(
            "gate", x="x", params={"k": ex.Param(1.0, 0.5, 2)},
            modes={"on": ["3 + sign(x - 1/2)"], "off": ["1 + 2*k"]},
            guards=[{"mode": "on", "r": "x - 1/2", "direction": 1, "when": "1", "reset": ["x"],
                     "to": "off", "name": "gate"}],
            start={"x": [0.0], "t_end": 0.3},
        )  # fmt: skip
        scheme = ex.EventDriven(rtol=10.0**-power, atol=10.0 ** (-power - 1))
        try:
            found.append(
                ex.sensitivity(system, scheme, ("k",), {"w": "x"}, method).cost_gradient[0]
            )
        except ex.NotApplicable as refused:
            said.append(str(refused))
    assert all("jumps where x - 1/2 = 0" in words for words in said)
    assert found == pytest.approx([0.1] * len(found), rel=1e-8)
    assert len(found) >= 3


def test_events_at_the_end_and_at_once_lie_beside_no_jump_that_is_met():
    """sign(x - 5) jumps where x never comes; two guards fire at 1/8, and one at the end."""
    system = ex.HybridSystem(
        "clock", x="x y", params={"k": 1.0}, modes={"on": ["k + sign(x - 5)", "k"]},
        guards=[{"mode": "on", "r": r, "direction": 1, "when": "1", "reset": reset, "to": "on",
                 "name": f"at {r}"}
                for r, reset in (("t - 1/8", ["x", "y + 1"]), ("8*t - 1", ["x", "y + 2"]),
                                 ("t - 1/4", ["x", "y"]))],
        start={"x": [0.0, 0.0], "t_end": 0.25},
    )  # fmt: skip
    sens = ex.sensitivity(system, SCHEME, ("k",), {"w": "x + 3*y"})
    assert [e.t for e in sens.events] == [0.125, 0.125, 0.25]
    assert sens.cost_gradient[0] == pytest.approx(1.0, rel=1e-9)


@for_each(("formula", "places"), [
    ("Abs(x - 1)", [1]), ("sign(x**2 - 1)", [-1, 1]), ("Heaviside(2 - x)", [2]),
    ("Max(x, 1 - x)", [0.5]), ("Min(x, 1, 2 - x)", [1]), ("Max(x, x**2)", [0, 1]),
    ("floor(2*x)", [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]), ("ceiling(x)", [-1, 0, 1]),
    ("Mod(3*x, 2)", [-4 / 3, -2 / 3, 0, 2 / 3, 4 / 3]),
    ("Piecewise((x, x > 1), (2, x <= -1), (3, True))", [-1, 1]),
])  # fmt: skip
def test_a_sharp_formula_is_smooth_where_no_function_of_its_own_is_zero(formula, places):
    """Each place where it jumps or bends is a zero, at which that function changes its sign."""
    x = sp.Symbol("x")
    functions = [sp.lambdify(x, u) for u in _zeros(sp.sympify(formula))]
    for at in places:
        assert any(u(at - 1e-6) * u(at + 1e-6) < 0 for u in functions), at
    for between in 0.5 * (np.array(places[1:]) + places[:-1]):
        assert all(u(between - 1e-6) * u(between + 1e-6) > 0 for u in functions), between
