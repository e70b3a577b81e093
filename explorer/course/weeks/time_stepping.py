"""Week 5, measure inclusions: exercises on catching up, on the impulse of a step, on a step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    5,
    "time_stepping",
    "Measure inclusions and time stepping",
    minutes=80,
    needs=(2, 3, 4),
    references={
        "moreau-1977": "the sweeping process and the algorithm of catching up",
        "moreau-1988": "measure differential inclusions with contact, friction and impacts",
        "jean-1999": "the theta scheme for many bodies",
        "acary-brogliato-2008": "time stepping, its convergence, and event-driven schemes",
        "acary-2013": "penetration, and how projected steps take it away",
    },
)

Step = Callable[[float, float, float, float, float], Sequence[float] | np.ndarray]


def _caught(x: float, y: float, cx: float, cy: float, R: float) -> tuple[float, float]:
    along, up = x - cx, y - cy
    far = math.hypot(along, up)
    keep = min(1.0, R / far) if far else 1.0
    return cx + keep * along, cy + keep * up


def _rim(x: float, y: float, cx: float, cy: float, R: float) -> tuple[float, float]:
    far = math.hypot(x - cx, y - cy)
    return cx + R * (x - cx) / far, cy + R * (y - cy) / far


def _mirrored(x: float, y: float, cx: float, cy: float, R: float) -> tuple[float, float]:
    to = _caught(x, y, cx, cy, R)
    return 2 * to[0] - x, 2 * to[1] - y


@chapter.exercise(
    1,
    "Catch up",
    answer=Function(
        "m",
        at=((1, 0, 1.5, 0.5, 0.4), (0, 0, 0.2, 0.1, 0.6), (2, -1, 0, 0, 0.5), (0.3, 0.4, 0, 0, 1)),
        form="answer_1(x, y, cx, cy, R)",
        returns=2,
    ),
    points=3,
    look="Two cases: the point is in the disc, or it is outside. Which point of it is nearest?",
    mistakes=(
        Mistake(
            "always on the rim",
            "For a point outside you are right. A point inside rests: nothing pushes it.",
            lambda: _rim,
        ),
        Mistake(
            "the centre",
            "You move the point to the centre. The rim stops pushing as soon as the point is in.",
            lambda: lambda x, y, cx, cy, R: (x, y) if math.hypot(x - cx, y - cy) <= R else (cx, cy),
        ),
        Mistake(
            "an impact",
            "Your point is mirrored by the rim, as an impact does with a velocity. Here the "
            "position itself has to lie in the disc.",
            lambda: _mirrored,
        ),
        Mistake(
            "the wrong side",
            "Your point comes to the far side of the disc: check the sign of the direction.",
            lambda: (
                lambda x, y, cx, cy, R: (
                    (x, y)
                    if math.hypot(x - cx, y - cy) <= R
                    else (2 * cx - _rim(x, y, cx, cy, R)[0], 2 * cy - _rim(x, y, cx, cy, R)[1])
                )
            ),
        ),
        Mistake(
            "relative to the centre",
            "You give the place seen from the centre of the disc. Add the centre.",
            lambda: (
                lambda x, y, cx, cy, R: (
                    _caught(x, y, cx, cy, R)[0] - cx,
                    _caught(x, y, cx, cy, R)[1] - cy,
                )
            ),
        ),
        Mistake(
            "a box",
            "You have cut each coordinate for itself: this is the projection on a square.",
            lambda: (
                lambda x, y, cx, cy, R: (
                    min(max(x, cx - R), cx + R),
                    min(max(y, cy - R), cy + R),
                )
            ),
        ),
        Mistake(
            "no step",
            "Your point stays where it is, also where the disc has left it behind.",
            lambda: lambda x, y, cx, cy, R: (x, y),
        ),
    ),
)
def catch_up() -> Step:
    """Return the next point of the catching-up algorithm for a disc."""
    return _caught


M, V, E, H, G = 0.5, 2.0, 0.6, 0.01, 9.81


@chapter.exercise(
    2,
    "The impulse of a step",
    answer=Number("N s", rtol=1e-4),
    points=2,
    look="Write the step for v, put in the velocity of Newton's law, and solve for p.",
    mistakes=(
        Mistake(
            "without gravity",
            "This is the impulse of the impact alone. In the step gravity pulls, too.",
            lambda: M * (1 + E) * V,
        ),
        Mistake(
            "sign of gravity",
            "Check the sign: the floor has to carry the weight besides.",
            lambda: M * ((1 + E) * V - G * H),
        ),
        Mistake(
            "only compression",
            "This impulse stops the ball. Newton's law throws it back.",
            lambda: M * (V + G * H),
        ),
        Mistake(
            "only expansion",
            "This is the impulse from rest on: the velocity before it is missing.",
            lambda: M * (E * V + G * H),
        ),
        Mistake(
            "mass",
            "This is a change of velocity in m/s: the mass is missing.",
            lambda: (1 + E) * V + G * H,
        ),
        Mistake(
            "a force",
            "This is the mean force of the step, in N. The question asks for its integral.",
            lambda: M * ((1 + E) * V + G * H) / H,
        ),
        Mistake(
            "sign",
            "Check the sign: a floor pushes, so its impulse is positive.",
            lambda: -M * ((1 + E) * V + G * H),
        ),
    ),
)
def impulse() -> float:
    """Return the impulse of a step with an impact."""
    return M * ((1 + E) * V + G * H)


Ball = Callable[[float, float, float, float], Sequence[float] | np.ndarray]


def _ball(
    y: float,
    v: float,
    e: float,
    h: float,
    *,
    looks: float = 0.5,
    law: bool = True,
    held: bool = True,
    at_end: float = 0.5,
) -> tuple[float, float]:
    free = v - G * h
    after = free
    if y + looks * h * v <= 0 or not held:
        after = max(free, -e * v) if law else -e * v
    return y + h * ((1 - at_end) * v + at_end * after), after


@chapter.exercise(
    3,
    "One step of a ball",
    answer=Function(
        "m, m/s",
        at=((1, 0, 0.8, 0.01), (0.004, -2, 0.5, 0.01), (-0.01, 1, 0.5, 0.01), (0, -0.02, 0, 0.01)),
        form="answer_3(y, v, e, h)",
        returns=2,
    ),
    points=3,
    look="First ask whether the contact is active. Then find v, and from both velocities y.",
    mistakes=(
        Mistake(
            "without contact",
            "Your ball falls through the floor: look at the steps in which the contact is active.",
            lambda: lambda y, v, e, h: _ball(y, v, e, h, looks=-1e9 if v else -1),
        ),
        Mistake(
            "an equality",
            "In an impact you are right. What if the ball goes up already? No contact pulls.",
            lambda: lambda y, v, e, h: _ball(y, v, e, h, law=False),
        ),
        Mistake(
            "always active",
            "Your ball bounces off the air: the law holds for closed contacts only.",
            lambda: lambda y, v, e, h: _ball(y, v, e, h, held=False),
        ),
        Mistake(
            "too late",
            "You look at the gap of the start. The step tests that of its middle.",
            lambda: lambda y, v, e, h: _ball(y, v, e, h, looks=0),
        ),
        Mistake(
            "left for right limit",
            "Your position moves with the velocity before the impact alone: take the mean of both.",
            lambda: lambda y, v, e, h: _ball(y, v, e, h, at_end=0),
        ),
        Mistake(
            "the other end",
            "Your position moves with the velocity behind the impact alone: take the mean of both.",
            lambda: lambda y, v, e, h: _ball(y, v, e, h, at_end=1),
        ),
        Mistake(
            "sign",
            "Check the sign of gravity: it points down.",
            lambda: (
                lambda y, v, e, h: (
                    _ball(y, v, e, h)[0] + G * h * h,
                    _ball(y, v, e, h)[1] + 2 * G * h,
                )
            ),
        ),
    ),
)
def step() -> Ball:
    """Return y and v after one step of Moreau's scheme."""
    return _ball
