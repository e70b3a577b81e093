"""Parts of time steps, uncompiled, each against its formula at random numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import (
    INDEFINITE,
    LCP_ITERATIONS,
    LCP_RAY,
    NEWTON_CAP,
    NOT_FINITE,
    SINGULAR,
    SUCCESS,
)
from explorer.kernels.model.structures import FORCE, GAP, STEP

linear, whole = plain("time_stepping.newmark_linear"), plain("time_stepping.newmark")
solving, iterating = (
    plain("time_stepping.moreau_jean_contact"),
    plain("time_stepping.moreau_jean_iteration"),
)
rows_of = plain("time_stepping.moreau_jean_rows")
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal


def fill(inp, t, q, v, n):
    inp[0], inp[1 : 1 + n], inp[1 + n : 1 + 2 * n] = t, q, v


def rows(rng, count, n):
    """Return full rows of G as kernels take them, and G."""
    G = rng.normal(size=(count, n))
    return space(ptr=np.arange(count + 1) * n, col=np.tile(np.arange(n), count), val=G.ravel()), G


# ---------------------------------------------------------------- Newmark, linear


@for_each(("power", "interpolated", "h"), itertools.product((1, 2, 3), (False, True), (0.1, 2.0)))
def test_a_correction_is_scaled_by_powers_of_the_step(monkeypatch, power, interpolated, h):
    n, rng, asked = 2, np.random.default_rng(1), []
    q, v = rng.normal(size=(2, 3, n))
    method = space(power=power, c_d=0.2, c_v=0.3, c_a=0.7, interpolated=interpolated)
    inp, work = np.full(1 + 2 * n, np.nan), space(x=np.zeros(n), F0="F0", state=[space(factored=h, scaled=9.0)])  # fmt: skip
    problem = space(method=method, bundles=space(inp=inp), linear="rows")
    put(
        monkeypatch,
        linear.begin_linear,
        force=lambda bundles, *given: asked.append((inp.tolist(), *given)),
    )
    linear.begin_linear(problem, space(t=np.array([0.0, 0.5, 1.0]), q=q, v=v), work, 1)
    told = [work.state[0].c_d, work.state[0].c_v, work.state[0].c_a]
    expected = [0.2 * h**power, 0.3 * h ** (power - 1), 0.7 * h ** (power - 2)]
    assert told == pytest.approx(expected)
    assert asked == ([([0.5, *q[1], *v[1]], FORCE, "rows", "F0")] if interpolated else [])
    state = work.state[0] = space(scaled=9.0)
    whole.rescale(problem, work, h)
    assert [state.c_d, state.c_v, state.c_a] == pytest.approx(expected)
    assert state.scaled == h
    state.c_d = 9.0
    whole.rescale(problem, work, h)  # once
    assert state.c_d == 9.0


@for_each(("w", "seed"), itertools.product((0.0, 0.4, 1.0), range(3)))
def test_a_linear_step_is_predicted_with_constant_acceleration(w, seed):
    """And forces are asked for at the weighted mean of both states and times."""
    n, h, rng = 3, 0.3, np.random.default_rng(seed)
    q, v, (a0,) = rng.normal(size=(3, n)), rng.normal(size=(3, n)), rng.normal(size=(1, n))
    q0, v0, inp = q[1].copy(), v[1].copy(), np.full(1 + 2 * n, np.nan)
    problem = space(bundles=space(inp=inp), method=space(weight=w))
    linear.predict(problem, space(q=q, v=v, t=np.array([0.0, 2.0, 9.0])), 1, h, 2.3, a0)
    dq, dv = h * v0 + 0.5 * h**2 * a0, h * a0
    np.testing.assert_allclose(q[2], q0 + dq, rtol=1e-13)
    np.testing.assert_allclose(v[2], v0 + dv, rtol=1e-13)
    EQUAL([q[1], v[1]], [q0, v0])
    np.testing.assert_allclose(
        inp, [w * 2.3 + (1 - w) * 2.0, *(q0 + w * dq), *(v0 + w * dv)], rtol=1e-13
    )


def test_a_mass_matrix_divides_by_its_factors_or_its_diagonal(monkeypatch):
    none, F = np.zeros(0), np.array([2.0, 6.0, 12.0])
    mass = space(ptr=np.arange(4), col=np.arange(3), val=np.array([1.0, 2.0, 3.0]))
    problem = space(mass=mass, inertia=space(inverse=none))
    put(monkeypatch, linear.divide, solve_factored=lambda factors, n, x: x.__imul__(10.0))
    assert linear.divide(problem, F)
    assert F.tolist() == [2.0, 3.0, 4.0]
    for change in (
        {"val": np.array([1.0, 0.0, 3.0])},
        {"col": np.array([0, 2, 2])},
        {"ptr": np.array([0, 1, 3, 3])},
    ):
        problem.mass = space(**{**vars(mass), **change})
        assert not linear.divide(problem, F)
        assert F.tolist() == [2.0, 3.0, 4.0]
    problem.inertia.inverse = np.ones(1)
    assert linear.divide(problem, F)
    assert F.tolist() == [20.0, 30.0, 40.0]


@for_each("regular", (True, False))
def test_accelerations_jump_by_what_new_inputs_press(monkeypatch, regular):
    n, rng = 2, np.random.default_rng(4)
    q, v, a, told = *rng.normal(size=(3, 3, n)), iter(rng.normal(size=(2, n)))
    before, after = rng.normal(size=(2, n))
    told, a0, true0, held = iter([before, after]), a.copy(), rng.normal(size=n), []
    inp = np.full(1 + 2 * n, np.nan)
    work = space(
        F=np.zeros(n), F0=np.zeros(n), centre=np.zeros(n), x=np.zeros(n), true0=true0.copy()
    )
    problem = space(bundles=space(inp=inp), linear=None, grid=space(drive="drive"))

    def divide(problem, F):
        F /= 4.0
        return regular

    def force(bundles, which, rows, F):
        assert which == FORCE
        EQUAL(inp, [1.5, *q[1], *v[1]])
        F[:] = next(told)

    put(
        monkeypatch,
        linear.cross_linear,
        divide=divide,
        force=force,
        hold=lambda drive, inp, k: held.append((drive, k)),
    )
    record = space(t=np.array([0.0, 1.5, 3.0]), q=q, v=v, a=a)
    assert linear.cross_linear(problem, record, work, 1, 7) == regular
    assert held == [("drive", 7)]
    a0[1] += (after - before) / 4 * regular
    np.testing.assert_allclose(a, a0)
    np.testing.assert_allclose(work.true0, true0 + (after - before) / 4 * regular)
    EQUAL(work.F0, after)


@for_each("proposed", (0.4, -0.2))
def test_a_step_of_newmark_is_taken_again_where_its_error_asks(monkeypatch, proposed):
    asked, n = [], 2
    work = space(state=[space(h=0.7)], true0=np.array([1.0, 2.0]), true1=np.array([3.0, 4.0]))
    problem = space(
        options=space(h_max=5.0, error_tol=0.1), grid=space(t_end=9.0), method=space(order=2)
    )
    put(
        monkeypatch,
        whole.adapt,
        estimate=lambda *_: 0.03,
        following=lambda *given: asked.append(given) or proposed,
    )
    base, part = np.full(n, 9.0), space(h=0.3, t1=1.3, a0=np.array([5.0, 6.0]))
    assert whole.adapt(problem, part, work, base) == (0.03, proposed < 0)
    assert asked == [(0.03, 0.1, 2, 0.3, 0.7, 5.0, 1.3, 9.0)]
    assert work.state[0].h == abs(proposed)
    kept = proposed > 0
    assert base.tolist() == ([5.0, 6.0] if kept else [9.0, 9.0])
    assert work.true0.tolist() == ([3.0, 4.0] if kept else [1.0, 2.0])


@for_each(
    ("springs", "weight", "even", "interpolated"),
    itertools.product((0, 2), (1.0, 0.6), (False, True), (False, True)),
)
def test_springs_have_slipped_where_a_part_of_a_step_is_accepted(
    monkeypatch, springs, weight, even, interpolated
):
    """Their slips are those at the end of the step, which are known where forces were asked for there."""
    n, asked, inp = 2, [], np.full(5, np.nan)
    part = space(
        t1=1.5, d1=np.array([1.0, 2.0]), v1=np.array([3.0, 4.0]), a0=np.array([5.0, 6.0]), h=0.25
    )
    work = space(x=np.zeros(n), a_before=np.zeros(n), state=[space(before=9.0)], F="F", F0="F0")
    held = space(committed=np.zeros(springs), trial=np.arange(springs) + 7.0)
    problem = space(method=space(weight=weight, interpolated=interpolated), springs=held, bundles=space(inp=inp),
                    grid=space(even=even), matrices=space(K_flat="K"))  # fmt: skip
    put(monkeypatch, whole.commit, bilinear=lambda bundles, *given: asked.append(("springs", *inp, *given[1:])),
        forces=lambda problem, into: asked.append(("forces", *inp, into)))  # fmt: skip
    whole.commit(problem, part, work)
    end, anew = (1.5, 1.0, 2.0, 3.0, 4.0), springs > 0 and (weight < 1 or not even)
    assert asked == [
        *[("springs", *end, "F", "K", False)] * anew,
        *[("forces", *end, "F0")] * interpolated,
    ]
    EQUAL(held.committed, held.trial)
    EQUAL(work.a_before, part.a0)
    assert work.state[0].before == 0.25


# ---------------------------------------------------------------- Moreau-Jean, contacts


@for_each("seed", range(5))
def test_what_impulses_must_make_up_for_is_finite(seed):
    """w = G v_free + gap_t + e gap' of the active rows."""
    n, count, held, rng = 3, 5, 3, np.random.default_rng(seed)
    G, dense = rows(rng, count, n)
    act, rate, law, v = rng.permutation(count)[:4], *rng.normal(size=(2, 4)), rng.normal(size=n)
    active = space(act=act, rate=rate, law=law, w=np.full(4, np.nan), P=np.full(4, 9.0))
    problem, work = space(contacts=space(G=G)), space(active=active, iterate=space(v_free=v))
    assert solving.approach(problem, work, held)
    w = (rate + law + dense[act] @ v)[:held]
    np.testing.assert_allclose(active.w, [*w, np.nan], rtol=1e-12)
    for bad in (np.inf, np.nan):
        rate[2] = bad
        assert not solving.approach(problem, work, held)
        rate[3], rate[2] = bad, 1.0
        assert solving.approach(problem, work, held)
    rate[3] = 0.0
    largest = max(*abs(rate + law)[:held], abs(dense[act[:held]] * v).max())
    active.w[3] = 9e9
    for part, told in ((0.9, True), (1.1, False)):
        for j in range(held):
            active.w[:held], active.P[:] = 0.0, 9.0
            active.w[j] = -part * solving.ROUND_OFF * largest
            nothing, size = solving.cancels(problem, work, held)
            assert (nothing, size) == (told, abs(active.w[j]))
            assert active.P.tolist() == ([0.0] * held + [9.0] if told else [9.0] * 4)


