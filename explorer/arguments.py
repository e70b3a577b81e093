"""Checks of arguments: unknown and missing names are refused before a function or a class runs.

`Checked` is the metaclass of what users build by keywords (systems, schemes, contacts); `checked`
does the same for a function. What neither sees are arguments inside a dict or a list: `entries`,
`mapping`, `items` and `a` are for these.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy as np

from explorer.errors import BadArgument, suggest
from explorer.types import Plain

__all__ = [
    "Checked",
    "Named",
    "T",
    "a",
    "check_arguments",
    "checked",
    "entries",
    "items",
    "mapping",
    "several",
]

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class _Taken(NamedTuple):
    """What a function takes: names, positional ones, those without a default; how many; any."""

    known: tuple[str, ...]
    first: tuple[str, ...]
    needed: tuple[str, ...]
    most: int | None
    any_name: bool


@functools.lru_cache(maxsize=512)
def _taken(function: Callable[..., object]) -> _Taken:
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    kinds = {p.kind for p in parameters}
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    first = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return _Taken(
        tuple(p.name for p in named),
        tuple(p.name for p in first),
        tuple(p.name for p in (*first, *named[len(first) :]) if p.default is p.empty),
        None if inspect.Parameter.VAR_POSITIONAL in kinds else len(first),
        inspect.Parameter.VAR_KEYWORD in kinds,
    )


def check_arguments(
    function: Callable[..., object], what: str, count: int, names: Iterable[str], more: str = ""
) -> None:
    """Refuse a call of a function with arguments that it has not, or without those it needs.

    Parameters
    ----------
    function : callable
    what : str
        What the sentence calls it.
    count : int
        How many arguments are given without a name.
    names : iterable of str
        Those that are given by name.
    more : str
        Ends the sentence.

    Raises
    ------
    BadArgument
    """
    known, first, needed, most, any_name = _taken(function)
    for name in names:
        if not any_name and name not in known:
            if not known:
                raise BadArgument(f"{what} takes no arguments, but {name!r} is given.{more}")
            raise BadArgument(f"{what} has no argument {name!r}.{suggest(name, known)}{more}")
    if most is not None and count > most:
        but = f"but {count} {'is' if count == 1 else 'are'} given"
        if not known:
            raise BadArgument(f"{what} takes no arguments, {but}.{more}")
        named = [f"{name}=..." for name in known[most : most + 1]]
        write = f" Write {what}({', '.join([*known[:most], *named])})." if named else ""
        raise BadArgument(
            f"{what} takes {most or 'no'} positional argument{'s' * (most != 1)}, {but}.{write} "
            f"Available by name: {', '.join(known)}."
        )
    given = {*first[:count], *names}
    if missing := [name for name in needed if name not in given]:
        listed = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
        example = ", ".join(f"{name}=..." for name in needed)
        raise BadArgument(f"{what} needs {listed}: write {what}({example}).{more}")


class Checked(type):
    """Metaclass that refuses unknown and missing arguments with a message."""

    @property
    def __signature__(cls) -> inspect.Signature:
        """The signature of ``__init__``, which editors and `help` show."""
        own = inspect.signature(cls.__init__)  # type: ignore[misc]
        given = list(own.parameters.values())[1:]
        return own.replace(parameters=given, return_annotation=inspect.Signature.empty)

    def __call__(cls: type[T], *args: object, **kwargs: object) -> T:
        """Return an instance."""
        check_arguments(cls, cls.__name__, len(args), kwargs)
        made: T = type.__call__(cls, *args, **kwargs)
        return made


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

    def __call__(cls: type[T], *args: object, **kwargs: object) -> T:
        """Return an instance.

        Raises
        ------
        BadArgument
            More than one argument without a name.
        """
        leading, names = cast(Named, cls).leading, inspect.signature(cls).parameters
        if len(args) > 1 or (args and leading not in names):
            known, has = [*names], leading in names
            only = f"only {leading} as a" if has else "no"
            told = ", ".join(f"{name}=..." for name in known[: 1 + has])
            raise BadArgument(
                f"{cls.__name__} takes {only} positional argument: write {cls.__name__}({told}). "
                f"Available by name: {', '.join(known)}."
            )
        if args and leading in kwargs:
            raise BadArgument(f"{cls.__name__} is given {leading} twice.")
        return Checked.__call__(cls, **dict(zip((leading,), args, strict=False)), **kwargs)


def checked(function: Callable[P, R], more: str = "") -> Callable[P, R]:
    """Return a function or method that refuses arguments which are unknown or are missing.

    The message ends with `more`.
    """
    bound = next(iter(inspect.signature(function).parameters), "") == "self"

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        check_arguments(function, function.__name__, len(args) - bound, kwargs, more)
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
    arguments, taken = mapping(value, what, example), _taken(function)
    for name in arguments:
        if not taken.any_name and name not in taken.known:
            raise BadArgument(f"{what} has no entry {name!r}.{suggest(name, taken.known)}")
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
