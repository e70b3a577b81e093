"""The gallery: one model a file, with its closed form or published number.

A model is a function without required arguments that returns a system; `register` puts it into the
panels, the tables and the conformance tests, with its sources. ``NONSMOOTH_EXPLORER_MODELS`` names
a folder of yours whose files are found in the same way.
"""

import functools
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar, overload

from explorer.arguments import checked, items
from explorer.errors import NoSuchName
from explorer.references import entry
from explorer.registry import Registry
from explorer.results.display import html
from explorer.systems import System

__all__ = ["models", "register"]

P = ParamSpec("P")
S = TypeVar("S", bound=System)

if os.environ.get("NONSMOOTH_EXPLORER_MODELS"):
    __path__.append(os.environ["NONSMOOTH_EXPLORER_MODELS"])

models: Registry[Callable[..., System]] = Registry("model", __name__)


@overload
def register(
    model: str | None = None, /, *, references: tuple[str, ...] | str = ()
) -> Callable[[Callable[P, S]], Callable[P, S]]: ...


@overload
def register(
    model: Callable[P, S], /, *, references: tuple[str, ...] | str = ()
) -> Callable[P, S]: ...


def register(
    model: Callable[P, S] | str | None = None, /, *, references: tuple[str, ...] | str = ()
) -> Callable[P, S] | Callable[[Callable[P, S]], Callable[P, S]]:
    """Put a model into the gallery.

    Parameters
    ----------
    model : callable or str, optional
        The function; or another name than its own.
    references : str or tuple of str
        Its sources, for `explorer.cite`: keys of ``references.bib``, or BibTeX entries.

    Examples
    --------
    >>> from explorer.models import models
    >>> models["bouncing_ball"]().references
    ('brogliato-2016',)
    """

    def add(build: Callable[P, S], name: str) -> Callable[P, S]:
        build = _checked(build, references)
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


models.discover()
# a function hides the module of the same name: models.bouncing_ball() is what one types
globals().update(models)


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
