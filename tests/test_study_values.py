"""Studies on problems in closed form: whole functions, with numbers for all that they return."""

from __future__ import annotations

import inspect
from concurrent.futures import Future

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.runs.members import Asked, Members, Observed
from explorer.study import columns, forcing, map_cycles, parts, swept
from explorer.study import question as asking
from explorer.study import search_attractors as search
from explorer.study.arclength import Evaluation, Node
from explorer.study.branch import Branch
from explorer.study.cycles import Cycle, Cycles
from explorer.study.grazing import _OFFSETS, grazing
from explorer.study.near_misses import Miss

COVERS = (
    "optimise/search.py",
    "study/grazing.py",
    "study/map_cycles.py",
    "study/parts.py",
    "study/search_attractors.py",
)  # see mutant_rooms.py

# ---------------------------------------------------------------- grazing

P = 2.5  # where the cycle grazes
SCALE = np.array([2.0, 0.5, 4.0])
S = np.array([[1.0, 2.0, 0.5], [-1.0, 3.0, 0.25]])  # of the flow up to the touch
M = np.array([[0.3, 0.1], [-0.2, 0.4]])
KICK = np.array([0.7, -1.1])
TOUCH, TIME = np.array([-4.0, 1.5]), 0.8


class Grazed(Cycles):
    """Cycles x(p) = (1 + p^2, -p) whose guard a p + b x + t grazes at p = P, met on one side."""

    autonomous, n, parameter, place = False, 2, "p", 1

    def __init__(self, way, a=-3.0, b=-2.0, jump=0.0, free=None, later=()):
        self.way, self.jump, self.scale, self.rho = way, jump, SCALE, np.zeros(2)
        self.later = later  # when other guards are touched too
        self.free = free or (lambda d: -d)
        self.system = ex.StepSystem("grazed", x="x v", params={"k": 5.0, "p": 0.0}, f=["v", "-x"])
        self.system.switch(a * sp.Symbol("p") + b * sp.Symbol("x") + self.system.t, name="g")
        rate = space(name="g", rate=lambda t, x, rho, dx: x[0] * dx[1] + rho[0])
        self.misses = space(guards=[space(name="other", rate=None), rate])
        self.began, self.asked = [], []

    def begin_as(self, cycle):
        self.began.append(cycle)

    def evaluate(self, u, full=True):
        x, p = u[:2], float(u[2])
        off = self.jump * (np.sign(p - P) != self.way)
        G = x - np.array([1 + p * p + off, -p])
        J = np.column_stack([np.eye(2), [-2 * p, 1.0]])
        free = self.free(self.way * (p - P))  # how far it is from the guard
        march = space(
            slopes_at=lambda t: np.array([np.vstack([S, 9 * np.ones(3)])]) if t.tolist() == [TIME] else None,
            rho=np.array([5.0, P]), t_last=2.0, sample=self.sample,
        )  # fmt: skip
        too = [Miss(f"at {t}", free, t, TOUCH) for t in self.later]
        cycle = bare(Cycle, run=space(march=march), monodromy=M, misses=(Miss("h", 0.5, 0, x), Miss("g", free, TIME, TOUCH), *too))  # fmt: skip
        return Evaluation(G, J, float(abs(G).max()), (), {}, {"miss g": free}, cycle)

    @staticmethod
    def sample(t, slopes=True):
        """x = (1 + s, .), x' = (., 3 s + 2 s^2) with the time s after the touch: g'' = 3 there."""
        s = float(t[0]) - TIME
        return np.array([[1 + s, 6.0, 9.0]]), np.array([[8.0, 3 * s + 2 * s * s, 9.0]]), None

    def _split(self, u):
        return u[:2], u[2]

    def _shoot(self, x, p):
        self.asked.append(x)
        d = self.way * (float(p) - P)
        y = np.array([1 + d, d * d]) + (np.sqrt(d) * np.array([3.0, -2.0]) if d > 0 else 0)
        return space(located=[space(contact="g")] * int(d > 0), march=space(end=lambda: (None, y)))


