"""When a guard fires in a step, from its samples, and the search for its zero: ties, bounds and rare turns."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.kernels.event_driven.records import (
    ARMED,
    BOUNDS,
    HAS_WHEN,
    LEAVING,
    PASSED,
    SAMPLES,
    TERMINAL,
    UNARMED,
)

locating, zeros = plain("event_driven.locate_event"), plain("event_driven.guard_zero")
Bracket, NOISE, BAND = zeros.Bracket, zeros.NOISE, 0.5
NEVER = 2.0


class Asked:
    """A guard known by its samples, and made-up answers of what looks at it closely."""

    def __init__(self, rng):
        self.values = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 0.0078125], SAMPLES + 3)
        if rng.random() < 0.5:  # it goes on and on, up or down
            self.values[: SAMPLES + 1] = np.cumsum(
                rng.choice([0.0, 0.5, 1.0], SAMPLES + 1) - rng.choice([0.0, 1.0])
            )
        self.sign, self.shift = rng.choice([1.0, -1.0]), rng.choice([0.0, -0.5, 0.25])
        self.arm = int(rng.choice([PASSED, UNARMED, ARMED, LEAVING]))
        self.falling, self.final = int(rng.integers(2)), bool(rng.integers(2))
        self.best = float(rng.choice([NEVER, 0.25, 0.5, 1.0, 0.0]))
        self.flags = int(rng.choice([0, BOUNDS, HAS_WHEN, BOUNDS | HAS_WHEN, BOUNDS | TERMINAL]))
        self.holds, self.rises = rng.choice([1.0, 0.0, -1.0]), bool(rng.integers(2))
        self.dips, self.falls = bool(rng.integers(2)), bool(rng.integers(2))
        self.said = []

    def turning(self, problem, automaton, polynomial, search, zero, k, two, one, g, band):
        self.said.append(("turns", zero, k, two, one, g, band))
        return Bracket((k - 1) / SAMPLES, k / SAMPLES, one, -1.0) if self.dips else Bracket(-1.0, 0.0, 0.0, 0.0)  # fmt: skip

    def early(self, problem, automaton, polynomial, search, zero, one):
        self.said.append(("early", zero, one))
        return Bracket(0.0, 0.01, one, -0.25) if self.falls else Bracket(-1.0, 0.0, 0.0, 0.0)

    def leaves(self, samples, j, sign, one):
        self.said.append(("leaves", j, sign, one))
        return self.rises

    def root(self, problem, automaton, polynomial, search, zero, bracket):
        self.said.append(("root", zero, bracket))
        return bracket.low + 0.25 * (bracket.high - bracket.low)

    def value(self, problem, automaton, polynomial, search, zero, s):
        self.said.append(("value", zero, s))

    def fires(self, monkeypatch):
        put(monkeypatch, locating.fires, flags_of=lambda *_: self.flags, turning=self.turning, early=self.early, leaves=self.leaves,
            root=self.root, value=self.value, guard_count=lambda *_: 3)  # fmt: skip
        samples = np.full((SAMPLES + 3, 2), np.nan)
        samples[:, 1] = self.values
        self.watch = space(sign=self.sign, shift=self.shift, arm=self.arm, falling=self.falling)
        search, out = (
            space(samples=samples, watch=[None, self.watch]),
            np.array([9.0, 9.0, 9.0, 9.0, self.holds]),
        )
        return locating.fires(space(out=out), None, None, search, 1, self.best, self.final, BAND)

    def expected(self):
        """Return where it fires, what is asked on the way, and its shift and whether it is armed then."""
        u, shift, arm, said = self.sign * self.values, self.shift, self.arm, []
        seen = [u[0] - shift]  # values as they count at the time
        begins = self.falling == 1 or u[SAMPLES + 1] - shift < seen[0]
        for k in range(1, SAMPLES + 1):
            old, new = seen[-1], u[k] - shift
            older = seen[-2] if k > 1 else None
            valley = older is not None and older > old < new
            if (k - 1) / SAMPLES >= self.best and not valley:
                break
            part, zero = ((k - 1) / SAMPLES, k / SAMPLES, old, new), zeros.Zero(1, self.sign, shift)
            found = None
            if arm in (PASSED, UNARMED):
                if new > BAND:
                    arm, shift, new = ARMED, 0.0, u[k]
                elif (
                    arm == UNARMED
                    and new < -BAND
                    and self.flags & BOUNDS
                    and not self.flags & HAS_WHEN
                ):
                    found = Bracket(*part)
            elif new <= 0.0 or (self.final and k == SAMPLES and new <= BAND and new < old):
                found = Bracket(*part)
            else:
                turns = valley or (k == 1 and begins and old < new)
                if turns or (k == SAMPLES and u[SAMPLES + 2] - shift < new < old):
                    said.append(("turns", zero, k, older if k > 1 else 0.0, old, new, BAND))
                    found = (
                        Bracket((k - 1) / SAMPLES, k / SAMPLES, old, -1.0) if self.dips else None
                    )
            if found is None and k == 1 and self.arm in (ARMED, LEAVING) and old < 0.01 * abs(new):
                said.append(("leaves", 1, self.sign, u[0]))
                if not self.rises:
                    said.append(("early", zeros.Zero(1, self.sign, shift), old))
                    found = Bracket(0.0, 0.01, old, -0.25) if self.falls else None
            if found is not None:
                zero = zeros.Zero(1, self.sign, shift)
                if arm == UNARMED and old <= -BAND:
                    s = found.low
                else:
                    to = found
                    if arm == UNARMED:
                        zero = zeros.Zero(1, self.sign, -BAND)
                        to = Bracket(found.low, found.high, old + BAND, new + BAND)
                    said.append(("root", zero, to))
                    s = found.low + 0.25 * (found.high - found.low)
                if self.flags & HAS_WHEN:
                    said.append(("value", zeros.Zero(1, self.sign, shift), s))
                if not self.flags & HAS_WHEN or self.holds > 0.0:
                    return s, said, shift, arm
                arm, shift = UNARMED, 0.0
            seen.append(new)
        return NEVER, said, shift, arm


@for_each("seed", range(400))
def test_a_guard_fires_as_its_samples_say(monkeypatch, seed):
    """Values and shifts are few, so that they meet each other, the band and zero exactly."""
    one = Asked(np.random.default_rng(seed))
    s, said, shift, arm = one.expected()
    assert one.fires(monkeypatch) == s
    assert one.said == said
    assert (one.watch.shift, one.watch.arm) == (shift, arm)
    down = one.sign * one.values
    assert one.watch.falling == int(down[SAMPLES] < down[SAMPLES + 2])


@for_each("place", [0, 1, SAMPLES // 2, SAMPLES])
@for_each("size", [4.0, -4.0])
def test_blur_is_told_in_parts_of_how_far_all_samples_go(place, size):
    """Those inside the step alone, also the first and the last one."""
    samples = np.full((SAMPLES + 3, 1), 99.0)
    s = np.arange(SAMPLES + 1) / SAMPLES
    samples[: SAMPLES + 1, 0] = size * (1 - (s - place / SAMPLES) ** 4)
    reach = np.ptp(samples[: SAMPLES + 1])
    samples[3 if place != 3 else 5] += 0.015 * reach * (-1 if size > 0 else 1)
    assert locating.blurring(samples, 1, 0.0) == pytest.approx(0.5, rel=1e-9)


# ---------------------------------------------------------------- the zero itself


class Guard:
    """A function of the fraction of a step, in the place of a guard; it counts its values."""

    def __init__(self, monkeypatch, of):
        self.of, self.places = of, []
        found = np.array([(0.0, 9.0)], [("slope", float), ("least", float)]).view(np.recarray)
        self.search = space(found=found, watch=[space(nearest=np.inf, miss_at=-1.0)])
        for function in (zeros.root, zeros.dip, zeros.early):
            put(monkeypatch, function, value=self)

    def __call__(self, problem, automaton, polynomial, search, zero, s):
        self.places.append(s)
        return self.of(s)

    def ask(self, function, *more):
        return function(
            None, None, space(t=2.0, h=0.5), self.search, zeros.Zero(0, 1.0, 0.0), *more
        )


@for_each(("sign", "shift"), itertools.product((1.0, -1.0), (0.0, 0.25)))
def test_a_guard_is_evaluated_on_the_polynomial_at_its_time(monkeypatch, sign, shift):
    told = []

    def guards(problem, automaton, t, x, values):
        told.append(("guards", t, x))
        values[:] = [9.0, 3.0, 9.0]

    put(monkeypatch, zeros.value, dense_value=lambda polynomial, s, size, x: told.append(("state", s, size, x)), guards=guards)  # fmt: skip
    search = space(x="x", values=np.full(3, np.nan))
    g = zeros.value(space(sizes=space(n_x=4)), None, space(t=2.0, h=0.5), search, zeros.Zero(1, sign, shift), 0.25)  # fmt: skip
    assert g == sign * 3.0 - shift
    assert told == [("state", 0.25, 4, "x"), ("guards", 2.125, "x")]


@for_each(("of", "low", "at", "most"), [
    (lambda s: (s + 0.01) * (0.9 - s), 0.0, 0.9, 2), (lambda s: (s + 0.03) * (0.7 - s), 0.0, 0.7, 2), (lambda s: (s + 1e-4) * (0.5 - s), 0.0, 0.5, 2),
    (lambda s: 0.8 - s, 0.5, 0.8, 1), (lambda s: (s - 0.3) * (s - 1.0), 0.0, 0.3, 4),
])  # fmt: skip
def test_a_quadratic_is_solved_at_once_wherever_it_begins(monkeypatch, of, low, at, most):
    """Where it rises at first, and where its bracket ends on another zero."""
    for scale in (1.0, 1e3):
        guard = Guard(monkeypatch, lambda s, scale=scale: scale * of(s))
        s = guard.ask(zeros.root, Bracket(low, 1.0, scale * of(low), scale * of(1.0)))
        assert s == pytest.approx(at, rel=1e-12)
        assert len(guard.places) <= most


def test_what_is_zero_near_the_start_has_not_left_it_there(monkeypatch):
    """It is positive in (1/32, 1/8) only, so the bracket is (1/16, 1/8]."""
    guard = Guard(monkeypatch, lambda s: (s - 1 / 32) * (1 / 8 - s) if s > 1 / 32 else 0.0)
    assert guard.ask(zeros.root, Bracket(0.0, 1.0, 0.0, -1.0)) == pytest.approx(1 / 8, rel=1e-12)
    assert guard.places[:4] == [1 / 2, 1 / 4, 1 / 8, 1 / 16]
    zero = Guard(monkeypatch, lambda s: 0.0)
    assert zero.ask(zeros.root, Bracket(0.0, 1.0, 0.0, -1.0)) == 2.0**-60
    assert len(zero.places) == 60


@for_each(("level", "last"), [(-1.0, "first"), (1.0, "right")])
def test_of_equal_values_the_later_place_is_taken(monkeypatch, level, last):
    guard = Guard(monkeypatch, lambda s: level)
    s = guard.ask(zeros.dip, 0.0, 1.0)
    if last == "first":
        assert (s, len(guard.places)) == (0.618034, 2)
    else:
        assert s == -1.0
        assert guard.places[2] > guard.places[1]
        assert min(guard.places[2:]) > 0.6


def test_a_fall_at_once_is_bracketed_from_the_start(monkeypatch):
    guard = Guard(monkeypatch, lambda s: -1.0)
    assert guard.ask(zeros.early, 0.5) == Bracket(0.0, 1 / SAMPLES / 2**14, 0.5, -1.0)


@for_each("of", [lambda s: 0.0, lambda s: 0.5 * NOISE, lambda s: -NOISE, lambda s: 0.5 + s, lambda s: 1.0, lambda s: 1.0 if s < 0.01 else 2.0,
                 lambda s: 2.0 if s < 0.01 else 1.0])  # fmt: skip
def test_nothing_is_bracketed_where_a_guard_only_rises_or_rests(monkeypatch, of):
    """Nor is a dip looked for where one value equals the next."""
    guard = Guard(monkeypatch, of)
    got = guard.ask(zeros.early, of(0.0))
    assert (got.low, got.g_high) == (-1.0, 0.0)
    assert len(guard.places) == 16


@for_each("point", [1.0 / SAMPLES, 2.0 / SAMPLES, 2.0**-7 / SAMPLES])
def test_a_dip_between_two_places_that_double_is_bracketed(monkeypatch, point):
    """Its least value is at 0.6 of the place behind it; that at half of it is still above zero."""
    of = lambda s: (s / point - 0.6) ** 2 - 0.05**2  # noqa: E731
    guard = Guard(monkeypatch, of)
    got = guard.ask(zeros.early, of(0.0))
    assert (got.low, got.g_low) == (0.25 * point, of(0.25 * point))
    assert 0.55 * point < got.high < 0.65 * point
    assert got.g_high == of(got.high) < -NOISE


@for_each(
    ("two", "one", "g", "wide"),
    [
        (2.0, 1.0, 2.0, 2),
        (1.0, 1.0, 2.0, 1),
        (2.0, 1.0, 1.0, 1),
        (0.5, 1.0, 2.0, 1),
        (2.0, 1.0, 0.5, 1),
    ],
)
@for_each("k", [1, 2, 5])
def test_a_dip_is_looked_for_over_both_intervals_where_the_middle_is_least(monkeypatch, k, two, one, g, wide):  # fmt: skip
    told = []
    put(monkeypatch, zeros.turning, dip=lambda *given: told.append(given[5:]) or given[5])
    search = space(found=[space(least=-0.5)], watch=[space(nearest=9.0, miss_at=7.0)])
    got = zeros.turning(None, None, space(t=2.0, h=0.5), search, zeros.Zero(0, 1.0, 0.0), k, two, one, g, 0.1)  # fmt: skip
    wide = wide if k > 1 else 1
    begin = (k - wide) / SAMPLES
    assert told == [(begin, k / SAMPLES)]
    assert got == Bracket(begin, begin, two if wide == 2 else one, -0.5)
    assert (search.watch[0].nearest, search.watch[0].miss_at) == (9.0, 7.0)


@for_each(("least", "nearest", "band", "noted"), [
    (0.5, 0.75, 0.25, True), (0.5, 0.5, 0.25, False), (0.5, 0.25, 0.25, False), (0.5, 0.75, 1.5, False), (0.5, 0.75, 1.25, True), (2.0, 3.0, 0.0, False),
])  # fmt: skip
def test_a_near_miss_is_nearer_than_those_before_and_stands_out(monkeypatch, least, nearest, band, noted):  # fmt: skip
    """From the higher of its neighbours, by more than the band."""
    for one, g in ((1.0, 2.0), (2.0, 1.0)):
        put(monkeypatch, zeros.turning, dip=lambda *_: -1.0)
        search = space(found=[space(least=least)], watch=[space(nearest=nearest, miss_at=7.0)])
        got = zeros.turning(None, None, space(t=2.0, h=0.5), search, zeros.Zero(0, 1.0, 0.0), 3, 0.5, one, g, band)  # fmt: skip
        assert got == Bracket(-1.0, 3 / SAMPLES, one, g)
        at = 2.0 + 0.5 * 3 / SAMPLES
        assert (search.watch[0].nearest, search.watch[0].miss_at) == ((least, at) if noted else (nearest, 7.0))  # fmt: skip