@for_each(("held", "many", "size", "status", "nothing", "told"), [
    (3, False, 3, SUCCESS, False, ["lines"]), (3, False, 3, FAILS, False, ["lines", "cancels"]), (3, False, 3, LCP_ITERATIONS, True, ["lines", "cancels"]),
    (3, False, 3, LCP_ITERATIONS, False, ["lines", "cancels"]), (3, True, 3, LCP_ITERATIONS, False, ["D", "lines", "cancels", "graph"]),
    (3, True, 3, LCP_ITERATIONS, True, ["D", "lines", "cancels"]), (3, True, 3, SUCCESS, False, ["D", "lines"]), (2, True, 3, SUCCESS, False, ["graph"]),
    (3, True, 0, SUCCESS, False, ["graph"]), (3, True, 3, FAILS, False, ["D", "lines", "cancels"]),
])  # fmt: skip
def test_a_solver_of_contacts_suits_their_number(
    monkeypatch, held, many, size, status, nothing, told
):
    """With factors of a graph only where D is too large, or the lines have no end."""
    said, m = [], 2

    def note(name, result):
        return lambda *given: said.append(name) or result

    steady = []

    def on_graph(*given):
        said.append("graph")
        steady.append((given[7], given[8], given[9]))
        return 5, 0.5

    put(monkeypatch, solving.with_friction, form_coupled=note("D", None), coulomb=note("lines", (status, 0.1)),
        cancels=note("cancels", (nothing, 0.2)), on_graph=on_graph)  # fmt: skip
    given = dict.fromkeys(("act", "place", "mu", "w", "P", "mode", "kinetic", "static"))
    work = space(
        active=space(D=np.zeros((size, size)), **given),
        state=[space(formed=0.1)],
        friction=None,
        graph=None,
    )
    contacts = space(tangents=None, G=None, compliance=space(diagonal=None))
    options = space(many=many, lcp=None, cones=None, turns=False)
    problem = space(
        options=options, contacts=contacts, sizes=space(contacts=4), factors=space(inverse=None)
    )
    task = space(problem=problem, work=work, record=space(gap_dot=[0, 1], active=[0, 1]))
    step = space(m=m, held=held, row=1, h=0.1, ht=0.05)
    got = solving.with_friction(task, step)
    assert said == told
    by_lines = (SUCCESS, 0.2) if nothing and status != SUCCESS else (status, 0.1)
    assert got == ((5, 0.5) if told[-1] == "graph" else by_lines)
    if told[-1] == "graph":
        for h, turns in ((0.1, False), (0.2, False), (0.1, True)):
            step.h, options.turns = h, turns
            solving.with_friction(task, step)
            assert steady[-1] == (pytest.approx(h * 0.05), 1, h == 0.1 and not turns)


