"""Inputs u(t): declared on a system, given to a run, differentiated by."""

from __future__ import annotations

import math

import pytest
import sympy as sp

import explorer as ex
from explorer.systems import from_spec


def cart(**given) -> ex.MechanicalSystem:
    """Return a mass that an input pushes."""
    system = ex.MechanicalSystem("cart", q="x")
    system.inputs("u", low=-2, high=2, units="N", **given)
    system.mass, system.force = [[1]], ["u - 0.1*v_x"]
    system.start(q=[0], v=[1], t_end=1, h=0.01)
    return system


def test_inputs_are_declared_with_bounds_units_and_defaults():
    """Each has its own bounds; the default is 0, else the middle, else the only bound."""
    system = ex.MechanicalSystem("two", q="x")
    a, b, c = system.inputs("a b c", low=[-50, 1, None], high=[50, 3, -4], units="N m")
    assert (a, b, c) == sp.symbols("a b c")
    assert system.input_names == ("a", "b", "c")
    assert system.input_bounds == {"a": (-50, 50), "b": (1, 3), "c": (-math.inf, -4)}
    found = system.declared_inputs
    assert [p.value for p in found.values()] == [0, 2, -4]
    assert {p.unit for p in found.values()} == {"N m"}
    system.params(m=1.0)
    assert list(system.parameters) == ["a", "b", "c", "m"]


def test_an_input_stands_where_t_may_stand():
    """It is refused in a mass, a start and a restitution."""
    system = cart()
    for wrong in (
        lambda: setattr(system, "mass", [["1 + u"]]),
        lambda: system.start(q=["u"]),
        lambda: system.contact(ex.Contact("x", e="u")),
    ):
        with pytest.raises(ex.BadModel, match=r"may not depend on 'u'|may depend on coordinates"):
            wrong()
    hybrid = ex.HybridSystem("h", x="y")
    hybrid.inputs("w")
    with pytest.raises(ex.BadModel, match="'w'"):
        hybrid.start(x=["w"])


def test_a_specification_keeps_inputs():
    """Systems of other types too."""
    system = from_spec(cart().to_spec())
    assert system.input_bounds == {"u": (-2, 2)}
    filippov = ex.FilippovSystem("f", x="y", params={"k": 1.0})
    filippov.inputs("w", low=0)
    assert from_spec(filippov.to_spec()).declared_inputs == filippov.declared_inputs
    link = ex.Linkage("pendulum")
    link.inputs("torque", high=3)
    assert link.parameters["torque"].bounds == (-math.inf, 3)


def test_bad_declarations_are_refused():
    """Empty bounds, a value outside, counts that differ, names twice."""
    system = ex.MechanicalSystem("two", q="x")
    for arguments, words in (
        ({"names": "u", "low": 1, "high": 1}, "are empty"),
        ({"names": "u", "low": 1, "high": 2, "value": 3}, "outside its bounds"),
        ({"names": "u w", "low": [1, 2, 3]}, "low has 3 entries for 2 names"),
        ({"names": "u u"}, "twice"),
        ({"names": ""}, "needs names"),
        ({"names": "x"}, "name of a state"),
    ):
        with pytest.raises(ex.ExplorerError, match=words):
            system.inputs(**arguments)
