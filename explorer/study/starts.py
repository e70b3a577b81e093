"""Starts of basins: a grid, rows that are given, or random samples, one row for each start."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from explorer.errors import BadValue
from explorer.parameters import whole
from explorer.study.over import Axes, Axis, states_of
from explorer.systems import System

__all__ = ["Starts", "moving"]

_APART = ("type", "name", "text", "q", "x", "units", "params", "start")  # no equations


@dataclass(frozen=True)
class Starts:
    """Starts, and parameters at which each of them is run.

    Attributes
    ----------
    system : System
    axes : tuple of Axis
        Those of starts; of random samples one, with all names.
    parameters : tuple of Axis
        Those of parameters; one that is in no equation but the start belongs to the starts.
    names : tuple of str
        Starts that vary.
    order : tuple of (bool, int)
        Of the axes as they were given: whether it is one of parameters, and which.
    """

    system: System
    axes: tuple[Axis, ...]
    parameters: tuple[Axis, ...]
    names: tuple[str, ...]
    order: tuple[tuple[bool, int], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many values each axis of starts has."""
        return tuple(len(axis.values) for axis in self.axes)

    @classmethod
    def of(cls, system: System, over: object, samples: int | None, seed: int) -> Starts:
        """Read `over`; with `samples` that many starts are drawn from the ranges of the axes.

        Raises
        ------
        BadValue
            An axis mixes parameters and starts; ranges to draw from are none; no start varies.
        """
        read, own = Axes.of(system, over), moving(system)
        starts: list[Axis] = []
        params: list[Axis] = []
        order = []
        for axis in read.axes:
            kinds = {name in system.parameters and name in own for name in axis.names}
            if len(kinds) > 1:
                raise BadValue(
                    f"over: {axis.label} mixes parameters and starts, whose basins differ: give "
                    "them apart."
                )
            into = params if kinds == {True} else starts
            order.append((kinds == {True}, len(into)))
            into.append(axis)
        if not starts:
            names = states_of(system)[0]
            raise BadValue(
                f"over needs starts, such as 'x0.{names[0]}' and their values: basins are made of "
                "starts."
            )
        if samples is not None:
            starts = [_drawn(starts, samples, seed)]
            order = [*((True, k) for k in range(len(params))), (False, 0)]
        names = tuple(name for axis in starts for name in axis.names)
        return cls(system, tuple(starts), tuple(params), names, tuple(order))

    @cached_property
    def rows(self) -> np.ndarray:
        """Values of all starts (k, names), the last axis running fastest."""
        places = np.unravel_index(np.arange(prod(self.shape)), self.shape)
        return np.hstack([axis.values[k] for axis, k in zip(self.axes, places, strict=True)])

    @property
    def grid(self) -> Axes:
        """All starts, of which none is stored."""
        over = {axis.names: axis.values for axis in self.axes}
        return Axes.of(self.system, over)

    def axes_of(self, rows: np.ndarray) -> Axes:
        """Return some rows (k, names) as the axis of a question."""
        return Axes.of(self.system, {self.names: rows})


def moving(system: System) -> set[str]:
    """Return all names in the equations of a system, without those that are in its start alone."""
    told = {k: value for k, value in system.to_spec().items() if k not in _APART}
    return set(re.findall(r"[A-Za-z_]\w*", str(told)))


def _drawn(axes: list[Axis], samples: int, seed: int) -> Axis:
    """Return random starts, each alike in the box that the axes span."""
    samples = whole(samples, "samples")
    if any(len(axis.names) > 1 for axis in axes):
        raise BadValue(
            "samples are drawn from ranges, such as {'q0.x': [-1, 1]}: rows of several names have "
            "none. Leave samples out to run the rows themselves."
        )
    low = np.array([axis.values.min() for axis in axes])
    high = np.array([axis.values.max() for axis in axes])
    drawn = np.random.default_rng(seed).uniform(low, high, (samples, len(axes)))
    names = tuple(axis.names[0] for axis in axes)
    return Axis(names, tuple(axis.units[0] for axis in axes), drawn)
