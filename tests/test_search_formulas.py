"""What a located event, a flow and a march are made of, uncompiled, each against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import HIDDEN, NONE
from explorer.kernels.model.structures import FORCE, STEP

locating, leaving = plain("event_driven.locate_event"), plain("event_driven.transition")
flowing, back = plain("event_driven.flow"), plain("event_driven.adjoint")
changing, clashing = plain("event_driven.saltation"), plain("event_driven.contradiction")
linear = plain("time_stepping.newmark_linear")
iteration, whole = plain("time_stepping.newmark_iteration"), plain("time_stepping.newmark")
marching = plain("time_stepping.march")
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal
SAMPLES = locating.SAMPLES


# ---------------------------------------------------------------- events within a step


def test_guards_are_sampled_inside_a_step_and_near_both_ends(monkeypatch):
    """At the states of its polynomial, the first row aside, which holds those at the start."""
    count, h, t, asked = 2, 0.5, 3.0, []

    def dense_value(polynomial, s, n_x, x):
        assert n_x == 1
        x[0] = s**2

    def guards(problem, automaton, time, x, values):
        asked.append(time)
        values[:3] = x[0], -x[0], 9.0

    put(monkeypatch, locating.sample, dense_value=dense_value, guards=guards)
    samples = np.full((SAMPLES + 3, 3), np.nan)
    search = space(samples=samples, x=np.zeros(2), values=np.zeros(3))
    locating.sample(space(sizes=space(n_x=1)), None, space(t=t, h=h), search, count)
    s = np.array([*np.arange(1, SAMPLES + 1) / SAMPLES, locating.END, 1 - locating.END])
    np.testing.assert_allclose(asked, t + h * s)
    np.testing.assert_allclose(samples[1:, :2], np.stack([s**2, -(s**2)], axis=1))
    assert np.isnan(samples[0]).all()
    assert np.isnan(samples[:, 2]).all()


@for_each(("fractions", "changes", "winner"), [
    ([2.0, 2.0, 2.0], (), NONE), ([0.5, 0.4, 0.6], (), 1), ([0.5, 0.5, 0.5], (), 0), ([0.5, 0.5 - 1e-13, 2.0], (), 1),
    ([0.5, 0.5 - 1e-13, 2.0], (1,), 0), ([0.5, 0.5 - 1e-11, 2.0], (1,), 1), ([2.0, 2.0, 1.0], (2,), 2), ([2.0 - 1e-13, 2.0, 2.0], (0,), 0),
    ([0.9, 0.3, 0.3 - 1e-13], (1, 2), 1),
])  # fmt: skip
def test_the_first_guard_that_fires_is_the_event(monkeypatch, fractions, changes, winner):
    """A change of constraints gives way to what fires at the same instant but for round-off."""
    found, limits = space(fraction=None, slope=None, blur=None), []

    def fires(problem, automaton, polynomial, search, j, best, final, band):
        limits.append(best)
        assert (final, band) == (True, 0.1)
        found.slope = -(j + 1.0)
        return fractions[j]

    put(monkeypatch, locating.first_event, guard_count=lambda *_: 3, sample=lambda *given: None, loses_a_gap=lambda *_: False,
        blurring=lambda samples, count, band: 0.5 * count * band, fires=fires, is_change=lambda problem, j: j in changes)  # fmt: skip
    search = space(found=[found], samples=None)
    assert locating.first_event(None, None, None, search, True, 0.1, True) == winner
    assert (found.fraction, found.slope) == (
        (fractions[winner], -(winner + 1.0)) if winner >= 0 else (2.0, 0.0)
    )
    assert found.blur == pytest.approx(0.15)
    best = [2.0]
    for j in range(2):
        tie = 1e-12 if best[-1] < 2.0 and j in changes else 0.0
        best.append(fractions[j] if fractions[j] < best[-1] - tie else best[-1])
    assert limits == best


@for_each(("blur", "patient", "lost"), itertools.product((1.0, 1.01), (True, False), (True, False)))
def test_samples_that_hide_a_guard_are_no_answer(monkeypatch, blur, patient, lost):
    found = space(fraction=None, slope=None, blur=None)
    put(
        monkeypatch,
        locating.first_event,
        guard_count=lambda *_: 0,
        sample=lambda *_: None,
        loses_a_gap=lambda *_: lost,
        blurring=lambda *_: blur,
    )
    told = locating.first_event(
        None, None, None, space(found=[found], samples=None), False, 0.1, patient
    )
    assert told == (HIDDEN if lost or (blur > 1 and patient) else NONE)
    assert found.blur == (np.inf if lost else blur)


@for_each(("mode", "j"), itertools.product((0, 1, 2), (0, 1, 2)))
def test_a_guard_has_the_flags_of_its_mode(mode, j):
    """Behind those of the modes before; a contact bounds the motion."""
    problem = space(sizes=space(mechanical=False), state=[space(mode=mode)])
    automaton = space(first=[0, 3, 5], guards=[space(flags=10 + k) for k in range(8)])
    assert locating.flags_of(problem, automaton, j) == 10 + [0, 3, 5][mode] + j
    problem.sizes.mechanical = True
    assert locating.flags_of(problem, automaton, j) == locating.BOUNDS


@for_each("flows", (True, False))
def test_a_guard_bends_as_its_slope_along_the_flow_changes(monkeypatch, flows):
    """(D(t) - D(t - s)) / s; time, state and f- are left as they were, all else is not touched."""
    nx, back_by, asked = 2, 0.25, []
    at = space(x_minus=1, x_plus=5, f_minus=9, f_plus=13)
    row = 100.0 + np.arange(18)
    x, f = np.array([1.0, 2.0, 3.0]), np.array([0.4, -0.8, 1.2])
    row[1:4], row[9:12] = x, f
    head = space(D=np.nan, bend=np.nan)

    def flow(problem, t, state, rates, width):
        asked.append((t, *state[:3]))
        rates[:3] = f if t == 5.0 else 10.0
        return SUCCESS if flows or t == 5.0 else FAILS

    def guard_gradient(problem, automaton, j, event):
        assert j == 4
        now = asked[-1][0] == 5.0
        EQUAL(row[9:12], f if now else [10.0] * 3)
        head.D = 7.0 if now else 3.0

    put(monkeypatch, changing.bend, flow=flow, guard_gradient=guard_gradient)
    event = space(row=row, at=at, head=[head])
    changing.bend(space(sizes=space(n_x=nx), inp=np.array([5.0])), None, 4, back_by, event)
    before = (4.75, *(x - back_by * f))
    assert asked == [pytest.approx(before), (5.0, *x)]
    EQUAL([*row[1:4], *row[9:12]], [*x, *f])
    EQUAL(row[[0, 4, 8, 12, 16, 17]], [100.0, 104.0, 108.0, 112.0, 116.0, 117.0])
    assert head.D == 7.0
    assert head.bend == pytest.approx(16.0) if flows else np.isnan(head.bend)


@for_each(("part", "told"), [(0.9, -1), (1.1, 1)])
def test_penalties_hide_what_is_small_beside_accelerations(monkeypatch, part, told):
    """Two equal rows of length 3: 1e-3 of the largest acceleration."""
    rates, inp = 12, np.zeros(20)
    inp[rates : rates + 8] = [99.0, 99.0, 0.5, -2.0, 99.0, 99.0, 99.0, 99.0]
    gamma = np.array([0.0, 3 * 1e-3 * 2.0 * part])
    put(monkeypatch, clashing.contradiction, holds=lambda *_: True, evaluate=lambda table, which, inp, out: out.__setitem__(
        slice(None), [*[np.nan] * 4, 3.0, 0.0, 3.0, 0.0, *gamma]))  # fmt: skip
    problem = space(
        sizes=space(n=2, n_c=0, n_t=0, rows=2, penalty=9, rates=rates), functions=space(table=None), out=np.empty(10), inp=inp,
        saddle=space(W=np.full((4, 4), np.nan)), state=[space(dependent=1, form=clashing.PENALTY)],
    )  # fmt: skip
    # with penalties a part of 1e-3 of the terms of gamma counts as well
    gamma[1] += 0.0 if told < 0 else 1e-3 * gamma[1]
    assert clashing.contradiction(problem, 0.0, np.zeros(4), 1.0) == told


@for_each(("sigma", "speeds", "held", "told"), [
    ((1, 0), (0.0, 0.0), 2, None), ((1, -1), (0.0, 0.0), 2, (0, 1, 1, 1, 1)), ((0, 1), (9.0, 1e4), 2, (0, 1, 0, 1, 1)), ((0, 1), (0.0, 1.1e4), 2, None),
    ((1, 1), (1.1e4, -1e4), 2, (0, 1, 0, 1, 1)), ((1, 1), (0.0, 0.0), 3, (0, 1, 1, 1, 1)), ((1, 0), (-1e4, 0.0), 3, (0, 1, 1, 0, 1)), ((0, 1), (0.0, 0.0), 3, None),
])  # fmt: skip
def test_tangents_that_one_has_kept_still_are_decided_anew(monkeypatch, sigma, speeds, held, told):
    """Of two contacts, the tangents 2 and 3 and a constraint; what slides fast is not held back."""
    said = []
    put(
        monkeypatch,
        leaving.let_others_follow,
        speeds=lambda *_: None,
        settle=lambda *given: said.append(given[2:]) or FAILS,
    )
    rows = [
        space(closed=c, sigma=s) for c, s in ((0, 0), (1, 0), (0, sigma[0]), (0, sigma[1]), (1, 0))
    ]
    prior = [space(speed=s, prior=9) for s in (0.0, 0.0, *speeds, 0.0)]
    problem = space(sizes=space(n_c=2, n_t=2, rows=5), rows=rows)
    status = leaving.let_others_follow(problem, space(rows=prior), held, -1, 0.1, 1.0)
    assert status == (SUCCESS if told is None else FAILS)
    assert said == ([] if told is None else [(0.1, 1.0, held, -1)])
    assert tuple(one.prior for one in prior) == (told or (9,) * 5)


# ---------------------------------------------------------------- a flow and its adjoint


@for_each(("mechanical", "cost", "width"), itertools.product((True, False), (-1, 6), range(3)))
def test_a_running_cost_flows_with_its_derivatives(monkeypatch, mechanical, cost, width):
    """l_x S + l_f S' + l_rho + l_lam of the forces, by each column."""
    nx, rows, nr, rng, said = 3, 2, 4, np.random.default_rng(width), []
    block, wrt, status = nx + 1, np.array([2, -1]), [SUCCESS]
    y, slopes, told = (
        rng.normal(size=3 * block),
        rng.normal(size=(3, nx)),
        rng.normal(size=1 + 2 * nx + rows + nr),
    )
    forces, dy, inp, out = (
        rng.normal(size=(2, rows)),
        np.full(3 * block, np.nan),
        np.full(12, np.nan),
        np.full(30, np.nan),
    )

    def motion(problem, y, dy, width):
        for k in range(width + 1):
            dy[k * block : k * block + nx] = slopes[k]
        said.append("motion" if mechanical else "field")
        EQUAL(inp[:4], [0.7, *y[:nx]])
        EQUAL(inp[8:10], [1.0, -1.0])
        return status[0]

    def evaluate(table, which, inp, given):
        said.append(which)
        given[: len(told)] = told

    put(
        monkeypatch,
        flowing.slopes,
        **{"motion" if mechanical else "field": motion},
        evaluate=evaluate,
    )
    problem = space(sizes=space(n_x=nx, rows=rows, mechanical=mechanical), inp=inp, out=out, wrt=wrt, functions=space(table=None, cost=cost),
                    sides=np.array([(8, 1), (9, -1)], [("place", int), ("now", int)]).view(np.recarray), saddle=space(forces=forces))  # fmt: skip
    assert flowing.slopes(problem, 0.7, y, dy, width) == SUCCESS
    expected = np.full((3, block), np.nan)
    expected[: width + 1, :nx], expected[: width + 1, nx] = slopes[: width + 1], 0.0
    if cost >= 0:
        expected[0, nx], S = told[0], y.reshape(3, block)[1:, :nx]
        for k in range(width):
            expected[k + 1, nx] = (told[1 : 1 + nx] @ S[k] + told[1 + nx : 1 + 2 * nx] @ slopes[k + 1] + told[1 + 2 * nx :][:rows] @ forces[k]
                                   + (told[1 + 2 * nx + rows + wrt[k]] if wrt[k] >= 0 else 0.0))  # fmt: skip
    np.testing.assert_allclose(dy.reshape(3, block), expected, rtol=1e-12)
    assert said == ["motion" if mechanical else "field", *[6] * (cost >= 0)]
    status[0] = FAILS
    assert flowing.slopes(problem, 0.7, y, dy, width) == (FAILS if mechanical else SUCCESS)


