"""Contacts with friction in space: each part of the solvers against dense matrices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.structures import lcp_workspace
from explorer.kernels.friction.structures import (
    Cones,
    ConeVectors,
    Contacts,
    friction_workspace,
)

OPEN, STICK = 0, 2
GAUSS_SEIDEL, PROJECTED_GRADIENT = 1, 2
blocks, cone = plain("friction.cone_blocks"), plain("friction.cone")
newton, one = plain("friction.alart_curnier"), plain("friction.single_contact")


class Case:
    """Some contacts, in space, along a line and without friction; and D with three rows for each."""

    def __init__(self, seed: int, m: int = 4, mu: float = 0.4):
        rng = self.rng = np.random.default_rng(seed)
        nc, n = m + 2, 3 * m + 8
        widths = rng.integers(0, 3, nc) if seed % 3 else np.full(nc, 2)
        tangents = nc + np.append(0, np.cumsum(widths))
        G = np.zeros((tangents[-1], n))
        for a in range(nc):
            for r in (a, *range(tangents[a], tangents[a + 1])):
                G[r, 2 * a : 2 * a + 4] = rng.normal(size=4)
        D = G @ np.diag(rng.uniform(0.5, 2, n)) @ G.T + 0.3 * np.eye(len(G))
        normals = rng.permutation(nc)[:m]
        act, place = [*normals], np.full(m, -1)
        for k, a in enumerate(normals):
            if widths[a]:
                place[k] = len(act)
                act += range(tangents[a], tangents[a + 1])
        rows = len(act)
        self.m, self.rows, self.widths = m, rows, widths[normals]
        self.place3 = np.full((m, 3), -1)
        for k, a in enumerate(normals):
            self.place3[k, : 1 + widths[a]] = [k, *range(place[k], place[k] + widths[a])]
        q = rng.normal(size=rows)
        q[:m] -= 0.5
        self.contacts = Contacts(
            *(D, np.array(act), m, rows, place, tangents, rng.uniform(0.5, 1.5, m) * mu),
            *(q, rng.normal(size=rows), np.zeros(nc, int)),
        )
        lcp = opened(lcp_workspace(3 * nc, 3 * nc))
        self.work = opened(friction_workspace(nc, tangents[-1] - nc, lcp)).cones
        B = self.work.blocks.reshape(-1)
        # no more than there is to be written
        vec = self.work.vec
        vec = ConeVectors(*(one[: 3 * m] for one in vec[:-2]), *(one[:m] for one in vec[-2:]))
        self.cones = Cones(
            *(B, self.work.rows[:m], m, self.contacts.mu, vec, self.work.A[: 3 * m]),
            self.work.pivots[: 3 * m],
        )
        at = self.place3.ravel()
        self.D = np.where(
            np.logical_and.outer(at >= 0, at >= 0), D[np.ix_(*[np.array(act)[at]] * 2)], 0
        )
        self.q = np.where(at >= 0, q[at], 0.0)
        trace = self.D.diagonal().reshape(m, 3).sum(axis=1)
        self.size = trace / (1 + self.widths)

    def laid_out(self, P=None):
        """Write q, sizes and impulses to the vectors of the solvers; return the impulses."""
        vec = self.work.vec
        for one in vec:
            one[:] = np.nan
        blocks.gather(self.contacts, self.cones)
        vec.q[: 3 * self.m], vec.size[: self.m] = self.q, self.size
        if P is None:
            P = self.rng.normal(size=3 * self.m) * (self.place3.ravel() >= 0)
            P[::3] = abs(P[::3])
        vec.P[: 3 * self.m] = P
        return vec.P[: 3 * self.m]

    def off(self, P, soft=0.0):
        """Return the natural residual: P less its projection, with De Saxce's velocities."""
        w = (self.D @ P + self.q).reshape(-1, 3) + soft * self.size[:, None] * P.reshape(-1, 3)
        off = [one.off_cone(self.size[k], self.contacts.mu[k], *P[3 * k : 3 * k + 3], *w[k],
                            self.contacts.mu[k] * np.hypot(*w[k, 1:])) for k in range(self.m)]  # fmt: skip
        return max(off)

    def law(self, P, tol=1e-9):
        """Assert that impulses obey Coulomb's law."""
        w, mu = (self.D @ P + self.q).reshape(-1, 3), self.contacts.mu
        P = P.reshape(-1, 3)
        slip, most = np.hypot(*w[:, 1:].T), mu * P[:, 0]
        assert (P[:, 0] >= 0).all()
        assert (w[:, 0] >= -tol).all()
        assert abs(P[:, 0] * w[:, 0]).max() <= tol
        assert (np.hypot(*P[:, 1:].T) <= most + tol).all()
        assert abs((P[:, 1:] * w[:, 1:]).sum(axis=1) + most * slip).max() <= tol


