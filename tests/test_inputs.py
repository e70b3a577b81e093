"""Inputs u(t): declared on a system, given to a run, differentiated by."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from loops import for_each

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


# -- simulation ---------------------------------------------------------------------------------

GRID = np.array([0, 0.3, 0.6, 0.9, 1.2])
VALUES = np.array([1.0, -2.0, 3.0, -1.0])


def ball() -> ex.MechanicalSystem:
    """Return a ball that an input lifts and presses down."""
    system = ex.MechanicalSystem("ball", q="y", params={"m": 1.0, "e": 0.6})
    system.inputs("u", units="N")
    system.mass, system.force = [["m"]], ["u - 9.81*m"]
    system.contact(ex.Contact("y", e="e", name="floor"))
    system.start(q=[0.5], t_end=1.2, h=0.001)
    return system


def block() -> ex.MechanicalSystem:
    """Return a block on a rough floor that an input pushes."""
    system = ex.MechanicalSystem("block", q="x y", params={"mu": 0.3})
    system.inputs("u", units="N")
    system.mass, system.force = [[1, 0], [0, 1]], ["u", "-9.81"]
    system.contact(ex.Contact("y", e=0, mu="mu", slip="v_x", name="floor"))
    system.start(q=[0, 0], t_end=1.2, h=0.001)
    return system


def pendulum() -> ex.MechanicalSystem:
    """Return a point on a circle that an input pushes."""
    system = ex.MechanicalSystem("pendulum", q="x y", mass=[[1, 0], [0, 1]])
    system.inputs("u", units="N")
    system.force = ["u", "-9.81"]
    system.constraint("x**2 + y**2 - 1")
    system.start(q=[1, 0], t_end=1.2, h=0.001)
    return system


def sliding() -> ex.StepSystem:
    """Return a mass with dry friction that an input pushes: it sticks while |u| <= 2."""
    system = ex.StepSystem("dry friction", x="x v")
    system.inputs("u")
    system.f = ["v", "u - 2*sign(v)"]
    system.start(x=[0, 0], t_end=1.2, h=0.01)
    return system


def thermostat() -> ex.HybridSystem:
    """Return a heater whose thresholds an input moves."""
    system = ex.HybridSystem("heater", x="T")
    system.inputs("u")
    system.mode("on", ["1 + u"])
    system.mode("off", ["-1 + u/2"])
    system.guard("on", "T - 1 - u/5", to="off", direction=1)
    system.guard("off", "T - 1/2 - u/5", to="on", direction=-1)
    system.start(x=[0.7], mode="on", t_end=1.2, h=0.01)
    return system


def relay() -> ex.FirstOrderSystem:
    """Return x' = u + lam with a relay lam of 1/2 against x."""
    system = ex.FirstOrderSystem("relay", x="x")
    system.inputs("u")
    system.law("lam", kind="relay", lb=-0.5, ub=0.5)
    system.f, system.y, system.r = ["u"], ["x"], ["lam"]
    system.start(x=[0.1], t_end=1.2, h=0.001)
    return system


def end(run: ex.Solution) -> np.ndarray:
    """Return the state at the end of a run."""
    return np.append(run.q[-1], run.v[-1]) if run.has_velocities else run.x[-1]


def pieces(system, scheme, values) -> np.ndarray:
    """Return the end of a chain of runs, one for each interval, at constant inputs."""
    mode, x = {}, None
    for length, u in zip(np.diff(GRID), values, strict=True):
        n = len(system.coordinates)
        given = (
            {}
            if x is None
            else {"q0": x[:n], "v0": x[n:]}
            if system.contacts or isinstance(system, ex.MechanicalSystem)
            else {"x0": x}
        )
        run = ex.simulate(system, scheme, t_end=length, u=float(u), **given, **mode)
        x = end(run)
        if isinstance(system, ex.HybridSystem):
            mode = {"mode0": run.mode_names[run.mode[-1]]}
    return x


FINE = ex.EventDriven(rtol=1e-11, atol=1e-12)


def cart_of_many() -> ex.MechanicalSystem:
    """Return a mass on a spring that an input pushes."""
    system = ex.MechanicalSystem("cart", q="x", mass=[[2]])
    system.inputs("u", units="N")
    system.force = ["u - 3*x - 0.3*v_x"]
    system.start(q=[0.2], v=[0.1], t_end=1.2, h=0.01)
    return system


