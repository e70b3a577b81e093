"""The course: chapters of twelve weeks, exercises that check themselves, and their sources.

The chapters are the notebooks in ``notebooks/course``; each has a file in `weeks` with its
exercises. In a notebook::

    ex.course.check("4.1", answer_1)

shows a tick, or says what to think about. `ex.course` itself is shown as the table of chapters.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import NoReturn

from explorer.course.exercises import Chapter, Exercise, chapters, exercise
from explorer.errors import BadValue, NoSuchName, WrongAnswer
from explorer.references import Entry
from explorer.results.display import html

__all__ = ["Sources", "Verdict", "chapters", "check", "exercise", "references"]


@dataclass(frozen=True)
class Verdict:
    """What is said of a right answer.

    Attributes
    ----------
    exercise : Exercise
    right : bool
    """

    exercise: Exercise
    right: bool = True

    def __str__(self) -> str:
        points = f"{self.exercise.points} point{'s' * (self.exercise.points != 1)}"
        return f"✓ {self.exercise.name} {self.exercise.title}: right ({points})."

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = escape(str(self).removeprefix("✓ "))
        return f'<p><b><span style="color:#2a9d4a">✓</span> {said}</b></p>'


def check(name: str, answer: object) -> Verdict:
    """Check an answer to an exercise.

    Parameters
    ----------
    name : str
        Of the exercise, such as "4.1": chapter and number.
    answer : object
        A number, an array, a function, a formula or a model: what the exercise asks for.

    Returns
    -------
    Verdict
        A notebook shows it as a tick.

    Raises
    ------
    WrongAnswer
        If the answer is wrong or missing. The message is a hint, never the answer; a notebook
        shows it without a traceback, and graders count no points.
    BadValue
        If there is no such exercise.

    Examples
    --------
    >>> import explorer as ex
    >>> try:
    ...     ex.course.check("1.1", "two")
    ... except ex.WrongAnswer as hint:
    ...     print(hint)
    ✗ 1.1: Your answer is a text ('two'). Give one number in m/s. Write it without quotation marks.
    """
    asked = exercise(name)
    why = asked.judged(answer)
    if why:
        raise WrongAnswer(f"✗ {asked.name}: {why}")
    return Verdict(asked)


class Sources:
    """The sources of a chapter, as text or as a list with links."""

    def __init__(self, entries: list[tuple[Entry, str]]) -> None:
        self.entries = entries

    def __str__(self) -> str:
        return "\n".join(f"{e.text}{f': {note}' if note else ''}" for e, note in self.entries)

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        return "\n".join(
            f"- {e.markdown}{f': *{note}*' if note else ''}" for e, note in self.entries
        )


def references(number: int) -> Sources:
    """Return the sources of a chapter, with what to read there.

    Parameters
    ----------
    number : int
        The week.

    Raises
    ------
    BadValue
        If there is no such chapter.
    """
    return Sources(_chapter(number).sources)


def _chapter(number: int) -> Chapter:
    for chapter in chapters.values():
        if chapter.number == number:
            return chapter
    weeks = ", ".join(str(c.number) for c in chapters.values())
    raise BadValue(f"There is no chapter {number!r}. Available: {weeks}.")


def __getattr__(name: str) -> NoReturn:
    raise NoSuchName("explorer.course", name, lambda: __all__)


def _repr_html_() -> str:
    """Show the table in a notebook."""
    rows = [
        (str(c.number), c.title, f"{c.minutes} min", ", ".join(c.exercises))
        for c in sorted(chapters.values(), key=lambda c: c.number)
    ]
    return html(("week", "chapter", "study", "exercises"), rows, f"{len(rows)} chapters")
