"""What a function is given: a system, and values of its parameters as rho={...} and by name."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from pathlib import Path

from explorer.arguments import mapping
from explorer.errors import BadValue, suggest
from explorer.parameters import example
from explorer.systems.base import System
from explorer.types import Plain

__all__ = ["check_meant", "check_start", "check_step", "check_system", "values_given"]


def values_given(system: System, rho: object, parameters: Mapping[str, float]) -> Plain:
    """Return the values of parameters that are given as ``rho={"g": 1.6}`` and by name, g=1.6.

    Raises
    ------
    BadArgument
        If rho is no mapping, such as the number that was meant for a parameter `rho`.
    BadValue
        If `system` is no system.
    """
    if rho is None:
        return dict(parameters)
    what, advice = "The parameters rho", ""
    if not isinstance(rho, Mapping):
        check_system(system)
        what += f" of '{system.name}'"
        advice = example({name: p.value for name, p in system.parameters.items()}, rho)
    return {**mapping(rho, what, advice), **parameters}


def check_meant(
    system: System, name: str, value: object, known: Mapping[str, object], what: str, instead: str
) -> None:
    """Refuse a number that may mean an argument as well as the parameter of the same name.

    Parameters
    ----------
    system : System
    name, value : str, object
        The argument, and what is given for it.
    known : mapping
        Values of parameters that are given: one of `name` leaves no doubt.
    what, instead : str
        What the argument is, and how to say that it is meant.

    Raises
    ------
    BadValue
    """
    if name not in system.parameters or name in known or not isinstance(value, numbers.Real):
        return
    raise BadValue(
        f"{name} = {value} may be {what} or the parameter {name!r} of '{system.name}'. For the "
        f"parameter write rho={{{name!r}: {value}}}; {instead}."
    )


def check_start(system: System, x0: object, known: Mapping[str, object]) -> None:
    """Refuse a start that may mean the parameter x0 of the system; see `check_meant`.

    Raises
    ------
    BadValue
    """
    check_meant(system, "x0", x0, known, "the start", f"for the start write x0=[{x0}]")


def check_step(system: System, h: object, known: Mapping[str, object]) -> None:
    """Refuse a step size that may mean the parameter h of the system; see `check_meant`.

    A number below the range of the parameter is taken as the step size.

    Raises
    ------
    BadValue
    """
    own = system.parameters.get("h")
    if own is None or (isinstance(h, numbers.Real) and h < own.low):
        return
    beside = f"for the step size write rho={{'h': {own.value}}} beside it, or another value there"
    check_meant(system, "h", h, known, "the step size", beside)


def check_system(system: object) -> None:
    """Refuse an argument that is not a system, such as the name of a model.

    Raises
    ------
    BadValue
    """
    if isinstance(system, System):
        return
    if isinstance(system, str):
        models = [path.stem for path in Path(__file__).parents[1].glob("models/[a-z]*.py")]
        if system in models:
            raise BadValue(
                f"{system!r} is a name, not a system. Call the model: explorer.models.{system}(). "
                "Only panels, such as explorer.explore, accept a name."
            )
        near = suggest(system, models).partition(" Available")[0]
        model = near.split("'")[1] if near else "bouncing_ball"
        raise BadValue(
            f"There is no model {system!r}.{near} What is needed is a system, such as "
            f"explorer.models.{model}()."
        )
    called = getattr(system, "__name__", "")
    if callable(system) and called.isidentifier() and not isinstance(system, type):
        raise BadValue(f"{called} is a function, not a system. Call it: {called}().")
    raise BadValue(
        f"{system!r} is not a system: build one, e.g. explorer.MechanicalSystem(...), or call "
        "a model, e.g. explorer.models.bouncing_ball()."
    )
