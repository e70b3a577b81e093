"""Periods of what drives a system, clocks, and sections, on systems of a few formulas."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import forcing
from explorer.study.section import Section


def flow(*formulas, states="x y", params=None, **guards):
    """Return a system of one mode with these rates; guards reset the first state."""
    system = ex.HybridSystem("m", x=states, params={"w": 2.0, "k": 3.0} if params is None else params)  # fmt: skip
    system.mode("only", flow=[*formulas])
    for name, r in guards.items():
        system.guard("only", r, direction=1, to="only", name=name, reset={"x": 0})
    return system


W = sp.Symbol("w")


@for_each(("formulas", "period"), [
    (("sin(w*t)", "x"), 2 * sp.pi / W), (("sin(2*w*t)*x", "cos(3*w*t + x)"), 2 * sp.pi / W), (("sin(2*w*t)", "cos(4*w*t)"), sp.pi / W), (("sin(-w*t)", "x"), 2 * sp.pi / W), (("tan(w*t)", "x"), 2 * sp.pi / W),
    (("sin(w*t/3)", "cos(w*t/2)"), 12 * sp.pi / W), (("sin(w*t)", "sin(k*t)"), None), (("sin(w*t)", "t"), None), (("sin(w*t**2)", "x"), None), (("sin(x*t)", "y"), None), (("exp(sin(w*t))", "x"), 2 * sp.pi / W),
    (("x", "sin(y)"), None), (("sin(5*t)", "x"), 2 * sp.pi / 5),
])  # fmt: skip
def test_the_period_of_a_drive_is_that_of_all_its_waves(formulas, period):
    found = forcing.forcing_period(flow(*formulas))
    assert found is None if period is None else sp.simplify(found - period) == 0


def test_waves_of_guards_drive_a_system_too():
    system = flow("x", "y", hit="x - sin(3*w*t)")
    assert forcing.forcing_period(system) == 2 * sp.pi / (3 * W)
    assert forcing.depends_on_time(system)
    assert not forcing.depends_on_time(flow("x", "y", hit="x - w"))


# ---------------------------------------------------------------- a period is checked


@for_each(("formula", "period", "fails"), [
    ("x*sin(w*t)", np.pi, False), ("x*sin(w*t)", 2 * np.pi, False), ("x*sin(w*t)", 3.0, True), ("x*sin(w*t)", np.pi * (1 + 1e-8), False), ("x*sin(w*t)", np.pi * (1 + 1e-5), True), ("x + 1", 0.123, False), ("x + sin(w*t)/1e7", 3.0, True),
    ("1e6 + sin(w*t)", 0.5 * np.pi, True), ("log(-1 - x**2) + sin(w*t)", 1.0, False), ("x*t", 1.0, True),
])  # fmt: skip
def test_equations_are_compared_a_period_later(formula, period, fails):
    """Where they are numbers: as far as a formula varies, to a millionth of it."""
    system, values = flow(formula, "y"), {"w": 2.0, "k": 3.0}
    if not fails:
        forcing.check_period(system, period, values)
        return
    with pytest.raises(BadValue, match="not the same after period =") as caught:
        forcing.check_period(system, period, values)
    known = "t" not in formula.replace("w*t", "").replace("sin", "")
    means = "It is driven with the period 2*pi/w = 3.1415927 s." if known else "Give the period of what drives it"  # fmt: skip
    assert means in str(caught.value)


def test_a_later_formula_is_compared_too_and_a_map_has_none():
    """The order of parameters is that of the system."""
    system = flow("sin(w*t)", "x + cos(k*t)", params={"k": 3.0, "w": 2.0})
    forcing.check_period(system, 2 * np.pi, {"w": 2.0, "k": 3.0})
    with pytest.raises(BadValue, match="not the same"):
        forcing.check_period(system, np.pi, {"w": 2.0, "k": 3.0})
    with pytest.raises(BadValue, match="not the same"):
        forcing.check_period(system, 2 * np.pi / 3, {"w": 2.0, "k": 3.0})
    forcing.check_period(system, 2 * np.pi / 3, {"w": 6.0, "k": 3.0})
    forcing.check_period(ex.models.tent_map(), 0.3, {})
    assert [count for _, count in system.made["driven"]] == [0, 1]


@for_each(("section", "fails"), [(Section(period="2*pi/w"), False), (Section(period="3/w"), True), (Section(event="hit"), False)])  # fmt: skip
def test_the_section_of_a_driven_system_is_its_period(section, fails):
    system = flow("sin(w*t)", "y", hit="x - 1")
    if fails:
        with pytest.raises(BadValue, match=r"not the same after period = 1\.5 s"):
            forcing.check_section(system, section, np.array([2.0, 3.0]))
        return
    forcing.check_section(system, section, np.array([2.0, 3.0]))


# ---------------------------------------------------------------- clocks and sections


def converter(r=("x - 1", "x - 1"), flows=(("k", "y"), ("k", "-y")), resets=(True, True), whens=(None, None), name=("ramp", "ramp"), to=(0, 1)):  # fmt: skip
    """Return a system of two modes, each with a guard that sets x back."""
    system = ex.HybridSystem("m", x="x y", params={"k": 3.0, "w": 2.0})
    for mode, rates in zip(("on", "off"), flows, strict=True):
        system.mode(mode, flow=[*rates])
    for mode, one, back, when, named in zip(("on", "off"), r, resets, whens, name, strict=True):
        more = {} if when is None else {"when": when}
        system.guard(mode, one, direction=1, to="off" if mode == "on" else "on", name=named, reset=["0", "y"] if back else None, **more)  # fmt: skip
    return system


@for_each(("given", "told"), [
    ({}, "ramp"), ({"flows": (("k", "y"), ("w", "y"))}, None), ({"flows": (("k*y", "y"), ("k*y", "y"))}, None), ({"flows": (("0", "y"), ("0", "y"))}, None), ({"name": ("ramp", "other")}, None),
    ({"r": ("x - 1", "2*x - 1")}, None), ({"r": ("x - y", "x - y"), "flows": (("k", "w"), ("k", "w"))}, "ramp"), ({"flows": (("-k", "y"), ("-k", "y"))}, "ramp"),
    ({"whens": ("y", None), "flows": (("k", "y"), ("w", "y"))}, "ramp"), ({"whens": ("y", "y")}, None),
])  # fmt: skip
def test_a_clock_is_a_guard_of_all_modes_that_is_come_to_at_one_rate(given, told):
    assert forcing.clock_of(converter(**given)) == told


def test_what_is_no_hybrid_system_has_no_clock():
    assert forcing.clock_of(ex.models.impact_oscillator()) is None
    assert forcing.clock_of(flow("w", "x", hit="x - 1")) == "hit"
    assert forcing.clock_of(flow("w", "k", "z", states="x y z", late="x - 1 + z", hit="y - 2")) == "hit"  # fmt: skip


@for_each(("system", "event", "period"), [
    (lambda: flow("sin(w*t)", "y", hit="x - 1"), None, "2*pi/w"), (lambda: flow("x", "y", first="x - 1", second="y - 1"), "first", None),
    (lambda: flow("x", "w", first="x - 1", second="y - 1"), "second", None), (lambda: flow("t", "y", hit="x - 1"), None, None), (lambda: flow("x", "y"), None, None), (lambda: ex.models.tent_map(), None, 1),
])  # fmt: skip
def test_a_section_is_a_period_or_a_clock_or_the_first_event(system, event, period):
    system = system()
    if event is None and period is None:
        with pytest.raises(BadValue, match="'m' has no event to stop at and no period"):
            forcing.usual_section(system)
        return
    found = forcing.usual_section(system)
    assert (found.event, found.period) == (event, period)


# ---------------------------------------------------------------- formulas


def test_the_formulas_of_other_systems_are_those_of_their_equations():
    steps = ex.StepSystem("m", x="x y", f=["-sign(x)", "y*x"], start={"x": [1, 1], "t_end": 1})
    x, y = sp.symbols("x y")
    found = [*forcing._formulas(steps)]
    assert found == [*steps.f, *(s.c for s in steps.switches)]
    assert found[-1] == x
    linear = bare(
        type("Own", (ex.systems.FirstOrderSystem,), {"f": [x, 1], "y": [y], "r": [x * y]})
    )
    assert [*forcing._formulas(linear)] == [x, 1, y, x * y]
    bodies = ex.MechanicalSystem("m", q="q")
    (q,), (v,) = bodies.q, bodies.v
    bodies.mass, bodies.force = [[2]], [-q]
    bodies.contact(ex.Contact(q - 1, name="a", mu=0.25, slip="v_q"))
    assert {*forcing._formulas(bodies)} >= {sp.Integer(2), -q, q - 1, v, sp.Float(0.25)}
    assert all(isinstance(f, sp.Basic) for f in forcing._formulas(bodies))
