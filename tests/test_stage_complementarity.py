"""The complementarity problem of a step with stages, against its definition."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.kernels.fesd.collocation import collocation

stage, march = plain("fesd.stage_complementarity"), plain("fesd.fixed_step_rk")


def groups(members, leaders):
    """Return groups of so many variables each; multipliers are numbered through."""
    member, group = [], []
    for g, (count, leads) in enumerate(zip(members, leaders, strict=True)):
        member += range(len(member) + sum(leaders[:g]), len(member) + sum(leaders[:g]) + count)
        group += [g] * count
        del leads
    at, leader = 0, []
    for count, leads in zip(members, leaders, strict=True):
        at += count
        leader.append(at if leads else -1)
        at += leads
    return stage.Groups(np.array(member), np.array(group), np.array(leader))


def vectors(seed, s=2, nc=3):
    """Return groups, variables that add up to less than 1, and the switching functions."""
    rng = np.random.default_rng(seed)
    of = groups((2, 1), (1, 0))
    nv, ng = len(of.member), len(of.leader)
    V = rng.uniform(0, 0.5, (s, nv)) * (rng.random((s, nv)) < 0.7)
    linear = stage.Linear(rng.normal(size=(s, nc)), rng.normal(size=(s, nc * 2)),
                          rng.uniform(0.5, 2, (s + 1, ng)), rng.normal(size=(s, nv, nc)), None)  # fmt: skip
    return rng, of, V, linear


@for_each("full", [False, True])
@for_each("seed", range(12))
def test_the_mismatch_is_the_largest_of_what_should_vanish(seed, full):
    """Of a group the multipliers theta and the slacks g - min g, of which one has to be 0.

    Where those of the members add up to one, nothing is left for the leader.
    """
    _, of, V, linear = vectors(seed)
    if full:
        V = V + 0.1
        for g in range(len(of.leader)):
            V[:, of.group == g] /= V[:, of.group == g].sum(axis=1, keepdims=True)
    worst = 0.0
    for i, g in itertools.product(range(len(V)), range(len(of.leader))):
        on = of.group == g
        value = np.append((linear.R[i] @ linear.C[i])[on], 0.0)  # of the leader last
        theta = np.append(V[i, on], abs(1 - V[i, on].sum()))
        worst = max(worst, np.minimum(theta, (value - value.min()) / linear.size[i, g]).max())
    problem = SimpleNamespace(n_c=3)
    assert stage.mismatch(problem, of, V, linear) == pytest.approx(worst, rel=1e-12)


@for_each("seed", range(20))
def test_multipliers_stay_where_every_stage_keeps_its_region(seed):
    rng, of, V, linear = vectors(seed)
    n, h, A = 2, 0.1, rng.normal(size=(2, 2))
    change = rng.normal(size=4)
    V[:] = 0.0
    for i in range(2):
        V[i, rng.integers(-1, 2)] = float(rng.random() < 0.7)
        V[i, 1 if V[i, 0] else 0] = 0.0
    linear.R[:, :, :] = rng.integers(-1, 2, linear.R.shape)
    step = stage.Step(
        SimpleNamespace(n_x=n, n_c=3), SimpleNamespace(A=A), of, stage.Unknowns(None, V, None, None), linear,
        stage.Slopes(None, None, change, None),
        stage.Complementarity(None, np.zeros(6), None, None, None, None, None, None, None),
    )  # fmt: skip
    stays = True
    for i in range(2):
        moved = h * A[i] @ change.reshape(2, n)
        c = linear.C[i] + linear.Cx[i].reshape(3, n) @ moved
        for g in range(2):
            on = of.group == g
            value = np.append((linear.R[i] @ c)[on], 0.0)
            theta = np.append(V[i, on], 1 - V[i, on].sum())
            stays &= bool(value[theta.argmax()] <= value.min() + 1e-12)
    assert stage.stays(step, h) == stays
    V[1, 0] = 0.5
    assert not stage.stays(step, h)


@for_each("seed", range(12))
def test_an_active_set_is_kept_where_it_solves_the_problem(seed):
    rng, of, V, _ = vectors(seed)
    s, nv, ng = 2, 3, 2
    m = s * (nv + ng)
    V[:, 2] = rng.choice([0.0, 0.4, 1.0], s)
    basis = [i * nv + v for i in range(s) for v in range(nv) if V[i, v] > 0]
    for i, g in itertools.product(range(s), range(ng)):
        if V[i, of.group == g].sum() > 1 - stage.SNAP:
            basis.append(s * nv + i * ng + g)
    B = rng.normal(size=(m, m))
    M, z, w = B @ B.T, np.zeros(m), rng.uniform(0.1, 1, m)
    z[basis], w[basis] = rng.uniform(0.1, 1, len(basis)), 0.0
    lcp = stage.Complementarity(M, w - M @ z, np.full(m, 9.0), None, np.zeros(m, np.int64), np.zeros(m), None,
                                np.zeros((m, m)), None)  # fmt: skip
    pivots = np.zeros(m, np.int64)
    assert stage.keeps(lcp, of, V, pivots)
    np.testing.assert_allclose(lcp.z, z, atol=1e-9)
    for row in range(m):
        for off in (1e-10, -1e-10):  # a little is no round-off
            other, there = w.copy(), z.copy()
            if row in basis:
                there[row] = off
            else:
                other[row] = off
            lcp.q[:] = other - M @ there
            assert stage.keeps(lcp, of, V, pivots) == (off > 0)
    lcp.q[:] = 1e-18  # round-off alone breaks no set
    lcp.q[basis] = 0.0
    assert stage.keeps(lcp, of, V, pivots)
    if basis:
        M[:] = 0.0
        assert not stage.keeps(lcp, of, V, pivots)
        M[:] = B @ B.T
    lcp.q[:] = np.nan
    assert not stage.keeps(lcp, of, V, pivots)


@for_each("seed", range(8))
def test_of_a_group_the_leader_is_one_minus_the_others(seed):
    rng, of, V, linear = vectors(seed)
    n, nsel = 2, 4
    V[0, 0] = 1e-14
    sel, inp = np.full((2, nsel), 9.0), np.full(1 + n + nsel, 9.0)
    R = linear.R * (rng.random(linear.R.shape) < 0.6)
    linear = linear._replace(R=R)
    end = rng.uniform(0.5, 1, n)
    problem = SimpleNamespace(n_x=n, n_sel=nsel, n_c=3, inp=inp)
    step = stage.Step(problem, None, of, stage.Unknowns(None, V, sel, end), linear, None, None)
    for i in range(2):
        stage.mix(step, i)
        expected = np.array([V[i, 0], V[i, 1], 1 - V[i, 0] - V[i, 1], V[i, 2]])
        expected[abs(expected) <= 1e-13] = 0.0
        np.testing.assert_allclose(sel[i], expected, atol=1e-15)
        np.testing.assert_array_equal(inp[1 + n :], sel[i])
        assert (inp[: 1 + n] == 9.0).all()
    inp[1 : 1 + n] = rng.normal(size=n)
    linear.size[:] = 0.0
    largest = np.zeros(2)
    for i in range(2):
        stage.measure(step, i, 0.1)
        terms = abs(linear.C[i]) + abs(linear.Cx[i].reshape(3, n)) @ (
            abs(inp[1 : 1 + n]) + 0.1 * end
        )
        for g in range(2):
            used = (R[i][of.group == g] != 0).any(axis=0)
            own = terms[used].max(initial=1e-300)
            largest[g] = max(largest[g], own)
            assert linear.size[i, g] == pytest.approx(max(own, 1e-3 * largest[g]))
            assert linear.size[2, g] == pytest.approx(largest[g])
    linear.C[0], linear.Cx[0] = 0.0, 0.0
    stage.measure(step, 0, 0.1)
    assert linear.size[0] == pytest.approx(1e-3 * largest)


@for_each("members", [(0, 2), (2, 0), (1, 1)])
def test_the_multipliers_of_each_group_add_up_to_one(members):
    """Also of a group of one region, which leads itself and may stand first."""
    of, rng = groups(members, (1, 1)), np.random.default_rng(0)
    V, nsel = rng.uniform(0, 0.5, (1, sum(members))), sum(members) + 2
    sel, inp = np.full((1, nsel), 9.0), np.full(1 + nsel, 9.0)
    problem = SimpleNamespace(n_x=0, n_sel=nsel, n_c=0, inp=inp)
    stage.mix(
        stage.Step(problem, None, of, stage.Unknowns(None, V, sel, None), None, None, None), 0
    )
    np.testing.assert_array_equal(sel[0, of.member], V[0])
    for g in range(2):
        assert sel[0, of.leader[g]] + V[0, of.group == g].sum() == pytest.approx(1.0)


@for_each("seed", range(20))
def test_a_region_weighs_by_its_nearest_cell(seed):
    """g_v - g_leader = R c, with g the least sum over the cells of a region; in the step form -c."""
    rng = np.random.default_rng(seed)
    c, R = rng.normal(size=3), np.full((4, 3), 9.0)
    stage.weigh(SimpleNamespace(subsystems=[], n_c=3), np.full(3, -1), c, R[:3])
    np.testing.assert_array_equal(R[:3], -np.eye(3))
    one = np.append(rng.permutation([0, 1, 2]), rng.integers(0, 3))  # cells of two functions
    two = rng.permutation([0, 1])
    subsystems = [SimpleNamespace(first=0, count=2, regions=0, cells=0),
                  SimpleNamespace(first=2, count=1, regions=3, cells=4)]  # fmt: skip
    problem = SimpleNamespace(subsystems=subsystems, n_c=3, cells=np.append(one, two))
    R = R[:3]
    stage.weigh(problem, np.array([2, 4]), c, R)

    def least(cells, region, values):
        signs = [
            [-1 if cell >> j & 1 else 1 for j in range(len(values))] for cell in range(len(cells))
        ]
        return min(
            np.dot(sign, values) for sign, of in zip(signs, cells, strict=True) if of == region
        )

    expected = [least(one, r, c[:2]) - least(one, 2, c[:2]) for r in (0, 1)]
    expected.append(least(two, 0, c[2:]) - least(two, 1, c[2:]))
    np.testing.assert_allclose(R @ c, expected, atol=1e-12)
    assert not R[:2, 2].any()
    assert not R[2, :2].any()


def linear_step(seed, s=2, n=2, nc=3):
    """Return a step whose K answers to its multipliers by given columns."""
    rng, of, V, linear = vectors(seed, s, nc)
    nv, ng = len(of.member), len(of.leader)
    m = s * (nv + ng)
    linear.R[:, :, :] = rng.integers(-1, 2, linear.R.shape)
    slopes = stage.Slopes(None, None, rng.normal(size=s * n), rng.normal(size=(s * nv, s * n)))
    lcp = SimpleNamespace(M=np.full((m, m), np.nan), q=np.full(m, np.nan), row=np.zeros(s * n), z=rng.uniform(size=m))  # fmt: skip
    unknowns = SimpleNamespace(K=rng.normal(size=(s, n)), V=V, end=np.zeros(n))
    method = SimpleNamespace(A=rng.normal(size=(s, s)), ahead=None)
    problem = SimpleNamespace(n_x=n, n_c=nc, n_sel=m)
    return rng, stage.Step(problem, method, of, unknowns, linear, slopes, lcp)


@for_each("seed", range(8))
def test_the_complementarity_problem_is_that_of_the_linear_model(seed):
    """w = R (C + C_x dX) + lambda with dX = h A dK by the change and the variables; 1 - sum."""
    rng, step = linear_step(seed)
    of, V, linear, h = step.groups, step.unknowns.V, step.linear, 0.3
    (s, nv), ng, n = V.shape, len(of.leader), 2
    march.assemble(step, h)
    for _ in range(3):
        z = rng.normal(size=s * (nv + ng))
        v, lam = z[: s * nv].reshape(s, nv), z[s * nv :].reshape(s, ng)
        dK = (step.slopes.change + step.slopes.columns.T @ (v - V).ravel()).reshape(s, n)
        expected = [
            linear.R[i] @ (linear.C[i] + h * linear.Cx[i].reshape(-1, n) @ (step.tableau.A[i] @ dK))
            + lam[i, of.group] for i in range(s)
        ]  # fmt: skip
        sums = [[1 - v[i, of.group == g].sum() for g in range(ng)] for i in range(s)]
        w = step.lcp.M @ z + step.lcp.q
        np.testing.assert_allclose(w, np.append(expected, sums), atol=1e-12)


@for_each(("seed", "part"), itertools.product(range(4), (1.0, 0.5)))
def test_multipliers_move_to_the_solution_and_slopes_answer(seed, part):
    """What is within round-off of 0 or 1 is that."""
    _, step = linear_step(seed)
    (K, V, _), z = vars(step.unknowns).values(), step.lcp.z
    s, nv = V.shape
    tiny = 0.1 * march.SNAP
    z[:3] = tiny, 1 - tiny, 0.5
    goal = z[: s * nv].copy()
    goal[:2] = 0.0, 1.0
    moved = goal.reshape(s, nv) - V
    before, start = V.copy(), K.copy()
    answer = step.slopes.change + step.slopes.columns.T @ moved.ravel()
    march.update(step, part)
    np.testing.assert_allclose(V, before + part * moved, rtol=1e-14, atol=1e-16)
    if part == 1.0:
        assert (V[0, 0], V[0, 1]) == (0.0, 1.0)
    np.testing.assert_allclose(K, start + part * answer.reshape(K.shape), rtol=1e-12)


@for_each(("tableau", "stages"), [("radau_iia", 2), ("gauss", 3), ("lobatto_iiic", 3)])
def test_a_step_begins_with_the_polynomial_of_the_one_before(tableau, stages):
    """If its multipliers are even; else with its last slopes, at last in the middle."""
    method, n, of = collocation(tableau, stages), 2, groups((2, 1), (1, 0))
    nv = len(of.member)

    def slopes(t):
        return np.array([1.0 + t, (t - 2.0) ** (stages - 1)])

    nsel = 5
    record = SimpleNamespace(slopes=np.array([[slopes(t) for t in method.c]] * 2).reshape(2, -1),
                             mult=np.arange(2.0 * stages * nsel).reshape(2, -1))  # fmt: skip
    last = record.slopes[0].reshape(stages, n)[-1]
    for attempt, e, even in ((0, 1, True), (0, 1, False), (1, 1, True), (2, 1, True), (0, 0, True)):
        K, V = np.tile(last, (stages, 1)), np.full((stages, nv), 0.25)
        V[0, nv - 1] = 0.25 if even else 0.5
        step = SimpleNamespace(groups=of, unknowns=SimpleNamespace(K=K, V=V), tableau=method,
                               problem=SimpleNamespace(n_sel=nsel))  # fmt: skip
        march.predict(step, record, e, attempt)
        carried = attempt == 0 and e and even
        middle = attempt == 2 or e == 0
        expected = [slopes(1 + t) if carried else 0 * last if middle else last for t in method.c]
        np.testing.assert_allclose(K, expected, atol=1e-9)
        choice = np.array([0.25] * nv)
        if middle:  # of a group with a leader all alike; a multiplier of its own at 1/2
            choice = np.array([1 / (nv + 1), 1 / (nv + 1), 0.5])
        elif attempt == 1:
            choice = record.mult[0].reshape(stages, nsel)[-1, of.member]
        np.testing.assert_allclose(V, np.tile(choice, (stages, 1)))


@for_each(("seed", "step_form"), itertools.product(range(4), (True, False)))
def test_a_step_is_linearised_by_its_derivatives(monkeypatch, seed, step_form):
    """J and F are those of K - f(t, X, multipliers) by K and by the variables; C and C_x are c's."""
    rng, s, n, nc, h, t = np.random.default_rng(seed), 2, 2, 3, 0.3, 0.7
    method = collocation("radau_iia", s)
    if step_form:  # each function has a multiplier of its own
        of = stage.Groups(np.arange(nc), np.arange(nc), np.full(nc, -1))
        nsel, subsystems = nc, []
    else:  # four regions by the signs of two functions, and two by that of one
        of = groups((3, 1), (1, 1))
        nsel = 6
        subsystems = [SimpleNamespace(first=0, count=2, cells=0, regions=0),
                      SimpleNamespace(first=2, count=1, cells=4, regions=4)]  # fmt: skip
    nv, ng = len(of.member), len(of.leader)
    a, A, B = rng.normal(size=n), rng.normal(size=(n, n)), rng.normal(size=(n, nsel))
    D, b, E = rng.normal(size=(n, nsel, n)), rng.normal(size=nc), rng.normal(size=(nc, n))
    inp = np.zeros(1 + n + nsel)
    out, c = np.zeros(n * (2 + n + nsel)), np.zeros(nc * (2 + n))

    def flow(_):
        t, x, w = inp[0], inp[1 : 1 + n], inp[1 + n :]
        by_x, by_w = A + np.einsum("kop,o->kp", D, w), B + D @ x
        out[:] = np.concatenate([a * t + A @ x + by_w @ w, by_x.ravel(), by_w.ravel(), a])

    def switching(_):
        c[:] = np.concatenate([b * inp[0] + E @ inp[1 : 1 + n], E.ravel(), b])

    for name, stand_in in (("flow", flow), ("switching", switching)):
        monkeypatch.setitem(stage.linearise.__globals__, name, stand_in)
    x, K, V = rng.normal(size=n), rng.normal(size=(s, n)), rng.uniform(0.1, 0.3, (s, nv))
    step = stage.Step(
        SimpleNamespace(n_x=n, n_c=nc, n_sel=nsel, inp=inp, out=out, c=c, subsystems=subsystems, cells=np.array([0, 1, 2, 3, 0, 1])),
        method, of, SimpleNamespace(K=K, V=V, sel=np.zeros((s, nsel)), end=np.zeros(n)),
        stage.Linear(np.zeros((s, nc)), np.zeros((s, nc * n)), np.zeros((s + 1, ng)), np.zeros((s, nv, nc)), np.zeros((s, n * nv))),
        stage.Slopes(np.full((s * n, s * n), np.nan), None, np.zeros(s * n), None), None,
    )  # fmt: skip

    def left():
        worst = stage.linearise(step, t, x, h)
        return step.slopes.change.copy(), worst

    residual, worst = left()
    J, F = step.slopes.J.copy(), step.linear.F.copy()
    for i in range(s):
        at = x + h * method.A[i] @ K
        np.testing.assert_allclose(step.linear.C[i], b * (t + h * method.c[i]) + E @ at)
        np.testing.assert_array_equal(step.linear.Cx[i], E.ravel())
    by = 1e-6
    for i, k in itertools.product(range(s), range(n)):
        K[i, k] += by
        np.testing.assert_allclose((left()[0] - residual) / by, -J[:, i * n + k], atol=1e-7)
        K[i, k] -= by
    for i, v in itertools.product(range(s), range(nv)):
        V[i, v] += by
        expected = np.zeros((s, n))
        expected[i] = F[i].reshape(n, nv)[:, v]
        np.testing.assert_allclose((left()[0] - residual) / by, expected.ravel(), atol=1e-7)
        V[i, v] -= by
    # the residual is beside its terms: it is none where K = f, at most 1
    assert 0 < worst <= 1
    left()
    slopes, terms = out[n : n + n * n].reshape(n, n), out[n + n * n :][: n * nsel].reshape(n, nsel)
    size = abs(K[-1]) + abs(slopes) @ (abs(inp[1 : 1 + n]) + abs(x)) + abs(terms).sum(axis=1)
    np.testing.assert_allclose(step.unknowns.end, size, rtol=1e-12)  # of the last stage
    assert worst >= (abs(residual[-n:]) / size).max() * (1 - 1e-9)
    K[:] += np.linalg.solve(J, residual).reshape(s, n)
    assert left()[1] < 1e-14
    x[0] = np.inf
    with np.errstate(invalid="ignore"):
        assert left()[1] == np.inf


