"""The page of an optimal control problem, from the table of tasks alone: its plan is made now."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass

from explorer.book.measured import Number
from explorer.book.model_page import buttons, checked, sources_of
from explorer.book.prose import escaped, prose
from explorer.control import Plan, optimize
from explorer.tasks import Task, tasks
from explorer.views.drawing.still import mark
from explorer.views.plan import plan as drawn

__all__ = ["TaskPage", "task_page"]


@dataclass(frozen=True)
class TaskPage:
    """A page of the book on one optimal control problem.

    Attributes
    ----------
    name, title, asks : str
    text : str
        Markdown (MyST).
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
    numbers: list[Number]
    failed: str
    seconds: float


def task_page(name: str, live: str = "") -> TaskPage:
    """Return the page of a task: what it asks, its plan, and the least cost that is known.

    Parameters
    ----------
    name : str
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
        _planned(task, plan),
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
    return TaskPage(name, title, asks, text, numbers, failed, time.perf_counter() - began)


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


def _planned(task: Task[...], plan: Plan | None) -> str:
    """Return the picture of the plan, and what an exact simulation says of it."""
    if plan is None:
        return (
            "This page holds no plan: only the homotopy solves the problem, and its plans keep "
            f"products below sigma = {task.relaxed:g}. The code below searches for one; "
            "that takes a minute."
        )
    return (
        f"```{{raw}} html\n{mark(drawn(plan))}\n```\n\n"
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
