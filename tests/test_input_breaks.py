"""Where inputs change: the run goes on as if it were begun anew there, and so do derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from test_inputs import FINE, GRID, VALUES, ball, block, end, pendulum, pieces, sliding, thermostat

import explorer as ex


def relay() -> ex.StepSystem:
    """Return a state that runs after its input, and then slides along it."""
    system = ex.StepSystem("follower", x="x")
    system.inputs("u")
    system.f = ["-sign(x - u)"]
    system.start(x=[0], t_end=1.2, h=0.01)
    return system


def two_fields() -> ex.FilippovSystem:
    """Return two fields beside x = 0, one of which an input pushes."""
    system = ex.FilippovSystem("two fields", x="x y")
    system.inputs("u")
    system.subsystem({"right": ["u - 2", 1], "left": [1, "u"]}, c={"line": "x"})
    system.start(x=[0.2, 0], t_end=1.2, h=0.01)
    return system


def belt() -> ex.MechanicalSystem:
    """Return a block on a belt whose speed is an input."""
    system = ex.MechanicalSystem("belt", q="x y", params={"mu": 0.3})
    system.inputs("u", units="m/s")
    system.mass, system.force = [[1, 0], [0, 1]], ["-2*x", "-9.81"]
    system.contact(ex.Contact("y", e=0, mu="mu", slip="v_x - u", name="belt"))
    system.start(q=[0, 0], t_end=1.2, h=0.001)
    return system


CUT = [
    (sliding, [1, 3, -1, -4], "step"),
    (relay, [1, -0.1, 0.1, 0.2], "step"),
    (two_fields, [0.5, 3, -1, 0.2], "step"),
    (two_fields, [0.5, 3, -1, 0.2], "stewart"),
]


@for_each("h", [0.08, 0.05])
@for_each(("make", "values", "form"), CUT)
def test_fesd_cuts_its_grid_where_inputs_change(make, values, form, h):
    """Breaks that are no multiples of h, functions that jump, and what slides or sticks there."""
    scheme = ex.FESD(h=h, representation=form)
    run = ex.simulate(make(), scheme, u=ex.Input.constant(GRID, values))
    assert end(run) == pytest.approx(pieces(make(), ex.FESD(h=0.05), values), abs=1e-9)
    assert np.isin(np.round(GRID, 12), np.round(run.boundaries, 12)).all()
    assert run.certificate.ok, str(run.certificate)
    assert run.fesd_residual["time"] < 1e-14
    assert end(ex.simulate(make(), FINE, u=ex.Input.constant(GRID, values))) == pytest.approx(
        end(run), abs=1e-8
    )


FROZEN = [
    (ball, VALUES * 3),
    (block, [2, 4, 1, -5]),
    (belt, [0.5, -0.3, 0.2, 0.1]),
    (thermostat, [0.1, 0.3, -0.2, 0.4]),
]


@for_each(("make", "values"), FROZEN)
def test_inputs_are_those_of_physical_time_where_time_is_frozen(make, values):
    """Impacts, friction and hysteresis by FESD: the same events as by EventDriven."""
    for u in (ex.Input.constant(GRID, values), ex.Input.linear(GRID, [*values, 0.3])):
        run = ex.simulate(make(), ex.FESD(h=0.05, stages=3), u=u)
        known = ex.simulate(make(), FINE, u=u)
        assert end(run) == pytest.approx(end(known), abs=1e-7)
        assert [(e.kind, round(e.t, 6)) for e in run.events if e.kind != "event"] == [
            (e.kind, round(e.t, 6)) for e in known.events if e.kind != "event"
        ]
        assert len(run.events) == len(known.events)
        assert run.certificate.ok, str(run.certificate)


def test_a_homotopy_finds_the_same_elements():
    """`fesd_reference` knows the cut intervals, and which inputs hold at their ends."""
    u = ex.Input.constant(GRID, [1, 0.5, 0.2, -4])
    run = ex.simulate(sliding(), ex.FESD(h=0.2), x0=[0, 0.7], u=u)
    found = ex.study.fesd_reference(run, intervals=4)  # 0.2, 0.3, 0.4, 0.6
    assert found.difference < 1e-9
    assert len(found.alpha) == 8


def test_a_function_that_jumps_over_its_zero_switches_at_the_break():
    """The follower turns at once, for both schemes; where nothing changes there is no event."""
    u = ex.Input.constant(GRID, [1, -0.1, 0.1, 0.2])
    for scheme in (FINE, ex.FESD(h=0.1)):
        run = ex.simulate(relay(), scheme, u=u)
        assert [(e.kind, round(e.t, 9)) for e in run.events] == [
            ("crosses", 0.3), ("crosses", 0.6), ("slides", 0.7), ("leaves", 0.9), ("slides", 1),
        ]  # fmt: skip
        assert run.certificate.ok
        quiet = ex.simulate(relay(), scheme, u=ex.Input.constant(GRID, [1, 1.1, 1.2, 1.3]))
        assert not quiet.events


@for_each("sign", [1, -1])
def test_a_push_at_the_limit_of_friction_moves_nothing(sign):
    """From rest, u = c has the side of u for one choice; a smaller push then lets it stick."""
    for u in ([1, 0.5, 1], [0.5, 1, -1], [1, -1, 1]):
        inputs = ex.Input.constant([0, 0.6, 1.2, 2], sign * np.array(u))
        for scheme in (ex.FESD(h=0.1), FINE):
            run = ex.simulate(ex.models.pushed_block(), scheme, u=inputs, c=1, v0=0)
            assert np.abs(run.x).max() < 1e-12


FOUND = [
    (sliding, [1, 3, -1, -4], "x**2 + u*v", "x*v + u*x"),
    (relay, [0.25, -0.1, 0.1, 0.2], "x**2", "u*x"),
    (two_fields, [0.5, 2.5, -1, 0.3], "u*x", "y**2"),
]


@for_each(("make", "values", "g", "w"), FOUND)
def test_fesd_differentiates_by_the_values_of_inputs(make, values, g, w):
    """As EventDriven does, and as difference quotients, through slides and jumps."""
    for u in (ex.Input.constant(GRID, values), ex.Input.linear(GRID, [*values, 0.3])):
        asked = {"wrt": "u[:]", "cost": {"g": g, "w": w}, "u": u}
        found = ex.sensitivity(make(), ex.FESD(h=0.077, stages=3), **asked)
        known = ex.sensitivity(make(), FINE, **asked)
        quotient = ex.sensitivity(
            make(), ex.FESD(h=0.077, stages=3), method="finite_difference", delta=1e-5, **asked
        )
        size = np.abs(known.cost_gradient).max()
        assert np.abs(found.cost_gradient - known.cost_gradient).max() < 1e-5 * size
        assert np.abs(quotient.cost_gradient - found.cost_gradient).max() < 1e-7 * size
        assert np.abs(quotient.S[-1] - found.S[-1]).max() < 1e-7 * (1 + np.abs(found.S).max())


ROUND = [
    (ball, VALUES * 3),
    (block, [2, 4, 1, -5]),
    (sliding, [1, 3, -1, -4]),
    (thermostat, [0.1, 1, -1, 2]),
    (pendulum, VALUES),
    (belt, [0.5, -0.3, 0.2, 0.1]),
]


@for_each(("make", "values"), ROUND)
def test_costs_may_name_inputs_and_the_complex_step_agrees(make, values):
    """Running and terminal ones; direct, adjoint and complex step to round-off."""
    scheme = ex.EventDriven(method="dop853", rtol=1e-11, atol=1e-12)
    for u in (ex.Input.constant(GRID, values), ex.Input.linear(GRID, [*values, 0.3])):
        system = make()
        x = system.coordinates[0]
        asked = {"wrt": "u[:]", "cost": {"g": f"u*{x}**2", "w": f"u*{x} + u**2"}, "u": u}
        direct = ex.sensitivity(system, scheme, **asked)
        quotient = ex.sensitivity(system, scheme, method="finite_difference", delta=1e-4, **asked)
        size = np.abs(direct.cost_gradient).max()
        assert np.abs(quotient.cost_gradient - direct.cost_gradient).max() < 1e-6 * size
        for method in ("adjoint", "complex_step"):
            other = ex.sensitivity(system, scheme, method=method, **asked)
            assert np.abs(other.cost_gradient - direct.cost_gradient).max() < 1e-11 * size


def test_a_running_cost_sees_a_linear_input_between_its_points():
    """The integral of u is the area below its graph."""
    for u, area in (
        (ex.Input.linear([0, 0.6, 1.2], [0, 2, 1]), 0.6 + 0.9),
        (ex.Input.constant([0, 0.6, 1.2], [2, 1]), 1.8),
    ):
        for scheme in (FINE, ex.FESD(h=0.1)):
            found = ex.sensitivity(sliding(), scheme, "u[:]", {"g": "u"}, u=u)
            assert found.cost == pytest.approx(area, abs=1e-12)
            assert found.cost_gradient.sum() == pytest.approx(1.2, abs=1e-12)


def test_derivatives_by_inputs_are_verified_and_descended_along():
    """`verify` moves the values themselves; `minimize` finds u = -a / (2 c) of a parabola."""
    u = ex.Input.constant(GRID, VALUES * 3)
    for system, scheme, signal in (
        (ball(), FINE, u),
        (sliding(), ex.FESD(h=0.08), ex.Input.linear(GRID, [1, 3, -1, -4, 0.3])),
    ):
        trust = ex.sensitivity(system, scheme, "u[:]", {"w": system.coordinates[0]}, u=signal)
        assert trust.verify().ok
    cart = ex.MechanicalSystem("cart", q="x", mass=[[1]])
    cart.inputs("u", low=-2, high=2)
    cart.force = ["u"]
    cart.start(q=[0], v=[0], t_end=1)
    found = ex.minimize(
        cart, {"g": "u**2", "w": "-2*v_x"}, ("u[0]", "u[1]"), u=[[0, 0]], progress=False
    )
    assert [*found.parameters.values()] == pytest.approx([1, 1], abs=1e-6)
    bound = ex.minimize(cart, {"g": "u**2", "w": "-6*v_x"}, "u[:]", u=[[0, 0]], progress=False)
    assert [*bound.parameters.values()] == pytest.approx([2, 2], abs=1e-6)


def test_a_belt_whose_speed_jumps_lets_the_block_slip():
    """And sticks again; runs of steps know on which side of a break they end."""
    values = [0.5, -0.3, 0.2, 0]
    u = ex.Input.constant(GRID, values)
    for scheme in (FINE, ex.MoreauJean(h=0.001)):
        run = ex.simulate(belt(), scheme, u=u)
        assert end(run) == pytest.approx(pieces(belt(), scheme, values), abs=1e-9)
        kinds = [e.kind for e in run.events]
        assert kinds == ["sticks", "slips", "sticks", "slips", "sticks", "slips", "sticks"]
        assert run.certificate.ok, str(run.certificate)


def test_discs_take_inputs():
    """A tray that is pushed: a chain of runs, with neighbours that come and go."""
    tray = ex.DiscSystem("tray", 2, params={"R": 0.1})
    (u,) = tray.inputs("u", units="N")
    tray.discs(["R", "R"], mass=[1, 1], e=0.2, mu=0.3, walls=[(0, 1, 0), (1, 0, 0), (-1, 0, -1)])
    tray.force = [f + (u if k % 3 == 0 else 0) for k, f in enumerate(tray.force)]
    tray.start(q=[0.2, 0.1, 0, 0.5, 0.1, 0], t_end=1.2, h=0.001)
    values = [4, -8, 6, 1]
    run = ex.simulate(tray, ex.MoreauJean(), u=ex.Input.constant(GRID, values))
    assert run.p.any()
    assert end(run) == pytest.approx(pieces(tray, ex.MoreauJean(), values), abs=1e-8)
    assert run.certificate.ok
