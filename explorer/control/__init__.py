"""Optimal control of systems with switches: a plan, its exact replay, and what follows it."""

from explorer.control.course import Course
from explorer.control.disturbance import Disturbance, Push
from explorer.control.feedback import Feedback
from explorer.control.optimize import optimize
from explorer.control.plan import Plan
from explorer.control.predictive import PredictiveControl
from explorer.control.problem import OptimalControlProblem
from explorer.control.replay import Replay

__all__ = [
    "Course",
    "Disturbance",
    "Feedback",
    "OptimalControlProblem",
    "Plan",
    "PredictiveControl",
    "Push",
    "Replay",
    "optimize",
]
