"""What the parts of a solution share: a part reads the rows of one run, and is there or is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from explorer.results.quantity import Quantity
from explorer.results.run import Run

__all__ = ["Part"]

_INNER = {"name", "flat", "absence", "answers", "told", "quantities", "forces", "friction"}


class Part:
    """One part of a run, such as its contacts.

    Attributes
    ----------
    name : str
        The attribute of `Solution` that returns it.
    flat : tuple of str
        Its quantities that the solution has under the same name.
    """

    name: ClassVar[str] = ""
    flat: ClassVar[tuple[str, ...]] = ()

    def __init__(self, run: Run) -> None:
        self._run = run

    @classmethod
    def absence(cls, run: Run) -> str:
        """Return why a run has no such part; empty: it has one."""
        return ""

    @classmethod
    def answers(cls, run: Run) -> bool:
        """Whether the flat names have values; those of no contacts have no columns."""
        return not cls.absence(run)

    @classmethod
    def told(cls, run: Run) -> tuple[str, ...]:
        """Return which of the flat names the model of a run has, whatever scheme ran."""
        return cls.flat if cls.answers(run) else ()

    @property
    def quantities(self) -> Sequence[Quantity]:
        """What every row has."""
        return ()

    def _row(self, name: str) -> np.ndarray:
        """Return what the run recorded under a name."""
        found: np.ndarray = self._run.recorded_row(name)
        return found

    def __dir__(self) -> list[str]:
        return [k for k in super().__dir__() if k not in _INNER]

    def __repr__(self) -> str:
        names = ", ".join(public(type(self)))
        return f"{type(self).__name__} of {self._run.system.name!r}: {names}"


def public(kind: type) -> list[str]:
    """Return what can be asked of a part."""
    return [k for k in dir(kind) if not k.startswith("_") and k not in _INNER]
