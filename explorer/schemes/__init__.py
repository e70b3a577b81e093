"""The schemes a user picks; every module in this folder registers its own."""

from explorer.registry import Registry
from explorer.schemes.bases.scheme import Scheme

__all__ = ["Scheme", "schemes"]

schemes: Registry[type[Scheme]] = Registry("scheme", "explorer.schemes")
