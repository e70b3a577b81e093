"""What holds native code is copied and pickled as its recipe: addresses die with their process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Self, TypeAlias

__all__ = ["Recipe", "Remade"]

# a function, and the arguments with which it makes something again
Recipe: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]


class Remade(ABC):
    """Base of what a pickle, or a deep copy, makes anew; a shallow copy shares the native code."""

    @abstractmethod
    def recipe(self) -> Recipe:
        """Return a function, and the arguments with which it makes this again."""

    def __reduce__(self) -> Recipe:
        return self.recipe()

    def __copy__(self) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new
