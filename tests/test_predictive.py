"""Planning again from a later instant, and model predictive control against disturbances."""

from __future__ import annotations

import functools
import time

import numpy as np
import pytest
from loops import for_each
from test_feedback import ball, cart

import explorer as ex
from explorer.control.again import resumed, spread
from explorer.reformulations.contact_modes import contact_modes
from explorer.tasks.planar_hopper import reference
from explorer.transcription.sequence import Change, Sequence


@functools.cache
def lander():
    """Return the plan of a body that falls, is braked by a thruster, and lands with v = 0."""
    system = ex.MechanicalSystem("lander", q="y", params={"g": 9.81})
    system.inputs("u", low=0, high=30)
    system.mass, system.force = 1, ["u - g"]
    system.contact(ex.Contact("y", e=0, name="floor"))
    system.start(q=[2], v=[0], t_end=1.2)
    task = ex.OptimalControlProblem(
        contact_modes(system),
        intervals=6,
        running="u**2",
        bounds={"v_y": (-6, 6)},
        end={"y": 0.5, "v_y": 0},
    )
    return ex.optimize(task, progress=False)


@functools.cache
def turbo():
    """Return the plan of the car with hysteresis: least time on a free grid."""
    return ex.optimize(ex.tasks.turbo_car(), progress=False)


