"""What pictures draw of values: regions, images, colours, derivatives, rows of runs."""

from __future__ import annotations

import importlib
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each

from explorer.views.drawing import decimate, one_sided, raster, regions, slopes, still_marks
from explorer.views.drawing.picture import COLOURS, OFF

recorded = importlib.import_module("explorer.views.drawing.recorded")
COVERS = (
    "views/drawing/decimate.py", "views/drawing/one_sided.py", "views/drawing/raster.py", "views/drawing/recorded.py",
    "views/drawing/regions.py", "views/drawing/slopes.py", "views/drawing/still_marks.py",
)  # fmt: skip  # see mutant_rooms.py
space = SimpleNamespace
EQUAL, CLOSE = np.testing.assert_array_equal, np.testing.assert_allclose


def test_lines_on_a_surface_have_points_in_every_cell():
    line = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.01], [1.0, 4.0]])
    found = regions._dense(line, ((0.0, 2.0), (0.0, 4.0)))
    cells = regions._GRID
    first, last = int(np.ceil(cells / 2)), int(np.ceil(cells * 3.99 / 4))
    assert len(found) == first + 1 + last + 1
    CLOSE(found[: first + 1, 0], np.linspace(0, 1, first + 1))
    EQUAL(found[0], line[0])
    CLOSE(found[-1], line[-1])
    CLOSE(found[first + 1], [1.0, 0.01])
    assert regions.tint("#1234ab", 0.5) == "rgba(18, 52, 171, 0.5)"
    assert regions.beside("c", 1) == "c &gt; 0"
    assert regions.beside("c", -1) == "c &lt; 0"
    x, y = regions._joined([np.zeros((2, 2)), np.ones((1, 2))])
    EQUAL([x, y], np.float32([[0, 0, np.nan, 1]] * 2))
    assert regions._joined([]) is OFF


@for_each(("up", "down", "kind"), [(-1.0, 1.0, "sliding"), (1.0, -1.0, "escaping"), (1.0, 1.0, "crossing"), (0.0, 1.0, "crossing"), (-1.0, 0.0, "crossing"), (0.5, -0.5, "escaping"), (0.0, -1.0, "crossing"), (1.0, 0.0, "crossing"), (-0.5, 0.5, "sliding")])  # fmt: skip
def test_a_surface_slides_where_both_fields_lead_to_it(up, down, kind):
    of = object.__new__(regions.Regions)
    line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]])
    of._states = lambda x, y: (x, y)
    of.equations = space(functions=lambda x, y: (np.full((3, 2), 5.0), np.tile([[[9.0, 9.0], [0.0, 2.0]]], (3, 1, 1))))  # fmt: skip
    of._flow = lambda x, y, sides: np.column_stack([np.full(3, 7.0), np.where(sides[:, 1] > 0, up, down)])  # fmt: skip
    found = {"crossing": [], "sliding": [], "escaping": []}
    of._sort(line, 1, found)
    assert {name for name, some in found.items() if some} == {kind}
    EQUAL(found[kind][0], line)


def test_an_image_reaches_over_its_ranges():
    found = raster.placed(b"png", (1.0, 4.0), (-2.0, 5.0), "3")
    assert (found["xref"], found["yref"], found["x"], found["y"]) == ("x3", "y3", 1.0, 5.0)
    assert (found["sizex"], found["sizey"]) == (3.0, 7.0)


def test_colours_and_entries_are_read_as_they_are_written():
    assert still_marks._rgb("#12ab0f") == [18, 171, 15]
    assert still_marks._rgb("rgba(1, 20.7, 255, 0.5)") == [1, 20, 255]
    assert [still_marks._own(values, 1) for values in ("ab", ["a", "b"], np.array([3, 4]), 7, np.array(5))] == ["ab", "b", 4, 7, 5]  # fmt: skip


@for_each(("source", "place", "told"), [("q", 1, "S1"), ("v", 2, "S2"), ("z", 3, "z"), ("lam_phi", 4, "f0"), ("lam_phi", 5, "f1")])  # fmt: skip
@for_each("own", [True, False])
def test_a_derivative_is_read_at_its_place(source, place, told, own):
    """States and the cost, then the forces of constraints: less what Lam tells."""
    S, Z = np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(2, 4) + 100
    Lam = np.arange(32.0).reshape(2, 4, 4)
    whole = np.concatenate([S + 50, (Z + 50)[:, None]], axis=1)
    rows = space(S=whole, recorded_row=lambda name: {"Lam": Lam}[name], system=space(constraints="ab"))  # fmt: skip
    sens = space(own=(S, Z) if own else None, question=space(cost=space(flow=space(n_x=3))))
    found = slopes._slopes(sens, space(rows=rows), place, 2)
    if told[0] == "f":
        EQUAL(found, -Lam[:, 2 + int(told[1]), 2])
    else:
        EQUAL(found, (S[:, place, 2] if place < 3 else Z[:, 2]) if own else whole[:, place, 2])


