"""Names as they are read: symbols within a sentence, choices in words, what stands beside a symbol.

What a model or a scheme wrote as a symbol is shown as one; all else is a name and stays.
"""

from __future__ import annotations

import html
import re
from typing import TypeVar

from explorer.views.drawing.picture import label, prose
from explorer.views.events import Table

__all__ = ["beside", "choice_name", "compared", "news", "plain", "prose", "prose_rows"]

Rows = TypeVar("Rows", bound=Table)
_DIFFERENCE = re.compile(r"(?<=\w) - ([\w.]+) ([<=>]) 0(?![\w.])")
_CHOICES = {
    "radau_iia": "Radau IIA", "lobatto_iiic": "Lobatto IIIC", "gauss": "Gauss", "q_star": "q*",
    "dop853": "Dormand-Prince 8(5,3)", "dopri5": "Dormand-Prince 5(4)", "radau": "Radau IIA",
    "hht": "HHT", "wbz": "WBZ", "chung-hulbert": "Chung-Hulbert", "stewart": "Stewart",
}  # fmt: skip


def plain(markup: str) -> str:
    """Return what is read of some markup.

    >>> plain(prose("place of q_star"))
    'place of q*'
    """
    return html.unescape(re.sub(r"<[^>]*>", "", markup))


def news(text: str) -> str:
    """Return a change of many things with those alone that change.

    >>> news("x > 0, y > 0 → x > 0, y < 0")
    'y > 0 → y < 0'
    """
    before, arrow, after = (side.split(", ") for side in text.partition(" → "))
    gone, come = [x for x in before if x not in after], [x for x in after if x not in before]
    return f"{', '.join(gone)} → {', '.join(come)}" if arrow[0] and gone and come else text


def compared(text: str) -> str:
    """Return inequalities whose last term is on the other side.

    >>> compared("x - 0.04 > 0 → x - 0.04 < 0"), compared("x - 2*y > 0")
    ('x > 0.04 → x < 0.04', 'x - 2*y > 0')
    """
    return _DIFFERENCE.sub(r" \2 \1", text)


def prose_rows(table: Rows) -> Rows:
    """Return a table whose words are `prose`, a change of mode with what changes."""
    rows = [
        [prose(compared(news(x))) if isinstance(x, str) else x for x in row]
        for row in table["rows"]
    ]
    shown = table.copy()
    shown["rows"] = rows
    return shown


def choice_name(value: str) -> str:
    """Return a value to choose, in words."""
    return _CHOICES.get(value, value.replace("_", " "))


def beside(name: str, text: str) -> tuple[str, str]:
    """Return the label of a parameter and what stands beside it.

    A word that the text repeats gives way to the text.

    >>> beside("y0", "drop height")
    ('y<sub>0</sub>', 'drop height')
    >>> beside("share", "share of tank 1")
    ('share of tank 1', '')
    """
    if len(name) > 3 and name.isalpha() and re.search(rf"\b{name}\b", text):
        return prose(text), ""
    return label(name), prose(text)