def grazed(monkeypatch, way, exponent=0.5, **more):
    """Return what `grazing` says of such cycles, and what it asks for the kick."""
    problem, asked = Grazed(way, **more), []
    at = problem.evaluate(np.array([1 + P * P, -P, P]))
    node = Node(np.array([2.0, -3.0, 0.5]), np.array([0.0, 0.0, 1.0]), at)
    first = space(kind="fold", name="", node=node)
    point = space(kind="grazing", name="g", parameter=P + 1e-6, x=np.array([7.25, -2.5]), node=node)
    branch = bare(Branch, problem=problem, points=(first, point), parameter="p", options=space(tol=1e-11))  # fmt: skip

    def kick_of(given, hit, name, curvature, side):
        asked.append((given, len(hit.located), name, curvature, side))
        return "impact", exponent, KICK

    put(monkeypatch, inspect.unwrap(grazing).__globals__["_form"], kick_of=kick_of)
    return problem, asked, grazing(branch)


@for_each(("a", "b", "side"), [(-3.0, -2.0, 1), (3.0, -2.0, 1), (-3.0, 2.0, -1)])
def test_a_grazing_cycle_has_the_numbers_of_its_closed_form(monkeypatch, a, b, side):
    """By g_x = (b, 0) and g_p = a; `side` is the sign of g at the touch."""
    assert side == np.sign(a * P + b * TOUCH[0] + TIME)
    by_p = -side * (b * 0.5 + a)
    way = np.sign(by_p)  # in which the depth grows
    problem, asked, found = grazed(monkeypatch, way, a=a, b=b)
    assert (found.kind, found.exponent, found.name) == ("impact", 0.5, "g")
    assert found.parameter == pytest.approx(P, abs=1e-8)
    assert 4e-11 <= found.error < 1e-7
    assert found.x == pytest.approx([1 + P * P, -P])
    assert (found.t, found.touch.tolist()) == (TIME, TOUCH.tolist())
    assert found.depth_by_x == pytest.approx([-side * b, -side * b * 2.0])
    assert found.depth_by_parameter == pytest.approx(by_p)
    assert found.curvature == pytest.approx(3.0)
    assert found.monodromy is M
    assert found.kick is KICK
    coefficient = M @ np.linalg.inv(S[:, :2]) @ KICK
    assert found.coefficient == pytest.approx(coefficient)
    assert problem.began[0].monodromy is M
    assert asked == [(problem, 1, "g", found.curvature, side)]
    sizes = np.hypot(3.0 / 2.0, 2.0 / 0.5)
    assert found.offsets == pytest.approx(4 * _OFFSETS)
    assert found.displacements == pytest.approx(sizes * np.sqrt(found.offsets), rel=1e-4)
    assert found.fitted == pytest.approx(0.5, abs=1e-4)
    predicted = np.hypot(*(coefficient / SCALE[:2])) * np.sqrt(abs(by_p))
    assert found.amplitude_ratio == pytest.approx(sizes / predicted, rel=1e-3)


@for_each(("jump", "free"), [(0.0, lambda d: -abs(d)), (0.0, lambda d: 1.0), (0.5, None)])  # fmt: skip
def test_without_a_cycle_that_just_misses_there_is_no_form(monkeypatch, jump, free):
    """On both sides the guard is met or gets no nearer; or the cycles of that side are far away."""
    with pytest.raises(BadValue, match=r"Beside p = 2\.5 no cycle is found that just misses 'g'"):
        grazed(monkeypatch, 1, jump=jump, free=free)


def test_a_parameter_that_does_not_move_the_touch_has_no_form(monkeypatch):
    """Here b x'(p) + a = 0; with b = 2 and a = 0 the depth is p."""
    with pytest.raises(NotApplicable, match="p does not change the depth of the touch"):
        grazed(monkeypatch, 1, a=1.0, b=-2.0)
    assert grazed(monkeypatch, 1, a=0.0, b=2.0)[2].depth_by_parameter == pytest.approx(1.0)


