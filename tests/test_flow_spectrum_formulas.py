"""Exponents of a flow from the stretchings of its intervals, and what is asked of it before."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, NotApplicable, StepFailed
from explorer.parameters import whole
from explorer.study import exponents, flow_spectrum

COVERS = ("study/exponents.py",)

function = flow_spectrum.flow_spectrum


def march_of(logs, transient):
    """Return what marches over intervals, each with its stretchings; the first ones are left out."""

    class March:
        made = None

        def __init__(self, *given):
            March.made, self.given, self.events, self.k = self, given, Counter(), 0
            self.x = "last"

        def go(self):
            self.k += 1
            self.events["hit"] += self.k
            return logs[self.k - 1]

    return March


@for_each(("count", "transient"), [(64, 0), (100, 7), (129, 4)])
def test_exponents_of_a_flow_are_means_of_batches(monkeypatch, count, transient):
    """They fall, each with the error of its own batches, and as many events as are averaged."""
    rng = np.random.default_rng(count)
    logs = rng.normal([0.5, 2.0, -1.0], [0.1, 1.0, 3.0], (transient + count, 3))
    logs[:, 0] -= 4.0
    logs[:transient] = 1e6
    march, length = march_of(logs, transient), 0.25
    put(monkeypatch, function, choose=lambda system, scheme: scheme if isinstance(scheme, ex.EventDriven) else scheme(),
        numbers_of=lambda system, scheme, rho: [*rho.values()], _interval=lambda system, period, values: length if period == "period" else None, _March=march)  # fmt: skip
    found = function("system", period="period", intervals=count, transient=transient, x0="x0", rho={"a": 1.0, "b": 2.0}, b=3.0)  # fmt: skip
    given = march.made.given
    assert given == ("system", given[1], [1.0, 3.0], length, "x0", transient // 2)
    assert isinstance(given[1], ex.EventDriven)
    kept = logs[transient:] / length
    order = [1, 2, 0]
    assert np.diff(kept.mean(axis=0)[order]).max() < 0
    assert found.exponents == pytest.approx(kept.mean(axis=0)[order])
    edges = [int(k * count / 64) for k in range(65)]
    means = np.array([kept[a:b].mean(axis=0) for a, b in itertools.pairwise(edges)])
    assert found.batches == pytest.approx(means[:, order])
    assert found.errors == pytest.approx(exponents.batch_errors(means[:, order]))
    assert (found.x, found.interval, found.intervals, found.transient) == ("last", length, count, transient)  # fmt: skip
    assert found.events == {"hit": sum(range(transient + 1, transient + count + 1))}
    assert found.time == pytest.approx(0.25 * count)
    assert found.largest == found.exponents[0]


@for_each(("given", "why"), [({"intervals": 63}, "intervals = 63 must be"), ({"transient": -1}, "transient = -1 must be"), ({"intervals": 64, "transient": 0}, None)])  # fmt: skip
def test_few_intervals_are_no_batches(monkeypatch, given, why):
    put(monkeypatch, function, choose=lambda system, scheme: ex.EventDriven(), numbers_of=lambda *given: [], _interval=lambda *given: 1.0, _March=march_of(np.zeros((64, 2)), 0))  # fmt: skip
    if why is None:
        assert function("system", **given).exponents.tolist() == [0.0, 0.0]
        return
    with pytest.raises(BadValue, match=why):
        function("system", **given)
    put(monkeypatch, function, choose=lambda system, scheme: ex.FESD())
    with pytest.raises(NotApplicable, match="FESD does not locate events"):
        function("system")


# ---------------------------------------------------------------- where a march begins


@for_each(("x0", "again", "on", "x", "why"), [
    (None, 0, True, [1.0, 2.0], None), (None, 3, False, [1.0, 2.0], None), (None, 3, True, [7.0, 8.0], None), ([5, 6], 3, True, [5.0, 6.0], None), ([5], 0, False, None, "x0 needs 2 numbers, but 1 are given"),
    ([5, 6, 7], 0, False, None, "but 3 are given"),
])  # fmt: skip
def test_a_march_leaves_a_surface_where_it_has_time(monkeypatch, x0, again, on, x, why):
    """By a run over one interval, unless a start is given."""
    ran = []
    run = space(x=np.array([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]))
    scheme = space(compile=lambda system: space(start=lambda values: ([1, 2], 0)), run=lambda *given, x0: ran.append((given[1:], x0.tolist())) or run)  # fmt: skip
    put(monkeypatch, flow_spectrum._March.__init__, on_surface=lambda system, values, x: on)
    make = lambda: flow_spectrum._March("system", scheme, [9.0], 0.5, x0, again)  # noqa: E731
    if why:
        with pytest.raises(BadValue, match=why):
            make()
        return
    one = make()
    assert one.x.tolist() == x
    assert one.x.dtype == float
    assert ran == ([(([9.0], 0.5), [1.0, 2.0])] if x == [7.0, 8.0] else [])
    assert (one.again, one.done, one.mode, one.length) == (again, 0, None, 0.5)
    assert one.unit.tolist() == [1.0, 1.0]
    assert one.frame.T @ one.frame == pytest.approx(np.eye(2))


@for_each("hybrid", [True, False])
@for_each("mode", [None, "b"])
def test_an_interval_ends_in_the_last_row_of_its_run(monkeypatch, hybrid, mode):
    """There are the state and the mode from which the next one goes on, and the derivatives."""
    S = np.array([np.full((3, 2), np.nan), np.full((3, 2), np.nan), [[2.0, 0.0], [0.0, 0.5], [9.0, 9.0]]])  # fmt: skip
    run = space(status=space(ok=True, message=""), t=np.array([0.0, 9.0, 2.0]), S=S, x=np.array([[0.0, 0], [9, 9], [3, 4]]), mode=np.array([2, 0, 1]), located=[])  # fmt: skip
    put(monkeypatch, flow_spectrum._March.go, directions_at_end=lambda run: None, least_free=lambda run: 1, begun_in=lambda compiled, system, name: f"{compiled} in {name}")  # fmt: skip
    kind = type("Own", (ex.HybridSystem if hybrid else ex.MechanicalSystem,), {})
    system = bare(kind, name="m", modes=[space(name="a"), space(name="b"), space(name="c")])
    asked = []
    own = {"_run": lambda self, compiled, at: asked.append((compiled, at)) or run, "_stretched": lambda self, S, least, free: (S.tolist(), least, free)}  # fmt: skip
    one = bare(type("Own", (flow_spectrum._March,), own), x=np.zeros(2), compiled="flow", frame=np.eye(2), mode=mode, system=system, done=3, length=2.0, unit=np.ones(2), again=9,
               events=Counter())  # fmt: skip
    assert one.go() == ([[2.0, 0.0], [0.0, 0.5]], flow_spectrum._ZERO, 1)
    assert asked == [("flow in b" if hybrid and mode else "flow", 6.0)]
    assert (one.x.tolist(), one.done) == ([3.0, 4.0], 4)
    assert one.mode == ("b" if hybrid else mode)
    run.t[-1], one.done = 2.0 * (1 - 1e-9), 3
    one.go()
    run.t[-1], one.done = 2.0 * (1 - 1e-8), 3
    with pytest.raises(StepFailed, match="does not go on at t = 8"):
        one.go()


@for_each("n", [1, 2, 5])
def test_a_frame_is_orthonormal_and_always_the_same(n):
    one, other = flow_spectrum._frame(n), flow_spectrum._frame(n)
    assert one.T @ one == pytest.approx(np.eye(n))
    np.testing.assert_array_equal(one, other)


@for_each(("unit", "same"), [([1.0, 1.0, 1.0], True), ([1.0, 1e3, 1.0], False)])
def test_directions_have_the_units_of_the_frame(unit, same):
    one = bare(flow_spectrum._March, unit=np.array(unit))
    free = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 2)))[0]
    assert one._scaled(None) is None
    found = one._scaled(free)
    assert (found is free) == same
    assert found.T @ found == pytest.approx(np.eye(2))
    scaled = free / np.array(unit)[:, None]
    assert found @ (found.T @ scaled) == pytest.approx(scaled)  # they span the same


def test_no_more_directions_are_stretched_than_are_free():
    """Of the others the stretching is round-off, and they are gone for good."""
    one = bare(flow_spectrum._March, x=np.zeros(3), length=2.0, system=space(time_unit="s"))
    S = np.diag([2.0, 0.5, 3.0])
    assert one._stretched(S, 0.0, 2) == pytest.approx([np.log(2), np.log(0.5), -np.inf])
    assert one.frame.shape == (3, 2)
    assert one._stretched(S, 0.0, 0).tolist() == [-np.inf] * 3
    assert one.frame.shape == (3, 0)
    edge = np.diag([1.0, 0.25, 0.0])  # what is as small as the least is none
    assert one._stretched(edge, 0.25, 3) == pytest.approx([0.0, -np.inf, -np.inf])
    near = np.diag([1.0, 0.25, 0.1])
    assert one._stretched(near, 0.2, 3) == pytest.approx([0.0, np.log(0.25), -np.inf])
    for unit in (1e-3, 8.0):  # the least is beside the largest
        logs = np.log(unit) + np.array([0.0, np.log(0.25), -np.inf])
        assert one._stretched(unit * near, 0.2, 3) == pytest.approx(logs)
    largest = flow_spectrum._LARGEST
    one._stretched(np.diag([largest, 1.0]), 0.0, 2)
    with pytest.raises(BadValue, match=r"In an interval of 2 s directions part by a factor of 2.0e\+10"):  # fmt: skip
        one._stretched(np.diag([2 * largest, 1.0]), 0.0, 2)


# ---------------------------------------------------------------- an interval


def test_an_interval_is_a_period_of_the_drive_or_a_part_of_the_run():
    driven = ex.models.impact_oscillator()
    values = [p.value for p in driven.parameters.values()]
    names = list(driven.parameters)
    values[names.index("omega")] = 4.0
    assert flow_spectrum._interval(driven, "2*pi/omega", values) == pytest.approx(np.pi / 2)
    assert flow_spectrum._interval(driven, np.pi, values) == pytest.approx(np.pi)
    for period, why in ((None, "depends on t: give its period"), ("1/omega", "not the same after"), ("-omega", "period"), (0, "period")):  # fmt: skip
        with pytest.raises(BadValue, match=why):
            flow_spectrum._interval(driven, period, values)
    room = ex.models.thermostat()
    assert flow_spectrum._interval(room, None, []) == pytest.approx(room.t_end / 40)


def test_exponents_of_a_flow_are_told_with_their_interval():
    one = flow_spectrum.FlowExponents(np.array([0.5, -1.25]), np.array([0.01, 0.02]), np.zeros(2), 0.25, 400, 100, {}, space(name="m", time_unit="s"), np.zeros((64, 2)))  # fmt: skip
    text = repr(one)
    assert text == f"Lyapunov exponents of 'm': {one.told} 1/s (400 intervals of 0.25 s)"
    assert one.told == "0.5 ± 0.01, -1.25 ± 0.02"


# ---------------------------------------------------------------- exponents


@for_each(("value", "least", "told"), [
    (3, 3, 3), (3.0, 0, 3), (np.int64(5), 1, 5), (2, 3, None), (3.5, 0, None), (True, 0, None), ("3", 0, None), (float("nan"), 0, None), (float("inf"), 0, None), (0, 0, 0), (-1, 0, None), (None, 0, None),
])  # fmt: skip
def test_a_whole_number_is_one_from_the_least(value, least, told):
    if told is None:
        with pytest.raises(BadValue, match=f"n = .* must be a whole number of at least {least}"):
            whole(value, "n", least)
        return
    found = whole(value, "n", least)
    assert found == told
    assert type(found) is int


@for_each(("values", "told"), [
    ([0.5, 0.25, -1.5], 2.5), ([0.5, 0.0, -1.0], 2.5), ([-0.5, -1.0], 0.0), ([1.0, 0.5], 2.0), ([1.0, -1.0], 2.0), ([0.0, -2.0], 1.0), ([0.5, -0.25, -0.25, -4.0], 3.0), ([], 0.0), ([2.0, -np.inf], 1.0),
])  # fmt: skip
def test_a_dimension_is_linear_in_the_first_exponent_that_outweighs(values, told):
    one = exponents.Exponents(np.array(values), np.zeros(len(values)), np.zeros(len(values)))
    assert one.dimension == pytest.approx(told)
    assert isinstance(one.dimension, float)
