"""What every search is told besides its question: where it begins, how often, when it ends."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from explorer.parameters import number, whole
from explorer.types import Numbers, Reals, Settings

__all__ = ["SearchOptions", "with_options"]

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of `explorer.fit` and `explorer.minimize`, each a keyword argument of both.

    Attributes
    ----------
    start : dict by name or sequence, optional
        Where the search begins; by default the values of the system.
    starts, seed : int
        Searches: the first from `start`, the others from a Latin hypercube over the bounds.
    tol : float
    max_iter : int
    progress : bool
        Whether to show a bar when it takes more than a second.
    """

    start: Numbers | Reals | float | None = None
    starts: int = 1
    seed: int = 0
    tol: float = 1e-10
    max_iter: int = 100
    progress: bool = True

    def __post_init__(self) -> None:
        """Refuse a tolerance that is not positive, and iterations that are no whole number.

        Raises
        ------
        BadValue
        """
        number(self.tol, "tol", positive=True)
        whole(self.max_iter, "max_iter", 0)


def with_options(*, tol: float) -> Callable[[Callable[..., Found]], Callable[..., Found]]:
    """Let a function with an argument `options` take them as keyword arguments by name."""
    usual = SearchOptions(tol=tol)

    def taking(search: Callable[..., Found]) -> Callable[..., Found]:
        @functools.wraps(search)
        def told(*args: object, **named: object) -> Found:
            own: Settings = {f.name: named.pop(f.name) for f in fields(usual) if f.name in named}
            return search(*args, options=replace(usual, **own), **named)

        signature = inspect.signature(search)
        shown = []
        for argument in signature.parameters.values():
            if argument.name != "options":
                shown.append(argument)
                continue
            for f in fields(usual):
                default = getattr(usual, f.name)
                shown.append(argument.replace(name=f.name, default=default, annotation=f.type))
        told.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return told

    return taking
