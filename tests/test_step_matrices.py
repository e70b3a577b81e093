"""Matrices of a step, factored here or outside: each form against a full solve."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain

from explorer.kernels.linear_algebra.structures import Factors, SaddlePoint, Triangle
from explorer.kernels.model.structures import Rows

saddle, outside = plain("linear_algebra.saddle_point"), plain("linear_algebra.factored_solve")


class Step:
    """A chain of n coordinates with constraints between some of them, full and as a band."""

    def __init__(self, seed: int, n: int = 7, constraints: int = 2):
        rng = self.rng = np.random.default_rng(seed)
        near = abs(np.subtract.outer(range(n), range(n))) <= 1
        self.M, self.C, self.K = (np.where(near, rng.normal(size=(n, n)), 0.0) for _ in range(3))
        self.M = self.M @ self.M.T * near * 0.1 + np.diag(rng.uniform(3, 4, n))
        G = np.zeros((3 + constraints, n))
        G[:3] = rng.normal(size=(3, n))  # rows of contacts, which stand before
        for c in range(constraints):
            G[3 + c, [3 * c, 3 * c + 1]] = rng.normal(size=2) + 1.5
        self.n, self.N, self.G, self.ht = n, n + constraints, G, 0.3
        ptr = np.append(0, np.cumsum((G != 0).sum(axis=1)))
        self.rows = Rows(ptr, np.nonzero(G)[1], G[G != 0])
        # each constraint stands behind the first of the coordinates that it joins
        order = [*range(n)]
        for c in range(constraints):
            order.insert(order.index(3 * c) + 1, n + c)
        self.place = np.argsort(order)

    def full(self):
        n, W = self.n, np.zeros((self.N, self.N))
        W[:n, :n] = self.M + self.ht * self.C + self.ht**2 * self.K
        W[n:, :n], W[:n, n:] = self.G[3:], -self.G[3:].T
        return W

    def forms(self):
        """Yield the structure and M, C and K, full and as a band."""
        none = np.zeros(0, np.int64)
        dense = SaddlePoint(np.full((self.N, self.N), np.nan), np.zeros(self.N, np.int64), none, none,
                            none, np.zeros(0))  # fmt: skip
        yield dense, self.M, self.C, self.K
        near = (self.M != 0) | (self.C != 0) | (self.K != 0)
        ptr, col = np.append(0, np.cumsum(near.sum(axis=1))), np.nonzero(near)[1]
        w = max(abs(self.place[j] - self.place[k]) for j, k in zip(*np.nonzero(self.full()), strict=True))  # fmt: skip
        W = np.full((self.N, 3 * w + 1), np.nan)  # no more than there is to be written
        band = SaddlePoint(W, np.zeros(self.N, np.int64), ptr, col, self.place, np.zeros(self.N))
        yield band, *(A[near][:, None] for A in (self.M, self.C, self.K))


@for_each("seed", range(12))
def test_the_matrix_of_a_step_is_solved_full_and_as_a_band(seed):
    for constraints in (0, 2):
        step = Step(seed, constraints=constraints)
        for form, M, C, K in step.forms():
            assert saddle.factor_step(form, M, C, K, step.ht, step.rows, 3, step.rows.val) == 0
            for _ in range(2):
                b = step.rng.normal(size=step.N)
                x = b.copy()
                saddle.solve_step(form, x)
                np.testing.assert_allclose(x, np.linalg.solve(step.full(), b), atol=1e-10)


@for_each("seed", range(12))
def test_inertia_and_mass_are_told_full_and_as_a_band(seed):
    step = Step(seed)
    for form, M, _, _ in step.forms():
        v, before, change, size = step.rng.normal(size=(4, step.n))
        saddle.inertia(form, M, v, before, change, size)
        np.testing.assert_allclose(change, step.M @ (v - before), atol=1e-12)
        np.testing.assert_allclose(size, abs(step.M * before).sum(axis=1), atol=1e-12)
        assert saddle.has_mass(form, M)
    for at, value in ((0, -1.0), (step.n - 1, 0.0), (2, 1e-3), (0, 1e-5)):
        other = Step(seed)
        other.M[at, at] = value
        positive = np.linalg.eigvalsh(other.M).min() > 0
        for form, M, _, _ in other.forms():
            assert saddle.has_mass(form, M) == positive
    for i in range(step.n - 1):  # two coordinates that are coupled too much
        for share in (0.99, 1.01):
            other = Step(seed)
            other.M = np.diag(np.diag(step.M))
            other.M[i, i + 1] = other.M[i + 1, i] = share * np.sqrt(
                step.M[i, i] * step.M[i + 1, i + 1]
            )
            for form, M, _, _ in other.forms():
                assert saddle.has_mass(form, M) == (share < 1)


def test_a_singular_step_is_told():
    step = Step(1)
    step.G[4] = step.G[3]
    step.rows = Rows(np.append(0, np.cumsum((step.G != 0).sum(axis=1))), np.nonzero(step.G)[1],
                     step.G[step.G != 0])  # fmt: skip
    (form, M, C, K), _ = step.forms()
    assert saddle.factor_step(form, M, C, K, step.ht, step.rows, 3, step.rows.val) != 0


def triangle(A) -> Triangle:
    """Return the sparse columns of a matrix."""
    ptr = np.append(0, np.cumsum((A != 0).sum(axis=0))).astype(np.int32)
    col, row = np.nonzero(A.T)
    return Triangle(ptr, row.astype(np.int32), A[row, col])


NONE = Triangle(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))


@for_each("n", [1, 2, 3, 6, 9])
@for_each("widths", [(0, 0), (1, 1), (2, 1), (1, 3), (9, 9)])
def test_factors_made_outside_solve_as_the_matrix_does(n, widths):
    rng = np.random.default_rng(n)
    kl, ku = (min(w, n - 1) for w in widths)
    L = np.tril(np.triu(rng.normal(size=(n, n)), -kl), -1) + np.eye(n)
    U = np.triu(np.tril(rng.normal(size=(n, n)), ku), 1) + np.eye(n)
    d, b = rng.uniform(0.5, 2, n), rng.normal(size=n)
    below, above = np.zeros((n, kl)), np.zeros((n, ku))
    for k in range(n):
        below[k, : max(0, min(kl, n - 1 - k))] = L[k + 1 : k + 1 + kl, k]
        for i in range(max(0, k - ku), k):
            above[k, i - k + ku] = U[i, k]
    none = np.zeros(0, np.int64)
    x = b.copy()
    outside.solve_factored(Factors(1 / d, none, below, above, NONE, NONE, none, np.zeros(0)), n, x)
    np.testing.assert_allclose(L @ np.diag(d) @ U @ x, b, atol=1e-9)
    order = np.array([rng.integers(k, min(n, k + 1 + kl)) for k in range(n)], np.int64)
    x, y = b.copy(), b.copy()  # rows are exchanged between the columns of L (LINPACK)
    outside.solve_factored(Factors(1 / d, order, below, above, NONE, NONE, none, np.zeros(0)), n, x)
    for k in range(n):
        y[[k, order[k]]] = y[[order[k], k]]
        y[k + 1 :] -= L[k + 1 :, k] * y[k]
    np.testing.assert_allclose(np.diag(d) @ U @ x, y, atol=1e-9)


@for_each("seed", range(8))
def test_sparse_columns_solve_as_the_matrix_does(seed):
    rng, n = np.random.default_rng(seed), 8
    some = rng.random((n, n)) < 0.4
    L, U = np.tril(rng.normal(size=(n, n)) * some, -1), np.triu(rng.normal(size=(n, n)) * some, 1)
    d, order, place = rng.uniform(0.5, 2, n), rng.permutation(n), rng.permutation(n)
    b = rng.normal(size=n) * (rng.random(n) < 0.6)
    x = b.copy()
    no = np.zeros((n, 0))
    outside.solve_factored(
        Factors(1 / d, order, no, no, triangle(L), triangle(U), place, np.zeros(n)), n, x
    )
    right, y = np.zeros(n), np.zeros(n)
    right[order] = b
    y[:] = np.linalg.solve((L + np.eye(n)) @ np.diag(d) @ (U + np.eye(n)), right)
    np.testing.assert_allclose(x, y[place], atol=1e-9)
