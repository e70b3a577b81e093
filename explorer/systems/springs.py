"""`BilinearSpring`: a spring that yields."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.arguments import Checked
from explorer.types import Formula

__all__ = ["BilinearSpring"]


@dataclass(frozen=True)
class BilinearSpring(metaclass=Checked):
    """A spring that yields: stiffness k up to the force f_y, b k beyond (kinematic hardening).

    Parameters
    ----------
    elongation : formula
        In m (or rad), linear in the coordinates.
    k, f_y, b : formula
        Stiffness > 0, yield force > 0, hardening ratio in [0, 1); may depend on parameters.
    name : str
        "spring 1", ... if empty.
    """

    elongation: Formula
    k: Formula
    f_y: Formula
    b: Formula = 0
    name: str = ""
