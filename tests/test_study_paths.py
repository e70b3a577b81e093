"""Whole functions of studies and pictures, each against a closed form or a count of all cases."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from loops import for_each
from plain import space
from test_study_branches import bare

import explorer as ex
from explorer.codes import SUCCESS
from explorer.derivatives import trust
from explorer.errors import BadValue
from explorer.optimise.loss import LOSSES, check_loss
from explorer.schemes.bases.amplification import amplification
from explorer.study import diagram_exponents, finer_basins, map_cycles, near_misses, refine
from explorer.study import one_by_one as single
from explorer.study.leading_terms import _power, _Series
from explorer.study.over import _numbers
from explorer.views.drawing import regions
from explorer.views.drawing.still_marks import edges

COVERS = ("study/map_cycles.py",)  # see mutant_rooms.py

ONE = np.ones(1)


# ---------------------------------------------------------------- data


@for_each(("name", "z", "cost"), [
    ("linear", 3.0, 3.0), ("soft_l1", 3.0, 2.0), ("huber", 0.25, 0.25), ("huber", 4.0, 3.0), ("cauchy", np.e - 1, 1.0),
    ("arctan", 1.0, np.pi / 4), ("soft_l1", 0.0, 0.0), ("huber", 1.0, 1.0), ("cauchy", 0.0, 0.0), ("arctan", 0.0, 0.0),
])  # fmt: skip
def test_a_loss_is_its_formula_with_its_derivatives(name, z, cost):
    loss, d = check_loss(name), 1e-6
    value, slope, bend = (float(one[0]) for one in loss(np.array([z])))
    assert value == pytest.approx(cost)
    sides = loss(np.array([z - d, z + d]))
    if (name, z) != ("huber", 1.0):  # where l'' jumps
        assert slope == pytest.approx(float(np.diff(sides[0])[0]) / (2 * d), abs=1e-8)
        assert bend == pytest.approx(float(np.diff(sides[1])[0]) / (2 * d), abs=1e-8)
    assert (slope == 1.0) == (name == "linear" or z <= (1 if name == "huber" else 0))
    with pytest.raises(BadValue, match="no loss 'hube'"):
        check_loss("hube")
    assert next(iter(LOSSES)) == "linear"


@for_each(("names", "given", "found"), [
    (["a"], [1, 2], [[1], [2]]), (["a"], 3.0, [[3]]), (["a", "b"], [[1, 2]], [[1, 2]]), (["a"], [[1], [2]], [[1], [2]]),
    (["a", "b"], [1, 2], "rows of 2 numbers"), (["a"], [], "'a' needs finite numbers"), (["a"], [np.inf], "finite"),
    (["a"], ["x"], "finite"), (["a"], [[1, 2]], "finite"), (["a"], [[[1]]], "finite"),
])  # fmt: skip
def test_an_axis_has_a_row_of_numbers_for_each_value(names, given, found):
    if isinstance(found, str):
        with pytest.raises(BadValue, match=found):
            _numbers(names, given)
    else:
        assert _numbers(names, given).tolist() == found


# ---------------------------------------------------------------- series and powers


@for_each("p", [Fraction(1, 2), Fraction(-1), Fraction(3), Fraction(-2, 3)])
def test_a_power_of_a_series_is_the_binomial_one(p):
    """(1 + 2 x)^p; and the power of a product is the product of powers."""
    many = len(_power(_Series([(Fraction(1), 0)] + [(Fraction(0), 0)] * 40, False), p).terms)
    one = _Series([(Fraction(1), 0), (Fraction(2), 0)] + [(Fraction(0), 0)] * (many - 2), False)
    coefficient, expected = Fraction(1), []
    for n in range(many):
        expected.append(coefficient * 2**n)
        coefficient = coefficient * (p - n) / (n + 1)
    assert [Fraction(pair[0]) for pair in _power(one, p).terms] == expected


@for_each(("h", "a0", "xi"), itertools.product((0.1, 0.5), ("consistent", "zero"), (0.0, 0.2)))
def test_an_oscillation_is_a_power_of_its_amplification(h, a0, xi):
    """Of (d, h v, h^2 a); it ends where it has grown out of sight."""
    from explorer.study.oscillator import _powers

    co, system = ex.Newmark(h=h).coefficients, ex.models.bouncing_ball()
    stand_in = space(h=h, a0=a0, coefficients=co)
    run = _powers(stand_in, system, xi, 7)
    A, y = amplification(co, h, xi), np.array([1.0, 0.0, -(h**2) if a0 == "consistent" else 0.0])
    for k in range(8):
        assert run.t[k] == pytest.approx(k * h)
        found = [run.q[k, 0], h * run.v[k, 0], h**2 * run.a[k, 0]]
        assert found == pytest.approx(y.tolist(), abs=1e-14)
        y = A @ y
    assert len(run.t) == 8
    assert run.status.code == SUCCESS
    assert (run.status.step, run.status.t) == (7, pytest.approx(7 * h))


# ---------------------------------------------------------------- maps


def test_a_doubled_cycle_of_a_map_goes_round_twice():
    """Of two linear pieces whose product has the eigenvalue -1; each point moves by the slopes."""
    rng = np.random.default_rng(1)
    B = np.array([[1.0, 2.0], [0.5, 3.0]])
    V = rng.normal(size=(2, 2))
    A = V @ np.diag([-1.0, 0.3]) @ np.linalg.inv(V) @ np.linalg.inv(B)  # A B has -1
    slopes = {"b": B, "a": A}
    unit = np.array([2.0, 5.0])
    one = bare(map_cycles.MapCycles, n=2, count=2, scale=np.array([*unit, *unit, 4.0]), unit=unit,
               rho=np.zeros(3), place=1, branches=["b", "a"], begun=None, begins_at=None)  # fmt: skip
    object.__setattr__(one, "_piece", lambda branch, x: (x, slopes[branch]))
    first = np.arange(9.0)
    kind = type("Own", (map_cycles.MapCycles,), {"first": lambda self: first})
    one.__class__ = kind
    w = np.array([1.0, 2.0, 3.0, 4.0, 0.5])
    other, begin, along = one.doubled(space(w=w))
    points = (w * one.scale)[:-1].reshape(2, 2)
    assert (other.count, other.branches, one.count) == (4, ["b", "a", "b", "a"], 2)
    assert other.begun.tolist() == [*points.tolist(), *points.tolist()]
    assert other.begins_at == (["b", "a", "b", "a"], 2.0)
    assert other.rho[1] == 2.0
    assert other.scale.tolist() == [*unit, *unit, *unit, *unit, 4.0]
    assert begin == pytest.approx(first / other.scale)
    assert along[-1] == 0.0
    assert np.linalg.norm(along) == pytest.approx(1.0)
    moves = (along[:-1] * other.scale[:-1]).reshape(4, 2)
    assert A @ B @ moves[0] == pytest.approx(-moves[0])
    for k in range(3):
        assert [B, A][k % 2] @ moves[k] == pytest.approx(moves[k + 1])


# ---------------------------------------------------------------- guards that are nearly met


def swing(when=None, side=0, mode=-1, level=0.5):
    """Return a search for the near misses of x = cos t and a guard at some level."""

    def sample(t, exact=True, slopes=True):
        y = np.stack([np.cos(t), -np.sin(t)], axis=1)
        return y, np.stack([-np.sin(t), -np.cos(t)], axis=1), None

    run = space(march=space(sample=sample, rho=()), has=lambda name: True)
    guard = space(name="g", mode=mode, side=side, when=when, value=lambda t, x, rho: x[0] + 1 + level,
                  rate=lambda t, x, rho, dx: dx[0])  # fmt: skip
    one = bare(near_misses.NearMisses, states=("x", "v"), guards=[guard])
    return one, run


@for_each(("level", "side", "found"), [(0.5, 0, [np.pi]), (0.5, 1, [np.pi]), (0.5, -1, []), (-0.5, 1, []),
                                       (-2.5, 0, [2 * np.pi]), (-2.5, -1, [2 * np.pi]), (-2.5, 1, [])])  # fmt: skip
def test_a_guard_is_nearly_met_where_its_value_turns(level, side, found):
    """cos t + 1 + level is least at pi, on the side where it is; nowhere if it is on the other."""
    one, run = swing(level=level, side=side)
    misses = one._between(run, 0.1, 8.0, -1)
    assert [m.t for m in misses] == pytest.approx(found)
    for miss, t in zip(misses, found, strict=True):
        sign = side or np.sign(np.cos(t) + 1 + level)
        assert (miss.name, miss.value) == ("g", pytest.approx(sign * (np.cos(t) + 1 + level)))
        assert miss.x == pytest.approx([np.cos(t), -np.sin(t)], abs=1e-9)
    if found:
        for when, kept in ((lambda t, x, rho: 1.0, 1), (lambda t, x, rho: 0.0, 0), (lambda t, x, rho: -1.0, 0)):  # fmt: skip
            one.guards[0].when = when
            assert len(one._between(run, 0.1, 8.0, -1)) == kept
        one.guards[0].mode, one.guards[0].when = 2, None
        assert one._between(run, 0.1, 8.0, 1) == []
        assert len(one._between(run, 0.1, 8.0, 2)) == 1
        assert one._between(run, 0.1, found[0] - 0.1, 2) == []


def test_a_guard_that_turns_within_round_off_of_zero_is_met_and_not_missed():
    """(t - 50)^2 + 1 at t = 1, 2, ..., 200, in a unit in which that is round-off, or not."""
    run = space(march=space(sample=lambda t, **_: (np.stack([(t - 50) ** 2], 1), np.stack([2 * (t - 50)], 1), None), rho=()))  # fmt: skip
    for unit, found in ((1e-16, 0), (1e-3, 1)):
        for sign in (1, -1):
            guard = space(name="g", mode=-1, side=0, when=None, value=lambda t, x, rho, f=sign * unit: f * (x[0] + 1),
                          rate=lambda t, x, rho, dx, f=sign * unit: f * dx[0])  # fmt: skip
            one = bare(near_misses.NearMisses, states=("x",), guards=[guard])
            assert len(one._between(run, 0.0, 201.0, -1)) == found


@for_each(("events", "begin", "told"), [
    ([(0.0, "b"), (1.0, ""), (2.0, "a"), (2.0, "b")], 1, [(0.0, 1.0, 7), (1.0, 2.0, 7), (2.0, 3.0, 7)]), ([], -1, [(0.0, 3.0, -1)]),
    ([(3.0, "b")], 4, [(0.0, 3.0, 4)]),
])  # fmt: skip
def test_a_run_is_divided_at_its_events_into_pieces_of_one_mode(events, begin, told):
    located = [space(t=t, to=to) for t, to in events]
    run = space(located=located, march=space(t_last=3.0))
    hybrid = bare(type("Own", (ex.HybridSystem,), {"modes": (space(name="a", index=5), space(name="b", index=7))}))  # fmt: skip
    assert bare(near_misses.NearMisses, system=hybrid).segments(run, begin) == told
    same = [(low, high, begin) for low, high, _ in told]
    assert bare(near_misses.NearMisses, system=None).segments(run, begin) == same


def test_of_the_near_misses_of_a_guard_the_nearest_is_kept():
    found = [near_misses.Miss(name, value, 0.0, None) for name, value in (("a", 2.0), ("b", 1.0), ("a", 1.0), ("a", 3.0), ("b", 5.0))]  # fmt: skip
    parts = {"segments": lambda self, run, mode: [(0, 1, mode), (1, 2, mode)],
             "_between": lambda self, run, begin, end, mode: found[3 * begin : 3 * begin + 3]}  # fmt: skip
    one = bare(type("Own", (near_misses.NearMisses,), parts))
    assert [(m.name, m.value) for m in one(None)] == [("a", 1.0), ("b", 1.0)]


def test_guards_have_the_side_on_which_nothing_happens():
    mode = space(name="g", mode=3, direction=-1, r="r", when="w")
    hybrid = bare(type("Own", (ex.HybridSystem,), {"guards": (mode,)}))
    assert near_misses.guards_of(hybrid) == [("g", 3, 1, "r", "w")]
    ball = ex.models.bouncing_ball()
    (name, where, side, gap, when), *_ = near_misses.guards_of(ball)
    assert (name, where, side, when) == (ball.contacts[0].name, -1, 1, None)
    guard = near_misses.NearMisses(ball).guards[0]
    x, rho = [0.7, -2.0, *[0.0] * 9][: 2 * len(ball.coordinates)], [p.value for p in ball.parameters.values()]  # fmt: skip
    names = [str(s) for s in near_misses.NearMisses(ball).states]
    value = float(gap.subs(dict(zip(names, x, strict=True)) | dict(zip(ball.parameters, rho, strict=True))))  # fmt: skip
    assert guard.value(0.0, x, rho) == pytest.approx(value)
    moved = [guard.value(0.0, np.array(x) + sign * 1e-6 * np.array([3.0, 5.0]), rho) for sign in (-1, 1)]  # fmt: skip
    assert guard.rate(0.0, x, rho, [3.0, 5.0]) == pytest.approx((moved[1] - moved[0]) / 2e-6)


def test_a_time_is_clear_of_guards_of_its_mode():
    one, run = swing(mode=2, level=-1.0)  # zero at pi / 2
    assert one.clear(run, 0.3, 2)
    assert not one.clear(run, np.pi / 2, 2)
    assert one.clear(run, np.pi / 2, 1)
    one.guards[0].mode = -1
    assert not one.clear(run, np.pi / 2, 1)


# ---------------------------------------------------------------- exponents of columns


@for_each(("repeats", "S", "told"), [
    (2, np.diag([0.5, -3.0]), np.log(3.0) / 4.0), (2, np.zeros((2, 2)), -np.inf), (2, np.full((2, 2), np.nan), np.nan),
    (0, np.diag([2.0, 2.0]), None), (0, np.zeros((2, 2)), -np.inf), (0, np.full((2, 2), np.inf), np.nan),
])  # fmt: skip
def test_the_exponent_of_a_column_is_that_of_its_multipliers(monkeypatch, repeats, S, told):
    """Of a motion without a period a direction is carried along: its growth behind a transient."""
    asked, x = [], np.array([1.0, 2.0])

    def carried(question, rho, x, mode, T, seeds):
        asked.append((rho, T, np.linalg.norm(seeds)))
        return S @ seeds, x + 1, mode + 1

    monkeypatch.setattr(diagram_exponents, "_carried", carried)
    system = space(parameters=("a", "b"))
    given = space(system=system, question=space(rho=(7.0, 8.0)), section=space(period="1"),
                  span=lambda value, count: 2.0 * count)  # fmt: skip
    found = space(by="b", values=np.array([0.0, 3.0]), period=np.array([0, repeats]))
    exponent = diagram_exponents._largest(given, found, 1, (x, 4))
    assert asked[0][0] == [7.0, 3.0]
    if repeats:
        assert asked[0][1] == 4.0
        assert exponent == pytest.approx(told, nan_ok=True)
    elif told is None:
        turns, averaged = diagram_exponents._TURNS, diagram_exponents._AVERAGED
        assert [T for _, T, _ in asked] == [2.0 * turns, 2.0 * averaged]
        assert asked[1][2] == pytest.approx(1.0)
        assert exponent == pytest.approx(np.log(2.0) / (2.0 * averaged))
    else:
        assert exponent == pytest.approx(told, nan_ok=True)
    given.section.period = None
    if repeats:  # a cycle between events has a multiplier of 1
        assert diagram_exponents._largest(given, found, 1, (x, 4)) == 0.0


# ---------------------------------------------------------------- cells


@for_each("seed", range(6))
def test_cells_whose_corners_differ_are_mixed_and_their_neighbours(seed):
    rng = np.random.default_rng(seed)
    shape = [(7, 6), (9, 1), (5, 4, 4), (1, 1), (12,), (2, 3)][seed]
    corners = np.ones(shape, int)
    for _ in range(2):
        corners[tuple(rng.integers(n) for n in shape)] = 2
    found = refine._mixed(corners)
    cells = [max(n - 1, 1) for n in shape]
    own = np.zeros(cells, bool)
    for cell in np.ndindex(*cells):
        at = [range(i, min(i + 2, n)) for i, n in zip(cell, shape, strict=True)]
        own[cell] = len({corners[k] for k in itertools.product(*at)}) > 1
    for cell in np.ndindex(*cells):
        near = [range(max(i - 1, 0), min(i + 2, n)) for i, n in zip(cell, cells, strict=True)]
        assert found[cell] == any(own[k] for k in itertools.product(*near))
    assert found.shape == tuple(cells)


@for_each("shape", [(40, 30), (5, 1), (200,), (3, 3)])
def test_a_map_is_computed_from_coarse_to_fine_and_each_place_once(shape):
    class Grid:
        labels = np.zeros(shape, int)

        def coarse(self, level):
            return np.arange(0, 1000, 2**level)

        def between(self, level):
            return np.arange(1, 1000, 2**level)

    grid = Grid()
    grid.labels[0] = finer_basins.UNDECIDED
    asked = [
        (level, sorted(places.tolist()))
        for level, places, _ in finer_basins._order(grid, space(run=None))
    ]
    top = max(0, int(np.log2(max(min(n for n in shape if n > 1) / finer_basins._COARSEST, 1))))
    levels = [top + 1, top + 1, top, *range(top, 0, -1), *[0] * top, 0]
    assert [level for level, _ in asked] == levels
    coarse, between = (lambda k: grid.coarse(k).tolist()), (lambda k: grid.between(k).tolist())
    expected = [coarse(top + 1), coarse(top + 1), coarse(top), *(between(k) for k in range(top, 0, -1)),
                *(coarse(k) for k in range(top - 1, -1, -1)), np.flatnonzero(grid.labels == finer_basins.UNDECIDED).tolist()]  # fmt: skip
    assert [places for _, places in asked] == expected


# ---------------------------------------------------------------- runs that are read one by one


def flown(located):
    """Return a run of x = t (2 states), with events at 1, 2, 3 and rows at each quarter."""
    t = np.linspace(0, 4, 17)
    x = np.stack([t, -2 * t], axis=1)

    def sample(at, exact=True):
        return np.stack([at, -2 * at, 9 + 0 * at], axis=1), None, None

    events = [space(t=float(k), contact="a" if k < 3 else "b", kind="released" if k == 2 else "impact",
                    x_minus=np.array([k, -2.0 * k]), x_plus=np.array([k, 2.0 * k])) for k in (1, 2, 3)]  # fmt: skip
    march = space(
        y=np.array([4.0, -8.0, 9.0]), sample=sample, steps=space(t=np.arange(4.0)), of_steps=True
    )
    return space(by_laws=False, t=t, x=x, events=events, march=march if located else space(),
                 has=lambda name: name in ("mode", "march") if located else name == "mode",
                 recorded_row=lambda name: np.array([0, 1, 5]), has_velocities=True,
                 at=lambda at: space(q=at[:, None], v=-2 * at[:, None]))  # fmt: skip


@for_each(
    ("section", "located", "since"),
    itertools.product(("", "event", "period"), (True, False), (0.0, 1.5)),
)
def test_what_is_observed_of_a_run_is_read_from_its_rows(monkeypatch, section, located, since):
    monkeypatch.setattr(
        single, "_beside", lambda run, event, before: event.x_minus if before else event.x_plus
    )
    run = flown(located)
    members = space(
        since=np.array([9.0, since]), period=np.array([9.0, 0.75]), offset=np.array([9.0, 0.5])
    )
    for most, before in ((9, True), (2, False)):
        asked = space(
            names=("a", "b"), section=section, event="a", before=before, most=most, extrema=True
        )
        seen = space(end=np.zeros((2, 2)), mode=np.zeros(2, int), events=np.zeros((2, 2), int), found=np.zeros(2, int),
                     points=np.full((2, most, 2), np.nan), times=np.full((2, most), np.nan),
                     low=np.zeros((2, 2)), high=np.zeros((2, 2)))  # fmt: skip
        single._read(run, members, asked, seen, 1)
        assert seen.end.tolist() == [[0, 0], [4, -8]]
        assert seen.mode.tolist() == [0, 5]
        assert seen.events.tolist() == [[0, 0], [1 if since else 2, 1]]
        times = {"": [], "event": [] if since else [1.0],
                 "period": [t for t in 0.5 + 0.75 * np.arange(5) if t >= since][:most]}[section]  # fmt: skip
        assert seen.found.tolist() == [0, len(times)]
        assert seen.times[1, : len(times)].tolist() == pytest.approx(times)
        sign = 1 if section == "event" and not before else -1
        for k, t in enumerate(times):
            assert seen.points[1, k].tolist() == pytest.approx([t, 2 * sign * t])
        assert np.isnan(seen.times[1, len(times) :]).all()
        assert seen.low[1].tolist() == pytest.approx([since, -8], abs=0.2 if located else 1e-12)
        assert seen.high[1].tolist() == pytest.approx(
            [4, -2 * since], abs=0.2 if located else 1e-12
        )


# ---------------------------------------------------------------- pictures


@for_each(("at", "many", "found"), [
    ([1.0, 2.0, 4.0], 3, [0.5, 1.5, 3.0, 5.0]), ([1.0], 1, [0.5, 1.5]), (["a", "b"], 2, [-0.5, 0.5, 1.5]), ([0.0, 1.0, 5.0], 2, [0, 1, 5]),
])  # fmt: skip
def test_cells_of_a_heat_map_end_between_their_centres(at, many, found):
    for a, shape in (("x", (4, many)), ("y", (many, 4))):
        assert edges({a: at, "z": np.zeros(shape)}, a).tolist() == found


def test_pieces_of_a_surface_are_named_by_the_flow_on_both_sides(monkeypatch):
    """c = y; above it falls where x > 0, below it rises where x > 1: it is slid on beyond 1."""
    line = np.stack([np.linspace(-1.02, 2.02, 77), np.zeros(77)], axis=1)

    def flow(x, y, sides):
        up = sides[:, 0] > 0
        return np.stack([0 * x, np.where(up, -x, x - 1)], axis=1)

    one = bare(regions.Regions, _flow=flow, _states=lambda x, y: (x, y),
               equations=space(functions=lambda x, y: (y[:, None].copy(), np.stack([0 * x, 0 * x + 1], axis=1)[:, None])))  # fmt: skip
    monkeypatch.setattr(regions, "straightened", lambda part: part)
    lines = {"crossing": [], "sliding": [], "escaping": []}
    one._sort(line, 0, lines)
    (slid,), (left,), (through,) = lines["sliding"], lines["escaping"], lines["crossing"]
    assert (left[0, 0], slid[-1, 0]) == (-1.02, 2.02)
    assert left[-1, 0] == pytest.approx(0.0, abs=0.04)
    assert left[-1, 0] == through[0, 0]
    assert through[-1, 0] == pytest.approx(1.0, abs=0.04)
    assert through[-1, 0] == slid[0, 0]


# ---------------------------------------------------------------- contacts that are held


@for_each(("moves", "held", "ends", "told"), [
    (0.0, True, False, 0.0), (0.3, True, False, 0.3 / 4.0), (0.3, False, False, None), (0.3, True, True, None),
    (1e-9, True, False, 0.0), (np.nan, True, False, None),
])  # fmt: skip
def test_no_derivative_moves_a_contact_that_is_held(monkeypatch, moves, held, ends, told):
    """The gap (2 + t / 10) q + p at t = 0 of q: its speed 2 v + q / 10 is moved by `moves`."""
    S = np.array([[7.0], [0.5 * (moves - 0.7)], [0.0]])
    state = np.array([[0, 0], [0, int(held)]])
    march = space(
        end=lambda: (None, np.array([3.0, 0.0]), None, S), steps=space(t=np.arange(2.0), state=state),
        events=space(head={"step": np.array([2 if ends else 1])}), rho=(0.5,), t_last=4.0,
    )  # fmt: skip
    out = lambda inp: np.array([2 * inp[1] + inp[3], 0.1 * inp[1], 2.0])  # noqa: E731
    flow = space(rows=1, n=1, n_x=2, n_phi=0, bundles=[None, out], input=lambda rho: np.array([0.0, 0, 0, *rho]))  # fmt: skip
    question = space(cost=space(flow=flow), places=[0], scheme=space(rtol=1e-9))
    monkeypatch.setattr(
        trust, "_states", lambda run: (None, np.array([[[1.0], [-2.0]], [[1.0], [0.5]]]))
    )
    checks = trust._held(question, space(march=march))
    if told is None:
        assert checks == []
        return
    (check,) = checks
    assert check.value == pytest.approx(told, rel=1e-6)
    assert check.name == "held contacts"
    flow.rows = 0
    assert trust._held(question, space(march=march)) == []


# ---------------------------------------------------------------- runs that are caught, curves of work


@for_each(("caught", "place", "many", "period"), [
    (1, 2, 5, True), (-1, 4, 5, True), (0, 0, 5, False), (-1, 0, 0, False), (-2, 3, 4, False),
])  # fmt: skip
def test_a_run_is_caught_at_a_point_that_is_kept_alone(monkeypatch, caught, place, many, period):
    asked = []

    def read(run, members, own, seen, i):
        asked.append(own.most)
        seen.found[0] = many
        seen.points[0, :many] = np.arange(2.0 * many).reshape(many, 2)
        seen.times[0, :many] = 10.0 + np.arange(many)
        seen.end[0], seen.t[0], seen.mode[0] = [7.0, 8.0], 99.0, 5

    monkeypatch.setattr(single, "_read", read)
    monkeypatch.setattr(single, "catch", lambda known, points: (caught, place))
    given = single.Asked(("a",), "period" if period else "event", "a", False, 1, False)._replace(
        known="k"
    )
    one = space(t_end=[20.0], since=[5.0], period=[2.5])
    members = space(some=lambda part: one if part == slice(1, 2) else None)
    seen = single.Observed.empty(3, 2, given)
    seen.end[:], seen.t[:], seen.code[:] = 1.0, 2.0, 0
    single._catch(space(events=[0] * 9), members, given, None, seen, 1)
    assert asked == [8 if period else 9]
    assert seen.found[1] == min(place + 1, many)
    assert seen.caught[1] == caught
    last = min(place, many - 1)
    if many:
        assert seen.points[1, 0].tolist() == [2.0 * last, 2.0 * last + 1]
        assert seen.times[1, 0] == 10.0 + last
    if caught != -1:
        assert seen.end[1].tolist() == [2.0 * last, 2.0 * last + 1]
        assert seen.t[1] == 10.0 + last
    else:
        assert seen.end[1].tolist() == [7.0, 8.0]
        assert seen.t[1] == 2.0
    assert seen.end[[0, 2]].tolist() == [[1.0, 1.0]] * 2