STEPPED = [
    (ball, FINE, VALUES * 3, 1e-9),
    (block, FINE, [2, 4, 1, -5], 1e-9),
    (sliding, FINE, [1, 3, -1, -4], 1e-9),
    (sliding, ex.FESD(h=0.1), [1, 3, -1, -4], 1e-9),
    (sliding, ex.ThetaRK(h=0.1), [1, 3, -1, -4], 1e-9),
    (sliding, ex.EulerMoreau(h=0.01), [1, 3, -1, -4], 1e-9),
    (relay, ex.EulerMoreau(h=0.01), VALUES, 1e-9),
    (pendulum, FINE, VALUES, 1e-9),
    (ball, ex.MoreauJean(h=0.01), VALUES * 3, 1e-9),
    (cart_of_many, ex.Newmark(h=0.01), VALUES, 1e-3),
    (cart_of_many, ex.NonsmoothGeneralizedAlpha(h=0.01), VALUES, 1e-3),
    (pendulum, ex.GeneralizedAlpha(h=0.01), VALUES, 1e-2),
    (ball, ex.SchatzmanPaoli(h=0.001), VALUES * 3, 5e-2),
]


@pytest.mark.filterwarnings("ignore::explorer.errors.LessonWarning")
@for_each(("make", "scheme", "values", "near"), STEPPED)
def test_a_run_is_a_chain_of_runs_at_constant_inputs(make, scheme, values, near):
    """Contacts, sticking and active sets are decided anew at each break; the checks hold."""
    run = ex.simulate(make(), scheme, u=ex.Input.constant(GRID, values))
    assert np.abs(end(run) - pieces(make(), scheme, values)).max() < near
    assert run.certificate.ok, str(run.certificate)


def test_dry_friction_sticks_and_slips_with_the_input():
    """Closed form: v = t - 0.3 from 0.3, then -3 from 0.6, sticks at 0.7, slides back from 0.9."""
    for scheme in (FINE, ex.FESD(h=0.1)):
        run = ex.simulate(sliding(), scheme, u=ex.Input.constant(GRID, [1, 3, -1, -4]))
        assert end(run) == pytest.approx([-0.03, -0.6], abs=1e-9)
        assert [e.t for e in run.events] == pytest.approx([0.3, 0.7, 0.9], abs=1e-8)


def test_a_guard_that_an_input_carries_over_its_zero_fires_at_the_break():
    """T = 0.7 + 0.5 t stays below its threshold 2, which the input puts to 0.8 at t = 0.6."""
    system = thermostat()
    system.guards, system.modes = (), ()
    system.mode("on", ["1/2"])
    system.mode("off", ["-1"])
    system.guard("on", "T - u", to="off", direction=1)
    system.guard("off", "T - 1/10", to="on", direction=-1)
    system.start(mode="on")
    run = ex.simulate(system, FINE, u=ex.Input.constant([0, 0.6, 1.2], [2, 0.8]))
    assert [e.t for e in run.events] == [0.6]
    assert run.x[-1, 0] == pytest.approx(1.0 - 0.6)
    sens = ex.sensitivity(
        system, FINE, ("u[0]", "u[1]"), {"w": "T"}, u=ex.Input.constant([0, 0.6, 1.2], [2, 0.8])
    )
    assert sens.cost_gradient.tolist() == [0, 0]  # the time of the event is that of the break


@for_each(
    "scheme",
    [
        ex.MoreauJean,
        ex.Newmark,
        ex.GeneralizedAlpha,
        ex.NonsmoothGeneralizedAlpha,
    ],
)
def test_schemes_keep_their_order_across_breaks(scheme):
    """Order 2 for constant inputs, which jump, and for linear ones."""
    system = cart_of_many()
    for u in (ex.Input.constant(GRID, VALUES), ex.Input.linear(GRID, [*VALUES, 0])):
        known = end(ex.simulate(system, FINE, u=u))
        steps = (0.03, 0.015, 0.0075)
        errors = [np.abs(end(ex.simulate(system, scheme(h=h), u=u)) - known).max() for h in steps]
        orders = np.log2(np.array(errors[:-1]) / errors[1:])
        assert orders == pytest.approx([2, 2], abs=0.15)


def test_linear_and_sampled_inputs_are_exact():
    """x'' = u with u linear: x is a cubic on each interval."""
    system = cart_of_many()
    system.mass, system.force = [[1]], ["u"]
    system.start(q=[0], v=[0])
    corners = np.array([1.0, -2.0, 3.0, -1.0, 0.0])
    v, x = 0.0, 0.0
    for a, b, h in zip(corners[:-1], corners[1:], np.diff(GRID), strict=True):
        x += h * v + h**2 * (a / 3 + b / 6)
        v += h * (a + b) / 2
    for u in (ex.Input.linear(GRID, corners), ex.Input.sampled(0.3, corners)):
        assert end(ex.simulate(system, FINE, u=u)) == pytest.approx([x, v], abs=1e-12)


