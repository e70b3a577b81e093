"""The mechanism of a panel: frames of the run, those of pinned runs, and what can be grabbed."""

from __future__ import annotations

from explorer.panels.grab import movers
from explorer.results.solution import Solution
from explorer.views.drawing.ghosts import Pinned, haunting
from explorer.views.drawing.polyline import STATIC
from explorer.views.mechanism import LeanFilm, frames, lean

__all__ = ["film"]


def film(run: Solution, pinned: Pinned) -> LeanFilm | None:
    """Return the animation of a run; pinned runs of the same shapes are its ghosts."""
    ghosts = haunting(pinned, lambda other: other.system.pictured == run.system.pictured, STATIC)
    shown = frames(run, 0.6 if ghosts else 1.0)
    if shown is None:
        return None
    shown["ghosts"] = []
    for ghost in ghosts:
        other = frames(ghost.solution, 0.4 / len(ghosts))
        if other is not None:
            shown["ghosts"].append(
                {"t": other["t"], "xy": other["xy"], "colour": ghost.colour, "dash": ghost.dash}
            )
    for item, kind in zip(shown["items"], movers(run.system), strict=True):
        item["grip"] = kind
    return lean(shown)
