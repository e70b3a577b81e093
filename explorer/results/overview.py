"""What a notebook shows of a run."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.quantities import number, quantity
from explorer.results.display import summary
from explorer.results.run import Run

__all__ = ["overview"]


def overview(run: Run, parts: Iterable[str]) -> str:
    """Return how a run ended, its scheme, its events and the names of its parts, as HTML."""
    rho = ", ".join(f"{k} = {number(x)}" for k, x in run.rho.items())
    have = ", ".join(f"sol.{name}" for name in parts if run.has(name))
    rows = f"{len(run.t)} rows to t = {quantity(float(run.t[-1]), run.system.time_unit)}"
    events = f"<details open><summary>sol.events</summary>{run.events._repr_html_()}</details>"
    return summary(
        run.system.name,
        [
            ("status", run.outcome),
            ("scheme", repr(run.scheme)),
            ("rows", rows),
            ("parameters", rho),
            ("route", "; ".join(run.route)),
            ("events", ""),
            ("parts", f"{have}, sol.events"),
        ],
    ) + (events if run.events else "")
