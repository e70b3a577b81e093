"""Studies of several states, several modes and several runs: what a single one cannot tell."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_arclength import Curve, line, options, parabola
from test_study_branches import bare

from explorer.errors import BadValue
from explorer.runs.members import Asked, Observed
from explorer.study import (  # fmt: skip
    cycle_tests,
    held_cycles,
    map_cycles,
    near_misses,
    parts,
    periods_over,
    refine,
    trace,
)
from explorer.study.arclength import Evaluation, Node, tangent
from explorer.study.sweep import MOST_BYTES, check_size
from explorer.study.trace import CLOSED, Special, other_side

COVERS = ("study/parts.py", "study/trace.py")  # see mutant_rooms.py

# ---------------------------------------------------------------- branches in three unknowns


class Lifted:
    """A curve G(x, p) = 0 with another state beside it: u = (x, y, p) with y = 3 x."""

    n = 2

    def __init__(self, curve: Curve, scale=(1.0, 2.0, 0.5)):
        self.curve, self.scale = curve, np.array(scale)

    def __getattr__(self, name):
        return getattr(self.curve, name)

    def evaluate(self, u, full=True):
        at = self.curve.evaluate(u[[0, 2]], full)
        (x, p), G = at.jacobian[0], np.append(at.G, u[1] - 3 * u[0])
        J = np.array([[x, 0.0, p], [-3.0, 1.0, 0.0]])
        return Evaluation(G, J, float(abs(G).max()), at.sequence, at.tests, at.margins, at.data)


def begun(problem: Lifted, x: float, p: float, like=(0.0, 0.0, 1.0)) -> Node:
    at = problem.evaluate(np.array([x, 3 * x, p]))
    assert at.size < 1e-12
    return Node(np.array([x, 3 * x, p]) / problem.scale, tangent(problem, at, np.array(like)), at)


def points(problem: Lifted, nodes) -> np.ndarray:
    """Return (x, p) of some nodes, which lie on the lifted curve."""
    u = np.array([node.w for node in nodes]) * problem.scale
    assert u[:, 1] == pytest.approx(3 * u[:, 0], abs=1e-9)
    return u[:, [0, 2]]


def test_a_closed_branch_of_two_states_has_its_folds():
    own = Curve(lambda u: u @ u - 1, lambda u: 2 * u, tests={"upper": lambda u: u[0] - 0.5})
    problem = Lifted(own)
    found = trace.trace(problem, begun(problem, 0.6, 0.8), options())
    assert found.reason == CLOSED
    assert np.hypot(*points(problem, found.pieces[0]).T) == pytest.approx(1)
    side = np.sqrt(0.75)
    told = sorted((s.kind, *(s.w * problem.scale)[[0, 2]].round(8)) for s in found.specials)
    assert told == [("fold", 0.0, -1.0), ("fold", 0.0, 1.0), ("upper", 0.5, -side.round(8)), ("upper", 0.5, side.round(8))]  # fmt: skip
    for special in found.specials:
        assert abs(special.test) < 1e-8
        assert special.error < 1e-6


def test_two_states_cross_at_a_branch_point():
    """x (p - x) = 0, followed along x = p; a test of another kind is located beside it."""
    crossed = Curve(lambda u: u[0] * (u[1] - u[0]), lambda u: [u[1] - 2 * u[0], u[0]], tests={"flip": lambda u: u[1] - 0.2})  # fmt: skip
    problem = Lifted(crossed)
    found = trace.trace(problem, begun(problem, -0.5, -0.5), options(high=1.0))
    cross, flip = found.specials
    assert (cross.kind, flip.kind) == ("branch point", "flip")
    assert cross.w == pytest.approx([0, 0, 0], abs=1e-8)
    assert flip.w * problem.scale == pytest.approx([0.2, 0.6, 0.2])
    # p is 0.2 within the residual of its test, over its slope along the branch
    assert flip.error == pytest.approx(1e-12, rel=0.5)
    assert [n.p for n in found.pieces[0]] == sorted(n.p for n in found.pieces[0])


@for_each("down", [False, True])
def test_a_range_ends_a_branch_of_two_states(down):
    problem = Lifted(line(), scale=(1.0, 1.0, 4.0))
    start = begun(problem, 0.1, 0.2, (0, 0, -1.0 if down else 1.0))
    found = trace.trace(problem, start, options(low=-0.3, high=0.45))
    assert found.reason == "end of the range"
    u = points(problem, found.pieces[0])
    assert u[:, 0] == pytest.approx(u[:, 1] / 2, abs=1e-9)
    assert u[-1, 1] == pytest.approx(-1.2 if down else 1.8)


@for_each("at", [0.37, -0.41])
def test_a_change_of_two_states_is_located(at):
    first, second = (("hits", "a"),), (("hits", "a"), ("hits", "b"))
    problem = Lifted(line(sequence=lambda u: first if (u[1] < at) == (at > 0) else second, margins={"speed b": lambda u: abs(u[1] - at)}))  # fmt: skip
    start = begun(problem, 0.0, 0.0, (0, 0, np.sign(at)))
    found = trace.trace(problem, start, options(low=-2.0, high=2.0))
    (point,) = found.specials
    assert (point.kind, point.name) == ("grazing", "b")
    assert point.w * problem.scale == pytest.approx([at / 2, 1.5 * at, at], abs=1e-8)
    assert point.error < 1e-7
    sequences = [node.at.sequence for node in found.pieces[0]]
    assert sequences == [first] * sequences.count(first) + [second] * sequences.count(second)
    assert points(problem, found.pieces[0])[-1, 1] == pytest.approx(np.sign(at))


def test_a_branch_of_two_states_goes_to_infinity():
    """x = 1 / (1 - p): as p comes to 1; of what is far away only the begin is kept."""
    problem = Lifted(Curve(lambda u: u[0] * (1 - u[1]) - 1, lambda u: [1 - u[1], -u[0]]), scale=(1.0, 3.0, 1.0))  # fmt: skip
    found = trace.trace(problem, begun(problem, 1.0, 0.0), options(high=2.0, most=400, h_max=0.5, tol=1e-9))  # fmt: skip
    assert found.reason == "it goes to infinity, as the parameter comes to 1"
    x, p = points(problem, found.pieces[0]).T
    assert x * (1 - p) == pytest.approx(1)
    assert 10 < x[-1] <= 21
    low = Lifted(Curve(lambda u: u[0] * (1 + u[1]) + 1, lambda u: [1 + u[1], u[0]]), scale=(1.0, 3.0, 1.0))  # fmt: skip
    found = trace.trace(low, begun(low, -1.0, 0.0, (0, 0, -1)), options(most=400, h_max=0.5, tol=1e-9))  # fmt: skip
    assert found.reason == "it goes to infinity, as the parameter comes to -1"


def test_beyond_an_end_of_two_states_another_sequence_is_looked_for():
    problem = Lifted(line(sequence=lambda u: (u[1] > 0.3,)))
    here = begun(problem, 0.1, 0.2)
    end = Special("grazing", np.array([0.15, 0.45, 0.3]) / problem.scale, 0.0, 0.0, here)
    node = other_side(problem, here, end, options())
    ((_, p),) = points(problem, [node])
    assert 0.3 < p < 0.301
    assert node.tangent[-1] > 0
    assert other_side(problem, here, end, options(high=0.6)) is None
    assert other_side(problem, here, end, options(high=0.6 + 1e-4)).at.sequence == (True,)
    back = begun(problem, 0.25, 0.5, (0, 0, -1))
    turned = other_side(problem, back, Special("grazing", end.w, 0.0, 0.0, back), options())
    assert points(problem, [turned])[0, 1] < 0.3
    assert turned.tangent[-1] < 0


def test_a_margin_of_two_states_ends_a_branch():
    """x = sqrt(p) has the speed x, which falls to zero at p = 0."""
    problem = Lifted(parabola(margins={"speed a": lambda u: u[0]}, valid=lambda u: u[0] > 0))
    found = trace.trace(problem, begun(problem, 0.9, 0.81, (-1, 0, 0)), options(h_min=1e-3))
    (end,) = found.specials
    assert (end.kind, end.name) == ("speed", "a")
    assert end.w == pytest.approx([0, 0, 0], abs=1e-8)
    assert 0 < end.test < 1e-4
    assert end.test == end.node.at.margins["speed a"]
    assert found.reason == "speed of 'a': the event sequence cannot continue"
    x = points(problem, found.pieces[0])[:, 0]
    assert (np.diff(x) < 0).all()


# ---------------------------------------------------------------- what is tested of a cycle


@for_each(("kept", "autonomous", "found"), [
    (4, False, [2.0, -1.0, 0.9, 0.5]), (3, False, [2.0, -1.0, 0.9]), (4, True, [2.0, -1.0, 0.5]), (2, True, [-1.0]), (0, False, []),
])  # fmt: skip
def test_multipliers_fall_and_leave_out_the_one_along_the_flow(kept, autonomous, found):
    M = np.triu(np.random.default_rng(2).normal(size=(4, 4)), 1) + np.diag([0.5, 2.0, 0.9, -1.0])
    mu = cycle_tests.multipliers_of(M, kept, autonomous)
    assert mu == pytest.approx(np.array(found, complex))
    assert mu.dtype == complex


@for_each(("before", "after"), [
    ("", ""), ("ia ib", "ia ib"), ("ia ia za ib", "za ib"), ("ia za ra ia", "za ra"), ("ia ra ia za", "ia ra za"), ("ia ib za zb ia", "za zb"), ("ib ia za rb ib", "ib za rb ib"),
    ("za", "za"), ("ra ia", "ra ia"), ("ia ra", "ia ra"),
])  # fmt: skip
def test_impacts_that_lead_to_an_accumulation_are_no_events_of_a_cycle(before, after):
    """Also those at its end, if it begins with the accumulation again."""
    kinds = {"i": "impact", "z": "zeno", "r": "released"}
    run = space(located=[space(kind=kinds[word[0]], contact=word[1]) for word in before.split()])
    found = cycle_tests.events_of(run)
    assert [(e.kind, e.contact) for e in found] == [(kinds[w[0]], w[1]) for w in after.split()]


def test_margins_are_speeds_misses_and_times():
    """Of a period of 8 s: the gap from the last event to the first one of the next period counts."""
    located = [space(kind=kind, contact=name, slope=slope, t=t) for kind, name, slope, t in
               (("impact", "a", -3.0, 1.0), ("impact", "a", 2.0, 3.0), ("released", "a", 0.1, 4.0), ("event", "b", -5.0, 7.5))]  # fmt: skip
    misses = [near_misses.Miss("c", 0.25, 2.0, None)]
    found = cycle_tests.margins(space(located=located), misses, 8.0, "ends")
    assert found == {"hit a": 2.0, "hit b": 5.0, "miss c": 0.25, "spacing": 1.0 / 8, "ends": 0.5 / 8}  # fmt: skip
    located[1].t = 1.5
    assert cycle_tests.margins(space(located=located), [], 8.0, "ends")["spacing"] == 0.5 / 8
    located[3].t = 7.9
    located[0].t = 0.2
    found = cycle_tests.margins(space(located=located), [], 8.0, "ends")
    assert (found["spacing"], found["ends"]) == (pytest.approx(0.3 / 8), pytest.approx(0.1 / 8))
    assert cycle_tests.margins(space(located=located[:1]), [], 8.0, "e") == {"hit a": 3.0, "e": 0.2 / 8}  # fmt: skip
    assert cycle_tests.margins(space(located=located[:2]), [], 8.0, "e")["spacing"] == pytest.approx(1.3 / 8)  # fmt: skip


@for_each(("wide", "size", "point"), [((2.0, 4.0), (5e-3, 1e-2), True), ((2.0, 4.0), (7e-3, 1e-2), False), ((2.0, 4.0), (5e-3, 1.3e-2), False), ((0.0, 4.0), (1.1e-5, 0.0), True), ((0.0, 4.0), (1.3e-5, 0.0), False)])  # fmt: skip
def test_a_cycle_is_a_point_that_is_small_in_every_state(wide, size, point):
    """Below 3/1000 of the width of the first one, or of 1/1000 of the widest state."""
    y = np.array([[7.0, -9.0, 0.0], [7.0 + size[0], -9.0 - size[1], 5.0]])
    run = space(march=space(steps=space(y=y)))
    assert cycle_tests.is_point(run, np.array(wide)) is point


def test_a_guard_that_turns_at_a_sample_is_seen_once():
    """(t - 50)^2 + 1 at t = 1, 2, ..., 200."""
    run = space(march=space(sample=lambda t, **_: (np.stack([(t - 50) ** 2], 1), np.stack([2 * (t - 50)], 1), None), rho=()))  # fmt: skip
    guard = space(name="g", mode=-1, side=0, when=None, value=lambda t, x, rho: x[0] + 1, rate=lambda t, x, rho, dx: dx[0])  # fmt: skip
    one = bare(near_misses.NearMisses, states=("x",), guards=[guard])
    (miss,) = one._between(run, 0.0, 201.0, -1)
    assert (miss.t, miss.value) == (50.0, 1.0)
    asked = []
    run.march.sample = lambda t, **_: asked.append(t) or (np.zeros((len(t), 1)), np.zeros((len(t), 1)), None)  # fmt: skip
    one._between(run, 2.0, 8.0, -1)
    places = np.arange(1, near_misses._PER_SEGMENT + 1) / (near_misses._PER_SEGMENT + 1)
    assert asked[0] == pytest.approx(2.0 + 6.0 * places)  # inside, without its ends


# ---------------------------------------------------------------- held starts


def test_a_held_start_moves_along_its_rows(monkeypatch):
    """Of c = (x + 2 y - 3 p^2, 0 x): the nearest start, and how it moves with p."""
    C = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    flow = space(n_c=2)
    monkeypatch.setattr(held_cycles, "slopes_of", lambda flow, rho, x, rows: C)
    # gaps of the contacts, then speeds of all rows; only the second contact is held
    monkeypatch.setattr(held_cycles, "constraints_of", lambda flow, rho, x: np.array([99.0, x[0] + 2 * x[1] - 3 * rho[1] ** 2, 99.0, 0.0]))  # fmt: skip
    one = bare(held_cycles.Held, flow=flow, rows=np.array([False, True]))
    rho, x = np.array([7.0, 2.0]), np.array([1.0, 1.0, 5.0])
    stays, moves = one.along(rho, x, 1)
    n = np.array([1.0, 2.0, 0.0]) / np.sqrt(5)
    assert stays == pytest.approx(np.eye(3) - np.outer(n, n), abs=1e-12)
    assert moves == pytest.approx(n * 12 / np.sqrt(5), rel=1e-6)  # dc/dp = -6 p
    assert rho.tolist() == [7.0, 2.0]
    beside = one.put(rho, x)
    assert beside == pytest.approx([1.0 + 9 / 5, 1.0 + 18 / 5, 5.0])
    one.rows = np.zeros(0, bool)
    assert one.put(rho, x).tolist() == x.tolist()
    stays, moves = one.along(rho, x, 1)
    assert (stays.tolist(), moves.tolist()) == (np.eye(3).tolist(), [0.0] * 3)


@for_each("size", [0.0, 2.0**20])
def test_a_start_that_is_off_its_rows_by_round_off_stays(monkeypatch, size):
    """By 1e-14 (1 + its size); what is further off is put on them: x - size and the speed vanish."""
    monkeypatch.setattr(held_cycles, "slopes_of", lambda flow, rho, x, rows: np.eye(2))
    monkeypatch.setattr(held_cycles, "constraints_of", lambda flow, rho, x: x - [size, 0.0])
    one = bare(held_cycles.Held, flow=space(n_c=1), rows=np.array([True]))
    near, far = (size + part * 1e-14 * (1 + size) for part in (0.9, 9.0))
    assert one.put(np.zeros(1), np.array([near, 0.0])).tolist() == [near, 0.0]
    assert one.put(np.zeros(1), np.array([far, 0.0])).tolist() == [size, 0.0]


# ---------------------------------------------------------------- maps


@for_each(("points", "unit"), [([[4.0, 1e-5], [-2.0, 0.0]], [4, 4]), ([[100.0, 0.05], [1.0, 0.0]], [100, 100]), ([[100.0, 0.2], [-300.0, 5.0]], [300, 5]), ([[0.0, 0.0]], [1, 1])])  # fmt: skip
def test_cycles_of_a_map_are_measured_by_their_largest_states(monkeypatch, points, unit):
    """A state of less than 1/1000 of the largest one is measured by that."""
    monkeypatch.setattr(map_cycles, "compile_map", lambda system: "compiled")
    monkeypatch.setattr(map_cycles, "_branch_of", lambda compiled, x, rho: 5 if x[0] > 0 else 6)
    points, rho = np.array(points), np.array([7.0, 8.0])
    one = map_cycles.MapCycles(space(parameters={"a": 1, "b": 2}), "b", rho, points, 9.0)
    assert one.scale.tolist() == [*unit * len(points), 9]
    assert (one.place, one.count, one.n) == (1, *points.shape)
    assert one.branches == [5 if x[0] > 0 else 6 for x in points]
    assert one.first().tolist() == [*points.ravel(), 8.0]
    one.branches[0], one.rho[1] = 9, 99.0
    one.restart()
    assert one.branches[0] != 9
    assert one.rho.tolist() == [7.0, 8.0]
    assert rho.tolist() == [7.0, 8.0]


# ---------------------------------------------------------------- parts and their cost


@for_each(("each", "told"), [(2.0, [(k, k + 1) for k in range(5)]), (0.4, [(0, 1), (1, 3), (3, 5)]), (1e-9, [(0, 1), (1, 5)])])  # fmt: skip
def test_a_chain_of_long_runs_goes_on_one_by_one(monkeypatch, each, told):
    clock = [0.0]
    monkeypatch.setattr(parts.time, "perf_counter", lambda: clock[0])

    def run(first, last, state):
        clock[0] += each * parts._TARGET * (last - first)

    whole = space(code=np.zeros(5, int), end=np.arange(5.0), mode=np.zeros(5), put=lambda *given: None, leads=lambda k, asked: True)  # fmt: skip
    question = space(axes=space(size=5), system=space(name="m"), run=run, asked=None)
    found = [(one.start, one.stop) for one in parts.run_chain(question, whole, progress=False)]
    assert found == told


@for_each(("size", "each", "told", "runs"), [
    (1000, 8, None, []), (1000, MOST_BYTES // 500, "would take about 0.139 h on 2 workers and 2 GB", [0, 0, 999 // 2, 999]), (1001, 8, None, [0, 0, 500, 1000]), (10**9, 8, "would take about 1.39e[+]05 h on 2 workers and 7.45 GB", [0, 0, (10**9 - 1) // 2, 10**9 - 1]),
])  # fmt: skip
def test_a_sweep_that_would_take_too_long_is_refused(monkeypatch, size, each, told, runs):
    """A run takes 1 s; three are tried, the first, the middle one and the last one."""
    clock, asked = [0.0], []
    put(monkeypatch, check_size, time=space(perf_counter=lambda: clock[0]))

    def run(first, last):
        assert last == first + 1
        asked.append(first)
        clock[0] += 1.0

    question = space(axes=space(size=size), bytes_each=each, run=run)
    if told is None:
        check_size(question, 2)
    else:
        with pytest.raises(BadValue, match=told) as said:
            check_size(question, 2)
        fits = min(MOST_BYTES / each, 2 * 86400)
        assert f"About {int(fits):.2g} runs fit" in str(said.value)
    assert asked == runs


# ---------------------------------------------------------------- labels of two parameters


def test_parameters_are_labelled_by_the_period_of_their_runs(monkeypatch):
    """One of each code, period and end; what has none is run five times as long."""
    n = 9
    seen = Observed.empty(n, 1, Asked(most=60))
    seen.code[:] = [0, 0, 0, 0, 7, -1, periods_over.BEYOND, periods_over.UNRUN, 0]
    seen.t[:] = [10, 10, 9.0, 10, 3, 0, 5, 0, 10]
    seen.found[:] = 50
    creeps = 1 / np.arange(1.0, 61.0)
    seen.points[0, :, 0], seen.points[1, :, 0] = 5.0, np.tile([1.0, 2.0], 30)
    seen.points[3, :, 0] = seen.points[8, :, 0] = creeps
    seen.end[:, 0], seen.mode[:] = np.arange(n), 2
    asked = []

    def run(first, last, begin):
        asked.append((first, last, begin[0].tolist(), begin[1]))
        more = Observed.empty(1, 1, Asked(most=60))
        more.found[:], more.points[0, :, 0] = 60, np.tile([3.0, 4.0, 5.0], 20)
        more.code[:] = 3 if first == 8 else 0
        return more

    kind = type("Own", (periods_over.PeriodsOver,), {"_question": lambda self, rows, times=1: space(run=run, members=lambda first, last: space(t_end=np.full(last - first, 10.0)))})  # fmt: skip
    monkeypatch.setattr(periods_over, "run_parts", lambda question, progress, stop: seen)
    system = space(parameters=("a", "b"))
    one = bare(kind, settings=space(tol=1e-6, sure=1e-9, system=system), scale=np.ones(1), stop=None, _found=[], rho=(7.0, 8.0), starts=space(names=("b", "q0.x")))  # fmt: skip
    rows = np.stack([np.arange(n) + 100.0, np.zeros(n)], axis=1)
    label, t = one.labels(rows)
    D, E, F, R, N = (getattr(periods_over, k) for k in ("UNDECIDED", "ESCAPES", "FAILED", "REFUSED", "UNTOLD"))  # fmt: skip
    assert label.tolist() == [0, 1, E, 2, F, R, E, N, D]
    assert t is seen.t
    assert asked == [(3, 4, [3.0], 2), (8, 9, [8.0], 2)]
    assert [(a.period, a.at) for (a,) in one.families] == [(1, {"a": 7.0, "b": 100.0}), (2, {"a": 7.0, "b": 101.0}), (3, {"a": 7.0, "b": 103.0})]  # fmt: skip
    again, _ = one.labels(rows)
    assert again.tolist() == label.tolist()
    assert len(one.families) == 3
    one.scale = np.zeros(1)
    label, t = one.labels(rows)
    assert label.tolist() == [N] * n
    assert np.isnan(t).all()


# ---------------------------------------------------------------- cells of a map


@for_each(("shape", "level"), [((9, 6), 1), ((9, 6), 2), ((7,), 1), ((5, 1), 2)])
def test_what_is_not_known_is_as_its_nearest_coarse_point(shape, level):
    grid, rng = refine.Grid(shape), np.random.default_rng(4)
    places = grid.coarse(level)
    coarse = [sorted({*range(0, n, 2**level), n - 1}) for n in shape]
    assert places.tolist() == sorted(int(np.ravel_multi_index(k, shape)) for k in np.array(np.meshgrid(*coarse, indexing="ij")).reshape(len(shape), -1).T)  # fmt: skip
    told = rng.integers(0, 5, len(places))
    grid.put(places, told)
    assert grid.coarse(level).size == 0
    found = grid.spread(level)
    for at in np.ndindex(*shape):
        near = tuple(min(own, key=lambda k, a=a: abs(k - a)) for a, own in zip(at, coarse, strict=True))  # fmt: skip
        assert found[at] == grid.labels[near]
    assert (grid.computed.ravel()[places]).all()
    assert grid.computed.sum() == len(places)


def test_what_is_unknown_is_filled_from_what_is_nearest():
    labels = np.full((6, 5), refine.UNKNOWN)
    assert refine.Grid((6, 5)).filled(labels) is labels
    labels[0, 0], labels[5, 4] = 3, 7
    found = refine.Grid((6, 5)).filled(labels)
    for i, j in np.ndindex(6, 5):
        one, two = np.hypot(i, j), np.hypot(i - 5, j - 4)
        assert found[i, j] == (3 if one < two else 7) or one == two
    full = np.ones((2, 2), int)
    assert refine.Grid((2, 2)).filled(full) is full
