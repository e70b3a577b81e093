"""Contacts known by their graph: paths of exact solutions, and steps along them."""

from __future__ import annotations

import numpy as np
import pytest
from contact_graph import FRICTION, OPEN, STICK, Case, dense
from loops import for_each
from plain import plain, put, space

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.friction.graph_structures import SPARE

gauss, paths = plain("friction.graph_gauss_seidel"), plain("friction.graph_path")
coordinates, proximal = plain("friction.graph_velocities"), plain("friction.graph_proximal")


def prepared(case, give=0.3):
    """Return the workspace of a path, numbered and made firm; and W and G of its coordinates."""
    g, path = case.graph, case.work.path
    assert paths.prepare(g, path)
    paths.stiffen(g, path, give)
    return g, path


@for_each("seed", FRICTION)
def test_coordinates_are_numbered_so_that_contacts_move_near_ones(seed):
    case = Case(seed)
    g, path = case.graph, case.work.path
    hidden = case.rng.permutation(len(case.inverse))  # a chain whose order is lost
    g.col[:] = hidden[g.col]
    done, width = coordinates.number_coordinates(g, path)
    moved = case.G[case.act].any(axis=0)
    touched = {int(hidden[j]) for j in np.flatnonzero(moved)}
    assert done == len(touched)
    assert {*map(int, path.order[:done])} == touched
    for j in range(len(case.inverse)):
        assert (path.order[path.where[j]] == j) if j in touched else (path.where[j] == -1)
    spans = [np.ptp(path.where[hidden[np.flatnonzero(case.G[a])]]) for a in case.act]
    assert width == max(spans) <= 4
    listed = [sorted({k for k in range(case.m) for a in (k, case.place[k])
                      if a >= 0 and j in hidden[np.flatnonzero(case.G[case.act[a]])]})
              for j in range(len(case.inverse))]  # fmt: skip
    for j, contacts in enumerate(listed):
        assert sorted({*path.near[path.head[j] : path.head[j + 1]]}) == contacts
    assert paths.prepare(g, path)
    assert (path.state[0].order, path.state[0].span, path.state[0].width) == (done, width, -1)
    assert not paths.prepare(g, path._replace(A=path.A[:, : 3 * width]))
    assert paths.prepare(g, path._replace(A=path.A[:, : 3 * width + 1]))
    assert paths.prepare(g, path._replace(A=path.A[:done]))
    assert not paths.prepare(g, path._replace(A=path.A[: done - 1]))


def closed_system(case, path, modes):
    """Return W and what closed contacts add to it, in the order of the band."""
    g, order = case.graph, path.order[: path.state[0].order]
    A = np.diag(1 / case.inverse)
    for k in range(case.m):
        what, t, G_n = modes[case.act[k]], case.place[k], case.G[case.act[k]]
        if what == OPEN:
            continue
        A += path.firm[k] * np.outer(G_n, G_n)
        if t >= 0:
            G_t = case.G[case.act[t]]
            A += (path.firm[t] * np.outer(G_t, G_t) if what == STICK
                  else -what * g.mu[k] * path.firm[k] * np.outer(G_t, G_n))  # fmt: skip
    return A[np.ix_(order, order)]


