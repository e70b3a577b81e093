"""What a derivative is asked by: names of parameters, starts and values of inputs, column by column."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.derivatives import question as asking
from explorer.derivatives.question import Question
from explorer.errors import BadValue
from explorer.schemes.event_driven import EventDriven

COVERS = ("derivatives/question.py",)  # see mutant_rooms.py


def system(driven=True):
    """Return what has three parameters, of which u and w are inputs of 3 and of 2 values."""
    values = {"u": np.array([5.0, 6.0, 7.0]), "w": np.array([8.0, 9.0])}
    names = ("u_now", "w_now")
    drive = space(
        inputs={k: space(values=v, grid=len(v), kind=f"of {k}") for k, v in values.items()},
        names=names, values=np.array([[5.0, 8.0], [6.0, 9.0]]), places_in=lambda own: [1, 2],
    )  # fmt: skip
    return space(
        name="s", parameters={"a": None, "u": None, "w": None, "u_now": None},
        drive=drive if driven else None, _state_names=lambda: ["x", "y"], sizes={"many": 3},
    )  # fmt: skip


@for_each(
    ("wrt", "chosen", "places"),
    [
        ("a", ("a",), (0,)),
        (("y", "w", "x"), ("y", "w", "x"), (-1, 2, -1)),
        (["u[0]", "a", "u[2]"], ("u[0]", "a", "u[2]"), (1, 0, 1)),
        ("w[:]", ("w[0]", "w[1]"), (2, 2)),
        (["x", "u[:]"], ("x", "u[0]", "u[1]", "u[2]"), (-1, 1, 1, 1)),
        (None, ("a", "u", "w"), (0, 1, 2)),
    ],
)
def test_columns_are_told_by_names(wrt, chosen, places):
    assert asking.columns(system(), wrt, EventDriven()) == (chosen, places)


def test_without_inputs_all_parameters_are_columns():
    assert asking.columns(system(False), None, EventDriven()) == (
        ("a", "u", "w", "u_now"), (0, 1, 2, 3),
    )  # fmt: skip


@for_each(
    ("wrt", "told"),
    [
        ("u[3]", r"has 3 values, 'u\[0\]' to 'u\[2\]', and no 'u\[3\]'"),
        ("w[2]", r"has 2 values, 'w\[0\]' to 'w\[1\]', and no 'w\[2\]'"),
        ("u_now", r"The input 'u' changes along the run: differentiate by its values, 'u\[0\]'"),
        ("many", "is an integer that 's' was built with"),
        ("rtol", "is an option of a scheme"),
        ("h", "is an option of a scheme"),
        ("theta", "is an option of a scheme"),
        ("z", "no parameter or state 'z'"),
        ("a[0]", r"no parameter or state 'a\[0\]'"),
        (("a", "x", "a"), "names a parameter twice"),
        (("u[:]", "u[1]"), "names a parameter twice"),
    ],
)
def test_other_names_are_refused(wrt, told):
    with pytest.raises(BadValue, match=told):
        asking.columns(system(), wrt, EventDriven())


@for_each(
    ("name", "driven", "told"),
    [
        ("u[0]", True, 0), ("u[2]", True, 2), ("w[1]", True, 1), ("u", True, -1), ("a[0]", True, -1),
        ("u[0]", False, -1), ("u[:]", True, -1), (3, True, -1),
    ],
)  # fmt: skip
def test_a_value_of_an_input_is_told_by_its_number(name, driven, told):
    assert asking._value_of(system(driven), name) == told


def test_values_of_columns_and_first_values_of_inputs():
    names = ("a", "u[2]", "w[1]", "x")
    assert asking._values(system(), names) == (-1, 2, 1, -1)
    assert asking._values(system(False), names) == ()
    assert asking.expanded(system(), ("u[:]", "a[:]", "w")) == ("u[0]", "u[1]", "u[2]", "a[:]", "w")
    assert asking.expanded(system(False), ("u[:]",)) == ("u[:]",)
    rho = np.array([1.0, 2.0, 3.0])
    assert asking._rho_of(system(), rho).tolist() == [1.0, 5.0, 8.0]
    assert rho.tolist() == [1.0, 2.0, 3.0]
    assert asking._rho_of(system(False), rho).tolist() == [1.0, 2.0, 3.0]


def question(wrt, places, values=(), **more):
    """Return a question with such columns, at parameters 1, 2 and 3."""
    given = {
        "system": system(bool(values)), "scheme": "scheme", "wrt": wrt, "places": places,
        "cost": space(cost="w"), "rho": np.array([1.0, 2.0, 3.0]), "t_end": 1.0, "until": None,
        "t_eval": None, "given": None, "values": values,
    }  # fmt: skip
    return Question(**given | more)


def test_a_question_is_asked_elsewhere():
    """Only the columns that are named change, the others and the first question do not."""
    one = question(("w", "a"), (2, 0))
    other = one.at({0: 30.0})
    assert other.rho.tolist() == [1.0, 2.0, 30.0]
    assert one.at({0: 30.0, 1: -10.0}).rho.tolist() == [-10.0, 2.0, 30.0]
    assert one.rho.tolist() == [1.0, 2.0, 3.0]
    assert other.system is one.system
    assert one.moved(1, 0.25).rho.tolist() == [1.25, 2.0, 3.0]


def test_a_question_is_asked_with_other_values_of_inputs(monkeypatch):
    """What drives the system is made anew with them, and the cost for it."""
    told = {}
    put(
        monkeypatch, Question.at,
        Input=lambda grid, values, kind: (grid, values.tolist(), kind),
        redriven=lambda system, signals: told.update(signals) or space(drive=None, signals=signals),
        compile_cost=lambda system, cost, scheme: (cost, scheme, sorted(system.signals)),
    )  # fmt: skip
    one = question(("u[2]", "a", "u[0]", "w[1]"), (1, 0, 1, 2), (2, -1, 0, 1))
    other = one.at({0: 70.0, 1: 10.0, 2: 50.0})
    assert told == {"u": (3, [50.0, 6.0, 70.0], "of u")}
    assert other.cost == ("w", "scheme", ["u"])
    assert other.rho.tolist() == [10.0, 2.0, 3.0]
    assert one.system.drive.inputs["u"].values.tolist() == [5.0, 6.0, 7.0]
    assert one.at({1: 10.0}).system is one.system
    told.clear()
    one.moved(3, -0.5)
    assert told == {"w": (2, [8.0, 8.5], "of w")}


def test_of_a_driven_system_the_parameters_are_those_at_the_start(monkeypatch):
    put(monkeypatch, Question.at, redriven=lambda old, _: system(), compile_cost=lambda *_: None,
        Input=lambda *_: None)  # fmt: skip
    one = question(("u[2]", "a"), (1, 0), (2, -1))
    assert one.at({0: 70.0, 1: 10.0}).rho.tolist() == [10.0, 5.0, 8.0]


@for_each(("assembles", "given"), [(False, False), (True, False), (False, True)])
def test_a_start_has_derivatives_by_parameters_and_by_states(monkeypatch, assembles, given):
    """Where a state is given its start does not move with the parameters."""
    by_rho = np.arange(1.0, 7.0).reshape(2, 3)
    flow = space(n_x=2, states=[space(name="x"), space(name="y")], assembles=assembles,
                 start=lambda rho: (rho[:2] * 10, by_rho))  # fmt: skip
    own = np.array([np.nan, 4.0]) if given else None
    one = question(("w", "y", "a"), (2, -1, 0), cost=space(flow=flow), given=own)
    rows = by_rho * np.array([[1.0], [0.0 if given else 1.0]])
    x, found = one.start()
    assert x.tolist() == [10.0, 4.0 if given else 20.0]
    np.testing.assert_array_equal(found, rows)
    assert one.start(np.array([7.0, 8.0, 9.0]))[0].tolist() == [70.0, 4.0 if given else 80.0]
    seeds = np.column_stack([rows[:, 2], [0.0, 1.0], rows[:, 0]])
    asked = []

    def assembled(rho, x, seeds, along):
        asked.append((rho, x, along))
        return x, -seeds

    put(monkeypatch, Question.seeds, assembly=lambda system: space(start=assembled))
    np.testing.assert_array_equal(one.seeds(), -seeds if assembles else seeds)
    if assembles:  # a parameter of each column moves, a state none
        ((rho, x, along),) = asked
        assert (rho.tolist(), x.tolist()) == ([1.0, 2.0, 3.0], [10.0, 20.0])
        np.testing.assert_array_equal(along, [[0, 0, 1], [0, 0, 0], [1, 0, 0]])


def test_a_cost_at_the_end_moves_with_what_counts_there(monkeypatch):
    """Of the values of an input one counts at a time; a start has no part in it."""
    one = question(("u[1]", "x", "a", "u[0]"), (1, -1, 0, 1), (1, -1, -1, 0))
    weights = np.array([10.0, 20.0, 30.0])
    put(
        monkeypatch, Question.active,
        schedule_of=lambda system: space(intervals=lambda t: np.floor(t)),
        active_of=lambda system, columns: np.array([[-1, -1, 0, 1], [1, -1, 0, -1]]),
    )  # fmt: skip
    assert one.at_the_end(weights, 0.5).tolist() == [0.0, 0.0, 10.0, 20.0]
    assert one.at_the_end(weights, 1.5).tolist() == [20.0, 0.0, 10.0, 0.0]
    put(monkeypatch, Question.active, schedule_of=lambda system: None)
    assert one.active(0.5) == [1, -1, 0, 1]
    assert one.at_the_end(weights, 0.5).tolist() == [20.0, 0.0, 10.0, 20.0]


def test_events_are_contacts_or_guards_and_changes_of_constraints():
    constraints = [space(name="peg", when="x"), space(name="rod", when=None)]
    contacts = [space(name="floor"), space(name="wall")]
    both = space(contacts=contacts, constraints=constraints, guard_names=("g",))
    assert asking.event_names(both) == ["floor", "wall", "peg"]
    both.contacts = []
    assert asking.event_names(both) == ["g", "peg"]
    assert asking.event_names(space(contacts=[], constraints=constraints[1:])) == []
