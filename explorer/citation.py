"""`cite`: the sources of a run, a scheme, a model or a reformulation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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


def cite(subject: object = None, /) -> Citation:
    """Return the sources to cite: as text, as BibTeX (`.bibtex`) and as links in a notebook.

    Parameters
    ----------
    subject : optional
        A solution cites its scheme, its model, the reformulations used and this software.
        Sensitivities also cite their method. A scheme, a system, a model, a reformulation or a key
        of the bibliography can be given by name. Without an argument: this software.

    Returns
    -------
    Citation

    Raises
    ------
    BadValue
        The name is unknown, or the subject has no sources.

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
    name, parts = _sources(subject)
    return Citation(name, parts)


def _sources(subject: object) -> tuple[str, list[Part]]:
    """Return the name and the parts of a subject."""
    if subject is None:
        return _SOFTWARE, [_software()]
    if isinstance(subject, str):
        return _named(subject)
    if isinstance(subject, Scheme) or (isinstance(subject, type) and issubclass(subject, Scheme)):
        return str(subject) if isinstance(subject, Scheme) else subject.__name__, [_scheme(subject)]
    if isinstance(subject, System):
        return repr(subject.name), [_system(subject)]
    if isinstance(subject, Solution):
        return f"this run of {subject.system.name!r}", [*_run(subject), _software()]
    if isinstance(subject, Sensitivity):
        own, run = ("sensitivities", Sensitivity.references), subject.run
        return f"these sensitivities of {run.system.name!r}", [own, *_run(run), _software()]
    for names in (models, _reformulations()):
        for name, function in names.items():
            if function is subject:
                return _named(name)
    raise BadValue(
        f"{subject!r} has no sources to cite. Give a solution, a scheme, a system, or a name such "
        "as 'MoreauJean', 'bouncing_ball' or 'moreau-1988'."
    )


def _named(name: str) -> tuple[str, list[Part]]:
    """Return the parts of a scheme, a model, a reformulation or an entry, by name.

    Raises
    ------
    BadValue
        The name is unknown.
    """
    names = [*schemes, *models, *_reformulations(), *library()]
    known = {_letters(known): known for known in names}.get(_letters(name), "")
    if known in schemes:
        return known, [_scheme(schemes[known])]
    if known in models:
        return known, [_system(models[known]())]
    if known in _reformulations():
        return known, [_reformulation(known)]
    if known in library():
        return known, [("reference", (known,))]
    raise BadValue(
        f"There is no scheme, model, reformulation or reference {name!r}.{suggest(name, names)}"
    )


def _letters(name: str) -> str:
    """Return the letters and digits of a name, so that "Moreau-Jean" finds MoreauJean."""
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
        yield _reformulation(reformulations.ROUTES.get(step, ""), solution.system)
    yield _system(solution.system)


def _reformulation(name: str, system: System | None = None) -> Part:
    if name == "time_freezing" and system is not None and system.kind == "hybrid system":
        name = "hysteresis"
    return f"reformulation {name}", reformulations.REFERENCES.get(name, ())


def _reformulations() -> dict[str, Callable[..., object]]:
    return {name: getattr(reformulations, name) for name in reformulations.REFERENCES}


def _software() -> Part:
    return "software", (entry(_SOFTWARE).key,)
