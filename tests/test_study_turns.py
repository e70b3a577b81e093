"""Whole functions of studies by themselves: exponents, overshoots, parts, labels, bounds, borders."""

from __future__ import annotations

import inspect
import itertools
from collections import Counter

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.derivatives.question import Question
from explorer.errors import BadValue, StepFailed
from explorer.optimise.search import _pair
from explorer.runs.members import ESCAPED, FREE, Asked, Observed
from explorer.schemes.bases.amplification import amplification
from explorer.study import equilibria, flow_spectrum, parts, resolve
from explorer.study import question as asking
from explorer.study.box import box_of
from explorer.study.columns import LONGEST, Columns
from explorer.study.flow_spectrum import _LARGEST, _LOST, _ZERO
from explorer.study.grazing import _OFFSETS, _runs
from explorer.study.orbits import REPEATS, repeats
from explorer.study.order_diagram import _curve
from explorer.study.stability import FIRST_STEPS, _overshoot

COVERS = (
    "optimise/search.py",
    "study/cycles.py",
    "study/equilibria.py",
    "study/grazing.py",
    "study/parts.py",
)  # see mutant_rooms.py

# ---------------------------------------------------------------- exponents of a flow


def spectrum_class():
    """Return the class that marches over intervals."""
    return next(
        c for c in vars(flow_spectrum).values() if isinstance(c, type) and "_stretched" in vars(c)
    )


@for_each(("sizes", "least", "logs"), [
    ([2.0, 0.5, 4.0], 1e-9, [2.0, 0.5, 4.0]), ([2.0, 4.0, 0.0], 1e-9, [2.0, 4.0, 0.0]), ([1.0, 1e-5], 1e-4, [1.0, 0.0]), ([0.0, 0.0], 1e-9, [0.0, 0.0]),
])  # fmt: skip
def test_directions_are_stretched_by_what_is_on_the_diagonal(sizes, least, logs):
    """Of S = Q R: ln |R_ii|, with -inf for what is gone; the frame keeps what is left of Q."""
    kind = spectrum_class()
    n, rng = len(sizes), np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    R = np.diag(sizes) + np.triu(0.3 * rng.normal(size=(n, n)), 1) * (min(sizes) > 1e-3)
    one = bare(kind, x=np.zeros(n), length=2.0, frame=None, system=space(time_unit="s"))
    with np.errstate(divide="ignore"):
        assert one._stretched(Q @ R, least, n) == pytest.approx(np.log(logs))
    kept = [k for k, size in enumerate(sizes) if size > least * max(sizes)]
    assert one.frame.shape == (n, len(kept))
    assert np.abs(one.frame.T @ Q[:, kept]) == pytest.approx(np.eye(len(kept)), abs=1e-12)
    assert one._stretched(np.zeros((n, 0)), least, n).tolist() == [-np.inf] * n
    with pytest.raises(BadValue, match="part by a factor"):
        one._stretched(Q @ np.diag([1.5 * _LARGEST, *[1.0] * (n - 1)]), 0.0, n)


