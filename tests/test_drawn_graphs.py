"""Graphs of laws, costs, errors, multipliers and shapes, on runs that are only numbers."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_drawn_views import same

from explorer.models import models
from explorer.views.contact_laws import contact_law_plot, doing, friction_law_plot
from explorer.views.drawing import branches, contact_arrows, decimate, iterates, one_sided, polyline
from explorer.views.drawing.orbit_colours import by_exponent
from explorer.views.drawing.picture import COLOURS, OFF, extent, prose
from explorer.views.gradient import _float, _head, cost_plot
from explorer.views.laws import one_step_problem
from explorer.views.mechanism import mechanism
from explorer.views.mode_shapes import shapes_plot
from explorer.views.modes import _bars, _events
from explorer.views.multipliers import _area, multipliers_plot
from explorer.views.scheme_comparison import _columns, _errors, _percent, scheme_comparison

COVERS = ("views/drawing/picture.py",)  # see mutant_rooms.py
NAN = np.nan

# ---------------------------------------------------------------- laws of contacts


def impacted(n_c=2):
    """Return a run of time stepping with contacts of e = 1/2 and 0, both with friction."""
    gap_dot = np.array([[-4.0, -1.0], [2.0, 0.0], [1.0, 3.0], [-2.0, -0.5]])
    p = np.array([[9.0, 9.0], [6.0, 1.0], [0.0, 0.0], [3.0, 2.0]])
    active = np.array([[1, 1], [1, 1], [0, 1], [1, 0]])
    contacts = [space(name="a", e=0.5), space(name="b", e=0.0)]
    lam_max, lam_t = np.array([[9.0, 9], [4.0, 2.0], [0.0, 1.0], [2.0, 1e-12]]), np.array([[9.0, 9], [-4.0, 1.0], [0.0, -1.0], [1.0, 0.0]])  # fmt: skip
    slip = np.array([[9.0, 9], [3.0, 0.0], [0.0, 2.0], [0.0, -5.0]])
    return space(gap_dot=gap_dot, p=p, active=active, lam_max=lam_max, lam_t=lam_t, slip=slip, rho={}, t=np.arange(4.0),
                 has=lambda name: False, system=space(contacts=contacts, rough=[0, 1]))  # fmt: skip


def test_impulses_lie_on_newtons_law():
    """Over v+ + e v-, of the rows behind the first; where a contact is open its law was not asked."""
    run = impacted()
    plot = contact_law_plot(run, space(t=run.t))
    graph, a, b = plot.traces
    same(a, [2 - 0.5 * 4, -2 + 0.5 * 1], [6, 3])
    same(b, [0.0, 3.0], [1, 0])
    assert plot.x_range == extent([0.0, -1.5, 3.0])
    assert plot.y_range == extent([0.0, 6.0])
    same(graph, [0, 0, plot.x_range[1]], [plot.y_range[1], 0, 0])
    assert run.gap_dot[1, 0] == 2.0
    run.has, run.gap, run.lam = (lambda name: name == "march"), run.slip, run.lam_max
    same(contact_law_plot(run, space(t=run.t)).traces[1], [3, 0, 0], [4, 0, 2])


def test_friction_lies_on_coulombs_law():
    """Relative to its bound, where there is one."""
    run = impacted()
    plot = friction_law_plot(run, space(t=run.t))
    graph, a, b = plot.traces
    same(a, [3, 0], [-1, 0.5])
    same(b, [0, 2], [0.5, -1])
    assert plot.x_range == extent([-1.15 * 3, 1.15 * 3])
    same(graph, [plot.x_range[0], 0, 0, plot.x_range[1]], [1, 1, -1, -1])
    many = impacted()
    n = 1001
    many.t = np.arange(float(n))
    many.lam_max, many.lam_t, many.slip = (np.tile(np.linspace(1, 2, n)[:, None], 2) for _ in range(3))  # fmt: skip
    many.p = np.ones((n, 2))
    assert [len(t["x"]) for t in friction_law_plot(many, space(t=many.t)).traces[1:]] == [50, 50]
    many.gap_dot, many.active = many.slip.copy(), np.ones((n, 2))
    assert [len(t["x"]) for t in contact_law_plot(many, space(t=many.t)).traces[1:]] == [200, 200]


def test_a_contact_is_open_closed_sticks_or_slides(monkeypatch):
    put(monkeypatch, doing, has_friction=lambda run: True)
    run = space(p=np.array([[0.0, 2.0], [1.0, 0.0]]), doing=np.array([[1.0, 1.0], [2.0, 2.0]]), has=lambda name: False, system=space(rough=[0]))  # fmt: skip
    assert doing(run).tolist() == [[1, 3], [2, 0]]
    run.has, run.active = (lambda name: True), np.array([[1, 0], [1, 1], [1, 1], [0, 1]])
    run.slip, run.sticks = np.array([[-1.0], [2.0], [0.0], [1.0]]), np.array([[False], [False], [True], [True]])  # fmt: skip
    assert doing(run).tolist() == [[-1, 0], [1, 3], [2, 3], [0, 3]]
    put(monkeypatch, doing, has_friction=lambda run: False)
    assert doing(run).tolist() == [[3, 0], [3, 3], [3, 3], [0, 3]]
    run.has = lambda name: False
    assert doing(run).tolist() == [[0, 3], [3, 0]]


# ---------------------------------------------------------------- costs


@for_each(("slope", "along"), [(3.0, None), (-3.0, None), (0.0, None), (2.0, ([0.0, 5.0], [1.0, np.inf]))])  # fmt: skip
def test_a_gradient_is_an_arrow_uphill_along_the_tangent(slope, along):
    """psi = 4 at a = 2 in (1, 6); the range has 3 % more on both sides."""
    system = space(parameters={"a": space(low=1.0, high=6.0, unit="s")})
    question = space(system=system, rho=[7.0, 2.0], places=[1], cost=space(units=("", "m")))
    sens = space(question=question, wrt=["a"], cost=4.0, cost_gradient=[slope])
    plot = cost_plot(sens, 0, along)
    cost, tangent, arrow, dot, _ = plot.traces
    low, high = 1.0 - 0.15, 6.0 + 0.15
    assert plot.x_range == pytest.approx((low, high))
    same(dot, [2], [4])
    same(tangent, [low, high], 4 + slope * (np.array([low, high]) - 2))
    if along is not None:
        same(cost, [0, 5], [1, NAN])
    reach, tall = 0.14 * (high - low), plot.y_range[1] - plot.y_range[0]
    if along is None:
        half = 1.5 * abs(slope) * reach or 2.0
        assert plot.y_range == extent([4 - half, 4 + half])
    length = np.sign(slope) * (min(reach, 0.35 * tall / abs(slope)) if slope else 0)
    ends = [2, 2 + length, NAN], [4, 4 + slope * length, NAN]
    same({"x": arrow["x"][:3], "y": arrow["y"][:3]}, *ends)
    assert len(arrow["x"]) == (6 if slope else 3)
    x, y = _head([0.0, 3.0], [0.0, 4.0], 1.0, 1.0)
    back = np.array([-0.6, -0.8]) * 0.09
    side = 0.6 * np.array([-back[1], back[0]])
    tips = [np.array([3, 4]) + back + s * side for s in (-1, 1)]
    assert np.transpose([x, y])[[0, 2, 1]] == pytest.approx(np.array([*tips, [3.0, 4.0]]))
    assert np.isnan(_float([np.inf])).all()


# ---------------------------------------------------------------- errors of schemes


@for_each(("many", "width", "columns"), [(1, 900, [1]), (2, 900, [1, 1]), (3, 900, [2, 1]), (5, 900, [3, 2]), (7, 900, [4, 3]), (11, 900, [6, 5]), (13, 900, [5, 5, 3]), (4, 100, [4])])  # fmt: skip
def test_plots_of_schemes_fill_columns(many, width, columns):
    plots = [space(share=1.0) for _ in range(many)]
    found = _columns(plots, space(width=width))
    assert [len(column) for column in found] == columns
    assert [one for column in found for one in column] == plots
    # what is free, or what the names of all schemes need below each other
    assert plots[-1].share == max(columns[0] - columns[-1] + 1, many / 3.4)
    assert (_percent(0.0123), _percent(9e-6)) == ("error 1.2 %", "error 9 × 10⁻⁶")


@for_each(("many", "widths"), [(1, [1.0]), (2, [1.0, 0.6]), (3, [1.0, 1.0])])
def test_errors_alone_in_a_column_need_less_room(many, widths):
    """With n runs there are n + 1 plots but for one run."""
    inner = scheme_comparison.__wrapped__
    asked = []
    found = space(system=space(coordinates=("x", "y"), units=("m", "m"), time_unit="s", discrete=False), runs=[space(solution=space(q=np.array([[1.0, 5.0], [2.0, 6.0]]), t=np.array([0.0, 3.0 + k]))) for k in range(many)])  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        put(patch, inner, _known=lambda found, j: {"y": np.array([4.0])}, fine=lambda run: run, _curve=lambda run, solution, j, i, many: {"j": j, "i": i}, _errors=lambda found, pinned: space(share=1.0),
            compose=lambda columns, widths, look: asked.append((columns, widths)))  # fmt: skip
        inner(found, "y", look=space(width=900.0))
    ((columns, given),) = asked
    assert given == widths
    first = columns[0][0]
    assert first.y_range == extent([4.0, 6.0])
    assert first.x_range == (0.0, 2.0 + many)
    assert (first.traces[0]["showlegend"], first.traces[1]) == (True, {"j": 1, "i": 0})


def test_errors_stand_by_their_names_on_the_side_with_room():
    made = lambda *errors: space(runs=[space(name="abc"[k], error=e) for k, e in enumerate(errors)])  # noqa: E731
    plot = _errors(made(1e-1, 1e-4, 1e-3), made(1e-2, 1e-5))
    ghosts, dots = plot.traces
    same(ghosts, [1e-2, 1e-5], [2, 1])
    same(dots, [1e-1, 1e-4, 1e-3], [2, 1, 0])
    assert dots["textposition"] == ["middle left", "middle right", "middle right"]
    room = 0.15 * 4
    assert plot.x_range == pytest.approx((10 ** (-5 - room), 10 ** (-1 + room)))
    assert plot.y_range == (-0.6, 2.6)
    near = _errors(made(1e-3, 2e-3), None)
    assert np.log10(near.x_range) == pytest.approx([-4 - 0.15 * (2 + np.log10(2)), np.log10(2e-3) + 1 + 0.15 * (2 + np.log10(2))])  # fmt: skip
    assert near.traces[0]["x"].size == 0


# ---------------------------------------------------------------- exponents


def test_exponents_have_the_shade_of_their_size():
    """Edges lie at 1/50, 1/3 and 2/3 of what 95 of 100 are below; grey is between the smallest."""
    values = np.array([-9.0, -0.5, -0.1, 0.0, 0.01, 0.1, 0.5, 9.0, np.nan, np.inf, -np.inf])
    size = np.percentile(abs(values[np.isfinite(values)]), 95)
    found = space(period=np.array([1, 0] * 5 + [2]), failed=np.zeros(11, bool))
    told = by_exponent(found, values, "1/s")
    edges = np.array([1 / 50, 1 / 3, 2 / 3]) * size
    wanted = [7 if np.isnan(v) else int(3 + np.sign(v) * (abs(v) > edges).sum()) for v in values]
    assert told.kind.tolist() == wanted
    assert len(told.names) == len(told.colours) == 9
    assert told.thick.tolist() == [True, False] * 5 + [True]
    flat = by_exponent(found, np.zeros(11), "1/s")
    assert flat.kind.tolist() == [3] * 11
    assert "0.02" in flat.names[3]


# ---------------------------------------------------------------- shapes and modes


def test_shapes_of_modes_have_the_largest_entry_one():
    modes = space(system=space(coordinates=("a", "b")), q=np.zeros(2), shapes=np.array([[2.0, 3.0], [-4.0, 1.5]]), squares=np.array([4.0, -1.0]), frequencies=np.array([2 / (2 * np.pi), NAN]))  # fmt: skip
    plot = shapes_plot(modes)
    one, two = plot.traces
    same(one, [1, 2], [0.5, -1])
    same(two, [1, 2], [1, 0.5])
    assert (one["name"], two["name"]) == ("1: 0.3183 Hz", "2: ω² = -1 1/s²")
    assert plot.x_range == pytest.approx((0.8, 2.2))
    assert plot.y_range == extent([-1.0, 1.0])


@for_each("located", [True, False])
def test_a_mode_is_a_bar_over_its_rows(located):
    """A row of time stepping tells of the step that ends there."""
    mode, t = np.array([0, 0, 2, 2, 2, 0]), np.arange(6.0) ** 2
    run = space(mode=mode, t=t, has=lambda name: located)
    begin = {0: 0, 2: 2 if located else 1, 5: 5 if located else 4}
    for asked, spans in ((0, [(0, 1, 0), (5, 5, 0)]), (2, [(2, 4, 2)]), (None, [(0, 1, 0), (2, 4, 2), (5, 5, 0)])):  # fmt: skip
        x, y = _bars(run, asked)
        same({"x": x, "y": y}, np.ravel([[t[begin[a]], t[b], NAN] for a, b, _ in spans]), np.ravel([[m, m, NAN] for *_, m in spans]))  # fmt: skip
    same(dict(zip("xy", _bars(run, 1), strict=True)), *OFF)
    run.events = [space(contact="g", t=4.0, row=2), space(contact="h", t=9.0, row=3)]
    same(dict(zip("xy", _events(run, "g"), strict=True)), [4], [2])
    same(dict(zip("xy", _events(run, "k"), strict=True)), *OFF)


@for_each("many", [1, 2])
def test_multipliers_are_areas_that_fill_their_lane(many):
    """alpha below, 1 - alpha above it; the first function has the highest lane."""
    t = np.array([0.0, 1.0, 1.0, 2.0])
    alpha = np.array([[0.25, 0.25, 1.0, 0.0], [0.5] * 4])[:many]
    system = space(switches=[space(name=name) for name in "cd"[:many]], time_unit="s", discrete=False)  # fmt: skip
    run = space(system=system, alpha=alpha.T, t=t)
    plot = multipliers_plot(run)
    unit = 1.0 if many == 1 else 0.84
    assert len(plot.traces) == 2 * many
    for k in range(many):
        base = many - 1.0 - k
        whole, lower = plot.traces[2 * k : 2 * k + 2]
        for trace, y in ((whole, np.ones(4)), (lower, alpha[k])):
            x, level = _area(t, base, base + unit * y, 999)
            same(trace, x, level)
        same({"x": whole["x"][-3:], "y": whole["y"][-3:]}, [2, 0, 0], [base, base, base + unit])
    assert plot.y_range == ((-0.02, 1.02) if many == 1 else (-0.16, 2.0))
    lanes = {} if many == 1 else {1.42: "α<sub>1</sub>", 0.42: "α<sub>2</sub>"}
    assert {round(k, 9): name for k, name in (plot.ticks or {}).items()} == lanes
    assert plot.traces[0]["showlegend"] == (many == 1)
    assert multipliers_plot(run, "alpha").traces[0]["showlegend"]
    assert plot.share == pytest.approx(0.55 + 0.15 * many)


def test_a_circle_of_a_mechanism_begins_at_its_right(monkeypatch):
    item = {"kind": "circle", "role": "body", "n": 1, "closed": False, "radius": 2.0}
    line = {"kind": "line", "role": "part", "n": 3, "closed": True, "radius": 0.0}
    xy = np.array([[[9.0, 9], [0, 0], [1, 0], [0, 1]], [[3.0, 4.0], [0, 0], [2, 0], [0, 2]]])
    film = {"t": np.array([0.0, 1.0]), "xy": xy, "items": [item, line], "box": [0, 1, 0, 1], "unit": "m"}  # fmt: skip
    inner = mechanism.__wrapped__
    put(monkeypatch, inner, frames=lambda run: film, compose=lambda columns, widths: space(plot=columns[0][0], layout={"yaxis": {}}))  # fmt: skip
    plot = inner(space(system=space(time_unit="s"), t=np.array([0.0, 1.0])), 0.7).plot
    circle, closed = plot.traces
    turn = np.linspace(0, 2 * np.pi, 49)
    same(circle, 3 + 2 * np.cos(turn), 4 + 2 * np.sin(turn))
    same(closed, [0, 2, 0, 0], [0, 0, 2, 0])
    assert "fill" not in circle
    assert "fill" not in closed  # an outline is filled only while it is lit
    assert circle["line"]["color"] == COLOURS[0]
    assert (plot.x_title, plot.y_title) == ("x (m)", "y (m)")


def test_a_run_is_read_at_no_more_times_than_there_is_room_for(monkeypatch):
    """Of a quick sine each chord is halved until this many are reached."""
    monkeypatch.setattr(decimate, "_MOST", 900)
    sample = lambda t, exact: (np.sin(1e4 * t)[:, None], None)  # noqa: E731
    run = space(march=space(knots=np.zeros(0), hits=np.zeros(0), n_x=1, sample=sample, of_elements=False), t=np.array([0.0, 1.0]))  # fmt: skip
    assert 450 < len(decimate._times(run, None, 0, 1)) <= 900


@for_each("laws", [True, False])
def test_residuals_of_steps_are_on_a_logarithmic_axis(laws):
    """Where nothing is left there is the least value of the axis, 1e-18."""
    run = space(t=np.array([0.0, 1.0, 3.0]), residuals=np.array([[0.0, 1e-9], [1e-3, 0.0], [1e-5, 1e-7]]), iterations=np.array([0, 4, 2]), has=lambda name: laws, by_laws=laws, system=space(time_unit="s", discrete=False))  # fmt: skip
    inner = one_step_problem.__wrapped__
    with pytest.MonkeyPatch.context() as patch:
        put(patch, inner, compose=lambda columns, widths: columns)
        ((residuals, counts),) = inner(run)
    contacts, newton = residuals.traces
    same(contacts, run.t, [1e-18, 1e-3, 1e-5])
    same(newton, run.t, [1e-9, 1e-18, 1e-7])
    assert residuals.y_range == pytest.approx((1e-18, 1e-2))
    assert (contacts["name"], residuals.y_title) == (("laws", "relative residual") if laws else ("contacts (m/s)", "residual"))  # fmt: skip
    same(counts.traces[0], run.t, [0, 4, 2])
    assert counts.y_range == (0.0, 5.0)
    assert (residuals.x_range, counts.x_range) == ((0.0, 3.0), (0.0, 3.0))


def test_a_sentence_has_its_symbols_in_mathematical_notation():
    assert prose("u1 = 1; x_2 < 0") == "u<sub>1</sub> = 1; x<sub>2</sub> &lt; 0"
    assert prose("3 m/s^2 of CBF1") == "3 m/s² of CBF1"
    assert prose("3 mH and 2 kN") == "3 mH and 2 kN"


@for_each(("rows", "uneven", "filled", "dense"), [
    (100, 1.0, False, True), (90, 1.0, False, True), (89, 1.0, False, False), (150, 1.0, False, True), (151, 1.0, False, False), (100, 1.29, False, True), (100, 1.31, False, False),
    (100, 1.0, True, False),
])  # fmt: skip
def test_a_run_is_drawn_by_its_own_rows_if_they_are_as_many_and_as_even(rows, uneven, filled, dense):  # fmt: skip
    """As a grid of 100: from 90 to 150 rows, and none is 1.3 times as far from the next one."""
    steps = np.ones(rows - 1)
    steps[3] = uneven
    run = space(t=np.append(0.0, np.cumsum(steps)), **({"_fill": None} if filled else {}))
    assert one_sided._dense(run, np.arange(100.0)) == dense


@for_each(("times", "window", "most", "told"), [
    ([0.0, 1.0, 2.0, 9.0], (1.0, 5.0), 9, [1, 2]), ([0.0, 0.4, 0.5, 1.0, 1.6], (0.0, 2.0), 2, [0, 2, 3, 4]), ([1.0], (2.0, 3.0), 9, []), ([0.0, 2.0], (0.0, 2.0), 1, [0, 1]),
])  # fmt: skip
def test_events_are_told_apart_in_a_window(times, window, most, told):
    """Each at least half of a part of it behind the one before."""
    assert one_sided.apart(np.array(times), window, most) == told


def test_arcs_between_events_get_places_of_their_own_if_they_are_short():
    """Three in each of them that can be seen and is shorter than four of the equal steps."""
    times, points = np.array([1.0, 1.2, 1.2001, 5.0]), 41
    found = one_sided.arcs(times, (0.0, 10.0), points)
    even = np.linspace(0, 10, points)
    assert found == pytest.approx(np.sort([*even, 1.05, 1.1, 1.15]))
    assert (np.diff(found) > 0).all()
    begin, end = one_sided._long(times, (0.5, 4.0))
    assert sorted(zip(begin.tolist(), end.tolist(), strict=True)) == [(0.5, 1.0), (1.0, 1.2), (1.2001, 4.0)]  # fmt: skip


# ---------------------------------------------------------------- axes and columns


@for_each(("since", "end", "told"), [(3.21, 10.0, 3.5), (3.5, 10.0, 3.5), (0.012, 0.05, 0.015), (123.0, 456.0, 150.0), (9.9, 10.0, 9.9), (9.961, 10.0, 9.965), (5.0, 5.0, 5.0), (-2.6, 0.0, -2.5)])  # fmt: skip
def test_a_round_time_is_a_little_later(since, end, told):
    """The next one of five of the largest power of ten within what is left; never behind the end."""
    found = polyline._round(since, end)
    assert found == pytest.approx(told, abs=1e-9)
    assert since - 1e-9 <= found <= end


@for_each(("ends", "window", "factors"), [((0.0, 10.0), (0.0, 10.0), (1.0, 1.0)), ((-100.0, 10.0), (0.0, 10.0), (0.03, 1.0)), ((0.0, 60.0), (0.0, 10.0), (1.0, 0.06)), ((-3.0, 13.0), (0.0, 10.0), (1.0, 1.0)), ((-6.0, 16.0), (0.0, 10.0), (0.5, 0.5))])  # fmt: skip
def test_what_lies_outside_a_window_is_pressed_together(ends, window, factors):
    """Into three tenths of its length on each side, as far as it needs more; and back to its values."""
    axis = polyline.Axis(*window, 200.0)
    assert axis._pressed(*ends) == pytest.approx(factors)
    values = np.array([ends[0], *window, 5.0, ends[1]])
    found = axis.pixels(values.copy(), ends)
    under, over = factors
    wanted = [20 * v * under if v < 0 else 200 + 20 * (v - 10) * over if v > 10 else 20 * v for v in values]  # fmt: skip
    assert found == pytest.approx(wanted)
    assert found.min() >= -60 - 1e-9
    assert found.max() <= 260 + 1e-9
    assert axis.values(found, ends) == pytest.approx(values)


@for_each(("over_time", "many", "log", "columns"), [(True, True, False, True), (False, True, False, False), (True, False, False, False), (True, True, True, False)])  # fmt: skip
def test_many_rows_from_left_to_right_are_divided_by_columns_of_pixels(over_time, many, log, columns):  # fmt: skip
    """Curves over the same x share them."""
    size = 20.0
    x = np.linspace(1.0, 3.0, int(polyline._ROWS * size) + many)
    box = polyline.Box(polyline.Axis(0.0, 4.0, size, log), polyline.Axis(0, 1, 9.0), over_time)
    shared = polyline.Shared()
    found = polyline._across(x, box, shared)
    assert polyline._across(x, box, shared) is found
    assert polyline._across(x.copy(), box, shared) is not found
    assert found.x is x
    assert (len(found.starts) > 0) == columns
    if not columns:
        assert found.px == pytest.approx(box.x.pixels(x))
        return
    assert len(found.px) == 0
    px = np.floor(5 * x + 1e-12)  # 5 px for 1
    parts = np.split(px, found.starts[1:-1])
    assert (found.starts[0], found.starts[-1]) == (0, len(x))
    assert [np.unique(part).tolist() for part in parts] == [[k] for k in range(5, 15)] + [[15.0]] * (len(parts) - 10)  # fmt: skip


@for_each(("kind", "values", "told"), [("cycles", [0.5, 0.9, 1.0, 1.2, 1.5], [1, 1, 0, 0]), ("equilibria", [-1.0, -0.5, 0.0, 0.5, 1.0], [1, 1, 0, 0])])  # fmt: skip
def test_a_line_is_solid_up_to_the_bound_of_stability(monkeypatch, kind, values, told):
    """A point at the bound belongs to both sides; where a piece ends there is no line."""
    values = np.array(values)
    monkeypatch.setattr(branches, "growth", lambda branch: values)
    one = space(kind=kind, stable=values < (1 if kind == "cycles" else 0), piece=np.zeros(5, int))
    assert branches._solid(one).tolist() == told
    assert [(part.start, part.stop, solid) for part, solid in branches.runs(one)] == [(0, 3, True), (2, 5, False)]  # fmt: skip
    one.piece = np.array([0, 0, 1, 1, 1])
    assert branches._solid(one).tolist() == [1, -1, 0, 0]
    assert [(part.start, part.stop, solid) for part, solid in branches.runs(one)] == [(0, 2, True), (2, 5, False)]  # fmt: skip


@for_each(
    ("window", "told"),
    [
        ((2.0, 2.5), (2.0, 2.5)),
        ((2.0, 9.0), (2.0, 9.0)),
        ((3.0, 3.0), None),
        ((4.0, 3.0), None),
        ((0.0, 10.0), None),
        ((-1.0, 11.0), None),
        (None, None),
    ],
)
def test_a_run_is_read_in_a_window_that_is_a_part_of_it(monkeypatch, window, told):
    """However short: in the width of its picture; a whole one has no width."""
    asked = []
    monkeypatch.setattr(decimate, "fine", lambda *given: asked.append(given[1:]))
    look = space(ranges={"xaxis": window} if window else {}, width=640.0, zoom=2.0)
    decimate.seen(space(t=np.array([0.0, 10.0])), look)
    assert asked == [(told, 640.0 if told else 0.0, 2.0)]


def test_iterates_are_drawn_over_the_ones_before(monkeypatch):
    """Each point of the first state and the next one; the last has none."""
    run = space(t=np.arange(4.0), q=np.array([[1.0, 9], [2, 9], [4, 9], [7, 9]]), system=space(coordinates=("x",), units=("m",)))  # fmt: skip
    monkeypatch.setattr(iterates, "chosen", lambda run, look: np.array([0, 2, 3]))
    plot = iterates.return_plot(run)
    (trace,) = plot.traces
    assert (trace["x"].tolist(), trace["y"].tolist()) == ([1.0, 4.0], [2.0, 7.0])
    assert trace["meta"]["t"].tolist() == [0.0, 2.0]


@for_each("system", [space(base=None), space(base=space())])
def test_only_contacts_of_mechanical_runs_have_arrows(system):
    for has in (True, False):
        assert contact_arrows.arrows_of(space(system=system, has=lambda what, has=has: has), None) is None  # fmt: skip
    ball = space(system=space(base=models["bouncing_ball"]()), has=lambda what: False)
    assert contact_arrows.arrows_of(ball, None) is None
