"""Derivatives of hybrid trajectories by parameters, with their jumps, in five ways."""

from explorer.sensitivity.cost import Cost
from explorer.sensitivity.direct import Saltation, Sensitivity
from explorer.sensitivity.methods import METHODS, sensitivity

__all__ = ["METHODS", "Cost", "Saltation", "Sensitivity", "sensitivity"]
