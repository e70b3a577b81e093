"""Whole functions of derivatives and studies by themselves, each against a closed form."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.derivatives import differences, held_start, one_sided, unlocated
from explorer.errors import BadValue, NotApplicable
from explorer.study import map_cycles
from explorer.study import search_attractors as search
from explorer.study.curve_problems import Curve
from explorer.study.cycles import Cycle, Cycles
from explorer.study.grazing_kicks import kick_of
from explorer.study.recurrence import Found

COVERS = ("study/cycles.py", "study/map_cycles.py")  # see mutant_rooms.py

X = sp.Symbol("x")


# ---------------------------------------------------------------- jumps that are no events


def moving(field, hits=(), jumps=(), ends=2.0):
    """Return a run of x = t - 1 over steps of 1/2 to its end, and what is asked of it."""
    begin = np.arange(0.0, ends, 0.5)

    def sample(t, *_):
        return np.stack([t - 1], axis=1), np.stack([field(t), 0 * t], axis=1), None

    march = space(sample=sample, steps=space(t=begin, h=np.full(len(begin), 0.5)), hits=np.array(hits),
                  jump=lambda k: jumps[k])  # fmt: skip
    return space(march=march)


def asked_for(monkeypatch, surfaces=(X,)):
    monkeypatch.setattr(unlocated, "_surfaces", lambda question: [*surfaces])
    flow = space(states=(X,), n_x=1)
    system = space(t=sp.Symbol("t"), parameters=("p",), name="m", time_unit="s")
    return space(cost=space(flow=flow, cost=space(g=None), running=None), system=system, rho=(0.5,))


@for_each(("field", "surface", "told"), [
    (lambda t: np.where(t > 1.1, 2.0, 1.0), X - sp.Rational(1, 10), True), (lambda t: 1.0 + 0 * t, X - sp.Rational(1, 10), False),
    (lambda t: np.where(t > 1.3, 2.0, 1.0), X - sp.Rational(1, 10), False), (lambda t: np.where(t > 1.1, 1 + 1e-3, 1.0), X - sp.Rational(1, 10), True),
    (lambda t: np.where(t > 1.1, 2.0, 1.0), X - 5, False), (lambda t: np.where(t > 1.1, 2.0, 1.0), (X - sp.Rational(1, 10)) ** 2, False),
])  # fmt: skip
def test_a_formula_that_jumps_where_its_argument_changes_its_sign_is_refused(monkeypatch, field, surface, told):  # fmt: skip
    question, run = asked_for(monkeypatch, (surface,)), moving(field)
    monkeypatch.setattr(unlocated, "_words", lambda question, surface, t: f"at {t:.9f}")
    if told:
        with pytest.raises(NotApplicable, match=r"at 1\.100000000"):
            unlocated.check_jumps(question, run)
    else:
        unlocated.check_jumps(question, run)
    unlocated.check_jumps(asked_for(monkeypatch, ()), run)


@for_each(("hit", "f_minus", "f_plus", "told"), [
    (1.0, 1.0, 2.0, False), (1.0, 1.5, 2.0, True), (1.0, 1.0, 2.5, True), (0.5, 9.0, 9.0, False),
])  # fmt: skip
def test_a_jump_in_an_event_is_that_of_the_event(monkeypatch, hit, f_minus, f_plus, told):
    """Before x = 0 the field is 1 and behind it 2; an event elsewhere says nothing of it."""
    f = lambda one: space(f_minus=np.array([f_minus, 0.0]), f_plus=np.array([f_plus, 0.0]))  # noqa: E731
    run = moving(lambda t: np.where(t > 1.0, 2.0, 1.0), [hit], [f(0), f(1)])
    question = asked_for(monkeypatch)
    monkeypatch.setattr(unlocated, "_words", lambda question, surface, t: f"at {t:.9f}")
    if hit != 1.0:
        run.march.hits = np.array([1.0, 1.0])  # two at once: which is which is not told
    if told:
        with pytest.raises(NotApplicable, match=r"at 1\.000000000"):
            unlocated.check_jumps(question, run)
    else:
        unlocated.check_jumps(question, run)


@for_each(("formula", "zeros"), [
    (sp.Min(X, 2, evaluate=False), {X - 2, 2 - X}), (sp.Piecewise((1, X > 3), (0, True)), {X - 3}), (sp.floor(X), {sp.sin(sp.pi * X)}),
    (sp.Mod(X, 2, evaluate=False), {sp.sin(sp.pi * X / 2)}), (sp.sign(X - 1), {X - 1}), (sp.ceiling(X), {sp.sin(sp.pi * X)}),
])  # fmt: skip
def test_a_formula_jumps_at_the_zeros_of_its_argument(formula, zeros):
    found = unlocated._zeros(formula)
    assert len(found) == 1
    assert found[0] in zeros


# ---------------------------------------------------------------- starts that are held


class Held:
    """Two contacts q + p and v - held at the start: gaps, speeds and one rough row."""

    def __init__(self, state, events=()):
        self.n_c, self.rough, self.rows, self.n, self.n_x, self.n_rho = 2, (1,), 4, 2, 4, 1
        self.changes = ()
        rng = np.random.default_rng(2)
        self.G, self.by_t, self.g = (
            rng.normal(size=(4, 2)),
            rng.normal(size=4),
            rng.normal(size=(2, 2)),
        )
        flow = self
        flow.bundles = {1: self.out}
        self.run = space(march=space(
            flow=flow, steps=space(t=np.arange(2.0), y=np.array([[0.5, -1.0, 2.0, 3.0, 9.0]]), state=np.array([[7, *state]])),
            events=space(head={"t": np.array(events, float)}), rho=(0.25,)))  # fmt: skip

    def input(self, rho):
        return np.array([9.0, 0, 0, 0, 0, *rho])

    def out(self, inp):
        q, p = inp[1:3], inp[5]
        gaps = np.append(self.g @ q + p, [9.0, 9.0])
        assert inp[0] == 0.0
        return np.concatenate([gaps, self.by_t, self.G.ravel()])

    def guard_name(self, k):
        return ("floor", "wall")[k]

    def told(self, rho, x):
        q, v = x[:2], x[2:]
        return np.append(self.g @ q + rho, (self.by_t + self.G @ v)[:3])


@for_each(("state", "events", "held"), [
    ((1, 0, 1, 1), (), [True, False, True]), ((0, 0, 0, 1), (), [False] * 3), ((1, 1, 0, 0), (0.5,), [True, True, False]),
    ((1, 1, 0, 0), (0.0,), [False] * 3), ((2, 1, 0, 0), (), [False, True, False]),
])  # fmt: skip
def test_what_is_held_from_the_start_is_known_by_its_first_step(state, events, held):
    one = Held(state, events)
    assert held_start.held_at_start(one.run).tolist() == held
    one.run.march.steps.t = np.zeros(0)
    assert held_start.held_at_start(one.run).tolist() == []
    x = one.run.march.steps.y[0, :4]
    np.testing.assert_allclose(held_start.constraints_of(one, (0.25,), x), one.told(0.25, x))


@for_each("state", [(1, 0, 0, 1), (0, 1, 1, 1), (1, 1, 1, 1), (0, 0, 0, 1)])
def test_a_held_start_may_move_where_gaps_and_speeds_stay(state):
    one = Held(state)
    found = held_start.directions(one.run)
    held = np.array(state[:3]) == 1
    if not held.any():
        assert found is None
        return
    watched = np.append(held[:2], held)
    J = np.zeros((5, 4))
    J[:2, :2], J[2:, 2:] = one.g, one.G[:3]
    rank = np.linalg.matrix_rank(J[watched])
    assert found.shape == (4, 4 - rank)
    np.testing.assert_allclose(found.T @ found, np.eye(4 - rank), atol=1e-12)
    np.testing.assert_allclose(J[watched] @ found, 0.0, atol=1e-8)


@for_each("patterns", [
    ((0, 0, 0), (1, 0, 0), (1, 1, 1)), ((1, 0, 0), (1, 1, 1), (0, 0, 0)), ((1, 0, 0), (0, 1, 1), (2, 0, 1)), ((0, 0, 0), (2, 0, 0)),
])  # fmt: skip
def test_directions_along_what_is_held_are_those_of_the_step(patterns):
    """At the end by the last one, the least by any; `slopes_of` has the derivatives themselves."""
    one = Held((0,) * 4)
    steps, count = one.run.march.steps, len(patterns)
    steps.t, steps.y = np.arange(count) + 0.0, np.tile(steps.y, (count, 1))
    steps.state = np.array([[7, *held, 9] for held in patterns])
    J, free = np.zeros((5, 4)), []
    J[:2, :2], J[2:, 2:] = one.g, one.G[:3]
    for held in np.array(patterns) == 1:
        watched = np.append(held[:2], held)
        free.append(4 - np.linalg.matrix_rank(J[watched]) if held.any() else 4)
        slopes = held_start.slopes_of(one, (0.25,), steps.y[0, :4], held)
        np.testing.assert_allclose(slopes if held.any() else 0, J[watched] if held.any() else 0, rtol=1e-7, atol=1e-8)  # fmt: skip
    steps.y, seen = steps.y + 0.1 * np.arange(count)[:, None], []
    one.bundles[1] = lambda inp: seen.append(inp[1:5].copy()) or one.out(inp)
    found = held_start.directions_at_end(one.run)
    for x in seen:
        np.testing.assert_allclose(x, steps.y[-1, :4], atol=1e-4)
    if free[-1] == 4:
        assert found is None
    else:
        assert found.shape == (4, free[-1])
        np.testing.assert_allclose(J[np.append(held[:2], held)] @ found, 0.0, atol=1e-8)
    assert held_start.least_free(one.run) == min(free)
    steps.t = np.zeros(0)
    assert held_start.directions_at_end(one.run) is None
    assert held_start.least_free(one.run) == 4


@for_each(("seed", "place", "told"), [
    ((0.0, 0.0, 0.0, 0.0), 0, "'floor' closed"), ((1.0, 0.0, 0.0, 0.0), -1, "'floor' closed"), ((0.0, 0.0, 1.0, 0.0), -1, "'wall' sticking|'floor' closed"),
    ("along", -1, None), ((0.0, 0.0, 0.0, 0.0), -1, None),
])  # fmt: skip
def test_what_moves_a_held_start_away_has_no_derivative(seed, place, told):
    one = Held((1, 0, 1, 1))
    if isinstance(seed, str):
        seed = held_start.directions(one.run)[:, 0]
    question = space(cost=space(flow=one), seeds=lambda: np.array(seed)[:, None], wrt=("p",), places=(place,),
                     rho=np.array([0.25]))  # fmt: skip
    if told is None:
        held_start.check_held_start(question, one.run)
        return
    with pytest.raises(BadValue, match=told):
        held_start.check_held_start(question, one.run)
    held_start.check_held_start(question, Held((0, 0, 0, 1)).run)


@for_each(("value", "once", "seed", "place", "told"), [
    (0.0, False, [1.0, 0.0], -1, True), (0.0, True, [1.0, 0.0], -1, False), (0.1, False, [1.0, 0.0], -1, False),
    (0.0, False, [0.0, 0.0], 0, True), (0.0, False, [2.0, -1.0], -1, False), (0.0, False, [0.0, 0.0], 1, False),
])  # fmt: skip
def test_what_moves_a_start_off_a_change_of_constraints_is_refused(value, once, seed, place, told):
    """w = q + 2 v + 3 p_0 changes the constraint; along q = -2 v it stays zero."""
    constraints = [space(name="pin"), space(name="rod")]
    flow = space(changes=[space(once=True, constraints=[(0, 1)]), space(once=once, constraints=[(1, 0)])], n=1, n_x=2, n_rho=2,
                 input=lambda rho: np.zeros(5), system=space(constraints=constraints),
                 bundles={held_start.CHANGES: lambda inp: np.array([0.0, value]),
                          held_start.CHANGES_BY_ALL: lambda inp: np.array([9.0, 1.0, 9.0, 2.0, 9.0, 9.0, 3.0, 0.0])})  # fmt: skip
    run = space(march=space(steps=space(t=np.arange(2.0), y=np.array([[0.5, 0.25, 9.0]]))))
    question = space(
        cost=space(flow=flow),
        rho=np.zeros(2),
        seeds=lambda: np.array(seed)[:, None],
        places=(place,),
        wrt=("a",),
    )
    if told:
        with pytest.raises(BadValue, match="constraint 'rod' changes, and 'a' moves"):
            held_start._check_changes(question, run)
    else:
        held_start._check_changes(question, run)


# ---------------------------------------------------------------- differences


def difference(monkeypatch, place, changed=False):
    """Ask for differences of x = (a^2 t, t), z = a t, cost a^3 at a = 3 (or a start of 3)."""
    t = np.array([0.0, 1.0, 1.0, 2.0])
    base = space(located=[1], t=t, x=np.zeros((4, 2)))
    fields = [
        "t",
        "solution",
        "cost_gradient",
        "residuals",
        ("method", str, ""),
        ("own", object, None),
    ]
    Direct = dataclasses.make_dataclass("Direct", fields)
    direct = Direct(t, base, np.array([27.5]), {"own": 1.0})
    Asked = dataclasses.make_dataclass(
        "Asked", ["cost", "wrt", "places", "t_eval", ("a", float, 3.0)]
    )
    Asked.value = lambda self, j: 3.0
    Asked.moved = lambda self, j, by: dataclasses.replace(self, a=self.a + by)
    question = Asked(space(flow=space(n_x=2)), ("a",), (place,), None)
    sizes = []

    def twins(fixed, j, size):
        assert fixed.t_eval.tolist() == [0.0, 1.0, 2.0]
        sizes.append(size)
        runs = []
        for a in (3 - size / 2, 3 + size / 2):
            g = fixed.t_eval
            runs.append(
                space(
                    t=g,
                    x=np.stack([a**2 * g, g], axis=1),
                    z=a * g,
                    a=a,
                    located=[1] * (2 if changed else 1),
                )
            )
        return runs

    monkeypatch.setattr(differences, "twins", twins)
    monkeypatch.setattr(differences, "solve", lambda question, jumps: direct)
    monkeypatch.setattr(differences, "sequence", lambda run, base: len(run.located))
    monkeypatch.setattr(
        differences, "cost_of", lambda question, run: run.a**3 + 100 * (question.a - 3.0)
    )
    return differences.solve_difference(question, 1e-4), sizes


@for_each("place", [0, -1])
def test_a_difference_of_two_runs_is_a_derivative(monkeypatch, place):
    """The cost may depend on a parameter itself, but not on a start."""
    found, sizes = difference(monkeypatch, place)
    assert sizes == [pytest.approx(3e-4 if place >= 0 else 1e-4)]
    S, Z = found.own
    np.testing.assert_allclose(S[:, :, 0], [[0, 0], [6, 0], [6, 0], [12, 0]], atol=1e-8)
    np.testing.assert_allclose(Z[:, 0], [0, 1, 1, 2], atol=1e-8)
    gradient = 127.0 if place >= 0 else 27.0
    assert found.cost_gradient == pytest.approx([gradient], rel=1e-6)
    assert found.residuals == {
        "own": 1.0,
        "direct": pytest.approx(abs(gradient - 27.5) / 28.5, rel=1e-5),
    }
    assert found.method == "finite_difference"


def test_runs_of_different_events_have_no_difference(monkeypatch):
    with pytest.raises(BadValue, match=r"a ± 0\.00015 .* \(2, 2 and 1 events\)"):
        difference(monkeypatch, 0, changed=True)


# ---------------------------------------------------------------- attractors


def neighbourhood(period, answers, near=0.25, fast=True):
    """Ask how many neighbours come back, whose runs end at scripted distances from the attractor."""
    asked, scale = [], np.array([2.0, 4.0])
    left = iter(answers)

    class Asked:
        def __init__(self, t_end):
            self.t_end = t_end
            self.scheme, self.system = space(ensemble=lambda system: "fast" if fast else None), None

        def run(self, k, after, begin):
            way = np.linalg.norm((begin[0] - [10.0, 20.0]) / scale)
            asked.append((self.t_end, round(float(way), 12), begin[1]))
            code, off = next(left)
            points = np.tile([10.0 + 2.0 * off, 20.0], (1, 3, 1))
            return space(
                code=[code], points=points, found=np.array([3]), end=begin[0][None], mode=[7]
            )

    found = Found(period, np.tile([10.0, 20.0], (max(period, 1), 1)), None, 0.0)
    one = bare(
        search.Search,
        scale=scale,
        settings=space(t_end="T", part=lambda of: f"T / {of}"),
        _random=np.random.default_rng(0),
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(search.dataclasses, "replace", lambda question, t_end: Asked(t_end))
        told = one._neighbours(Asked("T"), found, near, near, np.array([10.0, 20.0]), 3)
    return told, asked


def test_neighbours_come_back_at_once_or_later():
    many, few = search._NEIGHBOURS, search._FEW
    brief, longer = f"T / {search._BRIEF}", f"{search._LONGER} * (T)"
    soon = 0.25 / search._BRIEF
    told, asked = neighbourhood(2, [(0, 0.9 * soon)] * many)
    assert told == (many, many)
    assert {one[0] for one in asked} == {brief}
    assert {one[1:] for one in asked} == {(0.25, 3)}
    told, asked = neighbourhood(2, [(0, 1.1 * soon), (0, 0.12)] * many, fast=False)
    assert told == (few, few)
    assert [one[0] for one in asked] == [brief, "T"] * few
    told, asked = neighbourhood(2, [(0, 1.1 * soon), (0, 0.13), (0, 0.12)] * many)
    assert told == (many, many)
    assert [one[0] for one in asked] == [brief, "T", longer] * many
    told, asked = neighbourhood(2, [(0, 1.1 * soon), (0, 0.13), (0, 0.13)])
    assert told == (0, 1)
    assert asked[2][2] == 7  # from where it was
    told, asked = neighbourhood(2, [(0, 1.1 * soon), (3, 0.1)])
    assert told == (0, 1)  # it has no numbers
    told, asked = neighbourhood(2, [(3, 0.0), (-1, 0.0), *[(0, 0.9 * soon)] * many])
    assert told == (many, many)  # one inside an obstacle does not count


def test_neighbours_of_a_set_begin_further_off_and_end_within_its_radius():
    many = search._NEIGHBOURS
    told, asked = neighbourhood(0, [(0, 0.24)] * many)
    assert told == (many, many)
    assert {one[:2] for one in asked} == {("T", 0.75)}
    assert neighbourhood(0, [(0, 0.26), (0, 0.26)])[0] == (0, 1)


# ---------------------------------------------------------------- periods over a plane


def test_a_point_is_labelled_by_what_its_run_repeats(monkeypatch):
    """Ended early, failed, refused, not run; a period, a set at second sight, or nothing."""
    import explorer.study.periods_over as module

    seen = space(code=np.array([0, 0, 0, 0, 2, -1, module.UNRUN, 0]), t=np.array([5.0, 10, 10, 10, 1, 1, 1, 10]),
                 end=np.arange(8.0), mode=np.zeros(8))  # fmt: skip
    answers = {1: ("two", None), 2: (None, "set"), 3: (None, None), 7: (None, None)}
    at, again = [0], []
    one = space(scale=np.ones(1), settings=space(tol=1, sure=1), stop=None)

    def kept(of, k):
        at[0] = k if of is seen else at[0]
        return ("first" if of is seen else "later", at[0])

    def run(k, after, begin):
        again.append((k, after, begin))
        return space(code=[0 if k != 7 else 1])

    question = space(members=lambda a, b: space(t_end=np.full(8, 10.0)), run=run)
    one._question = lambda rows, factor=1: question
    one._number = lambda found, row: {"two": 2, "set": 99}[found]
    monkeypatch.setattr(module, "run_parts", lambda *given, **more: seen)
    monkeypatch.setattr(module, "_kept", kept)
    monkeypatch.setattr(
        module,
        "period",
        lambda points, *given: answers[points[1]][0] if points[0] == "first" else None,
    )
    monkeypatch.setattr(module, "cloud", lambda points, scale: answers[points[1]][1])
    owner = next(c for c in vars(module).values() if isinstance(c, type) and "labels" in vars(c))
    label, t = owner.labels(one, np.zeros((8, 2)))
    assert label.tolist() == [module.ESCAPES, 2, 99, module.UNDECIDED, module.FAILED, module.REFUSED, module.UNTOLD, module.UNDECIDED]  # fmt: skip
    assert t is seen.t
    assert again == [(k, k + 1, (float(k), 0)) for k in (2, 3, 7)]
    one.scale = np.zeros(1)
    label, t = owner.labels(one, np.zeros((8, 2)))
    assert set(label) == {module.UNTOLD}
    assert np.isnan(t).all()


# ---------------------------------------------------------------- cycles


@for_each(("autonomous", "driven"), itertools.product((False, True), (False, True)))
def test_a_doubled_cycle_leaves_along_the_eigenvector_of_minus_one(autonomous, driven):
    V = np.array([[1.0, 2.0], [3.0, -1.0]])
    M = V @ np.diag([0.25, -1.0]) @ np.linalg.inv(V)
    begun = []
    kind = type("Own", (Cycles,), {"begin": lambda self, shot: begun.append(shot), "first": lambda self, shot: np.arange(1.0, 5.0 if autonomous else 4.0),
                                   "autonomous": autonomous})  # fmt: skip
    scale = np.array([2.0, 4.0, 5.0, 8.0] if autonomous else [2.0, 4.0, 8.0])
    one = bare(kind, n=2, count=3, rho=np.zeros(2), place=1, scale=scale, period=1.5 if driven else None, _by_p=np.array([0.5]) if driven else None,
               mode=0, _last="kept")  # fmt: skip
    w = np.ones(len(scale))
    cycle = bare(Cycle, T=6.0, mode=4, monodromy=M)
    other, begin, way = one.doubled(space(w=w, at=space(data=cycle)))
    assert (other.count, one.count, other._last, other.mode) == (6, 3, None, 4)
    assert other.rho.tolist() == [0.0, 8.0]
    assert one.rho.tolist() == [0.0, 0.0]
    assert other.period == (3.0 if driven else None)
    assert begun[0].x.tolist() == [2.0, 4.0]
    assert (begun[0].T, begun[0].mode) == (12.0, 4)
    expected = scale * [1, 1, 2, 1] if autonomous else scale
    assert other.scale.tolist() == expected.tolist()
    assert begin == pytest.approx(np.arange(1.0, len(scale) + 1) / expected)
    v = way[:2] * scale[:2]
    assert v @ [1.0, 2.0] == pytest.approx(0.0, abs=1e-12)  # (2, -1)
    assert np.linalg.norm(way) == pytest.approx(1.0)
    assert not way[2:].any()


@for_each(("jump_at", "found"), [(1e-9, True), (9.0, False)])
def test_a_cycle_behind_a_border_has_its_point_in_another_branch(monkeypatch, jump_at, found):
    """It is sought a little behind the border, at the least margin's point, for a given distance."""
    asked, unit = [], np.array([2.0, 1.0])
    monkeypatch.setattr(
        map_cycles, "_margin", lambda compiled, x, rho, branch: (0.0, np.array([3.0, 4.0]))
    )
    monkeypatch.setattr(
        map_cycles,
        "_branch_of",
        lambda compiled, x, rho: "b" if np.linalg.norm(x - [2.0 * 3, 4.0]) > jump_at else "a",
    )

    def correct(problem, guess, plane, tol, like):
        asked.append((guess, plane, like, [*problem.branches]))
        return space(at=space(sequence=("other",))), 1

    monkeypatch.setattr(map_cycles, "correct", lambda *given, **more: correct(*given, **more))
    one = bare(map_cycles.MapCycles, n=2, scale=np.array([2.0, 1.0, 2.0, 1.0, 10.0]), branches=["a", "a"], rho=np.zeros(1), place=0,
               unit=unit, compiled=None)  # fmt: skip
    ended = space(
        w=np.array([1.0, 2.0, 3.0, 4.0, 0.5]),
        node=space(at=space(margins={"point 0": 0.5, "point 1": 0.1})),
    )
    node = one.beyond(None, ended, space(tol=1e-9))
    assert one.rho[0] == 5.0
    if not found:
        assert node is None
        assert one.branches == ["a", "a"]
        return
    (guess, plane, like, branches), size = asked[0], map_cycles._STEP[0]
    normal = np.array([0, 0, 6.0, 4.0, 0]) / np.sqrt(52)
    assert node.at.sequence == ("other",)
    assert plane == pytest.approx(normal)
    assert like == pytest.approx(-normal)
    assert guess == pytest.approx(ended.w - size * normal)
    assert branches == ["a", "b"]


