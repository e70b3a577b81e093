"""Parts of an event and of an implicit step, each against its definition."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.codes import NO_ACTIVE_SET, SUCCESS
from explorer.kernels.event_driven.records import CHANGES_BY_ALL, CONTACTS, DYNAMICS
from explorer.kernels.event_driven.velocity_reset import KEPT, NAMED
from explorer.kernels.model.structures import Rows

transition, impact = plain("event_driven.transition"), plain("event_driven.contact_impact")
stepping = plain("time_stepping.moreau_jean_iteration")
forming, turning = (
    plain("time_stepping.moreau_jean_contact"),
    plain("time_stepping.moreau_jean_rows"),
)
changing, law = plain("event_driven.change_constraints"), plain("event_driven.velocity_reset")


def branch(conditions, picks=(), moment=0, before=1):
    """Return the branch that conditions decide for, counted from the first, and whether one chose."""
    starts = np.append(0, np.cumsum([len(c) for c in conditions]))
    branches = [SimpleNamespace(first=9, last=9)] * before
    branches += [SimpleNamespace(first=a, last=b) for a, b in itertools.pairwise(starts)]
    state = [SimpleNamespace(moments=moment)]
    guard = SimpleNamespace(branch=before, branches=len(conditions), conditions=7)
    problem = SimpleNamespace(out=np.concatenate([*conditions, [0.0]]), state=state, inp=None,
                              functions=SimpleNamespace(table=None))  # fmt: skip
    transition.branch.__globals__["evaluate"] = lambda *_: None
    automaton = SimpleNamespace(branches=branches, guards=[None, guard])
    got = transition.branch(problem, automaton, 1, np.array(picks, int))
    return got - before if got >= 0 else None, state[0].moments > moment


def test_conditions_decide_for_a_branch():
    """The first whose conditions all hold; one of several only where a pick is to be made."""
    for before in (0, 1):
        for conditions, expected, chose in (
            ([[1.0], [-1.0]], 0, False),
            ([[-1.0], [1.0]], 1, False),
            ([[1.0, -1.0], [2.0, 0.5]], 1, False),
            ([[-1.0], [-2.0]], None, False),
            ([[-1e-7], [-1.0]], 0, False),  # but for round-off
            ([[-1e-5], [-1.0]], None, False),
            ([[-1e-7], [-1e-8]], 1, False),  # the nearest
            ([[1e-9], [1.0]], 0, False),  # barely there before the others
            ([[1.0], [1e-9]], 0, False),
            ([[-1.0], [1e-9], [1.0]], 1, False),
            ([[np.nan], [1.0]], 1, False),
            ([[np.nan, 1.0], [1.0, np.nan]], None, False),
            ([[1.0], [2.0]], 0, True),
            ([[-1.0], [2.0], [1.0]], 1, True),
            ([[1e-9], [2.0], [1.0]], 0, False),
            ([[0.0], [-1.0]], 0, False),
        ):
            assert branch(conditions, before=before) == (expected, chose), conditions
    several = [[1.0], [-1.0], [2.0], [3.0]]
    for picks, moment, expected in (((0,), 0, 0), ((1,), 0, 2), ((2,), 0, 3), ((3,), 0, 0), ((-1,), 0, 0),
                                    ((1, 2), 1, 3), ((1,), 1, 0), ((), 0, 0)):  # fmt: skip
        assert branch(several, picks, moment) == (expected, True)


@for_each("seed", range(8))
def test_contacts_answer_to_impulses_as_their_mass_matrix_tells(seed):
    """D = G M^-1 G' over touching contacts and, behind them, their tangents; and M^-1 F."""
    rng, n, nc, count = np.random.default_rng(seed), 4, 4, 6
    M, F, G = (
        rng.normal(size=(n, n)) + 3 * np.eye(n),
        rng.normal(size=n),
        rng.normal(size=(count, n)),
    )
    partner = np.array([-1, 4, -1, 5])
    out = np.zeros(99)

    def evaluate(table, which, inp, out):
        out[2 * count : 2 * count + count * n] = G.ravel()
        if which != CONTACTS:
            out[: n * n], out[n * n : n * n + n] = M.ravel(), F

    for kernel in (impact.delassus, impact.assemble):
        kernel.__globals__["evaluate"] = evaluate
    saddle = SimpleNamespace(W=np.zeros((n + 2, n + 2)), pivots=np.zeros(n, int), solution=np.zeros(n),
                             tangent=np.zeros(n))  # fmt: skip
    problem = SimpleNamespace(sizes=SimpleNamespace(n=n, n_c=nc, n_t=count - nc, rows=count),
                              functions=SimpleNamespace(table=None), state=[SimpleNamespace(held=0)],
                              rows=None, inp=None, out=out, partner=partner, saddle=saddle)  # fmt: skip
    m = 3
    act = np.append(rng.permutation(nc)[:m], np.full(count - m, -9))
    contacts = SimpleNamespace(act=act, place=np.full(m, -9), D=np.full((count, count), np.nan))
    total = impact.delassus(problem, contacts, m)
    listed = [*act[:m], *(partner[a] for a in act[:m] if partner[a] >= 0)]
    assert total == len(listed)
    assert [*act[:total]] == listed
    places = [listed.index(partner[a]) if partner[a] >= 0 else -1 for a in act[:m]]
    assert [*contacts.place] == places
    np.testing.assert_allclose(saddle.solution, np.linalg.solve(M, F), atol=1e-12)
    D = (G @ np.linalg.solve(M, G.T))[np.ix_(listed, listed)]
    np.testing.assert_allclose(contacts.D[:total, :total], D, atol=1e-12)
    M[:] = 0.0
    assert impact.delassus(problem, contacts, m) == -1


