"""Docstrings as Markdown: paragraphs, formulas in plain text, indented blocks, code."""

from __future__ import annotations

import re
import textwrap

from explorer.systems.card import escaped

__all__ = ["cell", "escaped", "prose"]

_WORDS = re.compile(
    r"``(.+?)``|`([^`]+)`|(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])", re.DOTALL
)


def cell(text: str) -> str:
    """Return Markdown as a cell of a table."""
    return " ".join(text.split()).replace("\n", " ") or " "


def _paragraph(text: str) -> str:
    """Return a paragraph; ``code``, `names` and *titles* stay what they are."""
    parts, at = [], 0
    for found in _WORDS.finditer(text):
        parts.append(escaped(text[at : found.start()]))
        code = found[1] or found[2]
        parts.append(f"`{code}`" if code else f"*{escaped(found[3])}*")
        at = found.end()
    return "".join([*parts, escaped(text[at:])])


def prose(text: str) -> str:
    """Return a docstring as Markdown.

    Parameters
    ----------
    text : str
        Paragraphs; a block that is indented is shown as it is typed.
    """
    shown = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(text).strip("\n")):
        if all(line.startswith(" ") for line in block.splitlines()):
            shown.append(f"```text\n{textwrap.dedent(block)}\n```")
        else:
            shown.append(re.sub(r"::$", ":", _paragraph(block)))
    return "\n\n".join(shown)