# ---------------------------------------------------------------- grazing


@for_each(("kind", "after", "h_x", "told"), [
    ("impact", [1.0, -4.0], [[1.0, 0.0], [0.0, -0.5]], "impact"), ("slides", [1.0, 2.5], [[1.0, 0.0], [0.0, 1.0]], "sliding"),
    ("crosses", [1.0, 2.0 + 1e-4], [[1.0, 0.0], [0.0, 1.0]], "continuous"), ("crosses", [1.0, 3.0], [[1.0, 0.0], [0.0, 1.0]], "discontinuous"),
])  # fmt: skip
def test_a_kick_is_that_of_the_event_that_almost_grazes(monkeypatch, kind, after, h_x, told):
    before = np.array([1.0, 2.0])
    jump = space(
        f_minus=np.append(before, 9.0),
        f_plus=np.append(after, 9.0),
        h_x=np.array(h_x),
        r_x=np.array([0.0, 4.0]),
    )
    located = [
        space(contact="g", slope=-3.0, kind="x"),
        space(contact="g", slope=0.5, kind=kind),
        space(contact="other", slope=0.1, kind="x"),
    ]
    asked = []
    hit = space(located=located, march=space(jump=lambda k: asked.append(k) or jump))
    put(monkeypatch, kick_of, _other_side=lambda *given: np.array([1.0, 7.0]),
        _difference=lambda *given: np.array([0.5, -0.25]),
        _turned_back=lambda *given: given[3] * given[-1])  # fmt: skip
    name, exponent, kick = kick_of(space(n=2), hit, "g", 8.0, -1.0)
    assert asked == [1]
    expected = {
        "impact": (0.5, [0.0, 1.5]),
        "sliding": (1.0, [0.0, 0.25]),
        "continuous": (1.5, [1 / 3, -1 / 6]),
        "discontinuous": (0.5, [0.0, 8.0]),
    }[told]
    assert (name, exponent) == (told, expected[0])
    assert kick == pytest.approx(expected[1])


