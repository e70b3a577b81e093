"""Nonsmooth dynamics: models as equations, compiled schemes, figures that follow sliders.

>>> import explorer as ex
>>> run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=1e-3), e=0.5)
>>> run.events[0].kind
'impact'

Simulate       ex.simulate(system, scheme, t_end=3, e=0.5); it chooses a scheme if none is given
Results        run.t, run.q, run.v, run.events, run.status, run.certificate; run.save, ex.load
Draw           ex.views.trajectory(run), ex.views.energy(run), ...; dir(ex.views) lists all
Explore        ex.gallery() shows all models in a notebook, and opens them;
               ex.explore("bouncing_ball") opens the live panel of one;
               ex.explore_sensitivity, ex.explore_order, ex.explore_stability,
               ex.explore_schemes, ex.explore_two_starts, ex.explore_orbits, ex.explore_basins,
               ex.explore_control;
               ex.write_model() takes equations as text
Differentiate  ex.sensitivity(system, scheme, ("g", "e")), exact across events;
               ex.minimize, ex.fit
Control        ex.optimize(ex.OptimalControlProblem(system, ...)) plans a control;
               plan.replay(), plan.follow(plan.feedback()), plan.again(x0=...)
Study          ex.study.limit_cycle, ex.study.stability, ex.study.modes, ...
Models         list(ex.models.models) lists the gallery; help(ex.models.chua)
Schemes        ex.schemes_for(system) lists those that take a system; help(ex.MoreauJean)
Own systems    ex.MechanicalSystem, ex.HybridSystem, ex.FirstOrderSystem, ex.FilippovSystem,
               ex.StepSystem, ex.LinearMechanicalSystem, ex.DiscSystem, ex.MapSystem; part by
               part: ex.Linkage, ex.Multibody
Learn          ex.course lists the chapters; ex.course.check("4.1", answer) checks an exercise
Cite           ex.cite(run), ex.cite("FESD") print the sources; .bibtex has them as BibTeX

dir(ex) lists all names, help(ex.simulate) explains one. Names are imported when they are first
used, so ``import explorer`` is quick.
"""

from __future__ import annotations

import importlib
import sys
from importlib import metadata
from pathlib import Path
from types import FrameType
from typing import Any

from explorer.moved import RETIRED, Moved

__version__: str = metadata.version("nonsmooth-explorer")


def _panels() -> tuple[str, ...]:
    """Return the names of what opens a panel, from the folders that hold one."""
    folders = sorted(
        file.parent.name for file in Path(__file__).parent.glob("panels/*/__init__.py")
    )
    own = ("explore", "gallery", "write_model")
    return tuple(name if name in own else f"explore_{name}" for name in folders)


_HOMES = {
    "certificate": ("Certificate", "Check"),
    "citation": ("cite",),
    "errors": (
        "BadArgument",
        "BadAttribute",
        "BadModel",
        "BadValue",
        "CacheWarning",
        "ExplorerError",
        "LessonWarning",
        "ModelWarning",
        "NoSuchName",
        "NotApplicable",
        "SchemeWarning",
        "StepFailed",
        "WrongAnswer",
    ),
    "parameters": ("Param",),
    "recorder": ("Recorder",),
    "systems": (
        "BilinearSpring",
        "Constraint",
        "Contact",
        "DiscSystem",
        "FilippovSystem",
        "FirstOrderSystem",
        "HybridSystem",
        "LinearMechanicalSystem",
        "MapSystem",
        "MechanicalSystem",
        "Record",
        "StepSystem",
    ),
    "systems.drive": ("Input",),
    "systems.linkages": ("Body", "Linkage", "Multibody", "assemble"),
    "systems.modal": ("modal_damping", "rayleigh"),
    "systems.sketch": ("circle", "ground", "line", "spring"),
    "results.event": ("Event", "LocatedEvent"),
    "results.solution": ("Solution",),
    "schemes": ("Scheme",),
    "dispatch.rerun": ("rerun",),
    "dispatch.simulate": ("applicability", "schemes_for", "simulate"),
    "dispatch.load": ("load",),
    "derivatives": ("Cost", "Sensitivity", "Trust"),
    "derivatives.methods": ("sensitivity",),
    "optimise": ("fit", "minimize"),
    "control": (
        "Course",
        "Disturbance",
        "Feedback",
        "OptimalControlProblem",
        "Plan",
        "PredictiveControl",
        "Push",
        "optimize",
    ),
    "panels": _panels(),
    "course": (),
    "models": (),
    "reformulations": (),
    "study": (),
    "tasks": (),
    "views": (),
}
_PARTS = ("course", "models", "panels", "reformulations", "schemes", "study", "tasks", "views")
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME, "course", "models", "reformulations", "schemes", "study", "tasks", "views"]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"explorer.{name}")
    if name in _HOME:
        public = getattr(importlib.import_module(f"explorer.{_HOME[name]}"), name)
        return globals().setdefault(name, public)  # looked up once
    if name in RETIRED:
        raise ImportError(f"explorer.{name} is explorer.Solution now: {RETIRED[name]}", name=name)
    if name[:1].isupper():  # a scheme, found by its name
        from explorer.schemes import schemes

        if name in schemes:
            return schemes[name]
    from explorer.errors import NoSuchName

    raise NoSuchName("explorer", name, __dir__)


def __dir__() -> list[str]:
    """Return all names.

    `help` documents each of them, on 5000 lines; without them it prints the text at the top alone.
    """
    if _by_help():
        raise AttributeError("help(explorer) is one screen")
    from explorer.schemes import schemes

    return sorted({*__all__, *schemes, "__version__"})


def _by_help() -> bool:
    """Whether it is `pydoc` that asks which names there are, for a page of plain text."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(3):  # dir, called by inspect.getmembers, called by pydoc
        if frame is None or frame.f_code.co_qualname == "TextDoc.docmodule":
            break
        frame = frame.f_back
    return frame is not None and frame.f_code.co_qualname == "TextDoc.docmodule"


def _show_with_regions() -> None:
    """Have notebooks show step systems with their regions, and figures with a still."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    formatters = getattr(shell, "display_formatter", None)
    if formatters is not None:

        def show(system: object) -> None:
            importlib.import_module("explorer.views.drawing.notebook").show(system)

        formatter = formatters.ipython_display_formatter
        formatter.for_type_by_name("explorer.systems.step", "StepSystem", show)

        def show_figure(figure: object) -> None:
            importlib.import_module("explorer.views.drawing.still").show(figure)

        formatter.for_type_by_name("plotly.graph_objs._figure", "Figure", show_figure)


_show_with_regions()
sys.meta_path.append(Moved())
