"""Parts of a step of time stepping on positions and velocities, as Python runs its kernels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

stepping = plain("time_stepping.constrained_step")
iterating = plain("time_stepping.constrained_alpha_iteration")


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


@for_each("unit", [1e-9, 1.0, 1e9])
@for_each("interpolated", [False, True])
def test_accelerations_move_with_the_state_and_tell_how_large_they_are(interpolated, unit):
    """d and v follow by beta h^2 and gamma h; lam by what the mean of the forces is divided by."""
    rng, n, h = np.random.default_rng(0), 3, 0.1
    method = SimpleNamespace(
        alpha_m=0.2, alpha_f=0.4, beta=0.3, gamma=0.6, interpolated=interpolated
    )
    dx, v0 = unit * rng.normal(size=n + 2), 1e-3 * unit * rng.normal(size=n)
    a, d, v, lam = (unit * rng.normal(size=size) for size in (n, n, n, 2))
    work = SimpleNamespace(a=a.copy(), d=d.copy(), v=v.copy(), lam=lam.copy(), dx=dx)
    problem = SimpleNamespace(method=method, sizes=SimpleNamespace(n=n))
    for start in (v0, 1e5 * v0):
        record = SimpleNamespace(v=np.array([np.full(n, np.nan), start]))
        work.a[:], work.d[:], work.v[:], work.lam[:] = a, d, v, lam
        change, size = iterating.move(problem, record, work, SimpleNamespace(h=h, row=1))
        assert change == pytest.approx(abs(dx[:n]).max())
        assert size == pytest.approx(max(abs(a + dx[:n]).max(), abs(start).max() / h))
    assert work.a == pytest.approx(a + dx[:n])
    assert work.d == pytest.approx(d + 0.3 * h**2 * dx[:n])
    assert work.v == pytest.approx(v + 0.6 * h * dx[:n])
    assert work.lam == pytest.approx(lam + 0.8 / (0.6 if interpolated else 1.0) * dx[n:])
