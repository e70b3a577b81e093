"""Where the march of FESD stands between two active sets, as Python runs its kernels."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import NO_ACTIVE_SET, NOT_FINITE, SUCCESS
from explorer.kernels.fesd.structures import FOLD, MULTIPLIER, SURFACE

entering, folding = plain("fesd.enter"), plain("fesd.fold")
marching, recorded = plain("fesd.march"), plain("fesd.recorded")
fixed, sets = plain("fesd.fixed_step_rk"), plain("fesd.active_set")
tangents = plain("fesd.tangents")


class State:
    """Functions of a state: c and its slopes, x' and its slopes by the multipliers."""

    def __init__(self, monkeypatch, seed: int, n: int = 3, n_c: int = 4, n_sel: int = 2):
        rng = np.random.default_rng(seed)
        self.x, self.rate, self.by_sel = (
            rng.normal(size=n),
            rng.normal(size=n),
            rng.normal(size=(n, n_sel)),
        )
        self.c, self.by_x, self.by_t = (
            rng.normal(size=n_c),
            rng.normal(size=(n_c, n)),
            rng.normal(size=n_c),
        )
        problem = SimpleNamespace(
            n_x=n, n_c=n_c, n_sel=n_sel, inp=np.full(1 + n + n_sel, np.nan), out=np.full(99, np.nan),
            c=np.full(n_c * (2 + n), np.nan),
        )  # fmt: skip
        mode = SimpleNamespace(sign=np.full(n_c, 1, np.int8))
        self.ws = SimpleNamespace(
            element=SimpleNamespace(problem=problem, mode=mode), end=rng.normal(size=n_sel),
            pattern=SimpleNamespace(near=np.full(n_c, -1)),
            start=SimpleNamespace(c=np.full(n_c, np.nan), tolerance=np.full(n_c, np.nan)),
        )  # fmt: skip
        self.phases = SimpleNamespace(
            t=np.zeros(2), slope=np.full(2, np.nan), x=np.zeros((2, n)), before=np.zeros((2, n))
        )

        def switching(problem):
            assert problem.inp.tolist() == [self.t, *self.x, *self.ws.end]
            problem.c[:] = np.concatenate([self.c, self.by_x.ravel(), self.by_t])

        def flow(problem):
            told = [self.rate, np.full(n * n, np.nan), self.by_sel.ravel()]
            problem.out[: n + n * n + n * n_sel] = np.concatenate(told)

        space = entering.look.__globals__
        monkeypatch.setitem(space, "switching", switching)
        monkeypatch.setitem(space, "flow", flow)

    def look(self, kind=0, which=-1, t=2.0, h=0.1) -> int:
        self.t = t
        return entering.look(self.ws, t, self.x, h, kind, which, self.phases, 1)

    def sizes(self, t=2.0, h=0.1) -> np.ndarray:
        """Return what each c may come to within h, and what t rounds to."""
        moves = np.abs(self.x) + h * (np.abs(self.rate) + np.abs(self.by_sel).sum(axis=1))
        return (h + 1e-3 * t) * np.abs(self.by_t) + np.abs(self.by_x) @ moves


@for_each("seed", range(4))
def test_functions_that_are_zero_beside_what_they_may_come_to_are_listed(monkeypatch, seed):
    state = State(monkeypatch, seed)
    size = state.sizes()
    state.c[:2] = 0.9 * entering.ZERO * size[0], -1.1 * entering.ZERO * size[1]
    assert state.look() == 1
    start, near = state.ws.start, state.ws.pattern.near
    np.testing.assert_allclose(start.tolerance, entering.TOLERANCE * size)
    assert (near[0], start.c[0]) == (0, 0)
    assert start.c[1:].tolist() == state.c[1:].tolist()
    assert state.ws.element.mode.sign.tolist() == [1, *np.sign(state.c[1:])]
    assert state.phases.t[1] == 2.0
    assert state.phases.x[1].tolist() == state.x.tolist()
    assert state.phases.before[1].tolist() == state.rate.tolist()
    assert np.isnan(state.phases.slope[1])


