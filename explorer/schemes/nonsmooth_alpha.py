"""Generalised-alpha through impacts, and Newmark's method without an impact law.

M(q) dv = F(t, q, v) dt + G' dp with Newton's impact law gap'(+) = -e gap'(-): the smooth part is
the generalised-alpha method, impulses are of first order and belong to a step as a whole. Chen,
Acary, Virlez, Bruls, Int. J. Numer. Meth. Engng 96 (2013) 487; Bruls, Acary, Cardona, Comput.
Methods Appl. Mech. Engrg 281 (2014) 131; Cosimo, Galvez, Cavalieri, Cardona, Bruls, Multibody
Syst. Dyn. 48 (2020) 127. The equations stand in `explorer.kernels.time_stepping.nonsmooth_alpha`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.compiled import Compiled
from explorer.errors import BadValue
from explorer.parameters import knob
from explorer.results.solution import Solution
from explorer.runs.time_stepping.ensemble import Answer
from explorer.runs.time_stepping.factors import solved
from explorer.runs.time_stepping.starts import Starts, accelerations
from explorer.schemes import schemes
from explorer.schemes.bases.amplification import Coefficients, check_step, within_limit
from explorer.schemes.bases.capturing import LCP, ImplicitCapturing, Matrices, rows_of
from explorer.schemes.bases.constrained_alpha import certified, constrained
from explorer.schemes.bases.newmark_family import AlphaFamily, Family, NewmarkFamily
from explorer.schemes.newmark import GeneralizedAlpha
from explorer.systems import System
from explorer.verification.energy import made_and_lost
from explorer.verification.growth import newmark_growth
from explorer.verification.newmark import equilibrium
from explorer.verification.normals import normals
from explorer.verification.positions import penetration
from explorer.verification.steps import contact_problem
from explorer.verification.touches import touches

if TYPE_CHECKING:
    from explorer.kernels.time_stepping.nonsmooth_alpha_structures import Method, Task

__all__ = ["Alpha", "ContactInNewmark", "NonsmoothGeneralizedAlpha"]

_MOST = 2000
# as the kernel counts them
_LEVELS = ("velocity", "position+velocity", "inside", "mean")


@functools.lru_cache(maxsize=64)
def method_of(co: Coefficients, forecast: float, level: str, interpolated: bool) -> Method:
    """Return the coefficients as the kernel takes them."""
    from explorer.kernels.time_stepping.nonsmooth_alpha_structures import Method

    am, af, beta, gamma = map(float, (co.alpha_m, co.alpha_f, co.beta, co.gamma))
    weights = (1.0, 1.0 - af) if interpolated else (1.0 - af, 1.0)
    number = _LEVELS.index(level)
    return Method(am, af, beta, gamma, float(forecast), number, interpolated, *weights)


@dataclass(frozen=True, repr=False)
class Alpha(ImplicitCapturing, Family):
    """What the schemes of this kernel share: all but their coefficients and where contact acts."""

    level: ClassVar[str] = "inside"
    forecast: ClassVar[float] = 0.0

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: contact laws, positions, energy that is made."""
        if solution.system.constraints:
            return [
                *certified(solution, self.lcp_tol),
                *touches(solution, lambda: self.finer(solution)),
            ]
        one_by_one = self.impact_steps > 1 and solution.p.shape[1]  # v inside an impact is none
        rows = ~np.any(solution.p > 0, axis=1) if one_by_one else None
        return [
            *contact_problem(solution, self.lcp_tol),
            *penetration(solution),
            *normals(solution),
            *touches(solution, lambda: self.finer(solution)),
            *made_and_lost(solution, self.conserved(solution), rows=rows),
            *equilibrium(solution),
            *newmark_growth(solution),
        ]

    def kernel(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> tuple[Callable[[], int], Callable[[], int], dict[str, np.ndarray]]:
        """Return a march of `explorer.runs.time_stepping.nonsmooth_alpha`."""
        from explorer.runs.time_stepping.nonsmooth_alpha import march  # loads compiled code

        if compiled.n > _MOST:
            raise BadValue(
                f"{type(self).__name__} works with full matrices, up to {_MOST} coordinates, but "
                f"'{compiled.system.name}' has {compiled.n}; MoreauJean accepts any number."
            )
        M, K, C, _ = matrices
        if compiled.constant:
            check_step(self, M, C, K, (lambda: compiled.highest) if compiled.linear else None)
        a = np.zeros_like(record["q"])
        a[0] = solved(M, compiled.at_start.forces(inp))
        task = self._task(compiled, float(t_end), inp, matrices, e, record | {"a": a})
        call, last = march(task)
        return call, last, {"a": a}

    def _task(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> Task:
        """Return the structures of a march."""
        # loads compiled code
        from explorer.kernels.complementarity.structures import LcpOptions
        from explorer.runs.time_stepping.nonsmooth_alpha import Setup, task_of

        setup = Setup(
            method_of(self.coefficients, self.forecast, self.level, self.interpolated),
            float(self.newton_tol),
            self.newton_max,
            LcpOptions(LCP.index(self.lcp), float(self.lcp_tol), self.lcp_max),
            float(self.h),
            t_end,
            inp,
            e,
        )
        return task_of(compiled, setup, matrices, record)

    def shared(
        self, compiled: Compiled, starts: Starts, plain: np.ndarray, t_end: np.ndarray, rows: int
    ) -> Answer:
        """Return a march of `explorer.kernels.time_stepping.nonsmooth_alpha` for many members."""
        from explorer.runs.time_stepping.nonsmooth_alpha import shared  # loads compiled code

        if compiled.constant:
            plain = plain & within_limit(self, compiled, starts.M, starts.C, starts.K, plain)
        if not plain.any():
            return Answer(plain, None)
        a = accelerations(starts.M, starts.F, plain)
        one = int(plain.argmax())
        matrices = (starts.M[one], starts.K[one], starts.C[one], starts.G[one].copy())
        record = rows_of(rows, compiled)
        task = self._task(
            compiled,
            float(t_end[one]),
            starts.inp[one].copy(),
            matrices,
            starts.e[one].copy(),
            record | {"a": np.zeros_like(record["q"])},
        )
        return shared(task, starts, a, plain)


@schemes.register
@dataclass(frozen=True, repr=False)
class NonsmoothGeneralizedAlpha(AlphaFamily, Alpha):
    """Generalised-alpha with impulses: no event is located, impacts may accumulate.

    One step from (q0, v0, a0); the impulses z and p correct positions and velocities::

        M a_m = F(t_f, q_f, v_f)    (a_m, q_f, v_f as in `GeneralizedAlpha`)
        q1 = q0 + h v0 + h^2 [(1/2 - beta) a0 + beta a1] + U,    M U = G' z
        v1 = v0 + h [(1 - gamma) a0 + gamma a1] + W,             M W = G' p
        0 <= gap(q1)  perp  z >= 0,    0 <= G v1 + e G v0  perp  p >= 0

    Source: Chen et al., Int. J. Numer. Meth. Engng 96 (2013) 487, doi:10.1002/nme.4563 (velocity);
    Bruls et al., CMAME 281 (2014) 131, doi:10.1016/j.cma.2014.07.025 (both levels).

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), ex.NonsmoothGeneralizedAlpha(h=1e-3))
    >>> bool(run.gap.min() > -1e-9)  # nothing penetrates
    True

    Constraints phi(t, q) = 0 hold at both levels. As in `GeneralizedAlpha`, they act by forces in
    smooth motion and by impulses at impacts, for both values of `level`. With constraints the
    corrections of contacts are solved one after the other, and beta > 1/4 (rho_inf < 1).

    Order 2 between impacts, where it equals `GeneralizedAlpha`, and 1 across impacts.

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    level : str
        "position+velocity": gap >= 0 and Newton's impact law, each with its own multiplier; nothing
        penetrates. "velocity": Newton's impact law alone. Gaps are then violated by O(h), and with
        alpha_m = alpha_f = 0 a linear system moves as with `MoreauJean` and theta = 1/2.
    rho_inf, family, force, alpha_m, alpha_f, beta, gamma : see `GeneralizedAlpha`
    forecast : float
        Level "velocity": a contact is active if gap + forecast h gap' <= 0 at the start of the
        step.
    newton_tol, newton_max, lcp, lcp_tol, lcp_max : see `MoreauJean`
    """

    references: ClassVar = ("chen-2013", "bruls-2014", "cosimo-2020")
    choice_references: ClassVar = Alpha.choice_references | GeneralizedAlpha.choice_references

    handles: ClassVar = Alpha.handles | {"constraints"}
    takes: ClassVar[str] = (
        "mechanical systems, smooth or with contacts, impacts and constraints, without friction"
    )
    feature_references: ClassVar = {"constraints": ("arnold-bruls-2007",)}

    level: str = knob(  # type: ignore[misc]
        "position+velocity", text="constraints on", choices=("position+velocity", "velocity")
    )
    forecast: float = knob(  # type: ignore[misc]
        0.5, 0, 1, text="forecast factor of the active set", strict=True, minor=True
    )

    shared = Alpha.shared  # of systems without constraints, which have no other march here

    def kernel(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> tuple[Callable[[], int], Callable[[], int], dict[str, np.ndarray]]:
        """Return a march; constraints have one of their own."""
        if not compiled.bound:
            return super().kernel(compiled, t_end, inp, matrices, e, record)
        lcp = self.lcp, self.lcp_tol, self.lcp_max
        contact = self.forecast, self.level == "velocity"
        run = constrained(self, compiled, t_end, inp, matrices, e, record, lcp, contact)
        return run.march, run.last, run.more()


@schemes.register
@dataclass(frozen=True, repr=False)
class ContactInNewmark(NewmarkFamily, Alpha):
    """Contact put straight into Newmark's method, as a lesson: impacts add energy.

    One step from (d0, v0, a0), without a law of impact::

        M a1 = F1 + G' lam,    0 <= gap(d1)  perp  lam >= 0
        v1 = v0 + h [(1 - gamma) a0 + gamma a1]
        d1 = d0 + h v0 + h^2 [(1/2 - beta) a0 + beta a1]

    Source: Newmark, J. Eng. Mech. Div. 85 (1959) 67, doi:10.1061/JMCEA3.0000098; of contact in it
    Doyen, Ern, Piperno, SIAM J. Sci. Comput. 33 (2011) 223, doi:10.1137/100791440.

    >>> import warnings
    >>> import explorer as ex
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", (ex.LessonWarning, ex.SchemeWarning))
    ...     run = ex.simulate(ex.models.bouncing_ball(), ex.ContactInNewmark(h=1e-3))
    >>> bool(run.energy[-1] > run.energy[0])  # impacts add energy
    True

    To stop a body within one step takes an acceleration of order 1/h. It acts in the next step,
    too, and returns more speed than there was. A smaller h does not help; larger beta and gamma
    hide the effect by damping. The restitution e is ignored. p is the impulse h [(1 - gamma) lam_0
    + gamma lam_1] of the step. Each run gives a warning.

    Parameters
    ----------
    h : float
        Step size in s.
    beta, gamma : float
        See `Newmark`; beta must not be 0.
    newton_tol, newton_max, lcp, lcp_tol, lcp_max : see `MoreauJean`
    """

    references: ClassVar = ("newmark-1959", "doyen-2011")
    takes: ClassVar[str] = "mechanical systems with contacts, without friction"
    order_across_events: ClassVar[int] = 0
    lesson: ClassVar[str] = (
        "ContactInNewmark has no impact law, so impacts add energy at any step size (large beta "
        "and gamma hide this by damping). It is a lesson; NonsmoothGeneralizedAlpha, MoreauJean "
        "and EventDriven treat impacts correctly"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beta == 0:
            raise BadValue(
                "ContactInNewmark: with beta = 0 the force of a contact does not act on the gap "
                "at the end of its step; use beta = 1/4."
            )

    @classmethod
    def fits(cls, system: System) -> bool:
        """Whether it integrates the system; without contacts it would be `Newmark`."""
        return bool(system.contacts) and super().fits(system)
