"""Coulomb friction along lines: each way to solve it, and which coefficient counts."""

from __future__ import annotations

import numpy as np
import pytest
import twin
from loops import for_each
from plain import opened, plain, put

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.lcp import LEMKE, PGS
from explorer.kernels.complementarity.structures import LcpOptions, lcp_workspace
from explorer.kernels.friction.structures import (
    Contacts,
    Friction,
    FrictionOptions,
    friction_workspace,
)

OPEN, STICK, IMPROPER = 0, 2, 32
lines = plain("friction.coulomb")
MURTY = next(m for m in range(3) if m not in (LEMKE, PGS))  # neither exchanges sets nor sweeps


class Case:
    """Contacts in any order, those of `rough` with friction along a line."""

    def __init__(self, seed: int, m: int = 3, rough: int | None = None, mu: float = 0.5):
        rng = self.rng = np.random.default_rng(seed)
        nc, rough = m + 2, m if rough is None else rough
        frictional = np.sort(rng.permutation(m)[:rough])
        normals = rng.permutation(nc)[:m]
        A = rng.normal(size=(2 * nc, 2 * nc + 2))
        D, place = A @ A.T / nc, np.full(m, -1)
        place[frictional] = m + np.arange(rough)
        act = np.array([*normals, *(nc + normals[frictional])])
        q = rng.normal(size=m + rough)
        q[:m] -= 1.0
        self.c = Contacts(
            *(D, act, m, m + rough, place, nc + np.arange(nc + 1), rng.uniform(0.2, 1, m) * mu),
            *(q, np.zeros(m + rough), np.zeros(nc, int)),
        )
        self.nc, self.D = nc, D[np.ix_(act, act)]
        self.work = opened(friction_workspace(nc, nc, opened(lcp_workspace(3 * nc, 3 * nc))))

    def exact(self):
        """Return the impulses that trying all sets finds."""
        c, m = self.c, self.c.m
        D, q = np.eye(2 * m), np.zeros(2 * m)
        rows = [*range(m), *(m + np.flatnonzero(c.place >= 0))]
        D[np.ix_(rows, rows)], q[rows] = self.D, c.q
        return twin.coulomb(D, q, np.where(c.place >= 0, c.mu, 0.0))[rows]

    def law(self, tol=1e-9):
        """Assert that impulses obey the law, and that `mode` tells what they do."""
        c = self.c
        w = self.D @ c.P + c.q
        assert (c.P[: c.m] >= 0).all()
        assert (w[: c.m] >= -tol).all()
        assert abs(c.P[: c.m] * w[: c.m]).max() <= tol
        for k, t in enumerate(c.place):
            what, bound = c.mode[c.act[k]], c.mu[k] * c.P[k]
            assert (what == OPEN) == (c.P[k] == 0)
            if t >= 0:
                assert abs(c.P[t]) <= bound + tol
                if what in (1, -1):
                    assert c.P[t] == pytest.approx(-what * bound, abs=tol)
                    assert what * w[t] >= -tol
                elif what == STICK:
                    assert abs(w[t]) <= tol


def options(method=LEMKE, tol=1e-11, max_iter=2000):
    return LcpOptions(method, tol, max_iter)


@for_each("seed", range(8))
def test_every_way_finds_the_solution(seed):
    for rough in (0, 1, 3):
        case = Case(seed, rough=rough)
        c, size = case.c, abs(case.c.q).max()
        exact = case.exact()
        for way in (
            lambda c=c, case=case, size=size: lines.exchange(c, size, case.work.active),
            lambda c=c, case=case: lines.sweep(c, 1e-12, 2000),
            lambda c=c, case=case: lines.complementarity(c, options(), case.work.glocker),
        ):
            c.P[:], c.mode[:] = 0.0, STICK
            assert way() == SUCCESS
            np.testing.assert_allclose(c.P, exact, atol=1e-9)
            assert lines.residual(c) <= 1e-9
            case.law()
            for k, t in enumerate(c.place):  # what each does is what its impulses say
                what = c.mode[c.act[k]]
                assert (what == OPEN) == (c.P[k] == 0.0)
                if t >= 0 and what in (1, -1):
                    assert c.P[t] == pytest.approx(-what * c.mu[k] * c.P[k], abs=1e-9)
                elif t >= 0 and what == STICK:
                    assert abs(c.P[t]) < c.mu[k] * c.P[k]