# ---------------------------------------------------------------- one-sided derivatives


def beside(monkeypatch, values, sequences=None, fails=()):
    """Ask for one-sided derivatives of 3 + 2 d + 5 d^2 for d > 0 and 3 - d for d < 0 by `values[1]`."""
    taken = []

    def moved(question, direction, step):
        taken.append((direction.tolist(), step))
        d = float(direction[1]) * step
        if any(
            np.isclose(abs(d) / size, f)
            for f in fails
            for size in (max(abs(values[1]), 1e-300), 1.0)
        ):
            raise BadValue("There is no run.")
        sequence = "same" if sequences is None else sequences(d)
        run = space(
            march=space(
                sequence=sequence, end=lambda: (0, 0, 0, np.array([[0.0, 7 + d], [0.0, d * d]]))
            )
        )
        return d, run

    def gradient_of(d, run):
        return (
            (3 + 2 * d + 5 * d * d, np.array([9.0, 2 + 10 * d]))
            if d > 0
            else (3 - d, np.array([9.0, -1.0]))
        )

    monkeypatch.setattr(one_sided, "_moved", moved)
    monkeypatch.setattr(one_sided, "gradient_of", gradient_of)
    question = space(value=lambda j: values[j], wrt=("a", "b"), cost=space(flow=space(n_x=1)))
    return question, taken


