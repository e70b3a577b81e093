"""Week 10, limit cycles and walking: exercises on a wheel of spokes and its return map."""

from __future__ import annotations

import math
from collections.abc import Callable

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    10,
    "limit_cycles_and_walking",
    "Limit cycles and walking",
    minutes=75,
    needs=(1, 4, 9),
    references={
        "mcgeer-1990": "walking without motors; the wheel without a rim",
        "tedrake": "limit cycles, and simple models of walking",
        "garcia-1998": "the simplest walker, from gait to chaos",
        "bhounsule-2014": "the simplest walker, computed to many digits",
        "goswami-1996": "the compass gait",
    },
)

ALPHA, GAMMA, G, LENGTH = math.pi / 10, 0.1, 9.81, 0.8


def _speed(alpha: float = ALPHA, gain: float = 4.0, gamma: float = GAMMA) -> float:
    """Return the speed after an impact of a wheel that rolls steadily, in rad/s."""
    fallen = gain * (G / LENGTH) * math.sin(alpha) * math.sin(gamma)
    return math.sqrt(fallen) / math.tan(2 * alpha)


@chapter.exercise(
    1,
    "The speed of a wheel",
    answer=Number("rad/s", rtol=1e-4),
    points=2,
    look="In the steady motion an impact takes the energy that the slope gives in one step.",
    mistakes=(
        Mistake(
            "left for right limit",
            "This is the speed before an impact, the left limit. The question asks for the one "
            "after it.",
            lambda: _speed() / math.cos(2 * ALPHA),
        ),
        Mistake(
            "off by one event",
            "This is the speed after one more impact, with no slope between the two.",
            lambda: _speed() * math.cos(2 * ALPHA),
        ),
        Mistake(
            "a factor two",
            "Look at the kinetic energy: where does its one half go?",
            lambda: _speed(gain=2),
        ),
        Mistake(
            "unit",
            "This is the speed of the hub in m/s. The question asks for the angular velocity.",
            lambda: LENGTH * _speed(),
        ),
        Mistake(
            "the angle",
            "Two spokes are 2 alpha apart: you have used this angle for alpha.",
            lambda: _speed(alpha=2 * ALPHA),
        ),
        Mistake(
            "squared",
            "This is the square of the speed.",
            lambda: _speed() ** 2,
        ),
        Mistake("sign", "Check the sign: down the slope is positive.", lambda: -_speed()),
    ),
)
def wheel_speed() -> float:
    """Return the speed after an impact of a wheel of ten spokes that rolls steadily."""
    return _speed()


KEPT = math.cos(2 * ALPHA) ** 2


def _impacts(kept: float = KEPT, part: float = 0.01) -> float:
    return math.ceil(math.log(part) / math.log(kept))


@chapter.exercise(
    2,
    "How long a push is felt",
    answer=Number("impacts", rtol=1e-6),
    points=2,
    look="One impact multiplies the error by the multiplier. What do n impacts do?",
    mistakes=(
        Mistake(
            "off by one event",
            "One impact is missing: after so many a little more than the wanted part is left.",
            lambda: _impacts() - 1,
        ),
        Mistake(
            "off by one event, the other way",
            "The error is as small one impact earlier.",
            lambda: _impacts() + 1,
        ),
        Mistake(
            "not whole",
            "Impacts are counted: give a whole number.",
            lambda: math.log(0.01) / math.log(KEPT),
        ),
        Mistake(
            "the factor of the speed",
            "This is the factor by which an impact changes the speed. An error also passes the "
            "slope between two impacts.",
            lambda: _impacts(math.cos(2 * ALPHA)),
        ),
        Mistake(
            "the angle",
            "Two spokes are twice alpha apart: you have taken half of the angle.",
            lambda: _impacts(math.cos(ALPHA) ** 2),
        ),
        Mistake(
            "unit",
            "After so many impacts one part in a thousand is left. The question asks for one per "
            "cent.",
            lambda: _impacts(part=1e-3),
        ),
        Mistake("sign", "A number of impacts is positive.", lambda: -_impacts()),
    ),
)
def felt() -> float:
    """Return after how many impacts a hundredth of a small error is left."""
    return _impacts()


Law = Callable[[float, float], float]


def _next(
    w: float, gamma: float, gain: float = 4.0, kept: float = math.sqrt(0.5), ratio: float = 9.8
) -> float:
    fallen = gain * ratio * math.sin(math.pi / 8) * math.sin(gamma)
    return kept * math.sqrt(w**2 + fallen)


@chapter.exercise(
    3,
    "A return map",
    answer=Function("rad/s", at=((1.3, 0.08), (2.0, 0.1), (2.5, 0.2)), form="answer_3(w, gamma)"),
    points=3,
    look="Use the energy from one impact to the next, and then the law of the impact.",
    mistakes=(
        Mistake(
            "left for right limit",
            "This is the speed just before the next impact, the left limit.",
            lambda: lambda w, gamma: _next(w, gamma, kept=1),
        ),
        Mistake(
            "sign",
            "Check the sign of the slope: down it, gravity makes the wheel faster.",
            lambda: lambda w, gamma: _next(w, -gamma),
        ),
        Mistake(
            "the energy",
            "You have multiplied the speed by the share that is left of the energy.",
            lambda: lambda w, gamma: _next(w, gamma, kept=0.5),
        ),
        Mistake(
            "a factor two",
            "Look at the kinetic energy: where does its one half go?",
            lambda: lambda w, gamma: _next(w, gamma, gain=2),
        ),
        Mistake(
            "no slope",
            "This is an impact alone: the fall of the hub between two impacts is missing.",
            lambda: lambda w, gamma: _next(w, 0),
        ),
        Mistake(
            "off by one event",
            "This is the map of two steps.",
            lambda: lambda w, gamma: _next(_next(w, gamma), gamma),
        ),
        Mistake(
            "squared",
            "This is the square of the speed.",
            lambda: lambda w, gamma: _next(w, gamma) ** 2,
        ),
    ),
)
def return_map() -> Law:
    """Return the map from the speed after an impact to that after the next one."""
    return _next