@for_each(
    ("done", "told"),
    [
        (0, ""),
        (3, ""),
        (0, "no derivative"),
        (2, "At t = 4"),
        (1, "does not go on at t = 3.5"),
        (1, "without speed"),
        (1, "early"),
    ],
)
def test_an_interval_of_a_flow_is_marched_with_its_frame(monkeypatch, done, told):
    kind = spectrum_class()
    for name in ("directions", "directions_at_end"):
        monkeypatch.setattr(flow_spectrum, name, lambda run: None)  # nothing is held
    monkeypatch.setattr(flow_spectrum, "least_free", lambda run: 2)
    monkeypatch.setattr(flow_spectrum, "_units", lambda run: np.ones(2))
    asked = []
    S = np.array([[2.0, 0.0], [0.0, 0.5], [9.0, 9.0]]) * (np.nan if told == "without speed" else 1)
    status = space(ok="go on" not in told, message="It fails.")
    events = [
        space(contact="a", kind="released"),
        space(contact="b", kind="impact"),
        space(contact="b", kind="slides"),
    ]
    ends = 1.5 if "go on" in told else 1.9 if told == "early" else 2.0
    run = space(
        status=status,
        t=np.array([0.0, ends]),
        S=np.array([S, S]),
        x=np.array([[0.0, 0.0], [3.0, 4.0]]),
        located=events,
    )

    def march(compiled, rho, T, x0, wrt, seeds, t_eval):
        asked.append((T, x0.tolist(), wrt, seeds.tolist(), t_eval))
        if told.startswith(("no d", "At")):
            raise BadValue("There is no derivative.")
        return run

    one = bare(kind, x=np.array([1.0, 2.0]), compiled=None, frame=np.eye(2), mode=None, system=space(name="m", time_unit="s"), done=done, length=2.0, unit=np.array([1.0, 4.0]),
               scheme=space(run=march), rho=(), events=Counter(), again=9)  # fmt: skip
    if told:
        with pytest.raises(
            BadValue if told.startswith(("no d", "At")) else StepFailed,
            match="does not go on at t = 3.9" if told == "early" else told,
        ):
            one.go()
        return
    assert one.go().tolist() == pytest.approx(np.log([2.0, 0.5 / 4]))  # the second, in its unit
    assert asked == [(2.0, [1.0, 2.0], (-1, -1), [[1.0, 0.0], [0.0, 4.0]], [2.0])]
    assert (one.x.tolist(), one.done) == ([3.0, 4.0], done + 1)
    assert one.events == {"b": 2}
    assert _LOST > _ZERO


# ---------------------------------------------------------------- overshoots


@for_each("xi", [0.0, 0.3])
def test_the_largest_of_the_first_steps_is_the_overshoot(xi):
    """From d = 1 with its own acceleration: of d, and of the velocity in the unit of omega d."""
    co, W = ex.Newmark(h=0.1).coefficients, np.array([0.1, 3.0, 50.0])
    d, v = _overshoot(co, W, xi)
    for k, w in enumerate(W):
        A, y, seen = amplification(co, w, xi), np.array([1.0, 0.0, -(w**2)]), [(1.0, 1.0)]
        for _ in range(FIRST_STEPS):
            y = A @ y
            seen.append((abs(y[0]), abs(y[1]) / w))
        assert (d[k], v[k]) == pytest.approx(tuple(np.max(seen, axis=0)))


# ---------------------------------------------------------------- parts of many runs


@for_each(("gaps", "cost", "left", "workers", "told", "rest"), [
    ([(0, 100)], 0.0, 100, 1, (0, 1), [(1, 100)]), ([(0, 100)], 1e-9, 100, 1, (0, 100), []), ([(5, 9), (0, 3)], 1e-9, 7, 2, (0, 3), [(5, 9)]),
    ([(0, 100)], 1e-9, 100, 3, (0, 34), [(34, 100)]), ([(0, 9)], 99.0, 9, 1, (0, 1), [(1, 9)]), ([(4, 5)], 0.0, 1, 8, (4, 5), []),
])  # fmt: skip
def test_a_part_takes_its_time_and_no_more_than_its_share(gaps, cost, left, workers, told, rest):
    owner = next(c for c in vars(parts).values() if isinstance(c, type) and "_next" in vars(c))
    one = bare(owner, gaps=[*gaps], cost=cost, left=left, workers=workers)
    assert one._next() == told
    assert one.gaps == rest
    one = bare(owner, gaps=[(0, 10**9)], cost=parts._TARGET / 7.5, left=10**9, workers=1)
    assert one._next() == (0, 7)
    one = bare(owner, gaps=[(0, 10**9)], cost=1e-15, left=10**9, workers=1)
    assert one._next() == (0, parts._LARGEST)


