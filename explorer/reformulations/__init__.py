"""System to system: rewritings, each of them exact but `smoothing`."""

from typing import Any

from explorer.errors import NoSuchName
from explorer.reformulations.filippov import ActiveSets, active_sets, filippov, obstacle
from explorer.reformulations.hysteresis import hysteresis
from explorer.reformulations.multipliers import relays, stewart
from explorer.reformulations.smoothing import smoothing
from explorer.reformulations.time_freezing import FrozenSystem, time_freezing

__all__ = [
    "ActiveSets",
    "FrozenSystem",
    "active_sets",
    "filippov",
    "hysteresis",
    "obstacle",
    "relays",
    "smoothing",
    "stewart",
    "time_freezing",
]


def __dir__() -> list[str]:
    """Offer the rewritings, not the modules that hold them."""
    return __all__


def __getattr__(name: str) -> Any:
    raise NoSuchName("explorer.reformulations", name, lambda: __all__)
