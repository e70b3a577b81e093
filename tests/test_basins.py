"""Basins: boundaries in closed form, single runs to the last bit, escapes, failures, refinement."""

from __future__ import annotations

import dataclasses
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer.derivatives.question import event_names
from explorer.models import models
from explorer.runs.capture import catch
from explorer.runs.members import ESCAPED, FREE, Known
from explorer.study import Recurrence, Section, attractors, basins, sweep
from explorer.study.basins import _gap
from explorer.study.recurrence import cloud, period
from explorer.study.refine import refined

PERIOD = "2*pi/omega"
STROBE = Section(period=PERIOD)
QUIET = {"progress": False}
TWO = {"omega": 2.6, "s": 0.0}  # two attractors, of period 1 and of period 6


def relay():
    """Return x'' = -3 x' - 2 x + 2 sgn x: sinks at -1 and 1, which the side of x = 0 tells."""
    system = ex.StepSystem("relay with two sinks", x="x v", units=("m", "m/s"))
    system.f = ["v", "-3*v - 2*x + 2*sign(x)"]
    system.start(x=[0.5, 0], t_end=20, h=0.01)
    return system


def right(x, v):
    """Whether a start comes to 1: it does not cross x = 0 to the left, or does to the right.

    The motion that just reaches (0, 0) from x > 0 is x = (1 - u)^2, v = -2 u (u - 1), u = exp(-t).
    """
    r = np.sqrt(np.abs(x))
    return np.where(x > 0, v > -2 * r * (1 + r), v > 2 * r * (1 + r))


def nothing_known(n):
    """Return what no run ever comes to."""
    none, whole, one = np.zeros(0), np.zeros(0, np.int64), np.ones(n)
    return Known(np.zeros((0, n)), whole, none, whole, one, -np.inf * one, np.inf * one, 10)


X, V = np.linspace(-2.03, 1.97, 15), np.linspace(-4.1, 4.3, 14)
ASKED = {"section": Section(period=1.0), "periods": 40, **QUIET}


@pytest.fixture(scope="module")
def sinks():
    """Return the basins of the two sinks."""
    return basins(relay(), "EventDriven", over={"x0.x": X, "x0.v": V}, **ASKED)


# -- closed forms --------------------------------------------------------------------------------


def test_the_boundary_between_two_sinks_is_the_closed_form(sinks):
    assert len(sinks.attractors) == 2
    points = np.array([one.points[0] for one in sinks.attractors])
    assert sorted(points[:, 0]) == pytest.approx([-1, 1], abs=1e-5)
    assert points[:, 1] == pytest.approx([0, 0], abs=1e-5)
    plus = int(points[:, 0].argmax())
    exact = right(*np.meshgrid(X, V, indexing="ij"))
    assert np.array_equal(sinks.label == plus, exact)
    assert np.array_equal(sinks.label == 1 - plus, ~exact)
    assert (sinks.status == "attracted").all()
    assert all(one.period == 1 and one.residual < 1e-5 for one in sinks.attractors)
    assert all(one.neighbours[0] == one.neighbours[1] > 2 for one in sinks.attractors)
    assert sinks.fraction(plus) == exact.mean()
    assert sinks.fraction(0) + sinks.fraction(1) == 1


def test_random_starts_estimate_the_part_with_its_error():
    asked = {"over": {"x0.x": [-2, 2], "x0.v": [-4, 4]}, "samples": 250, **ASKED}
    begin = time.perf_counter()
    found = basins(relay(), "EventDriven", recurrence=Recurrence(seed=3), **asked)
    assert 0 < found.seconds <= time.perf_counter() - begin
    assert found.shape == (250,)
    rows = found.over[0].values
    plus = max((0, 1), key=lambda k: found.attractors[k].points[0, 0])
    assert np.array_equal(found.label == plus, right(rows[:, 0], rows[:, 1]))
    part, error = found.fractions[plus]
    assert error == pytest.approx(np.sqrt(part * (1 - part) / 250))
    assert abs(part - 0.5) < 4 * error  # by symmetry
    again = basins(relay(), "EventDriven", recurrence=Recurrence(seed=3), **asked)
    assert np.array_equal(found.label, again.label)
    few = {"over": asked["over"], "samples": 3, **ASKED}
    assert not np.array_equal(
        rows[:3], basins(relay(), recurrence=Recurrence(seed=4), **few).over[0].values
    )


