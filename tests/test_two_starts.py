"""Two starts at once: their distance, what the derivative predicts of it, and the panel."""

import re

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadValue
from explorer.models import models
from explorer.study.two_starts import state_names, two_starts
from explorer.views.two_starts import distance_plot

# a model of each kind, by a scheme that locates events, and a time before they accumulate
KINDS = {
    "impact_oscillator": ("EventDriven", 6.0),
    "thermostat": ("EventDriven", 1.0),
    "compass_gait": ("EventDriven", 1.5),
    "two_fold": ("FESD", 0.5),
    "chua": ("FESD", 2.0),
    "ellipse_billiard": ("Iteration", 20),
    "border_collision": ("Iteration", 6),
}


@pytest.mark.parametrize("name", KINDS)
def test_the_distance_tends_to_the_predicted_one_as_the_starts_close_in(name):
    """Differentiability of the run by its start: the relative defect falls with the offset."""
    scheme, t_end = KINDS[name]
    system = models[name]()
    state = state_names(system)[0]
    defects = []
    for offset in (1e-3, 1e-5):
        found = two_starts(system, scheme, offset={state: offset}, t_end=t_end)
        assert found.predicted is not None
        ends = found.apart.distance[-1], found.predicted.distance[-1]
        defects.append(abs(ends[0] / ends[1] - 1))
    assert defects[1] < 1e-2
    assert defects[1] < max(0.1 * defects[0], 1e-5)


def test_the_tent_map_parts_by_its_slope_at_each_iterate():
    found = ex.study.two_starts(models["tent_map"](), offset={"x": 1e-9}, mu=1.5, t_end=12)
    growth = found.apart.distance[1:] / found.apart.distance[:-1]
    np.testing.assert_allclose(growth, 1.5, rtol=1e-5)
    np.testing.assert_allclose(found.predicted.distance, found.apart.distance, rtol=1e-5)


def test_a_falling_ball_between_two_impacts():
    """y0 + d hits later: after the impact v differs by (e + 1) g dt - g dt' ..., in closed form."""
    g, e, d = 9.81, 0.8, 1e-7
    found = two_starts(
        models["bouncing_ball"](), "EventDriven", offset={"y": d}, q0=1.0, v0=0.0, t_end=0.6,
        rho={"g": g, "e": e},
    )  # fmt: skip
    hit = np.sqrt(2 / g)
    t = 0.6 - hit

    def after(height):
        tau = np.sqrt(2 * height / g)
        up = e * g * tau
        return np.array([up * (0.6 - tau) - g * (0.6 - tau) ** 2 / 2, up - g * (0.6 - tau)])

    wanted = (after(1 + d) - after(1.0)) / found.ranges
    size = np.sqrt((wanted**2).mean())
    assert t > 0
    assert found.apart.distance[-1] == pytest.approx(size, rel=1e-2)
    # S by hand: tau' = 1 / (g tau), y' = e g tau' (t - tau) - e g tau tau' + g (t - tau) tau', ...
    slope = (after(1 + 1e-5) - after(1 - 1e-5)) / 2e-5
    predicted = d * np.sqrt(((slope / found.ranges) ** 2).mean())
    assert found.predicted.distance[-1] == pytest.approx(predicted, rel=1e-6)


def test_between_the_two_impacts_there_is_a_peak_that_no_derivative_shows():
    """There the velocities differ by the whole jump, (1 + e) |v|, however close the starts are."""
    for d in (1e-3, 1e-5):
        found = two_starts(
            models["bouncing_ball"](), "EventDriven", offset={"y": d}, t_end=0.9, q0=1.0, v0=0.0
        )
        rho = found.first.rho
        jump = (1 + rho["e"]) * np.sqrt(2 * rho["g"]) / found.ranges[1]
        assert found.apart.distance.max() == pytest.approx(jump / np.sqrt(2), rel=0.02)
        assert found.predicted.distance.max() < 0.2 * found.apart.distance.max()


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("bouncing_ball", "EventDriven"),
        ("bouncing_ball", "MoreauJean"),
        ("thermostat", "EventDriven"),
    ],
)
def test_no_curve_bridges_a_jump(name, scheme):
    found = two_starts(models[name](), scheme, offset={state_names(models[name]())[0]: 1e-2})
    trace = next(t for t in distance_plot(found).traces if t["name"] == "distance")
    jumps = found.apart.t[found.apart.jumps]
    for part in np.ma.clump_unmasked(np.ma.masked_invalid(trace["x"])):
        piece = trace["x"][part].astype(float)
        inside = (jumps > piece[0] * (1 + 1e-5)) & (jumps < piece[-1] * (1 - 1e-5))
        assert not inside.any()
    assert len(jumps) > 3


def test_runs_that_meet_say_when():
    """Fuller's problem is at rest after a finite time, from each start."""
    found = two_starts(models["fuller"](), offset={"x1": 1e-4})
    assert found.met is not None
    assert found.apart.distance[found.apart.t > found.met].max() < 1e-12
    assert two_starts(models["tent_map"](), offset={"x": 1e-4}).met is None


def test_a_system_without_located_events_has_a_distance_but_no_prediction():
    found = two_starts(models["rlcd_circuit"](), offset={"v": 1e-3})
    assert found.predicted is None
    assert "No scheme locates the events" in found.caution
    assert np.isfinite(found.apart.distance).all()


def test_an_offset_that_a_constraint_takes_back_is_told():
    found = two_starts(models["five_bar_b"](), offset={"x_1": 1e-3}, t_end=0.1)
    assert "is taken back" in found.caution


@pytest.mark.parametrize(
    ("offset", "said"),
    [
        ({}, "must say by what"), (3, "must say by what"), ({"y": 0}, "are one"),
        ({"z": 1}, "no state 'z'"), ({"y": "abc"}, "offset of y"), ({"y": np.nan}, "offset of y"),
    ],
)  # fmt: skip
def test_bad_offsets_are_refused(offset, said):
    with pytest.raises(BadValue, match=re.escape(said)):
        two_starts(models["bouncing_ball"](), offset=offset)
