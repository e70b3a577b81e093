"""Optimal control: closed forms from random starts, kinks, replays, refusals."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest
from scipy.optimize import brentq

import explorer as ex
from explorer.errors import BadArgument, BadModel, BadValue, NotApplicable
from explorer.reformulations.contact_modes import contact_modes
from explorer.transcription.solver import Solver
from tests.loops import for_each

XI = 0.44462356018593735  # Fuller 1963: sqrt((sqrt(33) - 1) / 24)


# -- the car whose thrust triples at v = 10 -------------------------------------------------------


@functools.cache
def car(kind="step"):
    """Return the car; u is its acceleration without turbo."""
    if kind == "step":
        system = ex.StepSystem("car", x="q v", params={"goal": 200.0})
        system.inputs("u", low=-5, high=5)
        system.switch("v - 10", name="turbo")
        system.f = ["v", "u*(1 + 2*alpha_1)"]
        return system
    system = ex.FilippovSystem("car", x="q v", params={"goal": 200.0})
    system.inputs("u", low=-5, high=5)
    system.subsystem({"turbo": ["v", "3*u"], "plain": ["v", "u"]}, {"c": "v - 10"})
    return system


def drive(intervals, **more):
    """Return the least time to q = goal, at rest."""
    given = {"t_end": (1, 50), "intervals": intervals, "terminal": "t"} | more
    given.setdefault("end", ["q == goal", "v == 0"])
    return ex.OptimalControlProblem(car(), bounds={"v": (-20, 20)}, **given)


def anywhere(intervals, seed):
    """Return a random guess for the car."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.uniform([0, -20], [200, 20], size=(intervals + 1, 2)),
        "u": rng.uniform(-5, 5, (intervals, 1)),
        "t_end": rng.uniform(8, 30),
    }