@for_each("seed", range(24))
def test_blocks_and_residuals_are_those_of_the_dense_matrix(seed):
    case = Case(seed)
    m, rows = case.m, case.work.rows
    P = case.laid_out()
    before = 0
    for k in range(m):
        touched = [j for j in range(m) if case.D[3 * k : 3 * k + 3, 3 * j : 3 * j + 3].any()]
        low, high = rows[k].first, rows[k].end
        assert (low, high) == (min(touched), max(touched) + 1)
        assert rows[k].before == before
        before += high - low
        assert rows[k].width == case.widths[k]
        assert rows[k].listed == case.contacts.act[k]
        for j in range(low, high):
            at = 9 * (rows[k].before + j - low)
            block = case.D[3 * k : 3 * k + 3, 3 * j : 3 * j + 3]
            np.testing.assert_array_equal(case.cones.B[at : at + 9].reshape(3, 3), block)
        got = blocks.moved(case.cones.B, rows, P, k)
        assert got == pytest.approx(case.D[3 * k : 3 * k + 3] @ P, rel=1e-12, abs=1e-13)
    for soft in (0.0, 0.3):
        assert blocks.residual(case.cones, soft) == pytest.approx(case.off(P, soft), rel=1e-12)
        made = case.D @ P + soft * case.size.repeat(3) * P
        np.testing.assert_allclose(case.work.vec.DP[: 3 * m], made, atol=1e-12)
    case.work.vec.q[3 * m - 3] = np.nan
    assert np.isnan(blocks.residual(case.cones, 0.0))


@for_each("seed", range(24))
def test_a_step_of_newtons_method_solves_the_linear_model(seed):
    """The derivative is taken by difference quotients of the equations."""
    case = Case(seed)
    for soft in (0.0, 0.2):
        P = case.laid_out().copy()
        size, mu = case.size.repeat(3), case.contacts.mu

        def equations(P, soft=soft, size=size, mu=mu):
            w = case.D @ P + case.q + soft * size * P
            out = size * P
            for k in range(case.m):
                i = 3 * k
                y, radius = size[i] * P[i : i + 3] - w[i : i + 3], size[i] * mu[k] * max(P[i], 0)
                if y[0] > 0:
                    length = np.hypot(*y[1:])
                    out[i] -= y[0]
                    out[i + 1 : i + 3] -= y[1:] * min(1.0, radius / length if length else 1.0)
            return out

        step = 1e-6
        J = np.array([(equations(P + step * e) - equations(P - step * e)) / (2 * step)
                      for e in np.eye(3 * case.m)]).T  # fmt: skip
        blocks.residual(case.cones, soft)
        case.work.A[:] = np.nan
        assert newton.newton(case.cones, soft)
        expected = P - np.linalg.lstsq(J, equations(P), rcond=1e-9)[0]
        np.testing.assert_allclose(case.work.vec.P[: 3 * case.m], expected, rtol=1e-5, atol=1e-5)


