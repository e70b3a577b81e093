"""Two starts at once: their distance, what the derivative predicts of it, and the panel."""

import dataclasses
import importlib
import re

import numpy as np
import pytest
from loops import for_each
from plain import space

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.models import models
from explorer.study.two_starts import state_names, two_starts
from explorer.views.two_starts import distance_plot

parts = importlib.import_module("explorer.study.two_starts")  # the package holds the function
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


def compared(distance, t=None):
    t = np.arange(len(distance)) + 0.5 if t is None else t
    apart = parts.Apart(t, np.array(distance), np.zeros(0, int))
    return parts.TwoStarts(space(name="m"), {"x": 0.1}, None, None, apart, None, "", np.ones(1))


@for_each(("distance", "met"), [
    ([1, 1, 0, 0, 0], 2.5), ([1, 0, 1, 0], 3.5), ([0, 1, 0], 2.5), ([1, 0, 0, 1], None), ([1, 1], None), ([0, 0, 0], None),
])  # fmt: skip
def test_runs_have_met_behind_the_last_row_that_is_apart(distance, met):
    assert compared(distance).met == met


def test_a_comparison_says_how_far_runs_are_apart_at_its_ends():
    found = compared([0.25, 9, 0.5])
    assert repr(found).endswith("of 'm' (x + 0.1): 0.25 apart, 0.5 at the end")
    predicted = dataclasses.replace(found, predicted=compared([1.0, 2.0, 0.75]).apart)
    assert repr(predicted).endswith("0.5 at the end, 0.75 predicted")


class Stepped:
    """x = t^2 + a at steps; a jump at the last row of each time in `jumps`."""

    def __init__(self, t, jumps=(), a=0.0, discrete=False):
        self.t, self.a, self.system = np.array(t, float), a, space(discrete=discrete, coordinates=("x",))  # fmt: skip
        self.q, self.has_velocities = (self.t**2 + a)[:, None], True
        self.v = 3 * self.q
        self.jump_rows, self.scheme = np.array([t.index(one) for one in jumps], int), 7

    def has(self, what):
        return False


@for_each(("jumps", "other", "discrete", "told"), [
    ((0.2,), (0.3,), False, [2, 3]), ((0.2,), (0.2,), False, [2]), ((), (), False, []), ((0.2,), (0.5,), False, [2]), ((0.2,), (0.3,), True, []),
])  # fmt: skip
def test_runs_in_steps_are_compared_at_the_times_of_both(jumps, other, discrete, told):
    """The root mean square over the states in their ranges: here 0.2 / 2 and 0.6 / 3 everywhere."""
    one = Stepped([0.0, 0.1, 0.2, 0.3, 0.4], jumps, discrete=discrete)
    two = Stepped([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], other, 0.2)
    found = parts._apart(one, two, np.array([2.0, 3.0]))
    assert found.t.tolist() == one.t.tolist()
    assert found.distance == pytest.approx(np.sqrt((0.1**2 + 0.2**2) / 2))
    assert found.jumps.tolist() == told
    with pytest.raises(NotApplicable, match="int takes other steps"):
        parts._apart(one, Stepped([0.0, 0.15, 0.25]), np.ones(2))
    assert len(parts._apart(one, Stepped([0.0, 0.15, 0.4]), np.ones(2)).t) == 2


class Located:
    """x = 2 t + a, and it jumps by 1 at each event; the last column is a memory of events."""

    def __init__(self, hits, knots, end, a):
        self.t, self.a, self.system = np.array([0.0, end]), a, ex.models.bouncing_ball()
        self.march = self
        self.hits, self.knots = np.array(hits, float), np.array(knots, float)

    def has(self, what):
        return what == "march"

    def sample(self, t, exact):
        assert not exact
        x = 2 * t + self.a + (t[:, None] >= self.hits).sum(axis=1)
        return np.column_stack([x, 0 * x, np.full(len(t), np.nan)]), None


def test_runs_with_events_are_compared_on_both_sides_of_each():
    """Also at the steps of both, on an even grid, and up to the end of the shorter one."""
    one, two = Located([0.0, 1.0, 3.0], [0.3, 2.0], 3.0, 0.0), Located([2.0, 3.5], [0.7, 3.2], 4.0, 0.5)  # fmt: skip
    found = parts._apart(one, two, np.array([2.0, 1.0]))
    assert (found.t[0], found.t[-1]) == (0.0, 3.0)
    assert {0.3, 0.7, 1.0, 2.0, 3.0} <= {*found.t.tolist()}
    assert np.isin(np.linspace(0, 3, parts._EVEN + 1), found.t).all()
    assert found.t[found.jumps].tolist() == [1.0, 2.0, 3.0]
    assert (np.diff(found.t)[found.jumps - 1] < 1e-15).all()
    events = (found.t[:, None] >= two.hits).sum(axis=1) - (found.t[:, None] >= one.hits).sum(axis=1)
    assert found.distance == pytest.approx(np.abs(0.5 + events) / 2 / np.sqrt(2))


def test_the_distance_of_iterates_is_that_of_their_jacobians(monkeypatch):
    """x -> k x, y -> x y: the Jacobian of one iterate is [[k, 0], [y, x]]."""
    seen = []

    def native(inp):
        seen.append(inp.tolist())
        k, x, y, p = inp
        return np.array([9.0, 9.0, p + k, 0.0, y, x])

    parts_of = space(tangents=native, n_x=2, input=lambda rho: np.array([9.0, 9.0, 9.0, *rho]))
    run = space(system=parts_of, rho={"p": 2.0}, t=np.arange(3.0), q=np.array([[3.0, 5.0], [7, 11], [0, 0]]))  # fmt: skip
    monkeypatch.setattr(parts, "compile_map", lambda system: system)
    found = parts._of_map(run, np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    assert seen == [[0, 3, 5, 2], [1, 7, 11, 2]]
    along = np.array([[1, 2], [2, 5 + 6], [6, 22 + 77]]) / [1, 4]
    assert found.distance == pytest.approx(np.sqrt((along**2).mean(axis=1)))
    assert (found.t.tolist(), found.jumps.tolist()) == ([0, 1, 2], [])


def test_states_are_named_by_coordinates_and_their_rates():
    assert state_names(models["bouncing_ball"]())[1].startswith("v_")
    assert state_names(models["two_fold"]()) == models["two_fold"]().coordinates
    names = ("x", "y")
    assert parts._direction(space(name="m"), names, {"y": 2}).tolist() == [0.0, 2.0]
    assert parts._there({"a": None, "b": 0, "c": 1}) == {"b": 0, "c": 1}
