"""Kernels of a few lines, uncompiled: contact modes, maps, inputs, the march of steps, tableaux."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from numpy.polynomial import legendre
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven import butcher
from explorer.kernels.fesd.collocation import TABLEAUX, at_stages, collocation

modes, maps = plain("friction.contact_modes"), plain("maps.tangents")
inputs, stepping = plain("model.held_inputs"), plain("time_stepping.march")
making, impacts = plain("event_driven.make_step"), plain("event_driven.contact_impact")
iterating, cones = plain("time_stepping.moreau_jean_iteration"), plain("friction.cone")
arming = plain("event_driven.arm_guards")
COVERS = ("kernels/event_driven/butcher.py", "kernels/fesd/collocation.py")  # see mutant_rooms.py
OPEN, STICK = modes.OPEN, modes.STICK
FAILS = 77  # a status


# ---------------------------------------------------------------- contacts that stick or slide


@for_each("what", itertools.product((OPEN, STICK, 1, -1), repeat=3))
def test_unknowns_of_a_set_and_the_impulses_that_follow(what):
    """Contact 1 has no tangent; what slides has mu P_n against its velocity."""
    act, place = np.array([4, 0, 2]), np.array([3, -1, 4])
    mode, mu, rows = np.full(5, 9), np.array([0.5, 0.0, 0.25]), 5
    mode[act] = what
    chosen = np.full(rows, -1)
    n = modes.unknowns(mode, act, place, 3, chosen)
    expected = []
    for k in range(3):
        expected += [k] * (what[k] != OPEN) + [place[k]] * int(what[k] == STICK and place[k] >= 0)
    assert chosen[:n].tolist() == expected
    x, P = np.random.default_rng(1).uniform(1, 2, rows), np.full(rows, np.nan)
    modes.impulses(mode, act, place, mu, 3, rows, chosen, n, x, P)
    wanted = np.zeros(rows)
    wanted[expected] = x[:n]
    for k in (0, 2):
        if abs(what[k]) == 1 and what[k] not in (OPEN, STICK):
            wanted[place[k]] = -what[k] * mu[k] * wanted[k]
    np.testing.assert_array_equal(P, wanted)


@for_each(("what", "P_n", "P_t", "w", "told"), [
    (OPEN, 0, 0, 0.5, OPEN), (OPEN, 0, 0, -0.05, OPEN), (OPEN, 0, 0, -0.5, STICK),
    (STICK, -1, 0, 0, OPEN), (1, -1, 0, 0, OPEN), (-1, -1, 0, 0, OPEN), (STICK, 0, 0, 0, STICK),
    (STICK, 2, 1, 0, STICK), (STICK, 2, -1, 0, STICK), (STICK, 2, 1.1, 0, -1), (STICK, 2, -1.1, 0, 1),
    (1, 2, 0, 0.3, 1), (1, 2, 0, -0.05, 1), (1, 2, 0, -0.3, STICK), (-1, 2, 0, -0.3, -1), (-1, 2, 0, 0.3, STICK),
])  # fmt: skip
def test_a_contact_is_told_what_contradicts_it(what, P_n, P_t, w, told):
    assert modes.verdict(what, P_n, P_t, 0.5, w, 0.1) == told


@for_each("seed", range(8))
def test_contacts_are_coupled_by_paths_through_their_matrix(seed):
    """Normals 0, 1, ... of touching contacts, then tangents of some of them."""
    rng, m = np.random.default_rng(seed), 5
    place = np.full(m, -1)
    rough = rng.permutation(m)[:2]
    place[rough] = [m, m + 1]
    owner, total = np.array([*range(m), *rough]), m + 2
    D = np.diag(rng.uniform(1, 2, total))
    for i, j in itertools.combinations(range(total), 2):
        coupled = rng.uniform() < 0.12
        D[i, j] = D[j, i] = (0.1 if coupled else 1e-15) * rng.choice([-1, 1])
    linked = np.eye(m, dtype=bool)
    for i, j in itertools.product(range(total), repeat=2):
        linked[owner[i], owner[j]] |= abs(D[i, j]) > 1e-6
    for _ in range(m):
        linked = linked @ linked
    act = rng.permutation(20)[:m]
    for k in range(m):
        contacts = SimpleNamespace(reached=np.full(m, 9), order=np.full(total, -1), D=D, act=act, place=place)  # fmt: skip
        assert impacts.reach(contacts, m, total, act[k]) == linked[k].sum()
        np.testing.assert_array_equal(contacts.reached, linked[k])


@for_each(
    ("solver", "told"), itertools.product((0, 1), ([0], [cones.LCP_ITERATIONS, 0], [cones.LCP_RAY]))
)
def test_the_other_solver_comes_where_the_first_has_not_arrived(monkeypatch, solver, told):
    asked, answers = [], itertools.cycle(told)
    for name, stand_in in {
        "gauss_seidel": lambda *_: asked.append("sweeps") or next(answers),
        "projected_gradient": lambda *_: asked.append("gradient") or next(answers),
        "gather": lambda *_: None, "load": lambda *_: None, "unload": lambda *_: None,
        "residual": lambda *_: 0.5,
    }.items():  # fmt: skip
        monkeypatch.setitem(cones.in_space.__globals__, name, stand_in)
    contacts = SimpleNamespace(m=1, act=np.zeros(1, int), q=np.array([-3.0]), rows=1, mu=None)
    work = SimpleNamespace(rows=[SimpleNamespace(listed=0)], kept=[SimpleNamespace(contacts=0)], blocks=np.zeros(9),
                           vec=None, A=None, pivots=None)  # fmt: skip
    chosen = cones.GAUSS_SEIDEL if solver else cones.GAUSS_SEIDEL + 1
    for tol, fits in ((0.2, True), (0.1, False)):
        status, off = cones.in_space(contacts, chosen, tol, 9, work)
        ray = told == [cones.LCP_RAY]
        assert status == (cones.LCP_RAY if ray else 0 if fits else cones.LCP_ITERATIONS)
        assert off == 0.5
        order = ["sweeps", "gradient"] if solver else ["gradient", "sweeps"]
        assert asked == order[: len(told)]
        asked.clear()


def test_the_iterate_of_a_step_goes_to_the_new_velocities(monkeypatch):
    monkeypatch.setitem(iterating.correct.__globals__, "fill", lambda *given: given)
    n, rng = 3, np.random.default_rng(2)
    for scale in (1.0, 1e-9):
        record = SimpleNamespace(
            q=scale * rng.normal(size=(2, n)), v=scale * rng.normal(size=(2, n))
        )
        free, before = scale * rng.normal(size=(2, n))
        iterate = SimpleNamespace(q=np.full(n, np.nan), v=before.copy(), v_free=free)
        problem = SimpleNamespace(sizes=SimpleNamespace(n=n), bundles=SimpleNamespace(inp=None))
        step = SimpleNamespace(row=1, h=0.2, ht=0.15, t1=1.0)
        change, size = iterating.correct(problem, record, SimpleNamespace(iterate=iterate), step)
        q = record.q[1] + 0.15 * free + 0.05 * record.v[1]
        np.testing.assert_allclose(iterate.q, q)
        np.testing.assert_array_equal(iterate.v, free)
        assert change == pytest.approx(abs(free - before).max(), rel=1e-12, abs=0)
        assert size == pytest.approx((abs(free) + abs(q) / 0.2).sum(), rel=1e-12, abs=0)


@for_each(("t", "h", "grid", "told"), [
    (0.0, 0.3, 0.0, 0.3), (0.0, 0.9, 0.0, 0.5), (0.0, 0.3, 0.25, 0.25), (0.1, 0.3, 0.25, 0.15), (0.25, 0.3, 0.25, 0.25),
    (0.25 - 1e-12, 0.3, 0.25, 0.25), (2.6, 0.3, 0.25, 0.15), (2.6, 0.1, 0.25, 0.1), (7.0, 9.0, 3.0, 0.5),
])  # fmt: skip
def test_a_step_is_cut_at_the_grid(t, h, grid, told):
    options = SimpleNamespace(h_max=0.5, grid=grid)
    assert making.step_length(options, t, h) == pytest.approx(told, abs=1e-11)


@for_each(("j", "value", "speed", "fired", "told"), [
    (0, 1e-3, 0.0, -1, (1, 0.0)), (1, 1e-3, -1.0, -1, (1, 0.0)), (1, 1e-9, 0.5, -1, (2, 0.0)), (2, -1e-9, 0.5, -1, (2, -1e-9)),
    (1, 1e-9, 0.5, "own", (0, 0.0)),
])  # fmt: skip
def test_a_gap_is_watched_that_is_open_or_opens(j, value, speed, fired, told):
    n, nc, rng = 2, 3, np.random.default_rng(1)
    G, y = rng.normal(size=(nc, n)), rng.normal(size=2 * n)
    rates = np.full(nc, 7.0)
    rates[j] = speed - G[j] @ y[n:]
    out = np.concatenate([np.full(nc, np.nan), rates, G.ravel(), np.full(9, np.nan)])
    watch = [SimpleNamespace(sign=0.0, shift=9.0, falling=9, arm=9) for _ in range(nc)]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, n_c=nc, n_t=0, rows=nc), out=out,
        rows=[SimpleNamespace(closed=0, sigma=0.0)] * nc,
        state=[SimpleNamespace(fired=j + nc if fired == "own" else -1)],
    )  # fmt: skip
    search = SimpleNamespace(watch=watch, values=np.full(nc, value))
    assert not arming.arm_contact(problem, search, j, y, np.zeros(2 * n), 1e-6, 1e-6)
    arms = {0: arming.UNARMED, 1: arming.ARMED, 2: arming.LEAVING}
    assert (watch[j].arm, watch[j].shift) == (arms[told[0]], told[1])
    assert (watch[j].sign, watch[j].falling) == (1.0, 0)


# ---------------------------------------------------------------- maps


def linear(monkeypatch, A, b):
    """Let the function of a map be x' = A x + rho_0 b_0 + rho_1 b_1, with its derivatives."""
    n = len(A)
    asked = []

    def call(address, data, out, inp):
        asked.append((address, data))
        x, rho = inp[1 : 1 + n], inp[1 + n :]
        out[:] = np.concatenate([A @ x + b @ rho, A.ravel(), b.ravel()])

    monkeypatch.setitem(maps.spectrum.__globals__, "call", call)
    return asked


