"""Formulas of a sweep's question: values at its members, its bytes, and its name on disk."""

from __future__ import annotations

import dataclasses
import pickle
import re

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer.errors import BadValue
from explorer.runs.members import Asked
from explorer.schemes.event_driven import EventDriven
from explorer.study import Section
from explorer.study.over import Axes
from explorer.study.question import Question, _rational


def question(**more):
    """Return a question of the impact oscillator over two values of omega."""
    system = ex.models.impact_oscillator()
    given = {"system": system, "scheme": EventDriven(), "rho": system.rho({}), "t_end": "2*pi/omega",
             "axes": Axes.of(system, {"omega": [1.0, 4.0]}), "transient": 0.0}  # fmt: skip
    return Question(**given | more)


@for_each(
    ("formula", "told"),
    [("x + 1/y", True), ("x*y - 3", True), ("x**2", False), ("sqrt(x)", False), ("x**y", False), ("1/x**2", False), ("7", True)],
)  # fmt: skip
def test_powers_are_whole_where_rows_are_computed_at_once(formula, told):
    assert _rational(sp.sympify(formula)) is told


@for_each(
    ("value", "exact", "told"),
    [
        (3.0, False, [3.0, 3.0]), ("omega*3", False, [3.0, 12.0]), ("7/omega", False, [7.0, 1.75]), ("omega**2 + s", True, [1.5, 16.5]),
        ("sin(omega) + s", True, [np.sin(1.0) + 0.5, np.sin(4.0) + 0.5]), ("2*pi/omega", False, [2 * np.pi, np.pi / 2]), ("sqrt(omega)", True, [1.0, 2.0]),
    ],
)  # fmt: skip
def test_a_formula_has_a_value_at_each_member(value, exact, told):
    """Such that all machines agree: what NumPy computes otherwise in a row, number by number."""
    one = question()
    names = [*one.system.parameters]
    rho = np.zeros((2, len(names)))
    rho[:, names.index("omega")], rho[:, names.index("s")] = [1.0, 4.0], 0.5
    found = one._values(value, "own", rho)
    assert found.tolist() == pytest.approx(told)
    assert found.dtype == float
    assert one._compiled["own"][2] is exact
    places = one._compiled["own"][1]
    assert [names[k] for k in places] == [n for n in names if n in re.findall(r"\w+", str(value))]
    assert one._values("never read again", "own", rho).tolist() == pytest.approx(told)


@for_each(
    ("section", "extrema", "known", "most"),
    [(None, False, None, 0), (Section(event="stop"), True, None, 100), (Section(event="stop", most=7), False, None, 7),
     (Section(event="stop", most=7), False, "known", 1), (Section(period="2*pi/omega"), False, None, 3)],
)  # fmt: skip
def test_a_result_has_bytes_for_all_that_it_keeps(section, extrema, known, most):
    """Of n states: five numbers and the end, their extrema, counts of events, points and times."""
    one = question(section=section, extrema=extrema, known=known)
    names = one.asked.names
    assert one.most == most
    n = 2
    room = most if section is not None else Asked(()).most
    assert one.bytes_each == 8 * (5 + n + 2 * n * extrema + len(names) + room * (n + 1))


@for_each(("event", "told"), [("stop", None), ("floor", "has no event 'floor'")])
def test_a_section_names_an_event_of_the_system(event, told):
    if told is None:
        question(section=Section(event=event))
        return
    with pytest.raises(BadValue, match=told):
        question(section=Section(event=event))
    tent = ex.models.tent_map()
    axes = Axes.of(tent, {"mu": [1.0]})
    given = {"system": tent, "rho": tent.rho({}), "axes": axes, "t_end": 9}
    question(**given, section=Section(period=1))
    with pytest.raises(BadValue, match="is a map, and a section is of a flow"):
        question(**given, section=Section(period=2))


def test_a_question_has_a_name_of_what_it_asks():
    """The same in another process, another for all that changes its numbers."""
    one = question()
    assert len(one.digest) == 24
    assert question().digest == one.digest
    again = pickle.loads(pickle.dumps(one))
    assert (again.digest, again._compiled) == (one.digest, {})
    others = [
        question(t_end="3*pi/omega"), question(transient=0.25), question(extrema=True), question(chained=True),
        question(section=Section(event="stop")), question(scheme=EventDriven(rtol=1e-5)),
        dataclasses.replace(one, axes=Axes.of(one.system, {"omega": [1.0, 4.5]})),
        dataclasses.replace(one, rho=one.system.rho({"s": 0.75})),
    ]  # fmt: skip
    assert len({one.digest, *(other.digest for other in others)}) == 1 + len(others)
    assert "over 2 omega, to 2*pi/omega s" in repr(one)
