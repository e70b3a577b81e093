"""Records that stand before a model's functions: linear between samples at even times."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain, put, reads

from explorer.kernels.model.sampled_forcing import before

sampled = plain("model.sampled_forcing")


@for_each("count", [1, 2, 3])
def test_records_are_interpolated_and_the_model_is_called(monkeypatch, count):
    rng, calls = np.random.default_rng(count), []
    records = [(0.1 * (k + 1), rng.normal(size=4 + k)) for k in range(count)]
    _, words = before(11, 22, 3, records)
    reads(monkeypatch, sampled.interpolate, forcings=sampled.FORCING, sampled=sampled.RECORD)
    put(monkeypatch, sampled.interpolate,
        forward=lambda address, data, out, inp: calls.append((address, data, inp.copy())))  # fmt: skip
    for t in (0.0, 0.05, 0.1, 0.17, 0.3):
        inp = np.full(4 + count, 9.0)
        inp[0] = t
        sampled.interpolate(np.zeros(2), inp, words)
        address, data, seen = calls.pop()
        assert (address, data) == (11, 22)
        expected = [np.interp(t, dt * np.arange(len(v)), v) for dt, v in records]
        np.testing.assert_allclose(seen[3 : 3 + count], expected, atol=1e-12)
        assert [*seen[1:3], seen[-1]] == [9.0] * 3
    inp[0] = 0.4  # beyond the samples the last line goes on, and so it does before the first
    sampled.interpolate(np.zeros(2), inp, words)
    dt, v = records[0]
    assert np.isclose(inp[3], v[-1] + (0.4 - 0.3) / dt * (v[-1] - v[-2]))
    inp[0] = -0.05
    sampled.interpolate(np.zeros(2), inp, words)
    assert np.isclose(inp[3], v[0] - 0.5 * (v[1] - v[0]))
