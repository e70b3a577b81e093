"""What is typed into the fields, taken apart: lines, names, options, numbers.

Formulas stay text here; `explorer.systems.expressions` reads them, and nothing is evaluated.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Sequence

from explorer.errors import BadModel, suggest
from explorer.parameters import InputParam, Param
from explorer.systems.expressions import parse

__all__ = [
    "by_name",
    "check_size",
    "declared",
    "entries",
    "lines",
    "options",
    "pairs",
    "parameters",
    "relation",
    "split",
    "value",
]

_LONGEST = 20_000  # characters of a field
_DEEPEST = 60  # brackets within brackets
_LISTED = 40  # things within brackets: SymPy compares each with each
_MOST = 4000  # operators and names of a field
_NAMED = re.compile(r"([^:=<>()]+?)\s*:\s*(.+)\Z")
_DECLARED = re.compile(r"(\w+)(?:\s*[(\[]([^()\[\]]*)[)\]])?\Z")
_RATE = re.compile(r"([A-Za-z]\w*)\s*'?\s*[:=](?!=)\s*(.+)\Z")
_PARAM = re.compile(
    r"(?P<name>\w+)\s*=\s*(?P<value>\S+)(?:\s+(?!from\b)(?P<unit>.+?))??"
    r"(?:\s+from\s+(?P<low>\S+)\s+to\s+(?P<high>[^\s:]+)(?P<log>\s+log)?)?"
    r"(?P<input>\s+input)?\s*(?::\s*(?P<text>.*))?\Z"
)
_SIDES = re.compile(r">=|<=|≥|≤|==|=|>|<")


def check_size(text: str) -> None:
    """Refuse text that nobody types, before anything reads it.

    Raises
    ------
    BadModel
        Too long, brackets too deep, too many operators.
    """
    if len(text) > _LONGEST:
        raise BadModel(f"This is {len(text)} characters long; at most {_LONGEST} are read.")
    depth = deepest = listed = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        deepest = max(deepest, depth)
        listed += letter == "," and depth > 0
    if deepest > _DEEPEST:
        raise BadModel(
            f"Brackets are nested {deepest} deep; the limit is {_DEEPEST}. Name a part of the "
            "formula by a parameter, or write it without brackets that it does not need."
        )
    if listed > _LISTED and re.search(r"max|min", text, re.IGNORECASE):
        raise BadModel(
            f"Brackets list {listed} things; max and min compare at most {_LISTED}. Use "
            "fewer of them."
        )
    if "__" in text:
        raise BadModel("Two underscores in a row are not read: names have one at most in a row.")
    if len(re.findall(r"\w+|[-+*/^%]", text)) > _MOST:
        raise BadModel(f"These are more than {_MOST} names and operators, too many for a panel.")


def lines(text: str) -> list[str]:
    """Return the lines that say something; what stands behind # is a remark."""
    found = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in found if line]


def split(text: str, at: str = ",") -> list[str]:
    """Split a text where a separator stands outside brackets."""
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == at and depth == 0:
            parts.append(text[last:i].strip())
            last = i + 1
    return [*parts, text[last:].strip()]


def entries(text: str) -> list[str]:
    """Return what commas and lines tell apart."""
    return [part for line in lines(text) for part in split(line) if part]


def declared(text: str, what: str) -> tuple[list[str], list[str]]:
    """Return names and units of ``x (m), phi (rad)``.

    Raises
    ------
    BadModel
    """
    names, units = [], []
    for part in entries(text):
        found = _DECLARED.match(part)
        if not found:
            raise BadModel(f"{what}: {part!r} is no name. Write a name, and its unit: x (m).")
        names.append(found[1])
        units.append((found[2] or "").strip())
    if not names:
        raise BadModel(f"{what} are missing. Write one name at least, such as x (m).")
    return names, units


