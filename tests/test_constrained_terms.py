"""A step with constraints at both levels, uncompiled: its terms one by one, and how it is led."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import NEWTON_CAP, NOT_FINITE, SUCCESS
from explorer.kernels.model.structures import Rows

steps, whole = plain("time_stepping.constrained_step"), plain("time_stepping.constrained_alpha")
N, CONTACTS, ROWS, BOUND = 3, 2, 2, 2
AT = space(rates=4, phi=20, G=30)
EQUAL = np.testing.assert_array_equal


def rows_of(G):
    count, n = G.shape
    return Rows(np.arange(count + 1) * n, np.tile(np.arange(n), count), G.ravel().copy())


def sizes():
    return space(n=N, contacts=CONTACTS, rows=ROWS, constraints=BOUND)


@for_each(("masses", "told"), [((9.0, 9.0), False), ((9.0, 8.0), True), ((8.0, 9.0), True), ((8.0, 8.0), True)])  # fmt: skip
@for_each("q_star", [True, False])
def test_masses_are_taken_at_their_place_in_the_step(monkeypatch, masses, told, q_star):
    """Whether any of them has changed is told; the input stays at the iterate."""
    asked, flat, out = [], np.array([9.0, 1.0, 1.0, 9.0]), np.append(masses, np.zeros(9))
    inp, q0, q1 = np.zeros(7), np.array([[9.0] * N, [1.0, 2.0, 3.0]]), np.array([3.0, 2.0, 1.0])
    inp[1 : 1 + N] = q1
    put(monkeypatch, steps.renew, force=lambda bundles, which, rows, F: asked.append((which, inp[1])), take_tangents=lambda *_: asked.append(("tangents", inp[1])),
        evaluate=lambda bundles, which: asked.append((which, *inp[1 : 1 + N])))  # fmt: skip
    problem = space(bundles=space(inp=inp, out=out), sizes=sizes(), linear=None, method=space(gamma=0.25, q_star=q_star),
                    matrices=space(M_flat=flat, places=space(M=np.array([0, 3]))))  # fmt: skip
    work = space(iterate=space(q=q1, F1=None))
    assert steps.renew(problem, space(q=q0), work, space(row=1)) == told
    place = [1.5, 2.0, 2.5] if q_star else [3.0, 2.0, 1.0]
    assert asked == [(steps.STEP, 3.0), ("tangents", 3.0), (steps.MASS, *place)]
    assert flat.tolist() == [masses[0], 1.0, 1.0, masses[1]]
    assert inp.tolist() == [0.0, 3.0, 2.0, 1.0, 0.0, 0.0, 0.0]


@for_each(("seed", "held"), itertools.product(range(6), (0, 1, 2)))
def test_rows_tell_how_far_they_have_turned_in_parts_of_their_speeds(monkeypatch, seed, held):
    """The laws of contacts held with the rows before; constraints are to hold with the new ones."""
    rng = np.random.default_rng(seed)
    h, c, act = 0.1, 0.3, rng.permutation(CONTACTS)
    G0, G1, before = rng.normal(size=(3, ROWS + BOUND, N))
    out, inp = np.full(60, np.nan), rng.normal(size=1 + 2 * N)
    rates = rng.normal(size=ROWS + BOUND) * rng.choice([0.1, 10.0])
    out[AT.rates : AT.rates + ROWS + BOUND], out[AT.G : AT.G + G1.size] = rates, G1.ravel()
    way = np.maximum(abs(inp[1 : 1 + N]) + h * abs(inp[1 + N :]), 0.1 * abs(inp[1 : 1 + N]).max())
    size = steps.CLOSE * abs(G1[ROWS:]) @ way
    closed = rng.random(BOUND) < 0.7
    out[AT.phi : AT.phi + BOUND] = np.where(closed, 0.9, 1.1) * size * rng.choice([-1, 1], BOUND)
    rows, v = rows_of(before), rng.normal(size=N)
    rate = rng.normal(size=CONTACTS)
    levels = space(G0=G0.ravel(), G1=np.full(G1.size, 9.0), speed=np.full(BOUND, 9.0))
    work = space(levels=levels, iterate=space(v=v), active=space(act=act, rate=rate.copy()))
    put(monkeypatch, steps.renew_rows, evaluate=lambda *_: None)
    problem = space(sizes=sizes(), outputs=AT, contacts=space(G=rows), bundles=space(inp=inp, out=out), method=space(gamma=c, q_star=True))  # fmt: skip
    turned, told = steps.renew_rows(problem, None, work, space(h=h, held=held))
    Gm, speed = (1 - c) * G0 + c * G1, G1 @ v + rates
    fast = np.maximum(abs(rates), abs(G1 * v).max(axis=1))
    parts = [abs(speed[ROWS:]).max() / fast[ROWS:].max()]
    on = act[:held]
    if held:
        old = rate[:held] + before[on] @ v
        biggest = max(fast[on].max(), abs(rates[on]).max())
        parts.append(abs(speed[on] - old).max() / biggest)
    assert turned == pytest.approx(max(parts))
    assert told == closed.all()
    np.testing.assert_allclose(work.active.rate[:held], rates[on] + (G1 - Gm)[on] @ v)
    EQUAL(work.active.rate[held:], rate[held:])
    taken = [*on, *range(ROWS, ROWS + BOUND)]
    np.testing.assert_allclose(rows.val.reshape(-1, N)[taken], Gm[taken])
    np.testing.assert_allclose(levels.speed, speed[ROWS:])


def test_at_rest_nothing_has_turned(monkeypatch):
    put(monkeypatch, steps.renew_rows, evaluate=lambda *_: None)
    G = np.ones((ROWS + BOUND, N))
    work = space(levels=space(G0=G.ravel(), G1=np.zeros(G.size), speed=np.zeros(BOUND)), iterate=space(v=np.zeros(N)),
                 active=space(act=np.arange(2), rate=np.zeros(2)))  # fmt: skip
    out = np.zeros(60)
    out[AT.G : AT.G + G.size] = 1.0
    problem = space(sizes=sizes(), outputs=AT, contacts=space(G=rows_of(G)), bundles=space(inp=np.zeros(7), out=out), method=space(gamma=0.5, q_star=True))  # fmt: skip
    assert steps.renew_rows(problem, None, work, space(h=0.1, held=2)) == (0.0, True)


@for_each(("seed", "held"), itertools.product(range(6), (0, 2)))
def test_what_a_step_leaves_is_told_beside_its_largest_term(monkeypatch, seed, held):
    """M v's own terms with those of forces; constraints, less their X; impulses of contacts."""
    rng = np.random.default_rng(seed)
    h, ht, unit = 0.1, 0.06, 1e-3
    G, dG = rng.normal(size=(2, ROWS + BOUND, N))
    F0, F1 = unit * rng.normal(size=(2, N)) * rng.choice([1.0, 30.0])
    R, size = unit * rng.normal(size=N), unit * rng.uniform(0, 1, N)
    lam, gamma, P = unit * rng.normal(size=(3, BOUND))
    act = rng.permutation(CONTACTS)

    def inertia(saddle, M, v, v0, out, sizes):
        out[:], sizes[:] = R, size

    put(monkeypatch, steps.unbalanced, inertia=inertia)
    iterate = space(F0=F0, F1=F1, R=np.full(N, 9.0), rhs=np.full(N, 9.0), size=np.full(N, 9.0), v=None)  # fmt: skip
    levels = space(P=lam, gamma=gamma, G0=G.ravel(), G1=(G + dG).ravel())
    work = space(iterate=iterate, levels=levels, active=space(act=act, P=P))
    problem = space(sizes=sizes(), contacts=space(G=rows_of(G)), saddle=None, matrices=space(M=None))  # fmt: skip
    norm, scale = steps.unbalanced(problem, space(v=[None, None]), work, space(row=1, h=h, ht=ht, held=held))  # fmt: skip
    bound = G[ROWS:].T @ lam - dG[ROWS:].T @ gamma / h
    left, pushed = -R + ht * F1 + (h - ht) * F0 + bound, G[act[:held]].T @ P[:held]
    np.testing.assert_allclose(iterate.R, left, atol=1e-15)
    assert norm == pytest.approx(np.linalg.norm(left + pushed))
    assert scale == pytest.approx(max((size + h * abs(F1)).max(), abs(bound).max(), abs(pushed).max(initial=0.0)))  # fmt: skip