@for_each("seed", range(6))
def test_the_residual_of_an_implicit_step_is_its_definition(seed):
    """M (v - v_i) - h theta F - h (1 - theta) F_i - G' p - G_c' p_c, full and by the pattern."""
    rng, n, rows, held, constraints = np.random.default_rng(seed), 4, 5, 3, 2
    M, G = rng.normal(size=(n, n)), rng.normal(size=(rows + constraints, n))
    v, v0, F0, F1 = rng.normal(size=(4, n))
    act, P, lam = rng.permutation(rows)[:held], rng.normal(size=held), rng.normal(size=constraints)
    contacts = SimpleNamespace(
        G=Rows(np.arange(len(G) + 1) * n, np.tile(np.arange(n), len(G)), G.ravel())
    )
    h, ht = 0.1, 0.06
    p = G[act].T @ P + G[rows:].T @ lam
    expected = M @ (v - v0) - ht * F1 - (h - ht) * F0 - p
    for place in (np.zeros(0, int), np.arange(n + constraints)):
        ptr, col = np.arange(n + 1) * n, np.tile(np.arange(n), n)
        saddle = SimpleNamespace(place=place, ptr=ptr, col=col)
        problem = SimpleNamespace(saddle=saddle, contacts=contacts, matrices=SimpleNamespace(M=M),
                                  sizes=SimpleNamespace(n=n, rows=rows, constraints=constraints))  # fmt: skip
        if place.size:
            problem.matrices.M = M.reshape(-1, 1)
        iterate = SimpleNamespace(F0=F0, F1=F1, R=np.zeros(n), v=v, rhs=np.full(n, 9.0), size=np.zeros(n),
                                  v_free=np.append(np.zeros(n), lam))  # fmt: skip
        work = SimpleNamespace(iterate=iterate, active=SimpleNamespace(act=act, P=P))
        step = SimpleNamespace(row=1, h=h, ht=ht, held=held)
        record = SimpleNamespace(v=np.array([9 * v0, v0]))
        task = SimpleNamespace(problem=problem)
        for largest in (0.0, 100.0):
            norm, scale = stepping.residual(problem, record, work, step, task, largest)
            assert norm == pytest.approx(np.linalg.norm(expected))
            assert scale == pytest.approx(max(largest, abs(p).max()))


