"""Week 3, set-valued force laws: exercises on a slope, a belt, and an implicit step."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake
from explorer.models.stick_slip import cycle

chapter = Chapter(
    3,
    "set_valued_force_laws",
    "Set-valued force laws",
    minutes=75,
    needs=(1, 2),
    references={
        "glocker-2001": "force laws as building blocks",
        "leine-nijmeijer-2004": "Coulomb's law as an inclusion, stick-slip",
        "moreau-1988": "contact and friction in one framework",
        "leine-1998": "a friction that falls with speed",
        "genot-brogliato-1999": "Painlevé's rod near the place where it has no force",
    },
)

G = 9.81
Law = Callable[[float], float]
Step = Callable[[float, float], float]
M1, MU1 = 2.0, 0.5


def _held(alpha: float) -> float:
    return M1 * G * min(math.sin(alpha), MU1 * math.cos(alpha))


@chapter.exercise(
    1,
    "The force that holds a block",
    answer=Function("N", at=((0.2,), (0.4,), (0.6,), (1.0,)), form="answer_1(alpha)"),
    look="Two cases: the block stays, or it slides. Which friction force belongs to each of them?",
    mistakes=(
        Mistake(
            "the bound for the force",
            "You always give the largest friction force. A block that stays needs less than that.",
            lambda: lambda alpha: MU1 * M1 * G * math.cos(alpha),
        ),
        Mistake(
            "the rest for all slopes",
            "On steep slopes friction cannot hold the block any more. How large can it be?",
            lambda: lambda alpha: M1 * G * math.sin(alpha),
        ),
        Mistake(
            "sign",
            "Check the sign: the force on the block counts positive up the slope.",
            lambda: lambda alpha: -_held(alpha),
        ),
        Mistake(
            "unit",
            "The angle is given in rad, and you take it for degrees.",
            lambda: lambda alpha: _held(math.radians(alpha)),
        ),
        Mistake(
            "an acceleration for a force",
            "This is a force over mass, in m/s². The block has 2 kg.",
            lambda: lambda alpha: _held(alpha) / M1,
        ),
        Mistake(
            "the weight for the normal force",
            "On a slope the normal force is less than the weight.",
            lambda: lambda alpha: M1 * G * min(math.sin(alpha), MU1),
        ),
    ),
)
def holds() -> Law:
    """Return the friction force on a block that is put on a slope."""
    return _held


_BELT = {"m": 2.0, "k": 8.0, "mu_s": 0.5, "mu": 0.3, "g": G, "v": 0.25}
_STICKS, _SLIDES = cycle(**_BELT)


@chapter.exercise(
    2,
    "How long does it stick?",
    answer=Number("s"),
    look="At which two stretches of the spring does sticking begin and end?",
    mistakes=(
        Mistake(
            "off by one event",
            "This is the time from the middle of the stick to its end. Sticking begins earlier: "
            "where does the slide leave the block?",
            lambda: _STICKS / 2,
        ),
        Mistake(
            "the slide",
            "This is how long it slides. The question asks for how long it sticks.",
            lambda: _SLIDES,
        ),
        Mistake(
            "the whole period",
            "This is the whole period, the slide included.",
            lambda: _STICKS + _SLIDES,
        ),
        Mistake(
            "one coefficient",
            "You let it stick from minus to plus the largest friction force. It begins to stick "
            "where the slide ends, and sliding has a coefficient of its own.",
            lambda: _STICKS * 0.5 / 0.2,
        ),
        Mistake(
            "unit",
            "This is the way in m that the block moves with the belt. Divide it by its speed.",
            lambda: _STICKS * 0.25,
        ),
        Mistake(
            "sign",
            "Check the sign: a time is positive, and the static coefficient is the larger one.",
            lambda: -_STICKS,
        ),
    ),
)
def sticks() -> float:
    """Return how long a block on a belt sticks in each period."""
    return _STICKS


MU3 = 0.4


def _step(v: float, h: float) -> float:
    return math.copysign(max(abs(v) - h * MU3 * G, 0.0), v)


@chapter.exercise(
    3,
    "One implicit step",
    answer=Function(
        "m/s",
        at=((1.0, 0.01), (0.02, 0.01), (-0.03, 0.01), (-2.0, 0.1), (0.0, 0.1)),
        form="answer_3(v, h)",
    ),
    points=3,
    look="Try v_new > 0, v_new < 0 and v_new = 0 in turn: which v leads to which of them?",
    mistakes=(
        Mistake(
            "wrong scheme",
            "This is the explicit step: it takes the sign of the old velocity, and overshoots "
            "zero. In an implicit step the new velocity stands in the law.",
            lambda: lambda v, h: v - h * MU3 * G * np.sign(v),
        ),
        Mistake(
            "the impulse for the velocity",
            "This is what friction takes away in the step. The question asks for what is left.",
            lambda: lambda v, h: v - _step(v, h),
        ),
        Mistake(
            "unit",
            "The step h is missing: an acceleration is not yet a change of the velocity.",
            lambda: lambda v, h: _step(v, 1.0),
        ),
        Mistake(
            "sign",
            "Friction makes your block faster. Check the sign.",
            lambda: lambda v, h: v + h * MU3 * G * np.sign(v),
        ),
        Mistake(
            "only the dead zone",
            "Slow blocks stop, as they should. But friction acts on fast ones, too.",
            lambda: lambda v, h: v if abs(v) > h * MU3 * G else 0.0,
        ),
        Mistake(
            "one direction",
            "It is right for blocks that move to the right. What of v < 0?",
            lambda: lambda v, h: max(v - h * MU3 * G, 0.0),
        ),
    ),
)
def implicit() -> Step:
    """Return the velocity after a step of implicit Euler with dry friction."""
    return _step
