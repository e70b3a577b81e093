"""Other ranges of the end constraints, without a new program: they are bounds of its rows."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping

import numpy as np

from explorer.control.problem import OptimalControlProblem
from explorer.control.ranges import pair
from explorer.errors import BadValue, suggest
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.solver import Solver

__all__ = ["aimed"]


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
    other = copy.copy(pipeline)
    other.smooth = _within(pipeline.smooth, ranges)
    same = pipeline.first is pipeline.smooth
    other.first = other.smooth if same else _within(pipeline.first, ranges)
    return new, other


def _within(solver: Solver, ranges: np.ndarray) -> Solver:
    """Return a solver with other ranges of the end constraints."""
    program = solver.program
    low, high = program.row_low.copy(), program.row_high.copy()
    low[program.rows["end"]], high[program.rows["end"]] = ranges.T
    return solver.with_bounds_of(dataclasses.replace(program, row_low=low, row_high=high))
