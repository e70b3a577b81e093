"""Modules that have moved: for one release an import from the old place names the new one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import FrameType, ModuleType
from typing import NoReturn

__all__ = ["RETIRED", "Moved", "gone", "moved", "moved_names", "refuse_moved"]

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
    ("", "derivatives", "sensitivity>"),
    ("sensitivity", "derivatives",
     "adjoint complex_step cost differences direct doubts held_start methods one_sided question "
     "saltation trust unlocated verify"),
    ("panels", "panels.order", "order_state>state"),
    ("panels", "panels.sensitivity",
     "sensitivity_cards>cards sensitivity_controls>controls sensitivity_state>state"),
    ("panels", "panels.stability", "stability_state>state"),
    ("schemes", "runs", "picks"),
    ("schemes", "runs.event_driven", "ended march meetings sliding workspace"),
    ("schemes", "runs.fesd",
     "continuations element_workspace>workspace elements equations>residuals fixed_steps joined "
     "slide_ends tangents"),
    ("schemes", "runs.time_freezing",
     "freezing>march frozen_impacts>impacts frozen_modes>modes struck>simultaneous_impacts"),
    ("schemes", "runs.time_stepping", "factors motion_rows unsolvable"),
    ("schemes", "schemes.bases",
     "base>scheme capturing families>newmark_family stability>amplification structural"),
    ("systems", "views.drawing", "contour>contours"),
    ("views", "views.drawing",
     "compose decimate lanes notebook one_sided picture polyline recorded regions slopes still "
     "still_marks"),
)  # fmt: skip


_NAMES = (  # module before, module now, names that are not where their module has moved to
    ("complementarity", "results.event", "Switch"),
    ("export", "results.quantity", "per_second"),
    ("kernels.contact_graph", "kernels.friction.graph_structures", "WIDE WIDEST"),
    ("kernels.contacts", "kernels.event_driven.settle", "settle"),
    ("kernels.friction", "kernels.friction.single_contact", "STICK"),
    ("kernels.step_problem", "kernels.time_stepping.moreau_jean_rows", "without_rebound"),
    ("panels.explore", "panels.answer", "SessionAnswer"),
    ("schemes.base", "recorder", "MOST_BYTES PER_STEP"),
    ("schemes.base", "status", "stopped>Status.stopped"),
    ("sensitivity.doubts", "derivatives.judge", "forget judged"),
    ("simulation", "dispatch.rerun", "rerun"),
    ("systems.base", "systems.given", "check_system"),
    ("systems.expressions", "systems.arrays", "by_name matrix real vector"),
    ("systems.lagrangian", "systems.springs", "BilinearSpring"),
    ("trajectory", "results.event", "KINDS Jump"),
    ("trajectory", "results.names", "ROWS"),
    ("views.contact_laws", "views.drawing.parts", "has_contacts"),
    ("views.picture", "views.drawing.view", "view"),
)

_FIELDS = "what was a slot of an array by number is a field of a record by name."
_KEPT = "a run's memory is one record, made by the module of structures beside its kernel."
_SOLUTION = "it is explorer.Solution now: "
_GONE = (  # module before, names that are no more, and why
    ("compiled.layout", "shape side_shape", _FIELDS),
    (
        "complementarity",
        "ComplementaritySolution",
        f"{_SOLUTION}sol.has('laws') says whether it has multipliers and laws.",
    ),
    ("export", "Columns columns", "sol.quantities names the columns of a run, sol['y'] is one."),
    ("frictional", "DiscSolution", f"{_SOLUTION}sol.contacts has the contacts of discs, too."),
    ("kernels.adjoint", "PLACES", _FIELDS),
    ("kernels.compliant", "FLEX", _FIELDS),
    ("kernels.contact_graph", "GRAPH_WORK INTS VECTORS", _FIELDS),
    ("kernels.contacts", "LCP_WORK", _FIELDS),
    ("kernels.delassus", "LCP LCP_MAX LCP_TOL", _FIELDS),
    ("kernels.euler_moreau", "workspaces", _KEPT),
    ("kernels.factors", "FACTORS", _FIELDS),
    ("kernels.fesd_structures", "Model", _KEPT),
    ("kernels.friction", "MADE", _FIELDS),
    ("kernels.friction_blocks", "SKYLINE", _FIELDS),
    ("kernels.friction_in_space", "MADE", _FIELDS),
    ("kernels.graph_path", "CHANGE INTS OFF VECTORS WORK", _FIELDS),
    ("kernels.graph_sweeps", "GRAPH LOCAL", _FIELDS),
    ("kernels.graph_velocities", "CONTACTS SPARE", _FIELDS),
    ("kernels.moreau_jean", "H_FACTORED", _FIELDS),
    ("kernels.multiaffine", "BENCH_ROWS CORNERS FIRST room", _FIELDS),
    ("kernels.newmark", "FULL", _FIELDS),
    ("kernels.newmark", "workspaces", _KEPT),
    ("kernels.nonsmooth_alpha", "workspaces", _KEPT),
    (
        "kernels.step_problem",
        "step_delassus step_impulses",
        "a step's contacts are solved by the functions of their law.",
    ),
    ("kernels.step_workspaces", "workspaces", _KEPT),
    ("motion", "Motion", f"{_SOLUTION}sol.has_velocities says whether it has coordinates."),
    ("schemes.element_workspace", "workspace", _KEPT),
    ("schemes.elements", "SIGNS", _FIELDS),
    ("schemes.elements", "order", "it is an attribute of the schemes."),
    ("schemes.equations", "Equations", "residual(run) of explorer.runs.fesd.residuals is left."),
    ("schemes.workspace", "workspace", "explorer.runs.event_driven.workspace.lend is left."),
    ("switched", "FrozenTrajectory", f"{_SOLUTION}sol.route says that time was frozen."),
    ("systems.contour", "outlines", "areas(...) is what regions are drawn by."),
    ("views.phase_plane", "switched", "sol.has('boundaries') says what it asked for."),
)
_RETIRED_FROM = {
    "ConstrainedSolution": "frictional",
    "FrictionalSolution": "frictional",
    "SteppedSolution": "stepped",
    "SwitchedTrajectory": "switched",
    "Trajectory": "trajectory",
}


def moved() -> dict[str, str]:
    """Return a dict from the old dotted name of each moved module to its new one."""
    places = {}
    for before, now, names in _ROOMS:
        for name in names.split():
            old, to, new = name.partition(">")
            place = ".".join(filter(None, ("explorer", now, new if to else old)))
            places[".".join(filter(None, ("explorer", before, old)))] = place
    return places


def moved_names() -> dict[str, str]:
    """Return a dict from each moved name, behind its old module, to where it stands now."""
    places = {}
    for before, now, names in _NAMES:
        for name in names.split():
            old, _, new = name.partition(">")
            places[f"explorer.{before}.{old}"] = f"explorer.{now}.{new or old}"
    return places


def gone() -> dict[str, str]:
    """Return a dict from each name that is no more, behind its old module, to a reason."""
    reasons = {
        f"explorer.{module}.{name}": _SOLUTION + RETIRED[name]
        for name, module in _RETIRED_FROM.items()
    }
    for module, names, why in _GONE:
        reasons |= {f"explorer.{module}.{name}": why for name in names.split()}
    return reasons


@functools.cache
def _said() -> dict[str, str]:
    """Return a sentence for each name of a module that has moved without it, or that lost it."""
    said = {old: f"{old} is {new} now." for old, new in moved_names().items()}
    return said | {old: f"{old} is gone: {why}" for old, why in gone().items()}


def refuse_moved(module: dict[str, object]) -> None:
    """Let a module that has stayed refuse the names that have left it.

    A checker of types sees none of it, so that it goes on telling a name that is not there.

    Parameters
    ----------
    module : dict
        Its ``globals()``.
    """
    place = str(module["__name__"])

    def look(name: str) -> NoReturn:
        if why := _said().get(f"{place}.{name}"):
            raise ImportError(why, name=place)
        raise AttributeError(f"module {place!r} has no attribute {name!r}", name=name)

    module["__getattr__"] = look


def _asked(package: str) -> str:
    """Return the module in a package that is being imported: the package is found before it."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        name = frame.f_locals.get("name")
        if isinstance(name, str) and name.startswith(f"{package}."):
            return name
        frame = frame.f_back
    return package


class Moved(MetaPathFinder):
    """Refuses to import a module, or a name of a package, from its old place."""

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
        if not fullname.startswith("explorer."):
            return
        if fullname in _said():  # `from package import name` looks for a module at last
            raise ImportError(_said()[fullname], name=fullname)
        if fullname not in self._moved:
            return
        asked = _asked(fullname)
        asked = asked if asked in self._moved else fullname
        behind = [why for old, why in _said().items() if old.rpartition(".")[0] == asked]
        said = f"{asked} has moved to {self._moved[asked]}."
        raise ImportError("\n".join([said, *behind]), name=fullname)
