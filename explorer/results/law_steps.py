"""Events of time stepping with laws: changes of the places of multipliers, known to one step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from explorer.results.event import Switch
from explorer.results.run import Run
from explorer.results.stepped import at

__all__ = ["at", "closed_runs", "event_rows", "events", "jump_rows", "numbered", "signs"]

_NONE = np.zeros(0)


def numbered(run: Run) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the number of the mode (the places of all laws) of each row, and the names."""
    return run.kept("numbered", lambda: _numbered(run))


def _numbered(run: Run) -> tuple[np.ndarray, tuple[str, ...]]:
    side = run.recorded_row("side")
    if not side.shape[1]:
        return np.zeros(len(run.t), int), ()
    patterns, number = np.unique(side, axis=0, return_inverse=True)
    return number.ravel(), tuple(_mode(run, pattern) for pattern in patterns)


def _mode(run: Run, pattern: np.ndarray) -> str:
    if hasattr(run.system, "mode_name"):
        return str(run.system.mode_name(signs(run, pattern)))
    laws = list(zip(run.laws, pattern, strict=True))
    one_sided = [(law.name, s == 0) for law, s in laws if law.kind == "complementarity"]
    acting = [name for name, acts in one_sided if acts]
    parts = [f"{', '.join(acting)} > 0"] if acting else []
    if one_sided and not acting:
        parts = [f"{one_sided[0][0]} = 0" if len(one_sided) == 1 else "none > 0"]
    parts += [law.places[s + 1] for law, s in laws if law.kind == "relay"]
    return "; ".join(parts)


def signs(run: Run, pattern: np.ndarray) -> list[int]:
    """Return the signs of the switching functions: relays have them, cells share theirs."""
    if run.laws[0].kind == "relay":
        return list(pattern)
    found, first = [], 0
    for part in run.system.subsystems:
        cells = [bits for bits, region in enumerate(part.cells) if region >= 0]
        acting = [bits for k, bits in enumerate(cells) if pattern[first + k] == 0]
        for j in range(part.count):
            sides = {1 if (bits >> j) & 1 else -1 for bits in acting}
            found.append(sides.pop() if len(sides) == 1 else 0)
        first += len(cells) + 1
    return found


def event_rows(run: Run) -> list[tuple[int, str, int]]:
    """Return (row, kind, law) of every switch, in order of time."""
    return list(_switches(run))


def _switches(run: Run) -> Iterator[tuple[int, str, int]]:
    side = run.recorded_row("side")
    relay = [law.kind == "relay" for law in run.laws]
    for i, k in np.argwhere(np.diff(side, axis=0) != 0).tolist():
        was, now = side[i : i + 2, k]
        names = ("slides", "leaves") if relay[k] else ("closes", "opens")
        yield i + 1, "crosses" if was * now else names[0] if now == 0 else names[1], k


def events(run: Run) -> list[Switch]:
    """Return the changes of the places of the laws, in order of time."""
    mode, modes = numbered(run)
    names = run.system.guard_names
    if len(names) != len(run.laws):
        names = tuple(law.name for law in run.laws)
    return [
        Switch(
            float(run.t[i]),
            kind,
            names[k],
            k,
            i,
            _NONE,
            _NONE,
            0.0,
            0.0,
            0.0,
            modes[mode[i - 1]],
            modes[mode[i]],
        )
        for i, kind, k in run.event_rows
    ]


def jump_rows(run: Run) -> np.ndarray:
    """Return no rows: a state of laws does not jump."""
    return np.zeros(0, int)


def closed_runs(run: Run, a: int) -> list[tuple[int, int]]:
    """Return nothing: no contacts."""
    return []
