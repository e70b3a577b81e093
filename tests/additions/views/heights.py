"""The heights above the contacts over time."""

from explorer.results.solution import Solution
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, TIME, Picture, Plot, curve, extent
from explorer.views.drawing.view import view


@view(of="contacts")
def heights(solution: Solution) -> Picture:
    """Draw the gap of the first contact.

    Raises
    ------
    NotApplicable
        A run without contacts.
    """
    gap = solution.gap[:, 0]
    trace = curve(solution.t, gap, COLOURS[0], name="gap")
    return compose([[Plot([trace], TIME, "gap (m)", (0.0, solution.t[-1]), extent(gap))]], [1])