@for_each("seed", range(20))
def test_forces_say_what_is_held_and_what_slides(seed):
    """Inside the friction cone a tangent is held; on its edge it slides the other way."""
    rng, n, nc, nt = np.random.default_rng(seed), 2, 4, 3
    count, m = nc + nt + 1, 4  # and a constraint, which is always held
    at_mu, sticky = 2 * count + count * (n + 1), seed % 2
    out = np.full(at_mu + 2 * nt, np.nan)
    out[at_mu:] = rng.uniform(0.2, 2, 2 * nt)
    act = np.append(rng.permutation(nc), [0] * nt)
    tangents = {c: nc + i for i, c in enumerate(rng.permutation(nc)[:nt])}
    place, sigma, z, expected = np.full(m, -1), np.zeros(count, int), [], {}
    force, held, at, rows = rng.uniform(0.1, 3, m) * (rng.random(m) < 0.8), 1, m, {}
    for k in range(m):
        rows[act[k]] = (int(force[k] > 0), 0)
        if act[k] not in tangents:
            continue
        t = place[k] = at
        act[at] = row = tangents[act[k]]
        at += 1
        how = rng.integers(0, 6)  # slides, is held, on the edges, nearly on one
        mu = out[at_mu + row - nc + (nt * sticky if how > 1 else 0)]
        limit, sigma[t] = mu * force[k], impact.FREE if how > 1 else 2 * how - 1
        if how > 1:
            part = {2: rng.uniform(-0.9, 0.9), 3: 1.0, 4: -1.0, 5: 1.0 - 1e-14}[how]
            z += [limit * (1 + part), float(how == 3)]
        else:
            part = -float(sigma[t])
        expected[t] = part * limit
        slides = {0: -1, 1: 1, 2: 0, 3: -1, 4: 1, 5: -1}[how]
        touches = force[k] > 0
        rows[row] = (int(touches and slides == 0), int(touches) * slides)
    held += sum(closed for closed, _ in rows.values())
    structures = [SimpleNamespace(closed=9, sigma=9) for _ in range(count)]
    structures[-1].closed = 1
    problem = SimpleNamespace(sizes=SimpleNamespace(n=n, n_c=nc, n_t=nt, rows=count), out=out,
                              rows=structures, state=[SimpleNamespace(held=9)])  # fmt: skip
    contacts = SimpleNamespace(act=act, place=place, sigma=sigma, force=np.full(m + nt, np.nan),
                               z=np.append(force, z))  # fmt: skip
    impact.distribute(problem, contacts, m, at_mu + nt * sticky)
    np.testing.assert_allclose(contacts.force[:m], force)
    for t, f in expected.items():
        assert contacts.force[t] == pytest.approx(f, abs=1e-12)
    for row, (closed, slides) in rows.items():
        assert (structures[row].closed, structures[row].sigma) == (closed, slides), row
    assert problem.state[0].held == held


@for_each(
    ("speed", "e", "pull"), [(2.0, 0.5, -4.0), (1.0, 0.9, -0.1), (1.0, 1.0, -4.0), (1.0, 0.5, 3.0)]
)
def test_bounces_rest_after_a_geometric_series_of_flights(monkeypatch, speed, e, pull):
    """2 v / (a (1 - e)) in all, if the gap decelerates: a = -(G acc + gamma) of this contact."""
    n, count, contact, rng = 3, 5, 2, np.random.default_rng(1)
    G, acc, gamma = rng.normal(size=(count, n)), rng.normal(size=n), rng.normal(size=count)
    gamma[contact] = pull - G[contact] @ acc
    out = np.concatenate([np.full(2 * count, np.nan), G.ravel(), gamma, np.full(9, np.nan)])
    inp = np.concatenate([np.full(9, np.nan), acc])
    for name in ("evaluate", "accelerate"):
        monkeypatch.setitem(transition.rest_of.__globals__, name, lambda *_: None)
    problem = SimpleNamespace(sizes=SimpleNamespace(n=n, rows=count, rates=9 - n), inp=inp, out=out,
                              functions=SimpleNamespace(table=None))  # fmt: skip
    rest, fall = transition.rest_of(problem, contact, speed, e)
    assert fall == pytest.approx(-pull)
    flights = sum(2 * speed * e**k / -pull for k in range(2000)) if pull < 0 and e < 1 else np.inf
    assert rest == pytest.approx(flights)


