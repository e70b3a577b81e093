"""What an orbit diagram in one way costs beside the runs that it is made of."""

from __future__ import annotations

import time

import numpy as np
import pytest

import explorer as ex
from explorer.study import Section, orbit_diagram, sweep

PERIOD = "2*pi/omega"
MORE = 1.6  # times the time that its iterations take at the same starts, alone and on one thread
VALUES, TRANSIENT, POINTS = 25, 60, 60


def worked(run, count=3):
    """Return the least time that the process has worked for several calls, in s, on all threads."""
    times = []
    for _ in range(count):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return min(times)


@pytest.mark.parametrize("scheme", [ex.EventDriven(), ex.MoreauJean(h=4e-3)], ids=repr)
def test_following_an_attractor_costs_its_periods(scheme):
    """Transients and points are told apart and go to two threads, which is to cost little."""
    system, over = ex.models.impact_oscillator(), {"omega": np.linspace(2.4, 2.9, VALUES)}
    asked = {"section": Section(period=PERIOD), "transient": TRANSIENT, "points": POINTS, "s": 0.0}

    def followed():
        return orbit_diagram(system, scheme, over=over, progress=False, **asked)

    diagram = followed().branches["up"]
    starts = dict(zip(("q0.x", "v0.x"), diagram.transients.end.T, strict=True))
    rows = np.column_stack([over["omega"], *starts.values()])
    question = sweep(
        system, scheme, over={("omega", *starts): rows}, s=0.0, progress=False,
        t_end=f"{TRANSIENT + POINTS}*{PERIOD}", transient=f"{TRANSIENT}*{PERIOD}",
        observe=Section(period=PERIOD, most=POINTS),
    ).question  # fmt: skip
    assert np.isfinite(diagram.points).all()
    tries = []
    while len(tries) < 3 and (not tries or min(tries) > MORE):
        tries.append(worked(followed) / worked(lambda: question.run(0, VALUES)))
    assert min(tries) <= MORE, tries


def test_following_a_map_costs_its_iterates():
    """Against 10^5 iterates of each value without any point kept: the loop alone."""
    system, over = ex.models.square_root_map(), {"mu": np.linspace(0.01, 0.1, 50)}
    asked = {"transient": 100_000, "points": 1000, "progress": False}

    def followed():
        return orbit_diagram(system, over=over, **asked)

    alone = sweep(system, over=over, t_end=101_000, progress=False).question
    followed()

    def iterated():
        for k in range(len(over["mu"])):  # one after the other, as they must be
            alone.run(k, k + 1)

    tries = []
    while len(tries) < 3 and (not tries or min(tries) > MORE):
        tries.append(worked(followed) / worked(iterated))
    assert min(tries) <= MORE, tries