@for_each(
    ("known", "room", "size", "told"),
    [(None, None, 3, 9), ("k", None, 3, 1), (None, 7, 3, 7), (None, None, 0, 1)],
)
def test_room_is_for_the_longest_run(known, room, size, told):
    asked = []

    def members(first, last):
        asked.append((first, last))
        return space(
            t_end=np.array([10.0, 20.0, 5.0]),
            since=np.array([0.0, 5.0, 0.0]),
            period=np.array([2.0, 2.0, 2.0]),
        )

    one = bare(asking.Question, known=known, axes=space(size=size))
    object.__setattr__(one, "members", members)
    assert one._room(space(room=room)) == told
    assert asked == ([(0, 3)] if told == 9 else [])
    if told == 9:
        asked.clear()
        one.axes.size = 2**22 + 5
        one._room(space(room=None))
        assert len(asked) == 2**6
        assert asked[:2] == [(0, 2**16), (2**16, 2**17)]


@for_each(("extrema", "most"), itertools.product((False, True), (0, 5)))
def test_each_run_has_eight_bytes_a_number(extrema, most):
    system, asked = ex.models.bouncing_ball(), Asked(("a", "b"), most=most, extrema=extrema)
    one = bare(asking.Question, system=system, extrema=extrema, asked=asked)
    kept = sum(part[0].nbytes for part in Observed.empty(1, 2, asked))
    assert one.bytes_each == kept


@for_each(("caught", "code", "t", "label"), [
    (3, 0, 10.0, 3), (FREE, 0, 10.0, "UNDECIDED"), (FREE, 0, 5.0, "ESCAPES"), (ESCAPED, 0, 10.0, "ESCAPES"), (3, 2, 10.0, "FAILED"),
    (FREE, -1, 0.0, "REFUSED"), (FREE, "UNRUN", 0.0, "UNTOLD"), (0, 0, 5.0, 0),
])  # fmt: skip
def test_a_start_is_labelled_by_what_has_caught_it(caught, code, t, label):
    owner = next(c for c in vars(resolve).values() if isinstance(c, type) and "labels" in vars(c))
    code = getattr(resolve, code) if isinstance(code, str) else code
    seen = space(caught=np.array([caught]), code=np.array([code]), t=np.array([t]))
    search = space(known=lambda: "k", question=lambda rows, known: space(members=lambda a, b: space(t_end=np.array([10.0]))),
                   answer=lambda *given, **more: seen)  # fmt: skip
    found, when = owner.labels(space(search=search, progress=False, stop=None), np.zeros((1, 2)))
    assert found.tolist() == [getattr(resolve, label) if isinstance(label, str) else label]
    assert when is seen.t


# ---------------------------------------------------------------- bounds


@for_each(("given", "found"), [
    ((0, 1), (0.0, 1.0)), ((None, 2), (-np.inf, 2.0)), ((-np.inf, np.inf), (-np.inf, np.inf)), ((1, None), (1.0, np.inf)),
    ((1, 1), "are empty"), ((2, 1), "are empty"), (3, "must be"), ((1, 2, 3), "must be"),
])  # fmt: skip
def test_bounds_are_a_pair_of_which_one_may_be_open(given, found):
    if isinstance(found, str):
        with pytest.raises(BadValue, match=found):
            _pair(given, "a")
    else:
        assert _pair(given, "a") == found


@for_each(("box", "found"), [
    (None, {}), ({"y": (0, 2)}, {"y": (0.0, 2.0)}), ([1, 2], "must be a dict"), ({"z": (0, 1)}, "no state 'z'"), ({"y": (1, 1)}, "its least"), ({"y": (2, 1)}, "its least"),
    ({"y": 3}, "its least"),
])  # fmt: skip
def test_a_box_has_a_least_and_a_largest_value_of_each_state(box, found):
    system = ex.models.bouncing_ball()
    if isinstance(found, str):
        with pytest.raises(BadValue, match=found):
            box_of(system, box)
    else:
        name = system.coordinates[0]
        given = box if box is None else {name: box["y"]}
        assert box_of(system, given) == ({name: found["y"]} if found else {})


