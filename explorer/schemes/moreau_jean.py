"""Moreau-Jean: the event-capturing theta scheme for mechanical systems with contacts and impacts.

Moreau 1988; Jean, CMAME 177 (1999) 235; *Event-capturing schemes*, "Lagrangian systems" and
"Summary of the time discretized equations", with these corrections: `dt` stands at every smooth
term of "M dv + C v + K q = F + p"; lambda is an impulse p (N s); the impact term e gap' and the
active set use values of the start of the step only; q* = (1 - gamma) q_i + gamma q_k is frozen at
q_i + h gamma v_i (second order for a mass matrix that depends on q) or refreshed at the iterate
(first order, Siconos's choice). The equations stand in `explorer.kernels.moreau_jean`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from explorer.compiled import Compiled, short
from explorer.errors import BadValue
from explorer.parameters import knob
from explorer.schemes import schemes
from explorer.schemes.base import Scheme
from explorer.solution import Solution
from explorer.status import NOT_FINITE, SUCCESS, Status
from explorer.systems import LinearMechanicalSystem, MechanicalSystem

__all__ = ["MoreauJean"]

_LCP = ("lemke", "enumeration", "pgs")


@schemes.register
@dataclass(frozen=True, repr=False)
class MoreauJean(Scheme):
    """Moreau-Jean time stepping.

    Order 2 on smooth stretches for theta = 1/2 with ``mass_point="q_star"``, gamma = 1/2, else 1;
    order 1 across impacts, at which penetration is O(h). Accumulating impacts just work.

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    theta : float
        0 explicit, 1/2 midpoint, 1 implicit; A-stable for theta >= 1/2.
    forecast : float
        A contact is active if gap + forecast h gap' <= 0 at the start of the step.
    mass_point : str
        "q_star": M and G at q_i + gamma h v_i; "iterate": at the current Newton iterate.
    gamma : float
        Place of q_star in the step.
    newton_tol, newton_max : float, int
        Relative tolerance of the Newton residual; cap of the iterations.
    lcp : str
        "lemke" (lexicographic), "enumeration" (at most 12 contacts), "pgs".
    lcp_tol, lcp_max : float, int
        Tolerance of the natural residual relative to |q|; cap of projected Gauss-Seidel.
    """

    accepts: ClassVar = (MechanicalSystem, LinearMechanicalSystem)
    handles: ClassVar = frozenset({"contacts"})
    takes: ClassVar[str] = (
        "mechanical systems, smooth or with contacts and impacts, without friction"
    )
    order: ClassVar[int] = 2
    order_across_events: ClassVar[int] = 1

    h: float = knob(1e-3, 1e-4, 1e-1, "s", "step size", log=True, positive=True)
    theta: float = knob(0.5, 0, 1, text="implicitness", strict=True)
    forecast: float = knob(0.5, 0, 1, text="forecast factor of the active set", strict=True)
    mass_point: str = knob("q_star", text="mass matrix at", choices=("q_star", "iterate"))
    gamma: float = knob(0.5, 0, 1, text="place of q_star", strict=True, minor=True)
    newton_tol: float = knob(
        1e-12, 1e-14, 1e-4, text="Newton tolerance", log=True, positive=True, minor=True
    )
    newton_max: int = knob(30, 1, 100, text="Newton cap", strict=True, minor=True)
    lcp: str = knob("lemke", text="LCP solver", choices=_LCP, minor=True)
    lcp_tol: float = knob(
        1e-9, 1e-12, 1e-4, text="LCP tolerance", log=True, positive=True, minor=True
    )
    lcp_max: int = knob(10_000, 10, 100_000, text="Gauss-Seidel cap", positive=True, minor=True)

    def run(
        self, compiled: Compiled, rho: Any, t_end: float, q0: Any = None, v0: Any = None
    ) -> Solution:
        """Integrate from t = 0 to `t_end`.

        Parameters
        ----------
        compiled : Compiled
        rho : sequence of float
            Parameters in declared order.
        t_end : float
            In s.
        q0, v0 : (n,) float, optional
            Start; by default the model's.

        Raises
        ------
        BadValue
            h > t_end; so many steps that memory would not do (the step that would is named).
        BadModel
            The start makes no sense.
        """
        steps = self.steps(t_end, 2 * compiled.n + 3 * compiled.nc + 4, compiled.n)
        n, nc = compiled.n, compiled.nc
        if self.lcp == "enumeration" and nc > 12:
            raise BadValue(
                f"lcp='enumeration' tries 2^{nc} cases for {nc} contacts; use lcp='lemke'."
            )
        start_q, start_v, e = compiled.start(rho)
        inp = compiled.input(rho)
        inp[1 : 1 + n] = start_q if q0 is None else q0
        inp[1 + n : 1 + 2 * n] = start_v if v0 is None else v0
        M, K, C, G = (np.array(x, order="C") for x in compiled.check(inp))

        from explorer.kernels.moreau_jean import run, workspaces  # loads compiled code

        rows = steps + 1
        t = np.zeros(rows)
        q, v = np.empty((rows, n)), np.empty((rows, n))
        p, gap, gap_dot = np.zeros((rows, nc)), np.empty((rows, nc)), np.empty((rows, nc))
        active, iterations = np.zeros((rows, nc), np.int8), np.zeros(rows, np.int32)
        residuals = np.zeros((rows, 2))
        q[0], v[0] = inp[1 : 1 + n], inp[1 + n : 1 + 2 * n]
        W, cc, T, vec, out, ints, member = workspaces(n, nc, max(compiled.most, 2))
        knobs = np.array(
            [self.h, t_end, self.theta, self.forecast, self.gamma, self.newton_tol, self.lcp_tol, 0]
        )
        options = np.array(
            [
                compiled.constant, self.mass_point == "q_star", compiled.rheonomic,
                self.newton_max, _LCP.index(self.lcp), self.lcp_max, 0, 0,
            ]
        )  # fmt: skip
        begin = time.perf_counter()
        code = run(
            compiled.table, knobs, options, inp, compiled.place_M, compiled.place_K,
            compiled.place_C, compiled.gap_ptr, compiled.gap_col, compiled.lin_ptr,
            compiled.lin_col, compiled.lin_val, M, K, C, G, e,
            t, q, v, p, gap, gap_dot, active, iterations, residuals,
            W, cc, T, vec, out, ints, member,
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        done = int(ints[0, 0])
        failed = residuals[min(done + 1, steps)].max()
        end = slice(0, done + 1)
        detail = ""
        if code != SUCCESS:
            last = inp.copy()
            last[: 1 + 2 * n] = t[done], *q[done], *v[done]
            detail = f" Last state: q = {short(q[done])}, v = {short(v[done])}."
            if code == NOT_FINITE:
                last[0] += self.h
                last[1 : 1 + n] += self.h * v[done]
                detail += compiled.culprit(last)
        return Solution(
            t[end], q[end], v[end], p[end], gap[end], gap_dot[end], active[end], iterations[end],
            residuals[end], Status.of(code, done, float(t[done]), float(failed), detail),
            compiled.system, self,
            dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds,
        )  # fmt: skip
