"""Checks of arguments: unknown names are refused before a function or a class runs.

`Checked` is the metaclass of what users build by keywords (systems, schemes, contacts); `checked`
does the same for a function. What neither sees are arguments inside a dict or a list: `entries`,
`mapping`, `items` and `a` are for these.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from explorer.errors import BadArgument, suggest
from explorer.types import Plain

__all__ = ["Checked", "Named", "a", "checked", "entries", "fits", "items", "mapping", "several"]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@functools.lru_cache(maxsize=512)
def _taken(function: Callable[..., object]) -> tuple[tuple[str, ...], int | None, bool]:
    """Return the argument names, the number of positional ones, and whether any name fits."""
    parameters = inspect.signature(function).parameters.values()
    kinds = {p.kind for p in parameters}
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    first = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (
        tuple(p.name for p in named),
        None if inspect.Parameter.VAR_POSITIONAL in kinds else len(first),
        inspect.Parameter.VAR_KEYWORD in kinds,
    )


def fits(
    function: Callable[..., object], what: str, count: int, names: Iterable[str], more: str = ""
) -> None:
    """Refuse arguments that a function does not take: `count` without a name, and `names`.

    Raises
    ------
    BadArgument
    """
    known, most, any_name = _taken(function)
    if known[:1] == ("self",):  # of a method
        known, most, count = known[1:], most and most - 1, count - 1
    for name in names:
        if not any_name and name not in known:
            raise BadArgument(f"{what} has no argument {name!r}.{suggest(name, known)}{more}")
    if most is not None and count > most:
        named = [f"{name}=..." for name in known[most : most + 1]]
        write = f" Write {what}({', '.join([*known[:most], *named])})." if named else ""
        raise BadArgument(
            f"{what} takes {most or 'no'} positional argument{'s' * (most != 1)}, but {count} "
            f"{'is' if count == 1 else 'are'} given.{write} Available by name: "
            f"{', '.join(known) or 'none'}."
        )


class Checked(type):
    """Metaclass that refuses unknown arguments with a message."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of ``__init__``, which editors and `help` show."""
        own = inspect.signature(cls.__init__)  # type: ignore[misc]
        given = list(own.parameters.values())[1:]
        return own.replace(parameters=given, return_annotation=inspect.Signature.empty)

    def __call__(cls, *args: object, **kwargs: object) -> object:
        """Return an instance."""
        fits(cls, cls.__name__, len(args), kwargs)
        return super().__call__(*args, **kwargs)


class Named(Checked):
    """Metaclass of a class with keyword arguments, of which one may be positional.

    A class says in `leading` which one that is, wherever it stands among its fields; without an
    argument of that name it has none.
    """

    leading: str

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of ``__init__``: the leading argument first, all others by keyword."""
        parameters = {p.name: p for p in super().__signature__.parameters.values()}
        first = [parameters.pop(cls.leading)] if cls.leading in parameters else []
        rest = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters.values()]
        return inspect.Signature([*first, *rest])

    def __call__(cls, *args: object, **kwargs: object) -> object:
        """Return an instance.

        Raises
        ------
        BadArgument
            More than one argument without a name.
        """
        if len(args) > 1 or (args and cls.leading not in inspect.signature(cls).parameters):
            known = [*inspect.signature(cls).parameters]
            has = cls.leading in known
            only = f"only {cls.leading} as a" if has else "no"
            told = ", ".join(f"{name}=..." for name in known[: 1 + has])
            raise BadArgument(
                f"{cls.__name__} takes {only} positional argument: write {cls.__name__}({told}). "
                f"Available by name: {', '.join(known)}."
            )
        if args and cls.leading in kwargs:
            raise BadArgument(f"{cls.__name__} is given {cls.leading} twice.")
        return super().__call__(**dict(zip((cls.leading,), args, strict=False)), **kwargs)


def checked(function: Callable[P, R], more: str = "") -> Callable[P, R]:
    """Return a function that refuses unknown arguments; the message ends with `more`."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        fits(function, function.__name__, len(args), kwargs, more)
        return function(*args, **kwargs)

    return call


def a(value: object, kind: type, what: str, example: str) -> None:
    """Refuse a value that is not an instance of a class.

    Raises
    ------
    BadArgument
    """
    if not isinstance(value, kind):
        raise BadArgument(f"{value!r} is not {what}: write {example}.")


def mapping(value: object, what: str, example: str) -> Plain:
    """Return a dict whose keys are text; None gives an empty dict.

    Raises
    ------
    BadArgument
        If it is no mapping.
    """
    if value is None:
        return {}
    if type(value) is not dict and not isinstance(value, Mapping):  # the latter takes its time
        raise BadArgument(f"{what} must be a dict, such as {example}, not {value!r}.")
    return {str(k): x for k, x in value.items()}


def entries(value: object, function: Callable[..., object], what: str, example: str) -> Plain:
    """Return a dict whose entries are arguments of `function`.

    Raises
    ------
    BadArgument
        If it is no mapping, or an entry is unknown.
    """
    arguments, (known, _, any_name) = mapping(value, what, example), _taken(function)
    for name in arguments:
        if not any_name and name not in known:
            raise BadArgument(f"{what} has no entry {name!r}.{suggest(name, known)}")
    return arguments


def items(value: Any, what: str, *kinds: type) -> list[Any]:
    """Return a list; a single instance of one of `kinds` becomes a list of one.

    Raises
    ------
    BadArgument
        If it is no list.
    """
    if isinstance(value, kinds):
        return [value]
    try:
        if not isinstance(value, str):
            return list(value)
    except TypeError:
        pass
    raise BadArgument(f"{what} must be a list, not {value!r}.")


def several(values: T | Sequence[T] | np.ndarray, count: int) -> list[T]:
    """Return a list of the values; a single value is repeated `count` times."""
    if np.ndim(values) == 0:  # type: ignore[arg-type]  # a formula is a single value
        return [values] * count  # type: ignore[list-item]
    return list(values)  # type: ignore[arg-type]
