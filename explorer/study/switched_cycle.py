"""Limit cycles of systems with step functions: shooting from a point beside all surfaces.

On its section such a cycle lies on a switching surface, off which a derivative would move it. So it
begins in the middle of its longest piece between two events, at x0, and its period T is unknown:

    (flow over T of x0) - x0 = 0,    f . (x0 - its last value) = 0

The multipliers are those of the monodromy matrix, through the saltation of all switches and slides;
one of them is 1, along the flow (Leine and Nijmeijer, *Dynamics and Bifurcations of Non-Smooth
Mechanical Systems*, 2004, ch. 7 and 8, doi:10.1007/978-3-540-44398-8).
"""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.derivatives.question import ask
from explorer.derivatives.trust import Trust, trust
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError, StepFailed
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.study.near_misses import NearMisses
from explorer.study.return_map import Guess, ReturnMap

__all__ = ["Loop", "settled", "switched_cycle"]

_SETTLES = 5  # times t_end, in which a run settles on a cycle
_SAME, _HITS = 1e-5, 400  # how near a run comes back, of the largest states; events looked at
_HALVINGS = 8
_ROUND_OFF = 100  # times the tolerance, where the integrator may end the convergence
_POINT = 1e-6  # of the states: the size below which what is found is an equilibrium
_SINGULAR = 1e-7


@dataclasses.dataclass(frozen=True)
class Loop:
    """A closed orbit, or an attempt at one.

    Attributes
    ----------
    x : (n_x,) where it begins
    T : float, in s
    run : Solution over T with derivatives by x
    monodromy : (n_x, n_x)
    off : (n_x,) the end less the beginning
    residual : float, the largest entry of it, of the largest states
    """

    x: np.ndarray
    T: float
    run: Solution
    monodromy: np.ndarray
    off: np.ndarray
    residual: float


def settled(P: ReturnMap, guess: Guess | None) -> tuple[np.ndarray, float]:
    """Return a state on the section and a period, near a cycle on which a run settles.

    The last `count` events of the section tell the period.

    Raises
    ------
    BadValue
        They do not happen.
    """
    end = _SETTLES * P.t_max
    run = simulate(P.system, P.scheme, x0=P.start(guess), t_end=end, rho=P.values)
    hits = [e for e in run.located if e.contact == P.section]
    if len(hits) <= P.count:
        raise BadValue(
            f"Only {len(hits)} events of {P.section!r} happen up to t = "
            f"{quantity(end, P.system.time_unit)}, so a cycle of {P.count} is not seen. Another "
            "guess may settle on one."
        )
    last, peak = hits[-1], np.abs([e.x_plus for e in hits]).max(axis=0)
    peak = np.maximum(peak, 1e-6 * peak.max() + 1e-12)  # on the surface a state is round-off
    past = [e for e in hits[-1 - P.count : -_HITS : -1] if e.kind == last.kind]
    far = [float(np.abs((e.x_plus - last.x_plus) / peak).max()) for e in past]
    # a slide adds events to a cycle: which state comes back tells where it begins
    near = [e for e, d in zip(past, far, strict=True) if d < 1.5 * min(far) + _SAME]
    first = near[0] if near else hits[-1 - P.count]
    return first.x_plus, last.t - first.t


def switched_cycle(
    P: ReturnMap, guess: Guess | None, tol: float, max_iter: int
) -> tuple[Loop, list[list[float]]]:
    """Return the cycle on which a run from the guess settles, and the history of Newton's method.

    Raises
    ------
    BadValue
        No cycle is seen, or it lies on its surfaces all the time, or it is an equilibrium.
    StepFailed
        Newton's method fails.
    """
    x, T = settled(P, guess)
    x = _beside(P, _run(P, x, T))
    loop = _closed(P, x, T)
    history = [[loop.residual, *loop.x]]
    while loop.residual > tol:
        if len(history) > max_iter:
            raise _lost(P, loop, history, f"max_iter = {max_iter} iterations did not suffice")
        step = _newton(P, loop)
        if step is None:
            raise _lost(P, loop, history, "a multiplier is 1 besides that along the flow")
        for k in range(_HALVINGS):
            part = 0.5**k
            try:
                trial = _closed(P, loop.x + part * step[:-1], loop.T + part * step[-1])
            except ExplorerError:
                continue
            if trial.residual < (1 - 0.25 * part) * loop.residual:
                break
        else:
            if loop.residual <= _ROUND_OFF * tol:
                break
            raise _lost(P, loop, history, "no step along Newton's direction lowers it")
        loop = trial
        history.append([loop.residual, *loop.x])
    _check_size(P, loop)
    return _once(P, loop, tol), history


def events_of(P: ReturnMap, loop: Loop) -> list[np.ndarray]:
    """Return the states of a cycle just after its events of the section."""
    return [e.x_plus for e in loop.run.located if e.contact == P.section]


