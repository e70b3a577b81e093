"""Regions of a phase plane, their surfaces and their arrows, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import space
from test_study_branches import bare

from explorer.views.drawing import regions
from explorer.views.drawing.picture import OFF
from explorer.views.drawing.regions import Regions, tint

COLOURS = ("#102030", "#ff8000")
X, Y = (-1.0, 4.0), (2.0, 10.0)
T = 1.5
# x' on both sides of c = 2 (x - 1), of the states (y, s, x): s is neither drawn nor does it matter
MINUS, PLUS = (lambda x, y: (0 * x - 3.0, x + 4.0)), (lambda x, y: (0 * x + 6.0, 6.0 - y))


def plane(flow=None, across=2, up=0, cells=None, flow_shown=True, **more) -> Regions:
    """Return the plane of two of three states with one switching function."""

    def functions(t, states):
        assert (t == T).all()
        assert (states[:, 1] == 8.0).all()
        gradient = np.zeros((len(states), 1, 3))
        gradient[:, 0, 2] = 2.0
        return 2.0 * (states[:, 2:] - 1.0), gradient

    def rates(t, states, alpha):
        (y, x), found = states[:, ::2].T, np.full((len(states), 3), 77.0)
        for k, side in enumerate((MINUS, PLUS)):
            here = alpha[:, 0] == k
            found[here, 0], found[here, 2] = (part[here] for part in (flow or side)(x, y))
        return found

    cells = cells or [(name, colour, [np.array([side])]) for name, colour, side in zip(("minus", "plus"), COLOURS, (-1, 1), strict=True)]  # fmt: skip
    equations = space(functions=functions, rates=rates, compiled=space(stewart=False))
    own = {"axes": (across, up), "t": T, "named": False, "flow": flow_shown, "base": np.array([7.0, 8.0, 9.0])}  # fmt: skip
    return bare(Regions, equations=equations, functions=[0], cells=cells, **own | more)


def outlines(trace) -> np.ndarray:
    """Return the arrows of a trace as (k, 7) complex numbers."""
    z = (trace["x"].astype(float) + 1j * trace["y"]).reshape(-1, len(regions._ALONG) + 1)
    assert np.isnan(z[:, -1]).all()
    return z[:, :-1]


def centres() -> np.ndarray:
    """Return the middles of 9 x 9 cells of the plane, row by row."""
    middle = (np.arange(9) + 0.5) / 9
    x, y = np.meshgrid(X[0] + 5 * middle, Y[0] + 8 * middle)
    return (x + 1j * y).ravel()


def without_marks(traces):
    """Return what is drawn of traces: nothing lies far below every range."""
    return [t for t in traces if not (t["y"] == OFF[1][0]).all()]


def test_arrows_point_along_the_flow_of_their_region():
    """Turned by the flow, in the unit of the plane; none is longer than 0.8 of a cell."""
    traces = plane()(X, Y)
    shape = 0.4 / 9 * (regions._ALONG + 1j * regions._ACROSS)
    for trace, side, colour, right in zip(traces[2:4], (MINUS, PLUS), COLOURS, (False, True), strict=True):  # fmt: skip
        z = centres()
        z = z[(z.real > 1) == right]
        up, ahead = side(z.real, z.imag)
        turn = ahead / 5 + 1j * up / 8
        drawn = shape * (turn / abs(turn))[:, None]
        wanted = z[:, None] + 5 * drawn.real + 8j * drawn.imag
        np.testing.assert_allclose(outlines(trace), wanted, atol=1e-5)
        assert (trace["fill"], trace["fillcolor"]) == ("toself", tint(colour, 0.8))


def test_no_arrow_is_where_nothing_flows_or_is_known():
    def flow(x, y):
        still, unknown = (x < 0) & (y > 6), (x > 2) & (y < 4)
        return 0 * x, np.where(still, 0.0, np.where(unknown, np.nan, 1.0))

    tips = [tip for t in plane(flow)(X, Y)[2:4] for tip in outlines(t)[:, 0]]
    z = centres()
    wanted = z[~((z.real < 0) & (z.imag > 6)) & ~((z.real > 2) & (z.imag < 4))] + 5 * 0.4 / 9
    assert len(tips) == len(wanted)
    np.testing.assert_allclose(np.sort_complex(np.round(tips, 4)), np.sort_complex(np.round(wanted, 4)), atol=2e-4)  # fmt: skip
    assert without_marks(plane(lambda x, y: (0 * x, 0 * x))(X, Y)[2:4]) == []
    assert without_marks(plane(flow_shown=False)(X, Y)[2:4]) == []


def test_regions_and_surfaces_are_where_their_functions_say():
    """x = 1 is slid on where y > 6, where the flow beyond it comes back; below it is crossed."""
    traces = plane()(X, Y)
    assert [t["name"] for t in traces] == ["minus", "plus", "minus", "plus", "crossing surface", "sliding surface", "escaping surface"]  # fmt: skip
    for trace, (low, high) in zip(traces[:2], ((-1, 1), (1, 4)), strict=True):
        assert {*zip(trace["x"].tolist(), trace["y"].tolist(), strict=True)} == {(x, y) for x in (low, high) for y in (2, 10)}  # fmt: skip
    crossed, slid, left = traces[4:]
    assert without_marks([left]) == []
    ends = [(t["x"].tolist(), sorted(t["y"].tolist())) for t in (crossed, slid)]
    cell = 8 / 48
    for (x, y), low, high in zip(ends, (2, 6), (6, 10), strict=True):
        assert {*x} == {1.0}
        assert (y[0], y[-1]) == (pytest.approx(low, abs=cell), pytest.approx(high, abs=cell))
    assert ends[0][1][-1] == ends[1][1][0]


@for_each(("along", "other"), [(0.0, 2.0), (0.0, -2.0), (0.0, 0.0), (3.0, 2.0), (-3.0, -2.0)])
def test_a_surface_along_which_one_side_flows_is_crossed(monkeypatch, along, other):
    """Neither to it nor away from it: it is not slid on, whichever way the other side flows."""
    sides = [lambda x, y, rate=rate: (0 * x, 0 * x + rate) for rate in (along, other)]
    for minus, plus in (sides, sides[::-1]):
        monkeypatch.setitem(plane.__globals__, "MINUS", minus)
        monkeypatch.setitem(plane.__globals__, "PLUS", plus)
        crossed, slid, left = plane()(X, Y)[4:]
        assert without_marks([slid, left]) == []
        assert len(without_marks([crossed])) == 1


@for_each(("many", "named", "told"), [(2, False, True), (2, True, True), (3, False, False), (3, True, True)])  # fmt: skip
def test_more_than_two_regions_are_named_where_there_is_room(many, named, told):
    cells = [(str(k), COLOURS[0], [np.array([1 - 2 * (k % 2)])]) for k in range(many)]
    traces = plane(cells=cells, named=named)(X, Y)
    assert [t["showlegend"] for t in traces] == [False] * many + [told] * many + [named] * 3


def test_a_region_of_several_cells_is_all_of_them():
    area, arrows = plane(cells=[("all", COLOURS[0], [np.array([1]), np.array([-1])])])(X, Y)[:2]
    assert len(outlines(arrows)) == 81
    assert {*zip(area["x"].tolist(), area["y"].tolist(), strict=True)} >= {(x, y) for x in X for y in Y}  # fmt: skip


@for_each(("x", "seen"), [(X, True), ((1.5, 4.0), False), ((-1.0, 1.0), False), ((0.0, 1.1), True)])
def test_a_plane_tells_whether_it_shows_all_regions(x, seen):
    assert plane().seen(x, Y) == seen
    assert plane(up=2, across=0).seen(Y, x) == seen
