"""Modules that have moved: for one release an import from the old place names the new one."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

__all__ = ["RETIRED", "Moved", "moved"]

RETIRED = {  # names of one release ago, and what tells of a run now what they told
    "ConstrainedSolution": "sol.has('constraints') says whether it has constraints.",
    "FrictionalSolution": "sol.contacts.friction_work and the like have the friction of contacts.",
    "SteppedSolution": "not sol.has('march') says whether a scheme stepped over events.",
    "SwitchedTrajectory": "sol.has('boundaries') says whether elements or active sets were run.",
    "Trajectory": "sol.has('march') says whether events were located.",
}

_ROOMS = (  # package before, package now, modules; old>new where the name changed too
    ("", "dispatch", "loading>load mistakes simulation>simulate"),
    ("schemes", "dispatch", "choice>choose table"),
    ("compiled", "runs.event_driven", "layout>problem"),
    ("kernels", "kernels.complementarity", "box>box_lcp delassus lcp"),
    ("kernels", "kernels.drawing", "polyline"),
    ("kernels", "kernels.event_driven",
     "adjoint between>dense_output butcher contacts>contact_impact doubtful "
     "flows>flow jumps>saltation locate>locate_event march_structures>structures "
     "newmark_flow>newmark_step radau runge_kutta sides start>initial_state step_record "
     "transitions>transition watch>arm_guards"),
    ("kernels", "kernels.fesd",
     "active_set arrangement collocation continuations element "
     "fesd_sensitivity>tangents fesd_structures>structures fold phase>equilibrate slide_end "
     "stages>stage_complementarity stretch>march_active_set theta_rk>fixed_step_rk "
     "within>dense_output"),
    ("kernels", "kernels.friction",
     "alart_curnier coefficients contact_graph>graph "
     "friction_blocks>cone_blocks friction_in_space>cone glocker>glocker_lcp "
     "graph_band>graph_newton graph_path graph_proximal graph_sweeps>graph_gauss_seidel "
     "graph_velocities held>contact_modes one_contact>single_contact"),
    ("kernels", "kernels.linear_algebra",
     "band>banded_lu factors>factored_solve linalg>dense_lu saddle_point"),
    ("kernels", "kernels.model",
     "equations>inputs neighbours>disc_neighbours record>sampled_forcing rows>along_rows"),
    ("kernels", "kernels.sliding", "active_modes mode_functions multiaffine"),
    ("kernels", "kernels.time_stepping",
     "banded_sides>euler_moreau_band compliant>compliant_contact euler_moreau "
     "hysteresis>bilinear_springs moreau_jean newmark newmark_error newmark_linear "
     "newmark_residual newton>newton_convergence nonsmooth_alpha "
     "projection>position_projection step_problem>moreau_jean_contact "
     "step_workspaces>moreau_jean_structures steps>time_grid turning>moreau_jean_rows"),
    ("", "results",
     "complementarity>multipliers event export frictional>contacts motion>states solution stepped "
     "switched>switches trajectory>located"),
    ("panels", "panels.order", "order_state>state"),
    ("panels", "panels.sensitivity",
     "sensitivity_cards>cards sensitivity_controls>controls sensitivity_state>state"),
    ("panels", "panels.stability", "stability_state>state"),
    ("schemes", "runs", "picks"),
    ("schemes", "runs.event_driven", "ended march meetings sliding workspace"),
    ("schemes", "runs.fesd",
     "element_workspace>workspace elements equations>residuals fixed_steps joined slide_ends "
     "tangents"),
    ("schemes", "runs.time_freezing",
     "freezing>march frozen_impacts>impacts frozen_modes>modes struck>simultaneous_impacts"),
    ("schemes", "runs.time_stepping", "factors motion_rows unsolvable"),
    ("schemes", "schemes.bases",
     "base>scheme capturing families>newmark_family stability>amplification structural"),
    ("views", "views.drawing",
     "compose decimate lanes notebook one_sided picture polyline recorded regions slopes still "
     "still_marks"),
)  # fmt: skip


def moved() -> dict[str, str]:
    """Return a dict from the old dotted name of each moved module to its new one."""
    places = {"explorer.sensitivity": "explorer.derivatives"}
    for before, now, names in _ROOMS:
        for name in names.split():
            old, _, new = name.partition(">")
            parts = ("explorer", before, old) if before else ("explorer", old)
            places[".".join(parts)] = f"explorer.{now}.{new or old}"
    return places


class Moved(MetaPathFinder):
    """Refuses to import a module from its old place."""

    def __init__(self) -> None:
        self._moved = moved()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Find no module; raise an ImportError that names the new place of a moved one.

        Raises
        ------
        ImportError
        """
        if fullname in self._moved:
            raise ImportError(f"{fullname} has moved to {self._moved[fullname]}.", name=fullname)
