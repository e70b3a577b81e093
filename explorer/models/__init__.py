"""The gallery: one model a file, with its closed form or published number.

A model is a function without required arguments that returns a system; `register` puts it into the
panels, the tables and the conformance tests, with its sources. ``NONSMOOTH_EXPLORER_MODELS`` names
a folder of yours whose files are found in the same way. `search` finds models by words.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import ParamSpec, TypeAlias, TypeVar, overload

from explorer.arguments import checked, items
from explorer.errors import BadValue, NoSuchName, suggest
from explorer.models.searching import Found, found
from explorer.references import entry
from explorer.registry import Registry
from explorer.results.display import html
from explorer.results.solution import Solution
from explorer.systems import System

__all__ = ["GROUPS", "Measure", "models", "register", "search"]

# of the gallery, in its order; a model names its own where it is registered
GROUPS = (
    "impacts",
    "friction",
    "linkages",
    "walking",
    "structures",
    "many bodies",
    "switches",
    "circuits",
    "genes",
    "maps",
)

P = ParamSpec("P")
S = TypeVar("S", bound=System)
# reads a published number off runs of its model; it is given what runs the model:
# run(scheme, preset="", **settings), as `explorer.simulate` takes them
Measure: TypeAlias = Callable[[Callable[..., Solution]], float]

if os.environ.get("NONSMOOTH_EXPLORER_MODELS"):
    __path__.append(os.environ["NONSMOOTH_EXPLORER_MODELS"])

models: Registry[Callable[..., System]] = Registry("model", __name__)


@overload
def register(
    model: str | None = None,
    /,
    *,
    group: str = "",
    references: tuple[str, ...] | str = (),
    measures: Mapping[str, Measure] | None = None,
) -> Callable[[Callable[P, S]], Callable[P, S]]: ...


@overload
def register(
    model: Callable[P, S],
    /,
    *,
    group: str = "",
    references: tuple[str, ...] | str = (),
    measures: Mapping[str, Measure] | None = None,
) -> Callable[P, S]: ...


def register(
    model: Callable[P, S] | str | None = None,
    /,
    *,
    group: str = "",
    references: tuple[str, ...] | str = (),
    measures: Mapping[str, Measure] | None = None,
) -> Callable[P, S] | Callable[[Callable[P, S]], Callable[P, S]]:
    """Put a model into the gallery.

    Parameters
    ----------
    model : callable or str, optional
        The function; or another name than its own.
    group : str
        Where it stands in the gallery: one of `GROUPS`. Without one it stands after all others.
    references : str or tuple of str
        Its sources, for `explorer.cite`: keys of ``references.bib``, or BibTeX entries.
    measures : dict of str to callable, optional
        How numbers that it names in `System.published` are read off its runs, by their names there:
        ``lambda run: run("EventDriven", e=0.9).events[-1].t``. The book prints both.

    Raises
    ------
    BadValue
        If there is no such group.

    Examples
    --------
    >>> from explorer.models import models
    >>> models["bouncing_ball"]().references
    ('brogliato-2016',)
    >>> models["bouncing_ball"].group
    'impacts'
    """
    if group and group not in GROUPS:
        raise BadValue(f"The gallery has no group {group!r}.{suggest(group, GROUPS)}")

    def add(build: Callable[P, S], name: str) -> Callable[P, S]:
        build = _checked(build, references)
        build.group = group  # type: ignore[attr-defined]
        build.measures = dict(measures or {})  # type: ignore[attr-defined]
        models.register(name)(build)
        return build

    if model is None or isinstance(model, str):
        return lambda build: add(build, model or build.__name__)
    return add(model, model.__name__)


def _checked(build: Callable[P, S], references: tuple[str, ...] | str) -> Callable[P, S]:
    sources = tuple(items(references, f"The references of {build.__name__}", str))

    @functools.wraps(build)
    def cited(*args: P.args, **kwargs: P.kwargs) -> S:
        system = build(*args, **kwargs)
        # a mechanism names the sources of its equations, the model its own
        system.references = tuple(dict.fromkeys((*sources, *system.references)))
        return system

    more = f" Parameters are given to the run: explorer.simulate({build.__name__}(), name=value)."
    cited.references = sources  # type: ignore[attr-defined]
    return checked(cited, more)


def search(words: str) -> Found:
    """Return the models of the gallery that have all words, the best first.

    ``ex.models["friction belt"]`` is the same. A notebook shows the result as a table.

    Parameters
    ----------
    words : str
        Each is looked for in names, groups, what a model shows, presets, parameters, numbers,
        sources, and the text of its module. It may be the beginning of a longer word.

    Raises
    ------
    BadValue
        If no model has these words; the message names words that are near.

    Examples
    --------
    >>> from explorer import models
    >>> [*models.search("relay")][:2]
    ['relay_feedback', 'two_relays']
    >>> models["chaos circuit"]["chua"].group
    'circuits'
    """
    return found(words, models)


class _Gallery(ModuleType):
    """The module as a mapping of words to models, which lists all names."""

    def __getitem__(self, words: str) -> Found:
        return search(words)

    def __iter__(self) -> Iterator[str]:
        return iter(models)

    def __len__(self) -> int:
        return len(models)

    def __contains__(self, name: object) -> bool:
        return name in models


sys.modules[__name__].__class__ = _Gallery
models.discover()
# a function hides the module of the same name: models.bouncing_ball() is what one types; a module
# whose models have other names is hidden, too, so that they are named
globals().update(models)
for _name, _found in list(globals().items()):
    if isinstance(_found, ModuleType) and _found.__name__ == f"{__name__}.{_name}":
        del globals()[_name]


def __getattr__(name: str) -> Callable[..., System]:
    if name in models:
        return models[name]
    raise NoSuchName("explorer.models", name, lambda: models)


def _repr_html_() -> str:
    """Show the gallery in a notebook: what each model is, what it shows, and its source."""
    rows = [(name, *_told(build)) for name, build in models.items()]
    return html(("model", "class", "what it shows", "source"), rows, f"{len(rows)} models")


def _told(build: Callable[..., System]) -> tuple[str, str, str]:
    """Return the class of a model, the first line of its text, and its sources."""
    first = (build.__doc__ or "").partition("\n")[0].removeprefix("Return ").rstrip(".")
    entries = map(entry, getattr(build, "references", ()))
    sources = (f"{e.authors} ({e['year']})" for e in entries)
    return build.__annotations__["return"].__name__, first, "; ".join(sources)


def __dir__() -> list[str]:
    """Offer the models, not what makes the gallery."""
    return [*__all__, *models]