@for_each("seed", range(4))
def test_a_surface_that_is_met_or_slid_on_is_among_them_whatever_its_value(monkeypatch, seed):
    state = State(monkeypatch, seed)
    state.ws.element.mode.sign[:] = [1, 0, -1, 1]
    assert state.look(SURFACE, 2) == 2
    assert state.ws.pattern.near[:2].tolist() == [1, 2]
    assert state.ws.start.c.tolist() == [state.c[0], 0, 0, state.c[3]]
    assert state.ws.element.mode.sign.tolist() == [1, 0, -1, 1], "those of before"
    slope = state.by_t[2] + state.by_x[2] @ state.rate
    assert state.phases.slope[1] == pytest.approx(slope)
    state.c[0] = np.inf
    assert state.look() == -NOT_FINITE


def test_more_zeros_than_can_be_told_apart_are_refused(monkeypatch):
    most = entering.look.__globals__["MOST"]
    for n_c, expected in ((most, most), (most + 1, -NO_ACTIVE_SET)):
        state = State(monkeypatch, 0, n_c=n_c)
        state.c[:] = 0.0
        assert state.look() == expected


@for_each(("end", "which"), [(1.0, 2), (0.0, 2), (1 - 1e-12, 0), (1e-12, 0)])
def test_a_multiplier_at_its_bound_sets_the_side_of_its_function(end, which):
    """alpha_j at 1: c_j > 0; at 0: c_j < 0. It keeps this side, and no other multiplier is banned."""
    mode = SimpleNamespace(sign=np.zeros(3, int))
    element = SimpleNamespace(problem=SimpleNamespace(subsystems=[]), mode=mode)
    told = np.full(3, 0.5)
    told[which] = end
    assert entering.left(SimpleNamespace(element=element, end=told), which) == (which, -1)
    expected = [0, 0, 0]
    expected[which] = 1 if end > 0.5 else -1
    assert mode.sign.tolist() == expected


@for_each(("end", "which", "banned"), [(0.0, 1, 1), (1.0, 1, 2), (1.0, 2, 1), (0.0, 2, 2)])
def test_a_region_whose_part_is_none_is_left_and_one_that_is_all_leaves_the_other(
    end, which, banned
):
    """theta_1 = 1 - theta_2 with w = theta_1; region 0 is known, 3 slides with another multiplier."""
    B = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    mode = SimpleNamespace(B=B, active=[SimpleNamespace(sliding=2)])
    problem = SimpleNamespace(subsystems=[None], n_sel=4)
    told = np.full(4, 0.5)
    told[which] = end
    ws = SimpleNamespace(element=SimpleNamespace(problem=problem, mode=mode), end=told)
    assert entering.left(ws, which) == (entering.ALL, banned)


@for_each(("status", "sel", "told"), [
    (SUCCESS, 0.5, 1), (NO_ACTIVE_SET, 0.5, 0), (SUCCESS, 1 + 2e-9, 0), (SUCCESS, -2e-9, 0), (SUCCESS, 1 + 0.5e-9, 1), (SUCCESS, -0.5e-9, 1),
])  # fmt: skip
def test_an_element_of_a_slide_is_tried_from_its_start(monkeypatch, status, sel, told):
    """With x' and w at the start of all stages; alpha has to lie between 0 and 1 in each of them."""
    s, n, n_sel, asked = 3, 2, 2, []
    newton = [SimpleNamespace(h=7.0, factored=7.0)]
    stages = SimpleNamespace(K=np.full((s, n), np.nan), W=np.full((s, 4), 7.0), sel=np.full((s, n_sel), 0.5))  # fmt: skip
    element = SimpleNamespace(solver=SimpleNamespace(newton=newton), stages=stages, problem=SimpleNamespace(n_x=n, n_sel=n_sel),
                              mode=SimpleNamespace(active=[SimpleNamespace(sliding=2)]))  # fmt: skip
    ws = SimpleNamespace(element=element, start=SimpleNamespace(rate=np.array([3.0, 4.0]), w=np.array([5.0, 6.0, 9.0])))  # fmt: skip

    def solve(el, t, x, end, *given):
        asked.append((t, x, end, *given))
        assert (newton[0].h, newton[0].factored) == (0.25, 0.0)
        assert stages.K.tolist() == [[3.0, 4.0]] * s
        assert stages.W.tolist() == [[5.0, 6.0, 7.0, 7.0]] * s
        return status

    monkeypatch.setitem(folding.solved.__globals__, "element", solve)
    for stage, row in itertools.product(range(s), range(n_sel)):
        stages.sel[:] = 0.5
        stages.sel[stage, row] = sel
        stages.K[:], stages.W[:], newton[0].h, newton[0].factored = np.nan, 7.0, 7.0, 7.0
        assert folding.solved(ws, 1.5, "x", "end", 0.25) == told
    assert asked[-1] == (1.5, "x", "end", 0, 0, 0.0)


