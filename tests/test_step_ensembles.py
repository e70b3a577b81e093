"""Many runs of fixed steps in one call: bitwise the runs that the scheme makes alone."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer.models import models
from explorer.runs.members import APART, Known
from explorer.study import Section, orbit_diagram, sweep
from explorer.study.one_by_one import one_by_one

QUIET = {"progress": False}
PERIOD = "2*pi/omega"


def same(found, alone):
    """Compare all that was observed, bit by bit."""
    for name, one, other in zip(found._fields, found, alone, strict=True):
        np.testing.assert_array_equal(one, other, err_msg=name)


def asked(system, scheme, over, **given):
    """Return what an ensemble says of a question, without the runs that it leaves, and with."""
    question = sweep(system, scheme, over=over, **QUIET, **given).question
    members = question.members(0, question.axes.size)
    fast = scheme.ensemble(system)
    assert fast is not None
    return question, fast(members, question.asked), members


def check(system, scheme, over, *, apart=0, **given):
    """Compare an ensemble with single runs; `apart` members are left to be run alone."""
    question, found, members = asked(system, scheme, over, **given)
    left = found.code == APART
    assert left.sum() == apart
    alone = one_by_one(system, scheme, members, question.asked)
    kept = np.flatnonzero(~left)
    same(type(found)(*(x[kept] for x in found)), type(found)(*(x[kept] for x in alone)))
    same(question.run(0, question.axes.size), alone)
    return alone


def oscillator():
    """Return the driven mass with a stop."""
    return models["impact_oscillator"]()


def chain():
    """Return two masses, coupled, of which one hits a stop; the stiffness is a parameter."""
    system = ex.MechanicalSystem("chain", q="x y")
    (x, y), (k,) = system.q, system.params(k=ex.Param(4.0, 1, 9))
    system.mass = [[2, 0], [0, 1]]
    system.force = [1 - k * (x - y), k * (x - y) - y]
    system.contact(ex.Contact(1 - y, e=0.5, name="stop"))
    system.start(q=[0, 0], v=[0.5, 0], t_end=6, h=0.01)
    return system


MOREAU = [
    ex.MoreauJean(h=0.01),
    ex.MoreauJean(h=0.01, theta=1.0, mass_point="iterate"),
    ex.MoreauJean(h=0.013, theta=0.0, projection="all"),
]
SCHEMES = [
    *MOREAU,
    ex.NonsmoothGeneralizedAlpha(h=0.01),
    ex.NonsmoothGeneralizedAlpha(h=0.01, level="velocity", force="interpolated"),
    ex.SchatzmanPaoli(h=0.01),
    ex.CentralDifference(h=0.01),
]


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("place", ["period", "before", "after"])
def test_an_oscillator_with_a_stop_runs_as_alone(scheme, place):
    """Its periods are no multiples of h: every member has a last step of its own."""
    section = {
        "period": Section(period=PERIOD),
        "before": Section(event="stop", side="before"),
        "after": Section(event="stop"),
    }[place]
    found = check(
        oscillator(),
        scheme,
        {"omega": np.linspace(1.3, 3.1, 4), "e": [0.0, 0.7]},
        observe=["extrema", section],
        t_end=f"5.3*{PERIOD}",
        transient=f"2*{PERIOD}",
    )
    assert (found.code == 0).all()
    assert (found.events > 0).any()
    assert (found.found > 0).any()


@pytest.mark.parametrize("scheme", SCHEMES[:5], ids=repr)
def test_coupled_masses_run_as_alone(scheme):
    """The matrix of a step is factored once for each stiffness."""
    found = check(
        chain(), scheme, {"k": [2.0, 4.0, 7.0], "v0.x": [0.1, 1.0]}, t_end=5.003,
        observe=["extrema", Section(event="stop")],
    )  # fmt: skip
    assert (found.events > 0).all()


@pytest.mark.parametrize("name", ["falling_rod", "pendulum_wall", "stick_slip"])
def test_what_turns_slides_and_sticks_runs_as_alone(name):
    system = models[name]()
    parameter = next(iter(system.parameters))
    value = system.parameters[parameter].value
    found = check(
        system, ex.MoreauJean(h=5e-3), {parameter: value * np.linspace(0.9, 1.1, 5)}, t_end=4.0,
        observe="extrema",
    )  # fmt: skip
    assert (found.events > 0).any()


NEWMARK = [
    ex.Newmark(h=0.01),
    ex.Newmark(h=0.013, beta=1 / 6, form="d"),
    ex.GeneralizedAlpha(h=0.01, rho_inf=0.5),
    ex.GeneralizedAlpha(h=0.01, force="interpolated", form="v"),
]


@pytest.mark.parametrize("scheme", NEWMARK, ids=repr)
def test_smooth_motion_runs_as_alone(scheme):
    """Where matrices are constant, and where Newton's method solves each step."""
    free = ex.MechanicalSystem("two masses", q="x y")
    (x, y), (k,) = free.q, free.params(k=ex.Param(4.0, 1, 9))
    free.mass, free.force = [[2, 0.3], [0.3, 1]], [-k * (x - y), k * (x - y) - y]
    free.start(q=[1, 0], t_end=5, h=0.01)
    for system, over in (
        (free, {"k": [2.0, 5.0, 8.0], "q0.y": [0.0, 0.3]}),
        (models["duffing"](), {"omega": np.linspace(0.8, 1.6, 5)}),
    ):
        given = {"t_end": 5.003} if system is free else {"t_end": f"4.2*{PERIOD}"}
        section = Section(period=1.0 if system is free else PERIOD)
        found = check(system, scheme, over, observe=["extrema", section], **given)
        assert (found.code == 0).all()


