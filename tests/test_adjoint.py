"""The adjoint: one sweep backwards, no direct run, and the same gradient."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each

import explorer as ex
from explorer.compiled import bundle
from explorer.derivatives import adjoint as module
from explorer.derivatives.question import ask
from explorer.models import models
from explorer.schemes.event_driven import EventDriven

MODELS = [
    "elastic_pendulum",
    "compass_gait",
    "impact_oscillator",
    "woodpecker",
    "slip",
    "two_tanks",
]


def count_columns(monkeypatch) -> list[int]:
    """Return a list that gains the number of sensitivity columns of every run."""
    widths, run = [], EventDriven.run

    def counted(self, *args, wrt=(), **more):
        widths.append(len(wrt))
        return run(self, *args, wrt=wrt, **more)

    monkeypatch.setattr(EventDriven, "run", counted)
    return widths


@pytest.mark.parametrize("name", MODELS)
def test_no_sensitivity_is_marched_unless_it_is_asked_for(name, monkeypatch):
    system = models[name]()
    asked = {"cost": {"w": system._state_names()[0]}, "t_end": min(system.t_end, 3.3)}
    direct = ex.sensitivity(system, **asked)
    widths = count_columns(monkeypatch)
    sens = ex.sensitivity(system, method="adjoint", **asked)
    assert set(widths) == {0}
    assert sens.residuals == {}
    size = np.abs(direct.cost_gradient).max()
    np.testing.assert_allclose(sens.cost_gradient, direct.cost_gradient, rtol=0, atol=1e-6 * size)
    assert sens.cost == pytest.approx(direct.cost, rel=1e-6, abs=1e-9)
    assert len(sens.trust.certificate) >= 4
    assert set(widths) == {0}
    assert sens.S.shape == direct.S.shape  # made now
    assert widths[-1] == len(direct.wrt)


def test_the_check_compares_with_the_direct_method():
    tight = EventDriven(rtol=1e-11, atol=1e-12)
    sens = ex.sensitivity(models["slip"](), tight, method="adjoint", check=True)
    assert sens.residuals["direct"] < 1e-8
    assert sens.residuals["duality"] < 1e-13


def test_a_wrong_gain_at_an_event_violates_duality():
    """By as much as it is wrong, relative to what is gained."""
    question = ask(models["bouncing_ball"](), None, ("g", "e"), {"w": "y"}, 1.5, None, None, {})
    run = question.run()
    swept = module._sweep(question, run)
    assert module._duality(swept, run) < 1e-12
    for factor, worst in ((1 + 1e-5, 1e-5), (1e6, 1.0), (-1e6, 1.0)):
        wrong = dataclasses.replace(swept, gains=factor * swept.gains)
        assert 0.1 * worst < module._duality(wrong, run) < 1.001 * worst


def test_a_state_at_rest_may_have_derivatives_that_are_not():
    """u'' = A sin(w t) - k u with A = 0: u needs no steps, du/dA = (sin w t - w / r sin r t) / (k - w^2) many."""
    system = ex.MechanicalSystem(
        "rest", q="u", params={"k": 400.0, "A": 0.0, "w": 50.0}, force=["A*sin(w*t) - k*u"],
        start={"t_end": 10.0},
    )  # fmt: skip
    sens = ex.sensitivity(system, None, None, {"w": "u"}, "adjoint")
    r, w, t = 20.0, 50.0, 10.0
    wanted = (np.sin(w * t) - w / r * np.sin(r * t)) / (r**2 - w**2)
    assert sens.cost_gradient == pytest.approx([0, wanted, 0], rel=1e-7, abs=1e-12)


def test_a_kink_of_friction_at_its_own_event_does_not_spoil_it():
    """mu(|v_x - v|) has a kink where the block begins to slide: an event ends the step there."""
    system = ex.MechanicalSystem(
        "belt", q="x y", params={"v": 0.2, "d": 3.0, "x0": 1.2}, mass=[[1, 0], [0, 1]],
        force=["-x", "-1"], start={"q": ["x0", 0], "v": [0, 0], "t_end": 13},
        contacts=[ex.Contact("y", mu="1/(1 + d*abs(v_x - v))", slip="v_x - v")],
    )  # fmt: skip
    for rtol in (1e-7, 1e-10, 1e-12):
        scheme = EventDriven(rtol=rtol, atol=rtol / 10)
        asked = {"wrt": ["v", "d", "x0"], "cost": "x"}
        direct = ex.sensitivity(system, scheme, **asked).cost_gradient
        found = ex.sensitivity(system, scheme, method="adjoint", **asked).cost_gradient
        np.testing.assert_allclose(found, direct, rtol=0, atol=1e3 * rtol)


def test_the_error_of_its_steps_is_told(monkeypatch):
    """The embedded error bounds what finer steps change, and tells steps that are too long."""
    system, wrt = models["elastic_pendulum"](), ("k", "g")
    truth = ex.sensitivity(system, EventDriven(rtol=1e-13, atol=1e-14), wrt, {"w": "r"}, t_end=3)
    for rtol in (1e-4, 1e-6, 1e-8):
        question = ask(
            system, EventDriven(rtol=rtol, atol=rtol), wrt, {"w": "r"}, 3, None, None, {}
        )
        swept = module._sweep(question, question.run(wrt=False, events=True))
        size = np.abs(truth.cost_gradient).max()
        error = np.abs(swept.gradient - truth.cost_gradient).max() / size
        assert 0.1 * error < swept.error < 1e5 * rtol


def test_the_error_of_its_steps_has_no_unit():
    """Of two oscillators one is measured in a unit that is a million times smaller."""
    system = ex.MechanicalSystem(
        "two", q="x y", params={"c": ex.Param(1, 1e-9, 1e9), "k": 3.0},
        force=["-k*x", "-4*y - x*y/2"], start={"q": [1, "c"], "t_end": 2},
    )  # fmt: skip
    errors = []
    for c in (1.0, 1e6):
        question = ask(system, EventDriven(rtol=1e-5, atol=1e-15), ("k",),
                       {"w": f"x + y/{c:.0f}"}, 2, None, None, {"c": c})  # fmt: skip
        swept = module._sweep(question, question.run(wrt=False, events=True))
        errors.append(swept.error)
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)


def test_a_new_cost_compiles_nothing_of_the_dynamics(monkeypatch):
    """Of a new cost its own two formulas are compiled, and for other numbers nothing."""
    system = models["elastic_pendulum"]()
    made = []
    init = bundle.Bundle.__init__

    def counted(self, args, outputs):
        made.append([str(x) for x in outputs])
        init(self, args, outputs)

    asked = {"wrt": ("k", "g"), "t_end": 1.0}
    for method in ("direct", "adjoint"):
        ex.sensitivity(system, cost={"g": "r", "w": "r"}, method=method, **asked)
        monkeypatch.setattr(bundle.Bundle, "__init__", counted)
        made.clear()
        ex.sensitivity(
            system, cost={"g": f"r**2 + {len(method)}", "w": "r**3"}, method=method, **asked
        )
        assert {formulas[0] for formulas in made} == {f"{len(method)} + r**2", "r**3"}
        made.clear()
        ex.sensitivity(system, cost={"g": f"r**2 + {len(method)}", "w": "r**3"}, method=method,
                       e=0.3, **asked)  # fmt: skip
        assert not made
        monkeypatch.setattr(bundle.Bundle, "__init__", init)


@pytest.mark.parametrize("method", ["direct", "adjoint"])
def test_what_is_not_asked_for_is_not_differentiated(method, monkeypatch):
    """No compiled formula has a derivative by a parameter that is not in wrt: all are zero."""
    system = models["duffing"]()
    made, init = [], bundle.Bundle.__init__

    def counted(self, args, outputs):
        made.append((tuple(map(str, args)), list(outputs)))
        init(self, args, outputs)

    monkeypatch.setattr(bundle.Bundle, "__init__", counted)
    asked = next(iter(system.parameters))
    ex.sensitivity(
        system, wrt=asked, cost={"w": system._state_names()[0]}, method=method, t_end=1.0
    )
    n, count = system.n, len(system.parameters)
    steps = [out for _, out in made if len(out) == n * (2 * n + count + 1)]
    assert steps  # R by q, v, rho, t
    for out in steps:
        by_rho = out[2 * n * n : 2 * n * n + n * count]
        for k in range(len(by_rho)):
            assert by_rho[k] == 0 or k % count == 0


@for_each(
    ["name", "cost"],
    [
        ("five_bar_a", {"w": "x_1"}),
        ("five_bar_b", {"w": "x_1"}),
        ("five_bar_b", {"g": "x_1**2"}),
        ("double_pendulum_stop", {"g": "x_1**2"}),
        ("compass_gait", {"w": "s*w"}),
        ("elastic_pendulum", {"w": "r"}),
    ],
)
def test_direct_and_adjoint_agree_to_ten_tolerances(name, cost):
    """The steps of an adjoint suit the state alone: with the same tolerances it is off by 60."""
    scheme = ex.EventDriven(rtol=1e-10, atol=1e-11)
    system = models[name]()
    direct, adjoint = (
        ex.sensitivity(system, scheme, cost=cost, method=method).cost_gradient
        for method in ("direct", "adjoint")
    )
    assert (np.abs(adjoint - direct) / (1 + np.abs(direct))).max() <= 1e-9
