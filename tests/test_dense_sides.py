"""States between rows where a formula has ended on the side that is held."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS

between = plain("event_driven.dense_output")
FAILS = 77


class Ends:
    """x' = sqrt(side u) along two steps: while a side is held, it has no value behind t = 1."""

    def __init__(self, monkeypatch, fails=0):
        self.sides, self.said, self.fails = [space(now=0), space(now=1)], [], fails
        self.problem = space(sizes=space(n_x=1), sides=np.array(self.sides, object))
        put(monkeypatch, between.states_at, flow=self.flow, advance=self.advance, restore=self.restore,
            carry=lambda *_: None, Polynomial=lambda *_: None, constrained=lambda _: False)  # fmt: skip

    def told(self, *what):
        self.said.append(what)
        return FAILS if len(self.said) == self.fails else SUCCESS

    def restore(self, problem, state, i):
        assert state == "states"
        self.said.append(("restore", i))
        self.sides[0].now, self.sides[1].now = 0, 1

    def held(self):
        return any(one.now for one in self.sides)

    def flow(self, problem, t, y, dy, width):
        if isinstance(dy, str):
            return self.told("begins", t, width, self.held())
        dy[:] = np.nan if t > 1.0 and self.held() else 5 * t
        return self.told("flows", t, width, self.held())

    def advance(self, problem, method, step, first, last, t, y, h, width):
        assert (first, last) == (1, 6)
        step.new[:] = 3 * (t + h)
        return self.told("steps", t, h, width, self.held())

    def read(self, times, which):
        size = 4
        steps = space(
            t=np.array([0.0, 0.5]), h=np.array([0.5, 1.0]), y=np.ones((2, size)), state="states"
        )
        step = space(stage=np.zeros(2), new=np.zeros(size), slope="slope", dense=None)
        method = space(last=6, stages=6, code=0)
        self.result, self.rates = (
            np.full((len(times), size), np.nan),
            np.full((len(times), 2), np.nan),
        )
        return between.states_at(self.problem, method, step, steps, np.array(times), np.array(which),
                                 True, self.result, self.rates)  # fmt: skip


def test_a_formula_that_ends_on_its_side_decides_for_itself_and_is_held_again_behind(monkeypatch):
    case = Ends(monkeypatch)
    assert case.read([1.25, 0.75], [1, 1]) == SUCCESS
    np.testing.assert_array_equal(case.result, np.array([[3.75], [2.25]]) * np.ones(4))
    np.testing.assert_array_equal(case.rates, np.array([[6.25], [3.75]]) * np.ones(2))
    assert case.said == [
        ("restore", 1), ("begins", 0.5, 1, True), ("steps", 0.5, 0.75, 1, True), ("flows", 1.25, 0, True),
        ("begins", 0.5, 1, False), ("steps", 0.5, 0.75, 1, False), ("flows", 1.25, 0, False),
        ("restore", 1), ("begins", 0.5, 1, True), ("steps", 0.5, 0.25, 1, True), ("flows", 0.75, 0, True),
    ]  # fmt: skip


@for_each(
    ("fails", "last"),
    [
        (2, "begins"),
        (3, "steps"),
        (4, "flows"),
        (5, "begins"),
        (6, "steps"),
        (7, "flows"),
        (9, "begins"),
    ],
)
def test_whatever_fails_there_ends_the_reading(monkeypatch, fails, last):
    """The sides of the step are held again all the same once a formula has decided for itself."""
    case = Ends(monkeypatch, fails)
    assert case.read([1.25, 0.75], [1, 1]) == FAILS
    assert np.isnan(case.result).all()
    after = case.said[fails:]
    assert case.said[fails - 1][0] == last
    assert after == ([("restore", 1)] if 5 <= fails < 8 else [])


@for_each(("new", "rates", "sides", "freed"), [
    ([1.0, np.inf], [2.0, np.nan], (1, 0), False), ([np.nan, 1.0], [2.0, 1.0], (1, 0), True), ([1.0, 1.0], [np.inf, 1.0], (0, -1), True),
    ([np.nan, 1.0], [2.0, 1.0], (0, 0), False),
])  # fmt: skip
def test_sides_are_let_go_where_a_state_or_its_rate_has_no_value(new, rates, sides, freed):
    """Of the coordinates; what stands behind them, as the running cost, does not count."""
    held = np.array([space(now=now) for now in sides], object)
    assert between.set_free(space(sizes=space(n_x=1), sides=held), np.array(new), np.array(rates)) == freed  # fmt: skip
    finite = np.isfinite([new[0], rates[0]]).all()
    assert [one.now for one in held] == ([*sides] if finite else [0, 0])
