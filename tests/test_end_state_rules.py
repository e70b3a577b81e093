"""Schemes that a study of final states names, the values it runs, and its difference quotients."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue
from explorer.study import end_state
from explorer.study.end_state import EndCurve, EndState, _curve, _exact, _named, _values


@for_each(("given", "told"), [
    ({"a": 1, 2: "x"}, [("a", "chosen 1"), ("2", "chosen x")]), ("FESD", [("'chosen FESD'", "chosen FESD")]), ([1, 2], [("'chosen 1'", "chosen 1"), ("'chosen 2'", "chosen 2")]),
    (3, [("'chosen 3'", "chosen 3")]), (None, [("'chosen p'", "chosen p"), ("'chosen q'", "chosen q")]), ((), []),
])  # fmt: skip
def test_schemes_have_their_own_names_or_those_that_they_are_given(monkeypatch, given, told):
    asked = []
    put(monkeypatch, _named, choose=lambda system, one: f"chosen {one}" if system == "system" else None, schemes_for=lambda system, lessons: asked.append((system, lessons)) or ["p", "q"])  # fmt: skip
    assert _named("system", given) == told
    assert asked == ([("system", True)] if given is None else [])


@for_each(("values", "told"), [
    (None, np.linspace(-2, 6, 121).tolist()), ([3, 1.5], [3.0, 1.5]), ([1], [1.0]), ([0] * 2000, [0.0] * 2000), ([], "0 values of a: 1 to 2000"), ([0] * 2001, "2001 values of a"), (["x"], "a"),
])  # fmt: skip
def test_values_of_a_parameter_are_those_of_its_range_or_given(values, told):
    system = space(parameters={"a": ex.Param(1.0, -2, 6)})
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            _values(system, "a", values)
        return
    assert _values(system, "a", values).tolist() == told


def test_the_start_of_a_state_has_no_range():
    with pytest.raises(BadValue, match="start values of x are missing"):
        _values(space(parameters={}), "x", None)
    assert _values(space(parameters={}), "x", [0.25]).tolist() == [0.25]


def test_a_slope_is_a_central_difference():
    """Of the columns: at the value, above and below it by 1e-7."""
    ends = np.array([[1.0, 1.0 + 3e-7, 1.0 - 5e-7], [2.0, 2.5, 2.5]])
    found = _curve("a", ends)
    assert found.name == "a"
    assert found.x.tolist() == [1.0, 2.0]
    assert found.slope == pytest.approx([4.0, 0.0], rel=1e-6)


def test_the_end_of_a_closed_form_is_taken_at_the_parameters():
    asked = []

    def exact(t, values):
        asked.append((t.tolist(), values))
        return {"x": np.array([[3.0, 4.0]])}

    system = space(exact=exact, parameters=("a", "b"), rho=lambda given: [given["a"], 9.0])
    assert _exact(system, 2.0, {"a": 5.0}).tolist() == [3.0, 4.0]
    assert asked == [([2.0], {"a": 5.0, "b": 9.0})]


def test_a_final_state_tells_its_curves():
    none = np.zeros(1)
    curves = (EndCurve("exact", none, none), EndCurve("one", none, none))
    found = EndState(space(name="m"), 2.5, "x", "a", none, curves)
    assert repr(found) == "EndState(x(2.5) by a of 'm': exact, one)"
    assert found["one"] is curves[1]
    with pytest.raises(BadValue, match=r"no curve 'on'.*one"):
        found["on"]


def test_a_final_state_is_one_of_a_flow():
    with pytest.raises(BadValue, match=r"accepts systems x' = \.\.\., not MechanicalSystem"):
        end_state(ex.models.bouncing_ball())
