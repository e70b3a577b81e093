"""Parts of studies that run or follow, each against its rule; no run is made."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from loops import for_each
from plain import space

from explorer.codes import SUCCESS
from explorer.errors import BadValue, StepFailed
from explorer.runs.members import ESCAPED, FREE
from explorer.status import ESCAPED as BEYOND
from explorer.study import cycles, finer_basins, flow_spectrum, resolve, trace
from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD
from explorer.study.parts import UNRUN

COVERS = ("study/cycles.py", "study/trace.py")

EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- exponents of a flow


class Flow:
    """A march of three states whose runs multiply directions by A."""

    def __init__(
        self, monkeypatch, begins, ends, columns=3, done=0, again=2, units=(1.0, 1.0, 1.0)
    ):
        rng = np.random.default_rng(5)
        self.A, self.seen = rng.normal(size=(3, 3)), []
        self.frame = np.linalg.qr(rng.normal(size=(3, 3)))[0][:, :columns]
        self.new = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        for name, way in (("directions", lambda run: begins), ("directions_at_end", lambda run: ends), ("least_free", lambda run: 2),
                          ("_units", lambda run: np.array(units)), ("_frame", lambda n: self.new)):  # fmt: skip
            monkeypatch.setattr(flow_spectrum, name, way)
        march = flow_spectrum._March
        self.march = space(x=np.zeros(3), compiled=None, frame=self.frame, mode=None, system=space(name="s"), done=done, length=0.5, again=again,
                           unit=np.ones(3), events=Counter(), _run=self.run, _told=str, ok=True, ends=0.5, factor=1.0, located=[],
                           _stretched=lambda *given: self.seen.append(given) or "logs")  # fmt: skip
        self.march._scaled = lambda free: march._scaled(self.march, free)
        self.runs = []

    def run(self, compiled, at):
        frame = self.march.frame
        self.runs.append((frame, at))
        S = self.march.factor * (self.A @ (frame * self.march.unit[:, None]))
        return space(status=space(ok=self.march.ok, message="no"), t=[0.0, self.march.ends], S=[None, np.vstack([S, np.full_like(S[:1], 9.0)])],
                     x=np.array([[9.0] * 3, [1.0, 2.0, 3.0]]), located=self.march.located)  # fmt: skip

    def go(self):
        return flow_spectrum._March.go(self.march)


@for_each(("done", "columns", "begins", "ends", "units"), itertools.product(
    (0, 1, 2), (3, 2), (False, True), (False, True), ((1.0, 1.0, 1.0), (1.0, 1e3, 1.0)),
))  # fmt: skip
def test_a_frame_has_the_directions_that_are_free(monkeypatch, done, columns, begins, ends, units):
    """At the first start, and where a whole frame is drawn anew, behind half the transient."""
    rng = np.random.default_rng(1)
    free = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    last = np.linalg.qr(rng.normal(size=(3, 2)))[0]
    flow = Flow(
        monkeypatch, free if begins else None, last if ends else None, columns, done, 2, units
    )
    unit = np.array(units) if done == 0 else np.ones(3)
    assert flow.go() == "logs"
    scaled = [x if (unit == 1).all() else np.linalg.qr(x / unit[:, None])[0] for x in (free, last)]
    fresh = done == 2 and columns == 2
    looked = begins and (fresh or done == 0)
    frame = flow.new if fresh else flow.frame
    if looked:
        Q = scaled[0]
        frame = np.linalg.qr(Q @ (Q.T @ frame)[:, :2])[0]
    assert len(flow.runs) == 1 + (done == 0 and (unit != 1).any()) + (fresh or looked)
    assert {at for _, at in flow.runs} == {0.5 * done}
    np.testing.assert_allclose(flow.runs[-1][0], frame, atol=1e-12)
    S = flow.A @ (frame * unit[:, None]) / unit[:, None]
    if ends:
        S = scaled[1] @ (scaled[1].T @ S)
    ((got, least, many),) = flow.seen
    np.testing.assert_allclose(got, S, atol=1e-10)
    assert (least, many) == (flow_spectrum._ZERO, 2)
    assert (flow.march.done, flow.march.x.tolist()) == (done + 1, [1.0, 2.0, 3.0])


def test_a_frame_that_has_lost_all_stays_empty(monkeypatch):
    flow = Flow(monkeypatch, None, None, 0, 1)
    events = [
        space(contact=c, kind=k) for c, k in (("a", "impact"), ("a", "released"), ("b", "impact"))
    ]
    flow.march.located = events
    flow.go()
    assert flow.seen[0][0].shape == (3, 0)
    assert flow.seen[0][1] == flow_spectrum._LOST
    assert flow.march.events == {"a": 1, "b": 1}
    for change in ({"ok": False}, {"ends": 0.5 * (1 - 1e-8)}):
        flow = Flow(monkeypatch, None, None)
        vars(flow.march).update(change)
        with pytest.raises(StepFailed, match="does not go on"):
            flow.go()
    flow = Flow(monkeypatch, None, None)
    flow.march.factor, flow.march.ends = np.inf, 0.5 * (1 - 1e-10)
    with pytest.raises(StepFailed, match="grazing"):
        flow.go()


# ---------------------------------------------------------------- cycles


@for_each(
    ("autonomous", "moves", "seed"), itertools.product((False, True), (False, True), range(3))
)
def test_a_cycle_is_a_zero_of_what_its_run_misses(monkeypatch, autonomous, moves, seed):
    """Without a period of its own it lies in the plane through its anchor, across its rate."""
    n, rng, said = 2, np.random.default_rng(seed), []
    x, anchor, along, end, rate = rng.normal(size=(5, n))
    S, stays, by_start = (
        rng.normal(size=(n + 1, n + 1)),
        rng.normal(size=(n, n)),
        rng.normal(size=n),
    )
    T, by_p, peak, scale = (
        0.7,
        1.3,
        rng.normal(size=(4, n + 1)),
        rng.uniform(1, 2, n + 1 + autonomous),
    )
    run = space(
        march=space(end=lambda: (T, end, None, S), steps=space(y=peak)),
        rates=[None, np.append(rate, 9.0)],
    )
    for name, way in (("events_of", lambda run: [space(kind="impact", contact="a")]), ("shorter", lambda *given: said.append(given) or (("repeats", 2),)),
                      ("multipliers_of", lambda M, kept, alone: (M, kept, alone))):  # fmt: skip
        monkeypatch.setattr(cycles, name, way)
    held = space(along=lambda rho, x, place: (stays, by_start * moves))
    one = space(n=n, _split=lambda u: (x, T), _last=None, _shoot=lambda x, T: said.append("run") or run, _check_begin=lambda run: None, held=held, rho="rho",
                place=0, _by_p=None if autonomous else "formula", _of_rho=lambda formula: by_p, autonomous=autonomous, along=along, scale=scale,
                anchor=anchor, count=3, mode=4)  # fmt: skip
    u = np.arange(3.0)
    got = cycles.Cycles.evaluate(one, u, full=False)
    M, moved = S[:n, :n] @ stays, S[:n, n] + S[:n, :n] @ by_start * moves
    unit = np.maximum(abs(peak[:, :n]).max(axis=0), 1e-3 * abs(peak[:, :n]).max())
    G, size = end - x, (abs(end - x) / unit).max()
    if autonomous:
        way = along / np.sqrt(((along * scale[:n]) ** 2).sum())
        G = [*G, way @ (x - anchor)]
        J = np.vstack([np.column_stack([M - np.eye(n), rate, moved]), [*way, 0.0, 0.0]])
        size = max(size, abs(G[-1]))
    else:
        J = np.column_stack([M - np.eye(n), moved + rate * by_p])
    np.testing.assert_allclose(got.G, G, rtol=1e-12)
    np.testing.assert_allclose(got.jacobian, J, rtol=1e-12)
    assert got.size == pytest.approx(size)
    assert got.sequence == (("impact", "a"), ("repeats", 2))
    assert said[0] == "run"
    assert said[1][0] is run
    EQUAL(said[1][4], unit)
    EQUAL(got.data.monodromy, M)
    assert got.data.multipliers[1:] == (round(np.trace(stays)), autonomous)
    cycles.Cycles.evaluate(one, u, full=False)
    assert said.count("run") == 1  # of the same unknowns
    cycles.Cycles.evaluate(one, u + 1, full=False)
    assert said.count("run") == 2
    S[0, 0] = np.nan
    with pytest.raises(BadValue, match="grazes"):
        cycles.Cycles.evaluate(one, u, full=False)


# ---------------------------------------------------------------- branches


def node(*w, tangent=(0.0, 1.0)):
    return space(
        w=np.array(w), p=w[-1], tangent=np.array(tangent), at=space(sequence=[], margins={})
    )


@for_each("way", (1.0, -1.0))
@for_each(
    ("sizes", "kept"),
    [
        ([1e7], 1),
        ([5.0, 1e7], 1),
        ([30.0, 1e7], 1),
        ([5.0, 15.0, 25.0, 1e7], 2),
        ([5.0, 25.0, 15.0, 1e7], 3),
    ],
)
def test_of_a_branch_that_goes_to_infinity_the_points_far_out_are_left_out(
    monkeypatch, sizes, kept, way
):
    """Beyond 20 times the first state; of a piece that begins there its first point is left."""
    start = node(1.0, 0.0)
    nodes = [node(x, 1.0 - 1e-4, tangent=(1.0, way * 0.05 / x)) for x in sizes]
    told, others = iter(nodes[1:]), iter([node(1.5, 0.5), nodes[0]])

    def correct(problem, guess, *_):
        return None if guess[0] < 2 else (next(told), 9)

    monkeypatch.setattr(trace, "correct", correct)
    monkeypatch.setattr(trace, "_at_margin", lambda *_: space(kind="phase"))
    monkeypatch.setattr(trace, "_near", lambda *_: True)
    monkeypatch.setattr(
        trace, "_join", lambda problem, a, b, options, found: found.pieces[-1].append(b)
    )
    monkeypatch.setattr(trace, "_back", lambda *_: False)
    problem = space(
        n=1, scale=np.array([1.0, 2.0]), settled=lambda node: None, beyond=lambda *_: next(others)
    )
    options = trace.Options(0.1, 1e-3, 1.0, 1e-9, -9.0, 9.0, 50)
    found = trace.trace(problem, start, options)
    assert [len(piece) for piece in found.pieces] == [1, 1, kept]
    assert found.pieces[2] == nodes[:kept]
    pole = 2 * (1.0 - 1e-4 + way * 0.05)
    assert found.reason == f"it goes to infinity, as the parameter comes to {pole:.6g}"


@for_each(("x", "slope", "share", "told"), [
    (11.0, 1.0, 1e-3, (11.0, 0.011)), (-11.0, -1.0, 1e-3, (11.0, 0.011)), (9.9, 1.0, 1e-3, (0.0, 0.0)), (11.0, -1.0, 1e-3, (0.0, 0.0)),
    (11.0, 1.0, 1e-2, (0.0, 0.11)), (11.0, 2.0, 1.5e-2, (11.0, 0.0825)), (11.0, 0.0, 1e-3, (0.0, 0.0)),
])  # fmt: skip
def test_a_branch_is_far_where_its_state_grows_beside_a_parameter_that_hardly_moves(
    x, slope, share, told
):
    """As 1/(p_0 - p) does: p_0 - p = x p'/x'."""
    problem = space(n=2)
    here = node(0.1, x, 0.5, tangent=(3.0, slope, -share))
    assert trace._to_infinity(problem, node(0.5, -1.0, 99.0), here) == pytest.approx(told)
    assert trace._to_infinity(problem, node(0.5, -0.1, 99.0), here) == pytest.approx(told)
    assert trace._to_infinity(problem, node(-2.0, 0.1, 0.5), here) == (0.0, 0.0)


# ---------------------------------------------------------------- basins


def test_basins_become_finer_in_parts_that_last_as_long_as_they_may(monkeypatch):
    """Of 8 starts, then of as many as the time tells, at most four times as many as before, at least 4."""
    now, said, parts, begun = [10.0], [], [], []
    cost = {1: 2.0**-10, 2: 2.0**-10, 3: 1.0}  # s, of a start of each level: sums are exact

    def order(grid, labels):
        for level in cost:

            def tell(some, level=level):
                parts.append((level, len(some)))
                now[0] += cost[level] * len(some)
                return some

            yield level, np.arange(300), tell

    monkeypatch.setattr(finer_basins, "_order", order)
    monkeypatch.setattr(finer_basins, "_put", lambda grid, some, labels: said.extend(some))
    monkeypatch.setattr(finer_basins, "time", space(perf_counter=lambda: now[0]))
    one = space(
        shape=(3, 3),
        _asking=lambda stop: space(begin=begun.append),
        _seen=lambda grid, level, labels, begin: (level, round(now[0] - begin, 6)),
    )
    seen = [*finer_basins.FinerBasins.steps(one)]
    assert begun == [1]
    assert said == [*range(300), *range(300), *range(300)]
    expected, many, room, since, t, pictures = [], 8, finer_basins._FIRST, 0.0, 0.0, []
    for level in cost:
        left = 300
        while left:
            some = min(many, left)
            left -= some
            expected.append((level, some))
            t += cost[level] * some
            many = max(4, min(int(some * room / (cost[level] * some)), 4 * many))
            if t - since > (finer_basins._EARLY if room < finer_basins.EACH else finer_basins.EACH):
                since, room = t, finer_basins.EACH
                pictures.append((level, round(t, 6)))
        since, room = t, finer_basins.EACH
        pictures.append((level, round(t, 6)))
    assert parts == expected
    assert parts[:3] == [(1, 8), (1, 32), (1, 51)]
    assert parts[-12:] == [(3, 256), *[(3, 4)] * 11]
    pictures.append(pictures[-1])
    assert seen == pictures


@for_each("stops", (0, 1, 3))
def test_basins_that_are_stopped_show_what_there_is(monkeypatch, stops):
    parts = []

    def stop():
        return len(parts) >= stops

    def order(grid, labels):
        for level in (2, 1):
            yield level, np.arange(100), lambda some: parts.append(len(some)) or some

    monkeypatch.setattr(finer_basins, "_order", order)
    monkeypatch.setattr(finer_basins, "_put", lambda *_: None)
    monkeypatch.setattr(finer_basins, "time", space(perf_counter=lambda: 0.0))
    one = space(
        shape=(3, 3),
        _asking=lambda stop: space(begin=lambda seeds: None),
        _seen=lambda grid, level, *_: level,
    )
    assert [*finer_basins.FinerBasins.steps(one, stop)] == [2]
    assert parts == [8, 32, 60][:stops]


@for_each(("code", "caught", "t", "told"), [
    (SUCCESS, 0, 1.0, 0), (SUCCESS, 3, 5.0, 3), (SUCCESS, FREE, 5.0, UNDECIDED), (SUCCESS, FREE, 5.0 * (1 - 1e-9), UNDECIDED),
    (SUCCESS, FREE, 5.0 * (1 - 1e-8), ESCAPES), (SUCCESS, FREE, 1.0, ESCAPES), (SUCCESS, ESCAPED, 5.0, ESCAPES), (SUCCESS, ESCAPED, 1.0, ESCAPES),
    (1, 3, 1.0, FAILED), (BEYOND, FREE, 1.0, ESCAPES), (BEYOND, 2, 5.0, ESCAPES), (-1, 3, 5.0, REFUSED), (UNRUN, FREE, 0.0, UNTOLD),
])  # fmt: skip
def test_a_start_is_labelled_by_how_its_run_ends(code, caught, t, told):
    """A run that ends early has left; beside one of another time that comes to its end."""
    seen = space(code=np.array([code, SUCCESS]), caught=np.array([caught, 1]), t=np.array([t, 7.0]))
    rows, asked = np.zeros((2, 3)), []
    question = space(members=lambda first, last: space(t_end=np.array([5.0, 7.0])[first:last]))

    def answer(given, progress, stop):
        asked.append((given, progress, stop))
        return seen

    search = space(
        question=lambda given, known: (
            question if (given is rows, known) == (True, "known") else None
        ),
        known=lambda: "known",
        answer=answer,
    )
    label, times = resolve.Resolve.labels(space(search=search, progress=True, stop="stop"), rows)
    assert label.tolist() == [told, 1]
    assert times.tolist() == [t, 7.0]
    assert asked == [(question, True, "stop")]
