"""How contacts answer to impulses, against full matrices."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain

from explorer.codes import LCP_RAY, SINGULAR, SUCCESS
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, lcp_workspace
from explorer.kernels.model.structures import Rows

delassus = plain("complementarity.delassus")
SMOOTH, MASS, JUMP = delassus.SMOOTH, delassus.MASS, delassus.JUMP


class Case:
    """Matrices of n coordinates, chained if there are many, and contacts in any order."""

    def __init__(self, seed: int, n: int = 5, nc: int = 4):
        rng = self.rng = np.random.default_rng(seed)
        near = abs(np.subtract.outer(range(n), range(n))) <= (n if n < 9 else 1)
        M, C, K = (near * rng.normal(size=(3, n, n))) + 3 * np.eye(n)
        self.system = delassus.Matrices(M, C, K)
        self.G = rng.normal(size=(nc, n)) * (rng.random((nc, n)) < 0.6)
        ptr = np.append(0, np.cumsum((self.G != 0).sum(axis=1)))
        self.rows = Rows(ptr, np.nonzero(self.G)[1], self.G[self.G != 0])
        self.act, self.n, self.nc = rng.permutation(nc), n, nc
        self.responses = delassus.Responses(
            np.full((3, n, n), np.nan), np.zeros((3, n), np.int64), np.zeros(3, delassus.BAND).view(np.recarray),
            np.full((3, nc, n), np.nan),
        )  # fmt: skip


@for_each("n", [3, 8, 9, 12])
@for_each("seed", range(4))
def test_matrices_are_factored_in_their_place(seed, n):
    case = Case(seed, n)
    M, C, K = case.system
    for which, (m, c, k) in enumerate(((1.0, 0.0, 0.0), (0.5, 2.0, 0.0), (0.3, 0.7, 1.3))):
        assert delassus.factor(case.system, m, c, k, case.responses, which) == SUCCESS
        b = case.rng.normal(size=n)
        x = b.copy()
        delassus.solve_with(case.responses, which, x)
        np.testing.assert_allclose((m * M + c * C + k * K) @ x, b, atol=1e-9)
        band = n - 1 if n < 9 else 1
        assert [*case.responses.band[which]] == [band, band]
    for of in case.system:
        of[:] = 0.0
    assert delassus.factor(case.system, 1.0, 1.0, 1.0, case.responses, MASS) == SINGULAR


@for_each("seed", range(8))
def test_what_contacts_answer_follows_from_the_matrices(seed):
    """x = -A^-1 (k K + c C) M^-1 G' z and w = M^-1 G' z; or, of forces, x = A^-1 G' z."""
    case = Case(seed)
    (M, C, K), G = case.system, case.G
    A = M + 0.3 * C + 0.2 * K
    for R_C, R_K in ((0.5, 0.7), (0.0, 0.7), (0.5, 0.0), (0.0, 0.0)):
        assert delassus.factor(case.system, 1.0, 0.3, 0.2, case.responses, SMOOTH) == SUCCESS
        weights, m = delassus.Weights(0.3, 0.2, R_C, R_K, 1.1, 0.9), 3
        D = np.full((case.nc, case.nc), np.nan)
        assert (
            delassus.respond(m, case.act, case.rows, case.system, weights, case.responses, D)
            == SUCCESS
        )
        W = np.linalg.solve(M, G.T)
        Y = -np.linalg.solve(A, (R_C * C + R_K * K) @ W)
        if R_C == R_K == 0:
            W, Y = np.zeros_like(W), np.linalg.solve(A, G.T)
        on = case.act[:m]
        np.testing.assert_allclose(case.responses.Y[SMOOTH, on], Y.T[on], atol=1e-10)
        np.testing.assert_allclose(case.responses.Y[MASS, on], W.T[on], atol=1e-10)
        np.testing.assert_allclose(
            D[np.ix_(on, on)], (G @ (1.1 * Y + 0.9 * W))[np.ix_(on, on)], atol=1e-10
        )
        assert np.isnan(D[case.act[m]]).all()
    D = np.full((case.nc, case.nc), np.nan)
    assert delassus.jump(3, case.act, case.rows, case.system, 0.4, case.responses, D) == SUCCESS
    W = np.linalg.solve(M + 0.4 * C, G.T)
    np.testing.assert_allclose(case.responses.Y[JUMP, on], W.T[on], atol=1e-10)
    np.testing.assert_allclose(D[np.ix_(on, on)], (G @ W)[np.ix_(on, on)], atol=1e-10)
    for of in case.system:
        of[:] = 0.0
    assert delassus.jump(3, case.act, case.rows, case.system, 0.4, case.responses, D) == SINGULAR
    assert (
        delassus.respond(3, case.act, case.rows, case.system, weights, case.responses, D)
        == SINGULAR
    )


@for_each("m", [1, 2, 4])
@for_each("seed", range(6))
def test_the_problem_of_the_contacts_is_solved(seed, m):
    rng = np.random.default_rng(seed)
    A, act = rng.normal(size=(5, 7)), rng.permutation(5)[:m]
    problem = Lcp(A @ A.T, act, rng.normal(size=m), np.full(m, 9.0))
    work, options = opened(lcp_workspace(5, 5)), LcpOptions(0, 1e-11, 100)
    for span in (m, 99):
        status, off = delassus.complement(problem, m, span, options, work)
        D = problem.M[np.ix_(act, act)]
        w = D @ problem.z + problem.q
        assert status == SUCCESS
        assert off <= 1e-11 * abs(problem.q).max()
        assert np.minimum(problem.z, w) == pytest.approx(np.zeros(m), abs=1e-9)
    problem.q[0] = np.nan
    status, off = delassus.complement(problem, m, m, options, work)
    assert status == LCP_RAY or not off <= 1e-11