@for_each(("held", "steps", "fails"), itertools.product((True, False), (3, 1, 0), (None, 2)))
def test_an_adjoint_goes_back_through_steps_and_events(monkeypatch, held, steps, fails):
    """And at t = 0 to the constraints, where there are any."""
    said = []
    kinds = [
        (back.STEP_ROW, 0),
        (back.JUMP_ROW, 0),
        (back.STEP_ROW, 1),
        (back.JUMP_ROW + back.STEP_ROW + 5, 1),
        (back.STEP_ROW, 2),
    ]
    walk = np.array(kinds, [("kind", int), ("number", int)]).view(np.recarray)

    def step_back(problem, method, steps, i, sweep, times):
        said.append(("step", i, times))
        return FAILS if i == fails else SUCCESS

    def leap(problem, event, i, jumps, sweep, waiting, jumps_now):
        (head,) = event.head
        said.append(("event", i, head, event.row, waiting, jumps_now))
        return waiting + 0.5

    put(monkeypatch, back.backward, restore=lambda problem, states, r: said.append(("rows", states, r)), step_back=step_back, leap=leap,
        counted=lambda walk, r: 10 + r, constrained=lambda problem: held, at_stage=lambda problem, stage, many: ("at", stage, many),
        pull_back_projection=lambda here, t, y, mu, gradient: said.append((here, t, y.tolist(), mu, gradient)) or 5)  # fmt: skip
    sweep = space(stages=np.full((2, 2), np.nan), mu="mu", gradient="gradient")
    told = space(
        t=np.arange(float(steps)), y=np.array([[3.0, 4.0, 9.0], [5.0, 6.0, 9.0]]), state="first"
    )
    events = space(head=["first", "last"], parts=["a", "b"], at=None)
    status = back.backward(space(), space(stages=6), told, events, space(), walk, "states", sweep)
    expected = [("rows", "states", 4), ("step", 2, 14)]
    if fails is not None:
        assert (status, said) == (FAILS, expected)
        return
    expected += [
        ("event", 1, "last", "b", 0.0, False),
        ("rows", "states", 2),
        ("step", 1, 12),
        ("event", 0, "first", "a", 0.5, True),
        ("rows", "states", 0),
        ("step", 0, 10),
    ]
    ends = held and steps > 0
    if ends:
        expected += [("rows", "first", 0), (("at", 0, 7), 0.0, [3.0, 4.0], "mu", "gradient")]
    assert said == expected
    assert status == (5 if ends else SUCCESS)


