"""The free parameters of a search: bounds, scales, start; and a run at any of their values.

A name is a parameter, or a state, which means its start value. Everything a search compares runs by
is here too: their event sequences. Across a change of sequence there is no derivative, so a search
has to say where it went through one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from explorer.derivatives.question import Question
from explorer.derivatives.sequence import sequence
from explorer.errors import BadValue, suggest
from explorer.parameters import InputParam, number
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.types import Numbers, Reals

__all__ = ["Change", "Met", "Ranges", "Search", "met"]

Met: TypeAlias = tuple[tuple[str, str], ...]  # kind and name of the events, in order
Range: TypeAlias = "tuple[float | None, float | None]"  # None: open to that side
Ranges: TypeAlias = Mapping[str, Range] | Sequence[Range]


@dataclass(frozen=True)
class Change:
    """A change of the event sequence between two accepted iterates.

    Attributes
    ----------
    iteration : int
    before, after : tuple of (kind, name)
    """

    iteration: int
    before: Met
    after: Met

    def __str__(self) -> str:
        how = f"{len(self.before)} -> {len(self.after)} events"
        if len(self.before) == len(self.after):
            pairs = zip(self.before, self.after, strict=True)
            k, (old, new) = next(((k, p) for k, p in enumerate(pairs, 1) if p[0] != p[1]))
            how = f"event {k}: {old[0]} of {old[1]!r} -> {new[0]} of {new[1]!r}"
        return f"at iteration {self.iteration} the event sequence changed ({how})"


def met(solution: Solution, until: tuple[str, int] | None = None) -> Met:
    """Return the event sequence up to the final event.

    The impacts of an accumulation count as one: how many of the infinitely many are marched says
    nothing.
    """
    events = sequence(solution)
    if until is not None:
        name, count = until
        mine = [i for i, (_, contact) in enumerate(events) if contact == name]
        events = events[: mine[count - 1] + 1]
    found: list[tuple[str, str]] = []
    for kind, name in events:
        if kind == "zeno":
            while found and found[-1] == ("impact", name):
                found.pop()
        found.append((kind, name))
    return tuple(found)


@dataclass(frozen=True)
class Search:
    """Free parameters of a question.

    Attributes
    ----------
    question : Question
    low, high, start : (p,) float
    scale : (p,) float
        Size of a change that matters: the optimizer works in values / scale.
    """

    question: Question
    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(
        cls, question: Question, bounds: Ranges | None, start: Numbers | Reals | float | None
    ) -> Search:
        """Check bounds and start.

        Parameters
        ----------
        bounds : dict by name, or sequence of (low, high), or None
            None for a side that is open. By default the ranges of the parameters.
        start : dict by name, or sequence, or None
            By default the values that the question has.
        """
        names, system = question.wrt, question.system
        given = _by_name(bounds, names, "bounds")
        begin = _by_name(start, names, "start")
        p = len(names)
        low, high, values = np.full(p, -np.inf), np.full(p, np.inf), np.empty(p)
        for k, (name, place) in enumerate(zip(names, question.places, strict=True)):
            if name in given:
                low[k], high[k] = _pair(given[name], name)
            elif place >= 0:
                low[k], high[k] = _range(system, name)
            values[k] = question.value(k)
            if name in begin:
                values[k] = number(begin[name], f"start of {name}")
            if not low[k] <= values[k] <= high[k]:
                raise BadValue(
                    f"{name} starts at {values[k]:g}, outside its bounds [{low[k]:g}, "
                    f"{high[k]:g}]. Give a start inside, or bounds={{{name!r}: (low, high)}}."
                )
        width = high - low
        scale = np.where(np.isfinite(width), width, np.maximum(1.0, np.abs(values)))
        return cls(question, low, high, values, scale)

    def named(self, values: np.ndarray) -> dict[str, float]:
        """Return the values by name."""
        return dict(zip(self.question.wrt, np.asarray(values, float).tolist(), strict=True))

    def run(self, values: np.ndarray) -> tuple[Question, Solution]:
        """Return the question at these values and its run, with sensitivities.

        Raises
        ------
        StepFailed, BadModel, BadValue
            There is no such run, or a terminal guard ends it before the final time.
        """
        asked = self.question
        changes = {j: x for j, x in enumerate(values.tolist()) if asked.places[j] >= 0}
        question = asked.at(changes)
        if -1 in asked.places:  # the others keep what they have
            n_x, states = asked.cost.flow.n_x, [s.name for s in asked.cost.flow.states]
            given = np.full(n_x, np.nan) if asked.given is None else asked.given.copy()
            for name, place, value in zip(asked.wrt, asked.places, values, strict=True):
                if place < 0:
                    given[states.index(name)] = value
            question = dataclasses.replace(question, given=given)
        run = question.run()
        if asked.until is None and run.march.t_last < asked.t_end:
            last, unit = run.located[-1], run.system.time_unit
            raise BadValue(
                f"The run ends early, with {last.contact!r} at t = {quantity(last.t, unit)}: a "
                f"fixed final time of {quantity(asked.t_end, unit)} has no derivative there. Give "
                f"until={last.contact!r}."
            )
        return question, run


def _range(system: System, name: str) -> tuple[float, float]:
    """Return the range of a parameter, or the bounds of an input of which this is a value."""
    param = system.parameters[name.partition("[")[0]]
    return param.bounds if isinstance(param, InputParam) else (param.low, param.high)


def _by_name(given: object, names: tuple[str, ...], what: str) -> dict[str, object]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        for name in given:
            if name not in names:
                raise BadValue(
                    f"{what}: {name!r} is not among the parameters to "
                    f"optimise.{suggest(name, names)}"
                )
        return dict(given)
    items = list(given) if isinstance(given, (Sequence, np.ndarray)) else [given]
    if len(items) != len(names):
        raise BadValue(
            f"{what} needs {len(names)} entries ({', '.join(names)}), but {len(items)} are given."
        )
    return dict(zip(names, items, strict=True))


def _pair(given: object, name: str) -> tuple[float, float]:
    pair = tuple(given) if isinstance(given, Iterable) else ()
    if len(pair) != 2:
        raise BadValue(f"The bounds of {name} must be (low, high), not {given!r}.")
    # an infinite side is as good as None
    sides = [
        None
        if side is None or (isinstance(side, float) and np.isinf(side))
        else number(side, f"a bound of {name}")
        for side in pair
    ]
    below = -np.inf if sides[0] is None else sides[0]
    above = np.inf if sides[1] is None else sides[1]
    if not below < above:
        raise BadValue(f"The bounds of {name}, [{below:g}, {above:g}], are empty.")
    return below, above