@for_each(("m", "apart", "fails"), itertools.product((0, 1, 2), (True, False), (None, "M", "W")))
def test_velocities_are_held_along_new_rows_unless_contacts_act(monkeypatch, m, apart, fails):
    """Then along the mean ones; the matrix of inertia is factored where W is another."""
    asked = []

    def factor_step(saddle, M, C, K, ht, G, first, rows):
        asked.append((saddle, ht, first, rows.tolist()))
        return int(saddle == fails)

    put(monkeypatch, steps.factor, factor_step=factor_step)
    rows = np.zeros(3)
    problem = space(matrices=space(M=None, C=None, K=None), contacts=space(G=space(val=np.array([1.0, 2.0, 3.0]))), sizes=sizes(), options=space(state_force=apart),
                    inertia="M", saddle="W")  # fmt: skip
    work = space(levels=space(rows=rows, G1=np.array([4.0, 5.0, 6.0])))
    regular = steps.factor(problem, work, space(m=m, ht=0.25))
    held = [1.0, 2.0, 3.0] if m > 0 else [4.0, 5.0, 6.0]
    both = [("M", 0.0, ROWS, held)] * apart + [("W", 0.25, ROWS, held)]
    assert asked == both[: 1 if apart and fails == "M" else 2]
    assert regular == (fails is None or (fails == "M" and not apart))


