"""Where pictures put what they draw: arrows of contacts, curves of plans, axes in px."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each

from explorer.views.drawing import (
    contact_arrows,
    decimate,
    disc_places,
    parts,
    plan_curves,
    polyline,
)
from explorer.views.drawing.picture import curve

COVERS = (
    "views/drawing/contact_arrows.py", "views/drawing/disc_places.py", "views/drawing/parts.py", "views/drawing/plan_curves.py",
    "views/drawing/polyline.py",
)  # fmt: skip  # see mutant_rooms.py
space = SimpleNamespace
EQUAL, CLOSE = np.testing.assert_array_equal, np.testing.assert_allclose


# ---------------------------------------------------------------- arrows of contacts


class Places:
    """Two contacts of three, the first of one body with another."""

    contacts = (2, 0)

    def __init__(self, rows):
        self.place = np.random.default_rng(1).normal(size=(rows, 2, 10))

    def at(self, rows):
        return self.place[rows]

    def paired(self, rows):
        return np.tile([True, False], (len(rows), 1))


@for_each("plane", [True, False])
def test_forces_are_those_of_frames_in_which_they_change(monkeypatch, plane):
    """Normal and friction, with the coefficient; on the other body the opposite, where it is met."""
    rng, found = np.random.default_rng(2), Places(5)
    found.place[..., 6:8] = rng.normal(size=(5, 2, 2))
    lam = np.abs(rng.normal(size=(5, 3))) + 0.5
    lam[1, 2], lam[2, 0], lam[3, 2] = 0.5e-3 * 9.0, np.nan, 0.0
    lam[4, 2] = 9.0
    lam_t = rng.normal(size=(5, 3) if plane else (5, 3, 2))
    run = space(lam=lam, lam_t=lam_t, lam_max=2 * np.nan_to_num(lam))
    does = rng.integers(1, 5, (5, 3))
    monkeypatch.setattr(contact_arrows, "doing", lambda solution: does)
    frames = np.arange(5)
    changes, rows = contact_arrows._forces(found, run, frames)
    assert changes.tolist() == [0, 1, 2, 3, 4]
    wanted = []
    for i in range(5):
        own, other = [], []
        for k, c in enumerate(found.contacts):
            if not lam[i, c] > 1e-3 * 9.0:
                continue
            place = found.place[i, k]
            normal = lam[i, c] * place[2:4]
            rub = lam_t[i, c] * place[4:6] if plane else lam_t[i, c, 0] * place[4:6] + lam_t[i, c, 1] * place[8:10]  # fmt: skip
            own.append([i, c, does[i, c], *place[:2], *normal, *rub, 2.0 * plane])
            if k == 0:
                other.append([i, c, does[i, c] * 1, *place[6:8], *-normal, *-rub, 0.0])
        wanted += [(i, own), (i, other)]
    assert len(rows) == sum(len(some) for _, some in wanted)
    for i, some in wanted:
        for one in some:
            near = rows[np.abs(rows - np.float32(one)).max(axis=1) < 1e-5]
            assert len(near) == 1, (i, one)
    assert (np.diff(rows[:, 0]) >= 0).all()
    assert rows.dtype == np.float32
    lam[:] = 0.0
    assert len(contact_arrows._forces(found, run, frames)[1]) == 0


@for_each(("steps", "most", "kept"), [
    ([0.0, 0.0, 0.5, 0.5], 9, [0, 2]), ([0.0, 1e-3, 1.5e-3, 2.1e-3], 9, [0, 2]), ([0.0, 0.001, 0.0011, 0.0022], 9, [0, 2, 3]), ([0.0, 1.0, 2.0, 3.0], 4, [0, 1, 2, 3]), ([0.0, 1.0, 2.0, 3.0], 3, [0, 2]), ([0.0, 1.0, 2.0, 3.0], 1, [0]),
    ([0.0, 0.0015, 0.003, 0.5], 3, [0, 2, 3]),
])  # fmt: skip
def test_frames_are_kept_that_do_not_look_like_the_one_before(monkeypatch, steps, most, kept):
    """By a thousandth; by twice as much as often as there are too many arrows."""
    monkeypatch.setattr(contact_arrows, "_FORCES", most)
    looks = np.array(steps)[:, None, None]
    assert contact_arrows._changes(looks, np.ones((len(steps), 1), bool)).tolist() == kept


@for_each("plane", [True, False])
def test_impulses_are_those_of_the_largest_impacts(monkeypatch, plane):
    monkeypatch.setattr(contact_arrows, "_IMPACTS", 2)
    found, rng = Places(6), np.random.default_rng(3)
    p_t = rng.normal(size=(6, 3) if plane else (6, 3, 2))
    event = lambda kind, index, row, size: space(kind=kind, index=index, row=row, impulse=size, t=0.5 * row)  # noqa: E731  # fmt: skip
    events = [event("impact", 0, 4, 3.0), event("impact", 1, 1, 9.0), event("closed", 0, 2, 9.0), event("impact", 2, 3, 2.0), event("impact", 0, 5, 1.0)]  # fmt: skip
    rows = contact_arrows._impulses(found, space(events=events, p_t=p_t))
    wanted = []
    for row, c, k, size in ((3, 2, 0, 2.0), (4, 0, 1, 3.0)):
        place = found.place[row, k]
        rub = p_t[row, c] * place[4:6] if plane else p_t[row, c, 0] * place[4:6] + p_t[row, c, 1] * place[8:10]  # fmt: skip
        push = size * place[2:4] + rub
        wanted.append([0.5 * row, c, *place[:2], *push])
        if k == 0:
            wanted.append([0.5 * row, c, *place[6:8], *-push])
    CLOSE(rows, wanted, rtol=1e-5)
    none = contact_arrows._impulses(found, space(events=events[1:3], p_t=p_t))
    assert none.shape == (0, 6)


def test_discs_touch_each_other_and_walls_at_their_rims():
    """Friction acts along the normal, turned to the left."""
    of = object.__new__(disc_places.OfDiscs)
    of.contacts, of.radii = range(10), np.array([0.5, 0.25])
    of.walls = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [-0.6, 0.8, 2.0]])
    partner = np.full((1, 10), -1)
    partner[0, :4], partner[0, 5:8] = [1, -2, -3, -9], [0, -1, -2]
    of.solution = space(q=np.array([[1.0, 2.0, 9.0, 4.0, 6.0, 9.0]]), partner=partner)
    found = of.at(np.array([0]))[0]
    apart = np.array([-0.6, -0.8])
    normals = {0: apart, 1: of.walls[1, :2], 2: of.walls[2, :2], 3: of.walls[2, :2], 4: of.walls[0, :2], 5: -apart, 6: of.walls[0, :2], 7: of.walls[1, :2]}  # fmt: skip
    for k, n in normals.items():
        middle, radius = ([1.0, 2.0], 0.5) if k < 5 else ([4.0, 6.0], 0.25)
        CLOSE(found[k, :2], middle - radius * n)
        CLOSE(found[k, 2:4], n)
        CLOSE(found[k, 4:6], [-n[1], n[0]])
        CLOSE(found[k, 6:8], found[k, :2])
    assert of.paired(np.array([0]))[0].tolist() == [k in (0, 5) for k in range(10)]


# ---------------------------------------------------------------- plans


def test_a_plan_is_drawn_along_its_polynomials():
    """Five times in each element that lasts; where a state begins anew it jumps."""
    h = np.array([0.5, 0.0, 0.25, 1.0])
    begun = np.array([[1.0, 0.0], [5.0, 5.0], [2.0, 1.0], [3.0, 7.0], [9.0, 9.0]])
    stages = np.random.default_rng(1).normal(size=(4, 2, 2))
    stages[0, -1], stages[2, -1] = [2.0, 1.0], [3.0 + 9e-6, 7.0 - 1e-3]
    c = np.array([0.5, 1.0])
    program = space(
        of={"x": slice(None)}, begun=lambda w, p: begun.T, grid=space(method=space(c=c))
    )
    plan = space(outcome=space(program=program, w=stages, p=None), t=np.array([2.0]), t_end=1.75)
    plan_curves_lengths, plan_curves.lengths = plan_curves.lengths, lambda program, w: h
    try:
        t, x, jumps = plan_curves.pieces(plan)
    finally:
        plan_curves.lengths = plan_curves_lengths
    real, fine = [0, 2, 3], np.linspace(0, 1, 5)
    starts = 2.0 + np.array([0.0, 0.5, 0.75])
    CLOSE(t, (starts[:, None] + h[real][:, None] * fine).ravel())
    for place, e in enumerate(real):
        values = np.vstack([begun[e], stages[e]])
        for j in range(2):
            line = np.polynomial.polynomial.polyfit([0.0, 0.5, 1.0], values[:, j], 2)
            CLOSE(x[5 * place : 5 * place + 5, j], np.polynomial.polynomial.polyval(fine, line), atol=1e-9)  # fmt: skip
    assert jumps.tolist() == [10]


@for_each(("t", "told"), [([0.0, 1.0, 1.0, 2.0], [2]), ([0.0, 1.0, 1.0 + 2e-9, 2.0], [2]), ([0.0, 1.0, 1.0 + 2.1e-9, 2.0], []), ([0.0, 0.0, 2.0], [1])])  # fmt: skip
def test_states_jump_between_times_that_are_one(t, told):
    run = space(t=np.array(t), x=np.zeros((len(t), 1)))
    for made in (plan_curves.replayed_curve, plan_curves.course_curve):
        assert made(run)[2].tolist() == told


def test_steps_are_strokes_with_gaps_between():
    x, y = plan_curves.steps(np.array([0.0, 1.0, 3.0]), np.array([5.0, 7.0]))
    EQUAL(x, [0, 1, np.nan, 1, 3, np.nan])
    EQUAL(y, [5, 5, np.nan, 7, 7, np.nan])


@for_each(("low", "high", "seen"), [(-3.0, 4.0, (-3.0, 4.0)), (-3.1, 4.1, (0.0, 1.0)), (-np.inf, 2.0, (0.0, 2.0)), (0.5, np.inf, (0.0, 1.0)), (-np.inf, np.inf, (0.0, 1.0))])  # fmt: skip
def test_bounds_are_seen_that_are_near(low, high, seen):
    trace, range_ = plan_curves.range_of(low, high, (0.0, 2.0), "#123456", np.array([0.0, np.nan]), np.array([1.0, np.inf]))  # fmt: skip
    assert range_ == plan_curves.extent([*seen])
    if np.isfinite([low, high]).any():
        wanted = [x if np.isfinite(x) else np.nan for x in (low, low, np.nan, high, high, np.nan)]
        CLOSE(trace["y"], np.float32(wanted))
        EQUAL(trace["x"], np.float32([0, 2, np.nan] * 2))
    else:
        assert trace["y"][0] < -1e8
    flat = plan_curves.range_of(2.0 + 5e-6, 9.0, (0.0, 1.0), "#1", np.array([2.0]))[1]
    assert flat == plan_curves.extent([2.0, 2.0 + 5e-6])


def test_a_stroke_is_of_single_precision_unless_it_is_searched():
    for more, kind in (({}, np.float32), ({"breaks": decimate.NONE}, np.float64)):
        trace = plan_curves.stroke(np.zeros(2), np.ones(2), "#1", "x", "m", **more)
        assert (trace["x"].dtype, trace["y"].dtype, trace["name"]) == (kind, kind, "x")


# ---------------------------------------------------------------- what a run has


def run_with(*has, **more):
    given = {"contacts": (), "rough": (), "switches": (), "n": 1, "changes": (), "coordinates": ["x"], **more}  # fmt: skip
    arrays = {"p": np.zeros((2, given.pop("impulses", 0))), "lam": np.zeros((2, given.pop("laws", 0))), "phi": np.zeros((2, given.pop("bound", 0)))}  # fmt: skip
    return space(system=space(**given), has=lambda name: name in has, by_laws="laws" in has, has_velocities=given.pop("speeds", True), **arrays)  # fmt: skip


@for_each(("part", "run", "there"), [
    (parts.has_contacts, run_with(contacts="c", impulses=1), True), (parts.has_contacts, run_with(contacts="c"), False), (parts.has_contacts, run_with(impulses=1), False),
    (parts.has_friction, None, False), (parts.has_friction, run_with(), False), (parts.has_friction, run_with(rough="r"), True), (parts.has_constraints, run_with("constraints", bound=1), True),
    (parts.has_constraints, run_with("constraints"), False), (parts.has_constraints, run_with(bound=1), False), (parts._has_multipliers, run_with("laws", laws=1), True), (parts._has_multipliers, run_with("laws"), False),
    (parts._has_multipliers, run_with(laws=1), False), (parts._has_switches, run_with("boundaries", switches="s"), True), (parts._has_switches, run_with("boundaries"), False), (parts._has_switches, run_with(switches="s"), False),
    (parts._has_phase_plane, run_with("boundaries", n=2), True), (parts._has_phase_plane, run_with("boundaries", n=1), False), (parts._has_phase_plane, run_with(n=2), False),
    (parts._has_one_step_problem, run_with(contacts="c", impulses=1), True), (parts._has_one_step_problem, run_with("march", contacts="c", impulses=1), False), (parts._has_one_step_problem, run_with(), False),
    (parts._has_located_impacts, run_with("march", contacts="c", impulses=1), True), (parts._has_located_impacts, run_with(contacts="c", impulses=1), False), (parts._has_located_impacts, run_with("march", changes="c"), True),
    (parts._has_located_impacts, run_with("march"), False), (parts._has_located_impacts, run_with("march", "pseudo", changes="c"), False), (parts._has_located_impacts, run_with("march", changes="c", speeds=False), False),
])  # fmt: skip
def test_a_part_is_there_where_a_run_records_it(part, run, there):
    assert bool(part(run)) == there


@for_each(("many", "speeds", "y", "x", "told"), [
    (6, True, (1, False), None, {"y": "q0.b"}), (6, True, (1, True), (0, False), {"x": "q0.a", "y": "v0.b"}), (7, True, (1, False), None, {}), (2, False, (1, True), None, {}), (2, False, (1, False), (0, False), {"x": "x0.a", "y": "x0.b"}),
])  # fmt: skip
def test_a_first_point_is_dragged_by_its_settings(many, speeds, y, x, told):
    run = run_with(coordinates=[*"abcdefg"[:many]], speeds=speeds)
    run.has_velocities = speeds
    assert parts.start(run, y, x) == told


# ---------------------------------------------------------------- axes in px


@for_each(("values", "ends", "told"), [
    ([2.0, 3.0, 4.0], None, [0, 50, 100]), ([1.6, 4.4], None, [-20, 120]), ([1.0, 5.0], None, [-30, 130]), ([-100.0, 2.0], None, None), ([2.5], (0.0, 9.0), [25]), ([1.9], (1.9, 4.0), [-5]),
])  # fmt: skip
def test_pixels_are_parts_of_the_window(values, ends, told):
    """From 2 to 4 over 100 px; what lies beyond is pressed together where it is far."""
    axis = polyline.Axis(2.0, 4.0, 100.0)
    room = polyline._OUTSIDE * 100.0
    found = axis.pixels(np.array(values), ends)
    if told is None:
        assert found.tolist() == pytest.approx([-min(room, 5100.0), 0.0])
        return
    assert found.tolist() == pytest.approx(told)
    for out in (2.0 - 3 * room / 50, 4.0 + 3 * room / 50):
        far = axis.pixels(np.array([out, 2.5, 2.0, 4.0]))
        assert far.tolist() == pytest.approx([-room if out < 2 else 100 + room, 25, 0, 100])
        CLOSE(axis.values(far, (min(out, 2.0), max(out, 4.0))), [out, 2.5, 2.0, 4.0])
    edge = 2.0 - room / 50
    assert axis._pressed(edge, 4.0 + room / 50) == pytest.approx((1.0, 1.0))
    log = polyline.Axis(0.0, 2.0, 100.0, True)
    assert log.pixels(np.array([1.0, 10.0, 100.0])).tolist() == [0.0, 50.0, 100.0]
    assert polyline.Axis(3.0, 3.0, 10.0).pixels(np.array([4.0])).tolist() == [10.0]


@for_each(("since", "end", "told"), [(0.12, 10.0, 0.5), (0.5, 10.0, 0.5), (0.51, 10.0, 1.0), (9.97, 10.0, 9.97), (9.971, 10.0, 9.975), (10.0, 10.0, 10.0), (3.0, 104.0, 50.0)])  # fmt: skip
def test_a_curve_is_cut_at_a_round_time(since, end, told):
    """Half of a power of ten of what is left; never behind the end."""
    assert polyline._round(since, end) == pytest.approx(told)


@for_each(("size", "coarse", "part"), [(polyline._USUAL, 1.0, 1.0), (2 * polyline._USUAL, 1.0, 1.0), (polyline._USUAL / 4, 1.0, 0.25), (polyline._USUAL, 1.5, 0.5), (polyline._USUAL, 2.0, 0.5)])  # fmt: skip
def test_a_curve_that_goes_round_too_often_is_drawn_from_a_time_on(monkeypatch, size, coarse, part):
    """As many of its last points as the plot has room for."""
    most = int(polyline._MOST * part)

    class Chosen:
        def __init__(self, trace, box, rows):
            self.timed, self.t, self.since = True, trace["meta"]["t"], None
            self.across = np.arange(len(self.t))

        def cut(self, since):
            self.since = since

        def points(self, shared, kind):
            return np.zeros(1, kind), np.full(1, -1.0 if self.since is None else self.since), self.t  # fmt: skip

    monkeypatch.setattr(polyline, "_Chosen", Chosen)
    monkeypatch.setattr(polyline, "_across", lambda *given: None)
    monkeypatch.setattr(polyline, "_round", lambda since, end: (since, end))
    axis = polyline.Axis(0.0, 1.0, float(size))
    for count in (most, most + 1):
        t = np.arange(float(count))
        trace = curve(t, t, "#1", breaks=decimate.NONE, meta={"t": t})
        box = polyline.Box(axis, axis, False, coarse)
        if count == most:
            assert polyline.draw([trace], box, polyline.Shared()) is None
            continue
        with pytest.raises(TypeError):  # a pair is no time
            polyline.draw([trace], box, polyline.Shared())
        monkeypatch.setattr(polyline, "_round", lambda since, end: since)
        trace = curve(t, t, "#1", breaks=decimate.NONE, meta={"t": t})
        assert polyline.draw([trace], box, polyline.Shared(), double=True) == 1.0
        assert trace["x"].dtype == np.float64
