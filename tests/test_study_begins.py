"""Where cycles begin, how runs follow each other, and how starts are resolved, on known numbers."""

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
from explorer.errors import BadValue, StepFailed
from explorer.runs.members import APART, Asked, Members, Observed
from explorer.study import (
    basin_map,
    curve_problems,
    cycles,
    held_cycles,
    map_cycles,
    resolve,
    return_map,
    sharpening,
)
from explorer.study import one_by_one as single
from explorer.study import question as asking
from explorer.study import search_attractors as search
from explorer.study import switched_cycle as switched
from explorer.study.attractors import _drawn
from explorer.study.curve_problems import Curve
from explorer.study.section import Section

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

    def simulate(system, scheme, throw, **given):
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


# ---------------------------------------------------------------- return maps


@for_each(("to", "mode"), [((), "run"), ((0, 1), "run"), ((1,), "swing"), ((2, 1), "rest")])
def test_a_return_begins_in_the_mode_behind_its_section(to, mode):
    """In that of the model if the section leads there, or leads nowhere."""
    modes = [space(name=name) for name in ("run", "swing", "rest")]
    guards = [space(name="strike", targets=to), space(name="other", targets=(2,))]
    system = bare(type("Own", (ex.HybridSystem,), {"modes": modes, "guards": guards, "start_mode": 0}))  # fmt: skip
    assert bare(return_map.ReturnMap, system=system, section="strike")._mode() == mode
    assert bare(return_map.ReturnMap, system=None, section="strike")._mode() is None


@for_each(("ok", "last", "mode", "told"), [
    (True, 2.0, "b", None), (True, 2.0, None, None), (True, 2.0, "a", "is in the mode 'b' and not in 'a'"), (False, 2.0, "b", "end of the period: said"),
    (True, 1.5, "b", "end of the period: said"),
])  # fmt: skip
def test_a_return_over_a_period_ends_in_its_mode(monkeypatch, ok, last, mode, told):
    """Its Jacobian is S at the end, along the directions in which the start may move."""
    S = np.arange(18.0).reshape(2, 3, 3)[:, :, :2]
    run = space(status=space(ok=ok, message="said"), t=np.array([0.0, last]), mode=[0, 1],
                x=np.array([[1.0, 2.0], [3.0, 4.0]]), S=S)  # fmt: skip
    asked = []
    own = {"_run": lambda self, x, span, n_x: asked.append((span, n_x)) or run, "_name_of": lambda self, k: "ab"[k]}  # fmt: skip
    one = bare(type("Own", (return_map.ReturnMap,), own), period=2.0, mode=mode, system=space(name="m"))  # fmt: skip
    for free in (None, np.array([[0.6], [0.8]])):
        monkeypatch.setattr(return_map, "directions", lambda run, free=free: free)
        if told:
            with pytest.raises((BadValue, StepFailed), match=told):
                one(np.zeros(2))
            continue
        found = one(np.zeros(2))
        whole = S[1, :2] if free is None else S[1, :2] @ free @ free.T
        np.testing.assert_allclose(found.jacobian, whole)
        assert (found.x.tolist(), found.T, found.run, found.free) == ([3.0, 4.0], 2.0, run, free)
        assert asked[-1] == (2.0, 2)


def passed(*times, kind="impact", crossed=True):
    same = np.array([5.0, 6.0])
    return [space(t=t, contact="wall", kind=kind, x_minus=same, x_plus=same if crossed else same + t) for t in times]  # fmt: skip


@for_each(("count", "spans", "T"), [(1, [4.0], 1.0), (2, [4.0], 3.0), (3, [4.0, 10.0], 7.0), (4, [4.0, 10.0], None)])  # fmt: skip
def test_a_return_is_looked_for_in_the_last_span_first(count, spans, T):
    """Its Jacobian is S behind the event, and the flow times how the event moves."""
    asked, every = [], passed(1.0, 3.0, 7.0, crossed=False)
    S, flow, moves = np.arange(18.0).reshape(3, 6), np.arange(9.0).reshape(3, 3), np.arange(6.0).reshape(3, 2)  # fmt: skip

    def sought(self, x, span, n_x):
        asked.append(span)
        march = space(part=lambda name: {"s_plus": S, "f_plus": flow, "dtau": moves}[name])
        return space(located=[e for e in every if e.t <= span], march=march, status=space(ok=True))

    own = {"_run": sought, "_unmet": lambda self, run: "unmet", "_returned": lambda self, *found: found}  # fmt: skip
    one = bare(type("Own", (return_map.ReturnMap,), own), period=None, count=count, t_max=10.0, section="wall",
               _span=4.0, _last=0.0, system=space(name="m"))  # fmt: skip
    if T is None:
        with pytest.raises(BadValue, match="unmet"):
            one(np.zeros(2))
    else:
        x, found, DP, _ = one(np.zeros(2))
        k = count - 1
        assert (x.tolist(), found) == ([5.0 + T, 6.0 + T], T)
        wanted = S[k].reshape(2, 3).T[:2] + np.outer(flow[k, :2], moves[k])
        np.testing.assert_allclose(DP, wanted)
        assert (one._span, one._last) == (2 * T, T)
    assert asked == spans