@for_each(("until", "t", "located", "end", "told"), [
    (None, 10.0, [3.0], 10.0, None), (None, 10.0, [3.0, 5.0], 5.0, 1), (None, 10.0, [3.0], 5.0, None), (None, 10.0, [], 5.0, None),
    (("a", 1), 10.0, [1.0, 2.0], 10.0, 0), (("a", 2), 10.0, [1.0, 2.0], 10.0, 1), (("a", 3), 10.0, [1.0, 2.0], 10.0, "only 2 happen"), (("b", 1), 10.0, [1.0], 10.0, "only 0"),
])  # fmt: skip
def test_a_cost_ends_at_a_time_at_an_event_or_where_a_run_falls(until, t, located, end, told):
    run = space(
        located=[space(t=one, contact="a") for one in located],
        t=[0.0, end],
        march=space(t_last=end),
    )
    one = bare(Question, until=until, t_end=t)
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            one.last_place(run)
    else:
        assert one.last_place(run) == told
        if until is None:
            assert one.last_place(space(located=run.located)) is None


# ---------------------------------------------------------------- columns


def test_points_repeat_within_a_part_of_the_scale():
    assert repeats(np.tile([[0.0], [1.0], [3.0]], (4, 1))) == (3, 0.0)
    assert repeats(np.array([[0.0], [1.0], [0.0], [1.0 + 0.9 * REPEATS]])) == (
        2,
        pytest.approx(0.9 * REPEATS),
    )
    assert repeats(np.arange(6.0)[:, None]) == (0, np.inf)
    assert repeats(np.zeros((1, 1))) == (0, np.inf)