def test_what_nothing_moves_is_pushed_against_its_speed():
    """Without a mobility there is no impulse that stops it: a little is added to the diagonal."""
    case = Case(0)
    for at in range(3):
        P, k = case.laid_out(), 1
        blocks.residual(case.cones, 0.0)
        i, rows, vec = 3 * k + at, case.work.rows, case.work.vec
        for j in range(rows[k].first, rows[k].end):
            block = 9 * (rows[k].before + j - rows[k].first) + 3 * at
            case.cones.B[block : block + 3] = 0.0
        w = 1e-9 * case.size[k] * 0.25
        P[3 * k : 3 * k + 3] = [9.0, 0.0, 0.0]
        vec.DP[3 * k : 3 * k + 3] = -case.q[3 * k : 3 * k + 3]
        vec.DP[i] += w
        before = P[i]
        assert newton.newton(case.cones, 0.0)
        assert P[i] - before == pytest.approx(-0.25, rel=1e-5)


@for_each("seed", range(2))
def test_newtons_method_goes_near_soft_contacts_and_rigid_ones(seed):
    case = Case(seed, mu=0.2)
    m, vec = case.m, case.work.vec
    zero = np.zeros(3 * m)
    P = case.laid_out(zero)
    first = blocks.residual(case.cones, 0.5)
    assert newton.polish(case.cones, 0.5, first, 2 * first, 5) == first
    assert not P.any()
    off = newton.polish(case.cones, 0.5, first, 1e-12, 5)
    assert off <= 1e-12
    assert case.off(P, 0.5) == pytest.approx(off, abs=1e-14)
    for method in (newton.approach, newton.harden):
        case.laid_out(zero)
        first = blocks.residual(case.cones, 0.0)
        off = method(case.cones, first, 1e-11)
        assert off <= 1e-11
        assert case.off(P) == pytest.approx(off, abs=1e-13)
        np.testing.assert_array_equal(vec.q[: 3 * m], case.q)
        case.law(P)
        start = P.copy()  # what is solved stays
        assert method(case.cones, off, off) <= off
        np.testing.assert_allclose(P, start, atol=1e-11)


def test_what_newtons_method_worsens_is_not_taken():
    """Patience is how many steps in a row may fail to halve the least residual."""
    case = Case(3)
    space, taken = newton.polish.__globals__, []
    real = space["newton"], space["residual"]
    try:
        for offs, patience, best, steps in (
            ([0.6, 0.7, 0.2, 0.3, 0.25, 0.24, 0.01], 2, 0.2, 6),
            ([0.6, 0.01], 0, 0.6, 1),
            ([0.5, 0.25, 0.125, 0.2], 0, 0.125, 4),
            ([0.6, 0.01], 3, 0.01, 2),
            ([0.4, np.nan, 0.01], 3, 0.4, 2),
        ):
            P, taken[:] = case.laid_out(np.zeros(12)), []

            def step(cones, soft, P=P):
                P[:] = len(taken) + 1
                return True

            def residual(cones, soft, offs=offs):
                taken.append(soft)
                return offs[len(taken) - 1]

            space["newton"], space["residual"] = step, residual
            assert newton.polish(case.cones, 0.25, 1.0, 0.05, patience) == best
            assert taken == [0.25] * steps
            assert (offs.index(best) + 1 == P).all()
        space["newton"] = lambda cones, soft: False
        P = case.laid_out(np.full(12, 7.0))
        assert newton.polish(case.cones, 0.0, 1.0, 0.05, 3) == 1.0
        assert (P == 7.0).all()
    finally:
        space["newton"], space["residual"] = real


def wedged() -> Case:
    """Two contacts that face each other, and each wants the other to give way."""
    case = Case(0, m=2)
    D = case.contacts.D
    D[:] = 0.0
    a, c = case.contacts.act[:2]
    D[a, a] = D[c, c] = 1.0
    D[a, c] = D[c, a] = -1.0
    for t in case.contacts.act[2:]:
        D[t, t] = 1.0
    case.contacts.q[:2] = -1.0
    at = np.array(case.contacts.act)[case.place3.ravel()]
    case.D, case.q = D[np.ix_(at, at)], case.contacts.q[case.place3.ravel()]
    case.size = case.D.diagonal().reshape(2, 3).mean(axis=1)
    return case


