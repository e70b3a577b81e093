"""What many runs of fixed steps cost: a member beyond its steps, and two threads against one."""

from __future__ import annotations

import time

import numpy as np
import pytest
from two_threads import check_two_threads, processors_busy

import explorer as ex
from explorer.study import sweep

MEMBER = 3e-6  # s, beyond its steps
SCHEMES = [ex.MoreauJean(h=0.01), ex.NonsmoothGeneralizedAlpha(h=0.01), ex.EulerMoreau(h=0.01)]


def question(scheme, t_end, count):
    """Return an oscillator with a stop at many frequencies, or relays at many starts."""
    system, over = ex.models.impact_oscillator(), {"omega": np.linspace(1.5, 3.5, count)}
    if isinstance(scheme, ex.EulerMoreau):
        system, over = ex.models.two_relays(), {"x0.x1": np.linspace(1.0, 2.0, count)}
    return sweep(system, scheme, over=over, t_end=t_end, observe="extrema", progress=False).question


def seconds(run, count=5):
    """Return the least time of several calls that this thread has worked, in s."""
    times = []
    for _ in range(count):
        begin = time.thread_time()
        run()
        times.append(time.thread_time() - begin)
    return min(times)


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_a_member_costs_little_beyond_its_steps(scheme):
    """Runs of 10 and of 110 steps: what is left at no steps is the member's own."""
    count = 4000
    short, long = (question(scheme, t_end, count) for t_end in (0.1, 1.1))
    tries = []
    while len(tries) < 3 and (not tries or min(tries) > MEMBER):
        few, many = (seconds(lambda q=q: q.run(0, count)) / count for q in (short, long))
        tries.append(few - 10 * (many - few) / 100)
    assert min(tries) <= MEMBER, tries


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
def test_two_threads_work_at_once(scheme):
    """Members share nothing, and both shares have as many steps."""
    asked, half = question(scheme, 60.0, 400), 200
    check_two_threads(lambda k: asked.run(k * half, (k + 1) * half))


def test_threads_that_share_a_lock_are_seen():
    """Two threads that count in Python keep one processor busy."""
    assert processors_busy(lambda _: sum(k for k in range(10**6)), 3) < 1.3
