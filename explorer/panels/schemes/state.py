"""The state of the panel that compares schemes: a model, its numbers, and which schemes run it.

That of a session, and one entry more: ``"see": {"step", "coordinate", "MoreauJean", ...}``, the
step of each scheme in parts of its usual one, the coordinate that is drawn, and which schemes are
shown. Full keys: "see.step", "see.coordinate", "see.MoreauJean".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar, cast

from explorer.dispatch.simulate import schemes_for
from explorer.errors import BadValue, suggest
from explorer.panels.code import called, opening, settings
from explorer.panels.see import SeeStates
from explorer.panels.session import Model, Session
from explorer.panels.state import START, State, States
from explorer.parameters import knobs_of, number
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.study.asked import Chosen, with_knobs
from explorer.study.scheme_comparison import SchemeComparison, compare_schemes

__all__ = ["SchemesSession", "SchemesStates"]

_KEPT = 8  # comparisons: undo and the release of a slider ask for the same one again


class SchemesStates(SeeStates):
    """States of the panel that compares schemes."""

    scales: ClassVar[Mapping[str, str]] = {"see.step": "log"}

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state of a model; lessons are there, but not shown."""
        del scheme  # all of them are compared
        state = super().fresh(model, sizes)
        system = self.system(state)
        offered = {type(s).__name__: not s.lesson for s in schemes_for(system, lessons=True)}
        state["see"] = {"step": 1.0, "coordinate": system.coordinates[0], **offered}
        return state

    def takes(self, key: str) -> bool:
        """Whether a full key of a session is one of this panel too."""
        return not key.startswith(("scheme", "knob."))

    def seen(self, state: State, name: str, value: object) -> object:
        """Return the checked step, or coordinate."""
        if name == "step":
            return number(value, "The step in parts of the usual one", positive=True)
        names = list(self.system(state).coordinates)
        if value not in names:
            raise BadValue(f"There is no coordinate {value!r}.{suggest(str(value), names)}")
        return value

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed; another size may have other coordinates."""
        new, see = super().change(state, key, value), state["see"]
        if key.startswith("size."):
            kept = {name: see[name] for name in new["see"] if name in see}
            if kept["coordinate"] not in self.system(new).coordinates:
                del kept["coordinate"]
            new["see"] |= kept
        return new

    def fitting(self, given: State) -> State:
        """Return what of a saved state this panel takes: not the scheme."""
        return {**given, "scheme": None, "knobs": {}, "u": {}}


class SchemesSession(Session):
    """A model, and its runs by several schemes.

    Attributes
    ----------
    solution : Solution
        The run of the first scheme that is shown and does not fail.
    """

    most_pins = 1
    _states = SchemesStates

    def __init__(self, model: Model = "impact_oscillator", **settings: object) -> None:
        self._found: dict[str, SchemeComparison] = {}
        super().__init__(model, None, **settings)

    @classmethod
    def of(cls, session: Session) -> SchemesSession:
        """Return a session of this kind, with the model, parameters and start of another one."""
        if isinstance(session, cls):
            return session
        new = cls(session.system if session.states.own is not None else session.state["model"])
        own = new.states.keys(new.state)
        given = {k: session.states.value(session.state, k) for k in own if not k.startswith("see.")}
        del given["model"]
        new.change(given)
        new.take_spans(session)
        new._past.clear()
        return new

    def comparison(self) -> SchemeComparison:
        """Return the runs by the schemes that are shown."""
        return self._compared(self.states, self.state)

    @property
    def ghost(self) -> SchemeComparison | None:
        """The pinned comparison."""
        return cast("SchemeComparison | None", self.beside)

    def _beside(self) -> SchemeComparison:
        return self.comparison()

    def _run(self, states: States, state: State) -> Solution:
        return self._compared(states, state).runs[0].solution

    def _compared(self, states: States, state: State) -> SchemeComparison:
        system = states.system(state)
        asked = {k: state[k] for k in ("t_end", "rho", *START)}
        shown = [name for name, is_shown in state["see"].items() if is_shown is True]
        key = json.dumps(
            [id(system), system.revision, state["model"], state["see"]["step"], shown, asked]
        )
        if key not in self._found:
            while len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            self._found[key] = compare_schemes(system, _schemes(states, state), **asked)
        return self._found[key]

    def code(self) -> str:
        """Return Python that makes the present picture without any widget."""
        *lines, _ = opening(self)
        schemes = _schemes(self.states, self.state).items()
        lines += ["schemes = {", *(f"    {name!r}: ex.{one!r}," for name, one in schemes), "}"]
        call = called("found = ex.study.compare_schemes", ["model", "schemes", *settings(self)])
        drawn = f"ex.views.scheme_comparison(found, {self.state['see']['coordinate']!r})"
        return "\n".join([*lines, *call, drawn]) + "\n"

    def to_csv(self) -> str:
        """Return the errors as CSV: a row for each scheme."""
        rows = ["scheme,relative error,steps,events,time (s)"]
        for run in self.comparison().runs:
            s = run.solution
            rows.append(
                f"{run.name},{run.error!r},{s.status.step},{len(s.events)},{float(s.seconds)!r}"
            )
        return "\n".join(rows) + "\n"


def _schemes(states: States, state: State) -> dict[str, Scheme]:
    """Return the schemes of a state that are shown, with their steps, by name."""
    see = state["see"]
    return {
        type(one).__name__: _stepped(one, see["step"])
        for one in schemes_for(states.system(state), lessons=True)
        if see[type(one).__name__]
    }


def _stepped(scheme: Scheme, part: float) -> Scheme:
    """Return a scheme with a part of its step, if it has one."""
    step: float | None = getattr(scheme, "h", None) if "h" in knobs_of(scheme) else None
    return scheme if step is None else with_knobs(scheme, h=step * part)
