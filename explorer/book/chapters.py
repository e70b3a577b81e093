"""The notebooks as chapters: run once, with twins in place of panels, and two buttons on top.

They are run here, or were run before; with the variables `ENVIRONMENT` their panels are twins.
"""

from __future__ import annotations

import html
import json
import os
import re
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets.config import Config

from explorer.panels.twin_folder import lean
from explorer.types import Plain

__all__ = ["COURSE", "ENVIRONMENT", "Chapter", "chapter", "executed", "notebooks"]

COURSE = "course"  # folder of the chapters of the course, of their pages, and of what one downloads
# of a kernel whose panels become twins, with nine pictures of a slider
ENVIRONMENT = {"EXPLORER_STATIC": "twin 9", "OMP_NUM_THREADS": "1"}
_PATIENCE = 300  # s for a cell
_DROPPED = (
    "application/vnd.jupyter.widget-view+json",
    "application/vnd.plotly.v1+json",
    "application/javascript",
)


@dataclass(frozen=True)
class Chapter:
    """A notebook that was run.

    Attributes
    ----------
    name, title : str
    part : str
        Of the book, and the name of its folder: "course" or "chapters".
    text : str
        The notebook with its outputs, as JSON.
    failed : str
        Which cell failed, by its number among all cells, and why; or "".
    seconds : float
    """

    name: str
    title: str
    part: str
    text: str
    failed: str
    seconds: float


def notebooks(root: Path) -> dict[str, Path]:
    """Return the notebooks of a checkout by their names: the course, then the others."""
    home = root / "notebooks"
    paths = [*sorted((home / COURSE).glob("*.ipynb")), *sorted(home.glob("*.ipynb"))]
    return {path.stem: path for path in paths}


def executed(path: Path, shared: str, ran: Path | None = None) -> tuple[nbformat.NotebookNode, str]:
    """Run a notebook; return it with outputs that need no kernel, and why a cell failed.

    Parameters
    ----------
    path : Path
    shared : str
        Address of the file that twins share, from the page.
    ran : Path, optional
        A folder that has the same notebook as it was run before: its outputs are taken.
    """
    notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    failed = _run(notebook, path.parent) if ran is None else _taken(notebook, ran / path.name)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [_told(output, shared) for output in cell.outputs if _shown(output)]
    notebook.metadata.pop("widgets", None)
    return notebook, failed


def chapter(path: Path, shared: str, live: str = "", ran: Path | None = None) -> Chapter:
    """Run a notebook, and return it as a chapter.

    Parameters
    ----------
    path : Path
    shared : str
        Address of the file that twins share, from the page.
    live : str
        Address of the repository on Binder.
    ran : Path, optional
        A folder that has the same notebook as it was run before.
    """
    began = time.perf_counter()
    notebook, failed = executed(path, shared, ran)
    part = COURSE if path.parent.name == COURSE else "chapters"
    first = notebook.cells[0].source
    title = (re.search(r"^#+\s*(.+)$", first, re.MULTILINE) or [path.stem, path.stem])[1]
    head, _, rest = first.partition("\n")
    notebook.cells[0].source = f"{head}\n\n{_buttons(path.name, part, live)}\n{rest}"
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _linked(cell.source, part)
    text = json.dumps(notebook, indent=1)
    return Chapter(path.stem, title, part, text, failed, time.perf_counter() - began)


def _linked(source: str, part: str) -> str:
    """Return a text whose links to the notebooks of the other part lead to their pages."""
    if part == COURSE:
        return re.sub(r"\]\(\.\./([\w-]+\.ipynb)", r"](../chapters/\1", source)
    return re.sub(r"\]\(course/([\w-]+\.ipynb)", r"](../course/\1", source)


def _run(notebook: nbformat.NotebookNode, beside: Path) -> str:
    """Run the cells with twins in place of panels; return which one failed, and why."""
    begun = [0]
    env = {**os.environ, **ENVIRONMENT}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as sockets:
        for file in beside.iterdir():  # data, and modules that a notebook imports
            if file.is_file() and file.suffix != ".ipynb":
                (Path(folder) / file.name).write_bytes(file.read_bytes())
        client = NotebookClient(
            notebook,
            timeout=_PATIENCE,
            store_widget_state=False,
            config=_reached(f"{sockets}/kernel"),
            extra_arguments=["--log-level=40"],  # its connections are no news
            on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
            resources={"metadata": {"path": folder}},
        )
        try:
            client.execute(env=env)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            last = re.sub(r"\x1b\[[\d;]*m", "", str(error).strip().splitlines()[-1])
            return f"{_named(notebook, begun[-1])}: {last}"
    return ""


def _reached(path: str) -> Config:
    """Return the settings of a kernel that is reached by sockets beside a path, not by ports.

    Two kernels that start at once may find the same port free, and then read each other's messages.
    """
    return Config({"KernelManager": {"transport": "ipc", "ip": path}} if os.name == "posix" else {})


def _taken(notebook: nbformat.NotebookNode, ran: Path) -> str:
    """Take the outputs of a notebook that was run; return which cell has none, and why."""
    if not ran.is_file():
        return f"it was not run: there is no {ran}"
    other = nbformat.reads(ran.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    if [c.source for c in other.cells] != [c.source for c in notebook.cells]:
        return f"{ran} has other cells: it was made from another state of this notebook"
    for k, (cell, done) in enumerate(zip(notebook.cells, other.cells, strict=True)):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        for output in done.outputs:
            if output.output_type == "error":
                return f"{_named(notebook, k)}: {output.ename}: {output.evalue}"
        if done.execution_count is None:
            return f"{_named(notebook, k)}: it was not run"
        cell.outputs, cell.execution_count = done.outputs, done.execution_count
    return ""


def _named(notebook: nbformat.NotebookNode, k: int) -> str:
    """Return how a cell is named: by its number among all cells, and by its first line."""
    return f"cell {k + 1} ({notebook.cells[k].source.strip().splitlines()[0]})"


def _shown(output: Plain) -> bool:
    return output.get("name") != "stderr"


def _told(output: nbformat.NotebookNode, shared: str) -> nbformat.NotebookNode:
    """Return an output without what needs a kernel or a network."""
    data = output.get("data")
    if data is None:
        return output
    others = [kind for kind in data if kind not in _DROPPED]
    for kind in _DROPPED:
        if others:
            data.pop(kind, None)
    if "text/html" in data:
        data["text/html"] = lean(data["text/html"], shared)
    return output


def _buttons(name: str, part: str, live: str) -> str:
    """Return the buttons of a chapter as HTML."""
    name = f"{COURSE}/{name}" if part == COURSE else name
    buttons = (
        f'<a class="book-button" href="../notebooks/{name}" download>Download the notebook</a>'
    )
    if live:
        address = html.escape(f"{live}?labpath={quote(f'notebooks/{name}', safe='')}")
        buttons = f'<a class="book-button" href="{address}">Open live on Binder</a> {buttons}'
    return f'<p class="book-buttons">{buttons}</p>\n'
