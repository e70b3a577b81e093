"""Where a run begins that follows another one: at its end, if that leads on.

A long run of a body at rest leaves its gap some 1e-9 m below zero, which is no start inside.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from plain import plain, put

import explorer as ex
from explorer.runs.members import Asked, Observed
from explorer.study import Section, Sharpening, orbit_diagram
from explorer.study.forcing import usual_section

COVERS = ("kernels/event_driven/ensemble.py",)  # see mutant_rooms.py
many = plain("event_driven.ensemble")
PERIOD = Section(period="2*pi/omega")


@pytest.fixture(scope="module")
def table():
    return ex.models.vibrating_table()


def test_no_value_is_lost_where_the_ball_rests_on_its_table(table):
    """Over the restitution: at 60 values in turn the ball of low ones moves with the table."""
    over = {"e": np.linspace(0, 0.6, 30)}
    found = orbit_diagram(table, over=over, section=PERIOD, a=0.9, progress=False).branches["up"]
    assert np.isfinite(found.points).all()
    gap = found.points[..., 0]  # at phase zero of the table
    np.testing.assert_allclose(gap[:10], 0, atol=1e-7)


def test_columns_that_sharpen_lose_none_either(table):
    found = Sharpening(table, over={"e": (0, 0.6)}, columns=17, points=20, a=0.9).whole()
    assert not found.failed.any()


def test_a_start_inside_an_obstacle_is_refused_as_before(table):
    """What a user gives is no end of a run."""
    with pytest.raises(ex.BadModel, match="starts inside an obstacle"):
        ex.simulate(table, ex.EventDriven(), y0=-1e-8)
    swept = ex.study.sweep(
        table, ex.EventDriven(), over={"y0": [0.0, -1e-8]}, t_end=0.1, progress=False
    )
    assert swept.code[0] == 0 > swept.code[1]


def test_a_walker_that_falls_at_the_first_values_empties_no_diagram():
    """The next value begins at the start of the model, not on the ground."""
    walker, over = ex.models.simplest_walker(), {"gamma": np.linspace(0.0, 0.015, 12)}
    asked = {"section": usual_section(walker), "t_end": 60, "transient": 30, "points": 5}
    found = orbit_diagram(walker, over=over, progress=False, **asked).branches["up"].found
    assert found[0] == 0
    assert (found[2:] > 3).all()


@pytest.mark.parametrize(
    ("code", "section", "found", "leads"),
    [(0, "event", 3, True), (0, "event", 0, False), (0, "none", 0, True), (0, "period", 0, False),
     (1, "event", 3, False), (-1, "none", 3, False)],
)  # fmt: skip
def test_what_leads_on(code, section, found, leads):
    """A run that has failed does not, nor does one that never met its section."""
    asked = Asked(("a",), section=section, most=2)
    seen = Observed.empty(2, 1, asked)
    seen.code[1], seen.found[1] = code, found
    assert seen.leads(1, asked) is leads
    assert seen.leads(0, asked) is (section == "none")
    kind = ("none", "event", "period").index(section)
    assert many.leads(SimpleNamespace(section=kind), seen, 1) == leads


def lifted(monkeypatch, q, planes, offsets):
    """Return what `lift` makes of coordinates, with the gaps planes @ q - offsets, and its looks."""
    planes, offsets, looks = np.array(planes, float), np.array(offsets, float), []
    count, n = planes.shape
    rows = count + 2  # two constraints stand behind the contacts
    problem = SimpleNamespace(
        sizes=SimpleNamespace(n=n, n_c=count, rows=rows), functions=SimpleNamespace(table="table"),
        inp=np.full(1 + 2 * n, np.nan), out=np.full(rows * (2 + n), 7.0),
    )  # fmt: skip

    def evaluate(table, which, inp, out):
        assert (table, which) == ("table", many.CONTACTS)
        looks.append(inp[1 : 1 + n].copy())
        out[:count] = planes @ looks[-1] - offsets
        out[2 * rows : 2 * rows + count * n] = planes.ravel()

    put(monkeypatch, many.lift, evaluate=evaluate)
    y = np.array([*q, *np.full(n, 5.0)], float)
    many.lift(problem, y)
    np.testing.assert_array_equal(y[n:], 5.0)
    return y[:n], len(looks)


@pytest.mark.parametrize(
    ("q", "expected", "looks"),
    [
        ([1.0, -4e-7], [1.0, 0.0], 2),
        ([1.0, 0.0], [1.0, 0.0], 1),
        ([1.0, 3.0], [1.0, 3.0], 1),  # free
        ([1.0, -2e-6], [1.0, -2e-6], 1),  # deeper than any drift: a start inside
    ],
)
def test_a_gap_is_put_back_along_its_gradient(monkeypatch, q, expected, looks):
    found = lifted(monkeypatch, q, [[0.0, 2.0]], [0.0])
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-18)
    assert found[1] == looks


def test_contacts_that_share_coordinates_are_put_back_in_turn(monkeypatch):
    """A wedge: what lifts from one side may push into the other, less each time."""
    planes = [[0.6, 0.8], [-1.0, 0.3]]
    q, looks = lifted(monkeypatch, [0.0, 0.0], planes, [3e-7, 2e-7])
    gaps = np.array(planes) @ q - [3e-7, 2e-7]
    assert gaps.min() > -1e-9
    assert np.abs(q).max() < 1e-5
    assert looks <= many.SWEEPS
    one, _ = lifted(monkeypatch, [0.0, 0.0], planes, [3e-7, -1.0])
    np.testing.assert_allclose(one, [1.8e-7, 2.4e-7])


def test_a_contact_without_a_gradient_stays(monkeypatch):
    q, looks = lifted(monkeypatch, [2.0], [[0.0]], [1e-8])
    assert (q.tolist(), looks) == ([2.0], 1)