@for_each(("m", "held", "constant", "many", "finite", "done", "told"), [
    (1, 1, True, False, True, True, ["w", "one"]), (1, 1, True, False, True, False, ["w", "one", "some"]), (2, 2, True, False, True, True, ["w", "some"]),
    (1, 2, True, False, True, True, ["w", "rubs"]), (1, 1, True, True, True, True, ["w", "rubs"]), (1, 1, False, False, True, True, ["D", "w", "one"]),
    (1, 1, False, False, False, True, ["D", "w"]), (2, 3, False, False, True, True, ["D", "w", "rubs"]),
])  # fmt: skip
def test_impulses_are_those_of_one_contact_or_of_more(
    monkeypatch, m, held, constant, many, finite, done, told
):
    said, P = [], np.full(3, 9.0)

    def note(name, result):
        return lambda *given: said.append(name) or result

    def solve_one(method, D, w):
        assert (method, D, w) == (3, 4.0, -2.0)
        said.append("one")
        return done, 0.5, 0.01

    put(monkeypatch, solving.impulses, form_active=note("D", None), approach=note("w", finite), solve_one=solve_one,
        with_friction=note("rubs", (5, 0.2)), without_friction=note("some", (6, 0.3)))  # fmt: skip
    work = space(
        active=space(D=np.diag([9.0, 4.0]), act=np.array([1, 0]), w=np.array([-2.0, 7.0]), P=P)
    )
    options = space(constant=constant, many=many, lcp=space(method=3))
    got = solving.impulses(
        space(options=options), work, space(m=m, held=held), space(problem=None, work=None)
    )
    assert said == told
    assert (
        got
        == {"one": (SUCCESS, 0.01), "some": (6, 0.3), "rubs": (5, 0.2), "w": (NOT_FINITE, 0.0)}[
            told[-1]
        ]
    )
    assert P[0] == (0.5 if "one" in told else 9.0)


