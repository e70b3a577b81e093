"""Display of a system with step functions in a notebook: equations, then regions.

The system writes its own equations; the picture comes from a view. `explorer` registers `show` with
IPython, so systems need not import views.
"""

from __future__ import annotations

from explorer.errors import ExplorerError
from explorer.systems import StepSystem
from explorer.views.drawing.display import display, markdown
from explorer.views.phase_plane import regions

__all__ = ["show"]


def show(system: StepSystem) -> None:
    """Display a system as Markdown and, if it has two states, the plane of its regions."""
    markdown(system._repr_markdown_())
    if system.n != 2 or not system.switches:
        return
    try:
        display(regions(system))
    except ExplorerError as error:  # formulas that fail at the start: the equations are there
        markdown(f"*No picture of the regions: {error}*")