@for_each("seed", range(24))
def test_the_velocities_of_a_set_vanish_where_it_holds(seed):
    case = Case(seed, m=4, rough=3, mu=0.1)
    c = case.c
    for k, t in enumerate(c.place):
        c.mode[c.act[k]] = case.rng.choice([OPEN, STICK, 1, -1] if t >= 0 else [OPEN, STICK])
    n = lines.solve_set(c, case.work.active)
    P = np.zeros(c.rows)
    rows = [*case.work.active.chosen[:n]]
    P[rows] = case.work.active.x[:n]
    for k, t in enumerate(c.place):
        what = c.mode[c.act[k]]
        assert (k in rows) == (what != OPEN)
        assert t < 0 or (t in rows) == (what == STICK)
        if t >= 0 and what in (1, -1):
            P[t] = -what * c.mu[k] * P[k]
    assert n == len({*rows})
    np.testing.assert_allclose((case.D @ P + c.q)[rows], 0.0, atol=1e-9)


@for_each("m", [2, 5, 12])
def test_contacts_that_say_the_same_share_the_load(m):
    """Redundant contacts: the smallest of all solutions; -1 where none is near."""
    case = Case(m, m=m, rough=0)
    c = case.c
    c.D[:], c.q[:] = 1.0, -3.0
    c.mode[:] = STICK
    assert lines.solve_set(c, case.work.active) == m
    np.testing.assert_allclose(case.work.active.x[:m], 3.0 / m, rtol=1e-6)
    c.D[:] = 0.0
    assert lines.solve_set(c, case.work.active) == -1
    assert lines.exchange(c, 3.0, case.work.active) == LCP_ITERATIONS


def test_a_wide_set_is_solved_within_its_band():
    for seed in range(4):
        case = Case(seed, m=8, rough=6, mu=0.1)
        c = case.c
        near = np.triu(np.tril(np.ones_like(case.D), 3), -3)
        c.D[np.ix_(c.act, c.act)] = np.where(near > 0, 0.1, 0.0) + 2.0 * np.eye(c.rows)
        case.D[:] = c.D[np.ix_(c.act, c.act)]
        c.mode[:] = STICK
        assert lines.solve_set(c, case.work.active) == c.rows
        np.testing.assert_allclose(
            case.work.active.x[: c.rows],
            np.linalg.solve(case.D, -c.q)[case.work.active.chosen[: c.rows]], rtol=1e-9,
        )  # fmt: skip


@for_each("method", [LEMKE, PGS, MURTY])
@for_each("seed", range(4))
def test_a_problem_is_solved_whatever_is_asked_for(method, seed):
    case = Case(seed)
    c = case.c
    c.P[:] = 5.0
    status, off = lines.along_lines(c, options(method), case.work)
    assert status == SUCCESS
    assert off <= 1e-11 * abs(c.q).max()
    assert off == lines.residual(c)
    np.testing.assert_allclose(c.P, case.exact(), atol=1e-9)
    for bad in (np.nan, np.inf):
        c.q[-1] = bad
        status, off = lines.along_lines(c, options(method), case.work)
        assert status == LCP_RAY
        assert np.isnan(off)


