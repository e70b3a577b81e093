"""A plan of the hopper: five jumps from the paper's guess.

Seconds of a processor stand in the table of benchmarks; what is asserted is the plan, and its
iterations.
"""

import time

import numpy as np
import pytest

import explorer as ex
from explorer.tasks.planar_hopper import reference

pytestmark = pytest.mark.benchmark(timer=time.process_time)


def test_five_jumps_are_planned_from_the_papers_guess(benchmark):
    """With the default options, set-up included; the exact replay follows each interval."""

    def planned():
        task = ex.tasks.planar_hopper(jumps=5, intervals=50)
        return ex.optimize(task, reference(5, 50), progress=False)

    plan = benchmark.pedantic(planned, rounds=1)
    defects = np.abs(plan.replay().defects)
    assert plan.status in ("stationary", "at a kink"), plan
    assert plan.objective < 85
    assert defects[:, :4].max() < 1e-3
    assert defects[:, 4:].max() < 5e-3
    assert plan.pipeline.iterations < 1300
