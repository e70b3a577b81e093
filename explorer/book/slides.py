"""Slides of the chapters, from the same notebooks: nbconvert reads the kind of slide of each cell.

A page is read with a network: reveal.js and MathJax are fetched by the page.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

from explorer.book.chapters import executed
from explorer.course.exercises import chapters
from explorer.course.notebooks import folder
from explorer.errors import BadValue, NotApplicable
from explorer.panels.twin_folder import shared

__all__ = ["slides"]

_TWINS = "twins.js"


def slides(
    notebooks: Path, target: Path, *, say: Callable[[str], None] = lambda text: None
) -> list[Path]:
    """Write the slides of all chapters into a folder; return their pages.

    Parameters
    ----------
    notebooks : Path
        The folder of the notebooks, which holds that of the course.
    target : Path
        Is made.
    say : callable
        Is told what happens.

    Raises
    ------
    BadValue
        If a cell of a chapter fails, or the folder is a file.
    NotApplicable
        If there are no chapters.
    """
    from nbconvert import SlidesExporter

    if target.is_file():
        raise BadValue(f"{target} is a file. Name a folder for the slides.")
    known = sorted(chapters.values(), key=lambda c: c.number)
    paths = [p for c in known if (p := folder(notebooks) / f"{c.stem}.ipynb").is_file()]
    if not paths:
        raise NotApplicable(f"There are no chapters in {folder(notebooks)}.")
    target.mkdir(parents=True, exist_ok=True)
    (target / _TWINS).write_text(shared(), "utf-8")
    written = []
    for path in paths:
        say(f"Slides of {path.stem}")
        notebook, failed = executed(path, _TWINS)
        if failed:
            raise BadValue(f"{path.name} does not run: {failed}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of nbconvert to its own parts
            exporter = SlidesExporter(  # type: ignore[no-untyped-call]
                reveal_scroll=True, exclude_input_prompt=True, exclude_output_prompt=True
            )
            page, _ = exporter.from_notebook_node(notebook)
        written.append(target / f"{path.stem}.html")
        written[-1].write_text(page, "utf-8")
    return written
