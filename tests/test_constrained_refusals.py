"""Constrained systems that make no sense: each is told with what, why and what would work."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from loops import for_each

import explorer as ex

RUN = ex.EventDriven()


def planar(*constraints, q="x y", mass=None, contacts=(), params=None, **start):
    """Return a system in the plane with constraints."""
    system = ex.MechanicalSystem("m", q=q, units="m", mass=mass, params=params,
                                 constraints=list(constraints), contacts=list(contacts))  # fmt: skip
    system.force = [0, "-9.81", 0][: system.n]
    system.start(**{"t_end": 1.0} | start)
    return system


def law(**reset):
    return ex.Contact("y + 1", e=1, name="floor", reset=reset)


REFUSED = {
    "contradict": (
        lambda: planar("x", "x - 1", q="x y", assemble=True),
        "'constraint 2' is left with phi = -0.5 m. 'constraint 1' and 'constraint 2' contradict",
    ),
    "contradicting velocities": (
        lambda: planar("x - t", "x", assemble=True),
        r"No velocity of 'm' satisfies .* 'constraint 1' still changes at 0.5\. Start",
    ),
    "no such place": (
        lambda: planar("x**2 + y**2 + 1", assemble=True),
        "'constraint 1' is left with phi = 1. No coordinate changes it there: begin with another",
    ),
    "a coordinate in no constraint": (
        lambda: planar("x**2 + y**2 - 4", q="x y z", assemble="z"),
        "No constraint depends on 'z'. Name other dependent coordinates",
    ),
    "dependent columns": (
        lambda: planar("x + y - 1", "z + x + y - 3", q="x y z", assemble="x y"),
        "'y' changes the constraints only as 'x' does. Name other",
    ),
    "too few": (
        lambda: planar("x**2 + y**2 - 1", "x - y", q="x y z", assemble="x"),
        "'x' alone cannot satisfy so many constraints",
    ),
    "nothing to assemble": (lambda: planar(assemble=True), "has no constraints, so no coordinate"),
    "not finite": (
        lambda: planar("sqrt(x - 1) + y", assemble=True),
        "'constraint 1' or its gradient is not finite at the start",
    ),
    "no gradient": (lambda: planar("x*y"), "'constraint 1' of 'm' has no gradient"),
    "no inertia along the constraint": (
        lambda: planar("x", q="x y z", mass=np.diag([1, 1, 0]).tolist()),
        r"is singular on a motion that its constraints leave free, .* of 'z'\. Give this motion",
    ),
    "a law of too many": (
        lambda: planar("x - y", contacts=[law(x="v_x", y="-v_y")]),
        r"'floor' gives the velocities of 'x', 'y', which depend .* 1 of 2 velocities is independ",
    ),
    "a law of dependent ones": (
        lambda: planar("x - y", q="x y z", contacts=[law(x="-v_x", y="-v_y")]),
        "gives the velocities of 'x', 'y', which depend on each other .* 2 of 3 velocities are",
    ),
}  # fmt: skip


@for_each("what", sorted(REFUSED))
def test_what_makes_no_sense_is_told(what):
    make, words = REFUSED[what]
    with pytest.raises((ex.BadModel, ex.StepFailed), match=words):
        ex.simulate(make(), RUN)


def test_a_penalty_must_not_push_away():
    for name, value in (("alpha", 0), ("alpha", -1.0), ("xi", -0.1), ("omega", -1.0)):
        with pytest.raises(ex.BadValue, match=f"{name} = {value:g}"):
            ex.EventDriven(formulation="penalty", **{name: value})
    ex.simulate(planar("x"), ex.EventDriven(formulation="penalty", xi=0, omega=0))


def test_a_quaternion_must_not_be_zero():
    spin = ex.Multibody("spin")
    with pytest.raises(ex.BadModel, match="is zero, which is no orientation"):
        spin.body("top", mass=1, inertia=[1, 1, 1], turn=[0, 0, 0, 0])
    spin.body("top", mass=1, inertia=[1, 1, 1])
    with pytest.raises(ex.BadModel, match=r"'norm top' is left with phi = -0\.5"):
        ex.simulate(spin.system(t_end=1.0), RUN, q0=[0] * 7)


def test_constraints_that_depend_on_each_other_are_named_unless_declared():
    run = ex.simulate(planar("x", "y", "x + 2*y"), RUN)
    assert not run.certificate.ok
    assert "'constraint 3' depends on 'constraint 1' and 'constraint 2'" in run.cautions[0]
    assert run.lam_phi[:, 2] == pytest.approx(0)
    declared = ex.simulate(planar("x", "y", "x + 2*y", redundant=True), RUN)
    assert declared.certificate.ok
    assert ex.simulate(planar("x", "y"), RUN).certificate.ok


def test_what_cannot_follow_a_parameter_has_no_derivative():
    """x + y = a holds with z = 1, and cannot for another a: z is not among what may move."""
    system = planar("x + y - a", "z + x + y - 2", q="x y z", params={"a": 1.0},
                    assemble="x y")  # fmt: skip
    system.start(q=[0.5, 0.5, 1])
    with pytest.raises(ex.BadModel, match="no derivative: 'x', 'y' cannot follow"):
        ex.sensitivity(system, RUN, ["a"], {"w": "x"})
    system.start(assemble="x z")
    slopes = ex.sensitivity(system, RUN, ["a"], {"w": "x"}).S[0, :3, 0]
    assert slopes == pytest.approx([1, 0, -1])


def test_mass_where_constraints_leave_none_free_is_not_asked_for():
    """M is singular along z alone, and z follows from x."""
    system = planar("z - x**2", q="x y z", mass=np.diag([1, 1, 0]).tolist())
    system.start(v=[1, 0, 0])
    run = ex.simulate(system, RUN)
    assert run.q[-1] == pytest.approx([1, -9.81 / 2, 1])


def test_a_mechanism_at_rest_is_not_told_to_lose_its_energy():
    """Hanging straight down it has no energy but round-off, beside bars that carry 200 N."""
    rest = {"a0": 0.0, "b0": 0.0, "m1": 5.0, "m2": 5.0, "g": 20.0, "d": 3.5}
    rest |= {"l1": 2.0, "l2": 2.0}
    run = ex.simulate(ex.models.double_pendulum_stop(), RUN, t_end=2.0, **rest)
    assert run.certificate.ok
    assert np.abs(run.lam_phi).max() > 100


def test_a_difference_that_leaves_a_constraint_at_the_start_says_what_to_do():
    rod = ex.MechanicalSystem("rod", q="x y", params={"L": 1.0}, force=[0, -9.81])
    rod.constraint("x**2 + y**2 - L**2")
    answers = []
    for start in ({"q": [1, 0]}, {"q": ["L", 0]}, {"q": [1, 0], "assemble": True}):
        rod.start(**start, t_end=1)
        ask = functools.partial(ex.sensitivity, rod, ex.EventDriven(), ("L",), {"w": "y"})
        if start == {"q": [1, 0]}:
            words = r"a run at L = [\d.]+, which cannot begin: .* write it as a formula of 'L'"
            with pytest.raises(ex.BadModel, match=words):
                ask(method="finite_difference")
            continue
        answers += [ask(method=m).cost_gradient[0] for m in ("finite_difference", "direct")]
    assert answers == pytest.approx([answers[-1]] * 4, rel=1e-6)