@for_each(("t", "kind", "crossed", "last", "ends"), [
    (1.0, "impact", False, 0.0, True), (1.0, "released", False, 0.0, False), (5e-9, "impact", False, 0.0, False), (2e-8, "impact", False, 99.0, True),
    (2e-4, "event", True, 3.0, False), (4e-4, "event", True, 3.0, True), (2e-4, "event", False, 3.0, True),
])  # fmt: skip
def test_a_start_on_its_section_is_no_return(t, kind, crossed, last, ends):
    one = bare(return_map.ReturnMap, t_max=10.0, _last=last, section="wall")
    (event,) = passed(t, kind=kind, crossed=crossed)
    assert one._ends(event) == ends
    event.contact = "floor"
    assert not one._ends(event)


@for_each(("side", "x", "new", "same"), [
    (1, 1.0, 2.0, True), (1, 1.0, -2.0, False), (-1, 1.0, -2.0, True), (-1, -1.0, 2.0, False), (1, 0.0, -2.0, True), (1, 1.0, 0.0, True),
])  # fmt: skip
def test_a_state_that_has_passed_a_guard_lies_on_the_other_side(side, x, new, same):
    guard = space(side=side, value=lambda t, x, rho: x[0])
    one = bare(type("Own", (return_map.ReturnMap,), {"_guards": [guard]}), rho=None)
    assert one.same_side(np.array([x]), np.array([new])) == same


@for_each(("index", "there"), [((0, 0), True), ((1, 2), True), ((2, 0), False), ((0, 3), False), ((-1, 0), False), ((0,), False), ((0, 0, 0), False)])  # fmt: skip
def test_a_start_of_basins_is_one_of_its_axes(monkeypatch, index, there):
    """Its parameters are those of its axes, its states those of the starts."""
    asked = []
    monkeypatch.setattr(basin_map, "Question", lambda *given: asked.append(given))
    over = [space(names=("x",), values=np.array([[1.0], [2.0]])), space(names=("b", "y"), values=np.arange(6.0).reshape(3, 2))]  # fmt: skip
    system = space(name="m", parameters=("a", "b"))
    settings = space(system=system, scheme="s", t_end=9.0, section="z")
    starts = space(names=("y", "x"), axes_of=lambda rows: rows.tolist())
    kind = type("Own", (basin_map.Basins,), {"shape": (2, 3), "system": system})
    one = bare(kind, over=over, rho=(7.0, 8.0), settings=settings, starts=starts)
    if not there:
        with pytest.raises(BadValue, match="is no start of basins of shape"):
            one.question(*index)
        return
    one.question(*index)
    b, y = over[1].values[index[1]]
    assert asked == [(system, "s", (7.0, b), [[y, 1.0 + index[0]]], 9.0, 0.0, "z")]


@for_each(("guess", "told"), [
    ({"y": 5}, [1.0, 5.0]), ([3, 4], [3.0, 4.0]), ({"z": 1}, "no state 'z'"), ([1.0], "needs 2 numbers"), ([1.0, 2, 3], "needs 2 numbers"),
])  # fmt: skip
def test_an_orbit_begins_at_a_guess(monkeypatch, guess, told):
    asked = []
    monkeypatch.setattr(map_cycles, "compile_map", lambda system: space(start=lambda rho: (np.array([1.0, 2.0]), 0)))  # fmt: skip
    monkeypatch.setattr(map_cycles, "_iterated", lambda compiled, rho, x, count: asked.append((x.tolist(), count)))  # fmt: skip
    system = space(name="m", coordinates=("x", "y"))
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            map_cycles.first_orbit(system, np.zeros(1), guess, 4)
        return
    map_cycles.first_orbit(system, np.zeros(1), guess, 4)
    assert asked == [(told, 3)]


def test_without_a_guess_an_orbit_is_where_it_comes_nearest_to_its_beginning(monkeypatch):
    """Behind what settles, the first of those that are best."""
    count, best = 3, 4
    settles, looked = map_cycles._SETTLES, map_cycles._LOOKED
    asked = []

    def iterated(compiled, rho, x, many):
        asked.append((x.tolist(), many))
        orbit = np.stack([np.arange(many + 1.0) ** 2, 0 * np.arange(many + 1.0)], axis=1)
        orbit[settles + best + count] = orbit[settles + best] + 1e-3
        return orbit

    monkeypatch.setattr(map_cycles, "compile_map", lambda system: space(start=lambda rho: (np.array([1.0, 2.0]), 0)))  # fmt: skip
    monkeypatch.setattr(map_cycles, "_iterated", iterated)
    found = map_cycles.first_orbit(space(coordinates=("x", "y")), np.zeros(1), None, count)
    assert asked == [([1.0, 2.0], settles + looked + 2 * count)]
    assert found[:, 0].tolist() == [float((settles + best + k) ** 2) for k in range(count)]


