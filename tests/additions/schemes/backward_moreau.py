"""Moreau-Jean time stepping with all forces at the end of the step; the kernel is the same."""

from dataclasses import dataclass

from explorer.parameters import knob
from explorer.schemes import schemes
from explorer.schemes.moreau_jean import MoreauJean


@schemes.register
@dataclass(frozen=True, repr=False)
class BackwardMoreau(MoreauJean):
    """Moreau-Jean time stepping with theta = 1.

    One step from (q0, v0), with the impulse p of the step::

        M (v1 - v0) = h F1 + G' p

    Source: Jean, CMAME 177 (1999) 235, doi:10.1016/S0045-7825(98)00383-1.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), ex.BackwardMoreau(h=1e-3), e=0)
    >>> bool(run.gap.min() > -1e-2)
    True

    Parameters
    ----------
    theta : float
        Weight of the end of the step.
    """

    theta: float = knob(1.0, 0.5, 1, text="weight of the end of the step")