def test_what_leaves_the_box_has_escaped():
    """x' = -x within (-1, 1), x outside: 0 attracts, |x| = 1 is the boundary."""
    system = ex.StepSystem("well", x="x", units=("m",))
    system.f = ["x*sign(x**2 - 1)"]
    system.start(x=[0.5], t_end=20, h=0.01)
    x = np.linspace(-1.47, 1.51, 16)
    section = Section(period=0.25)
    near = Recurrence(box={"x": (-5, 5)})
    asked = {"section": section, "recurrence": near, "periods": 60, **QUIET}
    found = basins(system, "EventDriven", over={"x0.x": x}, **asked)
    assert np.array_equal(found.index, np.where(np.abs(x) < 1, 0, -1))
    assert found.status[0] == "escaped"
    # ten points outside: the tenth one is where it was told
    first = np.ceil(np.log(5 / np.abs(x[0])) / 0.25) * 0.25
    assert found.t[0] == pytest.approx(first + 9 * 0.25)
    assert found.fraction("escaped") == np.mean(np.abs(x) > 1)


def test_the_walker_falls_from_nearly_everywhere():
    """A thin basin about the gait (Schwab and Wisse 2001); who falls has escaped."""
    found = basins(
        ex.models.simplest_walker(),
        over={"theta0": np.linspace(0.1, 0.3, 11), "rate0": np.linspace(-0.3, -0.1, 11)},
        section=Section(event="heel strike"),
        t_end=200.0,
        **QUIET,
    )
    (gait,) = found.attractors
    assert gait.period == 1
    assert gait.points[0, [0, 2]] == pytest.approx([0.2003109, -0.1998325], abs=1e-6)
    assert set(np.unique(found.status)) == {"attracted", "escaped"}
    assert 0 < found.fraction(0) < 0.1
    assert found.label[5, 5] == 0  # beside the gait
    assert found.run(5, 5).t[-1] == 200
    assert found.run(0, 0).t[-1] < 200
    assert found.run(0, 0).rho["theta0"] == 0.1


def test_attractors_of_an_impact_oscillator_have_their_periods():
    """For s = 0, omega = 2: one impact in a period; 2.6: periods 1 and 6; 2.8: chaos."""
    over = {"q0.x": [-3, -0.1], "v0.x": [-3, 3]}
    system = ex.models.impact_oscillator()
    begin = time.perf_counter()
    one = attractors(system, over=over, section=STROBE, samples=6, omega=2, s=0)
    assert 0 < one.seconds <= time.perf_counter() - begin
    assert one.states == ("x", "v_x")
    assert [a.period for a in one.found] == [1]
    speed = 2 * 2.0 / 3.0 / 0.2
    assert one[0].points[0] == pytest.approx([-4.57597, 4.24264], abs=1e-4)
    run = ex.simulate(system, "EventDriven", x0=one[0].points[0], omega=2, s=0, t_end=4)
    assert run.events[0].x_minus[1] == pytest.approx(speed, rel=1e-4)
    two = attractors(system, over=over, section=STROBE, samples=16, **TWO)
    assert sorted(a.period for a in two.found) == [1, 6]
    assert (two.undecided, two.failed, two.escaped) == (0, 0, 0)
    chaos = attractors(system, over=over, section=STROBE, samples=6, omega=2.8, s=0, c=0.1)
    assert [a.period for a in chaos.found] == [0]
    assert len(chaos[0].points) > 100
    assert "no period" in repr(chaos)


def test_what_recurs_and_does_not_attract_is_undecided():
    """Without friction and impacts each motion has its own torus; none attracts its neighbours."""
    over = {"q0.x": np.linspace(-0.5, -0.2, 2), "v0.x": np.linspace(-0.1, 0.1, 2)}
    asked = {"section": STROBE, "periods": 150, **QUIET}
    found = basins(ex.models.impact_oscillator(), over=over, s=3.0, **asked)
    assert (found.status == "undecided").all()
    assert np.isnan(found.index).all()
    assert len(found.refused) > 0
    assert all(one.neighbours[0] < one.neighbours[1] for one in found.refused)
    assert found.fraction("undecided") == 1


# -- each start is a run of its own ---------------------------------------------------------------


