"""Steps with constraints, uncompiled: when they are iterated on, when they end, and why."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

from explorer.codes import INDEFINITE, NEWTON_CAP, NOT_FINITE, SINGULAR, SUCCESS

alpha = plain("time_stepping.constrained_alpha")
element = plain("fesd.element")
radau = plain("event_driven.radau")
steps, sets = plain("time_stepping.constrained_step"), plain("fesd.active_set")
FAILS = 77  # a status
EQUAL = np.testing.assert_array_equal


ANSWERS = {  # of what a step calls, and its options, where a test names no others
    "mass": True, "regular": True, "gives": False, "offs": {}, "turns": {}, "closed": True,
    "rounded": False, "most": 9, "contact": SUCCESS,
}  # fmt: skip


class Iterations:
    """A step whose iterations leave norms, by changes; all that they ask for is noted."""

    def __init__(self, monkeypatch, norms, changes, row=1, moves=(), m=1, **given):
        self.said, self.count = [], -1
        found = space(**ANSWERS | given)

        def tell(name, result=None):
            def way(*given):
                self.said.append(name)
                return result

            return way

        def renew(*_):
            self.count += 1
            return self.count in moves

        def unbalanced(*_):
            return norms[self.count], 2.0

        def move(*_):
            self.said.append("move")
            return changes[self.count], 8.0

        def at_round_off(change, size, still):
            self.said.append(("round-off", change, size, still))
            return found.rounded

        put(monkeypatch, steps.constrained_step, predict=tell("predict"), renew=renew, renew_rows=lambda *_: (found.turns.get(self.count, 0.0), found.closed),
            broken=lambda *_: found.offs.get(self.count, 0.0), unbalanced=unbalanced, has_mass=tell("mass", found.mass), factor=tell("factor", found.regular), respond=tell("respond"),
            contact_step=tell("contacts", (found.contact, 0.5)), move=move, at_round_off=at_round_off)  # fmt: skip
        self.record = space(
            residuals=np.full((4, 2), 9.0),
            iterations=np.zeros(4, int),
            p_phi=np.full((4, 2), np.nan),
            gamma=np.full((4, 2), np.nan),
        )
        levels = space(P=np.array([1.0, 2.0]), gamma=np.array([3.0, 4.0]))
        active = space(rate=np.full(3, 9.0), act=None, P=None, D=None)
        work = space(levels=levels, active=active, state=[space(far=1.0)])
        problem = space(options=space(gives=found.gives, newton_max=found.most, newton_tol=0.1), bundles=None, contacts=space(compliance=None), saddle=None,
                        matrices=space(M=None), sizes=space(constraints=2))  # fmt: skip
        self.status = steps.constrained_step(
            space(problem=problem, record=self.record, work=work),
            space(row=row, held=2, m=m, h=0.1, ht=0.1),
        )
        self.rate, self.row = active.rate.tolist(), row + 1


def test_a_constrained_step_is_iterated_up_to_its_tolerance(monkeypatch):
    """At least once; impulses and multipliers of its end are kept."""
    one = Iterations(monkeypatch, [0.0, 0.3, 0.19], [1.0, 0.5, 0.4])
    turn = ["factor", "respond", "contacts", "move"]
    assert one.status == SUCCESS
    assert one.said == ["predict", *turn, ("round-off", 1.0, 8.0, 0), *turn[1:]]
    assert one.rate == [0.0, 0.0, 9.0]
    assert (one.record.iterations[2], one.record.residuals[2].tolist()) == (2, [0.0, 0.19])
    EQUAL([one.record.p_phi[2], one.record.gamma[2]], [[1.0, 2.0], [3.0, 4.0]])


@for_each(("part", "anew"), [(0.99, False), (1.01, True)])
def test_factors_serve_on_where_changes_fall_quickly(monkeypatch, part, anew):
    """Those of the first iteration in the second one; then as long as a change is 0.05 of the last."""
    one = Iterations(monkeypatch, [0.5, 0.4, 0.3, 0.1], [2.0, 0.1 * part, 1.0, 1.0], m=0)
    free = ["factor", "respond", "move"]
    said = [x for x in one.said if isinstance(x, str)]
    assert said == ["predict", *free, *free[1:], *(free if anew else free[1:])]


@for_each(
    ("interpolated", "am", "af"),
    [(True, 0.2, 0.4), (False, 0.2, 0.4), (False, 0.0, 0.0), (False, -0.5, 0.3)],
)
def test_a_step_of_generalised_alpha_has_its_forces_between_its_ends(
    monkeypatch, interpolated, am, af
):
    """At (1 - alpha_f) t_1 + alpha_f t_0, unless forces of both are interpolated."""
    asked = []
    put(
        monkeypatch, alpha.advance, one_step=lambda task, step: asked.append((task, *step)) or FAILS
    )
    method = space(alpha_m=am, alpha_f=af, interpolated=interpolated, gamma=0.7)
    record = space(t=np.array([0.0, 2.0, 9.0]))
    assert alpha.advance(space(method=method), record, space(task="task"), 1, 0.25, 2.25) == FAILS
    t_f = 2.25 if interpolated else 2.25 - 0.25 * af
    expected = ("task", 1, 0.25, 2.25, t_f, (1 - af) / (1 - am) * 0.7 * 0.25)
    assert asked == [tuple(x if isinstance(x, str) else pytest.approx(x) for x in expected)]


@for_each(
    ("row", "moves", "looked"),
    [
        (0, (), True),
        (1, (), False),
        (1, (0,), True),
        (1, (1,), False),
        (0, (0,), True),
        (2, (), False),
    ],
)
@for_each("mass", (True, False))
def test_masses_are_looked_at_in_a_first_step_or_where_they_have_moved(
    monkeypatch, row, moves, looked, mass
):
    one = Iterations(monkeypatch, [0.5, 0.4, 0.1], [1.0, 1.0, 1.0], row=row, moves=moves, mass=mass)
    assert one.said.count("mass") == looked
    assert one.status == (SUCCESS if mass or not looked else INDEFINITE)
    assert ("move" in one.said) == (one.status == SUCCESS)


@for_each(("given", "status", "iterations"), [
    ({"norms": [0.5, np.nan]}, NOT_FINITE, 1), ({"norms": [0.5, 0.1], "turns": {1: np.inf}}, NOT_FINITE, 1), ({"norms": [0.5] * 4, "most": 3}, NEWTON_CAP, 3),
    ({"norms": [0.5, 0.1], "regular": False}, SINGULAR, 1), ({"norms": [0.5, 0.1], "contact": FAILS}, FAILS, 1), ({"norms": [0.5, 0.1, 0.1], "turns": {1: 0.11}}, SUCCESS, 2),
    ({"norms": [0.5, 0.1, 0.1], "turns": {1: 0.1}}, SUCCESS, 1), ({"norms": [0.5, 0.1], "closed": False, "most": 1}, NEWTON_CAP, 1),
    ({"norms": [0.5, 0.1, 0.1], "gives": True, "offs": {1: 0.11}}, SUCCESS, 2), ({"norms": [0.5, 0.1, 0.1], "offs": {1: 0.11}}, SUCCESS, 1),
    ({"norms": [0.5, 0.5, 0.1], "rounded": True}, SUCCESS, 1), ({"norms": [0.5, 0.5, 0.1]}, SUCCESS, 2), ({"norms": [0.5, 0.21, 0.21], "rounded": True, "most": 1}, SUCCESS, 1),
])  # fmt: skip
def test_a_constrained_step_ends_with_a_reason(monkeypatch, given, status, iterations):
    """What is at round-off is taken where the norm falls no more."""
    one = Iterations(monkeypatch, given.pop("norms"), [1.0] * 9, **given)
    assert (one.status, one.record.iterations[one.row]) == (status, iterations)


@for_each(("one", "other", "told"), [
    ((0.0, 0.0), (0.0, 0.0), True), ((1.0, 0.0), (1.0, 0.0), True), ((3.0, 5e5), (3.0, 5e5 + 0.9e-3), True), ((3.0, 5e5), (3.0, 5e5 + 1.1e-3), False), ((1e-9, 0.0), (-1e-9, 0.0), False),
    ((3.0, 5e5), (3.0009, 5e5), True), ((0.0, 1.0), (1e-9, 1.0), True), ((-0.5, 0.0), (0.5, 0.0), False),
])  # fmt: skip
def test_two_ways_are_alike_beside_their_largest_entry(one, other, told):
    one, other = np.array(one), np.array(other)
    assert sets.SAME == 1e-9
    assert sets.alike(one, other) == told
    pattern = space(first=np.full(2, 7.0), last=np.full(2, 7.0))
    assert sets.is_new(pattern, one, 0)
    assert (pattern.first.tolist(), pattern.last.tolist()) == ([*one], [*one])
    assert sets.is_new(pattern, other, 1) == (not told)
    assert pattern.last.tolist() == [*(one if told else other)]
    assert pattern.first.tolist() == [*one]
    pattern.last[:] = 1e9
    assert not sets.is_new(pattern, one, 2)
    pattern.first[:] = 1e9
    assert sets.is_new(pattern, one, 2)
    assert not sets.is_new(pattern, one, 2)
    assert pattern.first.tolist() == [1e9] * 2


# ---------------------------------------------------------------- iterations of implicit steps


@for_each(("changes", "off", "told", "ends"), [
    ([1.0, 1e-15], 0.0, 2, True), ([0.1**k for k in range(12)], 0.0, 12, True), ([1.0, 0.1, 0.01, 0.006], 0.0, 4, True), ([1.0, 0.1, 0.01, 0.004, 0.0019, 0.0018], 0.0, 6, True),
    ([1.0, 0.9, 0.8, 0.7], 0.0, 4, True), ([1.0, 0.1, 0.01, *[0.006] * 9], 9.0, 12, False), ([1.0, 1e-3, 1e-12, 0.9e-12], 9.0, 4, True), ([1.0, np.inf], np.inf, 2, False),
    ([1.0] * 12, 0.9e-2, 4, True), ([1.0] * 12, 1.1e-2, 12, False),
])  # fmt: skip
def test_a_step_of_radau_is_iterated_as_long_as_its_changes_fall(
    monkeypatch, changes, off, told, ends
):
    """By half, behind the third one, or to round-off; its error is told where it is solved."""
    said = []

    def correct(*_):
        said.append("correct")
        return changes[len(said) - 1], off

    put(monkeypatch, radau.radau_step, jacobian=lambda *_: SUCCESS, factor=lambda *_: True,
        flow=lambda *_: SUCCESS, correct=correct, estimate=lambda *_: said.append("error"), constrained=lambda *_: False)  # fmt: skip
    kept = space(K=np.full((3, 2), 3.0), Z=np.full((3, 2), 3.0))
    step = space(radau=kept, stage=np.zeros(2), new=np.zeros(2), end=np.zeros(2))
    method = space(c=np.zeros(4), A=None, radau_newton=space(J=None))
    assert radau.radau_step(space(sizes=space(n_x=1)), method, step, 1.0, np.array([4.0, 5.0]), 0.5, 0) == SUCCESS  # fmt: skip
    assert said == [*["correct"] * told, *["error"] * ends]
    assert np.isnan(step.new[0]) == (not ends)


@for_each(("factored", "kind", "defects", "given", "told"), [
    (0.0, 0, [0.5, 1e-15], {}, (SUCCESS, 1.0, "FDSDC")), (1.0, 0, [0.5, 1e-15], {}, (SUCCESS, 1.0, "DSDC")), (1.0011, 0, [0.5, 1e-15], {}, (SUCCESS, 1.0, "FDSDC")),
    (1.0009, 0, [0.5, 1e-15], {}, (SUCCESS, 1.0009, "DSDC")), (1.0, 1, [0.5, 1e-15], {}, (SUCCESS, 0.0, "FDSFDC")), (0.0, 0, [0.5], {"singular": True}, (NEWTON_CAP, 0.0, "FD")),
    (0.0, 0, [np.nan], {}, (NOT_FINITE, 0.0, "FD")), (1.0, 0, [0.5, 0.4, 0.39, 1e-15], {}, (SUCCESS, 1.0, "DSDFDSDC")), (1.0, 0, [0.5, 0.024, 1e-15], {}, (SUCCESS, 1.0, "DSDSDC")),
    (0.0, 0, [0.5, 0.4, 0.4, 0.3], {}, (NEWTON_CAP, 0.0, "FDSDFDSD")), (0.0, 1, [1e-12, 0.9e-12], {}, (SUCCESS, 0.0, "FDSFDC")), (0.0, 1, [0.5], {"late": -1.0}, (NEWTON_CAP, 0.0, "FDS")),
])  # fmt: skip
def test_factors_of_an_element_serve_on_where_its_length_stays(
    monkeypatch, factored, kind, defects, given, told
):
    """Those of singular equations do not, nor do those of an element that ends at an event."""
    said, h = [], 1.0

    def lu_solve(M, n, below, above, pivots, rhs):
        said.append("S")
        rhs[:] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, given.get("late", 0.25)]

    put(monkeypatch, element.solve, factor=lambda *_: said.append("F") or int(given.get("singular", False)), defect=lambda *_: said.append("D") or defects[said.count("D") - 1],
        conclude=lambda *_: said.append("C"), lu_solve=lu_solve)  # fmt: skip
    newton = space(h=h, factored=factored, cap=3, residual=9.0)
    el = space(stages=space(K=np.zeros((2, 2)), W=np.zeros((2, 1))), solver=space(M=None, pivots=None, rhs=np.zeros(7), newton=[newton]), problem=space(n_x=2),
               mode=space(active=[space(sliding=1)]))  # fmt: skip
    status = element.solve(el, 0.0, None, None, kind, 0, 0.0)
    assert (status, newton.factored, "".join(said)) == told
    solved = said.count("S")
    EQUAL(el.stages.K, solved * np.array([[1.0, 2.0], [4.0, 5.0]]))
    EQUAL(el.stages.W, solved * np.array([[3.0], [6.0]]))
    assert newton.h == (h + solved * given.get("late", 0.25) if kind else h)
    EQUAL(newton.residual, defects[said.count("D") - 1])
