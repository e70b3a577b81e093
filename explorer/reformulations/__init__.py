"""System to system: rewritings, each of them exact but `smoothing`."""

from typing import NoReturn

from explorer.errors import NoSuchName
from explorer.reformulations.contact_modes import contact_modes
from explorer.reformulations.filippov import ActiveSets, active_sets, filippov, obstacle
from explorer.reformulations.hysteresis import hysteresis
from explorer.reformulations.multipliers import relays, stewart
from explorer.reformulations.smoothing import smoothing
from explorer.reformulations.time_freezing import FrozenSystem, time_freezing

__all__ = [
    "ActiveSets",
    "FrozenSystem",
    "active_sets",
    "contact_modes",
    "filippov",
    "hysteresis",
    "obstacle",
    "relays",
    "smoothing",
    "stewart",
    "time_freezing",
]

REFERENCES: dict[str, tuple[str, ...]] = {  # keys of `references.bib`
    "active_sets": ("filippov-1988", "dieci-lopez-2011"),
    "contact_modes": ("acary-brogliato-2008",),
    "filippov": ("filippov-1988", "dieci-lopez-2012", "nurkanovic-2023"),
    "hysteresis": ("nurkanovic-diehl-2022",),
    "relays": ("acary-brogliato-2008", "nurkanovic-2023"),
    "smoothing": ("leine-nijmeijer-2004",),
    "stewart": ("stewart-1990",),
    "time_freezing": ("nurkanovic-2021", "nurkanovic-2023b"),
}
ROUTES = {  # what `solution.route` says of a rewriting, and which one that is
    "time freezing": "time_freezing",
    "step functions as relays": "relays",
    "regions as multipliers in a simplex": "stewart",
    "regions as step functions": "filippov",
    "active sets as modes": "active_sets",
}


def __dir__() -> list[str]:
    """Offer the rewritings, not the modules that hold them."""
    return __all__


def __getattr__(name: str) -> NoReturn:
    raise NoSuchName("explorer.reformulations", name, lambda: __all__)
