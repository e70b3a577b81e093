"""Optimal control problems, guesses and options that make no sense: each gets a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadArgument, BadModel, BadValue, NotApplicable
from tests.loops import for_each

MORE = {"intervals": 3, "controls": "u", "running": "u**2"}


def cart(**more):
    system = ex.StepSystem("cart", x="q v", params={"mu": 0.5, "u": 0.0, "m": 1.0})
    system.f = ["v", "u/m - mu*sign(v)"]
    system.start(x=[0, 1], t_end=2)
    return ex.OptimalControlProblem(system, **{**MORE, "bounds": {"u": (-1, 1)}, **more})


def switched(**more):
    system = ex.FilippovSystem("switched", x="x", params={"u": 0.0})
    system.subsystem({"plus": ["u - 1"], "minus": ["u + 1"]}, {"c": "x"})
    system.start(x=[1], t_end=2)
    more = {"representation": "stewart", "bounds": {"u": (-3, 3)}, **more}
    return ex.OptimalControlProblem(system, **{**MORE, **more})


def modes(**more):
    system = ex.HybridSystem("modes", x="x", params={"u": 0.0})
    system.mode("up", ["1 + u"])
    system.mode("down", ["-1 + u"])
    system.guard("up", "x - 1", to="down", direction=1)
    system.start(x=[0], t_end=2)
    return ex.OptimalControlProblem(system, **{**MORE, "bounds": {"u": (-1, 1)}, **more})


def ball(**more):
    system = ex.MechanicalSystem("ball", q="x", params={"u": 0.0, "e": 0.5})
    system.mass, system.force = [[1]], ["u - 1"]
    system.contact(ex.Contact("x", e="e", name="wall"))
    system.start(q=[1], v=[0], t_end=2)
    return ex.OptimalControlProblem(system, **{**MORE, "bounds": {"u": (-5, 5)}, **more})


FORMS = [cart, switched, modes, ball]
OF = {cart: "q", switched: "x", modes: "x", ball: "x"}


@for_each("make", FORMS)
def test_what_is_not_finite_is_named_with_its_place(make):
    """In each form: cost, constraints and where; nothing is solved."""
    x = OF[make]
    for more, said in (
        ({"running": f"u**2 + log({x} - 9)"}, r"The running cost is nan.* at t = 0.07\d+, "),
        ({"terminal": f"sqrt({x} - 9)"}, r"The terminal cost is nan.* at t = 2, "),
        ({"path": [f"log({x} - 9) <= 1"]}, "The path constraint log"),
        ({"end": [f"log({x} - 9) <= 1"]}, "The end constraint log"),
        ({"knots": [f"log({x} - 9) <= 1"]}, "The knot constraint log.* at t = 0.666667"),
    ):
        with pytest.raises(BadValue, match=said):
            ex.optimize(make(**more), progress=False)


def test_a_field_that_is_not_finite():
    """A parameter with which the right-hand side has no value."""
    with pytest.raises(BadValue, match=r"The derivative of 'v' is .*, m = 0"):
        ex.optimize(cart(), m=0, progress=False)


@for_each("make", FORMS)
def test_a_control_that_may_grow_without_limit(make):
    """No cost, or one that is linear in it: on the cheap side it needs a bound."""
    x = OF[make]
    for running, bounds, said in (
        (f"{x}**2", None, "no lower and no upper bound, and the running cost is independent"),
        ("u", None, "no lower bound, and the running cost is linear"),
        ("-3*u", {"u": (0, None)}, "no upper bound"),
    ):
        with pytest.raises(BadValue, match=said):
            make(running=running, bounds=bounds)
    assert make(running="u", bounds={"u": (0, None)})
    assert make(running="u**4", bounds=None)


@for_each("make", FORMS)
def test_a_horizon_that_is_too_short(make):
    for t_end, said in ((1e-12, "shorter than the solver resolves"), (0, "must be positive")):
        with pytest.raises(BadValue, match=said):
            make(t_end=t_end)
    with pytest.raises(BadValue, match="must be positive, not -1 s"):
        make(t_end=(-1, 3))


@for_each(["more", "error", "said"], [
    ({"controls": 3}, BadArgument, "controls must be a list"),
    ({"controls": "u u"}, BadValue, "names a control twice"),
    ({"intervals": True}, BadValue, "whole number"),
    ({"lifting": "yes"}, BadValue, "True or False"),
    ({"representation": "stewart"}, NotApplicable, "Use representation='step'"),
    ({"end": {"1": 2}}, BadModel, "depends on no state"),
    ({"path": ["0 <= q <= 1"]}, BadModel, "no relation of two formulas"),
    ({"bounds": {"u": (1, 2, 3)}}, BadValue, r"give \(low, high\)"),
    ({"bounds": {"u": (1, -1)}}, BadValue, "the range is empty: 1 > -1"),
])  # fmt: skip
def test_problems(more, error, said):
    with pytest.raises(error, match=said):
        cart(**more)


@for_each(["make", "guess", "said"], [
    (cart, np.zeros((3, 2)), r"shape \(3, 2\), but \(4, 2\) is needed"),
    (switched, {"u": np.zeros(3)}, r"shape \(3,\), but \(3, 1\) is needed"),
    (modes, {"x": [[1], [1, 2]]}, "must hold numbers"),
    (ball, 3, r"shape \(\), but \(4, 2\)"),
    (modes, {"modes": 3}, "modes of guess must be a list"),
    (modes, {"modes": [0, 0, 1]}, "must be a list, not 0"),
    (ball, {"modes": ["shut"] * 3}, "no mode 'shut'. Available: open, closed, bounce"),
    (cart, {"modes": ["up"] * 3}, "its guess has no modes"),
])  # fmt: skip
def test_guesses(make, guess, said):
    with pytest.raises((BadValue, BadArgument), match=said):
        ex.optimize(make(), guess, progress=False)


@for_each(["more", "said"], [
    ({"seed": "a", "starts": 2}, "seed = 'a' must be a whole number of at least 0"),
    ({"max_iter": 0}, "max_iter = 0 must be a whole number of at least 1"),
    ({"max_neighbours": "many"}, "max_neighbours = 'many' must be"),
    ({"sigmas": 1e-3}, "sigmas must be a list"),
    ({"rho": [1]}, "must be a dict, such as rho="),
    ({"u": 1}, "'u' is a control of this problem"),
])  # fmt: skip
def test_options(more, said):
    with pytest.raises((BadValue, BadArgument), match=said):
        ex.optimize(cart(), progress=False, **more)


def test_the_solver_says_in_words_why_it_stopped():
    """|u| without a bound: the derivative jumps where the plan is."""
    plan = ex.optimize(cart(running="Abs(u)", bounds=None), max_iter=2, progress=False)
    assert plan.status == "not converged"
    assert "stopped at its limit of iterations" in plan.message
