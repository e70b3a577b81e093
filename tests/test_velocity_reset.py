"""The velocities behind an impact whose law names some of them, and their derivatives."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from loops import for_each
from plain import plain

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import CONTACTS, DRIFT
from explorer.kernels.event_driven.velocity_reset import KEPT, NAMED

law = plain("event_driven.velocity_reset")


@for_each(("named", "held"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (4, 0), (2, 0)])
def test_velocities_behind_an_impact_obey_its_law_and_the_constraints(monkeypatch, named, held):
    """[E; G] v+ = (h; -phi_t), and its derivatives by t, q, v- and rho, by a complex step."""
    n, n_r, n_c, n_t, rng = 4, 2, 2, 1, np.random.default_rng(10 * named + held)
    first, n_phi, contact = n_c + n_t, 3, 1
    count, nx = first + n_phi, 2 * n
    on = [first + c for c in (0, 2)[:held]]  # the second is not held to
    A, B, C, D = rng.normal(size=(4, count, n, n)) * 0.3
    e, f, g = rng.normal(size=(count, n)), rng.normal(size=count), rng.normal(size=(count, n_r))
    a, b, c = rng.normal(size=(n, nx)), rng.normal(size=(n, n_r)), rng.normal(size=n)
    given = rng.normal(size=1 + nx + n_r)  # t, q, v-, rho

    def rows(z):
        """Return G and phi_t."""
        t, q, rho = z[0], z[1 : 1 + n], z[1 + nx :]
        G = (
            np.eye(count, n)
            + A[:, 0]
            + B @ q
            + t * C[:, 0]
            + rho[0] * D[:, 0]
            + rho[1] ** 2 * D[:, 1]
        )
        return G, e @ q + f * t + g @ rho

    def h(z):
        return a @ z[1 : 1 + nx] * z[-1] + b @ z[1 + nx :] + c * z[0] ** 2

    def slopes(of, z):
        """Return the derivatives of a vector by each entry of z."""
        return np.column_stack([of(z + 1e-30j * step).imag / 1e-30 for step in np.eye(len(z))])

    marks = np.zeros((n_c, 1 + n), np.int64)
    marks[:, 0], chosen = (7, 8), np.sort(rng.permutation(n)[:named])
    marks[contact, 1 + chosen] = NAMED
    inp, out = np.append(given[: 1 + nx], 99.0), np.full(400, np.nan)

    def evaluate(table, which, inp, out):
        z, v = np.append(inp[: 1 + nx], given[1 + nx :]), inp[1 + n : 1 + nx]
        out[:] = np.nan
        if which == CONTACTS:
            G, rate = rows(z)
            out[count : 2 * count], out[2 * count : 2 * count + count * n] = rate, G.ravel()
        elif which == marks[contact, 0]:
            by = slopes(h, z)[chosen]
            told = [h(z)[chosen], by[:, 0], by[:, 1 : 1 + nx].ravel(), by[:, 1 + nx :].ravel()]
            out[: named * (2 + nx + n_r)] = np.concatenate(told)
        else:
            assert which == DRIFT
            by = slopes(lambda z: (rows(z)[0] @ v + rows(z)[1])[first:], z)
            told = [by[:, 1 : 1 + n].ravel(), by[:, 1 + nx :].ravel(), by[:, 0]]
            told = np.concatenate(told)
            out[n_phi * n_r : n_phi * n_r + told.size] = told

    space, at = law.reset_velocities.__globals__, {"x_plus": 0, "p": nx, "h_t": nx + count}
    at["h_x"] = at["h_t"] + nx
    at["h_rho"] = at["h_x"] + nx * nx
    monkeypatch.setitem(space, "evaluate", evaluate)
    monkeypatch.setitem(space, "identity", lambda *_: None)
    monkeypatch.setitem(space, "law_impulses", lambda *_: None)
    row = np.full(at["h_rho"] + nx * n_r, np.nan)
    event = SimpleNamespace(row=row, at=SimpleNamespace(**at), head=[SimpleNamespace(together=0)])
    closed = [SimpleNamespace(closed=int(k < first or k in on), prior=9) for k in range(count)]
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, n_x=nx, n_c=n_c, n_t=n_t, n_rho=n_r, rows=count), inp=inp, out=out,
        functions=SimpleNamespace(table=None), rows=closed, resets=marks,
        saddle=SimpleNamespace(W=np.full((n, n), np.nan), pivots=np.zeros(n, int), tangent=np.full(n, np.nan),
                               solution=np.full(n, np.nan)),
    )  # fmt: skip
    contacts = SimpleNamespace(rows=[SimpleNamespace(prior=9) for _ in closed])
    assert law.reset_velocities(problem, contacts, event, True, contact) == SUCCESS
    assert [one.prior for one in contacts.rows] == [one.closed for one in closed]
    assert event.head[0].together == 1
    kept = [*np.flatnonzero(marks[contact, 1:] == KEPT)]
    assert len(kept) == n - held - named

    def after(z):
        G, rate = rows(z)
        W = np.vstack([np.eye(n)[[*chosen, *kept]], G[on]])
        return np.linalg.solve(
            W, np.concatenate([h(z)[chosen], z[1 + n + np.array(kept, int)], -rate[on]])
        )

    by = slopes(after, given)
    np.testing.assert_allclose(row[n:nx], after(given), atol=1e-12)
    np.testing.assert_allclose(row[at["h_t"] + n :][:n], by[:, 0], atol=1e-10)
    found = row[at["h_x"] :][: nx * nx].reshape(nx, nx)[n:]
    np.testing.assert_allclose(found, by[:, 1 : 1 + nx], atol=1e-10)
    found = row[at["h_rho"] :][: nx * n_r].reshape(nx, n_r)[n:]
    np.testing.assert_allclose(found, by[:, 1 + nx :], atol=1e-10)