def test_numbers_arrays_and_defaults():
    """A number is a parameter; an array has one row for each input; what is left out stays."""
    system = cart_of_many()
    given = system.inputs("w", value=0.5)
    system.force = ["u + w - 3*x - 0.3*v_x"]
    assert given == (sp.Symbol("w"),)
    plain = end(ex.simulate(system, FINE, u=1, w=2))  # parameters, as any other
    assert end(ex.simulate(system, FINE, u={"u": 1, "w": 2})).tolist() == plain.tolist()
    rows = ex.simulate(system, FINE, u=[[1, 1], [2, 2]])
    assert end(rows) == pytest.approx(plain, abs=1e-9)
    half = ex.simulate(system, FINE, u={"u": ex.Input.constant(GRID, VALUES)})
    assert half.u_names == ("u", "w")
    assert set(half.u[:, 1]) == {0.5}
    at = np.flatnonzero(half.t == 0.3)
    assert half.u[at, 0].tolist() == [1, -2]  # both sides of a break
    assert half["u"].tolist() == half.u[:, 0].tolist()


DERIVED = [
    (ball, VALUES * 3, "y**2", "y*v_y"),
    (block, [2, 4, 1, -5], "x**2", "x"),
    (sliding, [1, 3, -1, -4], "x**2", "x*v"),
    (thermostat, [0.1, 1, -1, 2], "T**2 + u*T", None),
    (pendulum, VALUES, "x*y", "x + y"),
]


@for_each(("make", "values", "g", "w"), DERIVED)
def test_derivatives_by_the_values_of_inputs(make, values, g, w):
    """Direct and adjoint agree to round-off, and difference quotients to 1e-7, through events."""
    system = make()
    for u in (ex.Input.constant(GRID, values), ex.Input.linear(GRID, [*values, 0.3])):
        asked = {"wrt": "u[:]", "cost": {"g": g} | ({"w": w} if w else {}), "u": u}
        direct = ex.sensitivity(system, FINE, **asked)
        adjoint = ex.sensitivity(system, FINE, method="adjoint", check=True, **asked)
        quotient = ex.sensitivity(system, FINE, method="finite_difference", delta=1e-4, **asked)
        size = np.abs(direct.cost_gradient).max()
        assert direct.wrt == tuple(f"u[{k}]" for k in range(len(u.values)))
        assert np.abs(adjoint.cost_gradient - direct.cost_gradient).max() < 1e-11 * size
        assert adjoint.residuals["duality"] < 1e-12
        assert np.abs(quotient.cost_gradient - direct.cost_gradient).max() < 1e-6 * size
        assert np.abs(quotient.S[-1] - direct.S[-1]).max() < 2e-7 * (1 + np.abs(direct.S).max())


def test_a_saved_run_knows_its_inputs(tmp_path):
    """Files, specifications and `rerun`; runs of steps and runs with located events."""
    u = ex.Input.linear(GRID, [*VALUES, 0])
    for scheme in (FINE, ex.MoreauJean(h=0.01)):
        run = ex.simulate(ball(), scheme, u=u, e=0.3)
        run.save(tmp_path / "run.npz")
        again = ex.load(tmp_path / "run.npz")
        assert again.u.tolist() == run.u.tolist()
        assert again.spec["u"] == run.spec["u"] == {"u": u.to_plain()}
        assert again.certificate.ok
        assert again.rho == run.rho
        assert end(ex.rerun(run)).tolist() == end(run).tolist()
        assert end(ex.rerun(run, u=0.0)).tolist() != end(run).tolist()


def test_a_system_without_breaks_is_left_alone():
    """One interval is the same run as a number, bit by bit."""
    for scheme in (FINE, ex.MoreauJean(h=0.01)):
        one = ex.simulate(ball(), scheme, u=ex.Input.constant([0, 1.2], [3]))
        two = ex.simulate(ball(), scheme, u=3)
        assert end(one).tolist() == end(two).tolist()


