"""Solvers of contacts in space, uncompiled: how they are led, and what they make of one contact."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS
from explorer.kernels.friction.structures import CONE_ROWS, Cones, ConeVectors, Contacts

cone, newton = plain("friction.cone"), plain("friction.alart_curnier")
blocks, modes = plain("friction.cone_blocks"), plain("friction.contact_modes")
OPEN, STICK = cone.OPEN, cone.STICK
M = 2  # contacts


def cones_of(m=M, mu=0.5, n_B=0):
    """Return contacts whose vectors are zero, of size 1."""
    vec = ConeVectors(*np.zeros((8, 3 * m)), np.ones(m), np.ones(m))
    rows = np.zeros(m, CONE_ROWS).view(np.recarray)
    A = np.full((3 * m, 3 * m), 7.0)
    return Cones(np.zeros(n_B), rows, m, np.full(m, mu), vec, A, np.zeros(3 * m, int))


# ---------------------------------------------------------------- Newton's method of all contacts


@for_each(("low", "high", "band"), [
    ((0, 1, 2), (1, 2, 3), 2), ((0, 0, 1), (2, 3, 3), 5), ((0, 1, 2), (3, 2, 3), 8), ((0, 1, 0), (1, 2, 3), 8), ((0, 1, 2), (1, 3, 3), 5), ((0, 0, 2), (1, 2, 3), 5),
])  # fmt: skip
def test_a_step_is_solved_in_the_band_that_its_blocks_have(monkeypatch, low, high, band):
    """To either side of the diagonal, whichever is the wider."""
    cones, asked = cones_of(3, n_B=81), []
    cones.rows[:3].first, cones.rows[:3].end = low, high
    widths = np.subtract(high, low)
    cones.rows[:3].before = np.append(0, np.cumsum(widths)[:-1])
    cones.B[:] = np.arange(1.0, 82.0)
    cones.vec.P[:] = 1.0
    put(monkeypatch, newton.newton, lu_factor=lambda A, n, below, above, pivots: asked.append((n, below, above, A.copy())) or 0,
        lu_solve=lambda *given: asked.append(given[1:4]))  # fmt: skip
    assert newton.newton(cones, 0.0)
    assert [one[:3] for one in asked] == [(9, band, band)] * 2
    A = asked[0][3]
    for k in range(3):
        outside = [c for c in range(9) if not 3 * low[k] <= c < 3 * high[k]]
        near = [c for c in outside if abs(c - 3 * k) <= band]
        assert not A[3 * k : 3 * k + 3, near].any()
        first = 9 * cones.rows[k].before
        normal = [one for j in range(widths[k]) for one in cones.B[first + 9 * j : first + 9 * j + 3]]  # fmt: skip
        normal[3 * (k - low[k])] += 1e-9
        assert A[3 * k, 3 * low[k] : 3 * high[k]].tolist() == pytest.approx(normal)


@for_each(("x", "w", "closed"), [(0.0, 0.0, False), (0.5, 0.5, False), (0.5, 0.25, True), (0.0, -0.25, True), (0.25, 0.5, False)])  # fmt: skip
def test_a_contact_is_closed_whose_impulse_exceeds_its_speed(monkeypatch, x, w, closed):
    """Only where it is does its row hold the law; else its impulse is taken to zero."""
    cones = cones_of(1, n_B=9)
    cones.B[:] = np.arange(2.0, 11.0)
    cones.rows[0].end = 1
    cones.vec.P[0], cones.vec.DP[0] = x, w
    put(monkeypatch, newton.newton, lu_factor=lambda *_: 0, lu_solve=lambda *_: None)
    assert newton.newton(cones, 0.0)
    row = [2 + 1e-9, 3.0, 4.0] if closed else [1.0, 0.0, 0.0]
    assert cones.A[0].tolist() == pytest.approx(row)
    assert cones.vec.P[0] == x + (-w if closed else -x)


def test_of_equal_residuals_the_first_one_is_kept(monkeypatch):
    cones, left = cones_of(), iter([0.5, 0.5, 0.5])

    def step(cones, soft):
        cones.vec.P[:] += 1.0
        return True

    put(monkeypatch, newton.polish, newton=step, residual=lambda cones, soft: next(left))
    assert newton.polish(cones, 0.0, 1.0, 0.1, 1) == 0.5
    assert (cones.vec.P == 1.0).all()


def ways(monkeypatch, kernel, nows, offs, off, target):
    """Go a way whose residuals are given; return the end, what each solve was asked, and P."""
    cones, asked, left, rest = cones_of(), [], iter(nows), iter(offs)
    cones.vec.P[:], cones.vec.q[:] = 0.5, np.arange(1.0, 7.0)
    cones.vec.size[:M] = 2.0, 4.0

    def residual(cones, soft):
        return 3.0 if soft > 0 or kernel is newton.harden else next(rest)

    def polish(cones, soft, now, target, patience):
        assert now == 3.0
        asked.append((soft, target, patience, cones.vec.P[0], cones.vec.q.tolist()))
        cones.vec.P[:] = 10.0 * len(asked)
        return next(left)

    put(monkeypatch, kernel, residual=residual, polish=polish)
    told = kernel(cones, off, target)
    assert cones.vec.q.tolist() == [1, 2, 3, 4, 5, 6]
    return told, asked, set(cones.vec.P.tolist())


def test_proximal_points_follow_each_other_up_to_the_target(monkeypatch):
    """Each is solved to a tenth of the residual; its term is then a tenth of the one before."""
    told, asked, x = ways(monkeypatch, newton.approach, [0.0, 0.0, 0.0], [0.5, 0.75, 0.125], 1.0, 0.125)  # fmt: skip
    assert told == 0.125
    assert [one[0] for one in asked] == pytest.approx([1e-4, 1e-5, 1e-6])
    assert [one[1] for one in asked] == pytest.approx([0.1, 0.05, 0.075])
    assert [one[2] for one in asked] == [8] * 3
    assert [one[3] for one in asked] == [0.5, 10.0, 20.0]
    size = np.repeat([2.0, 4.0], 3)
    for soft, *_, x0, b in asked:
        np.testing.assert_allclose(b, np.arange(1.0, 7.0) - soft * size * x0, rtol=1e-12)
    assert x == {30.0}
    told, asked, x = ways(monkeypatch, newton.approach, [0.0] * 60, [0.5, *[0.75] * 60], 1.0, 0.125)
    assert (told, x, len(asked)) == (0.5, {10.0}, newton.MOST_POINTS)
    assert asked[-1][0] == newton.HARDEST
    assert ways(monkeypatch, newton.approach, [], [], 0.125, 0.125) == (0.125, [], {0.5})
    assert ways(monkeypatch, newton.approach, [], [], np.inf, np.inf)[0] == np.inf


def test_a_proximal_point_that_is_not_found_is_kept_nearer(monkeypatch):
    """By a term five times as large, from where it was; up to a largest one, or no number."""
    told, asked, x = ways(monkeypatch, newton.approach, [9.0, 0.0375, 0.0], [0.25, 0.125], 0.375, 0.125)  # fmt: skip
    assert [one[0] for one in asked] == pytest.approx([1e-4, 5e-4, 5e-5])
    assert [one[1] for one in asked] == pytest.approx([0.0375, 0.0375, 0.0375])
    assert [one[3] for one in asked] == [0.5, 0.5, 20.0]
    assert (told, x) == (0.125, {30.0})
    told, asked, x = ways(monkeypatch, newton.approach, [9.0] * 60, [], 0.5, 0.125)
    assert (told, x, len(asked)) == (0.5, {0.5}, 8)
    assert asked[-1][0] * 5 > newton.SOFTEST >= asked[-2][0] * 5
    for bad in (np.inf, np.nan):
        told, asked, x = ways(monkeypatch, newton.approach, [bad], [], 0.5, 0.125)
        assert (told, x, len(asked)) == (0.5, {0.5}, 1)


def test_soft_contacts_are_made_harder_up_to_rigid_ones(monkeypatch):
    """From no impulses; by ten at a time, or by less where that is not solved."""
    told, asked, x = ways(monkeypatch, newton.harden, [0.0] * 20, [], 1.0, 0.125)
    steps = [10.0**-k for k in range(1, 11)]
    assert [one[0] for one in asked] == pytest.approx([*steps, 0.0])
    assert {one[1:3] for one in asked} == {(0.125, 20)}
    assert [one[3] for one in asked] == [0.0, *(10.0 * k for k in range(1, 11))]
    assert (told, x) == (0.0, {110.0})
    told, asked, _ = ways(monkeypatch, newton.harden, [0.0, 9.0, 0.0, *[0.0] * 40], [], 1.0, 0.125)
    first = [0.1, 0.01, 0.1 * 0.1**0.5, 0.1 * 0.1**0.5 * 0.1]
    assert [one[0] for one in asked][:4] == pytest.approx(first)
    assert [one[3] for one in asked][:4] == [0.0, 10.0, 10.0, 30.0]
    told, asked, x = ways(monkeypatch, newton.harden, [9.0] * 40, [], 1.0, 0.125)
    assert (told, x, len(asked)) == (1.0, {0.5}, newton.MOST_LEVELS)


@for_each(("last", "told", "kept"), [(0.5, 0.5, 110.0), (1.0, 1.0, 0.5), (2.0, 1.0, 0.5), (np.nan, 1.0, 0.5)])  # fmt: skip
def test_rigid_contacts_are_taken_where_they_are_better(monkeypatch, last, told, kept):
    """Impulses that do not grow as 1 / softness give way less and less: nothing wedges."""
    end, _, x = ways(monkeypatch, newton.harden, [0.0] * 10 + [last], [], 1.0, 0.125)
    assert (end, x) == (told, {kept})


@for_each(("by", "last", "wedges"), [(0.75, 9.0, False), (0.95, 9.0, True), (0.95, 0.125, False), (1.0, 9.0, True), (0.85, 9.0, False)])  # fmt: skip
def test_contacts_wedge_that_give_way_no_less_as_they_harden(monkeypatch, by, last, wedges):
    """Impulses that grow by the 0.9th power of the hardness or more; also in the last levels alone."""
    for since in (1.0, 1e-5):
        cones = cones_of()
        cones.vec.size[:M] = 2.0, 4.0

        def polish(cones, soft, now, target, patience, since=since):
            cones.vec.P[:] = (since / soft) ** by if 0 < soft <= since else 1e-3
            return 0.0 if soft > 0 else last

        put(monkeypatch, newton.harden, residual=lambda *_: 3.0, polish=polish)
        assert (newton.harden(cones, 1.0, 0.125) == np.inf) == wedges


# ---------------------------------------------------------------- the two solvers


@for_each("tol", [1e-3, 1e-6])
def test_sweeps_ask_newtons_method_for_parts_of_their_tolerance(monkeypatch, tol):
    asked = []

    def note(name):
        return lambda cones, *given: asked.append((name, *given)) or 1.0

    put(monkeypatch, cone.gauss_seidel, sweep=lambda cones: True, residual=lambda *_: 1.0, polish=note("polish"),
        approach=note("approach"), harden=note("harden"))  # fmt: skip
    assert cone.gauss_seidel(cones_of(), tol, 15) == LCP_ITERATIONS
    for name, *given in asked:
        wanted = {"polish": [0.0, 1.0, 0.1 * cone.FINE * tol], "approach": [1.0, cone.MARGIN * tol], "harden": [1.0, tol]}[name]  # fmt: skip
        assert given[: len(wanted)] == pytest.approx(wanted)
    assert {name for name, *_ in asked} == {"polish", "approach", "harden"}


@for_each(("before", "after", "asked"), [(1e-4, 1e-5, [1e-6]), (1e-3, 0.9e-4, [1e-6]), (1e-3, 5e-4, [1e-6, 1e-4])])  # fmt: skip
def test_projected_gradients_end_with_newtons_method(monkeypatch, before, after, asked):
    """At a thousandth of the tolerance, with no patience; where it misses a tenth, by proximal points."""
    told = []
    put(monkeypatch, cone.projected_gradient, residual=lambda *_: before, set_shift=lambda cones: None,
        polish=lambda cones, *given: told.append(given) or after, approach=lambda cones, *given: told.append(given))  # fmt: skip
    assert cone.MARGIN == 0.1
    assert cone.projected_gradient(cones_of(), 1e-3, 5) == SUCCESS
    assert told[0] == (0.0, before, pytest.approx(asked[0]), 0)
    assert told[1:] == [(after, pytest.approx(one)) for one in asked[1:]]


@for_each(("point", "projected"), [
    ((-1.0, 2.0, 0.0), (0.0, 0.0, 0.0)), ((-1.0, 1.5, 0.0), (0.0, 0.0, 0.0)), ((-1.0, 3.0, 0.0), (0.4, 0.2, 0.0)), ((2.0, 1.0, 0.0), (2.0, 1.0, 0.0)), ((2.0, 0.0, -1.0), (2.0, 0.0, -1.0)),
    ((2.0, 0.0, 3.5), (3.0, 0.0, 1.5)), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0)), ((-1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
])  # fmt: skip
def test_a_point_is_projected_on_its_cone(point, projected):
    """mu = 1/2, on both bounds too; how far uphill that goes counts from the P before."""
    cones = cones_of(1)
    cones.vec.shift[0] = 0.0
    cones.vec.Y[:] = point
    cones.vec.P_old[:] = [0.5, -0.25, 1.0]
    cones.vec.DY[:], cones.vec.q[:] = [0.25, 0.5, -0.75], [-0.25, -0.5, 0.75]
    assert cone.descend(cones, 2.0) == 0.0
    assert cones.vec.P.tolist() == pytest.approx(projected)
    cones.vec.q[:] = [0.75, 0.5, 1.25]
    cones.vec.shift[0] = 0.5
    g = np.array([1.5, 1.0, 0.5])
    cones.vec.Y[:] = point + 0.5 * g
    assert cone.descend(cones, 2.0) == pytest.approx(g @ (np.array(projected) - cones.vec.P_old))


@for_each(("width", "x", "w", "told"), [
    (2, (2.0, 1.0, 0.0), (0.0, 0.0, 0.0), STICK), (2, (2.0, 1.0, 0.0), (0.0, 0.0, 1e-6), 1), (2, (2.0, 0.5, 0.0), (0.0, 0.5, 0.0), STICK), (2, (2.0, 0.5, 0.0), (0.0, 0.5, 1e-6), 1),
    (2, (2.0, 1.0, 0.0), (0.0, -1e-6, 0.0), 1), (1, (2.0, 1.0, 0.0), (0.0, -1e-6, 0.0), -1), (1, (2.0, -1.0, 0.0), (0.0, 1e-6, 0.0), 1), (1, (2.0, 1.0, 0.0), (0.0, 0.0, 9.0), 1),
    (0, (2.0, 0.0, 0.0), (0.0, 9.0, 0.0), STICK), (2, (0.0, 0.0, 0.0), (0.0, 1.0, 0.0), OPEN), (1, (-1e-9, 0.0, 0.0), (0.0, 1.0, 0.0), OPEN),
])  # fmt: skip
def test_a_contact_slides_by_more_than_its_cone_has_room_for(width, x, w, told):
    """Its speed is that of D P + q of its tangents; along a line it has a sign."""
    cones, half = cones_of(1), np.array([0.25, 0.75, 0.5])
    cones.rows[0].width = width
    cones.vec.P[:], cones.vec.DP[:], cones.vec.q[:] = x, half, np.array(w) - half
    contacts = Contacts(None, np.array([3, 4, 5]), 1, 3, np.array([1]), None, cones.mu, None, np.full(3, 9.0), np.full(6, 9))  # fmt: skip
    cone.unload(contacts, cones)
    assert contacts.mode.tolist() == [9, 9, 9, told, 9, 9]
    assert contacts.P.tolist() == [max(x[0], 0.0), *x[1 : 1 + width], *[9.0] * (2 - width)]


@for_each(("solver", "first", "second", "off", "told"), [
    (1, SUCCESS, None, 0.5e-3, SUCCESS), (1, LCP_ITERATIONS, SUCCESS, 1e-3, SUCCESS), (2, LCP_ITERATIONS, SUCCESS, 1e-3, SUCCESS), (2, SUCCESS, None, 0.5e-3, SUCCESS),
    (1, LCP_RAY, None, 0.0, LCP_RAY), (2, LCP_ITERATIONS, LCP_RAY, 0.0, LCP_RAY), (1, LCP_ITERATIONS, LCP_ITERATIONS, 0.5e-3, SUCCESS), (1, LCP_ITERATIONS, LCP_ITERATIONS, 1.1e-3, LCP_ITERATIONS),
])  # fmt: skip
def test_where_one_solver_has_not_converged_the_other_goes_on(monkeypatch, solver, first, second, off, told):  # fmt: skip
    """Each once; the tolerance is beside the largest entry of q, here 1/2."""
    asked, answers = [], iter([first, second])

    def note(name):
        return lambda cones, tol, most: asked.append((name, tol, most)) or next(answers)

    put(monkeypatch, cone.in_space, refer=lambda x: x, value_of=lambda x: x, gather=lambda *_: None, load=lambda contacts, cones, size: asked.append(size), gauss_seidel=note("GS"),
        projected_gradient=note("PG"), residual=lambda *_: off, unload=lambda *_: None)  # fmt: skip
    work = space(rows=np.zeros(M, CONE_ROWS).view(np.recarray), kept=[space(contacts=-1)], blocks=np.zeros(0), vec=None, A=None, pivots=None)  # fmt: skip
    contacts = Contacts(None, np.array([1, 0, 2]), M, 3, None, None, None, np.array([0.25, -0.5, 0.1]), None, None)  # fmt: skip
    assert cone.in_space(contacts, solver, 2e-3, 7, work) == (told, off)
    order = ["GS", "PG"] if solver == cone.GAUSS_SEIDEL else ["PG", "GS"]
    assert asked == [0.5, *((name, 1e-3, 7) for name in order[: 1 + (second is not None)])]
    assert work.kept[0].contacts == M


@for_each("widths", itertools.product((0, 1, 2), repeat=2))
def test_blocks_take_as_much_room_as_they_have_entries(widths):
    rng, tangents = np.random.default_rng(1), 2 + np.append(0, np.cumsum(widths))
    D, place, act = rng.uniform(1, 2, (6, 6)), np.full(2, -1), [1, 0]
    for k, a in enumerate(act[:2]):
        if widths[a]:
            place[k] = len(act)
            act += range(tangents[a], tangents[a + 1])
    contacts = Contacts(D, np.array(act), 2, len(act), place, tangents, None, None, None, None)
    cones = cones_of(n_B=36)
    blocks.gather(contacts, cones)
    rows = [[act[k], *(act[place[k]] + c for c in range(widths[act[k]]))] for k in range(2)]
    for k, j in itertools.product(range(2), repeat=2):
        block = np.zeros((3, 3))
        block[: len(rows[k]), : len(rows[j])] = D[np.ix_(rows[k], rows[j])]
        assert cones.B[9 * (2 * k + j) :][:9].tolist() == block.ravel().tolist()


@for_each(("P_t", "told"), [(1e-3, -1), (-1e-3, 1), (2.0, -1), (-2.0, 1)])
def test_what_sticks_beyond_its_bound_slides_against_its_impulse(P_t, told):
    assert modes.verdict(STICK, abs(P_t), P_t, 0.5, 0.0, 0.1) == told
    assert modes.verdict(STICK, abs(P_t), 0.5 * P_t, 0.5, 0.0, 0.1) == STICK
