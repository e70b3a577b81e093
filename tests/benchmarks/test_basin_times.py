"""What basins cost: stopped runs against whole ones, two threads against one."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from two_threads import check_two_threads

import explorer as ex
from explorer.study import Section, basins, sweep
from explorer.study.parts import run_parts
from explorer.study.search_attractors import Search, Settings
from explorer.study.starts import Starts

PERIOD = "2*pi/omega"
GIVEN = {"omega": 2.6, "s": 0.0}
OVER = {"q0.x": np.linspace(-3, -0.1, 15), "v0.x": np.linspace(-3, 3, 15)}
GAIN = 4.0  # runs end after about 25 of 200 periods


def question():
    """Return the question that runs all starts until they meet the attractors."""
    system, scheme = ex.models.impact_oscillator(), ex.EventDriven()
    starts = Starts.of(system, OVER, None, 0)
    settings = Settings.of(system, scheme, Section(period=PERIOD), 200, None, None)
    search = Search(settings, tuple(system.rho(GIVEN)), starts)
    search.learn(starts.rows[::7])
    assert len(search.attractors) == 2
    return search.question(None, search.known())


def best(run, count=3):
    """Return the least time of several calls, in s."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return min(times)


def test_a_run_that_is_caught_costs_a_part_of_a_whole_one():
    asked = question()
    system = asked.system
    t_end = f"200*{PERIOD}"
    whole = sweep(system, over=OVER, observe=asked.section, t_end=t_end, progress=False, **GIVEN)
    whole = whole.question
    with ThreadPoolExecutor(1) as pool:
        short = best(lambda: run_parts(asked, pool, progress=False))
        long = best(lambda: run_parts(whole, pool, progress=False), 2)
    assert long > GAIN * short


def test_two_threads_work_at_once():
    """Members share nothing."""
    asked = question()
    size = asked.axes.size // 2
    check_two_threads(lambda k: asked.run(k * size, (k + 1) * size))


def test_a_refined_map_costs_less_where_the_boundary_is_short():
    """The relay with two sinks: a boundary of one line in a map of 129 x 129 starts."""
    system = ex.StepSystem("relay with two sinks", x="x v", units=("m", "m/s"))
    system.f = ["v", "-3*v - 2*x + 2*sign(x)"]
    system.start(x=[0.5, 0], t_end=20, h=0.01)
    over = {"x0.x": np.linspace(-2.03, 1.97, 129), "x0.v": np.linspace(-4.1, 4.3, 129)}
    section = Section(period=1.0)
    found = basins(
        system, "EventDriven", over=over, section=section, periods=40, refine=4, progress=False
    )
    assert found.computed.mean() < 0.25