@for_each("seed", FRICTION)
def test_factors_answer_for_their_set_and_for_others_near_it(seed):
    """The change of P and u takes `off` off w + (P - P_0) / firm of what holds; slides follow."""
    case = Case(seed)
    g, path = prepared(case)
    firm = 1 / (case.soft + 0.3 * np.diag(case.D))
    np.testing.assert_allclose(path.firm[: case.rows], firm, rtol=1e-12)
    coordinates.assemble_band(g, path)
    n, w = path.state[0].order, path.state[0].span
    np.testing.assert_allclose(dense(path.A, n, w), closed_system(case, path, g.mode), atol=1e-12)
    path.off[: case.rows] = case.rng.normal(size=case.rows)
    off = path.off[: case.rows].copy()
    changed = paths.include(g, path, -1, -1)
    assert changed == 0
    done = []
    for turn in range(5):
        if turn:
            k = int(case.rng.integers(case.m))
            choice = [OPEN, STICK, 1, -1] if case.place[k] >= 0 else [OPEN, STICK]
            g.mode[case.act[k]] = case.rng.choice(choice)
            done += [] if k in done else [k]
            changed = paths.include(g, path, k, changed)
            assert changed == len(done)
        assert paths.answer(g, path, changed)
        change = np.zeros(case.rows)
        rows = case.chosen()
        if rows:
            A = case.columns(rows) - np.diag(case.soft[rows]) + np.diag(1 / firm[rows])
            change[rows] = np.linalg.solve(A, -off[rows])
        for k, t in enumerate(case.place):
            if t >= 0 and (what := g.mode[case.act[k]]) in (1, -1):
                change[t] = -what * g.mu[k] * change[k]
        np.testing.assert_allclose(path.change[: case.rows], change, atol=1e-10)
        np.testing.assert_allclose(path.du[: len(case.inverse)],
                                   case.inverse * (case.G[case.act].T @ change), atol=1e-10)  # fmt: skip
    for k in range(case.m):  # more of them than the factors can serve
        changed = paths.include(g, path, k, changed)
    most = min(SPARE, path.columns.shape[1] // 2)
    path.changed[:] = -1
    assert paths.include(g, path, 0, most - 1) == most
    assert paths.include(g, path, 0, most) == most  # it is among them
    assert paths.include(g, path, 1, most) == 0
    assert [*path.was[: case.m]] == [*g.mode[case.act[: case.m]]]


@for_each("n", range(1, 7))
def test_a_small_system_is_eliminated(n):
    rng = np.random.default_rng(n)
    for singular in (False, True):
        B, y = rng.normal(size=(n, n)), rng.normal(size=n)
        B[0, 0] = 0.0 if n > 1 else B[0, 0]
        if singular:
            B[:, -1] = 0.0
        wide, right = np.full((n + 1, n + 1), np.nan), np.append(y, np.nan)
        wide[:n, :n] = B
        assert coordinates.eliminate(wide, right, n) != singular
        if not singular:
            np.testing.assert_allclose(right[:n], np.linalg.solve(B, y), rtol=1e-9)


@for_each("seed", FRICTION)
def test_the_next_change_is_the_first_that_a_march_meets(seed):
    """Along a straight line of P and w, up to the step that is given; its own place is not met again."""
    case = Case(seed, mu=0.6)
    g, path, rng = case.graph, case.work.path, case.rng
    case.impulses()
    for of, scale in ((path.w, 1), (path.dw, 1), (path.change, 0.4)):
        of[: case.rows] = rng.normal(size=case.rows) * scale
    path.w[: case.m] = abs(path.w[: case.m])
    for k, t in enumerate(case.place):
        if t >= 0 and (what := g.mode[case.act[k]]) in (1, -1):
            path.w[t] = what * abs(path.w[t])
            path.change[t] = -what * g.mu[k] * path.change[k]
    for way in (1.0, -1.0):
        for most in (np.inf, 0.05):
            events = [(most, -1, 0)]
            for k, t in enumerate(case.place):
                what = g.mode[case.act[k]]
                P, dP = g.P[k], way * path.change[k]
                w, dw = path.w[k], way * path.dw[k]
                if what == OPEN:
                    if dw < 0:
                        after = w / -dw
                        slip = path.w[t] + after * way * path.dw[t] if t >= 0 else 0
                        events.append((after, k, STICK if t < 0 else 1 if slip > 0 else -1))
                    continue
                if dP < 0 and (what != STICK or t < 0):
                    events.append((P / -dP, k, OPEN))
                if t < 0:
                    continue
                if what == STICK:
                    for side in (-1, 1):
                        room = g.mu[k] * P + side * g.P[t]
                        rate = g.mu[k] * dP + side * way * path.change[t]
                        events += [(room / -rate, k, side)] if rate < 0 else []
                elif what * way * path.dw[t] < 0:
                    events.append((-path.w[t] / (way * path.dw[t]), k, STICK))
            step, hit, now = min(events)
            got = paths.next_change(g, path, most, way, -1, 0)
            assert got == (pytest.approx(step), hit, now)
            if hit >= 0:
                other = paths.next_change(g, path, most, way, hit, now)
                assert other[0] >= step - 1e-12
                assert other[1] != hit or other[2] != now


@for_each("seed", FRICTION)
def test_a_path_begins_at_a_solution_of_a_problem_with_another_right_side(seed):
    """w + b = 0 where a contact presses, w + b > 0 where it is open, and b = 0 if it is open anyway."""
    case = Case(seed, soft=seed % 2 == 0, mu=0.3)
    g, path = prepared(case)
    P, n = g.P, case.m
    P[:] = np.abs(case.rng.normal(size=len(P)))
    P[:n:2] = 0.0
    gauss.follow(g)
    paths.begin(g, path)
    for k in range(n):
        w = g.q[k] + case.G[case.act[k]] @ g.u + g.soft[k] * P[k]
        if P[k] > 0:
            assert w + path.off[k] == pytest.approx(0.0, abs=1e-12)
        else:
            assert path.off[k] == pytest.approx(max(0.0, -2.0 * w), abs=1e-12)
        stuck = g.place[k] >= 0 and P[k] > 0 and abs(P[g.place[k]]) < g.mu[k] * P[k]
        if g.place[k] < 0 or stuck or P[k] == 0:
            assert g.mode[case.act[k]] == (STICK if P[k] > 0 else OPEN)


@for_each("seed", FRICTION[:7])
def test_a_path_leads_to_a_solution_and_proximal_steps_do(seed):
    case = Case(seed, soft=seed % 2 == 0, mu=0.3)
    g, path = prepared(case)
    before = g.P.copy()
    g.P[:] = before
    ends, count = paths.along_path(g, path, 1e-3, 60, 60)
    assert ends
    start, give = path.start[: case.rows], 1e-3
    term = give * np.diag(case.D) * (g.P - start)
    np.testing.assert_allclose(start, before)
    g.q[:] += term
    assert case.off().max() <= 1e-8
    g.q[:] -= term
    np.testing.assert_allclose(g.u, case.inverse * (case.G[case.act].T @ g.P), atol=1e-9)
    if count:
        g.P[:] = before
        assert paths.along_path(g, path, give, count, 60) == (False, count)
        g.P[:] = before
        assert paths.along_path(g, path, give, count + 1, 60) == (True, count)
    g.P[:] = before
    left = gauss.residual(g)
    status, off = proximal.approach(g, path, left, 1e-9, 1e-11, 2400)
    assert status == SUCCESS
    assert off <= 1e-9
    assert case.off().max() == pytest.approx(off, abs=1e-13)
    g.P[:] = before
    assert proximal.approach(g, path, left, 1e-9, 1e-11, 0) == (LCP_ITERATIONS, left)
    narrow = path._replace(A=path.A[:, :1])
    assert proximal.approach(g, narrow, left, 1e-9, 1e-11, 99) == (LCP_RAY, left)


@for_each(("fine", "taken"), [(0.5e-6, True), (1e-6, False), (2e-6, False), (np.nan, False)])
def test_what_polishing_does_not_improve_is_not_taken(monkeypatch, fine, taken):
    """Of a residual of 1e-6 behind the path."""
    case = Case(FRICTION[0], mu=0.3)
    g, path = prepared(case)
    told = iter([1e-6, fine])

    def polish(graph, path):
        graph.P[:] += 1.0

    put(monkeypatch, proximal.approach, prepare=lambda *_: True, along_path=lambda *_: (True, 3), residual=lambda graph: next(told), polish=polish)  # fmt: skip
    monkeypatch.setitem(proximal.approach.__globals__, "BEGIN", proximal.SETTLED)
    before = g.P.copy()
    status, left = proximal.approach(g, path, 1.0, 1e-5, 1e-5 * 1e-3, 5)
    assert (status, left) == (SUCCESS, fine if taken else 1e-6)
    assert g.P[: case.rows].tolist() == (before[: case.rows] + taken).tolist()


@for_each(("mode", "change", "told"), [
    ("STICK", (0.5, 0.1), (2.5, 0.3)), ("STICK", (0.5, 9.0), (2.5, 0.75)), ("STICK", (0.5, -9.0), (2.5, -0.75)), ("STICK", (-5.0, 0.0), (0.0, 0.0)),
    (1, (0.5, 9.0), (2.5, -0.75)), (-1, (0.5, 9.0), (2.5, 0.75)), (1, (-5.0, 9.0), (0.0, 0.0)),
])  # fmt: skip
def test_polishing_keeps_impulses_in_their_cones(monkeypatch, mode, change, told):
    """From (2, 0.2) with mu = 0.3: what sticks within the bound, what slides at it."""
    mode = {"STICK": STICK}.get(mode, mode)
    none, P = np.zeros(2), np.array([2.0, 0.2])
    g = space(ptr=None, col=None, val=None, act=np.array([0, 5]), m=1, rows=2, place=np.array([1]), mu=np.array([0.3]), q=np.ones(2),
              P=P, mode=np.full(6, mode), unit=np.ones(2), soft=none, u=none)  # fmt: skip
    path, left = space(off=np.zeros(2), change=np.array(change)), [True, False]
    put(monkeypatch, proximal.polish, stiffen=lambda *_: None, include=lambda *_: 0, renew=lambda graph: None, along=lambda *_: 0.0,
        answer=lambda *_: left.pop(0))  # fmt: skip
    assert proximal.polish(g, path) == SUCCESS  # a step that halves nothing is the last
    assert pytest.approx(told) == P
    assert proximal.polish(g, path) == LCP_ITERATIONS
    asked = []
    put(monkeypatch, proximal.polish, include=lambda *given: asked.append(given[2:]) or -1)
    assert proximal.polish(g, path) == LCP_ITERATIONS
    assert asked == [(-1, -1)]  # there are no factors


@for_each(("seed", "size"), [(seed, size) for seed in FRICTION[:12] for size in (1.0, 1e-7)])
def test_polishing_solves_for_what_contacts_do(seed, size):
    """w = 0 of what holds, the cone of what slides and no impulse of what is open, to round-off."""
    case = Case(seed, soft=seed % 2 == 0, mu=0.8)
    g, path = prepared(case)
    case.impulses()
    g.P[:] *= size
    P, hold = g.P.copy(), case.chosen()
    g.q[:] *= size
    g.q[hold] -= case.w()[hold]
    g.P[:] *= 1 + 1e-4 * case.rng.uniform(-1, 1, case.rows)
    for k, t in enumerate(case.place):
        if t >= 0 and (what := g.mode[case.act[k]]) != STICK:
            g.P[t] = -what * g.mu[k] * g.P[k] * (what != OPEN)
    assert proximal.polish(g, path) == SUCCESS
    np.testing.assert_allclose(g.P, P, rtol=1e-11, atol=1e-13 * size)


def test_what_is_open_has_no_impulse_behind_a_step(monkeypatch):
    """Beside a contact that sticks; whatever the factors answer for it."""
    none, P = np.zeros(3), np.array([1.0, 2.0, 3.0])
    g = space(ptr=None, col=None, val=None, act=np.array([2, 0, 4]), m=2, rows=3, place=np.array([-1, 2]), mu=np.full(2, 0.3),
              q=np.ones(3), P=P, mode=np.array([OPEN, 7, STICK, 7, 7]), unit=np.ones(3), soft=none, u=none)  # fmt: skip
    path = space(off=np.zeros(3), change=np.array([0.5, 6.0, 7.0]))
    put(monkeypatch, proximal.polish, stiffen=lambda *_: None, include=lambda *_: 0, renew=lambda graph: None, along=lambda *_: 0.0,
        answer=lambda *_: True)  # fmt: skip
    assert proximal.polish(g, path) == SUCCESS
    assert P.tolist() == [1.5, 0.0, 0.0]


def test_there_are_no_factors_of_a_singular_set(monkeypatch):
    """Nor are those of another set taken for them."""
    case = Case(1)
    g, path = prepared(case)
    for told, status in ((0, 0), (1, -1), (5, -1)):
        monkeypatch.setitem(paths.include.__globals__, "band_factor", lambda *_, told=told: told)
        assert paths.include(g, path, -1, -1) == status