def test_an_orbit_of_a_map_takes_the_branch_of_each_point(monkeypatch):
    """x -> 3 x below 2, else x -> x - 1, and no number beyond 100."""
    monkeypatch.setattr(map_cycles, "_branch_of", lambda compiled, x, rho: int(x[0] >= 2))
    pieces = [lambda inp: np.array([3 * inp[1] * inp[2], np.nan]), lambda inp: np.array([inp[1] - 1 if inp[1] < 100 else np.inf, np.nan])]  # fmt: skip
    compiled = space(n_x=1, pieces=pieces, input=lambda rho: np.array([0.0, 0.0, *rho]), system=space(name="m"))  # fmt: skip
    found = map_cycles._iterated(compiled, np.array([1.0]), [1.0], 4)
    assert found[:, 0].tolist() == [1.0, 3.0, 2.0, 1.0, 3.0]
    with pytest.raises(BadValue, match="escapes at iterate 2 from here"):
        map_cycles._iterated(compiled, np.array([200.0]), [1.0], 4)


@for_each(("kind", "constraints", "free"), [(ex.HybridSystem, 1, True), (ex.MechanicalSystem, 0, True), (ex.MechanicalSystem, 1, None), (ex.StepSystem, 0, None)])  # fmt: skip
def test_a_start_may_move_beside_surfaces_or_along_contacts(kind, constraints, free):
    system = bare(type("Own", (kind,), {"constraints": [7] * constraints}))
    run, start = object(), space(x=np.array([1.0]), T=4.0, mode=3)
    for clear in (True, False):
        asked = []
        misses = space(clear=lambda *given, clear=clear, asked=asked: asked.append(given) or clear)
        own = {"_shoot": lambda self, x, T, slopes: run}
        one = bare(type("Shooting", (cycles.Cycles,), own), system=system, misses=misses)
        assert one.off_surfaces(start) == (clear if free is None else free)
        assert asked == ([(run, 0.0, 3)] if free is None else [])


# ---------------------------------------------------------------- what is observed of one run


class Rows:
    """x = t, y = 10 t from 0 to 4 s in steps of 0.5 s; a march has x + 100, and goes on to 200."""

    def __init__(self, located, events, velocities=False):
        self.t, self.events, self.has_velocities, self.located = np.arange(9) / 2, events, velocities, located  # fmt: skip
        self.x, self.march = np.stack([self.t, 10 * self.t], axis=1), self
        self.steps, self.mode = space(t=self.t[:-1]), [1, 2, 6]
        if located:
            self.y = np.array([70.0, 80.0, 90.0])

    def has(self, what):
        return {"march": self.located, "mode": True, "laws": False}[what]

    def recorded_row(self, name):
        return {"mode": self.mode}[name]

    def sample(self, t, exact=True):
        values = np.abs(4 * t - np.rint(4 * t)) if not exact else 0.0  # more, between the steps
        return np.stack([t + 100 * exact, 10 * t - 50 * (values > 0), 0 * t], axis=1), None

    def at(self, t):
        return space(q=t[:, None], v=10 * t[:, None]) if self.has_velocities else space(q=np.stack([t, 10 * t], axis=1))  # fmt: skip


def met(*times, contact="wall", kind="impact", sides=True):
    return [space(t=t, contact=contact, kind=kind, row=int(2 * t), **({"x_minus": np.array([t, -1.0]), "x_plus": np.array([t, 1.0])} if sides else {})) for t in times]  # fmt: skip


@for_each(("located", "before", "sides", "most"), [(True, False, True, 9), (True, True, True, 2), (False, False, False, 9), (False, True, False, 9)])  # fmt: skip
def test_points_at_events_of_a_run_are_its_states_beside_them(located, before, sides, most):
    """From `since` on; what opens a contact is no point. All events are counted."""
    events = met(0.0, 1.0, 2.5, 3.0, sides=sides) + met(1.5, contact="floor", sides=sides) + met(2.0, kind="released", sides=sides)  # fmt: skip
    run = Rows(located, events)
    asked = Asked(("floor", "wall", "roof"), "event", "wall", before, most, True)
    seen = Observed.empty(2, 2, asked)
    single._read(run, space(since=[0.0, 1.0]), asked, seen, 1)
    times = [1.0, 2.5, 3.0][:most]
    assert seen.found.tolist() == [0, 3]
    assert seen.events.tolist() == [[0, 0, 0], [1, 4, 0]]
    np.testing.assert_array_equal(seen.times[1], times + [np.nan] * (most - len(times)))
    states = [[t, -1.0 if before else 1.0] if sides else [t - 0.5 * before, 10 * (t - 0.5 * before)] for t in times]  # fmt: skip
    assert seen.points[1, : len(times)].tolist() == states
    assert seen.end[1].tolist() == ([70.0, 80.0] if located else [4.0, 40.0])
    assert seen.mode.tolist() == [0, 6]
    assert (seen.low[1, 0], seen.high[1, 0]) == (1.0, 4.0)
    assert seen.high[1, 1] == 40.0
    assert (seen.low[1, 1] < -20.0) == located  # what its polynomials reach between the steps
    assert np.isnan(seen.low[0]).all()


def test_at_the_start_there_is_no_row_before_an_event():
    run = Rows(False, met(0.0, 0.5, sides=False))
    assert single._beside(run, run.events[0], True).tolist() == [0.0, 0.0]
    assert single._beside(run, run.events[1], True).tolist() == [0.0, 0.0]
    assert single._beside(run, run.events[1], False).tolist() == [0.5, 5.0]