def test_a_small_change_is_told_as_it_is(monkeypatch):
    put(monkeypatch, steps.move, fill=lambda *_: None)
    iterate = space(q=np.zeros(1), v=np.array([0.5]), v_free=np.array([0.5 + 1e-9]))
    work = space(iterate=iterate, levels=space(shift=np.zeros(1), P=np.zeros(0), gamma=np.zeros(0)), projection=space(dq=np.zeros(1)))  # fmt: skip
    record = space(q=np.zeros((1, 1)), v=np.zeros((1, 1)))
    problem = space(sizes=space(n=1), bundles=space(inp=None))
    change, _ = steps.move(problem, record, work, space(row=0, h=0.1, ht=0.05, t1=0.1))
    assert change == pytest.approx(1e-9)


class Led:
    """A step whose iterations leave norms, by changes; what it asks its parts is noted."""

    def __init__(self, monkeypatch, norms, changes=(1.0,) * 20, *, most=9, gives=False, offs=None, turns=None, rounded=False):  # fmt: skip
        self.lost, self.rounds, self.noise, count = [], [], [], [-1]

        def renew(*_):
            count[0] += 1
            return False

        def contact_step(problem, record, work, step, task, lost):
            self.lost.append(lost)
            return SUCCESS, lost + 0.5

        def at_round_off(change, size, still):
            self.rounds.append((change, size, still))
            return rounded

        def broken(*given):
            self.noise.append(given[2])
            return (offs or {}).get(count[0], 0.0)

        put(monkeypatch, steps.constrained_step, predict=lambda *_: None, renew=renew, renew_rows=lambda *_: ((turns or {}).get(count[0], 0.0), True), broken=broken,
            unbalanced=lambda *_: (norms[count[0]], 2.0), has_mass=lambda *_: True, factor=lambda *_: True, respond=lambda *_: None, contact_step=contact_step,
            move=lambda *_: (changes[count[0]], 8.0), at_round_off=at_round_off)  # fmt: skip
        record = space(residuals=np.zeros((3, 2)), iterations=np.zeros(3, int), p_phi=np.zeros((3, 0)), gamma=np.zeros((3, 0)))  # fmt: skip
        work = space(levels=space(P=None, gamma=None), active=space(rate=np.zeros(1), act=None, P=None, D=None), state=[space(far=4.0)])  # fmt: skip
        problem = space(options=space(gives=gives, newton_max=most, newton_tol=0.125), bundles=None, contacts=space(compliance=None), saddle=None,
                        matrices=space(M=None), sizes=space(constraints=0))  # fmt: skip
        self.status = steps.constrained_step(space(problem=problem, record=record, work=work), space(row=1, held=1, m=1, h=0.1, ht=0.05))  # fmt: skip
        self.many = record.iterations[2]


