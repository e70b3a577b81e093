"""Inputs along time in the state of a panel: drawn over an even grid of the run.

An input is constant, a parameter like the others, or it has values: the entry ``"u"`` of a state is
``{name: {"kind": "steps" or "linear", "values": [...]}}``, one value of each interval, or one at
each end. The grid divides the time span evenly. Full keys: "u.<name>" for the kind, or for all
values as a list; "u.<name>.count" for the number of intervals; "u.<name>.3" for a value.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from explorer.errors import BadValue
from explorer.parameters import number
from explorer.quantities import quantity
from explorer.schemes import schemes
from explorer.systems import System
from explorer.systems.drive import Input
from explorer.types import Plain

__all__ = ["KINDS", "MOST", "USUAL", "changed", "given", "keys", "value_of", "written"]

KINDS = {"constant": "constant", "steps": "steps", "linear": "linear"}
MOST = 200  # intervals
USUAL = 10
_COARSE = 0.5  # of an interval: steps that are longer cannot follow it
State: TypeAlias = Plain


def keys(system: System, state: State) -> list[str]:
    """Return the full keys of the inputs of a state."""
    found = []
    for name in system.input_names if "u" in state else ():
        found.append(f"u.{name}")
        if name in state["u"]:
            found.append(f"u.{name}.count")
            found += [f"u.{name}.{k}" for k in range(len(state["u"][name]["values"]))]
    return found


def value_of(state: State, name: str) -> object:
    """Return the entry of a full key without its "u."."""
    name, _, what = name.partition(".")
    drawn = state["u"].get(name)
    if not what or drawn is None:
        return "constant" if drawn is None else drawn["kind"]
    return _count(drawn) if what == "count" else drawn["values"][int(what)]


def given(state: State) -> dict[str, Input]:
    """Return the inputs that are drawn, as `simulate` takes them."""
    signals = {name: _input(one, state["t_end"]) for name, one in state.get("u", {}).items()}
    if schemes[state["scheme"]].located or "h" not in state["knobs"]:
        return signals
    return {name: _between_steps(one, state["knobs"]["h"]) for name, one in signals.items()}


def _between_steps(signal: Input, h: float) -> Input:
    """Return a signal whose breaks lie at the ends of steps of h, where all schemes take them."""
    grid = np.asarray(signal.grid).copy()
    near = h * np.round(grid[1:-1] / h)
    if len(near) and np.abs(near - grid[1:-1]).max() < 0.5 * _COARSE * (grid[1] - grid[0]):
        grid[1:-1] = near
    return Input(grid, signal.values, signal.kind)


def written(state: State) -> list[str]:
    """Return the inputs that are drawn as an argument of `simulate`, as Python."""
    parts = []
    for name, signal in given(state).items():
        grid, values = (np.asarray(row).tolist() for row in (signal.grid, signal.values))
        even = np.linspace(0, state["t_end"], len(grid))
        words = f"np.linspace(0, {state['t_end']!r}, {len(grid)})"
        times = words if np.array_equal(grid, even) else repr(grid)
        parts.append(f"{name!r}: ex.Input.{signal.kind}({times}, {values!r})")
    return [f"u={{{', '.join(parts)}}}"] if parts else []


def changed(system: System, state: State, name: str, value: object) -> State:
    """Return `state` with one entry of its inputs changed; `name` is a full key without "u.".

    Raises
    ------
    BadValue
        An unknown kind, a wrong count, a number that is none or outside of its bounds.
    """
    new = copy.deepcopy(state)
    name, _, what = name.partition(".")
    drawn = new["u"].get(name)
    if not what:
        new["u"].pop(name, None)
        if (one := _drawn(system, state, name, value)) is not None:
            new["u"][name] = one
    elif what == "count":
        wanted = number(value, f"The number of intervals of {name}")
        if wanted != int(wanted) or not 1 <= wanted <= MOST:
            raise BadValue(
                f"{name} has {wanted:g} intervals. Give a whole number from 1 to {MOST}."
            )
        new["u"][name] = _resampled(_input(drawn, 1.0), drawn["kind"], int(wanted))
    else:
        unit = system.parameters[name].unit
        drawn["values"][int(what)] = _bounded(system, name, number(value, name, unit))
    return new


def _drawn(system: System, state: State, name: str, value: object) -> Plain | None:
    """Return the values that a kind or a list means; None if the input is constant."""
    if isinstance(value, Mapping):
        kind, values = str(value.get("kind")), value.get("values")
        if kind not in ("steps", "linear") or not isinstance(values, Sequence):
            raise BadValue(
                f'{name} along time is {{"kind": "steps" or "linear", "values": [...]}}, '
                f"not {value!r}."
            )
        return _listed(system, name, kind, values)
    if isinstance(value, (list, tuple, np.ndarray)):
        return _listed(system, name, "steps", list(value))
    if value not in KINDS:
        raise BadValue(f"{name} along time is {', '.join(KINDS)} or a list, not {value!r}.")
    if value == "constant":
        return None
    before = state["u"].get(name)
    if before is None:
        level = state["rho"][name]
        before = {"kind": "steps", "values": [level] * USUAL}
    return _resampled(_input(before, 1.0), str(value), _count(before))


def _listed(system: System, name: str, kind: str, values: Sequence[object]) -> Plain:
    least = 1 + (kind == "linear")
    if not least <= len(values) <= MOST:
        raise BadValue(f"{name} along time needs {least} to {MOST} values, not {len(values)}.")
    numbers = [number(x, f"Value {k} of {name}") for k, x in enumerate(values)]
    return {"kind": kind, "values": [_bounded(system, name, x) for x in numbers]}


def _bounded(system: System, name: str, value: float) -> float:
    param = system.declared_inputs[name]
    low, high = param.bounds
    if not low <= value <= high:
        raise BadValue(
            f"{name} = {quantity(value, param.unit)} lies outside its bounds [{low:g}, {high:g}]."
        )
    return value


def _count(drawn: Plain) -> int:
    values: list[float] = drawn["values"]
    return len(values) - bool(drawn["kind"] == "linear")


def _input(drawn: Plain, t_end: float) -> Input:
    grid = np.linspace(0, t_end, _count(drawn) + 1)
    return Input(grid, drawn["values"], "linear" if drawn["kind"] == "linear" else "constant")


def _resampled(signal: Input, kind: str, count: int) -> Plain:
    """Return a signal over [0, 1] on another grid: at its ends, or in the middle of intervals."""
    grid = np.linspace(0, 1, count + 1)
    at = grid if kind == "linear" else (grid[1:] + grid[:-1]) / 2
    return {"kind": kind, "values": signal(at).tolist()}
