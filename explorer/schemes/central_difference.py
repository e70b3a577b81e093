"""Central difference with contact: displacements are corrected to gap >= 0 at the end of each step.

M (u_{k+1} - 2 u_k + u_{k-1}) = h^2 F_k + h G' p, that is Newmark's method with beta = 0 and gamma =
1/2. Carpenter, Taylor, Katona, *Lagrange constraints for transient finite element surface contact*,
Int. J. Numer. Meth. Engng 32 (1991) 103: multipliers at t_k make displacements admissible at
t_{k+1}. Cirak, West, *Decomposition contact response (DCR) for explicit finite element dynamics*,
Int. J. Numer. Meth. Engng 64 (2005) 1078: displacements and momenta are corrected apart from each
other, the latter by a law with restitution. `explorer.kernels.time_stepping.nonsmooth_alpha` holds
the equations of both, as BOTH and MEAN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from explorer.compiled import Compiled
from explorer.errors import BadValue
from explorer.parameters import knob
from explorer.runs.time_stepping.ensemble import Answer
from explorer.runs.time_stepping.starts import Starts
from explorer.schemes import schemes
from explorer.schemes.bases.amplification import Coefficients
from explorer.schemes.bases.capturing import Matrices
from explorer.schemes.nonsmooth_alpha import Alpha

__all__ = ["CentralDifference"]

CONTACT = ("decomposition", "multipliers")


@schemes.register
@dataclass(frozen=True, repr=False)
class CentralDifference(Alpha):
    """Central difference, explicit in displacements, with contacts and impacts.

    One step from (u0, v0, a0); z corrects displacements, the impulses p correct velocities::

        u1 = u0 + h v0 + (h^2 / 2) a0 + U,   M U = G' z,   0 <= gap(u1)  perp  z >= 0
        M (v1 - v0) = (h / 2) [M a0 + F(t1, u1, v1)] + G' p
        0 <= G v1 + e G v0  perp  p >= 0     of the contacts that are closed
        M a1 = F at t1, before p acts

    That is ``contact="decomposition"``. With ``contact="multipliers"`` forces p / h at t0 alone
    bring about gap >= 0 at t1, and there is no law of impact::

        M (u1 - 2 u0 + u_-) = h^2 F0 + h G' p,   0 <= gap(u1)  perp  p >= 0

    Source: Newmark, J. Eng. Mech. Div. 85 (1959) 67, doi:10.1061/JMCEA3.0000098; Carpenter, Taylor,
    Katona, Int. J. Numer. Meth. Engng 32 (1991) 103, doi:10.1002/nme.1620320107 (multipliers);
    Cirak, West, Int. J. Numer. Meth. Engng 64 (2005) 1078, doi:10.1002/nme.1400 (displacements and
    momenta apart).

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), ex.CentralDifference(h=1e-3), e=0.5)
    >>> hit = run.events[0]
    >>> round(hit.gap_dot_plus / hit.gap_dot_minus, 9), bool(run.gap.min() > -1e-9)
    (-0.5, True)

    An oscillator of frequency omega gets the numerical frequency (2 / h) asin(omega h / 2). It is
    too high: the period is too short by (omega h)^2 / 24 of itself. A linear system is stable for
    h < 2 / omega_max, and a larger h is refused. In a nonlinear system the certificate detects
    growth. Contact does not lower this limit. Nor does damping: a force that depends on v is taken
    at the end of the step, by Newton's method. M may be any regular matrix and may depend on u.

    Order 2 between impacts, 1 across them. Nothing penetrates. Where gap(u1) is corrected, a
    decomposition moves a body without a change of its speed, so an impact may lose or gain energy
    of the order h.

    "multipliers" has no restitution. What meets an obstacle stops there within two steps: it
    realises e = 0, and a model with e > 0 is refused. A bar or a mesh returns by its own waves, and
    the energy that its nodes lose vanishes with the size of its elements. v is (u1 - u0) / h + (h /
    2) M^-1 F1, which leaves out the contact force of t1, because only the next step tells it: while
    a contact is closed G v differs from zero by h / 2 times the acceleration that the contact
    holds, and in the two steps of an impact v is neither the velocity before nor the one after. A
    linear system moves as with ``SchatzmanPaoli(beta=0)`` and e = 0.

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    contact : str
        "decomposition": displacements and velocities are corrected apart, the latter by Newton's
        impact law with the restitution e of each contact. "multipliers": forces at the start of a
        step make gaps admissible at its end; for e = 0 only.
    newton_tol, newton_max, lcp, lcp_tol, lcp_max : see `MoreauJean`
    """

    references: ClassVar = ("newmark-1959",)
    choice_references: ClassVar = Alpha.choice_references | {
        "contact": {"decomposition": ("cirak-west-2005",), "multipliers": ("carpenter-1991",)},
    }

    contact: str = knob("decomposition", text="contact by", choices=CONTACT)

    def __post_init__(self) -> None:
        super().__post_init__()
        apart = self.contact == CONTACT[0]
        object.__setattr__(self, "level", "position+velocity" if apart else "mean")
        object.__setattr__(self, "impact_steps", 1 if apart else 2)

    @property
    def coefficients(self) -> Coefficients:
        """alpha_m = alpha_f = beta = 0, gamma = 1/2."""
        return Coefficients(0.0, 0.0, 0.0, 0.5)

    @property
    def caution(self) -> str:
        """Nothing: that steps have a limit is known of an explicit method, and it is checked."""
        return ""

    def kernel(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> tuple[Callable[[], int], Callable[[], int], dict[str, np.ndarray]]:
        """Return a march of `explorer.runs.time_stepping.nonsmooth_alpha`.

        Raises
        ------
        BadValue
            Restitution with ``contact="multipliers"``; a step above the stability limit of a
            linear system.
        """
        if self.contact == CONTACT[1] and np.any(e != 0):
            name = compiled.system.contacts[int(np.flatnonzero(e)[0])].name
            raise BadValue(
                f"contact='multipliers' stops what meets an obstacle, so it cannot give the "
                f"restitution e = {e[e != 0][0]:g} of {name!r}. Set e = 0, or use "
                "contact='decomposition', which has Newton's impact law."
            )
        return super().kernel(compiled, t_end, inp, matrices, e, record)

    def shared(
        self, compiled: Compiled, starts: Starts, plain: np.ndarray, t_end: np.ndarray, rows: int
    ) -> Answer:
        """Return the march that members share; those with a refused restitution are not plain."""
        if self.contact == CONTACT[1]:
            plain = plain & (starts.e == 0).all(axis=1)
        return super().shared(compiled, starts, plain, t_end, rows)
