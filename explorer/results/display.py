"""What a notebook shows of a result: tables in the colours of its theme, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from explorer.quantities import number, quantity

if TYPE_CHECKING:
    from explorer.results.run import Run

__all__ = ["event_columns", "html", "plain", "solution", "summary"]

_MOST = 20  # rows of a table that is not scrolled
_TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums"
_CELL = "text-align:left;padding:0.15em 0.8em;border-bottom:1px solid color-mix(in srgb, currentColor 20%, transparent)"  # noqa: E501


def event_columns(events: Sequence[Any], time_unit: str) -> tuple[list[str], list[list[str]], str]:
    """Return heads, rows and a note: what the table of some events shows."""
    moded = any(getattr(e, "mode", "") for e in events)
    if moded:
        heads = [f"t ({time_unit})", "event", "guard", "mode"]
    else:
        heads = [f"t ({time_unit})", "event", "contact", "v- (m/s)", "v+ (m/s)", "p (N s)"]
    rows = []
    for e in events[:_MOST]:
        head = [number(e.t, 6), e.kind, e.contact]
        if moded:
            rows.append([*head, e.mode if e.mode == e.to else f"{e.mode} -> {e.to}"])
        else:
            figures = (e.gap_dot_minus, e.gap_dot_plus, e.impulse)
            rows.append([*head, *(number(x, 3) for x in figures)])
    more = len(events) - len(rows)
    note = f"{len(events)} event{'s' * (len(events) != 1)}"
    return heads, rows, note + (f", the first {len(rows)} shown" if more else "")


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
    """Return a table as HTML; it takes the colours of the text around it."""

    def line(tag: str, cells: Sequence[str]) -> str:
        return "".join(f'<{tag} style="{_CELL}">{escape(cell)}</{tag}>' for cell in cells)

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    head = f"<tr>{line('th', heads)}</tr>"
    caption = f"<p>{escape(note)}.</p>" if note else ""
    return f'{caption}<table style="{_TABLE}"><thead>{head}</thead><tbody>{body}</tbody></table>'


def summary(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return names and what is said of each as HTML."""
    body = "".join(
        f'<tr><th style="{_CELL}">{escape(name)}</th><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in rows if text
    )  # fmt: skip
    return f'<p><b>{escape(title)}</b></p><table style="{_TABLE}"><tbody>{body}</tbody></table>'


def solution(run: Run, parts: Iterable[str]) -> str:
    """Return how a run ended, what ran, its events and what it can be asked, as HTML."""
    own: Any = run
    asked = ", ".join(f"{k} = {number(x)}" for k, x in run.rho.items())
    have = ", ".join(f"sol.{name}" for name in parts if run.has(name))
    rows = f"{len(run.t)} rows to t = {quantity(float(run.t[-1]), run.system.time_unit)}"
    events = f"<details open><summary>sol.events</summary>{own.events._repr_html_()}</details>"
    return summary(run.system.name, [
        ("status", own.outcome), ("scheme", repr(run.scheme)), ("rows", rows),
        ("parameters", asked), ("route", "; ".join(run.route)),
        ("events", ""), ("parts", f"{have}, sol.events"),
    ]) + (events if own.events else "")  # fmt: skip
