"""The transposed derivatives of a flow, as Python runs the kernel: against the dense matrices."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from loops import for_each
from plain import plain

from explorer.kernels.event_driven.records import STEP

adjoint = plain("event_driven.adjoint")


@for_each("closed", [(), (1,), (0, 2), (0, 1, 2)])
def test_weights_are_pulled_back_through_forces_and_the_rows_that_hold(monkeypatch, closed):
    """W (v', -lam) = -(R, A): bar = f_x' weight, with R and A of forces and of accelerations."""
    rng, n, nr, count, many = np.random.default_rng(len(closed)), 2, 3, 3, 2
    held, wrt = len(closed), np.array([2, -1, 0])
    size = n + held
    W = rng.normal(size=(size, size)) + 3 * np.eye(size)
    R = [rng.normal(size=(n, wide)) for wide in (n, n, nr, 1)]  # by q, v, rho, t
    A = [rng.normal(size=(count, wide)) for wide in (n, n, nr, 1)]
    told = np.concatenate([x.ravel() for x in (*R, *A)])

    def evaluate(table, which, inp, out):
        assert which == STEP
        out[: told.size] = told

    space = adjoint.pull_back.__globals__
    monkeypatch.setitem(space, "evaluate", evaluate)
    monkeypatch.setitem(
        space, "transposed_solve",
        lambda W, size, pivots, s: s.__setitem__(slice(size), np.linalg.solve(W.T, s[:size])),
    )  # fmt: skip
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n_x=2 * n, n=n, n_rho=nr, rows=count, mechanical=True), wrt=wrt,
        out=np.full(99, np.nan), rows=[SimpleNamespace(closed=int(c in closed)) for c in range(count)],
        saddle=SimpleNamespace(W=W, pivots=None, tangent=np.full(size + 2, np.nan), forces=None), inp=None,
        functions=SimpleNamespace(cost=-1, table=None), state=[SimpleNamespace(held=held)],
    )  # fmt: skip
    weights, gains = rng.normal(size=(many, 2 * n + 1)), rng.normal(size=(many, len(wrt)))
    bars, before = np.full((many, 2 * n + 1), np.nan), gains.copy()
    given = weights.copy()
    adjoint.pull_back(problem, weights, bars, gains)
    by = [-np.linalg.solve(W, np.vstack([r, a[[*closed]]]))[:n] for r, a in zip(R, A, strict=True)]
    slope = np.block([[np.zeros((n, n)), np.eye(n)], [by[0], by[1]]])
    np.testing.assert_allclose(bars[:, : 2 * n], given[:, : 2 * n] @ slope, atol=1e-12)
    gained = given[:, n : 2 * n] @ by[2]
    np.testing.assert_allclose(gains - before, np.where(wrt >= 0, gained[:, wrt], 0.0), atol=1e-12)
