"""Equations of a step with stages, uncompiled, term by term; and what stays within round-off."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

stage = plain("fesd.stage_complementarity")
SNAP = stage.SNAP
N, NC, S = 2, 3, 3  # states, functions, stages


def groups():
    """Two variables beside a leader, and one that has none of its own."""
    return stage.Groups(np.array([0, 1, 3]), np.array([0, 0, 1]), np.array([2, -1]))


def test_the_memory_of_a_step_has_room_for_its_stages():
    problem = space(n_x=N, n_c=NC, n_sel=4)
    step = stage.step_of(problem, space(b=np.zeros(S)), groups())
    m = S * (3 + 2)
    shapes = {
        "unknowns": [(S, N), (S, 3), (S, 4), (N,)], "linear": [(S, NC), (S, NC * N), (S + 1, 2), (S, 3, NC), (S, N * 3)],
        "slopes": [(S * N, S * N), (m,), (S * N,), (S * 3, S * N)],
        "lcp": [(m, m), (m,), (m,), (m + 1, 2 * m + 2), (m,), (m,), (m,), (m, m), (S * N,)],
    }  # fmt: skip
    for name, wanted in shapes.items():
        assert [one.shape for one in getattr(step, name)] == wanted
    assert step.lcp.act.tolist() == [*range(m)]
    assert not step.linear.size.any()
    long = stage.step_of(space(n_x=9, n_c=1, n_sel=1), space(b=np.zeros(2)), stage.Groups(np.array([0]), np.array([0]), np.array([-1])))  # fmt: skip
    assert long.slopes.pivots.shape == (18,)


@for_each(("seed", "explicit"), itertools.product(range(6), (True, False)))
def test_a_linear_model_of_all_stages_is_the_derivative_of_its_equations(monkeypatch, seed, explicit):  # fmt: skip
    """f less the slope of each stage, its rows by slopes and by variables, and its size."""
    rng, h, t = np.random.default_rng(seed), 0.25, 1.5
    A = np.tril(rng.normal(size=(S, S)), -1 if explicit else 2)
    c, x = rng.normal(size=S), rng.normal(size=N)
    f, f_x, f_sel = rng.normal(size=(S, N)), rng.normal(size=(S, N, N)), rng.normal(size=(S, N, 4))
    g, g_x = rng.normal(size=(S, NC)), rng.normal(size=(S, NC, N))
    nsel, of, asked = 4, groups(), []
    problem = space(inp=np.full(1 + N + nsel, np.nan), out=np.full(N + N * N + N * nsel, np.nan), c=np.full(NC + NC * N, np.nan), n_x=N, n_c=NC, n_sel=nsel)  # fmt: skip
    step = stage.step_of(problem, space(A=A, c=c, b=np.zeros(S)), of)
    K = step.unknowns.K
    K[:] = rng.normal(size=(S, N))
    for one in (*step.linear, step.slopes.J, step.slopes.change):
        one[...] = 9.0

    def flow(problem):
        i = len(asked) - 1
        problem.out[:] = [*f[i], *f_x[i].ravel(), *f_sel[i].ravel()]
        problem.c[:] = [*g[i], *g_x[i].ravel()]

    put(monkeypatch, stage.linearise, place=lambda problem, weights, time, x, h, K: asked.append((weights.tolist(), time, h)) or problem.inp.__setitem__(slice(1, 1 + N), x + h * weights @ K),
        mix=lambda step, i: None, switching=flow, flow=flow, weigh=lambda problem, leader, c, R: R.__setitem__(..., c[0]),
        measure=lambda step, i, h: step.linear.size.__setitem__((i, 0), step.unknowns.end[1]))  # fmt: skip
    worst = stage.linearise(step, t, x, h)
    assert asked == [(A[i].tolist(), t + h * c[i], h) for i in range(S)]
    X = x + h * A @ K
    J = np.eye(S * N)
    terms = np.zeros((S, N))
    for i in range(S):
        for j in range(S):
            J[i * N : (i + 1) * N, j * N : (j + 1) * N] -= h * A[i, j] * f_x[i]
        terms[i] = abs(K[i]) + abs(f_x[i]) @ (abs(X[i]) + abs(x)) + abs(f_sel[i]).sum(axis=1)
        own = np.stack([f_sel[i, :, 0] - f_sel[i, :, 2], f_sel[i, :, 1] - f_sel[i, :, 2], f_sel[i, :, 3]], axis=1)  # fmt: skip
        np.testing.assert_allclose(step.linear.F[i], own.ravel())
    np.testing.assert_allclose(step.slopes.J, J)
    np.testing.assert_allclose(step.slopes.change, (f - K).ravel())
    assert worst == pytest.approx((abs(f - K) / terms).max())
    np.testing.assert_allclose(step.linear.size[:S, 0], terms[:, 1])
    np.testing.assert_array_equal(step.linear.C, g)
    np.testing.assert_array_equal(step.linear.Cx, g_x.reshape(S, -1))
    np.testing.assert_array_equal(step.linear.R, np.broadcast_to(g[:, :1, None], (S, 3, NC)))
    for bad, one in itertools.product((np.inf, -np.inf, np.nan), ((f, (1, 1)), (g, (2, 2)))):
        asked.clear()
        before, one[0][one[1]] = one[0][one[1]], bad
        assert stage.linearise(step, t, x, h) == np.inf
        one[0][one[1]] = before
    asked.clear()
    f[1, 1] = f_sel[1, 1, 0] = np.inf  # their quotient is not a number, and not a small one
    assert stage.linearise(step, t, x, h) == np.inf


# ---------------------------------------------------------------- what stays, and what is kept


def held(V, C, size, *, h=0.5, change=(0.0, 0.0), R=None, Cx=None, A=1.0):
    """Whether regions stay, of one stage with the groups above and functions of one state."""
    R = -np.eye(3)[None] if R is None else np.array(R, float)[None]
    Cx = np.zeros(3) if Cx is None else np.array(Cx, float)
    linear = space(C=np.array([C], float), Cx=Cx[None], size=np.array([size, size], float), R=R)
    step = space(problem=space(n_x=1, n_c=3), groups=groups(), linear=linear, tableau=space(A=np.array([[A]])), unknowns=space(V=np.array([V], float)),
                 lcp=space(q=np.full(3, 9.0)), slopes=space(change=np.array(change[:1], float)))  # fmt: skip
    return stage.stays(step, h)


@for_each(("V", "C", "size", "told"), [
    ((0, 0, 0), (-1.0, -1.0, -1.0), (1, 1), True), ((0, 0, 0), (1e-9, -1.0, -1.0), (1, 1), False), ((1, 0, 0), (1.0, 0.5, -1.0), (1, 1), True), ((1, 0, 0), (-1e-9, -1.0, -1.0), (1, 1), False),
    ((1, 0, 0), (1.0, 1.5, -1.0), (1, 1), False), ((0, 1, 0), (1.0, 1.5, -1.0), (1, 1), True), ((0, 0, 1), (-1.0, -1.0, 1.0), (1, 1), True), ((0, 0, 1), (-1.0, -1.0, -1e-9), (1, 1), False),
    ((0.5, 0, 0), (-1.0, -1.0, -1.0), (1, 1), False), ((0, 0, 0.5), (-1.0, -1.0, -1.0), (1, 1), False), ((0, 0, 0), (SNAP, -1.0, -1.0), (1, 1), True), ((0, 0, 0), (1.1 * SNAP, -1.0, -1.0), (1, 1), False),
    ((0, 0, 0), (2 * SNAP, -1.0, -1.0), (2, 1), True), ((0, 0, 0), (-1.0, -1.0, 2 * SNAP), (2, 1), False), ((1, 0, 0), (-SNAP, -1.0, -1.0), (1, 1), True), ((1, 0, 0), (-1.1 * SNAP, -1.0, -1.0), (1, 1), False),
    ((1, 0, 0), (1.0, 1.0, -1.0), (1, 1), True), ((0, 0, 0), (SNAP / 8, -1.0, -1.0), (1 / 8, 1), True), ((0, 0, 0), (SNAP / 4, -1.0, -1.0), (1 / 8, 1), False),
])  # fmt: skip
def test_regions_stay_whose_function_is_the_least(V, C, size, told):
    """Of each group apart: g is -c of a variable and 0 of the leader; round-off counts beside the size."""
    assert held(V, C, size) == told


@for_each(("change", "told"), [(-0.5, True), (0.99, True), (1.01, False)])
def test_regions_stay_up_to_the_end_of_the_step(change, told):
    """c = -1 grows by h c_x A dK = 0.5 * 4 * 0.5 * dK there."""
    assert held((0, 0, 0), (-1.0, -9.0, -9.0), (1, 1), change=(change,), Cx=(4.0, 0.0, 0.0), A=0.5) == told  # fmt: skip


def kept(V, z, w, *, M=None):
    """Whether the set of one stage is kept, whose problem has this solution; and what is found."""
    m = 5
    M = np.eye(m) * 2.0 if M is None else M
    lcp = space(M=M, q=np.array(w, float) - M @ np.array(z, float), z=np.full(m, 9.0), basis=np.full(m, -9), scale=np.full(m, 9.0), A=np.full((m, m), 9.0))  # fmt: skip
    return stage.keeps(lcp, groups(), np.array([V], float), np.zeros(m, int)), lcp.z


@for_each(("V", "basis"), [
    ((0, 0, 0), []), ((0.5, 0, 0), [0]), ((0.5, 0.5, 0), [0, 1, 3]), ((1, 0, 0), [0, 3]), ((0, 0, 1), [2, 4]), ((0.25, 0.25, 0.5), [0, 1, 2]), ((0, 1, 1), [1, 2, 3, 4]),
    ((0.5, 0.5 - 0.9 * SNAP, 0), [0, 1, 3]), ((0.5, 0.5 - 3 * SNAP, 0), [0, 1]), ((1e-12, 0, 0), [0]),
])  # fmt: skip
def test_a_set_is_kept_where_it_solves_its_own_problem(V, basis):
    """Its variables that are not 0, and lambda of each group that adds up to 1."""
    rng = np.random.default_rng(len(basis))
    M = rng.normal(size=(5, 5))
    M = M @ M.T + np.eye(5)
    z, w = np.zeros(5), np.ones(5)
    z[basis], w[basis] = rng.uniform(0.5, 1, len(basis)), 0.0
    told, found = kept(V, z, w, M=M)
    assert told
    np.testing.assert_allclose(found, z, atol=1e-9)
    for row in range(5):
        there, off = z.copy(), w.copy()
        (there if row in basis else off)[row] = -1e-6
        assert not kept(V, there, off, M=M)[0]
        (there if row in basis else off)[row] = 0.0
        assert kept(V, there, off, M=M)[0]
