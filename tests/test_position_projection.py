"""Positions that are taken back to where they may be, at the end of a step."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

import explorer as ex
from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.model.structures import Rows

projection = plain("time_stepping.position_projection")
N, CONTACTS, CONSTRAINTS = 4, 3, 2


def enumerated(lcp, count, held, options, work):
    """Solve 0 <= D z + q perp z >= 0 by trying every set of positive z."""
    D, act, q, z = lcp
    D, q = D[np.ix_(act[:count], act[:count])], q[:count]
    for some in itertools.product((False, True), repeat=count):
        on = np.flatnonzero(some)
        z[:count] = 0.0
        z[on] = np.linalg.solve(D[np.ix_(on, on)], -q[on])
        if (z[:count] >= 0).all() and (D @ z[:count] + q >= -1e-12).all():
            return SUCCESS, 0.0
    return NEWTON_CAP, np.inf


class Case:
    """phi = B q + b + bend |q|^2 / 2 and gaps A q + a; dq in the metric W."""

    def __init__(self, monkeypatch, seed, constraints=CONSTRAINTS, constant=False, bend=0.0):
        rng = np.random.default_rng(seed)
        self.A, self.B = rng.normal(size=(CONTACTS, N)), rng.normal(size=(constraints, N))
        self.a, self.b, self.bend = rng.normal(size=CONTACTS), rng.normal(size=constraints), bend
        W = rng.normal(size=(N, N)) + 4 * np.eye(N)
        zero = np.zeros((constraints, constraints))
        self.saddle = np.block([[W, -self.B.T], [self.B, zero]])
        self.looks, size, rows = 0, N + constraints, CONTACTS + constraints
        G = np.vstack([self.A, self.B])
        self.inp = np.zeros(1 + 2 * N)
        self.q = rng.normal(size=N)
        self.inp[1 : 1 + N] = self.q
        self.problem = SimpleNamespace(
            contacts=SimpleNamespace(G=Rows(np.arange(rows + 1) * N, np.tile(np.arange(N), rows), G.ravel()),
                                     compliance=SimpleNamespace(diagonal=np.zeros(CONTACTS))),
            bundles=SimpleNamespace(inp=self.inp, out=np.full(3 + CONTACTS + constraints, np.nan)),
            sizes=SimpleNamespace(n=N, rows=CONTACTS, contacts=CONTACTS, constraints=constraints),
            outputs=SimpleNamespace(phi=CONTACTS + 2), method=SimpleNamespace(h=0.1), saddle=None,
            options=SimpleNamespace(projected=projection.CONTACTS, constant=constant, lcp=None),
        )  # fmt: skip
        D = np.full((CONTACTS, CONTACTS), np.nan)
        self.impulses = np.vstack([self.A.T, np.zeros((constraints, CONTACTS))])
        if constant:
            D[:] = self.A @ np.linalg.solve(self.saddle, self.impulses)[:N]
        self.work = SimpleNamespace(
            active=SimpleNamespace(D=D), iterate=SimpleNamespace(q=self.q),
            lcp=SimpleNamespace(kept=[SimpleNamespace(count=5)]),
            projection=SimpleNamespace(dq=np.full(size, 9.0), gap=np.zeros(CONTACTS), z=np.zeros(CONTACTS),
                                       contacts=np.full(CONTACTS, -9)),
        )  # fmt: skip
        space = projection.project.__globals__
        for name, stand_in in (("evaluate", self.evaluate), ("solve", enumerated),
                               ("respond", self.respond), ("solve_step", self.respond)):  # fmt: skip
            monkeypatch.setitem(space, name, stand_in)

    def phi(self, q):
        return self.B @ q + self.b + self.bend * q @ q / 2

    def gap(self, q):
        return self.A @ q + self.a

    def evaluate(self, bundles, which):
        assert which == projection.GAP
        self.looks += 1
        q = self.inp[1 : 1 + N]
        bundles.out[:CONTACTS], bundles.out[CONTACTS + 2 :][: len(self.b)] = self.gap(q), self.phi(q)  # fmt: skip

    def respond(self, _, b):
        b[:] = np.linalg.solve(self.saddle, b)

    def project(self):
        return projection.project(self.problem, self.work)


@for_each(
    ("constraints", "constant", "seed"), itertools.product((0, 1, 2), (True, False), range(4))
)
def test_one_correction_solves_what_is_linear(monkeypatch, constraints, constant, seed):
    """phi = 0; contacts that penetrate then touch, those that do not stay open."""
    case = Case(monkeypatch, seed, constraints, constant)
    start = np.linalg.lstsq(case.B, -case.b, rcond=None)[0] if constraints else np.zeros(N)
    case.a[:] = -case.A @ start + [-0.1, -0.2, 50.0]
    case.q[:] = case.inp[1 : 1 + N] = start
    case.b += 0.01 * constraints
    status = case.project()
    assert status == SUCCESS
    assert case.looks == 2
    np.testing.assert_array_equal(case.inp[1 : 1 + N], case.q)
    np.testing.assert_allclose(case.phi(case.q), 0.0, atol=1e-12)
    gap, z = case.gap(case.q)[:2], case.work.projection.z[:2]
    np.testing.assert_allclose(np.minimum(gap, z), 0.0, atol=1e-12)
    assert z.max() > 0
    # moved along the directions of contacts and constraints alone
    W = case.saddle[:N, :N]
    along = np.vstack([case.A[:2], case.B]).T
    pull = W @ (case.q - start)
    np.testing.assert_allclose(along @ np.linalg.lstsq(along, pull, rcond=None)[0], pull, atol=1e-9)
    assert case.work.lcp.kept[0].count == -1


def test_what_is_not_asked_for_is_left(monkeypatch):
    """Constraints alone, or a contact that gives way: gaps may stay negative."""
    for rigid in (True, False):
        case = Case(monkeypatch, 0)
        case.a[:] = -100.0
        if rigid:
            case.problem.options.projected = projection.CONSTRAINTS
        else:
            case.problem.contacts.compliance.diagonal[:] = 1e-9
        assert case.project() == SUCCESS
        assert case.gap(case.q).max() < 0
        np.testing.assert_allclose(case.phi(case.q), 0.0, atol=1e-12)


@for_each("bend", (1e-3, 0.02, 0.05))
def test_curved_constraints_are_met_to_round_off(monkeypatch, bend):
    """One factorisation serves every correction, so the defect falls by the same part each time."""
    case = Case(monkeypatch, 3, bend=bend)
    case.problem.options.projected = projection.CONSTRAINTS
    assert case.project() == SUCCESS
    size = abs(case.B) @ abs(case.q)
    assert (abs(case.phi(case.q)) <= 1.01 * projection.CLOSE * size).all()
    assert case.looks > 3


def test_a_rest_that_falls_no_more_is_round_off(monkeypatch):
    """But not one that has never fallen: that is no solution."""
    case = Case(monkeypatch, 3)
    case.problem.options.projected = projection.CONSTRAINTS
    noise = itertools.cycle((1e-11, -1e-11))
    smooth = case.phi
    case.phi = lambda q: smooth(q) + next(noise)
    assert case.project() == SUCCESS
    assert case.looks < 6
    case.phi = lambda q: np.ones(2)  # has no zero
    case.looks = 0
    assert case.project() == NEWTON_CAP
    assert case.looks == projection.MOST
    case.phi = lambda q: np.array([0.0, np.inf])
    assert case.project() == NOT_FINITE


def test_what_round_off_leaves_of_a_row():
    """That of its terms: what the coordinates add to it, and their way in a step."""
    G = Rows(np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([2.0, -3.0, 5.0]))
    inp = np.array([9.0, 1.0, -2.0, 4.0, 10.0, 20.0, -30.0])
    problem = SimpleNamespace(contacts=SimpleNamespace(G=G), bundles=SimpleNamespace(inp=inp),
                              sizes=SimpleNamespace(n=3), method=SimpleNamespace(h=0.1))  # fmt: skip
    sizes = 2 * (1 + 1) + 3 * (4 + 3), 5 * (2 + 2)
    for row, size in enumerate(sizes):
        assert projection.close_to(problem, row) / projection.CLOSE == pytest.approx(size)


@for_each("projection", ["constraints", "all", "both levels"])
@for_each("what", ["constraint", "contact"])
def test_a_formula_that_ends_is_told_as_that(what, projection):
    """sqrt(1 - x) ends at x = 1, where a mass runs through at t = 0.5."""
    system = ex.MechanicalSystem("ends", q="x y", mass=[[1, 0], [0, 1]], force=["0", "0"])
    end = "y - sqrt(1 - x) + 1/2*sqrt(2)"
    system.constraint(end if what == "constraint" else "y - sin(x)")
    if what == "contact":
        system.contact(ex.Contact("2 - y + sqrt(1 - x)", e=0, name="roof"))
    start = {"q": [0.5, 0]} if what == "constraint" else {"q": [0, 0]}
    v = [1, -0.5 * np.sqrt(2)] if what == "constraint" else [2, 2]
    system.start(**start, v=v, t_end=5)
    run = ex.simulate(system, ex.MoreauJean(h=0.01, projection=projection), throw=False)
    assert run.status.name == "not_finite", run.status
    assert "is not finite at t = " in run.status.message
