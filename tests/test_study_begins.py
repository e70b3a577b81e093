"""Where cycles begin, how runs follow each other, and how starts are resolved, on known numbers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, StepFailed
from explorer.runs.members import APART, Asked, Members, Observed
from explorer.study import (
    cycles,
    held_cycles,
    resolve,
)
from explorer.study import one_by_one as single
from explorer.study import question as asking
from explorer.study import search_attractors as search
from explorer.study import switched_cycle as switched
from explorer.study.curve_problems import Curve

COVERS = ("study/curve_problems.py", "study/cycles.py")

# ---------------------------------------------------------------- behind an event at the start


T, SCALE = 8.0, np.array([2.0, 5.0, 4.0])


def event_at(t, x=None, before=None):
    return space(t=t, x_plus=x, x_minus=before)


@for_each(("late", "found", "rising", "longer"), [(True, 0, 1.0, None), (False, 0, 1.0, 0.7), (True, 1, 1.0, 0.7), (False, 2, -1.0, None), (True, None, 1.0, None), (False, 1, 0.0, None)])  # fmt: skip
def test_an_event_at_the_begin_goes_on_at_the_end(monkeypatch, late, found, rising, longer):
    """The cycle is sampled on the other side of its event, a little further on, by its derivatives.

    The end of a period that the parameter makes `longer` takes the state along.
    """
    t = T - 0.1 if late else 0.1
    event = event_at(t, np.array([3.0, -4.0]), np.array([7.0, 9.0]))
    S_minus, S_plus = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[-1.0, 0.5, 2.0], [0.0, 1.0, -3.0]])  # fmt: skip
    jump = space(s_minus=S_minus, s_plus=S_plus, f_minus=np.array([2.0, -3.0, 0.0]))
    run = space(located=[event_at(2.0), event, event_at(5.0)], march=space(jump=lambda k: jump if k == 1 else None))  # fmt: skip
    other, same = T - t, t  # where the event is in a cycle that goes on, and in one that does not
    asked, held = [], []

    def correct(problem, guess, plane, tol, like):
        asked.append((guess, plane, like, tol))
        k = len(asked) - 1
        if found is None or k < found:
            # nothing, then another sequence or the event where it was
            return [None, (node(other, "abd"), 1), (node(same, "abc"), 1)][(k + bool(late)) % 3]
        return node(other, "bca"), 1

    def node(at, sequence):
        own = space(located=[event_at(3.0), event_at(at)])
        return space(at=space(sequence=tuple(sequence), data=space(run=own, T=T)))

    monkeypatch.setattr(cycles, "cycle_of", lambda node: node.at.data)
    monkeypatch.setattr(cycles, "correct", correct)
    monkeypatch.setattr(cycles, "Held", lambda run, t, before: held.append((run, t, before)) or "held there")  # fmt: skip
    one = bare(
        cycles.Cycles, n=2, scale=SCALE, held="held here", _by_p=longer, _of_rho=lambda by: by
    )
    way = np.array([0.3, -0.2, rising * 0.5])
    ended = space(kind="phase", w=np.array([1.0, 2.0, 3.0]), node=space(tangent=way, at=space(data=space(run=run, T=T))))  # fmt: skip
    here = space(at=space(sequence=tuple("abc")))
    answer = one.beyond(here, ended, space(tol=1e-9))
    assert held == [(run, t, late)]
    assert len(asked) == (3 if found is None else found + 1)
    x, S = (event.x_minus, S_minus) if late else (event.x_plus, S_plus)
    du, along = way * SCALE, jump.f_minus[:2] * (longer or 0.0) * late
    moves = (S[:, 0] * du[0] + S[:, 1] * du[1] + (S[:, 2] + along) * du[2]) / max(abs(rising * 0.5), cycles._STEEP)  # fmt: skip
    up = -1.0 if rising < 0 else 1.0
    for size, (guess, plane, like, tol) in zip((1e-5, 1e-4, 1e-3), asked, strict=False):
        assert guess == pytest.approx([*((x + size * moves) / SCALE[:2]), 3.0 + size * up], rel=1e-12)  # fmt: skip
        assert plane.tolist() == [0.0, 0.0, up]
        assert like is plane
        assert tol == 1e-9
    if found is None:
        assert answer is None
        assert one.held == "held here"
    else:
        assert answer.at.sequence == tuple("bca")
        assert one.held == "held there"
    monkeypatch.setattr(cycles, "other_side", lambda *given: given)
    ended.kind = "grazing"
    assert one.beyond(here, ended, "options") == (one, here, ended, "options")


@for_each(("t", "before", "rows"), [(None, False, [0, 1]), (0.0, False, [1, 0]), (1.0, True, [1, 0]), (1.0, False, [0, 1]), (1.5, False, [0, 1]), (2.0, True, [0, 1]), (2.0, False, []), (0.0, True, [1, 0])])  # fmt: skip
def test_what_is_held_is_that_of_the_step_beside_a_time(monkeypatch, t, before, rows):
    """Steps begin at 0, 1 and 2 s; behind the mode stand marks of the rows, one more is no row."""
    state = np.array([[9, 1, 0, 1], [9, 0, 1, 1], [9, 0, 2, 1]])
    run = space(march=space(flow="flow", steps=space(t=np.array([0.0, 1.0, 2.0]), state=state)))
    monkeypatch.setattr(held_cycles, "held_at_start", lambda run: np.array([False, True]))
    one = held_cycles.Held(run, t, before)
    assert one.rows.tolist() == [bool(r) for r in rows]
    assert bool(one) == bool(rows)
    assert one.flow == "flow"


# ---------------------------------------------------------------- curves over two parameters


class Base(cycles.Cycles):
    """Cycles x = (p^2 + q, 3 p) with M = diag(p q, -p): a flip at p = 1, a fold where p = 2 q."""

    parameter, n, autonomous, count = "p", 2, False, 1

    def __init__(self):
        self.system = space(parameters=("p", "q"))
        self.scale, self.rho, self._last, self.began = np.array([2.0, 3.0, 4.0]), np.zeros(2), 1, []

    def begin_as(self, cycle):
        self.began.append(cycle)

    def evaluate(self, u, full):
        assert not full
        assert self._last is None
        p, q = u[2], self.rho[1]
        G = np.array([u[0] - p * p - q, u[1] - 3 * p])
        J = np.array([[p - 2 * q, 0.0, -2 * p], [0.0, 1.0, -3.0]])
        cycle = bare(cycles.Cycle, monodromy=np.diag([p * q, -p]))
        return space(G=G, jacobian=J, size=float(abs(G).max()), sequence=("s",), data=cycle)


@for_each("kind", ["fold", "flip"])
def test_a_bifurcation_is_an_equation_more_and_has_its_derivatives(kind):
    base = Base()
    own = bare(cycles.Cycle, run=None)
    point = space(
        kind=kind,
        node=space(w=np.array([1.0, 1.0, 0.5]), at=space(data=own, jacobian=np.ones((2, 3)))),
    )
    one = Curve(space(problem=base, options=space(low=-1.0, high=2.0)), point, "q", 5.0)
    assert base.began == [own]
    assert one.scale.tolist() == [2.0, 3.0, 4.0, 5.0]
    p, q = 1.5, 0.4
    u = np.array([1.0, 2.0, p, q])
    at = one.evaluate(u)
    # the Jacobian by w over the scale of its rows, or I + M
    test, by_p, by_q = (p - 2 * q, 1.0, -2.0) if kind == "fold" else ((1 + p * q) * (1 - p), q * (1 - p) - (1 + p * q), p * (1 - p))  # fmt: skip
    assert pytest.approx([1.0 - p * p - q, 2.0 - 3 * p, test]) == at.G
    wanted = [[p - 2 * q, 0, -2 * p, -1], [0, 1, -3, 0], [0, 0, by_p, by_q]]
    assert at.jacobian == pytest.approx(np.array(wanted), abs=1e-7)
    assert at.size == pytest.approx(max(abs(at.G)))
    assert at.sequence == ("s",)
    assert one.evaluate(np.array([p * p + q, 3 * p, p, q])).size == pytest.approx(abs(test))
    for wrong in (-4.1, 8.1):
        with pytest.raises(BadValue, match="leaves the range"):
            one.evaluate(np.array([0.0, 0.0, wrong, 0.0]))
    for right in (-4.0, 8.0):
        one.evaluate(np.array([0.0, 0.0, right, 0.0]))
    base.autonomous, base.n = True, 1
    march = space(sample=lambda t, slopes: (None, np.array([[6.0, 7.0], [8.0, 9.0]])) if t.tolist() == [0.0] else None)  # fmt: skip
    own = bare(cycles.Cycle, run=space(march=march))
    point.node.at.data = own
    Curve(space(problem=base, options=space(low=-1.0, high=2.0)), point, "q", 5.0)
    assert base.anchor.tolist() == [2.0]
    assert base.along.tolist() == [6.0]


# ---------------------------------------------------------------- members


@for_each(("chained", "modes"), itertools.product((False, True), (False, True)))
def test_runs_made_one_by_one_follow_each_other(monkeypatch, chained, modes):
    """The second is refused, the fourth fails; what is behind these has its own start and mode."""
    members = Members(np.arange(6.0)[:, None], np.arange(12.0).reshape(6, 2), *np.ones((4, 6)), chained=chained, mode=2)  # fmt: skip
    asked = []

    def simulate(system, throw, **given):
        asked.append(given)
        k = len(asked) - 1
        if k == 1:
            raise BadValue("no")
        ok = k != 3
        return space(status=space(ok=ok, code=0 if ok else 6, t=0.25), t=[0.0, 2.0 + k])

    def read(run, members, asked, seen, i):
        seen.end[i], seen.mode[i] = 100 + i, i % 3

    function = single.one_by_one
    put(monkeypatch, function, simulate=simulate, _read=read, arguments=lambda system, scheme, members, i: {"x0": members.start[i].tolist()})  # fmt: skip
    kind = type("Own", (ex.HybridSystem,), {})
    system = bare(kind, modes=["a", "b", "c"] if modes else [])
    seen = function(system, None, members, Asked())
    starts = [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    own = [2] * 6
    if chained:
        starts = [[0, 1], [100, 100], [4, 5], [102, 102], [8, 9], [104, 104]]
        own = [2, 0, None, 2, None, 1]
    assert [given["x0"] for given in asked] == starts
    assert [given.get("mode0") for given in asked] == [None if m is None or not modes else "abc"[m] for m in own]  # fmt: skip
    assert seen.code.tolist() == [0, -1, 0, 6, 0, 0]
    assert seen.t.tolist() == [2.0, 0.0, 4.0, 0.25, 6.0, 7.0]
    assert seen.end[0].tolist() == [100, 100]
    assert np.isnan(seen.end[[1, 3]]).all()


@for_each(("chained", "located"), [(False, False), (True, True), (True, False)])
def test_what_an_ensemble_leaves_is_run_by_itself(monkeypatch, chained, located):
    """Of five members the second and the fourth; a chain without located events is run in steps."""
    members = Members(np.arange(5.0)[:, None], np.arange(5.0)[:, None], *np.ones((4, 5)), chained=chained)  # fmt: skip
    calls = []

    def seen_of(some, left=()):
        seen = Observed.empty(some.size, 1, Asked())
        seen.end[:] = some.start + 10
        seen.code[:] = [APART if k in left else 5 if k == 2 else 0 for k in some.rho[:, 0]]
        return seen

    def fast(some, asked):
        calls.append(("fast", some.rho[:, 0].tolist(), some.start[:, 0].tolist(), some.chained))
        return seen_of(some, (1, 3))

    def one_by_one(system, scheme, some, asked):
        calls.append(("one", some.rho[:, 0].tolist(), some.start[:, 0].tolist(), some.chained))
        return seen_of(some)

    function = single.together
    put(monkeypatch, function, one_by_one=one_by_one)
    seen = function(None, space(located=located), fast, members, Asked())
    assert seen.code.tolist() == [0, 0, 5, 0, 0]
    if not chained or located:
        assert calls == [("fast", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], chained), ("one", [1, 3], [1, 3], chained)]  # fmt: skip
        assert seen.end[:, 0].tolist() == [10, 11, 12, 13, 14]
        return
    told = [("fast", 0, 0), ("fast", 1, 10), ("one", 1, 10), ("fast", 2, 20), ("fast", 3, 3), ("one", 3, 3), ("fast", 4, 13)]  # fmt: skip
    assert calls == [(who, [k], [x], False) for who, k, x in told]
    assert seen.end[:, 0].tolist() == [10, 20, 30, 13, 23]


@for_each(("given", "why"), [
    ({}, None), ({"t_end": 0.0}, "t_end = 0 s must be greater"), ({"period": "a - 1"}, "period = 0 s"), ({"transient": 8.0}, "must lie in"), ({"transient": -1.0}, "must lie in"),
    ({"discrete": True}, None), ({"discrete": True, "t_end": 8.5}, "t_end = 8.5 must be a whole"), ({"discrete": True, "transient": 1.5}, "transient = 1.5 must be a whole"), ({"behind": True}, None),
])  # fmt: skip
def test_members_have_their_parameters_starts_and_times(monkeypatch, given, why):
    """Formulas are those of each member: a = 1, 2, 3, of which the last two are asked for."""
    put(monkeypatch, asking.Question.members, states_of=lambda system: (("x", "y"), ("m",)))

    def place(first, last, rho, start):
        rho[:, 1], start[:, 1] = 1.0 + np.arange(first, last), 5.0
        if given.get("period"):
            rho[0, 1] = 1.0

    system = space(discrete=given.get("discrete", False), symbols=lambda state: {"a": sp.Symbol("a")}, parameters=("k", "a"), time_unit="s")  # fmt: skip
    behind = space(end=np.arange(6.0).reshape(3, 2)) if given.get("behind") else None
    section = space(period=given.get("period", "2*a"), phase=0.25)
    one = bare(asking.Question, system=system, rho=(7.0, 0.0), axes=space(put=place), t_end=given.get("t_end", "4*a"), transient=given.get("transient", 2.0),
               section=section, behind=behind, chained=True, _compiled={})  # fmt: skip
    if why:
        with pytest.raises(BadValue, match=why):
            one.members(1, 3)
        return
    found = one.members(1, 3)
    assert found.rho.tolist() == [[7.0, 2.0], [7.0, 3.0]]
    np.testing.assert_array_equal(found.start, [[2, 3], [4, 5]] if behind else [[np.nan, 5]] * 2)
    assert [found.t_end.tolist(), found.since.tolist()] == [[8.0, 12.0], [2.0, 2.0]]
    assert [found.period.tolist(), found.offset.tolist()] == [[4.0, 6.0], [1.0, 1.5]]
    assert found.chained
    object.__setattr__(one, "section", None)
    found = one.members(1, 3)
    assert [found.period.tolist(), found.offset.tolist()] == [[1.0, 1.0], [0.0, 0.0]]


# ---------------------------------------------------------------- what is known of starts


def test_what_is_known_of_attractors_is_what_a_run_looks_for():
    """Radii are 2/5 of the distance of the nearest other one, in parts of the scale, at most."""
    one = space(period=2, points=np.array([[0.0, 0.0], [2.0, 0.0]]), radius=0.05)
    two = space(period=0, points=np.array([[0.0, 0.4], [9.0, 9.0], [9.0, 8.0]]), radius=0.3)
    own = bare(search.Search, attractors=[one, two], scale=np.array([2.0, 4.0]), low=np.zeros(2), high=np.ones(2))  # fmt: skip
    found = own.known()
    assert found.points.tolist() == [*one.points.tolist(), *two.points.tolist()]
    assert found.owner.tolist() == [0, 0, 1, 1, 1]
    assert found.radius == pytest.approx([0.04, 0.04, 0.04, 0.04, 0.04])
    assert found.hits.tolist() == [1, 1, 10, 10, 10]
    assert found.scale is own.scale
    assert found.lost == 10
    one.points, own.attractors = one.points + 1.0, [two, one]
    assert own.known().radius == pytest.approx([*[0.4 * np.hypot(0.5, 0.15)] * 3, 0.05, 0.05])
    own.attractors = []
    found = own.known()
    assert (found.points.shape, found.owner.shape, found.radius.shape) == ((0, 2), (0,), (0,))


@for_each(("rounds", "left", "learnt"), [
    ({}, [0, 1, 2], [[0, 10, 20]]), ({0: [9, 9, 9]}, [9, 9, 9], []), ({0: [4, None, None], 1: [5, None]}, [4, 5, None], [[10, 20], [20]]), ({0: [None, 4, 5], 1: [3]}, [3, 4, 5], [[0]]),
])  # fmt: skip
def test_what_is_undecided_is_tried_again_as_long_as_something_is_learnt(rounds, left, learnt):
    U, told, asked = resolve.UNDECIDED, [], []
    attractors = []

    def run(places):
        labels = rounds.get(len(told), [None] * len(places))
        told.append(places.tolist())
        return np.array([U if one is None else one for one in labels])

    def learn(rows, stop):
        asked.append(rows.tolist())
        if rounds and len(asked) < 2:
            attractors.append("more")

    owner = next(c for c in vars(resolve).values() if isinstance(c, type) and "labels" in vars(c))
    own = space(starts=space(rows=10 * np.arange(9)), attractors=attractors, refused=[], learn=learn)  # fmt: skip
    one = bare(type("Own", (owner,), {"run": lambda self, places: run(places)}), search=own, stop=None, random=np.random.default_rng(0))  # fmt: skip
    found = one(np.arange(3))
    wanted = [U if k is None or not rounds else k for k in left]
    assert found.tolist() == wanted
    assert [sorted(some) for some in asked] == learnt
    own.refused = [0] * search.REFUSALS
    asked.clear()
    told.clear()
    rounds = {}
    one(np.arange(3))
    assert asked == []


# ---------------------------------------------------------------- a cycle that a run settles on


@for_each(("count", "xs", "kinds", "first"), [
    (1, [5.0, 1.0, 2.0, 1.0, 2.0], "iiiii", 2), (2, [5.0, 1.0, 2.0, 1.0, 2.0], "iiiii", 2), (1, [9.0, 2.0, 2.0, 2.0], "iiii", 2), (1, [2.0, 2.0, 9.0, 2.0], "issi", 0), (3, [1.0, 1.0, 1.0, 2.0], "iiii", 0), (1, [1.0, 4.0], "si", 0),
])  # fmt: skip
def test_the_period_is_told_by_the_last_events_that_come_back(monkeypatch, count, xs, kinds, first):
    """The k-th event is at the time k^2; one of another section does not count."""
    events = [space(t=float(k * k), x_plus=np.array([x, -x]), kind=kind, contact="s") for k, (x, kind) in enumerate(zip(xs, kinds, strict=True))]  # fmt: skip
    located = [space(contact="other"), *events]
    asked = []
    monkeypatch.setattr(switched, "simulate", lambda system, scheme, **given: asked.append(given) or space(located=located))  # fmt: skip
    P = space(t_max=3.0, system=space(name="m", time_unit="s"), scheme=None, start=lambda guess: guess, values={}, section="s", count=count)  # fmt: skip
    x, period = switched.settled(P, "guess")
    assert asked == [{"x0": "guess", "t_end": switched._SETTLES * 3.0, "rho": {}}]
    k = len(xs) - 1
    assert x.tolist() == [xs[first], -xs[first]]
    assert period == k * k - first * first
    P.count = len(xs)
    with pytest.raises(BadValue, match=f"Only {len(xs)} events"):
        switched.settled(P, "guess")


@for_each(("residuals", "told"), [
    ([0.5, 0.1, 1e-12], None), ([0.5, None, 0.46, 0.2, 1e-12], None), ([1e-12], None), ([0.5, *[0.6] * 99], "lowers it"), ([0.5, 0.1, *[0.01 * 0.5**k for k in range(9)]], "max_iter = 4"),
])  # fmt: skip
def test_newtons_method_for_a_cycle_shortens_steps_that_do_not_help(monkeypatch, residuals, told):
    """A step of a part k must lower the residual to 1 - k/4 of it."""
    left, tried = iter(residuals), []

    def closed(P, x, T):
        tried.append((x[0], T))
        value = next(left)
        if value is None:
            raise BadValue("no run")
        return space(x=np.array(x), T=T, residual=value)

    monkeypatch.setattr(switched, "settled", lambda P, guess: (guess, 3.0))
    monkeypatch.setattr(switched, "_run", lambda P, x, T: None)
    monkeypatch.setattr(switched, "_beside", lambda P, run: np.array([8.0]))
    monkeypatch.setattr(switched, "_closed", closed)
    monkeypatch.setattr(switched, "_newton", lambda P, loop: np.array([-1.0, 2.0]))
    monkeypatch.setattr(switched, "_check_size", lambda P, loop: None)
    monkeypatch.setattr(switched, "_once", lambda P, loop, tol: loop)
    monkeypatch.setattr(switched, "_lost", lambda P, loop, history, why: StepFailed(why, None))
    if told:
        with pytest.raises(StepFailed, match=told):
            switched.switched_cycle(None, None, 1e-9, 4)
        if told == "lowers it":
            assert tried[1:] == [(8 - 0.5**k, 3 + 2 * 0.5**k) for k in range(switched._HALVINGS)]
        return
    loop, history = switched.switched_cycle(None, None, 1e-9, 4)
    assert loop.residual == 1e-12
    kept = [r for r in residuals if r not in (None, 0.46)]
    assert [row[0] for row in history] == kept
    if len(residuals) == 5:
        assert tried == [(8.0, 3.0), (7.0, 5.0), (7.5, 4.0), (7.75, 3.5), (6.75, 5.5)]
        assert [row[1] for row in history] == [8.0, 7.75, 6.75]


def test_what_comes_back_is_told_in_parts_of_the_largest_states(monkeypatch):
    """Of states near (1, 100) one that differs by 4 in the second is nearer than by 1/2 in the first."""
    states = [(1.0, 104.0), (1.5, 100.0), (1.0, 100.0)]
    located = [space(t=float(k * k), x_plus=np.array(x), kind="i", contact="s") for k, x in enumerate(states)]  # fmt: skip
    monkeypatch.setattr(switched, "simulate", lambda system, scheme, **given: space(located=located))  # fmt: skip
    P = space(t_max=3.0, system=None, scheme=None, start=lambda guess: guess, values={}, section="s", count=1)  # fmt: skip
    x, period = switched.settled(P, None)
    assert (x.tolist(), period) == ([1.0, 104.0], 4.0)
