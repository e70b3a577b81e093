"""Copies and pickles of native code: its recipe, since addresses end with their process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeAlias

__all__ = ["Recipe", "Remade"]

# a function, and the arguments with which it makes something again
Recipe: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]


class Remade(ABC):
    """Base of objects with native code; pickles and deep copies compile, shallow ones share."""

    @abstractmethod
    def recipe(self) -> Recipe:
        """Return a function and its arguments that make this object again."""

    def __reduce__(self) -> Recipe:
        return self.recipe()

    def __copy__(self) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new