EULER = [
    ex.EulerMoreau(h=0.02),
    ex.EulerMoreau(h=0.023, theta=1.0, gamma=0.7),
    ex.EulerMoreau(h=0.02, gamma=0.6, gamma_on="relation", lcp="lemke"),
]


@pytest.mark.parametrize("scheme", EULER, ids=repr)
@pytest.mark.parametrize("name", ["two_relays", "relay_feedback", "sliding_mode"])
def test_laws_and_step_functions_run_as_alone(name, scheme):
    """Also infinitely many switches, and slides; switches are counted, and are points."""
    system, events = models[name](), 0
    over = {f"x0.{system.coordinates[0]}": [1.0, 1.5, 2.0]}
    for section in (
        Section(period=0.41),
        Section(event=system.guard_names[0]),
        Section(event=system.guard_names[-1], side="before"),
    ):
        found = check(
            system, scheme, over, t_end=5.003, transient=0.1, observe=["extrema", section]
        )  # fmt: skip
        assert (found.code == 0).all()
        events += found.found.sum() * (section.event is not None)
    assert events > 0
    assert (found.events > 0).any()


def test_a_circuit_with_a_diode_runs_as_alone():
    """A law of complementarity, whose values differ from member to member, and what is refused."""
    system = models["rlcd_circuit"]()
    L = system.parameters["L"].value
    found = check(
        system, ex.EulerMoreau(h=1e-5), {"L": [L, 2 * L, 0.0]}, apart=1, t_end=2.003e-3,
        observe="extrema",
    )  # fmt: skip
    assert found.code.tolist() == [0, 0, -1]
    assert (found.events[:2] > 0).all()


def test_members_that_are_not_in_order_are_refused_as_alone():
    """A start behind the stop, a restitution beyond 1, a step longer than the run."""
    over = {"q0.x": [-1.0, 2.0], "e": [0.5, 1.5]}
    found = check(oscillator(), ex.MoreauJean(h=0.01), over, apart=3, t_end=3.0)
    assert sorted(found.code) == [-1, -1, -1, 0]
    found = check(oscillator(), ex.MoreauJean(h=0.5), {"omega": [1.0, 30.0]}, apart=1, t_end=PERIOD)
    assert found.code[0] == 0 > found.code[1]


def test_a_member_that_fails_leaves_the_others_as_they_are():
    """Its force is no number beyond x = 0.2."""
    system = ex.MechanicalSystem("root", q="x")
    (x,), (a,) = system.q, system.params(a=ex.Param(1.0, 0, 9))
    system.mass, system.force = [[1]], [a + 1e-9 * sp.log(0.2 - x)]
    system.contact(ex.Contact(5 - x, e=0.5, name="stop"))
    system.start(q=[0], v=[0], t_end=2)
    found = check(
        system, ex.MoreauJean(h=0.01), {"a": [0.01, 1.0, 0.02]}, observe="extrema", t_end=2.0
    )
    assert found.code[0] == found.code[2] == 0 < found.code[1]
    assert np.isnan(found.end[1]).all()
    assert 0 < found.t[1] < 2


