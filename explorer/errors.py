"""Refusals are sentences: what was asked, why it cannot be, what would work.

Every error that the package raises on purpose is an `ExplorerError`; anything else is a defect.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

__all__ = [
    "BadArgument", "BadAttribute", "BadModel", "BadValue", "CacheWarning", "ExplorerError",
    "LessonWarning", "ModelWarning", "NoSuchName", "NotApplicable", "SchemeWarning", "StepFailed",
    "suggest",
]  # fmt: skip


class ExplorerError(Exception):
    """Base of all errors of the package; ``str(error)`` is a sentence fit to be projected."""


class BadModel(ExplorerError, ValueError):
    """The equations of a model do not make sense (unknown symbol, wrong shape, singular mass)."""


class BadValue(ExplorerError, ValueError):
    """A number, name or option given by the user cannot be used."""


class BadArgument(BadValue, TypeError):
    """A function or class has no argument of that name, or takes another kind of thing there."""


class BadAttribute(BadModel, AttributeError):
    """A system has no attribute of that name, so that setting it would change nothing."""


class NoSuchName(BadValue, AttributeError):
    """A module or a result has nothing of that name.

    The sentence is made when it is read: `hasattr` asks often, and reads none.

    Parameters
    ----------
    where : str
        What was asked, such as "explorer.views".
    wanted : str
    known : callable
        Returns the names that there are; those with an underscore in front are not offered.
    hint : str
        Takes the place of the nearest name.
    """

    def __init__(
        self, where: str, wanted: str, known: Callable[[], Iterable[str]], hint: str = ""
    ) -> None:
        super().__init__(where, wanted)
        self._where, self._wanted, self._known, self._hint = where, wanted, known, hint

    def __str__(self) -> str:
        public = sorted(k for k in self._known() if not k.startswith("_"))
        near = self._hint or suggest(self._wanted, public)
        return f"{self._where} has no {self._wanted!r}.{near}"

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return BadValue, (str(self),)


class NotApplicable(ExplorerError, TypeError):
    """A scheme was asked to integrate a system that it does not take."""


class StepFailed(ExplorerError, ArithmeticError):
    """A simulation stopped early; ``error.solution`` holds what was computed until then.

    Parameters
    ----------
    message : str
        The sentence.
    solution : Solution
        The partial solution with its status.
    """

    def __init__(self, message: str, solution: object) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> tuple[type, tuple[str, object]]:
        return type(self), (str(self), self.solution)


class CacheWarning(UserWarning):
    """The cache directory cannot be used; results are right, the next start will be slower."""


class LessonWarning(UserWarning):
    """A scheme was run that is here to show what goes wrong; the sentence says what does."""


class ModelWarning(UserWarning):
    """A system is taken as it is, though it may not be what was meant."""


class SchemeWarning(UserWarning):
    """The numbers of a scheme are taken as they are, though they lose what it is known for."""


def suggest(name: object, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, else the list of what exists.

    >>> suggest("retitution", ["restitution", "gravity"])
    " Did you mean 'restitution'?"
    """
    known = list(known)
    lowered = {k.lower(): k for k in known}
    near = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f" Did you mean '{lowered[near[0]]}'?"
    listed = ", ".join(known) if len(known) <= 24 else ", ".join(known[:24]) + ", ..."
    return f" Available: {listed}." if known else " There is none."