@for_each(("value", "size"), [(0.0, 1.0), (4.0, 4.0), (-0.5, 0.5)])
def test_a_limit_is_extrapolated_from_three_steps_in_the_unit_of_a_parameter(
    monkeypatch, value, size
):
    question, taken = beside(monkeypatch, (1.0, value))
    for sign, cost, slope in ((1, 3.0, 2.0), (-1, 3.0, 1.0)):
        taken.clear()
        found = one_sided.limit(question, sign * np.eye(2)[1])
        assert found.cost == pytest.approx(cost, abs=1e-9)
        assert found.slope == pytest.approx(slope, abs=1e-9)
        assert pytest.approx([sign * 7.0, 0.0], abs=1e-9) == found.S
        assert [step for _, step in taken] == pytest.approx(
            [s * size * k for s in one_sided._STEPS for k in (1, 2, 4)]
        )
        assert {tuple(way) for way, _ in taken} == {(0.0, float(sign))}
    found = one_sided.side(question, 2.5, np.array([False, True]), -1)
    assert found.cost_gradient[1] == pytest.approx(-1.0, abs=1e-9)
    assert found.cost_jump[1] == pytest.approx(0.5, abs=1e-9)
    assert found.S[:, 1] == pytest.approx([7.0], abs=1e-9)
    assert np.isnan(found.cost_gradient[0])