def value(text: str, what: str) -> float:
    """Return a number that may be written as a formula, such as ``pi/4``.

    Raises
    ------
    BadModel
    """
    try:
        number = float(text)
    except ValueError:
        try:
            number = float(parse(text, {}, what))
        except (TypeError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise BadModel(f"{what}: {text!r} is no number. Write one such as 0.5, 1e-3 or pi/4.")
    return number


def parameters(text: str) -> dict[str, Param]:
    """Return the parameters of lines ``g = 9.81 m/s2 from 0 to 20: gravity``.

    Raises
    ------
    BadModel
    BadValue
        An empty range.
    """
    found: dict[str, Param] = {}
    for line in lines(text):
        for part in [line] if ":" in line else split(line):
            read = _PARAM.match(part)
            if not read:
                raise BadModel(
                    f"{part!r} is no parameter. Write its name and value; a unit, a range and a "
                    "word on it may follow: k = 2 N/m from 0 to 10: stiffness."
                )
            name = read["name"]
            if name in found:
                raise BadModel(f"Two parameters are called {name!r}. Rename one of them.")
            numbers = {
                k: None if read[k] is None else value(read[k], f"{k} of {name!r}")
                for k in ("value", "low", "high")
            }
            kind = InputParam if read["input"] else Param
            words = {"unit": read["unit"] or "", "text": (read["text"] or "").strip()}
            found[name] = kind(**numbers, **words, log=bool(read["log"]))  # type: ignore[arg-type]
    return found


def by_name(text: str, names: Sequence[str], what: str) -> dict[str, str] | list[str]:
    """Return formulas by name, of ``x' = v, v' = -x`` or ``x: v``; or in order without names.

    Raises
    ------
    BadModel
    """
    parts = entries(text)
    read = [_RATE.match(part) for part in parts]
    if not any(read):
        return parts
    found: dict[str, str] = {}
    for part, one in zip(parts, read, strict=True):
        if one is None:
            raise BadModel(f"{what}: {part!r} has no name before it. Write {names[0]}: {part}.")
        if one[1] not in names:
            raise BadModel(f"{what}: there is no {one[1]!r} here.{suggest(one[1], names)}")
        if one[1] in found:
            raise BadModel(f"{what}: {one[1]!r} stands there twice. Remove one of them.")
        found[one[1]] = one[2]
    return found


def pairs(text: str, what: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the rest of each line ``name: rest``; the name may be missing.

    Raises
    ------
    BadModel
    """
    for line in lines(text):
        found = _NAMED.match(line)
        if line.startswith(":"):
            raise BadModel(f"{what}: a name is missing before the colon of {line!r}.")
        yield (found[1].strip(), found[2]) if found else ("", line)


def options(rest: str, known: Sequence[str], what: str) -> tuple[str, dict[str, str]]:
    """Return the first part of ``y >= 0, e = 0.8``, and the options behind it.

    Raises
    ------
    BadModel
        An option that is unknown, or that stands there twice.
    """
    first, *others = split(rest)
    found: dict[str, str] = {}
    for part in others:
        name, equals, given = (x.strip() for x in part.partition("="))
        if not equals or not given:
            raise BadModel(f"{what}: {part!r} is no option. Write one such as {known[0]} = 0.5.")
        if name not in known:
            offered = ", ".join(known)
            raise BadModel(
                f"{what}: there is no option {name!r}, but {offered}.{suggest(name, known)}"
            )
        if name in found:
            raise BadModel(f"{what}: {name} is given twice. Remove one of them.")
        found[name] = given
    return first, found


def relation(text: str, what: str, signs: str) -> str:
    """Return the formula that a relation says is >= 0 or = 0; one without a sign is the formula.

    Raises
    ------
    BadModel
        Several signs, or another one than `signs` (">" or "=") tells.
    """
    found = [m for m in _SIDES.finditer(text) if _open(text[: m.start()]) == 0]
    if not found:
        return text
    parts = [text[: found[0].start()], found[0][0], text[found[0].end() :]]
    parts = [part.strip() for part in parts]
    if len(found) > 1 or not parts[0] or not parts[2]:
        raise BadModel(f"{what}: {text!r} needs one sign between two formulas, such as y >= 0.")
    left, sign, right = parts
    if ("=" if sign in ("=", "==") else ">") != signs:
        wanted = ">= or <=" if signs == ">" else "="
        raise BadModel(f"{what}: {text!r} needs {wanted} between its two formulas.")
    if sign in ("<=", "≤", "<"):
        left, right = right, left
    for side in (left, right):
        _whole(side, what)
    return left if right == "0" else f"({left}) - ({right})"


def _open(text: str) -> int:
    """Return how many brackets are open at the end of a text."""
    return sum((letter in "([{") - (letter in ")]}") for letter in text)


def _whole(text: str, what: str) -> None:
    """Refuse a side that is no formula by itself: brackets would make it one."""
    try:
        ast.parse(text.replace("^", "**"), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BadModel(
            f"{what}: {text!r} is not a formula (is a bracket or '*' missing?)."
        ) from None