# ---------------------------------------------------------------- Moreau-Jean, its iteration


@for_each(("constant", "gives", "turns", "q_star"), itertools.product((True, False), repeat=4))
def test_a_step_begins_where_velocities_lead(monkeypatch, constant, gives, turns, q_star):
    """Forces at q_i + h v_i, the mass matrix at q_i + gamma h v_i of a scheme that says so."""
    n, h, rng, said = 2, 0.2, np.random.default_rng(1), []
    q, v = rng.normal(size=(2, 3, n))
    inp, out = np.full(6, np.nan), np.arange(10.0, 16.0)
    work = space(
        iterate=space(q=np.zeros(n), v=np.zeros(n), F1="F1"), active=space(act=np.array([2, 0, 9]))
    )
    compliance = space(gap=np.full(3, np.nan))
    saddle = space()
    problem = space(bundles=space(inp=inp, out=out), method=space(q_star=q_star, gamma=0.3), sizes=space(n=n), linear=None,
                    options=space(constant=constant, gives=gives, turns=turns), contacts=space(compliance=compliance),
                    matrices=space(M=np.ones((n, n))))  # fmt: skip
    regular = [True]
    put(monkeypatch, iterating.predict, fill=fill, evaluate=lambda bundles, which: said.append((which, *inp[:5])),
        force=lambda bundles, which, rows, F: said.append((which, *inp[:5])), take_tangents=lambda *_: said.append("tangents"),
        take_mass=lambda *_: said.append(("mass", *inp[1:3])), has_mass=lambda *_: regular[0])  # fmt: skip
    given = (
        problem,
        space(q=q, v=v),
        work,
        space(row=1, h=h, t1=1.2, m=2),
        space(problem=space(saddle=saddle)),
    )
    assert iterating.predict(*given) == SUCCESS
    ahead = q[1] + h * v[1]
    EQUAL([work.iterate.q, work.iterate.v], [ahead, v[1]])
    place = (1.2, *ahead, *v[1])
    star = q[1] + h * 0.3 * v[1] if turns and q_star else ahead
    asked = [*[(GAP, *place)] * gives, (FORCE if constant else STEP, *place)]
    assert said == [*asked, *([] if constant else ["tangents", ("mass", *star)])]
    EQUAL(inp[1:3], star)
    EQUAL(compliance.gap, [12.0, 10.0, np.nan] if gives else [np.nan] * 3)
    regular[0] = False
    assert iterating.predict(*given) == (SUCCESS if constant else INDEFINITE)
    problem.matrices.M[0, 0] = np.nan
    assert iterating.predict(*given) == (SUCCESS if constant else NOT_FINITE)