def test_bad_inputs_are_refused():
    """Each message says what is wrong."""
    system, constant = cart(), ex.Input.constant
    for u, words in (
        ({"w": 1}, "has no input 'w'"),
        ([[1, 2], [3, 4]], "u has 2 rows, but 'cart' has 1 input "),
        (constant([0, 0.5], [1]), "does not cover the run"),
        (constant([0, 0.5, 1], [1, 3]), r"outside its bounds \[-2, 2\]"),
        ({"u": 5}, "outside its bounds"),
        ({"u": [1, 2]}, "needs times"),
    ):
        with pytest.raises(ex.BadValue, match=words):
            ex.simulate(system, u=u)
    for arguments, words in (
        (([0, 1], [1, 2]), "needs 1 value, one for each interval"),
        (([0, 1, 1], [1, 2]), "must increase"),
        (([0, 1], [math.nan]), "must be finite"),
        (([[0, 1]], [1]), "its shape is"),
    ):
        with pytest.raises(ex.BadValue, match=words):
            constant(*arguments)
    with pytest.raises(ex.BadValue, match="given twice"):
        ex.simulate(system, u=constant([0, 1], [1]), rho={"u": 1})
    with pytest.raises(ex.BadValue, match=r"use h = 0\.0119"):
        ex.simulate(system, ex.MoreauJean(h=0.012), u=constant([0, 0.5, 1], [1, 2]))
    with pytest.raises(ex.BadValue, match="has no inputs"):
        ex.simulate(ex.models.pendulum(), u=1)
    with pytest.raises(ex.BadValue, match=r"'u\[0\]'"):
        ex.sensitivity(system, FINE, "u", u=constant([0, 0.5, 1], [1, 2]))
    with pytest.raises(ex.BadValue, match="has 2 values"):
        ex.sensitivity(system, FINE, "u[2]", u=constant([0, 0.5, 1], [1, 2]))
    moving = ball()
    moving.contact(ex.Contact("3 + u - y", e=0, name="ceiling"))
    with pytest.raises(ex.BadModel, match=r"jumps from interval to interval.*Use Input\.linear"):
        ex.simulate(moving, FINE, u=constant([0, 0.5, 1.2], [0, 1]))
    with pytest.raises(ex.BadModel, match="has no potential"):
        system.potential = "u*x"


def test_a_linear_input_moves_an_obstacle():
    """A ball at rest on a floor y = u is thrown up by it: u' jumps by 2 m/s, e = 1."""
    system = ex.MechanicalSystem("lift", q="y", mass=[[1]], force=["-10"])
    system.inputs("u", units="m")
    system.contact(ex.Contact("y - u", e=0, name="floor"))
    system.start(q=[0], t_end=1)
    run = ex.simulate(system, FINE, u=ex.Input.linear([0, 0.4, 0.6, 1], [0, 0.4, 0.2, 0.2]))
    # thrown up with 1 m/s at t = 0.4, it falls on the floor that has sunk by 0.2 m
    assert run.events[-1].t == pytest.approx(0.4 + (1 + math.sqrt(1 + 2 * 10 * 0.2)) / 10)
    assert run.events[-1].kind == "closed"


def test_a_parameter_called_u_stays_one():
    """A number for it is no input."""
    system = ex.MechanicalSystem("old", q="x", params={"u": 1.0}, mass=[[1]], force=["u"])
    assert end(ex.simulate(system, FINE, t_end=1, u=3.0)) == pytest.approx([1.5, 3])


def test_the_pushed_block_comes_to_rest_at_its_goal():
    """Least time over 1 m with |u| <= 5: pushed, braked, and then held by friction."""
    from explorer.models.pushed_block import fastest

    pushed, braked = fastest(1, 1, 5)
    u = ex.Input.constant([0, pushed, pushed + braked, 2], [5, -5, 0])
    asked = {"u": u, "v0": 0, "t_end": 2}
    run = ex.simulate(ex.models.pushed_block(), FINE, **asked)
    assert run.x[-1] == pytest.approx([1, 0], abs=1e-9)
    middle = np.flatnonzero(run.t == pushed)[0]
    assert run.x[middle] == pytest.approx([2 * pushed**2, 4 * pushed], abs=1e-9)


def test_the_view_of_inputs_has_gaps_where_they_jump():
    """Corners of constant and linear inputs; a constant one is a line."""
    from explorer.views.inputs import corners

    run = ex.simulate(ball(), FINE, u=ex.Input.constant(GRID, VALUES))
    t, u, jumps = corners(run, "u")
    assert t.tolist() == [0, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9, 1.2]
    assert u.tolist() == np.repeat(VALUES, 2).tolist()
    assert jumps.tolist() == [2, 4, 6]
    assert len(ex.views.inputs(run).data) >= 1
    run = ex.simulate(ball(), FINE, u=ex.Input.linear(GRID, [*VALUES, 0]))
    assert corners(run, "u")[1].tolist() == [*VALUES, 0]
    assert corners(ex.simulate(ball(), FINE, u=2.0), "u")[1].tolist() == [2, 2]
    with pytest.raises(ex.ExplorerError, match="inputs"):
        ex.views.inputs(ex.simulate(ex.models.pendulum()))


def test_a_guard_that_watches_sees_where_an_input_leads_off_it():
    """x rests on its zero until u = -1; where the run starts with that, nothing has been crossed."""
    system = ex.HybridSystem("drain", x="x")
    system.inputs("u")
    system.mode("on", ["u"])
    system.guard("on", "x", to="on", direction=-1, name="leaves")
    system.start(x=[0], mode="on", t_end=2)
    for before, expected in ((0, [1.0]), (-1, [])):
        run = ex.simulate(system, FINE, u=ex.Input.constant([0, 1, 2], [before, -1]))
        assert [event.t for event in run.events] == expected
