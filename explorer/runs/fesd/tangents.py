"""Derivatives along a run of `FESD` by parameters, and its running cost: what the kernel leaves."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from explorer.compiled import Switched, compile_switched
from explorer.compiled.held import schedule_of
from explorer.errors import BadValue
from explorer.quantities import quantity
from explorer.results.event import Jump
from explorer.runs.event_driven.columns import active_of
from explorer.runs.fesd.run import Run
from explorer.runs.fesd.slide_ends import slide_end
from explorer.systems import StepSystem, System
from explorer.types import Reals

if TYPE_CHECKING:
    from explorer.kernels.fesd.structures import Phases, Record, Workspace
    from explorer.kernels.fesd.tangents import Asked, Derivatives

__all__ = ["Tangents", "check_start", "on_surface"]

_FOLD = 3  # kind of a switch: the multipliers of a slide have met others and vanished
_SURFACE = 1  # kind of a switch: a switching function is zero; else a multiplier at its bound


def _functions(compiled: Switched, rho: Reals, t: float, x: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return c and its derivatives by x, t and all parameters."""
    n, nc, inp = compiled.n_x, compiled.n_c, compiled.input(rho)
    inp[0], inp[1 : 1 + n] = t, x
    out = compiled.tangents[1](inp)
    c_x = out[nc : nc * (1 + n)].reshape(nc, n)
    c_t = out[nc * (1 + n) : nc * (2 + n)]
    return out[:nc], c_x, c_t, out[nc * (2 + n) :].reshape(nc, compiled.n_rho)


def check_start(
    compiled: Switched, rho: Reals, x: np.ndarray, seeds: np.ndarray, wrt: Sequence[int]
) -> None:
    """Refuse a start on a surface that a parameter moves off it: its derivatives are one-sided.

    Parameters
    ----------
    x, seeds : (n_x,), (n_x, p) the start and its derivative
    wrt : places of the parameters in rho; -1 for a start value

    Raises
    ------
    BadValue
    """
    c, c_x, _, c_rho = _functions(compiled, rho, 0.0, x)
    places = np.array(wrt, np.int64)
    c_rho = np.column_stack([c_rho, np.zeros(len(c))])  # the last column, -1: a start value
    moves = c_x @ seeds + c_rho[:, places]
    on = np.abs(c) <= 1e-9 * (1 + np.abs(x).max())
    if (np.abs(moves[on]) > 1e-9).any():
        name = compiled.system.guard_names[int(np.flatnonzero(on)[0])]
        raise BadValue(
            f"The start lies on the switching surface {name!r} = 0 and a parameter moves it off, "
            "so the two one-sided derivatives differ. Start beside the surface."
        )


def on_surface(system: System, rho: Reals, x: np.ndarray) -> bool:
    """Whether a start (n_x,) of a system with step functions lies on a switching surface."""
    if not isinstance(system, StepSystem):
        return False
    try:
        check_start(compile_switched(system), rho, x, np.eye(len(x)), (-1,) * len(x))
    except BadValue:
        return True
    return False


