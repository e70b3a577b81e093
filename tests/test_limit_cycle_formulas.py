"""Newton's method on return maps in closed form: its steps, what it tells, and what it gives up on."""

from __future__ import annotations

import importlib
import inspect
import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, ExplorerError, StepFailed
from explorer.study import LimitCycle
from explorer.study.return_map import Return

module = importlib.import_module("explorer.study.limit_cycle")  # the package holds the function
OPTIONS = {"tol": 1e-9, "max_iter": 30}


class Map:
    """A return map of two states in closed form; runs stay within twice the size of their start."""

    period, section = None, "stop"

    def __init__(self, f, slopes, failing=lambda x: False, ahead=lambda x: True):
        self.f, self.slopes, self.failing, self.ahead = f, slopes, failing, ahead
        self.system, self.asked = space(name="m", time_unit="s"), []

    def __call__(self, x):
        self.asked.append(x.copy())
        if self.failing(x):
            raise ExplorerError("no return")
        steps = space(y=np.hstack([2 * x[None], [[9.0]]]))
        run = space(march=space(steps=steps), has_velocities=False)
        return Return(np.asarray(self.f(x)), 1.5, np.asarray(self.slopes(x)), run)

    def same_side(self, x, new):
        return bool(self.ahead(new))

    def cycle(self, x, T):
        return "cycle", x.tolist(), T

    def recurrence(self, x):
        return ""


NOTHING = bare(module._Kept, bundle=None, wanted=np.zeros(0), count=0)
A = np.array([[0.5, 1.0], [0.25, 0.3]])
AT = np.array([2.0, -3.0])


def linear():
    return Map(lambda x: AT + A @ (x - AT), lambda x: A)


def cubic(**more):
    """Return the map x' = x - (x - 1)^3 + ..., with a fixed point at (1, 1)."""
    return Map(
        lambda x: x - np.arctan(4 * (x - 1)), lambda x: np.diag(1 - 4 / (1 + 16 * (x - 1) ** 2)), **more
    )  # fmt: skip


# ---------------------------------------------------------------- Newton's method


def test_a_linear_map_has_its_fixed_point_after_one_step():
    P = linear()
    x, back, history = module._solved(P, NOTHING, np.array([4.0, 1.0]), 1e-9, 30)
    assert x == pytest.approx(AT)
    assert back.x == pytest.approx(AT)
    assert len(history) == 2
    # the start is (4, 1), its way as large as (8, 2), and the map comes to (7, -1.3)
    assert history[0] == pytest.approx([max(3.0 / 8.0, 2.3 / 2.0), 4.0, 1.0])
    assert history[1][1:] == x.tolist()
    assert history[1][0] < 1e-12


def test_a_step_is_halved_until_the_residual_falls():
    """By a quarter of the part that is gone; no farther than eight times."""
    P = cubic()
    start = np.array([1.7, 1.0])
    x, _, history = module._solved(P, NOTHING, start, 1e-9, 30)
    assert x == pytest.approx([1.0, 1.0])
    sizes = [row[0] for row in history]
    assert all(b < a for a, b in itertools.pairwise(sizes))
    assert len(P.asked) > len(history)  # some are too far
    whole = -np.arctan(4 * 0.7) * (1 + 16 * 0.49) / 4
    tried = [one[0] - 1.7 for one in P.asked[1:]]
    assert tried[:2] == pytest.approx([whole, whole / 2])
    own = [abs(np.arctan(4 * (x - 1))) for x in (1.7, 1.7 + whole / 2, 1.7 + whole / 4)]
    assert own[1] < (1 - 0.125) * own[0] or tried[2] == pytest.approx(whole / 4)


@for_each("wrong", ["fails", "behind"])
def test_a_step_is_halved_to_where_there_is_a_return_ahead(wrong):
    """A state that does not return, or that has passed a guard, is not taken."""
    far = lambda x: x[0] < 3.0  # noqa: E731
    P = linear()
    start = np.array([6.0, -3.0])
    P.failing = far if wrong == "fails" else P.failing
    P.ahead = (lambda x: not far(x)) if wrong == "behind" else P.ahead
    with pytest.raises(StepFailed):
        module._solved(P, NOTHING, start, 1e-9, 5)
    half, whole = [4.0, -3.0], [2.0, -3.0]
    tried = [whole, half] if wrong == "fails" else [half]
    for asked, own in zip(P.asked[1:], tried, strict=False):
        assert asked == pytest.approx(own)


@for_each(("max_iter", "steps"), [(0, 0), (1, 1), (2, 2)])
def test_more_steps_than_allowed_are_not_made(max_iter, steps):
    """The message has the last residual and the best; the run goes on from the last iterate."""
    P = cubic()
    with pytest.raises(StepFailed) as told:
        module._solved(P, NOTHING, np.array([1.7, 1.0]), 1e-14, max_iter)
    assert f"after {steps} steps" in str(told.value)
    assert f"max_iter = {max_iter} iterations did not suffice" in str(told.value)
    kind, _, T = told.value.solution
    assert (kind, T) == ("cycle", 1.5)


