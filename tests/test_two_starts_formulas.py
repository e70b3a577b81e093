"""Two starts part by part: which runs are made, what is predicted of them, and what is said."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, ExplorerError
from explorer.study.two_starts import Apart

module = importlib.import_module("explorer.study.two_starts")  # the package holds the function
RANGES = np.array([2.0, 4.0])


def test_a_distance_is_the_root_of_the_mean_square():
    found = module._norm(np.array([[2.0, 4.0], [0.0, 8.0], [-6.0, 0.0]]), RANGES)
    assert found == pytest.approx([1.0, np.sqrt(2.0), np.sqrt(4.5)])


@for_each("velocities", [True, False])
def test_rows_have_all_states(velocities):
    run = space(q=np.array([[1.0], [2.0]]), v=np.array([[3.0], [4.0]]), has_velocities=velocities)
    assert module._rows_of(run).tolist() == ([[1, 3], [2, 4]] if velocities else [[1], [2]])
    run = space(
        system=ex.models.bouncing_ball(),
        march=space(sample=lambda t, exact: (np.array([[*t, 5.0, 99.0]]), exact)),
    )
    assert module._states(run, np.array([7.0])).tolist() == [[7.0, 5.0]]


# ---------------------------------------------------------------- predictions


def predicted(
    monkeypatch,
    d=(0.0, 0.5),
    own=True,
    kind=True,
    S=None,
    cautions=(),
    rows=(0, 1, 2, 2, 0),
    fails=False,
):
    """Return what is predicted of two states, of whose derivative the columns in `d` are asked for."""
    asked = {}
    S = np.arange(9.0).reshape(3, 3, 1) if S is None else S

    def trajectory(t):
        asked["t"] = t
        return space(t=np.array([0.0, 1.0, 1.0]), S=S, located=[space(row=r) for r in rows])

    def sensitivity(system, chosen, wrt, **more):
        asked.update(chosen=chosen, wrt=wrt, more=more)
        if fails:
            raise ExplorerError("no derivative")
        return space(
            solution=space(march=space(t_last=3.0, trajectory=trajectory)), cautions=cautions
        )

    scheme, other = (
        space(differentiates=lambda system: own),
        space(differentiates=lambda system: kind),
    )
    put(monkeypatch, module._predicted, sensitivity=sensitivity, locating=lambda system: other)
    found = module._predicted(
        space(), scheme, ("x", "y"), np.array(d), RANGES, {"t_end": 3.0, "x0": None}, None
    )
    return found, asked, (scheme, other)


@for_each("own", [True, False])
def test_a_distance_to_first_order_is_that_of_the_derivative_along_the_offset(monkeypatch, own):
    """By the scheme if it differentiates, or by one that does; what is not offset is not asked for."""
    (found, caution), asked, (scheme, other) = predicted(monkeypatch, own=own)
    assert (asked["chosen"], asked["wrt"]) == (scheme if own else other, ["y"])
    assert asked["more"] == {"t_end": 3.0}
    np.testing.assert_allclose(asked["t"], np.linspace(0, 3, module._EVEN + 1))
    S = np.arange(9.0).reshape(3, 3)[:, :2]
    assert found.distance == pytest.approx(module._norm(0.5 * S, RANGES))
    assert found.t.tolist() == [0.0, 1.0, 1.0]
    assert found.jumps.tolist() == [1, 2]
    assert caution == ""


def test_offsets_of_several_states_add_up(monkeypatch):
    S = np.arange(18.0).reshape(3, 3, 2)
    (found, _), asked, _ = predicted(monkeypatch, d=(0.25, -0.5), S=S)
    assert asked["wrt"] == ["x", "y"]
    assert found.distance == pytest.approx(module._norm(S[:, :2] @ [0.25, -0.5], RANGES))


@for_each(
    ("given", "told"),
    [
        ({"cautions": ("One.", "Two.")}, "One. Two."),
        (
            {"S": np.full((3, 3, 1), np.nan)},
            "The prediction ends where an event is met without speed.",
        ),
        ({"S": np.full((3, 3, 1), np.nan), "cautions": ("One.",)}, "One."),
        ({"fails": True}, "Nothing is predicted: no derivative"),
        ({"own": False, "kind": False}, "No scheme locates the events"),
    ],
)
def test_what_is_not_predicted_is_said(monkeypatch, given, told):
    (found, caution), _, _ = predicted(monkeypatch, **given)
    assert caution.startswith(told)
    assert (found is None) is ("fails" in given or "kind" in given)


def test_of_a_map_the_slopes_of_its_iterates_are_multiplied(monkeypatch):
    """Each at its own state and time; the parameters stand behind."""
    asked = []

    def native(inp):
        asked.append(inp.tolist())
        x, y = inp[1:3]
        return np.array([0.0, 0.0, x, 1.0, 0.5, y, 77.0])

    put(monkeypatch, module._of_map, compile_map=lambda system: space(
        tangents=native, n_x=2, input=lambda rho: np.array([0.0, 0.0, 0.0, *rho])))  # fmt: skip
    q = np.array([[2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    run = space(system="map", rho={"a": 8.0}, t=np.array([0.0, 1.0, 2.0]), q=q)
    d = np.array([0.1, -0.2])
    found = module._of_map(run, d, RANGES)
    one = np.array([[2.0, 1.0], [0.5, 3.0]]) @ d
    two = np.array([[4.0, 1.0], [0.5, 5.0]]) @ one
    assert found.distance == pytest.approx(module._norm(np.array([d, one, two]), RANGES))
    assert asked == [[0.0, 2.0, 3.0, 8.0], [1.0, 4.0, 5.0, 8.0]]
    assert (found.t.tolist(), found.jumps.tolist()) == ([0, 1, 2], [])
    put(monkeypatch, module._predicted, _of_map=lambda run, d, ranges: (run, d, ranges))
    tent = ex.models.tent_map()
    assert module._predicted(tent, None, (), "d", "ranges", {}, "first") == (
        ("first", "d", "ranges"),
        "",
    )


# ---------------------------------------------------------------- whole comparisons


@for_each(
    ("velocities", "marched", "distance", "taken"),
    [
        (True, False, [1.0, 2.0], False),
        (True, True, [1.0, 2.0], False),
        (False, False, [0.0, 2.0], True),
    ],
)
def test_the_second_run_begins_beside_the_first(monkeypatch, velocities, marched, distance, taken):
    """At what the first one has begun with; a state at rest is measured by its size, or by 1."""
    asked = []
    rows = np.array([[5.0, 0.25, 3.0], [7.0, 0.25, 3.0]])

    def simulate(system, scheme, **given):
        asked.append((scheme, given))
        return space(q=rows[:, :2] if velocities else rows, v=rows[:, 2:], has_velocities=velocities,
                     has=lambda what: marched)  # fmt: skip

    put(monkeypatch, inspect.unwrap(ex.study.two_starts), simulate=simulate, choose=lambda system, scheme: "chosen",
        state_names=lambda system: ("x", "y", "z"), _apart=lambda first, second, ranges: Apart(None, np.array(distance), None),
        _states=lambda run, t: rows[:1] + 100 if t.tolist() == [0.0] else None,
        _predicted=lambda *given: asked.append(given) or ("predicted", "a caution"))  # fmt: skip
    system = ex.models.bouncing_ball()
    found = inspect.unwrap(ex.study.two_starts)(
        system, offset={"z": 0.5, "x": -1}, t_end=2.0, q0=1.0, rho={"a": 1}, b=2
    )
    (_, first), (_, second), given = asked
    assert first == {"t_end": 2.0, "rho": {"a": 1, "b": 2}, "q0": 1.0}
    begin = rows[0] + 100 * marched + [-1.0, 0.0, 0.5]
    if velocities:
        assert (second.pop("q0").tolist(), second.pop("v0").tolist()) == (
            begin[:2].tolist(),
            [begin[2]],
        )
    else:
        assert second.pop("x0").tolist() == begin.tolist()
    assert second == {"t_end": 2.0, "rho": {"a": 1, "b": 2}}
    start = rows[0] + 100 * marched
    assert found.ranges.tolist() == [2.0, max(start[1], 1.0), start[2]]
    assert given[3].tolist() == [-1.0, 0.0, 0.5]
    assert given[4] is found.ranges
    assert found.offset == {"x": -1.0, "z": 0.5}
    assert found.predicted == "predicted"
    assert found.caution == ("The offset of x and z is taken back: constraints or contacts hold this state at the "
                             "start. Offset another one." if taken else "a caution")  # fmt: skip


def test_an_offset_names_states_and_is_not_zero():
    assert module._direction(space(name="m"), ("x", "y"), {"y": 2}).tolist() == [0.0, 2.0]
    for wrong in ({}, None, {"z": 1.0}, {"x": 0.0}, {"x": np.inf}):
        with pytest.raises(BadValue):
            module._direction(space(name="m"), ("x", "y"), wrong)
    assert module._there({"a": None, "b": 0, "c": ""}) == {"b": 0, "c": ""}
