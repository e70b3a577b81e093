"""Iterations of steps with constraints, uncompiled: their terms one by one, and how they are led."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space
from test_constrained_terms import rows_of

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS

whole = plain("time_stepping.constrained_alpha")
smoothing = plain("time_stepping.constrained_alpha_iteration")
TOUCH = whole.TOUCH
N, CONTACTS, ROWS, BOUND = 3, 2, 3, 2  # a tangent's row lies between contacts and constraints
AT = space(rates=4, phi=20, G=30)
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal


def sizes():
    return space(n=N, contacts=CONTACTS, rows=ROWS, constraints=BOUND)


# ---------------------------------------------------------------- terms of the smooth problem


@for_each(("seed", "interpolated"), itertools.product(range(4), (True, False)))
def test_what_is_taken_where_forces_are(monkeypatch, seed, interpolated):
    """K is scaled: positions move by beta h^2 and the matrix has (ht)^2 in its place."""
    rng = np.random.default_rng(seed)
    am, af, beta, gamma, row = 0.2, 0.4, 0.3, 0.7, 1
    out, inp, asked = rng.normal(size=60), np.full(1 + 2 * N, np.nan), []
    K, C, M = (np.full(N * N, 9.0) for _ in range(3))
    G, rows = rng.normal(size=(ROWS + BOUND, N)), rows_of(np.zeros((ROWS + BOUND, N)))
    q, v, a = rng.normal(size=(3, 2, N))
    work = space(d=rng.normal(size=N), v=rng.normal(size=N), a=rng.normal(size=N), a_m=np.zeros(N),
                 F=np.zeros(N), pull=np.array([0.0, 0.5 * (seed % 2)]))  # fmt: skip
    stiff, damps, mass = out[N : N + 2].copy(), out[N + 2 : N + 3].copy(), rng.normal(size=2)

    def force(bundles, which, linear, F):
        asked.append(which)
        F[:] = out[:N]

    def evaluate(bundles, which):
        asked.append(which)
        if which == smoothing.MASS:
            out[:2] = mass
        else:
            out[AT.G : AT.G + G.size] = G.ravel()

    forces = out[:N].copy()
    put(monkeypatch, smoothing.evaluate_between, force=force, evaluate=evaluate)
    problem = space(
        bundles=space(inp=inp, out=out), sizes=sizes(), outputs=AT, G=rows, linear=None,
        method=space(alpha_m=am, alpha_f=af, beta=beta, gamma=gamma, interpolated=interpolated),
        matrices=space(K_flat=K, C_flat=C, M_flat=M, places=space(K=np.array([4, 1]), C=np.array([8]), M=np.array([0, 5]))),
    )  # fmt: skip
    smoothing.evaluate_between(problem, space(q=q, v=v, a=a), work, space(row=row, t_f=2.5))
    share = 1.0 if interpolated else 1 - af
    old = 1 - share
    assert asked == [smoothing.STEP, smoothing.MASS, smoothing.GAP]
    np.testing.assert_allclose(inp, [2.5, *(share * work.d + old * q[1]), *(share * work.v + old * v[1])])  # fmt: skip
    np.testing.assert_allclose(work.a_m, (1 - am) * work.a + am * a[1])
    np.testing.assert_allclose(work.F, forces + work.pull[1] * G[1])
    wanted = np.full((3, N * N), 9.0)
    # ht = (1 - alpha_f) / (1 - alpha_m) gamma h, and dx of a_1 counts (1 - alpha_m) in M a_m
    ht, moves = (1 - af) / (1 - am) * gamma, (1 - af) * beta / (1 - am)
    wanted[0, [4, 1]] = -stiff * moves / ht**2
    wanted[1, 8], wanted[2, [0, 5]] = -damps[0], mass
    np.testing.assert_allclose([K, C, M], wanted)
    EQUAL(rows.val, G.ravel())


@for_each(("seed", "parts"), itertools.product(range(3), itertools.product((0.9, -0.9, 1.1, -1.1), repeat=2)))  # fmt: skip
def test_a_constraint_is_closed_to_what_its_terms_round_to(monkeypatch, seed, parts):
    """G times the coordinates and their way in a step, or a tenth of the largest coordinate."""
    rng, h = np.random.default_rng(seed), 0.1
    G, q, v = rng.normal(size=(ROWS + BOUND, N)), np.array([0.5, 1e-4, -0.02]), 0.2 * rng.normal(size=N)  # fmt: skip
    rows, out, filled = rows_of(G), np.full(60, np.nan), []
    ways = np.maximum(abs(q) + h * abs(v), 0.1 * 0.5)
    size = abs(G[ROWS:]) @ ways
    out[AT.phi : AT.phi + BOUND] = smoothing.CLOSE * size * parts
    out[AT.G : AT.G + G.size] = G.ravel()
    put(monkeypatch, smoothing.close, fill=lambda *given: filled.append(given), evaluate=lambda *_: None)  # fmt: skip
    problem = space(bundles=space(inp="inp", out=out), sizes=sizes(), outputs=AT, G=rows)
    work = space(v=v, rows=np.zeros(G.size))
    told = smoothing.close(problem, work, space(t1=2.5, h=h), q)
    assert told == all(abs(one) < 1 for one in parts)
    EQUAL(work.rows, G.ravel())
    assert filled == [("inp", 2.5, q, v, N)]


def test_a_constraint_that_holds_exactly_at_the_origin_is_closed(monkeypatch):
    put(monkeypatch, smoothing.close, fill=lambda *_: None, evaluate=lambda *_: None)
    G = np.ones((ROWS + BOUND, N))
    problem = space(bundles=space(inp=None, out=np.zeros(60)), sizes=sizes(), outputs=AT, G=rows_of(G))  # fmt: skip
    work = space(v=np.zeros(N), rows=np.zeros(G.size))
    for phi in (0.0, 1e-30):
        problem.bundles.out[AT.phi] = phi
        assert smoothing.close(problem, work, space(t1=0.0, h=0.1), np.zeros(N)) == (phi == 0)


@for_each(("seed", "interpolated", "af"), itertools.product(range(3), (True, False), (0.0, 0.4, -0.2)))  # fmt: skip
def test_what_a_smooth_step_leaves_is_told_beside_its_largest_term(monkeypatch, seed, interpolated, af):  # fmt: skip
    """Terms of a thousandth of a newton count as they are."""
    rng = np.random.default_rng(seed)
    G, R, F, F0, lam = rng.normal(size=(ROWS + BOUND, N)), *1e-3 * rng.normal(size=(3, N)), 1e-3 * rng.normal(size=BOUND)  # fmt: skip
    put(monkeypatch, smoothing.unbalanced, inertia=lambda *given: given[4].__setitem__(slice(None), R))  # fmt: skip
    work = space(dx=np.full(N + BOUND, 9.0), a_m=None, zero=None, R=np.zeros(N), size=None, lam=lam, F=F, F0=F0)  # fmt: skip
    problem = space(G=rows_of(G), sizes=sizes(), saddle=None, matrices=space(M=None),
                    method=space(alpha_f=af, interpolated=interpolated))  # fmt: skip
    norm, scale = smoothing.unbalanced(problem, work)
    pushed = G[ROWS:].T @ lam
    part = af if interpolated else 0.0
    left = (1 - part) * (pushed + F) + part * F0 - R
    np.testing.assert_allclose(work.dx, [*left, 0.0, 0.0], atol=1e-15)
    assert norm == pytest.approx(np.linalg.norm(left))
    assert scale == pytest.approx(np.abs([pushed, F, R]).max())


class Smooth:
    """A smooth step whose iterations leave norms, by changes; all that they ask for is noted."""

    def __init__(self, monkeypatch, norms, changes=(1.0,) * 9, *, most=4, mass=True, regular=True,
                 closed=True, rounded=False, scale=2.0):  # fmt: skip
        self.said, left, moved = [], iter(norms), iter(changes)

        def note(name, answer=None):
            def tell(*given):
                self.said.append(name)
                return answer

            return tell

        def at_round_off(change, size, still):
            self.said.append((change, size, still))
            return rounded

        put(monkeypatch, smoothing.smooth, evaluate_between=note("between"), close=note("close", closed),
            unbalanced=lambda *_: (next(left), scale), has_mass=note("mass", mass), factor=note("factor", regular),
            solve_step=lambda saddle, dx: self.said.append(dx.tolist()), move=lambda *_: (next(moved), 8.0), at_round_off=at_round_off)  # fmt: skip
        q, v, a = np.arange(18.0).reshape(3, 2, N)
        lam, out = np.array([[0.0, 0.0], [0.3, 0.4]]), np.zeros(60)
        out[AT.phi : AT.phi + BOUND] = 0.5, -0.25
        self.work = space(a=np.zeros(N), d=np.zeros(N), v=np.zeros(N), lam=np.zeros(BOUND), dx=np.full(N + BOUND, 4.0))  # fmt: skip
        self.record = space(q=q, v=v, a=a, lam=lam, residuals=np.full((4, 2), 9.0), iterations=np.full(4, 9))  # fmt: skip
        problem = space(
            method=space(alpha_m=0.2, beta=0.25), sizes=sizes(), newton_max=most, newton_tol=0.1, saddle=None,
            matrices=space(M=None, K=None), bundles=space(out=out), outputs=AT,
        )  # fmt: skip
        self.status = smoothing.smooth(problem, self.record, self.work, space(row=1, h=0.5, ht=0.1))
        self.many = self.record.iterations[2]
        EQUAL(self.record.iterations[[0, 1, 3]], [9] * 3)
        EQUAL(self.record.residuals[[0, 1, 3]], np.full((3, 2), 9.0))


def test_a_smooth_step_begins_with_accelerations_that_stay(monkeypatch):
    """One correction at least is made: of accelerations, and of positions to phi = 0."""
    one = Smooth(monkeypatch, [0.0, 0.2])
    q, v, a = one.record.q[1], one.record.v[1], one.record.a[1]
    EQUAL(one.work.a, a)
    np.testing.assert_allclose(one.work.d, q + 0.5 * v + 0.125 * a)
    np.testing.assert_allclose(one.work.v, v + 0.5 * a)
    EQUAL(one.work.lam, [0.3, 0.4])
    first, solve = ["between", "close"], [5.0, 5.0, 5.0, -8.0, 4.0]
    assert one.said == [*first, "mass", "factor", solve, *first]
    assert (one.status, one.many, one.record.residuals[2, 1]) == (SUCCESS, 1, 0.2)


@for_each(("given", "status", "many"), [
    ({"norms": [0.5, 0.2]}, SUCCESS, 1), ({"norms": [0.5, 0.21, 0.21, 0.1]}, SUCCESS, 3), ({"norms": [0.5] * 5}, NEWTON_CAP, 4),
    ({"norms": [0.5, 0.4, 0.3, 0.25, 0.2]}, SUCCESS, 4), ({"norms": [0.5, 0.1], "closed": False, "most": 1}, NEWTON_CAP, 1), ({"norms": [0.5, 0.4], "rounded": True}, SUCCESS, 1),
    ({"norms": [np.nan]}, NOT_FINITE, 9), ({"norms": [0.5, np.inf]}, NOT_FINITE, 1), ({"norms": [0.5], "mass": False}, INDEFINITE, 1), ({"norms": [0.5], "regular": False}, SINGULAR, 1),
    ({"norms": [0.5, 0.05], "scale": 0.5}, SUCCESS, 1), ({"norms": [0.5, 0.06, 0.06], "scale": 0.5, "most": 2}, NEWTON_CAP, 2),
])  # fmt: skip
def test_a_smooth_step_ends_with_a_reason(monkeypatch, given, status, many):
    one = Smooth(monkeypatch, **given)
    assert (one.status, one.many) == (status, many)


def test_changes_that_do_not_fall_by_half_are_counted(monkeypatch):
    """One that falls by half exactly begins anew."""
    one = Smooth(monkeypatch, [0.5] * 9, [0.75, 0.5, 0.25, 0.2, 0.15, 0.14], most=6)
    told = [x for x in one.said if isinstance(x, tuple)]
    assert told == [(0.75, 8.0, 0), (0.5, 8.0, 1), (0.25, 8.0, 0), (0.2, 8.0, 1), (0.15, 8.0, 2), (0.14, 8.0, 3)]  # fmt: skip


@for_each(("change", "anew"), [(0.05, False), (0.051, True)])
def test_factors_of_a_smooth_step_serve_on_where_changes_fall_quickly(monkeypatch, change, anew):
    one = Smooth(monkeypatch, [0.5] * 4, [1.0, change, 1.0], most=3)
    assert one.said.count("factor") == 2 + anew - 1
    assert one.said.count("mass") == 1


# ---------------------------------------------------------------- both levels behind it


@for_each("bad", [None, "gap", "speed", "phi"])
def test_a_row_has_gaps_their_speeds_and_constraints(monkeypatch, bad):
    """It is finite if all of them are."""
    rng, row = np.random.default_rng(3), 1
    G, out = rng.normal(size=(ROWS + BOUND, N)), rng.normal(size=60)
    out[AT.G : AT.G + G.size] = G.ravel()
    if bad:
        out[{"gap": 1, "speed": AT.rates + 1, "phi": AT.phi + 1}[bad]] = np.inf if bad != "phi" else np.nan  # fmt: skip
        if bad == "speed":
            out[1] = np.inf
    put(monkeypatch, whole.look, fill=lambda *_: None, evaluate=lambda *_: None)
    record = space(t=np.zeros(3), q=rng.normal(size=(3, N)), v=rng.normal(size=(3, N)), gap=np.full((3, CONTACTS), 9.0),
                   gap_dot=np.full((3, CONTACTS), 9.0), phi=np.full((3, BOUND), 9.0))  # fmt: skip
    rows = rows_of(np.zeros((ROWS + BOUND, N)))
    problem = space(sizes=sizes(), outputs=AT, bundles=space(inp=None, out=out), G=rows)
    assert whole.look(problem, record, None, row) == (bad is None)
    EQUAL(rows.val, G.ravel())
    EQUAL(record.gap[row], out[:CONTACTS])
    EQUAL(record.phi[row], out[AT.phi : AT.phi + BOUND])
    np.testing.assert_allclose(record.gap_dot[row], out[AT.rates : AT.rates + CONTACTS] + G[:CONTACTS] @ record.v[row])  # fmt: skip
    assert (record.gap[[0, 2]] == 9).all()


def corrected(monkeypatch, moves, *, nc=0, answers=(), regular=True, closed=True, most=9, rounds=False):  # fmt: skip
    """Correct positions by moves that are given; return the status, what was asked, work and record."""
    told, left, solved = [], iter(moves), iter(answers)

    def close(problem, work, step, q):
        told.append(("at", q.tolist()))
        return closed

    def solve_step(saddle, dx):
        told.append(("right", dx.tolist()))
        dx[:] = [*next(left), 5.0, 5.0]

    def answer(problem, work, m, free):
        told.append(("answer", m, work.act[:m].tolist(), work.w[:m].tolist()))
        return next(solved)

    def at_round_off(change, size, still):
        told.append((change, size, still))
        return rounds

    put(monkeypatch, whole.positions, close=close, turn=lambda *_: None, factor=lambda *_: regular,
        solve_step=solve_step, answer=answer, at_round_off=at_round_off)  # fmt: skip
    G, out = np.arange(1.0, 16.0).reshape(ROWS + BOUND, N), np.zeros(60)
    out[:CONTACTS], out[AT.phi : AT.phi + BOUND] = (0.5, 0.75), (0.1, 0.2)
    work = space(dx=np.full(N + BOUND, 9.0), zero=np.full(N, 9.0), shift=np.full(N, 9.0), d=np.array([0.25, 0.5, -0.125]),
                 v=np.array([1.0, -8.0, 2.0]), pull=np.array([2.0, 4.0]), act=np.zeros(2, int), w=np.zeros(2))  # fmt: skip
    record = space(residuals=np.array([[9.0, 9.0], [9.0, 9.0], [0.25, 9.0]]))
    problem = space(sizes=sizes(), G=rows_of(G), bundles=space(out=out), newton_max=most, matrices=space(K=None),
                    outputs=AT, saddle=None)  # fmt: skip
    status = whole.positions(problem, record, work, space(row=1, h=0.5, ht=0.1), nc)
    assert not work.zero.any()
    return status, told, work, record, G


def test_positions_are_corrected_from_where_the_smooth_step_ends(monkeypatch):
    """Against what known impulses have moved, -h^2 / 2 of their mean force, and along constraints."""
    moves = [[1.0, 0.0, 0.0], [1.0, 0.5, 0.0], [1.0, 0.5, 0.0]]
    status, told, work, record, G = corrected(monkeypatch, moves, nc=2, answers=[(SUCCESS, 0.5), (SUCCESS, 0.01), (SUCCESS, 0.0)])  # fmt: skip
    start, moved = np.array([0.25, 0.5, -0.125]), np.array([1.0, 0.5, 0.0])
    assert status == SUCCESS
    np.testing.assert_allclose(work.d, start + moved)
    assert [one for name, one in (x for x in told if x[0] == "at")] == [start.tolist(), [1.25, 0.5, -0.125], [1.25, 1.0, -0.125]]  # fmt: skip
    pulled = -0.125 * np.array([2.0, 4.0]) @ G[:2]
    first, second, _ = (np.array(one) for name, one in (x for x in told if x[0] == "right"))
    np.testing.assert_allclose(first, [*pulled, -0.1, -0.2])
    np.testing.assert_allclose(second, [*pulled, G[3, 0] - 0.1, G[4, 0] - 0.2])
    gaps = [x for x in told if x[0] == "answer"]
    assert gaps[0] == ("answer", 2, [0, 1], [0.5 + G[0, 0], 0.75 + G[1, 0]])
    assert gaps[1] == ("answer", 2, [0, 1], [0.5 + 0.5 * G[0, 1], 0.75 + 0.5 * G[1, 1]])
    assert record.residuals[2].tolist() == [1.0, 9.0]
    assert (record.residuals[:2] == 9).all()
    # what a change counts beside: positions, and the way of velocities in a step
    assert [x for x in told if isinstance(x[0], float)] == [(1.0, 4.0, 0), (0.5, 4.0, 0)]


@for_each(("given", "status"), [
    ({"moves": [[1.0, 0.0, 0.0]] * 2, "closed": False, "most": 2}, NEWTON_CAP), ({"moves": [[1.0, 0.0, 0.0]] * 2, "most": 1}, NEWTON_CAP), ({"moves": [[1.0, 0.0, 0.0]] * 2, "most": 2}, SUCCESS),
    ({"moves": [[np.inf, 0.0, 0.0]]}, NOT_FINITE), ({"moves": [], "regular": False}, SINGULAR), ({"moves": [[1.0, 0.0, 0.0]], "rounds": True}, SUCCESS),
    ({"moves": [[1.0, 0.0, 0.0]], "nc": 1, "answers": [(FAILS, 2.0)]}, FAILS),
])  # fmt: skip
def test_a_correction_of_positions_ends_with_a_reason(monkeypatch, given, status):
    assert corrected(monkeypatch, **given)[0] == status


def test_corrections_of_positions_that_do_not_fall_by_half_are_counted(monkeypatch):
    at, moves = 0.0, []
    for change in (4.0, 3.0, 2.0, 1.0, 0.6, 0.4):
        at += change
        moves.append([at, 0.0, 0.0])
    told = corrected(monkeypatch, moves, most=6)[1]
    stills = [x[2] for x in told if isinstance(x[0], float)]
    assert stills == [0, 1, 2, 0, 1, 2]


def struck(monkeypatch, *, z=(0.0, 0.0), gaps=(1.0, 1.0), start=(1.0, 1.0), speeds=(-0.25, -0.5), by_speed=False, found=(0.0, 0.0), status=SUCCESS):  # fmt: skip
    """Correct velocities; return the status, what the impact law was asked, work and record."""
    asked = []

    def answer(problem, work, m, free):
        asked.append((work.act[:m].tolist(), work.w[:m].tolist()))
        work.z[:m] = found[:m]
        free[:] = np.arange(10.0, 10.0 + free.size)
        return status, 0.5

    put(monkeypatch, whole.velocities, close=lambda *_: True, turn=lambda *_: None, factor=lambda *_: True,
        solve_step=lambda saddle, dx: dx.__setitem__(slice(None), 0.0), answer=answer)  # fmt: skip
    G, out = np.arange(1.0, 16.0).reshape(ROWS + BOUND, N), np.arange(100.0, 160.0)
    out[:CONTACTS] = gaps
    work = space(dx=np.zeros(N + BOUND), v=np.array([1.0, 2.0, -1.0]), pull=np.zeros(2), z=np.array(z, float), act=np.zeros(2, int),
                 w=np.zeros(2), d=None, none=None)  # fmt: skip
    record = space(gap=np.array([[9.0, 9.0], [*start]]), gap_dot=np.array([[9.0, 9.0], [*speeds]]), residuals=np.full((3, 2), 0.25),
                   active=np.full((3, 2), 9), p=np.full((3, 2), 9.0), jump=np.full((3, BOUND), 9.0))  # fmt: skip
    problem = space(sizes=sizes(), G=rows_of(G), bundles=space(out=out), outputs=AT, saddle=None, e=np.array([0.5, 0.25]),
                    method=space(velocity=by_speed, forecast=0.5))  # fmt: skip
    told = whole.velocities(problem, record, work, space(row=1, h=0.5, ht=0.1), True)
    return told, asked, work, record, G


NEXT = np.nextafter(TOUCH, 1.0)


@for_each(("given", "met"), [
    ({}, []), ({"z": (0.5, 0.0)}, [0]), ({"z": (0.0, 1e-3)}, [1]), ({"gaps": (TOUCH, 1.0)}, [0]), ({"gaps": (NEXT, -1.0)}, [1]),
    ({"by_speed": True, "gaps": (-1.0, -1.0), "z": (1.0, 1.0)}, []), ({"by_speed": True, "start": (TOUCH, NEXT), "speeds": (0.0, 0.0)}, [0]),
    ({"by_speed": True, "start": (9.0, 0.125)}, [1]), ({"by_speed": True, "start": (0.0625, 0.125)}, [0, 1]),
])  # fmt: skip
def test_impacts_are_of_contacts_that_are_closed(monkeypatch, given, met):
    """At the end of the step or, at velocity level, ahead of its start; Newton's law asks of them."""
    told, asked, work, record, G = struck(monkeypatch, **given, found=(1e-3, 0.0))
    assert told == SUCCESS
    before, e = given.get("speeds", (-0.25, -0.5)), (0.5, 0.25)
    speeds = [
        100.0 + AT.rates + c + G[c] @ [1.0, 2.0, -1.0] + e[c] * before[c] for c in range(CONTACTS)
    ]
    assert asked == ([(met, pytest.approx([speeds[c] for c in met]))] if met else [])
    does, p = [9, 9], [9.0, 9.0]
    for k, c in enumerate(met):
        does[c], p[c] = (2, 1e-3) if k == 0 else (1, 0.0)
    assert record.active[2].tolist() == does
    assert record.p[2].tolist() == p
    assert record.residuals[2, 0] == (0.5 if met else 0.25)
    assert work.v.tolist() == ([10.0, 11.0, 12.0] if met else [1.0, 2.0, -1.0])
    assert record.jump[2].tolist() == ([13.0, 14.0] if met else [0.0, 0.0])