def test_a_tangent_slides_sticks_or_turns(monkeypatch):
    """At a bound it slides against the force; at rest `settle` decides, and the kind tells of it."""
    nc, nt, held = 2, 2, 3
    found, space = {}, transition.slide_or_stick.__globals__
    monkeypatch.setitem(space, "identity", lambda *_: None)

    def settle(problem, contacts, band, slow, still, begins):
        assert (band, slow, still, begins) == (1e-6, 1e-12, held, 0)
        assert [row.prior for row in contacts.rows] == [row.closed for row in problem.rows]
        problem.rows[held].closed, problem.rows[held].sigma = found["then"]
        return 42

    def follow(problem, contacts, one, begins, band, slow):
        assert (one, begins, band, slow) == (held, problem.rows[held].sigma, 1e-6, 1e-12)
        return SUCCESS

    monkeypatch.setitem(space, "settle", settle)
    monkeypatch.setitem(space, "let_others_follow", follow)
    for closed, sigma, now, then, kind, slides in (
        (1, 0, held, None, "SLIDING", -1), (1, 0, held + nt, None, "SLIDING", 1),
        (0, 1, held, (1, 0), "STICKING", 0), (0, 1, held, (0, -1), "REVERSAL", -1),
        (0, -1, held, (0, 1), "REVERSAL", 1), (0, 1, held, (0, 1), "SLIDING", 1),
    ):  # fmt: skip
        rows = [SimpleNamespace(closed=1, sigma=0) for _ in range(nc + nt)]
        rows[held].closed, rows[held].sigma = closed, sigma
        state, head, found["then"] = SimpleNamespace(held=7, fired=-9), SimpleNamespace(guard=-9, kind=-9), then  # fmt: skip
        problem = SimpleNamespace(sizes=SimpleNamespace(n_c=nc, n_t=nt, rows=nc + nt), rows=rows, state=[state],
                                  partner=np.array([3, 2, 1, 0]))  # fmt: skip
        contacts = SimpleNamespace(rows=[SimpleNamespace(prior=-9) for _ in rows])
        event = SimpleNamespace(head=[head])
        status = transition.slide_or_stick(problem, contacts, event, now, held, 1e-6, 1e-12)
        assert status == (42 if then else SUCCESS)
        assert (head.kind, head.guard) == (space[kind], 0)
        assert rows[held].sigma == slides
        assert state.held == (7 if then else 6)
        assert state.fired == (held if then else held + nc + 2 * nt)
        assert rows[held].closed == (then[0] if then else 0)