def test_a_step_is_led_by_its_tolerance_that_included(monkeypatch):
    one = Led(monkeypatch, [0.5, 0.25])
    assert (one.status, one.many, one.lost) == (SUCCESS, 1, [0.0])
    one = Led(monkeypatch, [0.5, 0.2500001, 0.25], gives=True)
    assert (one.status, one.many, one.lost) == (SUCCESS, 2, [0.0, 0.5])
    assert one.noise == [4.0 * steps.ROUND] * 3
    for turned in (np.inf, np.nan):
        assert Led(monkeypatch, [0.5, 0.1], turns={1: turned}).status == NOT_FINITE
    with np.errstate(all="ignore"):
        assert Led(monkeypatch, [0.5, np.inf], turns={1: np.inf}).status == NOT_FINITE


def test_changes_of_a_step_that_do_not_fall_by_half_are_counted(monkeypatch):
    """Round-off is asked for where the norm is stuck: it fell by less than ten, or it is the last."""
    one = Led(monkeypatch, [0.9] * 9, [0.75, 0.5, 0.25, 0.2, 0.15, 0.14], most=6)
    assert (one.status, one.many) == (NEWTON_CAP, 6)
    assert one.rounds == [(0.75, 8.0, 0), (0.5, 8.0, 1), (0.25, 8.0, 0), (0.2, 8.0, 1), (0.15, 8.0, 2), (0.14, 8.0, 3)]  # fmt: skip
    falls = [90.0, 8.9, 0.88, 0.3]
    one = Led(monkeypatch, falls, most=3)
    assert (one.status, one.rounds) == (NEWTON_CAP, [(1.0, 8.0, 2)])


@for_each(("off", "status"), [(steps.OBEYED, SUCCESS), (np.nextafter(steps.OBEYED, 1.0), NEWTON_CAP)])  # fmt: skip
def test_what_is_at_round_off_is_taken_where_laws_are_obeyed(monkeypatch, off, status):
    many = dict.fromkeys(range(9), off)
    one = Led(monkeypatch, [0.9] * 9, most=2, gives=True, offs=many, rounded=True)
    assert (one.status, one.many) == (status, 1 if status == SUCCESS else 2)


def test_masses_alone_lead_from_one_interval_of_the_inputs_to_the_next(monkeypatch):
    """No damping is in the matrix by which accelerations jump."""
    asked = []
    put(monkeypatch, whole.next_interval, look=lambda *_: True, evaluate=lambda *_: None, scatter=lambda *_: None, force=lambda *_: None, hold=lambda *_: None,
        factor=lambda problem, work, ht, K: asked.append((ht, K)) or False)  # fmt: skip
    problem = space(bundles=space(out=None, inp=None), matrices=space(M_flat=None, places=space(M=None)), sizes=sizes(), G=space(val=np.zeros(2)),
                    linear=None, grid=space(drive=None))  # fmt: skip
    work = space(dx=None, rows=np.zeros(2), F=None, none="none")
    assert not whole.next_interval(problem, None, work, 1, 1)
    assert asked == [(0.0, "none")]
