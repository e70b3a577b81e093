"""Chapters and their exercises: one file a chapter in `weeks/`, found by a registry.

A chapter is declared once, and each exercise is a function that computes the right answer. What its
mistakes share with it stands in functions or constants above it::

    chapter = Chapter(4, "impact_laws", "Impact laws", minutes=80, references={"moreau-1988": ""})


    @chapter.exercise(
        1,
        "The third rebound",
        answer=Number("m/s"),
        mistakes=(Mistake("sign", "The ball goes up: its velocity is positive.", lambda: -V),),
    )
    def third_rebound() -> float:
        "Return the velocity right after the third impact."
        return V
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from explorer.course.answers import Answer, Misread
from explorer.errors import BadValue, suggest
from explorer.references import Entry, entry
from explorer.registry import Registry

__all__ = ["Chapter", "Exercise", "Mistake", "chapters", "exercise"]

F = TypeVar("F", bound=Callable[[], object])

chapters: Registry[Chapter] = Registry("chapter", "explorer.course.weeks")

# of units that are taken for each other, both ways
_FACTORS = [k**n for k in (1e2, 1e3, 1e6, 180 / math.pi, 2 * math.pi, 60.0, 9.81) for n in (1, -1)]
_NEAR = 0.05


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer.

    Attributes
    ----------
    name : str
        What was mistaken: "sign", "unit", "left for right limit", "off by one event", ...
    hint : str
        What to think about, without the answer.
    value : callable
        Computes the wrong answer, in the form of a right one.
    """

    name: str
    hint: str
    value: Callable[[], object]


@dataclass(frozen=True)
class Exercise:
    """A question with one right answer.

    Attributes
    ----------
    name : str
        Chapter and number, "4.1".
    title : str
    answer : Answer
        What is asked for.
    solution : callable
        Computes the right answer from a closed form or a run.
    mistakes : tuple of Mistake
    points : int
    look : str
        Where to look if an answer is none of the mistakes; a sentence.
    """

    name: str
    title: str
    answer: Answer
    solution: Callable[[], object]
    mistakes: tuple[Mistake, ...]
    points: int = 2
    look: str = ""

    @functools.cached_property
    def right(self) -> np.ndarray:
        """The right answer as numbers."""
        return self.answer.read(self.solution())

    def judged(self, given: object) -> str:
        """Return "" if an answer is right, or why it is not: a hint, never the answer."""
        if given is None or given is ...:
            return "There is no answer yet. Replace the dots in the cell above, and run it."
        try:
            values = self.answer.read(given)
        except Misread as error:
            return str(error)
        right, agrees = self.right, self.answer.agrees
        if values.shape == right.shape and agrees(values, right):
            return ""
        for mistake in self.mistakes:
            wrong = self.answer.read(mistake.value())
            if values.shape == wrong.shape and agrees(values, wrong):
                return mistake.hint
        if values.shape != right.shape:
            return f"Your answer gives {values.size} numbers, and {right.size} are asked for."
        if agrees(-values, right):
            return "Check the sign: in which direction do you count?"
        if any(agrees(values * factor, right) for factor in _FACTORS):
            unit = self.answer.unit or "a pure number"
            return f"Check the unit: the answer is asked for in {unit}."
        scale = float(abs(right).max())
        if float(abs(values - right).max()) <= _NEAR * scale:
            return (
                f"You are near, but not within {self.answer.rtol:.0e} of the answer. Compute with "
                "more digits or a smaller step, and look for a small term that is missing."
            )
        return " ".join(["That is not it, and none of the usual mistakes.", self.look]).strip()


@dataclass(frozen=True)
class Chapter:
    """A chapter of the course.

    Attributes
    ----------
    number : int
        Its week.
    name : str
        Of the file of its exercises; its notebook is "04_name.ipynb".
    title : str
    minutes : int
        Of study.
    needs : tuple of int
        Chapters that come before it.
    references : mapping of str to str
        Keys of ``references.bib``, and what to read there.
    exercises : dict of str to Exercise
        By their names, "4.1".
    """

    number: int
    name: str
    title: str
    minutes: int
    needs: tuple[int, ...] = ()
    references: Mapping[str, str] = field(default_factory=dict)
    exercises: dict[str, Exercise] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chapters.register(self.stem)(self)

    @property
    def stem(self) -> str:
        """Name of its notebook, without the ending."""
        return f"{self.number:02d}_{self.name}"

    @property
    def head(self) -> str:
        """What its notebook says below its title."""
        needs = ", ".join(f"week {number}" for number in self.needs) or "nothing before it"
        return f"**Week {self.number}** · {self.minutes} minutes · needs {needs}"

    @property
    def sources(self) -> list[tuple[Entry, str]]:
        """Its sources, and what to read there."""
        return [(entry(key), note) for key, note in self.references.items()]

    def exercise(
        self,
        number: int,
        title: str,
        *,
        answer: Answer,
        mistakes: tuple[Mistake, ...],
        points: int = 2,
        look: str = "",
    ) -> Callable[[F], F]:
        """Register the function that computes the right answer; see `Exercise`."""

        def add(solution: F) -> F:
            name = f"{self.number}.{number}"
            if name in self.exercises:
                raise BadValue(f"There are two exercises {name}.")
            self.exercises[name] = Exercise(name, title, answer, solution, mistakes, points, look)
            return solution

        return add


def exercise(name: str) -> Exercise:
    """Return an exercise by its name, "4.1".

    Raises
    ------
    BadValue
        There is none of this name.
    """
    known = {n: e for chapter in chapters.values() for n, e in chapter.exercises.items()}
    found = known.get(name if isinstance(name, str) else str(name))
    if found is None:
        by_week = sorted(known, key=lambda n: [int(part) for part in n.split(".")])
        raise BadValue(f"There is no exercise {name!r}.{suggest(name, by_week)}")
    return found