@for_each(("since", "offset", "period", "most", "times"), [
    (0.0, 0.0, 1.0, 9, [0.0, 1, 2, 3, 4]), (0.6, 0.25, 1.5, 9, [1.75, 3.25]), (1.0, 0.0, 1.0, 2, [1.0, 2]), (0.0, 0.0, 4 * (1 + 5e-13), 9, [0.0, 4.0]),
    (0.0, -0.5, 1.0, 9, [0.5, 1.5, 2.5, 3.5]), (1 + 1e-12, 0.0, 1.0, 9, [1.0, 2, 3, 4]),
])  # fmt: skip
def test_points_of_a_run_at_times_are_those_of_a_period(since, offset, period, most, times):
    for located, velocities in ((True, False), (False, True), (False, False)):
        asked = Asked((), "period", "", False, most, False)
        seen = Observed.empty(2, 2, asked)
        members = space(since=[9.0, since], period=[9.0, period], offset=[9.0, offset])
        single._read(Rows(located, [], velocities), members, asked, seen, 1)
        assert seen.found[1] == len(times)
        np.testing.assert_allclose(seen.times[1, : len(times)], times, rtol=1e-11)
        states = np.stack([np.array(times) + 100 * located, 10 * np.array(times)], axis=1)
        np.testing.assert_allclose(seen.points[1, : len(times)], states, rtol=1e-11)


# ---------------------------------------------------------------- settings of a search


@for_each(("section", "discrete", "given", "told"), [
    (None, True, {}, ((1, None), 1e-5, 1e-2)), (Section(period="2*a"), False, {}, (("2*a", None), 1e-5, 1e-2)), (Section(event="stop"), False, {"t_end": 7.0}, ((None, search._MOST_EVENTS), 1e-5, 1e-2)),
    (Section(period="2*a"), False, {"tol": 1e-3}, (("2*a", None), 1e-3, 25e-3)), (Section(period="2*a"), False, {"scheme": "steps"}, (("2*a", None), 2e-3, 0.05)),
    (None, False, {}, "must be a Section"), (Section(period=1), False, {"t_end": 1.0}, "t_end follows from periods"), (Section(period=1), False, {"near": 0.6}, "must have 0 < tol"),
    (Section(period=1), False, {"tol": 0.02, "near": 0.02}, "must have 0 < tol"), (Section(period=1), False, {"periods": 11}, "whole number from 12"), (Section(period=1), False, {"periods": True}, "whole number from 12"),
])  # fmt: skip
def test_a_search_has_a_section_and_two_distances(monkeypatch, section, discrete, given, told):
    monkeypatch.setattr(search, "box_of", lambda system, box: {"box": box})
    monkeypatch.setattr(search, "depends_on_time", lambda system: False)
    system, steps = space(name="m", discrete=discrete, t_end=99.0), given.get("scheme") == "steps"
    scheme = space() if steps else ex.EventDriven()
    recurrence = search.Recurrence(tol=given.get("tol"), near=given.get("near"))
    arguments = (system, scheme, section, given.get("periods", 40), given.get("t_end"), recurrence)
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            search.Settings.of(*arguments)
        return
    found = search.Settings.of(*arguments)
    assert ((found.section.period, found.section.most), found.tol, found.near) == (told[0], pytest.approx(told[1]), pytest.approx(told[2]))  # fmt: skip
    assert found.sure == pytest.approx(found.tol / (1 if steps else 100))
    assert found.periods == 40
    if found.section.period is None:
        assert (found.t_end, found.part(4)) == (7.0, "(7.0) / 4")
    else:
        assert (found.t_end, found.part(4)) == (f"40 * ({told[0][0]})", f"10 * ({told[0][0]})")
        assert found.part(99) == f"1 * ({told[0][0]})"


def test_a_search_looks_ten_spans_beyond_its_starts(monkeypatch):
    """Or as far as its box says; what is no start, or has one value, has no bounds."""
    monkeypatch.setattr(search, "check_section", lambda *given: None)
    monkeypatch.setattr(search, "states_of", lambda system: (("x", "y", "z", "w"), ()))
    axes = [space(values=np.array([[3.0, 9.0], [5.0, 9.0], [4.0, 9.0]])), space(values=np.array([[1.0], [2.0]]))]  # fmt: skip
    places = [(0, 0, "start", 1), (0, 1, "start", 2), (1, 0, "parameter", 0)]
    settings = space(system=space(parameters=("a", "b")), section=None, box={"w": (-2.0, 6.0)}, seed=3)  # fmt: skip
    found = search.Search(settings, (7.0, 8.0), space(grid=space(axes=axes, places=places)))
    assert found.spans.tolist() == [0.0, 2.0, 0.0, 0.0]
    assert found.low.tolist() == [-np.inf, 3 - 20, -np.inf, -2.0]
    assert found.high.tolist() == [np.inf, 5 + 20, np.inf, 6.0]
    assert found.at == {"a": 7.0, "b": 8.0}


# ---------------------------------------------------------------- problems of cycles, columns


