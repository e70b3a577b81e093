"""Costs of a run as they are read: formulas, forces and rates in them, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.derivatives import cost as costs
from explorer.derivatives.cost import CompiledCost, Cost, compile_cost
from explorer.errors import BadValue

X, Y, V, W = sp.symbols("x y v_x v_y")
A_X, A_Y = sp.symbols("a_x a_y")
LAM = sp.Symbol("_lam_0")


def system():
    return ex.MechanicalSystem("m", "x y", params={"k": 2.0, "c": 3.0})


class Plain:
    """The equations of the mechanism as a scheme takes them, with a contact force."""

    n_x, n_rho, states, rates = 4, 2, (X, Y, V, W), (sp.Symbol("_hidden"), A_X, A_Y)

    def __init__(self):
        self.forces = {"lam_wall": 2 * LAM}

    def outputs(self, formulas):
        native = sp.lambdify([sp.Symbol("t"), *self.states, *sp.symbols("k c")], formulas)
        return lambda inp: np.array(native(*inp), float)

    def input(self, rho):
        return np.array([99.0] * 5 + [*rho])

    def with_cost(self, g):
        return space(cost=g, input=self.input, n_x=4, n_rho=2)


@for_each(
    ("given", "told"),
    [
        (None, Cost()), ("x", Cost(g="x")), ({"w": "y"}, Cost(w="y")), (Cost(g="x", w="y"), Cost(g="x", w="y")),
        ({"g": X, "w": 2}, Cost(g=X, w=2)), ({}, Cost()), ({"g": 1, "h": 2}, None),
    ],
)  # fmt: skip
def test_a_cost_is_a_formula_or_its_parts(given, told):
    if told is None:
        with pytest.raises(BadValue, match="parts g and w, not 'h'"):
            Cost.of(given)
        return
    assert Cost.of(given) == told


def test_a_running_cost_has_rates_and_forces():
    """The force of a contact stands by its name for what it is in the equations."""
    one = CompiledCost(system(), Cost(g="k*x + a_y**2 + lam_wall*v_x"), Plain())
    assert sp.expand(one.running - (2 * X * sp.Symbol("k") / 2 + A_Y**2 + 2 * LAM * V)) == 0
    assert one.flow.cost == one.running
    t, w_t, w_x, w_rho = one.terminal(0.5, np.zeros(4), np.zeros(2))
    assert (t, w_t, w_x.tolist(), w_rho.tolist()) == (0.0, 0.0, [0.0] * 4, [0.0] * 2)
    for wrong in ("z", "p_wall", "_hidden"):
        with pytest.raises(BadValue, match="A running cost may use t"):
            CompiledCost(system(), Cost(g=wrong), Plain())
    plain = Plain()
    assert CompiledCost(system(), Cost(), plain).flow is plain


def test_a_terminal_cost_has_its_derivatives():
    """w = t^2 x + k v_y^2 + c: by time, by the states and by the parameters."""
    one = CompiledCost(system(), Cost(w="t**2*x + k*v_y**2 + c"), Plain())
    x, rho, t = np.array([5.0, 6.0, 7.0, 8.0]), np.array([2.0, 3.0]), 0.5
    w, w_t, w_x, w_rho = one.terminal(t, x, rho)
    assert w == pytest.approx(0.25 * 5 + 2 * 64 + 3)
    assert w_t == pytest.approx(2 * 0.5 * 5)
    assert w_x == pytest.approx([0.25, 0.0, 0.0, 2 * 2 * 8])
    assert w_rho == pytest.approx([64.0, 1.0])
    assert one.running is None
    for wrong in ("a_x", "lam_wall"):
        with pytest.raises(BadValue, match="a terminal one only t"):
            CompiledCost(system(), Cost(w=wrong), Plain())


@for_each(
    ("g", "w", "rate", "end", "told"),
    [
        (None, None, None, None, ("", "")),
        ("g", None, "N", None, ("N*s", "N*s")),
        ("g", None, None, None, (None, None)),
        (None, "w", None, "m", ("", "m")),
        ("g", "w", "N", "N*s", ("N*s", "N*s")),
        ("g", "w", "N", "m", ("N*s", None)),
        ("g", "w", None, "m", (None, None)),
        ("g", "w", None, None, (None, None)),
    ],
)
def test_both_parts_of_a_cost_have_one_unit_or_none(monkeypatch, g, w, rate, end, told):
    """That of the integral is the rate's by that of time; where they differ there is none."""
    units = {"g": rate, "w": end}
    put(monkeypatch, CompiledCost.__init__, symbol_units=lambda system: "units",
        measured=lambda formula, known: units[str(formula)], product=lambda rate, time: f"{rate}*{time}")  # fmt: skip
    own = system()
    plain = Plain()
    plain.outputs = lambda formulas: "native"
    put(monkeypatch, CompiledCost.__init__, slope=lambda f, x: 0, along=lambda system, f: f)
    monkeypatch.setattr(
        CompiledCost, "_read", staticmethod(lambda formula, names, what: sp.Symbol(formula))
    )
    one = CompiledCost(own, Cost(g, w), plain)
    assert one.units == told


def test_a_cost_is_compiled_once_for_its_equations(monkeypatch):
    """The last nine are kept; of equations begun in another mode it is a copy."""
    made = []
    put(
        monkeypatch,
        compile_cost,
        CompiledCost=lambda system, cost, plain: made.append(str(cost.g)) or space(g=cost.g),
    )
    own, plain = space(made={}), object()
    scheme = space(compile=lambda system: plain)
    first = compile_cost(own, Cost("0"), scheme)
    assert compile_cost(own, Cost("0"), scheme) is first
    for k in range(1, 9):
        compile_cost(own, Cost(str(k)), scheme)
    assert compile_cost(own, Cost("0"), scheme) is first
    assert made == [str(k) for k in range(9)]
    compile_cost(own, Cost("9"), scheme)
    assert compile_cost(own, Cost("1"), scheme).g == "1"
    assert compile_cost(own, Cost("0"), scheme) is not first
    assert compile_cost(own, Cost(w="0"), scheme) is not compile_cost(own, Cost("0"), scheme)
    one = CompiledCost(system(), Cost(w="x"), Plain())
    assert one.of(one.flow) is one
    other = one.of("flow")
    assert (other.flow, other.plain, one.flow is one.plain) == ("flow", one.plain, True)
    monkeypatch.undo()
    assert costs._again(one.system, one.cost, one.plain, "again").flow == "again"
    assert one.recipe()[1] == (one.system, one.cost, one.plain, one.flow)
