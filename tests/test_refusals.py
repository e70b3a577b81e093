"""What public names refuse: with a sentence that says what would work, never with Python's own."""

from __future__ import annotations

import copy
import pickle

import pytest

import explorer as ex
from explorer.errors import ExplorerError

st = ex.study
BALL = ex.models.bouncing_ball()


def said(call) -> str:
    """Return the sentence by which a call is refused."""
    with pytest.raises(ExplorerError) as refused:
        call()
    return str(refused.value)


# -- arguments and attributes ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ex.MechanicalSystem(), "MechanicalSystem needs name and q: write Mech"),
        (lambda: ex.DiscSystem("d"), "DiscSystem needs count: write DiscSystem(name=..., count="),
        (lambda: ex.Linkage("l").bar("A", "B"), "bar needs mass"),
        (lambda: ex.Linkage("l").bar("A", "B", "C", mass=1), "bar takes 2 positional arguments"),
        (lambda: st.Sharpening(), "Sharpening needs system and over"),
        (lambda: st.Recurrence(cells=1), "Recurrence has no argument 'cells'. Available: near"),
        (lambda: st.Recurrence(near="a"), "near of a Recurrence must be a finite number"),
        (lambda: ex.Cost(g="y", h=3), "Cost has no argument 'h'. Available: g, w."),
        (lambda: BALL.start(foo=1), "start has no argument 'foo'. Available: q, v"),
        (lambda: BALL.inputs(3), "names of 'bouncing ball' must be a list, not 3."),
        (lambda: ex.models.pendulum(foo=3), "pendulum takes no arguments. Parameters are given"),
    ],
)
def test_unknown_and_missing_arguments_are_named(call, words):
    assert words in said(call)


def test_an_attribute_that_there_is_not_is_answered_in_a_sentence():
    sens, modes = ex.sensitivity(BALL, wrt="e"), st.modes(ex.models.shear_building(2))
    for one in (BALL, sens, modes, ex.Linkage("l"), ex.course):
        assert "has no 'foo'. Available: " in said(lambda one=one: one.foo)
        assert not hasattr(one, "foo")
    assert "Did you mean 'cost_gradient'?" in said(lambda: sens.gradient)
    assert copy.deepcopy(modes).omega.tolist() == modes.omega.tolist()
    assert pickle.loads(pickle.dumps(BALL)).name == copy.copy(BALL).name == BALL.name


def test_what_a_property_lacks_is_not_hidden():
    """An attribute error inside a property is that of its line."""

    class Own(ex.MechanicalSystem):
        @property
        def wrong(self):
            return (3).nothing

    with pytest.raises(AttributeError, match="'int' object has no attribute 'nothing'"):
        Own("own", q="x", mass=1).wrong
