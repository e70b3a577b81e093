"""The state of the panel with two starts: a session, and by what the second start differs.

That of a session, and one entry more: ``"see": {"state", "offset"}``, the name of a state and the
offset of it in its unit. Full keys: "see.state", "see.offset".
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from explorer.derivatives.question import locating
from explorer.errors import (
    BadValue,
    ExplorerError,
    LessonWarning,
    ModelWarning,
    NotApplicable,
    SchemeWarning,
    suggest,
)
from explorer.panels.code import called, opening, settings
from explorer.panels.see import SeeStates
from explorer.panels.session import Model, Session
from explorer.panels.state import START, State, States
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.schemes import schemes
from explorer.study.asked import Chosen
from explorer.study.two_starts import TwoStarts, state_names, two_starts
from explorer.systems import System

__all__ = ["TwoStartsSession", "TwoStartsStates"]

_USUAL = 1e-3  # of how far a state goes from its start, rounded to a power of ten
_KEPT = 8  # pairs of runs: undo and the release of a slider ask for the same one again


class TwoStartsStates(SeeStates):
    """States of the panel with two starts."""

    scales: ClassVar[Mapping[str, str]] = {"see.offset": "log"}

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state of a model: the first of its states is offset.

        The scheme locates events if one can: one of fixed steps takes two close starts through an
        impact in the same step, so that they part less than the motions do.
        """
        if scheme is None:
            system = self.system({"model": model, "sizes": dict(sizes or {})})
            scheme = located if (located := locating(system)).differentiates(system) else None
        state = super().fresh(model, sizes, scheme)
        name = state_names(self.system(state))[0]
        state["see"] = {"state": name, "offset": self.usual_offset(state, name)}
        return state

    def usual_offset(self, state: State, name: str) -> float:
        """Return a power of ten, about a thousandth of how far a state goes from its start."""
        ends = [end for group in self.start_ranges(state).values() for end in group]
        low, high = ends[state_names(self.system(state)).index(name)]
        return float(10.0 ** np.round(np.log10(_USUAL * (high - low) / 2)))

    def takes(self, key: str) -> bool:
        """Whether a full key of a session is one of this panel too: all are."""
        return True

    def seen(self, state: State, name: str, value: object) -> object:
        """Return the checked offset, or the name of the state that it is of."""
        if name == "offset":
            return number(value, "The offset of the second start", positive=True)
        names = state_names(self.system(state))
        if value not in names:
            raise BadValue(f"There is no state {value!r}.{suggest(str(value), names)}")
        return value

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed; another state has an offset of its own size."""
        new = super().change(state, key, value)
        if key == "see.state" and value != state["see"]["state"]:
            new["see"]["offset"] = self.usual_offset(new, str(value))
        elif key.startswith("size.") and state["see"]["state"] in state_names(self.system(new)):
            new["see"] = dict(state["see"])
        return new

    def fitting(self, given: State) -> State:
        """Return what of a saved state this panel takes: no inputs along time."""
        return {**given, "u": {}}


class TwoStartsSession(Session):
    """A model, its run, and one that begins beside it.

    Attributes
    ----------
    solution : Solution
        The first run.
    """

    most_pins = 0
    _states = TwoStartsStates

    def __init__(
        self, model: Model = "impact_oscillator", scheme: Chosen | None = None, **settings: object
    ) -> None:
        self._found: dict[str, TwoStarts] = {}
        super().__init__(model, scheme, **settings)

    @classmethod
    def of(cls, session: Session) -> TwoStartsSession:
        """Return a session of this kind, with the state of another one."""
        if isinstance(session, cls):
            return session
        new = cls(session.system if session.states.own is not None else session.state["model"])
        own = new.states.keys(new.state)
        known = set(session.states.keys(session.state)) - {"model"}
        if "scheme" in known:
            new.change({"scheme": session.states.value(session.state, "scheme")})
        new.change({k: session.states.value(session.state, k) for k in own if k in known})
        new.take_spans(session)
        new._past.clear()
        return new

    @property
    def found(self) -> TwoStarts:
        """Both runs, and how far they are apart."""
        return self._compared(self.states, self.state)

    def _run(self, states: States, state: State) -> Solution:
        return self._compared(states, state).first

    def _compared(self, states: States, state: State) -> TwoStarts:
        system = states.system(state)
        key = json.dumps([id(system), system.revision, state])
        if key not in self._found:
            first = super()._run(states, state)  # which refuses what is too long to be live
            try:
                found = _both(system, state)
            except NotApplicable:
                raise
            except ExplorerError as error:  # the first run is there already
                raise BadValue(f"From the second start: {error}") from None
            while len(self._found) >= _KEPT:
                del self._found[next(iter(self._found))]
            self._found[key] = replace(found, first=first)
        return self._found[key]

    def code(self) -> str:
        """Return Python that makes the present picture without any widget."""
        see = self.state["see"]
        offset = {see["state"]: see["offset"]}
        asked = ["model", "scheme", f"{offset=!r}", *settings(self)]
        lines = [*opening(self), *called("found = ex.study.two_starts", asked)]
        return "\n".join([*lines, "ex.views.two_starts(found)"]) + "\n"

    def to_csv(self) -> str:
        """Return the distances as CSV: a row for each time of either curve."""
        found = self.found
        rows = [f"curve,t ({found.system.time_unit}),distance / range"]
        for name, apart in (("distance", found.apart), ("predicted", found.predicted)):
            if apart is not None:
                pairs = zip(apart.t.tolist(), apart.distance.tolist(), strict=True)
                rows += [f"{name},{t!r},{d!r}" for t, d in pairs]
        return "\n".join(rows) + "\n"


def _both(system: System, state: State) -> TwoStarts:
    """Run a state from both starts; what is warned of the second run is kept with it."""
    see, asked = state["see"], {k: state[k] for k in ("t_end", "rho", *START)}
    scheme = schemes[state["scheme"]](**state["knobs"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = two_starts(system, scheme, offset={see["state"]: see["offset"]}, **asked)
    ours = (LessonWarning, ModelWarning, SchemeWarning)
    said = [str(w.message) for w in caught if issubclass(w.category, ours)]
    return replace(found, second=found.second.cautioned(said))
