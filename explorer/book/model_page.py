"""The page of a model, from the gallery alone: nothing on it is written by hand."""

from __future__ import annotations

import html
import inspect
import json
import time
from dataclasses import dataclass

from explorer.book.address import opens
from explorer.book.measured import Distance, Number, distance, numbers
from explorer.book.prose import cell, escaped, prose
from explorer.citation import cite
from explorer.models import models
from explorer.panels.answer import SessionAnswer
from explorer.panels.code import snippet
from explorer.panels.session import Session
from explorer.panels.static_twin import static_twin
from explorer.panels.twin_folder import lean
from explorer.systems import System
from explorer.types import Plain

__all__ = ["POINTS", "ModelPage", "buttons", "checked", "model_page", "sources_of"]

POINTS = 17  # values of a slider, the same on every machine


@dataclass(frozen=True)
class ModelPage:
    """A page of the book on one model.

    Attributes
    ----------
    name, title, group, teaches : str
    text : str
        Markdown (MyST), which includes the file of its twin as ``<name>.html`` beside it.
    twin : str
        The static twin as HTML, without what the pages share.
    notebook : str
        Its panel and its run as a notebook (JSON), to download.
    numbers : list of Number
    away : Distance, optional
        From its closed form, if it has one.
    seconds : float
        To make it.
    """

    name: str
    title: str
    group: str
    teaches: str
    text: str
    twin: str
    notebook: str
    numbers: list[Number]
    away: Distance | None
    seconds: float


def model_page(name: str, shared: str, live: str = "", points: int = POINTS) -> ModelPage:
    """Return the page of a model of the gallery.

    Parameters
    ----------
    name : str
    shared : str
        Address of the file that twins share, from the page.
    live : str
        Address where the gallery runs live; without one there is no button.
    points : int
        Values of its slider.
    """
    began = time.perf_counter()
    build = models[name]
    system, session = build(), Session(name)
    group = getattr(build, "group", "") or "others"
    title = system.name[0].upper() + system.name[1:]
    told, away = numbers(name), distance(system)
    sections = [
        f"---\nhide-toc: true\n---\n# {escaped(title)}",
        escaped(system.text),
        buttons(live and opens(live, session.to_json()), name),
        _moves(name, session),
        "## Equations",
        _equations(system),
        "## Background",
        prose(inspect.getdoc(inspect.getmodule(build)) or ""),
        "## Checked numbers",
        checked(told, away),
        "## Presets",
        _presets(system),
        "## Code",
        _code(name, session),
        "## Sources",
        sources_of(name),
    ]
    text = "\n\n".join(part for part in sections if part) + "\n"
    twin = lean(static_twin(SessionAnswer(session), points=points)._repr_html_(), shared)
    seconds = time.perf_counter() - began
    typed = _notebook(name, title, system.text, session)
    return ModelPage(name, title, group, system.text, text, twin, typed, told, away, seconds)


def buttons(live: str, name: str = "") -> str:
    """Return the buttons of a page: where it is live on Binder, and its model as a notebook.

    Without the name of a model the gallery is opened.
    """
    shown = []
    if live:
        address = html.escape(live)
        label = "Open live on Binder" if name else "Open the gallery live on Binder"
        shown.append(f'<a class="book-button" href="{address}">{label}</a>')
    if name:
        shown.append(
            f'<a class="book-button" href="../notebooks/models/{name}.ipynb" download>'
            "Download as a notebook</a>"
        )
    if not shown:
        return ""
    return f'```{{raw}} html\n<p class="book-buttons">{" ".join(shown)}</p>\n```'


def _notebook(name: str, title: str, text: str, session: Session) -> str:
    """Return a notebook with the panel and the run of a model, as JSON."""
    typed = (
        ("markdown", f"# {escaped(title)}\n\n{escaped(text)}"),
        ("code", f'import explorer as ex\n\nex.explore("{name}")'),
        ("markdown", "The same run without a panel:"),
        ("code", snippet(session).rstrip()),
        ("code", "model"),
    )
    cells: list[Plain] = []
    for k, (kind, source) in enumerate(typed):  # its ids are the same in every build
        rest: Plain = {"outputs": [], "execution_count": None} if kind == "code" else {}
        id_ = f"{name[:50].replace('_', '-')}-{k}"
        cells.append({"id": id_, "cell_type": kind, "metadata": {}, "source": source, **rest})
    kernel = {"name": "python3", "display_name": "Python 3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1) + "\n"


def _moves(name: str, session: Session) -> str:
    """Return the place of the twin."""
    return f"```{{raw}} html\n:file: {name}.html\n```"


def _equations(system: System) -> str:
    """Return the equations, parameters with units and start of a system."""
    shown = system.equations_markdown()
    _, _, rest = shown.partition("\n\n")  # its first line is the title of the page
    return rest


def checked(told: list[Number], away: Distance | None) -> str:
    """Return published and measured numbers, and the distance to the closed form."""
    parts = []
    if told:
        rows = [
            "| number | published | measured | tolerance | source | |",
            "|---|---|---|---|---|---|",
        ]
        for x in told:
            known = x.measured == x.measured
            mark = ("agrees" if x.agrees else "**differs**") if known else "unknown"
            measured = f"{x.measured:.10g}" if known else escaped(x.why)
            row = (escaped(x.what), f"{x.published:.10g}", measured, f"{x.tolerance:.1g}")
            rows.append("| " + " | ".join(map(cell, (*row, escaped(x.source), mark))) + " |")
        parts.append("\n".join(rows))
        if any(x.measured == x.measured for x in told):
            parts.append("Measured when this page was built.")
    if away is not None:
        what = f"**Closed form of {escaped(away.of)}.**" if away.of else "**Closed form.**"
        parts.append(
            f"{what} The run of `{away.scheme}` differs from it by at most "
            f"{away.largest:.2g}, where the states reach {away.scale:.3g} ({away.rows} rows)"
            + (
                f"; with a tenth of its step, by {away.finer:.2g}."
                if away.finer is not None
                else "."
            )
        )
    return "\n\n".join(parts) or "No published number and no closed form is known for this model."


def _presets(system: System) -> str:
    if not system.presets:
        return "None."
    rows = ["| preset | what it shows | settings |", "|---|---|---|"]
    for name, preset in system.presets.items():
        settings = ", ".join(f"`{k} = {v!r}`" for k, v in preset.items() if k != "text")
        row = (escaped(name), escaped(str(preset.get("text", ""))), settings.replace("|", "\\|"))
        rows.append("| " + " | ".join(map(cell, row)) + " |")
    return "\n".join(rows)


def _code(name: str, session: Session) -> str:
    live = f'ex.explore("{name}")  # the live panel, in a notebook'
    return f"```python\n{snippet(session)}{live}\n```"


def sources_of(subject: object) -> str:
    """Return the sources of what `explorer.cite` takes, with their BibTeX."""
    found = cite(subject)
    lines = "\n".join(f"- {entry.markdown}" for entry in found.entries)
    return (
        f"{lines}\n\n```{{raw}} html\n<details><summary>BibTeX</summary>\n```\n\n"
        f"```bibtex\n{found.bibtex.strip()}\n```\n\n```{{raw}} html\n</details>\n```"
    )
