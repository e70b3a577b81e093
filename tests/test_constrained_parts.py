"""Parts of a step of time stepping on positions and velocities, as Python runs its kernels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from plain import plain

stepping = plain("time_stepping.constrained_step")


def test_an_iterate_moves_to_what_was_found_and_tells_its_largest_change(monkeypatch):
    """q1 = q + h theta v1 + h (1 - theta) v + dq; a change of position counts by h."""
    rng, n, rows, h, ht = np.random.default_rng(0), 3, 2, 0.1, 0.06
    filled = []
    monkeypatch.setitem(stepping.move.__globals__, "fill", lambda *given: filled.append(given))
    for scale in (1e-3, 1.0):  # once the velocities change most, once the positions
        v_free, dq, old = (
            rng.normal(size=n + rows),
            scale * rng.normal(size=n + rows),
            rng.normal(size=(2, n)),
        )
        old[1] *= scale
        q, v = rng.normal(size=(2, 2, n))
        iterate = SimpleNamespace(q=np.full(n, np.nan), v=old[0].copy(), v_free=v_free.copy())
        levels = SimpleNamespace(shift=old[1].copy(), P=np.zeros(rows), gamma=np.zeros(rows))
        work = SimpleNamespace(
            iterate=iterate, levels=levels, projection=SimpleNamespace(dq=dq.copy())
        )
        problem = SimpleNamespace(sizes=SimpleNamespace(n=n), bundles=SimpleNamespace(inp="inp"))
        step = SimpleNamespace(row=1, h=h, ht=ht, t1=2.5)
        change, size = stepping.move(problem, SimpleNamespace(q=q, v=v), work, step)
        changes = np.abs(v_free[:n] - old[0]).max(), np.abs(dq[:n] - old[1]).max() / h
        assert change == pytest.approx(max(changes))
        assert np.argmax(changes) == (scale == 1.0)
        assert iterate.v.tolist() == v_free[:n].tolist()
        q1 = q[1] + ht * v_free[:n] + (h - ht) * v[1] + dq[:n]
        assert iterate.q == pytest.approx(q1)
        assert size == pytest.approx((np.abs(v_free[:n]) + np.abs(q1) / h).sum())
        assert (levels.P.tolist(), levels.gamma.tolist()) == (v_free[n:].tolist(), dq[n:].tolist())
        assert levels.shift.tolist() == dq[:n].tolist()
        assert filled[-1] == ("inp", 2.5, iterate.q, iterate.v, n)
