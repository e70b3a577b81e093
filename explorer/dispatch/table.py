"""The table of schemes and the systems that they accept, from the attributes of the schemes."""

from __future__ import annotations

from explorer.dispatch.choose import takes
from explorer.schemes import schemes
from explorer.systems import SYSTEMS

__all__ = ["markdown"]

_HEAD = (
    "scheme", "accepts", "accepts after exact reformulation", "features", "order",
    "order across events", "sensitivities across events",
)  # fmt: skip


def markdown() -> str:
    """Return the table in Markdown, one row per scheme."""
    rows = [_HEAD, ("---",) * len(_HEAD)]
    for name, kind in schemes.items():
        taken = [t for t in SYSTEMS.values() if takes(kind, t)]
        through = [t for t in taken if issubclass(t, kind.rewrites)]
        rows.append(
            (
                f"`{name}`{' (a lesson)' if kind.lesson else ''}",
                *(
                    ", ".join(f"`{t.__name__}`" for t in group)
                    for group in ([t for t in taken if t not in through], through)
                ),
                ", ".join(sorted(kind.handles)),
                str(kind.order or "exact"),
                str(kind.order_across_events or "none"),
                "yes" if kind.located else "",
            )
        )
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