# ---------------------------------------------------------------- Newmark's matrices, and a march


@for_each(("n", "moves", "springs"), itertools.product((1, 3), (False, True), (0, 2)))
def test_forces_and_their_matrices_are_taken_at_the_iterate(monkeypatch, n, moves, springs):
    """K = -F_q and, of a mass that moves, (M a)_q beside it; what is added to is made zero before."""
    said, inp, rng = [], np.full(3 * n + 1, 9.0), np.random.default_rng(n)
    at_K = np.array([0]) if n == 1 else np.array([0, 1, 3, 4, 5, 7, 8])
    at_C, inertia = at_K, np.array([0, n * n - 1][: 1 + (n > 1)])
    told, moved = rng.normal(size=n + 2 * len(at_K)), rng.normal(size=len(inertia))
    K, C, out = np.full((n, n), 7.0), np.full((n, n), 7.0), np.full(40, np.nan)

    def evaluate(bundles, which):
        said.append(which)
        if which == STEP:
            out[: len(told)] = told
        else:
            EQUAL(inp[-n:], work.a_m)
            out[: len(moved)] = moved

    def bilinear(bundles, held, F, K_flat, tangent):
        said.append(("springs", tangent))
        F += 1.0
        K_flat[0] += 100.0

    put(
        monkeypatch,
        iteration.linearise,
        evaluate=evaluate,
        mass=lambda problem: said.append("mass"),
        bilinear=bilinear,
    )
    work = space(F=np.zeros(n), a_m=rng.normal(size=n), x=np.zeros(n))
    problem = space(bundles=space(inp=inp, out=out), matrices=space(K=K, K_flat=K.ravel(), C_flat=C.ravel()), bands=space(below=1, above=1),
                    places=space(K=at_K, C=at_C, inertia=inertia), method=space(share=0.6), options=space(moves=moves),
                    springs=space(committed=np.zeros(springs)))  # fmt: skip
    iteration.linearise(problem, work)
    expected, damping = np.full(n * n, 7.0), np.full(n * n, 7.0)
    if n == 1 or moves or springs:
        band = np.abs(np.subtract.outer(range(n), range(n))) <= 1
        expected[band.ravel()] = 0.0
    expected[at_K], damping[at_C] = -told[n : n + len(at_K)], -told[n + len(at_K) :]
    if moves:
        expected[inertia] += moved / 0.6
    expected[0] += 100.0 * (springs > 0)
    np.testing.assert_allclose(K.ravel(), expected)
    np.testing.assert_allclose(C.ravel(), damping)
    np.testing.assert_allclose(work.F, told[:n] + (springs > 0))
    assert said == [
        STEP,
        *["mass", iteration.INERTIA] * moves,
        *[("springs", True)] * (springs > 0),
    ]
    EQUAL(inp[:-n], [9.0] * (2 * n + 1))


