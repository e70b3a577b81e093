"""The adjoint method around its sweep: which runs it makes, what it weighs, and what it compares."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.derivatives import adjoint
from explorer.errors import NotApplicable, StepFailed
from explorer.kernels.event_driven.adjoint import JUMP_ROW, STEP_ROW, TIME_ROW

N = 2  # states; rows of (x, z) have one more


# ---------------------------------------------------------------- which runs are made


def solved(monkeypatch, error, check=False, code=0):
    """Return the adjoint of a question whose first sweep has such an error, in tolerances."""
    asked = []

    def run(wrt=True, events=False):
        asked.append((wrt, events))
        return f"run {len(asked)}"

    def sweep(question, run):
        one = error if run == "run 1" else 0.0
        return space(
            error=one * 1e4 * 1e-6, gradient=np.array([3.0, -1.0]), mu=f"mu {run}", ends="ends"
        )

    put(monkeypatch, adjoint.solve_adjoint, _sweep=sweep, cost_of=lambda question, run: f"cost {run}",
        solve=lambda question: space(cost_gradient=np.array([3.5, -9.0]), solution="direct"),
        _duality=lambda swept, run: (swept.mu, run))  # fmt: skip
    scheme = space(tableau=space(code=code), rtol=1e-6)
    question = space(run=run, wrt=("a", "b"), marches=lambda what: scheme)
    return adjoint.solve_adjoint(question, check), asked


@for_each(("error", "again"), [(0.5, False), (1.0, False), (1.01, True), (np.nan, True)])
def test_where_steps_are_too_long_a_run_with_columns_is_swept(monkeypatch, error, again):
    found, asked = solved(monkeypatch, error)
    assert asked == [(False, True)] + [(True, False)] * again
    run = f"run {len(asked)}"
    assert (found.run, found.cost, found.mu, found.mu_ends) == (
        run,
        f"cost {run}",
        f"mu {run}",
        "ends",
    )
    assert found.cost_gradient.tolist() == [3.0, -1.0]
    assert (found.method, found.wrt, found.residuals) == ("adjoint", ("a", "b"), {})
    assert vars(found).get("solution") == (run if again else None)


@for_each("error", [0.0, 2.0])
def test_the_check_compares_with_the_direct_method(monkeypatch, error):
    """The largest difference is 8, of gradients up to 9; duality is that of its own run."""
    found, _ = solved(monkeypatch, error, check=True)
    assert found.residuals == {"duality": ("mu direct", "direct"), "direct": 8.0 / 10.0}
    assert found.solution == "direct"


@for_each("code", [0, 1, 2])
def test_steps_are_explicit(monkeypatch, code):
    if code < 2:
        solved(monkeypatch, 0.0, code=code)
        return
    with pytest.raises(NotApplicable, match="needs explicit Runge-Kutta steps"):
        solved(monkeypatch, 0.0, code=code)


# ---------------------------------------------------------------- a sweep


def swept(monkeypatch, last=None, ways=None, size=1.0, status=0):
    """Return a sweep over four steps with events behind the first, the second and the third one.

    The kernel adds 10 to what it is given, and notes its rows.
    """
    told = {}
    steps = [(0.0, 1), (1.0, 1), (2.0, 1), (3.0, 1)]
    given = space(t=np.array([t for t, _ in steps]), h=np.ones(4), y=np.arange(28.0).reshape(4, 7) * -1,
                  state=np.arange(8).reshape(4, 2))  # fmt: skip
    given._replace = lambda h: space(**{**vars(given), "h": h})
    head = np.array([(1,), (2,), (3,)], dtype=[("step", int)])
    march = space(flow=space(n_x=N), steps=given, events=space(head=head), tableau=space(stages=3),
                  end=lambda: (4.0, np.array([5.0, 6.0]), None, None), accumulation=lambda k: ways or [(k, 1.0)])  # fmt: skip

    def backward(march, columns, steps, jumps, walk, states, sweep):
        told.update(columns=columns, steps=steps, walk=walk.copy(), states=states.copy(), moved=jumps.moved.copy(),
                    mu=sweep.mu.copy(), gradient=sweep.gradient.copy(), weights=[*sweep][3].copy())  # fmt: skip
        sweep.mu[:] += 10.0
        sweep.gradient[:] *= size
        sweep.errors[:] = [0.25, 0.5, 0.125]
        return status

    rates = np.array([2.0, 3.0, 4.0])
    put(monkeypatch, adjoint._sweep, _backward=backward,
        final=lambda run, k: (2.5, np.array([7.0, 8.0]), None, None, rates, None) if k == last else None)  # fmt: skip
    question = space(
        wrt=("a", "b"), rho="rho", last_place=lambda run: last, columns="columns", system=space(name="m"),
        cost=space(terminal=lambda t, x, rho: (None, 0.5, 2.0 * x, ("w_rho", t))),
        at_the_end=lambda w_rho, t: np.array([w_rho[1], t + 1]), seeds=lambda: np.array([[1.0, 0.0], [0.5, 2.0]]),
    )  # fmt: skip
    return adjoint._sweep(question, space(march=march)), told


def test_a_sweep_goes_back_from_the_end(monkeypatch):
    """Steps and events in the order of time; the adjoint of the end is the slope of the cost."""
    found, told = swept(monkeypatch)
    walk = told["walk"]
    assert walk["kind"].tolist() == [
        STEP_ROW,
        JUMP_ROW,
        STEP_ROW,
        JUMP_ROW,
        STEP_ROW,
        JUMP_ROW,
        STEP_ROW,
    ]
    assert walk["number"].tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert told["states"].tolist() == [[0, 1], [0, 0], [2, 3], [0, 0], [4, 5], [0, 0], [6, 7]]
    assert told["mu"].tolist() == [10.0, 12.0, 1.0]
    assert told["gradient"].tolist() == [4.0, 5.0]
    assert told["moved"].tolist() == [0.0] * 3
    assert told["weights"].tolist() == [21.0, 22.0, 23.0]
    assert found.ends.tolist() == [[20.0, 22.0, 11.0], [10.0, 12.0, 1.0]]
    gradient = np.array([4.0, 5.0]) + np.array([20.0, 22.0]) @ np.array([[1.0, 0.0], [0.5, 2.0]])
    assert found.gradient == pytest.approx(gradient)
    assert found.error == pytest.approx(0.5 / gradient.max() + 0.125)
    assert (found.mu.shape, found.gains.shape, found.jumps) == ((3, 2, 3), (3, 2), 3)


def test_an_event_that_ends_the_cost_has_only_its_time(monkeypatch):
    """Which weighs what runs on: the rate of z, and of w by t and by x."""
    found, told = swept(monkeypatch, last=1)
    walk = told["walk"]
    assert walk["kind"].tolist() == [STEP_ROW, JUMP_ROW, STEP_ROW, TIME_ROW]
    assert walk["number"].tolist() == [0, 0, 1, 1]
    w_x = np.array([14.0, 16.0])
    assert told["mu"].tolist() == [*w_x, 1.0]
    weight = 4.0 + 0.5 + w_x @ [2.0, 3.0]
    assert told["moved"].tolist() == found.moved.tolist() == [0.0, weight, 0.0]
    assert told["gradient"].tolist() == [2.5, 3.5]
    assert (found.mu.shape, found.gains.shape, found.jumps) == ((2, 2, 3), (2, 2), 1)


def test_an_accumulation_ends_a_moment_behind_its_last_impact(monkeypatch):
    """Its time is that of all of its impacts; the steps behind go up to it."""
    found, told = swept(monkeypatch, last=1, ways=[(0, 0.25), (1, 0.75)])
    weight = 4.0 + 0.5 + np.array([14.0, 16.0]) @ [2.0, 3.0]
    assert told["moved"].tolist() == [0.25 * weight, 0.75 * weight, 0.0]
    assert told["walk"]["kind"].tolist() == [STEP_ROW, JUMP_ROW, STEP_ROW, JUMP_ROW, STEP_ROW]
    assert told["walk"]["number"].tolist() == [0, 0, 1, 1, 2]
    assert told["steps"].h.tolist() == [1.0, 1.0, 0.5, 1.0]  # up to t = 2.5
    assert found.jumps == 2


def test_a_sweep_without_a_solution_is_told(monkeypatch):
    with pytest.raises(StepFailed, match="'m': the adjoint equations have no solution"):
        swept(monkeypatch, status=1)
