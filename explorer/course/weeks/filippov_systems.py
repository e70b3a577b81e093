"""Week 6, Filippov systems: exercises on a sliding velocity, a reaching time, and a share."""

from __future__ import annotations

from collections.abc import Callable

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    6,
    "filippov_systems",
    "Filippov systems and sliding",
    minutes=75,
    needs=(2, 3),
    references={
        "filippov-1988": "solutions of equations that jump: existence, uniqueness, sliding",
        "utkin-1992": "the equivalent control, and where relays use it",
        "jeffrey-colombo-2009": "two-folds, where determinacy ends",
        "dieci-lopez-2012": "how sliding is computed, by methods that locate switches",
        "acary-brogliato-2010": "implicit steps of sliding-mode control, without chattering",
        "nurkanovic-2024": "FESD: switches located inside of an implicit method",
    },
)

PLUS, MINUS = (1.0, -2.0), (3.0, 1.0)  # x', y' above and below the line y = 0
SHARE = MINUS[1] / (MINUS[1] - PLUS[1])


@chapter.exercise(
    1,
    "How fast it slides",
    answer=Number("m/s"),
    points=2,
    look="First find the share of the upper field that makes y' = 0.",
    mistakes=(
        Mistake(
            "left for right",
            "The shares are exchanged: the field that pushes harder to the line has the smaller "
            "one.",
            lambda: (1 - SHARE) * PLUS[0] + SHARE * MINUS[0],
        ),
        Mistake(
            "the mean",
            "This is the mean of both velocities. With it y' is not zero.",
            lambda: (PLUS[0] + MINUS[0]) / 2,
        ),
        Mistake(
            "one side only",
            "This is the velocity above the line alone.",
            lambda: PLUS[0],
        ),
        Mistake(
            "the other side only",
            "This is the velocity below the line alone.",
            lambda: MINUS[0],
        ),
        Mistake(
            "the share",
            "This is the share of the upper field, a pure number. Which velocity does it give?",
            lambda: SHARE,
        ),
        Mistake(
            "sign",
            "Check the sign: both fields lead to the right.",
            lambda: -(SHARE * PLUS[0] + (1 - SHARE) * MINUS[0]),
        ),
        Mistake(
            "the sum",
            "Shares add up to 1: you have added both velocities in full.",
            lambda: PLUS[0] + MINUS[0],
        ),
    ),
)
def sliding_speed() -> float:
    """Return x' on the line."""
    return SHARE * PLUS[0] + (1 - SHARE) * MINUS[0]


X0, A, C = 1.2, 2.0, 0.5


@chapter.exercise(
    2,
    "When the surface is reached",
    answer=Number("s"),
    points=2,
    look="On the way sgn x keeps its value. What is x' there?",
    mistakes=(
        Mistake(
            "without the disturbance",
            "The disturbance pushes against the relay on the whole way.",
            lambda: X0 / A,
        ),
        Mistake(
            "sign",
            "Check the signs: for x > 0 the relay and the disturbance work against each other.",
            lambda: X0 / (A + C),
        ),
        Mistake(
            "the wrong law",
            "You have let x decay exponentially. The relay pushes with the same force up to the "
            "surface, so it comes there in finite time.",
            lambda: X0 / A * 4.60517,
        ),
        Mistake(
            "a factor two",
            "The relay jumps by 2 a at the surface, but before it it pushes with a.",
            lambda: X0 / (2 * A - C),
        ),
        Mistake(
            "upside down",
            "Check the unit: m/s divided by m is no time.",
            lambda: (A - C) / X0,
        ),
        Mistake(
            "unit",
            "This is the time in milliseconds.",
            lambda: 1e3 * X0 / (A - C),
        ),
        Mistake(
            "a negative time",
            "A time after the start is positive.",
            lambda: -X0 / (A - C),
        ),
    ),
)
def reaching_time() -> float:
    """Return when x' = c - a sgn x brings x0 to zero."""
    return X0 / (A - C)


Share = Callable[[float, float], float]


def _share(plus: float, minus: float) -> float:
    if plus >= 0 and minus >= 0:
        return 1.0
    if plus <= 0 and minus <= 0:
        return 0.0
    return minus / (minus - plus)


@chapter.exercise(
    3,
    "The share of the upper field",
    answer=Function(
        "", at=((-1, 2), (-2, 0.5), (1, 2), (-1, -3), (-0.1, 4)), form="answer_3(plus, minus)"
    ),
    points=3,
    look="Three cases: both fields lead up, both lead down, or both lead to the surface.",
    mistakes=(
        Mistake(
            "left for right",
            "On the surface you give the share of the lower field.",
            lambda: (
                lambda plus, minus: (
                    1 - _share(plus, minus) if plus < 0 < minus else _share(plus, minus)
                )
            ),
        ),
        Mistake(
            "crossing",
            "In a slide you are right. Where the state crosses, one field acts alone: a share lies "
            "between 0 and 1.",
            lambda: lambda plus, minus: minus / (minus - plus),
        ),
        Mistake(
            "sign",
            "Check the signs: which share makes share * plus + (1 - share) * minus zero?",
            lambda: (
                lambda plus, minus: (
                    minus / (minus + plus) if plus < 0 < minus else _share(plus, minus)
                )
            ),
        ),
        Mistake(
            "a half",
            "Only fields that push equally hard have equal shares.",
            lambda: lambda plus, minus: 0.5 if plus < 0 < minus else _share(plus, minus),
        ),
        Mistake(
            "the wrong side",
            "Where both fields lead up, the state comes above the surface. Which field acts there?",
            lambda: (
                lambda plus, minus: (
                    _share(plus, minus) if plus < 0 < minus else 1 - _share(plus, minus)
                )
            ),
        ),
        Mistake(
            "the multiplier of a sign",
            "You give a number between -1 and 1, as a set-valued sign has. A share is between 0 "
            "and 1.",
            lambda: lambda plus, minus: 2 * _share(plus, minus) - 1,
        ),
    ),
)
def share() -> Share:
    """Return the share of the upper field, from both rates along the normal."""
    return _share