def test_contacts_that_wedge_are_told_by_how_they_harden():
    case = wedged()
    start = case.laid_out(np.array([1.0, 0, 0, 2, 0, 0])).copy()
    first = blocks.residual(case.cones, 0.0)
    assert newton.harden(case.cones, first, 1e-10) == np.inf
    assert np.isfinite(case.work.vec.P[:6]).all()
    assert start[0] == 1.0


@for_each("seed", range(24))
def test_a_sweep_solves_for_each_contact(seed):
    case = Case(seed)
    P = case.laid_out()
    expected, D, mu = P.copy(), case.D, case.contacts.mu
    for k in range(case.m):
        i = 3 * k
        expected[i : i + 3] = 0.0
        r = case.q[i : i + 3] + D[i : i + 3] @ expected
        B = D[i : i + 3, i : i + 3]
        if case.widths[k] == 2:
            expected[i : i + 3] = one.in_plane(B.ravel(), 0, mu[k], *r)[:3]
        elif case.widths[k] == 1:
            expected[i : i + 2] = one.on_line(*B[:2, :2].ravel(), mu[k], *r[:2])[:2]
        else:
            expected[i] = max(0.0, -r[0] / B[0, 0])
    assert cone.sweep(case.cones)
    np.testing.assert_allclose(P, expected, atol=1e-12)


@for_each("width", [0, 1, 2])
def test_a_contact_without_mass_gets_no_impulse_in_a_sweep(width):
    """Without friction it stays as it is; with friction no answer is found."""
    case = Case(0, 1)
    P = case.laid_out()
    case.work.rows[0].width = width
    case.cones.B[:9] = 0.0
    case.work.vec.q[:3] = [-2.0, 0.0, 0.0]
    P[:] = 3.0
    assert cone.sweep(case.cones) == (width == 0)
    assert P[0] == 0.0


@for_each("seed", range(12))
def test_the_numbers_of_projected_gradients_are_their_definitions(seed):
    case = Case(seed)
    m, vec = case.m, case.work.vec
    P = case.laid_out()
    Y = vec.Y[: 3 * m] = case.rng.normal(size=3 * m)
    vec.DY[: 3 * m] = case.D @ Y
    bent, length = cone.curvature(case.cones)
    gone = P - Y
    assert bent == pytest.approx(gone @ case.D @ gone, rel=1e-10)
    assert length == pytest.approx(case.size.repeat(3) @ gone**2, rel=1e-12)
    np.testing.assert_allclose(vec.DP[: 3 * m], case.D @ P, atol=1e-12)
    cone.set_shift(case.cones)
    slip = np.hypot(*(case.D @ P + case.q).reshape(m, 3)[:, 1:].T)
    np.testing.assert_allclose(vec.shift[:m], case.contacts.mu * slip, rtol=1e-12)
    assert cone.residuals(case.cones) == pytest.approx([case.off(P)] * 2, rel=1e-12)
    shift = vec.shift[:m] = case.rng.uniform(0, 2, m)
    w = (case.D @ P + case.q).reshape(m, 3)
    inner = max(one.off_cone(case.size[k], case.contacts.mu[k], *P[3 * k : 3 * k + 3], *w[k], shift[k])
                for k in range(m))  # fmt: skip
    assert cone.residuals(case.cones) == pytest.approx((case.off(P), inner), rel=1e-12)