def test_an_impact_that_has_no_solution_is_told(monkeypatch):
    told, _, work, record, _ = struck(monkeypatch, gaps=(0.0, 0.0), status=FAILS)
    assert (told, work.v.tolist()) == (FAILS, [1.0, 2.0, -1.0])
    assert (record.p[2] == 9).all()
    assert record.residuals[2, 0] == 0.5


@for_each(("impulse", "speed", "told"), [
    (1e-2, 0.0, True), (1e-2, 1e-6, True), (1e-2, 1e-3, False), (0.0, 0.0, False), (-1e-3, 0.0, False), (2.0, 1e-4, True),
])  # fmt: skip
def test_a_contact_pushes_on_by_any_impulse(impulse, speed, told):
    """(1 + e) |gap'| is at most a thousandth of what the impulse makes."""
    work = space(D=np.diag([9.0, 0.5]), pull=np.full(2, 9.0))
    record = space(p=np.array([[9.0, 9.0], [0.0, impulse]]), gap_dot=np.array([[0.0, -speed], [9.0, 9.0]]))  # fmt: skip
    problem = space(sizes=sizes(), e=np.array([9.0, 0.5]))
    assert told == (impulse > 0 and 1.5 * speed <= 1e-3 * 0.5 * impulse)
    whole.predict(problem, record, work, space(row=0, h=0.25))
    assert work.pull.tolist() == [0.0, 4 * impulse if told else 0.0]