@for_each(("seed", "constant"), itertools.product(range(4), (True, False)))
def test_free_velocities_are_those_without_contacts(monkeypatch, seed, constant):
    """v - W^-1 [M (v - v_i) - h theta F - h (1 - theta) F_i], with the constraints behind them."""
    n, count, held, rng = 3, 2, 2, np.random.default_rng(seed)
    G, dense = rows(rng, count + held, n)
    W, M = rng.normal(size=(n + held, n + held)), rng.normal(size=(n, n))
    F0, F1, v, v0 = rng.normal(size=(4, n))
    bias, h, ht = rng.normal(size=held), 0.3, 0.1

    def inertia(saddle, given, v, old, R, sizes):
        EQUAL(old, v0)
        R[:], sizes[:] = given @ (v - old), abs(given) @ abs(v - old)

    put(monkeypatch, iterating.free_velocity, inertia=inertia, respond=lambda problem, b: b.__setitem__(slice(None), np.linalg.solve(W, b)))  # fmt: skip
    iterate = space(
        F0=F0,
        F1=F1,
        R=np.full(n, np.nan),
        v=v,
        v_free=np.full(n + held, np.nan),
        bias=bias,
        size=np.full(n, np.nan),
    )
    problem = space(
        sizes=space(rows=count, n=n),
        contacts=space(G=G),
        matrices=space(M=M),
        options=space(constant=constant),
    )
    record = space(v=np.array([v0 * 9, v0]))
    scale = iterating.free_velocity(
        problem,
        record,
        space(iterate=iterate),
        space(row=1, h=h, ht=ht),
        space(problem=space(saddle=None)),
    )
    moved = np.zeros(n) if constant else M @ (v - v0)
    right = np.append(ht * F1 + (h - ht) * F0 - moved, -bias - dense[count:] @ v)
    expected = np.linalg.solve(W, right)
    expected[:n] += v
    np.testing.assert_allclose(iterate.v_free, expected, rtol=1e-9)
    assert scale == (0.0 if constant else pytest.approx((abs(M) @ abs(v - v0) + h * abs(F1)).max()))


