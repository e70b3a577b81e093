"""Which scheme takes what, as a table: from what the schemes say of themselves."""

from __future__ import annotations

from explorer.dispatch.choose import takes
from explorer.schemes import schemes
from explorer.systems import SYSTEMS

__all__ = ["markdown"]

_HEAD = (
    "scheme", "takes", "through an exact rewriting", "handles", "order",
    "across impacts and switches", "derivatives through events",
)  # fmt: skip


def markdown() -> str:
    """Return the table of all schemes, a row each, in Markdown."""
    rows = [_HEAD, ("---",) * len(_HEAD)]
    for name, kind in schemes.items():
        taken = [t for t in SYSTEMS.values() if takes(kind, t)]
        through = [t for t in taken if issubclass(t, kind.rewrites)]
        rows.append((
            f"`{name}`{' (a lesson)' if kind.lesson else ''}",
            *(", ".join(f"`{t.__name__}`" for t in group)
              for group in ([t for t in taken if t not in through], through)),
            ", ".join(sorted(kind.handles)),
            str(kind.order),
            str(kind.order_across_events or "none"),
            "yes" if kind.located else "",
        ))  # fmt: skip
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