@for_each(("exponent", "later", "asks"), [(0.5, (1.1, 0.9), True), (0.5, (), False), (1.0, (0.9,), False), (1.5, (0.9,), False)])  # fmt: skip
def test_only_a_kick_that_outgrows_the_parameter_may_meet_a_later_touch(monkeypatch, exponent, later, asks):  # fmt: skip
    """One that grows as the parameter does, or more slowly, leaves that touch to the parameter."""
    asked, form = [], inspect.unwrap(grazing).__globals__["_form"]
    put(monkeypatch, form, _check_later=lambda problem, run, name, later, kick: asked.append((name, [m.t for m in later], kick.tolist())))  # fmt: skip
    assert grazed(monkeypatch, 1, exponent, later=later)[2].exponent == exponent
    kick = pytest.approx(np.linalg.solve(S[:, :2], KICK))
    assert asked == ([("g", sorted(later), kick)] if asks else [])


# ---------------------------------------------------------------- runs that go on from others


def test_runs_go_on_from_where_others_have_ended(monkeypatch):
    """In their modes, together those of one mode; their times are counted from the first start."""
    asked, told = Asked(("a",), "period", most=2), []
    behind = Observed.empty(6, 1, asked)
    behind.code[:], behind.t[:] = [0, 0, 7, 0, 0, 0], 10.0 * np.arange(6)
    behind.mode[:], behind.end[:, 0] = [1, 1, 0, 0, 1, 1], np.arange(6) / 4
    members = Members(np.arange(4.0)[:, None], behind.end[1:5], *np.arange(16.0).reshape(4, 4), chained=False)  # fmt: skip

    def one_by_one(system, scheme, some, given):
        told.append((some.mode, some.start[:, 0].tolist(), some.rho[:, 0].tolist()))
        seen = Observed.empty(some.size, 1, given)
        seen.t[:], seen.end[:] = 1 + some.rho[:, 0], -some.start
        seen.times[:, 0], seen.found[:] = 0.5, 1
        seen.code[some.start[:, 0] == 0.75] = 4
        return seen

    monkeypatch.setattr(asking, "one_by_one", one_by_one)
    one = bare(asking.Question, scheme=space(ensemble=lambda system: None), system=None, asked=asked, behind=behind)  # fmt: skip
    object.__setattr__(one, "members", lambda first, last: members if (first, last) == (1, 5) else None)  # fmt: skip
    seen = one.run(1, 5)
    assert told == [(0, [0.75], [2.0]), (1, [0.25, 1.0], [0.0, 3.0])]
    assert seen.code.tolist() == [0, 7, 4, 0]
    assert seen.t.tolist() == [11.0, 20.0, 33.0, 44.0]
    np.testing.assert_array_equal(seen.end[:, 0], [-0.25, np.nan, np.nan, -1.0])
    np.testing.assert_array_equal(seen.times[:, 0], [10.5, np.nan, np.nan, 40.5])
    assert seen.found.tolist() == [1, 0, 0, 1]


