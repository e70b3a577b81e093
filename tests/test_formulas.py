"""What formulas may hold: floor, Mod and cases within cases; relays with one infinite bound."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex


def driven(force: object, **more: object) -> ex.MechanicalSystem:
    return ex.MechanicalSystem(
        "driven", q="u", force=[force], start={"q": [0.0], "t_end": 3.0}, **more
    )


# v' = f(t): v(3) is the integral
@for_each(("force", "v_end"), [
        ("floor(t)", 3.0), ("ceil(t)", 6.0), ("ceiling(t)", 6.0), ("t % 1", 1.5),
        ("Mod(t, 1)", 1.5), ("Mod(-t, 1)", 1.5), (sp.floor(sp.Symbol("t")), 3.0),
        ("floor(2*t)/2 + Mod(t, 2)", 6.25), ("Piecewise((1, t % 2 < 1), (-1, True))", 1.0),
        ("Piecewise((1, t % 2 < 1), -1)", 1.0),
    ])  # fmt: skip
@for_each("scheme", [ex.MoreauJean(h=1e-3), ex.EventDriven(rtol=1e-9)])
def test_floor_and_mod_are_formulas(force, v_end, scheme):
    """The velocity is the integral of a staircase or sawtooth."""
    v = ex.simulate(driven(force), scheme).v[-1, 0]
    assert v == pytest.approx(v_end, abs=3e-3 if scheme.order_across_events == 1 else 1e-6)


def test_a_staircase_has_slope_zero_between_its_jumps():
    """The derivative by a parameter inside floor is zero, beside it one."""
    system = driven("a*floor(b*t + 1/2)", params={"a": 2.0, "b": 0.1})
    found = ex.sensitivity(system, ex.EventDriven(rtol=1e-10), ("a", "b"), t_end=3.0)
    assert found.Q[-1] == pytest.approx(0.0, abs=1e-14)
    system = driven("a*(t - floor(b*t + 1/2))", params={"a": 2.0, "b": 0.1})
    found = ex.sensitivity(system, ex.EventDriven(rtol=1e-10), ("a", "b"), t_end=3.0)
    assert found.Q[-1, 0] == pytest.approx([3.0**3 / 6, 0.0], rel=1e-9)
    again = ex.sensitivity(system, ex.EventDriven(rtol=1e-10), ("a", "b"), None, "complex_step")
    assert again.Q[-1] == pytest.approx(found.Q[-1], abs=1e-9)


def test_a_saved_formula_with_mod_reads_back():
    """The text of a formula is the formula."""
    system = driven("floor(t) + t % 2")
    again = ex.MechanicalSystem.from_spec(system.to_spec())
    assert again.force == system.force


def test_step_functions_do_not_take_a_staircase():
    """A staircase has any number of jumps: the refusal says what would work."""
    with pytest.raises(ex.BadModel, match="no finite number of step functions"):
        ex.StepSystem("stairs", x="x", f=["1 - floor(x)"], start={"x": [0.0]}).check()


@pytest.mark.parametrize(
    "condition", ["Piecewise((u, t < 1), (-u, True)) > 0", "Piecewise((1, u > 0), (-1, True)) < t"]
)
def test_cases_within_a_condition_are_compiled(condition):
    """A condition that holds cases means what it says: judged by Python at points."""
    system = driven(f"Piecewise((2, ({condition}) & (u < 1/2)), (-3, True))")
    source = condition.replace("Piecewise((u, t < 1), (-u, True))", "(u if t < 1 else -u)").replace(
        "Piecewise((1, u > 0), (-1, True))", "(1 if u > 0 else -1)"
    )
    for t, u in itertools.product((0.5, 1.5), (-0.7, 0.3, 0.9)):
        want = 2 if eval(source, {"t": t, "u": u}) and u < 0.5 else -3
        run = ex.simulate(system, ex.MoreauJean(h=1e-9, theta=1.0), q0=[u], v0=[0.0], t_end=1e-9)
        if t < 1:
            assert run.v[-1, 0] == pytest.approx(want * 1e-9, rel=1e-6)
        assert system.force[0].subs({"t": t, system.q[0]: u}) == want


def test_cases_within_a_condition_become_step_functions():
    """FESD takes them too: x' = 1 until x = y, then -1."""
    system = ex.StepSystem(
        "nested", x="x y", f=["Piecewise((1, Piecewise((y, x > 0), (x, True)) > 0), (-1, True))", "1"],
        start={"x": [-0.5, 0.0], "t_end": 0.4},
    )  # fmt: skip
    assert ex.simulate(system).x[-1] == pytest.approx([-0.9, 0.4], abs=1e-9)


