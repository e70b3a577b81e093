"""Optimal control problems with known answers: a system with inputs, its costs, and what is true.

A task is a function without required arguments that returns an `OptimalControlProblem`; `register`
puts it into the table and the conformance tests, with its sources::

    task = ex.tasks.turbo_car()
    plan = ex.optimize(task, ex.tasks.turbo_car.guess)

`ex.tasks.turbo_car.objective` is its least cost, where it is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Generic, ParamSpec

from explorer.arguments import checked, items
from explorer.control import OptimalControlProblem
from explorer.errors import NoSuchName
from explorer.references import entry
from explorer.registry import Registry
from explorer.results.display import html

__all__ = ["Task", "register", "tasks"]

P = ParamSpec("P")


@dataclass(frozen=True)
class Truth:
    """A number that the plan of a task must have.

    Attributes
    ----------
    value, tolerance : float
    source : str, where it is from
    """

    value: float
    tolerance: float
    source: str


@dataclass(repr=False, eq=False)
class Task(Generic[P]):
    """What builds a problem, and what is known of its plan.

    Attributes
    ----------
    build : callable
    references : tuple of str, keys of ``references.bib``
    objective : Truth or None
        The least cost with the default arguments.
    defect : float
        Bound of the defect of the exact replay, in the units of the states.
    guess : what `optimize` takes, or None
    relaxed : float
        Where only the homotopy solves it: its plans keep products below this sigma. 0 if a
        sequence of active sets is solved.
    """

    build: Callable[P, OptimalControlProblem]
    references: tuple[str, ...]
    objective: Truth | None
    defect: float
    guess: object
    relaxed: float = 0.0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> OptimalControlProblem:
        """Return the problem."""
        problem = self.build(*args, **kwargs)
        system = problem.system
        system.references = tuple(dict.fromkeys((*self.references, *system.references)))
        return problem

    def __repr__(self) -> str:
        known = f", objective {self.objective.value:.9g}" if self.objective else ""
        return f"Task({self.build.__name__}{known})"


tasks: Registry[Task[...]] = Registry("task", __name__)


def register(
    *,
    references: tuple[str, ...] | str = (),
    objective: tuple[float, float, str] | None = None,
    defect: float = 1e-6,
    guess: object = None,
    relaxed: float = 0.0,
) -> Callable[[Callable[P, OptimalControlProblem]], Task[P]]:
    """Put a task into the table.

    Parameters
    ----------
    references : str or tuple of str
        Its sources: keys of ``references.bib``.
    objective : (float, float, str), optional
        The least cost with the default arguments, its tolerance, and where it is from.
    defect : float
        Bound of the defect of the exact replay.
    guess : object, optional
        What `optimize` needs to start from, if it needs it.
    relaxed : float
        Where only the homotopy solves it: the sigma below which its plans keep products.

    Examples
    --------
    >>> from explorer.tasks import tasks
    >>> tasks["fuller"].references
    ('fuller-1963', 'zelikin-borisov-1994')
    """

    def add(build: Callable[P, OptimalControlProblem]) -> Task[P]:
        sources = tuple(items(references, f"The references of {build.__name__}", str))
        truth = Truth(*objective) if objective else None
        task = Task(checked(build), sources, truth, defect, guess, relaxed)
        update_wrapper(task, build, updated=())
        tasks.register(build.__name__)(task)
        return task

    return add


tasks.discover()
# a task hides the module of the same name: tasks.turbo_car() is what one types
globals().update(tasks)


def __getattr__(name: str) -> Task[...]:
    raise NoSuchName("explorer.tasks", name, lambda: tasks)


def _repr_html_() -> str:
    """Show the table in a notebook: what is asked, what is known, and the source."""
    rows = [(name, *_told(task)) for name, task in tasks.items()]
    return html(("task", "what it asks", "least cost", "source"), rows, f"{len(rows)} tasks")


def _told(task: Task[...]) -> tuple[str, str, str]:
    first = (task.__doc__ or "").partition("\n")[0].removeprefix("Return ").rstrip(".")
    known = f"{task.objective.value:.9g}" if task.objective else ""
    entries = map(entry, task.references)
    return first, known, "; ".join(f"{e.authors} ({e['year']})" for e in entries)


def __dir__() -> list[str]:
    """Offer the tasks, not what makes the table."""
    return [*__all__, *tasks]