@for_each("seed", range(4))
def test_exponents_of_a_linear_map_are_those_of_its_factors(monkeypatch, seed):
    """A^k Q_0 = Q R with positive R: the sums are the logarithms of its diagonal."""
    rng, n, count = np.random.default_rng(seed), 3, 4
    A, b = rng.normal(size=(n, n)), rng.normal(size=(n, 2))
    linear(monkeypatch, A, b)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    x, rho, sums = rng.normal(size=n), np.array([0.3, -0.2]), np.array([1.0, 2.0, 3.0])
    whole = np.linalg.matrix_power(A, count) @ Q
    inp = np.concatenate([[0.0], x, rho])
    got = maps.spectrum(7, 8, inp, np.empty(n + n * n + 2 * n), Q, np.empty((n, n)), count, 1e9, sums)  # fmt: skip
    assert got == count
    for _ in range(count):
        x = A @ x + b @ rho
    np.testing.assert_allclose(inp, [0, *x, *rho], rtol=1e-12)
    q, r = np.linalg.qr(whole)
    sign = np.sign(np.diag(r))
    np.testing.assert_allclose(sums - [1, 2, 3], np.log(np.abs(np.diag(r))), atol=1e-9)
    np.testing.assert_allclose(Q, q * sign, atol=1e-9)


