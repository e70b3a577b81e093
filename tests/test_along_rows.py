"""A bundle along the rows of a trajectory: row i is what it says of (t_i, q_i, v_i, rho)."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain

rows = plain("model.along_rows")


@for_each(("n", "n_v"), [(1, 1), (3, 3), (3, 0), (2, 4)])
def test_each_row_is_evaluated_at_its_time_and_state(monkeypatch, n, n_v):
    rng, weights, rho = np.random.default_rng(0), np.arange(1.0, 40.0), [0.5, -0.25]
    t, q, v = rng.normal(size=5), rng.normal(size=(5, n)), rng.normal(size=(5, n_v))
    inp = np.concatenate([np.full(1 + n + n_v, np.nan), rho])

    def call(address, data, out, inp):
        assert (address, data) == (7, 9)
        out[:2] = inp @ weights[: inp.size], inp[0]

    monkeypatch.setitem(rows.evaluate.__globals__, "call", call)
    result = np.full((5, 2), np.nan)
    rows.evaluate(7, 9, t, q, v, inp, np.full(3, np.nan), result)
    whole = np.column_stack([t, q, v, np.tile(rho, (5, 1))])
    assert result[:, 0] == pytest.approx(whole @ weights[: whole.shape[1]])
    assert result[:, 1].tolist() == t.tolist()
