"""When columns of an orbit diagram are shown: the first picture soon, the others one by one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

import explorer as ex
from explorer.study import Sharpening, columns


def shown(monkeypatch, cost: float, many: int = 65, follow: str = "up") -> list[tuple[float, int]]:
    """Return the times of the pictures of the coarse columns and how many columns each has.

    Each column costs `cost` seconds.
    """
    clock = [0.0]
    monkeypatch.setattr(columns, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    asked = Sharpening(
        ex.models.square_root_map(), over={"mu": (0.01, 0.1)}, columns=many, points=8, follow=follow
    )
    found = columns.Columns(asked, lambda: False)

    def settled(k):
        clock[0] += cost
        found.code[k] = 0

    monkeypatch.setattr(found, "_settled", settled)
    monkeypatch.setattr(found, "_judge", lambda: None)
    coarse, out = len(range(0, many, 8)), []
    for part in found.columns(None):
        out.append((round(clock[0], 6), round(part * many)))
        if out[-1][1] >= coarse:
            return out
    return out


def test_the_first_picture_comes_after_a_tenth_of_a_second(monkeypatch):
    """Then one in each quarter, and one where all coarse columns are known."""
    assert shown(monkeypatch, 0.06) == [(0.12, 2), (0.42, 7), (0.54, 9)]
    assert shown(monkeypatch, 0.3) == [(round(0.3 * k, 6), k) for k in range(1, 10)]
    assert shown(monkeypatch, 0.01) == [(0.09, 9)]


def test_columns_are_taken_in_the_order_in_which_they_follow(monkeypatch):
    for follow, first in (("up", 0), ("down", 64)):
        taken = []
        monkeypatch.setattr(
            columns.Columns, "_settled", lambda self, k, taken=taken: taken.append(k)
        )
        asked = Sharpening(
            ex.models.square_root_map(), over={"mu": (0.01, 0.1)}, columns=65, points=8,
            follow=follow,
        )  # fmt: skip
        next(columns.Columns(asked, lambda: False).columns(None))
        expected = np.arange(0, 65, 8)
        assert taken == (expected if first == 0 else expected[::-1]).tolist()
