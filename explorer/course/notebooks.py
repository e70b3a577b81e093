"""The notebooks of the chapters: what graders, the book and slides read; student versions.

A chapter marks its cells by tags (`TAGS`). `completed` adds what follows from them: the metadata of
nbgrader (schema 3), the tags of otter, what the book and JupyterLab fold, and the kind of slide.
`student` takes the solutions out.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path

from explorer.course.exercises import Chapter, chapters
from explorer.errors import BadValue
from explorer.types import Plain

__all__ = ["BEGIN", "END", "TAGS", "completed", "folder", "student", "write_students"]

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
TAGS = {  # what an author writes: what the cell is
    "goals": "the first cell: title, line of the chapter, question, goals",
    "predict": "numbered questions, before the panel that answers them",
    "answer": "a code cell that answers predictions; it is folded",
    "wrong": "what goes wrong: the text, and the code that shows it",
    "exercise": "the text of an exercise, under its heading",
    "solution": "the answer cell, with the solution between its markers",
    "check": "the cell that checks it",
    "summary": "what to remember",
    "references": "where to read on",
}
_HEADING = re.compile(r"^#+ Exercise (\d+\.\d+): (.+)$", re.MULTILINE)
_FOLDED = ("answer", "solution")
_OURS = {*TAGS, "hide-cell", "otter_answer_cell", "otter_assign_solution_cell"}

Notebook = Plain  # of nbformat 4.5


def folder(root: Path) -> Path:
    """Return where the chapters are, below the folder of the notebooks."""
    return root / "course"


def _source(cell: Notebook) -> str:
    return "".join(cell["source"])


def _kind(cell: Notebook) -> str:
    """Return the tag of ours that a cell has, or ""."""
    tags = cell["metadata"].get("tags", [])
    return next((tag for tag in tags if tag in TAGS), "")


def _points(name: str) -> int:
    for chapter in chapters.values():
        if name in chapter.exercises:
            return chapter.exercises[name].points
    raise BadValue(f"No exercise {name!r} is registered in explorer/course/weeks.")


def _grading(cells: list[Notebook]) -> Iterator[tuple[Notebook, str, str]]:
    """Yield each cell, what it is, and the exercise to which it belongs."""
    current = ""
    for cell in cells:
        kind = _kind(cell)
        if kind == "exercise" and (found := _HEADING.search(_source(cell))):
            current = found[1]
        yield cell, kind, current if kind in ("exercise", "solution", "check") else ""


def _slide(cell: Notebook, kind: str) -> str:
    """Return the kind of slide of a cell."""
    if kind in ("solution", "check", "references"):
        return "skip"
    if kind == "answer":
        return "fragment"
    if cell["cell_type"] == "code":
        return "-"
    return "slide" if re.match(r"#{1,2} ", _source(cell)) else "subslide"


def _prompt(cell: Notebook, kind: str) -> str:
    """Return what the book shows of a folded cell; JupyterLab shows its first line."""
    number = re.match(r"# answer (\d+)\n", _source(cell))
    return f"Show answer {number[1]}" if number else f"Show the {kind}"


def completed(notebook: Notebook) -> Notebook:
    """Return a chapter whose cells have all the metadata that follow from their tags.

    Parameters
    ----------
    notebook : dict, of nbformat 4.5

    Raises
    ------
    BadValue
        If a solution or a check stands below no exercise, or an exercise is not registered.
    """
    made = copy.deepcopy(notebook)
    for cell, kind, name in _grading(made["cells"]):
        if kind in ("exercise", "solution", "check") and not name:
            raise BadValue(
                f"A cell is tagged {kind!r}, but stands below no heading 'Exercise 4.1: title'."
            )
        old = cell["metadata"]
        others = [tag for tag in old.get("tags", []) if tag not in _OURS]
        tags = [*([kind] if kind else []), *others]
        data: Notebook = {}
        if name:
            data["nbgrader"] = _nbgrader(kind, name, cell["cell_type"])
        if kind in _FOLDED and cell["cell_type"] == "code":
            tags.append("hide-cell")
            data["jupyter"] = {"outputs_hidden": kind == "answer", "source_hidden": True}
            data["mystnb"] = {
                "code_prompt_show": _prompt(cell, kind),
                "code_prompt_hide": "Hide it",
            }
        if kind == "solution":
            tags += ["otter_answer_cell", "otter_assign_solution_cell"]
        slide = old.get("slideshow", {}).get("slide_type") if "own-slide" in others else None
        data["slideshow"] = {"slide_type": slide or _slide(cell, kind)}
        if tags:
            data["tags"] = tags
        cell["metadata"] = dict(sorted(data.items()))
    return made


def _nbgrader(kind: str, name: str, cell_type: str) -> Notebook:
    """Return what nbgrader has to know of a cell; an exercise is read, a check gives points."""
    data: Notebook = {
        "cell_type": cell_type,
        "grade": kind == "check",
        "grade_id": f"{kind}-{name.replace('.', '-')}",
        "locked": kind != "solution",
        "schema_version": 3,
        "solution": kind == "solution",
        "task": False,
    }
    return data | ({"points": _points(name)} if kind == "check" else {})


def _stripped(source: str) -> str:
    """Return code in which dots stand for each solution.

    A name that a solution assigns at the margin is assigned dots; elsewhere the dots are a line.
    """
    kept: list[str] = []
    inside: list[str] | None = None
    for line in source.splitlines():
        if line.strip() == BEGIN:
            inside, indent = [], line[: len(line) - len(line.lstrip())]
        elif line.strip() == END and inside is not None:
            names = re.findall(r"^(?:def )?(answer\w*)\b", "\n".join(inside), re.MULTILINE)
            dots = f"{names[-1]} = ..." if names and not indent else "..."
            kept.append(f"{indent}{dots}  # your answer")
            inside = None
        elif inside is not None:
            inside.append(line)
        else:
            kept.append(line)
    if inside is not None:
        raise BadValue(f"A solution begins, but {END!r} is missing.")
    return "\n".join(kept)


def student(notebook: Notebook) -> Notebook:
    """Return a chapter for students: without solutions, with what otter runs to check answers.

    It runs up to the first answer that is missing, and says so.
    """
    made = completed(notebook)
    tests: Notebook = {}
    for cell, kind, name in _grading(made["cells"]):
        if kind == "solution":
            cell["source"] = _stripped(_source(cell))
            cell["metadata"].pop("jupyter")
            cell["metadata"].pop("mystnb")
            cell["metadata"]["tags"] = ["solution", "otter_answer_cell"]
        if kind == "check":
            tests |= _test(name, _source(cell))
    if tests:
        made["metadata"]["otter"] = {"OK_FORMAT": True, "tests": tests}
    return made


def _test(name: str, source: str) -> Notebook:
    """Return what otter runs for an exercise: the check cell, as a doctest."""
    last = source.strip().splitlines()[-1]
    key = f"exercise_{name.replace('.', '_')}"
    case = {"code": f">>> {last}.right\nTrue", "hidden": False, "locked": False}
    suite = {"cases": [case], "scored": True, "setup": "", "teardown": "", "type": "doctest"}
    return {key: {"name": key, "points": _points(name), "suites": [suite]}}


def students(notebooks: Path) -> Iterator[tuple[Chapter, str]]:
    """Yield each chapter of a folder of notebooks, and its student version as JSON."""
    for chapter in sorted(chapters.values(), key=lambda c: c.number):
        path = folder(notebooks) / f"{chapter.stem}.ipynb"
        if path.is_file():
            made = student(json.loads(path.read_text("utf-8")))
            yield chapter, json.dumps(made, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def write_students(notebooks: Path, target: Path) -> list[Path]:
    """Write the student versions of all chapters into a folder; return their paths.

    Raises
    ------
    BadValue
        If the folder is that of the chapters, whose solutions would be lost.
    """
    if target.resolve() == folder(notebooks).resolve():
        raise BadValue(
            f"{target} holds the chapters with their solutions, which would be overwritten. "
            "Name another folder."
        )
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for chapter, text in students(notebooks):
        path = target / f"{chapter.stem}.ipynb"
        path.write_text(text, "utf-8")
        written.append(path)
    return written