@for_each(
    ("seed", "form"), itertools.product(range(3), ("form_all", "form_active", "form_coupled"))
)
def test_the_delassus_matrix_is_formed_and_nothing_of_the_last_is_kept(monkeypatch, seed, form):
    """D = G W^-1 G', with compliance / (h^2 theta) on its diagonal, of all rows or the active ones."""
    rng, n, rows, h, theta = np.random.default_rng(seed), 5, 4, 0.1, 0.6
    act, held = np.array([2, 0, 3, 9]), 3
    dense, soft, inverse = (
        rng.normal(size=(rows, n)),
        np.array([0.0, 2.0, 3.0]),
        rng.uniform(1, 2, n),
    )
    W = np.diag(1 / inverse) + (form != "form_coupled") * 0.3
    G = SimpleNamespace(
        ptr=np.arange(rows + 1) * n, col=np.tile(np.arange(n), rows), val=dense.ravel()
    )
    compliance = SimpleNamespace(
        diagonal=soft, ptr=np.zeros(4, int), col=np.zeros(0, int), val=None
    )
    for name in ("form_all", "form_active"):
        for solver in ("solve_factored", "solve_step"):
            monkeypatch.setitem(vars(forming)[name].__globals__, solver,
                                lambda *given: given[-1].__setitem__(slice(None), np.linalg.solve(W, given[-1])))  # fmt: skip
    kept, cones, state = (
        [SimpleNamespace(count=2)],
        [SimpleNamespace(contacts=1)],
        [SimpleNamespace()],
    )
    D = np.full((rows, rows), np.nan)
    work = SimpleNamespace(
        active=SimpleNamespace(D=D, act=act), iterate=SimpleNamespace(rhs=np.full(n, np.nan)), state=state,
        lcp=SimpleNamespace(kept=kept), friction=SimpleNamespace(cones=SimpleNamespace(kept=cones)),
    )  # fmt: skip
    problem = SimpleNamespace(
        contacts=SimpleNamespace(G=G, compliance=compliance), sizes=SimpleNamespace(rows=rows),
        method=SimpleNamespace(theta=theta), factors=SimpleNamespace(inverse=inverse), saddle=None,
    )  # fmt: skip
    given = h if form == "form_all" else SimpleNamespace(held=held, h=h, ht=h * theta)
    vars(forming)[form](problem, work, given)
    on = np.arange(rows) if form == "form_all" else act[:held]
    expected = dense @ np.linalg.solve(W, dense.T) + np.diag(np.append(soft, 0.0)) / (h * h * theta)
    np.testing.assert_allclose(D[np.ix_(on, on)], expected[np.ix_(on, on)], rtol=1e-10)
    assert np.isnan(D).sum() == rows**2 - len(on) ** 2
    assert cones[0].contacts < 0
    if form != "form_coupled":  # which serves with friction only, where nothing else is kept
        assert kept[0].count < 0
    if form == "form_all":
        assert (state[0].width, state[0].formed) == (rows - 1, h)


@for_each("seed", range(3))
def test_the_rate_of_a_change_is_its_derivative_along_the_motion(monkeypatch, seed):
    """r = a t + b q + c v of each change: r' = a + b v + c v', and r a moment later is r + r' dt."""
    rng, n, n_w, n_rho = np.random.default_rng(seed), 4, 3, 2
    a, (b, c), rates = rng.normal(size=n_w), rng.normal(size=(2, n_w, n)), 1 + 2 * n + n_rho
    inp = np.full(rates + 2 * n, np.nan)
    y, force = rng.normal(size=2 * n), rng.normal(size=n)
    inp[0], inp[1 : 1 + 2 * n], inp[rates + n :] = 0.0, y, force
    out, nan = np.full(99, np.nan), np.full(n_w * n_rho, np.nan)

    def evaluate(table, which, inp, out):
        q, v = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        told = (
            [b.ravel(), c.ravel(), nan, a]
            if which == CHANGES_BY_ALL
            else [a * inp[0] + b @ q + c @ v]
        )
        told = np.concatenate(told)
        out[: len(told)] = told

    monkeypatch.setitem(changing.rate_of.__globals__, "evaluate", evaluate)
    sizes = SimpleNamespace(n=n, n_w=n_w, n_rho=n_rho, rates=rates)
    problem = SimpleNamespace(sizes=sizes, inp=inp, out=out, functions=SimpleNamespace(table=None),
                              state=[SimpleNamespace(ahead=2e-5)])  # fmt: skip
    before = inp.copy()
    for k in range(n_w):
        rate = a[k] + b[k] @ y[n:] + c[k] @ force
        assert changing.rate_of(problem, k) == pytest.approx(rate)
        dt = 10 * 2e-5
        now = b[k] @ y[:n] + c[k] @ y[n:] + dt * rate + dt**2 / 2 * (b[k] @ force)
        assert changing.glance(problem, k, y) == pytest.approx(now, abs=1e-13)
        np.testing.assert_array_equal(inp, before)


