"""How touching contacts settle: which way a row slides, what round-off is, few rows and many."""

from __future__ import annotations

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS

settling = plain("event_driven.settle")


@for_each(("t", "rate", "sigma"), [(1, 0.0, 1), (1, -1.0, -1), (1, 1.0, 1), (-1, -1.0, 7)])
def test_a_tangent_without_force_and_acceleration_slides_forwards(monkeypatch, t, rate, sigma):
    put(monkeypatch, settling.turn_unforced, at_rest=lambda *_: True)
    rows = [space(sigma=5), space(sigma=7)]
    contacts = space(
        act=np.array([0, 1]),
        place=np.array([t]),
        force=np.zeros(2),
        w=np.array([9.0, rate]),
        D=np.zeros((2, 2)),
    )
    settling.turn_unforced(space(rows=rows), contacts, 1, 2, 0.1, -1)
    assert [row.sigma for row in rows] == [5, sigma]


@for_each(("total", "speed", "still", "begins", "sigma"), [(1, 0.5, -1, 0, 1), (1, 0.0, -1, 0, -1), (1, -0.5, -1, 0, -1), (1, 0.5, 0, -1, 1), (2, 9.0, 1, -1, -1), (2, 9.0, 1, 0, settling.FREE),
                                                          (2, 9.0, 0, 1, 1), (2, -9.0, 0, 1, -1)])  # fmt: skip
def test_rows_slide_as_they_move_and_the_one_that_is_known_not_to_is_free(
    monkeypatch, total, speed, still, begins, sigma
):
    """Their right sides are accelerations of gaps and of tangents, with n > 1 and more rows than that."""
    rng, n, count = np.random.default_rng(total), 3, 2
    G, gamma, free = rng.normal(size=(count, n)), rng.normal(size=count), rng.normal(size=n)
    out = np.concatenate([np.full(2 * count, np.nan), G.ravel(), gamma])
    put(
        monkeypatch,
        settling.hold_or_part,
        delassus=lambda *_: total,
        coulomb=lambda *given: SUCCESS,
        at_rest=lambda *_: False,
    )
    contacts = space(
        act=np.array([0, 1]),
        sigma=np.full(2, 9),
        w=np.full(2, np.nan),
        rows=[space(speed=speed), space(speed=speed)],
    )
    problem = space(sizes=space(n=n, n_c=1, rows=count), out=out, saddle=space(solution=free))
    assert settling.hold_or_part(problem, contacts, 1, 0.1, still, begins) == (SUCCESS, total)
    assert contacts.sigma[total - 1] == sigma
    np.testing.assert_allclose(contacts.w[:total], (G @ free + gamma)[:total])
    put(monkeypatch, settling.hold_or_part, delassus=lambda *_: -1)
    assert settling.hold_or_part(problem, contacts, 1, 0.1, still, begins) == (settling.SINGULAR, 0)


@for_each("size", [1e6, 1.0, 1e-6])
@for_each(("part", "told"), [(0.5, True), (2.0, False)])
def test_round_off_of_a_contact_is_told_by_its_own_terms(size, part, told):
    """Each of the coordinates' once: G_i a_i, beside gamma and D f."""
    count, n = 1, 2
    terms = size * (3.0 + 2.0 * 5.0 + 4.0 * 7.0)
    out = np.array([np.nan, np.nan, 2.0, -4.0, 3.0 * size])
    contacts = space(
        act=np.array([0]),
        w=np.array([part * settling.BALANCED * terms]),
        force=np.zeros(1),
        D=np.zeros((1, 1)),
    )
    problem = space(
        sizes=space(n=n, rows=count), out=out, saddle=space(solution=size * np.array([5.0, 7.0]))
    )
    assert settling.is_balanced(problem, contacts, 1, 1) == told
