"""The front page, and the texts in ``docs/``: each is a page of the book."""

from __future__ import annotations

import re
from pathlib import Path

import explorer
from explorer.book.prose import escaped

__all__ = ["front", "texts"]

_TITLES = {"references": "Bibliography"}  # of a text whose file says it otherwise


def texts(root: Path) -> dict[str, str]:
    """Return the texts of a checkout by their file names, and the bibliography as BibTeX."""
    found = {}
    for path in sorted((root / "docs").glob("*.md")):
        text = path.read_text("utf-8")
        if title := _TITLES.get(path.stem):
            text = re.sub(r"\A# .*", f"# {title}", text)
        found[path.name] = text
    return found


def front(*, course: bool = True, moves: str = "") -> str:
    """Return the first page: what the package does, and where to go from there.

    Parameters
    ----------
    course : bool
        Whether the book has chapters of the course.
    moves : str
        The file of the twin that it shows, as seen from the page.
    """
    twin = f"```{{raw}} html\n:file: {moves}\n```\n\n" if moves else ""
    weeks, inside = "", ""
    if course:
        weeks = (
            "- [The course](course/index.md): weeks of study, with exercises that are checked.\n"
        )
        inside = "course/index\n"
    told = (explorer.__doc__ or "").strip()
    title, _, rest = told.partition("\n\n")
    example, tasks = rest.split("\n\n")[:2]
    return f"""# Nonsmooth dynamics

{escaped(title)}

{twin}```python
{_typed(example)}
```

{weeks}- [Models](models/index.md): a page each: equations, a panel, checked numbers, sources.
- [Chapters](chapters/index.md): the notebooks, each about one question.
- [Optimal control problems](tasks/index.md): their plans, beside the least costs that are known.
- [A model of your own in ten minutes](own_model.md): from a sketch on paper to a panel.
- [Which scheme should I take?](which_scheme.md)
- [Coming from another program](coming_from.md)
- [Reference](reference/index.md) by task, [glossary](glossary.md), [bibliography](references.md).

```text
{tasks}
```

Text: CC BY 4.0. Code: BSD-3-Clause. MathJax (Apache-2.0) and plotly.js (MIT) are files of this
book, which needs no network.

```{{toctree}}
:hidden:

{inside}models/index
chapters/index
tasks/index
own_model
which_scheme
coming_from
reference/index
glossary
references
writing_a_chapter
```
"""


def _typed(example: str) -> str:
    """Return a doctest as one would type it."""
    lines = []
    for line in example.splitlines():
        lines.append(line[4:] if line.startswith((">>> ", "... ")) else f"# {line}")
    return "\n".join(lines)