@for_each(("most", "fold"), [(1.0, 0.3), (1.0, 2.0), (1.0, 0.9999), (8.0, 1e-3), (1.0, 1e-13)])
def test_the_longest_element_is_found_to_a_thousandth(monkeypatch, most, fold):
    monkeypatch.setitem(folding.longest.__globals__, "solved", lambda ws, t, x, end, length: int(length <= fold))  # fmt: skip
    found = folding.longest(None, 0.0, None, None, most)
    assert found == pytest.approx(min(fold, most), rel=2e-3)
    assert found <= fold
    assert folding.longest(None, 0.0, None, None, most) == found
    monkeypatch.setitem(folding.longest.__globals__, "solved", lambda *given: 0)
    assert folding.longest(None, 0.0, None, None, most) == 0.0


@for_each("entries", [3, 4, 8, 99])
def test_elements_get_shorter_towards_a_fold_and_end_there(monkeypatch, entries):
    """Each has half of the length that is left, and the last, of no length, the whole of it."""
    space, first, t0, fold = folding.furthest.__globals__, 1, 3.0, 3.7
    written = []
    ws = SimpleNamespace(
        element=SimpleNamespace(mode=SimpleNamespace(zeros=[5])), ending=[SimpleNamespace()]
    )
    record = SimpleNamespace(states=np.arange(entries + 1), begin=np.zeros(entries))
    tally = [SimpleNamespace(made=-1)]
    spans = []

    def solved(_, t, x, end, length):
        assert end == x + 1
        spans.append(length)
        return int(t + length <= fold)

    monkeypatch.setitem(space, "solved", solved)
    monkeypatch.setitem(space, "write", lambda _, record, e, t: written.append((e, t, spans[-1])))
    monkeypatch.setitem(space, "follow", lambda _: None)
    assert folding.furthest(ws, record, tally, first, t0, 1.0) == 1
    made = len(written)
    assert tally[0].made == made
    assert (ws.ending[0].kind, ws.ending[0].which, ws.ending[0].bound) == (FOLD, 5, 0)
    assert [e for e, *_ in written] == [*range(first, first + made)]
    assert made <= entries - 1 - first
    reached = t0
    for _, t, length in written[:-1]:
        assert t == pytest.approx(reached)
        assert length == pytest.approx((fold - t) / 2, rel=2e-3)
        reached = t + length
    _, t, length = written[-1]
    assert t == pytest.approx(reached)
    assert t + length == pytest.approx(fold, abs=1e-3 * (fold - t))
    assert made == entries - 1 - first or length <= folding.CLOSE or made == folding.GRADED
    assert folding.furthest(ws, record, tally, entries - 1, t0, 1.0) == 0
    assert folding.furthest(ws, record, tally, first, fold + 1e-9, 1.0) == 0


@for_each(("cycle", "q"), itertools.product((1, 2, 4), (0.3, 0.6, 0.9)))
def test_switches_accumulate_by_a_geometric_series(cycle, q):
    """Phases of a cycle share it; the rest is d q / (1 - q), whatever the unit of time."""
    for unit in (1e-3, 1.0, 1e3):
        end, share = 2.0 * unit, np.linspace(0, 1, cycle, endpoint=False)
        begins = [end - unit * q**k * (1 - s * (1 - q)) for k in range(5) for s in share]
        times, t = np.array(begins[: 4 * cycle]), begins[4 * cycle]
        one = t - times[3 * cycle]
        assert marching.accumulates(times, len(times), t, 1.01 * one) == pytest.approx(end - t)
        assert marching.accumulates(times, len(times), t, 0.99 * one) == 0, "it is too long"
        assert marching.accumulates(times[1:], len(times) - 1, t, 1.01 * one) == 0, "too few"
    even = np.linspace(0, 1, 4 * cycle + 1)
    assert marching.accumulates(even[:-1], 4 * cycle, 1.0, 9.0) == 0
    uneven = np.array([0.0, 0.5, 0.51, 0.515])
    assert marching.accumulates(uneven, 4, 0.51501, 9.0) == 0


