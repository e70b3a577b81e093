"""What the line below a picture tells of a run: what it took, its cautions, what was checked."""

from __future__ import annotations

import numpy as np

from explorer import cache
from explorer.panels.messages import Checks, Status
from explorer.panels.wording import plain
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.systems.units import event_unit
from explorer.views.drawing.picture import Picture

__all__ = ["told", "with_undrawn"]

_SAID = 1  # cautions that are said at once; all are among the checks


def told(run: Solution, seconds: float, drag: bool = False) -> Status:
    """Return the status of a run that reached its end, after an answer of so many seconds.

    While a slider is dragged nothing is checked, and nothing is called good.
    """
    if run.has("march"):
        parts = [*_located(run), f"answered in {_ms(seconds)}"]
        whole = vars(run).get("_whole", run)  # its own rows, not those that are drawn
        return _judged(whole, parts, drag)
    lcp, newton = run.residuals.max(axis=0)
    what = "iterates" if run.system.discrete else "steps"
    parts = [
        f"{_many(len(run.t) - 1)} {what} in {_ms(run.seconds)}",
        f"answered in {_ms(seconds)}",
    ]
    if run.system.contacts:
        parts.append(
            f"LCP residual {quantity(lcp, 'm/s', 2)}, "
            f"deepest penetration {quantity(-min(0, run.gap.min()), 'm', 2)}"
        )
    if newton > 0:
        off = quantity(newton, run.scheme.residual_unit, 2)
        parts.append(f"Newton ≤ {run.iterations.max()} iterations, residual {off}")
    return _judged(run, parts, drag)


def with_undrawn(status: Status, picture: Picture) -> Status:
    """Return a status that names the plots with numbers beyond those of a picture, if any."""
    beyond = [t["yaxis"] for t in picture.data if np.isinf(np.asarray(t["y"], np.float32)).any()]
    if not beyond or status["level"] == "error":
        return status
    titles = (picture.layout[f"yaxis{y[1:]}"]["title"]["text"] for y in beyond)
    said = f"Too large to draw (above 3e38): {plain(', '.join(dict.fromkeys(titles)))}."
    if status["level"] in ("ok", "unchecked"):
        return {**status, "level": "warn", "text": said, "detail": status["text"]}
    return {**status, "text": f"{said} {status['text']}"}


def _judged(run: Solution, parts: list[str], drag: bool) -> Status:
    """Return the status of a run, of which `parts` are said."""
    checked: Checks | None = None
    if drag:
        cautions = run.warned
    else:
        cautions = run.cautions
        checked = {"text": run.certificate.summary, "lines": [str(c) for c in run.certificate]}
    level = "unchecked" if drag else "ok"
    status: Status = {"level": level, "text": " · ".join(parts), "detail": cache.notice()}
    if cautions:
        more = len(cautions) - _SAID
        text = " ".join(cautions[:_SAID]) + (f" And {more} more: see the checks." * (more > 0))
        detail = " · ".join(filter(None, [*parts, cache.notice()]))
        status = {"level": "warn", "text": text, "detail": detail}
    return status if not checked or not checked["lines"] else {**status, "checks": checked}


def _located(run: Solution) -> list[str]:
    """Return what a run located to its events took, and how near to grazing it came."""
    steps, _, calls, *_ = (int(count) for count in run.march.counts)
    events = [e for e in run.events if e.kind != "zeno"]
    parts = [
        f"{_many(steps)} steps, {_many(len(run.events))} event{'s' * (len(run.events) != 1)}, "
        f"{_many(calls)} right-hand sides in {_ms(run.seconds)}"
    ]
    if events:
        least = min(events, key=lambda e: abs(e.slope))
        slope = event_unit(run.system, least.kind, least.contact) or ""
        parts.append(
            f"grazing margin: smallest |dr/dt| = {quantity(abs(least.slope), slope, 2)}"
            f" at t = {quantity(least.t, run.system.time_unit, 4)}"
        )
    return parts


def _many(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"
