"""One contact with Coulomb friction: what the closed forms give obeys the law, whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from plain import plain
from scipy.optimize import minimize_scalar

one = plain("friction.single_contact")
NONE, OPEN, STICK = one.NONE, one.OPEN, one.STICK
MUS = (0.0, 0.1, 0.5, 1.2)


def definite(rng, n: int) -> np.ndarray:
    """Return a symmetric positive definite matrix, well conditioned."""
    A = rng.normal(size=(n, n))
    return A @ A.T + 0.2 * np.eye(n)


def obeys(D, q, mu, P, doing) -> None:
    """Assert w_n >= 0, P_n >= 0, one of them 0, |P_t| <= mu P_n, and P_t against the slip."""
    w, tol = D @ P + q, 1e-9 * (np.abs(q).max() + np.abs(D @ P).max())
    P_t, w_t = P[1:], w[1:]
    size = np.linalg.norm(P_t)
    assert P[0] >= 0
    if doing == OPEN:
        assert not P.any()
        assert w[0] >= 0
        return
    assert abs(w[0]) <= tol
    assert size <= mu * P[0] * (1 + 1e-9)
    if doing == STICK:
        assert np.abs(w_t).max() <= tol
        return
    assert size == pytest.approx(mu * P[0], rel=1e-9)
    assert P_t @ w_t == pytest.approx(-size * np.linalg.norm(w_t), abs=tol * max(size, 1e-300))
    if len(P_t) == 1 and mu > 0:
        assert np.sign(P_t[0]) == -doing
        assert doing * w_t[0] >= -tol


@pytest.mark.parametrize("mu", MUS)
def test_along_a_line_each_case_obeys_the_law(mu):
    rng, seen = np.random.default_rng(5), set()
    for _ in range(400):
        D, q = definite(rng, 2), rng.normal(size=2)
        P_n, P_t, doing = one.on_line(D[0, 0], D[0, 1], D[1, 0], D[1, 1], mu, *q)
        assert doing != NONE or mu * abs(D[0, 1]) >= D[0, 0]
        if doing != NONE:
            obeys(D, q, mu, np.array([P_n, P_t]), doing)
        seen.add(doing)
    assert seen >= ({OPEN, STICK, 1, -1} if mu else {OPEN, 1, -1})


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("coupled", [0.0, 0.3, 1.0])
def test_in_space_each_case_obeys_the_law(mu, coupled):
    rng, seen, none = np.random.default_rng(6), set(), 0
    for _ in range(300):
        D, q = definite(rng, 3), rng.normal(size=3)
        D[0, 1:] *= coupled
        D[1:, 0] *= coupled
        *P, doing = one.in_plane(np.r_[7.0, D.ravel()], 1, mu, *q)
        none += doing == NONE
        if doing != NONE:
            obeys(D, q, mu, np.array(P), doing)
        seen.add(doing)
    assert none == 0 if mu * coupled <= 0.1 else none <= 40
    assert seen >= {OPEN, 1} | ({STICK} if mu >= 0.5 else set())


def test_a_contact_that_leaves_or_has_no_mass_is_told():
    B = np.eye(3).ravel()
    assert one.in_plane(B, 0, 0.5, 0.0, 1.0, 1.0) == (0, 0, 0, OPEN)
    assert one.in_plane(0 * B, 0, 0.5, -1.0, 1.0, 1.0) == (0, 0, 0, NONE)
    assert one.on_line(1.0, 0.0, 0.0, 1.0, 0.5, 0.0, 1.0) == (0, 0, OPEN)
    # on the edge of the cone it sticks
    assert one.on_line(1.0, 0.0, 0.0, 1.0, 0.5, -1.0, 0.5) == (1, -0.5, STICK)
    assert one.in_plane(B, 0, 0.5, -1.0, 0.5, 0.0) == (1, -0.5, 0, STICK)
    assert one.in_plane(B, 0, 0.5, -1.0, 0.0, 0.5) == (1, 0, -0.5, STICK)
    # friction alone turns the push against the contact: no P_n >= 0 holds it either way
    assert one.on_line(1.0, -3.0, -3.0, 9.0, 0.5, -1.0, -1.0)[2] == NONE


@pytest.mark.parametrize("mu", [0.2, 0.9])
def test_a_direction_without_an_answer_holds_what_it_can(mu):
    """D of rank two: along (0, 1, -1) nothing moves, so the impulse there is as small as may be."""
    rng = np.random.default_rng(7)
    for _ in range(100):
        H = np.array([[1.0, 0.0], [0.3, 1.0], [0.3, 1.0]]) * rng.uniform(0.5, 2.0)
        D = H @ H.T
        q = H @ rng.normal(size=2)
        q[0] = -abs(q[0])
        *P, doing = one.in_plane(D.ravel(), 0, mu, *q)
        if doing in (STICK, 1):
            w = D @ P + q
            assert abs(w[0]) <= 1e-9
            assert np.linalg.norm(P[1:]) <= mu * P[0] * (1 + 1e-9)
            assert P[1] == pytest.approx(P[2], abs=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_what_round_off_leaves_to_hold_sticks(scale):
    """Nothing is moved but the normal: a sliding speed of 1e-13 of its terms is none."""
    P_n = scale
    for row in (3, 6):
        B = np.zeros(9)
        B[0], B[row] = 1.0, 0.5  # the normal impulse moves one of the directions by a half of it
        for part, sticks in ((0.9, True), (1.5, False)):
            q = np.zeros(3)
            q[0], q[row // 3] = -P_n, -0.5 * P_n
            q[2 if row == 3 else 1] = part * 1e-13 * P_n  # of 0.5 P_n + 0.5 P_n
            *P, doing = one.in_plane(B, 0, 0.5, *q)
            assert (doing == STICK) == sticks
            if sticks:
                assert [P_n, 0.0, 0.0] == P


@pytest.mark.parametrize("mu", [0.2, 0.9])
def test_what_can_be_held_without_one_direction_sticks(mu):
    """D of rank two, q = -D P for a P inside the cone: that P holds it, and is the smallest."""
    rng = np.random.default_rng(8)
    for _ in range(60):
        H = np.array([[1.0, 0.0], [0.2, 1.0], [-0.1, 0.7]]) * rng.uniform(0.5, 2.0)
        D, free = H @ H.T, np.cross(*H.T)
        held = np.r_[1.0, 0.2 * mu * rng.uniform(-1, 1, 2)]
        q = -D @ held
        *P, doing = one.in_plane(np.r_[3.0, D.ravel()], 1, mu, *q)
        assert doing == STICK
        assert D @ P + q == pytest.approx(np.zeros(3), abs=1e-7)
        across = np.r_[0.0, free[1:]]  # what moves nothing beside the normal
        assert np.linalg.norm(P[1:]) <= mu * P[0]
        assert (np.array(P) - held) @ D @ across == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("mu", [0.2, 0.9])
def test_along_a_line_a_slip_of_zero_is_an_answer(mu):
    """D of rank one: friction and push move the contact alike, and either bound of the cone holds."""
    rng, seen = np.random.default_rng(11), set()
    for _ in range(200):
        h = np.array([1.0, rng.uniform(-0.9, 0.9)]) * rng.uniform(0.1, 7)
        D = np.outer(h, h)
        q = -h * rng.uniform(0.1, 3)
        P_n, P_t, doing = one.on_line(D[0, 0], D[0, 1], D[1, 0], D[1, 1], mu, *q)
        assert doing in (1, -1)
        obeys(D, q, mu, np.array([P_n, P_t]), doing)
        seen.add(doing)
    assert seen == {1}


@pytest.mark.parametrize("power", [-400, -120, -60, 60, 120, 400])
def test_units_do_not_matter(power):
    """D and q in another unit: the same impulses, to the last bit where the unit is a power of two."""
    rng, unit, seen = np.random.default_rng(12), 2.0**power, set()
    for _ in range(60):
        D, q, mu = definite(rng, 3), rng.normal(size=3), rng.choice(MUS)
        *P, doing = one.in_plane(D.ravel(), 0, mu, *q)
        assert one.in_plane(unit * D.ravel(), 0, mu, *(unit * q)) == (*P, doing)
        *P2, same = one.in_plane(D.ravel(), 0, mu, *(unit * q))
        assert (*P2, same) == (*(unit * np.array(P)), doing)
        line = (D[0, 0], D[0, 1], D[1, 0], D[1, 1])
        P_n, P_t, doing_t = one.on_line(*line, mu, *q[:2])
        assert one.on_line(*(unit * np.array(line)), mu, *(unit * q[:2])) == (P_n, P_t, doing_t)
        seen |= {doing, doing_t}
    assert seen >= {OPEN, STICK, 1, -1}


@pytest.mark.parametrize("push", [1e-3, 1.0, 1e6, 1e11, 1e13])
def test_across_what_nothing_moves_friction_is_as_large_as_it_may_be(push):
    """D = diag(1, 1, 0): the slip along the last direction stays, so friction is mu P_n against it."""
    D, mu = np.diag([1.0, 1.0, 0.0]), 0.3
    for slip in (1.0, -2.0, 1e-3):
        *P, doing = one.in_plane(D.ravel(), 0, mu, -push, 0.0, slip)
        assert doing == 1
        assert pytest.approx([push, 0.0, -mu * push * np.sign(slip)], rel=1e-6) == P


@pytest.mark.parametrize("along", [(0.7, 0.0), (0.0, 0.7), (0.3, -0.2)])
def test_what_no_friction_can_move_slides_on(along):
    """D = h h': once the push holds w_n = 0, the slip is what it is, and friction is against it."""
    h = np.array([1.0, *along])
    D, mu = np.outer(h, h), 0.4
    for slip in ([0.2, 0.1], [-0.3, 0.4], [0.5, 0.0]):
        q = -h + np.r_[0.0, slip]
        B = np.zeros(27)  # what is beside the block has no say
        B[9:18] = D.ravel()
        *P, doing = one.in_plane(B, 9, mu, *q)
        assert doing == 1
        obeys(D, q, mu, np.array(P), doing)


