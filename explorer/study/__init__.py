"""Studies: what many runs of one system say together.

A study is a function with the decorator `study` in a file of this folder; the class of what it
returns has the decorator too. Both are then names of ``explorer.study``.
"""

from collections.abc import Callable
from typing import TypeVar

from explorer.errors import NoSuchName, lacking
from explorer.registry import Registry

T = TypeVar("T", bound=Callable[..., object])

studies: Registry[Callable[..., object]] = Registry("study", __name__)


def study(entry: T) -> T:
    """Offer a study, or the class of what one returns, as a name of ``explorer.study``."""
    if isinstance(entry, type):
        entry.__getattr__ = lacking  # type: ignore[attr-defined]
    studies.register(entry)
    return entry


studies.discover()
# a function hides the module of the same name: study.modes(system) is what one types
globals().update(studies)

__all__ = sorted(studies)


def __dir__() -> list[str]:
    """Offer the studies, not the modules that hold them."""
    return __all__


def __getattr__(name: str) -> Callable[..., object]:
    raise NoSuchName("explorer.study", name, lambda: __all__)
