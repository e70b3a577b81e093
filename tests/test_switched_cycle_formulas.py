"""Cycles between surfaces: what misses their start is measured by the largest of each state."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue, ModelWarning, StepFailed
from explorer.study import held_cycles, switched_cycle
from explorer.study.orbit_diagram import _warned

COVERS = (
    "study/held_cycles.py",
    "study/orbit_diagram.py",
    "study/switched_cycle.py",
)  # see mutant_rooms.py


def orbit(end, peaks=(100.0, 1e-9), ok=True, last=2.0, S=None):
    """Return a map whose orbit over T = 2 ends there."""
    steps = space(y=np.array([[*peaks, 9.0], [-0.5, 0.0, 9.0]]))
    slopes = np.arange(9.0).reshape(3, 3) if S is None else S
    march = space(t_last=last, steps=steps, end=lambda: (2.0, np.array([*end, 9.0]), None, slopes))
    run = space(status=space(ok=ok, message="it stops"), march=march)
    asked = {}

    def ran(compiled, rho, T, **more):
        asked.update(more, given=(compiled, rho, T))
        return run

    P = space(system=space(name="m", time_unit="s"), scheme=space(run=ran), compiled="c", rho="r")
    return P, run, asked


@for_each(
    ("end", "residual"), [((2.0, 3.05), 0.5), ((3.0, 3.0), 0.02), ((1.0, 2.95), 0.5), ((1.0, 3.0), 0.0)]
)  # fmt: skip
def test_an_orbit_misses_its_start_in_parts_of_its_states(end, residual):
    """A state that hardly moves is measured by a thousandth of the largest one."""
    P, run, asked = orbit(end)
    x = np.array([1.0, 3.0])
    loop = switched_cycle._closed(P, x, 2.0)
    unit = np.array([100.0, 0.1])
    assert loop.residual == pytest.approx(residual, abs=1e-12)
    assert loop.residual == pytest.approx((abs(np.array(end) - x) / unit).max())
    assert loop.off.tolist() == (np.array(end) - x).tolist()
    assert loop.monodromy.tolist() == [[0, 1], [3, 4]]
    assert (loop.run, loop.T) == (run, 2.0)
    assert asked["given"] == ("c", "r", 2.0)
    assert (asked["wrt"], asked["t_eval"], asked["seeds"].tolist()) == (
        (-1, -1),
        [2.0],
        [[1, 0], [0, 1]],
    )


@for_each(("given", "kind"), [({"ok": False}, StepFailed), ({"last": 1.99}, StepFailed), ({"S": np.full((3, 3), np.nan)}, BadValue)])  # fmt: skip
def test_an_orbit_that_does_not_end_is_refused(given, kind):
    P, *_ = orbit((1.0, 3.0), **given)
    with pytest.raises(kind):
        switched_cycle._closed(P, np.array([1.0, 3.0]), 2.0)
    for T in (0.0, -1.0):
        with pytest.raises(BadValue, match="is not positive"):
            switched_cycle._closed(P, np.array([1.0, 3.0]), T)
        with pytest.raises(BadValue, match="is not positive"):
            switched_cycle._run(P, np.array([1.0, 3.0]), T)


@for_each(("states", "point"), [([[1.0, 2.0], [1.0, 2.0]], True), ([[1.0, 2.0], [1.0, 2.1]], False), ([[1.0, 2.0], [1.0 + 1e-12, 2.0]], True), ([[0.0, -3.0], [0.0, 3.0]], False)])  # fmt: skip
def test_a_point_is_no_cycle(states, point):
    loop = space(x=np.array([1.0, 2.0]), run=space(march=space(steps=space(y=np.array([[*row, 50.0 * k] for k, row in enumerate(states)])))))  # fmt: skip
    P = space(system=space(name="m"))
    if point:
        with pytest.raises(BadValue, match=r"tends to an equilibrium, x = \[1\.0, 2\.0\]"):
            switched_cycle._check_size(P, loop)
    else:
        switched_cycle._check_size(P, loop)


def test_a_cycle_begins_in_the_middle_of_its_longest_clear_piece(monkeypatch):
    pieces = [(0.0, 1.0, "a"), (1.0, 4.0, "b"), (4.0, 6.0, "c"), (6.0, 6.5, "d")]
    sampled = []

    def sample(t, slopes):
        sampled.append(t.tolist())
        return np.array([[t[0], 10 * t[0], 77.0]]), None

    P, run = space(system=space(name="m"), states=("x", "y")), space(march=space(sample=sample))
    for clear, told in (((2.5, 5.0), 2.5), ((5.0, 0.5), 5.0), ((0.5, 6.25), 0.5), ((), None)):
        misses = space(
            segments=lambda run, mode: pieces, clear=lambda run, t, mode, clear=clear: t in clear
        )
        put(monkeypatch, switched_cycle._beside, NearMisses=lambda system, misses=misses: misses)
        if told is None:
            with pytest.raises(BadValue, match="lies on its switching surfaces all the time"):
                switched_cycle._beside(P, run)
        else:
            assert switched_cycle._beside(P, run).tolist() == [told, 10 * told]


# ---------------------------------------------------------------- held starts


@for_each(("p", "step"), [(0.5, 1e-6), (4.0, 4e-6), (-4.0, 4e-6)])
def test_a_support_moves_a_start_by_a_difference(monkeypatch, p, step):
    """In parts of the parameter, but of one at least; across the rows it moves, along them not."""
    asked = []
    C = np.array([[3.0, 4.0]])

    def values(self, rho, x):
        asked.append(rho.tolist())
        return np.array([7.0 * rho[1]])

    put(monkeypatch, held_cycles.Held.along, slopes_of=lambda flow, rho, x, rows: C)
    own = type("Own", (held_cycles.Held,), {"_values": values})
    one = bare(own, flow="flow", rows=np.array([True]))
    stays, by = one.along(np.array([9.0, p]), np.zeros(2), 1)
    assert asked == [
        [9.0, pytest.approx(p - step, rel=1e-15)],
        [9.0, pytest.approx(p + step, rel=1e-15)],
    ]
    assert abs(asked[1][1] - asked[0][1]) == pytest.approx(2 * step, rel=1e-6)
    np.testing.assert_allclose(stays, np.eye(2) - np.outer([3.0, 4.0], [3.0, 4.0]) / 25)
    np.testing.assert_allclose(by, -np.array([3.0, 4.0]) / 25 * 7.0, rtol=1e-6)
    one.rows = np.zeros(0, bool)
    stays, by = one.along(np.array([9.0, p]), np.zeros(2), 1)
    assert (stays.tolist(), by.tolist()) == ([[1, 0], [0, 1]], [0, 0])


# ---------------------------------------------------------------- orbits that land


@for_each(
    ("cycles", "told"),
    [
        ([None, None], None),
        ([[[1.0, 2.0]], None], "At p = 0.5 the orbit of 'm' lands at 10"),
        ([None, [[9.0, 9.0], [3.0, 5.0]]], "At p = 0.75 the orbit of 'm' lands at 20"),
        ([[[1.0, 2.0]], [[9.0, 9.0]]], r"At p = 0.5 \(and at 1 more values\) the orbit of 'm' lands at 10"),
        ([[[3.0, 4.0]], [[9.0, 9.0], [5.0, 6.0]]], None),
    ],
)  # fmt: skip
def test_orbits_that_land_on_a_cycle_are_warned_of_unless_they_begin_there(
    monkeypatch, cycles, told
):
    system = bare(ex.MapSystem, name="m", coordinates=("x",))
    found = {10.0: cycles[0], 20.0: cycles[1]}
    put(monkeypatch, _warned, compile_map=lambda system: space(starts=lambda rho: np.array([[3.0, 4.0], [5.0, 6.0], [0.0, 0.0]])),
        landed=lambda compiled, x, rho: None if found[x[0]] is None else np.array(found[x[0]]),
        sentence=lambda names, x: f"lands at {x[0]:g}")  # fmt: skip
    members = space(rho=np.zeros((3, 1)))
    branch = space(question=space(members=lambda first, last: members, axes=space(size=3)), axes={"p": np.array([0.5, 0.75, 1.0])},
                   observed=space(end=np.array([[10.0], [20.0], [np.nan]])))  # fmt: skip
    one = space(system=system, branches={"up": branch}, by="p")
    if told is None:
        assert _warned(one) is one
        return
    with pytest.warns(ModelWarning, match=told):
        _warned(one)
