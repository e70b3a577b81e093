"""Week 2, convex analysis: exercises on a prox, an LCP, and the step of an iteration."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.course.answers import Array, Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    2,
    "convex_analysis",
    "Convex analysis: normal cones, prox and LCP",
    minutes=85,
    needs=(1,),
    references={
        "leine-nijmeijer-2004": "convex analysis for mechanics, with a picture for each term",
        "glocker-2001": "normal cones and force laws",
        "cottle-2009": "chapters 3 and 4: which matrices give which LCPs, and pivoting",
        "acary-brogliato-2008": "complementarity problems, and how they are solved",
        "alart-curnier-1991": "the prox as an equation for Newton's method",
    },
)

Disc = Callable[[np.ndarray, float], np.ndarray]


def _onto_the_disc(z: np.ndarray, radius: float) -> np.ndarray:
    size = float(np.linalg.norm(z))
    return z if size <= radius else radius / size * z


def _scaled(z: np.ndarray, radius: float) -> np.ndarray:
    return np.asarray(radius / np.linalg.norm(z) * z)


_AT = tuple(
    (np.array(z), radius)
    for z, radius in (((3.0, 4.0), 2.0), ((0.3, 0.4), 2.0), ((-1.0, 2.0), 1.5), ((0.5, -5.0), 4.0))
)


@chapter.exercise(
    1,
    "The nearest point of a disc",
    answer=Function("N", rtol=1e-9, at=_AT, returns=2, form="answer_1(z, radius)"),
    look="Draw a disc, a point outside and a point inside, and the nearest point for each.",
    mistakes=(
        Mistake(
            "a box for a disc",
            "You clip each component by itself: that is the nearest point of a square.",
            lambda: lambda z, radius: np.clip(z, -radius, radius),
        ),
        Mistake(
            "inside",
            "Your function moves points that lie inside of the disc. Which point of it is nearest "
            "to them?",
            lambda: _scaled,
        ),
        Mistake(
            "unit",
            "Your points have the length 1 where they lie outside: the radius counts, too.",
            lambda: (
                lambda z, radius: (
                    _onto_the_disc(z, radius) / (radius if np.linalg.norm(z) > radius else 1)
                )
            ),
        ),
        Mistake(
            "sign",
            "Check the sign: your point lies on the other side of the centre.",
            lambda: lambda z, radius: -_onto_the_disc(z, radius),
        ),
        Mistake(
            "the rest",
            "This is the way from the nearest point to z, a vector of the normal cone. The "
            "question asks for the point.",
            lambda: lambda z, radius: z - _onto_the_disc(z, radius),
        ),
        Mistake(
            "zero inside",
            "Outside you are right. Inside of the disc a point is not moved to the centre.",
            lambda: lambda z, radius: _scaled(z, radius) * (np.linalg.norm(z) > radius),
        ),
    ),
)
def disc() -> Disc:
    """Return the nearest point of a disc."""
    return _onto_the_disc


M = np.array([[2.0, -1, 0], [-1, 2, -1], [0, -1, 2]])
Q = np.array([-4.0, 1, 1])


def _solved(q: np.ndarray, inside: tuple[int, ...]) -> np.ndarray:
    """Return z with w = 0 for some rows, and z = 0 for the others."""
    z, rows = np.zeros(3), list(inside)
    z[rows] = np.linalg.solve(M[np.ix_(rows, rows)], -q[rows])
    return z


def _swept() -> np.ndarray:
    """Return what one sweep of projected Gauss-Seidel gives."""
    z = np.zeros(3)
    for i in range(3):
        z[i] = max(0.0, z[i] - (M[i] @ z + Q[i]) / M[i, i])
    return z


@chapter.exercise(
    2,
    "A linear complementarity problem",
    answer=Array("", rtol=1e-6, shape=(3,), names=("z1", "z2", "z3")),
    points=3,
    look="Guess which z are positive, solve for them, and test all six inequalities.",
    mistakes=(
        Mistake(
            "the inequalities",
            "You have solved M z + q = 0. One component breaks z >= 0.",
            lambda: _solved(Q, (0, 1, 2)),
        ),
        Mistake(
            "clipped",
            "You have set the negative component of the solution of M z + q = 0 to zero. Then the "
            "other rows no longer fit: solve them again.",
            lambda: np.maximum(_solved(Q, (0, 1, 2)), 0),
        ),
        Mistake(
            "w for z",
            "This is w. The question asks for z.",
            lambda: M @ _solved(Q, (0, 1)) + Q,
        ),
        Mistake(
            "sign",
            "Check the sign of q: you have solved the problem of M z - q.",
            lambda: _solved(-Q, (1, 2)),
        ),
        Mistake(
            "off by one contact",
            "Only one z of yours is positive. Compute the three w: one of them is negative.",
            lambda: _solved(Q, (0,)),
        ),
        Mistake(
            "wrong scheme",
            "This is where projected Gauss-Seidel stands after one sweep. It has to go on.",
            _swept,
        ),
    ),
)
def complementary() -> np.ndarray:
    """Return the solution of an LCP with three rows."""
    return _solved(Q, (0, 1))


_SMALLEST, _LARGEST = 3 - 2**0.5, 3 + 2**0.5  # eigenvalues of [[4, -1], [-1, 2]]


@chapter.exercise(
    3,
    "How large a step?",
    answer=Number("", rtol=1e-3),
    look="Where nothing is clipped, the error is multiplied by I - r M in each step.",
    mistakes=(
        Mistake(
            "the other eigenvalue",
            "You have used the smallest eigenvalue. Which one makes |1 - r λ| large first?",
            lambda: 2 / _SMALLEST,
        ),
        Mistake(
            "a factor",
            "With this r the fastest component is gone in one step. It converges for larger ones, "
            "too: 1 - r λ may be negative.",
            lambda: 1 / _LARGEST,
        ),
        Mistake(
            "the eigenvalue itself",
            "This is the largest eigenvalue. How does the bound of r depend on it?",
            lambda: _LARGEST,
        ),
        Mistake(
            "wrong scheme",
            "This is right for a matrix that is diagonal. The row sums or the diagonal do not "
            "decide here.",
            lambda: 2 / 4,
        ),
        Mistake(
            "the best step",
            "This r converges fastest. The question asks for the largest one that converges at "
            "all.",
            lambda: 2 / (_SMALLEST + _LARGEST),
        ),
        Mistake(
            "sign",
            "A negative r would go away from the solution: check the sign.",
            lambda: -2 / _LARGEST,
        ),
    ),
)
def largest_step() -> float:
    """Return the bound of the step of the fixed-point iteration."""
    return 2 / _LARGEST
