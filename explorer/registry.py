"""A dict with a decorator, folder discovery and "did you mean"."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar, overload

from explorer.errors import BadValue, suggest

__all__ = ["Registry"]

T = TypeVar("T")
E = TypeVar("E")  # what registers itself: one of T


class Registry(Mapping[str, T], Generic[T]):
    """Named things that register themselves when their file is imported.

    Parameters
    ----------
    kind : str
        What an entry is called in a sentence, e.g. "scheme".
    package : str, optional
        Dotted name of a package: every module in it is imported before the first look-up, so a
        new file is a new entry and no list has to be kept.
    """

    def __init__(self, kind: str, package: str | None = None) -> None:
        self.kind = kind
        self._package = package
        self._entries: dict[str, T] = {}

    @overload
    def register(self, entry: str, /) -> Callable[[E], E]: ...

    @overload
    def register(self, entry: E, /) -> E: ...

    def register(self, entry: E | str, /) -> E | Callable[[E], E]:
        """Register a class or function under its ``__name__``, or under the string given."""
        if isinstance(entry, str):
            return functools.partial(self._add, entry)
        return self._add(getattr(entry, "__name__", ""), entry)

    def _add(self, name: str, entry: E) -> E:
        self._entries[name] = entry  # type: ignore[assignment]  # E is a T, and told as itself
        return entry

    def discover(self) -> None:
        """Import every module of the package, in alphabetical order; done once."""
        if self._package is None:
            return
        package, self._package = importlib.import_module(self._package), None
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda m: m.name):
            importlib.import_module(f"{package.__name__}.{module.name}")
        # one module may have imported another: the order is that of their names all the same
        ordered = sorted(self._entries.items(), key=lambda x: getattr(x[1], "__module__", ""))
        self._entries = dict(ordered)

    def __getitem__(self, name: str) -> T:
        self.discover()
        try:
            return self._entries[name]
        except KeyError:
            raise BadValue(
                f"There is no {self.kind} called {name!r}.{suggest(name, self._entries)}"
            ) from None

    def __iter__(self) -> Iterator[str]:
        self.discover()
        return iter(self._entries)

    def __len__(self) -> int:
        self.discover()
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        self.discover()
        return name in self._entries
