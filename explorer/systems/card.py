"""What is known of a model beside its equations: numbers, presets, sources.

`System._repr_markdown_` shows it below the equations; a system without any of these has no card.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

import numpy as np

from explorer.errors import BadValue
from explorer.quantities import number
from explorer.references import entry
from explorer.types import Plain

__all__ = ["card", "escaped"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|${}~^])")


class Known(Protocol):
    """What a card is made of: a system."""

    published: dict[str, tuple[float, float, str]]
    exact: Callable[..., dict[str, np.ndarray]] | None
    exact_of: str
    presets: dict[str, Plain]

    @property
    def sources(self) -> tuple[str, ...]:
        """Keys of its sources."""


def escaped(text: str) -> str:
    """Return plain text as Markdown that shows it as it is.

    Examples
    --------
    >>> escaped("x_1 * |v|")
    'x\\\\_1 \\\\* \\\\|v\\\\|'
    """
    return _SPECIAL.sub(r"\\\1", text)


def card(system: Known) -> str:
    """Return numbers, presets and sources of a system as Markdown; "" if nothing is known.

    Parameters
    ----------
    system : System

    Examples
    --------
    >>> import explorer as ex
    >>> print(card(ex.models.rocking_block()).splitlines()[0])
    **Checked numbers**
    >>> card(ex.MechanicalSystem("mine", q="x"))
    ''
    """
    known = [
        f"- {escaped(what)}: {number(value, 10)} ({escaped(source)})"
        for what, (value, _, source) in system.published.items()
    ]
    if system.exact is not None:
        what = f" of {system.exact_of}" if system.exact_of else ""
        known.append(f"- A closed form{what}: `system.exact(t, rho)` returns it.")
    presets = [
        f"- {escaped(name)}: {escaped(str(preset.get('text', '')))}"
        for name, preset in system.presets.items()
    ]
    sources = [f"- {_source(key)}" for key in system.sources]
    titled = {"Checked numbers": known, "Presets": presets, "Sources": sources}
    return "\n\n".join(
        f"**{title}**\n\n" + "\n".join(lines) for title, lines in titled.items() if lines
    )


def _source(key: str) -> str:
    try:
        return entry(key).markdown
    except BadValue as error:  # the equations are shown all the same
        return escaped(str(error))
