"""Find the first event inside a step, and put it exactly on the flow.

Each guard is watched on its own. A guard is armed once it was seen on its side; one that sits at
zero (just after its event) is armed if it leaves, with its own residue as the zero; one that does
not leave yet (a release: a triple root) is armed when it is out of a small band.
"""

import numpy as np

from explorer.kernels.event_driven.flow import guard_count, guards, is_change
from explorer.kernels.event_driven.guard_zero import (
    END,
    Bracket,
    Zero,
    early,
    leaves,
    root,
    turning,
    value,
)
from explorer.kernels.event_driven.records import (
    ARMED,
    BOUNDS,
    HAS_WHEN,
    HIDDEN,
    NONE,
    SAMPLES,
    UNARMED,
)
from explorer.kernels.event_driven.runge_kutta import dense_value
from explorer.kernels.event_driven.structures import Automaton, Polynomial, Problem, Search
from explorer.kernels.references import kernel
from explorer.kernels.structures import Matrix

__all__ = ["first_event", "flags_of"]

TIE = 1e-12  # of a step: roots of two functions with the same zero differ by less


@kernel(inline=True)
def flags_of(problem: Problem, automaton: Automaton, j: int) -> int:
    """Return the flags of guard `j` of the present mode; a contact bounds the motion."""
    if problem.sizes.mechanical:
        return BOUNDS
    return automaton.guards[automaton.first[problem.state[0].mode] + j].flags


@kernel(inner=True)
def sample(
    problem: Problem, automaton: Automaton, polynomial: Polynomial, search: Search, count: int
) -> None:
    """Write the guards at the samples of the step, and near both ends which way they go."""
    samples, x, values = search.samples, search.x, search.values
    for k in range(1, SAMPLES + 3):
        s = k / SAMPLES if k <= SAMPLES else (END if k == SAMPLES + 1 else 1.0 - END)
        dense_value(polynomial, s, problem.sizes.n_x, x)
        guards(problem, automaton, polynomial.t + polynomial.h * s, x, values)
        for j in range(count):
            samples[k, j] = values[j]


@kernel(inner=True)
def loses_a_gap(problem: Problem, samples: Matrix) -> bool:
    """Whether the gap of a contact is no number at the end of the step: its formula ends before."""
    if problem.sizes.mechanical:
        for j in range(problem.sizes.n_c):
            if np.isnan(samples[SAMPLES, j]):
                return True
    return False


@kernel(inner=True)
def blurring(samples: Matrix, count: int, band: float) -> float:
    """Return how badly the samples show the guards; > 1: not.

    The odd ones against the polynomial through the even ones.
    """
    worst = 0.0
    for j in range(count):
        low, high = samples[0, j], samples[0, j]
        for k in range(1, SAMPLES + 1):
            low, high = min(low, samples[k, j]), max(high, samples[k, j])
        a, b, d = samples[0, j], samples[2, j], samples[4, j]
        e, f = samples[6, j], samples[8, j]
        off = max(
            abs(samples[1, j] - (35 * a + 140 * b - 70 * d + 28 * e - 5 * f) / 128),
            abs(samples[3, j] - (-5 * a + 60 * b + 90 * d - 20 * e + 3 * f) / 128),
            abs(samples[5, j] - (3 * a - 20 * b + 90 * d + 60 * e - 5 * f) / 128),
            abs(samples[7, j] - (-5 * a + 28 * b - 70 * d + 140 * e + 35 * f) / 128),
        )
        worst = max(worst, off / (0.03 * (high - low) + 10.0 * band))
    return worst


