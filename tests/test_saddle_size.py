"""Accelerations of a single coordinate, which need no factors, and of those that need them."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SINGULAR, SUCCESS
from explorer.kernels.event_driven.records import DYNAMICS

flow = plain("event_driven.flow")


def accelerated(monkeypatch, M, F):
    """Return the status and what `accelerate` writes of a free system at velocities 5, 6, ..."""
    n = len(F)

    def evaluate(table, which, inp, out):
        assert which == DYNAMICS
        out[: n * n], out[n * n : n * n + n] = np.ravel(M), F

    put(monkeypatch, flow.assemble, evaluate=evaluate)
    put(monkeypatch, flow.accelerate, eliminate=lambda _: False)
    inp = np.full(1 + 4 * n, np.nan)
    inp[1 + n : 1 + 2 * n] = 5.0 + np.arange(n)
    saddle = space(W=np.full((n, n), np.nan), solution=np.full(n, np.nan), pivots=np.full(n, -9))
    sizes = space(n=n, n_c=0, n_t=0, rows=0, rates=1 + 2 * n, lam=1 + 4 * n, sigma=1 + 4 * n)
    problem = space(sizes=sizes, inp=inp, out=np.full(9, np.nan), rows=[], saddle=saddle, partner=None,
                    state=[space(held=0)], functions=space(table=None))  # fmt: skip
    return flow.accelerate(problem), inp[1 + 2 * n :], saddle


@for_each("mass", [2.0, 1.0, -0.5, 0.0])
def test_a_single_coordinate_is_accelerated_by_its_force_over_its_mass(monkeypatch, mass):
    status, rates, saddle = accelerated(monkeypatch, [[mass]], [3.0])
    assert status == (SUCCESS if mass else SINGULAR)
    if mass:
        assert rates.tolist() == [5.0, 3.0 / mass]
        assert (saddle.pivots[0], saddle.W[0, 0]) == (0, mass)


@for_each(
    "M",
    [
        [[2.0, 1.0], [1.0, 3.0]],
        [[0.0, 2.0], [1.0, 0.0]],
        [[1.0, 2.0], [2.0, 4.0]],
        [[4.0, 1.0], [1.0, 1.0]],
    ],
)
def test_two_coordinates_solve_for_theirs(monkeypatch, M):
    status, rates, _ = accelerated(monkeypatch, M, [3.0, -4.0])
    if np.linalg.matrix_rank(M) == 1:
        assert status == SINGULAR
        return
    assert status == SUCCESS
    np.testing.assert_allclose(rates, [5.0, 6.0, *np.linalg.solve(M, [3.0, -4.0])], rtol=1e-13)
