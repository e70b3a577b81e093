"""The zero of a guard on a step: found where it is, quickly, and not where it is none."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

zeros = plain("event_driven.guard_zero")
Bracket, NOISE, SAMPLES, END = zeros.Bracket, zeros.NOISE, zeros.SAMPLES, zeros.END
NONE = SimpleNamespace()


class Guard:
    """A function of the fraction of a step, in the place of a guard; it counts its values."""

    def __init__(self, of):
        self.of, self.places = of, []
        found = np.array([(0.0, 9.0)], [("slope", float), ("least", float)]).view(np.recarray)
        watch = [SimpleNamespace(nearest=np.inf, miss_at=-1.0)]
        self.search = SimpleNamespace(found=found, watch=watch)
        self.polynomial = SimpleNamespace(t=2.0, h=0.5)
        self.zero = zeros.Zero(0, 1.0, 0.0)
        zeros.root.__globals__["value"] = self

    def __call__(self, problem, automaton, polynomial, search, zero, s):
        self.places.append(s)
        return self.of(s)

    def ask(self, function, *more):
        return function(NONE, NONE, self.polynomial, self.search, self.zero, *more)


FALLS = [  # a function, its zero and its slope there, and how many values suffice
    (lambda s: 0.3 - s, 0.3, -1.0, 1),
    (lambda s: (0.4 - s) * (2 + s), 0.4, -2.4, 2),
    (lambda s: (s - 0.7) * (s - 2.0), 0.7, -1.3, 2),
    (lambda s: np.exp(-3 * s) - 0.5, np.log(2) / 3, -1.5, 7),
    (lambda s: 1 - (s / 0.9) ** 7, 0.9, -7 / 0.9, 7),
    (lambda s: 1e-6 - s**3, 1e-2, -3e-4, 25),
    (lambda s: np.cos(3 * s), np.pi / 6, -3.0, 6),
    (lambda s: -np.sign(s - 0.37), 0.37, -np.inf, 46),
]


@for_each(("of", "at", "slope", "most"), FALLS)
def test_a_zero_is_found_with_few_values(of, at, slope, most):
    """Of a quadratic with one or two; where it jumps, by halving. The slope is noted."""
    for scale in (1.0, 1e-5, 1e5):
        guard = Guard(lambda s, of=of, scale=scale: scale * of(s))
        s = guard.ask(zeros.root, Bracket(0.0, 1.0, scale * of(0.0), scale * of(1.0)))
        assert s == pytest.approx(at, rel=1e-11)
        assert len(guard.places) <= most
        if np.isfinite(slope):
            assert guard.search.found[0].slope == pytest.approx(scale * slope, rel=1e-5)


def test_a_zero_at_an_end_of_its_bracket_is_that_end():
    for low, high in ((0.2, 0.8), (0.1, 0.3)):
        guard = Guard(lambda s: 1 / 0)
        assert guard.ask(zeros.root, Bracket(low, high, 0.0, -1.0)) == low
        assert guard.ask(zeros.root, Bracket(low, high, -1.0, -1.0)) == low
        assert guard.ask(zeros.root, Bracket(low, high, 1.0, 0.5)) == high
        assert guard.ask(zeros.root, Bracket(low, high, np.nan, -1.0)) == low
        assert guard.search.found[0].slope == 0.0


@for_each("at", [0.9, 0.3, 1e-2, 1e-6, 1e-11])
def test_what_leaves_zero_at_once_is_met_where_it_comes_back(at):
    guard = Guard(lambda s: s * (at - s))
    s = guard.ask(zeros.root, Bracket(0.0, 1.0, 0.0, at - 1))
    assert s == pytest.approx(at, rel=1e-9)
    assert guard.search.found[0].slope == pytest.approx(-at, rel=1e-5)
    falls = Guard(lambda s: -s)
    assert falls.ask(zeros.root, Bracket(0.0, 1.0, 0.0, -1.0)) <= 2.0**-59
    assert len(falls.places) == 60


@for_each("least", [-1e-2, -1e-6, -1e-12, 0.0, 1e-12, 1e-3])
@for_each("at", [0.21, 0.4, 0.53, 0.8])
def test_a_dip_below_zero_is_seen(least, at):
    """Golden section: 24 intervals, each 0.618 of the one before."""
    guard = Guard(lambda s: least + 1e-3 * (s - at) ** 2)
    s = guard.ask(zeros.dip, 0.2, 1.0)
    if least < -1e-11:
        assert 0.2 < s < 1.0
        assert guard.of(s) < -NOISE
        assert guard.search.found[0].least == guard.of(s)
        assert all(guard.of(x) >= -NOISE for x in guard.places[:-2])
    elif least >= 0:
        assert s == -1.0
        assert len(guard.places) == 26
        assert min(abs(x - at) for x in guard.places) < 2 * 0.8 * 0.618**24
        seen = min(guard.of(x) for x in guard.places[:-1])
        assert guard.search.found[0].least == pytest.approx(seen, rel=1e-9)
    inner = sorted(guard.places[:2])
    assert inner == pytest.approx([0.2 + 0.8 * 0.381966, 0.2 + 0.8 * 0.618034], rel=1e-5)


def samples(of, sign=1.0):
    """Return values at the samples of a step, and, behind them, at END."""
    places = [*(np.arange(SAMPLES + 1) / SAMPLES), END]
    return np.array([[np.nan, sign * of(s)] for s in places])


@for_each("sign", [1.0, -1.0])
def test_a_guard_that_rises_from_its_start_is_known_to(sign):
    for one in (0.0, 0.3):
        for of, rises in (
            (lambda s: s, True),
            (lambda s: s + 2 * s * s, True),
            (lambda s: s - s * s, True),
            (lambda s: 1e-3 * s, True),
            (lambda s: -s, False),
            (lambda s: s * s, False),
            (lambda s: s * (s - 0.5 / SAMPLES), False),  # below zero before the first sample
            (lambda s: s - 2 * SAMPLES * s * s, False),  # past its summit at the first sample
            (lambda s: s - 0.4 * SAMPLES * s * s, True),
            (lambda s: s + np.sin(40 * SAMPLES * s) / SAMPLES, False),  # no parabola
        ):
            table = samples(lambda s, one=one, of=of: one + of(s), sign)
            assert zeros.leaves(table, 1, sign, one) == rises


def test_the_parabola_of_a_cubic_misses_by_its_third_difference():
    """of = s + c s^3: slopes from the start are 1 + c s^2; the fourth misses by a known amount."""
    at1, at2, at4 = 1 / SAMPLES, 2 / SAMPLES, 4 / SAMPLES
    # of a s + c s^3 they are a + c s^2, a parabola: at its least, less a quarter of its bend
    for c, least in ((5.0, 0.25), (-5.0, 1.25)):
        for more, rises in ((1 + 1e-6, True), (1 - 1e-6, False)):
            slope = more * least * abs(c) * at1**2
            table = samples(lambda s, c=c, slope=slope: slope * s + c * s**3)
            assert zeros.leaves(table, 1, 1.0, 0.0) == rises
    # of = s + c s^4: the slopes are cubic, and miss by c times the product of the distances
    miss = abs((at4 - END) * (at4 - at1) * (at4 - at2))
    for c, rises in ((0.9 / miss, True), (1.1 / miss, False)):
        least = min(1 + c * END**3, 1 + c * at1**3)
        table = samples(lambda s, c=c: s + c * s**4)
        bend = c * (END + at1 + at2)
        begin = 1 + c * END**3 - END * (c * (END**2 + END * at1 + at1**2) - bend * at1)
        expected = min(begin, least) - 0.25 * abs(bend) * at1**2 > c * miss
        assert zeros.leaves(table, 1, 1.0, 0.0) == expected == (rises and expected)


@for_each("place", [9e-6, 3e-4, 0.7 / SAMPLES, 1.9 / SAMPLES])
def test_a_fall_or_a_dip_long_before_the_first_sample_is_bracketed(place):
    guard = Guard(lambda s: place - s)
    got = guard.ask(zeros.early, place)
    assert got.low < place <= got.high <= 2.0 / SAMPLES
    assert (got.g_low, got.g_high) == (guard.of(got.low), guard.of(got.high))
    assert got.high == 2 * got.low or got.low == 0
    width = 0.3 * place
    dips = Guard(lambda s: 1e-3 * ((s - place) ** 2 - width**2))
    got = dips.ask(zeros.early, dips.of(0.0))
    if got.low >= 0:
        assert dips.of(got.low) > 0 >= dips.of(got.high)
        assert (got.g_low, got.g_high) == pytest.approx(
            (dips.of(got.low), dips.of(got.high)), abs=1e-18
        )
        assert got.low < place < got.high + width
    rises = Guard(lambda s: 1.0 + s)
    got = rises.ask(zeros.early, 1.0)
    assert (got.low, got.g_high) == (-1.0, 0.0)
    assert rises.places == [2.0**k / SAMPLES / 2**14 for k in range(16)]
    assert got.high == 4.0 / SAMPLES
    assert got.g_low == rises.of(2.0 / SAMPLES)


@for_each(("depth", "back"), [(depth, back) for depth in (1e-3, 1e-7) for back in (0.3, 0.8)])
@for_each("k", [1, 2, 3, 5])
def test_a_dip_between_samples_is_bracketed_and_a_near_miss_noted(k, depth, back):
    at = (k - back) / SAMPLES
    for lift in (-depth, depth):
        guard = Guard(lambda s, lift=lift: (s - at) ** 2 + lift)
        two, one, g = (guard.of((k - j) / SAMPLES) for j in (2, 1, 0))
        wide = 2 if k >= 2 and two > one and one < g else 1
        got = guard.ask(zeros.turning, k, two, one, g, 0.0)
        watch = guard.search.watch[0]
        assert min(guard.places) > (k - wide) / SAMPLES
        assert max(guard.places) < k / SAMPLES
        if lift < 0:
            assert got.low == (k - wide) / SAMPLES
            assert got.g_low == guard.of(got.low)
            assert guard.of(got.high) == got.g_high < 0
            assert watch.nearest == np.inf
        else:
            assert got == Bracket(-1.0, k / SAMPLES, one, g)
            assert watch.nearest == pytest.approx(depth, rel=1e-3)
            assert watch.miss_at == 2.0 + 0.5 * k / SAMPLES
            watch.nearest, watch.miss_at = 0.5 * depth, 7.0  # one that is nearer stays
            guard.ask(zeros.turning, k, two, one, g, 0.0)
            assert (watch.nearest, watch.miss_at) == (0.5 * depth, 7.0)
            watch.nearest = np.inf  # so does one that stands out by less than the band
            guard.ask(zeros.turning, k, two, one, g, 10.0)
            assert watch.nearest == np.inf