@kernel(inner=True)
def fires(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    j: int,
    best: float,
    final: bool,
    band: float,
) -> float:
    """Return at which fraction of the step guard `j` fires, before `best`; 2.0: it does not.

    Its watch is brought up to date for the part of the step before the event.
    """
    samples, watch = search.samples, search.watch
    sign, shift, arm = watch[j].sign, watch[j].shift, watch[j].arm
    flags = flags_of(problem, automaton, j)
    fraction = 2.0
    two, one = 0.0, sign * samples[0, j] - shift
    begins = watch[j].falling == 1 or sign * samples[SAMPLES + 1, j] - shift < one
    for k in range(1, SAMPLES + 1):
        g = sign * samples[k, j] - shift
        if (k - 1) / SAMPLES >= best and not (two > one and one < g and k >= 2):
            break  # but what turns at the last sample may have dipped before it
        bracket = Bracket(-1.0, k / SAMPLES, one, g)
        if arm <= UNARMED:
            if g > band:
                arm, shift = ARMED, 0.0
                g = sign * samples[k, j]
            elif arm == UNARMED and g < -band and (flags & (BOUNDS | HAS_WHEN)) == BOUNDS:
                # it has never left, and never falls through
                bracket = Bracket((k - 1) / SAMPLES, k / SAMPLES, one, g)
        elif g <= 0.0 or (final and k == SAMPLES and g <= band and g < one):
            bracket = Bracket((k - 1) / SAMPLES, k / SAMPLES, one, g)
        elif (
            (k >= 2 and two > one and one < g)
            or (k == 1 and begins and one < g)
            or (k == SAMPLES and sign * samples[SAMPLES + 2, j] - shift < g and g < one)
        ):
            zero = Zero(j, sign, shift)
            bracket = turning(problem, automaton, polynomial, search, zero, k, two, one, g, band)
        near = bracket.low < 0.0 and k == 1 and watch[j].arm > UNARMED and one < 0.01 * abs(g)
        if near and not leaves(samples, j, sign, sign * samples[0, j]):
            bracket = early(problem, automaton, polynomial, search, Zero(j, sign, shift), one)
        if bracket.low >= 0.0:
            if arm == UNARMED and one <= -band:
                s = bracket.low
            elif arm == UNARMED:
                falls = Bracket(bracket.low, bracket.high, one + band, g + band)
                s = root(problem, automaton, polynomial, search, Zero(j, sign, -band), falls)
            else:
                s = root(problem, automaton, polynomial, search, Zero(j, sign, shift), bracket)
            if flags & HAS_WHEN:
                value(problem, automaton, polynomial, search, Zero(j, sign, shift), s)
            if flags & HAS_WHEN and not problem.out[guard_count(problem, automaton) + j] > 0.0:
                arm, shift = UNARMED, 0.0
            else:
                fraction = s
                break
        two, one = one, g
    watch[j].shift, watch[j].arm = shift, arm
    falls = sign * (samples[SAMPLES, j] - samples[SAMPLES + 2, j]) < 0.0
    watch[j].falling = 1 if falls else 0
    return fraction


@kernel(inner=True)
def first_event(
    problem: Problem,
    automaton: Automaton,
    polynomial: Polynomial,
    search: Search,
    final: bool,
    band: float,
    patient: bool,
) -> int:
    """Return which guard fires first in the step, NONE or HIDDEN; `found` tells where.

    A guard may vary faster than the flow whose error sets the step: a blur > 1 says that the
    samples do not show it, and if `patient` the answer is then HIDDEN. So it is, always, where the
    gap of a contact is no number at the end of the step.

    The watch is brought up to date for the part of the step before the event; the first of the
    samples holds the guards at the start of the step, the last but two those at the end on exit.

    Guards that change constraints give way to those before them at the same instant but for
    round-off: to contacts, and to changes that are declared before them.
    """
    found = search.found
    count = guard_count(problem, automaton)
    sample(problem, automaton, polynomial, search, count)
    if loses_a_gap(problem, search.samples):
        found[0].blur = np.inf  # so the step is shortened until it is none
        return HIDDEN
    found[0].blur = blurring(search.samples, count, band)
    if found[0].blur > 1.0 and patient:
        return HIDDEN
    best, winner, slope = 2.0, NONE, 0.0
    for j in range(count):
        s = fires(problem, automaton, polynomial, search, j, best, final, band)
        tie = TIE if winner >= 0 and is_change(problem, j) else 0.0
        if s < best - tie:
            best, winner, slope = s, j, found[0].slope
    found[0].fraction, found[0].slope = best, slope
    return winner