@pytest.mark.parametrize("method", ["dop853", "dopri5", "radau"])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("impact_oscillator", {"t_end": "9*2*pi/omega", "s": 0.0}),
        ("chua", {"t_end": 12.0}),  # sides of kinks
        ("compass_gait", {"t_end": 3.0}),  # resets
        ("thermostat", {"t_end": 20.0}),  # modes, compiled on the way
        ("rough_block", {"t_end": 1.0}),  # friction
    ],
)
def test_a_run_that_is_watched_is_the_run_to_the_last_bit(name, settings, method):
    """Looking at points between the steps changes none of them."""
    system, scheme = models[name](), ex.EventDriven(method=method)
    key, value = next((k, p.value) for k, p in system.parameters.items() if p.value)
    for section in (Section(period=0.37, most=500), Section(event=event_names(system)[0])):
        asked = {"over": {key: [value * 0.999, value]}, **settings, **QUIET}
        whole = sweep(system, scheme, observe=section, **asked)
        question = dataclasses.replace(whole.question, known=nothing_known(len(whole.states)))
        seen = question.run(0, 2)
        assert (seen.code == 0).all()
        assert np.array_equal(seen.end, whole.end)
        assert np.array_equal(seen.t, whole.t)
        assert np.array_equal(seen.found, whole.found)
        assert (seen.caught == FREE).all()
        for k in range(2):
            if whole.found[k]:
                assert np.array_equal(seen.points[k, 0], whole.points[k, whole.found[k] - 1])
                assert seen.times[k, 0] == whole.times[k, whole.found[k] - 1]


def test_a_start_is_caught_at_the_first_of_its_points_next_to_the_attractor():
    system = ex.models.impact_oscillator()
    over = {("q0.x", "v0.x"): [[-1.5, 0.3], [-2.0, -1.0], [-0.2, 2.0]]}
    whole = sweep(system, over=over, observe=STROBE, t_end="60*2*pi/omega", omega=2, s=0, **QUIET)
    goal = whole.points[0, whole.found[0] - 1 : whole.found[0]]
    known = nothing_known(2)._replace(
        points=goal,
        owner=np.array([7]),
        radius=np.array([0.01]),
        hits=np.array([3]),
        scale=np.array([2.0, 3.0]),
    )
    question = dataclasses.replace(whole.question, known=known)
    seen = question.run(0, 3)
    for k in range(3):
        near = (((whole.points[k] - goal) / known.scale) ** 2).sum(axis=1) <= 1e-4
        first = next(i for i in range(2, len(near)) if near[i - 2 : i + 1].all())
        assert 5 < first < 40
        assert seen.caught[k] == 7
        assert seen.found[k] == first + 1
        assert np.array_equal(seen.points[k, 0], whole.points[k, first])
        assert np.array_equal(seen.end[k], whole.points[k, first])
        assert seen.t[k] == whole.times[k, first]
        assert catch(known, whole.points[k]) == (7, first)
    outside = known._replace(low=np.array([1e3, 1e3]), high=np.array([2e3, 2e3]), lost=4)
    seen = dataclasses.replace(question, known=outside).run(0, 1)
    assert (seen.caught[0], seen.found[0]) == (ESCAPED, 4)


def test_labels_are_where_whole_runs_end(sinks):
    for index in ((0, 0), (7, 13), (14, 3), (10, 1)):
        end = sinks.run(*index).x[-1]
        gaps = [np.abs(one.points[0] - end).max() for one in sinks.attractors]
        assert int(np.argmin(gaps)) == sinks.label[index]
        assert min(gaps) < 1e-6


TEN = {"q0.x": np.linspace(-3, -0.1, 10), "v0.x": np.linspace(-3, 3, 10)}


@pytest.fixture(scope="module")
def whole():
    """Return runs over 200 periods, which nothing stops."""
    system = ex.models.impact_oscillator()
    return sweep(system, over=TEN, observe=STROBE, t_end="200*2*pi/omega", **TWO, **QUIET)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_ball_that_catches_lies_in_its_basin(seed, whole):
    """Stopped runs have the labels of whole ones, next to a fractal boundary, for any neighbours."""
    last = whole.points[:, :, 199:201]
    one = np.abs(last[:, :, 1] - last[:, :, 0]).max(axis=-1) < 1e-4
    near = Recurrence(seed=seed)
    system = ex.models.impact_oscillator()
    found = basins(system, over=TEN, section=STROBE, recurrence=near, **TWO, **QUIET)
    periods = np.array([one.period for one in found.attractors])
    assert sorted(periods) == [1, 6]
    assert np.array_equal(periods[found.label] == 1, one)
    assert found.t.mean() < 50 * 2 * np.pi / 2.6  # of 200 periods


