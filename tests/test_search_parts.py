"""Parts of a search for attractors by themselves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each
from plain import space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import search_attractors as search
from explorer.study.section import Section

COVERS = ("study/search_attractors.py",)  # see mutant_rooms.py

# ---------------------------------------------------------------- settings of a search


@for_each(("section", "discrete", "given", "told"), [
    (None, True, {}, ((1, None), 1e-5, 1e-2)), (Section(period="2*a"), False, {}, (("2*a", None), 1e-5, 1e-2)), (Section(event="stop"), False, {"t_end": 7.0}, ((None, search._MOST_EVENTS), 1e-5, 1e-2)),
    (Section(period="2*a"), False, {"tol": 1e-3}, (("2*a", None), 1e-3, 25e-3)), (Section(period="2*a"), False, {"scheme": "steps"}, (("2*a", None), 2e-3, 0.05)),
    (None, False, {}, "must be a Section"), (Section(period=1), False, {"t_end": 1.0}, "t_end follows from periods"), (Section(period=1), False, {"near": 0.6}, "must have 0 < tol"),
    (Section(period=1), False, {"tol": 0.02, "near": 0.02}, "must have 0 < tol"), (Section(period=1), False, {"periods": 11}, "whole number of at least 12"), (Section(period=1), False, {"periods": True}, "whole number of at least 12"),
])  # fmt: skip
def test_a_search_has_a_section_and_two_distances(monkeypatch, section, discrete, given, told):
    monkeypatch.setattr(search, "box_of", lambda system, box: {"box": box})
    monkeypatch.setattr(search, "depends_on_time", lambda system: False)
    system, steps = space(name="m", discrete=discrete, t_end=99.0), given.get("scheme") == "steps"
    scheme = space() if steps else ex.EventDriven()
    recurrence = search.Recurrence(tol=given.get("tol"), near=given.get("near"))
    arguments = (system, scheme, section, given.get("periods", 40), given.get("t_end"), recurrence)
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            search.Settings.of(*arguments)
        return
    found = search.Settings.of(*arguments)
    assert ((found.section.period, found.section.most), found.tol, found.near) == (told[0], pytest.approx(told[1]), pytest.approx(told[2]))  # fmt: skip
    assert found.sure == pytest.approx(found.tol / (1 if steps else 100))
    assert found.periods == 40
    if found.section.period is None:
        assert (found.t_end, found.part(4)) == (7.0, "(7.0) / 4")
    else:
        assert (found.t_end, found.part(4)) == (f"40 * ({told[0][0]})", f"10 * ({told[0][0]})")
        assert found.part(99) == f"1 * ({told[0][0]})"


def test_a_search_looks_ten_spans_beyond_its_starts(monkeypatch):
    """Or as far as its box says; what is no start, or has one value, has no bounds."""
    monkeypatch.setattr(search, "check_section", lambda *given: None)
    monkeypatch.setattr(search, "states_of", lambda system: (("x", "y", "z", "w"), ()))
    axes = [space(values=np.array([[3.0, 9.0], [5.0, 9.0], [4.0, 9.0]])), space(values=np.array([[1.0], [2.0]]))]  # fmt: skip
    places = [(0, 0, "start", 1), (0, 1, "start", 2), (1, 0, "parameter", 0)]
    settings = space(system=space(parameters=("a", "b")), section=None, box={"w": (-2.0, 6.0)}, seed=3)  # fmt: skip
    found = search.Search(settings, (7.0, 8.0), space(grid=space(axes=axes, places=places)))
    assert found.spans.tolist() == [0.0, 2.0, 0.0, 0.0]
    assert found.low.tolist() == [-np.inf, 3 - 20, -np.inf, -2.0]
    assert found.high.tolist() == [np.inf, 5 + 20, np.inf, 6.0]
    assert found.at == {"a": 7.0, "b": 8.0}


# ---------------------------------------------------------------- searches


@for_each(("fast", "every", "told"), [(True, 2, (32, 63)), (False, 2, (8, 15)), (True, 3, (32, 47)), (True, 1, (0, 64))])  # fmt: skip
def test_neighbours_inside_obstacles_are_left_out(monkeypatch, fast, every, told):
    """Every second start or each lies inside one: twice as many are tried as are wanted."""
    asked = []

    @dataclasses.dataclass
    class Runs:
        t_end: object
        scheme: object = dataclasses.field(default_factory=lambda: space(ensemble=lambda system: object() if fast else None))  # fmt: skip
        system: object = None

        def run(self, first, last, begin):
            asked.append(begin)
            refused = len(asked) % every == 0
            return space(code=[-1 if refused else 0], points=np.zeros((1, 9, 2)), found=[9], end=np.zeros((1, 2)), mode=[0])  # fmt: skip

    settings = space(t_end="9", part=lambda of: f"9 / {of}")
    one = bare(search.Search, settings=settings, scale=np.array([2.0, 4.0]), _random=np.random.default_rng(0))  # fmt: skip
    found = space(period=0, points=np.zeros((12, 2)))
    end = np.array([1.0, 1.0])
    back, of = one._neighbours(Runs("9"), found, 0.25, 0.5, end, 3)
    assert (back, of, len(asked)) == (told[0], *told)
    for x, mode in asked:  # three radii off a set without a period
        assert np.linalg.norm((x - end) / one.scale) == pytest.approx(0.75)
        assert mode == 3


def test_radii_are_smaller_where_attractors_are_close():
    """Each at most 0.4 of the distance to the next one, so that no two catch the same."""
    one = bare(search.Search, scale=np.ones(1))
    several = tuple(space(points=np.array([[x]]), radius=r) for x, r in ((0.0, 0.3), (1.0, 0.5), (9.0, 0.7)))  # fmt: skip
    assert one._radii(several) == pytest.approx([0.3, 0.4, 0.7])
    assert one._radii(several[:1]) == pytest.approx([0.3])


@for_each(
    ("t", "ended"),
    [(10.0, False), (10 * (1 - 0.5e-9), False), (10 * (1 - 2e-9), True), (3.0, True)],
)
def test_a_run_has_ended_before_its_time_at_a_terminal_event(t, ended):
    question = space(members=lambda first, last: space(t_end=[10.0 if (first, last) == (1, 2) else 99.0]))  # fmt: skip
    assert bare(search.Search)._ended(question, 1, space(t=[99.0, t])) == ended


def test_a_scale_is_the_spread_of_points_inside_the_box():
    """From their 2 % up to their 98 %; no less than the starts, and one where nothing spreads."""
    x = np.linspace(0.0, 1.0, 101)
    points = np.stack([np.stack([x, 0 * x + 5, 3 * x, 0 * x], axis=1), np.full((101, 4), 1e6)])
    one = bare(search.Search, low=np.array([-9.0, -9, -9, -9]), high=np.full(4, 9.0), spans=np.array([0.0, 0.0, 5.0, 0.0]))  # fmt: skip
    seen = space(points=points, code=np.array([0, 0]))
    assert one._spread(seen) == pytest.approx([0.96, 5.0, 5.0, 5.0])
    one.high = np.full(4, -9.5)
    assert one._spread(seen).tolist() == [1.0] * 4
    seen.code[:], one.high = 1, np.full(4, 9.0)
    assert one._spread(seen).tolist() == [1.0] * 4
