"""Contacts known by their graph: which solver is asked when, and what a step keeps for the next."""

from __future__ import annotations

import numpy as np
import pytest
from contact_graph import FRICTION, OPEN, STICK, Case
from loops import for_each
from plain import plain

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.lcp import LEMKE, PGS
from explorer.kernels.complementarity.structures import LcpOptions
from explorer.kernels.friction.structures import Contacts, Friction
from explorer.kernels.model.structures import Rows

IMPROPER = 32
whole = plain("friction.graph")
space = whole.solve_graph.__globals__
NAMES = ("exchange", "residual", "sweeps", "try_newton", "approach")


@pytest.fixture
def told():
    """Put what a test says in the place of the solvers, and note the order of their calls."""
    real = {name: space[name] for name in NAMES}
    log = []

    def put(**given):
        log.clear()
        ways = {
            "exchange": lambda *_: LCP_ITERATIONS,
            "residual": lambda *_: 1.0,
            "sweeps": lambda graph, work, size, share, count: (SUCCESS, 0.5, 0.25),
            "try_newton": lambda graph, work, done, off, tol, size: (LCP_ITERATIONS, off),
            "approach": lambda graph, path, off, *_: (LCP_ITERATIONS, off),
        } | given
        for name, way in ways.items():

            def noted(*asked, name=name, way=way):
                log.append((name, *asked[2:]))
                return way(*asked)

            space[name] = noted if name != "residual" else way
        return log

    yield put
    space.update(real)


def solve(case, method=LEMKE, tol=1e-6, max_iter=200, size=1.0):
    return whole.solve_graph(case.graph, LcpOptions(method, tol, max_iter), size, False, case.work)


def count(log):
    """Return how many sweeps stand before each call of another solver."""
    swept, found = 0, []
    for name, *asked in log:
        if name == "sweeps":
            swept += asked[-1]
        elif name != "exchange":
            found.append((name, swept))
    return found, swept


def test_the_exchange_is_tried_again_after_every_twenty_sweeps(told):
    case = Case(0)  # without friction nothing else is
    log = told()
    assert solve(case, max_iter=100) == (LCP_ITERATIONS, 1.0)
    names = [name for name, *_ in log]
    whole_sweeps = [asked for name, *asked in log if name == "sweeps"]
    # from nothing again, one by one and half the way each, where as many have not sufficed
    assert names[:12] == ["exchange", "sweeps"] * 5 + ["exchange", "sweeps"]
    assert whole_sweeps[0] == [0.0, 0.0, 20]
    assert whole_sweeps[1:5] == [[0.5, 0.25, 20]] * 4
    assert whole_sweeps[5:] == [[0.0, 0.0, 1]] * 100
    log = told()
    assert solve(case, PGS, max_iter=60) == (LCP_ITERATIONS, 1.0)
    assert {name for name, *_ in log} == {"sweeps"}
    log = told(exchange=lambda *_: SUCCESS, residual=lambda *_: 1e-8)
    assert solve(case) == (SUCCESS, 1e-8)
    assert [name for name, *_ in log] == ["exchange"]
    log = told(exchange=lambda *_: SUCCESS, residual=lambda *_: 0.5e-6)  # not well within
    assert solve(case, max_iter=2000) == (SUCCESS, 0.5e-6)
    assert [name for name, *_ in log] == ["exchange", "sweeps"] * 5
    log = told(sweeps=lambda *_: (LCP_RAY, 0.0, 0.0))
    assert solve(case)[0] == LCP_RAY
    log = told(residual=lambda *_: np.nan)
    status, off = solve(case)
    assert status == LCP_RAY
    assert np.isnan(off)


def test_a_set_that_is_no_solution_leaves_the_impulses_of_the_sweeps(told):
    case = Case(1)
    P, seen = case.graph.P, []

    def exchange(graph, work, size, steady):
        P[:] = -7.0
        return LCP_ITERATIONS

    def sweeps(graph, work, size, share, count):
        seen.append(P.copy())
        P[:] += 1.0
        return SUCCESS, 0.5, 0.25

    told(exchange=exchange, sweeps=sweeps)
    P[:] = 3.0
    solve(case, max_iter=60)
    assert [p[0] for p in seen[:3]] == [3.0, 4.0, 5.0]
    case.work.sweeps.change[:] = 0.5
    assert seen[3][0] == 0.0  # from nothing
    assert [p[0] for p in seen[4:7]] == [1.0, 2.0, 3.0]
    P[:] = 3.0
    seen.clear()
    solve(case, max_iter=20)
    assert [p[0] for p in seen[:4]] == [3.0, 0.0, 0.75, 1.5]


