"""When a solve of IPOPT ends early: by its number of iterations, an objective, or its dual."""

import numpy as np
import pytest

from explorer.transcription import course as courses
from explorer.transcription.casadi_functions import casadi
from explorer.transcription.course import Course, listener

NONE = (np.zeros(0), np.zeros(0))


def begun(most=np.inf, dear=np.inf, rival=np.inf):
    """Return a course of two variables and a row: 0 <= x <= (2, inf), row = 1."""
    course = Course()
    course.begin(
        (np.zeros(2), np.array([2.0, np.inf])), (np.ones(1), np.ones(1)), most, dear, rival
    )
    return course


def ended(course, f=0.0, x=(0.5, 3.0), g=1.0, lam_x=(0.0, 0.0), lam_g=7.0):
    """Return whether it ends at an iterate."""
    return course.ended(np.array(x), f, np.array([g]), np.array(lam_x), np.array([lam_g]))


def test_it_ends_behind_its_last_iteration():
    """IPOPT asks at the iterate of its last iteration, too, before it sees that it is done."""
    course = begun(most=2)
    assert [ended(course) for _ in range(5)] == [False, False, False, True, True]
    assert course.full
    course.begin(NONE, NONE, 2, np.inf, np.inf)
    assert not course.full


def test_it_ends_where_the_objective_stays_too_high():
    """Thirty iterations above, those below between them do not count."""
    course = begun(dear=1.0)
    found = [ended(course, f=2.0 if k % 2 else 0.5) for k in range(62)]
    assert found.index(True) == 61
    assert not any(ended(begun(dear=1.0), f=1.0) for _ in range(40))


@pytest.mark.parametrize(
    ("f", "x", "g", "lam_x", "over"),
    [
        (1.5, (0.5, 3.0), 1.0, (0.0, 0.0), True),
        (1.0, (0.5, 3.0), 1.0, (0.0, 0.0), False),  # not above it
        (1.5, (0.5, 3.0), 1.0 + 2e-4, (0.0, 0.0), False),  # a row does not hold
        (1.5, (0.5, 3.0), 1.0 - 2e-4, (0.0, 0.0), False),
        (1.5, (0.5, 3.0), 1.0 + 5e-5, (0.0, 0.0), True),
        (1.5, (0.5, 3.0), 1.0, (-0.45, 0.0), True),  # 0.225, and twice that
        (1.5, (0.5, 3.0), 1.0, (-0.55, 0.0), False),
        (1.5, (0.5, 3.0), 1.0, (0.15, 0.0), True),  # the upper bound is 1.5 away
        (1.5, (0.5, 3.0), 1.0, (0.2, 0.0), False),
        (1.5, (0.5, 3.0), 1.0, (-0.2, -0.1), False),  # 0.1 and 0.3
        (1.5, (0.5, 3.0), 1.0, (0.0, 1e3), True),  # there is no upper bound
    ],
)
def test_it_ends_where_it_cannot_come_below_a_rival(f, x, g, lam_x, over):
    """The multipliers of bounds times their distances are what may still be gained."""
    course = begun(rival=1.0)
    found = [ended(course, f, x, g, lam_x) for _ in range(6)]
    assert found == [False, False, over, False, False, over]


def test_the_solver_asks_it_with_what_the_iterate_has(monkeypatch):
    """On (x - 3)^2 with 0 <= x <= 1: the gap of the last iterate closes, its multiplier is 4."""
    ca, asked = casadi(), []
    monkeypatch.setattr(
        Course,
        "ended",
        lambda self, *got: asked.append([np.asarray(one, float).ravel() for one in got]) or False,
    )
    course, x = Course(), ca.SX.sym("x")
    heard = listener(1, 1, course)
    solve = ca.nlpsol(
        "s", "ipopt", {"x": x, "f": (x - 3) ** 2, "g": 2 * x},
        {"iteration_callback": heard, "ipopt.print_level": 0, "print_time": False,
         "ipopt.bound_relax_factor": 0.0},
    )  # fmt: skip
    solve(x0=0.5, lbx=0, ubx=1, lbg=-9, ubg=9)
    x, f, g, lam_x, lam_g = asked[-1]
    np.testing.assert_allclose([*x, *f, *g], [1, 4, 2], rtol=1e-6)
    np.testing.assert_allclose([*lam_x, *lam_g], [4, 0], atol=1e-6)
    course.begin(
        (np.zeros(1), np.ones(1)), (np.full(1, -9.0), np.full(1, 9.0)), np.inf, np.inf, np.inf
    )
    gaps = [courses._gap(one[0], *course.variables, one[3]) for one in asked]
    assert max(gaps) > 1e-2 > 1e-6 > gaps[-1]
    for course.rival, over in ((3.99, True), (4.01, False)):
        assert course.lost(x, float(f[0]), g, lam_x, lam_g) == over
