"""A session as Python: the snippet that reproduces its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Protocol

from explorer.models import models
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


class Pin(Protocol):
    """What is asked of a pinned run."""

    @property
    def letter(self) -> str:
        """How it is called."""

    @property
    def state(self) -> State:
        """Of its run."""

    @property
    def place(self) -> int:
        """Which of the four it is."""


class Pinning(Session, Protocol):
    """A session that may have pinned runs."""

    @property
    def pins(self) -> Sequence[Pin]:
        """The pinned runs."""


def snippet(session: Pinning) -> str:
    """Return runnable Python; it names only what differs from the defaults."""
    run = called("solution = ex.simulate", ["model", "scheme", *settings(session)])
    lines = [*opening(session), *run]
    names: dict[int, str] = {}
    for pin in session.pins:
        then, name = pin.state, f"pinned_{pin.letter.lower()}"
        same = then["sizes"] == session.state["sizes"]
        model = "model" if same else _built(then)
        system = session.system if same else models[then["model"]](**then["sizes"])
        alike = all(then[k] == session.state[k] for k in ("scheme", "knobs"))
        scheme = "scheme" if alike else _scheme(then)
        lines += called(f"{name} = ex.simulate", [model, scheme, *_settings(then, system)])
        names[pin.place] = name
    if not names:
        return "\n".join([*lines, "ex.views.explore(solution)"]) + "\n"
    drawn = ", ".join(names.get(k, "None") for k in range(max(names) + 1))
    return "\n".join([*lines, f"ex.views.explore(solution, [{drawn}])"]) + "\n"


def opening(session: Session) -> list[str]:
    """Return the lines that make the model and the scheme."""
    state, system = session.state, session.system
    lines = ["import numpy as np", "", "import explorer as ex", ""]
    drawn = [state, *(pin.state for pin in getattr(session, "pins", ()))]
    lines = lines if any(one.get("u") for one in drawn) else lines[2:]
    if state["model"] == "own":
        lines += ["from explorer import systems", "", "model = systems.from_spec("]
        lines += [f"    {_wrapped(system.to_spec())}", ")"]
    else:
        lines.append(f"model = {_built(state)}")
    return [*lines, f"scheme = {_scheme(state)}"]


def _built(state: State) -> str:
    sizes = ", ".join(f"{k}={v}" for k, v in state["sizes"].items())
    return f"ex.models.{state['model']}({sizes})"


def _scheme(state: State) -> str:
    kind = schemes[state["scheme"]]
    default = {f.name: f.default for f in fields(kind)}
    knobs = [f"{k}={v!r}" for k, v in state["knobs"].items() if v != default[k] or k == "h"]
    return f"ex.{state['scheme']}({', '.join(knobs)})"


def settings(session: Session) -> list[str]:
    """Return the time span, start and parameters as arguments."""
    return _settings(session.state, session.system)


def _settings(state: State, system: System) -> list[str]:
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