def test_a_direction_that_is_lost_and_a_state_that_escapes_are_told(monkeypatch):
    A = np.diag([2.0, 0.0])
    linear(monkeypatch, A, np.zeros((2, 1)))
    inp, sums, Q = np.array([0.0, 1.0, 5.0, 0.0]), np.zeros(2), np.eye(2)
    assert maps.spectrum(0, 0, inp, np.empty(8), Q, np.empty((2, 2)), 9, 8.0, sums) == 3
    np.testing.assert_allclose(sums, [3 * np.log(2), -np.inf])
    np.testing.assert_array_equal(Q, [[1, 0], [0, 0]])
    assert inp[1] == 8.0  # the last one in bounds
    assert maps.spectrum(0, 0, np.array([0.0, np.nan, 0, 0]), np.empty(8), Q, np.empty((2, 2)), 9, 8.0, sums) == 0  # fmt: skip


@for_each("bound", [1e9, 1.5])
def test_derivatives_along_a_map_follow_the_chain_rule(monkeypatch, bound):
    rng, n, p, count = np.random.default_rng(6), 2, 3, 5
    A, b, rho = 0.9 * rng.normal(size=(n, n)), rng.normal(size=(n, p)), rng.normal(size=p)
    linear(monkeypatch, A, b)
    x, S = np.full((count + 1, n), np.nan), np.full((count + 1, n * p), np.nan)
    x[0], S[0] = rng.normal(size=n), rng.normal(size=n * p)
    xs, Ss = [x[0].copy()], [S[0].reshape(n, p)]
    for _ in range(count):
        xs.append(A @ xs[-1] + b @ rho)
        Ss.append(A @ Ss[-1] + b)
    stay = next((k for k in range(count) if (np.abs(xs[k + 1]) > bound).any()), count)
    assert (stay < count) == (bound < 2)
    inp = np.concatenate([[0.0], np.full(n, np.nan), rho])
    assert maps.derivatives(7, 8, inp, np.empty(n + n * n + n * p), x, S, bound) == stay
    np.testing.assert_allclose(x[: stay + 1], xs[: stay + 1], rtol=1e-12)
    np.testing.assert_allclose(S[: stay + 1].reshape(-1, n, p), Ss[: stay + 1], rtol=1e-12)
    assert np.isnan(S[stay + 1 :]).all()