class Tangents:
    """Total derivatives at the ends of elements, and those at a fixed time anywhere.

    Parameters
    ----------
    run : Run
    wrt : places of the parameters in rho; -1 for a start value; columns of values of inputs, see
        `explorer.runs.event_driven.columns`
    seeds : (n_x, p) derivative of the start, by default the model's own

    Attributes
    ----------
    moved : (n_e + 1, p + 1, n_x + 2)
        d(x, z, t)/drho at the ends of elements, which move; the last column serves the kernel.
    own : (n_e, n_x + 2)
        Derivatives of the end of each element by its length.
    cost : (n_e + 1,)
        Running cost z.

    Raises
    ------
    BadValue
        Where no derivative exists: a start on a surface that moves off it, a switch that grazes.
    """

    def __init__(self, run: Run, wrt: tuple[int, ...], seeds: np.ndarray | None = None) -> None:
        from explorer.kernels.fesd.tangents import differentiate

        self.run, self.active = run, active_of(run.compiled.system, wrt)
        if not len(self.active):
            self.active = np.array([wrt], np.int64).reshape(1, len(wrt))
        self.wrt = self.active[0]
        n, count, p = run.compiled.n_x, len(run.times), len(wrt)
        self.moved = np.zeros((count + 1, p + 1, n + 2))
        self.own, self.cost = np.zeros((count, n + 2)), np.zeros(count + 1)
        if seeds is None:
            seeds = np.where(self.wrt >= 0, run.compiled.start(run.rho)[1][:, self.wrt], 0.0)
        self.moved[0, :p, :n] = seeds.T
        switches = run.phases.switches
        if len(switches) and switches["zeros"][0]:
            check_start(run.compiled, run.rho, run.states[0], self.moved[0, :p, :n].T, self.wrt)
        failed = differentiate(*self._arguments(), run.options.elements, self._derivatives())
        if (switches["kind"][1:] == _FOLD).any():
            raise BadValue(
                "Sliding on several surfaces ends where its multipliers meet another solution and "
                "both vanish, and no derivative exists there. Use an earlier t_end."
            )
        if failed or not np.isfinite(self.moved[:, :p]).all():
            self._refuse()

    def _arguments(self) -> tuple[Workspace, Asked, Record, Phases]:
        from explorer.kernels.fesd.structures import workspace
        from explorer.kernels.fesd.tangents import asked
        from explorer.runs.fesd.workspace import problem, tableau

        run = self.run
        work = workspace(
            problem(run.compiled, run.rho, tangents=True),
            tableau(run.method),
            run.options.newton_max,
        )
        return work, asked(work.element, self.active), run.record, run.phases

    def _derivatives(self) -> Derivatives:
        from explorer.kernels.fesd.tangents import Derivatives

        return Derivatives(self.moved, self.own, self.cost)

    def _refuse(self) -> None:
        wrong = np.flatnonzero(~np.isfinite(self.moved[:, :-1]).all(axis=(1, 2)))
        t = self.run.times[max(int(wrong[0]) - 1, 0), 0] if len(wrong) else 0.0
        raise BadValue(
            f"From t = {quantity(t, self.run.compiled.system.time_unit)} "
            "on there is no finite derivative: a surface is touched "
            "and not crossed, or a formula is not differentiable there. Use other parameters or "
            "an earlier t_end."
        )

    def at(self, t: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return derivatives (k, n_x + 1, p) of (x, z), and z (k,), at times inside elements."""
        from explorer.kernels.fesd.tangents import tangents

        n, p = self.run.compiled.n_x, len(self.wrt)
        S, z = np.zeros((len(t), n + 1, p)), np.zeros(len(t))
        if len(self.own):
            times = np.ascontiguousarray(t, float)
            tangents(*self._arguments(), self._derivatives(), times, which, S, z)
        return S, z

    def dt_drho(self, k: int) -> np.ndarray:
        """Return the derivative (p,) of the time of switch `k`, from 0."""
        return self.jump(k).dt_drho

    def _active_at(self, t: float) -> np.ndarray:
        """Return the parameter of each column at a time, -1 where it does not count."""
        schedule = schedule_of(self.run.compiled.system)
        k = 0 if schedule is None else int(schedule.intervals(np.array([t]))[0])
        return np.asarray(self.active[k])

    def jump(self, k: int) -> Jump:
        """Return both sides of switch `k`, from 0: S+ = Xi S- + Pi holds for them."""
        return self._jumps[k]

    @functools.cached_property
    def _jumps(self) -> list[Jump]:
        return [self._jump(k) for k in range(len(self.run.hits))]

    def _jump(self, k: int) -> Jump:
        run, n = self.run, self.run.compiled.n_x
        phases, p = run.phases, k + 1
        kind, j, e = (int(phases.switches[name][p]) for name in ("kind", "which", "element"))
        t, x = phases.t[p], phases.x[p]
        d, by_t = self.moved[e, :-1, : n + 1].T, self.moved[e, :-1, -1]
        if run.polished[p]:
            return slide_end(run, k, d, by_t, float(self.cost[e]), self._active_at(t))
        before = self.own[e - 1, : n + 1]
        after = np.append(phases.behind[p], run.spent(p))
        r_x, r_rho, slope = np.zeros(n), np.zeros(run.compiled.n_rho), float(phases.slope[p])
        if kind == _SURFACE:
            _, c_x, c_t, c_rho = _functions(run.compiled, run.rho, t, x)
            r_x, r_rho, slope = c_x[j], c_rho[j], float(c_t[j] + c_x[j] @ before[:n])
        return Jump(
            t,
            np.append(x, self.cost[e]),
            before,
            after,
            d - np.outer(before, by_t),
            d - np.outer(after, by_t),
            by_t,
            slope,
            r_x,
            r_rho,
            np.eye(n),
            np.zeros(n),
            np.zeros((n, run.compiled.n_rho)),
        )
