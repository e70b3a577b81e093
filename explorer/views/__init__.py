"""Solutions to pictures: pure functions, no widgets.

``views.trajectory(solution)`` and its like return a plain ``plotly.graph_objects.Figure``; the live
panel draws the same `Picture` without ever building a figure object.
"""

from typing import Any

from explorer.errors import NoSuchName
from explorer.views.active_set import active_set
from explorer.views.drawing.picture import Picture
from explorer.views.end_state import end_state
from explorer.views.energy import energy
from explorer.views.energy_balance import energy_balance
from explorer.views.events import event_table, impulses
from explorer.views.explore import explore
from explorer.views.friction import friction
from explorer.views.laws import laws, one_step_problem, quantities
from explorer.views.mechanism import mechanism
from explorer.views.modes import modes
from explorer.views.multipliers import multipliers
from explorer.views.period_elongation import period_elongation
from explorer.views.phase import phase
from explorer.views.phase_plane import phase_plane, regions
from explorer.views.pseudo_time import pseudo_time
from explorer.views.saltation import saltation
from explorer.views.sensitivity import sensitivity, twins
from explorer.views.stability import stability
from explorer.views.trajectory import positions, trajectory, velocities
from explorer.views.work_precision import work_precision

__all__ = [
    "Picture",
    "active_set",
    "end_state",
    "energy",
    "energy_balance",
    "event_table",
    "explore",
    "friction",
    "impulses",
    "laws",
    "mechanism",
    "modes",
    "multipliers",
    "one_step_problem",
    "period_elongation",
    "phase",
    "phase_plane",
    "positions",
    "pseudo_time",
    "quantities",
    "regions",
    "saltation",
    "sensitivity",
    "stability",
    "trajectory",
    "twins",
    "velocities",
    "work_precision",
]


def __dir__() -> list[str]:
    """Offer the views, not the modules that hold them."""
    return __all__


def __getattr__(name: str) -> Any:
    raise NoSuchName("explorer.views", name, lambda: __all__)