def test_a_scheme_with_fixed_steps_finds_the_same_basins():
    asked = {
        "over": {"q0.x": [-3.0, -0.2], "v0.x": [-2.0, 2.0]},
        "section": STROBE,
        "periods": 40,
        "omega": 2,
        "s": 0,
        **QUIET,
    }
    system = ex.models.impact_oscillator()
    found = basins(system, ex.MoreauJean(h=np.pi / 4000), **asked)
    exact = basins(system, **asked)
    assert np.array_equal(found.label, exact.label)
    for point in found.attractors[0].points:  # those of Moreau and Jean err by the step
        assert point == pytest.approx(exact.attractors[0].points[0], abs=0.04)


def test_elements_find_the_same_sinks():
    over = {"x0.x": [-1.5, 0.7], "x0.v": [0.0, -4.0]}
    found = basins(relay(), ex.FESD(h=0.1), over=over, **{**ASKED, "periods": 20})
    plus = max((0, 1), key=lambda k: found.attractors[k].points[0, 0])
    exact = right(*np.meshgrid(*over.values(), indexing="ij"))
    assert np.array_equal(found.label == plus, exact)
    assert exact.tolist() == [[False, False], [True, False]]


# -- failures and refusals ------------------------------------------------------------------------


def test_starts_that_fail_are_never_counted_as_attracted():
    over = {"q0.x": [-1.0, 0.5, -2.0], "v0.x": [0.0, 1.0]}
    system = ex.models.impact_oscillator()
    found = basins(system, ex.EventDriven(max_steps=40), over=over, section=STROBE, **TWO, **QUIET)
    assert (found.status[1] == "refused").all()  # inside the stop
    assert (found.status[[0, 2]] == "failed").all()
    assert np.isnan(found.index).all()
    assert found.fraction("failed") == 1  # of those that are starts
    assert found.attractors == ()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"section": None}, "must be a Section"),
        ({"section": Section(event="stop")}, "depends on t"),
        ({"over": {"omega": [2.0, 2.1]}}, "needs starts"),
        ({"over": {("q0.x", "omega"): [[0.0, 1.0]]}}, "mixes"),
        ({"over": {"q0.y": [1.0]}}, "q0.x"),
        ({"periods": 3}, "at least 12"),
        ({"t_end": 3.0}, "follows from periods"),
        ({"recurrence": Recurrence(near=0.9)}, "near"),
        ({"recurrence": 0.1}, "must be a Recurrence"),
        ({"recurrence": Recurrence(seed=-1)}, "seed"),
        ({"recurrence": Recurrence(box={"y": (0, 1)})}, "no state 'y'"),
        ({"recurrence": Recurrence(box={"x": (1, 0)})}, "least"),
        ({"refine": -1}, "refine"),
        ({"samples": 10, "refine": 1}, "random samples"),
        ({"samples": 0}, "samples"),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(given, words):
    asked = {"over": {"q0.x": [-1.0, -0.5]}, "section": STROBE, **TWO, **QUIET, **given}
    with pytest.raises(ex.ExplorerError, match=words):
        basins(ex.models.impact_oscillator(), **asked)


def test_too_many_starts_say_what_would_fit():
    x = np.linspace(-1, -0.1, 40_000)
    with pytest.raises(ex.ExplorerError, match="runs fit"):
        basins(ex.models.impact_oscillator(), over={"q0.x": x, "v0.x": x}, section=STROBE, **TWO)


def test_a_stop_leaves_the_rest_undone(sinks):
    found = basins(relay(), "EventDriven", over={"x0.x": X, "x0.v": V}, stop=lambda: True, **ASKED)
    assert (found.status == "not run").all()
    assert np.isnan(found.index).all()


# -- refinement, parameters, pictures -------------------------------------------------------------


def test_refinement_agrees_with_the_full_grid(sinks):
    found = basins(relay(), "EventDriven", over={"x0.x": X, "x0.v": V}, refine=2, **ASKED)
    numbers = [
        int(np.argmin([np.abs(a.points - b.points).max() for b in sinks.attractors]))
        for a in found.attractors
    ]
    assert np.array_equal(np.array(numbers)[found.label], sinks.label)
    assert 0 < found.computed.sum() < found.computed.size
    assert np.isnan(found.t[~found.computed]).all()
    assert "filled" in repr(found)