def test_a_constraint_that_follows_from_others_contradicts_them_by_its_rate(monkeypatch):
    """G v + phi_t of what is declared and not held beside others is 0, but for a millionth of v."""
    n, first, rng = 3, 4, np.random.default_rng(0)
    count, v = first + 3, rng.normal(size=n)
    G, rate = rng.normal(size=(count, n)), rng.normal(size=count)
    small = changing.OFF * (1.0 + abs(v).max())
    declared = np.ones(count, bool)

    def evaluate(table, which, inp, out):
        assert which == CONTACTS
        out[:] = np.concatenate([np.full(count, np.nan), rate, G.ravel()])

    space = changing.contradicted.__globals__
    monkeypatch.setitem(space, "evaluate", evaluate)
    monkeypatch.setitem(space, "holds", lambda problem, c: declared[first + c])
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, rows=count, n_c=3, n_t=1), functions=SimpleNamespace(table=None),
        inp=np.concatenate([[9.0], np.full(n, 1e9), v]), out=np.empty(2 * count + count * n),
        rows=[SimpleNamespace(closed=0) for _ in range(count)],
    )  # fmt: skip
    for wrong in (None, 0, 1, 2):
        for by, told in (
            (0.9 * small, -1),
            (-0.9 * small, -1),
            (1.1 * small, wrong),
            (-1.1 * small, wrong),
        ):
            rate[:] = -G @ v
            rate[first + 1 :] += 0.5 * small
            if wrong is not None:
                rate[first + wrong] = -G[first + wrong] @ v + by
            assert changing.contradicted(problem) == (-1 if wrong is None else told)
    problem.rows[first + 2].closed = 1  # held to: it cannot be contradicted
    assert changing.contradicted(problem) == -1
    problem.rows[first + 2].closed, declared[first + 2] = 0, False
    assert changing.contradicted(problem) == -1
    rate[:], declared[:] = np.nan, True
    assert changing.contradicted(problem) == 0


@for_each(("contact", "kept"), itertools.product(range(2), range(2)))
def test_a_law_of_velocities_acts_along_its_coordinates_and_its_constraints(
    monkeypatch, contact, kept
):
    """M (v+ - v-) = E' p_E + G' p_G; of p_E what is along the gap is the impulse of the contact."""
    n, n_c, count, rng = 4, 2, 5, np.random.default_rng(kept)
    marks = np.zeros((n_c, 1 + n), int)
    marks[contact, 1 + rng.permutation(n)[:3]] = [NAMED, *[(NAMED, KEPT)[kept]] * 2]
    on = [*np.flatnonzero(marks[contact, 1:] == NAMED), *np.flatnonzero(marks[contact, 1:] == KEPT)]
    M, G = rng.normal(size=(n, n)), rng.normal(size=(count, n))
    W = np.vstack([np.eye(n)[on], G[4:]])
    p, v = rng.normal(size=n), rng.normal(size=(2, n))
    v[1] = v[0] + np.linalg.solve(M, W.T @ p)
    at = SimpleNamespace(x_minus=1, x_plus=10, p=20)
    row, out = np.full(30, np.nan), np.full(99, np.nan)
    row[at.x_minus + n :][:n], row[at.x_plus + n :][:n] = v

    def evaluate(table, which, inp, out):
        told = M.ravel() if which == DYNAMICS else np.append(np.full(2 * count, np.nan), G)
        out[:], out[: told.size] = np.nan, told

    space = law.law_impulses.__globals__
    monkeypatch.setitem(space, "evaluate", evaluate)
    monkeypatch.setitem(space, "transposed_solve",
                        lambda W, n, pivots, x: x.__setitem__(slice(n), np.linalg.solve(W.T, x[:n])))  # fmt: skip
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, rows=count, n_c=n_c, n_t=1), functions=SimpleNamespace(table=None),
        rows=[SimpleNamespace(closed=c) for c in (1, 1, 1, 0, 1)], inp=None, out=out, resets=marks,
        saddle=SimpleNamespace(W=W, pivots=None, tangent=np.full(n, np.nan)),
    )  # fmt: skip
    law.law_impulses(problem, None, SimpleNamespace(row=row, at=at), contact)
    slope = G[contact, on]
    expected = np.full(count, np.nan)
    expected[contact], expected[4] = slope @ p[:3] / (slope @ slope), p[3]
    np.testing.assert_allclose(row[at.p : at.p + count], expected, rtol=1e-9)


