"""What is observed of one run, against a run whose states are known."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import space

from explorer.runs.members import Asked, Observed
from explorer.study import one_by_one as single

# ---------------------------------------------------------------- what is observed of one run


class Rows:
    """x = t, y = 10 t from 0 to 4 s in steps of 0.5 s; a march has x + 100, and goes on to 200."""

    def __init__(self, located, events, velocities=False):
        self.t, self.events, self.has_velocities, self.located = np.arange(9) / 2, events, velocities, located  # fmt: skip
        self.x, self.march = np.stack([self.t, 10 * self.t], axis=1), self
        self.steps, self.mode = space(t=self.t[:-1]), [1, 2, 6]
        if located:
            self.y = np.array([70.0, 80.0, 90.0])

    by_laws, of_steps = False, True

    def has(self, what):
        return {"march": self.located, "mode": True}[what]

    def recorded_row(self, name):
        return {"mode": self.mode}[name]

    def sample(self, t, exact=True):
        values = np.abs(4 * t - np.rint(4 * t)) if not exact else 0.0  # more, between the steps
        return np.stack([t + 100 * exact, 10 * t - 50 * (values > 0), 0 * t], axis=1), None

    def at(self, t):
        return space(q=t[:, None], v=10 * t[:, None]) if self.has_velocities else space(q=np.stack([t, 10 * t], axis=1))  # fmt: skip


def met(*times, contact="wall", kind="impact", sides=True):
    return [space(t=t, contact=contact, kind=kind, row=int(2 * t), **({"x_minus": np.array([t, -1.0]), "x_plus": np.array([t, 1.0])} if sides else {})) for t in times]  # fmt: skip


@for_each(("located", "before", "sides", "most"), [(True, False, True, 9), (True, True, True, 2), (False, False, False, 9), (False, True, False, 9)])  # fmt: skip
def test_points_at_events_of_a_run_are_its_states_beside_them(located, before, sides, most):
    """From `since` on; what opens a contact is no point. All events are counted."""
    events = met(0.0, 1.0, 2.5, 3.0, sides=sides) + met(1.5, contact="floor", sides=sides) + met(2.0, kind="released", sides=sides)  # fmt: skip
    run = Rows(located, events)
    asked = Asked(("floor", "wall", "roof"), "event", "wall", before, most, True)
    seen = Observed.empty(2, 2, asked)
    single._read(run, space(since=[0.0, 1.0]), asked, seen, 1)
    times = [1.0, 2.5, 3.0][:most]
    assert seen.found.tolist() == [0, 3]
    assert seen.events.tolist() == [[0, 0, 0], [1, 4, 0]]
    np.testing.assert_array_equal(seen.times[1], times + [np.nan] * (most - len(times)))
    states = [[t, -1.0 if before else 1.0] if sides else [t - 0.5 * before, 10 * (t - 0.5 * before)] for t in times]  # fmt: skip
    assert seen.points[1, : len(times)].tolist() == states
    assert seen.end[1].tolist() == ([70.0, 80.0] if located else [4.0, 40.0])
    assert seen.mode.tolist() == [0, 6]
    assert (seen.low[1, 0], seen.high[1, 0]) == (1.0, 4.0)
    assert seen.high[1, 1] == 40.0
    assert (seen.low[1, 1] < -20.0) == located  # what its polynomials reach between the steps
    assert np.isnan(seen.low[0]).all()


def test_at_the_start_there_is_no_row_before_an_event():
    run = Rows(False, met(0.0, 0.5, sides=False))
    assert single._beside(run, run.events[0], True).tolist() == [0.0, 0.0]
    assert single._beside(run, run.events[1], True).tolist() == [0.0, 0.0]
    assert single._beside(run, run.events[1], False).tolist() == [0.5, 5.0]


@for_each(("since", "offset", "period", "most", "times"), [
    (0.0, 0.0, 1.0, 9, [0.0, 1, 2, 3, 4]), (0.6, 0.25, 1.5, 9, [1.75, 3.25]), (1.0, 0.0, 1.0, 2, [1.0, 2]), (0.0, 0.0, 4 * (1 + 5e-13), 9, [0.0, 4.0]),
    (0.0, -0.5, 1.0, 9, [0.5, 1.5, 2.5, 3.5]), (1 + 1e-12, 0.0, 1.0, 9, [1.0, 2, 3, 4]),
])  # fmt: skip
def test_points_of_a_run_at_times_are_those_of_a_period(since, offset, period, most, times):
    for located, velocities in ((True, False), (False, True), (False, False)):
        asked = Asked((), "period", "", False, most, False)
        seen = Observed.empty(2, 2, asked)
        members = space(since=[9.0, since], period=[9.0, period], offset=[9.0, offset])
        single._read(Rows(located, [], velocities), members, asked, seen, 1)
        assert seen.found[1] == len(times)
        np.testing.assert_allclose(seen.times[1, : len(times)], times, rtol=1e-11)
        states = np.stack([np.array(times) + 100 * located, 10 * np.array(times)], axis=1)
        np.testing.assert_allclose(seen.points[1, : len(times)], states, rtol=1e-11)
