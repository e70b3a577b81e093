"""The order of a collocation method that the knobs of a scheme name."""

from __future__ import annotations

from explorer.errors import BadValue
from explorer.kernels.fesd.collocation import collocation

__all__ = ["collocation_order"]


def collocation_order(scheme: str, tableau: str, stages: int) -> int:
    """Return the order of a collocation method; `scheme` is the name that a refusal tells.

    Raises
    ------
    BadValue
        Stages that the method cannot have.
    """
    try:
        return collocation(tableau, stages).order
    except ValueError as error:
        raise BadValue(f"{scheme}: {error}, not {stages}.") from None