def test_a_limit_is_taken_where_runs_meet_the_same_events(monkeypatch):
    question, _ = beside(monkeypatch, (1.0, 1.0), sequences=lambda d: d > 1e-5)
    assert one_sided.limit(question, np.eye(2)[1]).slope == pytest.approx(2.0, abs=1e-7)
    question, _ = beside(monkeypatch, (1.0, 1.0), sequences=lambda d: d)
    with pytest.raises(BadValue, match="changes at every distance"):
        one_sided.limit(question, np.eye(2)[1])
    question, _ = beside(
        monkeypatch, (1.0, 1.0), fails=[k * s for s in one_sided._STEPS[:3] for k in (1, 4)]
    )
    assert one_sided.limit(question, np.eye(2)[1]).slope == pytest.approx(2.0, abs=1e-6)
    question, _ = beside(monkeypatch, (1.0, 1.0), fails=one_sided._STEPS)
    with pytest.raises(BadValue, match="no run"):
        one_sided.limit(question, np.eye(2)[1])
    found = one_sided.side(question, 0.0, np.array([True, True]), 1)
    assert np.isnan(found.cost_gradient).tolist() == [False, True]


@for_each("way", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.5, -2.0, 3.0)])
def test_a_run_beside_another_has_other_parameters_and_another_start(way):
    """Of a and b are parameters; q is a start, which is not moved where it stays."""
    asked = []
    moved = space(start=lambda: (np.array([10.0, 20.0]), None), run=lambda x0: x0)
    question = space(cost=space(flow=space(states=[space(name="p"), space(name="q")])), wrt=("a", "b", "q"), places=(0, 3, -1),
                     value=lambda j: 100.0 * j, at=lambda changes: asked.append(changes) or moved)  # fmt: skip
    other, x0 = one_sided._moved(question, np.array(way), 0.1)
    assert other is moved
    assert asked == [{0: pytest.approx(0.1 * way[0]), 1: pytest.approx(100 + 0.1 * way[1])}]
    if way[2]:
        assert x0 == pytest.approx([10.0, 20.0 + 0.1 * way[2]])
    else:
        assert x0 is None


