"""Carts in a row: a linear mechanical system by a name of its own."""

from explorer.systems.linear import LinearMechanicalSystem

__all__ = ["CartSystem"]


class CartSystem(LinearMechanicalSystem):
    """Carts in a row, joined by springs."""
