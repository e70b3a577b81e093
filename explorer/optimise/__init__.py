"""Parameters from a goal or from data, with the gradients of `explorer.sensitivity`."""

from explorer.optimise.fit import Fit, fit
from explorer.optimise.minimize import Minimum, minimize

__all__ = ["Fit", "Minimum", "fit", "minimize"]
