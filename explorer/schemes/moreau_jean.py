"""Moreau-Jean: the event-capturing theta scheme for mechanical systems with contacts and impacts.

Moreau 1988; Jean, CMAME 177 (1999) 235; *Event-capturing schemes*, "Lagrangian systems" and
"Summary of the time discretized equations", with these corrections: `dt` stands at every smooth
term of "M dv + C v + K q = F + p"; lambda is an impulse p (N s); the impact term e gap' and the
active set use values of the start of the step only; q* = (1 - gamma) q_i + gamma q_k is frozen at
q_i + h gamma v_i (second order for a mass matrix that depends on q) or refreshed at the iterate
(first order, Siconos's choice). The equations stand in `explorer.kernels.moreau_jean`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from explorer.parameters import knob
from explorer.schemes import schemes
from explorer.schemes.capturing import LCP, Capturing
from explorer.schemes.factors import UNUSED, Factors, combined, factorise
from explorer.status import SINGULAR

__all__ = ["MoreauJean"]


@schemes.register
@dataclass(frozen=True, repr=False)
class MoreauJean(Capturing):
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

    theta: float = knob(0.5, 0, 1, text="implicitness", strict=True)
    forecast: float = knob(0.5, 0, 1, text="forecast factor of the active set", strict=True)
    mass_point: str = knob("q_star", text="mass matrix at", choices=("q_star", "iterate"))
    gamma: float = knob(0.5, 0, 1, text="place of q_star", strict=True, minor=True)

    def kernel(
        self, compiled: Any, t_end: float, inp: Any, matrices: Any, e: Any, record: Any
    ) -> Any:
        """Return a call of `explorer.kernels.moreau_jean.run`."""
        # loads compiled code
        from explorer.kernels.moreau_jean import H_FACTORED, UNFACTORED, run, workspaces

        constant, (M, K, C, G) = compiled.constant, matrices
        work = workspaces(compiled.n, compiled.nc, max(compiled.most, 2), constant)
        knobs = np.array([
            self.h, t_end, self.theta, self.forecast, self.gamma, self.newton_tol, self.lcp_tol,
            self.h,
        ])  # fmt: skip
        options = np.array(
            [
                constant, self.mass_point == "q_star", compiled.rheonomic,
                self.newton_max, LCP.index(self.lcp), self.lcp_max, 0, 0,
            ]
        )  # fmt: skip
        unused = np.empty((0, 0))

        def march() -> int:
            code = UNFACTORED
            while code == UNFACTORED:
                factors: Factors | None = UNUSED
                if constant:
                    ht = knobs[H_FACTORED] * self.theta
                    factors = factorise(combined((1.0, ht, ht * ht), (M, C, K)))
                if factors is None:
                    return SINGULAR
                code = run(
                    compiled.table, knobs, options, inp, compiled.place_M, compiled.place_K,
                    compiled.place_C, compiled.gap_ptr, compiled.gap_col, compiled.lin_ptr,
                    compiled.lin_col, compiled.lin_val, factors,
                    *((unused,) * 3 if constant else (M, K, C)), G, e, *record.values(), *work,
                )  # fmt: skip
            return code

        return march, work[5], {}
