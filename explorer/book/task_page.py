"""The page of an optimal control problem, from the table of tasks alone: its plan is made now."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass

from explorer.book.measured import Number
from explorer.book.model_page import buttons, checked, sources_of
from explorer.book.prose import escaped, prose
from explorer.control import Plan, optimize
from explorer.panels.answer import SessionAnswer
from explorer.panels.control import ControlPanel
from explorer.panels.control.state import ControlSession
from explorer.panels.static_twin import static_twin
from explorer.panels.twin_folder import lean
from explorer.parameters import number
from explorer.tasks import Task, tasks

__all__ = ["TaskPage", "task_page"]

NEAR = 0.03  # of the range of a slider: plans so near are found from the one of the page


@dataclass(frozen=True)
class TaskPage:
    """A page of the book on one optimal control problem.

    Attributes
    ----------
    name, title, asks : str
    text : str
        Markdown (MyST), which includes the file of its twin, if it has a plan, as ``<name>.html``
        beside it.
    twin : str
        The static twin of the control panel as HTML, without what the pages share, or "".
    numbers : list of Number
        Its least cost, published and measured, if it is known.
    failed : str
        Why its plan is no answer, or "".
    seconds : float
        To make it.
    """

    name: str
    title: str
    asks: str
    text: str
    twin: str
    numbers: list[Number]
    failed: str
    seconds: float


def task_page(name: str, shared: str, live: str = "") -> TaskPage:
    """Return the page of a task: what it asks, its plan, and the least cost that is known.

    Parameters
    ----------
    name : str
    shared : str
        Address of the file that twins share, from the page.
    live : str
        Address where panels run live; without one there is no button.
    """
    began = time.perf_counter()
    task = tasks[name]
    problem = task()
    system = problem.system
    title = name.replace("_", " ").capitalize()
    asks = (task.__doc__ or "").partition("\n")[0].removeprefix("Return ").rstrip(".")
    asks = f"{asks[:1].upper()}{asks[1:]}."
    plan = None if task.relaxed else optimize(problem, task.guess, progress=False)
    numbers, failed = _known(task, plan)
    sections = [
        f"---\nhide-toc: true\n---\n# {escaped(title)}",
        escaped(asks),
        buttons(live),
        "## Plan",
        _planned(name, task, plan),
        "## Known answer",
        checked(numbers, None) if numbers else "No closed form and no published cost is known.",
        "## Equations",
        system.equations_markdown().partition("\n\n")[2],
        "## Background",
        prose(inspect.getdoc(inspect.getmodule(task.build)) or ""),
        "## Code",
        _code(name, task),
        "## Sources",
        sources_of(system),
    ]
    text = "\n\n".join(part for part in sections if part) + "\n"
    twin = _moving(plan, shared) if plan else ""
    seconds = time.perf_counter() - began
    return TaskPage(name, title, asks, text, twin, numbers, failed, seconds)


def _known(task: Task[...], plan: Plan | None) -> tuple[list[Number], str]:
    """Return the least cost beside the measured one, and why the plan is no answer, or ""."""
    numbers = []
    if task.objective:
        known = task.objective
        given = (known.value, known.tolerance, known.source)
        if plan is None:
            numbers = [Number("least cost", *given, why="only the homotopy solves it")]
        else:
            numbers = [Number("least cost", *given, plan.objective)]
    if plan is None:
        return numbers, ""
    if not (plan.ok or (numbers and numbers[0].agrees)):  # at a kink a plan may be right
        return numbers, f"its plan is {plan.status}: {plan.message}"
    if not plan.defect < task.defect:
        return numbers, f"the exact replay misses its plan by {plan.defect:.1e}"
    return numbers, ""


def _moving(plan: Plan, shared: str) -> str:
    """Return the panel on a plan without a kernel: it plays, and one slider has plans nearby."""
    kind: type[SessionAnswer] = ControlPanel.answers
    answer = kind(ControlSession(plan))
    sliders = [c for g in answer.schema()["groups"] for c in g["controls"] if c["kind"] == "slider"]
    first = ("end", "rho", "x0")  # a goal moves most of what is drawn, then a parameter
    groups = [c["key"].partition(".")[0] for c in sliders]
    chosen = sliders[groups.index(next(group for group in first if group in groups))]
    now, low, high = number(chosen["value"], chosen["label"]), chosen["low"], chosen["high"]
    values = [now + NEAR * part * (high - low) for part in (-1, 0, 1)]
    inside = [float(f"{x:.4g}") for x in values if low <= x <= high and x != now]
    return lean(static_twin(answer, {chosen["key"]: inside})._repr_html_(), shared)


def _planned(name: str, task: Task[...], plan: Plan | None) -> str:
    """Return the place of the twin, and what an exact simulation says of the plan."""
    if plan is None:
        return (
            "This page holds no plan: only the homotopy solves the problem, and its plans keep "
            f"products below sigma = {task.relaxed:g}. The code below searches for one; "
            "that takes a minute."
        )
    return (
        f"```{{raw}} html\n:file: {name}.html\n```\n\n"
        f"Cost {plan.objective:.9g}. The exact simulation of each interval misses the plan by at "
        f"most {plan.defect:.1e}; the equations of the optimum hold to "
        f"{max(plan.residuals.values()):.1e}. Made when this page was built."
    )


def _code(name: str, task: Task[...]) -> str:
    guess = f", ex.tasks.{name}.guess" if task.guess is not None else ""
    return f"""```python
import explorer as ex

plan = ex.optimize(ex.tasks.{name}(){guess})
print(plan, plan.replay())
ex.views.plan(plan)
ex.explore_control(plan)  # the live panel, in a notebook
```"""