def test_a_run_that_may_have_blown_up_is_judged_alone():
    system = ex.MechanicalSystem("runaway", q="x")
    (x,), (a,) = system.q, system.params(a=ex.Param(1.0, 0, 9))
    system.mass, system.force = [[1]], [a * x]
    system.start(q=[1e-9], v=[1e-9], t_end=30)
    check(system, ex.Newmark(h=0.01), {"a": [0.1, 4.0]}, apart=1, t_end=20.0)


def test_members_are_caught_by_the_attractor_that_catches_them_alone():
    system, scheme = oscillator(), ex.MoreauJean(h=0.01)
    given = {"t_end": f"30.4*{PERIOD}", "omega": 2.6, "s": 0.0}
    over = {"q0.x": np.linspace(-3, -0.1, 6), "v0.x": [-1.0, 1.0]}
    late = sweep(system, scheme, over=over, observe=Section(period=PERIOD), **QUIET, **given)
    ends = late.observed.points[np.arange(12), late.observed.found - 1]
    known = Known(ends[:1], np.array([3]), np.array([0.5]), np.array([2]), np.ones(2),
                  np.full(2, -1.2), np.full(2, 1.2), 4)  # fmt: skip
    question = late.question.__class__(
        system, scheme, late.question.rho, late.question.axes, given["t_end"], 0.0,
        Section(period=PERIOD), known=known,
    )  # fmt: skip
    members = question.members(0, 12)
    found = scheme.ensemble(system)(members, question.asked)
    same(found, one_by_one(system, scheme, members, question.asked))
    assert {3} <= {*found.caught.tolist()}


@pytest.mark.parametrize("scheme", [ex.MoreauJean(h=0.01), ex.SchatzmanPaoli(h=0.02)], ids=repr)
def test_an_attractor_is_followed_as_alone(scheme):
    """Each member of a chain begins where the one before has ended, or at the model's start."""
    over = {"omega": np.linspace(2.5, 2.7, 6)}
    given = {"t_end": f"8*{PERIOD}", "transient": f"4*{PERIOD}", "s": 0.4}
    asked = {"observe": Section(period=PERIOD), **given, **QUIET}
    question = replace(sweep(oscillator(), scheme, over=over, **asked).question, chained=True)
    members = question.members(0, 6)
    alone = one_by_one(oscillator(), scheme, question.members(0, 6), question.asked)
    same(question.run(0, 6), alone)
    assert members.chained
    assert (alone.code == 0).sum() > 1
    free = replace(question, chained=False).run(0, 6)
    assert not np.array_equal(free.end[1:], alone.end[1:])


def test_an_orbit_diagram_is_made_of_these_runs():
    asked = {"section": Section(period=PERIOD), "transient": 6, "points": 4, "s": 0.4}
    system, over = oscillator(), {"omega": np.linspace(2.5, 2.7, 6)}
    found = orbit_diagram(system, ex.MoreauJean(h=1e-3), over=over, **asked, **QUIET)
    located = orbit_diagram(system, over=over, **asked, **QUIET)
    (values, x), (same_values, exact) = found.dots("x"), located.dots("x")
    np.testing.assert_array_equal(values, same_values)
    np.testing.assert_allclose(x, exact, atol=0.05)


@pytest.mark.parametrize(
    ("system", "scheme"),
    [
        (models["four_bar_stop"](), ex.MoreauJean()),
        (models["disc_pile"](), ex.MoreauJean()),
        (models["duffing"](), ex.Newmark(error_tol=1e-5)),
        (models["bilinear_oscillator"](), ex.Newmark()),
    ],
)
def test_what_needs_a_start_of_its_own_has_no_ensemble(system, scheme):
    assert scheme.ensemble(system) is None


def test_threads_answer_as_one(monkeypatch):
    system, scheme = oscillator(), ex.MoreauJean(h=0.01)
    over = {"omega": np.linspace(1.3, 3.1, 200)}
    given = {"t_end": f"5*{PERIOD}", "observe": ["extrema", Section(period=PERIOD)]}
    whole = sweep(system, scheme, over=over, **given, **QUIET)
    question = whole.question
    same(whole.observed, question.run(0, 200))


def test_the_kernel_lets_other_threads_run():
    """Without Python's lock: this thread counts while the other one marches."""
    question = sweep(
        oscillator(), ex.MoreauJean(h=1e-3), over={"omega": [2.5]}, t_end=400.0, **QUIET
    ).question
    thread, count = threading.Thread(target=question.run, args=(0, 1)), 0
    thread.start()
    while thread.is_alive():
        count += 1
    assert count > 1000
