"""No line is drawn through a jump that is seen at the size drawn, whichever curve of whichever view."""

from __future__ import annotations

import numpy as np
import pytest
from kinds import FIRST, KINDS, SYSTEMS
from seen import crossed

import explorer as ex
from explorer.models import models
from explorer.schemes import schemes
from explorer.views.drawing import compose as composing
from explorer.views.drawing.polyline import PANEL

RUNS = [
    case for case in sorted({*FIRST, *KINDS}) if case[0] in models and not SYSTEMS[case[0]].discrete
]  # dots are no curves


@pytest.fixture
def curves(monkeypatch) -> list:
    """Remember of each curve over time what was given, what is drawn of it, and on which axes."""
    found, draw = [], composing.draw

    def watched(traces, box, shared, **more):
        given = [(t, t["x"], t["y"], t["breaks"], t.get("held", True)) for t in traces
                 if "breaks" in t]  # fmt: skip
        since = draw(traces, box, shared, **more)
        found.extend((t["name"], box, x, y, breaks, (t["x"], t["y"]))
                     for t, x, y, breaks, held in given if box.over_time and held)  # fmt: skip
        return since

    monkeypatch.setattr(composing, "draw", watched)
    return found


def through(found) -> list[tuple[str, list[int]]]:
    """Return the curves that run through jumps: the breaks given, and both sides of one time."""
    said = []
    for name, box, x, y, breaks, drawn in found:
        x, y, breaks = (np.asarray(a) for a in (x, y, breaks))
        twice = np.flatnonzero(np.diff(x) <= 1e-12 * np.ptp(x)) + 1
        jumps = np.union1d(breaks[breaks > 0], twice).astype(int)
        scales = (box.x, box.y)
        drawn = [axis.pixels(values) for axis, values in zip(scales, drawn, strict=True)]
        true = [axis.pixels(values) for axis, values in zip(scales, (x, y), strict=True)]
        if hit := crossed(drawn, true, jumps[np.isfinite(y[jumps]) & np.isfinite(y[jumps - 1])]):
            said.append((name, hit))
    return said


@pytest.mark.broad
@pytest.mark.parametrize(("name", "scheme"), RUNS)
def test_no_curve_is_drawn_through_a_jump_that_is_seen(name, scheme, curves):
    solution = ex.simulate(SYSTEMS[name], schemes[scheme](), throw=False)
    curves.clear()  # the cases of a property share what they ask for
    ex.views.explore.picture(solution, look=PANEL)
    assert curves
    assert through(curves) == []


@pytest.mark.parametrize("view", ["velocities", "trajectory", "energy", "friction"])
@pytest.mark.parametrize("name", ["woodpecker", "rough_block", "rocking_block"])
def test_a_notebook_opens_jumps_of_a_pixel_and_a_half(name, view, curves):
    solution = ex.simulate(models[name]())
    try:
        getattr(ex.views, view).picture(solution)
    except ex.ExplorerError:
        return
    assert through(curves) == []


def test_a_line_through_a_jump_is_found():
    x, y = np.linspace(0, 100, 201), np.r_[np.full(100, 10.0), np.full(101, 14.0)]
    jumps = np.array([100])
    assert crossed((x, y), (x, y), jumps) == [100]
    k = 100
    opened = np.insert(x, k, x[k]), np.insert(y, k, np.nan)
    assert crossed(opened, (x, y), jumps) == []
    small = np.r_[np.full(100, 10.0), np.full(101, 11.4)]
    assert crossed((x, small), (x, small), jumps) == [], "less than a pixel and a half"
    dense = 10 + 8 * (np.arange(201) % 2)  # goes up and down everywhere: nothing is open
    assert crossed((x, dense), (x, dense), jumps) == []