def cycling(period, count=1, **more):
    """Return a problem of cycles over b of two parameters, of two states."""
    system = bare(type("Own", (ex.HybridSystem,), {"constraints": (), "drive": None}), name="m", parameters={"a": 1, "b": 2}, time_unit="s")  # fmt: skip
    object.__setattr__(system, "symbols", lambda state: {"a": sp.Symbol("a"), "b": sp.Symbol("b")})
    one = bare(cycles.Cycles, system=system, parameter="b", rho=np.array([3.0, 5.0]), place=1, count=count, n=2, **more)  # fmt: skip
    one.period, one._by_p = one._formulas(period)
    return one


@for_each("count", [1, 3])
def test_the_period_of_a_forced_cycle_is_that_of_its_parameters(monkeypatch, count):
    """T = count (a + b^2), which moves by 2 count b; without a formula it is unknown."""
    monkeypatch.setattr(cycles, "check_period", lambda *given: None)
    one = cycling("a + b**2", count)
    assert one.first(cycles.Shot(np.array([7.0, 8.0]), 9.0)).tolist() == [7.0, 8.0, 5.0]
    x, T = one._split(np.array([7.0, 8.0, 2.0]))
    assert (x.tolist(), T, one.rho.tolist()) == ([7.0, 8.0], count * 7.0, [3.0, 2.0])
    assert one._of_rho(one._by_p) == count * 4.0
    assert not one.autonomous
    free = cycling(None, count)
    assert (free.autonomous, free._by_p) == (True, None)
    assert free.first(cycles.Shot(np.array([7.0, 8.0]), 9.0)).tolist() == [7.0, 8.0, 9.0, 5.0]
    x, T = free._split(np.array([7.0, 8.0, 6.0, 2.0]))
    assert (x.tolist(), T, free.rho[1]) == ([7.0, 8.0], 6.0, 2.0)
    assert free.state(np.array([7.0, 8.0, 6.0, 2.0])).tolist() == [7.0, 8.0]
    for T in (0.0, -1.0):
        with pytest.raises(BadValue, match="is not positive"):
            free._split(np.array([7.0, 8.0, T, 2.0]))
    names = {"hit wall": ("grazing", "wall"), "miss a b": ("grazing", "a b"), "spacing": ("corner", ""), "phase": ("phase", ""), "edge": ("grazing", "")}  # fmt: skip
    assert {key: one.at_margin(key) for key in names} == names


@for_each(("mode", "to", "agrees", "why"), [
    (0, ["b", "a"], True, None), (0, [], True, None), (0, ["a", "b"], True, "ends in another mode, 'b'"), (-1, ["b"], True, None), (0, [], False, "Other contacts of 'm' are held"),
])  # fmt: skip
def test_a_cycle_ends_in_the_mode_of_its_begin(mode, to, agrees, why):
    held = space(agrees=lambda run: agrees)
    one = cycling(None, mode=mode, held=held)
    type(one.system).modes = [space(name="a"), space(name="b")]
    run = space(located=[space(to=name) for name in to])
    if why is None:
        one._check_begin(run)
    else:
        with pytest.raises(BadValue, match=why):
            one._check_begin(run)


@for_each(("multipliers", "stable"), [([0.9, -0.9], True), ([0.6 + 0.7j, 0.6 - 0.7j], True), ([0.5, -1.1], False), ([1.0, 0.0], False), ([], True)])  # fmt: skip
def test_a_cycle_is_stable_if_its_multipliers_lie_in_the_unit_circle(multipliers, stable):
    own = bare(cycles.Cycle, multipliers=np.array(multipliers))
    assert bare(cycles.Cycles).stable(space(at=space(data=own))) == stable


@dataclasses.dataclass
class Asks:
    """What a diagram asks for."""

    t_end: float
    transient: float
    section: object


@for_each(("driven", "discrete", "phase", "t_end", "transient", "most"), [
    (True, False, 0.0, 12.0, 7.0, 5), (True, False, 0.25, 14.0, 7.0, 5), (True, True, 0.0, 12.0, 8.0, 5), (False, False, 0.0, 12.0, 6.0, 10),
])  # fmt: skip
def test_columns_take_whole_returns_and_leave_the_first_ones_out(driven, discrete, phase, t_end, transient, most):  # fmt: skip
    """Of returns of 2 s each: six, of which three settle. At events twice the room is taken."""
    returns = space(driven=driven, section=Section(period=2.0, phase=phase), span=lambda count: 2.0 * count)  # fmt: skip
    system = space(discrete=discrete)
    one = bare(sharpening.Sharpening, returns=returns, system=system, question=Asks(9.0, 0.0, None))
    found = one.asking(6, 3, 5)
    assert (found.t_end, found.transient, found.section.most) == (t_end, transient, most)