def test_a_march_begins_at_time_zero_without_an_active_set():
    """With all multipliers in the middle, and an active set to be chosen."""
    names = ("t", "count", "phases", "kind", "slope", "other", "again", "several", "short")
    now = SimpleNamespace(**dict.fromkeys([*names, "which", "due"], 9))
    ws = SimpleNamespace(
        march=[now], end=np.full(2, 9.0), element=SimpleNamespace(mode=SimpleNamespace(sign=np.full(3, 9)))
    )  # fmt: skip
    phases = SimpleNamespace(slope=np.full(2, 9.0))
    marching.rewind(ws, phases)
    assert {k: v for k, v in vars(now).items() if v} == {"which": -1, "due": 1}
    assert ws.end.tolist() == [0.5, 0.5]
    assert ws.element.mode.sign.tolist() == [0, 0, 0]
    assert phases.slope.tolist() == [0, 9]


@for_each(("kind", "gap"), itertools.product((0, SURFACE, MULTIPLIER), (0.0, 0.1)))
def test_a_phase_that_is_solved_ends_its_interval_or_a_switch_follows(monkeypatch, kind, gap):
    """A switch close to the end of the interval is there."""
    t_next, close, told = 3.0, 1e-9, []
    monkeypatch.setitem(
        marching.conclude.__globals__, "meet", lambda *given: told.append(given[-2:]) or SUCCESS
    )
    monkeypatch.setitem(marching.conclude.__globals__, "copy", lambda *_: told.append("kept"))
    end = t_next - gap
    now = SimpleNamespace(
        count=2, phases=4, wanted=10, again=9, other=9, due=9, kind=9, which=9, back=9, halvings=0, t=0.0
    )  # fmt: skip
    ws = SimpleNamespace(
        march=[now], ending=[SimpleNamespace(kind=kind, which=1)], start=None, kept=SimpleNamespace(before=None)
    )  # fmt: skip
    record = SimpleNamespace(
        begin=np.array([0, 0, end - 0.5, end - 0.25, 9]), length=np.array([0, 0, 0.25, 0.25, 9]),
        interval=np.full(5, -1), phase=np.full(5, -1),
    )  # fmt: skip
    tally = [SimpleNamespace(made=2, elements=0, halvings=6, reached=0.0)]
    assert marching.conclude(ws, record, None, None, tally, 7, t_next, close) == SUCCESS
    last = kind == 0 or gap == 0
    assert (now.kind, now.which, now.due, now.again, now.other) == (kind, 1, int(kind != 0), 0, 0)
    assert record.interval.tolist() == [-1, -1, 7, 7, -1]
    assert record.phase.tolist() == [-1, -1, 3, 3, -1]
    assert now.wanted == 10 + (kind != 0 and not last)
    assert told == [(end, 2)] * (kind != 0) + ["kept"] * (not last)
    assert (now.count, tally[0].elements) == (4, 4)
    assert now.t == tally[0].reached == (t_next if last else end)
    assert record.length[3] == pytest.approx(0.25 + (gap if last else 0))
    assert (now.back, now.halvings) == ((9, 0) if last else (2, 6))


def test_the_last_phase_begins_again_as_it_began(monkeypatch):
    space, told = marching.resume.__globals__, []
    monkeypatch.setitem(space, "restore", lambda el, phases, p: told.append((el, phases, p)))
    monkeypatch.setitem(space, "copy", lambda source, target: told.append((source, target)))
    element = SimpleNamespace(solver=SimpleNamespace(newton=[SimpleNamespace(factored=1.0)]))
    kept = SimpleNamespace(before="start of the phase")
    march = [SimpleNamespace(phases=3)]
    marching.resume(
        SimpleNamespace(element=element, kept=kept, start="start", march=march), "phases"
    )
    assert told == [(element, "phases", 2), ("start of the phase", "start")]
    assert element.solver.newton[0].factored == 0