@for_each("make", [cart, turbo, lander])
def test_what_is_left_of_an_optimum_is_optimal(make):
    """Bellman: from any instant on, the plan of the rest is the rest of the plan."""
    plan = make()
    assert plan.ok, plan
    for k in (1, len(plan.u) // 2, len(plan.u) - 1):
        rest = plan.again(begin=k)
        assert rest.status in ("stationary", "at a kink"), rest
        assert rest.first == k
        np.testing.assert_allclose(rest.t[: k + 1], plan.t[k])
        assert rest.t_end == pytest.approx(plan.t_end, abs=1e-7)
        if plan.task.grid == "uniform":  # boundaries of a free grid are not unique
            np.testing.assert_allclose(rest.x[k:], plan.x[k:], atol=1e-5)
        assert rest.defect < 1e-8


def test_a_plan_from_another_mode_goes_on_behind_the_event():
    """Sequences from another mode: an event to come, an event that came early, a guard at once."""
    planned = Sequence((0,), (Change((1,), 4, 1.0), Change((0,), 8, 2.0)))
    edges = ((0, 1), (1, 0))
    assert resumed(planned, 0.5, 2, None, edges, 3) == [planned]
    (early, back, rest) = resumed(planned, 0.8, 3, 1, edges, 3)[:3]
    assert early == Sequence((1,), (Change((0,), 8, 2.0),))
    assert [c.after for c in back.changes] == [(0,), (1,), (0,)]
    assert rest.first == (1,)
    late = resumed(planned, 1.2, 5, 0, edges, 3)
    assert Sequence((0,), (Change((1,), 6, 1.2), Change((0,), 8, 2.0))) in late
    crowded = Sequence((0,), tuple(Change((k % 2,), 2, 0.1) for k in range(1, 5)))
    assert [c.place for c in spread(crowded, 3).changes] == [2, 2, 4, 4]


@for_each("make", [cart, turbo])
def test_predictive_control_without_a_disturbance_is_the_plan(make):
    """Every instant finds the same plan, and the run ends where the plan does."""
    plan = make()
    course = plan.follow(ex.PredictiveControl())
    assert course.ok, course.missed
    assert set(course.statuses) <= {"stationary", "at a kink"}
    assert course.instants[-1] == pytest.approx(plan.t_end, abs=1e-6)
    assert course.cost == pytest.approx(plan.objective, rel=1e-6)
    assert course._repr_html_().count("<tr>") == len(plan.u) + 1
    assert plan.feedback()._repr_html_().count("<tr>") == plan.u.size + 1
    assert (course.seconds[1:] > 0).all()


def test_predictive_control_answers_a_push_with_the_optimal_plan():
    """Double integrator: the cost behind the push is that of the closed form from there."""
    plan = cart()
    course = plan.follow(ex.PredictiveControl(), disturbance=ex.Disturbance([ex.Push(0, {"v": 1})]))
    assert course.ok, course.missed
    lost = plan.follow(disturbance=ex.Disturbance([ex.Push(0, {"v": 1})]))
    assert lost.missed["end: q = 1"] == pytest.approx(1)
    again = plan.again(x0=course.states[1], begin=1)
    first = plan.u[0, 0] ** 2 / 8
    assert course.cost == pytest.approx(first + again.objective, rel=1e-6)


@for_each("make", [turbo, lander, ball])
def test_predictive_control_reaches_the_target_where_the_plan_misses_it(make):
    """Pushes and other parameters: open loop misses the end constraints, predictive control not."""
    plan = make()
    state = "v" if make is turbo else "v_y"
    push = ex.Disturbance([ex.Push(0.3 * plan.t_end, {state: 0.2})])
    open_loop = plan.follow(disturbance=push)
    closed = plan.follow(ex.PredictiveControl(), disturbance=push)
    ends = [name for name in open_loop.missed if name.startswith("end")]
    assert ends
    assert not [name for name in closed.missed if name.startswith("end")], closed.missed
    assert "kept" not in closed.statuses


def test_a_receding_horizon_goes_on_behind_the_plan():
    """An oscillator is brought to rest and held there, for twice the time of the plan."""
    system = ex.StepSystem("swing", x="q v", f=["v", "u - 4*q - sign(v)/4"], params={"u": 0.0})
    system.start(x=[1, 0], t_end=1)
    task = ex.OptimalControlProblem(
        system, intervals=5, elements=2, controls="u", bounds={"u": (-4, 4)},
        running="10*q**2 + v**2 + u**2/10",
    )  # fmt: skip
    plan = ex.optimize(task, progress=False)
    course = plan.follow(ex.PredictiveControl(horizon="receding", max_neighbours=2), t_end=2)
    assert not course.failed
    assert course.instants[-1] == pytest.approx(2)
    assert len(course.u) == 10
    assert np.abs(course.states[-1]).max() < 0.2 * np.abs(course.states[0]).max()
    made = [d.plan for d in course.decisions if d.plan is not None]
    np.testing.assert_allclose([p.t_end - p.t[0] for p in made], 1)


def test_where_no_plan_is_found_the_last_one_is_kept():
    """A push that no control can make up for: the decision says so, and the run goes on."""
    plan = cart()
    task = plan.task
    tight = ex.OptimalControlProblem(
        task.system, intervals=8, controls="u", bounds={"u": (-8, 8)}, running="u**2",
        end={"q": 1, "v": 0},
    )  # fmt: skip
    plan = ex.optimize(tight, progress=False)
    push = ex.Disturbance([ex.Push(0.6, {"v": 4})])
    course = plan.follow(ex.PredictiveControl(max_neighbours=2), disturbance=push)
    assert not course.failed
    assert "kept" in course.statuses
    kept = next(d for d in course.decisions if d.status == "kept")
    assert "the last good plan" in kept.message
    assert "end: v = 0" in course.missed
    assert "without a new plan" in repr(course)


def test_predictive_control_that_makes_no_sense_is_refused():
    """Unknown horizons, counts, plans that are none, horizons that have no length."""
    with pytest.raises(ex.BadValue, match="'shrinking'"):
        ex.PredictiveControl(horizon="shrinkin")
    with pytest.raises(ex.BadValue, match="whole number"):
        ex.PredictiveControl(max_neighbours=-1)
    with pytest.raises(ex.NotApplicable, match="fixed length"):
        turbo().follow(ex.PredictiveControl(horizon="receding"))
    for begin, said in ((9, "control intervals 0 to 7"), (1.5, "number of a control interval")):
        with pytest.raises(ex.BadValue, match=said):
            cart().again(begin=begin)
    with pytest.raises(ex.BadValue, match="no mode"):
        turbo().again(mode0="turb")
    with pytest.raises(ex.BadValue, match="no modes"):
        cart().again(mode0="turbo")
    unreachable = ex.OptimalControlProblem(
        cart().task.system, intervals=2, controls="u", bounds={"u": (-1, 1)}, end={"q": 9}
    )
    plan = ex.optimize(unreachable, progress=False)
    with pytest.raises(ex.BadValue, match="'infeasible'"):
        plan.follow(ex.PredictiveControl())


def hopper():
    """Return the plan of a hopper that lifts off: a leg with a foot, 8 intervals of 0.1 s."""
    system = ex.MechanicalSystem("hopper", q="q1 q2 psi l", params={"g": 9.81, "mu": 0.45})
    system.inputs("u1 u2", low=-50, high=50)
    system.mass = [[1.25, 0, 0, 0], [0, 1.25, 0, 0], [0, 0, 0.275, 0], [0, 0, 0, 0.25]]
    system.force = ["-sin(psi)*u2", "cos(psi)*u2 - 1.25*g", "u1", "u2"]
    slip = "v_q1 + l*cos(psi)*v_psi + sin(psi)*v_l"
    system.contact(ex.Contact("q2 - l*cos(psi)", e=0, mu="mu", slip=slip, name="foot"))
    system.start(q=[0.1, 0.5, 0, 0.5], v=[0, 0, 0, 0], t_end=0.8)
    goal = {"q1": "0.1 + 0.98*t", "q2": "0.65 + 0.075*(1 - cos(2*pi*t))", "psi": "0", "l": "0.4"}
    weights = (100, 100, 20, 20)
    miss = " + ".join(
        f"{w}*({k} - ({x}))**2" for w, (k, x) in zip(weights, goal.items(), strict=True)
    )
    slow = "0.1*(v_q1**2 + v_q2**2 + v_psi**2 + v_l**2)"
    task = ex.OptimalControlProblem(
        contact_modes(system), intervals=8, elements=2, terminal=f"3*({miss}) + {slow}",
        running=f"{miss} + {slow} + 0.01*(u1**2 + u2**2)",
        bounds={"q2": (0, 1.5), "l": (0.1, 0.5), "v_l": (-5, 5), "v_psi": (-5, 5)},
    )  # fmt: skip
    guess = {"x": np.zeros((9, 8)), "modes": ["stick"] * 4 + ["open"] * 4}
    guess["x"][:, 0], guess["x"][:, 1], guess["x"][:, 3] = np.linspace(0.1, 0.88, 9), 0.65, 0.4
    return ex.optimize(task, guess, max_neighbours=0, progress=False)


def test_a_pushed_hopper_comes_back_to_its_jump():
    """A push of 0.2 m/s in the stance: the foot slides, and it lifts off as planned all the same."""
    plan = hopper()
    push = ex.Disturbance([ex.Push(0.15, {"v_q1": -0.14, "v_q2": -0.14})])
    open_loop = plan.follow(disturbance=push)
    closed = plan.follow(ex.PredictiveControl(max_neighbours=0), disturbance=push)
    away = [np.abs(course.deviation[-1, :4]).max() for course in (open_loop, closed)]
    assert away[1] < 0.1 * away[0]
    assert closed.statuses.count("kept") <= 1
    assert closed.modes[-1] == "open"
    assert closed.cost < open_loop.cost


@functools.cache
def two_jumps():
    """Return the plan of two jumps by 15 intervals; its modes are told, for to find them takes long."""
    stand, fly = ["stick"], ["open"]
    modes = stand + 2 * fly + stand + 3 * fly + stand + 5 * fly + 2 * stand
    return ex.optimize(
        ex.tasks.planar_hopper(jumps=2, intervals=15), reference(2, 15) | {"modes": modes},
        max_neighbours=0, progress=False,
    )  # fmt: skip


@pytest.mark.broad
@pytest.mark.parametrize("seed", range(6))
def test_a_hopper_that_is_pushed_lands_where_it_shall(seed):
    """A push of 0.2 m/s somewhere in the first jump or the stance behind it; open loop it falls."""
    plan, rng = two_jumps(), np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi)
    by = {"v_q1": 0.2 * np.cos(angle), "v_q2": 0.2 * np.sin(angle)}
    push = ex.Disturbance([ex.Push(rng.uniform(0.1, 1.0), by)])
    # other sequences are sought in vain at an instant whose state lies outside of its bounds
    closed = plan.follow(ex.PredictiveControl(max_neighbours=0), disturbance=push)
    open_loop = plan.follow(disturbance=push)
    goal = plan.x[-1, :4]
    assert np.abs(closed.x[-1, :4] - goal).max() < 0.02
    assert closed.cost < open_loop.cost