@for_each(("thinned", "names", "name", "units", "title"), [
    (False, ["x"], "q", ["m"], "x (m)"), (True, ["x"], "v", ["m"], "x\u0307 (m/s)"), (False, ["x", "phi"], "q", ["m", ""], "q (m, 1)"), (True, ["x", "phi"], "v", ["m", ""], "q\u0307 (m/s, 1/s)"), (False, ["phi"], "q", [""], "φ"),
])  # fmt: skip
def test_recorded_rows_are_marks_where_steps_are_left_out(thinned, names, name, units, title):
    t = np.linspace(0.0, 2.0, 5)
    values = np.column_stack([t + k for k in range(len(names))])
    system = space(coordinates=names, units=units, time_unit="s", discrete=False)
    kept = space(kept=lambda of: names, thinned=thinned, steps=99)
    plot = recorded._plot(space(q=values, v=values, t=t, system=system), kept, name)
    assert plot.y_title == title
    assert plot.x_title == "time t (s)" + "; 5 rows of 99 steps" * thinned
    assert plot.x_range == (0.0, 2.0)
    for k, trace in enumerate(plot.traces):
        EQUAL([trace["x"], trace["y"]], [t, t + k])
        assert (trace["mode"] == "markers", "breaks" in trace) == (thinned, not thinned)
        assert trace["line"]["color"] == COLOURS[k]


@for_each(("rows", "told"), [(9, True), (8, False), (15, True), (16, False)])
def test_rows_of_a_run_are_enough_where_they_are_as_many_and_as_even(rows, told):
    grid = np.linspace(0.0, 1.0, 10)
    run = space(t=np.linspace(0.0, 1.0, rows))
    assert one_sided._dense(run, grid) == told
    run.t = np.sort(np.append(run.t[1:-1] ** 3, [0.0, 1.0]))
    assert not one_sided._dense(run, grid)
    assert not one_sided._dense(space(t=grid, _fill=1), grid)


def test_a_time_is_added_in_the_middle_of_every_bend():
    """Where the chord is off by more than a thousandth of the range; nowhere else."""
    asked = []

    def sample(t, exact):
        asked.append(t)
        x = np.where(t < 0.5, 0.0, (t - 0.5) ** 2)
        return np.column_stack([x, np.zeros_like(t), t * 1e9]), None

    march = space(
        knots=np.array([0.1234]), hits=np.array([0.75]), n_x=2, sample=sample, of_elements=False
    )
    run = space(march=march, t=np.array([0.0, 1.0]))
    even = np.linspace(0.0, 1.0, decimate._EVEN + 1)
    plain = decimate._times(run, None, 0.0, 1.0)
    EQUAL(plain, np.union1d(even[~np.isclose(even, 0.75, atol=1e-12)], [0.1234]))
    zoomed = decimate._times(run, None, 0.0, 500.0)
    added = np.setdiff1d(zoomed, plain)
    assert (added > 0.5).all()
    assert len(added) >= 145
    window = decimate._times(run, (-1.0, 0.25), 4.0, 1.0)
    EQUAL(window, np.union1d(plain, np.linspace(0.0, 0.25, 14)))
    march.of_elements = True
    assert len(decimate._times(run, None, 0.0, 1.0)) == decimate._FINER + 1


@for_each(("discrete", "resets", "n"), list(itertools.product((True, False), (True, False), (1, 2))))  # fmt: skip
def test_curves_of_a_run_share_their_rows(discrete, resets, n):
    q, v = np.arange(4.0 * n).reshape(4, n), -np.arange(4.0 * n).reshape(4, n)
    q[2], v[3] = q[1], v[2]
    run = space(system=space(discrete=discrete), has_velocities=not resets, q=q, v=v, rates=v, t=np.arange(4.0), jump_rows=[1],
                has=lambda name: True, event_rows=[(1, "a"), (2, "b"), (3, "c"), (3, "d")])  # fmt: skip
    if discrete:
        with pytest.raises(decimate.BadValue):
            decimate.rows(run)
        return
    found = decimate.rows(run)
    EQUAL([found.q, found.v], [q.T, v.T])
    wild = [1] if not resets else [1, 2] if n == 1 else [1, 3]
    assert found.jumps.tolist() == wild
    assert found.torn.tolist() == (wild if resets else [])
