"""Whole kernels uncompiled, each against what defines its result; what they call is scripted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import opened, plain, put, space

from explorer.codes import NEWTON_CAP, NO_ACTIVE_SET, NOT_FINITE, SUCCESS
from explorer.kernels import members as numbers

entering, marching = plain("fesd.enter"), plain("fesd.march")
fixed, sets = plain("fesd.fixed_step_rk"), plain("fesd.active_set")
newton, multiaffine = plain("friction.graph_newton"), plain("sliding.multiaffine")
modes, members = plain("sliding.mode_functions"), plain("time_stepping.ensemble")
layout = plain("sliding.structures")
walking, smooth = plain("event_driven.adjoint"), plain("time_stepping.nonsmooth_alpha")
cutting, ending_of = plain("fesd.march_active_set"), plain("fesd.active_set_ends")
locating, radau = plain("event_driven.locate_event"), plain("event_driven.radau")
ALL, OTHERS, FOLD, MULTIPLIER = sets.ALL, sets.OTHERS, entering.FOLD, entering.MULTIPLIER


# ---------------------------------------------------------------- active sets


@for_each(("kind", "which", "other", "forced", "answers"), [
    (kind, which, other, forced, answers)
    for kind, which, other, forced in ((0, 1, 0, -1), (FOLD, 1, 0, -1), (MULTIPLIER, 1, 0, 1), (MULTIPLIER, 1, 0, ALL),
                                       (MULTIPLIER, 1, 1, 1), (MULTIPLIER, 0, 1, ALL), (0, 1, 1, -1), (0, 0, 1, -1))
    for answers in itertools.product((0, 2), repeat=3)
])  # fmt: skip
def test_an_active_set_is_asked_for_in_turn(monkeypatch, kind, which, other, forced, answers):
    """First among the others, where the one before cannot go on or a fold is met; then with what
    a multiplier at its bound forces; then freely. At a fold only the others are asked for."""
    sign, asked, left = np.array([1, -1]), [], iter(answers)
    signs_then = []

    def choose(ws, t, x, ahead, z, banned, forced, rule, slack):
        assert (t, x, z, rule) == (2.0, "x", 3, 7)
        assert ahead == pytest.approx(entering.AHEAD * 0.5)
        asked.append((banned, forced, slack))
        signs_then.append(sign.tolist())
        return next(left)

    put(monkeypatch, entering.enter, look=lambda *_: 3, left=lambda *_: (forced, 9), choose=choose)
    element = space(
        mode=space(sign=sign, active=[space(choice=4)]), problem=space(n_c=2, n_x=2, n_sel=2),
        solver=space(newton=[space(factored=1.0)]),
    )  # fmt: skip
    ws = space(element=element, start=space(rate=np.array([0.5, 1.5]), multipliers=np.zeros(2)),
               pattern=space(multipliers=np.array([0.25, 0.75])))  # fmt: skip
    switches = [space(consistent=-1), space(consistent=-1)]
    phases = space(switches=switches, signs=np.full((2, 2), 9), behind=np.full((2, 2), 9.0),
                   multipliers=np.full((2, 2), 9.0))  # fmt: skip
    told = entering.enter(ws, 2.0, "x", 0.5, kind, which, 7, other, phases, 1)
    forces = kind == MULTIPLIER
    ways, freed = [], [1, -1]
    if other or kind == FOLD:
        ways.append((-1, OTHERS, 0.0))
        if forces and forced == which:
            freed[which] = 0
    if kind != FOLD:
        ways.append((9 if forces else -1, forced if forces else -1, entering.SLACK if other else 0.0))  # fmt: skip
    if forces:
        ways.append((-1, -1, 0.0))
    many = next((n for n in answers[: len(ways)] if n), 0)
    assert asked == ways[: len(asked)]
    assert len(asked) == next((k + 1 for k, n in enumerate(answers[: len(ways)]) if n), len(ways))
    back = [freed] if ways[0][1] == OTHERS else []
    assert signs_then == (back + [[1, -1]] * len(ways))[: len(asked)]
    ended = freed if back and answers[0] else [1, -1]
    assert phases.signs[1].tolist() == ended
    assert told == (SUCCESS if many else NO_ACTIVE_SET)
    one = switches[1]
    assert (one.kind, one.which, one.consistent, one.zeros, one.choice) == (kind, which, many, 3, 4)
    assert switches[0].consistent == -1
    assert element.solver.newton[0].factored == 0.0
    assert phases.behind[1].tolist() == ([0.5, 1.5] if many else [9.0, 9.0])
    if many:
        assert ws.start.multipliers.tolist() == phases.multipliers[1].tolist() == [0.25, 0.75]
        left = iter(answers)
        asked.clear()
        ws.start.rate[1] = np.inf
        assert entering.enter(ws, 2.0, "x", 0.5, kind, which, 7, other, phases, 1) == NOT_FINITE
    put(monkeypatch, entering.enter, look=lambda *_: -NOT_FINITE)
    assert entering.enter(ws, 2.0, "x", 0.5, kind, which, 7, other, phases, 0) == NOT_FINITE
    assert switches[0].consistent == 0


@for_each(("p", "picks", "told"), [
    (0, (), 5), (1, (), 5), (2, (3,), sets.PICK + 3), (2, (0,), sets.PICK), (2, (-1,), 5), (2, (1, 2), sets.PICK + 1),
])  # fmt: skip
def test_a_phase_begins_with_the_choice_of_the_one_before(p, picks, told):
    active = space(choice=-1)
    switches = [space(choice=10 + k, element=-1) for k in range(4)]
    ws = space(march=[space(phases=p, count=8, several=0)], element=space(mode=space(active=[active])))  # fmt: skip
    phases = space(switches=switches, slope=np.full(4, 9.0))
    assert marching.prepare(ws, phases, space(picks=picks, rule=5)) == told
    assert active.choice == (9 + p if p else 0)
    assert [one.element for one in switches] == [8 if k == p else -1 for k in range(4)]
    assert phases.slope.tolist() == [0.0 if k == p else 9.0 for k in range(4)]


@for_each(("p", "choices", "signs", "told"), [
    (0, (1, 1), [[1, 0], [1, 0]], False), (1, (1, 1), [[1, 0], [1, 0]], True), (1, (1, 2), [[1, 0], [1, 0]], False),
    (1, (1, 1), [[1, 0], [1, 1]], False), (1, (1, 1), [[1, 0], [0, 0]], False), (1, (1, 1), [[1, 0], [0, 1]], False),
])  # fmt: skip
def test_an_active_set_goes_on_with_the_same_choice_and_signs(p, choices, signs, told):
    phases = space(switches=[space(choice=one) for one in choices], signs=np.array(signs))
    assert marching.goes_on(phases, p) == told


@for_each("seed", range(8))
def test_margins_are_sides_that_are_left_and_parts_of_slides(monkeypatch, seed):
    """Of a slide alpha and 1 - alpha; of a surface that is left, s dc/dt beside its terms."""
    rng, n, nc, nsel, t = np.random.default_rng(seed), 3, 4, 2, 0.5
    rate, x, chosen = rng.normal(size=n), rng.normal(size=n), rng.uniform(size=nsel)
    by_x, by_t = rng.normal(size=(nc, n)), rng.normal(size=nc)
    A, by_sel = rng.normal(size=(n, n)), rng.normal(size=(n, nsel))
    problem = space(n_x=n, n_c=nc, n_sel=nsel, out=np.concatenate([np.full(n, np.nan), A.ravel(), by_sel.ravel()]),
                    c=np.concatenate([np.full(nc, np.nan), by_x.ravel(), by_t]))  # fmt: skip
    sign, near = rng.choice([-1, 1], nc), rng.permutation(nc)
    sign[near[1]] = 0
    B = np.array([[0.0, 0.0], [0.0, 1.0]])
    for left in (int(near[0]), int(near[2]), ALL, -1):
        for sliding in (0, 1, 2):
            ws = space(element=space(problem=problem, mode=space(B=B, sign=sign, active=[space(sliding=sliding)])),
                       pattern=space(near=near, multipliers=chosen), start=space(rate=rate))  # fmt: skip
            found, fails = np.full(9, 7.0), []
            put(monkeypatch, sets.margins, put=lambda *given: None, slide=lambda ws, f=fails: -1 if f else 0)  # fmt: skip
            expected = [chosen[1], 1 - chosen[1]] if sliding == 2 else []
            for j in (near[0], near[2]):
                total = by_t[j] + by_x[j] @ rate
                terms = abs(rate) + abs(A * x).sum(axis=1) + abs(by_sel).sum(axis=1)
                lenient = sets.LENIENT if left in (j, ALL) else 0.0
                expected.append(sign[j] * total / (abs(by_t[j]) + abs(by_x[j]) @ terms) + lenient)
            assert sets.margins(ws, t, x, 3, left, found) == len(expected)
            np.testing.assert_allclose(found[: len(expected)], expected, rtol=1e-12)
            assert set(found[len(expected) :]) == {7.0}
            fails.append(1)
            assert sets.margins(ws, t, x, 3, left, found) == -1


# ---------------------------------------------------------------- steps without located switches


@for_each(("worst", "calls", "told"), [
    ([1.0, 1e-15], 2, "ends"), ([1.0, 0.5, 1e-13, 0.9e-13], 4, "ends"), ([1.0] * 9, 4, NEWTON_CAP), ([np.nan], 1, NOT_FINITE),
    ([1.0, np.inf], 2, NOT_FINITE),
])  # fmt: skip
def test_slopes_of_stages_are_corrected_until_they_hold(monkeypatch, worst, calls, told):
    """Of two stages of two states: dK solves J dK = r whatever the order of its pivots."""
    rng, s, n = np.random.default_rng(4), 2, 2
    seen, left = [], iter(worst)
    slopes = space(J=None, pivots=np.zeros(4, np.int64), change=None)
    K = np.zeros((s, n))
    step = space(groups=space(member=[0], leader=[]), unknowns=space(K=K, V="V"), slopes=slopes, lcp=None,
                 problem=None, linear=None)  # fmt: skip
    expected = np.zeros(4)

    def linearise(step, t, x, h):
        J, r = rng.normal(size=(4, 4)), rng.normal(size=4)
        slopes.J, slopes.change = J.copy(), r.copy()
        found = next(left)
        seen.append((J, r))
        if told != "ends" or len(seen) < calls:
            expected[:] += np.linalg.solve(J, r) if np.isfinite(found) and len(seen) < 4 else 0.0
        return found

    put(monkeypatch, fixed.solve, linearise=linearise, mismatch=lambda *_: 0.0, stays=lambda *_: True,
        finish=lambda *_: "ends")  # fmt: skip
    tally = [space(iterations=0, residual=0.0)]
    assert fixed.solve(step, 0.0, None, 0.1, 3, tally) == told
    assert len(seen) == tally[0].iterations == calls
    np.testing.assert_allclose(K.ravel(), expected, atol=1e-12)


# ---------------------------------------------------------------- contacts of a graph


def test_the_best_impulses_are_kept_within_the_laws():
    """Of what slides the sign is that of its velocity, against the impulse."""
    best = np.array([2.0, -1.0, 2.0, 2.0, 2.0, 0.0, 0.5, 3.0, 0.9, -1.1, 5.0])
    place, act = np.array([6, 7, 8, 9, -1, 10]), np.array([5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 10])
    graph = space(act=act, place=place, mu=np.full(6, 0.5), P=np.full(11, 9.0), mode=np.full(11, 9), m=6)  # fmt: skip
    newton.finish(graph, best)
    OPEN, STICK = newton.finish.__globals__["OPEN"], newton.finish.__globals__["STICK"]
    assert graph.P.tolist() == [2.0, 0.0, 2.0, 2.0, 2.0, 0.0, 0.5, 0.0, 0.9, -1.0, 0.0]
    assert graph.mode[act[:6]].tolist() == [STICK, OPEN, STICK, 1, STICK, OPEN]
    best[8] = 1.0  # on the edge
    newton.finish(graph, best)
    assert graph.mode[act[2]] == -1


@for_each(("off", "steps"), [([0.5], [1.0]), ([2.0, 0.5], [1.0, 0.4]), ([np.nan, 0.9], [1.0, 0.4]),
                             ([3.0] * 9, [1.0, 0.4, 0.16, 0.064, newton.SHORTEST])])  # fmt: skip
def test_a_step_is_shortened_until_it_helps(monkeypatch, off, steps):
    taken, left = [], iter(off)
    graph = space(P=np.array([1.0, 2.0, 3.0]), rows=3)
    work = space(band=space(chosen=np.array([2, 0])), d=np.array([10.0, 20.0]), begin=np.zeros(3))

    def residual(graph):
        taken.append(graph.P.tolist())
        return next(left)

    put(monkeypatch, newton.search, residual=residual)
    assert newton.search(graph, work, 2, 1.0) == off[len(steps) - 1]
    np.testing.assert_allclose(taken, [[1 + 20 * s, 2.0, 3 + 10 * s] for s in steps])


# ---------------------------------------------------------------- roots


@for_each("seed", range(12))
def test_two_bilinear_equations_have_the_roots_of_their_resultant(seed):
    rng = np.random.default_rng(seed)
    bench = multiaffine.bench(2)
    table = rng.normal(size=(2, 4))
    bench.corners[:] = table
    a0, a1, a2, a3 = (table[:, 0], table[:, 1] - table[:, 0], table[:, 2] - table[:, 0],
                      table[:, 3] - table[:, 1] - table[:, 2] + table[:, 0])  # fmt: skip
    p, q = np.poly1d([a1[0], a0[0]]), np.poly1d([a3[0], a2[0]])
    r, s = np.poly1d([a1[1], a0[1]]), np.poly1d([a3[1], a2[1]])
    found = [(w.real, -(p(w) / q(w)).real) for w in (p * s - r * q).roots if abs(w.imag) < 1e-12]
    near = [w for w in found if all(-0.04 < one < 1.04 for one in w)]
    many = multiaffine.roots(bench, 2)
    mine = [tuple(bench.roots[k, :2]) for k in range(many)]
    for w in near:
        assert min(np.abs(np.subtract(w, one)).max() for one in mine) < 1e-9
    for w in mine:
        assert min(np.abs(np.subtract(w, one)).max() for one in found) < 1e-9
    bench.corners[:] = table
    bench.corners[1] = 0.0
    assert multiaffine.roots(bench, 2) == 0
    bench.corners[1, 0] = np.inf
    assert multiaffine.roots(bench, 2) == 0


@for_each(("gap", "many"), [(-1e-6, 2), (1e-12, 0), (1e-6, 0), (0.1, 0)])
def test_curves_that_miss_each_other_by_little_have_no_root(gap, many):
    """x y = 1/4 and x + y = 1 - gap."""
    bench = multiaffine.bench(2)
    bench.corners[:] = [[-0.25, -0.25, -0.25, 0.75], [gap - 1, gap, gap, gap + 1]]
    assert multiaffine.roots(bench, 2) == many


# ---------------------------------------------------------------- what is asked of many runs


@for_each(("by_event", "contact", "since"), [(True, 1, 1.5), (True, 0, 0.0), (False, 1, 1.5), (True, 2, 0.0)])  # fmt: skip
def test_events_of_contacts_are_counted_and_those_of_one_are_points(monkeypatch, by_event, contact, since):  # fmt: skip
    rows = {0: [1, 3], 1: [2, 4, 5]}
    trace = space(t=np.arange(6.0))
    seen = space(jump=np.full(6, 9), events_at=np.zeros(7, np.int64), events=np.full((3, 2), 9),
                 hit=np.full(6, -1))  # fmt: skip

    def impulse_events(trace, contacts, found, a, since_):
        assert not seen.jump.any()
        assert since_ == since
        seen.events_at[: len(rows[a]) + 1] = [len(rows[a]), *rows[a]]
        return 10 + a

    put(monkeypatch, members.read_contacts, impulse_events=impulse_events, refer=lambda one: one,
        Found=lambda *given: space(), friction_events=lambda trace, column, since: 100 * column)  # fmt: skip
    section = members.BY_EVENT if by_event else members.BY_EVENT + 1
    contacts = space(rigid=np.zeros(2), along=np.array([-1, 0 if since else 3]), impact_steps=1)
    given = space(since=[9.0, since], section=section, contact=contact)
    hits = members.read_contacts(trace, contacts, given, seen, 1)
    expected = [r for r in rows.get(contact, []) if r >= since] if by_event else []
    assert hits == len(expected)
    assert seen.hit.tolist() == expected + [-1] * (6 - len(expected))
    assert seen.events.tolist() == [[9, 9], [10, 11 + (0 if since else 300)], [9, 9]]


@for_each(("codes", "code"), [([SUCCESS], SUCCESS), ([members.UNFACTORED, SUCCESS], SUCCESS), ([members.UNFACTORED, 3], 3), ([members.UNFACTORED, members.UNFACTORED], members.APART), ([4], 4), ([-5], members.APART)])  # fmt: skip
def test_bytes_of_a_member_are_written_before_its_march(monkeypatch, codes, code):
    """Before a last step of another size those of that step too; what is there is cleared first."""
    done, left = [], [*codes]
    put(monkeypatch, members.prepare, clear=lambda *given: done.append(("clear", *given)), copy=lambda *given: done.append(given))  # fmt: skip
    monkeypatch.setitem(members.march_one.__globals__, "go_on", lambda *given: done.append(given) or left.pop(0))  # fmt: skip
    rows, last = [(1, 100, 10, 8), (2, 200, 0, 16)], [(3, 300, 5, 24)]
    patches = opened(members.Patches(np.array(rows, members.PATCH), np.array(last, members.PATCH), np.array([(7, 4)], members.CLEARED), None))  # fmt: skip
    task = space(march="m", problem="p", record="r", work="w")
    assert members.march_one(task, patches, 6, 3) == code
    begin = [("clear", 7, 24), (1, 130, 8), (2, 200, 16), ("m", "p", "r", "w")]
    assert done == begin + [(3, 315, 24), ("m", "p", "r", "w")] * (len(codes) - 1)


@for_each(("last", "blown"), [(2.9e6, False), (3.1e6, True), (np.inf, True), (-3.1e6, True), (0.0, False)])  # fmt: skip
def test_a_run_may_be_unstable_that_ends_far_beyond_its_first_rows(last, blown):
    """A million times the largest of three rows; of positions where there are no velocities."""
    x = np.array([[0.0, 1.0], [-3.0, 2.0], [0.0, 0.0], [9.0, 9.0], [0.0, last]])
    none = np.zeros((5, 0))
    for q, v in ((1e9 * x, x), (x, none)):
        assert members.may_be_blown(space(q=q, v=v, t=np.zeros(5))) == blown
        assert not members.may_be_blown(space(q=q[2:], v=v[2:], t=np.zeros(3)))


@for_each(("lost", "caught", "wanted"), [(0, None, True), (5, members.FREE, True), (5, 2, False)])
def test_points_are_kept_as_far_as_there_is_room(monkeypatch, lost, caught, wanted):
    """All of them are counted; where attractors are known the last one alone, until it is theirs."""
    put(monkeypatch, members.take_point, caught_by=lambda known, point, track: caught)
    seen = space(found=np.array([7, 0]), points=np.full((2, 2, 2), np.nan), times=np.full((2, 2), np.nan),
                 point=np.zeros(2), caught=np.full(2, members.FREE), track=None)  # fmt: skip
    for k in range(3):
        seen.point[:] = [k, 10 * k]
        assert members.take_point(space(lost=lost), seen, 1, 0.5 + k) == (not wanted)
    kept = [2, np.nan] if lost else [0, 1]
    np.testing.assert_array_equal(seen.points[1, :, 0], kept)
    np.testing.assert_array_equal(seen.points[1, :, 1], np.multiply(kept, 10))
    np.testing.assert_array_equal(seen.times[1], np.add(kept, 0.5))
    assert np.isnan(seen.points[0]).all()
    assert seen.found.tolist() == [7, 3]
    assert seen.caught[1] == (caught if lost else members.FREE)


def observing(monkeypatch, most, until=99, **more):
    """Return a run x = 1 + t, v = 3 x at uneven times up to 2 s, what is kept of it, and its points."""
    t, points = np.array([0.0, 0.3, 0.5, 1.1, 1.6, 2.0]), []
    seen = space(found=np.zeros(3, int), points=np.zeros((3, most, 2)), point=np.zeros(2), jump=np.zeros(6, np.int8),
                 hit=np.array([0, 2, 5, 99, 99, 99]), **more)  # fmt: skip

    def take(known, own, k, time):
        points.append((time, *own.point.tolist()))
        own.found[k] += 1
        return len(points) == until

    for function in (members.read_times, members.read_events):
        put(monkeypatch, function, take_point=take)
    return space(t=t, q=(1 + t)[:, None], v=3 * (1 + t)[:, None]), seen, points


@for_each(("since", "offset", "most", "lost", "until", "told"), [
    (0.0, 0.0, 9, 0, 99, [0.0, 0.5, 1.0, 1.5, 2.0]), (0.6, 0.1, 9, 0, 99, [0.6, 1.1, 1.6]), (0.7, 0.1, 2, 0, 99, [1.1, 1.6]), (0.0, 0.0, 2, 3, 4, [0.0, 0.5, 1.0, 1.5]),
    (0.0, 0.4, 9, 0, 99, [0.4, 0.9, 1.4, 1.9]), (3.0, 0.0, 9, 0, 99, []), (0.0, -0.2, 9, 0, 99, [0.3, 0.8, 1.3, 1.8]), (1e-12, 0.0, 1, 0, 99, [0.0]),
])  # fmt: skip
def test_points_of_a_period_lie_at_its_multiples(
    monkeypatch, since, offset, most, lost, until, told
):
    """From `since` on, up to the end, as many as there is room for, or until the run is caught."""
    trace, seen, points = observing(monkeypatch, most, until)
    given = space(period=[9.0, 0.5, 9.0], offset=[9.0, offset, 9.0], since=[9.0, since, 9.0])
    members.read_times(trace, space(lost=lost), given, seen, 1)
    wanted = [(t, 1 + t, 3 * (1 + t)) for t in told]
    assert [one[0] for one in points] == pytest.approx(told, abs=1e-12)
    assert len(points) == len(wanted)
    np.testing.assert_allclose(np.reshape(points, (-1, 3)), np.reshape(wanted, (-1, 3)), atol=1e-12)


@for_each(("before", "until", "rows"), [(False, 99, [0, 2, 5]), (True, 99, [0, 1, 4]), (True, 2, [0, 1])])  # fmt: skip
def test_points_of_events_are_states_behind_or_before_them(monkeypatch, before, until, rows):
    trace, seen, points = observing(monkeypatch, 9, until)
    members.read_events(trace, None, space(before=before), seen, 1, 3)
    assert [t for t, *_ in points] == trace.t[[0, 2, 5][: len(rows)]].tolist()
    assert [x for _, x, _ in points] == trace.q[rows, 0].tolist()
    assert [v for *_, v in points] == trace.v[rows, 0].tolist()


@for_each(("section", "extrema", "caught"), [("BY_EVENT", True, members.FREE), ("BY_PERIOD", False, 4), ("NOWHERE", True, members.FREE)])  # fmt: skip
def test_what_is_asked_of_a_run_is_read_from_its_rows(monkeypatch, section, extrema, caught):
    """Its end, or the point at which it was caught; the extrema from `since` on."""
    x = np.array([[5.0, -9.0], [1.0, 2.0], [-2.0, 4.0], [0.5, 3.0]])
    trace, called = space(t=np.array([0.0, 1.0, 2.0, 3.0]), q=x, v=10 * x[:, :1]), []
    track = [space(near=1, streak=2, outside=3)]
    seen = space(end=np.full((2, 3), np.nan), caught=np.array([7, 7]), found=np.array([7, 7]), track=track, t=np.array([7.0, 3.0]),
                 times=np.array([[7.0, 7.0], [1.5, 7.0]]), points=np.arange(12.0).reshape(2, 2, 3), point=np.zeros(3),
                 low=np.full((2, 3), np.nan), high=np.full((2, 3), np.nan))  # fmt: skip

    def read(name):
        def note(trace, known, given, own, k, *hits):
            called.append((name, *hits))
            assert (track[0].near, track[0].streak, track[0].outside) == (members.FREE, 0, 0)
            assert (own.found[k], own.caught[k]) == (0, members.FREE)
            own.caught[k] = caught

        return note

    put(monkeypatch, members.read, read_contacts=lambda *given: called.append("contacts") or 3, read_events=read("events"), read_times=read("times"))  # fmt: skip
    given = space(section=getattr(numbers, section), extrema=extrema, since=[9.0, 1.0])
    members.read(trace, None, None, given, seen, 1)
    assert called == ["contacts", *{"BY_EVENT": [("events", 3)], "BY_PERIOD": [("times",)]}.get(section, [])]  # fmt: skip
    free = caught == members.FREE
    assert seen.end[1].tolist() == ([0.5, 3.0, 5.0] if free else seen.points[1, 0].tolist())
    assert seen.t.tolist() == [7.0, 3.0 if free else 1.5]
    if extrema:
        assert (seen.low[1].tolist(), seen.high[1].tolist()) == ([-2.0, 2.0, -20.0], [1.0, 4.0, 10.0])  # fmt: skip
    assert np.isnan(seen.low[0] if extrema else seen.low).all()


def test_members_run_one_by_one_and_are_read_up_to_their_last_row(monkeypatch):
    """Not those that run by themselves, nor those that fail, and those that blow up run again."""
    done, row = [], np.zeros(1, int)
    names = ("t", "q", "v", "p", "gap", "gap_dot", "doing")
    trace = space(**{name: np.arange(6.0) + k for k, name in enumerate(names)})

    def march(task, patches, rows, k):
        row[0] = k
        done.append(("march", rows, k))
        return 3 if k == 2 else SUCCESS

    put(monkeypatch, members.ensemble, refer=lambda one: one, march_one=march, may_be_blown=lambda own: own.t.size == 4,
        read=lambda own, contacts, known, given, seen, k: done.append(("read", k, [len(part) for part in own])))  # fmt: skip
    seen = space(code=np.array([7, members.APART, 7, 7, 7]), t=np.full(5, np.nan))
    members.ensemble(None, space(row=row), trace, None, None, space(rows=np.arange(5) + 10), seen)
    assert done == [("march", 10, 0), ("read", 0, [1] * 7), ("march", 12, 2), ("march", 13, 3), ("march", 14, 4), ("read", 4, [5] * 7)]  # fmt: skip
    assert seen.code.tolist() == [SUCCESS, members.APART, 3, members.APART, SUCCESS]
    np.testing.assert_array_equal(seen.t, [0, np.nan, 2, 3, 4])


def test_a_mode_without_conditions_is_followed_by_the_next_one(monkeypatch):
    """Its number is not what its conditions would be."""
    asked = []
    put(monkeypatch, modes.write_conditions, solve=lambda model, other, scratch: asked.append(other) or 1,
        call=lambda *_: None, goes_on=lambda *_: asked.append("goes on"), integers=lambda *_: (), discriminant=lambda corners: 1.0)  # fmt: skip
    model = space(head=np.zeros(1, layout.MODEL).view(np.recarray), signs=np.zeros((6, 1), int))
    model.head.n, model.head.n_c = 1, 1
    rows = np.array([(5, -1, 0), (2, -1, 0)], layout.FOLLOWER).view(np.recarray)
    scratch = space(
        base=np.zeros(9), out=np.zeros(9), slopes=np.zeros((1, 1)), bench=space(corners=None)
    )
    modes.write_conditions(np.zeros(9), model, 3, 0, rows, np.zeros(0, int), scratch)
    assert asked == [5, 2]


# ---------------------------------------------------------------- events


def fired(
    monkeypatch,
    gap,
    *,
    sign=1.0,
    shift=0.0,
    arm=None,
    best=2.0,
    final=False,
    band=1e-9,
    flags=0,
    out=1.0,
    ends=None,
):
    """Ask when a guard fires whose value is `gap(s)`; return the fraction, its watch, and how it was found."""
    from scipy.optimize import brentq

    space_of, asked = locating.fires.__globals__, []
    many, armed = space_of["SAMPLES"], space_of["ARMED"]
    none = space_of["Bracket"](-1.0, 0.0, 0.0, 0.0)

    def root(problem, automaton, polynomial, search, zero, bracket):
        f = lambda s: zero.sign * gap(s) - zero.shift  # noqa: E731
        asked.append((zero.shift, bracket))
        assert (bracket.g_low, bracket.g_high) == pytest.approx(
            (f(bracket.low), f(bracket.high)), abs=1e-12
        )
        return (
            brentq(f, bracket.low, bracket.high)
            if f(bracket.low) * f(bracket.high) < 0
            else bracket.high
        )

    put(monkeypatch, locating.fires, flags_of=lambda *_: flags, leaves=lambda *_: True, root=root, value=lambda *_: None,
        turning=lambda *_: none, early=lambda *_: none, guard_count=lambda *_: 2)  # fmt: skip
    s = (
        [*np.arange(many + 1) / many, space_of["END"], 1 - space_of["END"]]
        if "END" in space_of
        else None
    )
    samples = np.array([[gap(one)] for one in s])
    watch = [space(sign=sign, shift=shift, arm=armed if arm is None else arm, falling=9)]
    search, problem = space(samples=samples, watch=watch), space(out=np.array([9.0, 9.0, out]))
    fraction = locating.fires(problem, None, None, search, 0, best, final, band)
    return fraction, watch[0], asked, many


@for_each(("slope", "falls"), [(-0.25, 1), (0.0, 0), (0.25, 0)])
def test_a_guard_that_falls_at_the_end_of_a_step_is_known_to(monkeypatch, slope, falls):
    for sign in (1.0, -1.0):
        fraction, watch, *_ = fired(monkeypatch, lambda s, f=sign: f * (1 + slope * s), sign=sign)
        assert (fraction, watch.falling) == (2.0, falls)
    step = 1 / locating.fires.__globals__["SAMPLES"]  # it has turned since the sample before
    turned = fired(monkeypatch, lambda s: 1 + (s - 1 + 0.9 * step) ** 2)[1]
    assert turned.falling == 0


@for_each(
    ("zero", "sign", "shift"),
    itertools.product((0.03, 0.3, 0.55, 0.99, 1.5), (1.0, -1.0), (0.0, 0.2)),
)
def test_a_guard_fires_where_it_falls_through_its_zero(monkeypatch, zero, sign, shift):
    gap = lambda s: sign * (zero - s + shift)  # noqa: E731
    fraction, watch, asked, many = fired(monkeypatch, gap, sign=sign, shift=shift)
    assert fraction == (pytest.approx(zero) if zero < 1 else 2.0)
    assert watch.falling == 1
    assert watch.shift == shift
    if zero < 1:
        k = int(zero * many) + 1
        assert asked[0][1][:2] == pytest.approx(((k - 1) / many, k / many))
        assert fired(monkeypatch, gap, sign=sign, shift=shift, best=(k - 1) / many)[0] == 2.0
        assert fired(monkeypatch, gap, sign=sign, shift=shift, best=(k - 1) / many + 1e-9)[
            0
        ] == pytest.approx(zero)
        flags = locating.fires.__globals__["HAS_WHEN"]
        assert fired(monkeypatch, gap, sign=sign, shift=shift, flags=flags)[0] == pytest.approx(
            zero
        )
        for out in (0.0, -1.0, np.nan):  # its condition does not hold
            fraction, watch, *_ = fired(
                monkeypatch, gap, sign=sign, shift=shift, flags=flags, out=out
            )
            assert fraction == 2.0
            assert (watch.shift, watch.arm) == (0.0, locating.fires.__globals__["UNARMED"])
    rises = lambda s: sign * (s + 0.1 + shift)  # noqa: E731
    fraction, watch, *_ = fired(monkeypatch, rises, sign=sign, shift=shift)
    assert (fraction, watch.falling) == (2.0, 0)


def test_a_guard_is_armed_out_of_its_band(monkeypatch):
    names = locating.fires.__globals__
    parabola = lambda s: 0.05 * s * (0.8 - s)  # noqa: E731
    fraction, watch, *_ = fired(monkeypatch, parabola, arm=names["UNARMED"])
    assert fraction == pytest.approx(0.8)
    assert watch.arm == names["ARMED"]
    fraction, watch, *_ = fired(monkeypatch, parabola, arm=names["UNARMED"], band=0.1)
    assert (fraction, watch.arm) == (2.0, names["UNARMED"])
    falls = lambda s: -s  # noqa: E731
    bounds = names["BOUNDS"]
    fraction, _, asked, many = fired(
        monkeypatch, falls, arm=names["UNARMED"], flags=bounds, band=0.01
    )
    assert fraction == pytest.approx(0.01)
    assert asked[0][0] == -0.01
    fraction, _, asked, _ = fired(
        monkeypatch, falls, arm=names["UNARMED"], flags=bounds, band=1.6 / many
    )
    assert fraction == pytest.approx(1.6 / many)
    assert asked[0][1][:2] == (1 / many, 2 / many)
    for flags in (0, bounds | names["HAS_WHEN"]):
        assert fired(monkeypatch, falls, arm=names["UNARMED"], flags=flags, band=0.01)[0] == 2.0
    fraction, _, asked, _ = fired(
        monkeypatch, lambda s: -1 - s, arm=names["UNARMED"], flags=bounds, band=0.01
    )
    assert (fraction, asked) == (0.0, [])


def test_a_guard_that_falls_fires_at_the_end_of_a_run_within_its_band(monkeypatch):
    near = lambda s: 1e-10 + 1 - s  # noqa: E731
    assert fired(monkeypatch, near, final=True)[0] == 1.0
    assert fired(monkeypatch, near, final=False)[0] == 2.0
    assert fired(monkeypatch, near, final=True, band=1e-11)[0] == 2.0
    assert fired(monkeypatch, lambda s: 1e-10 + 0 * s, final=True)[0] == 2.0


# ---------------------------------------------------------------- Radau's method


@for_each(("nx", "width"), [(1, 0), (2, 1), (3, 2)])
def test_a_correction_of_radaus_method_solves_its_linear_equations(nx, width):
    """(I - h A x J) dZ = h A K - Z by blocks; the quadrature follows without a solve."""
    rng, h = np.random.default_rng(nx), 0.3
    A, J = rng.normal(size=(4, 4)), rng.normal(size=(nx, nx))
    size, block = 3 * nx, nx + 1
    lu = np.zeros((size, 3 * size + 1))
    full = np.eye(size) - h * np.kron(A[1:, 1:], J)
    lu[:, :size] = full
    pivots = np.zeros(size, np.int64)
    factor = plain("linear_algebra.dense_lu").lu_factor
    matrix = full.copy()
    assert factor(matrix, size, size - 1, size - 1, pivots) == 0
    K, now = rng.normal(size=(2, 3, (width + 1) * block))
    y, Z, slopes = rng.normal(size=(width + 1) * block), now.copy(), space(K=K, Z=now)
    method = space(A=A, rtol=1e-3, atol=1e-2)
    newton_ = space(matrix=matrix, pivots=pivots, r=np.zeros(size))
    change, off = radau.correct(method, newton_, slopes, y, h, nx, width)
    expected, largest, beside = h * A[1:, 1:] @ K, 0.0, 0.0
    for k in range(width + 1):
        own = slice(k * block, k * block + nx)
        d = np.linalg.solve(full, (expected - Z)[:, own].ravel()).reshape(3, nx)
        new = Z[:, own] + d
        np.testing.assert_allclose(now[:, own], new, atol=1e-12)
        np.testing.assert_allclose(now[:, k * block + nx], expected[:, k * block + nx])
        part = abs(y[own]) + abs(new)
        largest, beside = (
            max(largest, (abs(d) / (part + 1e-6)).max()),
            max(beside, (abs(d) / (1e-3 * part + 1e-2)).max()),
        )
    assert (change, off) == pytest.approx((largest, beside))
    K[0, 0] = np.nan
    assert radau.correct(method, newton_, slopes, y, h, nx, width) == (np.inf, np.inf)


# ---------------------------------------------------------------- ends of elements


@for_each(("solved", "long", "sign", "rate", "violates", "told"), [
    (SUCCESS, 0.9, 1, -2.0, False, "surface"), (SUCCESS, 1.0, -1, 2.0, False, "surface"), (SUCCESS, 1.1, 1, -2.0, False, "again"), (77, 0.5, 1, -2.0, False, "again"),
    (SUCCESS, 0.5, 1, 2.0, False, "again"), (SUCCESS, 0.5, 1, 0.0, False, "again"), (SUCCESS, 0.5, 1, -2.0, True, "again"),
])  # fmt: skip
def test_an_element_ends_at_a_surface_that_it_crosses_twice_or_is_solved_again(
    monkeypatch, solved, long, sign, rate, violates, told
):
    for on in (0.0, 1.0):
        asked, surface = [], cutting.there_and_back.__globals__["SURFACE"]
        ending, newton_ = [space(which=1, fraction=0.25, bound=9.0, kind=9)], [space(h=7.0, cap=99)]
        element = space(mode=space(sign=np.array([5, sign])), solver=space(newton=newton_))
        ws = space(
            element=element, start=space(c=np.array([3.0, 1.0 - on])), ending=ending, kept=None
        )

        def solve(el, t, x, end, kind, which, bound, asked=asked, newton_=newton_, ending=ending):
            asked.append((kind, which, bound, newton_[0].h, newton_[0].cap))
            ending[0].which = ending[0].bound = -7
            if len(asked) == 1:
                newton_[0].h = long
                return solved
            return 55

        put(monkeypatch, cutting.there_and_back, element=solve, put_aside=lambda *_, asked=asked: asked.clear(),
            bring_back=lambda *_: None, drift=lambda el, which: rate if which == 1 else 9.0, violated=lambda *_: violates)  # fmt: skip
        status = cutting.there_and_back(ws, 2.0, None, 1.0, None, 0)
        probe = min(99, cutting.there_and_back.__globals__["PROBE"])
        assert asked[0] == (surface, 1, on, 0.25, probe)
        assert newton_[0].cap == 99
        if told == "surface":
            assert (status, len(asked)) == (SUCCESS, 1)
            assert (ending[0].which, ending[0].bound, ending[0].kind, newton_[0].h) == (
                1,
                on,
                surface,
                long,
            )
        else:
            assert (status, asked[1:]) == (55, [(0, 0, 0.0, 1.0, 99)])
            assert ending[0].kind == 0


@for_each(("sliding", "side", "bounds", "first", "coarse", "told"), [
    (0, 2, 3, 9.0, 0, 2), (1, 0, 0, 0.5, 0, 0), (1, 0, 3, 0.5, 0, 3), (1, 2, 0, 0.5, 0, 2), (1, 0, 0, 1.1, 0, "COARSE"), (1, 0, 0, -0.1, 0, "COARSE"),
    (1, 0, 0, 1.1, 1, 0), (1, 2, 0, 1.1, 0, 2), (2, 0, 0, 1.1, 0, "COARSE"), (1, 0, 0, 1.0, 0, 0),
])  # fmt: skip
def test_what_ends_an_active_set_first_is_told(
    monkeypatch, sliding, side, bounds, first, coarse, told
):
    """A first stage beyond the bounds says that an element is too long, unless something ends it."""
    space_of, asked = ending_of.first_end.__globals__, []
    put(monkeypatch, ending_of.first_end, leaves_side=lambda *_: side, free=lambda el, k: k == 1,
        leaves_bounds=lambda el, k, was, ending: asked.append((k, was)) or bounds)  # fmt: skip
    for node in (0.0, 0.1):
        el = space(mode=space(active=[space(sliding=sliding)]), problem=space(n_sel=2), tableau=space(c=np.array([node, 1.0])),
                   stages=space(sel=np.array([[9.0, first], [0.5, 0.5]])))  # fmt: skip
        ending = [space(fraction=0.5)]
        found = ending_of.first_end(el, space(multipliers=np.array([0.1, 0.2])), ending, coarse)
        expected = told if node == 0.0 or told != "COARSE" else 0
        assert found == (space_of["COARSE"] if expected == "COARSE" else expected)
        assert ending[0].fraction == 2.0
    assert set(asked) == ({(1, 0.2)} if sliding else set())


# ---------------------------------------------------------------- walks back, inputs that jump


def test_errors_are_looked_at_beside_events_and_now_and_then():
    space_of = walking.counted.__globals__
    step, every = space_of["STEP_ROW"], space_of["EVERY"]
    kinds = np.full(4 * every + 3, step)
    for r in range(len(kinds)):
        walk = space_walk(kinds)
        assert walking.counted(walk, r) == (every if r % every == 0 else 0)
        for beside in (r - 1, r + 1):
            if 0 <= beside < len(kinds):
                other = kinds.copy()
                other[beside] = step + 1
                assert walking.counted(space_walk(other), r) == 1


def space_walk(kinds):
    return np.array([(kind,) for kind in kinds], [("kind", int)]).view(np.recarray)


@for_each(
    ("constant", "moves", "nc", "fails"),
    itertools.product((False, True), (False, True), (0, 1, 2), (False, True)),
)
def test_accelerations_jump_with_the_forces_of_inputs(monkeypatch, constant, moves, nc, fails):
    """By M^-1 of the change; of a constant mass the factors are there, if there are contacts."""
    said, forces = [], iter([[1.0, 2.0], [4.0, 8.0]])

    def force(bundles, what, linear, out):
        out[:] = next(forces)
        said.append("force")

    def factor(system, a, b, c, responses, what):
        assert (a, b, c) == (1.0, 0.0, 0.0)
        said.append("factor")
        return 77 if fails else SUCCESS

    def solve_with(responses, what, change):
        change *= 0.5

    put(monkeypatch, smooth.cross, fill=lambda inp, t, q, v, n: said.append((t, q, v)), evaluate=lambda bundles, what: said.append("gap" if what == smooth.cross.__globals__["GAP"] else "mass"),
        scatter=lambda *given: None, factor=factor, force=force, hold=lambda drive, inp, k: said.append(k), solve_with=solve_with,
        write_gaps=lambda problem, record, row: said.append("write"), System=lambda *given: None)  # fmt: skip
    problem = space(bundles=space(inp=None, out=None), matrices=space(M=0, C=0, K=0, M_flat=0), options=space(moves=moves, constant=constant),
                    linear=None, places=space(M=0), grid=space(drive=None))  # fmt: skip
    record = space(t=[0.0, 3.0], q=["q0", "q1"], v=["v0", "v1"], a=np.ones((2, 2)))
    work = space(x=np.zeros(2), every=np.zeros(nc), r=np.zeros(2), F0=np.zeros(2), responses=None)
    there = constant and nc > 0
    told = smooth.cross(problem, record, work, 1, 5)
    begin = [(3.0, "q1", "v1"), *["mass"] * moves, *["factor"] * (not there)]
    if fails and not there:
        assert told is False
        assert said == begin
        return
    assert told is True
    assert said == [*begin, "force", 5, "force", "gap", "write"]
    assert record.a.tolist() == [[1.0, 1.0], [2.5, 4.0]]
    assert work.F0.tolist() == [4.0, 8.0]