@for_each(("k", "chained", "code", "begin"), [
    (0, True, 0, None), (1, True, 0, 0), (3, True, 0, 2), (3, True, 5, None), (3, False, 0, None), (3, "behind", 0, 3), (0, "behind", 0, 0), (3, "behind", 5, None),
])  # fmt: skip
def test_a_point_of_a_sweep_runs_again_from_where_it_began(monkeypatch, k, chained, code, begin):
    """From its own start, from the end of the point before, or of the run behind it."""
    ends = Observed.empty(4, 1, Asked())
    ends.code[:], ends.end[:, 0], ends.mode[:] = code, 10.0 + np.arange(4), [1, 0, 1, 2]
    asked = []

    def members(first, last):
        assert last == first + 1
        return space(start=np.array([[0.5 + first]]))

    question = space(axes=space(shape=(4,)), members=members, chained=chained is True, scheme="s",
                     behind=ends if chained == "behind" else None, system=space(modes=["x", "y", "z"]))  # fmt: skip
    arguments = lambda system, scheme, members, i: {"x0": members.start[i].tolist()}  # noqa: E731
    monkeypatch.setattr(swept, "arguments", arguments)
    monkeypatch.setattr(swept, "simulate", lambda *a, **given: asked.append(given) or "run")
    one = bare(swept.Sweep, question=question, observed=ends, transients=None)
    assert one.run(k) == "run"
    (given,) = asked
    assert given.pop("throw") is False
    if begin is None:
        assert given == {"x0": [0.5 + k]}
    else:
        mode = ["x", "y", "z"][[1, 0, 1, 2][begin]]
        assert given == {"x0": [10.0 + begin], "mode0": mode}
    failed = space(ok=np.array([True, False, True, True]), run=lambda k: f"transient {k}")
    one = bare(swept.Sweep, question=question, observed=ends, transients=failed)
    assert one.run(1) == "transient 1"
    with pytest.raises(BadValue, match=r"\(4,\) is no point"):
        one.run(4)


# ---------------------------------------------------------------- columns on their way


def columns_of(monkeypatch, kind=columns.Columns, **own):
    """Return columns of 20 values, the columns in the order in which they are run, each in 0.1 s."""
    clock, done = [0.0], []
    monkeypatch.setattr(columns.time, "perf_counter", lambda: clock[0])

    def settled(self, k):
        clock[0] += 0.1
        done.append(k)
        self.code[k] = 0
        self.found[k] = min(self.found[k] + 2, 10)

    kind = type("Own", (kind,), {"_settled": settled, "_more": settled, "_judge": lambda self: done.append("judged")})  # fmt: skip
    given = {"values": np.zeros(20), "code": np.full(20, columns.UNKNOWN), "stop": lambda: False, "found": np.zeros(20, int)}  # fmt: skip
    return bare(kind, **given | own), done


POOL = space(map=map)


def test_columns_are_run_from_coarse_to_fine(monkeypatch):
    """A picture is drawn behind each level, and within one that takes longer than 1/4 s."""
    one, done = columns_of(monkeypatch, asked=space(follow="none"))
    assert [*one.columns(POOL)] == pytest.approx([3 / 20, 5 / 20, 10 / 20, 18 / 20, 1.0])
    odd = [*range(1, 20, 2)]
    assert done == [0, 8, 16, "judged", 4, 12, "judged", 2, 6, 10, 14, 18, "judged", *odd[:8], "judged", *odd[8:], "judged"]  # fmt: skip
    one, done = columns_of(monkeypatch, asked=space(follow="none"), stop=lambda: len(done) > 3)
    assert [*one.columns(POOL)] == []
    assert done == [0, 8, 16, "judged"]


@for_each(("follow", "first"), [("up", [0, 8, 16, 19]), ("down", [19, 16, 8, 0])])
def test_columns_that_follow_each_other_begin_with_a_chain(monkeypatch, follow, first):
    one, done = columns_of(monkeypatch, asked=space(follow=follow))
    seen = [*one.columns(POOL)]
    rest = [k for k in range(1, 20, 2) if k != 19]
    assert done[:5] == [*first, "judged"]
    assert done[5:] == [4, 12, "judged", 2, 6, 10, 14, 18, "judged", *rest[:8], "judged", *rest[8:], "judged"]  # fmt: skip
    assert seen == pytest.approx([2 / 20, 4 / 20, 6 / 20, 11 / 20, 19 / 20, 1.0])
    one, done = columns_of(monkeypatch, asked=space(follow=follow), stop=lambda: len(done) == 2)
    assert [*one.columns(POOL)] == [2 / 20]  # the first picture
    assert done == first[:2]