# ---------------------------------------------------------------- curves of bifurcations


@for_each(("kind", "autonomous"), itertools.product(("fold", "flip"), (False, True)))
def test_a_bifurcation_is_a_zero_of_a_determinant(kind, autonomous):
    """Of the equations of the cycle by its unknowns, or of the monodromy plus 1; with derivatives."""
    n = 2
    many = n + autonomous
    rng = np.random.default_rng(4)
    A, B, M = rng.normal(size=(many, many + 1)), rng.normal(size=(many,)), rng.normal(size=(n, n))
    scale = np.array([2.0, 5.0, 3.0, 7.0]) if autonomous else np.array([2.0, 5.0, 7.0])

    def evaluate(u, full):
        second = base.rho[1]
        G = A @ u + B * second
        J = A.copy()
        J[:, 0] += 0.1 * u[1] + second
        return space(
            G=G,
            jacobian=J,
            size=3.0,
            sequence=("s",),
            data=space(monodromy=M + 0.1 * u[0] + second * np.eye(n)),
        )

    base = bare(
        Cycles, rho=np.zeros(2), scale=scale, n=n, period=None if autonomous else 1.0, evaluate=evaluate,
        parameter="p", _last="kept",
    )  # fmt: skip
    first = space(options=space(low=-1.0, high=1.0))
    one = bare(
        Curve, base=base, kind=kind, margin="", level=0.0, place=1, scale=np.append(scale, 11.0),
        first=first,
    )  # fmt: skip
    one.test = one._test(space(kind=kind, node=space(at=space(jacobian=A))))

    def test(u):
        at = evaluate_at(u)
        if kind == "fold":
            rows = np.append(scale[:n], [1.0] * autonomous)
            return np.linalg.det(at.jacobian[:, :many] * scale[:many] / rows[:, None])
        return np.linalg.det(np.eye(n) + at.data.monodromy)

    def evaluate_at(u):
        base.rho[1] = u[-1]
        return evaluate(u[:-1], False)

    u = np.append(rng.normal(size=many), [0.5 * scale[-1], 0.3])
    found = one.evaluate(u)
    assert base._last is None
    assert pytest.approx([*evaluate_at(u).G, test(u)]) == found.G
    assert found.jacobian[:-1, :-1] == pytest.approx(evaluate_at(u).jacobian)
    assert found.jacobian[:-1, -1] == pytest.approx(B, abs=1e-6)
    for k in range(len(u)):
        d = np.eye(len(u))[k] * 1e-6
        assert found.jacobian[-1, k] == pytest.approx(
            (test(u + d) - test(u - d)) / 2e-6, rel=1e-4, abs=1e-5
        )
    assert found.size == max(3.0, abs(test(u)))
    for first, inside in ((1.0, True), (1.001, False), (-1.0, True), (-1.001, False)):
        u[-2] = first * scale[-1]
        if inside:
            one.evaluate(u)
        else:
            with pytest.raises(BadValue, match=r"^p"):
                one.evaluate(u)


