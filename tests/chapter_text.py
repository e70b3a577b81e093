"""Write a chapter from a text, or its text from the notebook: cells are quicker to type that way.

    uv run python tests/chapter_text.py --read notebooks/course/04_impact_laws.ipynb > chapter.md
    uv run python tests/chapter_text.py --write chapter.md notebooks/course/04_impact_laws.ipynb
    uv run python tests/chapter_text.py --run notebooks/course/04_impact_laws.ipynb

The text: cells are divided by lines ``+++``; behind it stand the tags of the cell (see `TAGS` in
explorer/course/notebooks.py). A cell whose first line is ```` ```python ```` is code. `--write` adds
what graders, the book and slides read, and keeps the names of cells that did not change. `--run`
runs the chapter from cold, and prints what its cells print, the time and the memory that it took.
"""

from __future__ import annotations

import hashlib
import json
import re
import resource
import sys
import time
from pathlib import Path

from explorer.course.notebooks import TAGS, completed

METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook_of(text: str) -> dict:
    """Return the notebook of a text."""
    cells, seen = [], set()
    first, *rest = re.split(r"^\+\+\+(.*)\n", text, flags=re.MULTILINE)
    for head, block in [("", first), *zip(rest[::2], rest[1::2], strict=True)]:
        body, tags = block.strip("\n"), head.split()
        if not body.strip():
            continue
        code = re.fullmatch(r"```python\n(.*?)\n```\s*", body, re.DOTALL)
        source = code[1] if code else body.rstrip()
        name = hashlib.sha256(source.encode()).hexdigest()[:8]
        assert name not in seen, f"two cells are the same: {source}"
        assert not tags or tags[0] in TAGS, f"unknown tag {tags[0]}; known: {', '.join(TAGS)}"
        seen.add(name)
        cell = {"cell_type": "code" if code else "markdown", "id": name}
        cell["metadata"] = {"tags": tags} if tags else {}
        cell["source"] = source.splitlines(keepends=True)
        cells.append(cell | ({"execution_count": None, "outputs": []} if code else {}))
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return completed(whole)


def text_of(notebook: dict) -> str:
    """Return the text of a notebook."""
    blocks = []
    for cell in notebook["cells"]:
        tags = [t for t in cell["metadata"].get("tags", []) if t in TAGS]
        source = "".join(cell["source"])
        body = f"```python\n{source}\n```" if cell["cell_type"] == "code" else source
        blocks.append(f"+++ {' '.join(tags)}".rstrip() + f"\n{body}\n")
    return "".join(blocks)


def as_json(notebook: dict) -> str:
    """Return the text of the file."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def run(path: Path) -> int:
    """Run a chapter, print what it prints; return 1 if a cell fails."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook, began, failed = nbformat.read(path, as_version=4), time.monotonic(), 0
    try:
        NotebookClient(
            notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}
        ).execute()
    except CellExecutionError as error:
        print(error)
        failed = 1
    for k, cell in enumerate(notebook.cells):
        for out in cell.get("outputs", []):
            data = out.get("data", {})
            said = out.get("text") or data.get("text/plain", "")
            print(f"[{k}] {out.get('name', '')} {said[:600]}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{time.monotonic() - began:.0f} s (processor {used.ru_utime + used.ru_stime:.0f} s), "
        f"{used.ru_maxrss / 1024:.0f} MB"
    )
    return failed


def main(arguments: list[str]) -> int:
    """Do what is asked."""
    match arguments:
        case ["--read", path]:
            print(text_of(json.loads(Path(path).read_text("utf-8"))), end="")
        case ["--write", source, path]:
            Path(path).write_text(as_json(notebook_of(Path(source).read_text("utf-8"))), "utf-8")
        case ["--run", path]:
            return run(Path(path))
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
