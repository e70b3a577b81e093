"""Constraints that begin to hold along a run: what explains it, and which columns move them off."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import put, space

from explorer.derivatives import captures
from explorer.errors import NotApplicable

COVERS = ("derivatives/captures.py",)  # see mutant_rooms.py


def captured(monkeypatch, guard, kind, r_x, holds, rows):
    """Return what is unexplained at one event of two contacts and three constraints, q = (x, y)."""
    head = np.array([(kind, guard, 0.5)], dtype=[("kind", int), ("guard", int), ("r_t", float)])
    parts = {"r_x": np.array([r_x]), "r_rho": np.array([[0.25]])}
    march = space(
        flow=space(changes=("one",), n_c=2, n=2), events=space(head=head), part=parts.__getitem__
    )
    put(monkeypatch, captures.unexplained, _gradients=lambda march, k: np.array(rows),
        sides_of=lambda march: "sides", holding=lambda march, sides: np.array(holds, bool))  # fmt: skip
    return captures.unexplained(march)


ROWS = [[1.0, 2.0, 3.0, 4.0], [2.0, 0.0, 1.0, 0.5], [0.0, 1.0, 0.0, 1.0]]


@for_each(
    ("guard", "kind", "r_x", "holds", "rows", "told"),
    [
        (2, 0, [1, 0, 0, 0], [[0, 0, 0], [1, 0, 0]], ROWS, [(0, 0)]),
        (2, 1, [1, 0, 0, 0], [[0, 0, 0], [1, 0, 0]], ROWS, []),
        (1, 0, [1, 0, 0, 0], [[0, 0, 0], [1, 0, 0]], ROWS, []),
        (3, 0, [1, 0, 0, 0], [[1, 0, 0], [1, 1, 1]], ROWS, [(0, 2)]),
        (2, 0, [4, 0, 0, 0], [[0, 0, 0], [0, 1, 0]], [ROWS[0], [8, 0, 1, 0.5], ROWS[2]], []),
        (2, 0, [4, 0, 1, 0], [[0, 0, 0], [0, 1, 0]], [ROWS[0], [8, 0, 1, 0.5], ROWS[2]], [(0, 1)]),
        (2, 0, [0, 0, 1, 0], [[1, 0, 0], [1, 1, 0]], [ROWS[0], [2, 4, 6, 8], ROWS[2]], []),
        (2, 0, [0, 0, 1, 0], [[0, 1, 1], [1, 1, 1]], [[2, 1, 1, 1.5], ROWS[1], ROWS[2]], []),
    ],
)  # fmt: skip
def test_constraints_begin_to_hold_by_themselves_or_by_what_holds(
    monkeypatch, guard, kind, r_x, holds, rows, told
):
    """A guard of speeds explains none; one of positions its own zero, (r_q, r_t, r_rho)."""
    own = captures.CLOSING if kind == 0 else captures.CLOSING + 1
    assert captured(monkeypatch, guard, own, r_x, holds, rows) == told


@for_each(
    ("place", "own", "behind", "speed", "told"),
    [
        (0, 0.0, 1.0, 0.0, True), (0, -2.0, 1.0, 0.0, False), (0, 2.0, 1.0, 0.0, True),
        (-1, -2.0, 1.0, 0.0, True), (-1, 0.0, 0.0, 0.0, False),
        (-1, 0.0, 1.0, 1e6, False), (-1, 0.0, 1.0, 10.0, True),
    ],
)  # fmt: skip
def test_columns_that_move_a_constraint_off_zero_are_refused(
    monkeypatch, place, own, behind, speed, told
):
    """Beside what moves before it: the columns, and the time of the event by the speed."""
    parts = {"x_minus": np.array([[9.0, 9.0, speed, 0.0]]), "s_minus": np.array([[0.5, 0.5, 9.0, 9.0]]),
             "s_plus": np.array([[behind, 0.0, 9.0, 9.0]]), "dtau": np.array([[0.25]])}  # fmt: skip
    march = space(flow=space(n=2), part=parts.__getitem__, events=space(head={"t": [1.5]}))
    put(
        monkeypatch,
        captures.check_captures,
        _gradients=lambda march, k: np.array([[2.0, 0.0, 7.0, own]]),
    )
    question = space(wrt=("a",), places=(place,), system=space(constraints=[space(name="peg")]))
    if told:
        with pytest.raises(
            NotApplicable, match=r"'peg' begins to hold at t = 1\.5 s, and 'a' moves it"
        ):
            captures.check_captures(question, space(march=march), [(0, 0)])
    else:
        captures.check_captures(question, space(march=march), [(0, 0)])
    captures.check_captures(question, space(march=march), [])
