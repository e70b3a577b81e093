"""What tells a queue of pictures from a slow machine, on keys and pictures that are made up."""

from __future__ import annotations

import numpy as np
import pytest
from lab import lags, longest_lag, steady

KEYS = np.arange(0, 3000, 33.0)  # ms: a key that is held


def halves(pictures: list[tuple[float, float]], rate: float) -> tuple[float, float, float]:
    """Return the median lag of earlier and of later pictures, and what it may be, in ms."""
    log = {"set": [(t, k) for k, t in enumerate(KEYS)], "drawn": pictures}
    found = lags(log)
    late = found[:, 0] > found[:, 0].mean()
    first, second = np.median(found[~late, 1]), np.median(found[late, 1])
    return first, second, longest_lag(first, rate)


@pytest.mark.parametrize("rate", [5.0, 10.0, 15.0, 22.0])
def test_a_queue_is_seen_however_slow_the_pictures_are(rate):
    ends = np.maximum.accumulate(KEYS) + 1000 / rate
    for k in range(1, len(ends)):
        ends[k] = max(ends[k], ends[k - 1] + 1000 / rate)
    first, second, most = halves(list(zip(ends, range(len(KEYS)), strict=True)), rate)
    assert second > most > first


@pytest.mark.parametrize("rate", [5.0, 10.0, 15.0, 22.0])
def test_no_queue_is_seen_where_the_latest_key_wins(rate):
    drawn, now = [], 0.0
    while now < KEYS[-1]:
        latest = int(np.searchsorted(KEYS, now, "right")) - 1
        now += 1000 / rate
        drawn.append((now, latest))
    first, second, most = halves(drawn, rate)
    assert second <= most
    assert steady(first, rate)


def test_a_panel_that_stops_between_pictures_is_seen():
    """Each comes 80 ms behind its key, and the next one half a second later."""
    drawn = [(KEYS[k] + 80, k) for k in range(0, len(KEYS), 15)]
    first, _, _ = halves(drawn, 2.0)
    assert not steady(first, 2.0)
