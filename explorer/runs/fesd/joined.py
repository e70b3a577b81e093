"""The elements of several runs as one record, and the beginning of a run as a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from explorer.runs.fesd.elements import Elements
from explorer.runs.fesd.run import taken
from explorer.runs.time_freezing.simultaneous_impacts import Struck

if TYPE_CHECKING:
    from explorer.kernels.fesd.structures import Phases

__all__ = ["Joined", "join", "shortened"]


class Joined(Elements):
    """The elements of several runs, each of which begins where the one before has ended.

    Attributes
    ----------
    legs : list of Elements
    struck : dict of int to array (2, n_c)
        The impulses of elements whose push is not that of the contacts (`Struck`).
    """

    legs: list[Elements]
    struck: dict[int, np.ndarray]

    def residual(self) -> dict[str, float]:
        """Return the largest violation of each block in any of the runs."""
        found = [leg.residual() for leg in self.legs]
        return {name: max(one[name] for one in found) for name in found[0]}


def join(legs: list[Elements]) -> Joined:
    """Return one record of several runs."""
    whole, start = Joined.__new__(Joined), 0.0
    whole.__dict__.update(legs[0].__dict__)
    whole.legs, whole.struck = legs, {}
    parts: dict[str, list[np.ndarray]] = {
        k: [] for k in ("states", "slopes", "mult", "times", "places")
    }
    begun: list[Phases] = []
    interval = phase = count = 0
    signs = np.empty(0)
    for leg in legs:
        if not len(leg.times) and (begun or leg is not legs[-1]):  # one that fails at once stays
            continue
        if isinstance(leg, Struck):
            whole.struck[count] = leg.impulse
        phases = taken(leg.phases, leg.phases.switches["element"] < max(len(leg.times), 1))
        again = np.array_equal(signs, phases.signs[0])  # goes on in the same active set
        signs = phases.signs[-1]
        places = leg.places + np.array([interval, phase - again])
        phases.switches["element"] += count
        phases.t[:] += start
        begun.append(taken(phases, slice(int(again), None)))
        times = leg.times + np.array([start, 0.0])
        found = leg.states[:-1], leg.slopes, leg.mult, times, places
        for values, one in zip(parts.values(), found, strict=True):
            values.append(one)
        count, interval = count + len(leg.times), interval + int(leg.places[-1:, 0].sum()) + 1
        phase, start = phase + len(phases.t) - again, start + leg._end
    parts["states"].append(legs[-1].states[-1:])
    for name, values in parts.items():
        setattr(whole, name, np.concatenate(values))
    whole.phases = type(begun[0])(*map(np.concatenate, zip(*begun, strict=True)))
    whole.t_end = whole.t_last = start
    whole.intervals, whole.code, whole.tally = interval, legs[-1].code, legs[-1].tally
    whole.seconds = sum(leg.seconds for leg in legs)
    whole.residual_of_newton = legs[-1].residual_of_newton
    whole.counts = np.array([count, phase - 1, sum(int(leg.counts[2]) for leg in legs)])
    return whole


def shortened(leg: Elements, count: int) -> list[Elements]:
    """Return the first elements of a run, if there are any, as a run."""
    if not count:
        return []
    made = Elements.__new__(Elements)
    made.__dict__.update(leg.__dict__)
    for name in ("slopes", "mult", "times", "places"):
        setattr(made, name, getattr(leg, name)[:count])
    made.states = leg.states[: count + 1]
    made.phases = taken(leg.phases, leg.phases.switches["element"] < count)
    return [made]
