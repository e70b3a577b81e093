"""Biactive places of a plan with contacts."""

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
from explorer.transcription.contact_sets import OPEN, STICK, is_closed, leaves
from explorer.transcription.layout import ends, stage_times
from explorer.transcription.polish import Polished

__all__ = ["contact_places"]

WEAK = 1e-6  # of the largest force: none


def contact_places(plan: Polished) -> Iterator[Biactive]:
    """Yield the biactive places of a plan with contacts."""
    yield from _on_boundaries(plan)
    yield from empty(plan)
    yield from _touching(plan)


def _weak(plan: Polished) -> float:
    force = plan.point.w[plan.program.of["force"]]
    return WEAK * max(float(np.abs(force).max(initial=0.0)), 1e-12)


def _on_boundaries(plan: Polished) -> Iterator[Biactive]:
    """Changes that have come to a boundary of control intervals, or may leave one."""
    program, w, sequence = plan.program, plan.point.w, plan.sequence
    boundaries = ends(program, w)
    N = len(boundaries) - 1
    near, weak = SHORT * (boundaries[-1] / N), _weak(plan)
    for i, change in enumerate(sequence.changes):
        k, between = divmod(change.place, 2)
        before = sequence.before(i)
        j = function_of(plan, before, change.after)
        what = "a change on the boundary of a control interval"
        free = leaves(before, change.after)
        if between and not free:  # the control before it or the one behind it may act longer
            what = "an impact on the boundary of a control interval"
            for place in (2 * k, 2 * k + 2):
                yield Biactive(change.t, j, what, sequence=sequence.with_place(i, place))
            continue
        if between:
            if w[program.of["force"][k, -1, -1, j]] < weak:
                yield Biactive(change.t, j, what, i, 2 * k)
            lift = plan.point.rows[program.rows["lift"][k + 1, 0, j]]
            if change.after[j] == OPEN and abs(lift) < weak:
                yield Biactive(change.t, j, what, i, 2 * k + 2)
            continue
        if change.t > boundaries[k + 1] - near and k + 1 < N:
            yield Biactive(change.t, j, what, i, 2 * k + 2)
            if free:
                yield Biactive(change.t, j, what, i, 2 * k + 1)
        if change.t < boundaries[k] + near and k > 0:
            yield Biactive(change.t, j, what, i, 2 * k - 2)
            if free:
                yield Biactive(change.t, j, what, i, 2 * k - 1)


def _touching(plan: Polished) -> Iterator[Biactive]:
    """Open stretches at the contact, and closed ones without force: the other may follow there."""
    program, w = plan.program, plan.point.w
    t = stage_times(program, w).ravel()
    s = program.grid.stages
    places = 2 * np.repeat(np.arange(program.grid.intervals), t.size // program.grid.intervals)
    near = SHORT * float(ends(program, w)[-1]) / program.grid.intervals
    changes = np.array([w[program.of["t_0"]], *(c.t for c in plan.sequence.changes)])
    away = np.abs(t[:, None] - changes).min(axis=1) > near
    for j in range(program.formulas.n_c):
        label = np.repeat(plan.layout.signs[..., j].ravel(), s)
        closed = is_closed(label)
        gap = plan.point.rows[program.rows["gap"][..., j].ravel()]
        force = w[program.of["force"][..., j].ravel()]
        touched = away & np.where(closed, force < _weak(plan), gap < TOUCH)
        for first, last in runs(touched, label):
            for begin, end in itertools.product(
                sides(plan, t, places, first, -1), sides(plan, t, places, last, 1)
            ):
                other = OPEN if closed[first] else STICK
                beside = plan.sequence.replaced(begin, end, j, other, near)
                what = "a contact without force" if closed[first] else "a contact is touched"
                yield Biactive(float(t[first]), j, what, sequence=beside)
