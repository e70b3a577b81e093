"""A session as Python: the snippet that reproduces its picture."""

from __future__ import annotations

from dataclasses import fields
from typing import Protocol

from explorer.panels.inputs import written
from explorer.panels.state import START, State
from explorer.schemes import schemes
from explorer.systems import System
from explorer.types import Plain

__all__ = ["called", "opening", "settings", "snippet"]


class Session(Protocol):
    """What is asked of a session."""

    state: State

    @property
    def system(self) -> System:
        """The system of the current state."""


def snippet(session: Session) -> str:
    """Return runnable Python; it names only what differs from the defaults."""
    run = called("solution = ex.simulate", ["model", "scheme", *settings(session)])
    return "\n".join([*opening(session), *run, "ex.views.explore(solution)"]) + "\n"


def opening(session: Session) -> list[str]:
    """Return the lines that make the model and the scheme."""
    state, system = session.state, session.system
    lines = ["import numpy as np", "", "import explorer as ex", ""]
    lines = lines if state.get("u") else lines[2:]
    if state["model"] == "own":
        lines += ["from explorer import systems", "", "model = systems.from_spec("]
        lines += [f"    {_wrapped(system.to_spec())}", ")"]
    else:
        sizes = ", ".join(f"{k}={v}" for k, v in state["sizes"].items())
        lines.append(f"model = ex.models.{state['model']}({sizes})")
    kind = schemes[state["scheme"]]
    default = {f.name: f.default for f in fields(kind)}
    knobs = [f"{k}={v!r}" for k, v in state["knobs"].items() if v != default[k] or k == "h"]
    return [*lines, f"scheme = ex.{state['scheme']}({', '.join(knobs)})"]


def settings(session: Session) -> list[str]:
    """Return the time span, start and parameters as arguments."""
    state, system = session.state, session.system
    drawn = state.get("u", {})
    usual = {k: p.value for k, p in system.parameters.items()}
    changed = {k: v for k, v in state["rho"].items() if v != usual[k] and k not in drawn}
    arguments = [f"t_end={state['t_end']!r}"]
    arguments += [f"{k}={state[k]!r}" for k in START if state[k] is not None]
    if changed:
        arguments.append(f"rho={changed!r}")
    return arguments + written(state)


def called(function: str, arguments: list[str]) -> list[str]:
    """Return a call on one line, or on several if it is long."""
    line = f"{function}({', '.join(arguments)})"
    return [line] if len(line) <= 100 else [f"{function}(", *(f"    {a}," for a in arguments), ")"]


def _wrapped(spec: Plain) -> str:
    import pprint

    return pprint.pformat(spec, width=92, sort_dicts=False).replace("\n", "\n    ")
