"""Saltation by its formula, the end of a run at an event, and limits of a sensitivity there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

from explorer.derivatives import direct
from explorer.derivatives.direct import Sensitivity
from explorer.derivatives.saltation import Saltation, final, saltation
from explorer.errors import BadValue, NotApplicable

COVERS = ("derivatives/direct.py", "derivatives/saltation.py")  # see mutant_rooms.py
N = 2  # states
PLACES = (2, -1, 0)  # a parameter, the start of a state, another parameter


def jump_of(seed, chained=False):
    """Return an event of two states, with three parameters, whose limits obey its own formula."""
    rng = np.random.default_rng(seed)
    one = space(chained=chained, slope=1.7, t=0.75, y=rng.normal(size=N + 1))
    for name, size in (("r_x", N), ("h_t", N), ("f_minus", N + 1), ("f_plus", N + 1), ("r_rho", 3)):
        setattr(one, name, rng.normal(size=size))
    one.h_x, one.h_rho = rng.normal(size=(N, N)), rng.normal(size=(N, 3))
    one.s_minus, one.s_plus = rng.normal(size=(2, N + 1, 3))
    one.dt_drho = rng.normal(size=3)
    return one


def run_of(jumps, **march):
    own = space(jump=lambda k: jumps[k], **march)
    return space(march=own, located=[f"event {k}" for k in range(len(jumps))],
                 system=space(_state_names=lambda: ("x", "y")))  # fmt: skip


@for_each(("chained", "active"), itertools.product((False, True), (None, (2, -1, -1), (-1, -1, 0))))
def test_a_saltation_matrix_is_that_of_its_formula(chained, active):
    """Column by column, of which those of inputs count in their own interval only."""
    one = jump_of(3, chained)
    march = {} if active is None else {"active_at": lambda k, places: active if (k, places) == (1, PLACES) else None}  # fmt: skip
    found = saltation(run_of([None, one], **march), 1, ("a", "x", "b"), PLACES)
    D = one.slope
    kick = np.append(
        one.f_plus[:N] - one.h_x @ one.f_minus[:N] - one.h_t, one.f_plus[N] - one.f_minus[N]
    )
    Xi = np.zeros((N + 1, N + 1))
    Xi[:N, :N], Xi[N, N] = one.h_x, 1.0
    Pi = np.zeros((N + 1, 3))
    for j, place in enumerate(PLACES if active is None else active):
        if place >= 0:
            Pi[:N, j] = one.h_rho[:, place]
            if not chained:
                Pi[:, j] += kick * one.r_rho[place] / D
        if chained:
            Pi[:, j] -= kick * one.dt_drho[j]
    if not chained:
        Xi[:, :N] += kick[:, None] * one.r_x / D
    np.testing.assert_allclose(found.Xi, Xi, atol=1e-14)
    np.testing.assert_allclose(found.Pi, Pi, atol=1e-14)
    assert found.S_minus is one.s_minus
    assert found.S_plus is one.s_plus
    assert (found.slope, found.event, found.wrt) == (D, "event 1", ("a", "x", "b"))
    assert found.states == ("x", "y", "z")
    worst = abs(one.s_plus - Xi @ one.s_minus - Pi).max() / (1 + abs(one.s_plus).max())
    assert found.residual == pytest.approx(worst)


def test_a_saltation_that_holds_has_no_residual():
    none = np.zeros((N + 1, 0))
    one = Saltation(np.eye(3), none, none, none, none, 1.0, None, (), ())
    assert one.residual == 0.0


@for_each(("ways", "there"), [(None, True), ([(1, 1.0)], True), ([(1, 0.25), (0, 0.75)], False)])
def test_a_run_ends_before_an_event_or_at_a_limit_of_impacts(ways, there):
    """Behind infinitely many impacts the flow is read that they lead to."""
    one = jump_of(5)
    rows = np.arange(12.0).reshape(1, 12)

    def sample(t):
        return (rows, rows[:, :3] + 100, None) if t.tolist() == [2.5] else None

    march = {"hits": [9.0, 2.5], "sample": sample, "flow": space(n_x=N), "motion": lambda k: f"moves {k}"}  # fmt: skip
    if ways is not None:
        march["accumulation"] = lambda k: ways if k == 1 else None
    t, x, z, S, rates, by_rho = final(run_of([None, one], **march), 1)
    if there:
        assert (t, x.tolist(), z) == (0.75, one.y[:N].tolist(), one.y[N])
        assert (S is one.s_minus, rates is one.f_minus, by_rho is one.dt_drho) == (True,) * 3
        return
    assert (t, x.tolist(), z, by_rho) == (2.5, [0.0, 1.0], 2.0, "moves 1")
    assert S.tolist() == [[3.0, 6.0, 9.0], [4.0, 7.0, 10.0], [5.0, 8.0, 11.0]]
    assert rates.tolist() == [100.0, 101.0, 102.0]


# ---------------------------------------------------------------- sensitivities


def sensitivity(**more):
    """Return a sensitivity by two parameters with rows of (q, v), one of each, and z."""
    S = np.arange(30.0).reshape(5, 3, 2)
    events = [space(t=1.0), space(t=2.0), space(t=2.0), space(t=3.0)]
    march = space(t_last=4.0, slopes_at=lambda t: np.full((1, 3, 2), 50 + t[0]))
    run = space(q=np.zeros((5, 1)), lam=np.zeros((5, 2)), S=S, located=events, march=march,
                t="times", has_velocities=True, system=space(constraints=[1, 2], name="m", kind="k"),
                certificate=None)  # fmt: skip
    given = {"run": run, "solution": run, "wrt": ("a", "b"), "own": None, "doubts": (),
             "cost_gradient": np.array([3.0, -4.0]), "mu_ends": None,
             "question": space(cost=space(flow=space(n_x=2)), places=(0, 1))}  # fmt: skip
    return bare(Sensitivity, **given | more), S


def test_rows_are_those_of_positions_speeds_and_the_cost():
    one, S = sensitivity()
    assert one.S.tolist() == S[:, :2].tolist()
    assert one.Z.tolist() == S[:, 2].tolist()
    assert one.Q.tolist() == S[:, :1].tolist()
    assert one.V.tolist() == S[:, 1:2].tolist()
    assert (one.t, one.events) == ("times", one.run.located)
    own, _ = sensitivity(own=(S[:, 1:], "Z"))
    assert own.S.tolist() == S[:, 1:].tolist()
    assert own.Z == "Z"


def test_forces_of_contacts_come_before_those_of_constraints():
    """The latter act against the derivative of the constraint."""
    one, _ = sensitivity()
    rows = np.arange(50.0).reshape(5, 5, 2)
    one.run.recorded_row = lambda name: rows if name == "Lam" else f"row {name}"
    one.run.march.force_slopes = True
    assert one.Lam.tolist() == rows[:, :2].tolist()
    assert one.Lam_phi.tolist() == (-rows[:, 3:]).tolist()
    assert one.A == "row A"
    one.run.has_velocities = False
    with pytest.raises(NotApplicable, match="'m' is a k"):
        _ = one.A
    one.run.has_velocities = True
    del one.run.march.force_slopes
    with pytest.raises(NotApplicable, match="'m' is a k"):
        _ = one.A


@for_each(
    ("t", "side", "told"),
    [
        (0.5, "right", 50.5), (1.0, "right", "plus 0"), (1.0, "left", "minus 0"),
        (2.0, "right", "plus 2"), (2.0, "left", "minus 1"), (3.0, "left", "minus 3"), (4.0, "left", 54.0),
    ],
)  # fmt: skip
def test_at_events_there_are_two_limits(t, side, told):
    """Of several at one time that of the first, or of the last one."""
    one, _ = sensitivity()
    sides = {f"{way} {k}": np.full((3, 2), 10.0 * k + (way == "plus")) for k in range(4) for way in ("minus", "plus")}  # fmt: skip
    one.saltation = lambda k: space(S_minus=sides[f"minus {k}"], S_plus=sides[f"plus {k}"])
    found = one.at(t, side)
    value = sides[told][0, 0] if isinstance(told, str) else told
    assert found.tolist() == np.full((2, 2), value).tolist()
    several = one.at([t, 0.5], side)
    assert several.shape == (2, 2, 2)
    assert several[1].tolist() == np.full((2, 2), 50.5).tolist()
    assert one.at([], side).shape == (0, 2, 2)


@for_each(("k", "there"), [(-4, True), (3, True), (0, True), (4, False), (-5, False)])
def test_a_saltation_is_that_of_an_event_there_is(monkeypatch, k, there):
    one, _ = sensitivity()
    put(monkeypatch, direct.Sensitivity.saltation, saltation=lambda *given: given)
    if there:
        assert one.saltation(k) == (one.run, k, ("a", "b"), (0, 1))
        return
    with pytest.raises(BadValue, match=f"There is no event {k}: the run has 4"):
        one.saltation(k)


@for_each(
    ("direction", "told"),
    [
        ([1, 0], 3.0), ([0, 2], -8.0), ([1, -1], 7.0), ([0, 0], None), ([1], None),
        ([1, 2, 3], None), ([np.nan, 1], None), ([[1, 0]], None),
    ],
)  # fmt: skip
def test_a_derivative_along_a_direction(monkeypatch, direction, told):
    put(monkeypatch, Sensitivity.along, limit=lambda question, d: space(slope=("one side", d.tolist())))  # fmt: skip
    one, _ = sensitivity()
    if told is None:
        with pytest.raises(BadValue, match="A direction needs 2 numbers"):
            one.along(direction)
        return
    assert one.along(direction) == told
    one.doubts = (space(kind="grazing"), space(kind="directional"))
    assert one.directional
    assert one.along(direction) == ("one side", direction)
    one.doubts = (space(kind="grazing"),)
    assert not one.directional


@for_each(("marched", "mu"), itertools.product((True, False), (True, False)))
def test_an_adjoint_has_its_columns_when_they_are_asked_for(monkeypatch, marched, mu):
    """And its trust has the adjoint from the start over both sides of each event to the end."""
    ends = np.array([[1.0, 2.0], [3.0, 4.0]])
    between = np.array([[[5.0, 6.0], [7.0, 8.0]]])
    one, _ = sensitivity(mu=between if mu else None, mu_ends=ends if mu else None, residuals={})
    if not marched:
        del one.__dict__["solution"]
    one.question.run = lambda: "run again"
    assert one.solution == ("run again" if mu and not marched else one.run)
    put(monkeypatch, Sensitivity.trust.func, trust=lambda *given, **more: (given, more))
    given, more = one.trust
    assert given[0] is one.question
    assert given[1] is one.run
    if mu:
        assert more["mu"].tolist() == [[1, 2], [5, 6], [7, 8], [3, 4]]
    else:
        assert more["mu"] is None


@for_each("marched", [True, False])
def test_a_gradient_that_is_judged_keeps_what_is_known(marched):
    one = Sensitivity("direct", "run", ("a",), 1.0, np.array([2.0]), "question")
    if marched:
        one.solution = "solution"
    other = one.judged(("doubt",), np.array([np.nan]), ("left", "right"))
    assert (other.doubts, other.left, other.right, other.run) == (
        ("doubt",),
        "left",
        "right",
        "run",
    )
    assert np.isnan(other.cost_gradient).all()
    assert ("solution" in vars(other)) is marched
    assert one.cost_gradient.tolist() == [2.0]


def test_the_direct_method_runs_with_columns(monkeypatch):
    asked = []
    question = space(wrt=("a",), run=lambda jumps: asked.append(jumps) or "run")
    put(monkeypatch, direct.solve, gradient_of=lambda question, run: (5.0, "gradient"))
    for jumps in (False, True):
        found = direct.solve(question, *[True] * jumps)
        assert (found.method, found.run, found.cost, found.cost_gradient) == ("direct", "run", 5.0, "gradient")  # fmt: skip
    assert asked == [False, True]
