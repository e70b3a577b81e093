"""Feedback along a plan: closed forms, impacts, jumps of the reference, refusals."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from loops import for_each
from scipy.linalg import expm, solve_discrete_are

import explorer as ex


@functools.cache
def cart():
    """Return the plan of a cart that is pushed to q = 1 and stopped."""
    system = ex.StepSystem("cart", x="q v", f=["v", "u"], params={"u": 0.0})
    system.start(x=[0, 0], t_end=1)
    task = ex.OptimalControlProblem(
        system, intervals=8, controls="u", running="u**2", end={"q": 1, "v": 0}
    )
    return ex.optimize(task, progress=False)


H = 1 / 8
A = np.array([[1, H], [0, 1]])
B = np.array([[H**2 / 2], [H]])


def test_the_gains_are_those_of_the_discrete_regulator():
    """The double integrator: A, B in closed form, the recursion, and its fixed point."""
    Q, R = np.diag([3.0, 1.0]), np.array([[0.2]])
    P = solve_discrete_are(A, B, Q, R)
    fixed = cart().feedback(Q=[3, 1], R=0.2, Qf=P)
    np.testing.assert_allclose(fixed.A, np.broadcast_to(A, (8, 2, 2)), atol=1e-10)
    np.testing.assert_allclose(fixed.B, np.broadcast_to(B, (8, 2, 1)), atol=1e-10)
    gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
    np.testing.assert_allclose(fixed.K, np.broadcast_to(gain, (8, 1, 2)), rtol=1e-8)
    np.testing.assert_allclose(fixed.P[0], P, rtol=1e-8)
    finite = cart().feedback(Q=Q, R=R, Qf=0)
    P = np.zeros((2, 2))
    for k in range(7, -1, -1):
        gain = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        np.testing.assert_allclose(finite.K[k], gain, atol=1e-9)
        P = Q + A.T @ P @ A - A.T @ P @ B @ gain


def test_a_course_with_feedback_is_the_linear_recursion():
    """A push grows by A - B K at each instant; without feedback by A; controls have bounds."""
    plan, push = cart(), ex.Disturbance([ex.Push(0, {"q": 0.1, "v": -0.2})])
    for controller in (None, plan.feedback()):
        gains = np.zeros((8, 1, 2)) if controller is None else controller.K
        course = plan.follow(controller, disturbance=push)
        e = np.array([0.1, -0.2])
        # the controls of the first interval were decided before the push
        e = A @ e
        np.testing.assert_allclose(course.deviation[1], e, atol=1e-9)
        for k in range(1, 8):
            e = (A - B @ gains[k]) @ e
            np.testing.assert_allclose(course.deviation[k + 1], e, atol=1e-9)
    free, held = plan.feedback().growth
    assert free == pytest.approx(np.linalg.norm(expm(np.array([[0, 1], [0, 0]])), 2))
    assert held < free


# -- impacts --------------------------------------------------------------------------------------


@functools.cache
def ball():
    """Return the plan of a racket's ball: unstable sideways, and it bounces on the floor.

    x'' = k x + w is an inverted pendulum; each bounce of y kicks x by `slope` times the impulse.
    """
    system = ex.HybridSystem("ball", x="x y v_x v_y", params={"k": 9.0, "slope": 0.3, "g": 10.0})
    system.inputs("w z", low=[-40, -15], high=[40, 15])
    system.mode("air", ["v_x", "v_y", "k*x + w", "z - g"])
    system.mode("again", ["v_x", "v_y", "k*x + w", "z - g"])
    bounce = {"v_y": "-0.8*v_y", "v_x": "v_x + slope*v_y*(0.2 + x)"}
    system.guard("air", "y", to="again", reset=bounce, name="bounce")
    system.start(x=[0.1, 1, 0, 0], mode="air", t_end=1)
    task = ex.OptimalControlProblem(
        system, intervals=10, running="w**2/100 + z**2/10 + 10*x**2", end={"x": 0, "y": 0.5}
    )
    return ex.optimize(task, {"modes": ["air"] * 5 + ["again"] * 5}, progress=False)


def test_intervals_are_linearised_through_the_bounce():
    """A and B of the interval with the impact equal difference quotients of exact runs."""
    plan = ball()
    assert plan.ok, plan
    feedback = plan.feedback()
    (k,) = [k for k in range(9) if plan.modes[k] != plan.modes[k + 1]]
    at, size = np.concatenate([plan.x[k], plan.u[k]]), 1e-5
    fine = ex.EventDriven(rtol=1e-12, atol=1e-12)

    def end(z):
        run = ex.simulate(
            plan.task.system, fine, t_end=plan.t[k + 1] - plan.t[k], x0=z[:4],
            mode0="air", w=z[4], z=z[5],
        )  # fmt: skip
        return run.x[-1]

    for j, column in enumerate(np.hstack([feedback.A[k], feedback.B[k]]).T):
        step = size * np.eye(6)[j]
        np.testing.assert_allclose((end(at + step) - end(at - step)) / 2 / size, column, atol=1e-5)


@for_each("jump", [{"v_x": 0.05}, {"v_y": 0.3}, {"v_y": -0.3}])
def test_feedback_holds_an_unstable_plan_through_an_impact(jump):
    """Open loop a push grows by more than ten; with feedback it falls, early or late bounces too."""
    plan = ball()
    feedback = plan.feedback(Q=[100, 1, 1, 0.1], R=[0.01, 0.1])
    free, held = feedback.growth
    assert free > 10 > 5 * held
    push = ex.Disturbance([ex.Push(0.05, jump)])
    open_loop = plan.follow(disturbance=push)
    closed = plan.follow(feedback, disturbance=push)
    assert not closed.failed
    lost, kept = np.abs(open_loop.deviation[-1, 0]), np.abs(closed.deviation[-1, 0])
    assert kept < 0.2 * lost
    assert np.abs(closed.u).max() < 40


def test_a_state_on_the_other_side_of_the_impact_is_matched():
    """Before and behind the bounce the controls differ by O(deviation), not by O(jump)."""
    plan = ball()
    feedback = plan.feedback()
    (k,) = [k for k in range(9) if plan.modes[k] != plan.modes[k + 1]]
    t = float(plan.switches[0])
    air, again = 0, 1
    # late: at instant k + 1 the ball is still in the air, on the extended plan; early: at k it is
    # behind the bounce already
    for at, mode in ((k + 1, air), (k, again)):
        x, gain = feedback.beside[at, mode]
        assert np.abs(x - feedback.x[at]).max() > 0.5
        decision = feedback(at, plan.t[at], x, mode)
        assert decision.status == "mode matched"
        np.testing.assert_allclose(decision.u, plan.u[at], atol=1e-9)
        raw = feedback.u[at] - feedback.K[at] @ (x - feedback.x[at])
        assert np.abs(raw - plan.u[at]).max() > 0.1
        assert gain.shape == (2, 4)
    assert plan.t[k] < t < plan.t[k + 1]


def test_a_start_on_a_surface_has_a_linear_feedback():
    """A block that sticks: deviations of its velocity vanish, and no control moves it."""
    system = ex.StepSystem("block", x="q v", params={"mu": 0.5})
    system.inputs("u", low=-1, high=1)
    system.f = ["v", "u - mu*sign(v)"]
    system.start(x=[0, 0], t_end=2)
    task = ex.OptimalControlProblem(system, intervals=4, running="u**2 + (v - 0.2*t)**2")
    plan = ex.optimize(task, progress=False)
    feedback = plan.feedback()
    stuck = [k for k in range(4) if np.abs(plan.u[k]) < 0.4]
    assert stuck
    for k in stuck:
        np.testing.assert_allclose(feedback.A[k], [[1, 0], [0, 0]], atol=1e-4)
        np.testing.assert_allclose(feedback.B[k], [[0], [0]], atol=1e-4)
    assert plan.follow(feedback).ok


# -- refusals -------------------------------------------------------------------------------------


@for_each(
    ("given", "said"),
    [
        ({"Q": [1, 2, 3]}, r"Q has the shape \(3,\)"),
        ({"R": [[1, 0]]}, r"R has the shape \(1, 2\)"),
        ({"Q": [[1, 2], [2, 1]]}, "Q is not positive semidefinite"),
        ({"Q": [[1, 2], [0, 1]]}, "not symmetric"),
        ({"R": 0}, "R is not positive definite"),
        ({"Qf": [-1, 0]}, "Qf is not positive semidefinite"),
        ({"Q": [np.nan, 1]}, "not finite"),
        ({"Q": "big"}, "numbers"),
    ],
)
def test_weights_that_make_no_sense_are_refused(given, said):
    """The message names the weight."""
    with pytest.raises(ex.BadValue, match=said):
        cart().feedback(**given)


def test_courses_that_make_no_sense_are_refused():
    """Starts, pushes, ends and controllers that do not fit."""
    plan = cart()
    for arguments, said in (
        ({"x0": [1]}, "2 states"),
        ({"t_end": 0.05}, "before the first control interval"),
        ({"t_end": 2}, "behind the end of the plan"),
        ({"disturbance": ex.Disturbance([ex.Push(3, {"v": 1})])}, "behind the end of the run"),
        ({"disturbance": ex.Disturbance([ex.Push(0, {"w": 1})])}, "no state 'w'"),
        ({"disturbance": ex.Disturbance(parameters={"u": 1})}, "a control"),
        ({"disturbance": ex.Disturbance(parameters={"m": 1})}, "no parameter 'm'"),
        ({"disturbance": 3}, "no disturbance"),
        ({"controller": 3}, "no controller"),
        ({"mode0": "air"}, "mode0"),
    ):
        with pytest.raises((ex.BadValue, ex.ExplorerError), match=said):
            plan.follow(**arguments)
    with pytest.raises(ex.BadValue, match="negative"):
        ex.Push(-1, {"v": 1})
    with pytest.raises(ex.BadValue, match="another plan"):
        plan.again().follow(plan.feedback())
