"""Whether an automaton could have taken another guard: two of them at one moment.

The equations do not say which of two guards counts whose zeros the state reaches together, or
beyond which a reset carries it, if their targets or resets differ. A run takes one of them, and is
one of several solutions.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.verification.marches import March

__all__ = ["determinism"]

_TOGETHER = 1e-10  # of the time of a run, and of a guard: how near events are located
_SAME = 1e-9  # of the largest state
_PROBE = 1e-6  # of the time of a run


def determinism(run: Solution) -> list[Check]:
    """Return the check that no other guard of a mode is at its zero where one of them fires."""
    march, found = run.march, []
    with np.errstate(all="ignore"):
        for k, event in enumerate(run.located):
            if event.kind != "zeno" and (other := _other(run, march, k)):
                found.append((k, other))
    words = ""
    if found:
        k, other = found[0]
        event = run.located[k]
        more = f", and so at {len(found) - 1} more events" if len(found) > 1 else ""
        words = (
            f"At t = {quantity(event.t, run.system.time_unit, 4)} both {event.contact!r} and "
            f"{other!r} fire, and lead to different states{more}. {event.contact!r} was taken, so "
            "the run is one of several solutions. Let one guard exclude the other by its when."
        )
    return [Check("determinism", float(len(found)), 0.0, "", words)]


def _other(run: Solution, march: March, k: int) -> str:
    """Return the name of a guard that could have fired at event `k` instead; empty: none."""
    flow, head = march.flow, march.events.head[k]
    taken, mode, n = int(head["guard"]), int(head["before"]), march.flow.n_x
    mine = [i for i, guard in enumerate(flow.guards) if guard.mode == mode]
    if len(mine) < 2:
        return ""
    t, x, span = float(head["t"]), march.part("x_minus")[k, :n], float(run.t[-1]) or 1.0
    way = _PROBE * span * np.array([[-1.0], [0.0], [1.0]])
    native = flow.bundles[flow.offsets["guard"] + mode]
    values = march.along(native, t + way[:, 0], x + way * march.part("f_minus")[k, :n])
    r, when = np.hsplit(values, 2)
    rate = (r[2] - r[0]) / (2 * _PROBE * span)
    for j, i in enumerate(mine):
        guard = flow.guards[i]
        met = abs(r[1, j]) <= _TOGETHER * max(1.0, abs(rate[j]) * span)
        crossed = rate[j] * guard.direction > 0 or (guard.direction == 0 and rate[j] != 0)
        if run.located[k].chained and guard.direction != 0:  # beyond it, and on no way back
            met = crossed = r[1, j] * guard.direction >= 0 and rate[j] * guard.direction >= 0
        counts = guard.when is None or when[1, j] > 0
        if i == taken or not (met and crossed and counts) or _commute(march, k, i):
            continue
        if guard.to != flow.guards[taken].to or _resets_differ(march, k, (taken, i)):
            return str(guard.name)
    return ""


def _commute(march: March, k: int, other: int) -> bool:
    """Whether `other` fires right before or after event `k`, and the order does not matter.

    Two parts that switch on their own do so one after the other.
    """
    head, guards = march.events.head, march.flow.guards
    taken, t = int(head["guard"][k]), head["t"][k]
    if k > 0 and head["t"][k - 1] == t and _same(march, int(head["guard"][k - 1]), other):
        return True  # that event has been judged
    if k + 1 >= len(head) or head["t"][k + 1] != t:
        return False
    then = int(head["guard"][k + 1])
    late = [
        i
        for i, guard in enumerate(guards)
        if guard.mode == guards[other].to and _same(march, i, taken)
    ]
    if not _same(march, then, other) or not late or guards[late[0]].to != guards[then].to:
        return False
    x = march.part("x_minus")[k : k + 1, : march.flow.n_x]
    ends = [_after(march, t, x, pair) for pair in ((taken, then), (other, late[0]))]
    return bool(np.abs(ends[0] - ends[1]).max() <= _SAME * (np.abs(ends).max() or 1.0))


def _same(march: March, a: int, b: int) -> bool:
    guards = march.flow.guards
    return bool(guards[a].r == guards[b].r)


def _after(march: March, t: float, x: np.ndarray, guards: tuple[int, ...]) -> np.ndarray:
    """Return the state (1, n_x) behind the resets of guards, one after the other."""
    flow, n = march.flow, march.flow.n_x
    for g in guards:
        x = march.along(flow.bundles[flow.offsets["reset"] + g], np.array([t]), x)[:, :n]
    return x


def _resets_differ(march: March, k: int, guards: tuple[int, int]) -> bool:
    t, x = march.events.head["t"][k], march.part("x_minus")[k : k + 1, : march.flow.n_x]
    ends = [_after(march, t, x, (g,)) for g in guards]
    return bool(np.abs(ends[0] - ends[1]).max() > _SAME * (np.abs(ends).max() or 1.0))
