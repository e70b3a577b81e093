"""What all kinds of typed systems share: name, parameters, start, time span."""

from __future__ import annotations

import re
from collections.abc import Sequence

from explorer.errors import BadModel
from explorer.panels.write_model.building import Draft
from explorer.panels.write_model.reading import by_name, entries, parameters, value
from explorer.systems import LagrangianSystem, StateSpaceSystem, System

__all__ = ["about", "end", "named", "start_entries", "typed_parameters"]

_SPAN = re.compile(r"(\S+)(?:\s+([A-Za-z]+))?\Z")


def named(draft: Draft) -> str:
    """Return the name of the system."""
    long = len(draft.text("name"))
    if long > 80:
        draft.refuse("name", f"The name has {long} characters; shorten it to 80 or fewer.")
    return draft.title


def about(draft: Draft) -> str:
    """Return what it shows, in one line."""
    return " ".join(draft.text("text").split())[:400]


def typed_parameters(draft: Draft, system: System) -> None:
    """Declare the parameters; without them no formula can be judged."""
    with draft.at("parameters"):
        system.params(**parameters(draft.text("parameters")))


def start_entries(draft: Draft, names: Sequence[str], beside: Sequence[str] = ()) -> dict[str, str]:
    """Return the start by the names of states; words that stand beside it are left out.

    Raises
    ------
    BadModel
    """
    parts = [e for e in entries(draft.text("start")) if e not in beside]
    given = by_name("\n".join(parts), names, "The start")
    if isinstance(given, list):
        if given:
            raise BadModel(
                f"The start: {given[0]!r} has no name before it: {names[0]} = {given[0]}."
            )
        return {}
    return given


def end(draft: Draft, system: System) -> None:
    """Set the time span with its unit, and the step."""
    begin = system.start  # type: ignore[attr-defined]
    with draft.at("t_end"):
        text = draft.text("t_end") or "3"
        found = _SPAN.match(text)
        if not found:
            raise BadModel(f"The time span {text!r} is no number. Write one such as 3, or 30 min.")
        unit = found[2]
        if unit and unit != "s":
            if isinstance(system, LagrangianSystem):
                raise BadModel(
                    f"The time of mechanics is in s, not in {unit!r}. Write {found[1]} s."
                )
            assert isinstance(system, StateSpaceSystem)
            begin(time_unit=unit)
        begin(t_end=value(found[1], "The time span"))
    with draft.at("step"):
        text = draft.text("step")
        begin(h=value(text, "The step size") if text else system.t_end / 2000)