@for_each(("by_speed", "gap", "ahead", "pull", "hit"), [
    (False, 1.0, -9.0, 0.0, False), (False, NEXT, 9.0, 0.0, False), (False, TOUCH, 9.0, 0.0, True), (False, np.nan, 9.0, 0.0, True), (False, 1.0, 9.0, 0.5, True),
    (True, -1.0, 1.0, 0.0, False), (True, 1.0, TOUCH, 0.0, True), (True, 1.0, -1.0, 0.0, True), (True, 1.0, 1.0, 1e-3, True),
])  # fmt: skip
def test_a_step_is_corrected_where_a_contact_is_met(monkeypatch, by_speed, gap, ahead, pull, hit):
    """By its last gap or, at velocity level, by the forecast from the start; or where one pushes on."""
    said = []

    def note(name, answer=SUCCESS):
        return lambda *given: said.append((name, given[4:])) or answer

    put(monkeypatch, whole.one_step, smooth=note("smooth"), half_way=note("half way"), positions=note("positions"), velocities=note("velocities"),
        look=lambda *_: True, predict=lambda *_: None)  # fmt: skip
    zeros = np.zeros(N)
    speed = 0.0 if ahead == TOUCH else -1.0
    record = space(gap=np.array([[1.0, ahead - 0.25 * speed]]), gap_dot=np.array([[0.0, speed]]), q=np.zeros((2, N)), v=np.zeros((2, N)),
                   a=np.zeros((2, N)), lam=np.zeros((2, BOUND)), t=np.zeros(2))  # fmt: skip
    out = np.ones(60)
    out[1] = gap
    problem = space(sizes=sizes(), bundles=space(out=out), method=space(velocity=by_speed, forecast=0.5, interpolated=False))  # fmt: skip
    work = space(z=np.ones(2), pull=np.array([0.0, pull]), d=zeros, v=zeros, a=zeros, lam=np.zeros(BOUND))  # fmt: skip
    task = space(problem=problem, record=record, work=work)
    assert whole.one_step(task, space(row=0, h=0.5, t1=0.5)) == SUCCESS
    between = [("half way", ())] if by_speed else [("positions", (CONTACTS,))]
    assert said == [("smooth", ()), *(between if hit else []), ("velocities", (hit,))]
    assert not work.z.any()
