"""`cite`: the sources of a run, a scheme, a model or a rewriting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from explorer import reformulations
from explorer.derivatives import Sensitivity
from explorer.errors import BadValue, suggest
from explorer.models import models
from explorer.references import Citation, entry, library
from explorer.results.solution import Solution
from explorer.schemes import Scheme, schemes
from explorer.systems import System

__all__ = ["cite"]

_SOFTWARE = "nonsmooth-explorer"
Part = tuple[str, tuple[str, ...]]


def cite(of: Any = None, /) -> Citation:
    """Return what to cite, as text, BibTeX (`.bibtex`) and, in a notebook, with links.

    Parameters
    ----------
    of : optional
        A solution: its scheme, its model, the rewritings on the way, and this software.
        Sensitivities: the same, and their method. A scheme, a system, a model, or the name of one;
        the name of a reformulation; a key of the bibliography. Nothing: this software.

    Returns
    -------
    Citation

    Raises
    ------
    BadValue
        Nothing of that name; or something that has no sources.

    Examples
    --------
    >>> import explorer as ex
    >>> print(ex.cite("MoreauJean"))  # doctest: +ELLIPSIS
    To cite MoreauJean:
    <BLANKLINE>
    scheme MoreauJean:
      J. J. Moreau: Unilateral contact and dry friction in finite freedom dynamics. ...
    >>> ex.cite("bouncing_ball").keys
    ('brogliato-2016',)
    >>> print(ex.cite("newmark-1959").bibtex)  # doctest: +ELLIPSIS
    @article{newmark-1959,
      author = {Newmark, Nathan M.},
      ...
    """
    name, parts = _found(of)
    return Citation(name, parts)


def _found(of: Any) -> tuple[str, list[Part]]:
    """Return what something is called, and its parts."""
    if of is None:
        return _SOFTWARE, [_software()]
    if isinstance(of, str):
        return _named(of)
    if isinstance(of, Scheme) or (isinstance(of, type) and issubclass(of, Scheme)):
        return str(of) if isinstance(of, Scheme) else of.__name__, [_scheme(of)]
    if isinstance(of, System):
        return repr(of.name), [_system(of)]
    if isinstance(of, Solution):
        return f"this run of {of.system.name!r}", [*_run(of), _software()]
    if isinstance(of, Sensitivity):
        own = ("sensitivities", Sensitivity.references)
        return f"these sensitivities of {of.run.system.name!r}", [own, *_run(of.run), _software()]
    for names in (models, _rewritings()):
        for name, function in names.items():
            if function is of:
                return _named(name)
    raise BadValue(
        f"{of!r} has no sources to cite. Give a solution, a scheme, a system, or a name such as "
        "'MoreauJean', 'bouncing_ball' or 'moreau-1988'."
    )


def _named(name: str) -> tuple[str, list[Part]]:
    """Return the parts of a scheme, a model, a rewriting or an entry by its name.

    Raises
    ------
    BadValue
        There is none.
    """
    names = [*schemes, *models, *_rewritings(), *library()]
    known = {_letters(known): known for known in names}.get(_letters(name), "")
    if known in schemes:
        return known, [_scheme(schemes[known])]
    if known in models:
        return known, [_system(models[known]())]
    if known in _rewritings():
        return known, [_rewriting(known)]
    if known in library():
        return known, [("reference", (known,))]
    raise BadValue(
        f"There is no scheme, model, reformulation or reference {name!r}.{suggest(name, names)}"
    )


def _letters(name: str) -> str:
    """Return a name as it is compared: "Moreau-Jean" is MoreauJean."""
    return re.sub(r"[\W_]+", "", name).lower()


def _scheme(scheme: Scheme | type[Scheme], system: System | None = None) -> Part:
    if isinstance(scheme, Scheme):
        return f"scheme {type(scheme).__name__}", scheme.sources(system)
    return f"scheme {scheme.__name__}", scheme.references


def _system(system: System) -> Part:
    return f"model {system.name!r}", system.sources


def _run(solution: Solution) -> Iterator[Part]:
    yield _scheme(solution.scheme, solution.system)
    for step in solution.route:
        yield _rewriting(reformulations.ROUTES.get(step, ""), solution.system)
    yield _system(solution.system)


def _rewriting(name: str, system: System | None = None) -> Part:
    if name == "time_freezing" and system is not None and system.kind == "hybrid system":
        name = "hysteresis"
    return f"reformulation {name}", reformulations.REFERENCES.get(name, ())


def _rewritings() -> dict[str, Callable[..., Any]]:
    return {name: getattr(reformulations, name) for name in reformulations.REFERENCES}


def _software() -> Part:
    return "software", (entry(_SOFTWARE).key,)
