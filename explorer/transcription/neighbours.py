"""Biactive changes of a plan, and the sequences beside it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from explorer.transcription.biactive import (
    SHORT,
    TOUCH,
    Biactive,
    empty,
    function_of,
    runs,
    sides,
)
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.contact_neighbours import contact_places
from explorer.transcription.grid import Grid
from explorer.transcription.layout import ends, inputs_at, stage_times
from explorer.transcription.modes import possible
from explorer.transcription.polish import Polished
from explorer.transcription.program import Program
from explorer.transcription.sequence import Sequence

__all__ = ["Biactive", "biactive", "elsewhere", "neighbours", "shifted", "without_idle"]

SMALL = 1e-7  # of its largest value: a function or a multiplier at its bound
MOST = 4  # changes that are moved in all combinations
NEAR = 0.2  # of a control interval: changes that are tried on the other side of its boundary


def biactive(plan: Polished) -> list[Biactive]:
    """Return the biactive places of a solution."""
    if not plan.program.formulas.n_c:
        return []
    if isinstance(plan.program.formulas, ContactFormulas):
        return [*contact_places(plan)]
    if plan.program.formulas.modes:
        return [*_on_boundaries(plan), *empty(plan), *_reaching(plan)]
    return [*_on_boundaries(plan), *empty(plan), *_double(plan), *_idle(plan), *_touching(plan)]


def _on_boundaries(plan: Polished) -> Iterator[Biactive]:
    """Changes inside of an interval that have come to one of its ends."""
    boundaries, sequence = ends(plan.program, plan.point.w), plan.sequence
    N = len(boundaries) - 1
    for i, change in enumerate(sequence.changes):
        k, between = divmod(change.place, 2)
        j = function_of(plan, sequence.before(i), change.after)
        near = SHORT * (boundaries[-1] / N)
        driven = plan.program.formulas.driven
        slides = driven[j] if driven else not sequence.before(i)[j]
        if between and driven:
            yield from _passed(plan, i, k, j)
            continue
        if between:
            m = plan.point.w[plan.program.of["m"][k, -1, -1, j]]
            if min(m, 1 - m) < SMALL:
                yield Biactive(change.t, j, "a slide ends on a boundary", i, change.place - 1)
            continue
        if change.t > boundaries[k + 1] - near and k + 1 < N:
            yield Biactive(
                change.t, j, "a switch on the boundary of a control interval", i, 2 * k + 2
            )
            if slides:
                yield Biactive(change.t, j, "a slide ends on a boundary", i, 2 * k + 1)
        if change.t < boundaries[k] + near and k > 0:
            yield Biactive(
                change.t, j, "a switch on the boundary of a control interval", i, 2 * k - 2
            )
            if slides:
                yield Biactive(change.t, j, "a slide ends on a boundary", i, 2 * k - 1)


def _passed(plan: Polished, i: int, k: int, g: int) -> Iterator[Biactive]:
    """A guard that a control passes by its jump, and that is zero on one side of it already."""
    change, program = plan.sequence.changes[i], plan.program
    what = "a guard is reached on the boundary of a control interval"
    if abs(plan.point.w[program.of["lam"][k, -1, -1, g]]) < TOUCH:
        yield Biactive(change.t, g, what, i, 2 * k)
    if abs(plan.point.rows[program.rows["passed"][k, g]]) < TOUCH:
        yield Biactive(change.t, g, what, i, 2 * k + 2)


def _double(plan: Polished) -> Iterator[Biactive]:
    """Changes of several functions at once: one may be earlier than the other."""
    for i, change in enumerate(plan.sequence.changes):
        before = plan.sequence.before(i)
        both = [j for j, (a, b) in enumerate(zip(before, change.after, strict=True)) if a != b]
        for j in both if len(both) > 1 else ():
            first = (*before[:j], change.after[j], *before[j + 1 :])
            beside = plan.sequence.inserted(i, first)
            yield Biactive(change.t, j, "two functions change at once", sequence=beside)


def _idle(plan: Polished) -> Iterator[Biactive]:
    """Slides during which the state would stay on the surface with the field of a side too."""
    found = idle(plan.program, plan.point.w, plan.parameters, plan.sequence)
    for i, j, side, t in found:
        signs = plan.sequence.signs(i)
        beside = plan.sequence.with_signs(i, (*signs[:j], side, *signs[j + 1 :]))
        yield Biactive(t, j, "a slide that a side would keep", sequence=beside)


def idle(
    program: Program, w: np.ndarray, p: np.ndarray, sequence: Sequence, tol: float = 1e-6
) -> Iterator[tuple[int, int, int, float]]:
    """Yield phase, function, side and time of the slides that the field of a side keeps too."""
    f, of = program.formulas, program.of
    boundaries = ends(program, w)
    times = [boundaries[0], *(c.t for c in sequence.changes), boundaries[-1]]
    t, x, u = stage_times(program, w), w[of["x"]], inputs_at(program, w)
    rho = program.rho(w, p)
    scale = max(1.0, float(np.abs(w[of["lam"]]).max(initial=0.0)))
    for i in range(len(times) - 1):
        signs = sequence.signs(i)
        inside = (t >= times[i]) & (t <= times[i + 1])
        points = int(inside.sum())
        at = t[inside][None], x[inside].T, u[inside].T
        for j in (j for j, s in enumerate(signs) if not s and points):
            for side in (1, -1):
                m = np.array([0.5 * (1 + s) for s in signs])
                m[j] = 0.5 * (1 + side)
                m, given = (np.repeat(one[:, None], points, axis=1) for one in (m, rho))
                rates = side * np.asarray(f.rates(at[0], at[1], m, at[2], given), float)[j]
                if rates.min() > -tol * scale:
                    yield i, j, side, times[i]


def without_idle(program: Program, w: np.ndarray, p: np.ndarray, sequence: Sequence) -> Sequence:
    """Return a sequence without slides that a side keeps too: there alpha is undetermined."""
    for _ in range(len(sequence.changes) + 1):
        found = next(idle(program, w, p, sequence, 1e-2), None)
        if found is None:
            return sequence
        i, j, side, _t = found
        signs = sequence.signs(i)
        near = [sequence.signs(k)[j] for k in (i - 1, i + 1) if 0 <= k <= len(sequence.changes)]
        side = next((s for s in near if s), side)
        sequence = sequence.with_signs(i, (*signs[:j], side, *signs[j + 1 :]))
    return sequence


def _touching(plan: Polished) -> Iterator[Biactive]:
    """Stretches inside of a phase on which a surface is touched: the other side may follow there.

    A single point counts only where a multiplier says that the plan presses against the surface.
    """
    program, w, n_c = plan.program, plan.point.w, plan.program.formulas.n_c
    lam = program.of["lam"]
    t = stage_times(program, w).ravel()
    places = 2 * np.repeat(np.arange(lam.shape[0]), t.size // lam.shape[0])
    pull = -plan.point.w_multipliers
    strong = 1e-6 * max(1.0, float(np.abs(plan.point.row_multipliers).max(initial=0.0)))
    near = SHORT * float(ends(program, w)[-1]) / program.grid.intervals
    changes = np.array([w[program.of["t_0"]], *(c.t for c in plan.sequence.changes)])
    away = np.abs(t[:, None] - changes).min(axis=1) > near
    for j in range(n_c):
        signs = np.repeat(plan.layout.signs[..., j].ravel(), lam.shape[2])
        own = (j + n_c * (plan.layout.signs[..., j] > 0))[:, :, None, None]
        at = np.take_along_axis(lam, np.broadcast_to(own, (*lam.shape[:3], 1)), 3).ravel()
        touched = away & (signs != 0) & (np.abs(w[at]) < TOUCH)
        for first, last in runs(touched, signs):
            if first == last and not (plan.bounds.high[at[first]] > 0 and pull[at[first]] > strong):
                continue
            for begin, end in itertools.product(
                sides(plan, t, places, first, -1), sides(plan, t, places, last, 1)
            ):
                beside = plan.sequence.replaced(begin, end, j, -int(signs[first]), near)
                yield Biactive(float(t[first]), j, "a surface is touched", sequence=beside)


def _reaching(plan: Polished) -> Iterator[Biactive]:
    """Stretches on which a hybrid system presses against a guard: its next mode may follow."""
    program, w, f = plan.program, plan.point.w, plan.program.formulas
    lam = program.of["lam"]
    t = stage_times(program, w).ravel()
    places = 2 * np.repeat(np.arange(lam.shape[0]), t.size // lam.shape[0])
    mode = np.repeat(plan.layout.signs[..., 0].ravel(), lam.shape[2])
    near = SHORT * float(ends(program, w)[-1]) / program.grid.intervals
    changes = np.array([w[program.of["t_0"]], *(c.t for c in plan.sequence.changes)])
    away = np.abs(t[:, None] - changes).min(axis=1) > near
    for g, (before, after) in enumerate(f.edges):
        reached = away & (mode == before) & (np.abs(w[lam[..., g].ravel()]) < TOUCH)
        for first, last in runs(reached, mode):
            for begin, end in itertools.product(
                sides(plan, t, places, first, -1), [*sides(plan, t, places, last, 1), (np.inf, 0)]
            ):  # infinite: there may be no way back
                beside = plan.sequence.replaced(begin, end, 0, after, near)
                yield Biactive(float(t[first]), g, "a guard is touched", sequence=beside)


def neighbours(plan: Polished, places: list[Biactive]) -> Iterator[Sequence]:
    """Yield the sequences beside a solution: all changes moved at once, then fewer of them."""
    grid = plan.program.grid
    moves: dict[int, list[int]] = {}
    for place in places:
        if place.change is not None:
            moves.setdefault(place.change, []).append(place.place)
    beside = [place.sequence for place in places if place.sequence is not None]
    seen = {plan.sequence.key}
    for sequence in itertools.chain(_moved(plan.sequence, moves), beside):
        fits = sequence.fits(grid.intervals, grid.elements)
        if fits and plan.program.formulas.modes:
            fits = possible(plan.program.formulas, sequence)
        if fits and sequence.key not in seen:
            seen.add(sequence.key)
            yield sequence


def shifted(plan: Polished) -> Iterator[Sequence]:
    """Yield sequences with a change near a boundary of intervals on the other side of it.

    The plan is stationary without them; a better optimum may be close by.
    """
    boundaries, sequence = ends(plan.program, plan.point.w), plan.sequence
    grid = plan.program.grid
    for i, change in enumerate(sequence.changes):
        k, between = divmod(change.place, 2)
        steps = [-2, 2, -1, 1]  # the jump of a control at another boundary comes first
        if not between:
            part = (change.t - boundaries[k]) / max(boundaries[k + 1] - boundaries[k], 1e-300)
            steps = [-2] * bool(part < NEAR) + [2] * bool(part > 1 - NEAR)
        for step in steps:
            other = sequence.displaced(i, change.place + step)
            if other.fits(grid.intervals, grid.elements):
                yield other


def _moved(sequence: Sequence, moves: dict[int, list[int]]) -> Iterator[Sequence]:
    """Yield the sequence with changes at other places, the most of them first."""
    numbers = list(moves)
    sizes = range(len(numbers), 0, -1)
    if len(numbers) > MOST:
        sizes = [len(numbers), 1]  # type: ignore[assignment]
    for size in sizes:
        for some in itertools.combinations(numbers, size):
            for targets in itertools.product(*(moves[i] for i in some)):
                other = sequence
                for i, place in zip(some, targets, strict=True):
                    other = other.with_place(i, place)
                yield other


def elsewhere(sequence: Sequence, grid: Grid) -> list[Sequence]:
    """Return other places of the changes, where the sequence as it is has no solution."""
    out = []
    for step in (2, -2):
        for i, change in enumerate(sequence.changes):
            other = sequence.with_place(i, change.place + step)
            if other.fits(grid.intervals, grid.elements):
                out.append(other)
    return out[:12]