def test_proximal_steps_begin_where_sweeps_come_near_or_have_gone_on_for_long(told):
    """After 80, 160, 320, ... sweeps; Newton's method after 400, 2000 and 8000."""
    case = Case(1)
    log = told()
    solve(case, max_iter=2000, tol=1e-9)
    found, _ = count(log)
    first = found[: found.index(("try_newton", 2000)) + 1]
    assert first == [("approach", 80), ("approach", 160), ("approach", 320), ("try_newton", 400),
                     ("approach", 640), ("approach", 1280), ("try_newton", 2000)]  # fmt: skip
    asked = [entry[1:] for entry in log if entry[0] == "approach"]
    for (off, left, aim, most), done in zip(asked, (80, 160, 320, 640, 1280), strict=False):
        assert off == 1.0
        assert left == pytest.approx(1e-9)
        assert aim == pytest.approx(1e-10)
        assert most == min(4 * done, 2400)
    log = told(residual=lambda *_: 1e-3)
    solve(case, max_iter=100, tol=1e-9)
    assert count(log)[0][0] == ("approach", 20)
    log = told(residual=lambda *_: 1.1e-3)
    solve(case, max_iter=70, tol=1e-9)
    assert not count(log)[0]
    log = told(approach=lambda *_: (SUCCESS, 0.5e-9))
    assert solve(case, max_iter=2000, tol=1e-9) == (SUCCESS, 0.5e-9)
    assert count(log)[0] == [("approach", 80)]
    log = told(approach=lambda *_: (SUCCESS, 0.5e-12))
    solve(case, tol=1e-14)  # what round-off leaves is taken: 1e3 tol
    (asked,) = [entry[1:] for entry in log if entry[0] == "approach"]
    assert asked[1:3] == pytest.approx((1e-11, 1e-14))
    log = told(try_newton=lambda graph, work, done, off, tol, size: (LCP_RAY, 0.5))
    assert solve(case, max_iter=2000) == (LCP_RAY, 0.5)
    assert count(log)[0][-1] == ("try_newton", 400)
    told(try_newton=lambda graph, work, done, off, tol, size: (SUCCESS, 1e-7))
    assert solve(case, max_iter=2000) == (SUCCESS, 1e-7)


def test_of_a_pile_a_rough_answer_is_taken_after_long(told):
    case = Case(1)
    for off, end in ((2.9e-3, 1280), (3.1e-3, None)):
        log = told(exchange=lambda *_: LCP_RAY, residual=lambda *_, off=off: off)
        status, left = solve(case, max_iter=1400, tol=1e-9)
        assert left == off
        assert (status == SUCCESS) == (end is not None)
        assert [name for name, *_ in log].count("exchange") == 1  # its band is too wide
        if end:
            assert count(log)[1] == end


def test_newtons_method_hardens_at_last():
    seen = []
    real = {name: whole.try_newton.__globals__[name] for name in ("newton", "harden")}
    case = Case(1)
    try:
        for name in real:
            whole.try_newton.__globals__[name] = (
                lambda graph, work, off, enough, widest, name=name: seen.append((name, enough, widest))
                or (SUCCESS, 0.5)
            )  # fmt: skip
        case.graph.P[:] = 3.0
        for done, tol, expected in ((400, 1e-6, ("newton", 0.1 * 1e-6 * 2)),
                                    (7999, 1e-12, ("newton", 0.1 * 1e-9 * 2)),
                                    (8000, 1e-6, ("harden", 1e-6 * 2))):  # fmt: skip
            seen.clear()
            status, off = whole.try_newton(case.graph, case.work.newton, done, 1.0, tol, 2.0)
            assert (status, off) == (SUCCESS if expected[0] == "harden" else LCP_ITERATIONS, 0.5)
            assert seen == [(expected[0], pytest.approx(expected[1]), 256)]
            assert (case.work.newton.given[: case.rows] == 3.0).all()
    finally:
        whole.try_newton.__globals__.update(real)