def test_what_one_way_does_not_solve_another_does():
    """First the sets that held, then Lemke's method, then the cones; each from where it may."""
    space = lines.along_lines.__globals__
    names = ("exchange", "complementarity", "in_space", "sweep")
    real, log = {name: space[name] for name in names}, []
    try:
        for fail, told in (
            ((), {LEMKE: ["exchange"], PGS: ["sweep"], MURTY: ["complementarity"]}),
            (("exchange",), {LEMKE: ["exchange", "complementarity"]}),
            (("exchange", "complementarity"), {LEMKE: ["exchange", "complementarity", "in_space"],
                                               MURTY: ["complementarity"]}),
            (("sweep",), {PGS: ["sweep"]}),
        ):  # fmt: skip
            for name in names:

                def way(*given, name=name, fail=fail):
                    log.append(name)
                    if name in fail:
                        given[0].P[:] = 7.0
                        return LCP_RAY
                    if name == "in_space":
                        assert not given[0].P.any()
                    return real[name](*given)

                space[name] = way
            for method, expected in told.items():
                case = Case(1)
                log.clear()
                status, off = lines.along_lines(case.c, options(method), case.work)
                assert log == expected
                assert (status == SUCCESS) == (expected[-1] not in fail)
                assert status in (SUCCESS, LCP_RAY)
                assert (off <= 1e-9) == (status == SUCCESS)
    finally:
        space.update(real)


@for_each("unit", [1e-6, 1.0, 1e6])
def test_a_residual_is_judged_by_what_is_given(unit):
    """Impulses that are off by a millionth are not taken, nor exact ones refused, in any unit."""
    space, log = lines.along_lines.__globals__, []
    real = {name: space[name] for name in ("exchange", "complementarity")}
    try:
        for error in (0.0, 1e-6):

            def first(*given, error=error):
                status = real["exchange"](*given)
                given[0].P[:] *= 1 + error
                return status

            space["exchange"] = first
            space["complementarity"] = lambda *given: (
                log.append(1) or real["complementarity"](*given)
            )
            case = Case(1)
            exact = unit * case.exact()
            case.c.q[:] *= unit
            log.clear()
            status, off = lines.along_lines(case.c, options(tol=1e-9), case.work)
            assert (status, bool(log)) == (SUCCESS, error > 0)
            assert off <= 1e-9 * abs(case.c.q).max()
            np.testing.assert_allclose(case.c.P, exact, rtol=1e-8, atol=1e-9 * unit)
    finally:
        space.update(real)


def test_sweeps_end_where_they_should():
    case = Case(2)
    c = case.c
    assert lines.sweep(c, 0.0, 16) == LCP_ITERATIONS
    tried = next(n for n in range(1, 99) if lines.sweep(Case(2).c, 1e9, n) == SUCCESS)
    assert tried == 8  # the residual is looked at after so many
    c.q[0], at = -1.0, c.act
    c.D[at[0], :] = c.D[:, at[0]] = 0.0
    assert lines.sweep(c, 1e-9, 99) == LCP_RAY
    case = Case(2, rough=0)
    case.c.D[:] = 0.0
    case.c.mode[:] = 9
    lines.sweep(case.c, 1e-9, 1)
    assert not case.c.P.any()
    assert (case.c.mode[case.c.act] == OPEN).all()


def test_one_contact_is_solved_in_closed_form():
    for seed in range(12):
        case = Case(seed, m=1)
        assert lines.one_on_line(case.c, LEMKE)
        np.testing.assert_allclose(case.c.P, case.exact(), atol=1e-12)
        case.law()
        for method in (PGS, MURTY):
            assert not lines.one_on_line(case.c, method)
    assert not lines.one_on_line(Case(0, m=2).c, LEMKE)
    assert not lines.one_on_line(Case(0, m=2, rough=0).c, LEMKE)
    assert not lines.one_on_line(Case(0, m=1, rough=0).c, LEMKE)
    case = Case(0, m=1)
    case.c.D[case.c.act[0]] = 0.0
    assert not lines.one_on_line(case.c, LEMKE)
    case.c.P[:] = 0.0


def friction(case, static, slip=None, before=None) -> Friction:
    nc = case.nc
    kinetic = case.rng.uniform(0.2, 0.4, nc)
    slip = np.zeros(2 * nc) if slip is None else slip
    return Friction(
        kinetic, static * kinetic, slip, np.zeros(2 * nc, np.int8) if before is None else before
    )


