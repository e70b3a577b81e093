"""Live panels: the only stateful layer. A panel wires a `Session` to a `LivePanel`."""

from collections.abc import Callable
from typing import Any

from explorer.errors import NoSuchName
from explorer.panels.session import Session
from explorer.registry import Registry

__all__ = [
    "Session", "explore", "explore_order", "explore_sensitivity", "explore_stability", "panels",
]  # fmt: skip

panels: Registry[Callable[[Session], Any]] = Registry("panel", __name__)

from explorer.panels.explore import explore  # noqa: E402  (they register themselves above)
from explorer.panels.order import explore_order  # noqa: E402
from explorer.panels.sensitivity import explore_sensitivity  # noqa: E402
from explorer.panels.stability import explore_stability  # noqa: E402


def __getattr__(name: str) -> Any:
    raise NoSuchName("explorer.panels", name, lambda: __all__)