def step(case, **given):
    """Return the structures of a whole step."""
    g, nc = case.graph, case.m + 2
    nt = len(case.G) - nc
    contacts = Contacts(np.zeros((0, 0)), g.act, g.m, g.rows, g.place, np.zeros(0, int), g.mu.copy(), g.q,
                        g.P, g.mode)  # fmt: skip
    kinetic = np.full(nt, 0.2)
    friction = Friction(kinetic, 1.5 * kinetic, np.zeros(nc + nt), np.full(nc + nt, STICK, np.int8))
    return contacts, friction._replace(**given), nc, Rows(g.ptr, g.col, g.val)


@for_each("seed", FRICTION[:6])
def test_a_step_is_solved_from_the_last_and_kept_for_the_next(seed):
    case = Case(seed, soft=False)
    contacts, friction, nc, G = step(case)
    compliance, options = np.zeros(nc), LcpOptions(LEMKE, 1e-10, 2000)
    case.work.listed[:] = -9

    def once(number, steady=False):
        return whole.on_graph(contacts, friction, nc, options, G, case.inverse, compliance, 1.0, number,
                              steady, case.work)  # fmt: skip

    status, off = once(1)
    assert status == SUCCESS
    assert off <= 1e-10 * abs(contacts.q).max()
    graph = case.graph._replace(mu=contacts.mu)
    case.graph = graph
    assert case.off().max() <= 1e-9
    for k, t in enumerate(case.place):  # mu_s of what sticks, mu of what slides
        if t >= 0:
            what = contacts.mode[case.act[k]]
            assert contacts.mu[k] == (0.2 if what in (1, -1) else 1.5 * 0.2)
    np.testing.assert_array_equal(case.work.last[case.act], contacts.P)
    assert (case.work.listed[case.act[: case.m]] == 1).all()
    solved = contacts.P.copy()
    assert once(2, True)[0] == SUCCESS
    np.testing.assert_allclose(contacts.P, solved, atol=1e-8)
    contacts.q[: case.m] = abs(contacts.q[: case.m])  # all part
    assert once(3) == (SUCCESS, 0.0)
    assert not contacts.P.any()
    assert not case.work.last[case.act].any()
    assert (contacts.mode[case.act[: case.m]] == OPEN).all()
    assert (case.work.listed[case.act[: case.m]] == 3).all()
    contacts.q[0] = -1.0
    friction.kinetic[:] = -1.0
    assert once(4) == (IMPROPER, 0.0)
    contacts.q[0] = np.inf
    status, off = once(5)
    assert status == LCP_RAY
    assert np.isnan(off)


def test_factors_of_another_step_are_not_used(told):
    case = Case(0, soft=False)
    contacts, friction, nc, G = step(case)
    for steady in (True, False):
        case.work.exchange.band.state[0].width = 5
        whole.on_graph(contacts, friction, nc, LcpOptions(LEMKE, 1e-9, 99), G, case.inverse, np.zeros(nc), 1.0, 1,
                       steady, case.work)  # fmt: skip
        assert (case.work.exchange.band.state[0].width == 5) == (steady and contacts.q.min() >= 0)
        contacts.q[:] = abs(contacts.q)


def test_a_coefficient_is_revised_where_a_contact_slides_or_turns():
    case = next(c for c in map(Case, FRICTION) if (c.place >= 0).sum() > 2)
    contacts, friction, nc, _ = step(case)
    graph = case.graph._replace(mu=contacts.mu)
    rough = np.flatnonzero(case.place >= 0)
    for what, counts, slid, first, expected in (
        (STICK, 0.3, 1.0, True, 0.3),
        (OPEN, 0.3, 1.0, True, 0.3),
        (1, 0.3, 1.0, True, 0.2),
        (1, 0.3, -1.0, False, 0.2),
        (1, 0.2, 1.0, True, 0.2),
        (1, 0.2, -1.0, True, 0.3),
        (-1, 0.2, 1.0, True, 0.3),
        (-1, 0.2, -1.0, True, 0.2),
        (-1, 0.2, 0.0, True, 0.2),
        (1, 0.2, -1.0, False, 0.2),
    ):
        for k in rough:
            graph.mode[:], graph.mu[:], friction.slip[:] = STICK, 0.2, 0.0
            graph.mode[case.act[k]], graph.mu[k] = what, counts
            friction.static[:] = 0.3
            friction.slip[case.act[case.place[k]]] = slid
            assert whole.reconsider(graph, friction, nc, first) == (expected != counts)
            assert graph.mu[k] == expected
            assert (np.delete(graph.mu, k) == 0.2).all()
