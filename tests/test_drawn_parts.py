"""Parts of views that few runs reach: inputs, elements, active sets, plans, names of quantities."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_drawn_views import same
from test_study_branches import bare

from explorer.errors import BadValue
from explorer.study.end_state import EndState
from explorer.views.active_set import _ticks, active_set_plot, lengths_plot
from explorer.views.contact_forces import _impacts, _steps
from explorer.views.drawing.compose import _roomy
from explorer.views.drawing.decimate import Rows
from explorer.views.drawing.elements import LIT, PRESSED, PULLED, look
from explorer.views.drawing.picture import COLOURS, GREY, OFF, Plot, extent
from explorer.views.end_state import end_state
from explorer.views.inputs import corners, inputs_plots
from explorer.views.laws import laws, quantity_plots
from explorer.views.phase_plane import _box, _square
from explorer.views.plan import _broken, _switch_lines

NAN = np.nan

# ---------------------------------------------------------------- inputs


class Signal:
    """An input that is 2, 5, 7 between the times of its grid, or the line through its values."""

    def __init__(self, kind, grid, values):
        self.kind, self.grid, self.values = kind, grid, values

    def __call__(self, t):
        return np.array(self.values)[np.searchsorted(self.grid, t, "right") - 1]


def driven(signal, end=4.0):
    param = space(unit="N", bounds=(0.0, np.inf))
    drive = None if signal is None else space(inputs={"F": signal})
    system = space(drive=drive, declared_inputs={"F": param}, time_unit="s", base=None)
    return space(system=system, t=np.array([0.0, end]), rho={"F": 3.0})


@for_each(("signal", "end", "t", "values", "jumps"), [
    (None, 4.0, [0, 4], [3, 3], []),
    (Signal("linear", [0.0, 1.0, 3.0], [2.0, 5.0, 7.0]), 4.0, [0, 1, 3, 4], [2, 5, 7, 7], []), (Signal("linear", [0.0, 1.0, 3.0], [2.0, 5.0, 7.0]), 2.0, [0, 1, 2], [2, 5, 6], []),
    (Signal("constant", [0.0, 1.0, 3.0, 4.0], [2.0, 5.0, 7.0]), 4.0, [0, 1, 1, 3, 3, 4], [2, 2, 5, 5, 7, 7], [2, 4]),
    (Signal("constant", [0.0, 1.0, 3.0, 4.0], [2.0, 5.0, 7.0]), 3.0, [0, 1, 1, 3], [2, 2, 5, 5], [2]), (Signal("constant", [0.0, 9.0], [2.0]), 3.0, [0, 3], [2, 2], []),
])  # fmt: skip
def test_an_input_has_corners_where_it_bends_or_jumps(signal, end, t, values, jumps):
    found = corners(driven(signal, end), "F")
    assert [one.tolist() for one in found] == [t, values, jumps]


@for_each(("signal", "at", "y", "edges"), [
    (None, [2.0], [3.0], None), (Signal("constant", [0.0, 1.0, 2.0, 3.0, 4.0], [2.0, 5.0, 7.0, 8.0]), [0.5, 1.5, 2.5, 3.5], [2, 5, 7, 8], [0, 1, 2, 3, 4]),
    (Signal("linear", [0.0, 2.0, 4.0], [2.0, 5.0, 7.0]), [0, 2, 4], [2, 5, 7], [0, 1, 3, 4]), (Signal("linear", [0.0, 2.49, 4.0], [2.0, 5.0, 7.0]), [0, 2.49, 4], [2, 5, 7], [0, 1.245, 3.245, 4]),
    (Signal("linear", [0.0, 2.51, 4.0], [2.0, 5.0, 7.0]), None, None, None), (Signal("constant", np.linspace(0, 4, 202).tolist(), [1.0] * 201), None, None, None),
])  # fmt: skip
def test_an_input_is_dragged_by_its_values_on_an_even_grid(signal, at, y, edges):
    (plot,) = inputs_plots(driven(signal), 0.5, grips=True)
    line, *grips = plot.traces
    assert (plot.x_range, plot.share) == ((0.0, 4.0), 0.5)
    assert plot.y_range == extent([line["y"].min(), line["y"].max(), 0.0])
    assert line["line"]["color"] == COLOURS[-1]
    assert len(inputs_plots(driven(signal))[0].traces) == 1
    if at is None:
        assert grips == []
        return
    (dots,) = grips
    same(dots, at, y)
    handles = dots["meta"]["handles"]
    assert handles["keys"] == (["rho.F"] if signal is None else [f"u.F.{k}" for k in range(len(y))])
    assert (handles["low"], handles["high"], handles["name"]) == (0.0, None, "F")
    if edges is not None:
        assert handles["edges"] == pytest.approx(edges)


# ---------------------------------------------------------------- elements of a circuit


@for_each(("role", "value", "most", "colour", "fill", "width"), [
    ("spring", 2.0, 4.0, PULLED, "", 2.0), ("spring", -2.0, 4.0, PRESSED, "", 2.0), ("spring", 0.0, 4.0, GREY, "", 2.0), ("wire", -2.0, 4.0, LIT, "", 2.75), ("wire", 4e-7, 4.0, GREY, "", 1.5),
    ("wire", NAN, 4.0, GREY, "", 1.5), ("wire", 3.0, 0.0, LIT, "", 9.0), ("part", 1.0, 4.0, GREY, LIT, 2.0), ("part", -1.0, 4.0, GREY, "", 2.0), ("part", 1e-7, 4.0, GREY, "", 2.0),
    ("lamp", 0.25, 4.0, "rgba(230, 159, 0, 0.25)", "rgba(230, 159, 0, 0.25)", 2.0), ("lamp", 7.0, 4.0, "rgba(230, 159, 0, 1)", "rgba(230, 159, 0, 1)", 2.0), ("lamp", 0.0, 4.0, GREY, "", 2.0),
    ("body", 9.0, 4.0, GREY, "", 2.0),
])  # fmt: skip
def test_an_element_looks_like_its_value(role, value, most, colour, fill, width):
    points = np.array([[1.0, 2.0], [4.0, 6.0]])
    found = look(role, points, value, most)
    told = found["colour"], found["fill"], found["width"]
    assert told == (colour, fill, pytest.approx(width, abs=1e-5))
    assert found["points"] is points


@for_each(("value", "open_"), [(1.0, False), (0.6, False), (0.5, True), (0.0, True), (NAN, True)])
def test_a_switch_is_open_by_half_a_radian(value, open_):
    points = np.array([[1.0, 2.0], [4.0, 6.0]])
    a, b = look("blade", points, value, 1.0)["points"] @ [1, 1j]
    assert (a, b) == (1 + 2j, pytest.approx(1 + 2j + (3 + 4j) * np.exp(0.5j if open_ else 0)))


# ---------------------------------------------------------------- active sets


def stepped(t, boundaries, signs, switches=(), names=("c", "a long name")):
    system = space(time_unit="s", discrete=False, switches=[space(name=name) for name in names])
    return space(t=np.array(t), boundaries=np.array(boundaries), signs=np.array(signs), switch_times=np.array(switches), system=system, has=lambda name: True)  # fmt: skip


def test_lanes_show_the_sides_of_switching_functions():
    """The first function has the highest lane; switches are lines through all of them."""
    run = stepped([0.0, 1.0, 2.0], [0.0, 1.0, 2.0], [[1, -1], [0, -1], [1, 1]], [1.0, 1.5])
    ghost = space(solution=run, name="old", colour="#123456", line=lambda width: {"width": width})
    plot = active_set_plot(run, (ghost, ghost))
    switches, first, second, minus, on, plus, elements = plot.traces
    same(switches, [1, 1, NAN, 1.5, 1.5, NAN], [-0.5, 1.5, NAN, -0.5, 1.5, NAN])
    same(elements, [0, 1, 2], [-0.68] * 3)
    assert (plot.ticks, plot.y_range) == ({1.0: "c", 0.0: "c<sub>2</sub>"}, (-0.85, 1.5))
    assert plot.share == pytest.approx(0.85)
    assert [t["name"] for t in (first, second)] == ["old"] * 2
    known = np.isfinite(first["y"])
    assert second["y"][known] - first["y"][known] == pytest.approx(-0.08)
    assert first["x"].tolist() == pytest.approx(second["x"].tolist(), nan_ok=True)
    lanes = [np.unique(np.round(t["y"][np.isfinite(t["y"])])).tolist() for t in (minus, on, plus)]
    assert lanes == [[0.0], [1.0], [0.0, 1.0]] or lanes[0][0] < lanes[1][0]
    many = stepped([0.0, 1.0], [0.0, 1.0], [[1] * 9] * 2, [], names=tuple("abcdefghi"))
    assert active_set_plot(many).share == pytest.approx(min(0.45 + 0.2 * len(active_set_plot(many).ticks), 1.3))  # fmt: skip
    same(active_set_plot(many).traces[0], *OFF)


@for_each(("h", "found"), [([0.5] * 3, [0, 0.5, 1.0, 1.5]), ([], [0.0])])
def test_ends_of_elements_are_ticks(h, found):
    t = np.append(0.0, np.cumsum(h))
    x, y = _ticks(space(boundaries=t), -0.5)
    same({"x": x, "y": y}, found, [-0.5] * len(found))
    few = np.full(2000, 0.5)
    few[[100, 900]] = 0.25
    t = np.append(0.0, np.cumsum(few))
    x, _ = _ticks(space(boundaries=t), -0.5)
    assert x.tolist() == pytest.approx(t[[100, 900]])
    x, _ = _ticks(space(boundaries=0.5 * np.arange(2001.0)), -0.5)
    assert x.tolist() == OFF[0].tolist()


def test_lengths_of_elements_are_strokes_of_equal_neighbours():
    h = [0.5, 0.5, 0.25, 0.5]
    run = stepped([0.0, 1.75], np.append(0.0, np.cumsum(h)), [[1]] * 2)
    plot = lengths_plot(run)
    (own,) = plot.traces
    same(own, [0, 1, NAN, 1, 1.25, NAN, 1.25, 1.75, NAN], [0.5, 0.5, NAN, 0.25, 0.25, NAN, 0.5, 0.5, NAN])  # fmt: skip
    assert plot.y_range == pytest.approx((1e-3, 1.0))
    run.boundaries = np.array([0.0, 1.0])
    assert lengths_plot(run).y_range == pytest.approx((1e-3, 1e3))  # 1.4 is above one
    run.boundaries = np.array([0.0])
    assert lengths_plot(run).y_range == (0.1, 1.0)


# ---------------------------------------------------------------- plans


@for_each(("intervals", "stages"), [(1, 2), (3, 1), (2, 3)])
def test_what_jumps_with_a_control_is_interrupted_there(intervals, stages):
    """A trajectory has its start, then the stages of each interval."""
    n = 1 + intervals * stages
    t, z = np.arange(float(n)), np.arange(float(n)) ** 2
    plan = space(trajectory=(t,), algebraic={"z": z}, u=np.zeros((intervals, 1)))
    x, y = _broken(plan, "z")
    wanted_x, wanted_y = [0.0], [0.0]
    for k in range(1, n):
        if k > 1 and (k - 1) % stages == 0:
            wanted_x.append(t[k - 1])
            wanted_y.append(NAN)
        wanted_x.append(t[k])
        wanted_y.append(z[k])
    same({"x": x, "y": y}, wanted_x, wanted_y)


def test_switches_of_a_plan_are_lines_through_all_lanes():
    same(_switch_lines(np.array([1.0, 2.0])), [1, 1, NAN, 2, 2, NAN], [-0.6, 99, NAN] * 2)
    same(_switch_lines(np.zeros(0)), *OFF)


# ---------------------------------------------------------------- quantities and laws


def test_named_quantities_share_a_plot_by_their_unit():
    law = space(lb=space(subs=lambda rho: 0.0), ub=space(subs=lambda rho: np.inf), name="i", unit="A", y_name="u", y_unit="V")  # fmt: skip
    t = np.array([0.0, 1.0, 2.0])
    system = space(coordinates=("q", "w"), units=("", "V"), time_unit="s", discrete=False, outputs=(space(name="o", unit="A"),))  # fmt: skip
    run = space(system=system, laws=[law], rho={}, lam=np.array([[1.0], [2.0], [3.0]]), y=np.array([[0.0], [5.0], [0.0]]), outputs={"o": np.array([9.0, 8.0, 7.0])}, t=t)  # fmt: skip
    plots = quantity_plots(run, Rows(t, [t, 2 * t], [], None, None))
    assert [(p.y_title, [x["name"] for x in p.traces]) for p in plots] == [("quantities", ["q"]), ("voltages (V)", ["w", "u"]), ("currents (A)", ["i", "o"])]  # fmt: skip
    same(plots[1].traces[0], t, 2 * t)
    same(plots[1].traces[1], t, [0, 5, 0])
    same(plots[2].traces[0], t, [1, 2, 3])
    assert plots[2].y_range == extent([1.0, 9.0])
    assert [p.x_range for p in plots] == [(0.0, 2.0)] * 3
    assert [x["line"]["color"] for x in plots[1].traces] == list(COLOURS[:2])
    names = tuple(f"x{k}y" for k in range(2 * len(COLOURS) + 1))
    system = space(coordinates=names, units=("m",) * len(names), time_unit="s", discrete=False)
    run = space(system=system, laws=[], rho={}, outputs={}, t=t)
    (plot,) = quantity_plots(run, Rows(t, [t] * len(names), [], None, None))
    dashes = [x["line"]["dash"] for x in plot.traces]
    many = len(COLOURS)
    assert dashes == ["solid"] * many + ["dash"] * many + ["dot"]


@for_each(("many", "columns"), [(1, [1]), (2, [1, 1]), (3, [2, 1]), (6, [3, 3]), (9, [3, 3])])
def test_at_most_six_laws_stand_in_two_columns(monkeypatch, many, columns):
    inner = laws.__wrapped__
    put(monkeypatch, inner, has_contacts=lambda run: False, rows=lambda run: None, law_plot=lambda run, points, k: k, compose=lambda columns, widths: (columns, widths))  # fmt: skip
    found, widths = inner(space(lam=np.zeros((2, many))))
    assert [len(column) for column in found] == columns
    assert [k for column in found for k in column] == [*range(min(many, 6))]
    assert widths == [1] * len(columns)


# ---------------------------------------------------------------- forces of steps


def test_forces_of_steps_are_drawn_over_each_step():
    t, force = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), np.array([9.0, 1.0, 2.0, 0.0, 0.0, 3.0])
    x, y, torn = _steps(t, force, np.zeros(6, bool))
    assert x.tolist() == [0, 1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert y.tolist() == [1, 1, 2, 2, 0, 0, 0, 0, 3, 3]
    assert torn.tolist() == [4, 8]
    x, y, torn = _steps(t, force, np.array([0, 0, 1, 0, 0, 0], bool))
    assert x.tolist() == [0, 1, 2, 3, 3, 4, 4, 5]
    assert torn.tolist() == [2, 6]


def test_an_impact_hides_the_force_of_its_steps(monkeypatch):
    put(monkeypatch, _impacts, began=lambda run, row, a: row - 1 - a)
    rows = [(2, "impact", 0), (4, "impact", 1), (3, "closed", 0)]
    run = space(lam=np.zeros((5, 2)), has=lambda name: False, event_rows=rows)
    assert _impacts(run).astype(int).tolist() == [[0, 0], [1, 0], [1, 1], [0, 1], [0, 1]]
    run.has = lambda name: True
    assert not _impacts(run).any()


# ---------------------------------------------------------------- ranges and rooms


@for_each(("within", "found"), [
    (((-1, 1), (0, 2)), ((-1.0, 1.0), (0.0, 2.0))), (((1, 1), (0, 2)), None), (((0, 1), (2, 2)), None), (((0, 1), (3, 2)), None), (((2, 1), (0, 1)), None), ((1, 2), None), (((0, 1),), None),
])  # fmt: skip
def test_a_plane_is_two_ranges(within, found):
    if found is None:
        with pytest.raises(BadValue, match="must be two ranges"):
            _box(within)
    else:
        assert _box(within) == found


@for_each(("x", "y", "needs", "half"), [(1.0, -2.0, 3.0, 4.0), (0.0, 0.0, 0.5, 1.0), (3.0, 0.0, 3.0, 3.0), (1.0, 0.0, 1e9, 1.0)])  # fmt: skip
def test_a_square_grows_until_all_regions_are_seen(x, y, needs, half):
    asked = []

    def seen(across, up):
        assert across[1] - x == pytest.approx(up[1] - y)
        assert across[0] - x == pytest.approx(up[0] - y)
        asked.append(across[1] - x)
        return across[1] - x >= needs

    wide = 1.2 * half
    assert _square(space(seen=seen), x, y) == (extent([x - wide, x + wide]), extent([y - wide, y + wide]))  # fmt: skip
    first = max(abs(x), abs(y)) or 1.0
    assert asked == pytest.approx([first * 2**k for k in range(len(asked))])


def test_as_many_plots_are_shown_as_have_room(monkeypatch):
    plots = [Plot([], "t", "y", (0, 1), (0, 1), share=s) for s in (1.0, 0.5, 2.0)]
    put(monkeypatch, _roomy, _LOWEST=100.0, _below=lambda above, below, lines: 10.0)
    room = 20 + _roomy.__globals__["_LINE"] + _roomy.__globals__["_BOTTOM"]
    for height, count in ((370, 3), (369, 2), (160, 2), (159, 1), (0, 1)):
        assert list(_roomy(plots, room + height)) == plots[:count]


# ---------------------------------------------------------------- end states


def test_an_end_state_is_drawn_above_its_derivative():
    values = np.array([1.0, 2.0, 4.0])
    made = lambda name, x, slope: space(name=name, x=np.array(x), slope=np.array(slope))  # noqa: E731
    found = bare_end(values, [made("exact", [0.0, 1.0, 2.0], [1.0, 1.0, 1.0]), made("A", [0.0, 1.5, 2.0], [5.0, 1.0, 1.0])])  # fmt: skip
    picture = end_state(found)
    exact, own, of_exact, of_own = picture.data
    same(exact, values, [0, 1, 2])
    same(of_own, values, [5, 1, 1])
    assert [t["showlegend"] for t in (exact, own, of_exact, of_own)] == [True, True, False, False]
    assert of_own["line"]["shape"] == "hvh"
    assert of_exact["line"]["shape"] is None
    assert (own["line"]["color"], exact["line"]["color"]) == (COLOURS[0], GREY)
    layout = picture.layout
    assert tuple(layout["yaxis"]["range"]) == extent([0.0, 2.0])
    assert tuple(layout["yaxis2"]["range"]) == extent([1.0, 5.0])


def bare_end(values, curves):
    system = space(parameters={"a": space(unit="s")}, coordinates=("x",), units=("m",), time_unit="s", discrete=False)  # fmt: skip
    return bare(EndState, system=system, t_end=2.0, of="x", by="a", values=values, curves=tuple(curves))  # fmt: skip
