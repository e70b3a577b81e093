"""Where a multiplier of an element leaves [0, 1]: a line between known points meets the bound."""

from types import SimpleNamespace

import numpy as np
import pytest
from plain import plain

ends = plain("fesd.active_set_ends")
C = np.array([0.2, 0.6])  # stages, none at the end


def left(values, early, end_weights=(-1.0, 2.0), before=2.0):
    """Return what is found for the values of a multiplier at the stages, and the ending."""
    element = SimpleNamespace(
        stages=SimpleNamespace(sel=np.array(values, float)[:, None]),
        tableau=SimpleNamespace(c=C, end=np.array(end_weights)),
    )
    ending = [SimpleNamespace(fraction=before, which=-1, bound=np.nan)]
    return ends.leaves_bounds(element, 0, early, ending), ending[0]


@pytest.mark.parametrize(
    ("early", "values", "at", "bound"),
    [
        (0.5, (1.5, 1.6), 0.1, 1.0),  # half way to the first stage
        (0.5, (-0.5, -0.6), 0.1, 0.0),
        (0.2, (0.6, 1.4), 0.2 + 0.4 * 0.5, 1.0),  # between the stages
        (0.9, (0.8, -0.2), 0.2 + 0.4 * 0.8, 0.0),
        (0.2, (0.5, 0.9), 0.6 + 0.4 * 0.1 / 0.4, 1.0),  # behind the last: 1.3 at the end
        (0.8, (0.5, 0.1), 0.6 + 0.4 * 0.1 / 0.4, 0.0),
    ],
)
def test_a_line_between_known_points_meets_the_bound(early, values, at, bound):
    kind, ending = left(values, early)
    assert kind == ends.MULTIPLIER
    assert ending.fraction == pytest.approx(at, abs=1e-15)
    assert (ending.which, ending.bound) == (0, bound)


def test_a_multiplier_within_its_bounds_ends_nothing():
    kind, ending = left((0.4, 0.5), 0.3)
    assert (kind, ending.fraction, ending.which) == (0, 2.0, -1)


def test_what_ends_earlier_stays():
    kind, ending = left((0.6, 1.4), 0.2, before=0.3)
    assert (kind, ending.fraction, ending.which) == (0, 0.3, -1)


def test_behind_a_stage_that_is_left_nothing_is_asked():
    """The end lies beyond too, and a line to it from before the stage would meet the bound early."""
    kind, ending = left((0.9, 1.1), 0.5, end_weights=(-9.0, 9.0 + 9.0 / 1.1))
    assert kind == ends.MULTIPLIER
    assert ending.fraction == pytest.approx(0.2 + 0.4 * 0.5)


def test_a_start_beyond_the_bound_is_left_in_the_middle():
    kind, ending = left((1.5, 1.6), 1.2)
    assert kind == ends.MULTIPLIER
    assert ending.fraction == pytest.approx(0.1)