@for_each(("seed", "held"), itertools.product(range(4), (0, 2, 3)))
def test_rows_that_have_turned_tell_by_how_much_their_laws_are_broken(seed, held):
    """The change of G v + gap_t of active rows and of constraints, beside its largest term."""
    rng, n, nc, rows, constraints = np.random.default_rng(seed), 3, 2, 4, 2
    every, at_G = rows + constraints, 11
    act, v, bias = np.array([3, 0, 2]), rng.normal(size=n), rng.normal(size=constraints)
    rate, before = rng.normal(size=3), rng.normal(size=(every, n))
    G, by_time = before + 0.1 * rng.normal(size=(every, n)), rng.normal(size=every)
    out = np.full(at_G + every * n, np.nan)
    out[nc : nc + every], out[at_G:] = by_time, G.ravel()
    contacts = SimpleNamespace(
        ptr=np.arange(every + 1) * n, col=np.tile(np.arange(n), every), val=before.ravel().copy()
    )
    problem = SimpleNamespace(
        contacts=SimpleNamespace(G=contacts), bundles=SimpleNamespace(out=out), outputs=SimpleNamespace(G=at_G),
        sizes=SimpleNamespace(contacts=nc, rows=rows),
    )  # fmt: skip
    work = SimpleNamespace(
        active=SimpleNamespace(act=act, rate=rate.copy()),
        iterate=SimpleNamespace(v=v, bias=bias.copy()),
    )
    on = [*act[:held], *range(rows, every)]
    old = np.append(rate[:held], bias)
    moved = np.abs((G - before)[on] @ v + by_time[on] - old).max()
    most = max(np.abs(G[on] * v).max(), np.abs(by_time[on]).max())
    assert turning.retake(problem, work, held) == pytest.approx(moved / most)
    np.testing.assert_array_equal(contacts.val, G.ravel())
    np.testing.assert_array_equal(work.active.rate, [*by_time[on[:held]], *rate[held:]])
    np.testing.assert_array_equal(work.iterate.bias, by_time[rows:])
    assert turning.retake(problem, work, held) == pytest.approx(0.0, abs=1e-15)


@for_each(
    ("branches", "chosen", "left"), [(0, -1, -1), (1, 1, -1), (1, 1, 2), (1, -1, -1), (3, 2, 1)]
)
def test_a_guard_leads_to_its_mode_or_to_the_branch_that_is_chosen(
    monkeypatch, branches, chosen, left
):
    """Even where there is one branch alone; without one that holds the mode stays, and it is said."""
    space = transition.switch.__globals__
    state, head = [SimpleNamespace(mode=1, fired=-9)], [SimpleNamespace(t=2.0)]
    guards = [None, SimpleNamespace(branches=branches, same=7, to=4, flags=0, beyond=-1)]
    rows = [SimpleNamespace(to=10 + k, left=left) for k in range(4)]
    automaton = SimpleNamespace(first=[9, 0], guards=guards, branches=rows)
    for name, stand_in in {
        "accumulates": lambda *_: (False, 0.0), "guard_count": lambda *_: 20, "branch": lambda *_: chosen,
        "reset": lambda problem, automaton, g, event: setattr(state[0], "mode", guards[g].to),
    }.items():  # fmt: skip
        monkeypatch.setitem(space, name, stand_in)
    options, event = SimpleNamespace(rest=0.0, picks=()), SimpleNamespace(head=head)
    status = transition.switch(SimpleNamespace(state=state), automaton, options, event, 1, 0.0)
    none = branches > 0 and chosen < 0
    assert status == (NO_ACTIVE_SET if none else space["GOES_ON"])
    assert state[0].mode == (1 if none else 10 + chosen if branches else 4)
    assert state[0].fired == (-9 if none else 20 + left if left >= 0 else 7)
    assert (head[0].guard, head[0].kind) == (1, space["CROSSING"])


