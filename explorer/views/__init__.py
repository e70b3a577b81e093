"""Solutions to pictures: pure functions, no widgets.

``views.trajectory(solution)`` and its like return a plain ``plotly.graph_objects.Figure``; the live
panel draws the same `Picture` without ever building a figure object. A view is a function of a file
in this folder with the decorator `explorer.views.drawing.view.view`.
"""

from explorer.errors import NoSuchName
from explorer.views.drawing.picture import Picture
from explorer.views.drawing.view import View, views
from explorer.views.events import event_table

views.discover()
# a function hides the module of the same name: views.energy(solution) is what one types
globals().update(views)

__all__ = ["Picture", "event_table", *views]


def __dir__() -> list[str]:
    """Offer the views, not the modules that hold them."""
    return __all__


def __getattr__(name: str) -> View[...]:
    raise NoSuchName("explorer.views", name, lambda: __all__)