def test_columns_are_judged_by_their_later_points():
    """In parts of what all of them spread over; a column that failed is none."""
    many = 2 * LONGEST + 2
    points = np.full((4, many, 1), np.nan)
    points[0, :8, 0] = np.tile([0.0, 1e3], 4)
    points[1, :, 0] = np.where(np.arange(many) < many // 2, np.arange(many), 7.0)
    points[2, :8, 0] = 5.0
    points[3, :8, 0] = np.linspace(0, 1e3, 8)
    one = bare(
        Columns,
        points=points,
        found=np.array([8, many, 8, 8]),
        code=np.array([0, 0, 1, 0]),
        period=np.full(4, -9),
        repeats=np.full(4, -9.0),
    )
    one._judge()
    assert one.period.tolist() == [2, 1, -9, 0]
    assert one.repeats.tolist() == [1, 1, -9, 0]


# ---------------------------------------------------------------- borders of equilibria


@for_each(("side", "key", "mechanical", "sign", "released"), [
    (1, "high s", False, 1.0, 0), (0, "low s", False, 1.0, -1), (0, "high s", False, -1.0, 1), (0, "low s", True, 1.0, 1), (-1, "low s", True, None, 0),
])  # fmt: skip
def test_an_equilibrium_beyond_a_surface_has_another_equation(
    monkeypatch, side, key, mechanical, sign, released
):
    """It leaves along the null space, the way in which it gets away from the border."""
    asked, null = [], np.array([0.6, 0.8])

    def correct(problem, guess, way, tol):
        asked.append(guess)
        assert problem.side.tolist() == [7, released]
        return None if sign is None or way @ null * sign < 0 else (space(w=guess), 1)

    put(monkeypatch, equilibria.Equilibria.beyond, correct=correct)
    one = bare(
        equilibria.Equilibria,
        names=["r", "s"],
        side=np.array([7, side]),
        mechanical=mechanical,
        scale=np.array([2.0, 4.0]),
    )
    object.__setattr__(
        one, "evaluate", lambda u, full: space(jacobian=np.array([[0.8 / 2, -0.6 / 4]]))
    )
    ended = space(
        name="s", w=np.array([1.0, 2.0]), node=space(at=space(margins={key: 0.1, "high r": 0.5}))
    )
    found = one.beyond(None, ended, space(tol=1e-9))
    if sign is None:
        assert found is None
        assert one.side.tolist() == [7, side]
        return
    assert np.abs((found.w - ended.w) @ null) == pytest.approx(equilibria._STEP[0])
    assert np.sign((found.w - ended.w) @ null) == sign


# ---------------------------------------------------------------- where a cycle begins


@for_each(
    ("case", "moves"),
    [("driven", False), ("first", False), ("far", False), ("near", True), ("held", False)],
)
def test_a_cycle_begins_elsewhere_before_an_event_comes_to_its_start(monkeypatch, case, moves):
    """The tangent is carried along, without what lies along the flow."""
    import explorer.study.cycles as module

    n, T, scale = 2, 4.0, np.array([2.0, 5.0, 3.0, 7.0])
    rates = np.array([[1.0, -2.0, 9.0]])
    edge = {"far": 0.5}.get(case, 0.5 * module._EDGE)
    located = [space(t=edge), space(t=2.0), space(t=T - 2 * edge)]
    run = space(located=located, march=space(sample=lambda t, slopes: (None, rates, None)))
    cycle = space(run=run, T=T, mode=4)
    S = np.array([[1.0, 2.0, 0.5], [3.0, -1.0, 0.25]])
    start = space(mode=6, x=np.array([8.0, 9.0]))
    rate = np.array([3.0, 4.0])
    kind = type("Own", (module.Cycles,), {
        "autonomous": case != "driven", "clear": lambda self, run, mode: case != "held", "middle": lambda self, run, mode: (start, S),
        "_look": lambda self, start: rate, "evaluate": lambda self, u: ("at", u.tolist()),
    })  # fmt: skip
    one = bare(
        kind,
        n=n,
        scale=scale,
        edge=0.0 if case == "first" else 1.0,
        wide=np.ones(n),
        anchor=None,
        along=None,
        mode=0,
    )
    node = space(w=np.array([1.0, 2.0, 3.0, 4.0]), tangent=np.array([0.1, 0.2, 0.3, 0.4]))
    monkeypatch.setattr(module, "cycle_of", lambda node: cycle)
    monkeypatch.setattr(module, "is_point", lambda run, wide: False)
    monkeypatch.setattr(module, "tangent", lambda problem, at, like: ("along", like))
    monkeypatch.setattr(module, "Node", lambda w, tangent, at: space(w=w, tangent=tangent, at=at))
    found = one.settled(node)
    if not moves:
        assert found is None
        if case in ("first", "far"):
            assert one.anchor.tolist() == [2.0, 10.0]
            assert one.along.tolist() == [1.0, -2.0]
            assert one.edge == pytest.approx(edge if case == "first" else 1.0)
        else:
            assert one.anchor is None
        return
    dw = node.tangent * scale
    dx = S[:, :2] @ dw[:2] + S[:, 2] * dw[3]
    dx = dx - rate * (rate @ dx) / 25.0
    assert found.w == pytest.approx(np.array([8.0, 9.0, 9.0, 28.0]) / scale)
    assert found.tangent[1] == pytest.approx(np.array([*dx, *dw[2:]]) / scale)
    assert found.at == ("at", pytest.approx([8.0, 9.0, 9.0, 28.0]))
    assert (one.mode, one.edge, one.anchor.tolist(), one.along.tolist()) == (
        6,
        0.0,
        [8.0, 9.0],
        [3.0, 4.0],
    )


# ---------------------------------------------------------------- grazing


def beyond_a_touch(monkeypatch=None, fails=(), below=0):
    """Return cycles whose map is smooth in p, and has a square root of d more beyond p = 2 at one side."""
    asked = []

    def shoot(x, T):
        d = float(T) - 2.0
        asked.append(d)
        if any(np.isclose(d, f) for f in fails):
            raise BadValue("no run")
        hits = below + (d > 0)
        y = np.array([1 + d + 3 * d * d, -2 * d]) + (np.array([np.sqrt(d), 0.0]) if d > 0 else 0)
        located = [space(contact="g")] * hits + [space(contact="other")]
        return space(located=located, march=space(end=lambda: (None, y)))

    scale = np.array([1.0, 1.0, 4.0])
    problem = space(n=2, scale=scale, _split=lambda u: (u[:2], u[-1]), _shoot=shoot)
    return problem, asked


@for_each(("below", "lost"), [(0, ()), (1, ()), (0, (4e-6,)), (0, tuple(4 * _OFFSETS[:8]))])
def test_runs_beyond_a_grazing_cycle_leave_the_smooth_part(below, lost):
    """P less what the polynomial through the other side says is the square root of the offset."""
    problem, asked = beyond_a_touch(fails=lost, below=below)
    u = np.array([5.0, 6.0, 2.0])
    if len(lost) > 7:
        with pytest.raises(BadValue, match="On neither side"):
            _runs(problem, u, "g", 1.0)
        return
    offsets, moved, hit = _runs(problem, u, "g", 1.0)
    kept = [4 * one for one in _OFFSETS if not any(np.isclose(4 * one, f) for f in lost)]
    assert offsets == pytest.approx(kept)
    assert moved[:, 0] == pytest.approx(np.sqrt(offsets), rel=1e-6)
    assert moved[:, 1] == pytest.approx(0.0, abs=1e-12)
    assert sum(e.contact == "g" for e in hit.located) == below + 1
    step = 4 * _OFFSETS[-1]
    assert sorted({round(-d / step, 6) for d in asked if d < 0}) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    with pytest.raises(BadValue, match="On neither side"):
        _runs(problem, u, "g", -1.0)  # on the other side none meets it


# ---------------------------------------------------------------- curves of work


@for_each(("stepped", "errors", "told"), [
    (True, [1e-2, 1e-3, 1e-4, 1e-5], [0, 1, 2, 3]), (True, [0.9, 1e-3, 1e-4, 1e-5], [0, 1, 2, 3]), (True, [1e-13, 1e-13], [0, 1]),
    (False, [1e-2, 1e-3, 1e-4, 1e-5], [0, 1, 2, 3]), (True, [1e-2, None, 1e-4, np.nan, 1e-6], [0, 2, 4]),
])  # fmt: skip
def test_a_curve_of_work_keeps_runs_that_end(monkeypatch, stepped, errors, told):
    """Their relative errors, most steps and least times; of too few that tell an order finer ones follow."""
    globals_of = inspect.unwrap(_curve).__globals__
    made, left = [], iter(errors)

    def simulate(system, scheme, **asked):
        made.append(scheme)
        if len(made) % 2:
            simulate.off = next(left, 1e-12)
        off = simulate.off
        ok = off is not None
        return space(
            status=space(ok=ok, message="It fails.", step=10 * len(made)),
            seconds=float(len(made)),
            off=0.0 if off is None else off,
        )

    refused = []
    put(monkeypatch, _curve, simulate=simulate, knobs_of=lambda scheme: {"h": 1} if stepped else {"rtol": 1}, _end=lambda run: np.array([4.0 * (1 + run.off), 1.0]),
        _varied=lambda scheme, steps: [(step, f"{scheme} {step:g}") for step in steps], _stepped=lambda scheme, step: f"{scheme} {step:g}")  # fmt: skip
    steps = [2.0**-k for k in range(len(errors))]
    found = _curve("a", "S", space(time_unit="s"), steps, np.array([4.0, 1.0]), {}, 2, refused)
    assert found.schemes == tuple(f"S {steps[k]:g}" for k in told)
    assert found.error == pytest.approx([errors[k] for k in told], rel=1e-3)
    assert found.seconds.tolist() == [2.0 * k + 1 for k in told]
    assert found.steps.tolist() == [10 * (2 * k + 1) for k in told]
    bad = [k for k in range(len(errors)) if k not in told]
    assert len(refused) == len(bad)
    for k, words in zip(bad, refused, strict=True):
        assert words.startswith(f"a, h = {steps[k]:.3g} s: ")
        assert words.endswith("It fails." if errors[k] is None else "not finite.")
    assert (found.law is not None) == (stepped and len(found.error) > 2)
    if errors[-1] == 1e-13:
        assert len(made) == 2 * len(errors)  # round-off tells no order
    assert globals_of["_FEWEST"] == 3