def test_columns_that_do_not_repeat_get_more_points(monkeypatch):
    asked = []
    one, done = columns_of(monkeypatch, asked=space(most=10, asking=lambda *given: asked.append(given)))  # fmt: skip
    one.code, one.found = np.array([0, 0, 0, 4, 0, 0]), np.array([4, 10, 0, 4, 4, 1])
    one.repeats = np.array([False] * 4 + [True, False])
    assert [*one.extended(POOL)] == [0.25, 0.5, 0.75, 1.0]
    assert done == [0, 5, "judged"] * 3 + [5, "judged"]
    assert asked == [(2, 0, 2)]
    one.asked.most = 3
    assert [*one.extended(POOL)] == []
    assert asked[1] == (1, 0, 1)


def test_the_cost_of_a_part_is_that_of_one_member():
    owner = next(c for c in vars(parts).values() if isinstance(c, type) and "_take" in vars(c))
    done, written, kept = Future(), [], []
    done.set_result(("seen", 6.0))
    one = bare(owner, out={done: (3, 5)}, left=9, disk=space(keep=lambda *given: kept.append(given)),
               whole=space(put=lambda where, part: written.append((where, part))))  # fmt: skip
    assert one._take(done) == 2
    assert (one.left, one.cost, one.out) == (7, 3.0, {})
    assert written == [(slice(3, 5), "seen")]
    assert kept == [(3, 5, "seen")]


# ---------------------------------------------------------------- what drives a system


W = sp.Symbol("w")
TIME_OF, STATE = sp.Symbol("t"), sp.Symbol("x")


def driven(*flow, discrete=False):
    """Return a system with these rates."""
    mode = space(flow=[sp.sympify(f, {"t": TIME_OF}) for f in flow])
    own = type("Own", (ex.HybridSystem,), {"discrete": discrete})
    return bare(own, name="m", modes=[mode], guards=[], parameters={"w": 1, "k": 2}, t=TIME_OF, time_unit="s", made={})  # fmt: skip


@for_each(("flow", "period"), [
    (["sin(w*t)"], 2 * sp.pi / W), (["sin(2*w*t) + cos(3*w*t)"], 2 * sp.pi / W), (["sin(2*w*t)", "cos(4*w*t) - x"], sp.pi / W), (["sin(w*t)", "t"], None),
    (["sin(w*t)*t"], None), (["sin(w*t**2)"], None), (["sin(x*t)"], None), (["sin(w*t + x)"], 2 * sp.pi / W), (["sin(w*t) + sin(sqrt(2)*w*t)"], None), (["-x", "sin(x)"], None),
    (["cos(w*t/3) - cos(w*t/2)"], 12 * sp.pi / W), (["sin(w*t) + sin(k*t)"], None),
])  # fmt: skip
def test_a_system_is_driven_with_the_common_period_of_its_waves(flow, period):
    found = forcing.forcing_period(driven(*flow))
    assert found is None if period is None else sp.simplify(found - period) == 0
    assert forcing.forcing_period(driven(*flow, discrete=True)) is None
    assert forcing.depends_on_time(driven(*flow)) == any("t" in f.replace("sqrt", "") for f in flow)


@for_each(("flow", "periods", "told"), [
    (["sin(w*t)*x"], 1, None), (["sin(w*t)*x"], 3, None), (["sin(w*t)*x"], 0.5, "driven with the period 2[*]pi/w = 3.1415927 s"), (["sin(w*t)*x"], 1.001, "driven"),
    (["sin(w*t)*x"], 1 + 1e-8, None), (["-x"], 0.3, None), (["x", "1e9 + sin(2*w*t)"], 0.5, None), (["x", "1e9 + sin(2*w*t)"], 0.6, "driven"), (["x*t"], 1, "Give the period"),
])  # fmt: skip
def test_a_period_is_one_after_which_the_equations_are_the_same(flow, periods, told):
    """w = 2, so sin(w t) has the period pi s."""
    values = {"w": 2.0, "k": 1.0}
    for checked in (lambda: forcing.check_period(driven(*flow), periods * np.pi, values),
                    lambda: forcing.check_section(sectioned(driven(*flow)), ex.study.Section(period=f"2*{periods!r}*pi/w"), [2.0, 1.0])):  # fmt: skip
        if told is None:
            checked()
            continue
        with pytest.raises(BadValue, match=told):
            checked()
    forcing.check_period(driven("t*x", discrete=True), 1.0, values)
    forcing.check_section(driven("t*x"), ex.study.Section(event="e"), [2.0, 1.0])


