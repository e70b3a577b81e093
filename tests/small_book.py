"""A book with a page of each kind: two models, a week, a notebook, a plan, one page of the reference."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import nbformat
from chapter_text import as_json, notebook_of

from explorer.book import Book, build

WEEK = """
+++ goals
# Examples and modelling

See [own](../own.ipynb).
+++ answer
```python
# answer 1
# Two.
1 + 1
```
+++ exercise
## Exercise 1.1: The left limit at a landing
+++ solution
```python
import explorer as ex

### BEGIN SOLUTION
answer_1 = ex.course.exercise("1.1").solution()
### END SOLUTION
```
+++ check
```python
ex.course.check("1.1", answer_1)
```
"""


def notebook(path: Path, *codes: str) -> Path:
    """Write a notebook with a title, a formula and these cells."""
    new = nbformat.v4
    first = new.new_markdown_cell("# What does it do?\n\nA formula, $x^2$, and text.")
    cells = [first, *(new.new_code_cell(code) for code in codes)]
    nbformat.write(new.new_notebook(cells=cells), path)
    return path


def week(folder: Path) -> Path:
    """Write a chapter of the course into a folder of notebooks."""
    path = folder / "course" / "01_examples_and_modelling.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(as_json(notebook_of(WEEK)), "utf-8")
    return path


def small_book(folder: Path) -> Book:
    """Build it in a folder."""
    own = notebook(
        folder / "own.ipynb",
        'import explorer as ex\nex.explore("bouncing_ball")',
        "ex.views.trajectory(ex.simulate(ex.models.bouncing_ball()))",
        "1 + 1",
    )
    models = ["bouncing_ball", "compass_gait"]
    found = {path.stem: path for path in (week(folder), own)}
    with patch("explorer.book.building.notebooks", lambda root: found):
        return build(
            folder / "pages",
            only=models,
            tasks=["simulate"],
            plans=["rough_block"],
            points=3,
            jobs=1,
        )
