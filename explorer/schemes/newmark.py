"""The Newmark family and generalised-alpha, for smooth (and yielding) mechanical systems.

*Newmark methods*; Chung and Hulbert, J. Appl. Mech. 60 (1993) 371. Corrections to the former:
residual and tangent hold at the alpha states for all three unknowns; a damping matrix C and a force
p(u, u') are not counted twice; alpha weighs the old value
(`explorer.schemes.bases.newmark_family`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from explorer.certificate import Check
from explorer.compiled import Compiled
from explorer.errors import BadValue
from explorer.parameters import number
from explorer.recorder import Selection
from explorer.results.solution import Solution
from explorer.schemes import schemes
from explorer.schemes.bases.constrained_alpha import certified, smooth_motion
from explorer.schemes.bases.newmark_family import AlphaFamily, NewmarkFamily
from explorer.schemes.bases.structural import Structural, unknowns
from explorer.types import Reals

__all__ = ["NAMED", "GeneralizedAlpha", "Newmark", "unknowns"]

NAMED: dict[str, tuple[float, float]] = {  # (beta, gamma), the table of the paper
    "purely explicit": (0, 0),
    "central difference": (0, 1 / 2),
    "Fox-Goodwin": (1 / 12, 1 / 2),
    "linear acceleration": (1 / 6, 1 / 2),
    "average acceleration": (1 / 4, 1 / 2),
}


@schemes.register
@dataclass(frozen=True, repr=False)
class Newmark(NewmarkFamily, Structural):
    """Newmark's method, for smooth mechanical systems and springs that yield.

    One step from (d0, v0, a0)::

        M a1 = F(t1, d1, v1)
        v1 = v0 + h [(1 - gamma) a0 + gamma a1]
        d1 = d0 + h v0 + h^2 [(1/2 - beta) a0 + beta a1]

    Source: Newmark, J. Eng. Mech. Div. 85 (1959) 67, doi:10.1061/JMCEA3.0000098.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.pendulum(), ex.Newmark(h=1e-2))
    >>> run.status.name, run.scheme.order
    ('success', 2)

    Order 2 for gamma = 1/2, else 1 (and damping for gamma > 1/2, growth below). Unconditionally
    stable for 2 beta >= gamma >= 1/2. `explorer.schemes.newmark.NAMED` holds the classical choices.

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    beta, gamma : float
        beta = 0 is explicit.
    form : str
        The unknown that is solved for: "a", "v" (gamma != 0) or "d" (beta != 0). The motion is the
        same.
    a0 : str
        "consistent": a_0 = M^-1 F at the start; "zero" costs an order.
    error_tol : float
        If positive, the step size adapts so that the local error of each step stays below it, in m.
        The error is that of d, and that of v over the frequency of the motion, both estimated by
        Simpson's rule (`explorer.kernels.time_stepping.newmark_error`).
    newton_tol, newton_max : float, int
        Tolerance of the Newton residual at the accepted state, in each coordinate, relative to its
        terms; maximum number of iterations. A step in which Newton's method fails is divided into
        up to 1024 parts.
    """

    references: ClassVar = ("newmark-1959", "hughes-2000")

    @classmethod
    def named(cls, name: str, alpha: float = 0.0, **knobs: Any) -> Newmark:
        """Return a classical scheme by its name in `NAMED`, or "average with damping".

        Parameters
        ----------
        name : str
        alpha : float
            For "average with damping": gamma = 1/2 + alpha, beta = (1 + alpha)^2 / 4.

        Raises
        ------
        BadValue
            An unknown name.
        """
        if name == "average with damping":
            alpha = number(alpha, "alpha")
            return cls(beta=(1 + alpha) ** 2 / 4, gamma=0.5 + alpha, **knobs)
        if name not in NAMED:
            known = ", ".join(repr(k) for k in (*NAMED, "average with damping"))
            raise BadValue(f"There is no Newmark scheme {name!r}. Available: {known}.")
        beta, gamma = NAMED[name]
        return cls(beta=beta, gamma=gamma, **knobs)


@schemes.register
@dataclass(frozen=True, repr=False)
class GeneralizedAlpha(AlphaFamily, Structural):
    """Generalised-alpha: equilibrium between old and new state, damping of high frequencies.

    One step from (d0, v0, a0); alpha weighs the old value::

        M a_m = F(t_f, d_f, v_f),    a_m = (1 - alpha_m) a1 + alpha_m a0
        d_f = (1 - alpha_f) d1 + alpha_f d0,    v_f and t_f likewise
        v1 = v0 + h [(1 - gamma) a0 + gamma a1]
        d1 = d0 + h v0 + h^2 [(1/2 - beta) a0 + beta a1]

    Source: Chung, Hulbert, J. Appl. Mech. 60 (1993) 371, doi:10.1115/1.2900803.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.pendulum(), ex.GeneralizedAlpha(h=1e-2, rho_inf=0.5))
    >>> run.status.name, run.scheme.order
    ('success', 2)

    Constraints phi(t, q) = 0 hold for positions and velocities, with beta > 1/4 (rho_inf < 1)::

        M a_m = F(t_f, d_f, v_f) - phi_q(d_f)' lam,    phi(t1, d1) = 0
        v1 = v0 + h [(1 - gamma) a0 + gamma a1] + W,    phi_q v1 + phi_t = 0

    Source: Arnold, Brüls, Multibody Syst. Dyn. 18 (2007) 185, doi:10.1007/s11044-007-9084-0. The
    source interpolates forces of constraints between both ends, as ``force="interpolated"`` does.
    W = M^-1 phi_q' mu is O(h^3). Without it velocities would leave the constraints by O(h^2).

    Order 2, also of lam; the spectral radius at infinite frequency is rho_inf.

    Parameters
    ----------
    h, form, a0, error_tol, newton_tol, newton_max : see `Newmark`
    rho_inf : float
        1: no numerical damping; 0: the highest frequencies vanish in one step.
    family : str
        "chung-hulbert"; "hht" (alpha_m = 0, rho_inf >= 1/2); "wbz" (alpha_f = 0).
    force : str
        "state": F at the interpolated state; "interpolated": F between the two ends.
    alpha_m, alpha_f, beta, gamma : float, optional
        Values that replace those of rho_inf and family; gamma and beta follow from the alphas
        unless they are given, too.
    """

    references: ClassVar = ("chung-hulbert-1993",)
    handles: ClassVar = Structural.handles | {"constraints"}
    apart: ClassVar = (frozenset({"hysteresis", "constraints"}),)
    takes: ClassVar[str] = "smooth mechanical systems, with springs that yield or constraints"
    feature_references: ClassVar = {"constraints": ("arnold-bruls-2007",)}
    choice_references: ClassVar = {"family": {"hht": ("hilber-1977",), "wbz": ("wood-1980",)}}

    shared = Structural.shared  # of systems without constraints, which have no other run here

    def run(
        self,
        compiled: Compiled,
        rho: Reals,
        t_end: float,
        q0: Reals | None = None,
        v0: Reals | None = None,
        record: Selection | None = None,
    ) -> Solution:
        """Integrate from t = 0 to `t_end`; see `Structural.run`.

        Raises
        ------
        BadValue
            Of a system with constraints: adaptive steps, a recorder.
        """
        if not compiled.bound:
            return super().run(compiled, rho, t_end, q0, v0, record)
        for there, what in (
            (self.error_tol > 0, "error_tol > 0"),
            (record is not None, "record=..."),
        ):
            if there:
                raise BadValue(
                    f"GeneralizedAlpha takes no {what} together with constraints, and "
                    f"'{compiled.system.name}' has constraints. Leave it out."
                )
        return smooth_motion(self, compiled, rho, t_end, q0, v0)

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: see `Structural.certify`."""
        return certified(solution) if solution.system.constraints else super().certify(solution)
