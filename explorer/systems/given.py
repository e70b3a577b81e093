"""What a function is given: a system, and values of its parameters as rho={...} and by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from explorer.arguments import mapping
from explorer.errors import BadValue, suggest
from explorer.parameters import example
from explorer.systems.base import System
from explorer.types import Plain

__all__ = ["check_system", "values_given"]


def values_given(system: System, rho: object, parameters: Mapping[str, float]) -> Plain:
    """Return the values of parameters that are given as ``rho={"g": 1.6}`` and by name, g=1.6.

    Raises
    ------
    BadArgument
        If rho is no mapping, such as the number that was meant for a parameter `rho`.
    BadValue
        If `system` is no system.
    """
    what, advice = "The parameters rho", ""
    if rho is not None and not isinstance(rho, Mapping):
        check_system(system)
        what += f" of '{system.name}'"
        advice = example({name: p.value for name, p in system.parameters.items()}, rho)
    return {**mapping(rho, what, advice), **parameters}


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
