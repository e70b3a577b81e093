"""The certificate of a run: checks of its accepted steps, each with a value and a bound.

The method `certify` of a scheme returns its checks. A check that does not hold becomes a caution
with a message. If it makes the run useless, it becomes the reason for a failed status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from explorer.quantities import quantity

if TYPE_CHECKING:
    from explorer.status import Status

__all__ = ["Certificate", "Certified", "Check"]


@dataclass(frozen=True)
class Check:
    """One figure of a run and its bound.

    Attributes
    ----------
    name : str
        What is checked, such as "penetration" or "energy".
    value, allowed : float
        The measured value and its bound, in `unit`.
    unit : str
        Empty for a pure number.
    words : str
        The message that is shown if the check does not hold.
    fatal : bool
        Whether the run is useless if the check does not hold.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.Check("penetration", 0.01, 0.05, "m").ok
    True
    """

    name: str
    value: float
    allowed: float
    unit: str = ""
    words: str = ""
    fatal: bool = False

    @property
    def ok(self) -> bool:
        """Whether the value is within its bound; False for NaN."""
        return bool(self.value <= self.allowed)

    @property
    def figures(self) -> str:
        """The measured value and its bound, in one line."""
        value, allowed = (quantity(x, self.unit, 3) for x in (self.value, self.allowed))
        return f"{self.name} {value} (allowed {allowed})"

    def __str__(self) -> str:
        return self.figures if self.ok else f"{self.figures}: {self.words}"


@dataclass(frozen=True)
class Certificate:
    """All checks of one run.

    Attributes
    ----------
    checks : tuple of Check

    Examples
    --------
    >>> import explorer as ex
    >>> deep = ex.Check("penetration", 0.3, 0.05, "m", words="A contact is 0.3 m deep.")
    >>> ex.Certificate((deep,))
    Certificate(1 of 1 checks fails)
      ! penetration 0.3 m (allowed 0.05 m): A contact is 0.3 m deep.
    """

    checks: tuple[Check, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every check holds."""
        return all(check.ok for check in self.checks)

    @property
    def broken(self) -> tuple[Check, ...]:
        """The checks that do not hold."""
        return tuple(check for check in self.checks if not check.ok)

    @property
    def cautions(self) -> tuple[str, ...]:
        """The sentences of the checks that do not hold."""
        return tuple(check.words or check.figures for check in self.broken)

    @property
    def fatal(self) -> str:
        """Why the run is useless; empty if it is not."""
        return next((check.words for check in self.broken if check.fatal), "")

    @property
    def summary(self) -> str:
        """One line."""
        count, broken = len(self.checks), len(self.broken)
        if not count:
            return "nothing to check"
        if not broken:
            return f"{count} check{'s' * (count != 1)} hold{'s' * (count == 1)}"
        return f"{broken} of {count} checks fail{'s' * (broken == 1)}"

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __len__(self) -> int:
        return len(self.checks)

    def __getitem__(self, name: str) -> Check:
        """Return the check of that name.

        Raises
        ------
        KeyError
        """
        for check in self.checks:
            if check.name == name:
                return check
        known = ", ".join(check.name for check in self.checks)
        raise KeyError(f"There is no check {name!r}. Available: {known or 'none'}.")

    def __repr__(self) -> str:
        lines = [f"  {' ' if check.ok else '!'} {check}" for check in self.checks]
        return "\n".join([f"Certificate({self.summary})", *lines])


class _Checking(Protocol):
    """A scheme that checks its own runs."""

    certify: Callable[..., Iterable[Check]]


class _Checked(Protocol):
    """A record of a run whose checks were computed during the run."""

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks of all steps."""


class Certified:
    """Base of results with a certificate."""

    recorded: _Checked | None
    observe: Callable[..., object] | None
    scheme: _Checking
    status: Status
    warned: tuple[str, ...] = ()  # what was warned of before and while it ran

    @cached_property
    def certificate(self) -> Certificate:
        """The checks of the run, each with its value and bound; computed at the first access.

        Empty for a result built from arrays, which has no equations to evaluate.
        """
        if (recorded := getattr(self, "recorded", None)) is not None:
            return Certificate(recorded.checks)
        return Certificate(() if self.observe is None else tuple(self.scheme.certify(self)))

    @property
    def cautions(self) -> tuple[str, ...]:
        """Messages that limit the use of the result: warnings, and checks that do not hold."""
        return tuple(dict.fromkeys((*self.warned, *self.certificate.cautions)))

    @property
    def outcome(self) -> str:
        """Name of the status, with the cautions if there are any."""
        said = self.cautions if self.status.ok else ()
        many = f", {len(said)} caution{'s' * (len(said) != 1)}: " if said else ""
        return self.status.name + many + " ".join(said)