def test_with_nothing_beside_it_a_contact_sticks_or_slides_as_it_comes():
    """A block of D without tangential part: the push alone acts, and a slip stays as it is."""
    B = np.array([2.0, 0, 0, 0, 0, 0, 0, 0, 0])
    assert one.in_plane(B, 0, 0.5, -1.0, 0.0, 0.0) == (0.5, 0, 0, STICK)
    *_, doing = one.in_plane(B, 0, 0.0, -1.0, 0.3, 0.0)
    assert doing == 1
    assert one.in_plane(B, 0, 0.5, -1.0, 0.3, 0.0) == (0, 0, 0, NONE)


def test_what_is_no_number_has_no_answer_and_no_impulse():
    B = np.array([2.0, 0.1, 0.2, 0.1, 1.0, 0.3, 0.2, 0.3, 1.5])
    for q in ((np.nan, 0.0), (0.0, np.nan), (np.nan, np.nan)):
        assert one.in_plane(B, 0, 0.5, -1.0, *q) == (0, 0, 0, NONE)


def nearest(y: np.ndarray, mu: float) -> np.ndarray:
    """Return the point of the cone |p_T| <= mu p_n that is nearest to y, by trying."""
    size = np.linalg.norm(y[1:])
    if size <= mu * y[0]:
        return y
    along = y[1:] / size if size else y[1:]

    def off(s: float) -> float:
        return (y[0] - s) ** 2 + (size - mu * s) ** 2

    s = minimize_scalar(off, bounds=(0, 1 + 2 * np.abs(y).max()), options={"xatol": 1e-12}).x
    return s * np.r_[1.0, mu * along] if off(s) < off(0.0) else np.zeros(3)


