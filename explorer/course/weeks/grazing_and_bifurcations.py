"""Week 9, grazing, bifurcations and chaos: exercises on a graze, a cycle, and an exponent."""

from __future__ import annotations

import math
from collections.abc import Callable

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    9,
    "grazing_and_bifurcations",
    "Grazing, bifurcations and chaos",
    minutes=75,
    needs=(1, 4),
    references={
        "nordmark-1991": "the square root in the map of a grazing orbit",
        "chin-1994": "what follows a graze: chaos, windows, or periods alone",
        "di-bernardo-2008": "bifurcations of piecewise smooth systems",
        "budd-dux-1994": "periodic motions and chatter of an impact oscillator",
        "collet-eckmann-1980": "maps of an interval, and their exponents",
    },
)

W, A, S, E = 2.0, 1 / 3, 0.31, 0.7
SPEED = W * math.sqrt(A**2 - S**2)


@chapter.exercise(
    1,
    "The first impact beyond a graze",
    answer=Number("m/s", rtol=1e-3),
    points=2,
    look="Where on the cosine is the mass when it meets the stop? What is its speed there?",
    mistakes=(
        Mistake(
            "the parabola",
            "This is the parabola near the crest. The overlap is not small here: take the cosine.",
            lambda: W * math.sqrt(2 * A * (A - S)),
        ),
        Mistake(
            "left for right limit",
            "This is the speed after the impact. The question asks for the one before it, the left "
            "limit.",
            lambda: E * SPEED,
        ),
        Mistake(
            "unit",
            "This is a length in m: a derivative by the time brings the frequency.",
            lambda: SPEED / W,
        ),
        Mistake(
            "linear",
            "The speed does not grow in proportion to the overlap.",
            lambda: W * (A - S),
        ),
        Mistake(
            "the wrong place",
            "This is the speed at the middle of the swing. The stop is near the crest.",
            lambda: W * A,
        ),
        Mistake("sign", "Check the sign: a speed is positive.", lambda: -SPEED),
    ),
)
def first_impact() -> float:
    """Return the speed at which the free orbit meets the stop."""
    return SPEED


Law = Callable[[float, float], float]


def _root(lam: float, mu: float, m: int) -> float:
    """Return the square root of the point with the impact, of the cycle of period m."""
    left = lam ** (m - 1)
    return (math.sqrt(left**2 + 4 * mu * (1 - lam**m) / (1 - lam)) - left) / 2


@chapter.exercise(
    2,
    "A cycle of two iterates",
    answer=Function(at=((0.15, 0.03), (0.1, 0.05), (0.22, 0.04)), form="answer_2(lam, mu)"),
    points=3,
    look="Write one iterate with an impact, then one without, and ask for the start again.",
    mistakes=(
        Mistake(
            "the root",
            "This is the square root of the point. The question asks for the point.",
            lambda: lambda lam, mu: _root(lam, mu, 2),
        ),
        Mistake(
            "off by one event",
            "This is the fixed point: its orbit has an impact in each iterate.",
            lambda: lambda lam, mu: _root(lam, mu, 1) ** 2,
        ),
        Mistake(
            "off by one event, the other way",
            "This cycle has two iterates without an impact, so it has three in all.",
            lambda: lambda lam, mu: _root(lam, mu, 3) ** 2,
        ),
        Mistake(
            "left for right",
            "This is the other point of the cycle, the one without an impact.",
            lambda: lambda lam, mu: mu - _root(lam, mu, 2),
        ),
        Mistake(
            "the other root",
            "A quadratic equation has two roots. This one is a negative root of x, squared.",
            lambda: lambda lam, mu: (_root(lam, mu, 2) + lam) ** 2,
        ),
        Mistake(
            "sign",
            "Check the sign: an iterate has an impact where its point is positive.",
            lambda: lambda lam, mu: -(_root(lam, mu, 2) ** 2),
        ),
    ),
)
def cycle_of_two() -> Law:
    """Return the point with the impact of the cycle of period two."""
    return lambda lam, mu: _root(lam, mu, 2) ** 2


LEFT, RIGHT = 0.25, -9.0
PRODUCT = LEFT**2 * abs(RIGHT)


@chapter.exercise(
    3,
    "The exponent of a cycle",
    answer=Number("in an iterate", rtol=1e-4),
    points=3,
    look="By what does the whole cycle multiply a small distance? Take the mean in an iterate.",
    mistakes=(
        Mistake(
            "the whole cycle",
            "This is the logarithm over the whole cycle. The question asks for the mean in an "
            "iterate.",
            lambda: math.log(PRODUCT),
        ),
        Mistake(
            "sign",
            "Check the sign: does a small distance grow or shrink in one turn?",
            lambda: -math.log(PRODUCT) / 3,
        ),
        Mistake(
            "no logarithm",
            "This is the factor of the whole cycle. An exponent is a rate, a logarithm.",
            lambda: PRODUCT,
        ),
        Mistake(
            "off by one event",
            "This is a cycle with one point on the left. Here two are there.",
            lambda: math.log(LEFT * abs(RIGHT)) / 2,
        ),
        Mistake(
            "left for right",
            "You have one point on the left and two on the right. It is the other way round.",
            lambda: math.log(LEFT * RIGHT**2) / 3,
        ),
        Mistake(
            "unit",
            "This is a decimal logarithm. An exponent belongs to the base of natural logarithms.",
            lambda: math.log10(PRODUCT) / 3,
        ),
    ),
)
def exponent() -> float:
    """Return the Lyapunov exponent of a cycle of three points of the border-collision map."""
    return math.log(PRODUCT) / 3
