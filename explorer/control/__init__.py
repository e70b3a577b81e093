"""Optimal control of systems with switches: a problem, its plan, an exact replay."""

from explorer.control.optimize import optimize
from explorer.control.plan import Plan
from explorer.control.problem import OptimalControlProblem
from explorer.control.replay import Replay

__all__ = ["OptimalControlProblem", "Plan", "Replay", "optimize"]