def sectioned(system):
    """Let a system say what stands in a formula of its parameters."""
    object.__setattr__(system, "symbols", lambda state: {"w": W, "k": sp.Symbol("k")})
    return system


# ---------------------------------------------------------------- neighbours


@for_each(("code", "ends", "radius", "told"), [
    (0, [0.0, 1.0], 0.1, True), (0, [1.0, 0.0], 0.1, True), (0, [0.0, 1.3], 0.1, False), (0, [0.0, 1.3], 0.2, True), (3, [0.0, 1.0], 0.1, False), (0, [1.0], 0.1, False),
    (3, [1.0], 9.0, False), (0, [9.0, 0.0, 1.0], 0.1, True), (0, [0.0, 1.0, 9.0], 0.1, False),
])  # fmt: skip
def test_a_neighbour_is_back_where_its_last_points_lie(code, ends, radius, told):
    """In parts of the scale, 2: the points are at 0 and 1/2; as many as these are looked at."""
    points = np.full((1, 5, 1), 77.0)
    points[0, : len(ends), 0] = ends
    seen = space(code=[code], points=points, found=[len(ends)])
    one = bare(search.Search, scale=np.array([2.0]))
    brief = space(run=lambda first, last, begin: seen if (first, last, begin) == (0, 1, "b") else None)  # fmt: skip
    assert one._soon(brief, "b", np.array([[0.0], [0.5]]), radius) is told


# ---------------------------------------------------------------- cycles of maps


@for_each("m", [1, 2, 3, 4])
def test_the_equations_of_a_cycle_are_those_of_its_points(m):
    """Of the rotation by a third with a push, x' = R x + p (1, 2): off its cycle and on it."""
    angle, p = 2 * np.pi / 3, 0.25
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    rng = np.random.default_rng(m)
    points, push, unit = rng.normal(size=(m, 2)), np.array([1.0, 2.0]), np.array([2.0, 0.5])
    kind = type("Own", (map_cycles.MapCycles,), {"_piece": lambda self, branch, x: (R @ x + self.rho[1] * push, R, push)})  # fmt: skip
    one = bare(kind, n=2, count=m, rho=np.zeros(2), place=1, branches=[0] * m, unit=unit, system=space(branch_names=("on",)))  # fmt: skip
    found = one.evaluate(np.append(points.ravel(), p), full=False)
    wanted = np.array([R @ points[k] + p * push - points[(k + 1) % m] for k in range(m)])
    np.testing.assert_allclose(found.G, wanted.ravel(), atol=1e-12)
    assert found.size == pytest.approx((abs(wanted) / unit).max())
    J = np.kron(np.eye(m), R) - np.kron(np.roll(np.eye(m), 1, axis=1), np.eye(2))
    assert found.jacobian == pytest.approx(np.column_stack([J, np.tile(push, m)]))
    assert found.data.points.tolist() == points.tolist()
    assert np.sort_complex(found.data.multipliers) == pytest.approx(np.sort_complex(np.exp(1j * m * angle * np.array([1, -1]))))  # fmt: skip
    assert found.data.T - m == 0
    assert found.sequence == (("branch", "on"),) * m
    rest = np.linalg.solve(np.eye(2) - R, p * push)
    found = one.evaluate(np.append(np.tile(rest, m), p), full=False)
    assert abs(found.G).max() < 1e-12
    assert found.sequence[m:] == ((("repeats", ""),) if m > 1 else ())
