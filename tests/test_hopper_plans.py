"""Plans of the hopper: five jumps from the paper's guess, and planning again after a drag.

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


def test_a_dragged_start_is_planned_again_in_few_iterations(benchmark):
    """N = 15, the start moved by up to 2 cm and 0.02 rad."""
    task = ex.tasks.planar_hopper(jumps=2, intervals=15)
    plan = ex.optimize(task, reference(2, 15), progress=False)
    rng, counts = np.random.default_rng(7), []

    def moved():
        x0 = plan.x[0].copy()
        x0[[0, 2]] += 0.02 * rng.uniform(-1, 1, 2)
        x0[1] = x0[3] * np.cos(x0[2])  # the foot stays on the ground
        before = plan.pipeline.iterations
        again = plan.again(x0=x0, max_neighbours=0, thorough=False, judged=False)
        counts.append(plan.pipeline.iterations - before)
        assert again.solved, again

    benchmark.pedantic(moved, rounds=12)
    assert np.median(counts) <= 12
