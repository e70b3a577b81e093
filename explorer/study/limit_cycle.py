"""Limit cycles: Newton's method on P(x) - x = 0, P a return map.

(DP - I) dx = x - P(x), damped while the residual does not fall (Nayfeh and Balachandran, *Applied
Nonlinear Dynamics*, 1995, ch. 6). The eigenvalues of DP are the multipliers of the cycle: it is
stable if all lie inside the unit circle. One of them, along the flow, is trivial: DP f(x) = 0 on a
section.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import sympy as sp

from explorer.derivatives.question import event_names
from explorer.derivatives.trust import Trust
from explorer.dispatch.simulate import simulate
from explorer.errors import BadModel, BadValue, ExplorerError, StepFailed
from explorer.parameters import number
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.forcing import clock_of, depends_on_time
from explorer.study.return_map import Guess, Return, ReturnMap
from explorer.study.switched_cycle import events_of, switched_cycle, trust_in
from explorer.systems import StepSystem, System, values_given
from explorer.systems.expressions import expression
from explorer.systems.kinks import slope
from explorer.types import Numbers, Value

__all__ = ["LimitCycle", "limit_cycle"]

_ROUND_OFF = 1e-9  # of a multiplier on the unit circle
_COARSEST = 1e-2  # tolerance: with more, a start is a cycle
_BESIDE = 1e-3  # of the largest state of its kind: what a state at rest is measured by
SINGULAR = 1e-7  # a multiplier this close to 1 leaves the cycle undetermined
HALVINGS = 8
RETURNS = 30
History: TypeAlias = list[list[float]]  # residual, then x, of every iterate


@study
@dataclass(repr=False)
class LimitCycle:
    """A periodic orbit.

    Attributes
    ----------
    x : (n_x,) fixed point: the state just after the section (at t = 0, with a period)
    period : float, in s
    multipliers : (k,) complex, by falling modulus, without the trivial ones; of a cycle whose start
        lies on a held contact those of the directions along it
    trivial : the omitted multipliers: 0 along the flow (of a system with step functions 1), 1 for
        each conserved quantity
    jacobian : (n_x, n_x) DP; of a system with step functions on a section the monodromy matrix
        where `trajectory` begins, in the middle of its longest piece beside all surfaces
    residual : float, largest entry of P(x) - x, relative to 1 + |x|, or to the largest states
    history : (iterations, n_x + 1) residual, then x, of every iterate
    trajectory : Solution over one cycle
    states : names of the entries of x
    trust : Trust in DP, on which Newton's method and the multipliers stand
    """

    x: np.ndarray
    period: float
    multipliers: np.ndarray
    trivial: np.ndarray
    jacobian: np.ndarray
    residual: float
    history: np.ndarray
    trajectory: Solution
    states: tuple[str, ...]
    map: ReturnMap = field(repr=False)
    trust: Trust

    @property
    def radius(self) -> float:
        """Spectral radius: the largest modulus of a multiplier."""
        return float(np.abs(self.multipliers).max(initial=0.0))

    @property
    def stable(self) -> bool:
        """Whether every multiplier lies inside the unit circle, by more than round-off."""
        return self.radius < 1 - _ROUND_OFF

    @property
    def neutral(self) -> bool:
        """Whether the largest multiplier lies on the unit circle, up to round-off."""
        return abs(self.radius - 1) <= _ROUND_OFF

    @property
    def start(self) -> dict[str, float]:
        """The fixed point by name, as the next `guess`."""
        return dict(zip(self.states, self.x.tolist(), strict=True))

    def __repr__(self) -> str:
        x = ", ".join(f"{name} = {quantity(value, '', 7)}" for name, value in self.start.items())
        multipliers = ", ".join(_short(m) for m in self.multipliers)
        unit = self.map.system.time_unit
        doubts = "" if self.trust.ok else "; not reliable: " + " ".join(self.trust.sentences)
        kind = "stable" if self.stable else "neutral" if self.neutral else "unstable"
        return (
            f"LimitCycle({self.map.system.name!r}, period {quantity(self.period, unit, 7)}, {x}; "
            f"{kind}, multipliers {multipliers}{doubts})"
        )


def _short(m: complex) -> str:
    real = round(m.real, 4) + 0.0  # no -0.0000
    return f"{real:.4f}" + (f"{m.imag:+.4f}i" if abs(m.imag) > 1e-12 else "")


@study
def limit_cycle(
    system: System,
    scheme: Chosen | None = None,
    section: str | None = None,
    *,
    period: Value | None = None,
    count: int = 1,
    guess: Guess | None = None,
    keep: Value | Sequence[Value] = (),
    tol: float = 1e-9,
    max_iter: int = 30,
    t_max: float | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> LimitCycle:
    """Find a limit cycle and its multipliers.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or StepSystem
    scheme : EventDriven, optional
    section : str
        A guard, a contact, or a constraint that begins to hold, by name.
    period : float or formula of the parameters
        Period in s, instead of a section, for a forced system, such as ``"2*pi/omega"``.
    count : int
        Events (or periods) in one cycle; 2 finds a gait with a long and a short step.
    guess : (n_x,) float or dict by state, optional
        A state near the cycle, just after the section; by default the start of the model. For a
        system with step functions and a section, a run from it has to settle on the cycle.
    keep : formula or sequence of formulas
        Conserved quantities, such as an energy. The cycle is sought with the values at the guess.
    tol : float
        Tolerance of the residual, relative to the largest states of the first way back.
    max_iter : int
    t_max : float, optional
        Maximum time in s to wait for the event; by default t_end of the system.
    rho, **parameters
        Parameters by name. The others keep their defaults.

    Returns
    -------
    LimitCycle

    Raises
    ------
    BadModel, BadValue, NotApplicable
        If the arguments are inconsistent, or the run does not reach the section.
    StepFailed
        If Newton's method fails; the message gives the residual. ``error.solution`` is the run over
        one cycle from its last iterate.

    Examples
    --------
    >>> import explorer as ex
    >>> cycle = ex.study.limit_cycle(ex.models.impact_oscillator(), period="2*pi/omega", s=0,
    ...                              x0=-4.5, v0=4.2)
    >>> round(cycle.trajectory.events[0].impulse, 5)  # 1.8 times the speed 6.66667
    12.0
    """
    if not 0 < number(tol, "tol") <= _COARSEST:
        raise BadValue(f"tol = {tol:g} must be greater than zero, and at most {_COARSEST:g}.")
    P = ReturnMap(
        system,
        scheme,
        section,
        period=period,
        count=count,
        t_max=t_max,
        rho=values_given(system, rho, parameters),
    )
    if isinstance(system, StepSystem) and P.period is None:
        return _switched(P, guess, keep, tol, max_iter)
    x = P.start(guess)
    kept = _Kept(P, keep, x)
    x, back, history = _solved(P, kept, x, tol, max_iter)
    DP = back.jacobian
    along = DP if back.free is None else back.free.T @ DP @ back.free
    free, trivial = _multipliers(along, P.period is None, kept.count)
    return LimitCycle(
        x,
        back.T,
        free,
        trivial,
        back.jacobian,
        history[-1][0],
        np.array(history),
        P.cycle(x, back.T),
        P.states,
        P,
        P.trust(back),
    )


def _switched(
    P: ReturnMap,
    guess: Guess | None,
    keep: Value | Sequence[Value],
    tol: float,
    max_iter: int,
) -> LimitCycle:
    """Return a cycle that meets its section on a switching surface."""
    if keep if isinstance(keep, str) else len(list(keep) if isinstance(keep, Sequence) else [keep]):
        raise BadValue(
            "keep= names what a system conserves, and one with step functions is sought by a run "
            "that settles: leave it out, or give a period."
        )
    loop, history = switched_cycle(P, guess, tol, max_iter)
    values = np.linalg.eigvals(loop.monodromy).astype(complex)
    along = int(np.abs(values - 1).argmin())
    free = np.delete(values, along)
    x = events_of(P, loop)[-1]
    return LimitCycle(
        x,
        loop.T,
        free[np.argsort(-np.abs(free), kind="stable")],
        values[[along]],
        loop.monodromy,
        history[-1][0],
        np.array(history),
        simulate(P.system, P.scheme, x0=loop.x, t_end=loop.T, rho=P.values, throw=False),
        P.states,
        P,
        trust_in(P, loop),
    )


class _Kept:
    """Quantities of motion: their rows close Newton's singular system."""

    def __init__(self, P: ReturnMap, keep: Value | Sequence[Value], x: np.ndarray) -> None:
        if isinstance(keep, str) or not isinstance(keep, Sequence):
            keep = [keep]
        system, formulas = P.system, list(keep)
        self.flow, self.rho, self.count = P.compiled, P.rho, len(formulas)
        names = system.symbols()
        read = []
        for formula in formulas:
            try:
                read.append(expression(formula, names, "keep"))
            except BadModel as error:
                raise BadValue(str(error)) from None
        slopes = [slope(f, sp.Symbol(s)) for f in read for s in P.states]
        self.bundle = self.flow.outputs([*read, *slopes]) if read else None
        self.wanted = self.values(x)[0]

    def values(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.bundle is None:
            return np.zeros(0), np.zeros((0, len(x)))
        inp = self.flow.input(self.rho.tolist())
        inp[1 : 1 + len(x)] = x
        out = np.asarray(self.bundle(inp)).copy()
        return out[: self.count], out[self.count :].reshape(self.count, len(x))

    def newton(self, x: np.ndarray, back: Return, scale: np.ndarray) -> np.ndarray | None:
        """Return Newton's step, or None where it is not determined; `scale` is (n_x,)."""
        values, slopes = self.values(x)
        A = np.vstack([back.jacobian - np.eye(len(x)), slopes]) * scale
        # every equation in its own unit: the states' scale, the slopes' size
        rows = np.concatenate([scale, np.abs(slopes * scale).max(axis=1, initial=1e-300)])
        b = np.concatenate([x - back.x, self.wanted - values])
        step, _, rank, _ = np.linalg.lstsq(A / rows[:, None], b / rows, rcond=SINGULAR)
        return step * scale if rank == len(x) and np.isfinite(step).all() else None


def _units(back: Return) -> np.ndarray:
    """Return what counts as much of each state, (n_x,): its largest value on the way back.

    A state that hardly moves is measured beside the others of its kind, positions or velocities.
    """
    n = len(back.x)
    way = np.vstack([back.run.march.steps.y[:, :n], back.x])
    largest = np.abs(way).max(axis=0)
    kinds = np.split(largest, 2) if back.run.has_velocities else [largest]
    least = [np.full(len(kind), _BESIDE * (kind.max() or 1.0)) for kind in kinds]
    return np.asarray(np.maximum(largest, np.concatenate(least)))


def _size(back: Return, x: np.ndarray, unit: np.ndarray) -> float:
    """Return by how much a return misses its start; of `unit`, (n_x,)."""
    return float((np.abs(back.x - x) / unit).max())


def _solved(
    P: ReturnMap, kept: _Kept, x: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, Return, History]:
    """Return the fixed point of the map by damped Newton steps, its return, and the history.

    Raises
    ------
    StepFailed
        No step lowers the residual, or `max_iter` of them do not suffice.
    """
    back = P(x)
    unit = _units(back)  # of the start: a residual that falls because x grows leads nowhere
    history = [[_size(back, x, unit), *x]]
    while history[-1][0] > tol:
        if len(history) > max_iter:
            raise _lost(P, x, back, history, f"max_iter = {max_iter} iterations did not suffice")
        dx = kept.newton(x, back, unit)
        if dx is None:
            raise _lost(P, x, back, history, _family(P))
        for k in range(HALVINGS):
            new = x + 0.5**k * dx
            if not P.same_side(x, new):
                continue
            try:
                trial = P(new)
            except ExplorerError:
                continue
            if _size(trial, new, unit) < (1 - 0.25 * 0.5**k) * history[-1][0]:
                break
        else:
            # round-off of the integrator may end the convergence just above tol
            if history[-1][0] <= 100 * tol:
                break
            found = _returns(P, back.x, history[-1][0], unit)
            if found is not None:
                x, back = found
                history.append([_size(back, x, unit), *x])
                continue
            raise _lost(P, x, back, history, "no step along Newton's direction lowers it")
        x, back = new, trial
        history.append([_size(back, x, unit), *x])
    return x, back, history


def _returns(
    P: ReturnMap, x: np.ndarray, residual: float, unit: np.ndarray
) -> tuple[np.ndarray, Return] | None:
    """Return a state to which returns of the map lead, if its residual is less than a half.

    Impacts that accumulate, sticking and slides make P flat and its derivative one of few states:
    then Newton's direction leads nowhere, and the flow itself does.
    """
    for _ in range(RETURNS):
        try:
            back = P(x)
        except ExplorerError:
            return None
        if _size(back, x, unit) < 0.5 * residual:
            return x, back
        x = back.x
    return None


def _multipliers(DP: np.ndarray, section: bool, kept: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the multipliers by falling modulus, and the trivial ones apart."""
    values = np.linalg.eigvals(DP).astype(complex)
    out = list(np.argsort(np.abs(values - 1))[:kept])
    if section and len(values) > len(out):
        out.append(
            min((k for k in range(len(values)) if k not in out), key=lambda k: abs(values[k]))
        )
    free = np.delete(values, out)
    return free[np.argsort(-np.abs(free), kind="stable")], values[out]


def _family(P: ReturnMap) -> str:
    """Return what a multiplier of 1 means, and what to do."""
    events = event_names(P.system)
    if P.period is not None and events and not depends_on_time(P.system):
        own = clock_of(P.system) or events[0]
        return (
            f"a multiplier is 1, because '{P.system.name}' does not depend on t and a cycle may "
            f"begin anywhere along itself. Name an event instead of the period: section={own!r}"
        )
    return (
        "a multiplier is 1, so cycles come in a family. If a quantity such as the energy is "
        "conserved, name its formula: keep='...'"
    )


def _lost(P: ReturnMap, x: np.ndarray, back: Return, history: History, why: str) -> StepFailed:
    where = f"section {P.section!r}"
    if P.period is not None:
        where = f"period {quantity(P.period, P.system.time_unit)}"
    return StepFailed(
        f"Newton's method finds no limit cycle of '{P.system.name}' ({where}): after "
        f"{len(history) - 1} steps the residual is {history[-1][0]:.3g} (the best so far: "
        f"{min(row[0] for row in history):.3g}); {why}.{P.recurrence(np.array(history[0][1:]))}",
        P.cycle(x, back.T),
    )
