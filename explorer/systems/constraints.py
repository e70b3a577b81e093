"""`Constraint`: an equation phi(t, q) = 0 between coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.arguments import Checked
from explorer.types import Formula

__all__ = ["Constraint"]


@dataclass(frozen=True)
class Constraint(metaclass=Checked):
    """A bilateral constraint phi(t, q) = 0: a joint, a rod, a track.

    Parameters
    ----------
    phi : formula
        The expression that stays zero, in m (or rad); may depend on t, q and parameters.
    name : str
        "constraint 1", ... if empty.
    """

    phi: Formula
    name: str = ""