# ---------------------------------------------------------------- inputs


def drive_of(now=0, breaks=(1.0, 2.0, 4.0)):
    values = np.arange(2.0 * (len(breaks) + 1)).reshape(-1, 2) + 10
    return inputs.Drive(np.array(breaks, float), np.array([now]), np.array([2, 4]), values, 6)


@for_each(("now", "t"), itertools.product(range(4), (0.0, 0.99, 1.0, 1.5, 2.0, 3.999, 4.0, 9.0)))
def test_the_interval_of_a_time_is_held(now, t):
    drive, inp = drive_of(now), np.zeros(18)
    k = sum(t >= one for one in drive.t)
    assert inputs.hold_at(drive, inp, t, 1e-9) == (k != now)
    assert drive.now[0] == k
    wanted = np.zeros((3, 6))
    wanted[:, [2, 4]] = drive.values[k] if k != now else 0.0
    np.testing.assert_array_equal(inp.reshape(3, 6), wanted)


def test_a_break_is_reached_within_round_off():
    for now, off, told in ((0, -1e-10, 1), (0, -1e-8, 0), (1, -1e-10, 1), (1, -1e-8, 0)):
        drive = drive_of(now)
        inputs.hold_at(drive, np.zeros(6), 1.0 + off, 1e-9)
        assert drive.now[0] == told
    never, inp = inputs.NEVER, np.full(6, 5.0)
    assert not inputs.hold_at(never, inp, 3.0, 1e-9)
    inputs.hold(never, inp, 0)
    assert (inp == 5).all()


# ---------------------------------------------------------------- the march of steps


def marched(monkeypatch, *, t_end=1.0, h=0.25, steps=0, even=True, breaks=(), rows=20, row=0, crosses=True,
            statuses=None):  # fmt: skip
    """March by a step that notes what it is asked; return status, times and what was said."""
    said, statuses = [], dict(statuses or {})
    t = np.full(rows, np.nan)
    t[0] = 0.0
    t[: row + 1] = np.arange(row + 1) * h
    state = [SimpleNamespace(row=row, h=h)]
    drive = SimpleNamespace(t=np.array(breaks, float))
    grid = SimpleNamespace(t_end=t_end, steps=steps, even=even, drive=drive)
    problem = SimpleNamespace(grid=grid, bundles=SimpleNamespace(inp="inp"))

    def step(problem, record, work, row, h, t1):
        said.append((row, round(h, 12), round(t1, 12)))
        return statuses.pop(row, SUCCESS)

    def cross(problem, record, work, row, k):
        said.append(("cross", row, k))
        return crosses

    monkeypatch.setitem(stepping.march.__globals__, "hold", lambda d, inp, k: said.append(("hold", k)))  # fmt: skip
    begin = lambda p, r, w, row: said.append(("begin", row))  # noqa: E731
    record, work = SimpleNamespace(t=t), SimpleNamespace(state=state)
    status = stepping.march(begin, cross, step, problem, record, work)
    return status, t[: state[0].row + 1].round(12).tolist(), said


