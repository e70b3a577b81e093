"""Parts of FESD and of contact solvers, uncompiled, each against its definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import INDEFINITE, LCP_ITERATIONS, LCP_RAY, NOT_FINITE, SUCCESS
from explorer.kernels.model.structures import FORCE, STEP

marching, ending = plain("fesd.march"), plain("fesd.active_set_ends")
fixed, coulomb = plain("fesd.fixed_step_rk"), plain("friction.coulomb")
constrained = plain("time_stepping.constrained_alpha")
alpha, saddles = (
    plain("time_stepping.nonsmooth_alpha_iteration"),
    plain("linear_algebra.saddle_point"),
)
MULTIPLIER = ending.MULTIPLIER
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal


# ---------------------------------------------------------------- phases of FESD


@for_each(("kind", "many"), itertools.product((MULTIPLIER, MULTIPLIER + 1), (1, 2, 4)))
def test_a_phase_counts_with_how_many_sets_are_possible(kind, many):
    now, tally = space(kind=kind, slope=0.7, several=5, phases=1), space(phases=0, consistent=3)
    phases = space(switches=[None, space(consistent=many)], slope=np.full(3, 9.0))
    marching.count(space(march=[now]), phases, [tally])
    assert (now.phases, now.several) == (2, 5 + (many > 1))
    assert (tally.phases, tally.consistent) == (2, max(3, many))
    EQUAL(phases.slope, [9.0, 0.7 if kind == MULTIPLIER else 9.0, 9.0])


def test_a_set_is_chosen_anew_as_at_the_start():
    now = space(due=0, kind=7, which=3, slope=0.5, other=1, again=1)
    marching.anew(space(march=[now]))
    assert vars(now) == {"due": 1, "kind": 0, "which": -1, "slope": 0.0, "other": 0, "again": 0}


def test_a_slide_that_is_over_ends_at_its_bound():
    now, end = space(due=0, kind=7, which=9, slope=0.5), np.array([0.2, 0.3, 0.4])
    marching.over_at_once(space(march=[now], ending=[space(which=1, bound=1.0)], end=end))
    assert vars(now) == {"due": 1, "kind": MULTIPLIER, "which": 1, "slope": 0.0}
    assert end.tolist() == [0.2, 1.0, 0.4]


@for_each("many", (1, 2))
def test_another_set_is_chosen_at_the_end_of_the_last_phase(monkeypatch, many):
    """Where the multipliers were those of the last element, carried on by its tableau."""
    nsel, rng, said = 2, np.random.default_rng(1), []
    weights, mult = np.array([0.5, -2.0, 2.5]), rng.normal(size=(4, 6))
    now = space(other=0, phases=3, several=5, count=3, slope=0.0)
    element = space(problem=space(n_sel=nsel), tableau=space(end=weights))
    ws, phases = (
        space(march=[now], element=element, end=np.zeros(nsel)),
        space(slope=np.array([0.1, 0.2, 0.3, 0.4])),
    )
    phases.switches = [
        space(consistent=9),
        space(consistent=9),
        space(consistent=many),
        space(consistent=9),
    ]
    put(monkeypatch, marching.choose_again, restore=lambda element, phases, p: said.append(p))
    marching.choose_again(ws, space(mult=mult), phases)
    assert (now.other, now.phases, now.several, now.slope) == (1, 2, 5 - (many > 1), 0.3)
    assert said == [1]
    np.testing.assert_allclose(ws.end, weights @ mult[2].reshape(3, nsel))


@for_each(("inside", "sel", "early", "before", "told"), [
    (True, (0.2, 0.5), 0.1, 9.0, None), (True, (0.2, 1.5), 0.1, 9.0, (1.0, 0.4 + 0.6 * 0.8 / 1.3)), (True, (-0.5, 0.5), 0.1, 9.0, (0.0, 0.4 * 0.1 / 0.6)),
    (True, (0.5, -0.5), 0.1, 9.0, (0.0, 0.7)), (True, (1.5, 2.0), 1.2, 9.0, (1.0, 0.2)), (True, (-0.5, 9.0), -0.1, 9.0, (0.0, 0.2)),
    (True, (0.2, 1.5), 0.1, 0.5, None), (False, (0.2, 0.5), 0.1, 9.0, None), (False, (0.4, 0.8), 0.1, 9.0, (1.0, 0.8 + 0.2 * 0.2 / 0.4)),
    (False, (0.4, 0.1), 0.1, 9.0, (0.0, 0.8 + 0.2 * 0.1 / 0.3)), (False, (0.4, 0.8), 0.1, 0.8, None), (False, (0.4, 0.5), 0.1, 9.0, None),
])  # fmt: skip
def test_a_multiplier_leaves_its_bounds_where_a_line_crosses_them(inside, sel, early, before, told):
    """Between stages; at half the first one where it begins beyond; or at an end that is no stage."""
    c = np.array([0.4, 1.0]) if inside else np.array([0.4, 0.8])
    end = np.array([0.0, 1.0]) if inside else np.array([-1.0, 2.0])
    stages = space(sel=np.array([[7.0, sel[0]], [7.0, sel[1]]]))
    one = space(which=-1, bound=-1.0, fraction=before)
    kind = ending.leaves_bounds(space(stages=stages, tableau=space(c=c, end=end)), 1, early, [one])
    if told is None:
        assert (one.which, one.bound, one.fraction) == (-1, -1.0, before)
        assert kind != MULTIPLIER
        return
    assert kind == MULTIPLIER
    assert (one.which, one.bound, one.fraction) == (1, told[0], pytest.approx(told[1]))


def test_a_multiplier_at_the_start_has_not_left():
    """What an explicit method has there is where it begins."""
    stages, one = space(sel=np.array([[1.4], [0.5]])), space(which=-1, bound=-1.0, fraction=9.0)
    ending.leaves_bounds(
        space(stages=stages, tableau=space(c=np.array([0.0, 1.0]), end=np.array([0.0, 1.0]))),
        0,
        0.5,
        [one],
    )
    assert one.which == -1


# ---------------------------------------------------------------- Runge-Kutta of fixed steps


@for_each("seed", range(4))
def test_slopes_respond_to_each_variable(seed):
    """J dK = F, with F at the stage of the variable."""
    n, s, nv, rng = 2, 3, 2, np.random.default_rng(seed)
    wide = s * n
    J, F = rng.normal(size=(wide, wide)) + 4 * np.eye(wide), rng.normal(size=(s, n * nv))
    factors, pivots = J.copy(), np.zeros(wide, int)
    assert fixed.lu_factor(factors, wide, wide - 1, wide - 1, pivots) == 0
    columns = np.full((s * nv, wide), np.nan)
    fixed.respond(
        space(
            slopes=space(J=factors, pivots=pivots, columns=columns),
            linear=space(F=F),
            problem=space(n_x=n),
            groups=space(member=[0] * nv),
        )
    )
    for i, v in itertools.product(range(s), range(nv)):
        right = np.zeros(wide)
        right[i * n : (i + 1) * n] = F[i, np.arange(n) * nv + v]
        np.testing.assert_allclose(columns[i * nv + v], np.linalg.solve(J, right), rtol=1e-9)


def test_a_step_ends_where_its_weights_lead(monkeypatch):
    asked, inp = [], np.array([0.0, 4.0, 5.0, 9.0])
    put(
        monkeypatch,
        fixed.finish,
        place=lambda problem, weights, t, x, h, K: asked.append((weights, t, x, h, K)),
    )
    end = np.zeros(2)
    step = space(unknowns=space(end=end, K="K"), problem=space(inp=inp), tableau=space(b="b"))
    assert fixed.finish(step, 1.0, "x", 0.25) == SUCCESS
    assert asked == [("b", 1.25, "x", 0.25, "K")]
    assert end.tolist() == [4.0, 5.0]
    for k in (1, 2):
        inp[1:3] = 4.0
        inp[k] = np.inf
        assert fixed.finish(step, 1.0, "x", 0.25) == NOT_FINITE


# ---------------------------------------------------------------- friction


@for_each(("mode", "slip", "first", "told"), [
    (1, 1.0, True, (0.3, False)), (1, -1.0, True, (0.3, True)), (1, -1.0, False, (0.3, False)), (-1, 1.0, True, (0.3, True)), (-1, -1.0, True, (0.3, False)),
    (2, -1.0, True, (0.3, False)), (0, -1.0, True, (0.3, False)), (1, 0.0, True, (0.3, False)),
])  # fmt: skip
def test_a_coefficient_is_revised_where_a_contact_slides(monkeypatch, mode, slip, first, told):
    """With whether it turns; a contact without friction and what sticks or is open keep theirs."""
    asked = []

    def revised(old, kinetic, static, turns):
        asked.append((old, kinetic, static, turns))
        return 0.9

    put(monkeypatch, coulomb.revise, revised=revised)
    nc = 3
    contacts = space(D=None, act=np.array([2, 0, 4]), rows=3, place=np.array([2, -1]), mu=np.array([0.3, 0.4]), q=None, P=None, m=2,
                     mode=np.array([1, 9, mode]), tangents=np.array([3, 3, 4, 5]))  # fmt: skip
    friction = space(
        kinetic=np.array([9.0, 0.1]),
        static=np.array([9.0, 0.2]),
        slip=np.array([7.0, 7.0, 7.0, 7.0, slip]),
    )
    slides = abs(mode) == 1
    assert coulomb.revise(contacts, friction, nc, first) == slides
    assert asked == [(told[0], 0.1, 0.2, told[1])] * slides
    EQUAL(contacts.mu, [0.9 if slides else 0.3, 0.4])
    put(monkeypatch, coulomb.revise, revised=lambda old, *_: old)
    assert not coulomb.revise(contacts, friction, nc, first)


@for_each(
    ("static", "velocities", "turns"),
    [(0.2, (1.0, -0.4), True), (0.2, (1.0, 0.4), False), (0.1, (1.0, -0.4), False)],
)
def test_a_contact_in_space_turns_where_it_slides_against_what_it_did(
    monkeypatch, static, velocities, turns
):
    """By both tangents; with one coefficient nothing is asked of that."""
    asked, told = [], []
    put(monkeypatch, coulomb.revise, velocity=lambda D, act, j, rows, q, z: asked.append(j) or velocities[j - 1],
        revised=lambda old, kinetic, static, turns: told.append(turns) or old)  # fmt: skip
    contacts = space(D=None, act=np.array([0, 1, 2]), rows=3, place=np.array([1]), mu=np.array([0.3]), q=None, P=None, m=1,
                     mode=np.array([1]), tangents=np.array([1, 3]))  # fmt: skip
    friction = space(
        kinetic=np.array([0.1, 0.1]),
        static=np.array([static, static]),
        slip=np.array([9.0, 0.5, 2.0]),
    )
    assert not coulomb.revise(contacts, friction, 1, True)
    assert asked == ([1, 2] if static > 0.1 else [])
    assert told == [turns]


@for_each(("method", "exchanged", "offs", "status", "said", "told"), [
    ("LEMKE", SUCCESS, (0.02,), None, ["exchange"], (SUCCESS, 0.02)), ("LEMKE", FAILS, (0.02, 0.01), SUCCESS, ["exchange", "lcp"], (SUCCESS, 0.01)),
    ("LEMKE", SUCCESS, (0.05, 0.02), SUCCESS, ["exchange", "lcp"], (SUCCESS, 0.02)), ("LEMKE", SUCCESS, (0.05, 0.05, 0.02), LCP_RAY, ["exchange", "lcp", "space"], (SUCCESS, 0.02)),
    ("LEMKE", FAILS, (0.05, np.nan, 0.05), LCP_RAY, ["exchange", "lcp", "space"], (FAILS, 0.05)), ("PGS", None, (0.02,), None, ["sweep"], (SUCCESS, 0.02)),
    ("PGS", None, (0.05,), None, ["sweep"], (LCP_ITERATIONS, 0.05)), ("other", None, (0.02,), SUCCESS, ["lcp"], (SUCCESS, 0.02)),
    ("other", None, (0.05,), LCP_RAY, ["lcp"], (LCP_RAY, 0.05)), ("other", None, (0.05,), SUCCESS, ["lcp"], (LCP_ITERATIONS, 0.05)),
])  # fmt: skip
def test_lines_are_solved_by_one_method_after_the_other(
    monkeypatch, method, exchanged, offs, status, said, told
):
    """A residual counts beside the largest of q, here 0.01 of 4; the last ones begin at zero."""
    number = {
        "LEMKE": coulomb.LEMKE,
        "PGS": coulomb.PGS,
        "other": max(coulomb.LEMKE, coulomb.PGS) + 1,
    }[method]
    log, left, z = [], iter(offs), np.full(3, 9.0)

    def note(name, result):
        def tell(*given):
            log.append(name)
            if name in ("sweep", "space"):
                assert not z[:2].any()
                assert z[2] == 9.0
            if name == "sweep":
                assert given[1:] == (0.01 * 4.0, 50)
            return result

        return tell

    kept = space(contacts=3)
    put(monkeypatch, coulomb.along_lines, exchange=note("exchange", exchanged), complementarity=note("lcp", status), residual=lambda contacts: next(left),
        sweep=note("sweep", SUCCESS), in_space=note("space", (FAILS, 9.0)))  # fmt: skip
    contacts = space(rows=2, q=np.array([1.0, -4.0, np.nan]), P=z)
    work = space(active=None, glocker=None, cones=space(kept=[kept]))
    options = space(method=number, tol=0.01, max_iter=50)
    assert coulomb.along_lines(contacts, options, work) == told
    assert log == said
    assert kept.contacts == (-1 if "space" in said else 3)
    contacts.q[1] = np.nan
    assert coulomb.along_lines(contacts, options, work)[0] == LCP_RAY


# ---------------------------------------------------------------- matrices of a step


@for_each(("constant", "moves", "check", "definite"), itertools.product((True, False), repeat=4))
def test_matrices_are_taken_where_a_step_is_in_balance(
    monkeypatch, constant, moves, check, definite
):
    """K = -F_q and what moves the masses, over the share of F; C = -F_v."""
    n, rng, said = 2, np.random.default_rng(1), []
    at, inertia, inp = np.array([0, 3]), np.array([1, 3]), np.full(9, np.nan)
    out = np.full(20, np.nan)
    slopes, masses, moved, a_m = (
        rng.normal(size=4),
        rng.normal(size=2),
        rng.normal(size=2),
        rng.normal(size=n),
    )
    K, C, M = np.full(4, 7.0), np.full(4, 7.0), np.full((n, n), 7.0)

    def force(bundles, which, rows, F):
        said.append(which)
        EQUAL(inp[:5], [0.4, 1.0, 2.0, 3.0, 4.0])
        F[:] = 5.0
        out[n : n + 4] = slopes

    def evaluate(bundles, which):
        said.append(which)
        if which == alpha.INERTIA:
            EQUAL(inp[-n:], a_m)
        out[:2] = masses if which == alpha.MASS_ENTRIES else moved

    def fill(inp, t, q, v, n):
        inp[:5] = [t, *q, *v]

    put(
        monkeypatch,
        alpha.linearise,
        fill=fill,
        force=force,
        evaluate=evaluate,
        positive_definite=lambda M, n, LU: LU == "LU" and definite,
    )
    work = space(
        x=np.zeros(n),
        F=np.zeros(n),
        d_f=[1.0, 2.0],
        v_f=[3.0, 4.0],
        a_m=a_m,
        responses=space(LU={alpha.MASS: "LU"}),
    )
    problem = space(bundles=space(inp=inp, out=out), places=space(K=at, C=at, M=at, inertia=inertia), linear=None, method=space(share=0.6),
                    matrices=space(M=M, M_flat=M.ravel(), K_flat=K, C_flat=C), options=space(constant=constant, moves=moves))  # fmt: skip
    status = alpha.linearise(problem, work, space(t_f=0.4), check)
    fails = not constant and moves and check and not definite
    assert status == (INDEFINITE if fails else SUCCESS)
    assert work.F.tolist() == [5.0, 5.0]
    if constant:
        assert said == [FORCE]
        EQUAL(K, [7.0] * 4)
        return
    assert said == [STEP, *[alpha.MASS_ENTRIES, alpha.INERTIA] * moves]
    expected = np.full(4, 0.0 if moves else 7.0)
    expected[at] = -slopes[:2]
    expected[inertia] += moved / 0.6 * moves
    np.testing.assert_allclose(K, expected)
    EQUAL(C, [-slopes[2], 7.0, 7.0, -slopes[3]])
    EQUAL(M.ravel(), [masses[0], 7.0, 7.0, masses[1]] if moves else [7.0] * 4)
    M[0, 1] = np.inf
    if fails:
        assert alpha.linearise(problem, work, space(t_f=0.4), check) == NOT_FINITE


@for_each("banded", (True, False))
def test_two_right_sides_are_solved_for_at_once(monkeypatch, banded):
    N, rng = 4, np.random.default_rng(2)
    A, b, c = rng.normal(size=(N, N)) + 4 * np.eye(N), *rng.normal(size=(2, N))
    expected = np.linalg.solve(A, np.stack([b, c], axis=1))
    pair, place, pivots = np.full((N, 2), np.nan), np.array([2, 0, 3, 1]), np.zeros(N, int)
    if banded:
        W = np.zeros((N, 7))  # of a half band of 2

        def band_solve_two(given, n, below, pivots, pair):
            assert given is W
            assert (n, below) == (N, 2)
            order = np.argsort(place)
            pair[:] = np.linalg.solve(A[np.ix_(order, order)], pair)

        put(monkeypatch, saddles.solve_two, band_solve_two=band_solve_two)
    else:
        W, place = A.copy(), np.zeros(0, int)
        assert saddles.small_lu_factor(W, N, N - 1, N - 1, pivots) == 0
    saddles.solve_two(space(W=W, pivots=pivots, place=place), b, c, pair)
    np.testing.assert_allclose(np.stack([b, c], axis=1), expected, rtol=1e-9)


# ---------------------------------------------------------------- steps with constraints and impacts


@for_each("bad", (None, "gap", "rate", "phi"))
def test_what_is_looked_at_behind_a_step_is_finite(monkeypatch, bad):
    """Gaps and phi as the functions tell them, speeds G v + gap_t of the contacts."""
    n, nc, held, row, rng = 2, 2, 1, 1, np.random.default_rng(3)
    q, v, asked = *rng.normal(size=(2, 3, n)), []
    new, gaps, rates, phi = (
        rng.normal(size=(nc + held, n)),
        rng.normal(size=nc),
        rng.normal(size=nc),
        np.array([1e-3]),
    )
    for name, values in (("gap", gaps), ("rate", rates), ("phi", phi)):
        if bad == name:
            values[-1] = np.inf
    out, inp = np.full(30, np.nan), np.full(5, np.nan)
    out[:2], out[4:6], out[10:16], out[20] = gaps, rates, new.ravel(), phi[0]

    def fill(inp, t, q, v, n):
        inp[:] = [t, *q, *v]

    put(
        monkeypatch,
        constrained.look,
        fill=fill,
        evaluate=lambda bundles, which: asked.append((which, *inp)),
    )
    G = space(ptr=np.arange(4) * n, col=np.tile(np.arange(n), 3), val=np.full(6, 9.0))
    record = space(
        t=np.array([0.0, 0.5, 1.0]),
        q=q,
        v=v,
        gap=np.full((3, nc), 9.0),
        gap_dot=np.full((3, nc), 9.0),
        phi=np.full((3, 1), 9.0),
    )
    problem = space(
        sizes=space(n=n, contacts=nc, constraints=held),
        outputs=space(G=10, rates=4, phi=20),
        bundles=space(inp=inp, out=out),
        G=G,
    )
    assert constrained.look(problem, record, None, row) == (bad is None)
    assert asked == [(constrained.GAP, 0.5, *q[1], *v[1])]
    EQUAL(G.val, new.ravel())
    EQUAL(record.gap, [[9.0] * nc, gaps, [9.0] * nc])
    np.testing.assert_allclose(record.gap_dot, [[9.0] * nc, new[:nc] @ v[1] + rates, [9.0] * nc])
    EQUAL(record.phi.ravel(), [9.0, phi[0], 9.0])


def test_forces_of_constraints_and_closed_contacts_are_among_all(monkeypatch):
    """F + G' lam, the constraints behind the rows of the contacts."""
    n, rng = 3, np.random.default_rng(4)
    dense, F, lam, pull, F0 = (
        rng.normal(size=(4, n)),
        rng.normal(size=n),
        rng.normal(size=(3, 2)),
        np.array([0.7, 9.0]),
        np.zeros(n),
    )
    put(
        monkeypatch,
        constrained.all_forces,
        force=lambda bundles, which, rows, into: into.__setitem__(
            slice(None), F if which == FORCE else np.nan
        ),
    )
    G = space(ptr=np.arange(5) * n, col=np.tile(np.arange(n), 4), val=dense.ravel())
    problem = space(G=G, bundles=None, linear=None, sizes=space(constraints=2, contacts=1, rows=2))
    constrained.all_forces(problem, space(lam=lam), space(F0=F0, pull=pull), 1)
    np.testing.assert_allclose(F0, F + dense[2:].T @ lam[1] + 0.7 * dense[0])