@for_each("rows", [4, 7])
def test_near_contacts_are_active_and_soft_ones_always(rows):
    """A gap at the forecast beyond zero; of soft ones, however stiff, (gap / h + (1 - theta) g') / theta."""
    nc, h, theta = 4, 0.1, 0.6
    compliance = np.array([0.0, 1e-6, 0.0, 3.0])
    gap, speed = np.array([0.02, 9.0, 0.02, 9.0]), np.array([-0.5, 0.3, -0.1, -0.2])
    tangents = np.array([4, 4, 5, 5, 7]) if rows > nc else np.full(5, 4)
    e, p = np.linspace(0.1, 0.7, rows), np.arange(1.0, rows + 1)
    record = SimpleNamespace(
        gap=np.tile(gap, (3, 1)), gap_dot=np.tile(np.append(speed, np.ones(rows - nc)), (3, 1)),
        active=np.full((3, nc), 9), p=np.tile(p, (3, 1)),
    )  # fmt: skip
    names = {"act": int, "place": int, "law": float, "P": float}
    work = SimpleNamespace(
        active=SimpleNamespace(**{k: np.full(rows, 99, v) for k, v in names.items()}),
        state=[SimpleNamespace(far=1.0, reach=1.0)],
    )  # fmt: skip
    problem = SimpleNamespace(
        method=SimpleNamespace(theta=theta, forecast=0.5), sizes=SimpleNamespace(contacts=nc, rows=rows),
        contacts=SimpleNamespace(e=e, tangents=tangents, compliance=SimpleNamespace(diagonal=compliance)),
    )  # fmt: skip
    m, held = turning.choose(problem, record, work, 1, h)
    normals, behind = [0, 1, 3], [4, 5, 6] if rows > nc else []  # of 0 none, of 1 one, of 3 two
    assert (m, held) == (3, 3 + len(behind))
    assert work.active.act[:held].tolist() == normals + behind
    assert work.active.place[:m].tolist() == ([-1, 3, 4] if behind else [-1, -1, -1])
    assert record.active[2].tolist() == [1, 0, 9, 0]
    law = [e[a] * record.gap_dot[1, a] for a in normals + behind]
    for k, a in ((1, 1), (2, 3)):
        law[k] = (gap[a] / h + (1 - theta) * speed[a]) / theta
    np.testing.assert_allclose(work.active.law[:held], law)
    np.testing.assert_array_equal(work.active.P[:held], p[normals + behind])


@for_each(("back", "twelfth", "rest", "zeno", "remains"), [
    ((0.25, 0.5, 1.0), 9.0, 9.0, True, 0.25), ((0.25, 0.5, 1.0), 9.0, 0.2, False, 0.25), ((0.25, 0.5, 0.98), 9.0, 9.0, True, 0.25), ((0.25, 0.5, 0.8), 9.0, 9.0, False, 0.25),
    ((0.25, 0.5, 0.5), 9.0, 9.0, False, 0.25), ((0.5, 0.5, 1.0), 9.0, 9.0, False, np.inf), ((0.25, 0.0, 1.0), 9.0, 9.0, False, np.inf), ((1.0, 0.5, 0.75), 9.0, 9.0, False, np.inf),
    ((0.4996, 0.5, 0.5004), 9999.0, 999.0, False, 0.4996 * 0.4996 / 0.0004), ((1.0, 0.5, 0.75), 0.1, 0.2, True, 0.0), ((1.0, 0.5, 0.75), 0.2, 0.1, False, np.inf), ((0.25, 0.5, 1e300), 9.0, 9.0, False, 0.25),
])  # fmt: skip
def test_events_accumulate_whose_intervals_shrink_by_one_ratio(back, twelfth, rest, zeno, remains):
    """They would take q d / (1 - q) more. Or so many have been in a moment, of whatever guards."""
    t, (first, second, third) = 7.0, back
    last = [SimpleNamespace(first=99.0, second=99.0, third=99.0), SimpleNamespace(first=t - first, second=t - first - second, third=t - first - second - third)]  # fmt: skip
    told = transition.accumulates(SimpleNamespace(last=last), 1, t, t - twelfth, rest)
    assert (bool(told[0]), told[1]) == (zeno, pytest.approx(remains))
    assert vars(last[1]) == {"first": t, "second": t - first, "third": t - first - second}
    assert last[0].first == 99.0
