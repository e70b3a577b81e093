"""The largest Lyapunov exponent of the motion in each column of an orbit diagram.

A direction is carried along from where the column has ended, by the exact derivative through all
events (Mueller, Chaos, Solitons & Fractals 5 (1995) 1671, doi:10.1016/0960-0779(94)00170-U). After
some returns it has turned to the one that grows most; the mean rate at which it grows over the next
ones is the exponent. Of a driven motion that repeats it is exact: ln |mu| / T, with the largest
multiplier mu of its cycle; of an autonomous one it is 0, that along the flow.
`explorer.study.lyapunov` gives all exponents with their errors.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from explorer.dispatch.simulate import begun_in
from explorer.errors import ExplorerError, NotApplicable
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.columns import EACH, STRIDES
from explorer.study.map_spectrum import map_spectrum
from explorer.study.orbits import Begin, Orbits
from explorer.study.parts import Stop
from explorer.study.question import Question
from explorer.study.section import Section
from explorer.systems import HybridSystem, MapSystem, System

__all__ = ["DiagramExponents", "diagram_exponents"]

_TURNS, _AVERAGED = 8, 80  # returns in which a direction turns, and over which it is averaged
_ITERATES = 2000  # of a map that are averaged
_SEED = 1


@study
@dataclass(frozen=True, repr=False)
class DiagramExponents:
    """Largest Lyapunov exponents over an orbit diagram, as far as they are computed.

    Attributes
    ----------
    values : (k,) in 1/s, or per iterate of a map; NaN where a column has none, or is not computed
        yet; -inf where events take every direction away
    unit : str
    problem : str
        Why the first column without an exponent has none, or "".
    done : float
        Part of the columns that is computed, from 0 to 1.
    """

    values: np.ndarray
    unit: str
    problem: str = field(default="", repr=False)
    done: float = 0.0

    def __repr__(self) -> str:
        there = self.values[np.isfinite(self.values)]
        said = f", from {there.min():.4g} to {there.max():.4g}" if len(there) else ""
        return (
            f"DiagramExponents: {len(there)} of {len(self.values)} columns{said} {self.unit}"
        ).rstrip()


class Asked(Protocol):
    """What is asked of a diagram."""

    system: System
    by: str
    question: Question

    @property
    def section(self) -> Section:
        """Where the diagram is seen."""

    def span(self, value: float, count: float) -> float:
        """Return the time in s of a number of returns at one value of the parameter."""


def diagram_exponents(
    asked: Asked, found: Orbits, stop: Stop | None = None
) -> Iterator[DiagramExponents]:
    """Yield what is known, coarse columns first, about four times a second.

    Parameters
    ----------
    asked : Sharpening
    found : Orbits
        The diagram, whose columns tell where the motions go on.
    stop : function without arguments, optional
        Once it returns True, nothing more is computed.

    Raises
    ------
    NotApplicable
        The scheme locates no events.
    """
    stop = stop or (lambda: False)
    scheme = asked.question.scheme
    if not asked.system.discrete and not isinstance(scheme, EventDriven):
        raise NotApplicable(
            f"{type(scheme).__name__} does not locate events: exponents need the derivatives of "
            "EventDriven."
        )
    unit = "" if asked.system.discrete else f"1/{asked.system.time_unit}"
    values, many = np.full(len(found.values), np.nan), len(found.values)
    order = list(dict.fromkeys(k for s in STRIDES for k in range(0, many, s)))
    problem, since = "", time.perf_counter()
    for n, k in enumerate(order):
        end = found.ends[k]
        if end is not None and found.code[k] == 0:
            try:
                values[k] = _largest(asked, found, k, end)
            except ExplorerError as error:
                problem = problem or f"At {found.by} = {found.values[k]:.6g}: {error}"
        if stop():
            break
        if time.perf_counter() - since > EACH:
            since = time.perf_counter()
            yield DiagramExponents(values.copy(), unit, problem, (n + 1) / many * (1 - 1e-9))
    yield DiagramExponents(values.copy(), unit, problem, 0.0 if stop() else 1.0)


def _largest(asked: Asked, found: Orbits, k: int, end: Begin) -> float:
    """Return the largest exponent of a column; NaN where a derivative is not finite."""
    system, value = asked.system, float(found.values[k])
    names = list(system.parameters)
    rho = list(asked.question.rho)
    rho[names.index(found.by)] = value
    if isinstance(system, MapSystem):
        given = dict(zip(names, rho, strict=True))
        spectrum = map_spectrum(system, asked.question.scheme, _ITERATES, 0, end[0], given)
        return float(spectrum.exponents[0])
    x, mode = end
    if asked.section.period is None and found.period[k]:
        return 0.0
    if found.period[k]:
        T = asked.span(value, int(found.period[k]))
        M, *_ = _carried(asked, rho, x, mode, T, np.eye(len(x)))
        if not np.isfinite(M).all():
            return np.nan
        largest = float(np.abs(np.linalg.eigvals(M)).max())
        return float(np.log(largest)) / T if largest > 0 else -np.inf
    direction = np.random.default_rng(_SEED).standard_normal((len(x), 1))
    T = asked.span(value, _TURNS)
    S, x, mode = _carried(asked, rho, x, mode, T, direction)
    size = float(np.linalg.norm(S))
    if size == 0 or not np.isfinite(size):
        return -np.inf if size == 0 else np.nan
    T = asked.span(value, _AVERAGED)
    S, *_ = _carried(asked, rho, x, mode, T, S / size)
    size = float(np.linalg.norm(S))
    if not np.isfinite(size):
        return np.nan
    return float(np.log(size)) / T if size > 0 else -np.inf


def _carried(
    asked: Asked, rho: list[float], x: np.ndarray, mode: int, T: float, seeds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return directions (n_x, m) carried along over a time in s, the state and the mode there."""
    system, scheme, n = asked.system, asked.question.scheme, len(x)
    assert isinstance(scheme, EventDriven)
    compiled = scheme.compile(system)
    several = isinstance(system, HybridSystem) and len(system.modes) > 1
    if several and isinstance(system, HybridSystem) and mode >= 0:
        compiled = begun_in(compiled, system, system.modes[mode].name)
    run = scheme.run(
        compiled, rho, T, x0=x, wrt=(-1,) * seeds.shape[1], seeds=seeds.copy(), t_eval=[T]
    )
    if not run.status.ok or run.t[-1] < T * (1 - 1e-9):
        return np.full(seeds.shape, np.nan), x, mode
    mode = int(run.mode[-1]) if several else mode
    return run.S[-1][:n], run.x[-1].copy(), mode