def test_a_residual_of_just_the_tolerance_is_enough():
    P = linear()
    first = np.array([4.0, 1.0])
    size = module._size(P(first), first, module._units(P(first)))
    P.asked.clear()
    x, _, history = module._solved(P, NOTHING, first, size, 0)
    assert (x.tolist(), len(history), len(P.asked)) == ([4.0, 1.0], 1, 1)


@for_each(("tol", "found"), [(1.01e-4, True), (0.99e-4, False)])
def test_round_off_ends_near_the_tolerance(tol, found):
    """Here nothing comes nearer than 0.01 of the unit: that is enough for 100 tol and no more."""
    P = Map(lambda x: x + np.array([0.02, 0.0]), lambda x: A)
    start = np.array([1.0, 0.5])  # of which the way has twice the size
    P.f = lambda x, f=P.f: f(x)
    if found:
        x, _, history = module._solved(P, NOTHING, start, tol, 30)
        assert (x.tolist(), len(history)) == ([1.0, 0.5], 1)
        assert history[0][0] == pytest.approx(0.01)
        return
    with pytest.raises(StepFailed, match="no step along Newton's direction lowers it"):
        module._solved(P, NOTHING, start, tol, 30)


def test_where_newton_leads_nowhere_the_map_itself_does():
    """A flat map with a wrong derivative: returns halve the way to (2, -3)."""
    P = Map(lambda x: AT + 0.7 * (x - AT), lambda x: 3 * np.eye(2))
    start = np.array([4.0, 1.0])
    unit = module._units(P(start))
    size = module._size(P(start), start, unit)
    P.asked.clear()
    x, back = module._returns(P, P(start).x, size, unit)
    # what a return misses falls by 0.7: after two of them it is less than a half
    assert x == pytest.approx(AT + 0.49 * (start - AT))
    assert back.x == pytest.approx(AT + 0.343 * (start - AT))
    assert len(P.asked) == 3
    x, _, history = module._solved(P, NOTHING, start, 1e-9, 60)
    assert x == pytest.approx(AT, abs=1e-6)
    for (a, *_), (b, *_) in itertools.pairwise(history):
        assert b == pytest.approx(0.49 * a)


def test_returns_that_end_or_come_no_nearer_are_given_up():
    P = Map(lambda x: x + 1.0, lambda x: A, failing=lambda x: x[0] > 5)
    assert module._returns(P, np.zeros(2), 1.0, np.ones(2)) is None
    assert len(P.asked) == 7
    P.failing = lambda x: False
    P.asked.clear()
    assert module._returns(P, np.zeros(2), 1.0, np.ones(2)) is None
    assert len(P.asked) == module.RETURNS
    assert module._returns(P, np.zeros(2), 2.0, np.ones(2)) is None  # a half is no less
    assert module._returns(P, np.zeros(2), 2.001, np.ones(2))[0].tolist() == [0.0, 0.0]


def test_a_multiplier_of_one_leaves_the_step_open(monkeypatch):
    P = Map(lambda x: x + 0.1, lambda x: np.diag([1.0, 0.5]))
    put(monkeypatch, module._solved, _family=lambda P: "a family")
    with pytest.raises(StepFailed, match=r"after 0 steps the residual is .*; a family"):
        module._solved(P, NOTHING, np.array([1.0, 1.0]), 1e-9, 30)


@for_each("velocities", [True, False])
def test_states_are_measured_by_the_largest_of_their_way(velocities):
    """One that hardly moves by a thousandth of the largest of its kind, or of 1."""
    steps = np.array([[1.0, -1e-5, 0.0, 0.0, 99.0], [-4.0, 1e-5, 0.0, 0.0, 99.0]])
    back = space(x=np.array([2.0, 0.0, 0.0, 0.0]),
                 run=space(march=space(steps=space(y=steps)), has_velocities=velocities))  # fmt: skip
    least = [1e-3] * 2 if velocities else [4e-3] * 2
    assert module._units(back) == pytest.approx([4.0, 4e-3, *least])
    back.x = np.array([-8.0, 0.5, 0.0, 3.0])
    assert module._units(back) == pytest.approx([8.0, 0.5, 3e-3 if velocities else 8e-3, 3.0])
    assert module._size(back, np.zeros(4), np.array([16.0, 2.0, 1.0, 1.0])) == 3.0


# ---------------------------------------------------------------- quantities that are kept