@for_each("own", [True, False])
def test_a_column_settles_from_a_start_that_is_given_or_its_own(monkeypatch, own):
    asked, codes = [], [0, 4]

    @dataclasses.dataclass
    class Settle:
        axes: object

        def run(self, first, last, begin):
            asked.append((self.axes, first, last, begin))
            return space(code=[codes.pop(0)], end=np.array([[7.0, 8.0]]), mode=np.array([3]), t=[0.5])  # fmt: skip

    monkeypatch.setattr(sharpening.Axes, "of", lambda system, over: over)
    one = bare(sharpening.Sharpening, system=space(name="m"), by="b", begin="usual", settle=Settle(None))  # fmt: skip
    x, mode = one.settled(2.5, "given" if own else None)
    assert (x.tolist(), mode) == ([7.0, 8.0], 3)
    assert asked == [({"b": [2.5]}, 0, 1, "given" if own else "usual")]
    with pytest.raises(BadValue, match="the run of 'm' ends at t = "):
        one.settled(2.5)


def test_a_span_of_returns_is_that_of_the_parameter():
    system = space(parameters=("a", "b"), symbols=lambda state: {"a": sp.Symbol("a"), "b": sp.Symbol("b")})  # fmt: skip
    one = bare(sharpening.Sharpening, question=space(rho=(3.0, 5.0)), system=system, by="b", returns=space(each="a + 2*b"))  # fmt: skip
    assert one.span(7.0, 4) == 4 * 17.0


class Pieces:
    """What is known of the pieces of a run between its events, and which are clear."""

    def __init__(self, pieces, clear):
        self.pieces, self.free = pieces, clear

    def segments(self, run, mode):
        return [*self.pieces]

    def clear(self, run, t, mode):
        return (t, mode) in self.free


@for_each(("pieces", "clear", "told"), [
    ([(0.0, 1.0, 4), (1.0, 3.0, 5), (3.0, 3.5, 6)], {(0.5, 4), (2.0, 5)}, (2.0, 5)), ([(0.0, 1.0, 4), (1.0, 3.0, 5), (3.0, 3.5, 6)], {(0.5, 4), (3.25, 6)}, (0.5, 4)),
    ([(0.0, 1.0, 4), (1.0, 3.0, 5)], set(), (2.0, 5)),
])  # fmt: skip
def test_a_cycle_begins_anew_in_the_middle_of_its_longest_clear_piece(pieces, clear, told):
    """With its derivatives there; on a surface if there is no other place."""
    sample = lambda t, slopes: (np.array([[10 * t[0], 20 * t[0], 9.0]]), None, None)  # noqa: E731
    slopes = lambda t: np.full((1, 3, 4), t[0])  # noqa: E731
    run = space(march=space(sample=sample, slopes_at=slopes, wrt=(1, 2), t_last=3.5))
    kind = type("Turning", (cycles.Cycles,), {"_holds": False})
    one = bare(kind, n=2, misses=Pieces(pieces, clear))
    shot, S = one.middle(run, 7)
    assert (shot.x.tolist(), shot.T, shot.mode) == ([10 * told[0], 20 * told[0]], 3.5, told[1])
    assert S.tolist() == np.full((2, 4), told[0]).tolist()
    run.march.wrt = ()
    assert one.middle(run, 7)[1].shape == (2, 0)
    assert one.clear(run, 7) == bool(clear)
    kind._holds = True
    assert one.clear(run, 7)
    one.misses.free = set()
    assert one.clear(run, 7)


@for_each(("observed", "told"), [
    ([(0, 8.0, 4), (0, 3.0, 3), (0, 12.0, 3)], 2.0), ([(5, 8.0, 4), (0, 3.0, 3), (0, 9.0, 0)], 1.0), ([(0, 8.0, 4), (0, 3.0, 3), (5, 9.0, 3)], 1.5), ([(5, 8.0, 4), (0, 3.0, 0), (6, 9.0, 3)], None),
])  # fmt: skip
def test_a_return_to_an_event_lasts_as_long_as_those_of_three_runs(observed, told):
    """At both ends of the parameter and in its middle; the median of those that meet the event."""
    asked = []

    @dataclasses.dataclass
    class Pilot:
        section: object
        axes: object = dataclasses.field(default_factory=lambda: space(axes=[space(values=np.zeros(9))]))  # fmt: skip
        system: object = dataclasses.field(default_factory=lambda: space(name="m", t_end=99.0))

        def run(self, first, last):
            asked.append((self.section, first, last))
            code, t, found = observed[len(asked) - 1]
            return space(code=[code], t=[t], found=[found])

    section = Section(event="stop")
    if told is None:
        with pytest.raises(BadValue, match="does not meet the section 'stop' up to t = 99"):
            sharpening._returns(Pilot(None), section)
    else:
        found = sharpening._returns(Pilot(None), section)
        assert (found.section, float(found.each), found.driven) == (section, told, False)
    assert asked == [(section, 0, 1), (section, 4, 5), (section, 8, 9)]
    driven = sharpening._returns(None, Section(period="2*a"))
    assert (driven.each, driven.driven) == ("2*a", True)