@for_each(("moves", "singular"), itertools.product((False, True), (False, True)))
def test_accelerations_of_newmark_jump_with_the_inputs(monkeypatch, moves, singular):
    """By M^-1 (F+ - F-), with M in its band; the step begins anew there."""
    n, k, rng, said = 4, 3, np.random.default_rng(1), []
    full = np.triu(np.tril(rng.normal(size=(n, n)) + 4 * np.eye(n), 1), -1)
    M = np.where(full == 0, 9.0, full)  # what lies beyond the band is not looked at
    if singular:
        M[0, :2] = 0.0
    q, v, a = rng.normal(size=(3, 3, n))
    before, after = rng.normal(size=(2, n))
    out, told, inp = np.full(9, np.nan), iter([before, after]), np.full(1 + 2 * n, np.nan)
    a0, true0 = a.copy(), rng.normal(size=n)

    def evaluate(bundles, which):
        said.append(which)
        out[:n] = next(told)

    def fill(inp, t, q, v, n):
        inp[:] = [t, *q, *v]

    put(monkeypatch, whole.cross, evaluate=evaluate, fill=fill, mass=lambda problem: said.append("mass"), begin=lambda problem, record, work, row: said.append(("begin", row)),
        hold=lambda drive, inp, k: said.append(("hold", drive, k)))  # fmt: skip
    work = space(
        W=np.full((n, n), 5.0),
        r=np.zeros(n),
        x=np.zeros(n),
        pivots=np.zeros(n, int),
        true0=true0.copy(),
    )
    problem = space(
        bundles=space(inp=inp, out=out),
        bands=space(mass_below=1, mass_above=1),
        matrices=space(M=M),
        options=space(moves=moves),
        grid=space(drive="drive"),
    )
    told_so = whole.cross(problem, space(t=np.array([0.0, 1.5, 9.0]), q=q, v=v, a=a), work, 1, k)
    EQUAL(inp, [1.5, *q[1], *v[1]])
    assert told_so == (not singular)
    if singular:
        assert said == ["mass"] * moves
        EQUAL(a, a0)
        return
    assert said == [*["mass"] * moves, FORCE, ("hold", "drive", k), FORCE, ("begin", 1)]
    jump = np.linalg.solve(full, after - before)
    a0[1] += jump
    np.testing.assert_allclose(a, a0, rtol=1e-10)
    np.testing.assert_allclose(work.true0, true0 + jump, rtol=1e-10)


