"""Defects of positions and how they are taken away: each kernel alone, what it calls scripted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.model.structures import Rows

projecting = plain("time_stepping.position_projection")
N, ROWS, CONTACTS, CONSTRAINTS, AT_PHI = 2, 4, 3, 2, 7
FAILS = 77  # a status


def problem_of(G, inp, out, projected=projecting.CONTACTS, compliance=(0, 0, 0), constant=False):
    ptr = np.arange(len(G) + 1) * N
    rows = Rows(ptr, np.tile(np.arange(N), len(G)), np.ravel(G).astype(float))
    return space(
        contacts=space(G=rows, compliance=space(diagonal=np.array(compliance, float))),
        bundles=space(inp=inp, out=out), sizes=space(n=N, rows=ROWS, contacts=CONTACTS, constraints=CONSTRAINTS),
        outputs=space(phi=AT_PHI), method=space(h=0.5), saddle="saddle",
        options=space(projected=projected, constant=constant, lcp="options"),
    )  # fmt: skip


def work_of(pushed=()):
    contacts = np.full(CONTACTS, -9)
    contacts[: len(pushed)] = pushed
    size = N + CONSTRAINTS
    return space(
        projection=space(contacts=contacts, dq=np.full(size, 9.0), gap=np.full(3, 9.0), z=np.full(3, 9.0)),
        active=space(D=np.full((CONTACTS, CONTACTS), 9.0)), iterate=space(q=np.array([1.0, 2.0])),
        lcp=space(kept=[space(count=5)]),
    )  # fmt: skip


@for_each(("seed", "both"), itertools.product(range(20), (True, False)))
def test_defects_are_those_of_constraints_and_of_contacts_that_penetrate(monkeypatch, seed, both):
    """Beside what round-off leaves of each row; contacts that are known stay, in their places."""
    rng = np.random.default_rng(seed)
    G, inp = rng.normal(size=(ROWS + CONSTRAINTS, N)), rng.normal(size=1 + 2 * N)
    round_off = projecting.CLOSE * abs(G) @ (abs(inp[1:3]) + 0.5 * abs(inp[3:]))
    out = np.full(12, np.nan)
    out[:CONTACTS] = round_off[:CONTACTS] * rng.choice([-1.5, -0.5, 0.0, 3.0, -1e9], CONTACTS)
    phi = round_off[ROWS:] * rng.choice([-2.0, -0.5, 0.5, 1e8 * seed], CONSTRAINTS)
    out[AT_PHI : AT_PHI + CONSTRAINTS] = phi
    soft = rng.choice([0.0, 0.1], CONTACTS)
    known = [int(one) for one in rng.permutation(CONTACTS)[: seed % 3]]
    task = problem_of(G, inp, out, projecting.CONTACTS if both else projecting.CONSTRAINTS, soft)
    work, asked = work_of(known), []
    put(monkeypatch, projecting.defects, evaluate=lambda bundles, which: asked.append(which))
    off, done, count = projecting.defects(task, work, len(known))
    gap = out[:CONTACTS]
    deep = np.flatnonzero((gap < -round_off[:CONTACTS]) & (soft == 0) & both)
    assert asked == [projecting.GAP]
    assert off == max(abs(phi).max(), *-gap[deep], 0.0)
    assert done == ((abs(phi) <= round_off[ROWS:]).all() and not len(deep))
    listed = known + [int(c) for c in deep if c not in known]
    assert work.projection.contacts[:count].tolist() == listed
    assert work.projection.dq.tolist() == [0.0, 0.0, *-phi]


def test_what_is_zero_where_nothing_rounds_is_no_defect(monkeypatch):
    """At rest at the origin: a gap and a constraint that are met exactly."""
    put(monkeypatch, projecting.defects, evaluate=lambda *_: None)
    G, inp, out = np.ones((ROWS + CONSTRAINTS, N)), np.zeros(1 + 2 * N), np.zeros(12)
    assert projecting.defects(problem_of(G, inp, out), work_of(), 0) == (0.0, True, 0)


@for_each("place", [*range(CONTACTS), AT_PHI, AT_PHI + 1])
def test_a_defect_that_is_not_finite_is_infinite(monkeypatch, place):
    put(monkeypatch, projecting.defects, evaluate=lambda *_: None)
    out = np.zeros(12)
    out[place] = np.nan
    task = problem_of(np.ones((6, N)), np.ones(5), out)
    assert projecting.defects(task, work_of([1]), 1) == (np.inf, False, 1)
    task = problem_of(np.ones((6, N)), np.ones(5), out, projecting.CONSTRAINTS)
    assert projecting.defects(task, work_of(), 0)[0] == (np.inf if place >= AT_PHI else 0.0)


@for_each(
    ("constant", "known", "fails"), itertools.product((True, False), (0, 1, 2), (True, False))
)
def test_contacts_are_pushed_apart_by_what_the_problem_says(monkeypatch, constant, known, fails):
    """D is made of all contacts where one is new, if it is not constant; dq is what z moves."""
    rng = np.random.default_rng(known)
    G, out = rng.normal(size=(ROWS + CONSTRAINTS, N)), rng.normal(size=12)
    task, work, pushed, asked = problem_of(G, np.ones(5), out, constant=constant), work_of([2, 0]), [2, 0], []  # fmt: skip
    moved = rng.normal(size=N + CONSTRAINTS)
    work.projection.dq[:] = moved
    A = rng.normal(size=(N + CONSTRAINTS, N + CONSTRAINTS))

    def respond(matrix, b):
        asked.append("saddle" if matrix == "saddle" else "respond")
        assert matrix in ("saddle", task)
        b[:] = A @ b

    def solve(lcp, count, held, options, place):
        assert (count, held, options, place.kept[0].count) == (2, 2, "options", -1)
        assert lcp[0] is work.active.D
        np.testing.assert_array_equal(lcp[1][:2], pushed)
        np.testing.assert_allclose(lcp[2][:2], out[pushed] + G[pushed] @ moved[:N])
        lcp[3][:2] = 3.0, 5.0
        place.kept[0].count = 4
        return (FAILS if fails else SUCCESS), 0.0

    put(monkeypatch, projecting.push_apart, respond=respond, solve_step=respond, solve=solve)
    status = projecting.push_apart(task, work, known, 2)
    made = not constant and known < 2
    assert status == (FAILS if fails else SUCCESS)
    assert asked == ["saddle"] * (2 * made) + ["respond"] * (not fails)
    assert work.lcp.kept[0].count == -1
    D = np.full((CONTACTS, CONTACTS), 9.0)
    if made:
        D[np.ix_(pushed, pushed)] = G[pushed] @ A[:N, :N] @ G[pushed].T
    np.testing.assert_allclose(work.active.D, D)
    if not fails:
        b = np.append(3.0 * G[2] + 5.0 * G[0], np.zeros(CONSTRAINTS))
        np.testing.assert_allclose(work.projection.dq, A @ b)


def projected(monkeypatch, offs, *, constraints=CONSTRAINTS, counts=(), done=99, fails=99):
    """Project where defects are scripted; return the status, what was called, and the way."""
    work, called, left = work_of(), [], iter(offs)
    task = problem_of(np.ones((6, N)), np.zeros(5), np.zeros(12))
    task.sizes.constraints = constraints

    def defects(given, own, known):
        k = sum(one[0] == "defects" for one in called)
        called.append(("defects", known))
        return next(left), k >= done, counts[k] if k < len(counts) else 0

    def respond(given, dq):
        called.append(("respond",))
        dq[:N] = 1.0, 0.0

    def push_apart(given, own, known, count):
        called.append(("push", known, count))
        own.projection.dq[:N] = 0.0, 10.0
        return FAILS if sum(one[0] == "push" for one in called) > fails else SUCCESS

    put(monkeypatch, projecting.project, defects=defects, respond=respond, push_apart=push_apart)
    status = projecting.project(task, work)
    way = work.iterate.q - [1.0, 2.0]
    if status != FAILS and any(one[0] != "defects" for one in called):
        assert task.bundles.inp.tolist() == [0.0, *work.iterate.q, 0.0, 0.0]
    return status, called, way.tolist()


def test_each_correction_is_of_constraints_then_of_contacts(monkeypatch):
    status, called, way = projected(monkeypatch, [1.0, 0.4, 0.1], counts=[1, 2, 2], done=2)
    first = [("defects", 0), ("respond",), ("push", 0, 1)]
    assert called == [*first, ("defects", 1), ("respond",), ("push", 1, 2), ("defects", 2)]
    assert (status, way) == (SUCCESS, [2.0, 20.0])
    status, called, way = projected(monkeypatch, [1.0, 0.4], constraints=0, counts=[2], done=1)
    assert (status, way) == (SUCCESS, [0.0, 10.0])
    assert called == [("defects", 0), ("push", 0, 2), ("defects", 2)]
    status, called, way = projected(monkeypatch, [1.0, 0.4], constraints=1, done=1)
    assert (status, way) == (SUCCESS, [1.0, 0.0])
    assert called == [("defects", 0), ("respond",), ("defects", 0)]
    assert projected(monkeypatch, [1.0, 0.5], counts=[1, 1], fails=1)[0] == FAILS
    assert projected(monkeypatch, [1.0, np.inf], counts=[1])[0] == NOT_FINITE
    assert projected(monkeypatch, [np.nan])[0] == NOT_FINITE


@for_each(("offs", "status", "looks"), [
    ([1.0, 2.0**-40, 2.0**-41, 2.0**-41], SUCCESS, 4), ([1e-11] * 99, NEWTON_CAP, projecting.MOST),
    ([10.0, 8e-9, 8e-9], SUCCESS, 3), ([10.0, 12e-9, 12e-9] + [9e-9] * 2, SUCCESS, 5),
    ([1e-3, 1e-11, 0.9e-11], NEWTON_CAP, projecting.MOST),
])  # fmt: skip
def test_a_defect_has_come_to_rest_where_it_no_longer_halves(monkeypatch, offs, status, looks):
    """Beside the largest that there was: at the first look or later."""
    many = [*offs] + [offs[-1]] * (projecting.MOST - len(offs))
    found, called, _ = projected(monkeypatch, many, constraints=1)
    assert found == status
    assert sum(one[0] == "defects" for one in called) == pytest.approx(looks)
