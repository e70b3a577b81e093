"""What a notebook shows of a system with step functions: its equations, then its regions.

Equations are text of the system itself; a picture is ours. `explorer` hands `show` to IPython, so
that neither has to know of the other.
"""

from __future__ import annotations

from explorer.errors import ExplorerError
from explorer.systems import StepSystem
from explorer.views.drawing.display import display, markdown
from explorer.views.phase_plane import regions

__all__ = ["show"]


def show(system: StepSystem) -> None:
    """Display a system as Markdown, and below it the plane of its regions if it has two states."""
    markdown(system._repr_markdown_())
    if system.n != 2 or not system.switches:
        return
    try:
        display(regions(system))
    except ExplorerError as error:  # formulas that fail at the start: the equations are there
        markdown(f"*No picture of the regions: {error}*")
