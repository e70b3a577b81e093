"""Derivatives of hybrid trajectories by parameters, with their jumps, in five ways."""

from explorer.derivatives.cost import Cost
from explorer.derivatives.direct import Sensitivity
from explorer.derivatives.methods import METHODS, sensitivity
from explorer.derivatives.saltation import Saltation
from explorer.derivatives.trust import Trust

__all__ = ["METHODS", "Cost", "Saltation", "Sensitivity", "Trust", "sensitivity"]