@for_each("seed", range(12))
def test_impulses_are_taken_in_and_given_back_within_their_cones(seed):
    case = Case(seed)
    c, m, vec = case.contacts, case.m, case.work.vec
    P = np.where(case.place3.ravel() >= 0, c.P[case.place3.ravel()], 0.0)
    case.laid_out()
    for one in vec:
        one[:] = np.nan
    cone.load(c, case.cones, 1.0)
    np.testing.assert_array_equal(vec.P[: 3 * m], P)
    np.testing.assert_array_equal(vec.q[: 3 * m], case.q)
    np.testing.assert_allclose(vec.size[:m], case.size, rtol=1e-13)
    c.q[0], c.P[1] = 1e-105, 1e-104
    cone.load(c, case.cones, 1.0)
    assert vec.q[0] == vec.P[3] == 0.0
    vec.DP[: 3 * m] = case.D @ P
    vec.P[: 3 * m], vec.q[: 3 * m] = P, case.q
    c.P[:] = np.nan
    cone.unload(c, case.cones)
    w = (case.D @ P + case.q).reshape(m, 3)
    for k in range(m):
        n, *t = P[3 * k : 3 * k + 3]
        most, length = c.mu[k] * max(n, 0), np.hypot(*t)
        held = np.array([max(n, 0), *(np.array(t) * min(1.0, most / length if length else 1.0))])
        np.testing.assert_allclose(
            c.P[case.place3[k, : 1 + case.widths[k]]], held[: 1 + case.widths[k]], atol=1e-14
        )
        slips = case.widths[k] and np.hypot(*w[k, 1:]) > case.size[k] * (most - length)
        way = -1 if case.widths[k] == 1 and w[k, 1] < 0 else 1
        assert c.mode[c.act[k]] == (OPEN if n <= 0 else way if slips else STICK)


@for_each("seed", range(2))
def test_both_solvers_obey_the_law(seed):
    """From impulses at hand, and again from what is solved; blocks are kept until D is another."""
    for solver, m in itertools.product((GAUSS_SEIDEL, PROJECTED_GRADIENT), (1, 4)):
        case = Case(seed, m=m, mu=0.3)
        c = case.contacts
        case.work.kept[0].contacts = -1
        status, off = cone.in_space(c, solver, 1e-11, 500, case.work)
        assert status == SUCCESS
        assert off <= 1e-11 * abs(c.q).max()
        P = np.where(case.place3.ravel() >= 0, c.P[case.place3.ravel()], 0.0)
        assert case.off(P) == pytest.approx(off, abs=1e-13)
        case.law(P)
        assert ((c.mode[c.act[:m]] != OPEN) == (P[::3] > 0)).all()
        assert case.work.kept[0].contacts == m
        c.D[:] *= 2.0  # unsaid, so the blocks of before serve
        assert cone.in_space(c, solver, 1e-11, 500, case.work)[0] == SUCCESS
        np.testing.assert_allclose(c.P[:m], P[::3], atol=1e-9)
        case.work.kept[0].contacts = -1
        assert cone.in_space(c, solver, 1e-11, 500, case.work)[0] == SUCCESS
        np.testing.assert_allclose(c.P[:m], P[::3] / 2, atol=1e-9)
        c.act[0], c.D[:] = c.act[0], c.D / 2
        swapped = case.work.rows[0].listed
        case.work.rows[0].listed = swapped + 1  # other contacts were listed
        assert cone.in_space(c, solver, 1e-11, 500, case.work)[0] == SUCCESS
        np.testing.assert_allclose(c.P[:m], P[::3], atol=1e-9)
        c.q[-1] = np.inf
        status, off = cone.in_space(c, solver, 1e-11, 500, case.work)
        assert status == LCP_RAY
        assert np.isnan(off)


@for_each("seed", range(3))
def test_projected_gradients_begin_where_they_are_told(seed):
    """Nothing beyond three entries a contact is touched, and no step does not suffice."""
    case = Case(seed, m=3, mu=0.3)
    for start in (np.zeros(9), case.rng.random(9) * (case.place3.ravel() >= 0)):
        P = case.laid_out(start)
        assert cone.projected_gradient(case.cones, 1e-11, 2000) == SUCCESS
        case.law(P)
        solved = P.copy()
        assert cone.projected_gradient(case.cones, 1e-9, 1) == SUCCESS  # it is solved
        np.testing.assert_allclose(P, solved, atol=1e-9)
        case.laid_out(start)
        assert cone.projected_gradient(case.cones, 1e-9, 0) == LCP_ITERATIONS
    case.laid_out(start)[0] = np.nan
    assert cone.projected_gradient(case.cones, 1e-9, 5) == LCP_RAY


