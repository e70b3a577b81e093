"""The schemes that a user can choose; each module in this folder registers its own."""

from explorer.registry import Registry
from explorer.schemes.bases.scheme import Scheme

__all__ = ["Scheme", "schemes"]

schemes: Registry[type[Scheme]] = Registry("scheme", "explorer.schemes")
