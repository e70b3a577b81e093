"""What a result says in numbers, and whether they are those of a file.

`told` takes a result apart: of an array it keeps a weighted mean of all entries, in which a change
of any one shows. `stored` keeps with each number how far it may be off, a thousand times what it
changes where parameters change by 1e-13 of themselves; a number that changes much more than it is
large, such as a residual, is left out. So what other processors round otherwise changes nothing.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np

from explorer.results.solution import Solution

FILE = Path(__file__).parent / "data" / "numbers.json"
LEAST = 1e-9  # of its scale that a number may be off
FACTOR = 1e3  # of what it changes where parameters are disturbed
SMALL = 1e-10  # a number of this scale is round-off, as a residual may be,
TINY = 1e-12  # and one that is 0 here may be this far from it elsewhere
MOST = 1e-2  # of its scale that a number is off that says nothing
WEYL = (math.sqrt(5) - 1) / 2
CLOCK = ("seconds", "wall", "cpu", "seconds_each", "cost_of_run")  # measured times
NESTED = 5

Told = dict[str, tuple[float, float]]  # label: value, scale
Kept = dict[str, float | list[float]]
Nudge = Callable[[Mapping[str, float]], dict[str, float]]


def mean(values: np.ndarray) -> tuple[float, float]:
    """Return a mean with weights from 1/2 to 3/2, no two alike, and that of the sizes."""
    flat = np.asarray(values).ravel()
    flat = np.abs(flat) if np.iscomplexobj(flat) else flat.astype(float)
    good = np.isfinite(flat)
    weights = 0.5 + (WEYL * np.arange(1, flat.size + 1)) % 1.0
    flat = np.where(good, flat, 0.0)
    bad = float((weights * ~good).sum())  # where a number is missing, counts
    size = max(flat.size, 1)
    return float((weights * flat).sum() + bad) / size, float(np.abs(flat).sum() + bad) / size


def told(found: object, name: str = "", depth: int = 0) -> Told:
    """Return the numbers of what has been found: an array, a dict, a structure, an object."""
    if depth > NESTED or name.rpartition(".")[2] in CLOCK:
        return {}
    if isinstance(found, bool | int | float | complex | np.generic) and not isinstance(
        found, np.void
    ):
        if isinstance(found, np.generic) and found.dtype.kind in "USO":
            return text(str(found), name)
        value = abs(found) if isinstance(found, complex | np.complexfloating) else float(found)
        return {name: (value if math.isfinite(value) else 1e99, abs(value))}
    if isinstance(found, str):
        return text(found, name)
    if isinstance(found, Solution):
        return array(found.t, f"{name}.t") | array(found.q, f"{name}.q")
    if isinstance(found, Fraction):
        return {name: (float(found), abs(float(found)))}
    if isinstance(found, np.ndarray):
        return array(found, name)
    if isinstance(found, Mapping):
        return joined(((str(k), v) for k, v in found.items()), name, depth)
    if hasattr(found, "_fields"):
        return joined(zip(found._fields, found, strict=True), name, depth)
    if isinstance(found, list | tuple) and found and dataclasses.is_dataclass(found[0]):
        return several(found, name)
    if isinstance(found, list | tuple):
        numbers = found and all(isinstance(x, bool | int | float | np.number) for x in found)
        if numbers or not found:
            return array(np.array(found, float), name)
        return joined(((str(k), v) for k, v in enumerate(found[:4])), name, depth) | {
            f"{name}.len": (len(found), len(found))
        }
    if dataclasses.is_dataclass(found):
        names = [f.name for f in dataclasses.fields(found) if f.repr]
        names += properties(type(found)) if not depth else []
        return joined(((k, getattr(found, k)) for k in names), name, depth)
    return {}


def properties(kind: type) -> list[str]:
    """Return what the objects of a class find when asked."""
    return [k for k, x in vars(kind).items() if isinstance(x, property | cached_property)]


def several(found: Sequence, name: str) -> Told:
    """Return the numbers of events or the like: for each field those of all."""
    parts: Told = {f"{name}.len": (len(found), len(found))}
    for field in dataclasses.fields(found[0]):
        values = [getattr(one, field.name, None) for one in found]
        if isinstance(values[0], str):
            parts |= text(" ".join(map(str, values)), f"{name}.{field.name}")
        else:
            values = [np.ravel(x) for x in values if isinstance(x, np.ndarray | int | float)]
            parts |= array(np.concatenate(values), f"{name}.{field.name}") if values else {}
    return parts


def text(found: str, name: str) -> Told:
    """Return a text as a number."""
    value = sum((k + 1) * ord(x) for k, x in enumerate(found)) % 9973
    return {name: (value, value)}


def array(found: np.ndarray, name: str) -> Told:
    """Return the mean of an array, if it has any number; of structures, that of each field."""
    if found.dtype.names:
        return {
            key: value
            for field in found.dtype.names
            for key, value in array(found[field], f"{name}.{field}").items()
        }
    if found.dtype.kind not in "biufc":
        return text(" ".join(map(str, found.ravel()[:50])), name)
    return {name: mean(found)} if found.size else {}


def joined(parts: Iterable[tuple[str, object]], name: str, depth: int) -> Told:
    found: Told = {}
    for key, value in parts:
        if not key.startswith("_"):
            found |= told(value, f"{name}.{key}" if name else key, depth + 1)
    return found


def still(values: Mapping[str, float]) -> dict[str, float]:
    """Change nothing."""
    return dict(values)


def disturbed(seed: int) -> Nudge:
    """Return what changes parameters by some 1e-13 of themselves."""
    rng = np.random.default_rng(seed)

    def nudge(values: Mapping[str, float]) -> dict[str, float]:
        return {k: x * (1 + 1e-13 * rng.choice([-1.0, -0.5, 0.5, 1.0])) for k, x in values.items()}

    return nudge


def kept(runs: list[Told]) -> Kept:
    """Return of the numbers of one run and its disturbed ones what is certain, and how far.

    A number that may be off by `LEAST` of itself stands alone, others with how far.
    """
    found: Kept = {}
    for label, (value, scale) in runs[0].items():
        if not all(label in run for run in runs) or 0.0 < scale < SMALL:
            continue
        spread = max(abs(run[label][0] - value) for run in runs)
        off = max(LEAST * scale, FACTOR * spread)
        if off <= MOST * scale:
            value = float(f"{value:.11g}")
            usual = off <= 1.5 * LEAST * abs(value)
            found[label] = value if usual else [value, float(f"{off:.1e}")]
    return found


def differences(run: Told, wanted: Kept) -> list[str]:
    """Return what is not as it was."""
    found = []
    for label, stored in wanted.items():
        value, off = stored if isinstance(stored, list) else (stored, 1.5 * LEAST * abs(stored))
        now = run.get(label, (math.nan,))[0]
        if not abs(now - value) <= off + TINY:
            found.append(f"{label} is {now:.12g}, not {value:.12g} +- {off:.1g}")
    return found


def read() -> dict[str, dict]:
    """Return the times up to which short runs go, and the numbers of each run."""
    return json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"spans": {}, "numbers": {}}


def write(spans: Mapping[str, float], numbers: Mapping[str, Kept]) -> None:
    """Write a line for each run."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(numbers[name], separators=(',', ':'))}"
        for name in sorted(numbers)
    )
    all_numbers = ",\n".join(lines)
    text = json.dumps(dict(sorted(spans.items())))
    FILE.write_text(f'{{"spans": {text},\n"numbers": {{\n{all_numbers}\n}}}}\n', "utf-8")