@for_each(("answers", "held", "rebounds", "told"), [
    ([SUCCESS], 2, [], (SUCCESS, 0.0, 0.25)), ([FAILS], 3, [], (FAILS, 0.0, 0.25)), ([LCP_RAY], 2, [], (LCP_RAY, 0.0, 0.25)),
    ([LCP_RAY, SUCCESS], 3, [0.5], (SUCCESS, 0.5, 0.5)), ([LCP_RAY, SUCCESS], 3, [0.1], (SUCCESS, 0.1, 0.25)), ([LCP_RAY], 3, [0.0], (LCP_RAY, 0.0, 0.25)),
    ([LCP_RAY, LCP_RAY], 3, [0.5, 0.7], (LCP_RAY, 0.7, 0.25)),
])  # fmt: skip
@pytest.mark.parametrize("gives", [False, True])
def test_contacts_that_wedge_are_solved_without_what_they_give_back(
    monkeypatch, answers, held, rebounds, told, gives
):
    """v_free moves by W^-1 G' p."""
    n, count, rng, said = 3, 4, np.random.default_rng(1), []
    G, dense = rows(rng, count, n)
    act, P, v_free = np.array([2, 0, 3]), np.array([0.7, 0.0, -0.4]), rng.normal(size=n)
    start, left, back = v_free.copy(), iter(answers), iter(rebounds)
    put(monkeypatch, iterating.contact_step, predicted=lambda *given: said.append(given[2:4]), impulses=lambda *_: (next(left), 0.25),
        without_rebound=lambda problem, work, all_of: next(back), respond=lambda problem, b: b.__imul__(0.5))  # fmt: skip
    contacts = space(G=G, compliance=None)
    work = space(
        active=space(act=act, P=P, rate=None, law=None),
        iterate=space(rhs=np.full(n, 9.0), v_free=v_free, v=None),
        state=[space(formed=0.0)],
    )
    residuals = np.full((4, 2), np.nan)
    task = space(problem=space(contacts=contacts), work=work)
    problem = space(contacts=contacts, options=space(gives=gives))
    step = space(row=1, h=0.1, ht=0.05, m=2, held=held)
    status, lost = iterating.contact_step(
        problem, space(residuals=residuals), work, step, task, 0.0
    )
    assert (status, lost) == told[:2]
    assert residuals[2, 0] == told[2]
    assert np.isnan(residuals).sum() == 7
    assert said == [(2, 0.05)] * gives
    assert work.state[0].formed == 0.1
    moved = 0.5 * dense[act[:held]].T @ P[:held] if status == SUCCESS else 0.0
    np.testing.assert_allclose(v_free, start + moved)


@for_each(
    ("q_star", "gives", "m", "constraints"),
    itertools.product((True, False), (True, False), (0, 2), (0, 1)),
)
def test_laws_are_broken_by_what_the_new_state_changes(monkeypatch, q_star, gives, m, constraints):
    said = []
    put(monkeypatch, iterating.renew, force=lambda bundles, which, *_: said.append(which), take_tangents=lambda *_: said.append("tangents"),
        take_mass=lambda *_: said.append("mass"), evaluate=lambda bundles, which: said.append(which), retake=lambda *given: said.append(given[2]) or 0.3,
        broken=lambda *given: said.append(given[4:7]) or 0.2)  # fmt: skip
    contacts = space(compliance=None)
    problem = space(
        options=space(gives=gives),
        method=space(q_star=q_star),
        bundles=None,
        linear=None,
        sizes=space(constraints=constraints),
    )
    work = space(
        iterate=space(F1=None), active=space(act=None, P=None, D=None), state=[space(far=1.0)]
    )
    task = space(problem=space(bundles=None, contacts=contacts), work=None)
    turned, off = iterating.renew(problem, work, space(m=m, held=3, h=0.1, ht=0.05), task)
    rows_turn = not q_star and (m > 0 or constraints > 0)
    anew = [] if q_star else ["mass", *([GAP, 3] if rows_turn else [])]
    assert said == [STEP, "tangents", *anew, *[(m, 0.1, 0.05)] * gives]
    assert off == (0.2 if gives else 0.0)
    assert turned == max(0.3 * rows_turn, off)


@for_each(
    ("constant", "many", "formed", "status"),
    itertools.product((True, False), (True, False), (0.1, 0.2), (0, 1)),
)
def test_a_matrix_is_factored_where_it_may_have_changed(
    monkeypatch, constant, many, formed, status
):
    said = []
    put(
        monkeypatch,
        iterating.factor,
        factor_step=lambda *given: said.append(given[4]) or status,
        form_all=lambda *given: said.append(("D", given[2])),
    )
    contacts = space(G=space(val=None))
    problem = space(
        options=space(constant=constant, many=many),
        matrices=space(M=None, C=None, K=None),
        sizes=space(rows=2),
        contacts=contacts,
    )
    task = space(problem=space(saddle=None, contacts=contacts), work=None)
    regular = iterating.factor(
        problem, space(state=[space(formed=formed)]), space(h=0.1, ht=0.05), task
    )
    assert regular == (constant or status == 0)
    assert said == ([("D", 0.1)] * (not many and formed != 0.1) if constant else [0.05])