@for_each(("am", "row", "h", "breaks", "moves"), [
    (0.4, 1, 0.3, False, True), (0.4, 1, 0.2, False, False), (0.4, 1, 0.3, True, False), (0.4, 0, 0.3, False, False), (0.1, 1, 0.3, False, False),
    (0.4, 1, 0.2, True, False), (0.0, 2, 0.1, False, True),
])  # fmt: skip
def test_carried_accelerations_move_with_the_step(monkeypatch, am, row, h, breaks, moves):
    """By (alpha_m - alpha_f) (h - h_before) / h_before of their change; not where inputs change."""
    n, t, rng, taken = 2, np.array([0.0, 0.2, 0.4, 9.0]), np.random.default_rng(1), []
    a = rng.normal(size=(4, n))
    a0 = a[row].copy()
    put(
        monkeypatch,
        linear.step_linear,
        changes_at=lambda grid, at: breaks,
        predict=lambda *given: taken.append(given[-1].copy()),
        correct=lambda *_: True,
    )
    work = space(state=[space(factored=h)], a_moved=np.zeros(n), x=np.zeros(n))
    problem = space(
        method=space(alpha_m=am, alpha_f=0.1, interpolated=False),
        options=None,
        grid=space(even=True),
    )
    assert linear.step_linear(problem, space(t=t, a=a), work, row, h, t[row] + h) == SUCCESS
    expected = a0 + ((am - 0.1) * (h - 0.2) / 0.2 * (a0 - a[row - 1]) if moves else 0.0)
    np.testing.assert_allclose(taken, [expected], rtol=1e-12)


