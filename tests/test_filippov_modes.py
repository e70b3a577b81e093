"""Systems with step functions as modes: `EventDriven` on them, and its sensitivities."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import explorer as ex
from explorer.compiled import compile_flow
from explorer.errors import BadValue, NotApplicable
from explorer.reformulations import active_sets, filippov
from explorer.systems import from_spec

TIGHT = ex.EventDriven(rtol=1e-12, atol=1e-13)
FINE = ex.FESD(stages=4, h=0.02)

# model: changes of its parameters, time span, number of events
RUNS = {
    "switched_oscillator": ({}, None, 1),
    "relay_feedback": ({}, None, 34),
    "stribeck_belt": ({}, None, 9),
    "three_blocks": ({}, None, 12),
    "sliding_mode": ({"d": 1.5}, None, None),
    "glass_network": ({}, 10, None),
}


@pytest.mark.parametrize("name", RUNS)
def test_agrees_with_fesd_and_with_published_numbers(name):
    """The same events of the same kinds between the same sets, the same end to 1e-8."""
    changes, t_end, count = RUNS[name]
    system = getattr(ex.models, name)()
    sol = ex.simulate(system, TIGHT, t_end=t_end, rho=changes)
    fesd = ex.simulate(system, FINE, t_end=t_end, rho=changes)
    assert sol.x[-1] == pytest.approx(fesd.x[-1], abs=1e-8)
    assert count in (None, len(sol.events))
    assert [(e.kind, e.contact, e.mode, e.to) for e in sol.events] == [
        (e.kind, e.contact, e.mode, e.to) for e in fesd.events
    ]
    assert [e.t for e in sol.events] == pytest.approx([e.t for e in fesd.events], abs=1e-7)
    assert sol.mode_names == fesd.mode_names
    assert sol.route[-1] == "active sets as modes"
    if changes:
        return
    for what, (number, _, _) in system.published.items():
        for k, state in enumerate(system.coordinates):
            if what.partition(": ")[2].startswith(f"{state}("):
                assert sol.x[-1, k] == pytest.approx(number, abs=1e-8)


def test_multipliers_along_a_slide():
    """alpha is the mean value that the disturbance asks for; on the sides it is 0 or 1."""
    sol = ex.simulate(ex.models.sliding_mode(), TIGHT, d=1.5)
    slid = np.array(["=" in name for name in sol.mode_names])[sol.mode]
    alpha = (1 + 1.5 * np.sin(3 * sol.t)) / 2
    assert np.abs(sol.alpha[:, 0] - alpha)[slid].max() <= 1e-9
    assert set(sol.alpha[~slid, 0]) == {0.0, 1.0}
    belt = ex.simulate(ex.models.stribeck_belt(), TIGHT, t_end=10)
    assert belt.theta.sum(axis=1) == pytest.approx(1)
    with pytest.raises(NotApplicable, match="no elements"):
        _ = sol.fesd_residual


# -- derivatives ----------------------------------------------------------------------------------


def test_crossing_has_the_derivative_of_the_closed_form():
    """The switched oscillator: x(T) and the saltation at the circle."""
    sens = ex.sensitivity(ex.models.switched_oscillator(), TIGHT, wrt=("w", "r0"))
    w, r0, T = 2 * np.pi, np.exp(-1), np.pi / 2
    phi = w * (T + 2 * np.log(r0))
    x = r0 * np.exp(T) * np.array([np.cos(phi), np.sin(phi)])
    turned = np.array([-x[1], x[0]])
    exact = np.column_stack([turned * (T + 2 * np.log(r0)), x / r0 + turned * 2 * w / r0])
    assert sens.S[-1] == pytest.approx(exact, rel=1e-9)
    (event,) = sens.events
    assert event.dt_drho == pytest.approx([0, -1 / r0], rel=1e-10)
    assert sens.saltation(0).residual <= 1e-12


def test_entry_and_exit_have_theirs():
    """Sliding control: on the surface nothing is left; the exit moves as |d sin w t| = a does."""
    model, wrt = ex.models.sliding_mode(), ("a", "d", "x0")
    sens = ex.sensitivity(model, TIGHT, wrt=wrt)
    (enters,) = sens.events
    t = enters.t
    by = np.array([-t, (1 - np.cos(3 * t)) / 3, 1.0])  # of x(t) in free motion
    assert enters.dt_drho == pytest.approx(-by / (0.7 * np.sin(3 * t) - 1), rel=1e-9)
    assert np.abs(sens.S[sens.t > t]).max() <= 1e-12
    weak = ex.sensitivity(model, TIGHT, wrt=wrt, d=1.5)
    for leaves in (e for e in weak.events if e.kind == "leaves"):
        s, c = np.sin(3 * leaves.t), np.cos(3 * leaves.t)
        rate = 3 * np.sign(s) * c  # of |sin w t| = a / d
        assert leaves.dt_drho == pytest.approx([1 / 1.5 / rate, -1 / 1.5**2 / rate, 0], rel=1e-7)


@pytest.mark.parametrize(
    ("name", "t_end"), [("relay_feedback", 4), ("three_blocks", 5), ("stribeck_belt", 11)]
)
def test_methods_agree(name, t_end):
    """Direct, adjoint, complex step and finite difference, across crossings, entries and exits."""
    system = getattr(ex.models, name)()
    asked = {
        "wrt": [*list(system.parameters)[:2], system.coordinates[1]], "t_end": t_end,
        "cost": {"g": f"{system.coordinates[-1]}**2", "w": system.coordinates[-1]},
    }  # fmt: skip
    scheme = ex.EventDriven(rtol=1e-11, atol=1e-12)
    direct = ex.sensitivity(system, scheme, **asked)
    assert "slides" in {e.kind for e in direct.events}
    adjoint = ex.sensitivity(system, scheme, method="adjoint", check=True, **asked)
    assert adjoint.residuals["duality"] <= 1e-9
    assert adjoint.cost_gradient == pytest.approx(direct.cost_gradient, rel=1e-8)
    complexly = ex.sensitivity(system, scheme, method="complex_step", **asked)
    assert complexly.residuals["direct"] <= 1e-8
    twins = ex.sensitivity(system, scheme, method="finite_difference", delta=1e-5, **asked)
    size = np.abs(direct.S[-1]).max()
    assert twins.S[-1] == pytest.approx(direct.S[-1], abs=1e-5 * size)


@pytest.mark.parametrize("name", ["relay_feedback", "glass_network", "three_blocks"])
def test_agrees_with_the_derivative_of_fesd(name):
    """Two ways that share no code: end state and switch times, to 1e-7 of their size."""
    system = getattr(ex.models, name)()
    wrt = (*system.parameters, system.coordinates[-1])
    here, fesd = (ex.sensitivity(system, scheme, wrt=wrt, t_end=5) for scheme in (TIGHT, FINE))
    assert np.abs(here.S[-1] - fesd.S[-1]).max() <= 1e-7 * (1 + np.abs(fesd.S[-1]).max())
    for a, b in zip(here.events, fesd.events, strict=True):
        assert a.dt_drho == pytest.approx(b.dt_drho, abs=1e-7 * (1 + np.abs(b.dt_drho).max()))


# -- surfaces that meet ---------------------------------------------------------------------------


def pair(**changes):
    """Return four regions of two relays, whose fields make dc/dt bilinear in the multipliers."""
    given = {
        "x": "x y z", "c": ["x", "y"], "S": [[1, 1], [1, -1], [-1, 1], [-1, -1]],
        "modes": {
            "a": ["-1", "-1 - k", 1], "b": ["-0.4", "1", 2], "c": ["1", "-0.5", 3],
            "d": ["1 + k", "0.8", 8],
        },
        "params": {"k": 0.6, "y0": -0.2}, "start": {"x": [0.3, "y0", 0], "t_end": 1.5},
    }  # fmt: skip
    return ex.FilippovSystem("pair", **(given | changes))


@pytest.mark.parametrize("y0", [-0.2, 0.0, 0.9])
def test_a_bilinear_pair_slides_as_fesd_has_it(y0):
    """The quadratic equation of the multipliers, entered from either surface."""
    sol = ex.simulate(pair(), TIGHT, y0=y0)
    fesd = ex.simulate(pair(), FINE, y0=y0)
    assert np.abs(sol.x[-1, :2]).max() <= 1e-13
    assert sol.x[-1, 2] == pytest.approx(fesd.x[-1, 2], abs=1e-9)
    assert sol.alpha[-1] == pytest.approx(fesd.alpha[-1], abs=1e-9)
    sens = ex.sensitivity(pair(), TIGHT, wrt=["k"], y0=y0)
    step = 1e-5
    ends = [ex.simulate(pair(), TIGHT, y0=y0, k=0.6 + d).x[-1] for d in (-step, step)]
    assert sens.S[-1, :, 0] == pytest.approx((ends[1] - ends[0]) / (2 * step), abs=1e-8)


# -- starts, drift, refusals ----------------------------------------------------------------------

STARTS = {  # d - sgn x: slide, to the right, to the left
    0.5: "x = 0", 1.5: "x > 0", -1.5: "x < 0",
}  # fmt: skip


@pytest.mark.parametrize("d", STARTS)
def test_a_start_on_the_surface_is_in_the_set_that_goes_on(d):
    """No event at t = 0; the reformulation starts as the system itself."""
    system = ex.StepSystem("s", x="x", params={"d": d}, f=["d - sign(x)"], start={"t_end": 1})
    for one in (system, filippov(system)):
        sol = ex.simulate(one, TIGHT)
        assert not sol.events
        assert sol.mode_names[sol.mode[0]] == STARTS[d]
        assert sol.x[-1] == pytest.approx([d - np.sign(d) if abs(d) > 1 else 0.0])
    with pytest.raises(BadValue, match="start lies on the switching surface"):
        ex.sensitivity(system, TIGHT, wrt="x")
    assert ex.sensitivity(system, TIGHT, wrt="d").S[-1, 0, 0] == pytest.approx(float(abs(d) > 1))
    repelled = ex.StepSystem("s", x="x", f=["sign(x)"], start={"t_end": 1})
    assert ex.simulate(repelled, TIGHT).x[-1] == pytest.approx([1.0])


@pytest.mark.parametrize("scheme", ["EventDriven", "FESD"])
def test_a_start_on_a_surface_without_any_parameter_is_refused_alike(scheme):
    """By the start value itself, where there is no parameter to be another column."""
    system = ex.FilippovSystem(
        "relay", x="x", c=["x"], S=[[1], [-1]], modes={"right": ["-1"], "left": ["1"]},
        start={"x": [0], "t_end": 1},
    )  # fmt: skip
    with pytest.raises(BadValue, match="start lies on the switching surface 'c1'"):
        ex.sensitivity(system, scheme, wrt=["x"])


def test_a_surface_that_is_only_grazed():
    """Without falling friction the belt is touched once in each swing, at no speed at all."""
    sol = ex.simulate(ex.models.stribeck_belt(), ex.EventDriven, d=0)
    kinds = [e.kind for e in sol.events]
    assert kinds[:2] == ["slides", "leaves"]
    later = sol.x[sol.t > sol.events[1].t]
    assert np.hypot(later[:, 0] - 1, later[:, 1]) == pytest.approx(0.2, abs=1e-7)


def test_no_drift_off_a_curved_surface():
    """Slid along the unit circle for many turns: |c| stays near the tolerance."""
    system = ex.StepSystem(
        "circle", x="x y", c={"circle": "x**2 + y**2 - 1"}, params={"k": 2},
        f=["-y - k*x*(2*alpha_1 - 1) + 0.5*cos(3*t)", "x - k*y*(2*alpha_1 - 1)"],
        start={"x": [2, 0], "t_end": 60},
    )  # fmt: skip
    sol = ex.simulate(system, ex.EventDriven(rtol=1e-9, atol=1e-10))
    assert [e.kind for e in sol.events] == ["slides"]
    on = sol.t >= sol.events[0].t
    assert np.abs(sol.c[on]).max() <= 1e-8


def test_the_hybrid_system_says_it_all():
    """It runs by itself to the same end, is written down and read again, and is shown."""
    system = ex.models.three_blocks()
    modes = filippov(system)
    sol = ex.simulate(modes, TIGHT)
    assert sol.x[-1] == pytest.approx(ex.simulate(system, TIGHT).x[-1], abs=1e-12)
    again = ex.simulate(from_spec(modes.to_spec()), TIGHT)
    assert np.array_equal(again.x, sol.x)
    assert "alpha" not in modes._repr_markdown_().partition("|")[0]
    relay = filippov(ex.models.relay_feedback())
    inside = ex.simulate(relay, TIGHT, mode0="relay = 0", x0=[0, 0.2, 0], t_end=0.1)
    assert relay.modes[inside.mode[0]].name == "relay = 0"


def test_made_once_for_each_change_of_the_equations():
    """A slider changes numbers only."""
    system = ex.models.stribeck_belt()
    before, flow = active_sets(system), compile_flow(system)
    for F in (0.8, 1.2):
        ex.simulate(system, ex.EventDriven, F=F, t_end=5)
    assert active_sets(system) is before
    assert compile_flow(system) is flow
    system.start(t_end=10)
    assert active_sets(system) is not before


def test_what_has_no_modes_is_refused_in_a_sentence():
    """A multiplier squared, too many functions: FESD takes both."""
    squared = ex.StepSystem("s", x="x", c=["x"], f=["0.5 - alpha_1**2"])
    many = ex.StepSystem("m", x="x", f=["-" + " - ".join(f"sign(x - {k})" for k in range(6))])
    for system, word in ((squared, "nonlinearly"), (many, "6 switching functions")):
        assert "EventDriven" not in [type(s).__name__ for s in ex.schemes_for(system)]
        with pytest.raises(NotApplicable, match=word):
            ex.simulate(system, ex.EventDriven)
        with pytest.raises(NotApplicable, match="FESD"):
            filippov(system)
    table = ex.applicability({"belt": ex.models.stribeck_belt(), "s": squared})
    assert (table["belt"]["EventDriven"], table["s"]["EventDriven"]) == (True, False)


def test_three_relays_that_depend_on_each_other():
    """Entries and exits in any order on three coupled surfaces, against FESD."""
    system = ex.StepSystem(
        "coupled", x="x y z", params={"a": 0.3},
        f=["-sign(x) + a*sign(y) + 1.2*sin(2*t)", "-sign(y) - a*sign(z) + 1.3*cos(3*t)",
           "-sign(z) + a*sign(x) + 1.1*sin(t)"],
        start={"x": [0.3, -0.2, 0.1], "t_end": 6},
    )  # fmt: skip
    for a in (0.3, 0.6):
        sol = ex.simulate(system, TIGHT, a=a)
        fesd = ex.simulate(system, dataclasses.replace(FINE, h=0.05), a=a)
        assert sol.x[-1] == pytest.approx(fesd.x[-1], abs=1e-8)
        assert len(sol.events) == len(fesd.events) > 10