def kept_of(keep, x, rho=(0.5,)):
    """Return what is kept of x, y with a parameter c, by formulas instead of compiled ones."""
    x_, y_, c, t = sp.symbols("x y c t")

    def outputs(formulas):
        native = sp.lambdify([t, x_, y_, c], formulas)
        return lambda inp: native(*inp)

    flow = space(outputs=outputs, input=lambda rho: np.array([0.0, 0.0, 0.0, *rho]))
    P = space(system=space(symbols=lambda: {"x": x_, "y": y_, "c": c, "t": t}), compiled=flow,
              rho=np.array(rho), states=("x", "y"))  # fmt: skip
    return module._Kept(P, keep, np.array(x))


@for_each(("keep", "values", "slopes"), [
    ("x**2 + c*y", [10.0], [[6.0, 0.5]]), (["x*y", "x - y"], [6.0, 1.0], [[2.0, 3.0], [1.0, -1.0]]), ((), [], np.zeros((0, 2))),
    (sp.Symbol("y") ** 3, [8.0], [[0.0, 12.0]]),
])  # fmt: skip
def test_quantities_have_values_and_slopes(keep, values, slopes):
    one = kept_of(keep, [3.0, 2.0])
    found = one.values(np.array([3.0, 2.0]))
    assert found[0].tolist() == values
    assert found[1].tolist() == np.asarray(slopes).tolist()
    assert one.wanted.tolist() == values
    assert one.count == len(values)
    with pytest.raises(BadValue, match="keep"):
        kept_of("x + z", [3.0, 2.0])


def test_a_step_of_newton_keeps_quantities():
    """A rotation of the plane about 0 and its radius: the step is that of least squares in units."""
    one = kept_of("x**2 + y**2", [3.0, 2.0])
    x, scale = np.array([2.0, 2.5]), np.array([4.0, 0.5])
    back = space(jacobian=np.array([[1.2, 0.3], [0.1, 0.7]]), x=np.array([2.4, 2.1]))
    step = one.newton(x, back, scale)
    rows = np.array([4.0, 0.5, max(4.0 * 4, 5.0 * 0.5)])
    equations = np.vstack([back.jacobian - np.eye(2), [4.0, 5.0]]) / rows[:, None]
    wanted = np.append(x - back.x, 13.0 - 10.25) / rows
    z = np.linalg.lstsq(equations * scale, wanted, rcond=None)[0]
    assert step == pytest.approx(z * scale)
    back.jacobian = np.eye(2)
    assert one.newton(x, back, scale) is None
    back.jacobian = np.diag([1.0, 0.5])
    assert one.newton(x, back, scale) is not None
    back.x = np.array([np.nan, 0.0])
    assert one.newton(x, back, scale) is None
    back.x, back.jacobian = np.array([2.4, 2.1]), A
    assert NOTHING.newton(x, back, scale) == pytest.approx(
        np.linalg.solve(A - np.eye(2), x - back.x)
    )


@for_each(("period", "events", "by_time", "clock", "told"), [
    (2.0, ["a", "b"], False, None, "section='a'"), (2.0, ["a", "b"], False, "tick", "section='tick'"), (2.0, ["a"], True, "tick", "keep="), (2.0, [], False, "tick", "keep="),
    (None, ["a"], False, "tick", "keep="),
])  # fmt: skip
def test_what_a_multiplier_of_one_means(monkeypatch, period, events, by_time, clock, told):
    put(monkeypatch, module._family, event_names=lambda system: events, clock_of=lambda system: clock,
        depends_on_time=lambda system: by_time)  # fmt: skip
    assert told in module._family(space(system=space(name="m"), period=period))


# ---------------------------------------------------------------- cycles


@for_each(("x", "shown"), [(0.25, "0.2500"), (-1e-9, "0.0000"), (0.5 - 0.25j, "0.5000-0.2500i"), (1 + 1e-13j, "1.0000"), (1j, "0.0000+1.0000i")])  # fmt: skip
def test_multipliers_are_shown_with_four_digits(x, shown):
    assert module._short(complex(x)) == shown


@for_each(("multipliers", "radius", "stable"), [
    ([], 0.0, True), ([0.5, -0.9], 0.9, True), ([0.6 + 0.8j, 0.1], 1.0, False), ([0.1, -2.0], 2.0, False),
])  # fmt: skip
def test_a_cycle_is_stable_within_the_unit_circle(multipliers, radius, stable):
    one = bare(LimitCycle, multipliers=np.array(multipliers, complex))
    assert one.radius == pytest.approx(radius)
    assert one.stable is stable