def test_steps_are_made_up_to_the_end(monkeypatch):
    status, t, said = marched(monkeypatch)
    assert (status, t) == (SUCCESS, [0, 0.25, 0.5, 0.75, 1])
    assert said == [("hold", 0), ("begin", 0), *((k, 0.25, 0.25 * (k + 1)) for k in range(4))]
    assert marched(monkeypatch, t_end=0.9, even=False)[1] == [0, 0.25, 0.5, 0.75, 0.9]
    assert marched(monkeypatch, steps=4, h=0.25)[1] == [0, 0.25, 0.5, 0.75, 1]
    later = marched(monkeypatch, row=2)
    assert later[2] == [("hold", 0), ("begin", 2), (2, 0.25, 0.75), (3, 0.25, 1.0)]
    assert marched(monkeypatch, rows=3)[:2] == (stepping.FULL, [0, 0.25, 0.5])
    assert marched(monkeypatch, rows=5)[0] == SUCCESS
    status, t, said = marched(monkeypatch, statuses={1: stepping.AGAIN, 3: FAILS})
    assert (status, t) == (FAILS, [0, 0.25, 0.5, 0.75])
    assert [one[0] for one in said] == ["hold", "begin", 0, 1, 1, 2, 3]


def test_steps_end_at_breaks_of_inputs(monkeypatch):
    status, t, said = marched(monkeypatch, breaks=(0.1, 0.6), even=False)
    assert (status, t) == (SUCCESS, [0, 0.1, 0.35, 0.6, 0.85, 1])
    assert [one for one in said if one[0] == "cross"] == [("cross", 1, 1), ("cross", 3, 2)]
    twice = marched(monkeypatch, breaks=(0.25, 0.25 + 1e-11, 0.75))[2]
    assert [one for one in twice if one[0] == "cross"] == [("cross", 1, 2), ("cross", 3, 3)]
    assert marched(monkeypatch, breaks=(0.0, 0.5))[2][0] == ("hold", 1)
    assert marched(monkeypatch, breaks=(0.5, 0.75), row=2)[2][:3] == [("hold", 1), ("begin", 2), (2, 0.25, 0.75)]  # fmt: skip
    status, t, said = marched(monkeypatch, breaks=(0.5,), crosses=False)
    assert (status, t, said[-1]) == (stepping.BREAK, [0, 0.25, 0.5], ("cross", 2, 1))


def test_inputs_change_where_their_interval_begins():
    for now, t, told in ((0, 1.0, False), (1, 1.0, True), (1, 2.0, False), (2, 2.0, True),
                         (2, 2.0 + 1e-13, True), (2, 2.0 + 1e-9, False), (2, 2.0 - 1e-9, False)):  # fmt: skip
        grid = stepping.Grid(5.0, 0, True, drive_of(now))
        assert stepping.changes_at(grid, t) == told


# ---------------------------------------------------------------- tableaux


