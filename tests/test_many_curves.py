"""Of many like curves some are drawn: which ones is said, and each has a colour of its own."""

from __future__ import annotations

import pytest

import explorer as ex
from explorer.views.drawing.decimate import drawn
from explorer.views.drawing.picture import COLOURS, label

MANY = {"column": {"n": 10}, "disc_pile": {"n": 5}, "stack": {"n": 3}, "elastic_bar": {}}


def picture(name):
    system = getattr(ex.models, name)(**MANY[name])
    return system, ex.views.explore.picture(ex.simulate(system))


def entries(found, axis="y"):
    return [t["name"] for t in found.data if t["yaxis"] == axis and t["showlegend"]]


@pytest.mark.parametrize("name", MANY)
def test_the_key_names_the_curves_that_are_drawn_and_counts_the_others(name):
    system, found = picture(name)
    names = [label(system.coordinates[j]) for j in drawn(system.coordinates)]
    count = len(system.coordinates)
    assert [x for x in entries(found) if x != "exact"] == [*names, f"6 of {count} shown"]


@pytest.mark.parametrize("name", MANY)
def test_a_coordinate_has_one_colour_in_all_plots_and_no_two_share_one(name):
    system, found = picture(name)
    of = {}
    for j in drawn(system.coordinates):
        wanted = label(system.coordinates[j]), label(system.coordinates[j], dot=True)
        traces = [t for t in found.data if t["name"] in wanted]
        assert len(traces) == 3, "position, velocity, portrait"
        (of[j],) = {t["line"]["color"] for t in traces}
        assert all(t["hovertemplate"] for t in traces)
    assert sorted(of.values()) == sorted(COLOURS)


def test_of_bodies_all_coordinates_are_drawn():
    discs = ex.models.disc_pile(n=5).coordinates
    assert [discs[j] for j in drawn(discs)] == ["x1", "y1", "phi1", "x5", "y5", "phi5"]
    assert drawn([f"y{i}" for i in range(1000)]).tolist() == [0, 200, 400, 599, 799, 999]
    assert drawn(list("abcdefg")).tolist() == [0, 1, 2, 4, 5, 6]
    assert drawn(["x", "y"]).tolist() == [0, 1]


def test_few_curves_are_all_there_and_nothing_is_said():
    found = ex.views.explore.picture(ex.simulate(ex.models.newtons_cradle()))
    assert not any(t["name"].endswith("shown") for t in found.data)


def test_contacts_that_are_left_out_are_counted():
    _, found = picture("disc_pile")
    titles = [a["title"]["text"] for k, a in found.layout.items() if "axis" in k and "title" in a]
    assert "slip (m/s), 6 of 25 contacts" in titles
    (one,) = {t["name"] for t in found.data if t["name"].endswith(" (1 of 25)")}
    assert one.startswith("disc ")
    _, found = picture("column")
    assert any(t["name"] == "all 10 contacts" and t["showlegend"] for t in found.data)
