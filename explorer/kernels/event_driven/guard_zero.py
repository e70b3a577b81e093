"""The zero of one guard on the polynomial of a step: bracketed, and found."""

from typing import NamedTuple

import numpy as np

from explorer.kernels.event_driven.flow import guards
from explorer.kernels.event_driven.records import SAMPLES
from explorer.kernels.event_driven.runge_kutta import dense_value
from explorer.kernels.event_driven.structures import Automaton, Polynomial, Problem, Search
from explorer.kernels.references import kernel
from explorer.kernels.structures import Matrix

__all__ = ["NOISE", "Bracket", "Zero", "dip", "early", "leaves", "root", "turning", "value"]

END = 1 / 512
NOISE = 1e-13  # a guard is no surer than this


class Zero(NamedTuple):
    """It is looked for where sign * guard - shift falls through zero."""

    guard: int
    sign: float
    shift: float


class Bracket(NamedTuple):
    """Fractions of the step between which it falls, and its values there."""

    low: float  # -1: it does not fall
    high: float
    g_low: float
    g_high: float


@kernel(inner=True)
def value(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    zero: Zero,
    s: float,
) -> float:
    """Return sign * guard - shift at the fraction `s` of the step, on the polynomial."""
    dense_value(polynomial, s, problem.sizes.n_x, search.x)
    t = polynomial.t + s * polynomial.h
    guards(problem, automaton, t, search.x, search.values)
    return zero.sign * search.values[zero.guard] - zero.shift


@kernel(inner=True)
def root(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    zero: Zero,
    bracket: Bracket,
) -> float:
    """Return where sign * guard - shift falls through zero in (low, high], on the polynomial.

    The zero of the quadratic through both ends of the bracket and a point between them, which takes
    the place of one end (after Muller); if that goes on for long, every other time the middle. The
    slope at the zero is noted.
    """
    low, high, g_low, g_high = bracket.low, bracket.high, bracket.g_low, bracket.g_high
    found = search.found
    found[0].slope = 0.0
    if low == 0.0 and not g_low > NOISE:  # it leaves zero at once: begin where it is positive
        low = high
        for _ in range(60):
            low *= 0.5
            g_low = value(problem, automaton, polynomial, search, zero, low)
            if g_low > 0.0:
                break
            high, g_high = low, g_low
    if not g_low > 0.0:
        return low
    if not g_high <= 0.0:
        return high
    s = low + (high - low) * g_low / (g_low - g_high)
    for trial in range(80):
        if not low < s < high or (trial % 2 > 0 and trial > 8):
            s = 0.5 * (low + high)
        if high - low <= 1e-13 * high:
            break
        g = value(problem, automaton, polynomial, search, zero, s)
        left, right = (g - g_low) / (s - low), (g_high - g) / (high - s)
        bend = (right - left) / (high - low)
        slope = left + bend * (s - low)
        fall = np.sqrt(max(slope * slope - 4.0 * bend * g, 0.0))
        found[0].slope = -fall
        if g == 0.0:
            return s
        move = 2.0 * g / (fall - slope) if slope < 0.0 else -(fall + slope) / (2.0 * bend)
        if g > 0.0:
            low, g_low = s, g
        else:
            high, g_high = s, g
        s += move
        if abs(move) <= 1e-13 * high and low <= s <= high:
            return s
    return high


@kernel(inner=True)
def dip(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    zero: Zero,
    a: float,
    b: float,
) -> float:
    """Return a place in (a, b) where the guard is below zero, -1 if its least value is not.

    The least value seen is noted. (Golden section.)
    """
    found = search.found
    p, q = a + 0.381966 * (b - a), a + 0.618034 * (b - a)
    gp = value(problem, automaton, polynomial, search, zero, p)
    gq = value(problem, automaton, polynomial, search, zero, q)
    for _ in range(24):
        found[0].least = min(gp, gq)
        if found[0].least < -NOISE:
            return p if gp < gq else q
        left = gp < gq
        if left:
            b, q, gq = q, p, gp
            p = a + 0.381966 * (b - a)
        else:
            a, p, gp = p, q, gq
            q = a + 0.618034 * (b - a)
        g = value(problem, automaton, polynomial, search, zero, p if left else q)
        if left:
            gp = g
        else:
            gq = g
    return -1.0


@kernel(inner=True)
def leaves(samples: Matrix, j: int, sign: float, one: float) -> bool:
    """Whether guard `j` surely rises from its value `one` at the start to the first sample.

    Its mean slopes up to END and up to the first three samples are put on a parabola: if that is
    positive by more than it misses a fourth one, nothing happens before the first sample.
    """
    at1, at2, at4 = 1.0 / SAMPLES, 2.0 / SAMPLES, 4.0 / SAMPLES
    s0 = (sign * samples[SAMPLES + 1, j] - one) / END
    s1 = (sign * samples[1, j] - one) / at1
    s2 = (sign * samples[2, j] - one) / at2
    s4 = (sign * samples[4, j] - one) / at4
    first = (s1 - s0) / (at1 - END)
    bend = ((s2 - s1) / (at2 - at1) - first) / (at2 - END)
    miss = abs(s0 + (at4 - END) * (first + bend * (at4 - at1)) - s4)
    begin = s0 - END * (first - bend * at1)
    return min(begin, s0, s1) - 0.25 * abs(bend) * at1**2 > miss


@kernel(inner=True)
def early(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    zero: Zero,
    one: float,
) -> Bracket:
    """Bracket where a guard, `one` at the start, falls long before the first sample or around it.

    It may leave and come back, or dip.
    """
    before, two_back, at = one, 0.0, 0.0
    point = 1.0 / SAMPLES / 2**14
    while point <= 2.0 / SAMPLES:
        g = value(problem, automaton, polynomial, search, zero, point)
        if g < -NOISE:
            return Bracket(at, point, before, g)
        if two_back > before and before < g:
            touch = dip(problem, automaton, polynomial, search, zero, 0.25 * point, point)
            if touch >= 0.0:
                return Bracket(0.25 * point, touch, two_back, search.found[0].least)
        two_back, before, at = before, g, point
        point *= 2.0
    return Bracket(-1.0, point, before, 0.0)


@kernel(inner=True)
def turning(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    zero: Zero,
    k: int,
    two: float,
    one: float,
    g: float,
    band: float,
) -> Bracket:
    """Bracket where a guard that turns around sample `k` dips below zero, or note a near miss.

    Its values at the last three samples are `two`, `one` and `g`.
    """
    j, watch, found = zero.guard, search.watch, search.found
    wide = 2 if k >= 2 and two > one and one < g else 1
    begin, above = (k - wide) / SAMPLES, two if wide == 2 else one
    touch = dip(problem, automaton, polynomial, search, zero, begin, k / SAMPLES)
    least = found[0].least
    if touch >= 0.0:
        return Bracket(begin, touch, above, least)
    if least < watch[j].nearest and max(above, g) > least + band:
        watch[j].nearest = least
        watch[j].miss_at = polynomial.t + k / SAMPLES * polynomial.h
    return Bracket(-1.0, k / SAMPLES, one, g)
