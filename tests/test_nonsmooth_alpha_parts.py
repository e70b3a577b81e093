"""Parts of a step of the nonsmooth generalised-alpha method, each against its definition."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain

from explorer.kernels.model.structures import Rows
from explorer.kernels.time_stepping.nonsmooth_alpha_structures import (
    BOTH,
    INSIDE,
    MEAN,
    VELOCITY,
    Method,
    Step,
    workspace,
)

inner, whole = (
    plain("time_stepping.nonsmooth_alpha_iteration"),
    plain("time_stepping.nonsmooth_alpha"),
)
constrained = plain("time_stepping.constrained_alpha")
N, NC, METHOD_AF = 3, 4, 0.4


class Case:
    """Gaps g(t, q) = b t + A q + c q_0^2 of four contacts, and a step."""

    def __init__(self, seed: int, level: int = VELOCITY, constant: bool = False):
        rng = self.rng = np.random.default_rng(seed)
        self.A, self.b = rng.normal(size=(NC, N)), rng.normal(size=NC)
        self.c = np.zeros(NC) if constant else rng.normal(size=NC)
        rows = Rows(np.arange(NC + 1) * N, np.tile(np.arange(N), NC), self.A.ravel().copy())
        self.work = opened(workspace(N, NC, 0.1))
        for vector in self.work[7:]:
            vector[:] = rng.normal(size=len(vector))
        self.work.problem.M[:] = rng.uniform(1, 2, (NC, NC))
        self.work.problem.z[:] = rng.uniform(0, 1, NC)
        self.work.problem.act[:] = rng.permutation(NC)
        self.step = Step(0, 0.1, 1.3, 1.25, 0.004, 0.06, 0.02, 0.3, 0.5)
        self.method = Method(0.2, 0.4, 0.3, 0.6, 1.0, level, False, 0.6, 0.6)
        self.seen = []
        self.problem = SimpleNamespace(
            bundles=SimpleNamespace(inp=np.zeros(1 + 2 * N), out=np.zeros(2 * NC + NC * N)),
            contacts=SimpleNamespace(G=rows, e=np.array([0.0, 0.5, 0.5, 0.8])), method=self.method,
            options=SimpleNamespace(constant=constant),
            matrices=SimpleNamespace(M=rng.normal(size=(N, N)), K=rng.normal(size=(N, N)),
                                     C=rng.normal(size=(N, N))),
        )  # fmt: skip
        inner.look.__globals__["evaluate"] = self.evaluate

    def gap(self, t, q):
        return self.b * t + self.A @ q + self.c * q[0] ** 2

    def slope(self, q):
        G = self.A.copy()
        G[:, 0] += 2 * self.c * q[0]
        return G

    def evaluate(self, bundles, which):
        t, q = bundles.inp[0], bundles.inp[1 : 1 + N]
        self.seen.append(t)
        bundles.out[:NC] = self.gap(t, q)
        bundles.out[NC : 2 * NC] = self.b
        bundles.out[2 * NC :] = self.slope(q).ravel()


@for_each("level", [VELOCITY, BOTH, INSIDE, MEAN])
@for_each("seed", range(6))
def test_what_contacts_demand_of_a_state(seed, level):
    """The velocity of the gap and e times that before; the gap; or the mean of the gaps (1 + e) apart."""
    for constant in (False, True):
        case = Case(seed, level, constant)
        w, e, t0 = case.work, case.problem.contacts.e, 1.2
        d1, v1, before = w.d1, w.v1, w.before
        expected, sizes = [], [1.0]
        for a in w.problem.act:
            share = e[a] if level == MEAN else 0.0
            point, at = (
                (d1 + share * before) / (1 + share),
                (1.3 + share * (t0 - 0.1)) / (1 + share),
            )
            G = case.slope(point)[a]
            speed = case.b[a] + w.e_dot[a] + G @ v1
            expected.append(speed if level == VELOCITY else (1 + share) * case.gap(at, point)[a])
            sizes += list(abs(G * (v1 if level == VELOCITY else point)))
        D, z = w.problem.M.diagonal()[w.problem.act], w.problem.z
        for first in (True, False):
            case.seen.clear()
            fine, miss, size = inner.look(case.problem, w, case.step, t0, NC, first)
            assert fine
            np.testing.assert_allclose(w.problem.q, expected, atol=1e-12)
            assert size == pytest.approx(max(sizes))
            assert miss == (0.0 if first else pytest.approx(abs(np.minimum(expected, D * z)).max()))
        on_one = [e[a] if level == MEAN else 0.0 for a in w.problem.act]
        changes = 1 + sum(x != y for x, y in itertools.pairwise(on_one))
        assert len(case.seen) == changes  # contacts with the same e look at one point
        w.d1[1] = w.v1[1] = np.nan
        assert not inner.look(case.problem, w, case.step, t0, NC, True)[0]
        assert inner.look(case.problem, w, case.step, t0, 0, True) == (True, 0.0, 1.0)


@for_each("seed", range(4))
def test_the_state_of_a_step_follows_from_its_unknowns(seed):
    case = Case(seed)
    w, s, rng = case.work, case.step, case.rng
    record = SimpleNamespace(**{k: rng.normal(size=(2, N)) for k in "qva"})
    q, v, a = record.q[0], record.v[0], record.a[0]
    inner.evaluate_state(case.problem, record, w, s)
    d1 = q + s.h * v + s.h**2 / 2 * a + s.c_d * w.x + s.s_d * w.w
    v1, a1 = v + s.h * a + s.c_v * w.x + s.s_v * w.w, a + w.x
    for got, expected in ((w.d1, d1), (w.v1, v1), (w.a1, a1), (w.d_f, 0.6 * d1 + 0.4 * q),
                          (w.v_f, 0.6 * v1 + 0.4 * v), (w.a_m, 0.8 * a1 + 0.2 * a)):  # fmt: skip
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@for_each("level", [VELOCITY, INSIDE])
@for_each("constant", [False, True])
@for_each("interpolated", [False, True])
@for_each("seed", range(3))
def test_the_residual_and_the_terms_that_cancel_in_it(seed, interpolated, constant, level):
    case = Case(seed, level, constant)
    w, (M, K, C) = case.work, vars(case.problem.matrices).values()
    below, above = seed, 2 - seed
    M[:] = np.triu(np.tril(M, above), -below)
    w.state[0].below, w.state[0].above = below, above
    case.problem.method = case.method._replace(interpolated=interpolated)
    on = w.problem.act[:2]
    push = case.A[on].T @ w.problem.z[:2] * (level == INSIDE)
    norm, scale = inner.residual(case.problem, w, 2)
    r = M @ w.a_m - 0.6 * w.F - 0.4 * w.F0 * interpolated - push
    np.testing.assert_allclose(w.r, r, atol=1e-12)
    assert norm == pytest.approx(np.linalg.norm(r))
    terms = abs(push) + abs(w.F) + abs(M) @ abs(w.a_m)
    if not constant:
        terms = terms + abs(K) @ abs(w.d_f) + abs(C) @ abs(w.v_f)
    assert scale == pytest.approx(terms.max())


@for_each("level", [VELOCITY, BOTH, INSIDE, MEAN])
def test_weights_are_the_derivatives_of_the_state_of_a_step(level):
    """d and v at t_f by x and w, and what the contacts look at: v at the end, or d."""
    case, h = Case(1, level), 0.1
    w, record = case.work, SimpleNamespace(**{k: case.rng.normal(size=(2, N)) for k in "qva"})
    step = whole.coefficients(case.problem, 1.2, 0, h, 1.3)
    assert step.t_f == pytest.approx(1.2 + (1 - METHOD_AF) * h)
    shares = {VELOCITY: (h / 2, 1.0), MEAN: (h, 1.0), BOTH: (1.0, 0.0), INSIDE: (0.0, 0.0)}
    assert (step.s_d, step.s_v) == pytest.approx(shares[level])
    x, first, slopes = w.x.copy(), w.w.copy(), {}
    for name, unknown in (("x", w.x), ("w", w.w)):
        states = []
        for by in (0.0, 1.0):
            w.x[:], w.w[:] = x, first
            unknown += by
            inner.evaluate_state(case.problem, record, w, step)
            states.append(np.array([w.v_f, w.d_f, w.v1, w.d1])[:, 0])
        slopes[name] = states[1] - states[0]
    seen = 2 if level == VELOCITY else 3
    expected = [*slopes["x"][:2], *slopes["w"][:2], slopes["x"][seen], slopes["w"][seen]]
    np.testing.assert_allclose(whole.weights_of(case.problem, step), expected, atol=1e-12)
    case.problem.method = case.method._replace(interpolated=True)
    assert whole.coefficients(case.problem, 1.2, 0, h, 1.3).t_f == 1.3


@for_each(("level", "row"), itertools.product([VELOCITY, BOTH, INSIDE, MEAN], (0, 1)))
def test_contacts_that_take_part_from_the_start_of_a_step(level, row):
    """On velocities those whose gap is closed at the forecast; all on positions and forces."""
    case, h, rng = Case(2, level), 0.1, np.random.default_rng(3)
    case.problem.method = case.method._replace(forecast=0.5)
    gap, speed = np.array([0.04, 0.06, -0.1, 0.01]), np.array([-1.0, -1.0, 3.0, 0.5])
    record = SimpleNamespace(
        **{k: rng.normal(size=(3, N)) for k in "qv"}, p=np.full((3, NC), 9.0), active=np.full((3, NC), 9),
        gap=np.tile(gap, (3, 1)), gap_dot=np.tile(speed, (3, 1)),
    )  # fmt: skip
    w, e, i = case.work, case.problem.contacts.e, row
    w.state[0].before = 0.05
    closed = gap + 0.5 * h * speed <= 0
    assert [*closed] == [True, False, False, False]
    count = whole.active_set(case.problem, record, w, i, h)
    listed = {VELOCITY: np.flatnonzero(closed), BOTH: []}.get(level, np.arange(NC))
    assert [*w.problem.act[:count]] == [*listed]
    assert [*record.active[i + 1]] == [*(closed * (level == VELOCITY)).astype(int)]
    for zero in (record.p[i + 1], w.problem.z, w.x, w.w):
        assert not zero.any()
    np.testing.assert_allclose(w.e_dot, e * speed)
    slope = (record.q[i] - record.q[i - 1]) / 0.05 if i else record.v[i]
    np.testing.assert_allclose(w.before, record.q[i] - h * slope)
    assert w.state[0].before == h


@for_each("seed", range(4))
def test_gaps_and_constraints_of_a_position_are_those_where_it_leads(monkeypatch, seed):
    """With straight ones each correction asks for the gap and for phi = 0 at its own end, less what is known of forces."""
    rng, n, nc, by = np.random.default_rng(seed), 5, 2, 2
    slope, level, d = rng.normal(size=(nc + by, n)), rng.normal(size=nc + by), rng.normal(size=n)
    W = np.zeros((n + by, n + by))
    W[:n, :n] = np.diag(rng.uniform(1, 2, n))
    W[n:, :n], W[:n, n:] = slope[nc:], slope[nc:].T
    out, space, tried = np.full(9, np.nan), constrained.positions.__globals__, []
    rows = Rows(np.arange(nc + by + 1) * n, np.tile(np.arange(n), nc + by), slope.ravel().copy())

    def close(problem, work, step, q):
        out[: nc + by] = level + slope @ q[:n]
        return True

    def answer(problem, work, m, free):
        assert m == nc
        assert [*work.act[:nc]] == [0, 1]
        np.testing.assert_allclose(work.w[:nc], (level + slope @ (d + free[:n]))[:nc], atol=1e-12)
        np.testing.assert_allclose((level + slope @ (d + free[:n]))[nc:], 0.0, atol=1e-12)
        np.testing.assert_allclose(W[:n] @ free, -0.005 * slope[:nc].T @ work.pull, atol=1e-12)
        push = np.linalg.solve(W, np.append(slope[:nc].T @ [0.3, 0.2], np.zeros(by)))
        free[:] += push
        tried.append(free[:n].copy())
        return 0, 0.02

    stand_ins = {"close": close, "answer": answer, "turn": lambda *_: None, "factor": lambda *_: True,
                 "solve_step": lambda saddle, x: x.__setitem__(slice(None), np.linalg.solve(W, x))}  # fmt: skip
    for name, stand_in in stand_ins.items():
        monkeypatch.setitem(space, name, stand_in)
    work = SimpleNamespace(
        shift=np.full(n, np.nan), dx=np.full(n + by, np.nan), zero=np.zeros(n), d=d.copy(), v=np.zeros(n),
        pull=rng.uniform(0, 9, nc),
        act=np.zeros(nc, int), w=np.full(nc, np.nan),
    )  # fmt: skip
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, rows=nc, constraints=by, contacts=nc), G=rows, newton_max=9, saddle=None,
        bundles=SimpleNamespace(out=out), matrices=SimpleNamespace(K=None), outputs=SimpleNamespace(phi=nc),
    )  # fmt: skip
    record, step = (
        SimpleNamespace(residuals=np.zeros((3, 2))),
        SimpleNamespace(row=1, ht=0.1, h=0.1),
    )
    assert constrained.positions(problem, record, work, step, nc) == 0
    assert len(tried) == 2
    np.testing.assert_allclose(work.d, d + tried[-1], rtol=1e-12)
    assert record.residuals[2, 0] == pytest.approx(0.2)
    assert not work.zero.any()


@for_each(("noise", "told"), [(1e-12, "SUCCESS"), (1e-7, "NEWTON_CAP")])
def test_positions_that_fall_no_more_are_at_round_off_if_that_is_small(monkeypatch, noise, told):
    """What cancels in a gap may leave more than the last bits, now to one side and now to the other."""
    n, space, sides = 2, constrained.positions.__globals__, itertools.cycle([1.0, -1.0])

    def shifted(saddle, x):
        x[:] = [0.25, noise * next(sides)]

    for name, stand_in in {
        "close": lambda *_: True, "turn": lambda *_: None, "factor": lambda *_: True, "solve_step": shifted
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    work = SimpleNamespace(
        shift=np.full(n, np.nan),
        dx=np.full(n, np.nan),
        zero=np.zeros(n),
        d=np.ones(n),
        v=np.zeros(n),
    )
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, rows=0, constraints=0, contacts=0), newton_max=30, saddle=None, G=None,
        bundles=SimpleNamespace(out=None), matrices=SimpleNamespace(K=None),
    )  # fmt: skip
    step = SimpleNamespace(row=0, ht=0.1, h=0.1)
    assert constrained.positions(problem, None, work, step, 0) == space[told]
    np.testing.assert_allclose(work.d, [1.25, 1.0], atol=2 * noise)


@for_each("regular", [True, False])
def test_accelerations_and_multipliers_jump_with_the_inputs(monkeypatch, regular):
    """M a - G' lam = F+ - F- and G a = 0; where that has no solution nothing is written."""
    rng, n, by, row, interval = np.random.default_rng(3), 3, 2, 1, [0]
    M, G, forces = np.diag([1.0, 2.0, 3.0]), rng.normal(size=(by, n)), rng.normal(size=(2, n))
    W = np.block([[M, -G.T], [G, np.zeros((by, by))]])
    space = constrained.next_interval.__globals__
    for name, stand_in in {
        "look": lambda *_: True, "evaluate": lambda *_: None, "scatter": lambda *_: None, "all_forces": lambda *_: None,
        "factor": lambda *_: regular, "hold": lambda drive, inp, k: interval.__setitem__(0, k),
        "force": lambda bundles, which, linear, out: out.__setitem__(slice(n), forces[interval[0]]),
        "solve_step": lambda saddle, x: x.__setitem__(slice(None), np.linalg.solve(W, x)),
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    problem = SimpleNamespace(
        bundles=SimpleNamespace(out=None, inp=None), saddle=None, linear=None, grid=SimpleNamespace(drive=None),
        matrices=SimpleNamespace(M_flat=None, places=SimpleNamespace(M=None)),
        sizes=SimpleNamespace(n=n, constraints=by), G=SimpleNamespace(val=np.arange(4.0)),
    )  # fmt: skip
    work = SimpleNamespace(dx=np.full(n + by, np.nan), rows=np.zeros(4), F=np.zeros(n), none=None)
    a, lam = rng.normal(size=(2, n)), rng.normal(size=(2, by))
    record = SimpleNamespace(a=a.copy(), lam=lam.copy())
    assert constrained.next_interval(problem, record, work, row, 1) == regular
    moved = np.append(record.a[row] - a[row], record.lam[row] - lam[row])
    jump = np.append(forces[1] - forces[0], np.zeros(by))
    np.testing.assert_allclose(W @ moved, jump if regular else 0.0, atol=1e-12)
    np.testing.assert_array_equal(record.a[0], a[0])


@for_each("level", [INSIDE, VELOCITY])
@for_each("seed", range(4))
def test_the_end_of_a_step_is_written_with_its_impulses(seed, level):
    """Of a force on the right of M a = F + G' z the impulse is its mean over the step."""
    case = Case(seed, level)
    work, step, rng, m = case.work, case.step, case.rng, 2
    before, z, act = work.force_before, work.problem.z, work.problem.act
    before[:] = [0.0, *rng.uniform(0, 1, NC - 1)]
    old, out = before.copy(), case.problem.bundles.out
    out[:] = rng.normal(size=out.size)
    row = step.row + 1
    record = SimpleNamespace(
        **{name: np.zeros((row + 1, N)) for name in "qva"}, active=np.zeros((row + 1, NC), int),
        **{name: np.zeros((row + 1, NC)) for name in ("p", "gap", "gap_dot")},
    )  # fmt: skip
    assert whole.keep(case.problem, record, work, step, m)
    p = np.zeros(NC)
    for k, c in enumerate(act[:m]):
        p[c] = step.h * (0.4 * old[c] + 0.6 * z[k]) if level == INSIDE else z[k]
    assert record.p[row] == pytest.approx(p)
    assert record.active[row].tolist() == [2 * int(x > 0) for x in p]
    assert record.gap[row].tolist() == out[:NC].tolist()
    assert record.gap_dot[row] == pytest.approx(out[NC : 2 * NC] + case.A @ work.v1)
    for name in "qva":
        wanted = {"q": work.d1, "v": work.v1, "a": work.a1}[name]
        assert getattr(record, name)[row].tolist() == wanted.tolist()
    expected = old.copy()
    if level == INSIDE:
        expected[act[:m]] = z[:m]
    assert before.tolist() == expected.tolist()
    work.a1[0] = np.nan
    assert not whole.keep(case.problem, record, work, step, m)


def tied(case, constant, moves=False) -> SimpleNamespace:
    """Return a case whose parts are found by other kernels, and what these are asked."""
    n, nc = N, NC
    case.said = []
    case.problem.options = SimpleNamespace(constant=constant, moves=moves, lcp="lcp")
    case.problem.linear, case.problem.places = "linear", SimpleNamespace(M=np.arange(9))
    case.problem.grid = SimpleNamespace(drive="drive")
    case.problem.matrices.M_flat = np.full(9, np.nan)
    case.problem.contacts.G.val[:] = case.A.ravel()
    case.status = {}

    def answer(name, *given):
        case.said.append((name, *given))
        return case.status.get(name, 0)

    def solve_with(responses, which, x):
        case.said.append(("solve", which))
        x[:] = 2 * x

    def force(bundles, which, linear, out):
        out[:] = case.forces[int(any(one[0] == "hold" for one in case.said))]

    case.forces = case.rng.normal(size=(2, n))
    for name, stand_in in {
        "evaluate": lambda bundles, which: (case.said.append(("evaluate", which)), case.evaluate(bundles, which)),
        "force": force, "hold": lambda drive, inp, k: case.said.append(("hold", k)), "solve_with": solve_with,
        "scatter": lambda flat, sign, out, first, places: case.said.append(("scatter", sign, first)),
        "factor": lambda system, a, c, k, responses, which: answer("factor", round(a, 9), round(c, 9), round(k, 9), which),
        "respond": lambda m, act, G, system, weights, responses, D: answer("respond", m),
        "jump": lambda m, act, G, system, damping, responses, D: answer("jump", m, round(damping, 9)),
        "complement": lambda problem, m, span, options, lcp: (answer("complement", m, span), 0.125),
        "bandwidth": lambda M, n: (1, 2),
    }.items():  # fmt: skip
        case.patch.setitem(whole.begin.__globals__, name, stand_in)
    case.work.every[:] = np.arange(nc)
    return case


def rows_of(rng) -> SimpleNamespace:
    return SimpleNamespace(
        **{k: rng.normal(size=(3, N)) for k in "qva"}, t=np.array([0.5, 0.75, np.nan]),
        **{k: np.full((3, NC), np.nan) for k in ("gap", "gap_dot", "p")}, active=np.full((3, NC), 9),
        residuals=np.full((3, 2), 0.0625),
    )  # fmt: skip


def made(monkeypatch, level=VELOCITY, constant=False, **more):
    case = Case(5, level, constant)
    case.patch = monkeypatch
    return tied(case, constant, **more), rows_of(case.rng)


@for_each(("row", "moves"), itertools.product((0, 1), (False, True)))
def test_a_march_begins_with_gaps_and_forces_of_its_row(monkeypatch, row, moves):
    case, record = made(monkeypatch, moves=moves)
    whole.begin(case.problem, record, case.work, row)
    state, q, v = case.work.state[0], record.q[row], record.v[row]
    np.testing.assert_allclose(record.gap[row], case.gap(record.t[row], q))
    np.testing.assert_allclose(record.gap_dot[row], case.b + case.slope(q) @ v)
    np.testing.assert_array_equal(case.work.F0, case.forces[0])
    assert not case.work.force_before.any()
    assert (state.factored, state.before) == (0.0, 0.25 if row else 0.0)
    assert (state.span, state.span_jump) == (NC, NC)
    assert case.work.lcp.kept[0].count == case.work.lcp_jump.kept[0].count == -1
    assert (state.below, state.above) == ((N - 1, N - 1) if moves else (1, 2))
    if not moves:
        assert case.work.responses.band[whole.MASS].tolist() == (1, 2)


@for_each(
    ("constant", "moves", "fails"), itertools.product((False, True), (False, True), (False, True))
)
def test_accelerations_jump_with_the_inputs_by_the_inverse_mass(
    monkeypatch, constant, moves, fails
):
    case, record = made(monkeypatch, constant=constant, moves=moves)
    case.status = {"factor": 5 * fails}
    a = record.a.copy()
    told = whole.cross(case.problem, record, case.work, 1, 3)
    names = [one[0] for one in case.said]
    assert told == (constant or not fails)
    assert ("factor" in names) == (not constant)
    assert (("scatter", 1.0, 0) in case.said) == moves
    if not constant:
        assert ("factor", 1.0, 0.0, 0.0, whole.MASS) in case.said
    if not told:
        np.testing.assert_array_equal(record.a, a)
        return
    assert ("hold", 3) in case.said
    np.testing.assert_allclose(record.a[1] - a[1], 2 * (case.forces[1] - case.forces[0]))
    np.testing.assert_array_equal(record.a[[0, 2]], a[[0, 2]])
    np.testing.assert_allclose(record.gap[1], case.gap(0.75, record.q[1]))


@for_each(("level", "constant"), itertools.product((VELOCITY, BOTH), (False, True)))
def test_constant_matrices_are_factored_for_a_step(monkeypatch, level, constant):
    weights = SimpleNamespace(A_C=0.4, A_K=0.3)
    order = ["factor", "respond", *["jump"] * (level == BOTH)]
    for fails in (None, *order):
        case, _ = made(monkeypatch, level, constant)
        case.status = {fails: 7}
        told = whole.factor_constant(case.problem, case.work, weights, 0.125)
        assert case.work.state[0].factored == 0.125
        if not constant:
            assert (told, case.said) == (0, [])
            continue
        assert told == (7 if fails else 0)
        asked = order[: order.index(fails) + 1] if fails else order
        assert [one[0] for one in case.said] == asked
        assert case.said[0] == ("factor", 0.8, 0.4, 0.3, whole.SMOOTH)
        if not fails:
            assert case.said[1] == ("respond", NC)
            assert level != BOTH or case.said[2] == ("jump", NC, 0.5)
            state = case.work.state[0]
            assert (state.span, state.span_jump) == (2, 2)
            assert case.work.lcp.kept[0].count == case.work.lcp_jump.kept[0].count == -1


@for_each(("constant", "fails"), itertools.product((False, True), ("", "jump", "complement")))
def test_impulses_of_closed_contacts_are_added_to_the_velocity(monkeypatch, constant, fails):
    case, record = made(monkeypatch, BOTH, constant)
    work, out, rng = case.work, case.problem.bundles.out, case.rng
    case.status = {fails: 7}
    out[:NC], out[NC : 2 * NC] = [0.5, -0.1, 0.5, 0.0], rng.normal(size=NC)
    work.jump.z[:] = [0.0, 0.0, 0.25, 0.0]
    work.e_dot[:], z = rng.normal(size=NC), np.array([0.5, 0.25, 0.125, 9.0])
    work.responses.Y[:] = rng.normal(size=work.responses.Y.shape)
    v, on = work.v1.copy(), [1, 2, 3]

    def complement(problem, m, span, options, lcp):
        assert (m, span) == (3, work.state[0].span_jump)
        assert problem.act[:m].tolist() == on
        wanted = out[NC : 2 * NC] + work.e_dot + case.A @ v
        np.testing.assert_allclose(problem.q[:m], wanted[on])
        problem.z[:] = z
        return 7 * (fails == "complement"), 0.125

    monkeypatch.setitem(whole.velocity_problem.__globals__, "complement", complement)
    weights = SimpleNamespace(A_C=0.4)
    status, m = whole.velocity_problem(case.problem, record, work, weights, 1)
    early = fails == "jump" and not constant
    assert (status, m) == (7 if early or fails == "complement" else 0, 3)
    assert record.active[1].tolist() == [9, 1, 1, 1]
    assert case.said == ([] if constant else [("jump", 3, 0.5)])
    assert record.residuals[1, 0] == (0.0625 if early else 0.125)
    push = (
        sum(work.responses.Y[whole.JUMP, c] * z[k] for k, c in enumerate(on)) if status == 0 else 0
    )
    np.testing.assert_allclose(work.v1, v + push)
    if not constant:
        assert work.lcp_jump.kept[0].count == -1


@for_each(("constant", "corrected", "interpolated", "fails"), [
    (False, False, False, ""), (True, False, False, ""), (False, True, False, ""), (False, False, True, ""),
    (True, True, True, "factored"), (False, True, False, "newton"), (False, True, False, "velocity"), (False, True, True, "keep"),
])  # fmt: skip
def test_a_step_finds_its_state_then_its_velocity_and_is_kept(monkeypatch, constant, corrected, interpolated, fails):  # fmt: skip
    case, record = made(monkeypatch, BOTH, constant)
    case.problem.method = case.method._replace(interpolated=interpolated)
    work, order = case.work, []
    work.state[0].factored = 0.25

    def told(name, *given):
        order.append((name, *given))
        return 7 if fails == name else 0

    for name, stand_in in {
        "factor_constant": lambda p, w, weights, h: told("factored", h),
        "active_set": lambda p, r, w, row, h: told("active", row, h) or 3,
        "newton": lambda p, r, w, step, weights, m: (told("newton", m), 2, corrected, 0.5),
        "velocity_problem": lambda p, r, w, weights, row: (told("velocity", row), 1),
        "keep": lambda p, r, w, step, m: not told("keep", m),
    }.items():  # fmt: skip
        monkeypatch.setitem(whole.step_alpha.__globals__, name, stand_in)
    status = whole.step_alpha(case.problem, record, work, 1, 0.25, 1.0)
    asked = [("active", 1, 0.25), ("newton", 3)]
    if fails != "newton":
        asked += [("velocity", 2)] * corrected
        asked += [("keep", 1 if corrected else 2)] * (fails != "velocity")
    assert order == asked
    bad = {"newton": 7, "velocity": 7, "keep": whole.NOT_FINITE}
    assert status == bad.get(fails, 0)
    if fails != "newton":
        np.testing.assert_allclose(case.problem.bundles.out[:NC], case.gap(1.0, work.d1))
        G = case.A if constant else case.slope(work.d1)
        np.testing.assert_allclose(case.problem.contacts.G.val, G.ravel())
    if status == 0:
        assert record.residuals[2, 1] == (0.0 if constant else 0.5)
        same = (case.forces[0] == work.F0).all()
        assert same == interpolated
    order.clear()
    work.state[0].factored = 0.5
    whole.step_alpha(case.problem, record, work, 1, 0.25, 1.0)
    assert order[0] == ("factored", 0.25)
    assert (len(order) == 1) == (fails == "factored")