def iterated(
    monkeypatch,
    changes,
    norms=(1.0,) * 9,
    turned=0.0,
    off=0.0,
    regular=True,
    contact=SUCCESS,
    size=1.0,
    **given,
):
    """Iterate; return the status, the iterations, the residuals and what was asked for."""
    said, changes, norms = [], iter(changes), iter(norms)
    options = space(
        **{
            "constant": False,
            "newton_max": 4,
            "newton_tol": 1e-3,
            "state_force": False,
            "m": 1,
            **given,
        }
    )

    def contact_step(problem, record, work, step, task, lost):
        said.append(lost)
        return contact, lost + 1.0

    put(monkeypatch, iterating.iterate, factor=lambda *_: regular, free_velocity=lambda *_: 2.0, contact_step=contact_step,
        correct=lambda *_: (next(changes), size), force=lambda *_: said.append("force"), renew=lambda *_: (turned, off),
        residual=lambda *given: (next(norms), given[5] * 5.0), at_round_off=lambda change, size, still: still >= 2)  # fmt: skip
    record = space(residuals=np.full((3, 2), np.nan), iterations=np.zeros(3, int))
    work = space(iterate=space(F1=None))
    status = iterating.iterate(
        space(options=options, bundles=None, linear=None),
        record,
        work,
        space(row=1, m=options.m),
        None,
    )
    assert np.isnan(record.residuals[:2]).all()
    return status, record.iterations.tolist(), record.residuals[2, 1], said


def test_an_iteration_of_a_step_ends_where_it_has_solved_or_stands_still(monkeypatch):
    run = lambda *changes, **given: iterated(monkeypatch, changes, **given)  # noqa: E731
    falls = (1.0, 0.4, 0.1, 0.01)
    assert run(*falls) == (NEWTON_CAP, [0, 0, 4], 1.0, [0.0, 1.0, 2.0, 3.0])
    assert run(*falls, norms=[1.0, 0.01])[:2] == (SUCCESS, [0, 0, 2])  # 1e-3 of 2 times 5
    assert run(*falls, norms=[1.0, 0.011, 0.0])[:2] == (SUCCESS, [0, 0, 3])
    assert run(*falls, norms=[0.0] * 4, turned=2e-3)[:2] == (NEWTON_CAP, [0, 0, 4])
    assert run(*falls, norms=[0.0] * 4, turned=1e-3)[:2] == (SUCCESS, [0, 0, 1])
    assert run(1.0, 0.6, 0.4)[:2] == (
        SUCCESS,
        [0, 0, 3],
    )  # each is more than half of the one before
    assert run(1.0, 0.5, 0.3, 0.2)[:2] == (SUCCESS, [0, 0, 4])
    assert run(1.0, 0.6, 0.2, 0.11)[:2] == (NEWTON_CAP, [0, 0, 4])
    assert run(1.0, 0.6, 0.4, 0.3, off=2e-9)[:2] == (NEWTON_CAP, [0, 0, 4])
    assert run(1.0, 0.6, 0.4, 0.3, off=0.9e-9)[:2] == (SUCCESS, [0, 0, 3])
    assert run(*falls, norms=[np.nan] * 4)[0] == NOT_FINITE
    assert run(*falls, regular=False)[:2] == (SINGULAR, [0, 0, 1])
    assert run(*falls, contact=FAILS)[:2] == (FAILS, [0, 0, 1])
    assert run(*falls, contact=FAILS, m=0)[:2] == (NEWTON_CAP, [0, 0, 4])
    assert run(*falls, size=np.nan)[:2] == (NOT_FINITE, [0, 0, 1])
    for state_force in (False, True):
        told = run(*falls, constant=True, state_force=state_force)
        assert told == (SUCCESS, [0, 0, 1], 0.0, [0.0, *["force"] * state_force])


# ---------------------------------------------------------------- Moreau-Jean, its rows


@for_each(
    ("m", "biases", "rheonomic", "turns"),
    itertools.product((0, 2), (0, 2), (True, False), (True, False)),
)
def test_rows_are_taken_where_they_may_have_changed(monkeypatch, m, biases, rheonomic, turns):
    count, asked, out = 3, [], np.arange(100.0, 130.0)
    put(monkeypatch, rows_of.take, evaluate=lambda bundles, which: asked.append(which))
    active = space(act=np.array([2, 0, 1]), rate=np.full(3, 9.0))
    work, val = space(active=active, iterate=space(bias=np.full(biases, 9.0))), np.full(4, 9.0)
    problem = space(bundles=space(out=out), outputs=space(G=10, rates=3), options=space(rheonomic=rheonomic, turns=turns),
                    contacts=space(G=space(val=val)), sizes=space(rows=count))  # fmt: skip
    rows_of.take(problem, work, space(m=m, held=m))
    anew = (m > 0 or biases > 0) and (rheonomic or turns)
    assert asked == [GAP] * anew
    EQUAL(val, [110.0, 111.0, 112.0, 113.0] if anew and turns else [9.0] * 4)
    EQUAL(active.rate, [*([105.0, 103.0] if anew else [0.0, 0.0])[:m], *[9.0] * (3 - m)])
    EQUAL(work.iterate.bias, ([106.0, 107.0] if anew else [9.0, 9.0])[:biases])


