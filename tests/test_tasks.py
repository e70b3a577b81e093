"""Every task: its plan has the cost that is known, and an exact simulation follows it."""

from __future__ import annotations

import functools
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import explorer as ex
from explorer.references import library
from explorer.tasks import tasks
from explorer.tasks.fuller import FIRST, LAM
from explorer.tasks.relay_regulator import times
from explorer.tasks.rough_block import switches


@functools.cache
def plan(name):
    """Return the plan of a task, made once."""
    return ex.optimize(tasks[name](), tasks[name].guess, progress=False)


PLANNED = "planar_hopper"  # by test_contact_control, as its search is long


@pytest.mark.parametrize(
    "name", [name for name, task in tasks.items() if not task.relaxed and name != PLANNED]
)
def test_a_plan_is_what_the_task_says(name):
    """Stationary, with the known cost, replayed within its bound, and with a source.

    A plan at a kink is right where it has the known cost.
    """
    task = tasks[name]
    assert plan(name).ok or (task.objective and plan(name).status == "at a kink"), plan(name)
    assert max(plan(name).residuals.values()) < 1e-7
    assert plan(name).defect < task.defect
    if task.objective:
        value, tolerance = task.objective.value, task.objective.tolerance
        assert plan(name).objective == pytest.approx(value, abs=tolerance)
    assert task.references
    assert set(task.references) <= set(library())
    assert task.references[0] in task().system.references
    assert name in ex.tasks._repr_html_()
    assert task.__doc__.startswith("Return")


def test_controls_switch_at_the_times_of_the_closed_forms():
    """To 1e-8: reversal by friction, and what the control does."""
    turn, brake, _ = switches()
    assert plan("rough_block").switches[0] == pytest.approx(turn, abs=1e-8)
    for name, t in (("rough_block", brake), ("relay_regulator", times()[0]), ("fuller", FIRST)):
        assert np.abs(plan(name).t - t).min() < 1e-8, name
    arcs = FIRST * (1 + LAM) * LAM ** np.arange(2)  # after the first switch of Fuller's problem
    for t in FIRST + np.cumsum(arcs):
        assert np.abs(plan("fuller").t - t).min() < 1e-8


def test_a_task_that_does_not_exist_is_refused():
    with pytest.raises(AttributeError, match="Did you mean 'turbo_car'"):
        _ = ex.tasks.turbo_cra
    assert "turbo_car" in dir(ex.tasks)
    assert "objective 12.1333333" in repr(ex.tasks.turbo_car)


def test_a_frozen_hopper_is_checked_where_little_time_passes_or_none():
    """A fall, with an interval while time stands still and one that is shorter than a step."""
    frozen = import_module("explorer.tasks.frozen_hopper")
    t = np.array([0.0, 0.05, 0.05, 0.0503, 0.06])
    x = np.tile([0.1, 0.6, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0], (len(t), 1))
    x[:, 1] -= frozen.G * t**2 / 2
    x[:, 5] = -frozen.G * t
    fall = SimpleNamespace(t=t, x=np.column_stack([x, t]), u=np.zeros((4, 3)))
    assert np.abs(frozen.defects(fall)).max() < 1e-7
