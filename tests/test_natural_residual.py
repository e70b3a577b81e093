"""The numbers by which solutions of contact problems are judged, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.kernels.complementarity.structures import Lcp
from explorer.kernels.friction.structures import Contacts

friction, lcp = plain("friction.coulomb"), plain("complementarity.lcp")


def definite(rng, n: int) -> np.ndarray:
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.2 * np.eye(n)


@for_each("seed", range(40))
def test_the_residual_of_a_complementarity_problem_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    M, act = definite(rng, 7), rng.permutation(7)[: 2 + seed % 4]
    m = len(act)
    M[act[0], act[0]] *= seed % 3 > 0  # a zero on the diagonal counts as one
    q, z = rng.normal(size=m), rng.normal(size=m)
    part = M[np.ix_(act, act)]
    unit = np.where(np.diag(part) > 0, np.diag(part), 1.0)
    expected = np.abs(np.minimum(unit * z, part @ z + q)).max()
    assert lcp.residual(Lcp(M, act, q, z), m, m - 1) == pytest.approx(expected, rel=1e-13)
    for band in range(m - 1):  # entries beyond it are none
        near = np.triu(np.tril(part, band), -band)
        expected = np.abs(np.minimum(unit * z, near @ z + q)).max()
        assert lcp.residual(Lcp(M, act, q, z), m, band) == pytest.approx(expected, rel=1e-13)


def contacts(rng, frictional) -> Contacts:
    """Return a problem of three contacts, those named with friction along a line, and any P."""
    rows = 3 + len(frictional)
    D, act = definite(rng, 9), rng.permutation(9)[:rows]
    place = np.full(3, -1)
    for k, c in enumerate(frictional):
        place[c] = 3 + k
    return Contacts(D, act, 3, rows, place, np.arange(4), rng.uniform(0.1, 1, 3), rng.normal(size=rows),
                    rng.normal(size=rows), np.zeros(9, int))  # fmt: skip


@for_each("frictional", [(), (1,), (0, 2), (0, 1, 2)])
@for_each("seed", range(20))
def test_the_residual_of_friction_is_its_definition(frictional, seed):
    """|min(D_nn P_n, w_n)| and |D_tt P_t - proj(D_tt P_t - w_t)| on [-mu D_tt P_n, mu D_tt P_n]."""
    case = contacts(np.random.default_rng(seed), frictional)
    case.P[:3] = np.abs(case.P[:3])  # the interval is none for a pull
    D = case.D[np.ix_(case.act, case.act)]
    unit, w = np.diag(D), D @ case.P + case.q
    off = [abs(min(unit[k] * case.P[k], w[k])) for k in range(3)]
    for k in frictional:
        t = case.place[k]
        bound = case.mu[k] * unit[t] * case.P[k]
        asked = unit[t] * case.P[t]
        off.append(abs(asked - np.clip(asked - w[t], -bound, bound)))
    assert friction.residual(case) == pytest.approx(max(off), rel=1e-12)


@for_each("seed", range(8))
def test_the_unit_of_a_contact_that_nothing_moves_is_one(seed):
    case = contacts(np.random.default_rng(seed), (2,))
    case.D[case.act[0]] = case.D[:, case.act[0]] = 0.0
    case.P[:], case.q[1:] = 0.0, 1.0
    case.q[0], case.P[0] = 3.0, 0.1 + 0.1 * seed
    assert friction.residual(case) == case.P[0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", range(5))
def test_no_number_is_no_small_residual(bad, row):
    case = contacts(np.random.default_rng(3), (0, 2))
    case.P[:] = 0
    case.q[row] = bad
    with np.errstate(invalid="ignore"):
        assert np.isnan(friction.residual(case))
    if row < 3:
        with np.errstate(invalid="ignore"):
            problem = Lcp(case.D, case.act[:3], case.q[:3], np.zeros(3))
            assert np.isnan(lcp.residual(problem, 3, 2))


@pytest.mark.parametrize("frictional", [(1,), (0, 2), (0, 1, 2)], ids=str)
def test_at_a_solution_it_vanishes_and_beside_it_does_not(frictional):
    """P is chosen first, then the q of which it is the solution: open, sticking, sliding."""
    rng = np.random.default_rng(8)
    for _ in range(30):
        case = contacts(rng, frictional)
        P, w = np.zeros(case.rows), np.zeros(case.rows)
        for k in range(3):
            held = rng.random() < 0.7
            P[k], w[k] = (rng.uniform(0.5, 1), 0.0) if held else (0.0, rng.uniform(0.5, 1))
            if k in frictional:
                t, bound = case.place[k], case.mu[k] * P[k]
                way = rng.choice([-1, 0, 1])
                P[t] = -way * bound if way else rng.uniform(-0.9, 0.9) * bound
                w[t] = way * rng.uniform(0.5, 1)
                if not held:
                    w[t] = rng.normal()
        case.P[:] = P
        case.q[:] = w - case.D[np.ix_(case.act, case.act)] @ P
        assert friction.residual(case) <= 1e-12
        for row in range(case.rows):
            case.P[row] += 0.1
            assert friction.residual(case) > 1e-3
            case.P[row] = P[row]
