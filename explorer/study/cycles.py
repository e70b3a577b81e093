"""Limit cycles as a problem of continuation: shooting over one period.

A forced system is sampled by its period: G = P(x, p) - x, the stroboscopic map. The period T of an
autonomous one is unknown, G = (flow over T of x - x, f(x0) . (x - x0)); x lies between two events,
at which derivatives are those of a smooth flow, and its return map to an event section has the same
multipliers but for a trivial one. All derivatives, by x, T and p, go through the saltation of the
events.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import sympy as sp

from explorer.compiled.assembly import assembly
from explorer.dispatch.simulate import begun_in
from explorer.errors import BadValue, StepFailed
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.schemes.event_driven import EventDriven
from explorer.study.arclength import BranchEnds, Evaluation, Node, correct, tangent
from explorer.study.cycle_tests import (
    events_of,
    genuine,
    is_point,
    margins,
    multipliers_of,
    rotated,
    shorter,
    tests,
)
from explorer.study.forcing import check_period
from explorer.study.held_cycles import Held
from explorer.study.near_misses import Miss, NearMisses
from explorer.study.trace import Options, Special, other_side
from explorer.systems import HybridSystem, LagrangianSystem, System
from explorer.systems.expressions import expression
from explorer.systems.kinks import slope
from explorer.types import Value

__all__ = ["Cycle", "Cycles", "Shot", "cycle_of"]

_PAST = (1e-5, 1e-4, 1e-3)  # of the parameter's range, behind a jump of the start
_STEEP = 1e-3  # least part of the parameter in a unit tangent that is gone along there
_EDGE = 0.4  # how much nearer an event may come to the point where the cycle begins


@dataclass(frozen=True)
class Shot:
    """Where a first cycle begins: state, period in s, and mode of a hybrid system or -1."""

    x: np.ndarray
    T: float
    mode: int = -1


@dataclass(frozen=True)
class Cycle:
    """A cycle as it was computed: its run, monodromy matrix, near misses, mode at its start."""

    run: Solution
    T: float
    monodromy: np.ndarray
    multipliers: np.ndarray
    mode: int
    misses: tuple[Miss, ...] = ()


def cycle_of(node: Node) -> Cycle:
    """Return the cycle of a node."""
    assert isinstance(node.at.data, Cycle)
    return node.at.data


class Cycles:
    """Limit cycles over one parameter.

    Parameters
    ----------
    system, scheme : System, EventDriven
    parameter : str
    rho : (n_rho,) values of all parameters
    start : Shot
    span : float
        Range of the parameter, the unit of its steps.
    period : float or formula of the parameters, or None
        Of the forcing; None for an autonomous system.
    count : int
        Periods of the forcing in one cycle.
    """

    def __init__(
        self,
        system: System,
        scheme: EventDriven,
        parameter: str,
        rho: np.ndarray,
        start: Shot,
        span: float,
        *,
        period: Value | None = None,
        count: int = 1,
    ) -> None:
        self.system, self.scheme, self.parameter, self.rho = system, scheme, parameter, rho.copy()
        self.place = list(system.parameters).index(parameter)
        self.compiled = scheme.compile(system)
        self.n, self.count = len(start.x), count
        self.mode, self.misses = start.mode, NearMisses(system)
        self.held: Held | None = None
        self.period, self._by_p = self._formulas(period)
        self.scale = np.ones(self.n + 1 + self.autonomous)
        self._last: tuple[bytes, Solution] | None = None
        self.begin(start)
        orbit = self._orbit(start)
        peak, self.wide = np.abs(orbit).max(axis=0), np.ptp(orbit, axis=0)
        size = np.where(peak > 1e-3 * peak.max(), peak, peak.max() or 1.0)
        self.scale = np.array([*size, *([start.T] * self.autonomous), span])

    @property
    def autonomous(self) -> bool:
        """Whether the period is unknown."""
        return self.period is None

    def _formulas(self, period: Value | None) -> tuple[sp.Expr | None, sp.Expr | None]:
        if period is None:
            return None, None
        formula = self.count * expression(period, self.system.symbols(state=False), "period")
        return formula, slope(formula, sp.Symbol(self.parameter))

    def _of_rho(self, formula: sp.Expr) -> float:
        values = zip(self.system.parameters, self.rho.tolist(), strict=True)
        return float(formula.xreplace({sp.Symbol(k): sp.Float(v) for k, v in values}))

    def begin(self, start: Shot) -> None:
        """Let cycles begin near a state, in its mode."""
        self.origin, self.begins_at = start, float(self.rho[self.place])
        self.restart()

    def restart(self) -> None:
        """Go back to where the first cycle began."""
        self.rho[self.place] = self.begins_at
        self.anchor = self.origin.x.copy()
        rate = self._look(self.origin)
        self.along = rate if self.autonomous else np.zeros(self.n)
        self._last, self.edge = None, 0.0

    def begin_as(self, cycle: Cycle) -> None:
        """Let cycles begin in the mode of another one, with what is held there."""
        self.mode, self.held = cycle.mode, Held(cycle.run)

    def first(self, start: Shot) -> np.ndarray:
        """Return the unknowns u of a cycle."""
        T = [start.T] if self.autonomous else []
        return np.array([*start.x, *T, self.rho[self.place]])

    def _split(self, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Return x and T, and set the parameter."""
        self.rho[self.place] = u[-1]
        T = float(u[self.n]) if self.period is None else self._of_rho(self.period)
        if not T > 0:
            raise BadValue(f"The period T = {quantity(T, self.system.time_unit)} is not positive.")
        if self.period is not None:
            check_period(self.system, T, dict(zip(self.system.parameters, self.rho, strict=True)))
        return u[: self.n], T

    def _shoot(self, x: np.ndarray, T: float, slopes: bool = True) -> Solution:
        compiled, n = self.compiled, self.n
        rho = self.rho.copy()  # a run is sampled later, with its own parameters
        if isinstance(self.system, HybridSystem) and self.mode >= 0:
            compiled = begun_in(compiled, self.system, self.system.modes[self.mode].name)
        if self.held:
            x = self.held.put(rho, x)
        if self.system.constraints:
            x = assembly(self.system)(self.rho, x)
        if not slopes:
            return self.scheme.run(compiled, rho, T, x0=x)
        run = self.scheme.run(
            compiled,
            rho,
            T,
            x0=x,
            wrt=(*(-1,) * n, self.place),
            seeds=np.eye(n, n + 1),
            t_eval=[T],
        )
        if not run.status.ok or run.march.t_last < T * (1 - 1e-12):
            raise StepFailed(f"'{self.system.name}': {run.status.message}", run)
        return run

    def _look(self, start: Shot) -> np.ndarray:
        """Return x' at a start; cycles begin in its mode from here on, with what is held there."""
        self.mode, self.held = start.mode, None
        run = self._shoot(start.x, start.T, slopes=False)
        self.held = Held(run)
        rate: np.ndarray = run.march.sample(np.zeros(1), slopes=False)[1][0, : self.n]
        return rate

    def _orbit(self, start: Shot) -> np.ndarray:
        """Return states along a cycle, (k, n)."""
        march = self._shoot(start.x, start.T, slopes=False).march
        t = np.linspace(0, march.t_last, 200)
        return np.asarray(march.sample(t, exact=False, slopes=False)[0][:, : self.n])

    def evaluate(self, u: np.ndarray, full: bool = True) -> Evaluation:
        """Return the equations at u; with `full` also test functions and margins."""
        n, (x, T) = self.n, self._split(u)
        if self._last is not None and self._last[0] == u.tobytes():
            run = self._last[1]
        else:
            run = self._shoot(x, T)
            self._last = u.tobytes(), run
        _, end, _, S = run.march.end()
        rate = np.asarray(run.rates[-1][:n])
        if not np.isfinite(S).all():
            raise BadValue("The derivatives of the cycle are not finite: an event grazes.")
        self._check_begin(run)
        assert self.held is not None
        stays, moves = self.held.along(self.rho, x, self.place)
        M, by_p = S[:n, :n] @ stays, S[:n, n] + S[:n, :n] @ moves
        columns = [M - np.eye(n)]
        if self._by_p is not None:
            by_p += rate * self._of_rho(self._by_p)
        else:
            columns.append(rate[:, None])
        G, J = end - x, np.column_stack([*columns, by_p])
        if self.autonomous:
            along = self.along / np.linalg.norm(self.along * self.scale[:n])
            G = np.append(G, along @ (x - self.anchor))
            J = np.vstack([J, np.append(along, [0.0, 0.0])])
        peak = np.abs(run.march.steps.y[:, :n]).max(axis=0)
        unit = np.maximum(peak, 1e-3 * peak.max(initial=1e-300))
        size = float((np.abs(G[:n]) / unit).max())
        if self.autonomous:
            size = max(size, abs(float(G[n])))
        happens = ((event.kind, event.contact) for event in events_of(run))
        sequence = (*happens, *shorter(run, x, T, self.count, unit))
        multipliers = multipliers_of(M, round(np.trace(stays)), self.autonomous)
        if not full:
            cycle = Cycle(run, T, M, multipliers, self.mode)
            return Evaluation(G, J, size, sequence, {}, {}, cycle)
        misses = tuple(self.misses(run, self.mode))
        cycle = Cycle(run, T, M, multipliers, self.mode, misses)
        return Evaluation(
            G,
            J,
            size,
            sequence,
            tests(multipliers),
            margins(run, misses, T, "edge" if self.autonomous else "phase"),
            cycle,
        )

    def _check_begin(self, run: Solution) -> None:
        if self.held is not None and not self.held.agrees(run):
            raise BadValue(f"Other contacts of '{self.system.name}' are held at the start.")
        if self.mode < 0 or not isinstance(self.system, HybridSystem):
            return
        last = run.located[-1].to if run.located else self.system.modes[self.mode].name
        if last != self.system.modes[self.mode].name:
            raise BadValue(f"The cycle of '{self.system.name}' ends in another mode, {last!r}.")

    # -- what happens on a branch of cycles -----------------------------------------------------

    kind = "cycles"

    def at_margin(self, key: str) -> tuple[str, str]:
        """Return the kind and the name of a point at which a margin falls to zero."""
        word, _, name = key.partition(" ")
        kinds = {"spacing": "corner", "phase": "phase"}
        return kinds.get(word, "grazing"), name

    def state(self, u: np.ndarray) -> np.ndarray:
        """Return the state at the start of the cycle."""
        return u[: self.n]

    def stable(self, node: Node) -> bool:
        """Whether every multiplier lies inside the unit circle."""
        return bool(np.abs(cycle_of(node).multipliers).max(initial=0.0) < 1)

    def genuine(self, kind: str, node: Node) -> bool:
        """Whether the zero of a test function is a bifurcation."""
        return genuine(kind, cycle_of(node).multipliers)

    def beyond(self, here: Node, ended: Special, options: Options) -> Node | None:
        """Return a cycle without the event that ended at zero speed, or with the one that began.

        An event that reaches the end of the period goes on at its begin, where the cycle is sampled
        on its other side.
        """
        if ended.kind != "phase":
            return other_side(self, here, ended, options)
        cycle = cycle_of(ended.node)
        event = min(cycle.run.located, key=lambda e: min(e.t, cycle.T - e.t))
        late, jump = event.t > 0.5 * cycle.T, cycle.run.march.jump(cycle.run.located.index(event))
        x, S = (event.x_minus, jump.s_minus) if late else (event.x_plus, jump.s_plus)
        w, way = ended.w.copy(), ended.node.tangent
        plane = np.append(np.zeros(len(w) - 1), np.sign(way[-1]) or 1.0)
        moves = S[: self.n] @ (way * self.scale)
        if late and self._by_p is not None:  # the end of the period moves with the parameter
            moves += jump.f_minus[: self.n] * self._of_rho(self._by_p) * way[-1] * self.scale[-1]
        moves /= max(abs(way[-1]), _STEEP)
        before, self.held = self.held, Held(cycle.run, event.t, late)
        for size in _PAST:
            w[: self.n] = (x + size * moves) / self.scale[: self.n]
            done = correct(self, w + size * plane, plane, options.tol, like=plane)
            if done is None or rotated(done[0].at.sequence) != rotated(here.at.sequence):
                continue
            again = min(cycle_of(done[0]).run.located, key=lambda e: min(e.t, cycle.T - e.t))
            if (again.t > 0.5 * cycle.T) != late:
                return done[0]
        self.held = before
        return None

    def doubled(self, node: Node) -> tuple[Cycles, np.ndarray, np.ndarray]:
        """Return the problem of the cycles of twice the period, w at a flip, and the way to them.

        The branch of doubled cycles leaves along the eigenvector of the multiplier -1, at a right
        angle to the parameter.
        """
        cycle, u, n = cycle_of(node), node.w * self.scale, self.n
        start = Shot(u[:n], 2 * cycle.T, cycle.mode)
        other = copy.copy(self)
        other.rho, other.count = self.rho.copy(), 2 * self.count
        other.rho[self.place], other._last, other.mode = u[-1], None, cycle.mode
        if self.period is not None and self._by_p is not None:
            other.period, other._by_p = 2 * self.period, 2 * self._by_p
        other.begin(start)
        other.scale = self.scale.copy()
        if self.autonomous:
            other.scale[n] *= 2
        values, vectors = np.linalg.eig(cycle.monodromy)
        v = vectors[:, np.argmin(np.abs(values + 1))].real
        way = np.append(v / self.scale[:n], np.zeros(len(u) - n))
        return other, other.first(start) / other.scale, way / np.linalg.norm(way)

    # -- the point of the cycle at which it begins ----------------------------------------------

    def settled(self, node: Node) -> Node | None:
        """Return the node from which the next step goes: its phase anchored, moved if need be.

        None if nothing moved but the anchor.
        """
        if not self.autonomous:
            return None
        cycle, u, n = cycle_of(node), node.w * self.scale, self.n
        run, T = cycle.run, cycle.T
        if is_point(run, self.wide):
            raise BranchEnds(f"the cycle shrinks to a point, at {self.parameter} = {u[-1]:.6g}")
        edge = min((min(e.t, T - e.t) for e in run.located), default=np.inf)
        if self.edge == 0:
            self.edge = edge
        if edge > _EDGE * self.edge:
            self.anchor = u[:n].copy()
            self.along = run.march.sample(np.zeros(1), slopes=False)[1][0, :n]
            return None
        if not self.clear(run, cycle.mode):
            return None
        start, S = self.middle(run, cycle.mode)
        dw = node.tangent * self.scale
        self.mode, self.anchor = start.mode, start.x.copy()
        self.along = rate = self._look(start)
        dx = S[:, :n] @ dw[:n] + S[:, n] * dw[-1]
        # without what lies along the flow, which the new phase condition forbids: were it kept, it
        # could outweigh the rest and turn the branch back
        dx = dx - rate * (rate @ dx) / (rate @ rate)
        moved = np.concatenate([dx, dw[n:]]) / self.scale
        self.edge = 0.0
        at = self.evaluate(u := np.concatenate([start.x, u[n:]]))
        return Node(u / self.scale, tangent(self, at, moved), at)

    def off_surfaces(self, start: Shot) -> bool:
        """Whether a start may be moved as its unknowns are: beside surfaces, or along contacts."""
        if isinstance(self.system, HybridSystem) or self._holds:
            return True
        return self.misses.clear(self._shoot(start.x, start.T, slopes=False), 0.0, start.mode)

    @property
    def _holds(self) -> bool:
        """Whether a start may stay on closed contacts, which need no constraints beside them."""
        return isinstance(self.system, LagrangianSystem) and not self.system.constraints

    def clear(self, run: Solution, mode: int) -> bool:
        """Whether a piece between events is off all surfaces, so that a cycle may begin there."""
        pieces = self.misses.segments(run, mode)
        return self._holds or any(self.misses.clear(run, 0.5 * (a + b), m) for a, b, m in pieces)

    def middle(self, run: Solution, mode: int) -> tuple[Shot, np.ndarray]:
        """Return the middle of the longest piece between events, and the derivatives there."""
        pieces = self.misses.segments(run, mode)
        pieces.sort(key=lambda piece: piece[0] - piece[1])
        clear = [q for q in pieces if self.misses.clear(run, 0.5 * (q[0] + q[1]), q[2])]
        begin, end, mode = (clear or pieces)[0]
        t = np.array([0.5 * (begin + end)])
        x = run.march.sample(t, slopes=False)[0][0, : self.n]
        S = run.march.slopes_at(t)[0, : self.n] if run.march.wrt else np.zeros((self.n, 0))
        return Shot(x, float(run.march.t_last), mode), S
