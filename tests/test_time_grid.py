"""How long the steps of a one-step scheme are, and where they end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from loops import for_each
from plain import plain

grid = plain("time_stepping.time_grid")


def march(h, start, end, even, steps=None):
    """Return the times of a march, and the length that each step was told."""
    times, lengths = [start], []
    while times[-1] < end and len(lengths) < 99:
        row = len(lengths)
        asked = (times[-1], h, start, end, row)
        length, t = grid.even_step(*asked, steps) if steps else grid.next_step(*asked, even)
        lengths.append(length)
        times.append(t)
    return np.array(times), np.array(lengths)


@for_each(("h", "start", "even"), itertools.product((0.1, 0.03), (0.0, -7.3, 1e3), (True, False)))
def test_steps_are_as_long_as_asked_but_the_last(h, start, even):
    for whole, part in ((1, 0.0), (7, 0.0), (7, 0.5), (7, 0.999), (40, 0.01), (0, 0.4)):
        end = start + (whole + part) * h
        times, lengths = march(h, start, end, even)
        assert len(lengths) == whole + (part > 0)
        assert times[-1] == end
        np.testing.assert_array_equal(lengths[:-1], h)
        assert lengths[-1] == pytest.approx(part * h if part else h, rel=1e-6)
        np.testing.assert_allclose(np.diff(times), lengths, rtol=1e-9)
        if even:  # no roundings add up
            np.testing.assert_array_equal(times[:-1], start + np.arange(len(lengths)) * h)
        if not part:
            again, same = march(h, start, end, even, whole)
            np.testing.assert_allclose(again, times, rtol=1e-12)
            assert again[-1] == end
            np.testing.assert_array_equal(same[:-1], h)


def test_a_last_step_that_is_a_rounding_longer_is_as_long_as_the_others():
    """So what is factored for h serves it too; one that is shorter by more is another."""
    assert grid.even_step(0.2, 0.1, 0.0, 0.3 + 1e-12, 2, 3) == (0.1, 0.3 + 1e-12)
    length, t = grid.even_step(0.2, 0.1, 0.0, 0.3 - 1e-7, 2, 3)
    assert (length, t) == (pytest.approx(0.1 - 1e-7, rel=1e-12), 0.3 - 1e-7)
    assert length != 0.1
