"""Fields on both sides of a guard that is grazed, and what follows from them, by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import NotApplicable
from explorer.study import grazing_kicks
from explorer.study.grazing import Grazing, _guard, _touched, touches
from explorer.study.near_misses import Miss

T, STATE, RHO = 0.7, np.array([0.4, -1.3, 0.8]), np.array([1.5, -0.6])


def switched(more=""):
    """Two modes, between which lies x z - 2 sin t + q."""
    system = ex.HybridSystem("two fields", x="x y z", params={"p": 1.5, "q": -0.6})
    system.mode("own", flow=["y", "-x", "z*p"])
    system.mode("other", flow=["y + p*t", "-x*z", "q - y"])
    system.guard("other", "y - 5", to="own", name="back")
    system.guard("own", "x*z - 2*sin(t) + q" + more, direction=1, to="other", name="g")
    return system


def stepped(second=False):
    """One surface, x + 3 y - 2 z + q, where both fields differ by a multiple of its function."""
    c = ["x + 3*y - 2*z + q", *["z"] * second]
    f = ["y - alpha_1*(x + 3*y - 2*z + q)*p", "-x", "z*p + alpha_1*4*(x + 3*y - 2*z + q)*cos(t)"]
    return ex.StepSystem(
        "steps", x="x y z", params={"p": 1.5, "q": -0.6}, f=f if not second else [*f[:2], "alpha_2"], c=c,
        start={"x": [0, 0, 0], "t_end": 1},
    )  # fmt: skip


def at(**more):
    """Return the saltation data of an event; behind the states stands what is none."""
    return space(y=np.append(STATE, 99.0), t=T, **more)


def problem(system, place=0):
    return space(system=system, n=3, rho=RHO, place=place)


def test_the_fields_of_a_cycle_are_those_on_its_side_and_beyond():
    x, y, z, p, q = sp.symbols("x y z p q")
    one = problem(switched())
    own, other = grazing_kicks._fields(one, "g", -1)
    assert own == [y, -x, z * p]
    assert other == [y + p * one.system.t, -x * z, q - y]
    assert grazing_kicks._fields(one, "back", 1) == (other, own)
    c = x + 3 * y - 2 * z + q
    one = problem(stepped())
    behind = [y - c * p, -x, z * p + 4 * c * sp.cos(one.system.t)]
    for side, sides in ((1.0, (behind, own)), (-1.0, (own, behind))):
        told = grazing_kicks._fields(one, "c1", side)
        for found, wanted in zip(told, sides, strict=True):
            assert [sp.expand(a - b) for a, b in zip(found, wanted, strict=True)] == [0, 0, 0]
    with pytest.raises(NotApplicable, match="one switching function only"):
        grazing_kicks._fields(problem(stepped(second=True)), "c2", 1.0)
    with pytest.raises(NotApplicable, match="no fields on two sides of 'floor'"):
        grazing_kicks._fields(space(system=ex.models.bouncing_ball()), "floor", 1.0)


def test_the_field_beyond_is_taken_where_the_guard_is_met():
    (x, y, z), (p, q) = STATE, RHO
    found = grazing_kicks._other_side(problem(switched()), at(), "g", -1.0)
    assert found == pytest.approx([y + p * T, -x * z, q - y])
    c = x + 3 * y - 2 * z + q
    found = grazing_kicks._other_side(problem(stepped()), at(), "c1", -1.0)
    assert found == pytest.approx([y - c * p, -x, z * p + 4 * c * np.cos(T)])


@for_each("side", [1.0, -1.0])
def test_fields_that_agree_on_a_surface_part_by_its_function(side):
    """f+ - f- = E c, so its derivative by x is E c_x on c = 0, whatever the side."""
    (_, y, z), (p, q) = STATE, RHO
    there = at(r_x=np.array([1.0, 3.0, -2.0]))
    there.y[0] = -3 * y + 2 * z - q
    found = grazing_kicks._difference(problem(stepped()), there, "c1", side)
    assert found == pytest.approx(-side * np.array([-p, 0.0, 4 * np.cos(T)]))


@for_each(("step", "side", "told"), [
    ([1.0, 0.0, -0.5], 1.0, True), ([3.0, 7.0, -1.5], 1.0, True), ([1.0, 0.0, -0.5], -1.0, None), ([1.0, 0.0, 0.5], 1.0, False), ([1.0, 0.0, -0.5 + 1e-5], 1.0, False),
    ([1.0, 0.0, -0.5 - 1e-5], 1.0, False), ([1.0, 0.0, -0.5 + 1e-7], 1.0, True),
])  # fmt: skip
def test_another_field_turns_a_motion_back_by_its_curvature(step, side, told):
    """Z = (f+ - f-) 2 sqrt(2 a) / a+, with a+ = g'' along f+, if nothing crosses and a+ > 0."""
    (x, y, z), (p, q) = STATE, RHO
    dx, dz = y + p * T, q - y
    back = (-x * z + p) * z + 2 * dx * dz + x * (x * z) + 2 * np.sin(T)
    there = at(r_x=np.array([z, 0.0, 2 * z]))
    given = problem(switched()), there, "g", 8.0, side * np.sign(back), np.array(step)
    if told:
        found = grazing_kicks._turned_back(*given)
        assert found == pytest.approx(np.array(step) * 2 * 4.0 / abs(back))
        return
    with pytest.raises(NotApplicable, match="Behind 'g' another field"):
        grazing_kicks._turned_back(*given)


def test_fields_that_part_along_a_flat_guard_turn_nothing_back():
    """g'' = 0 along the other field, at rest there."""
    system = ex.HybridSystem("rest", x="x y z")
    system.mode("own", flow=["y", "1", "0"])
    system.mode("other", flow=["0", "0", "z"])
    system.guard("own", "x", direction=1, to="other", name="g")
    one = space(system=system, n=3, rho=np.zeros(0))
    there = at(r_x=np.array([1.0, 0.0, 0.0]))
    with pytest.raises(NotApplicable, match="Behind 'g'"):
        grazing_kicks._turned_back(one, there, "g", 8.0, 1.0, np.array([0.0, 1.0, 0.0]))


@for_each(("h", "after", "kind"), [
    (0.0, [-2.0, 0.5, 1.0], "discontinuous"), (2e-6, [-2.0, 0.5, 1.0], "impact"), (0.9e-6, [-2.0, 0.5, 1.0], "discontinuous"),
    (0.0, [-2.0, 0.5, 0.019], "continuous"), (0.0, [-2.0, 0.5, 0.021], "discontinuous"), (0.0, [-2.021, 0.5, 0.0], "discontinuous"),
])  # fmt: skip
def test_a_jump_or_another_field_is_one_beside_the_rates(monkeypatch, h, after, kind):
    """A millionth and a hundredth of the largest rate, here 2, is what differs."""
    before = np.array([-2.0, 0.5, 0.0])
    h_x = np.eye(3)
    h_x[2, 0] = h
    jump = space(f_minus=np.append(before, 9.0), f_plus=np.append(after, 9.0), h_x=h_x)
    hit = space(
        located=[space(contact="g", slope=1.0, kind="crosses")], march=space(jump=lambda k: jump)
    )
    put(monkeypatch, grazing_kicks.kick_of, _turned_back=lambda *given: given[-1], _difference=lambda *given: np.array([0.0, 3.0, -1.5]))  # fmt: skip
    found = grazing_kicks.kick_of(space(n=3), hit, "g", 0.5, 1.0)
    assert found[:2] == (kind, 1.5 if kind == "continuous" else 0.5)
    if kind == "impact":
        assert found[2] == pytest.approx([0.0, 0.0, 2 * h * 2.0])
    elif kind == "discontinuous":
        assert found[2] == pytest.approx(np.array(after) - before)
    else:
        assert found[2] == pytest.approx([0.0, -8.0, 4.0])


# ---------------------------------------------------------------- the guard that is touched


@for_each(("name", "state", "side"), [("c1", [0.4, 0.1, -1.0], 1), ("c1", [0.4, -1.0, 2.0], -1), ("c1", [0.6, 0.0, 0.0], -1), ("g", [9.0, 0.0, 9.0], -1), ("g", [-9.0, 0.0, 9.0], -1)])  # fmt: skip
@for_each("place", [0, 1])
def test_a_guard_has_its_derivatives_and_the_side_that_is_free(name, state, side, place):
    """That of a guard with a direction is known; that of a surface is where the state lies."""
    one = problem(switched(" + p*x**2") if name == "g" else stepped(), place)
    g_x, g_p, found = _guard(one, name)(T, np.array(state), RHO)
    x, _, z = state
    wanted = [z + 2 * RHO[0] * x, 0.0, x] if name == "g" else [1.0, 3.0, -2.0]
    assert g_x == pytest.approx(wanted)
    assert g_p == pytest.approx([x * x, 1.0][place] if name == "g" else [0.0, 1.0][place])
    assert found == side


def miss(name, value, t, x=(0.0, 0.0)):
    return Miss(name, value, t, np.array(x))


@for_each(("values", "first", "later"), [
    ((1e-3, 9e-3, 9.9e-3), "c", ["b", "a"]), ((1e-3, 9e-3, 11e-3), "b", ["a"]), ((1e-3, -9e-3, 11e-3), "b", ["a"]), ((1e-3, 11e-3, -11e-3), "a", []), ((-1e-3, 11e-3, 10e-3), "c", ["a"]),
    ((0.0, 3.9e-9, 4.1e-9), "b", ["a"]), ((-2e-10, 3.9e-9, -4.1e-9), "b", ["a"]), ((2e-10, 4.1e-9, 3.9e-9), "c", ["a"]),
])  # fmt: skip
def test_touches_within_ten_times_the_first_are_at_one_parameter(values, first, later):
    """Or within a billionth of 1 and the largest state, here 3; the first in the period counts."""
    misses = tuple(
        miss(*one, (-3.0, 1.0)) for one in zip("abc", values, (0.9, 0.5, 0.2), strict=True)
    )
    found, rest = _touched(misses, "a")
    assert (found.name, [one.name for one in rest]) == (first, later)


@for_each(("kind", "name", "margins", "told"), [
    ("grazing", "g", {}, True), ("sliding", "g", {"miss g": 1.0}, True), ("sliding", "g", {"miss h": 1.0, "hit g": 1.0}, False), ("corner", "g", {"miss g": 1.0}, False), ("fold", "", {}, False),
])  # fmt: skip
def test_a_cycle_touches_where_it_grazes_or_just_misses_what_it_slides_on(kind, name, margins, told):  # fmt: skip
    point = space(kind=kind, name=name, node=space(at=space(margins=margins)))
    assert touches(point) is told


@for_each(("fitted", "ratio", "told"), [
    (1.5, 1.0, True), (1.5 * 1.029, 1.0, True), (1.5 * 0.971, 1.0, True), (1.5 * 1.031, 1.0, False), (1.5 * 0.969, 1.0, False), (1.5, 1.09, True), (1.5, 0.91, True), (1.5, 1.11, False), (1.5, 0.89, False),
])  # fmt: skip
def test_a_form_is_confirmed_by_its_exponent_and_its_amplitude(fitted, ratio, told):
    """Within 3 % and 10 %."""
    none = np.zeros(2)
    one = Grazing(
        "continuous", "g", 2.0, 1e-9, 1.5, none, none, 0.1, 2.0, none, 1.0, none, none, none,
        fitted, 0.01, ratio, none, none,
    )  # fmt: skip
    assert one.ok is told
    assert ("; confirmed)" if told else "; not confirmed)") in repr(one)
