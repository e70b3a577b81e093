"""Week 8, hybrid automata: exercises on a thermostat, a Zeno time, and a memory."""

from __future__ import annotations

import math
from collections.abc import Callable

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    8,
    "hybrid_automata",
    "Hybrid automata, Zeno, hysteresis",
    minutes=85,
    needs=(1, 4, 5, 6),
    references={
        "goebel-2012": "hybrid systems: their solutions, and how long these exist",
        "johansson-1999": "Zeno automata, the two tanks among them",
        "krasnoselskii-1989": "play and stop, and what they remember",
        "moreau-1977": "the sweeping process, of which play is the simplest",
        "liberzon-2003": "switched systems: stability, chattering, hysteresis",
    },
)

A, OUT, HEATED, LOW, HIGH = 0.2, 10.0, 35.0, 18.0, 22.0


def _heats(a: float = A) -> float:
    return math.log((HEATED - LOW) / (HEATED - HIGH)) / a


def _cools(a: float = A) -> float:
    return math.log((HIGH - OUT) / (LOW - OUT)) / a


@chapter.exercise(
    1,
    "The period of a thermostat",
    answer=Number("s", rtol=1e-4),
    points=2,
    look="How long does it heat from L to U, and how long does it cool from U to L?",
    mistakes=(
        Mistake(
            "half of it",
            "This is how long the heater is on. A period has the pause, too.",
            _heats,
        ),
        Mistake(
            "the other half",
            "This is how long the heater is off. A period has the heating, too.",
            _cools,
        ),
        Mistake(
            "the rate",
            "The exponent is a pure number: the rate a has to divide your logarithms.",
            lambda: _heats(1) + _cools(1),
        ),
        Mistake(
            "sign",
            "Check the sign: in the room that heats, is it far from or near its limit at L?",
            lambda: _cools() - _heats(),
        ),
        Mistake(
            "the wrong logarithm",
            "An exponential is undone by the natural logarithm, not by that to the base 10.",
            lambda: (_heats() + _cools()) / math.log(10),
        ),
        Mistake(
            "off by one event",
            "This is how long four switches take. How many does a period have?",
            lambda: 2 * (_heats() + _cools()),
        ),
        Mistake(
            "straight lines",
            "The temperature does not move on straight lines: the rate changes with T.",
            lambda: (HIGH - LOW) / (A * (HEATED - LOW)) + (HIGH - LOW) / (A * (HIGH - OUT)),
        ),
    ),
)
def period() -> float:
    """Return the time from one switching on of the heater to the next one."""
    return _heats() + _cools()


G, Y0, E = 9.81, 0.5, 0.9
FIRST = math.sqrt(2 * Y0 / G)


@chapter.exercise(
    2,
    "When the ball is at rest",
    answer=Number("s", rtol=1e-4),
    points=2,
    look="Add the first fall and all flights. Each flight is e times as long as the one before.",
    mistakes=(
        Mistake(
            "without the fall",
            "These are the flights after the first impact. The ball falls before that.",
            lambda: 2 * FIRST * E / (1 - E),
        ),
        Mistake(
            "a whole first flight",
            "The ball is dropped, not thrown: before the first impact it has half a flight.",
            lambda: 2 * FIRST / (1 - E),
        ),
        Mistake(
            "half flights",
            "A flight goes up and down: your sum has only half of each flight.",
            lambda: FIRST / (1 - E),
        ),
        Mistake(
            "sign",
            "Check the signs in your fraction: a livelier ball takes longer.",
            lambda: FIRST * (1 - E) / (1 + E),
        ),
        Mistake(
            "the height",
            "Flights shrink with the speed, by e. You have let them shrink as heights do.",
            lambda: FIRST * (1 + E**2) / (1 - E**2),
        ),
        Mistake(
            "off by one event",
            "This is the time of a ball that is dropped from where the first rebound reaches.",
            lambda: E * FIRST * (1 + E) / (1 - E),
        ),
        Mistake(
            "unit",
            "This is the time in milliseconds.",
            lambda: 1e3 * FIRST * (1 + E) / (1 - E),
        ),
    ),
)
def rest() -> float:
    """Return when the impacts of a ball that is dropped accumulate."""
    return FIRST * (1 + E) / (1 - E)


Memory = Callable[[float, float, float], float]


def _frame(w: float, u: float, r: float) -> float:
    return max(u - r, min(u + r, w))


@chapter.exercise(
    3,
    "A memory",
    answer=Function(
        "m",
        at=((0, 1, 0.4), (0.6, 0.5, 0.4), (0.6, -1, 0.4), (0.1, 0.2, 0.3), (-0.5, -0.1, 0.2)),
        form="answer_3(w, u, r)",
    ),
    points=3,
    look="Three cases: the pin stays inside the frame, pulls it to the right, or to the left.",
    mistakes=(
        Mistake(
            "the stop for the play",
            "This is how far the pin is from the middle of the frame. The question asks for the "
            "frame.",
            lambda: lambda w, u, r: u - _frame(w, u, r),
        ),
        Mistake(
            "no play",
            "Your frame follows the pin everywhere, and remembers nothing.",
            lambda: lambda w, u, r: u,
        ),
        Mistake(
            "one side",
            "To the right you are right. What happens if the pin goes back to the left?",
            lambda: lambda w, u, r: max(u - r, w),
        ),
        Mistake(
            "the other side",
            "To the left you are right. What happens if the pin goes to the right?",
            lambda: lambda w, u, r: min(u + r, w),
        ),
        Mistake(
            "a factor two",
            "The pin has the room r to each side, 2 r in all.",
            lambda: lambda w, u, r: _frame(w, u, 2 * r),
        ),
        Mistake(
            "sign",
            "Check the signs: a pin that goes to the right leaves the frame to its left.",
            lambda: lambda w, u, r: max(u + r, min(u - r, w)),
        ),
        Mistake(
            "a relay",
            "Your frame jumps to an end. It moves no further than the pin makes it.",
            lambda: lambda w, u, r: u + r if w > u else u - r,
        ),
    ),
)
def play() -> Memory:
    """Return where the frame is after the pin has moved to u in one go."""
    return _frame
