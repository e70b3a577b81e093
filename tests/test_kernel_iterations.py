"""How iterations of kernels go on and end, uncompiled: what they ask of others stands in for these."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import (
    LCP_ITERATIONS,
    LCP_RAY,
    NEWTON_CAP,
    NOT_FINITE,
    SUCCESS,
)
from explorer.kernels.time_stepping.nonsmooth_alpha_structures import BOTH, VELOCITY

proximal, cones = plain("friction.graph_proximal"), plain("friction.cone")
alpha = plain("time_stepping.nonsmooth_alpha_iteration")
FAILS = 77  # a status


# ---------------------------------------------------------------- paths of friction


def approached(monkeypatch, residuals, enough, least, ends=True, most=1000, fine=None):
    """Approach by paths that leave `residuals` one after the other; return status, rest and gives."""
    gives, left = [], iter(residuals)
    graph = space(rows=2, P=np.array([1.0, 2.0]))
    path = space(kept=np.zeros(2), rough=np.zeros(2))
    last = [None]

    def along_path(graph, path, give, changes, bound):
        assert (changes, bound) == (proximal.CHANGES, most // proximal.STALLED)
        gives.append(give)
        last[0] = next(left)
        graph.P[:] = last[0]
        return ends, 1

    def polish(graph, path):
        if fine is not None:
            last[0] = fine * last[0]
            graph.P[:] = last[0]

    put(monkeypatch, proximal.approach, prepare=lambda *_: True, along_path=along_path, polish=polish,
        residual=lambda graph: last[0])  # fmt: skip
    status, rest = proximal.approach(graph, path, 1.0, enough, least, most)
    return status, rest, gives, graph.P.tolist()


def test_an_approach_grows_firm_where_it_is_nearer_and_soft_where_it_is_not(monkeypatch):
    """It takes what leaves less than thrice as much, else it goes back and dares less."""
    residuals = [2.5, 7.6, 1.0, 3.1, 0.5, 0.05]
    status, rest, gives, P = approached(monkeypatch, residuals, 0.1, 0.1)
    assert (status, rest, P) == (SUCCESS, 0.05, [0.05, 0.05])
    np.testing.assert_allclose(gives, [1e-3, 1e-4, 1e-3, 3e-4, 3e-3, 9e-4])
    for second, taken in ((7.4, True), (7.6, False)):  # thrice what the last one has left
        *_, gives, P = approached(monkeypatch, [2.5, second], 0.1, 0.1, most=11)
        assert ([second] * 2 if taken else [2.5] * 2) == P
    status, rest, gives, P = approached(monkeypatch, [5.0] * 99, 0.1, 0.1)
    assert (status, rest, P) == (LCP_ITERATIONS, 1.0, [1.0, 2.0])
    assert len(gives) == proximal.REFUSED
    assert gives[:4] == [1e-3, 1e-2, 1e-1, 1e-1]
    status, rest, gives, _ = approached(monkeypatch, [0.5] * 99, 0.1, 0.1, ends=False)
    assert (status, rest) == (LCP_ITERATIONS, 1.0)  # a path that does not end leads nowhere
    status, rest, gives, _ = approached(monkeypatch, [0.9] * 99, 0.1, 0.1, most=11)
    assert len(gives) == 2  # of 5 changes, then of 9, then none is left
    put(monkeypatch, proximal.approach, prepare=lambda *_: False)
    graph, path = space(rows=0, P=None), space(kept=None, rough=None)
    assert proximal.approach(graph, path, 1.0, 0.1, 0.1, 9) == (LCP_RAY, 1.0)


@for_each(("residuals", "enough", "least", "most", "told"), [
    ([0.9] * 9, 0.1, 0.1, 14, (LCP_ITERATIONS, 0.9, 2, 0.9)),  # 5 changes, then 9
    ([0.9] * 9, 0.1, 0.1, 15, (LCP_ITERATIONS, 0.9, 3, 0.9)),
    ([0.5, 0.1, 0.05], 0.1, 0.1, 99, (SUCCESS, 0.1, 2, 0.1)),  # what is small enough ends it
    ([1.0] * 9, 1.0, 0.1, 99, (SUCCESS, 1.0, 3, 1.0)),  # and no step halves it
    ([0.5, 0.25, 0.125, 0.06], 1.0, 0.01, 99, (SUCCESS, 0.125, 3, 0.125)),
    ([1.5] * 9, 1.0, 0.1, 99, (SUCCESS, 1.0, 3, 1.0)),
    ([3.0] * 99, 0.1, 0.1, 999, (LCP_ITERATIONS, 1.0, proximal.REFUSED, 1.0)),  # thrice is too much
])  # fmt: skip
def test_a_step_counts_by_what_it_leaves_and_costs(
    monkeypatch, residuals, enough, least, most, told
):
    """A residual that is told twice is that of the impulses; else they are those of the beginning."""
    status, rest, gives, P = approached(monkeypatch, residuals, enough, least, most=most)
    assert (status, rest, len(gives)) == told[:3]
    assert ([1.0, 2.0] if rest == 1.0 else [told[3]] * 2) == P


@for_each(("now", "polished"), [(0.1, False), (0.2, True)])
def test_only_what_is_not_small_enough_is_polished(monkeypatch, now, polished):
    told = approached(monkeypatch, [0.5, now], 0.3, 0.1, most=6, fine=0.5)
    assert told[1] == now * (0.5 if polished else 1.0)


@for_each(("factor", "steps"), [(0.9, 3), (0.6, 3), (0.45, 9), (1.0, 3)])
def test_what_is_small_enough_is_made_smaller_as_long_as_steps_halve_it(monkeypatch, factor, steps):
    residuals = [factor ** (k + 1) for k in range(99)]
    least = 0.45**9 * 1.0001
    status, rest, gives, _ = approached(monkeypatch, residuals, 5.0, least)
    assert (status, len(gives)) == (SUCCESS, steps)
    assert rest == pytest.approx(factor**steps)


def test_proximal_steps_count_where_they_leave_less(monkeypatch):
    """Of three paths the second and third are firm enough for them; 4 more for the factors."""
    for fine, third in ((0.5, 0.2), (2.0, 0.4), (np.nan, 0.4)):
        told = approached(monkeypatch, [0.8, 0.6, 0.4], 0.3, 0.0, fine=fine, most=23)
        assert len(told[2]) == 3
        assert told[1] == pytest.approx(third)
        assert told[0] == (SUCCESS if fine == 0.5 else LCP_ITERATIONS)
    assert approached(monkeypatch, [0.8, 0.6, 0.4], 0.3, 0.0, fine=1.0, most=5)[2] == [1e-3]


def accelerated(monkeypatch, *, uphill=(), inner=1.0, bent=0.0, offs=(), steps=6):
    """Let steps descend to random points; return status, y - x of each step, what x moved, and L."""
    rng, rows = np.random.default_rng(3), 3
    seen, said, count = [], [], [0]
    x, y, DP, DY, P_old = np.zeros((5, 6))
    vec = space(P=x, Y=y, DP=DP, DY=DY, P_old=P_old, DP_old=np.zeros(6))
    found = iter([*offs, *[1.0] * (steps + 1)])
    beyond = []

    def descend(one, L):
        if count[0]:
            beyond.append(y[:rows] - x[:rows])
        said.append(L)
        before = x[:rows].copy()
        x[:rows] = rng.normal(size=rows)
        DP[:rows] = 2 * x[:rows]
        np.testing.assert_allclose(DY[:rows], 2 * y[:rows], atol=1e-12)
        seen.append(x[:rows] - before)
        count[0] += 1
        return float(count[0] in uphill)

    put(
        monkeypatch, cones.projected_gradient, residual=lambda *_: next(found), set_shift=lambda *_: said.append("shift"),
        descend=descend, curvature=lambda *_: (bent, 1.0), residuals=lambda *_: (next(found), inner),
        polish=lambda cones, a, off, tol, b: said.append(("polish", off)) or off, approach=lambda *given: said.append(given[1:]),
    )  # fmt: skip
    status = cones.projected_gradient(space(m=1, vec=vec), 1e-6, steps)
    beyond.append(y[:rows] - x[:rows])
    return status, beyond, seen, said


@for_each("uphill", [(), (2,), (1, 4)])
def test_gradients_are_accelerated_until_they_point_uphill(monkeypatch, uphill):
    """theta'^2 = (1 - theta') theta^2 and beta = theta (1 - theta) / (theta^2 + theta'), from theta = 1."""
    status, beyond, moved, said = accelerated(monkeypatch, uphill=uphill)
    assert status == LCP_ITERATIONS
    theta = 1.0
    for k in range(6):
        after = max(np.roots([1.0, theta**2, -(theta**2)]))
        beta = theta * (1 - theta) / (theta**2 + after)
        theta = after
        if k + 1 in uphill:
            beta, theta = 0.0, 1.0
        np.testing.assert_allclose(beyond[k], beta * moved[k], atol=1e-12)
    assert said[0] == "shift"
    np.testing.assert_allclose(said[1:], 0.9 ** np.arange(6))


def test_gradients_end_where_the_law_holds_and_shift_where_cones_do(monkeypatch):
    status, beyond, _, said = accelerated(monkeypatch, inner=0.1)
    assert said[1::2] == pytest.approx(0.9 ** np.arange(6))
    assert said[::2] == ["shift"] * 7
    assert not np.any(beyond)
    assert accelerated(monkeypatch, inner=0.11)[3].count("shift") == 1
    assert accelerated(monkeypatch, offs=[np.nan])[0] == LCP_RAY
    status, _, moved, said = accelerated(monkeypatch, offs=[1.0, 1.0, 1e-6])
    assert (status, len(moved), said[-2:]) == (
        SUCCESS,
        2,
        [("polish", 1e-6), (1e-6, cones.MARGIN * 1e-6)],
    )
    said = accelerated(monkeypatch, bent=7.0, steps=2)[3]
    assert said == ["shift", 1, 2, 4, 8, 7.2]
    assert accelerated(monkeypatch, bent=np.inf, steps=1)[3][-1] == 2.0**40  # where L ends


def swept(
    monkeypatch, offs, *, m=2, most=20, polished=(), approached=None, hardened=None, fails=99
):
    """Sweep where residuals are `offs`; return status, sweeps, and what Newton's method was asked."""
    said, count, found, better = [], [0], iter(offs), iter(polished)

    def sweep(one):
        count[0] += 1
        return count[0] < fails

    def polish(one, a, off, tol, pause):
        said.append(("polish", count[0], pause))
        return next(better, off)

    def approach(one, now, goal):
        said.append(("approach", now))
        return now if approached is None else approached

    def harden(one, now, tol):
        said.append(("harden", now))
        return now if hardened is None else hardened

    put(monkeypatch, cones.gauss_seidel, sweep=sweep, residual=lambda *_: next(found), polish=polish, approach=approach,
        harden=harden)  # fmt: skip
    return cones.gauss_seidel(space(m=m), 1e-6, most), count[0], said


def test_sweeps_end_within_the_tolerance_and_newton_helps(monkeypatch):
    """After 1, 3, 7, 15 sweeps, from the second time on by an approach, then by hard contacts."""
    status, sweeps, said = swept(monkeypatch, [1.0] * 20)
    assert (status, sweeps) == (LCP_ITERATIONS, 20)
    assert [one for one in said if one[0] == "polish"] == [
        ("polish", 2**k - 1, 2 ** (k - 1)) for k in (1, 2, 3, 4)
    ]
    assert [one[0] for one in said].count("approach") == 3
    assert said[-2:] == [("approach", 1.0), ("harden", 1.0)]
    assert [one[0] for one in said].count("harden") == 1
    assert swept(monkeypatch, [1.0] * 20, hardened=np.inf)[:2] == (LCP_RAY, 15)
    assert swept(monkeypatch, [1.0] * 20, fails=4)[:2] == (LCP_ITERATIONS, 4)
    assert swept(monkeypatch, [1.0, 2e-6, 1e-6], m=1) == (
        SUCCESS,
        3,
        [],
    )  # one contact needs no help
    assert swept(monkeypatch, [1.0, 1e-10])[:2] == (SUCCESS, 2)  # nothing is left to be made better
    assert swept(monkeypatch, [1.0, 1e-7, 1e-7], polished=[1e-6])[:2] == (SUCCESS, 2)
    status, sweeps, said = swept(monkeypatch, [1.0, *[9e-7] * 9], polished=[1e-6])
    assert (status, sweeps) == (SUCCESS, 6)  # five times within the tolerance
    assert said[1:3] == [("polish", 2, 2), ("approach", 9e-7)]
    assert swept(monkeypatch, [9e-7] * 20, polished=[1.0] * 99)[0] == LCP_ITERATIONS


# ---------------------------------------------------------------- nonsmooth generalised-alpha


def iterated(monkeypatch, norms, *, m=0, level=VELOCITY, constant=False, most=9, looks=(), miss=0.0,
             sizes=1.0, linear=SUCCESS, corrects=SUCCESS, deep=False):  # fmt: skip
    """Iterate where residuals are `norms` beside 1; return what is returned, and the record."""
    left, seen, said = iter(norms), iter(looks), []
    record = space(t=np.zeros(3), iterations=np.full(3, -1), residuals=np.full((3, 2), np.nan))
    work = space(x=np.array([8.0]), dx=np.array([4.0]), best=np.array([4.0]), every=np.zeros(5))
    problem = space(
        options=space(constant=constant, newton_tol=1e-9, newton_max=most),
        method=space(level=level),
    )

    def correct(problem, record, work, step, weights, m):
        said.append(("correct", m))
        return corrects, 1.0, sizes

    put(
        monkeypatch, alpha.newton, evaluate_state=lambda *_: said.append(float(work.x[0])),
        look=lambda *given: (next(seen, True), miss, 1.0), correct=correct,
        linearise=lambda problem, work, step, first: said.append(first) or linear,
        residual=lambda *_: (next(left), 1.0), penetrates=lambda *_: deep,
    )  # fmt: skip
    return alpha.newton(problem, record, work, space(row=1), None, m), record, said


def test_newton_ends_where_the_residual_is_round_off(monkeypatch):
    told, record, said = iterated(monkeypatch, [3.0, 1e-3, 1e-10])
    assert told == (SUCCESS, 0, False, 1e-10)
    assert record.iterations.tolist() == [-1, -1, 2]
    assert [one for one in said if type(one) is bool] == [True, False, False]
    told, record, _ = iterated(monkeypatch, [0.0, 0.0])  # it corrects once at least
    assert record.iterations[2] == 1
    told, record, _ = iterated(monkeypatch, [3.0, 2.0, 1.0], sizes=1e12)  # by the correction
    assert (told, record.iterations[2]) == ((SUCCESS, 0, False, 2.0), 1)
    told, record, _ = iterated(monkeypatch, [3.0, 2.0, 1.0], most=2)
    assert told == (NEWTON_CAP, 0, False, 1.0)
    assert record.residuals[2, 1] == 1.0
    told, record, _ = iterated(monkeypatch, [3.0, 2.0], constant=True)
    assert (told, record.iterations[2]) == ((SUCCESS, 0, False, 3.0), 1)
    told, record, _ = iterated(monkeypatch, [3.0, 0.0, 0.0], m=2, miss=1.0, most=2)
    assert told[0] == NEWTON_CAP  # contacts that do not touch


def test_newton_fails_with_the_residual_that_it_has(monkeypatch):
    """Which is 0 as long as none is known."""
    assert iterated(monkeypatch, [], m=1, looks=[False])[0] == (NOT_FINITE, 1, False, 0.0)
    assert iterated(monkeypatch, [], linear=FAILS)[0] == (FAILS, 0, False, 0.0)
    assert iterated(monkeypatch, [2.0], corrects=FAILS)[0] == (FAILS, 0, False, 2.0)
    assert iterated(monkeypatch, [np.inf])[0] == (NOT_FINITE, 0, False, np.inf)
    assert iterated(monkeypatch, [2.0, 5.0], m=1, looks=[True, False])[0] == (NOT_FINITE, 1, False, 2.0)  # fmt: skip


def test_a_correction_that_leaves_more_is_halved(monkeypatch):
    """Eight times at most, and not where contacts take part."""
    _, _, said = iterated(monkeypatch, [1.0, 2.0, 3.0, 0.5, 1e-10])
    assert [one for one in said if type(one) is float][:4] == [8.0, 8.0, 6.0, 5.0]  # fmt: skip
    _, _, said = iterated(monkeypatch, [1.0, *[2.0] * 9, 1e-10])
    assert said.count(("correct", 0)) == 2
    assert len([one for one in said if one is False]) == 10
    _, _, said = iterated(monkeypatch, [1.0, 2.0, 1e-10], m=1)
    assert said.count(("correct", 1)) == 2


@for_each(("m", "deep", "told"), [(0, False, (0, False)), (0, True, (5, True)), (3, False, (3, True)), (3, True, (5, True))])  # fmt: skip
def test_positions_that_penetrate_are_corrected_with_all_contacts(monkeypatch, m, deep, told):
    found, record, _ = iterated(monkeypatch, [1.0, 0.0, 1.0, 0.0], m=m, level=BOTH, deep=deep)
    assert found[:3] == (SUCCESS, *told)
    assert record.iterations[2] == (2 if told[1] else 1)


@for_each(("m", "level", "constant", "fails"), [
    (2, VELOCITY, False, None), (2, BOTH, True, None), (0, VELOCITY, False, None), (0, BOTH, True, None), (2, VELOCITY, False, "factor"), (2, VELOCITY, False, "respond"), (2, VELOCITY, True, "complement"),
])  # fmt: skip
def test_a_correction_moves_positions_by_forces_and_impulses(monkeypatch, m, level, constant, fails):  # fmt: skip
    """S dx = -r + what has changed of the impulses; w is what they do to velocities, M^-1 G' z.

    The contacts' law is asked with what is not by the impulses themselves.
    """
    rng, n, nc, said = np.random.default_rng(m), 3, 4, []
    S, r, z0, z1 = rng.normal(size=(n, n)) + 3 * np.eye(n), 1e-3 * rng.normal(size=n), rng.uniform(size=2), rng.uniform(size=2)  # fmt: skip
    act, G, D, Y = np.array([3, 1]), rng.normal(size=(nc, n)), rng.normal(size=(nc, nc)), 1e-3 * rng.normal(size=(2, nc, n))  # fmt: skip
    g0, x0, w0, a1 = rng.normal(size=2), 1e-3 * rng.normal(size=n), 1e-3 * rng.normal(size=n), 1e-3 * rng.normal(size=n)  # fmt: skip
    unknown = space(act=act, q=g0.copy(), z=z0.copy(), M=D)
    work = space(x=x0.copy(), w=w0.copy(), dx=np.zeros(n), best=np.zeros(n), a1=a1, r=r, old=np.zeros(2), problem=unknown, state=[space(span=0.25)],
                 responses=space(LU=[S, S], band=[space(below=0, above=0)] * 2, pivots=[None, None], Y=Y), lcp=space(kept=[space(count=5)]))  # fmt: skip
    problem = space(contacts=space(G=(None, None, None)), matrices=space(M=1, K=2, C=3), options=space(constant=constant, lcp="lcp"), method=space(level=level, alpha_m=0.25))  # fmt: skip
    record, step, weights = space(residuals=np.zeros((3, 2))), space(row=1, h=0.5, c_w=0.125), space(A_C=7.0, A_K=8.0, D_x=0.75)  # fmt: skip

    def done(name):
        return FAILS if name == fails else SUCCESS

    def factor(system, mass, by_c, by_k, responses, which):
        said.append(("factor", mass, by_c, by_k, which))
        return done("factor")

    def solve(LU, size, low, high, pivots, b):
        b[:] = np.linalg.solve(LU, b)

    def complement(given, count, span, options, lcp):
        said.append(("complement", count, span, given.q[:m].copy()))
        given.z[:] = z1
        return done("complement"), 0.0625

    put(monkeypatch, alpha.correct, factor=factor, respond=lambda *given: said.append(("respond", given[0])) or done("respond"), lu_solve=solve,
        complement=complement, along=lambda ptr, col, val, a, v: G[a] @ v)  # fmt: skip
    told = alpha.correct(problem, record, work, step, weights, m)
    names = [one[0] for one in said]
    wanted = [] if constant else ["factor", *(["respond"] if m else [])]
    wanted += ["complement"] if m else []
    if fails:
        assert told == (FAILS, 0.0, 0.0)
        assert names == wanted[: wanted.index(fails) + 1]
        return
    assert names == wanted
    if not constant:
        assert said[0] == ("factor", 0.75, 7.0, 8.0, alpha.SMOOTH)
        assert work.lcp.kept[0].count == (-1 if m else 5)
    free = np.linalg.solve(S, -r)
    moved = free + Y[alpha.SMOOTH][act[:m]].T @ (z1 - z0)[:m]
    new = Y[alpha.MASS][act[:m]].T @ z1[:m]
    if m:
        _, count, span, asked = said[-1]
        assert (count, span) == (2, 0.25)
        np.testing.assert_allclose(asked, g0 + 0.75 * G[act] @ free - D[np.ix_(act, act)] @ z0)
        assert record.residuals[2, 0] == 0.0625 / (1.0 if level == VELOCITY else 0.5)
        np.testing.assert_array_equal(work.old, z0)
    np.testing.assert_allclose(work.x, x0 + moved, rtol=1e-12)
    np.testing.assert_allclose(work.best, x0)
    np.testing.assert_allclose(work.w, new, atol=1e-15)
    change = max(abs(moved).max(), 0.125 * abs(new - w0).max())
    size = max(abs(work.x).max(), abs(a1).max(), 0.125 * abs(new).max(initial=0.0))
    assert told == (SUCCESS, pytest.approx(change), pytest.approx(size))