@pytest.mark.parametrize("shape", [(33, 29), (40,), (9, 12, 7), (2, 1)])
def test_only_cells_at_a_boundary_are_halved(shape):
    """A ball: the labels are those of the grid, and most of a fine grid is filled."""
    centre = np.array([0.4, 0.45, 0.5])[: len(shape)]
    axes = [np.linspace(0, 1, n) for n in shape]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    exact = (((grid - centre) ** 2).sum(axis=-1) < 0.09).astype(int).ravel()
    asked = []

    def label_of(places):
        asked.extend(places.tolist())
        return exact[places]

    labels, computed = refined(label_of, shape, 2)
    assert np.array_equal(labels, exact)
    assert sorted(asked) == np.flatnonzero(computed).tolist()
    assert len(set(asked)) == len(asked)
    if shape == (33, 29):
        assert computed.mean() < 0.7
    whole, everywhere = refined(label_of, shape, 0)
    assert everywhere.all()
    assert np.array_equal(whole, exact)


def test_attractors_keep_their_numbers_along_a_parameter():
    over = {"q0.x": np.linspace(-3, -0.1, 3), "omega": [2.6, 2.602], "v0.x": [-1.0, 2.0]}
    found = basins(ex.models.impact_oscillator(), over=over, section=STROBE, s=0.0, **QUIET)
    assert found.shape == (3, 2, 2)
    assert [len(family) for family in found.families] == [2, 2]
    for family in found.families:
        assert len({one.period for one in family}) == 1
        assert [one.at["omega"] for one in family] == [2.6, 2.602]
    for j, omega in ((1, 2.602),):
        alone = basins(
            ex.models.impact_oscillator(),
            over={k: v for k, v in over.items() if k != "omega"},
            section=STROBE,
            omega=omega,
            s=0.0,
            **QUIET,
        )
        periods = np.array([one.period for one in alone.attractors])
        mine = np.array([family[0].period for family in found.families])
        assert np.array_equal(mine[found.label[:, j]], periods[alone.label])
    assert found.run(1, 1, 1).rho["omega"] == 2.602
    assert found.run(1, 1, 1).v[0, 0] == 2.0


def test_basins_become_a_dataset(sinks):
    table = sinks.to_xarray()
    assert table["index"].dims == ("x0.x", "x0.v")
    assert table["x0.x"].attrs["units"] == "m"
    assert table["status"].shape == (15, 14)
    assert table["index"].values.tolist() == sinks.index.tolist()


def test_basins_become_a_picture(sinks):
    figure = ex.views.basins(sinks)
    heat = figure.data[0]
    assert np.array_equal(np.array(heat.z).T, sinks.label)
    assert figure.layout.xaxis.title.text == "x (m)"
    assert figure.layout.yaxis.title.text == "v (m/s)"
    points = [trace for trace in figure.data if trace.type == "scatter" and not trace.showlegend]
    assert sorted(float(trace.x[0]) for trace in points) == pytest.approx([-1, 1], abs=1e-5)
    names = [trace.name for trace in figure.data if trace.showlegend]
    assert "attractor 0 (period 1)" in names[0]
    assert "%" in names[0]


def test_a_picture_needs_two_axes():
    found = basins(relay(), "EventDriven", over={"x0.x": [-1.0, 1.0]}, **ASKED)
    with pytest.raises(ex.ExplorerError, match="two axes"):
        ex.views.basins(found)


def test_the_kernel_lets_other_threads_run():
    """Without Python's lock: this thread counts while the other one marches."""
    system = ex.models.impact_oscillator()
    whole = sweep(system, over={"q0.x": [-1.0]}, observe=STROBE, t_end="9*2*pi/omega", **QUIET)
    question = dataclasses.replace(whole.question, known=nothing_known(2), t_end="400*2*pi/omega")
    thread, count = threading.Thread(target=question.run, args=(0, 1)), 0
    thread.start()
    while thread.is_alive():
        count += 1
    assert count > 1000


# -- what recurs ----------------------------------------------------------------------------------