@for_each(("x", "branch", "told"), [
    ((5.0, 0.25), 0, (0.25, [0.0, 1.0])), ((0.5, 9.0), 0, (0.5, [1.0, 0.0])), ((-3.0, 9.0), 1, (1.0, [1.0, 0.0])), ((-0.5, 9.0), 1, (0.5, [-1.0, 0.0])),
    ((-9.0, -1.0), 1, (-5.0, [1.0, 0.0])), ((1.0, -2.0), 1, (2.0, [0.0, -1.0])),
])  # fmt: skip
def test_a_border_of_a_branch_is_its_own_or_that_of_one_before_it(x, branch, told):
    """The first holds where x > 0 and y > 0; the second, behind it, where x + 4 > 0."""

    def borders(inp):
        assert (inp[0], inp[3]) == (0.0, 7.0)
        _, x, y, _ = inp
        return np.array([x, y, x + 4, 1, 0, 0, 1, 1, 0], float)

    compiled = space(borders=type("Native", (), {"size": 9, "__call__": lambda self, inp: borders(inp)})(), n_x=2,
                     input=lambda rho: np.array([0.0, 0.0, 0.0, *rho]), system=space(branches=[space(when=[1, 1]), space(when=[1])]))  # fmt: skip
    best, gradient = map_cycles._margin(compiled, np.array(x), np.array([7.0]), branch)
    assert (best, gradient.tolist()) == told
    values, slopes = map_cycles._conditions(compiled, np.array(x), np.array([7.0]))
    assert [v.tolist() for v in values] == [[*x], [x[0] + 4]]
    assert [v.tolist() for v in slopes] == [[[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0]]]
    if best > 0:
        assert map_cycles._branch_of(compiled, np.array(x), np.array([7.0])) == branch


@for_each(("over", "told"), [({"q0.x": (0, 1)}, True), ({}, True), ({3: (0, 1)}, False), ({"a": 1, 3: 2}, False), ([("a", 1)], False), (["a"], False)])  # fmt: skip
def test_starts_are_drawn_by_their_names(over, told):
    assert _drawn(over) == told


# ---------------------------------------------------------------- searches


@for_each(("fast", "every", "told"), [(True, 2, (32, 63)), (False, 2, (8, 15)), (True, 3, (32, 47)), (True, 1, (0, 64))])  # fmt: skip
def test_neighbours_inside_obstacles_are_left_out(monkeypatch, fast, every, told):
    """Every second start or each lies inside one: twice as many are tried as are wanted."""
    asked = []

    @dataclasses.dataclass
    class Runs:
        t_end: object
        scheme: object = dataclasses.field(default_factory=lambda: space(ensemble=lambda system: object() if fast else None))  # fmt: skip
        system: object = None

        def run(self, first, last, begin):
            asked.append(begin)
            refused = len(asked) % every == 0
            return space(code=[-1 if refused else 0], points=np.zeros((1, 9, 2)), found=[9], end=np.zeros((1, 2)), mode=[0])  # fmt: skip

    settings = space(t_end="9", part=lambda of: f"9 / {of}")
    one = bare(search.Search, settings=settings, scale=np.array([2.0, 4.0]), _random=np.random.default_rng(0))  # fmt: skip
    found = space(period=0, points=np.zeros((12, 2)))
    end = np.array([1.0, 1.0])
    back, of = one._neighbours(Runs("9"), found, 0.25, end, 3)
    assert (back, of, len(asked)) == (told[0], *told)
    for x, mode in asked:  # three radii off a set without a period
        assert np.linalg.norm((x - end) / one.scale) == pytest.approx(0.75)
        assert mode == 3


def test_radii_are_smaller_where_attractors_are_close():
    """Each at most 0.4 of the distance to the next one, so that no two catch the same."""
    one = bare(search.Search, scale=np.ones(1))
    several = tuple(space(points=np.array([[x]]), radius=r) for x, r in ((0.0, 0.3), (1.0, 0.5), (9.0, 0.7)))  # fmt: skip
    assert one._radii(several) == pytest.approx([0.3, 0.4, 0.7])
    assert one._radii(several[:1]) == pytest.approx([0.3])


@for_each(
    ("t", "ended"),
    [(10.0, False), (10 * (1 - 0.5e-9), False), (10 * (1 - 2e-9), True), (3.0, True)],
)
def test_a_run_has_ended_before_its_time_at_a_terminal_event(t, ended):
    question = space(members=lambda first, last: space(t_end=[10.0 if (first, last) == (1, 2) else 99.0]))  # fmt: skip
    assert bare(search.Search)._ended(question, 1, space(t=[99.0, t])) == ended


def test_a_scale_is_the_spread_of_points_inside_the_box():
    """From their 2 % up to their 98 %; no less than the starts, and one where nothing spreads."""
    x = np.linspace(0.0, 1.0, 101)
    points = np.stack([np.stack([x, 0 * x + 5, 3 * x, 0 * x], axis=1), np.full((101, 4), 1e6)])
    one = bare(search.Search, low=np.array([-9.0, -9, -9, -9]), high=np.full(4, 9.0), spans=np.array([0.0, 0.0, 5.0, 0.0]))  # fmt: skip
    seen = space(points=points, code=np.array([0, 0]))
    assert one._spread(seen) == pytest.approx([0.96, 5.0, 5.0, 5.0])
    one.high = np.full(4, -9.5)
    assert one._spread(seen).tolist() == [1.0] * 4
    seen.code[:], one.high = 1, np.full(4, 9.0)
    assert one._spread(seen).tolist() == [1.0] * 4


