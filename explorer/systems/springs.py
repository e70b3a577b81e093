"""`BilinearSpring`: a spring that yields."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from explorer.arguments import Checked
from explorer.errors import BadValue
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
        Stiffness > 0 in N/m (or N m/rad), yield force > 0 in N (or N m), hardening ratio in [0, 1).
        They may depend on parameters.
    name : str
        "spring 1", ... if empty.

    Raises
    ------
    BadModel
        Later, by the system that takes the spring: the elongation is not linear in the coordinates,
        k, f_y or b depends on the state, or a formula has an unknown symbol.

    Examples
    --------
    >>> import explorer as ex
    >>> frame = ex.MechanicalSystem("frame", q="x", start=dict(q=0.1),
    ...                             springs=[ex.BilinearSpring("x", k=100, f_y=5, b=0.1)])
    >>> frame.springs[0].name
    'spring 1'
    """

    elongation: Formula
    k: Formula
    f_y: Formula
    b: Formula = 0
    name: str = ""

    def __post_init__(self) -> None:
        """Refuse numbers out of range; what depends on parameters is not known yet.

        Raises
        ------
        BadValue
        """
        for name, value in (("k", self.k), ("f_y", self.f_y), ("b", self.b)):
            if not isinstance(value, int | float | sp.Number):
                continue
            if name != "b" and not value > 0:
                raise BadValue(f"{name} = {value} of a BilinearSpring must be greater than zero.")
            if name == "b" and not 0 <= value < 1:
                raise BadValue(f"b = {value} of a BilinearSpring must lie in [0, 1).")
