"""Live panels: the only stateful layer. A panel wires a `Session` to a `LivePanel`.

Each has a folder of its own, in which `explorer.panels.session_panel.panel` declares it.
"""

from collections.abc import Callable

from explorer.errors import NoSuchName
from explorer.panels.session import Session
from explorer.panels.session_panel import Shown, panels

panels.discover()
# a function hides the folder of the same name: panels.explore("column") is what one types
globals().update({kind.opens.__name__: kind.opens for kind in panels.values()})

__all__ = ["Session", "panels", *sorted(kind.opens.__name__ for kind in panels.values())]


def __getattr__(name: str) -> Callable[..., Shown]:
    raise NoSuchName("explorer.panels", name, lambda: __all__)