@for_each(("margin", "missing", "other", "told"), [
    (False, (), (), (1, -1)), (True, (), (), (1, 0)), (True, (1,), (), (-1, 0)), (True, (), (1,), (-1, 0)), (True, (1, -1), (), None), (True, (), (1, -1), None),
])  # fmt: skip
def test_a_slope_is_taken_where_the_same_events_happen(margin, missing, other, told):
    """On both sides of a test function; of a margin on that side where it grows, if it is one."""
    step, scale, slope = curve_problems._STEP, np.array([2.0, 5.0]), 3.0
    u = np.array([1.0, 4.0])

    def at(place):
        side = round((place - u)[1] / (step * scale[1]))
        if side in missing:
            raise BadValue("none")
        return space(sequence=("b" if side in other else "a",), side=side), slope * side * step * scale[1]  # fmt: skip

    kind = type("Own", (Curve,), {"_at": staticmethod(at), "scale": scale, "margin": margin})
    one, here = bare(kind), space(sequence=("a",), side=0)
    if told is None:
        with pytest.raises(BadValue, match="none with the same events"):
            one._beside(u, here, 0.0, 1)
        return
    (a, more), (b, less), width = one._beside(u, here, 0.0, 1)
    assert (a.side, b.side) == told
    assert (more - less) / width == pytest.approx(slope)


@for_each(("grows", "side"), [(3.0, 1), (-3.0, -1)])
def test_a_margin_is_differentiated_towards_where_it_grows(grows, side):
    asked = []
    own = {"_at": lambda self, u: asked.append(u[0]) or (space(sequence=()), grows * u[0]), "scale": np.ones(1), "margin": True}  # fmt: skip
    (_, more), (_, less), width = bare(type("Own", (Curve,), own))._beside(np.zeros(1), space(sequence=()), 0.0, 0)  # fmt: skip
    assert np.sign(width) == side
    assert (more - less) / width == pytest.approx(grows)
    assert len(asked) == (1 if side == 1 else 2)


@for_each(("jump", "levels"), [(0.5, [1e-4]), (5.0, [1e-4, 1e-3, 10.0**-3.5, 1e-4]), (100.0, None)])
def test_a_level_that_is_too_far_is_reached_by_smaller_steps(monkeypatch, jump, levels):
    """From 1e-2 to 1e-4: the geometric mean is tried where Newton's method does not get there."""
    asked = []
    one = bare(Curve, level=9.0)

    def correct(problem, w, plane, tol):
        asked.append((one.level, w))
        reached = w if isinstance(w, float) else 1e-2
        near = reached / one.level <= 10.5 if jump > 1 else True
        if jump > 50 or not near:
            return None
        return space(w=one.level), 3

    monkeypatch.setattr(curve_problems, "correct", correct)
    found = one._nearer(space(w="start"), "plane", 1e-9, 1e-2, 1e-4)
    if levels is None:
        assert found is None
        assert len(asked) == curve_problems._HALVINGS
        steps = [level for level, _ in asked]
        assert all(1e-4 <= level < 1e-2 for level in steps)
        assert steps == sorted(steps)
        return
    assert found.w == pytest.approx(1e-4)
    if jump < 1:
        assert [level for level, _ in asked] == pytest.approx(levels)
    else:
        assert [level for level, _ in asked] == pytest.approx([1e-4, 1e-3, 1e-4])


@for_each(
    ("margin", "tangent"),
    [(False, (1.0, 0.0, 0.0)), (True, (0.99, 0.1, 0.05)), (True, (0.6, 0.0, 0.8))],
)
def test_a_bifurcation_is_extrapolated_from_levels_that_come_near(margin, tangent):
    """w = (2, 3, 5) + (7, 8, 0) s + (1, 0, 0) s^2 at the level s; what gets no nearer is left out."""
    planes, tangent = [], np.array(tangent)

    def w(level):
        return np.array([2 + 7 * level + level**2, 3 + 8 * level, 5.0])

    def nearer(self, node, plane, tol, before, level):
        planes.append(plane.tolist())
        assert node.level == before
        return None if node.lost and level == curve_problems._FINER[-1] else space(w=w(level), level=level, lost=node.lost)  # fmt: skip

    level = curve_problems._LEVEL
    nodes = [space(w=w(level), level=level, lost=lost, tangent=tangent) for lost in (False, True, False)]  # fmt: skip
    one = bare(type("Own", (Curve,), {"_nearer": nearer, "margin": margin, "scale": np.ones(3)}), level=9.0)  # fmt: skip
    found, ends = one.finish(nodes, 1e-9)
    if not margin:
        assert found == nodes
        assert ends.tolist() == [node.w.tolist() for node in nodes]
        return
    assert [node.level for node in found] == [curve_problems._FINER[-1]] * 2
    np.testing.assert_allclose(ends, [[2.0, 3.0, 5.0]] * 2, rtol=1e-12)
    assert one.level == level
    flat = [0.0, 0.0, 1.0]
    assert planes == [flat if tangent[-1] > 0.1 else tangent.tolist()] * len(planes)
    assert one.finish([], 1e-9)[1].shape == (0, 3)