def test_an_element_is_loaded_as_it_was_solved(monkeypatch):
    """K as it is recorded; of the multipliers those that slide, each in its own column."""
    space, told, rng = recorded.load.__globals__, [], np.random.default_rng(0)
    monkeypatch.setitem(space, "restore", lambda el, phases, p: told.append(p))
    monkeypatch.setitem(space, "hold_at", lambda drive, inp, t, near: told.append((inp, t, near)))
    stages, n, n_sel, slide = 2, 3, 4, [3, 1]
    B = np.zeros((n_sel, len(slide)))
    B[slide, range(len(slide))] = 1.0
    B[0] = -1.0
    el = SimpleNamespace(
        stages=SimpleNamespace(K=np.full((stages, n), np.nan), W=np.full((stages, 2), np.nan)),
        mode=SimpleNamespace(B=B, active=[SimpleNamespace(sliding=2)]),
        problem=SimpleNamespace(n_x=n, n_sel=n_sel, drive=None, inp="inp"),
        solver=SimpleNamespace(newton=[SimpleNamespace(h=0.0, factored=1.0)]),
    )
    record = SimpleNamespace(
        phase=[7, 8, 9], begin=[0.0, 1.0, 2.0], length=[1.0, 1.0, 0.5],
        slopes=rng.normal(size=(3, stages * n)), mult=rng.normal(size=(3, stages * n_sel)),
    )  # fmt: skip
    recorded.load(el, record, None, 2, 0.25)
    assert told == [9, ("inp", 2.0, 0.5e-9)]
    assert el.stages.K.tolist() == record.slopes[2].reshape(stages, n).tolist()
    assert el.stages.W.tolist() == record.mult[2].reshape(stages, n_sel)[:, slide].tolist()
    assert (el.solver.newton[0].h, el.solver.newton[0].factored) == (0.25, 0)


@for_each("part", [1.0, 0.5, 0.125])
def test_multipliers_move_to_their_solution_and_slopes_with_them(part):
    """A part of the way; all of the way they are what was found, and at a bound exactly there."""
    rng, s, n, nv = np.random.default_rng(0), 2, 3, 40
    K, V, z = rng.normal(size=(s, n)), 100 * rng.normal(size=(s, nv)), rng.uniform(size=s * nv)
    z[::5], z[1::5] = 0.3 * fixed.SNAP, 1 - 0.3 * fixed.SNAP
    columns, change = rng.normal(size=(s * nv, s * n)), rng.normal(size=s * n)
    step = SimpleNamespace(
        slopes=SimpleNamespace(columns=columns, change=change.copy()), lcp=SimpleNamespace(z=z),
        unknowns=SimpleNamespace(K=K.copy(), V=V.copy()), groups=SimpleNamespace(member=range(nv)),
    )  # fmt: skip
    fixed.update(step, part)
    z[::5], z[1::5] = 0.0, 1.0
    z = z.reshape(s, nv)
    expected = K.ravel() + part * (change + (z - V).ravel() @ columns)
    np.testing.assert_allclose(step.unknowns.K.ravel(), expected, atol=1e-10)
    np.testing.assert_allclose(step.unknowns.V, V + part * (z - V), atol=1e-13)
    assert part < 1 or step.unknowns.V.tolist() == z.tolist()


@pytest.mark.parametrize(
    ("m", "b", "found"), [(2, 3.0, 0), (0, 3.0, 0), (2, np.nan, -1), (1, -1.0, -1)]
)
def test_a_slide_has_the_multipliers_that_keep_it_on_its_surfaces(monkeypatch, m, b, found):
    """dc/dt = w^2 - b by Newton's method: a root, or none."""
    space = sets.slide.__globals__
    w, solver = (
        np.full(m, 5.0),
        SimpleNamespace(M=np.zeros((m, m)), rhs=np.zeros(m), pivots=np.zeros(m, int)),
    )
    problem = SimpleNamespace(n_x=2, n_sel=1, inp=np.zeros(4), out=np.array([7.0, 8.0]))
    element = SimpleNamespace(
        problem=problem, solver=solver, mode=SimpleNamespace(active=[SimpleNamespace(sliding=m)])
    )
    start = SimpleNamespace(w=w, rate=np.zeros(2))
    ws = SimpleNamespace(
        element=element, start=start, pattern=SimpleNamespace(multipliers=np.zeros(1))
    )

    def keep_on(ws):
        solver.M[:], solver.rhs[:] = np.diag(2 * w), b - w**2
        return np.abs(w**2 - b).max()

    monkeypatch.setitem(space, "multipliers", lambda mode, w, chosen: chosen.fill(0.25))
    monkeypatch.setitem(space, "flow", lambda problem: None)
    monkeypatch.setitem(space, "keep_on", keep_on)
    assert sets.slide(ws) == found
    assert start.rate.tolist() == [7, 8]
    assert problem.inp.tolist() == [0, 0, 0, 0.25]
    if found == 0:
        assert w == pytest.approx(np.full(m, b**0.5))