def test_cases_need_a_last_one():
    """A formula without a value somewhere is refused where it is written."""
    with pytest.raises(ex.BadModel, match=r"no value where none of its conditions holds"):
        driven("Piecewise((1, u > 0))")


def one_sided(lb: object, ub: object, drift: float) -> ex.Solution:
    """x' = drift + lam with -x in N_[lb, ub](lam)."""
    system = ex.FirstOrderSystem(
        "one-sided relay", x="x", f=[drift], r=["lam"], y=["x"],
        laws={"lam": {"kind": "relay", "lb": lb, "ub": ub}}, start={"x": [1.0], "t_end": 3.0},
    )  # fmt: skip
    return ex.simulate(system, ex.EulerMoreau(h=1e-2))


@pytest.mark.parametrize("lcp", ["pivoting", "lemke", "enumeration"])
@pytest.mark.parametrize("upper", ["oo", float("inf"), sp.oo, "inf"])
def test_a_relay_may_have_no_upper_bound(upper, lcp):
    """For y > 0 lam = -1; at y = 0 any lam >= -1 that holds it."""
    system = ex.FirstOrderSystem(
        "one-sided relay", x="x", f=["-1"], r=["lam"], y=["x"],
        laws={"lam": {"kind": "relay", "lb": -1, "ub": upper}}, start={"x": [1.0], "t_end": 3.0},
    )  # fmt: skip
    run = ex.simulate(system, ex.EulerMoreau(h=1e-2, lcp=lcp))
    assert run.x[:, 0] == pytest.approx(np.maximum(1 - 2 * run.t, 0.0), abs=1e-12)
    assert run.lam[-1, 0] == pytest.approx(1.0)  # holds x = 0 against the drift
    assert ex.simulate(ex.FirstOrderSystem.from_spec(system.to_spec())).lam[-1, 0] == 1.0


@pytest.mark.parametrize("lcp", ["pivoting", "lemke", "enumeration"])
def test_a_relay_may_have_no_lower_bound(lcp):
    """The mirror image: x < 0 gives lam = 1, at x = 0 any lam <= 1 holds it."""
    system = ex.FirstOrderSystem(
        "one-sided relay", x="x z", f=["1", "0"], r=["lam", "mu"], y=["x", "z - 1"],
        laws={"lam": {"kind": "relay", "lb": "-oo", "ub": 1}, "mu": "complementarity"},
        start={"x": [-1.0, 1.0], "t_end": 3.0},
    )  # fmt: skip
    run = ex.simulate(system, ex.EulerMoreau(h=1e-2, lcp=lcp))
    assert run.x[:, 0] == pytest.approx(np.minimum(2 * run.t - 1, 0.0), abs=1e-12)
    assert run.lam[-1, 0] == pytest.approx(-1.0)


def test_a_relay_without_any_bound_is_an_equality():
    """The refusal names the law that is meant."""
    with pytest.raises(ex.BadModel, match="kind='equality'"):
        one_sided("-oo", "oo", -1.0)


@for_each("seed", range(40))
def test_boxes_with_any_infinite_bound_are_solved(seed):
    """Random P-matrices: each method returns the one lam that obeys all laws."""
    from explorer.codes import SUCCESS
    from explorer.kernels.complementarity.box_lcp import ENUMERATION, LEMKE, PIVOTING, solve_box
    from explorer.kernels.complementarity.structures import Box, Sides, box_workspaces

    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6))
    M = random.normal(size=(n, n)) * 0.3
    M = M @ M.T + np.eye(n) + (M - M.T)
    q = random.normal(size=n) * 3
    lower = np.where(random.random(n) < 0.4, -np.inf, random.uniform(-2, 0, n))
    upper = np.where(random.random(n) < 0.4, np.inf, random.uniform(0, 2, n))
    for method in (PIVOTING, LEMKE, ENUMERATION):
        lam = np.zeros(n)
        answer = Sides(np.zeros(n, np.int8), lam, np.zeros(n))
        box = Box(M, q, lower, upper)
        code, _ = solve_box(method, box, answer, 1e-11, *box_workspaces(n))
        assert code == SUCCESS
        y = M @ lam + q
        natural = np.maximum(lam - upper, np.minimum(y, lam - lower))
        assert np.abs(natural).max() <= 1e-10


def test_a_complex_step_goes_through_an_angle():
    system = ex.models.ball_on_plate()
    found, again = (
        ex.sensitivity(system, ex.EventDriven(), ["M", "k", "x0"], method=m)
        for m in ("direct", "complex_step")
    )
    for a, b in ((again.Q[-1], found.Q[-1]), (again.V[-1], found.V[-1])):
        assert abs(b).max() > 1e-3
        assert a == pytest.approx(b, rel=1e-7, abs=1e-9)
