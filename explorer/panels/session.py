"""`Session`: all state of a panel, without a widget; scripts can do what the mouse does.

A session always holds a state that ran. Values that cannot run are kept as *pending* with a
message, are shown as typed, and are tried again with the next change.
"""

from __future__ import annotations

import copy
import json
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

import numpy as np

from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import simulate
from explorer.errors import (
    BadValue,
    ExplorerError,
    LessonWarning,
    ModelWarning,
    SchemeWarning,
    suggest,
)
from explorer.models import models
from explorer.panels import inputs, spans
from explorer.panels.code import snippet
from explorer.panels.messages import Values
from explorer.panels.pins import Moment, Pin, Pinning
from explorer.panels.state import OWN, START, State, States
from explorer.parameters import roomy
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.schemes import Scheme, schemes
from explorer.status import Status
from explorer.study.asked import Chosen
from explorer.systems import System
from explorer.types import Settings

__all__ = ["Session"]

_LIVE_STEPS = 2_000_000
_STEPS_BACK = 200
_RAN = ("states", "state", "solution")
_KEPT = (*_RAN, "pending", "errors", "problem", "pins", "spans", "_past", "_future")


Model: TypeAlias = str | System | Callable[..., System]  # a name, a system, or what builds one


class Session(Pinning):
    """A model, a scheme, their numbers, and the last solution.

    Parameters
    ----------
    model : str, System or builder
        Name of a model of the gallery, a system of yours, or a function that builds one.
    scheme : Scheme, its class or name, optional
    **settings
        As for `set`.

    Attributes
    ----------
    state : dict
        Plain data, see `explorer.panels.state`.
    solution : Solution
        Of `state`.
    pins : tuple of Pin
        What is compared with it, see `Pinning`.
    pending : dict of key to value
        Typed values that could not run.
    errors : dict of key to sentence
        Why.
    moved : list of keys
        Of what was changed, the last one last.
    problem : str
        The message of the last refusal or failure, or "".

    Raises
    ------
    ExplorerError
        If the first run fails.
    """

    _states: type[States] = States

    def __init__(
        self, model: Model = "bouncing_ball", scheme: Chosen | None = None, **settings: object
    ) -> None:
        self._lock = threading.RLock()
        self._past: list[Moment] = []
        self._future: list[Moment] = []
        self._drag_from: Moment | None = None
        self._listeners: list[Callable[[], None]] = []
        self.pending: Values = {}
        self.errors: dict[str, str] = {}
        self.moved: list[str] = []
        self.problem = ""
        self.spans = {}
        if callable(model) and not isinstance(model, type):
            name = getattr(model, "__name__", "")
            model = name if name in models and models[name] is model else model()
        own: System | None = None
        if not isinstance(model, str):
            own = cast(System, model)  # `choose` refuses all else in a sentence
            choose(own, scheme)
            model = OWN
        self.states = self._states(own)
        self.state = self.states.fresh(model, scheme=scheme)
        self.solution: Solution = self._run(self.states, self.state)
        if settings:
            given: Settings = settings
            self.set(**given)
            self._past.clear()

    @classmethod
    def of(cls, session: Session) -> Session:
        """Return a session of this kind: the same one, or a new one with what of it fits."""
        return session

    def copy(self) -> Session:
        """Return a session in the state that ran last, which then changes on its own."""
        other = copy.copy(self)
        other._lock, other._listeners = threading.RLock(), []
        other._past, other._future = [], []
        other._settle(clear=False)  # what could not run is of the original alone
        return other

    @property
    def system(self) -> System:
        """The system of the current state."""
        return self.states.system(self.state)

    @property
    def scheme(self) -> Scheme:
        """The scheme of the current state."""
        return schemes[self.state["scheme"]](**self.state["knobs"])

    @property
    def status(self) -> Status:
        """How the run of the current state ended."""
        return self.solution.status

    def start(self) -> dict[str, list[float]]:
        """Return the initial q0 and v0 of the current state; x0 of a hybrid system."""
        return self.states.start(self.state)

    def _run(self, states: States, state: State) -> Solution:
        scheme = schemes[state["scheme"]](**state["knobs"])
        every = 1.0 if states.system(state).discrete else state["t_end"]
        h = state["knobs"].get("h", every)
        if states.system(state).discrete and state["t_end"] > _LIVE_STEPS:
            raise BadValue(
                f"{state['t_end']:.2g} iterates are too many for a live plot. Use "
                f"t_end = {_LIVE_STEPS} or fewer."
            )
        if state["t_end"] / h > _LIVE_STEPS:
            u = states.system(state).time_unit
            end, fits = state["t_end"], roomy(state["t_end"] / _LIVE_STEPS)
            raise BadValue(
                f"h = {quantity(h, u)} over {quantity(end, u)} makes {end / h:.2g} steps, too many "
                f"for a live plot. Use h = {quantity(fits, u)} or larger."
            )
        arguments = {k: state[k] for k in ("t_end", "rho", *START)}
        if drawn := inputs.given(state):
            arguments["u"] = drawn
            arguments["rho"] = {k: x for k, x in state["rho"].items() if k not in drawn}
        with warnings.catch_warnings(record=True) as caught:  # the status line says them
            warnings.simplefilter("always")
            solution = simulate(states.system(state), scheme, throw=False, **arguments)
        for w in caught:
            if issubclass(w.category, (LessonWarning, ModelWarning, SchemeWarning)):
                solution = solution.cautioned((str(w.message),))
            else:
                warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
        if not solution.status.ok:
            raise BadValue(solution.status.message)
        return solution

    # -- changing -----------------------------------------------------------------------------

    def set(self, *, drag: bool = False, **values: object) -> None:
        """Change entries and run.

        Parameters
        ----------
        drag : bool
            A transient change: a drag is one step of undo, closed by a call without `drag`.
        **values
            By full key (``**{"q0.y": 2}``) or short name: parameters, knobs, sizes, "model",
            "scheme" (a scheme, its class or name), "t_end".

        Raises
        ------
        ExplorerError
            If a value is refused; the state is then unchanged.
        """
        with self._lock:
            state = self.state
            if "model" in values:  # names are those of the new model
                state = self.states.fresh(str(values["model"]))
            full = {self.states.key(state, k): v for k, v in values.items()}
            kept = {k: copy.copy(getattr(self, k)) for k in _KEPT}
            errors = self.change(full, drag=drag)
            if errors:
                vars(self).update(kept)
                raise BadValue("; ".join(dict.fromkeys(errors.values())))

    def change(self, values: Mapping[str, object], *, drag: bool = False) -> dict[str, str]:
        """Change entries by full key as far as possible; return ``{key: message}`` for the rest.

        Never raises: failed values are kept in `pending` and `errors`, and the last good state
        stays.
        """
        with self._lock:
            before = self._here
            self.moved = [*(k for k in self.moved if k not in values), *values]
            together = {**self.pending, **values}
            if not self._try(together) and (together == dict(values) or not self._try(values)):
                for key, value in values.items():  # one after the other: keep what works
                    if len(values) == 1 or not self._try({key: value}):
                        self.pending[key] = value
                        self.errors[key] = self.problem
            if self.state["model"] != before[1]["model"]:
                typed, said = self.pending, self.errors
                self._settle(clear=True)
                self.pending = {k: typed[k] for k in values if k in typed}
                self.errors = {k: said[k] for k in values if k in said}
            if drag:
                self._drag_from = self._drag_from or before
            else:
                self._remember(self._drag_from or before)
                self._drag_from = None
            self._tell()
            return {k: self.errors[k] for k in values if k in self.errors}

    @np.errstate(all="ignore")
    def _try(self, values: Mapping[str, object]) -> bool:
        """Run with `values`; on success they are the state, else `problem` says why not."""
        state = self.state
        try:
            # the model first: it decides which other keys there are
            for key in sorted(values, key=lambda k: (k != "model", k != "scheme")):
                if key in self.states.keys(state):
                    state = self.states.change(state, key, values[key])
            solution = self.solution
            if state != self.state or self.system.revision != solution.revision:
                solution = self._run(self.states, state)
        except ExplorerError as error:
            self.problem = str(error)
            return False
        except Exception as error:  # a model's own code may throw anything
            self.problem = f"{type(error).__name__}: {error}."
            return False
        self.state, self.solution, self.problem = state, solution, ""
        known = self.states.keys(state) if self.errors else ()
        for key in {*values, *(self.errors.keys() - known)}:  # a scheme takes its knobs with it
            self.pending.pop(key, None)
            self.errors.pop(key, None)
        return True

    def _settle(self, *, clear: bool) -> None:
        self.pending, self.errors, self.problem = {}, {}, ""
        if clear:
            self.pins, self.spans = (), {}

    def _replace(self, states: States, state: State) -> None:
        """Go to another state, or raise and stay."""
        solution = self._run(states, state)
        if self._drag_from is not None:  # its release was lost with the page
            self._remember(self._drag_from)
            self._drag_from = None
        self._settle(clear=states is not self.states or state["model"] != self.state["model"])
        self.states, self.state, self.solution = states, state, solution

    # -- history ------------------------------------------------------------------------------

    @property
    def _here(self) -> Moment:
        return self.states, self.state, self.pins, self.spans

    def _remember(self, before: Moment) -> None:
        if self._here != before:
            self._past = [*self._past[1 - _STEPS_BACK :], before]
            self._future = []

    def _go(self, source: list[Moment], target: list[Moment]) -> None:
        with self._lock:
            if source:
                here = self._here
                states, state, pins, ranges = source[-1]
                if states is self.states and state == self.state:  # only what is shown with it
                    self._settle(clear=False)
                else:
                    self._replace(states, state)
                source.pop()
                self.pins, self.spans = pins, ranges
                target.append(here)
            self._tell()

    @property
    def can_undo(self) -> bool:
        """Whether `undo` has a step to take back."""
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        """Whether `redo` has a step to make again."""
        return bool(self._future)

    def undo(self) -> None:
        """Take the last change back; a whole drag is one change."""
        self._go(self._past, self._future)

    def redo(self) -> None:
        """Make the change again that was taken back."""
        self._go(self._future, self._past)

    def _leap(
        self,
        states: States,
        state: State,
        pins: tuple[Pin, ...] = (),
        ranges: spans.Spans | None = None,
    ) -> None:
        with self._lock:
            before = self._here
            self._replace(states, state)
            self.pins, self.spans = pins or self.pins, self.spans if ranges is None else ranges
            self._remember(before)
            self._tell()

    def reset(self) -> None:
        """Go back to the model's defaults; can be undone."""
        state = self.states.fresh(self.state["model"], self.state["sizes"])
        self._leap(self.states, state, ranges={})

    def preset(self, name: str) -> None:
        """Apply a preset of the model; the scheme stays if it has all options of the preset.

        Raises
        ------
        BadValue
            If the model has no such preset.
        """
        presets = self.system.presets
        if name not in presets:
            raise BadValue(f"'{self.system.name}' has no preset {name!r}.{suggest(name, presets)}")
        model, sizes, wanted = self.state["model"], self.state["sizes"], {*presets[name]} - {"text"}
        state = self.states.fresh(model, sizes, self.state["scheme"])
        keys = self.states.keys(state)
        if not wanted <= {*keys, *(k.split(".", 1)[-1] for k in keys)}:  # a knob of another scheme
            state = self.states.fresh(model, sizes)
        for key, value in presets[name].items():
            if key != "text":
                state = self.states.change(state, self.states.key(state, key), value)
        self._leap(self.states, state)

    # -- keeping ------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the state as JSON, with the equations of a model of your own, pins and ranges."""
        text, more = self.states.to_json(self.state), self._saved_pins() | self._saved_spans()
        return json.dumps({**json.loads(text), **more}) if more else text

    def load_state(self, text: str | Mapping[str, object]) -> None:
        """Load a state written by `to_json`; nothing in it is ever executed.

        Runs that are pinned stay, if the model does and the state pins none itself; sliders have
        the ranges that it holds.

        Raises
        ------
        ExplorerError
            If it is not such a state, or cannot run; nothing changes then.
        """
        states, state = self.states.from_json(text)
        pins, ranges = self._loaded_pins(text, states, state), spans.loaded(text, states, state)
        self._leap(states, state, pins, ranges)

    def code(self) -> str:
        """Return Python code for the present solution and picture, without a widget."""
        return snippet(self)

    # -- listeners ----------------------------------------------------------------------------

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change of anything."""
        self._listeners.append(listener)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def __repr__(self) -> str:
        return f"Session({self.system.name!r}, {self.scheme}, {self.solution.status.name})"
