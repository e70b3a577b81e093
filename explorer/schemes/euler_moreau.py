"""Euler-Moreau: the event-capturing theta scheme for M x' = f(t, x) + r with relations and laws.

*Event-capturing schemes*, "First order systems" and "Summary of the time discretized equations",
with these corrections. r is a rate and so is lambda, hence h stands at every r: (I - h W^-1 G0) X =
X_free + h W^-1 (R_k - G0 X_k - G1 lambda_k + G1 lambda) and

    M_lcp = H1 + h H0 (I - h W^-1 G0)^-1 W^-1 G1
    q_lcp = y_k - H0 X_k - H1 lambda_k
            + H0 (I - h W^-1 G0)^-1 [X_free + h W^-1 (R_k - G0 X_k - G1 lambda_k)]

with y_k = h(X_k, t, lambda_k) (printed without h, with y_{i+1}, and linearised around k + 1). The
linear relation, not spelled out there: M_lcp = D + h C W^-1 B, q_lcp = C x_free + F z + e. A relay
has y > 0 -> lambda = lb. `explorer.kernels.time_stepping.euler_moreau` writes the same with V = W -
h G0, for any number of coupled relations.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.codes import LCP_ITERATIONS, LCP_RAY, NOT_FINITE, SINGULAR, SUCCESS
from explorer.compiled import FirstOrder, compile_first_order, short
from explorer.compiled.observe import observe
from explorer.errors import BadModel
from explorer.parameters import knob
from explorer.reformulations import relays, stewart
from explorer.results.solution import Solution
from explorer.runs.members import Asked, Members, Observed
from explorer.runs.steps import check_breaks
from explorer.runs.time_stepping.unsolvable import unsolvable
from explorer.schemes import schemes
from explorer.schemes.bases.scheme import Scheme
from explorer.status import Status
from explorer.systems import FirstOrderSystem, StepSystem, System
from explorer.types import Reals
from explorer.verification.first_order import euler_moreau
from explorer.verification.other_steps import other_steps
from explorer.verification.uniqueness import of_steps

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.euler_moreau_structures import Record, Workspace
    from explorer.runs.time_stepping.euler_moreau import Setup

__all__ = ["EulerMoreau"]

_ROUTES = {"step": "step functions as relays", "stewart": "regions as multipliers in a simplex"}
LCP = ("pivoting", "lemke", "enumeration")


@schemes.register
@dataclass(frozen=True, repr=False)
class EulerMoreau(Scheme):
    """Euler-Moreau time stepping, for first-order systems with complementarity or relays.

    One step from x0 with multipliers lam that give the rate r (for gamma = 1)::

        M (x1 - x0) = h [theta f1 + (1 - theta) f0] + h r1
        y1 = h(x1, t1, lam1),   r1 = g(x1, t1, lam1)
        0 <= y1  perp  lam1 >= 0,   or a relay:  lam1 in [lb, ub],  y1 in -N(lam1)

    Source: Acary, Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 2008,
    doi:10.1007/978-3-540-75392-6; of relays Acary, Brogliato, Syst. Control Lett. 59 (2010)
    284, doi:10.1016/j.sysconle.2010.03.002.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.two_relays(), ex.EulerMoreau(h=1e-3, theta=1.0))
    >>> bool(abs(run.x[-1]).max() < 1e-9)  # at rest after infinitely many switches
    True

    Order 1; order 2 for theta = 1/2 while no multiplier acts. The steps pass over switches, also
    over infinitely many. The one-step problem finds sliding without chattering.

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    theta : float
        Weight of the end of the step in f: 0 explicit, 1/2 trapezoidal, 1 implicit; A-stable for
        theta >= 1/2.
    gamma : float
        1: the relation and the law hold at the end of the step; 0: explicit.
    gamma_on : str
        "r": r = gamma r_{i+1} + (1 - gamma) r_i, y at the end; "relation": y and r are taken at
        gamma x_{i+1} + (1 - gamma) x_i, t_i + gamma h.
    representation : str
        For a system with step functions: "step", a relay alpha for each function, or "stewart",
        theta for the cells of a `FilippovSystem`.
    newton_tol, newton_max : float, int
        Tolerance of the Newton residual relative to its terms; maximum number of iterations.
    lcp : str
        "pivoting", warm-started from the previous step; "lemke", lexicographic, from scratch;
        "enumeration". If one fails, the others are tried.
    lcp_tol : float
        Tolerance of the natural residual relative to its terms.
    """

    accepts: ClassVar = (FirstOrderSystem, StepSystem)
    rewrites: ClassVar = (StepSystem,)
    takes: ClassVar[str] = (
        "first-order systems with relations and laws, systems with step functions and Filippov "
        "systems"
    )
    references: ClassVar = ("acary-brogliato-2008", "acary-brogliato-2010", "siconos-schemes")
    choice_references: ClassVar = {
        "lcp": {"pivoting": ("murty-1988",), "lemke": ("lemke-1965", "cottle-2009")},
    }
    residual_unit: ClassVar[str] = ""
    order: ClassVar[int] = 2
    order_across_events: ClassVar[int] = 1

    h: float = knob(1e-3, 1e-7, 1e-1, "s", "step size", log=True, positive=True)
    theta: float = knob(0.5, 0, 1, text="implicitness", strict=True)
    gamma: float = knob(1.0, 0, 1, text="implicitness of the law", strict=True)
    gamma_on: str = knob("r", text="gamma acts on", choices=("r", "relation"))
    representation: str = knob(
        "step", text="multipliers of step functions", choices=("step", "stewart"), minor=True
    )
    newton_tol: float = knob(
        1e-12, 1e-14, 1e-4, text="Newton tolerance", log=True, positive=True, minor=True
    )
    newton_max: int = knob(30, 1, 100, text="Newton cap", strict=True, minor=True)
    lcp: str = knob("pivoting", text="LCP solver", choices=LCP, minor=True)
    lcp_tol: float = knob(
        1e-9, 1e-12, 1e-4, text="LCP tolerance", log=True, positive=True, minor=True
    )

    def compile(self, system: FirstOrderSystem | StepSystem) -> FirstOrder:  # type: ignore[override]
        """Return the compiled system for the kernel of this scheme, reformulated if necessary."""
        if isinstance(system, FirstOrderSystem):
            return compile_first_order(system)
        kept: dict[str, FirstOrder] = system.made.setdefault("multipliers", {})
        if self.representation not in kept:
            rewrite = relays if self.representation == "step" else stewart
            if system.drive is not None:
                assert isinstance(system.base, StepSystem)
                kept[self.representation] = self.compile(system.base).behind_inputs(system)
                return kept[self.representation]
            made = kept[self.representation] = FirstOrder(rewrite(system))
            made.given = system
        return kept[self.representation]

    def run(  # type: ignore[override]  # a system of first order has no q0 and v0
        self, compiled: FirstOrder, rho: Reals, t_end: float, *, x0: Reals | None = None
    ) -> Solution:
        """Integrate from t = 0 to `t_end`.

        Raises
        ------
        BadValue
            If h > t_end, or the steps need too much memory.
        BadModel
            If the start is not finite, or the matrix M is singular.
        """
        from explorer.runs.time_stepping.euler_moreau import march, task_of  # loads compiled code

        n, m = compiled.n_x, compiled.m
        rows = 1 + self.steps(t_end, n + 2 * m + 4, n, unit=compiled.system.time_unit)
        first = compiled.at_start
        start, M, bounds = first.start(rho)
        x, lam = np.array(start if x0 is None else x0, float), np.clip(0.0, *bounds)
        inp = compiled.input(rho)
        inp[1 : 1 + n + m] = *x, *lam
        if wrong := first.culprit(inp):
            raise BadModel(
                f"'{compiled.system.name}':{wrong} Typical causes are a division by zero and a "
                "root or logarithm of a negative number."
            )
        check_breaks(compiled.given, self.h)
        task = task_of(compiled, self.setup, inp, first.sides(inp), M, bounds, t_end, rows)
        record, work = task.record, task.work
        begin = time.perf_counter()
        code = march(compiled, task, band=self.lcp == "pivoting")
        done = int(work.state["row"][0])
        seconds = time.perf_counter() - begin
        if done:
            record.side[0] = record.side[1]
        columns = {n: values[: done + 1] for n, values in record._asdict().items()}
        return Solution(
            {"q": columns.pop("x"), **columns},
            observe=observe,
            status=self._status(code, compiled, done, record, inp, work, bounds),
            system=compiled.given,
            scheme=self,
            known={"laws": compiled.system.laws},
            route=() if compiled.given is compiled.system else (_ROUTES[self.representation],),
            rho=dict(zip(compiled.system.parameters, map(float, rho), strict=True)),
            seconds=seconds,
        )

    @property
    def setup(self) -> Setup:
        """The scheme in numbers."""
        from explorer.kernels.time_stepping.euler_moreau_structures import Method
        from explorer.runs.time_stepping.euler_moreau import Setup

        a, s = (self.gamma, 1.0) if self.gamma_on == "r" else (1.0, self.gamma)
        method, lcp = Method(self.theta, a, s), LCP.index(self.lcp)
        return Setup(self.h, method, self.newton_max, self.newton_tol, lcp, self.lcp_tol)

    def ensemble(self, system: System) -> Callable[[Members, Asked], Observed] | None:
        """Return what runs many members in one call; None of sparse or driven systems."""
        from explorer.runs.time_stepping.euler_moreau import march_members

        compiled = self.compile(system)  # type: ignore[arg-type]
        banded = self.lcp == "pivoting" and compiled.joint.place.size > 0
        if system.drive is not None or banded or not self.agrees("ensemble", "run"):
            return None
        return partial(march_members, compiled, self.setup)

    @property
    def orders(self) -> tuple[int, int]:
        """2 for the trapezoidal rule, else 1."""
        return 2 if self.theta == 0.5 else 1, 1

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: the step's equations, the laws, growth below theta = 1/2."""
        compiled = self.compile(solution.system)
        own = euler_moreau(solution, compiled)
        if isinstance(solution.system, StepSystem):
            return [*own, *of_steps(solution)]
        return [*own, other_steps(solution, compiled)]

    def _status(
        self,
        code: int,
        compiled: FirstOrder,
        done: int,
        record: Record,
        inp: np.ndarray,
        work: Workspace,
        bounds: np.ndarray,
    ) -> Status:
        """Return how the run ended, in the words of first-order systems."""
        t, x, unit = float(record.t[done]), record.x[done], compiled.system.time_unit
        residual = float(np.nanmax(record.residuals[min(done + 1, len(record.t) - 1)]))
        status = Status.of(code, done, t, residual, f" Last state: x = {short(x)}.", unit)
        if code == SUCCESS:
            return status
        words = ""
        if code in (LCP_RAY, LCP_ITERATIONS):
            names = [(law.name, law.y_name) for law in compiled.system.laws]
            words = unsolvable(
                work.box.M,
                work.box.q,
                bounds,
                names,
                gamma=self.gamma,
                linearised=compiled.kind == 0,
            )
        elif code == SINGULAR:
            words = (
                "the matrix M - h theta f_x - h gamma g_x, or the rows of D + h C W^-1 B that are "
                "equalities, is singular: the step does not determine the state. Try another h or "
                "theta, or other equations"
            )
        elif code == NOT_FINITE:
            last = inp.copy()
            return replace(status, message=status.message + compiled.culprit(last))
        if words:
            detail = f" Last state: x = {short(x)}."
            return Status.stopped(code, status.name, done, t, words, detail, unit)
        return status
