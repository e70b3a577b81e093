"""The errors and warnings. A message says what is wrong, why, and what to do.

Every intended error is an `ExplorerError`; any other exception is a defect.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

__all__ = [
    "BadArgument", "BadAttribute", "BadModel", "BadValue", "CacheWarning", "ExplorerError",
    "LessonWarning", "ModelWarning", "NoSuchName", "NotApplicable", "SchemeWarning", "StepFailed",
    "WrongAnswer", "lacking", "suggest",
]  # fmt: skip


class ExplorerError(Exception):
    """Base of all errors of the package; ``str(error)`` is a complete sentence."""


class BadModel(ExplorerError, ValueError):
    """The equations of a model are inconsistent (unknown symbol, wrong shape, singular mass)."""


class BadValue(ExplorerError, ValueError):
    """A number, name or option given by the user cannot be used."""


class BadArgument(BadValue, TypeError):
    """A function or class has no argument of that name, or needs another type there."""


class BadAttribute(BadModel, AttributeError):
    """A system has no attribute of that name; setting it would have no effect."""


class NoSuchName(BadValue, AttributeError):
    """A module or a result has no attribute of that name.

    The message is formed when it is read, because `hasattr` raises often and reads none.

    Parameters
    ----------
    where : str
        The module or result, such as "explorer.views".
    wanted : str
    known : callable
        Returns the available names. Names with a leading underscore are not suggested.
    hint : str, or callable that returns it
        Replaces the suggestion of the nearest name.
    """

    def __init__(
        self,
        where: str,
        wanted: str,
        known: Callable[[], Iterable[str]],
        hint: str | Callable[[], str] = "",
    ) -> None:
        super().__init__(where, wanted)
        self._where, self._wanted, self._known, self._hint = where, wanted, known, hint

    def __str__(self) -> str:
        near = self._hint() if callable(self._hint) else self._hint
        if not near:
            near = suggest(self._wanted, sorted(k for k in self._known() if k[:1] != "_"))
        return f"{self._where} has no {self._wanted!r}.{near}"

    def __reduce__(self) -> tuple[type, tuple[str]]:
        return BadValue, (str(self),)


def lacking(holder: object, name: str) -> object:
    """Say in a sentence that an object has no such attribute: its class's ``__getattr__``.

    What a property of the class raised is raised again. Names with a leading underscore are asked
    for by Python itself, as by `copy`, and get its own error.

    Raises
    ------
    NoSuchName, AttributeError
    """
    kind = type(holder)
    if name.startswith("_") or hasattr(kind, name):
        own: object = object.__getattribute__(holder, name)
        return own
    article = "An" if kind.__name__[0] in "AEIO" else "A"
    raise NoSuchName(f"{article} {kind.__name__}", name, lambda: dir(holder))


class NotApplicable(ExplorerError, TypeError):
    """A scheme does not accept the system."""


class StepFailed(ExplorerError, ArithmeticError):
    """A simulation stopped early; ``error.solution`` holds the part that was computed.

    Parameters
    ----------
    message : str
        The message.
    solution : Solution
        The partial solution with its status.
    """

    def __init__(self, message: str, solution: object) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> tuple[type, tuple[str, object]]:
        return type(self), (str(self), self.solution)


class WrongAnswer(ExplorerError):
    """An answer to an exercise is wrong or missing; the message is a hint."""

    def _render_traceback_(self) -> list[str]:
        """Have notebooks show the message alone: where it was raised helps nobody."""
        return [str(self)]


class CacheWarning(UserWarning):
    """The cache directory cannot be used. Results are right; the next start is slower."""


class LessonWarning(UserWarning):
    """The scheme is a lesson; the message says what goes wrong with it."""


class ModelWarning(UserWarning):
    """The system is accepted, but it may not be what was meant."""


class SchemeWarning(UserWarning):
    """The options of a scheme are accepted, but they lose its order or its stability."""


def suggest(name: object, known: Iterable[str]) -> str:
    """Return " Did you mean 'x'?" for the nearest known name, else the list of known names.

    >>> suggest("retitution", ["restitution", "gravity"])
    " Did you mean 'restitution'?"
    """
    known = list(known)
    lowered = {k.lower(): k for k in known}
    near = difflib.get_close_matches(str(name).lower(), list(lowered), n=1, cutoff=0.6)
    if near:
        return f" Did you mean '{lowered[near[0]]}'?"
    listed = ", ".join(known) if len(known) <= 24 else ", ".join(known[:24]) + ", ..."
    return f" Available: {listed}." if known else " None is declared."
