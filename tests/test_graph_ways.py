"""Ways to a solution of contacts on a graph, uncompiled: Newton's method, hardening, paths."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import LCP_ITERATIONS, LCP_RAY, SUCCESS

newton, paths = plain("friction.graph_newton"), plain("friction.graph_path")
proximal = plain("friction.graph_proximal")
OPEN, STICK = newton.OPEN, newton.STICK
FAILS = 77  # a status

# ---------------------------------------------------------------- Newton's method


def solved(monkeypatch, offs, *, searched=(), w=1, enough=0.25, regular=True):
    """Take damped steps whose residuals are given; return the answer, the matrices, what was best."""
    left, found, copies = iter(offs), iter(searched), []
    A = np.full((6, 7), 9.0)
    graph, work = space(P=np.zeros(3), rows=3), space(band=space(A=A, pivots=None), best=np.zeros(3), d=None)  # fmt: skip

    def assemble(graph, band, widest):
        assert widest == 5
        A[:2, :3] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        return w

    def search(graph, work, n, off):
        graph.P += 1.0
        return next(found)

    put(monkeypatch, newton.newton, choose_all=lambda *_: 2, assemble=assemble, residual=lambda graph: next(left), band_solve=lambda *_: None,
        linearise=lambda graph, work, n, w: copies.append(A[3:, :].copy()), band_factor=lambda *_: 0 if regular else 1, search=search,
        finish=lambda graph, best: copies.append(best.tolist()))  # fmt: skip
    told = newton.newton(graph, work, 0.75, enough, 5)
    return told, copies


def test_damped_steps_end_with_the_least_residual(monkeypatch):
    """Of those that are the least the first; what is left then tells whether it is enough."""
    told, (kept, _, _, best) = solved(monkeypatch, [1.0, 0.25], searched=[0.5, 0.5, 0.25])
    assert (told, best) == ((SUCCESS, 0.25), [3.0] * 3)
    assert kept[:2].tolist() == [[1.0, 2.0, 3.0, 9, 9, 9, 9], [4.0, 5.0, 6.0, 9, 9, 9, 9]]
    assert (kept[2] == 9).all()
    told, (*_, best) = solved(monkeypatch, [1.0, 0.3], searched=[0.5, 0.5, np.nan])
    assert (told, best) == ((LCP_ITERATIONS, 0.3), [1.0] * 3)
    told, copies = solved(monkeypatch, [0.25, 0.25])
    assert (told, copies) == ((SUCCESS, 0.25), [[0.0] * 3])
    told, copies = solved(monkeypatch, [0.5, 0.5], regular=False)
    assert (told, copies[1:]) == ((LCP_ITERATIONS, 0.5), [[0.0] * 3])
    assert solved(monkeypatch, [], w=-1)[0] == (LCP_RAY, 0.75)
    assert solved(monkeypatch, [0.25, 0.25], w=0)[0] == (SUCCESS, 0.25)


@for_each(("best", "P", "mode"), [
    ((2.0, 0.5), (2.0, 0.5), STICK), ((2.0, 1.0), (2.0, 1.0), -1), ((2.0, -1.0), (2.0, -1.0), 1), ((2.0, -3.0), (2.0, -1.0), 1), ((2.0, 1.0 - 1e-9), (2.0, 1.0 - 1e-9), STICK),
    ((-1.0, 0.5), (0.0, 0.0), OPEN), ((0.0, 0.0), (0.0, 0.0), OPEN), ((1e-3, 1e-3), (1e-3, 5e-4), -1), ((2.0, 1.0 - 1e-14), (2.0, 1.0 - 1e-14), -1),
])  # fmt: skip
def test_what_a_contact_does_is_read_from_its_best_impulses(best, P, mode):
    """mu = 1/2; on its bound, but for round-off, it slides against its impulse."""
    graph = space(act=np.array([3, 1, 2]), m=2, place=np.array([2, -1]), mu=np.array([0.5, 0.0]), P=np.full(3, 9.0), mode=np.full(4, 9))  # fmt: skip
    newton.finish(graph, np.array([best[0], 0.25, best[1]]))
    assert graph.P.tolist() == [P[0], 0.25, P[1]]
    assert graph.mode.tolist() == [9, STICK, 9, mode]


def hardened(monkeypatch, answers, *, last=0.5, by=0.0, since=1.0):
    """Make contacts harder; `answers`: status and residual, by how many there were. Impulses grow as
    softness falls, by this power, from some softness on.
    """
    asked, offs = [], iter([1.0, last])
    graph = space(rows=2, P=np.array([0.5, 0.5]), unit=np.array([2.0, 4.0]), soft=np.array([0.25, 0.0]))  # fmt: skip
    work = space(solved=np.full(2, 9.0), given=np.array([7.0, 8.0]))

    def solve(graph, work, now, enough, widest):
        give = (graph.soft[1] - 0.0) / 4.0
        assert graph.soft[0] == pytest.approx(0.25 + 2.0 * give)
        assert (enough, widest) == (0.125, 5)
        asked.append((give, now, graph.P[0]))
        graph.P[:] = (since / give) ** by if 0 < give <= since and by else float(len(asked))
        return answers(len(asked), give)

    put(monkeypatch, newton.harden, newton=solve, residual=lambda graph: next(offs))
    told = newton.harden(graph, work, 0.75, 0.125, 5)
    np.testing.assert_allclose(graph.soft, [0.25, 0.0], atol=1e-15)
    return told, asked, graph.P.tolist()


def test_contacts_on_a_graph_are_made_harder_up_to_rigid_ones(monkeypatch):
    told, asked, P = hardened(monkeypatch, lambda k, give: (SUCCESS, 0.01 * k))
    assert (told, P) == ((SUCCESS, pytest.approx(0.11)), [11.0] * 2)
    assert [one[0] for one in asked] == pytest.approx([*(10.0**-k for k in range(1, 11)), 0.0])
    assert [one[1] for one in asked] == pytest.approx([0.75, *(0.01 * k for k in range(1, 11))])
    assert [one[2] for one in asked] == [0.0, *range(1, 11)]
    answers = {2: (LCP_ITERATIONS, 9.0)}
    told, asked, _ = hardened(monkeypatch, lambda k, give: answers.get(k, (SUCCESS, 0.1)))
    part = 0.1**0.5
    assert [one[0] for one in asked][:4] == pytest.approx([0.1, 0.01, 0.1 * part, 0.01 * part])
    assert [one[2] for one in asked][:4] == [0.0, 1.0, 1.0, 3.0]


@for_each(("last", "told", "P"), [(0.5, 0.5, [11.0] * 2), (1.0, 1.0, [7.0, 8.0]), (np.nan, 1.0, [7.0, 8.0])])  # fmt: skip
def test_rigid_contacts_that_are_no_better_leave_what_was_given(monkeypatch, last, told, P):
    answers = lambda k, give: (SUCCESS if give > 0 else LCP_ITERATIONS, 0.01)  # noqa: E731
    assert hardened(monkeypatch, answers, last=last)[::2] == ((LCP_ITERATIONS, told), P)


@for_each(("by", "since", "wedges"), itertools.product((0.75, 0.85, 0.95, 1.0), (1.0, 1e-5), (True, False)))  # fmt: skip
def test_contacts_on_a_graph_wedge_that_give_way_no_less(monkeypatch, by, since, wedges):
    """As they harden, but for a power of a tenth; where rigid ones are solved it does not matter."""
    rigid = LCP_ITERATIONS if wedges else SUCCESS
    told = hardened(monkeypatch, lambda k, give: (SUCCESS if give > 0 else rigid, 0.01), by=by, since=since)[0]  # fmt: skip
    assert told[0] == (SUCCESS if not wedges else LCP_RAY if by > 0.9 else LCP_ITERATIONS)


def test_a_band_that_is_too_wide_ends_the_hardening(monkeypatch):
    told, asked, P = hardened(monkeypatch, lambda k, give: (LCP_RAY, 0.75))
    assert (told, len(asked), P) == ((LCP_ITERATIONS, 0.5), 1, [1.0, 1.0])


# ---------------------------------------------------------------- paths


def contact(P, w, *, mu=0.5, soft=0.25, off=9.0):
    """Return a contact with a tangent whose velocities are w with these impulses, and its path."""
    G = np.array([[1.0, 2.0], [3.0, -1.0]])
    u = np.array([0.5, -0.25])
    q = np.array(w) - G @ u - [soft * P[0], 0.0]
    graph = space(ptr=np.array([0, 2, 4]), col=np.array([0, 1, 0, 1]), val=G.ravel(), act=np.array([0, 1]), m=1, rows=2, place=np.array([1]),
                  mu=np.array([mu]), q=q, P=np.array(P), mode=np.array([9]), soft=np.array([soft, 0.0]), u=u, unit=np.array([2.0, 4.0]))  # fmt: skip
    return graph, space(off=np.full(2, off), start=np.full(2, off)), G


@for_each(("P", "w", "mode", "off"), [
    ((2.0, 0.5), (0.75, 0.375), STICK, (-0.75, -0.375)), ((2.0, 1.0), (0.75, -0.375), -1, (-0.75, 0.0)), ((2.0, 1.0), (0.75, 0.375), -1, (-0.75, None)), ((2.0, -1.0), (0.75, 0.375), 1, (-0.75, 0.0)),
    ((2.0, -1.0), (0.75, -0.375), 1, (-0.75, None)), ((0.0, 0.0), (0.75, 0.375), OPEN, (0.0, 0.0)), ((0.0, 0.0), (-0.75, 0.375), OPEN, ("near", 0.0)), ((1e-3, 5e-4), (0.0, 0.375), -1, (0.0, None)),
    ((2.0, 1.0 - 1e-14), (0.75, -0.375), -1, (-0.75, 0.0)), ((2.0, 0.25), (-0.75, 0.0), STICK, (0.75, 0.0)),
])  # fmt: skip
def test_a_path_begins_with_what_makes_its_impulses_a_solution(P, w, mode, off):
    """The velocity of what holds is taken off, that of what slides or is open where it has another side."""
    graph, path, _ = contact(P, w)
    paths.begin(graph, path)
    assert graph.mode[0] == mode
    assert path.start.tolist() == [*P]
    wanted = [-paths.NEAREST * w[k] if one in (None, "near") else one for k, one in enumerate(off)]
    np.testing.assert_allclose(path.off, wanted, atol=1e-12)


@for_each(("soft", "give"), [(0.25, 0.0), (0.25, 0.125), (0.0, 0.125), (0.0, 0.0)])
def test_velocities_on_a_path_are_those_of_its_problem(soft, give):
    """With the compliance and the proximal term, which holds impulses where the path began."""
    graph, path, G = contact((2.0, 0.5), (0.75, 0.375), soft=soft)
    path.off[:], path.start[:] = (0.5, -0.25), (1.0, 3.0)
    path.change, path.w, path.dw, path.du = np.array([0.5, 4.0]), np.zeros(2), np.zeros(2), np.array([1.0, 0.125])  # fmt: skip
    paths.velocities(graph, path, 0.5, give)
    P, term = np.array([2.0, 0.5]), give * np.array([2.0, 4.0])
    w = np.array([0.75, 0.375]) + 0.5 * path.off + term * (P - [1.0, 3.0])
    np.testing.assert_allclose(path.w, w)
    np.testing.assert_allclose(path.dw, path.off + G @ path.du + (graph.soft + term) * path.change)
    path.firm = np.full(2, 9.0)
    paths.stiffen(graph, path, give)
    gives = graph.soft + term
    np.testing.assert_allclose(path.firm, [1 / one if one > 0 else 0.0 for one in gives])


def walked(monkeypatch, steps, *, most=9, patience=9, inwards=(), answers=(), included=()):
    """Go along a path whose changes are given: step, contact, what it does then; return what happens."""
    asked, left, leads, tells, sets = [], iter(steps), iter(inwards), iter(answers), iter(included)
    graph = space(act=np.array([4, 2]), mode=np.array([9, 9, 5, 9, 7]), P=np.zeros(2), u=np.zeros(2), rows=2)  # fmt: skip
    path = space(change=np.array([1.0, 2.0]), du=np.array([10.0, 20.0]))

    def next_change(graph, path, t, way, last, was):
        asked.append((t, way, last, was))
        return next(left)

    def include(graph, path, last, changed):
        asked.append((last, changed))
        return next(sets, 0)

    put(monkeypatch, paths.along_path, renew=lambda *_: None, stiffen=lambda graph, path, give: asked.append(give), begin=lambda *_: None, include=include,
        answer=lambda *_: next(tells, True), velocities=lambda graph, path, t, give: asked.append((t, give)), inward=lambda *given: next(leads),
        next_change=next_change)  # fmt: skip
    told = paths.along_path(graph, path, 0.125, most, patience)
    return told, asked, graph


def test_a_path_leads_from_change_to_change_to_a_solution(monkeypatch):
    """t goes from 1 to 0; where a contact leaves the other way, it goes back."""
    steps = [(0.25, 0, 1), (0.5, 1, STICK), (0.125, 0, OPEN), (0.375, -1, 9)]
    told, asked, graph = walked(monkeypatch, steps, inwards=[-0.5, 0.5, 0.0])
    assert told == (True, 3)
    assert asked == [
        0.125, (-1, -1), (1.0, 0.125), (1.0, -1.0, -1, 0), (0, 0), (0.75, 0.125), (0.75, -1.0, 0, 7), (1, 0), (0.25, 0.125), (np.inf, 1.0, 1, 5),
        (0, 0), (0.375, 0.125), (0.375, -1.0, 0, 1),
    ]  # fmt: skip
    assert graph.mode.tolist() == [9, 9, STICK, 9, OPEN]
    way = -0.25 - 0.5 + 0.125 - 0.375
    assert graph.P.tolist() == [way, 2 * way]
    assert graph.u.tolist() == [10 * way, 20 * way]


@for_each("small", [0.5, 1e-3])
def test_a_contact_turns_a_path_however_slowly_it_leaves(monkeypatch, small):
    _, asked, _ = walked(monkeypatch, [(0.5, 0, 1), (0.25, -1, 9)], inwards=[small])
    assert asked[-1] == (np.inf, 1.0, 0, 7)


@for_each(("given", "told"), [
    ({"steps": [], "included": [-1]}, (False, 0)), ({"steps": [], "answers": [False]}, (False, 0)), ({"steps": [(np.inf, 0, 1)]}, (False, 0)), ({"steps": [(0.1, 0, 1)] * 5, "most": 3}, (False, 3)),
    ({"steps": [(0.1, 0, 1), (np.inf, 1, 1)]}, (False, 1)), ({"steps": [(0.0, 0, 1)] * 9, "patience": 3}, (False, 3)), ({"steps": [(0.1, 0, 1)] * 4 + [(0.1, -1, 1)], "patience": 0}, (False, 0)),
    ({"steps": [(0.1, 0, 1), (0.0, 0, 1), (0.1, 0, 1), (0.1, 0, 1), (0.1, -1, 1)], "patience": 1}, (True, 4)),
])  # fmt: skip
def test_a_path_ends_without_a_solution(monkeypatch, given, told):
    """Nothing changes, no factors, too many changes, or too many that do not lower t."""
    assert walked(monkeypatch, inwards=[-1.0] * 9, **given)[0] == told


@for_each(("part", "many"), [(0.5, 2), (0.25, proximal.POLISH)])
def test_an_impulse_is_polished_as_long_as_what_is_left_falls_by_half(monkeypatch, part, many):
    """By more than that; no less than round-off is asked for."""
    asked, graph = [], space(
        ptr=np.array([0, 1]), col=np.array([0]), val=np.array([1.0]), act=np.array([0]), m=1, rows=1, place=np.array([-1]), mu=None,
        q=np.zeros(1), P=np.array([1.0]), mode=np.array([STICK]), unit=np.array([1.0]), soft=np.zeros(1), u=np.array([1.0]),
    )  # fmt: skip
    path = space(off=np.zeros(1), change=np.zeros(1))

    def answer(graph, path, changed):
        asked.append(path.off[0])
        graph.u *= part
        return True

    put(monkeypatch, proximal.polish, stiffen=lambda *_: None, include=lambda *_: 0, renew=lambda *_: None, answer=answer)  # fmt: skip
    proximal.polish(graph, path)
    assert len(asked) == (many if part < 0.5 else 1)
