"""A billiard table: its walls, and the way of the ball between collisions."""

from __future__ import annotations

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import Picture
from explorer.views.drawing.table import table_plot
from explorer.views.drawing.view import view

__all__ = ["billiard_table"]


@view(of="billiard table")
def billiard_table(solution: Solution) -> Picture:
    """Draw the table with the first chords of the ball's way.

    Raises
    ------
    NotApplicable
        A run of another system than a map whose sketch has a ball that goes straight.
    """
    picture = compose([[table_plot(solution)]], [1])
    picture.layout["yaxis"]["scaleanchor"] = "x"
    return picture
