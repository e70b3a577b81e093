"""Other ranges of end constraints and unknowns, without a new program: bounds of it."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping

import numpy as np

from explorer.control.problem import OptimalControlProblem
from explorer.control.ranges import pair
from explorer.errors import BadValue, suggest
from explorer.parameters import number
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.program import Program

__all__ = ["aimed", "held"]


def aimed(
    task: OptimalControlProblem, pipeline: Pipeline, end: Mapping[str, object]
) -> tuple[OptimalControlProblem, Pipeline]:
    """Return the problem with other values at the end, and what solves it.

    Parameters
    ----------
    end : mapping of str to float or (low, high)
        By the formulas of ``task.end``; the others keep their ranges.

    Raises
    ------
    BadValue
        If the end constraints of the problem are no mapping, or it has none of that formula.
    """
    old = task.end
    if not isinstance(old, Mapping):
        raise BadValue(
            "This problem has no end constraints by formula, so none can be moved. Write them as a "
            'mapping: OptimalControlProblem(..., end={"x": 1}).'
        )
    known = [str(formula) for formula in old]
    for formula, value in end.items():
        if formula not in known:
            raise BadValue(f"There is no end constraint of {formula!r}.{suggest(formula, known)}")
        pair(value, f"The end constraint: {formula}")
    moved = {formula: end.get(str(formula), value) for formula, value in old.items()}
    new = dataclasses.replace(task, end=moved)
    ranges = np.array([[low, high] for _, low, high, _ in new.end_rules], float).reshape(-1, 2)

    def other_ends(program: Program) -> Program:
        low, high = program.row_low.copy(), program.row_high.copy()
        low[program.rows["end"]], high[program.rows["end"]] = ranges.T
        return dataclasses.replace(program, row_low=low, row_high=high)

    return new, _changed(new, pipeline, other_ends)


def held(
    task: OptimalControlProblem, pipeline: Pipeline, values: Mapping[str, float]
) -> tuple[OptimalControlProblem, Pipeline]:
    """Return the problem in which unknown parameters have given values, and what solves it.

    Raises
    ------
    BadValue
        If a value is no number.
    """
    fixed = {name: number(value, name) for name, value in values.items()}
    new = dataclasses.replace(task, unknowns={**task.ranges, **fixed})
    ranges = np.array([*new.ranges.values()], float).reshape(-1, 2)

    def other_ranges(program: Program) -> Program:
        low, high = program.low.copy(), program.high.copy()
        low[program.of["unknown"]], high[program.of["unknown"]] = ranges.T
        return dataclasses.replace(program, low=low, high=high)

    return new, _changed(new, pipeline, other_ranges)


def _changed(
    task: OptimalControlProblem, pipeline: Pipeline, change: Callable[[Program], Program]
) -> Pipeline:
    """Return a pipeline whose programs have other bounds; it shares all functions."""
    other = copy.copy(pipeline)
    if isinstance(pipeline.loosen, functools.partial):
        build, (_, *others), more = (
            pipeline.loosen.func,
            pipeline.loosen.args,
            pipeline.loosen.keywords,
        )
        other.loosen = functools.partial(build, task, *others, **more)
    other.smooth = pipeline.smooth.with_bounds_of(change(pipeline.smooth.program))
    other.first = other.smooth
    if pipeline.first is not pipeline.smooth:
        other.first = pipeline.first.with_bounds_of(change(pipeline.first.program))
    return other