@for_each(("breaks", "even", "steps", "h", "t_end", "told"), [
    ([], True, 0, 0.5, 1.5, [0.5, 1.0, 1.5]), ([], False, 0, 0.4, 1.0, [0.4, 0.8, 1.0]), ([0.7], False, 0, 0.4, 1.0, [0.4, 0.7, "cross 1", 1.0]),
    ([0.5, 0.5 + 1e-11, 0.9], True, 0, 0.5, 1.0, [0.5, "cross 2", 1.0, "cross 3"]), ([0.0, 0.5], True, 0, 0.5, 1.0, [0.5, "cross 2", 1.0]),
    ([], True, 4, 0.25, 1.0, [0.25, 0.5, 0.75, 1.0]), ([-1.0, 1e-10], True, 0, 0.5, 0.5, [0.5]),
])  # fmt: skip
def test_a_march_goes_from_row_to_row_and_over_breaks(
    monkeypatch, breaks, even, steps, h, t_end, told
):
    """With the inputs of the interval that it begins in; a step that is taken again makes no row."""
    said, again = [], [True]
    put(monkeypatch, marching.march, hold=lambda drive, inp, k: said.append(("hold", k)), even_step=lambda t, h, t0, t_end, row, steps: (h, t0 + (row + 1) * h),
        next_step=lambda t, h, t0, end, row, even: (min(h, end - t), min(t + h, end)))  # fmt: skip

    def step(problem, record, work, row, h, t1):
        if again[0]:
            again[0] = False
            return marching.AGAIN
        said.append(pytest.approx(t1))
        return SUCCESS

    regular = [True]

    def cross(problem, record, work, row, k):
        said.append(f"cross {k}")
        return regular[0]

    def run(rows):
        said.clear()
        again[0] = True
        record, state = space(t=np.zeros(rows)), space(row=0, h=h)
        problem = space(
            grid=space(t_end=t_end, steps=steps, even=even, drive=space(t=np.array(breaks))),
            bundles=space(inp=None),
        )
        status = marching.march(
            lambda *given: said.append(("begin", given[3])),
            cross,
            step,
            problem,
            record,
            space(state=[state]),
        )
        return status, record, state

    rows = sum(isinstance(x, float) for x in told)
    status, record, state = run(rows + 1)
    assert status == SUCCESS
    assert said == [("hold", sum(b <= 1e-9 * h for b in breaks)), ("begin", 0), *told]
    EQUAL(record.t[1:], [x for x in told if isinstance(x, float)])
    assert state.row == rows
    assert run(rows)[0] == marching.FULL
    regular[0] = False
    assert run(rows + 1)[0] == (
        marching.BREAK if any(isinstance(x, str) for x in told) else SUCCESS
    )