@for_each(("free", "period"), [(None, None), (None, 2.0), ([[0.6], [0.8]], 2.0)])
def test_a_cycle_is_told_by_what_newton_finds(monkeypatch, free, period):
    """Multipliers along the directions that are free; the trivial one of a section stands apart."""
    free = free if free is None else np.array(free)
    P = linear()
    P.period, P.states, P.start = period, ("x", "y"), lambda guess: np.array(guess)
    P.trust = lambda back: ("trust", back.T)
    asked, call = {}, P.__class__.__call__

    def back(self, x):
        found = call(self, x)
        return Return(found.x, found.T, found.jacobian, found.run, free)

    monkeypatch.setattr(Map, "__call__", back)
    study = inspect.unwrap(ex.study.limit_cycle)
    put(monkeypatch, study, ReturnMap=lambda *given, **more: asked.update(more, given=given) or P,
        _Kept=lambda P, keep, x: NOTHING)  # fmt: skip
    found = study(
        "system", "scheme", "stop", guess=[4.0, 1.0], count=2, t_max=7.0, rho={"a": 1}, b=2
    )
    assert asked == {"given": ("system", "scheme", "stop"), "period": None, "count": 2, "t_max": 7.0,
                     "rho": {"a": 1, "b": 2}}  # fmt: skip
    assert found.x == pytest.approx(AT)
    assert found.period == 1.5
    assert found.jacobian.tolist() == A.tolist()
    assert found.residual == found.history[-1][0] < 1e-12
    assert found.trajectory[0] == "cycle"
    assert found.trust == ("trust", 1.5)
    values = np.linalg.eigvals(A) if free is None else np.array([(free.T @ A @ free).item()])
    values = values[np.argsort(-abs(values), kind="stable")]
    if period is None:
        assert len(found.multipliers) == len(found.trivial) == 1
        assert np.append(found.multipliers, found.trivial) == pytest.approx(values, abs=1e-12)
    else:
        assert found.multipliers == pytest.approx(values, abs=1e-12)
        assert len(found.trivial) == 0


@for_each("tol", [0.0, -1.0, 0.0101])
def test_tolerances_of_a_cycle_are_small_and_positive(tol):
    with pytest.raises(BadValue, match=r"greater than zero, and at most 0\.01"):
        ex.study.limit_cycle(ex.models.bouncing_ball(), section="floor", tol=tol)


@for_each("keep", ["x", ["x"], sp.Symbol("x"), "", (), []])
def test_a_cycle_between_surfaces_has_all_its_multipliers(monkeypatch, keep):
    """One of them lies next to 1, along the flow; nothing can be kept."""
    monodromy = np.diag([0.25, 1.0 + 1e-9, -0.5])
    loop = space(monodromy=monodromy, T=2.5, x=np.array([7.0, 8.0, 9.0]))
    P = space(system="system", scheme="scheme", values={"a": 1.0}, states=("x", "y", "z"))
    put(monkeypatch, module._switched, switched_cycle=lambda *given: (loop, [[0.5, 1.0], [1e-9, 2.0]]),
        events_of=lambda P, loop: [np.zeros(3), np.ones(3)], trust_in=lambda P, loop: "trust",
        simulate=lambda *given, **more: (given, more))  # fmt: skip
    given = (P, "guess", keep, 1e-9, 5)
    if not isinstance(keep, sp.Symbol) and not len(keep):
        found = module._switched(*given)
        assert found.x.tolist() == [1.0, 1.0, 1.0]
        assert found.multipliers == pytest.approx([-0.5, 0.25])
        assert found.trivial == pytest.approx([1.0])
        assert (found.period, found.residual, found.trust) == (2.5, 1e-9, "trust")
        assert found.history.tolist() == [[0.5, 1.0], [1e-9, 2.0]]
        (system, scheme), more = found.trajectory
        assert (system, scheme, more["t_end"], more["throw"]) == ("system", "scheme", 2.5, False)
        assert more["x0"].tolist() == [7.0, 8.0, 9.0]
        return
    with pytest.raises(BadValue, match="keep= names what a system conserves"):
        module._switched(*given)


@pytest.mark.parametrize(
    ("multipliers", "kind"),
    [
        ([0.5, 0.2], "stable"),
        ([0.5, 1 - 1e-8], "stable"),
        ([-1 + 2e-16, 0.3], "neutral"),
        ([np.exp(0.3j), np.exp(-0.3j)], "neutral"),
        ([1.0, 0.3], "neutral"),
        ([1 + 1e-8, 0.3], "unstable"),
        ([], "stable"),
    ],
)
def test_a_multiplier_on_the_unit_circle_makes_a_cycle_neutral(multipliers, kind):
    """Round-off does not decide that an undamped oscillation is stable, or not."""
    P = space(system=space(name="s", time_unit="s"))
    cycle = bare(
        module.LimitCycle, multipliers=np.array(multipliers), map=P, period=1.0, x=np.zeros(0),
        states=(), trust=space(ok=True),
    )  # fmt: skip
    assert f"; {kind}, multipliers" in repr(cycle)
    assert (cycle.stable, cycle.neutral) == (kind == "stable", kind == "neutral")