def test_attractors_are_as_far_apart_as_the_point_that_is_farthest():
    """In parts of the scale: Hausdorff's distance, from either to the other."""
    rng, scale = np.random.default_rng(0), np.array([4.0, 0.5])
    for counts in ((1, 1), (3, 5), (6, 2)):
        a, b = (rng.normal(size=(n, 2)) for n in counts)
        gaps = np.linalg.norm((a[:, None] - b) / scale, axis=2)
        wanted = max(gaps.min(axis=0).max(), gaps.min(axis=1).max())
        one, other = SimpleNamespace(points=a), SimpleNamespace(points=b)
        assert _gap(one, other, scale) == pytest.approx(wanted)
        assert _gap(one, one, scale) == 0


def test_periods_of_points():
    one = np.ones(2)
    turn = np.arange(60) % 3
    points = np.column_stack([turn, -turn]).astype(float)
    found = period(points, one, 1e-6, 1e-8)
    assert (found.period, found.residual) == (3, 0.0)
    assert sorted(found.points[:, 0]) == [0, 1, 2]
    creeping = np.column_stack([0.999 ** np.arange(100)] * 2) * 9e-6 * 1e3
    assert np.abs(np.diff(creeping[:, 0]))[-1] < 1e-5
    assert period(creeping, one, 1e-5, 1e-5).period == 1  # where that is all that steps tell
    assert period(creeping, one, 1e-5, 1e-7) is None  # a thousandth in each return, 9e-3 is left
    fast = np.column_stack([0.5 ** np.arange(40)] * 2)
    assert period(fast, one, 1e-6, 1e-8).period == 1
    assert period(np.random.default_rng(0).random((60, 2)), one, 1e-3, 1e-5) is None


def test_a_run_that_comes_to_a_point_by_turns_has_no_period_of_two():
    """x_{n+1} = -0.97 x_n, as near a flip: each second return is small, and the way left is not."""
    one = np.ones(1)
    turns = 6e-3 * (-0.97) ** np.arange(100)[:, None]
    assert np.abs(turns[-1] - turns[-3])[0] < 2e-5
    assert period(turns, one, 2e-5, 1e-7) is None
    assert period(turns * 1e-3, one, 2e-5, 1e-7).period == 1
    assert period(0.1 * (-1.0) ** np.arange(100)[:, None] + turns / 10, one, 2e-5, 1e-7).period == 2


def test_an_attractor_without_a_period_beside_another_is_told_by_nearer_neighbours():
    """A mass between two stops has each chaotic motion twice, mirrored; the border is close."""
    system = ex.MechanicalSystem("two stops", q="x", units="m")
    (x,), (v,), t = system.q, system.v, system.t
    (d,) = system.params(d=ex.Param(2, 0.1, 5))
    system.mass, system.force = [[1]], [sp.cos(0.8 * t) - x - 0.2 * v]
    system.contact(ex.Contact(gap=d - x, e=0.7, name="right"))
    system.contact(ex.Contact(gap=d + x, e=0.7, name="left"))
    found = attractors(
        system, over={"q0.x": [-2, 2], "v0.x": [-2, 2]}, section=Section(period=np.pi / 0.4),
        samples=5,
    )  # fmt: skip
    assert ([a.period for a in found.found], found.undecided) == ([0, 0], 0)


def test_henon_s_attractor_lies_close_to_what_escapes():
    """Neighbours that start far from it escape, so those nearby are asked."""
    henon = ex.MapSystem(
        "Hénon", x="x y", params={"a": 1.4, "b": 0.3}, f=["1 - a*x**2 + y", "b*x"],
        start={"x": [0.1, 0.1]},
    )  # fmt: skip
    edge = np.linspace(-2, 2, 25)
    x, y = np.meshgrid(edge, edge, indexing="ij")
    with np.errstate(all="ignore"):
        for _ in range(300):
            x, y = 1 - 1.4 * x**2 + y, 0.3 * x
    found = basins(henon, over={"x0.x": edge, "x0.y": edge}, **QUIET)
    assert (found.label == np.where(np.isfinite(x), 0, -1)).all()
    ends = attractors(henon, over={"x0.x": [-2, 2], "x0.y": [-2, 2]}, samples=8)
    assert len(ends) == 1
    assert (ends.failed, ends.undecided) == (0, 0)
    assert ends.escaped > 0


def test_sets_without_a_period():
    one, k = np.ones(2), np.arange(400)
    angle = k * (np.sqrt(5) - 1) * np.pi
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    found = cloud(circle, one)
    assert found.period == 0
    assert found.residual < 0.05
    assert len(found.points) == 400
    spiral = circle * 0.995 ** k[:, None]
    assert cloud(spiral, one) is None
    assert cloud(circle[:10], one) is None