def test_only_what_is_rigid_gives_nothing_back():
    """Of two contacts, one soft, and a tangent."""
    active = space(
        act=np.array([1, 0, 2, 0]), law=np.array([-0.7, 0.2, 0.4, -9.0]), P=np.full(4, 9.0)
    )
    problem = space(contacts=space(compliance=space(diagonal=np.array([0.0, 0.5]))))
    assert rows_of.without_rebound(problem, space(active=active), 3) == 0.4
    assert active.law.tolist() == [-0.7, 0.0, 0.0, -9.0]
    assert active.P.tolist() == [0.0, 0.0, 0.0, 9.0]
    active.law[:] = [5.0, -0.3, 0.1, -9.0]
    assert rows_of.without_rebound(problem, space(active=active), 3) == 0.3


@for_each(("turns", "bad"), itertools.product((True, False), (None, "gap", "rate", "tangent")))
def test_a_row_of_the_record_has_gaps_and_velocities(monkeypatch, turns, bad):
    """Of two contacts and a tangent, a constraint behind them; mu and partners beside."""
    n, nc, count, row, rng = 2, 2, 3, 1, np.random.default_rng(2)
    G, old = rows(rng, count, n)
    new = rng.normal(size=(count, n))
    q, v, rates, gaps = (
        rng.normal(size=(3, n)),
        rng.normal(size=(3, n)),
        rng.normal(size=count),
        rng.normal(size=nc),
    )
    if bad == "gap":
        gaps[0] = np.nan
    if bad is not None and bad != "gap":
        rates[2 if bad == "tangent" else 1] = np.inf
    out = np.full(30, np.nan)
    out[:nc], out[nc : nc + count], out[8:14], out[20], out[21], out[22] = (
        gaps,
        rates,
        new.ravel(),
        0.3,
        0.4,
        0.01,
    )
    put(monkeypatch, rows_of.look, evaluate=lambda bundles, which: None if which == GAP else 1 / 0)
    record = space(
        gap=np.full((3, nc), 9.0),
        gap_dot=np.full((3, count), 9.0),
        phi=np.full((3, 1), 9.0),
        partner=np.full((3, 2), 9),
        q=q,
        v=v,
    )
    state, active = space(far=1e-3, reach=1e-3), space(kinetic=np.zeros(1), static=np.zeros(1))
    problem = space(sizes=space(contacts=nc, rows=count, constraints=1), outputs=space(G=8, mu=20, mu_s=21, phi=22), options=space(turns=turns),
                    contacts=space(G=G, partners=np.array([4, 5])), bundles=space(out=out))  # fmt: skip
    status = rows_of.look(problem, record, space(active=active, state=[state]), row, 0.1)
    assert status == (SUCCESS if bad is None else NOT_FINITE)
    now = new if turns else old
    speed = now @ v[row] + rates
    np.testing.assert_allclose(record.gap_dot, [[9.0] * count, speed, [9.0] * count])
    EQUAL(record.gap, [[9.0] * nc, gaps, [9.0] * nc])
    assert (record.phi[row, 0], active.kinetic[0], active.static[0]) == (0.01, 0.3, 0.4)
    EQUAL(record.partner[row], [4, 5])
    if bad is None:
        assert state.far == pytest.approx(abs(now[:nc] * q[row]).max())
        assert state.reach == pytest.approx(0.1 * abs(speed[:nc]).max())
    problem.sizes.contacts = problem.sizes.constraints = 0
    record.gap[:] = 9.0
    assert rows_of.look(problem, record, space(active=active, state=[state]), row, 0.1) == SUCCESS
    EQUAL(record.gap, np.full((3, nc), 9.0))
