"""What finer basins are asked for, how they are shown, and how a start is labelled in between."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

from explorer.errors import BadValue
from explorer.study import FinerBasins, Section, finer_basins
from explorer.study.basin_map import UNDECIDED, UNTOLD
from explorer.study.refine import UNKNOWN, Grid


def axis(*values):
    return space(values=np.array(values, float)[:, None])


@for_each(("given", "told"), [
    ({}, (None, "usual")), ({"t_end": 7.0}, (7.0, "usual")), ({"section": Section(event="e")}, (30.0, "e")), ({"section": Section(event="e"), "t_end": 7.0}, (7.0, "e")), ({"section": Section(period=2.0)}, (None, 2.0)),
])  # fmt: skip
def test_finer_basins_run_ten_times_as_long_to_an_event(monkeypatch, given, told):
    """A pilot run loads what is compiled; it runs ten periods at the first start."""
    made, starts = [], space(axes=(axis(1, 2, 3), axis(4, 5), axis(9)), rows=np.arange(12.0).reshape(6, 2))  # fmt: skip
    starts.axes_of = lambda rows: rows.tolist()
    settings = space(part=lambda periods: ("part", periods))
    system = space(t_end=3.0)
    put(monkeypatch, inspect.unwrap(FinerBasins).__init__, check_system=lambda system: None, choose=lambda system, scheme: scheme or "usual scheme", usual=lambda system: None,
        numbers_of=lambda system, scheme, rho: [*rho.values()], _starts=lambda *given: made.append(given) or (starts, "parameters"), seed_of=lambda recurrence: made.append(recurrence),
        usual_section=lambda system: Section(period="usual"), Settings=space(of=lambda *given: made.append(given) or settings),
        Question=lambda *given: made.append(given) or space(run=lambda first, last: made.append((first, last))))  # fmt: skip
    monkeypatch.setattr(FinerBasins, "_asking", lambda self, stop: made.append(("asking", stop())))
    one = FinerBasins(system, "scheme", over="over", shape=(3, 2.0), periods=50, start="start", recurrence="r", rho={"a": 1.0, "b": 2.0}, b=4.0, **given)  # fmt: skip
    t_end, where = told
    section = made[2][2]
    assert (section.period or section.event) == where
    assert made == [
        (system, "over", (3, 2.0), "start"), "r", (system, "scheme", section, 50, t_end, "r"), ("asking", False),
        (system, "scheme", (1.0, 4.0), [[0.0, 1.0]], ("part", 10), 0.0, section), (0, 1),
    ]  # fmt: skip
    assert (one.shape, one.rho, one.parameters) == ((3, 2, 1), (1.0, 4.0), "parameters")
    assert one._labels is None
    assert one.label([1.0, 2.0]) is None


@for_each("shape", [(1, 5), (5, 1), (5,), (5, 5, 5), (2.5, 5), (True, 5)])
def test_a_shape_is_two_whole_numbers_from_two(monkeypatch, shape):
    put(monkeypatch, inspect.unwrap(FinerBasins).__init__, check_system=lambda system: None, choose=lambda system, scheme: scheme, numbers_of=lambda *given: [])  # fmt: skip
    with pytest.raises(BadValue, match="must be two whole numbers of at least 2"):
        FinerBasins("system", "scheme", over={}, shape=shape)


def test_a_point_is_labelled_with_the_states_that_are_fixed():
    asked = []
    labels = space(labels=lambda rows: asked.append(rows.tolist()) or (np.array([5, 7]), None))
    one = bare(FinerBasins, _labels=labels, starts=space(axes=(axis(1, 2), axis(3, 4), axis(8), axis(9))))  # fmt: skip
    assert one.label([0.5, 3]) == 5
    assert asked == [[[0.5, 3.0, 8.0, 9.0]]]


@for_each("parameters", [False, True])
def test_labels_are_attractors_of_starts_or_periods_over_parameters(monkeypatch, parameters):
    put(monkeypatch, FinerBasins._asking, PeriodsOver=lambda *given: ("over", given), Search=lambda *given: given, Resolve=lambda *given, progress: ("resolve", given, progress))  # fmt: skip
    one = bare(FinerBasins, parameters=parameters, settings="s", rho="r", starts="b")
    given = ("s", "r", "b")
    assert one._asking("stop") == (("over", (*given, "stop")) if parameters else ("resolve", (given, "stop"), False))  # fmt: skip


# ---------------------------------------------------------------- what is shown


def test_what_is_not_known_is_shown_as_its_neighbour(monkeypatch):
    """A label without a number yet counts as unknown; where nothing is known, nothing has run."""
    grid = Grid((3, 5))
    labels = space(families=("a", "b"), t=np.arange(15.0), refused="refused", bounds="bounds")
    made = []
    put(monkeypatch, FinerBasins._seen, Basins=space(of=lambda *given: made.append(given) or "basins"), dataclasses=space(replace=lambda one, **more: (one, more)), time=space(perf_counter=lambda: 7.5))  # fmt: skip
    one = bare(FinerBasins, settings="s", starts="b", rho="r", parameters="by period")
    assert one._seen(grid, 1, labels, 2.0) == ("basins", {"by_period": "by period"})
    assert (made[0][3][0] == UNTOLD).all()
    grid.put(np.array([0, 2, 4, 10, 12, 14]), np.array([0, 1, 2, -1, 5, UNDECIDED]))
    grid.put(np.array([6]), np.array([2]))
    one._seen(grid, 1, labels, 2.0)
    settings, starts, rho, found, families, refused, bounds, seconds = made[1]
    assert (settings, starts, rho, families, refused, bounds, seconds) == ("s", "b", "r", ("a", "b"), "refused", "bounds", 5.5)  # fmt: skip
    label, t, computed = found
    assert label.shape == t.shape == computed.shape == (1, 15)
    known = label.reshape(3, 5)
    assert [known[0, 0], known[0, 2], known[2, 0], known[2, 4]] == [0, 1, -1, UNDECIDED]
    assert known[0, 4] in (1, UNDECIDED)  # that of a neighbour, as its own has no number yet
    assert known[2, 2] in (1, -1, UNDECIDED)
    assert not (known == UNTOLD).any()
    assert not (known == UNKNOWN).any()
    assert known.max() == 1
    assert np.flatnonzero(computed[0]).tolist() == [0, 2, 4, 6, 10, 12, 14]
    assert t[0].tolist() == labels.t.tolist()
    assert t.base is not labels.t


@for_each("many", [0, 1, 3])
def test_the_finest_basins_are_the_last_ones(many):
    own = {"nothing": lambda self: "nothing", "steps": lambda self, stop=None: iter([(k, stop) for k in range(many)])}  # fmt: skip
    one = bare(type("Own", (FinerBasins,), own))
    assert one.whole("stop") == ((many - 1, "stop") if many else "nothing")
    assert [*one] == [(k, None) for k in range(many)]


def test_basins_without_any_start_ask_for_none(monkeypatch):
    own = {"_asking": lambda self, stop: ("labels", stop()), "_seen": lambda self, grid, level, labels, begin: (grid.labels.shape, level, labels, begin)}  # fmt: skip
    put(monkeypatch, FinerBasins.nothing, time=space(perf_counter=lambda: 2.5))
    one = bare(type("Own", (FinerBasins,), own), shape=(3, 4))
    assert one.nothing() == ((3, 4), 0, ("labels", True), 2.5)


# ---------------------------------------------------------------- labels


def test_what_has_something_to_be_learnt_is_not_told_yet():
    found = finer_basins._known(np.array([3, UNDECIDED, -1, 0, UNTOLD]))
    assert found.tolist() == [3, UNTOLD, -1, 0, UNTOLD]
    grid = Grid((2, 3))
    finer_basins._put(grid, np.array([5, 1, 3]), np.array([7, UNTOLD, UNDECIDED]))
    assert grid.labels.ravel().tolist() == [UNKNOWN] * 3 + [UNDECIDED, UNKNOWN, 7]
    assert grid.computed.ravel().tolist() == [False, False, False, True, False, True]


def test_places_of_a_level_are_run_by_what_is_known_first():
    """Then all of them, in an order at random but in the last pass."""
    grid = Grid((17, 33))
    run = lambda some: np.where(some % 2, UNDECIDED, some)  # noqa: E731
    labels = space(run=run)
    level, places, tell = next(finer_basins._order(grid, labels))
    assert level == 2
    assert places.tolist() != sorted(places)
    assert sorted(places) == grid.coarse(2).tolist()
    assert tell(np.array([2, 3])).tolist() == [2, UNTOLD]
    steps = [*finer_basins._order(grid, labels)]
    assert [one[2] is labels for one in steps] == [False, *[True] * (len(steps) - 1)]
    for shape, top in (((16, 99), 1), ((15, 99), 0), ((32, 32), 2), ((31, 99), 1), ((2, 2), 0), ((1, 40), 2)):  # fmt: skip
        first, *_ = finer_basins._order(Grid(shape), labels)
        assert first[0] == top + 1
