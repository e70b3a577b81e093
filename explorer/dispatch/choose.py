"""Choice of a scheme for a system, and the advice that a refusal gives."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from explorer.errors import BadValue, NotApplicable, suggest
from explorer.parameters import knobs_of
from explorer.schemes import Scheme, schemes
from explorer.systems import SYSTEMS, System, check_system

# the order in which defaults are taken; a scheme that is added stands behind them
_STANDARD = (
    "EulerMoreau",
    "EventDriven",
    "FESD",
    "MoreauJean",
    "Newmark",
    "GeneralizedAlpha",
    "NonsmoothGeneralizedAlpha",
    "SchatzmanPaoli",
    "ThetaRK",
    "Iteration",
)
_CONSTRAINED = "EventDriven"  # the default of systems with constraints
_MANY = 64  # coordinates from which on its second derivatives take long to compile

__all__ = ["applicability", "choose", "numbers_of", "schemes_for"]


def choose(system: System, scheme: Scheme | type[Scheme] | str | None) -> Scheme:
    """Return a scheme instance that accepts the system, or name schemes that would."""
    check_system(system)
    if scheme is None:
        fitting = schemes_for(system)
        if not fitting:
            raise NotApplicable(
                f"'{system.name}' is a {type(system).__name__}{_with(system)}. {_no_scheme(system)}"
            )
        return fitting[0]
    if isinstance(scheme, str):
        scheme = schemes[scheme]
    if isinstance(scheme, type) and issubclass(scheme, Scheme):
        scheme = scheme()
    if not isinstance(scheme, Scheme):
        raise BadValue(f"{scheme!r} is not a scheme.{suggest(scheme, schemes)}")
    if not scheme.fits(system):
        kind = type(scheme).__name__
        why = scheme.obstacle(system) if isinstance(system, scheme.accepts) else ""
        raise NotApplicable(
            f"{kind} cannot integrate '{system.name}'{f': {why}' if why else '.'}\n"
            f"  {system.name}   {type(system).__name__}{_with(system)}\n"
            f"  {kind}   accepts {scheme.takes}\n"
            f"  {_instead(system)}"
        )
    return scheme


def _instead(system: System) -> str:
    """Return the schemes that accept a system, directly or after an exact reformulation."""
    fitting = schemes_for(system)
    if not fitting:
        return _no_scheme(system)
    through = [type(s).__name__ for s in fitting if isinstance(system, s.rewrites)]
    direct = [type(s).__name__ for s in fitting if not isinstance(system, s.rewrites)]
    more = f" After an exact reformulation: {', '.join(through)}." if through else ""
    return f"Schemes that accept it: {', '.join(direct) or 'none'}.{more}"


def _with(system: System) -> str:
    return f" with {', '.join(sorted(system.features))}" if system.features else ""


def _no_scheme(system: System) -> str:
    """Return why no scheme takes a system: the features that none handles together."""
    kinds = {
        name: kind
        for name, kind in schemes.items()
        if isinstance(system, kind.accepts) and not kind.lesson
    }
    if not kinds:
        return f"No scheme accepts a {system.kind}."
    features = sorted(system.features)
    for count in range(1, len(features) + 1):
        for clash in itertools.combinations(features, count):
            if not any(kind.handles_all(clash) for kind in kinds.values()):
                return f"No scheme accepts {_listed(clash)}{_both(clash)}.{_without(system, kinds)}"
    why = [f"{name}: {kind.obstacle(system)}" for name, kind in kinds.items()]
    return "No scheme accepts it. " + " ".join(why)


def _without(system: System, kinds: Mapping[str, type[Scheme]]) -> str:
    """Return what to leave out, and who takes the rest: the fewest features first."""
    left: dict[tuple[str, ...], list[str]] = {}
    for name, kind in kinds.items():
        unknown = system.features - kind.handles
        met = [clash for clash in kind.apart if clash <= system.features]
        for one in itertools.product(*met):  # of features that clash one is enough
            left.setdefault(tuple(sorted(unknown | {*one})), []).append(name)
    least = [k for k in left if not any({*other} < {*k} for other in left)]
    said = [f" Without {_listed(k)}: {', '.join(left[k])}." for k in sorted(least, key=len)]
    return "".join(said)


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _both(names: tuple[str, ...]) -> str:
    return " together" if len(names) > 1 else ""


def schemes_for(system: System, *, lessons: bool = False) -> list[Scheme]:
    """Return a default instance of every scheme that accepts the system, with its step size.

    The first is the default. Time stepping comes first, because it passes through any number of
    events. A system with constraints and at most 64 coordinates gets `EventDriven` first: there
    each impact moves all coordinates, and an error of order h in one impact may add or omit the
    next ones. Schemes that need an exact reformulation follow. Lessons come last, and only with
    `lessons`.

    Raises
    ------
    BadValue
        If `system` is not a system.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.schemes_for(ex.models.bouncing_ball())[0]
    MoreauJean(h=0.002)
    """
    check_system(system)
    kinds = [s for s in schemes.values() if s.fits(system) and (lessons or not s.lesson)]
    many = len(getattr(system, "coordinates", ())) > _MANY
    kinds.sort(
        key=lambda s: (
            s.lesson != "",
            s.__name__ not in _STANDARD,
            isinstance(system, s.rewrites),
            s.__name__ != _CONSTRAINED or not system.constraints or many,
            "h" not in knobs_of(s),
            _STANDARD.index(s.__name__) if s.__name__ in _STANDARD else 0,
        )
    )
    return [s(**({"h": s.usual_step(system)} if "h" in knobs_of(s) else {})) for s in kinds]


def applicability(
    systems: System | Mapping[str, System] | None = None,
) -> dict[str, dict[str, bool]]:
    """Return ``{system: {scheme: accepted?}}`` from the attributes of the schemes.

    Lessons, the schemes that show what goes wrong, are left out.

    Parameters
    ----------
    systems : mapping of str to System, or System, optional
        By default the system types, without contacts and other features.

    Raises
    ------
    BadValue
        If an entry is not a system.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.applicability(ex.models.bouncing_ball())["bouncing ball"]["FESD"]
    True
    """
    kinds = {name: kind for name, kind in schemes.items() if not kind.lesson}
    if systems is None:
        return {
            name: {s: takes(kind, system) for s, kind in kinds.items()}
            for name, system in SYSTEMS.items()
        }
    if not isinstance(systems, Mapping):
        check_system(systems)
        systems = {systems.name: systems}
    for system in systems.values():
        check_system(system)
    return {
        name: {s: kind.fits(system) for s, kind in kinds.items()}
        for name, system in systems.items()
    }


def takes(kind: type[Scheme], system: type[System]) -> bool:
    """Whether a scheme accepts a system type, with the features that it always has."""
    return issubclass(system, kind.accepts) and kind.handles_all(system.needs)


def numbers_of(system: System, chosen: Scheme, given: Mapping[str, object]) -> list[float]:
    """Return the parameter vector; values given by name replace the defaults.

    Raises
    ------
    BadValue
        As `System.rho`. If the name is an option of a scheme, the message names the scheme.
    """
    for name, value in given.items():
        if name in system.parameters:
            continue
        homes = [type(chosen).__name__, *schemes]
        home = next((k for k in homes if name in knobs_of(schemes[k])), None)
        if home:
            raise BadValue(
                f"'{system.name}' has no parameter {name!r}: it belongs to the scheme, as in "
                f"simulate(system, explorer.{home}({name}={value!r}))."
            )
    return system.rho(given)