def trust_in(P: ReturnMap, loop: Loop) -> Trust:
    """Return the trust in the monodromy matrix of a cycle."""
    question = ask(P.system, P.scheme, P.states, None, None, None, None, P.values)
    run = loop.run.march
    asked = dataclasses.replace(
        question,
        until=None,
        t_end=run.t_end,
        given=loop.x.copy(),
        cost=question.cost.of(run.flow),
    )
    return trust(asked, loop.run, loop.monodromy)


def _run(P: ReturnMap, x: np.ndarray, T: float) -> Solution:
    if not T > 0:
        raise BadValue(f"The period T = {quantity(T, P.system.time_unit)} is not positive.")
    return P.scheme.run(P.compiled, P.rho, T, x0=x)


def _beside(P: ReturnMap, run: Solution) -> np.ndarray:
    """Return the middle of the longest piece between events that lies off all surfaces."""
    misses = NearMisses(P.system)
    pieces = sorted(misses.segments(run, -1), key=lambda piece: piece[0] - piece[1])
    for begin, end, _ in pieces:
        t = 0.5 * (begin + end)
        if misses.clear(run, t, -1):
            found: np.ndarray = run.march.sample(np.array([t]), slopes=False)[0][0, : len(P.states)]
            return found
    raise BadValue(
        f"The orbit of '{P.system.name}' lies on its switching surfaces all the time, so no cycle "
        "can begin beside them."
    )


def _closed(P: ReturnMap, x: np.ndarray, T: float) -> Loop:
    """Return the orbit over T from x, with derivatives by x."""
    n = len(x)
    if not T > 0:
        raise BadValue(f"The period T = {quantity(T, P.system.time_unit)} is not positive.")
    run = P.scheme.run(P.compiled, P.rho, T, x0=x, wrt=(-1,) * n, seeds=np.eye(n), t_eval=[T])
    if not run.status.ok or run.march.t_last < T * (1 - 1e-12):
        raise StepFailed(f"'{P.system.name}': {run.status.message}", run)
    _, end, _, S = run.march.end()
    M = np.asarray(S[:n, :n])
    if not np.isfinite(M).all():
        raise BadValue("The derivatives of the cycle are not finite: an event grazes.")
    peak = np.abs(run.march.steps.y[:, :n]).max(axis=0)
    unit = np.maximum(peak, 1e-3 * peak.max(initial=1e-300))
    off = np.asarray(end[:n]) - x
    return Loop(x, T, run, M, off, float((np.abs(off) / unit).max()))


def _newton(P: ReturnMap, loop: Loop) -> np.ndarray | None:
    """Return Newton's step of x and T, or None where it is not determined."""
    n = len(loop.x)
    before = loop.run.march.sample(np.zeros(1), slopes=False)[1][0, :n]
    after = np.asarray(loop.run.rates[-1][:n])
    size = np.abs(loop.run.march.steps.y[:, :n]).max(axis=0)
    unit = np.append(np.maximum(size, 1e-3 * size.max(initial=1e-300)), loop.T)
    along = before / unit[:n] ** 2
    A = np.zeros((n + 1, n + 1))
    A[:n, :n], A[:n, n], A[n, :n] = loop.monodromy - np.eye(n), after, along
    A = A * unit
    rows = np.append(unit[:n], np.abs(A[n]).max())
    step, _, rank, _ = np.linalg.lstsq(
        A / rows[:, None], np.append(-loop.off, 0.0) / rows, rcond=_SINGULAR
    )
    return step * unit if rank == n + 1 and np.isfinite(step).all() else None


def _once(P: ReturnMap, loop: Loop, tol: float) -> Loop:
    """Return one turn of an orbit that may go round several times."""
    n = len(loop.x)
    hits = [e for e in loop.run.located if e.contact == P.section]
    peak = np.abs(loop.run.march.steps.y[:, :n]).max(axis=0)
    unit = np.maximum(peak, 1e-3 * peak.max(initial=1e-300))
    for event in hits[-2::-1]:
        if event.kind == hits[-1].kind and np.abs((event.x_plus - hits[-1].x_plus) / unit).max() < (
            _POINT
        ):
            try:
                shorter = _closed(P, loop.x, hits[-1].t - event.t)
            except ExplorerError:
                continue
            if shorter.residual <= _ROUND_OFF * tol:
                return shorter
    return loop


def _check_size(P: ReturnMap, loop: Loop) -> None:
    """Refuse a point that is taken for a cycle.

    Raises
    ------
    BadValue
    """
    states = loop.run.march.steps.y[:, : len(loop.x)]
    wide = states.max(axis=0) - states.min(axis=0)
    if not (wide > _POINT * np.abs(states).max(axis=0)).any():
        raise BadValue(
            f"The orbit of '{P.system.name}' from this guess tends to an equilibrium, "
            f"x = {loop.x.tolist()}, and not to a cycle."
        )


def _lost(P: ReturnMap, loop: Loop, history: list[list[float]], why: str) -> StepFailed:
    return StepFailed(
        f"Newton's method finds no limit cycle of '{P.system.name}' (section {P.section!r}): after "
        f"{len(history) - 1} steps the residual is {history[-1][0]:.3g} (the best so far: "
        f"{min(row[0] for row in history):.3g}); {why}.",
        loop.run,
    )
