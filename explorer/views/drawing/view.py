"""`view`: makes a function that draws a `Picture` a view, and lists it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Protocol, cast, get_args, get_type_hints, overload

from explorer.arguments import check_arguments
from explorer.control.plan import Plan
from explorer.derivatives import Sensitivity
from explorer.errors import BadValue, NotApplicable, suggest
from explorer.recorder import Recorded
from explorer.registry import Registry
from explorer.results.solution import Solution
from explorer.study import studies
from explorer.study.orbits import Orbits
from explorer.systems import System
from explorer.views.drawing.parts import PARTS
from explorer.views.drawing.picture import Picture
from explorer.views.drawing.traces import Figure

__all__ = ["View", "view", "views"]

_MAKERS = {
    Solution: "simulate",
    Sensitivity: "sensitivity",
    Plan: "optimize",
    Orbits: "study.Sharpening",
}  # other results are those of studies
Draw = Callable[..., Picture]


class View(Protocol):
    """What a user calls: it returns a plain ``plotly.graph_objects.Figure``.

    Attributes
    ----------
    picture : the function itself, which returns a `Picture`
    takes : the types of results that it draws
    of : the parts of a run, one of which it needs; of none: it draws every run
    recorded : which rows of a thinned run it draws
    """

    picture: Draw
    takes: tuple[type, ...]
    of: tuple[str, ...]
    recorded: str

    def __call__(self, *args: object, **kwargs: object) -> Figure:
        """Draw."""

    def draws(self, solution: object) -> bool:
        """Whether this is a view of such a result."""


views: Registry[View] = Registry("view", "explorer.views")


@overload
def view(function: Draw, /) -> View: ...
@overload
def view(*, of: str | Sequence[str] = (), recorded: str = "") -> Callable[[Draw], View]: ...
def view(
    function: Draw | None = None, /, *, of: str | Sequence[str] = (), recorded: str = ""
) -> View | Callable[[Draw], View]:
    """Offer a function that returns a Picture as ``views.<its name>``, which returns a figure.

    The type of its first argument says what it draws. ``.picture`` is the function itself.

    Parameters
    ----------
    of : str or sequence of str
        Of a view of runs: the part of a run that it needs, a key of `PARTS`, or several, one of
        which is enough. A run without it is refused in a sentence.
    recorded : str
        Which rows of a run that a `Recorder` has thinned out it draws: "rows", those that were
        kept; "steps", all, but not all coordinates; by default it refuses such a run.
    """
    parts = (of,) if isinstance(of, str) else tuple(of)
    if function is None:
        return lambda function: _offered(function, parts, recorded)
    return _offered(function, parts, recorded)


def _offered(function: Draw, of: tuple[str, ...], recorded: str) -> View:
    unknown = [part for part in of if part not in PARTS]
    if unknown:
        raise BadValue(f"No run has {unknown[0]!r} to draw.{suggest(unknown[0], PARTS)}")
    takes, parts = _taken(function), [PARTS[part].there for part in of]

    @functools.wraps(function)
    def drawn(*args: object, **kwargs: object) -> Figure:
        _check(offered, args)
        return picture(*args, **kwargs).figure()

    @functools.wraps(function)
    def picture(*args: object, **kwargs: object) -> Picture:
        check_arguments(function, f"views.{function.__name__}", len(args), kwargs)
        if args and isinstance(args[0], Solution) and not offered.draws(args[0]):
            raise NotApplicable(_lacking(offered, args[0]))
        return function(*args, **kwargs)

    def draws(result: object) -> bool:
        if not parts or not isinstance(result, Solution):
            return isinstance(result, takes)
        return any(there(result) for there in parts)

    offered = cast(View, drawn)
    signature = inspect.signature(function).replace(return_annotation="plotly.graph_objects.Figure")
    own = {"picture": picture, "takes": takes, "of": of, "recorded": recorded, "draws": draws}
    vars(drawn).update(own, __signature__=signature)
    drawn.__doc__ = _with_call(function, takes)
    views.register(offered)
    return offered


def _with_call(function: Draw, takes: tuple[type, ...]) -> str:
    """Return the docstring of a view; below its first line stands how a user calls it."""
    head, gap, rest = (inspect.getdoc(function) or "").partition("\n\n")
    made = [f"``ex.{_MAKERS[kind]}``" for kind in takes if kind in _MAKERS and kind is not Orbits]
    if not made:
        return head + gap + rest
    first = next(iter(inspect.signature(function).parameters))
    call = f"``ex.views.{function.__name__}({first})`` draws what {' or '.join(made)} returns."
    return f"{head}\n\n{call}{gap}{rest}"


def _taken(function: Draw) -> tuple[type, ...]:
    """Return what the first parameter may be."""
    first = next(iter(inspect.signature(function).parameters))
    wanted = get_type_hints(function)[first]
    return get_args(wanted) or (wanted,)


def _lacking(view: View, solution: Solution) -> str:
    """Return the sentence for a run without the parts that a view draws."""
    name, texts = view.picture.__name__, " or ".join(PARTS[part].text for part in view.of)
    scheme = type(solution.scheme).__name__
    return f"views.{name} draws {texts}. The run of '{solution.system.name}' by {scheme} has none."


def _check(view: View, args: Sequence[object]) -> None:
    """Refuse what is of another kind than the first parameter (of ``*found``: each) says.

    Raises
    ------
    BadValue
    """
    function = inspect.unwrap(view.picture)
    kinds, name = view.takes, function.__name__
    first = next(iter(inspect.signature(function).parameters.values()))
    for given in args if first.kind is first.VAR_POSITIONAL else args[:1]:
        if isinstance(given, kinds):
            if isinstance(given, Solution) and given.recorded is not None:
                _check_recorded(view, given.recorded)
            continue
        hint = "."
        if isinstance(given, System) and Solution in kinds:
            hint = f": simulate it first, views.{name}(explorer.simulate(system))."
        elif isinstance(given, Solution) and System in kinds:
            hint = f": give its system, views.{name}(run.system)."
        elif isinstance(given, (list, tuple)):
            hint = ": draw them one by one."
        accepted = f"what {' or '.join(map(_maker, kinds))} returns"
        accepted = "a system" if System in kinds else accepted
        raise BadValue(f"views.{name} draws {accepted}, not {_called(given)}{hint}")


def _maker(kind: type) -> str:
    """Return what a user calls for a result of this kind."""
    made = (n for n, f in studies.items() if f.__annotations__.get("return") == kind.__name__)
    return _MAKERS.get(kind) or f"study.{next(made, kind.__name__)}"


def _called(given: object) -> str:
    """Return a value as it is typed, or what kind of thing it is."""
    if given is None or isinstance(given, int | float | str):
        return repr(given)
    if isinstance(given, type):
        return f"the class {given.__name__}"
    kind = type(given).__name__
    return f"{'an' if kind[0] in 'AEIOaeio' else 'a'} {kind}"


def _check_recorded(view: View, recorded: Recorded) -> None:
    """Refuse a view that looks at rows or coordinates which were not kept.

    Raises
    ------
    NotApplicable
    """
    if view.recorded == "rows" or (view.recorded == "steps" and not recorded.thinned):
        return
    raise NotApplicable(
        f"views.{view.picture.__name__} needs all rows and coordinates of a run, but "
        f"{recorded.recorder!r} kept {recorded}. views.trajectory draws those."
    )