@for_each("seed", (0, 3, 6))
def test_contacts_that_do_not_feel_each_other_take_one_step(seed):
    """D = s I is what the step of projected gradients is made for: it is not shortened."""
    case = Case(seed, m=3, mu=0.0)
    case.contacts.D[:] = 0.0
    np.fill_diagonal(case.contacts.D, 1.7)
    case.D[:], case.size[:] = 1.7 * np.eye(9), 1.7
    P = case.laid_out(np.zeros(9))
    assert cone.projected_gradient(case.cones, 1e-11, 2) == SUCCESS
    case.law(P)


def test_a_step_of_newtons_method_does_not_feel_what_its_matrix_held():
    """Contacts in a row, of which each feels its neighbours: a narrow band of a wide matrix."""
    for seed, reach in ((0, 0), (3, 0), (0, 1), (3, 1)):
        case = Case(seed, m=8)
        k = np.arange(24) // 3
        near = abs(np.subtract.outer(k, k)) <= reach
        at = case.contacts.act[case.place3.ravel()]  # three rows each, where seed % 3 == 0
        case.contacts.D[np.ix_(at, at)] *= near
        found = []
        for held in (0.0, np.nan):
            case.laid_out(np.full(24, 0.3))
            blocks.residual(case.cones, 0.1)
            case.work.A[:] = held
            assert newton.newton(case.cones, 0.1)
            found.append(case.work.vec.P[:24].tolist())
        assert found[0] == found[1]


def test_newtons_method_is_tried_the_rarer_the_more_sweeps_have_not_sufficed():
    """After 1, 3, 7, 15, ... sweeps, with patience 1, 2, 4, 8, ...; then by its two ways round."""
    case = Case(3)
    space, log = cone.gauss_seidel.__globals__, []
    real = {name: space[name] for name in ("sweep", "residual", "polish", "approach", "harden")}
    made = {
        "sweep": lambda cones: log.append("s") or True,
        "residual": lambda cones, soft: 1.0,
        "polish": lambda cones, soft, off, target, patience: log.append(patience) or off,
        "approach": lambda cones, off, target: log.append("a") or off,
        "harden": lambda cones, off, target: log.append("h") or off,
    }
    try:
        space.update(made)
        assert cone.gauss_seidel(case.cones, 1e-3, 31) == LCP_ITERATIONS
        s = "s"
        assert log == [
            *s,
            1,
            *2 * s,
            2,
            "a",
            *4 * s,
            4,
            "a",
            *8 * s,
            8,
            "a",
            "h",
            *16 * s,
            16,
            "a",
            "h",
        ]
        space["harden"] = lambda cones, off, target: np.inf
        assert cone.gauss_seidel(case.cones, 1e-3, 31) == LCP_RAY
        space["residual"] = lambda cones, soft: 0.5e-3
        for left, most in ((0.05e-3, 3), (0.5e-3, 5)):  # what is left well within, or settles
            log.clear()
            space["polish"] = lambda cones, soft, off, target, patience, left=left: left
            space["residual"] = lambda cones, soft, left=left: left
            assert cone.gauss_seidel(case.cones, 1e-3, 31) == SUCCESS
            assert log.count("s") == (2 if left < 0.1e-3 else 5), most
        log.clear()
        space["residual"] = lambda cones, soft: 1e-7
        assert cone.gauss_seidel(case.cones, 1e-3, 31) == SUCCESS
        assert log == ["s"]
        space["sweep"] = lambda cones: False
        assert cone.gauss_seidel(case.cones, 1e-3, 31) == LCP_ITERATIONS
    finally:
        space.update(real)


def test_a_contact_that_nothing_moves_has_its_own_block():
    case = Case(0)
    case.contacts.D[:] = 0.0
    blocks.gather(case.contacts, case.cones)
    rows, k = case.work.rows, np.arange(case.m)
    assert rows[: case.m].first.tolist() == k.tolist()
    assert rows[: case.m].end.tolist() == (k + 1).tolist()
    assert rows[: case.m].before.tolist() == k.tolist()
    assert (case.cones.B[: 9 * case.m] == 0.0).all()