@for_each("seed", range(12))
def test_the_coefficient_that_counts(seed):
    """mu_s of what stuck at the start of the step, mu of the others, none without a tangent."""
    case = Case(seed, m=4, rough=3)
    c, nc = case.c, case.nc
    before = case.rng.choice([OPEN, STICK, 1, -1], 2 * nc).astype(np.int8)
    law = friction(case, 1.5, before=before)
    c.mu[:] = 9.0
    assert lines.count_coefficients(c, law, nc) == SUCCESS
    for k, t in enumerate(c.place):
        r = c.act[t] - nc
        holds = before[nc + r] == STICK
        assert c.mu[k] == (0.0 if t < 0 else law.static[r] if holds else law.kinetic[r])
    at = next(c.act[t] - nc for t in c.place if t >= 0)
    for mu, mu_s in ((-0.1, 0.2), (0.3, 0.2), (np.nan, 0.2), (0.2, np.nan), (np.inf, np.inf)):
        law.kinetic[at], law.static[at] = mu, mu_s
        assert lines.count_coefficients(c, law, nc) == IMPROPER
    assert lines.coulomb(c, law, nc, FrictionOptions(options(), 0), case.work) == (IMPROPER, 0.0)


@for_each("seed", range(16))
def test_static_friction_is_kept_to(seed):
    """What sticks does so up to mu_s; what slides feels mu, if it did not slide the other way."""
    for m, cones in ((1, 0), (3, 0), (3, 1)):
        case = Case(seed, m=m)
        c, nc = case.c, case.nc
        slip = np.append(np.zeros(nc), case.rng.normal(size=nc))
        before = np.where(case.rng.random(2 * nc) < 0.5, STICK, 1).astype(np.int8)
        law = friction(case, 1.8, slip, before)
        case.work.cones.kept[0].contacts = -1
        status, off = lines.coulomb(c, law, nc, FrictionOptions(options(), cones), case.work)
        assert status == SUCCESS
        assert off <= 1e-10 * abs(c.q).max()
        if not cones:
            case.law()
        for k, t in enumerate(c.place):
            r = c.act[t] - nc
            what = c.mode[c.act[k]]
            if what in (1, -1) and before[nc + r] == STICK:
                assert c.mu[k] == law.kinetic[r]
            assert c.mu[k] in (law.kinetic[r], law.static[r])


def test_a_coefficient_is_revised_where_a_contact_slides_or_turns():
    case = Case(5, m=3)
    c, nc = case.c, case.nc
    slip = np.zeros(2 * nc)
    law = friction(case, 1.5, slip)
    at = [c.act[t] - nc for t in c.place]
    for what, counts, slid, first, expected in (
        (STICK, "static", 1.0, True, "static"),
        (OPEN, "static", 1.0, True, "static"),
        (1, "static", 1.0, True, "kinetic"),
        (1, "static", -1.0, False, "kinetic"),
        (1, "kinetic", 1.0, True, "kinetic"),
        (1, "kinetic", -1.0, True, "static"),
        (-1, "kinetic", 1.0, True, "static"),
        (-1, "kinetic", -1.0, True, "kinetic"),
        (-1, "kinetic", 0.0, True, "kinetic"),
        (1, "kinetic", -1.0, False, "kinetic"),
    ):
        for k in range(3):
            c.mu[:] = law.kinetic[at]
            c.mode[:], slip[:] = STICK, 0.0
            c.mode[c.act[k]], slip[nc + at[k]] = what, slid
            c.mu[k] = getattr(law, counts)[at[k]]
            assert lines.revise(c, law, nc, first) == (expected != counts)
            assert c.mu[k] == getattr(law, expected)[at[k]]
            assert [c.mu[j] for j in range(3) if j != k] == [
                law.kinetic[at[j]] for j in range(3) if j != k
            ]


def test_factors_of_another_set_are_not_taken_for_these(monkeypatch):
    case, seen = Case(0), []
    case.work.glocker.work.kept[0].count = 1
    put(monkeypatch, lines.complementarity, solve=lambda problem, size, n, given, work: seen.append(work.kept[0].count) or (SUCCESS, 0.0))  # fmt: skip
    lines.complementarity(case.c, options(), case.work.glocker)
    assert seen == [-1]
