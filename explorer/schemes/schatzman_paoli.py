"""Schatzman-Paoli: the impact law acts on positions, by a weighted mean of two of them.

With p the impulse of the step and F_k = F(t_k, q_k, v_k)::

    M (q_{k+1} - 2 q_k + q_{k-1}) = h^2 [beta F_{k+1} + (1 - 2 beta) F_k + beta F_{k-1}] + h G' p
    0 <= gap(q^e)  perp  p >= 0,    q^e = (q_{k+1} + e q_{k-1}) / (1 + e)

Paoli, Schatzman, *Mouvement a un nombre fini de degres de liberte avec contraintes unilaterales:
cas avec perte d'energie*, Math. Model. Numer. Anal. 27 (1993) 673; SIAM J. Numer. Anal. 40 (2002)
702 and 734, where beta = 0. It is Newmark's method with gamma = 1/2 and impulses at the beginnings
of the steps: `explorer.kernels.time_stepping.nonsmooth_alpha` says how.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from explorer.parameters import knob
from explorer.schemes import schemes
from explorer.schemes.bases.amplification import Coefficients
from explorer.schemes.nonsmooth_alpha import Alpha
from explorer.systems import System

__all__ = ["SchatzmanPaoli"]


@schemes.register
@dataclass(frozen=True, repr=False)
class SchatzmanPaoli(Alpha):
    """Schatzman-Paoli time stepping: contact and impact at the level of positions.

    One step from q_- and q0, with the impulse p of the step::

        M (q1 - 2 q0 + q_-) = h^2 [beta F1 + (1 - 2 beta) F0 + beta F_-] + h G' p
        0 <= gap((q1 + e q_-) / (1 + e))  perp  p >= 0

    Source: Paoli, Schatzman, SIAM J. Numer. Anal. 40 (2002) 702, doi:10.1137/S0036142900378728, and
    734, doi:10.1137/S003614290037873X.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), ex.SchatzmanPaoli(h=1e-3), e=0)
    >>> bool(run.gap.min() > -1e-9)  # for e = 0 nothing penetrates
    True

    Every contact takes part in every step, so no prediction is needed. The mean (q1 + e q_-) /
    (1 + e) never penetrates. q itself penetrates at an impact, by at most 2 e / (1 + e) h |gap'|,
    so not at all for e = 0. An impact takes two steps. For a single contact (q_{k+2} - q_{k+1}) / h
    is then -e times (q_k - q_{k-1}) / h. Several obstacles have means with their own e. Where their
    impacts overlap, energy may grow by O(h), and by more if h does not separate the impacts. Order
    2 between impacts, 1 across them.

    v is the velocity of the Verlet scheme, (q_{k+1} - q_k) / h + (h / 2) a_{k+1} for beta = 0, with
    a of the forces without the contacts. Between the two steps of an impact it is neither the
    velocity before nor the one after. In a lasting contact it is off by h / 2 times what the
    contact force adds to a, and the work of contacts is off by O(h).

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    beta : float
        Weight of the forces at both ends. 0 is explicit if F does not depend on v, and stable for h
        < 2 / omega; 1/4 is stable at any h for linear systems.
    newton_tol, newton_max, lcp, lcp_tol, lcp_max : see `MoreauJean`
    """

    references: ClassVar = (
        "paoli-schatzman-1993", "paoli-schatzman-2002a", "paoli-schatzman-2002b",
    )  # fmt: skip
    takes: ClassVar[str] = "mechanical systems with contacts, without friction"
    level: ClassVar[str] = "mean"
    impact_steps: ClassVar[int] = 2

    beta: float = knob(0.25, 0, 0.25, text="weight of F at both ends", strict=True)

    @classmethod
    def fits(cls, system: System) -> bool:
        """Whether it integrates the system; without contacts it would be `Newmark`."""
        return bool(system.contacts) and super().fits(system)

    @property
    def coefficients(self) -> Coefficients:
        """alpha_m = alpha_f = 0, beta, gamma = 1/2."""
        return Coefficients(0.0, 0.0, self.beta, 0.5)
