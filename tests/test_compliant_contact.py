"""The condition of contacts that give way, term by term."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain

import explorer as ex
from explorer.kernels.model.structures import COMPLIANCE, GAP, Bundles, Rows

law = plain("time_stepping.compliant_contact")
N, NC = 3, 4


class Case:
    """Four contacts with gaps g, of which some give way by d(lam) = B lam + c lam^2."""

    def __init__(self, seed: int, linear: bool = False, diagonal: bool = False):
        rng = self.rng = np.random.default_rng(seed)
        self.B = np.diag(rng.uniform(0.5, 1, NC)) + (0 if diagonal else 0.1 * rng.random((NC, NC)))
        self.B += self.B.T
        self.B[0] = 0.0  # a rigid one
        self.B[:, 0] = 0.0
        self.c = np.zeros(NC) if linear else rng.random(NC) * (self.B.diagonal() > 0)
        self.g = rng.normal(size=NC)
        near = self.B != 0
        ptr, col = np.append(0, np.cumsum(near.sum(axis=1))), np.nonzero(near)[1]
        if diagonal:
            ptr, col = np.zeros(NC + 1, np.int64), np.zeros(0, np.int64)
        val = self.B[near] if not diagonal else np.zeros(0)
        self.compliance = law.Compliance(
            self.B.diagonal().copy(), ptr, col, val, np.zeros(NC), np.zeros(NC),
            rng.uniform(0.5, 1, NC), np.zeros(NC),
        )  # fmt: skip
        self.bundles = Bundles(np.zeros((GAP + 1 if linear else COMPLIANCE + 1, 2), np.int64),
                               rng.normal(size=2 + NC), np.full(NC + NC * NC, np.nan))  # fmt: skip
        law.broken.__globals__["evaluate"] = self.evaluate
        self.near = near

    def evaluate(self, bundles, which):
        if which == GAP:
            bundles.out[:NC] = self.g
            return
        assert which == COMPLIANCE
        lam = bundles.inp[-NC:]
        bundles.out[:NC] = self.B @ lam + self.c * lam**2
        D = self.B + np.diag(2 * self.c * lam)
        bundles.out[NC : NC + self.near.sum()] = D[self.near]


@for_each("seed", range(6))
def test_what_gives_way_adds_to_the_delassus_matrix(seed):
    for diagonal in (False, True):
        case = Case(seed, diagonal=diagonal)
        D = case.rng.normal(size=(NC + 1, NC + 1))
        expected = D.copy()
        expected[:NC, :NC] += case.B / 0.25
        for a in range(NC + 1):  # the last has a tangent's row
            law.give(case.compliance, a, 0.25, D)
        np.testing.assert_allclose(D, expected, rtol=1e-13)


@for_each("seed", range(6))
def test_a_law_is_replaced_by_its_tangent(seed):
    case = Case(seed)
    assert law.bends(case.bundles)
    assert not law.bends(Case(seed, linear=True).bundles)
    case = Case(seed)
    lam = case.rng.uniform(0.5, 2, NC)
    law.bend(case.bundles, case.compliance, lam)
    D = case.B + np.diag(2 * case.c * lam)
    np.testing.assert_allclose(case.compliance.val, D[case.near], rtol=1e-13)
    tangent = case.B @ lam + case.c * lam**2 - D @ lam
    np.testing.assert_allclose(case.compliance.given, tangent, atol=1e-13)
    case.c[2] = np.inf  # as of a cusp: taken as rigid
    law.bend(case.bundles, case.compliance, lam)
    assert np.isfinite(case.compliance.given).all()
    assert np.isfinite(case.compliance.val).all()
    row = slice(case.compliance.ptr[2], case.compliance.ptr[3])
    at = np.flatnonzero(case.compliance.col[row] == 2)[0]
    assert case.compliance.val[row][at] == 0.0
    others = case.compliance.val[row] @ lam[case.compliance.col[row]]
    assert case.compliance.given[2] == pytest.approx(-others, abs=1e-13)


@for_each("seed", range(6))
def test_the_condition_of_a_step_has_gap_and_law_over_its_length(seed):
    case = Case(seed)
    rng, act = case.rng, np.array([2, 0, 3])
    G = rng.normal(size=(NC, N)) * (rng.random((NC, N)) < 0.7)
    rows = Rows(np.append(0, np.cumsum((G != 0).sum(axis=1))), np.nonzero(G)[1], G[G != 0])
    case.compliance.gap[:], case.compliance.given[:] = rng.normal(size=(2, NC))
    v, rate, right = rng.normal(size=N), rng.normal(size=3), np.full(3, 7.0)
    law.predicted(case.compliance, act, 3, 0.2, rows, v, rate, right)
    for j, a in enumerate(act):
        expected = (case.compliance.gap[j] + case.compliance.given[a]) / 0.2 - rate[j] - G[a] @ v
        assert right[j] == (pytest.approx(expected) if case.B[a, a] else 7.0)


@for_each("seed", range(12))
def test_the_residual_of_the_condition_is_its_definition(seed):
    """Of what gives way: |min(gap, D P)| / h theta beside the largest of their terms."""
    for linear, diagonal in ((True, True), (True, False), (False, False)):
        case = Case(seed, linear, diagonal)
        act, P, h, ht = np.array([3, 1, 0]), case.rng.uniform(0, 1, 3), 0.1, 0.05
        D = case.rng.uniform(1, 2, (NC, NC))
        point = case.compliance.point.copy()
        for noise in (0.0, 1e-3):
            off = law.broken(case.bundles, case.compliance, noise, act, 3, h, ht, P, D)
            lam = np.zeros(NC)
            lam[act] = P / h
            np.testing.assert_allclose(case.compliance.force, lam)
            np.testing.assert_array_equal(case.compliance.gap[:3], case.g[act])
            yielded = case.B @ lam + case.c * lam**2
            worst, size = 0.0, 0.0
            for j, a in enumerate(act):
                if case.B[a, a]:
                    gap, push = (case.g[a] + yielded[a]) / ht, D[a, a] * P[j]
                    worst = max(worst, abs(min(gap, push)) - noise / ht)
                    size = max(size, (abs(case.g[a]) + abs(yielded[a])) / ht, push)
            assert off == pytest.approx(worst / size, rel=1e-12)
            moved = point if linear else np.maximum(lam, point / law.NARROW)
            np.testing.assert_allclose(case.compliance.point, moved)
            if not linear:
                tangent = case.B + np.diag(2 * case.c * moved)
                np.testing.assert_allclose(case.compliance.val, tangent[case.near], rtol=1e-12)
            point = case.compliance.point.copy()
    assert law.broken(case.bundles, case.compliance, 0.0, act, 0, h, ht, P, D) == 0.0


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_a_soft_floor_at_small_steps_has_no_false_caution(theta):
    """h is a difference of two times: what it loses by that, 1e-12 of it, is no residual."""
    h, C = 1e-4, 1e-3
    soft = ex.MechanicalSystem("soft", q="y", mass=[[2]], force=["-2*9.81"])
    soft.contact(ex.Contact("y", e=0, compliance=C))
    soft.start(q=[0.1], v=[0], t_end=1)
    run = ex.simulate(soft, ex.MoreauJean(h=h, theta=theta))
    q, v, rows = 0.1, 0.0, [0.1]
    for _ in range(len(run.t) - 1):
        free = v - h * 9.81
        p = max(0.0, -(q + h * (theta * free + (1 - theta) * v)) / (C / h + h * theta / 2))
        q, v = q + h * (theta * (free + p / 2) + (1 - theta) * v), free + p / 2
        rows.append(q)
    np.testing.assert_allclose(run.q[:, 0], rows, atol=1e-13)
    assert not run.cautions


def test_a_single_contact_gives_way_by_its_only_entry():
    none = np.zeros(1)
    compliance = law.Compliance(np.array([2.0]), np.array([0, 1]), np.array([0]), np.array([3.0]), none, none, none, none)  # fmt: skip
    D = np.array([[7.0]])
    law.give(compliance, 0, 0.5, D)
    assert D.tolist() == [[13.0]]
    alone = compliance._replace(ptr=np.zeros(2, int), col=np.zeros(0, int), val=np.zeros(0))
    law.give(alone, 0, 0.5, D)
    assert D.tolist() == [[17.0]]
