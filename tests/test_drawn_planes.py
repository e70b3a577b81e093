"""Maps, orbits, mechanisms and trajectories by themselves: each trace is what their numbers say."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_drawn_pieces import read
from test_drawn_views import same
from test_study_branches import bare

from explorer.study.basin_map import ESCAPES, FAILED, REFUSED, UNDECIDED, UNTOLD
from explorer.study.stability import Stability
from explorer.views.basins import (
    _MARK,
    _colour,
    _ends,
    _hover,
    _image,
    _mixed,
    _name,
    _places,
    _start_label,
    _wider,
)
from explorer.views.drawing.decimate import Rows
from explorer.views.drawing.orbit_colours import REST, Colouring
from explorer.views.drawing.picture import COLOURS, OFF, extent
from explorer.views.drawing.polyline import STATIC
from explorer.views.mechanism import _head, _lean, _measure, _rows, _zigzag, items_of
from explorer.views.orbits import _dots
from explorer.views.stability import _oscillator, _over_step
from explorer.views.trajectory import _exact, positions_plots, unit_of

NAN = np.nan


# ---------------------------------------------------------------- basins


def basin(labels, shape, computed=None, periods=(1, 2), by_period=False):
    families = [[space(period=p)] for p in periods]
    return space(label=np.array(labels), computed=np.ones(len(labels), bool) if computed is None else np.array(computed), families=families,
                 attractors=[one for (one,) in families], by_period=by_period)  # fmt: skip


def test_a_map_has_a_shade_for_each_kind_and_patterns_for_what_is_none():
    """Row by row from the top; what was filled is paler; lines every eight pixels."""
    own = basin([0, 1, 0, UNDECIDED, FAILED, REFUSED], (3, 2), [True, True, False, True, True, True])  # fmt: skip
    image = _image(own, (3, 2))
    seen, palette = read(image)
    across, up = -(-640 // 3), 240
    assert seen.shape == (2 * up, 3 * across)

    def at(i, j):
        """Return the colours in the cell of the start (i, j), j upwards, with their places."""
        rows, columns = np.arange((1 - j) * up, (2 - j) * up), np.arange(i * across, (i + 1) * across)  # fmt: skip
        return palette[seen[np.ix_(rows, columns)]], *np.meshgrid(rows, columns, indexing="ij")

    def rgb(text):
        return [*(int(text[k : k + 2], 16) for k in (1, 3, 5)), 255]

    assert (at(0, 0)[0] == rgb(_colour(own, 0))).all()
    assert (at(0, 1)[0] == rgb(_colour(own, 1))).all()
    assert (at(1, 0)[0] == rgb(_mixed(_colour(own, 0), 0.45, 255))).all()
    for (i, j), kind, lines in (((1, 1), UNDECIDED, lambda r, c: (r + c) % 8 < 2), ((2, 0), FAILED, lambda r, c: ((r + c) % 8 < 2) | ((r - c) % 8 < 2)),
                                ((2, 1), REFUSED, lambda r, c: (r % 8 < 2) & (c % 8 < 2))):  # fmt: skip
        found, r, c = at(i, j)
        on = lines(r, c)
        assert (found[on] == rgb(_MARK[kind])).all()
        assert (found[~on] == (rgb(_colour(own, kind)) if kind != REFUSED else [0, 0, 0, 0])).all()
    assert _mixed("#804020", 0.5, 0) == "#402010"
    assert _mixed("#804020", 0.45, 255) == "#B99684"


@for_each(("k", "by_period", "name", "colour"), [
    (0, False, "attractor 0", 0), (1, False, "attractor 1", 1), (0, True, "period 1", 0), (1, True, "period 2", 1), (2, True, "longer, or no period", None), (3, True, "longer, or no period", None),
    (ESCAPES, False, "escaped", None), (UNTOLD, False, "not computed yet", None), (4, False, "not computed yet", None),
])  # fmt: skip
def test_a_label_has_its_name_and_its_colour(k, by_period, name, colour):
    own = basin([0], (1, 1), periods=(1, 2, len(COLOURS) + 1, 0), by_period=by_period)
    assert _name(own, k) == name
    if colour is not None:
        assert _colour(own, k) == COLOURS[colour]
    elif by_period:
        assert _colour(own, k) == REST
    many = len(COLOURS)
    dark = _mixed(COLOURS[0], 0.45, 0)
    own.by_period = False
    assert [_colour(own, j) for j in (0, many, 2 * many)] == [COLOURS[0], dark, COLOURS[0]]  # fmt: skip


def test_under_the_pointer_is_the_attractor_of_a_start():
    """A panel answers for 80 cells of an axis at most."""
    n = 200
    own = basin((np.arange(n * 3) % 2).tolist(), (n, 3))
    values = [np.linspace(0, 1, n), np.array([5.0, 6.0, 7.0])]
    found = _hover(own, values, (n, 3), ("a", "b"), space())
    assert found["x"].tolist() == values[0][::3].tolist()
    assert found["y"].tolist() == [5, 6, 7]
    label = own.label.reshape(n, 3)[::3]
    assert np.array(found["z"]).tolist() == label.T.tolist()
    assert found["text"] == [[f"attractor {k}" for k in row] for row in label.T]
    assert found["meta"] == {"key": "a", "up": "b"}
    whole = _hover(own, values, (n, 3), None, STATIC)
    assert (len(whole["x"]), np.shape(whole["z"])) == (n, (3, n))
    assert "meta" not in whole


@for_each(("names", "found"), [
    (["q0.x", "v0.x"], (0, 2)), (["x0.y", "q0.x"], (1, 0)), (["v0.y", "x0.v_x"], (3, 2)), (["q0.x", "k"], None),
])  # fmt: skip
def test_axes_of_a_map_may_be_states(names, found):
    own = space(states=("x", "y", "v_x", "v_y"))
    assert _places(own, names) == found
    starts = ("q0.x", "v0.x", "x0.y", "x0.v_y", "k", "v_C")
    labels = ["x", "x\u0307", "y", "y\u0307", "k", "v<sub>C</sub>"]
    assert [_start_label(one, own.states) for one in starts] == labels
    assert _ends(np.array([2.0, 3.0])) == (2.0, 3.0)
    assert _ends(np.array([2.0])) == (1.5, 2.5)
    assert _wider(2.0, 4.0) == pytest.approx((1.9, 4.1))


# ---------------------------------------------------------------- orbits


@for_each("foot", [True, False])
def test_dots_lie_in_the_rows_of_their_values(foot):
    """From 0 at the bottom to 1 at the top; what repeats is a row thicker; a failed column has a mark."""
    points = np.array([[[0.0], [0.5]], [[0.25], [1.0]], [[NAN], [NAN]], [[-0.1], [0.999]]])
    own = space(known=np.array([True, True, False, True]), failed=np.array([False, False, False, foot]), values=np.arange(4), points=points)  # fmt: skip
    colouring = Colouring(np.array([2, 0, 1, 1]), ("a", "b", "c", "d"), (), np.array([True, False, False, True]), [])  # fmt: skip
    column, row, kind = _dots(own, 0, (0.0, 1.0), colouring, True)
    dots = {*zip(column.tolist(), row.tolist(), kind.tolist(), strict=True)}
    rows = 420
    level = lambda x: rows - 1 - int(x * rows)  # noqa: E731
    wanted = set()
    for c, x, k, thick in ((0, 0.0, 2, True), (0, 0.5, 2, True), (1, 0.25, 0, False), (3, 0.999, 1, True)):  # fmt: skip
        for more in (0, 1, *([-1] if thick else [])):
            wanted.add((c, min(max(level(x) + more, 0), rows - 1), k))
    # the third is as its nearest known neighbour, the first of two
    wanted |= {(2, r, 0) for c, r, k in wanted if c == 1}
    if foot:
        wanted |= {(3, r, 3) for r in range(rows - 6, rows)}
    assert dots == wanted
    assert (np.diff(kind) <= 0).all()
    own.known[:] = False
    assert [len(one) for one in _dots(own, 0, (0.0, 1.0), colouring, True)] == [0, 0, 0]  # fmt: skip


# ---------------------------------------------------------------- stability


def test_growth_is_no_overshoot_and_limits_are_lines():
    step = np.array([0.1, 1.0, 10.0])
    one = bare(Stability, omega_h=step, radius=np.array([0.5, 1.0, 1.1]), overshoot_d=np.array([1.0, 2.0, 9.0]), overshoot_v=np.array([1.5, 0.5, 9.0]), damping=np.array([0.0, -0.7, 2.0]), limit=1.0)  # fmt: skip
    shown = [(one, "#111111", "A", {})]
    grids = {id(one.omega_h): step.astype(np.float32)}
    plot = _over_step(3, shown, grids, (0.1, 10.0), [])
    d, v, limit = plot.traces
    same(d, step, [1, 2, NAN])
    same(v, step, [1.5, 0.5, NAN])
    assert plot.y_range == extent([0.9, 1.5], [1.0, 2.0], [1.5, 1.0])
    same(limit, [1, 1], plot.y_range)
    assert limit["showlegend"]
    plot = _over_step(1, shown, grids, (0.1, 10.0), [one])
    damping, limit, mark = plot.traces
    same(damping, step, one.damping)
    assert plot.y_range == extent([-0.05, 0.05], [0.0, -0.5, 1.0])
    same(mark, step, one.damping)
    assert not limit["showlegend"]
    one = bare(Stability, omega_h=step, radius=one.radius, limit=20.0)  # fmt: skip
    plot = _over_step(0, [(one, "#111111", "A", {})], {id(one.omega_h): step}, (0.1, 10.0), [])
    assert plot.traces[1]["y"].tolist() == OFF[1].tolist()
    assert plot.y_range == extent([0.0, 1.5])


def test_a_run_of_the_oscillator_is_drawn_as_far_as_it_is_near():
    """Beside cos t; behind a size of 12 nothing; of many points at most 400."""
    runs = []
    for n, grows in ((60, False), (900, False), (30, True)):
        t = np.linspace(0, 10, n)
        q = 0.5**t if not grows else np.where(np.arange(n) < 20, 1.0, -13.0)
        runs.append(space(motion=space(t=t, q=q[:, None]), xi=0.0, grows=grows))
    plot = _oscillator(runs, ["a", "b", "c"])
    exact, third, second, first = plot.traces
    assert exact["y"] == pytest.approx(np.cos(exact["x"]), abs=1e-6)
    assert (exact["x"][0], exact["x"][-1], len(exact["x"])) == (0, 10, 250)
    assert (len(third["x"]), third["y"][-1]) == (21, -13)
    assert (len(second["x"]), len(first["x"])) == (300, 60)
    same(second, runs[1].motion.t[::3], 0.5 ** runs[1].motion.t[::3])
    assert ["markers" in t["mode"] for t in (third, second, first)] == [True, False, True]
    assert plot.y_range == extent([-12.0, 1.0])
    assert plot.x_range == (0.0, 10.0)


# ---------------------------------------------------------------- mechanisms


def test_a_spring_is_a_zigzag_and_an_arrow_has_a_head():
    for turn in (1.0, 1j, np.exp(0.7j)):
        ends = np.array([[0.0, 0.0], [np.real(10 * turn), np.imag(10 * turn)]]) + 3.0
        z = (_zigzag(ends, 0.5) - 3.0) @ [1, 1j] / turn
        at = np.linspace(0.1, 0.9, 12)
        wanted = [0, 0.8, *(10 * at + 0.5j * (-1) ** (1 + np.arange(12))), 9.2, 10]
        assert z == pytest.approx(np.array(wanted), abs=1e-12)
        barbs = (_head(*ends) - 3.0) @ [1, 1j] / turn
        assert barbs == pytest.approx(np.array([8 + 1j, 10, 8 - 1j]), abs=1e-12)
    twice = _zigzag(np.array([[0.0, 0], [1, 0], [1, 1]]), 0.1)
    assert len(twice) == 32
    assert np.isfinite(_zigzag(np.zeros((2, 2)), 0.1)).all()


def test_items_show_values_of_which_the_largest_is_shared():
    def shape(kind="line", role="body", n=2, value=None, unit="", label=""):
        return space(kind=kind, role=role, points=[()] * n, closed=kind == "circle", value=value, unit=unit, label=label)  # fmt: skip

    shapes = [shape(), shape("circle", "wire", 1, "i1", "A", "i_1"), shape(role="wire", value="i2", unit="A"), shape(role="lamp", value="i1", unit="V", label="a b")]  # fmt: skip
    items = items_of(shapes, np.array([0.0, 2.0, 0.0, 0.0]))
    assert [one.get("value") for one in items] == [None, 0, 1, 0]
    assert [one["radius"] for one in items] == [0, 2, 0, 0]
    assert [one["n"] for one in items] == [2, 1, 2, 2]
    _measure(items, np.array([[1.0, -7.0], [-3.0, NAN]]))
    assert [one.get("most") for one in items] == [None, 7.0, 7.0, 3.0]
    film = {"t": np.arange(3.0), "xy": np.array([[[0.0, 1.0], [2.0, 3.0]], [[0.0, 1.5], [2.0, 3.0]], [[0.0, 1.0], [2.0, 4.0]]])}  # fmt: skip
    lean = _lean(film)
    assert lean["moving"].tolist() == [1, 3]
    assert lean["xy"].tolist() == [[1, 3], [1.5, 3], [1, 4]]
    assert lean["still"].tolist() == [0, 1, 2, 3]
    rows = _rows(space(t=np.array([0.0, 1.0, 1.5, 4.0])), 5)
    assert rows.tolist() == [0, 1, 3, 3, 3]


# ---------------------------------------------------------------- trajectories


@for_each(("units", "groups"), [
    (["m", "m"], [[0, 1]]), (["m", "rad", "m"], [[0, 2], [1]]), (["a", "b", "c", "d"], [[0], [1], [2, 3]]), (["a", "b", "c", "d", "a"], [[0, 4], [1], [2, 3]]),
])  # fmt: skip
def test_states_share_a_plot_by_their_unit(monkeypatch, units, groups):
    put(monkeypatch, positions_plots, positions_plot=lambda run, points, ghosts, which=None: which)
    names = tuple(f"x{k}y" for k in range(len(units)))
    run = space(has_velocities=False, system=space(units=tuple(units), coordinates=names))
    assert positions_plots(run, None) == groups
    run.has_velocities = True
    assert positions_plots(run, None) == [None]


@for_each(("units", "which", "rate", "found"), [
    (("m", "rad"), None, False, " (m, rad)"), (("m", ""), None, False, " (m, 1)"), (("", ""), None, True, ""), (("m", "rad"), [1], True, " (rad/s)"), (("m", ""), None, True, " (m/s, 1/s)"),
])  # fmt: skip
def test_a_title_has_all_units_that_occur(units, which, rate, found):
    run = space(system=space(units=units, time_unit="s"))
    assert unit_of(run, rate, which) == found


@for_each(("q0", "v0", "known"), [(1.0, 0.0, True), (1.0 + 1e-5, 0.0, False), (1.0, 1e-5, False)])
def test_a_closed_form_is_drawn_on_both_sides_of_its_jumps(q0, v0, known):
    """At a jump it is asked for a little before and behind it; of many rows some are left out."""
    asked = []

    def exact(t, rho):
        asked.append(t.copy())
        return {"q": np.cos(t)[:, None], "v": -np.sin(t)[:, None]}

    run = space(system=space(exact=exact), rho={}, q=np.array([[q0]]), v=np.array([[v0]]))
    t = np.array([0.0, 1.0, 1.0, 2.0, 4.0])
    found = _exact(run, Rows(t, [], [], None, np.array([2])))
    assert asked[0] == pytest.approx([0, 1 - 4e-6, 1 + 4e-6, 2, 4], abs=1e-12)
    assert (found is not None) == known
    if known:
        times, form, torn = found
        assert times is t
        assert form[:, 0] == pytest.approx(np.cos(asked[0]))
        assert torn.tolist() == [2]
    many = np.linspace(0, 4, 50_001)
    found = _exact(run, Rows(many, [], [], None, np.array([777])))
    if known:
        times, form, torn = found
        assert 20_000 <= len(times) <= 25_010
        assert (times[0], times[-1], times[torn[0]]) == (0.0, 4.0, many[777])
        assert times[torn[0] - 1] == many[776]
    run.system.exact = None
    assert _exact(run, None) is None