@pytest.mark.parametrize("mu", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_off_the_cone_is_the_distance_to_the_nearest_point(mu, shift):
    rng = np.random.default_rng(9)
    for _ in range(60):
        unit, P, w = rng.uniform(0.2, 3), rng.normal(size=3), rng.normal(size=3)
        y = unit * P - w - shift * np.array([1.0, 0.0, 0.0])
        expected = np.linalg.norm(unit * P - nearest(y, mu))
        assert one.off_cone(unit, mu, *P, *w, shift) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("place", range(9))
def test_off_the_cone_nothing_is_hidden(place):
    values = np.array([1.0, 0.5, 0.3, 0.1, -0.2, 0.4, 0.1, 0.2, 0.3])
    values[place] = np.nan
    assert np.isnan(one.off_cone(*values))


def test_directions_that_nothing_moves_stick_where_nothing_slides():
    B = np.diag([2.0, 0.0, 0.0])
    assert one.in_plane(B.ravel(), 0, 0.5, -1.0, 0.0, 0.0) == (0.5, 0, 0, STICK)
    assert one.in_plane(B.ravel(), 0, 0.5, -1.0, 0.3, -0.4)[3] == NONE  # what slides has no mass
    B[1, 1] = 1.0  # along the second direction nothing slows it down
    P_n, P_1, P_2, doing = one.in_plane(B.ravel(), 0, 0.5, -1.0, 0.0, -2.0)
    assert doing == 1
    np.testing.assert_allclose([P_n, P_1, P_2], [0.5, 0.0, 0.25], atol=1e-6)