@for_each("stages", [1, 2, 3])
def test_a_multiplier_that_comes_to_its_bound_has_the_slope_of_its_last_points(monkeypatch, stages):
    monkeypatch.setitem(marching.meet.__globals__, "accumulates", lambda *_: 0.0)
    c, h, rng = np.linspace(0.3, 1.0, stages), 0.2, np.random.default_rng(0)
    sel = rng.normal(size=(stages, 2))
    for kind in (SURFACE, MULTIPLIER):
        now = SimpleNamespace(t=1.0, short=0, phases=0, kind=kind, which=1, slope=9.0, count=0)
        element = SimpleNamespace(
            stages=SimpleNamespace(sel=sel), tableau=SimpleNamespace(c=c),
            solver=SimpleNamespace(newton=[SimpleNamespace(h=h)]),
        )  # fmt: skip
        ws = SimpleNamespace(march=[now], element=element)
        phases, options = SimpleNamespace(t=None), SimpleNamespace(h=0.5)
        assert marching.meet(ws, phases, options, None, 1.2, 1) == SUCCESS
        slope = (sel[-1, 1] - sel[-2, 1]) / (h * (c[-1] - c[-2])) if stages > 1 else 0.0
        assert now.slope == pytest.approx(slope if kind == MULTIPLIER else 0.0)


@for_each(("span", "short", "rest", "told", "left"), [
    (0.2, 3, 0.0, "SUCCESS", 0), (4e-14, 0, 0.0, "SUCCESS", 1), (6e-14, 5, 0.0, "SUCCESS", 0), (4e-14, marching.SHORT, 0.0, "NO_ACTIVE_SET", marching.SHORT + 1),
    (0.2, 3, 0.25, "ACCUMULATION", 0), (4e-14, marching.SHORT - 1, 0.25, "ACCUMULATION", marching.SHORT),
])  # fmt: skip
def test_a_march_ends_where_switches_pile_up_or_stand_still(monkeypatch, span, short, rest, told, left):  # fmt: skip
    """Up to where they accumulate, with the elements that are there; no time passes in 1e-13 of h."""
    asked = []
    monkeypatch.setitem(marching.meet.__globals__, "accumulates", lambda *given: asked.append(given) or rest)  # fmt: skip
    now = SimpleNamespace(t=0.25, short=short, phases=4, kind=SURFACE, which=1, slope=9.0, count=7)
    element = SimpleNamespace(stages=SimpleNamespace(sel=np.zeros((2, 2))), tableau=None, solver=None)  # fmt: skip
    tally = [SimpleNamespace(reached=-1.0, elements=-1)]
    ws, phases = SimpleNamespace(march=[now], element=element), SimpleNamespace(t="t")
    status = marching.meet(ws, phases, SimpleNamespace(h=0.5), tally, 0.25 + span, 3)
    assert status == getattr(marching, told)
    assert now.short == left
    if told == "NO_ACTIVE_SET":
        assert asked == []
        return
    assert asked == [("t", 4, 0.25 + span, 0.5 * marching.ACCUMULATED)]
    ended = told == "ACCUMULATION"
    assert (tally[0].reached, tally[0].elements) == ((0.25 + span + rest, 10) if ended else (-1.0, -1))  # fmt: skip
    assert now.slope == (9.0 if ended else 0.0)


