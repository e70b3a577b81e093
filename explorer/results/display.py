"""What a notebook shows of a result: tables in the colours of its theme, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["html", "plain", "summary"]

_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "text-align:left;padding:0.15em 0.8em;border-bottom:1px solid color-mix(in srgb, currentColor 20%, transparent)"  # noqa: E501


def plain(heads: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> str:
    """Return a table as text, its columns aligned."""
    if not rows:
        return f"{note}."
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (heads, *rows)
    ]
    return "\n".join([f"{note}:", *lines])


def html(heads: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """Return a table as HTML, of no rows its note; it takes the colours of the text around it."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells)

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    if note and not body:
        return f"<p>{escape(note)}.</p>"
    head = f"<tr>{line('th', heads)}</tr>"
    caption = f"<p>{escape(note)}.</p>" if note else ""
    return f'{caption}<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def summary(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return names and what is said of each as HTML."""
    body = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in rows
        if text
    )
    return f'<p><b>{escape(title)}</b></p><table style="{_TABLE}"><tbody>{body}</tbody></table>'
