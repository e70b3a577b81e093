"""`Session`: all state of a panel, without any widget; what the mouse can do, a script can do.

A session always holds a state that ran: what cannot run is kept aside as *pending* with its
sentence, is shown as typed, and is tried again with the next change.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from explorer.compiled import compile_system
from explorer.errors import BadValue, ExplorerError, suggest
from explorer.models import models
from explorer.parameters import knobs_of, number
from explorer.schemes import Scheme, schemes
from explorer.simulation import choose, simulate
from explorer.solution import Solution
from explorer.systems import System, from_spec

__all__ = ["Session"]

OWN = "own"
_LIVE_STEPS = 2_000_000


class Session:
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
    system : System
    state : dict
        Plain data: model, sizes, scheme, knobs, rho, t_end, q0, v0 (None: the model's own start).
    solution : Solution
        Of `state`; complete unless the very first run failed.
    pinned : Solution or None
    errors : dict of key to sentence
        What is pending.
    problem : str
        The sentence of the last refusal or failure, or "".

    Raises
    ------
    ExplorerError
        If the first run makes no sense.
    """

    def __init__(self, model: Any = "bouncing_ball", scheme: Any = None, **settings: Any) -> None:
        self._lock = threading.RLock()
        self._own: System | None = None
        self._past: list[dict] = []
        self._future: list[dict] = []
        self._drag_from: dict | None = None
        self._listeners: list[Callable[[], None]] = []
        self.pinned: Solution | None = None
        self.pending: dict[str, Any] = {}
        self.errors: dict[str, str] = {}
        self.problem = ""
        self._built: tuple[str, System] | None = None
        if callable(model) and not isinstance(model, type):
            name = getattr(model, "__name__", "")
            model = name if name in models and models[name] is model else model()
        if isinstance(model, str):
            self.state = self._fresh(model, scheme=scheme)
        else:
            choose(model, scheme)
            self._own = model
            self.state = self._fresh(OWN, scheme=scheme)
        self.solution: Solution = self._run(self.state)
        if settings:
            self.set(**settings)
            self._past.clear()

    # -- state --------------------------------------------------------------------------------

    def _fresh(self, model: str, sizes: Mapping | None = None, scheme: Any = None) -> dict[str, Any]:
        """Return the default state of a model."""
        if model != OWN:
            models[model]
        sizes = dict(sizes or {})
        system = self._system(model, sizes)
        chosen = choose(system, scheme)
        knobs = {k: getattr(chosen, k) for k in knobs_of(chosen)}
        if (scheme is None or isinstance(scheme, (str, type))) and "h" in knobs:
            knobs["h"] = system.h
        return {
            "model": model,
            "sizes": {k: int(p.value) for k, p in system.sizes.items()},
            "scheme": type(chosen).__name__,
            "knobs": knobs,
            "rho": {k: p.value for k, p in system.parameters.items()},
            "t_end": system.t_end,
            "q0": None,
            "v0": None,
        }

    def _system(self, model: str, sizes: Mapping[str, int]) -> System:
        if model == OWN and self._own is not None:
            return self._own
        key = json.dumps([model, dict(sizes)])
        if self._built is None or self._built[0] != key:
            self._built = (key, models[model](**sizes))
        return self._built[1]

    @property
    def system(self) -> System:
        """The system of the current state."""
        return self._system(self.state["model"], self.state["sizes"])

    @property
    def scheme(self) -> Scheme:
        """The scheme of the current state."""
        return schemes[self.state["scheme"]](**self.state["knobs"])

    def keys(self) -> list[str]:
        """Return the full key of everything that `set` takes."""
        s = self.state
        coordinates = self.system.coordinates  # type: ignore[attr-defined]
        return [
            "model", "scheme", "t_end",
            *(f"size.{k}" for k in s["sizes"]), *(f"rho.{k}" for k in s["rho"]),
            *(f"knob.{k}" for k in s["knobs"]),
            *(f"q0.{c}" for c in coordinates), *(f"v0.{c}" for c in coordinates),
        ]  # fmt: skip

    def _key(self, name: str) -> str:
        """Return the full key of a short name: a parameter before a knob before a size."""
        keys = self.keys()
        for candidate in (name, f"rho.{name}", f"knob.{name}", f"size.{name}"):
            if candidate in keys:
                return candidate
        short = [k.split(".", 1)[-1] for k in keys if not k.startswith(("q0.", "v0."))]
        raise BadValue(f"There is nothing called {name!r} to set here.{suggest(name, short)}")

    def _with(self, state: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
        """Return `state` with one entry changed, checked on its own."""
        new = copy.deepcopy(state)
        group, _, name = key.partition(".")
        if group == "model":
            return self._fresh(str(value))
        if group == "scheme":
            chosen = choose(self._system(state["model"], state["sizes"]), str(value))
            kept = {k: v for k, v in state["knobs"].items() if k in knobs_of(chosen)}
            new |= {"scheme": type(chosen).__name__}
            new["knobs"] = {k: getattr(chosen, k) for k in knobs_of(chosen)} | kept
        elif group == "t_end":
            new["t_end"] = number(value, "The time span t_end", "s")
        elif group == "size":
            param = self._system(state["model"], state["sizes"]).sizes[name]
            wanted = number(value, name)
            if wanted != int(wanted) or not param.low <= wanted <= param.high:
                raise BadValue(
                    f"{name} = {wanted:g} must be a whole number from {param.low:g} to "
                    f"{param.high:g}."
                )
            fresh = self._fresh(state["model"], {**state["sizes"], name: int(wanted)})
            for k in ("scheme", "knobs", "t_end", "rho"):
                fresh[k] = new[k]
            return fresh
        elif group == "rho":
            new["rho"][name] = number(value, name, self.system.parameters[name].unit)
        elif group == "knob":
            checked = schemes[state["scheme"]](**{**state["knobs"], name: value})
            new["knobs"][name] = getattr(checked, name)
        else:
            i = self.system.coordinates.index(name)  # type: ignore[attr-defined]
            q, v = self.start(state)
            values = {"q0": q, "v0": v}[group]
            values[i] = number(value, f"{'start of ' if group == 'q0' else 'velocity of '}{name}")
            new[group] = values
        return new

    def start(self, state: Mapping[str, Any] | None = None) -> tuple[list[float], list[float]]:
        """Return the initial q and v of a state, the model's formulas where nothing else is set."""
        state = state or self.state
        system = self._system(state["model"], state["sizes"])
        q, v, _ = compile_system(system).start(list(state["rho"].values()))
        return (
            list(state["q0"]) if state["q0"] is not None else q.tolist(),
            list(state["v0"]) if state["v0"] is not None else v.tolist(),
        )

    # -- running ------------------------------------------------------------------------------

    def _run(self, state: Mapping[str, Any]) -> Solution:
        system = self._system(state["model"], state["sizes"])
        scheme = schemes[state["scheme"]](**state["knobs"])
        steps = state["t_end"] / getattr(scheme, "h", state["t_end"])
        if steps > _LIVE_STEPS:
            raise BadValue(
                f"h = {scheme.h:g} s over {state['t_end']:g} s makes {steps:.2g} steps, "  # type: ignore[attr-defined]
                f"too many for a live picture; h = {state['t_end'] / _LIVE_STEPS:.1g} s would do."
            )
        arguments = {k: state[k] for k in ("t_end", "q0", "v0", "rho")}
        solution = simulate(system, scheme, throw=False, **arguments)
        if not solution.status.ok:
            raise BadValue(solution.status.message)
        return solution

    def set(self, *, drag: bool = False, **values: Any) -> None:
        """Change entries and run.

        Parameters
        ----------
        drag : bool
            A transient change: a drag is one step of undo, closed by a call without `drag`.
        **values
            By full key (``**{"q0.y": 2}``) or short name: parameters, knobs, sizes, "model",
            "scheme", "t_end".

        Raises
        ------
        ExplorerError
            The sentence; the state is then what it was.
        """
        full = {self._key(k) if k not in ("model", "scheme") else k: v for k, v in values.items()}
        errors = self.change(full, drag=drag)
        if errors:
            for key in full:
                self.pending.pop(key, None)
                self.errors.pop(key, None)
            raise BadValue("; ".join(dict.fromkeys(errors.values())))

    def change(self, values: Mapping[str, Any], *, drag: bool = False) -> dict[str, str]:
        """Change entries by full key as far as possible; return ``{key: sentence}`` of the rest.

        Never raises: what fails is kept in `pending` and `errors`, and the state that ran stays.
        """
        with self._lock:
            before = self.state
            self.problem = ""
            together = {**self.pending, **values}
            if not self._try(together) and (together == dict(values) or not self._try(values)):
                for key, value in values.items():  # one after the other: keep what works
                    if len(values) > 1 and self._try({key: value}):
                        continue
                    self.pending[key] = value
                    self.errors[key] = self.problem
            for key in values:
                if key not in self.pending:
                    self.errors.pop(key, None)
            if drag:
                self._drag_from = self._drag_from or before
            else:
                self._remember(self._drag_from or before)
                self._drag_from = None
            if self.state["model"] != before["model"]:
                self.pending, self.errors = {}, {}
                self.pinned = None
            self._tell()
            return {k: self.errors[k] for k in values if k in self.errors}

    def _try(self, values: Mapping[str, Any]) -> bool:
        state = self.state
        try:
            ordered = sorted(values.items(), key=lambda x: x[0] not in ("model", "scheme"))
            for key, value in ordered:
                if key != "model" and not self._known(state, key):
                    continue  # pending on a model that is gone
                state = self._with(state, key, value)
            solution = self.solution if state == self.state else self._run(state)
        except ExplorerError as error:
            self.problem = str(error)
            return False
        except Exception as error:  # a model's own code may throw anything
            self.problem = f"{type(error).__name__}: {error}. The last good picture stays."
            return False
        self.state, self.solution, self.problem = state, solution, ""
        for key in values:
            self.pending.pop(key, None)
            self.errors.pop(key, None)
        return True

    def _known(self, state: Mapping[str, Any], key: str) -> bool:
        group, _, name = key.partition(".")
        known = {"rho": state["rho"], "knob": state["knobs"], "size": state["sizes"]}
        if group in ("q0", "v0"):
            system = self._system(state["model"], state["sizes"])
            return name in system.coordinates  # type: ignore[attr-defined]
        return key in ("scheme", "t_end") or name in known.get(group, ())

    # -- history ------------------------------------------------------------------------------

    def _remember(self, before: dict[str, Any]) -> None:
        if self.state != before:
            self._past = [*self._past[-199:], before]
            self._future = []

    def _go(self, source: list[dict], target: list[dict]) -> None:
        with self._lock:
            if source:
                state = source.pop()
                target.append(self.state)
                self.solution = self._run(state)
                if state["model"] != self.state["model"]:
                    self.pinned = None
                self.state, self.pending, self.errors, self.problem = state, {}, {}, ""
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

    def reset(self) -> None:
        """Go back to the model's defaults; can be undone."""
        self._replace(self._fresh(self.state["model"], self.state["sizes"]))

    def preset(self, name: str) -> None:
        """Take a named setting of the model."""
        presets = self.system.presets
        if name not in presets:
            raise BadValue(f"'{self.system.name}' has no preset {name!r}.{suggest(name, presets)}")
        state = self._fresh(self.state["model"], self.state["sizes"])
        for key, value in presets[name].items():
            if key != "text":
                state = self._with(state, self._key(key), value)
        self._replace(state)

    def _replace(self, state: dict[str, Any]) -> None:
        with self._lock:
            before, solution = self.state, self._run(state)
            if state["model"] != before["model"]:
                self.pinned = None
            self.state, self.solution = state, solution
            self.pending, self.errors, self.problem = {}, {}, ""
            self._remember(before)
            self._tell()

    # -- comparing ----------------------------------------------------------------------------

    def pin(self) -> None:
        """Keep the current run in the picture, to compare the next ones with it."""
        self.pinned = self.solution
        self._tell()

    def unpin(self) -> None:
        """Forget the pinned run."""
        self.pinned = None
        self._tell()

    # -- away from here -----------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the state as JSON, the equations included if the model is your own."""
        state = {"format": 1, **self.state}
        if self._own is not None and state["model"] == OWN:
            state["model"] = self._own.to_spec()  # type: ignore[attr-defined]
        return json.dumps(state)

    def load_state(self, text: str | Mapping[str, Any]) -> None:
        """Take a state written by `to_json`; nothing in it is ever executed.

        Raises
        ------
        ExplorerError
            If it is no such state; nothing changes then.
        """
        try:
            given = json.loads(text) if isinstance(text, str) else dict(text)
            if not isinstance(given, dict) or given.get("format") != 1:
                raise BadValue("This is not a saved state (JSON with \"format\": 1).")
            own = self._own
            if isinstance(given["model"], dict):
                self._own = from_spec(given["model"])
                given["model"] = OWN
            try:
                state = self._fresh(given["model"], given["sizes"], scheme=given["scheme"])
                for group in ("rho", "knobs"):
                    for name, value in given[group].items():
                        if name in state[group]:
                            state = self._checked(state, group, name, value)
                state["t_end"] = number(given["t_end"], "t_end", "s")
                for k in ("q0", "v0"):
                    state[k] = None if given[k] is None else [number(x, k) for x in given[k]]
                self._replace(state)
            except BaseException:
                self._own = own
                raise
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, ExplorerError):
                raise
            raise BadValue(f"This is not a saved state ({error}).") from None

    def _checked(self, state: dict, group: str, name: str, value: Any) -> dict:
        if group == "rho":
            state["rho"][name] = number(value, name)
            return state
        return self._with(state, f"knob.{name}", value)

    def code(self) -> str:
        """Return Python that makes the present solution and picture without any widget."""
        from explorer.panels.code import snippet

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


def same(one: Solution, other: Solution) -> bool:
    """Whether two solutions are bitwise equal."""
    return all(np.array_equal(getattr(one, k), getattr(other, k)) for k in ("t", "q", "v", "p"))