# ---------------------------------------------------------------- derivatives of steps


@for_each(
    ("place", "jumps", "running"),
    [(0, 0.0, False), (-1, 0.0, False), (0, 3e-7, False), (0, 1.0, False), (0, 0.0, True)],
)
def test_steps_are_differentiated_as_long_as_their_active_sets_stay(
    monkeypatch, place, jumps, running
):
    """Of q = a^2 t, v = 2 t a at a = 3, or of a start moved by (1, -1); sets change beyond `jumps`."""
    system, taken = ex.models.bouncing_ball(), []
    n = system.n
    t = np.array([0.0, 0.5, 0.5, 1.0])
    Direct = dataclasses.make_dataclass("Direct", ["t", "solution", "S", ("method", str, ""), ("own", object, None),
                                                   ("cost", float, 0.0), ("cost_gradient", object, None), ("residuals", object, None)])  # fmt: skip
    right = np.zeros((4, 2 * n, 1))
    right[-1, 0] = 5.0
    direct = Direct(t, space(x=np.zeros((4, 2 * n))), right)
    start, seeds = np.arange(2.0 * n), np.zeros((2 * n, 1))
    seeds[0], seeds[n] = (0.0, 0.0) if place >= 0 else (1.0, -1.0)

    def run(compiled, rho, t_end, q0, v0):
        grid = np.linspace(0.0, t_end, 5)
        a, off = rho[0], q0[0] - start[0]
        taken.append((a - 3.0, off))
        q = np.zeros((5, n))
        q[:, 0], v = a**2 * grid + off, np.tile(v0 - start[n:], (5, 1))
        moved = max(abs(a - 3.0), abs(off))
        return space(t=grid, q=q, v=v, pattern=np.array([jumps and moved > jumps and a > 3.0]))

    cost = space(flow=space(n_x=2 * n), cost=space(g="g" if running else None),
                 terminal=lambda t, x, rho: (0.0, 0.0, np.arange(1.0, 2 * n + 1), np.array([100.0])))  # fmt: skip
    question = space(system=system, cost=cost, wrt=("a",), places=(place,), rho=np.array([3.0]), t_end=1.0, until=None, value=lambda j: 3.0,
                     start=lambda: (start, None), seeds=lambda: seeds)  # fmt: skip
    monkeypatch.setattr(differences, "solve", lambda question: direct)
    monkeypatch.setattr(differences, "compile_system", lambda system: None)
    monkeypatch.setattr(differences, "cost_of", lambda question, run: 42.0)
    scheme = space(run=run)
    if jumps == 1.0:
        question.value = lambda j: 1e13  # every difference is too large
        with pytest.raises(NotApplicable, match="No difference step in 'a'"):
            differences.solve_discrete(question, scheme=scheme)
        return
    found = differences.solve_discrete(question, scheme=scheme)
    size = 3.0 if place >= 0 else 1.0
    deltas = [1e-5 * size, 1e-6 * size, 1e-7 * size][: 3 if jumps else 1]
    moves = [m for d in deltas for m in (-d / 2, d / 2)]
    assert [m[0 if place >= 0 else 1] for m in taken] == pytest.approx(moves, rel=1e-6)
    S = found.own[0]
    expected = 6 * t if place >= 0 else np.ones(4)
    assert S[:, 0, 0] == pytest.approx(expected, abs=1e-5)
    assert S[:, n, 0] == pytest.approx(0 * t if place >= 0 else -np.ones(4), abs=1e-5)
    assert np.isnan(found.own[1]).all()
    by = expected[-1] * 1.0 + (100.0 if place >= 0 else -(n + 1.0))
    assert (
        np.isnan(found.cost_gradient[0])
        if running
        else found.cost_gradient == pytest.approx([by], rel=1e-5)
    )
    assert (found.method, found.cost) == ("discrete", 42.0)
    apart = np.abs(S[-1] - right[-1]).max()
    assert found.residuals == {"direct": pytest.approx(apart / 6.0)}


def test_only_moreaus_and_jeans_steps_are_differentiated():
    with pytest.raises(NotApplicable, match="differentiates Moreau-Jean"):
        differences.solve_discrete(space(system=ex.models.tent_map()))
