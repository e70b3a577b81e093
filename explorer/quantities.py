"""Numbers as a textbook prints them: 47 µF, 4 MN m², 2.4 × 10⁻¹⁵ m/s.

What a user types (h=1e-5) is Python's; what a user reads is written here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

__all__ = ["column", "like_unit", "many", "number", "prefixable", "quantity", "unit"]

_PREFIXES = {9: "G", 6: "M", 3: "k", -6: "µ", -9: "n", -12: "p"}
_HEADS = {**_PREFIXES, 0: "", -3: "m"}  # of a column: nobody reads m there as metres
_PREFIXED = re.compile(r"(m|s|N|V|A|F|H|Ω|Pa|J|W|Hz|C)(?![a-z234²³⁴])")
_LIKE_UNIT = re.compile(r"[pnumkMG]?(m|s|N|V|A|F|H|Pa|J|W|Hz|C|g|K|T)")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = (1e-4, 1e6)  # from where to where figures stand without a power of ten


def unit(text: str) -> str:
    """Return a unit with its powers as superscripts: m/s2 -> m/s², and degC as °C."""
    text = text.replace("degC", "°C")
    return "".join(
        "²³⁴"["234".index(c)] if c in "234" and i and text[i - 1].isalpha() else c
        for i, c in enumerate(text)
    )


def prefixable(measure: str) -> bool:
    """Whether a unit may have a prefix: N m, but not kg or m², whose prefix would be squared."""
    return _PREFIXED.match(measure) is not None


def like_unit(name: str) -> bool:
    """Whether a name of several letters would be read as a unit: mH, kN, ms, Hz.

    >>> like_unit("mH"), like_unit("m"), like_unit("mu")
    (True, False, False)
    """
    return len(name) > 1 and _LIKE_UNIT.fullmatch(name) is not None


def number(value: float, digits: int = 6) -> str:
    """Return a number with `digits` digits; large and small ones with a power of ten.

    >>> number(2.4e-15), number(0.00123456, 3), number(123456.7, 3), number(0.0)
    ('2.4 × 10⁻¹⁵', '0.00123', '123000', '0')
    """
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "-∞"}.get(value, "nan")
    text = f"{value + 0.0:.{digits}g}"
    if "e" in text and _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return f"{float(text):.0f}"
    figures, _, power = text.partition("e")
    return f"{figures} × 10{str(int(power)).translate(_RAISED)}" if power else figures


def quantity(value: float, measure: str = "", digits: int = 6) -> str:
    """Return a number with its unit; large and small ones with a prefix: 47 µF, 4 MN m².

    Below a millionth only units of circuits and of time take one; with what has none there are
    powers of ten.

    >>> quantity(4.7e-5, "F")
    '47 µF'
    >>> quantity(4e6, "N m2")
    '4 MN m²'
    """
    size, shown = abs(value), unit(measure)
    least = 1e-12 if measure in ("s", "V", "A", "F", "H", "C") else 1e-6
    if prefixable(measure) and (least <= size < 1e-3 or 1e5 <= size < 1e12):
        power = next(p for p in (9, 6, 3, -6, -9, -12) if size >= 0.9999999 * 10.0**p)
        return f"{number(value / 10.0**power, digits)} {_PREFIXES[power]}{shown}"
    return f"{number(value, digits)} {shown}".rstrip()


def many(count: int, what: str) -> str:
    """Return how many there are of something.

    >>> many(1, "mode"), many(2, "mode")
    ('1 mode', '2 modes')
    """
    return f"{count} {what}{'s' * (count != 1)}"


def column(values: Iterable[float], measure: str) -> tuple[float, str]:
    """Return a common factor for the numbers of a column, and their unit with its prefix.

    The largest of them decides, where it is far from one and the unit takes a prefix.

    >>> column([0.0, 2e-5, -0.0013], "N s")
    (1000.0, 'mN s')
    >>> column([0.1, 40.0], "s"), column([1e-5], "kg")
    ((1.0, 's'), (1.0, 'kg'))
    """
    largest = max((abs(x) for x in values if math.isfinite(x)), default=0.0)
    if not prefixable(measure) or largest == 0 or 0.1 <= largest < 1e5:
        return 1.0, unit(measure)
    power = 3 * math.floor(math.log10(largest) / 3 + 1e-9)
    power = min(max(power, -12), 9)
    return 10.0**-power, f"{_HEADS[power]}{unit(measure)}"
