"""What speaks against the derivatives of a run, against the definitions."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.kernels.event_driven.records import CHAINED, EVENT, WATCH

doubtful = plain("event_driven.doubtful")
GRAZES, MEETS, NEAR = doubtful.GRAZES, doubtful.MEETS, doubtful.NEAR
X, R_X = 2, 6  # places of the state and of r_x among the numbers of an event


def judge(events, ways=(-1,), nearest=np.inf, steps=((1.0, -20.0, 3.0),), safe=5.0, band=1e-6):
    """Return the bits, and the margins; an event is (t, D, bend, how)."""
    head = np.zeros(len(events), EVENT).view(np.recarray)
    parts = np.full((len(events), 9), 1e9)
    for k, event in enumerate(events):
        t, slope, bend, how, *rest = event
        head[k].t, head[k].D, head[k].bend, head[k].how = t, slope, bend, how
        head[k].guard, head[k].together = k % max(len(ways), 1), rest[0] if rest else 1
        parts[k, X : X + 3], parts[k, R_X : R_X + 3] = (k + 1.0, -2.0, 0.0), (0.5, -3.0, 4.0)
    watch = np.zeros(2, WATCH).view(np.recarray)
    watch["nearest"] = np.inf, nearest
    limits = SimpleNamespace(rtol=1e-3, atol=1e-2, t_end=10.0, band=band, safe=safe)
    margins = np.full(len(events), np.nan)
    bits = doubtful.doubtful(head, parts, X, R_X, 3, np.array(steps), watch, np.array(ways, int), limits, margins)  # fmt: skip
    return bits, margins


def error(k):
    """Return |r_x| (atol + rtol |x|) of an event."""
    x, r_x = np.array([k + 1.0, -2.0, 0.0]), np.array([0.5, -3.0, 4.0])
    return abs(r_x) @ (1e-2 + 1e-3 * abs(x))


def test_the_margin_is_the_depth_beyond_zero_over_the_error():
    """D^2 / (2 r''), of a guard that turns back; what does not turn back has none."""
    events = [(1.0, -2.0, 3.0, 0), (2.0, -0.1, 5.0, 0), (3.0, -2.0, -3.0, 0), (4.0, -2.0, 0.0, 0)]
    bits, margins = judge(events)
    assert margins[0] == pytest.approx(2.0**2 / (2 * 3.0) / error(0))
    assert margins[1] == pytest.approx(0.1**2 / (2 * 5.0) / error(1))
    assert np.isinf(margins[2:]).all()
    assert bits == GRAZES  # of the second
    assert judge(events[:1])[0] == judge(events[2:])[0] == 0
    assert judge(events[:1], safe=1e9)[0] == GRAZES
    assert judge(events[:1], safe=margins[0])[0] == 0
    at_once = judge([events[0], (3.0, -0.1, 5.0, 1)])
    assert (at_once[0], at_once[1][1]) == (0, np.inf)  # it was not on its way


def test_what_no_state_moves_has_no_error():
    """A guard of the time alone, whose slope and bend are exact."""
    row = SimpleNamespace(how=0, D=-2.0, bend=3.0)
    limits = SimpleNamespace(rtol=1e-3, atol=1e-2)
    assert doubtful.margin([row], np.ones(2), np.zeros(2), -1, limits) == np.inf


def test_what_is_crossed_against_its_direction_has_no_margin():
    for way, slope, expected in ((-1, -2.0, np.inf), (-1, 2.0, 0.0), (1, 2.0, np.inf), (1, -2.0, 0.0),
                                 (0, 2.0, np.inf), (0, -2.0, np.inf)):  # fmt: skip
        (_, margins) = judge([(1.0, slope, np.sign(slope) * 3.0, 0)], ways=(way,))
        assert margins[0] == (0.0 if way * slope < 0 else expected)
    assert judge([(1.0, 2.0, 3.0, 0)])[1][0] == 0.0  # gaps fall
    assert judge([(1.0, 0.0, 3.0, 0)], ways=(1,))[1][0] == 0.0
    assert judge([(1.0, 2.0, 0.0, 0)], ways=(-1,))[1][0] == np.inf  # nothing says that it bends
    ways = judge([(1.0, 2.0, 3.0, 0), (2.0, 2.0, 3.0, 0)], ways=(-1, 1))[1]
    assert [*ways] == [0.0, np.inf]  # each of its own guard


def test_no_slope_is_doubtful_unless_it_follows_from_another_event():
    assert judge([(1.0, 0.0, 0.0, 0)])[0] & GRAZES
    assert judge([(1.0, np.nan, 0.0, 0)])[0] & GRAZES
    assert judge([(1.0, -2.0, 3.0, 0), (1.0, 0.0, 0.0, CHAINED)])[0] == 0


@for_each("slope", (-2.0, -1e-3))
def test_events_meet_within_the_time_in_which_the_guard_crosses_its_band(slope):
    near, far = 0.9e-6 / abs(slope), 1.1e-6 / abs(slope)
    for gap, bits in ((near, MEETS), (far, 0)):
        assert judge([(1.0, -2.0, 0.0, 0), (1.0 + gap, slope, 0.0, 0)])[0] == bits
        assert judge([(10.0 - gap, slope, 0.0, 0)])[0] == bits  # the end of the run
        assert judge([(1.0, slope, 0.0, 0), (1.0 + gap, slope, 0.0, CHAINED)])[0] == 0
    band = 2.0**-20  # itself counts
    assert judge([(1.0, 1.0, 0.0, 0), (1.0 + band, 1.0, 0.0, 0)], ways=(1,), band=band)[0] == MEETS
    assert judge([(10.0 - 2.0**-20, 1.0, 0.0, 0)], ways=(1,), band=band)[0] == MEETS
    assert judge([(0.0, -2.0, 0.0, 1)])[0] == MEETS  # at once: the start
    assert judge([(0.0, -2.0, 0.0, 0), (5.0, -2.0, 0.0, 1)])[0] == 0
    assert judge([(1.0, -2.0, 0.0, 0, 2)])[0] == MEETS  # two contacts


def test_a_miss_is_near_beside_the_error_of_the_largest_state():
    limit = 5.0 * (1e-2 + 1e-3 * 20.0)
    assert judge([], nearest=0.99 * limit)[0] == NEAR
    assert judge([], nearest=1.01 * limit)[0] == 0
    small = 5.0 * (1e-2 + 1e-3)
    assert judge([], nearest=0.99 * small, steps=((0.5, 0.1, 0.0),))[0] == NEAR
    assert judge([], nearest=1.01 * small, steps=((0.5, 0.1, 0.0),))[0] == 0
    assert judge([(1.0, -0.1, 5.0, 0, 2)], nearest=0.0)[0] == GRAZES | MEETS | NEAR
