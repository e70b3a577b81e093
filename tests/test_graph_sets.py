"""Sets of contacts on a graph, uncompiled: whose factors serve on, what contradicts, when it ends."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.complementarity.box_lcp import LEMKE
from explorer.kernels.complementarity.structures import LcpOptions

sets, whole = plain("friction.graph_exchange"), plain("friction.graph")
sweeping, lines = plain("friction.graph_gauss_seidel"), plain("friction.coulomb")
OPEN, STICK = whole.OPEN, whole.STICK
SIZE = 0.25  # of the right side, the largest entry
FAILS = 77  # a status


# ---------------------------------------------------------------- factors of a set


def factored(monkeypatch, *, mode=(STICK, STICK, OPEN), known=(3, 4), width=0, of=2, steady=True, fails=(), wide=0):  # fmt: skip
    """Ask for the factors of the set of rows 3 and 4; return the answer, what was made, and the band."""
    asked, fails = [], iter(fails)
    band = space(A=np.zeros((3, 7)), chosen=np.array([0, 1, -9]), pivots=None, state=[space(width=width, factored=of, chosen=9)])  # fmt: skip

    def assemble(graph, given, widest):
        asked.append("assemble")
        given.A[:] = 0.0
        given.A[:2, max(wide, 0)] = 2.0, -6.0
        return wide

    def band_factor(A, n, width, pivots):
        asked.append((n, width, A[:2, width].tolist()))
        return next(fails, 0)

    put(monkeypatch, sets.factor_set, unknowns=lambda *_: 2, assemble=assemble, band_factor=band_factor)  # fmt: skip
    graph = space(act=np.array([3, 4, 5]), m=3, place=None, mode=np.array([9, 9, 9, *mode]))
    listed = np.array([*known, -9])
    told = sets.factor_set(graph, space(band=band, known=listed), steady)
    assert band.state[0].chosen == 2
    return told, asked, band.state[0], listed


@for_each(("given", "same"), [
    ({}, True), ({"width": 3}, True), ({"width": -1}, False), ({"of": 1}, False), ({"steady": False}, False), ({"mode": (1, STICK, OPEN)}, False), ({"mode": (STICK, STICK, -1)}, False),
    ({"known": (3, 5)}, False), ({"known": (5, 4)}, False), ({"known": (4, 3)}, False),
])  # fmt: skip
def test_factors_serve_on_for_the_same_rows_none_of_which_slides(monkeypatch, given, same):
    told, asked, state, known = factored(monkeypatch, **given)
    assert told == (SUCCESS, 1, 0.0)
    assert asked == ([] if same else ["assemble", (2, 0, [2.0, -6.0])])
    assert (state.width, state.factored) == (given.get("width", 0) if same else 0, 2)
    assert known[:2].tolist() == [3, 4]


@for_each(("fails", "told", "tries"), [((0,), (SUCCESS, 1, 0.0), 1), ((1, 0), (SUCCESS, 4, 4e-7), 2), ((1, 1), (LCP_ITERATIONS, 4, 4e-7), 2)])  # fmt: skip
def test_a_set_of_redundant_contacts_has_a_proximal_term(monkeypatch, fails, told, tries):
    """1e-7 of the mean of its diagonal, once; four steps of it then."""
    found, asked, state, _ = factored(monkeypatch, width=-1, fails=fails)
    assert found == pytest.approx(told)
    diagonals = [one[2] for one in asked if one != "assemble"]
    assert diagonals == [pytest.approx([2 + k * 4e-7, -6 + k * 4e-7], rel=1e-12) for k in range(tries)]  # fmt: skip
    assert state.width == (0 if found[0] == SUCCESS else -1)


def test_a_band_that_is_too_wide_is_not_factored(monkeypatch):
    told, asked, state, _ = factored(monkeypatch, width=2, known=(9, 9), wide=-1)
    assert told == (LCP_RAY, 1, 0.0)
    assert asked == ["assemble"]
    assert state.width == -1


# ---------------------------------------------------------------- what contradicts a set


@for_each(("speed", "wrong"), [(-1e-15, 0), (-3e-15, 1), (3e-15, 0), (-1.9e-15, 0), (-2.1e-15, 1)])
def test_a_contact_contradicts_by_more_than_round_off_of_its_terms(speed, wrong):
    """Of terms of 1 and -1 m/s, 1e-15 of their sum, with no right side beside them: it closes then."""
    graph = space(ptr=np.array([0, 2]), col=np.array([0, 1]), val=np.array([1.0, -1.0]), act=np.array([0]), m=1, place=np.array([-1]),
                  mu=np.zeros(1), q=np.array([speed]), P=np.zeros(1), mode=np.array([OPEN]), u=np.array([1.0, 1.0]))  # fmt: skip
    wanted = np.array([-9])
    assert sets.judge(graph, wanted, 0.0) == (wrong, 0)
    assert wanted[0] == (STICK if wrong else OPEN)


def test_sets_are_exchanged_whole_up_to_ten_that_do_not_help(monkeypatch):
    """Then the last contact alone; what lowers the number of contradictions begins anew."""
    modes = []

    def run(wrongs, m=3, rows=3, statuses=()):
        left, ends = iter(wrongs), iter(statuses)
        mode, modes[:] = np.zeros(m, int), []

        def judge(graph, wanted, size):
            modes.append(mode.tolist())
            wanted[:] = len(modes)
            return next(left), 1

        put(monkeypatch, sets.exchange, solve_set=lambda *_: next(ends, SUCCESS), judge=judge)
        graph = space(act=np.arange(m), m=m, rows=rows, mode=mode)
        return sets.exchange(graph, space(wanted=np.zeros(m, int)), 1.0, True)

    assert run([0]) == SUCCESS
    assert modes == [[0, 0, 0]]
    assert run([2, 1, 0]) == SUCCESS
    assert modes == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    assert run([2] * 99) == LCP_ITERATIONS
    whole_sets, single = modes[:11], modes[11:]
    assert whole_sets == [[k] * 3 for k in range(10)] + [[10] * 3]
    assert single == [[10, k, 10] for k in range(11, 23)]
    assert len(modes) == 23
    assert run([2] * 99, m=3, rows=4) == LCP_ITERATIONS
    assert len(modes) == 40
    assert run([3, *[3] * 9, 2, *[2] * 9, 1, 0], rows=5) == SUCCESS
    assert modes[-1] == [21] * 3
    assert run([2, 2], statuses=[SUCCESS, FAILS]) == FAILS


# ---------------------------------------------------------------- a solution and its tolerance


def solved(monkeypatch, *, offs=(), statuses=(), exchanged=(), m=2, rows=3, tol=0.5, most=40, size=SIZE, near=()):  # fmt: skip
    """Solve with what the solvers leave given; return status and residual, the calls, and the impulses."""
    said, left, tries, sets_of, paths = [], iter(offs), iter(statuses), iter(exchanged), iter(near)
    P = np.full(rows, 1.0)

    def exchange(*given):
        said.append("exchange")
        P[:] = 5.0
        return next(sets_of, LCP_ITERATIONS)

    def sweeps(graph, work, size, share, count):
        said.append(("sweeps", size, share, count))
        return next(tries, SUCCESS), 0.5, 0.25

    def approach(graph, path, off, enough, aim, most):
        said.append(("approach", off, enough, aim, most))
        return next(paths, (LCP_ITERATIONS, off))

    put(monkeypatch, whole.solve_graph, exchange=exchange, sweeps=sweeps, approach=approach, residual=lambda *_: next(left),
        try_newton=lambda *given: said.append("newton") or (LCP_ITERATIONS, given[3]))  # fmt: skip
    work = space(kept=np.full(rows, 9.0), exchange=None, sweeps=space(change=np.full(rows, 0.5)), newton=None, path=None)  # fmt: skip
    told = whole.solve_graph(space(rows=rows, m=m, P=P), LcpOptions(LEMKE, tol, most), size, True, work)  # fmt: skip
    return told, said, P.tolist()


SWEEP = ("sweeps", 0.0, 0.0, 20)
AGAIN = ("sweeps", 0.5, 0.25, 20)


@for_each(("given", "told", "said"), [
    ({"exchanged": [SUCCESS], "offs": [0.0125]}, (SUCCESS, 0.0125), ["exchange"]), ({"exchanged": [SUCCESS], "offs": [0.02, 0.0125]}, (SUCCESS, 0.0125), ["exchange", SWEEP]),
    ({"offs": [0.0125]}, (SUCCESS, 0.0125), ["exchange", SWEEP]), ({"offs": [0.5, np.inf]}, (LCP_RAY, np.inf), ["exchange", SWEEP, "exchange", AGAIN]),
    ({"offs": [0.5, 0.125]}, (SUCCESS, 0.125), ["exchange", SWEEP, "exchange", AGAIN]), ({"exchanged": [LCP_RAY], "offs": [0.5, 0.0125]}, (SUCCESS, 0.0125), ["exchange", SWEEP, AGAIN]),
    ({"exchanged": [LCP_RAY], "m": 3, "offs": [0.5, 0.0125]}, (SUCCESS, 0.0125), ["exchange", SWEEP, "exchange", AGAIN]), ({"statuses": [FAILS]}, (FAILS, 0.0), ["exchange", SWEEP]),
])  # fmt: skip
def test_a_solution_is_taken_at_its_tolerance_beside_the_right_side(monkeypatch, given, told, said):  # fmt: skip
    """A tenth of it, here 1/8, is aimed at; the tolerance is enough when the sweeps are over."""
    assert whole.MARGIN == 0.1
    found, log, _ = solved(monkeypatch, **given)
    assert found == told
    assert log == said


def test_what_is_within_the_tolerance_is_taken_when_it_has_settled(monkeypatch):
    """After more than four times twenty sweeps that leave it so, that of the tolerance itself too."""
    for off, many in ((0.125, whole.SETTLED + 1), (0.13, 50)):
        (status, _), log, _ = solved(monkeypatch, offs=[off] * 200, m=3, most=1000)
        assert sum(one != "exchange" for one in log) == (many if off <= 0.125 else many * 21)
        assert status == (SUCCESS if off <= 0.125 else LCP_ITERATIONS)


def test_sweeps_begin_anew_and_plainly_where_they_have_not_converged(monkeypatch):
    """From no impulses, each by itself, half of its change taken back."""
    told, log, P = solved(monkeypatch, offs=[0.5, 0.5, 0.5, 0.5], m=3)
    assert told == (LCP_ITERATIONS, 0.5)
    plain_sweep = ("sweeps", 0.0, 0.0, 1)
    wanted = ["exchange", SWEEP, "exchange", AGAIN, *["exchange", *[plain_sweep] * 20] * 2, "exchange"]  # fmt: skip
    assert log == wanted
    assert P == [-10.0] * 3


def test_paths_begin_where_sweeps_come_near(monkeypatch):
    """To a thousand tolerances at most, 1e-10 beside the right side at most, the tolerance at least."""
    for tol, left in ((1e-12, 1e-9 * SIZE * 0.1), (1e-14, 1e-11 * SIZE), (0.5, 0.5 * SIZE)):
        offs = [0.5e-3 * SIZE if tol < 0.5 else 0.5] + [0.9] * 9
        (_, _), log, _ = solved(monkeypatch, offs=offs, tol=tol, most=80, near=[(SUCCESS, 0.01)])
        path = [one for one in log if one[0] == "approach"]
        assert len(path) == 1
        _, off, enough, aim, most = path[0]
        assert enough == pytest.approx(left)
        aims = {1e-12: 1e-12 * SIZE, 1e-14: 1e-14 * SIZE, 0.5: 0.05 * SIZE}
        assert aim == pytest.approx(aims[tol])
        assert (off, most) == ((offs[0], 80) if tol < 0.5 else (0.9, 320))


@for_each(("q", "told"), [((0.0, 0.5, -0.5), True), ((1e-3, 0.0, 9.0), True), ((0.25, 2.0, 0.0), True), ((-1e-9, 0.5, 0.0), False)])  # fmt: skip
def test_contacts_that_all_part_have_no_impulse(monkeypatch, q, told):
    """Of two contacts and a tangent; they are listed, and what was kept of them is forgotten."""
    asked = []
    put(monkeypatch, whole.on_graph, measure=lambda *_: (max(map(abs, q)), min(0.0, *q[:2])), resume=lambda *_: None, refer=lambda x: x,
        count_coefficients=lambda *_: SUCCESS, solve_graph=lambda *_: asked.append("solve") or (SUCCESS, 0.5),
        reconsider=lambda graph, friction, nc, first: asked.append(first) or len(asked) < 6)  # fmt: skip
    contacts = space(act=np.array([1, 0, 2]), m=2, rows=3, mode=np.full(3, 9), P=np.array([1.0, 2.0, 3.0]), place=None, mu=None, q=None)  # fmt: skip
    band = space(state=[space(width=4)])
    work = space(last=np.full(4, 9.0), listed=np.full(4, 9), exchange=space(band=band), unit=None, cross=None, soft=None, u=None)  # fmt: skip
    G = space(ptr=None, col=None, val=None)
    found = whole.on_graph(contacts, None, 3, None, G, None, None, 1.0, 6, False, work)
    assert band.state[0].width == -1
    assert found == ((SUCCESS, 0.0) if told else (SUCCESS, 0.5))
    assert asked == ([] if told else ["solve", True, "solve", False, "solve", False])
    assert work.last.tolist() == ([0.0, 0.0, 0.0, 9.0] if told else [2.0, 1.0, 3.0, 9.0])
    if told:
        assert contacts.mode.tolist() == [OPEN, OPEN, 9]
        assert work.listed.tolist() == [6, 6, 9, 9]


@for_each(("columns", "widest"), [(1, 0), (4, 1), (6, 1), (7, 2), (10, 3)])
def test_newtons_method_has_the_band_that_there_is_room_for(monkeypatch, columns, widest):
    """As wide below the diagonal as above, with what the exchange of rows fills."""
    asked = []
    put(monkeypatch, whole.try_newton, newton=lambda *given: asked.append(given[3:]) or (0, 0.25),
        harden=lambda *given: asked.append(given[3:]) or (FAILS, 0.5))  # fmt: skip
    work = space(band=space(A=np.zeros((2, columns))), given=np.zeros(2))
    graph = space(P=np.array([3.0, 4.0]), rows=2)
    late = 20 * whole.PATIENCE
    assert whole.try_newton(graph, work, late - 1, 1.0, 1e-3, SIZE) == (LCP_ITERATIONS, 0.25)
    assert whole.try_newton(graph, work, late, 1.0, 1e-12, SIZE) == (FAILS, 0.5)
    assert asked == [(pytest.approx(0.1 * 1e-3 * SIZE), widest), (pytest.approx(1e-9 * SIZE), widest)]  # fmt: skip
    assert work.given.tolist() == [3.0, 4.0]


# ---------------------------------------------------------------- small impulses, and few contacts


def test_an_impulse_of_one_counts_as_any_other():
    """1 N s moves what it acts on, as does a small one; none moves nothing."""
    G = np.array([[1.0, 2.0], [0.5, -3.0], [7.0, 7.0]])
    graph = space(ptr=np.array([0, 2, 4, 6]), col=np.array([0, 1] * 3), val=G.ravel(), inverse=np.array([0.5, 0.25]), act=np.array([1, 0, 2]),
                  rows=3, P=np.array([1.0, 1e-3, 0.0]), u=np.full(2, 9.0))  # fmt: skip
    sweeping.follow(graph)
    np.testing.assert_allclose(graph.u, [0.5, 0.25] * (G[1] + 1e-3 * G[0]))
    D = np.arange(1.0, 10.0).reshape(3, 3)
    told = lines.velocity(D, np.array([2, 0, 1]), 1, 3, np.array([0.0, 0.5, 0.0]), np.array([1.0, 1e-3, 0.0]))  # fmt: skip
    assert told == pytest.approx(0.5 + D[0, 2] + 1e-3 * D[0, 0])


@for_each(("n", "fails", "told"), [(1, 0, 1), (3, 0, 3), (8, 0, 8), (9, 0, 9), (3, 1, 3), (8, 1, 8), (3, 2, -1)])  # fmt: skip
def test_the_matrix_of_a_set_is_full_up_to_eight_rows(monkeypatch, n, fails, told):
    """Of more the band is taken that it has; a singular one is solved by four proximal steps."""
    asked, solves = [], []
    left = iter([1] * fails + [0] * 9)

    def lu_factor(A, size, below, above, pivots):
        asked.append((size, below, above, A[:n, :n].diagonal().tolist()))
        return next(left)

    def lu_solve(A, size, below, above, pivots, b):
        solves.append((size, below, above, b[:n].tolist()))
        b[:n] = 1.0

    put(monkeypatch, lines.solve_set, unknowns=lambda mode, act, place, m, chosen: n, bandwidth=lambda A, n: (3, 4), lu_factor=lu_factor,
        lu_solve=lu_solve)  # fmt: skip
    q = np.arange(1.0, n + 1)
    contacts = space(D=np.diag(np.arange(2.0, n + 2)), act=np.arange(n), m=n, place=np.full(n, -1), mu=None, q=q, mode=np.full(n, STICK))  # fmt: skip
    work = space(A=np.zeros((9, 9)), b=np.zeros(9), x=np.full(9, 7.0), chosen=np.arange(9), pivots=None)  # fmt: skip
    assert lines.solve_set(contacts, work) == told
    band = (n, 3, 4) if n > 8 else (n, n - 1, n - 1)
    diagonal = np.arange(2.0, n + 2)
    shift = lines.STEADY * diagonal.sum() / n
    assert [one[:3] for one in asked] == [band] * min(1 + fails, 2)
    assert asked[-1][3] == pytest.approx(diagonal + shift * (fails > 0), rel=1e-12)
    rights = [-q] if not fails else [-q, *[shift - q] * 3]
    assert solves == ([(*band, pytest.approx(one, rel=1e-12)) for one in rights] if told > 0 else [])  # fmt: skip