@for_each(("tableau", "s"), itertools.product(TABLEAUX, range(1, 5)))
def test_collocation_has_the_order_that_it_tells(tableau, s):
    if tableau == "lobatto_iiic" and s == 1:
        with pytest.raises(ValueError, match="at least 2 stages"):
            collocation(tableau, s)
        return
    one = collocation(tableau, s)
    for k in range(1, one.order + 1):  # B(p)
        assert one.b @ one.c ** (k - 1) == pytest.approx(1 / k, abs=1e-13)
    assert abs(one.b @ one.c**one.order - 1 / (one.order + 1)) > 1e-6
    stage_order = s - 1 if tableau == "lobatto_iiic" else s
    for k in range(1, stage_order + 1):  # C(q)
        np.testing.assert_allclose(one.A @ one.c ** (k - 1), one.c**k / k, atol=1e-13)
    if tableau == "lobatto_iiic":
        np.testing.assert_allclose(one.A[:, 0], one.b[0])
    for k in range(s):  # a polynomial of slopes, taken to other times
        slope = one.c**k
        np.testing.assert_allclose(one.at @ slope, one.where ** (k + 1) / (k + 1), atol=1e-13)
        np.testing.assert_allclose(one.ahead @ slope, (1 + one.c) ** k, rtol=1e-11)
        times = np.array([0.0, 0.3, 1.0])
        np.testing.assert_allclose(one.lagrange(times) @ slope, times**k, atol=1e-12)
        assert one.end @ slope == pytest.approx(1.0)
        values = np.array([slope @ one.powers @ t ** np.arange(1, s + 1) for t in times])
        np.testing.assert_allclose(values, times ** (k + 1) / (k + 1), atol=1e-12)
    assert one.where[-1] == 1.0
    kinds = {"radau_iia": [s, s - 1], "lobatto_iiic": [s, s - 1], "gauss": [s + 1, s]}
    points = {"gauss": None}.get(tableau, one.where)
    if points is not None:  # of Radau: P_s - P_{s - 1} vanishes there
        series = np.zeros(s + 1)
        series[kinds[tableau]] = 1.0, -1.0
        np.testing.assert_allclose(legendre.legval(2 * points - 1, series), 0.0, atol=1e-12)
    else:  # of Lobatto
        slopes = legendre.legder(np.eye(s + 1)[s])
        np.testing.assert_allclose(legendre.legval(2 * one.where[:-1] - 1, slopes), 0.0, atol=1e-11)
    there = at_stages(one)
    assert there.at is one.A
    assert there.where is one.c


@for_each("name", ["dop853", "dopri5", "radau"])
def test_pairs_of_runge_kutta_have_their_order_and_their_polynomial(name):
    one = butcher.METHODS[name]()
    order, s = butcher.ORDERS[name], one.stages
    rows = slice(1, 1 + s) if name == "radau" else slice(0, s)
    c, b = one.c[: s + 1], one.A[s, : s + 1]
    for k in range(1, order + 1):
        assert b @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-13)
    np.testing.assert_allclose(one.A[rows].sum(axis=1), one.c[rows], atol=1e-13)
    assert one.c[s] == pytest.approx(1.0)
    assert one.last == (15 if name == "dop853" else s)
    assert one.exponent == -1 / {"dop853": 8, "dopri5": 5, "radau": 4}[name]
    assert (one.stiff == 0) == (name == "radau")
    if name == "dop853":
        extra = slice(13, 16)
        np.testing.assert_allclose(one.A[extra].sum(axis=1), one.c[extra], atol=1e-13)
        for weights in one.E:
            assert abs(weights.sum()) < 1e-13
            assert np.abs(weights).max() > 1e-3
    elif name == "dopri5":
        assert abs(one.E[0].sum()) < 1e-13
        # the polynomial y + h sum_k t^k D_k K ends on the step, and begins with its first slope
        np.testing.assert_allclose(one.D[:, :7].sum(axis=0), one.A[6, :7], atol=1e-13)
        np.testing.assert_allclose(one.D[0, :7], np.eye(7)[0], atol=1e-13)
    else:
        nodes = one.c[:4]
        for k in range(4):  # slopes t^k have the integral t^(k + 1) / (k + 1)
            np.testing.assert_allclose(one.D[:, :4] @ nodes**k, np.eye(4)[k] / (k + 1), atol=1e-12)


def test_a_method_of_newmark_has_one_stage():
    one = butcher.newmark(2, 0.1, 0.2)
    assert (one.stages, one.last, one.newmark, one.exponent) == (1, 1, (0.1, 0.2), -1 / 3)
    assert one.c.tolist() == [0.0, 1.0] + [0.0] * 14
    assert not any(part.any() for part in (one.A, one.E, one.D))
    assert (one.A.shape, one.E.shape, one.D.shape) == ((16, 16), (2, 16), (4, 16))