@for_each(("t_end", "steps"), [(1.0, 4), (1.1, 5), (0.2, 1)])
def test_steps_fill_the_time_that_is_asked_for(monkeypatch, t_end, steps):
    """The last one ends there, whatever its length; each begins where the one before has ended."""
    h, n, nsel, s, took = 0.3, 2, 3, 2, []
    unknowns = SimpleNamespace(K=np.zeros((s, n)), end=np.zeros(n), sel=np.zeros((s, nsel)))
    rng, space = np.random.default_rng(0), march.march.__globals__

    def solve(step, t, x, length, cap, tally):
        took.append((t, length, x.copy()))
        for one in (unknowns.K, unknowns.end, unknowns.sel):
            one[:] = rng.normal(size=one.shape)
        told.append([one.copy() for one in (unknowns.end, unknowns.K, unknowns.sel)])
        return 0

    told: list = []
    for name, stand_in in (("solve", solve), ("hold_at", lambda *_: None), ("predict", lambda *_: None)):  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    record = SimpleNamespace(
        begin=np.zeros(steps), length=np.zeros(steps), states=np.zeros((steps + 1, n)),
        slopes=np.zeros((steps, s * n)), mult=np.zeros((steps, s * nsel)),
    )  # fmt: skip
    problem, tally = SimpleNamespace(n_x=n, n_sel=nsel, drive=None, inp=None), [SimpleNamespace(steps=0)]  # fmt: skip
    step = SimpleNamespace(unknowns=unknowns, problem=problem)
    assert march.march(step, record, t_end, h, 9, tally) == 0
    assert tally[0].steps == steps
    np.testing.assert_allclose(record.begin, h * np.arange(steps))
    np.testing.assert_allclose(record.begin + record.length, [*record.begin[1:], t_end], rtol=1e-15)
    assert [t for t, *_ in took] == record.begin.tolist()
    assert [length for _, length, _ in took] == record.length.tolist()
    for e, (end, K, sel) in enumerate(told):
        np.testing.assert_array_equal(record.states[e + 1], end)
        np.testing.assert_array_equal(record.slopes[e], K.ravel())
        np.testing.assert_array_equal(record.mult[e], sel.ravel())
        if e + 1 < steps:
            np.testing.assert_array_equal(took[e + 1][2], end)