@pytest.mark.benchmark(timer=time.process_time)
def test_a_dragged_start_is_planned_again_in_few_iterations(benchmark):
    """N = 15, the start moved by up to 2 cm and 0.02 rad."""
    plan = two_jumps()
    rng, counts = np.random.default_rng(7), []

    def moved():
        x0 = plan.x[0].copy()
        x0[[0, 2]] += 0.02 * rng.uniform(-1, 1, 2)
        x0[1] = x0[3] * np.cos(x0[2])  # the foot stays on the ground
        before = plan.pipeline.iterations
        again = plan.again(x0=x0, max_neighbours=0, thorough=False, judged=False)
        counts.append(plan.pipeline.iterations - before)
        assert again.solved, again

    benchmark.pedantic(moved, rounds=8)
    assert np.median(counts) <= 12


# -- files ----------------------------------------------------------------------------------------


@for_each("make", [cart, turbo, lander])
def test_a_saved_plan_is_read_and_goes_on(make, tmp_path):
    """The file has the plan, its sequence and its point; the code makes it, too."""
    plan = make()
    again = ex.Plan.load(plan.save(tmp_path / "plan"))
    assert (again.status, again.message) == (plan.status, plan.message)
    assert again.objective == pytest.approx(plan.objective, abs=1e-9)
    assert [p.name for p in again.sequence] == [p.name for p in plan.sequence]
    np.testing.assert_allclose(again.u, plan.u, atol=1e-6)
    assert again.defect < 1e-8
    assert again.to_spec()["task"] == plan.to_spec()["task"]
    assert again.again(begin=1).objective == pytest.approx(plan.again(begin=1).objective)


def test_the_code_of_a_plan_makes_it():
    """Run the text: the same objective."""
    made = {}
    exec(ball().code, made)
    assert made["plan"].objective == pytest.approx(ball().objective, abs=1e-8)


def test_files_that_are_no_plans_are_refused(tmp_path):
    """No file, another file, a plan that is no solution, a plan without a sequence."""
    path = tmp_path / "x.json"
    with pytest.raises(ex.BadValue, match="no file"):
        ex.Plan.load(path)
    path.write_text("[1]")
    with pytest.raises(ex.BadValue, match="not a saved plan"):
        ex.Plan.load(path)
    spec = cart().to_spec()
    with pytest.raises(ex.BadValue, match="solved again"):
        ex.Plan.from_spec(spec | {"objective": 3.0})
    with pytest.raises(ex.BadValue, match="another version"):
        ex.Plan.from_spec(spec | {"point": [0.0]})
    with pytest.raises(ex.BadValue, match="cannot be written"):
        cart().save(tmp_path / "none" / "plan")