def least_time(intervals):
    """Return the least time by a recursion: each interval takes the most thrust that v <= 20 lets.

    The fastest profile from rest bounds every other one from above, and its mirror image does so
    from the end; a grid on which both meet at v = 20 attains them.
    """

    def far(T):
        length, v, way = T / intervals, 0.0, 0.0
        for _ in range(intervals // 2):
            if v < 10:
                u = min(5.0, (10 - v + 10 / 3) / length)
                slow = min((10 - v) / u, length)
                peak = v + u * slow
                end = peak + 3 * u * (length - slow)
                way += slow * (v + peak) / 2 + (length - slow) * (peak + end) / 2
            else:
                end = v + 3 * min(5.0, (20 - v) / (3 * length)) * length
                way += length * (v + end) / 2
            v = end
        assert v == pytest.approx(20)
        return 2 * way + (intervals % 2) * 20 * length - 200

    return brentq(far, 13, 30, xtol=1e-14)


@for_each(("intervals", "seed"), [(5, 0), (10, 1), (11, 0)])
def test_the_car_takes_the_least_time_from_random_starts(intervals, seed):
    """The recursion to 1e-9; on 10 intervals v = 10 is on a boundary at T = 20, a kink."""
    truth = least_time(intervals)
    if intervals % 5 == 0:
        assert truth == pytest.approx(40 / 3, abs=1e-12)
    plan = ex.optimize(drive(intervals), anywhere(intervals, seed), progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(truth, abs=1e-9)
    assert plan.switches[0] == pytest.approx(plan.t_end - plan.switches[1], abs=1e-8)
    assert plan.defect < 1e-9
    assert plan.complementarity < 1e-12
    assert max(plan.residuals.values()) < 1e-9


def test_a_kink_is_no_optimum():
    """At T = 20 the switch is on a boundary, and each sequence alone looks stationary there."""
    task = drive(10)
    v = [0, *[10] * 9, 0]
    q = np.concatenate([[0], np.cumsum([10, *[20] * 8, 10])])
    plan = ex.optimize(task, {"x": np.column_stack([q, v]), "t_end": 20}, progress=False)
    assert plan.objective == pytest.approx(40 / 3, abs=1e-9)


def test_biactive_switches_move_together():
    """From here a plan of 20 s has seven phases at v = 10, and no change alone makes it better."""
    plan = ex.optimize(drive(25), anywhere(25, 102), progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(40 / 3, abs=1e-9)


def test_both_forms_find_the_same_plan():
    """Stewart's form and the step form agree on one surface."""
    step = ex.optimize(drive(5), progress=False)
    task = ex.OptimalControlProblem(
        car("regions"), t_end=(1, 50), intervals=5, terminal="t", bounds={"v": (-20, 20)},
        end={"q": 200, "v": 0}, representation="stewart",
    )  # fmt: skip
    stewart = ex.optimize(task, progress=False)
    assert stewart.ok
    assert stewart.objective == pytest.approx(step.objective, abs=1e-9)
    assert [part.name for part in stewart.sequence] == ["plain", "turbo", "plain"]


def test_planning_again_needs_no_new_program():
    """The plan follows a parameter; the multiplier is its derivative."""
    plan = ex.optimize(drive(8), progress=False)
    near, far = plan.again(goal=200.01), plan.again(goal=199.99)
    assert near.ok
    slope = (near.objective - far.objective) / 0.02
    assert plan.multipliers["q = goal"] == pytest.approx(slope, abs=1e-6)
    assert [line["stage"] for line in near.log if line["stage"] == "homotopy"] == []
    other = plan.again(x0=[10, 5])
    assert other.ok
    assert other.objective < plan.objective - 1
    np.testing.assert_allclose(other.x[0], [10, 5])


def test_a_goal_moves_without_a_new_program():
    """The same plan as of a new problem; the problem itself keeps its goal."""
    plan = ex.optimize(drive(8, end={"q": 200, "v": 0}), progress=False)
    moved = plan.again(end={"q": 210})
    assert moved.ok
    assert moved.pipeline.smooth.kept is plan.pipeline.smooth.kept
    fresh = ex.optimize(drive(8, end={"q": 210, "v": 0}), progress=False)
    assert moved.objective == pytest.approx(fresh.objective, abs=1e-9)
    assert moved.task.end["q"] == 210
    assert plan.task.end["q"] == 200
    assert plan.again().objective == pytest.approx(plan.objective, abs=1e-9)
    with pytest.raises(BadValue, match="no end constraint of 'w'"):
        plan.again(end={"w": 1})
    with pytest.raises(BadValue, match="must be"):
        plan.again(end={"q": "far"})
    with pytest.raises(BadValue, match="Write them as a mapping"):
        ex.optimize(drive(4), progress=False).again(end={"q": 1})


def test_what_cannot_be_reached_is_named():
    """No control drives 200 m in 5 s: the end constraint is missed, and the plan says so."""
    plan = ex.optimize(drive(5, t_end=5), progress=False)
    assert plan.status == "infeasible"
    assert any("q" in name and miss > 1 for name, miss in plan.unmet.items())


def test_at_a_limit_there_is_a_plan():
    """A cap of the solver leaves the best point and its status."""
    plan = ex.optimize(drive(5), max_iter=3, progress=False)
    assert plan.status == "not converged"
    assert np.isfinite(plan.objective)
    assert not plan.ok


def test_a_standard_method_smears_the_switch():
    """Without switch detection the plan is inexact; with it, it is exact on the same grid."""
    plan = ex.optimize(drive(4, method="standard"), progress=False)
    exact = ex.optimize(drive(4), progress=False)
    assert plan.defect > 1e-2 > 1e-9 > exact.defect
    assert plan.status == "inexact"


# -- sliding modes --------------------------------------------------------------------------------


@functools.cache
def two_surfaces():
    """Return the system of two relays (Nurkanovic et al., Numer. Math. 156 (2024), section 6)."""
    system = ex.StepSystem("two relays", x="x1 x2 v1 v2")
    system.inputs("u1 u2", low=-10, high=10)
    system.switch("x1 + 0.15*x2**2", name="c1")
    system.switch("0.05*x1**3 + x2", name="c2")
    system.f = ["v1 + 1 - 2*alpha_1", "v2 + 1 - 2*alpha_2", "u1", "u2"]
    system.start(x=["2*pi/3", "pi/3", 0, 0], t_end=4)
    return system


def test_random_starts_find_one_plan_with_sliding():
    """Entering, sliding on both surfaces and leaving: the same cost from each start."""
    intervals, elements = 3, 3
    task = ex.OptimalControlProblem(
        two_surfaces(), intervals=intervals, elements=elements,
        running="u1**2 + u2**2 + v1**2 + v2**2", end={"x1": -np.pi / 6, "x2": -np.pi / 4},
    )  # fmt: skip
    costs = []
    for seed in (0, 4):
        rng = np.random.default_rng(seed)
        guess = {
            "x": rng.uniform(-2.5, 2.5, size=(intervals + 1, 4)),
            "u": rng.uniform(-10, 10, (intervals, 2)),
        }
        plan = ex.optimize(task, guess, progress=False)
        assert plan.ok, plan
        assert plan.defect < 5e-6
        assert [part.signs for part in plan.sequence] == [(1, 1), (1, 0), (0, 0), (0, -1), (-1, -1)]
        costs.append(plan.objective)
    assert np.ptp(costs) < 1e-7


@for_each(
    ("intervals", "start", "goal", "seed"),
    [(8, [1], [1], 50), (16, [1], [0.5], 51), (8, [1, 0.6], [0.5, 0.8], 55)],
)
def test_a_slide_is_left_at_the_best_boundary(intervals, start, goal, seed):
    """x' = u - sgn x, int u^2: coast to 0, slide, leave a boundary s before the end, s + 2d + d^2/s.

    The slide ends where u jumps below -1, so each boundary is a local optimum of its own.
    """
    axes, T = range(len(start)), 4
    system = ex.StepSystem("relays", x=[f"x{i}" for i in axes])
    system.inputs([f"u{i}" for i in axes], low=-10, high=10)
    system.f = [f"u{i} - sign(x{i})" for i in axes]
    system.start(x=start, t_end=T)
    task = ex.OptimalControlProblem(
        system, intervals=intervals, running=" + ".join(f"u{i}**2" for i in axes),
        end={f"x{i}": -goal[i] for i in axes},
    )  # fmt: skip
    left = T / intervals * np.arange(1, intervals)
    truth = sum(
        (left + 2 * d + d**2 / left)[left <= T - x].min() for x, d in zip(start, goal, strict=True)
    )
    rng = np.random.default_rng(seed)
    guess = {
        "x": rng.uniform(-2, 2, (intervals + 1, len(start))),
        "u": rng.uniform(-10, 10, (intervals, len(start))),
    }
    plan = ex.optimize(task, guess, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(truth, abs=1e-9)


# -- closed forms on free grids -------------------------------------------------------------------


def block(mu, v0):
    """Return a block that u pushes against friction."""
    system = ex.StepSystem("block", x="q v", params={"mu": mu})
    system.inputs("u", low=-1, high=1)
    system.f = ["v", "u - mu*sign(v)"] if mu else ["v", "u"]
    system.start(x=[0, v0], t_end=5)
    return system


@for_each(
    ("mu", "intervals", "elements", "seed"),
    [(0.0, 3, 1, 0), (0.0, 4, 1, 1), (0.3, 3, 3, 1), (0.5, 4, 3, 0)],
)
def test_the_block_is_pushed_and_braked_in_the_least_time(mu, intervals, elements, seed):
    """Bang-bang: the switch of the control and the reversal by friction to 1e-8."""
    v0 = -1.0 if mu else 0.0
    task = ex.OptimalControlProblem(
        block(mu, v0), t_end=(0.1, 20), intervals=intervals, terminal="t", grid="free",
        elements=elements, end={"q": 1, "v": 0},
    )  # fmt: skip
    turn = -v0 / (1 + mu)
    way = 1 + v0**2 / 2 / (1 + mu)
    peak = np.sqrt(2 * way / (1 / (1 - mu) + 1 / (1 + mu)))
    change, T = turn + peak / (1 - mu), turn + peak / (1 - mu) + peak / (1 + mu)
    rng = np.random.default_rng(seed)
    guess = {
        "x": rng.uniform(-1, 1, (intervals + 1, 2)),
        "u": rng.uniform(-1, 1, (intervals, 1)),
        "t_end": 3,
    }
    plan = ex.optimize(task, guess, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(T, abs=1e-8)
    assert np.abs(plan.t - change).min() < 1e-8
    if mu:
        assert plan.switches[0] == pytest.approx(turn, abs=1e-8)
    assert plan.defect < 1e-7


def test_a_plan_that_its_replay_misses_is_solved_on_finer_elements():
    """A pendulum on one element of two stages in an interval; the message says what was taken."""
    system = ex.StepSystem(
        "pendulum", x="a w", f=["w", "u - 9.81*sin(a) - sign(w)/2"], params={"u": 0.0}
    )
    system.start(x=[0, 0], t_end=2)
    coarse = ex.OptimalControlProblem(
        system, intervals=8, elements=1, stages=2, running="u**2", end={"a": 2, "w": 0},
        controls="u", bounds={"u": (-8, 8)},
    )  # fmt: skip
    plan = ex.optimize(coarse, progress=False)
    assert plan.ok, plan
    assert plan.defect < 1e-3
    assert (plan.task.elements, plan.task.stages) == (1, 3)
    assert "1 element of 3 stages in an interval" in plan.message
    assert plan.again(begin=1).status == "stationary"


def fuller_cost():
    """Return the cost of Fuller's control from (1, 0), arc by arc."""
    lam = np.sqrt((0.5 - XI) / (0.5 + XI))
    t = first = np.sqrt(1 / (0.5 + XI))
    x, v, u, cost = 1.0, 0.0, -1.0, 0.0
    for i in range(60):
        square = np.polynomial.Polynomial([x, v, u / 2]) ** 2
        cost += square.integ()(t)
        x, v, u = x + v * t + u * t**2 / 2, v + u * t, -u
        t = first * lam**i * (1 + lam)
    return cost, first


@for_each(("intervals", "seed"), [(10, 0), (11, 1), (13, 0)])
def test_fullers_problem(intervals, seed):
    """The chattering arcs: cost to 1e-6 and the first switch to 1e-8 of the closed form."""
    cost, first = fuller_cost()
    system = ex.StepSystem("cart", x="x1 x2", f=["x2", "u"], params={"u": 0.0})
    system.start(x=[1, 0], t_end=4)
    task = ex.OptimalControlProblem(
        system, intervals=intervals, running="x1**2", controls="u", bounds={"u": (-1, 1)},
        grid="free", elements=1, stages=3,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    plan = ex.optimize(task, {"u": rng.uniform(-1, 1, (intervals, 1))}, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(cost, abs=1e-7)
    assert np.abs(plan.t - first).min() < 1e-8
    assert plan.defect < 1e-9


def test_path_constraints_and_time():
    """A speed limit makes it cruise, T = 2.5; formulas of t are replayed at their time."""
    task = ex.OptimalControlProblem(
        block(0.0, 0.0), t_end=(0.1, 20), intervals=3, terminal="t", grid="free", elements=1,
        path=["2*v <= 1"], end={"q": 1, "v": 0},
    )  # fmt: skip
    plan = ex.optimize(task, progress=False)
    assert plan.objective == pytest.approx(2.5, abs=1e-8)
    np.testing.assert_allclose(plan.u.ravel(), [1, 0, -1], atol=1e-6)
    system = ex.StepSystem("tide", x="x", f=["u + cos(3*t) - sign(x - t/4)"], params={"u": 0.0})
    system.start(x=[0.5], t_end=3)
    moving = ex.OptimalControlProblem(
        system, intervals=6, running="x**2 + u**2/10", controls="u", elements=6, stages=3
    )
    plan = ex.optimize(moving, progress=False)
    assert plan.ok, plan
    assert plan.defect < 1e-4


def test_knots_hold_at_the_ends_of_all_control_intervals():
    """A clock that a control drives has to agree with time at each of them."""
    system = ex.StepSystem("clock", x="x c")
    system.inputs("u pace", low=[-3, 0.2], high=[3, 4])
    system.f = ["pace*u - sign(x)/2", "pace"]
    system.start(x=[1, 0], t_end=2)
    task = ex.OptimalControlProblem(
        system, intervals=4, running="x**2 + u**2/10 + (pace - t)**2", knots=["c == t"]
    )
    plan = ex.optimize(task, progress=False)
    assert plan.ok, plan
    np.testing.assert_allclose(plan.x[:, 1], plan.t, atol=1e-9)
    np.testing.assert_allclose(plan.u[:, 1], 1, atol=1e-8)
    with pytest.raises(BadModel, match="knot"):
        dataclasses.replace(task, knots=["u == 1"])


def test_the_sigmas_of_a_homotopy_fall():
    plan = ex.optimize(drive(5), sigmas=(1, 1e-1, 1e-3, 1e-6), progress=False)
    assert plan.objective == pytest.approx(40 / 3, abs=1e-9)
    assert [line["sigma"] for line in plan.log if "sigma" in line] == [1, 1e-1, 1e-3, 1e-6]
    with pytest.raises(BadValue, match="must fall"):
        ex.optimize(drive(5), sigmas=(1, 2))


def test_a_sigma_at_the_limit_of_iterations_is_approached_from_nearer(monkeypatch):
    """Only the last sigma is solved to all digits, and none of them is left unsolved."""
    solve, kinds = Solver.__call__, []

    def capped(self, kind, *given, **more):
        point = solve(self, kind, *given, **more)
        if kind not in ("coarse", "homotopy"):
            return point
        kinds.append(kind)
        status = "Maximum_Iterations_Exceeded" if len(kinds) == 2 else point.status
        return dataclasses.replace(point, status=status, ok=point.ok and len(kinds) != 2)

    monkeypatch.setattr(Solver, "__call__", capped)
    plan = ex.optimize(drive(5), sigmas=(1, 1e-2, 1e-6), progress=False)
    assert plan.objective == pytest.approx(40 / 3, abs=1e-9)
    sigmas = [line["sigma"] for line in plan.log if line["stage"] == "homotopy"]
    assert sigmas == pytest.approx([1, 1e-2, 1e-1, 1e-2, 1e-6])
    assert kinds == ["coarse"] * 4 + ["homotopy"]


# -- hybrid systems -------------------------------------------------------------------------------


@functools.cache
def turbo():
    """Return the car whose turbo comes in at v = 15 and goes out at v = 10."""
    system = ex.HybridSystem("turbo car", x="q v")
    system.inputs("u", low=-5, high=5)
    system.mode("plain", ["v", "u"])
    system.mode("turbo", ["v", "3*u"])
    system.guard("plain", "v - 15", direction=1, to="turbo", name="in")
    system.guard("turbo", "v - 10", direction=-1, to="plain", name="out")
    system.start(x=[0, 0], mode="plain", t_end=15)
    return system


@for_each(("intervals", "seed"), [(4, 0), (6, 1)])
def test_the_car_with_hysteresis_takes_the_least_time(intervals, seed):
    """T = 3 + 2/3 + 82/15 + 1 + 2 s: push, push with turbo, cruise at 25, brake with it, brake."""
    task = ex.OptimalControlProblem(
        turbo(), t_end=(1, 60), intervals=intervals, terminal="t", bounds={"v": (-25, 25)},
        end={"q": 200, "v": 0}, grid="free",
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    guess = {
        "x": rng.uniform([0, -25], [200, 25], size=(intervals + 1, 2)),
        "u": rng.uniform(-5, 5, (intervals, 1)),
        "t_end": rng.uniform(8, 40),
    }
    plan = ex.optimize(task, guess, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(12 + 2 / 15, abs=1e-8)
    np.testing.assert_allclose(plan.switches, [3, 10 + 2 / 15], atol=1e-8)
    assert [part.name for part in plan.sequence] == ["plain", "turbo", "plain"]
    assert plan.defect < 1e-8


def test_a_reset_between_modes_is_part_of_the_plan():
    """A stage that drops its mass: the jump of v is in the program, as in the simulation."""
    system = ex.HybridSystem("rocket", x="h v", params={"boost": 2.0})
    system.inputs("u", low=0, high=3)
    system.mode("full", ["v", "u - 1"])
    system.mode("light", ["v", "2*u - 1"])
    system.guard("full", "h - 1", direction=1, to="light", reset={"v": "v + boost"}, name="drop")
    system.start(x=[0, 0], mode="full", t_end=4)
    task = ex.OptimalControlProblem(
        system, t_end=(0.1, 9), intervals=4, terminal="t", end={"h": 5}, path=["h <= 5"]
    )
    plan = ex.optimize(task, progress=False)
    # full thrust: h = t^2 to 1 in 1 s, then from v = 2 + boost with 5: 4 t + 2.5 t^2 = 4
    assert plan.ok, plan
    assert plan.objective == pytest.approx(1 + (-4 + np.sqrt(56)) / 5, abs=1e-8)
    assert plan.switches[0] == pytest.approx(1, abs=1e-8)
    assert plan.defect < 1e-8


# -- contacts -------------------------------------------------------------------------------------


def lander():
    """Return a body above the floor with a thruster."""
    system = ex.MechanicalSystem("lander", q="y", params={"g": 9.81})
    system.inputs("u", low=0, high=6)
    system.mass, system.force = 1, ["u - g"]
    system.contact(ex.Contact("y", e=0, name="floor"))
    system.start(q=[1], v=[0], t_end=2)
    return system


def box(mu):
    """Return a box that may be pushed and lifted."""
    system = ex.MechanicalSystem("box", q="x y", params={"g": 9.81, "mu": mu})
    system.inputs("u1 u2", low=[-6, 0], high=[6, 12])
    system.mass, system.force = [[1, 0], [0, 1]], ["u1", "u2 - g"]
    system.contact(ex.Contact("y", e=0, mu="mu", slip="v_x", name="floor"))
    system.start(q=[0, 0.2], v=[0, 0], t_end=1.5)
    return system


def test_contact_modes_move_as_the_mechanical_system():
    """Fall, plastic impact with friction, sliding and sticking: the same motion to 1e-8."""
    falling = box(0.3)
    falling.start(q=[0, 0.4], v=[3, 0], t_end=1.2)
    hybrid = contact_modes(falling)
    ours = ex.simulate(hybrid, ex.EventDriven(rtol=1e-10, atol=1e-12))
    theirs = ex.simulate(falling, ex.EventDriven(rtol=1e-10, atol=1e-12))
    assert [e.to for e in ours.events] == ["forward", "stick"]
    np.testing.assert_allclose(ours.x[-1], [*theirs.q[-1], *theirs.v[-1]], atol=1e-8)
    times = [e.t for e in theirs.events]
    assert all(min(abs(e.t - t) for t in times) < 1e-8 for e in ours.events)
    with pytest.raises(NotApplicable, match="rebounds"):
        contact_modes(ex.models.bouncing_ball())


def test_the_lander_falls_freely():
    """To rest on the floor in the least time: a plastic impact at sqrt(2 / g), no thrust."""
    task = ex.OptimalControlProblem(
        lander(), t_end=(0.1, 5), intervals=3, terminal="t", end={"y": 0, "v_y": 0}
    )
    guess = {"modes": ["open", "open", "closed"], "t_end": 1.0}
    plan = ex.optimize(task, guess, progress=False)
    assert plan.ok, plan
    assert plan.objective == pytest.approx(np.sqrt(2 / 9.81), abs=1e-9)
    assert plan.defect < 1e-9
    for modes, said in (
        (["open"], "not 3"),
        (["open", "open", "shut"], "no mode 'shut'"),
    ):
        with pytest.raises(BadValue, match=said):
            ex.optimize(task, {"modes": modes})


def test_the_box_lands_and_slides():
    """The search finds the impact by itself: sliding on, it takes mu times the normal velocity."""
    task = ex.OptimalControlProblem(
        box(0.3), t_end=1.5, intervals=8, running="u1**2 + u2**2",
        end={"x": 1, "v_x": 0, "y": 0},
    )  # fmt: skip
    plan = ex.optimize(task, progress=False)
    assert plan.ok, plan
    assert [part.name for part in plan.sequence] == ["open", "forward", "stick"]
    assert plan.objective < 14.74
    run = plan.replay()
    assert run.defect < 1e-9
    before, *_, after = run.x[np.abs(run.t - plan.switches[0]) < 1e-9]
    assert after[3] == pytest.approx(0, abs=1e-9)
    assert after[2] - before[2] == pytest.approx(0.3 * before[3], abs=1e-9)


def test_the_hopper_jumps():
    """A leg with a foot (Nurkanovic et al. 2023, eq. (23), corrected): stance, liftoff, flight."""
    hopper = ex.MechanicalSystem("hopper", q="q1 q2 psi l", params={"g": 9.81, "mu": 0.45})
    hopper.inputs("u1 u2", low=-50, high=50)
    hopper.mass = [[1.25, 0, 0, 0], [0, 1.25, 0, 0], [0, 0, 0.275, 0], [0, 0, 0, 0.25]]
    hopper.force = ["-sin(psi)*u2", "cos(psi)*u2 - 1.25*g", "u1", "u2"]
    slip = "v_q1 + l*cos(psi)*v_psi + sin(psi)*v_l"  # the gradient of q1 + l sin(psi)
    hopper.contact(ex.Contact("q2 - l*cos(psi)", e=0, mu="mu", slip=slip, name="foot"))
    hopper.start(q=[0.1, 0.5, 0, 0.5], v=[0, 0, 0, 0], t_end=1)
    goal = {"q1": "0.1 + 0.98*t", "q2": "0.65 + 0.075*(1 - cos(2*pi*t))", "psi": "0", "l": "0.4"}
    miss = [f"({k} - ({x}))**2" for k, x in goal.items()]
    slow = "0.1*(v_q1**2 + v_q2**2 + v_psi**2 + v_l**2)"
    task = ex.OptimalControlProblem(
        hopper, intervals=10, elements=2,
        running="100*{} + 100*{} + 20*{} + 20*{}".format(*miss) + f" + {slow} + 0.01*(u1**2 + u2**2)",
        terminal="300*({} + {} + {} + {})".format(*miss) + f" + {slow}",
        bounds={"q2": (0, 1.5), "l": (0.1, 0.5), "v_l": (-5, 5), "v_psi": (-5, 5)},
    )  # fmt: skip
    guess = {"x": np.zeros((11, 8)), "modes": ["stick"] * 4 + ["open"] * 6}
    guess["x"][:, 0], guess["x"][:, 1], guess["x"][:, 3] = np.linspace(0.1, 1.08, 11), 0.65, 0.4
    plan = ex.optimize(task, guess, max_neighbours=0, progress=False)
    assert plan.status in ("stationary", "at a kink"), plan
    defects = np.abs(plan.replay().defects)
    assert defects[:, :4].max() < 1e-3
    assert defects[:, 4:].max() < 5e-3
    assert [part.name for part in plan.sequence] == ["stick", "open"]
    assert plan.x[-1, 0] > 0.9


# -- the order of the method ---------------------------------------------------------------------


def test_the_program_simulates_with_the_order_of_its_method():
    """A fixed control is a simulation: errors through a switch and a slide fall with order 3."""
    system = ex.StepSystem("spiral", x="a b", params={"u": 1.0})
    system.f = ["-b + u*sign(a - 0.3)/2", "a - b/4 - b**3/3"]
    system.start(x=[1, 0], t_end=2)
    run = ex.simulate(system, ex.EventDriven(rtol=1e-12, atol=1e-12))
    errors = []
    for elements in (2, 4, 8):
        task = ex.OptimalControlProblem(
            system, intervals=2, elements=elements, controls="u", bounds={"u": (1, 1)},
            terminal="a",
        )  # fmt: skip
        plan = ex.optimize(task)
        assert plan.status in ("stationary", "inexact")
        errors.append(np.abs(plan.x[-1] - run.x[-1]).max())
        np.testing.assert_allclose(plan.switches, [e.t for e in run.events], atol=3 * errors[-1])
    slopes = np.diff(np.log2(errors))
    assert (slopes < -2.5).all(), errors


# -- refusals -------------------------------------------------------------------------------------


@for_each(
    ("given", "error", "said"),
    [
        ({"system": None}, BadArgument, "not a system"),
        ({"intervals": 0}, BadValue, "whole number of at least 1"),
        ({"stages": 5}, BadValue, "1 to 4"),
        ({"grid": "fre"}, BadValue, "'free'"),
        ({"t_end": (5, 1)}, BadValue, "empty"),
        ({"t_end": -1}, BadValue, "positive"),
        ({"bounds": {"w": (0, 1)}}, BadValue, "no state or control 'w'"),
        ({"bounds": {"v": (1, 0)}}, BadValue, "empty"),
        ({"bounds": {"u": (None, 1)}}, BadValue, "no lower bound, and the running cost is indep"),
        ({"controls": "w"}, BadValue, "no parameter 'w'"),
        ({"running": "w"}, BadModel, "w"),
        ({"terminal": "u"}, BadModel, "u"),
        ({"path": ["v + 1"]}, BadModel, "no relation"),
        ({"end": {"q": (2, 1)}}, BadValue, "empty"),
        ({"horizon": 3}, BadArgument, "horizon"),
    ],
)
def test_a_problem_that_makes_no_sense_is_refused(given, error, said):
    """The message names what is wrong."""
    with pytest.raises(error, match=said):
        ex.OptimalControlProblem(**{"system": car(), "intervals": 3, "terminal": "t"} | given)


def test_other_systems_and_guesses_are_refused():
    """A system of another type, inputs that are missing, guesses and starts that do not fit."""
    with pytest.raises(NotApplicable, match="step functions"):
        ex.OptimalControlProblem(ex.models.rlcd_circuit())
    with pytest.raises(NotApplicable, match="leads from a mode to itself"):
        ex.OptimalControlProblem(ex.models.rimless_wheel(), controls="gamma")
    with pytest.raises(BadValue, match="no inputs"):
        ex.OptimalControlProblem(ex.models.sliding_mode())
    task = drive(3)
    for guess, said in (
        (np.zeros((3, 2)), r"\(4, 2\) is needed"),
        ({"x": np.full((4, 2), np.nan)}, "not finite"),
        ({"v": 3}, "no entry 'v'"),
        ({"u": "all"}, "numbers"),
    ):
        with pytest.raises(BadValue, match=said):
            ex.optimize(task, guess)
    with pytest.raises(BadValue, match="outside of its bounds"):
        ex.optimize(task, x0=[0, 30])
    with pytest.raises(BadValue, match="2 states"):
        ex.optimize(task, x0=[0])
    with pytest.raises(BadValue, match="goal"):
        ex.optimize(task, gaol=3)
    with pytest.raises(BadValue, match="not finite at the guess"):
        ex.optimize(drive(3, running="1/v"))