@for_each(("lost", "again", "due", "kind", "other", "back", "split", "halvings", "told"), [
    (False, 0, 1, "MULTIPLIER", 0, 2, True, 0, (False, [])), (True, 1, 1, "MULTIPLIER", 0, 2, True, 0, (False, [])), (True, 0, 1, "MULTIPLIER", 0, 2, True, 0, (True, ["choose"])),
    (True, 0, 0, "MULTIPLIER", 0, 2, True, 0, (True, ["back"])), (True, 0, 1, "SURFACE", 0, 0, True, 0, (True, ["back"])), (True, 0, 1, "MULTIPLIER", 1, 2, True, 0, (True, ["back"])),
    (True, 0, 0, "SURFACE", 0, -1, True, 0, (False, [])), (True, 0, 0, "SURFACE", 0, 2, False, 0, (False, [])), (True, 0, 0, "SURFACE", 0, 2, True, marching.FINER - 1, (False, [])),
    (True, 0, 0, "SURFACE", 0, 2, True, marching.FINER - 2, (True, ["back"])),
])  # fmt: skip
def test_a_march_that_is_lost_takes_another_set_or_goes_back_a_phase(monkeypatch, lost, again, due, kind, other, back, split, halvings, told):  # fmt: skip
    """Once, while elements may become shorter; a set that a multiplier has chosen comes first."""
    done = []
    for name in ("choose_again", "go_back"):
        monkeypatch.setitem(marching.retreats.__globals__, name, lambda *given, name=name: done.append(name))  # fmt: skip
    now = SimpleNamespace(again=again, due=due, kind=getattr(marching, kind, SURFACE), other=other, back=back, halvings=halvings)  # fmt: skip
    ws = SimpleNamespace(march=[now])
    assert marching.retreats(ws, None, None, SimpleNamespace(split=split), lost) == told[0]
    assert done == [{"choose": "choose_again", "back": "go_back"}[one] for one in told[1]]


@for_each(("consistent", "several"), [(1, 6), (2, 5), (3, 5)])
def test_a_march_goes_back_to_the_begin_of_its_last_phase(consistent, several):
    now = SimpleNamespace(count=9, back=4, t=7.0, phases=3, several=6, wanted=8, again=0, other=1)
    record = SimpleNamespace(begin=np.arange(9.0) / 2)
    switches = [SimpleNamespace(consistent=c) for c in (9, 9, consistent, 9)]
    marching.go_back(SimpleNamespace(march=[now]), record, SimpleNamespace(switches=switches))
    assert vars(now) == {"count": 4, "back": 4, "t": 2.0, "phases": 2, "several": several, "wanted": 7, "again": 1, "other": 0}  # fmt: skip


@for_each("p", [0, 2])
def test_a_cost_is_summed_over_the_points_of_an_element_with_its_derivatives(monkeypatch, p):
    """h sum b_i g_i, and by each column: d(h b g) with dt, dx, dalpha, and drho where it is one."""
    rng, n, n_sel, n_r, s, h = np.random.default_rng(p), 2, 3, 4, 3, 0.2
    b, c, wrt = rng.uniform(size=s), rng.uniform(size=s), np.array([3, -1][:p], int)
    g = rng.normal(size=(s, 2 + n + n_sel + n_r))  # value, by t, by x and alpha, by rho
    stages, at = rng.normal(size=(s, p + 2, n + n_sel)), [-1]
    space, asked = tangents.spends.__globals__, SimpleNamespace(wrt=wrt, stage=np.zeros(n + n_sel))

    def call(address, data, out, inp):
        assert (address, data) == (7, 9)
        out[: g.shape[1]] = g[at[0]]

    def moves(ws, asked, before, i, j):
        asked.stage[:] = stages[i, j]

    monkeypatch.setitem(space, "at_stage", lambda ws, t, x, i: at.__setitem__(0, i))
    monkeypatch.setitem(space, "call", call)
    monkeypatch.setitem(space, "moves", moves)
    problem = SimpleNamespace(
        out=np.full(20, np.nan),
        n_x=n,
        n_sel=n_sel,
        inp=None,
        cost=SimpleNamespace(address=7, data=9),
    )
    ws = SimpleNamespace(element=SimpleNamespace(
        problem=problem, tableau=SimpleNamespace(b=b, c=c),
        solver=SimpleNamespace(newton=[SimpleNamespace(h=h)]),
    ))  # fmt: skip
    before, behind, own = rng.normal(size=(p + 1, n + 2)), np.zeros((p + 1, n + 2)), np.zeros(n + 2)
    assert tangents.spends(ws, asked, 0.0, None, before, behind, own) == pytest.approx(
        h * b @ g[:, 0]
    )
    if p == 0:
        assert not behind.any()
        return
    by = np.einsum("isk,ik->is", stages, g[:, 2 : 2 + n + n_sel])  # of each column
    by[:, : p + 1] += np.outer(g[:, 1], before[:, n + 1])
    by[:, p + 1] += g[:, 1] * c
    by[:, 0] += g[:, 2 + n + n_sel + 3]
    assert behind[:, n] == pytest.approx(h * b @ by[:, : p + 1])
    assert own[n] == pytest.approx(h * b @ by[:, p + 1] + b @ g[:, 0])