@for_each(("by_speed", "gap", "speed", "out", "pull", "hit"), [
    (True, 0.1, -2.0, 9.0, 0.0, True), (True, 0.1, -0.9, -9.0, 0.0, False), (True, 0.1, 2.0, -9.0, 0.0, False), (True, 9.0, 0.0, 9.0, 0.1, True),
    (False, -9.0, -9.0, 0.1, 0.0, False), (False, 9.0, 9.0, -0.1, 0.0, True), (False, 9.0, 9.0, 0.1, 0.1, True), (False, 9.0, 9.0, np.nan, 0.0, True),
    (False, 9.0, 9.0, 0.1, -0.1, False),
])  # fmt: skip
@pytest.mark.parametrize("fails", [None, "smooth", "first", "velocities", "look"])
def test_a_step_is_corrected_where_contacts_may_close(
    monkeypatch, fails, by_speed, gap, speed, out, pull, hit
):
    """Gaps that are forecast within half a step of 0.2, or those at its end, or forces of before."""
    said = []

    def note(name, key=None):
        def tell(*given):
            said.append((name, *(x for x in given[4:])))
            return FAILS if fails == (key or name) else SUCCESS

        return tell

    put(monkeypatch, constrained.one_step, smooth=note("smooth"), half_way=note("half", "first"), positions=note("positions", "first"),
        velocities=note("velocities"), look=lambda *given: said.append(("look", given[3])) or fails != "look", predict=note("predict"),
        all_forces=lambda *given: said.append(("forces", given[3])))  # fmt: skip
    n, rng = 2, np.random.default_rng(1)
    d, v, a, lam = rng.normal(size=(4, n))
    record = space(gap=np.array([[5.0, 5.0], [5.0, gap], [7.0, 7.0]]), gap_dot=np.array([[5.0, 5.0], [0.0, speed], [7.0, 7.0]]), t=np.zeros(3),
                   **{k: np.full((3, n), 9.0) for k in ("q", "v", "a", "lam")})  # fmt: skip
    work = space(z=np.full(2, 9.0), pull=np.array([0.0, pull]), d=d, v=v, a=a, lam=lam)
    problem = space(
        sizes=space(contacts=2, n=n, constraints=2),
        bundles=space(out=np.array([5.0, out])),
        method=space(velocity=by_speed, forecast=0.5, interpolated=True),
    )
    task = space(problem=problem, record=record, work=work)
    status = constrained.one_step(task, space(row=1, h=0.2, t1=1.2))
    close = [("half",) if by_speed else ("positions", 2)] if hit else []
    whole = [("smooth",), *close, ("velocities", hit), ("look", 2), ("predict",), ("forces", 2)]
    last = {None: 9, "smooth": 1, "first": 2 if hit else 9, "velocities": 2 + hit, "look": 3 + hit}[
        fails
    ]
    assert said == whole[:last]
    ends = {None: SUCCESS, "first": FAILS if hit else SUCCESS, "look": NOT_FINITE}.get(fails, FAILS)
    assert status == ends
    if fails != "smooth":
        EQUAL(work.z, np.zeros(2))
    if status == SUCCESS:
        EQUAL([record.q[2], record.v[2], record.a[2], record.lam[2]], [d, v, a, lam])
        EQUAL(record.t, [0.0, 0.0, 1.2])
