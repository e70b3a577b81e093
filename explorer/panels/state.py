"""The state of a session as plain data, and what one changed entry makes of it.

``{"model", "sizes", "scheme", "knobs", "rho", "t_end", "q0", "v0", "x0", "mode0"}``; the last four
are None as long as the model's own start holds. Full keys: "model", "scheme", "t_end", "size.n",
"rho.e", "knob.h", "q0.y", "v0.y"; of a hybrid system "x0.T" and "mode0". A system with inputs has
the entry "u" too, see `explorer.panels.inputs`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Protocol, TypeAlias

import numpy as np

from explorer.compiled import compile_system
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import schemes_for, simulate
from explorer.errors import BadValue, ExplorerError, suggest
from explorer.models import models
from explorer.panels import inputs
from explorer.parameters import knobs_of, number
from explorer.schemes import Scheme, schemes
from explorer.study.asked import Chosen
from explorer.systems import HybridSystem, LagrangianSystem, StateSpaceSystem, System, from_spec
from explorer.systems.maps import iterates
from explorer.types import Plain

__all__ = ["OWN", "START", "States", "saved"]

OWN = "own"
START = ("q0", "v0", "x0", "mode0")
_BY_FULL_KEY = ("q0.", "v0.", "x0.", "u.")
State: TypeAlias = Plain  # entries by name; each panel adds its own
Ranges: TypeAlias = dict[str, list[tuple[float, float]]]


@contextmanager
def saved(text: str | Mapping[str, object]) -> Iterator[State]:
    """Yield what a saved state holds; say so if it cannot be read as one.

    Raises
    ------
    ExplorerError
        If the text is no saved state, or what it holds does not fit together.
    """
    try:
        given: State = json.loads(text) if isinstance(text, str) else dict(text)
        if not isinstance(given, dict) or given.get("format") != 1:
            raise BadValue('This is not a saved state (JSON with "format": 1).')
        yield given
    except ExplorerError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise BadValue(f"This is not a saved state ({type(error).__name__}: {error}).") from None


_STILL = 1e-6  # of the largest coordinate: what moves less moves by errors of the steps


def _around(values: np.ndarray, largest: float) -> tuple[float, float]:
    """Return a range around the first value that about holds the others, with short numbers."""
    start = float(values[0])
    far = float(np.nanmax(np.abs(values - start)))
    if not far > _STILL * largest:
        far = abs(start) or 1.0
    unit = 10.0 ** np.floor(np.log10(far))
    far = unit * next(k for k in (1, 2, 5, 10) if k * unit >= 0.9 * far)
    return float(f"{start - far:.4g}"), float(f"{start + far:.4g}")


class _Compiled(Protocol):
    """Equations that know their start."""

    def start(self, rho: list[float]) -> Sequence[np.ndarray]:
        """Return q0, v0 and more, or x0 and more."""


class States:
    """Makes and changes states; knows the systems they name.

    Parameters
    ----------
    own : system, optional
        A system that is not in the gallery; states call it "own".
    """

    draws_inputs: ClassVar[bool] = True  # whether its runs take inputs along time
    scales: ClassVar[Mapping[str, str]] = {}  # of sliders that a panel adds, see `scale`

    def __init__(self, own: System | None = None) -> None:
        self.own = own
        self._built: tuple[str, System] | None = None
        self._compiled: tuple[tuple[System, int], _Compiled, tuple[str, ...]] | None = None
        self._travelled: tuple[System, Ranges] | None = None

    def system(self, state: State) -> System:
        """Return the system of a state; the same object as long as it stays the same model."""
        if state["model"] == OWN and self.own is not None:
            return self.own
        key = json.dumps([state["model"], state["sizes"]])
        if self._built is None or self._built[0] != key:
            self._built = (key, models[state["model"]](**state["sizes"]))
        return self._built[1]

    def fresh(
        self, model: str, sizes: Mapping[str, int] | None = None, scheme: Chosen | None = None
    ) -> State:
        """Return the default state of a model."""
        system = self.system({"model": model, "sizes": dict(sizes or {})})
        chosen = choose(system, scheme)
        knobs = {k: getattr(chosen, k) for k in knobs_of(chosen)}
        knobs |= {k: repr(x) for k, x in knobs.items() if isinstance(x, Scheme)}  # plain data
        if (scheme is None or isinstance(scheme, (str, type))) and "h" in knobs:
            knobs["h"] = system.h
        return {
            "model": model,
            "sizes": {k: int(p.value) for k, p in system.sizes.items()},
            "scheme": type(chosen).__name__,
            "knobs": knobs,
            "rho": {k: p.value for k, p in system.parameters.items()},
            "t_end": system.t_end,
            **dict.fromkeys(START),
            **({"u": {}} if self.draws_inputs and system.input_names else {}),
        }

    def start(self, state: State) -> dict[str, list[float]]:
        """Return the initial q0 and v0, or x0: the model's where nothing else is set."""
        usual = self.usual_start(state)
        return {k: x if state[k] is None else list(state[k]) for k, x in usual.items()}

    def usual_start(self, state: State) -> dict[str, list[float]]:
        """Return the initial q0 and v0, or x0, of the model itself."""
        system, rho = self.system(state), list(state["rho"].values())
        built = (system, system.revision)
        if self._compiled is None or self._compiled[0] != built:
            if isinstance(system, LagrangianSystem):
                self._compiled = (built, compile_system(system), ("q0", "v0"))
            else:
                self._compiled = (built, schemes_for(system)[0].compile(system), ("x0",))
        _, compiled, names = self._compiled
        return {k: x.tolist() for k, x in zip(names, compiled.start(rho), strict=False)}

    def start_ranges(self, state: State) -> Ranges:
        """Return (low, high) of each start value: as far as the model's own run goes from it."""
        system = self.system(state)
        if self._travelled is None or self._travelled[0] is not system:
            run = simulate(system, throw=False)
            rows = (
                {"x0": run.q}
                if isinstance(system, StateSpaceSystem)
                else {"q0": run.q, "v0": run.v}
            )
            sizes = {k: float(np.nanmax(np.abs(q), initial=0.0)) for k, q in rows.items()}
            ranges = {k: [_around(x, sizes[k]) for x in q.T] for k, q in rows.items()}
            self._travelled = (system, ranges)
        return self._travelled[1]

    def value(self, state: State, key: str) -> object:
        """Return the entry of a full key."""
        group, _, name = key.partition(".")
        system = self.system(state)
        if group == "mode0":
            assert isinstance(system, HybridSystem)
            return state[group] or system.modes[system.start_mode].name
        if group == "u":
            return inputs.value_of(state, name)
        if name and group in START:
            return self.start(state)[group][system.coordinates.index(name)]
        entries = state[{"size": "sizes", "knob": "knobs"}.get(group, group)]
        return entries[name] if name else entries

    def scale(self, state: State, key: str) -> str:
        """Return over which numbers a slider goes: "log", "whole", or "" for any."""
        group, _, name = key.partition(".")
        if key in self.scales:
            return self.scales[key]
        if group == "rho":
            param = self.system(state).parameters[name]
            return "log" if param.log and min(param.low, state["rho"][name]) > 0 else ""
        if group == "knob":
            default, knob = knobs_of(schemes[state["scheme"]])[name]
            return "log" if knob.log else "whole" if isinstance(default, int) else ""
        return "whole" if group == "u" and name.endswith(".count") else ""

    def keys(self, state: State) -> list[str]:
        """Return the full key of everything that can be changed."""
        system = self.system(state)
        starts = ["x0"] if isinstance(system, StateSpaceSystem) else ["q0", "v0"]
        several = isinstance(system, HybridSystem) and len(system.modes) > 1
        return [
            "model",
            "scheme",
            "t_end",
            *(["mode0"] if several else []),
            *(f"size.{k}" for k in state["sizes"]),
            *(f"rho.{k}" for k in state["rho"]),
            *(f"knob.{k}" for k in state["knobs"]),
            *(f"{k}.{c}" for k in starts for c in system.coordinates),
            *inputs.keys(system, state),
        ]

    def key(self, state: State, name: str) -> str:
        """Return the full key of a name: a parameter before a knob before a size.

        Raises
        ------
        BadValue
            If there is no such thing, with the nearest name.
        """
        keys = self.keys(state)
        for candidate in (name, f"rho.{name}", f"knob.{name}", f"size.{name}"):
            if candidate in keys:
                return candidate
        short = [k.split(".", 1)[-1] for k in keys if not k.startswith(_BY_FULL_KEY)]
        raise BadValue(f"There is no setting {name!r} here.{suggest(name, short)}")

    def change(self, state: State, key: str, value: object) -> State:
        """Return `state` with one entry changed, checked on its own.

        Raises
        ------
        ExplorerError
            A value that cannot be, or a name that is unknown.
        """
        group, _, name = key.partition(".")
        if group == "model":
            return self.fresh(str(value))
        new, system = copy.deepcopy(state), self.system(state)
        if group == "u":
            return inputs.changed(system, state, name, value)
        if group == "scheme":
            named = value if isinstance(value, Scheme | type) else str(value)
            chosen, kept = choose(system, named), {}
            if chosen is not value:  # a name says nothing of knobs: those that both have stay
                offered = schemes_for(system, lessons=True)
                chosen = next(s for s in offered if type(s) is type(chosen))
                kept = {k: v for k, v in state["knobs"].items() if k in knobs_of(chosen)}
            new["scheme"] = type(chosen).__name__
            new["knobs"] = {k: getattr(chosen, k) for k in knobs_of(chosen)} | kept
        elif group == "t_end":
            new["t_end"] = number(value, "The time span t_end", system.time_unit, positive=True)
            if system.discrete:
                iterates(new["t_end"])
        elif group == "size":
            param, wanted = system.sizes[name], number(value, name)
            if wanted != int(wanted) or not param.low <= wanted <= param.high:
                raise BadValue(
                    f"{name} = {wanted:g} must be a whole number from {param.low:g} to "
                    f"{param.high:g}."
                )
            fresh = self.fresh(state["model"], {**state["sizes"], name: int(wanted)})
            stays = ("scheme", "knobs", "t_end", "rho", "u")
            return fresh | {k: new[k] for k in stays if k in new}
        elif group == "rho":
            new["rho"][name] = number(value, name, system.parameters[name].unit)
            # what was moved last counts: a start that this parameter decides is the model's again
            before = self.usual_start(state)
            new |= {k: None for k, x in self.usual_start(new).items() if x != before[k]}
        elif group == "knob":
            checked = schemes[state["scheme"]](**{**state["knobs"], name: value})
            new["knobs"][name] = getattr(checked, name)
        elif group == "mode0":
            assert isinstance(system, HybridSystem)
            names = [mode.name for mode in system.modes]
            if value not in names:
                raise BadValue(f"'{system.name}' has no mode {value!r}.{suggest(value, names)}")
            new["mode0"] = None if value == names[system.start_mode] else value
        else:
            values = self.start(state)[group]
            title = f"{'The start velocity' if group == 'v0' else 'The start'} of {name}"
            values[system.coordinates.index(name)] = number(value, title)
            new[group] = None if values == self.usual_start(state)[group] else values
        return new

    def to_json(self, state: State) -> str:
        """Return a state as JSON, with the equations if the model is not in the gallery."""
        model = self.own.to_spec() if state["model"] == OWN and self.own else state["model"]
        return json.dumps({"format": 1, **state, "model": model})

    def from_json(self, text: str | Mapping[str, object]) -> tuple[States, State]:
        """Return what `to_json` wrote; nothing in it is ever executed.

        Raises
        ------
        ExplorerError
            If it is no such state.
        """
        with saved(text) as given:
            states, model = self, given["model"]
            if isinstance(model, dict):
                states, model = type(self)(from_spec(model)), OWN
            state = states.fresh(str(model), scheme=str(given["scheme"]))
            groups = (("size", given["sizes"]), ("rho", given["rho"]), ("knob", given["knobs"]))
            for group, values in groups:
                for name, value in values.items():
                    state = states.change(state, states.key(state, f"{group}.{name}"), value)
            state = states.change(state, "t_end", given["t_end"])
            for name, drawn in (given.get("u") or {}).items() if "u" in state else ():
                state = states.change(state, states.key(state, f"u.{name}"), drawn)
            for key in states.keys(state):
                group, _, name = key.partition(".")
                values = given.get(group) if group in START else None
                if group == "mode0" and values is not None:
                    state = states.change(state, key, values)
                elif values is not None:
                    coordinates = states.system(state).coordinates
                    by_name = dict(zip(coordinates, values, strict=True))
                    state = states.change(state, key, by_name[name])
        return states, state
