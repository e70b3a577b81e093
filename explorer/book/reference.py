"""The reference: every public name by its task, from the docstrings."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Sequence

import explorer
from explorer import course, reformulations, schemes, study, views

__all__ = ["TASKS", "names", "reference"]

# folder or file of the package: the page, its title, and what one does there
TASKS = {
    "dispatch": ("simulate", "Simulate", "Run a system by a scheme, and load saved runs."),
    "systems": ("systems", "Systems", "Write equations, contacts, constraints and inputs."),
    "schemes": ("schemes", "Schemes", "The methods of integration and their options."),
    "results": ("results", "Results", "What a run returns: rows, events, a status."),
    "views": ("views", "Views", "Draw a result as a plain plotly figure."),
    "panels": ("panels", "Panels", "Explore live, in a notebook."),
    "study": ("studies", "Studies", "What many runs of a system say together."),
    "derivatives": ("derivatives", "Derivatives", "Sensitivities across events, and their costs."),
    "optimise": ("optimise", "Minimise and fit", "Use derivatives to choose parameters."),
    "control": ("control", "Optimal control", "Plan inputs, and carry plans out."),
    "reformulations": ("reformulations", "Reformulations", "Turn a system into another one."),
    "course": ("course", "The course", "Check the exercises, and list their sources."),
    "": ("others", "Errors, parameters, sources", "What all parts share."),
}


def names() -> dict[str, list[str]]:
    """Return the public names of each task, as they are typed: "explorer.simulate"."""
    found: dict[str, list[str]] = {page: [] for page, _, _ in TASKS.values()}
    for name in sorted({*explorer.__all__, *schemes.schemes}):
        entry = getattr(explorer, name)
        if not inspect.ismodule(entry):
            found[TASKS[_task(entry)][0]].append(f"explorer.{name}")
    parts = {"study": study, "views": views, "reformulations": reformulations, "course": course}
    for task, part in parts.items():
        offered: Iterable[str] = dir(part) if task in ("study", "views") else part.__all__
        for name in sorted(n for n in offered if not n.startswith("_")):
            entry = getattr(part, name)
            if callable(entry) and inspect.getdoc(entry):
                found[TASKS[task][0]].append(f"explorer.{task}.{name}")
    return {page: named for page, named in found.items() if named}


def _task(entry: object) -> str:
    """Return the part of the package where a name is defined."""
    part = [*(getattr(entry, "__module__", "") or "").split("."), "", ""][1]
    return part if part in TASKS else ""


def reference(tasks: Sequence[str] | None = None) -> dict[str, str]:
    """Return the pages of the reference by their file names (MyST): all, or those named."""
    found, pages = names(), {}
    if tasks is not None:
        found = {page: named for page, named in found.items() if page in tasks}
    rows = ["| task | what it does | names |", "|---|---|---|"]
    for page, title, does in TASKS.values():
        if page not in found:
            continue
        entries = [_entry(name) for name in found[page]]
        pages[f"reference/{page}.md"] = "\n\n".join([f"# {title}", does, *entries]) + "\n"
        short = ", ".join(f"`{name.removeprefix('explorer.')}`" for name in found[page])
        rows.append(f"| [{title}]({page}.md) | {does} | {short} |")
    inside = "\n".join(page for page, _, _ in TASKS.values() if page in found)
    pages["reference/index.md"] = (
        "# Reference\n\nBy task. `import explorer as ex` is meant everywhere.\n\n"
        + "\n".join(rows)
        + f"\n\n```{{toctree}}\n:hidden:\n\n{inside}\n```\n"
    )
    return pages


def _entry(name: str) -> str:
    """Return the directive that documents a name."""
    part, _, own = name.rpartition(".")
    entry = getattr(importlib.import_module(part), own)
    kind = "autoclass" if inspect.isclass(entry) else "autofunction"
    options = "\n   :members:" if inspect.isclass(entry) else ""
    return f"## {own}\n\n```{{eval-rst}}\n.. {kind}:: {name}{options}\n```"
