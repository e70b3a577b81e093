"""Week 4, impact laws and multiple impacts: exercises on a rebound, an impulse, and three balls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from explorer.course.answers import Array, Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    4,
    "impact_laws",
    "Impact laws and multiple impacts",
    minutes=80,
    needs=(1, 2, 3),
    references={
        "brogliato-2016": "laws of one impact and of several at once, with their energies",
        "moreau-1988": "impacts of many contacts as one problem",
        "glocker-2001": "Newton's and Poisson's law as inclusions",
        "kane-levinson-1985": "an impact with friction by which Newton's law gains energy",
        "housner-1963": "the block that rocks",
    },
)

G, Y0, E = 9.81, 1.5, 0.75


@chapter.exercise(
    1,
    "The third rebound",
    answer=Number("m"),
    look="What does one impact do to the speed, and what does this do to the height?",
    mistakes=(
        Mistake(
            "the speed for the height",
            "One impact multiplies the speed by e. The height goes with the square of the speed.",
            lambda: Y0 * E**3,
        ),
        Mistake(
            "off by one event",
            "This is the height after the second impact.",
            lambda: Y0 * E**4,
        ),
        Mistake(
            "off by one event, the other way",
            "This is the height after the fourth impact.",
            lambda: Y0 * E**8,
        ),
        Mistake(
            "unit",
            "This is the share of the height, a pure number. The question asks for a height in m.",
            lambda: E**6,
        ),
        Mistake(
            "left for right limit",
            "This is the speed after the third impact in m/s, its right limit. How high does it "
            "carry the ball?",
            lambda: E**3 * math.sqrt(2 * G * Y0),
        ),
        Mistake(
            "a time",
            "This is how long the flight lasts in s. The question asks for how high it goes.",
            lambda: 2 * E**3 * math.sqrt(2 * Y0 / G),
        ),
        Mistake(
            "sign",
            "Check the sign: heights above the floor are positive.",
            lambda: -Y0 * E**6,
        ),
    ),
)
def rebound() -> float:
    """Return the greatest height after the third impact of a ball that is dropped."""
    return Y0 * E**6


Law = Callable[[float, float, float, float, float], float]


def _struck(m1: float, m2: float, v1: float, v2: float, e: float) -> float:
    return (1 + e) * m1 * m2 / (m1 + m2) * max(v1 - v2, 0.0)


@chapter.exercise(
    2,
    "The impulse between two balls",
    answer=Function(
        "N s",
        at=((1, 2, 3, 0.5, 0.8), (2, 2, 1, -1, 0), (1, 5, 2, 0, 1), (3, 1, -1, 0.5, 0.6)),
        form="answer_2(m1, m2, v1, v2, e)",
    ),
    points=3,
    look="Write the momentum of each ball, and Newton's law, and solve for the impulse.",
    mistakes=(
        Mistake(
            "the inequality",
            "For balls that approach you are right. What happens to balls that move apart? An "
            "impulse cannot pull.",
            lambda: lambda m1, m2, v1, v2, e: (1 + e) * m1 * m2 / (m1 + m2) * (v1 - v2),
        ),
        Mistake(
            "only compression",
            "This impulse stops the approach, and nothing throws the balls apart again: e is "
            "missing.",
            lambda: lambda m1, m2, v1, v2, e: _struck(m1, m2, v1, v2, 0),
        ),
        Mistake(
            "unit",
            "This is a velocity: the masses are missing.",
            lambda: lambda m1, m2, v1, v2, e: (1 + e) * max(v1 - v2, 0.0),
        ),
        Mistake(
            "the mass",
            "You have used the mass of the first ball. The second one gives way.",
            lambda: lambda m1, m2, v1, v2, e: (1 + e) * m1 * max(v1 - v2, 0.0),
        ),
        Mistake(
            "sign",
            "Check the sign: the impulse on the second ball is positive, to the right.",
            lambda: lambda m1, m2, v1, v2, e: -_struck(m1, m2, v1, v2, e),
        ),
        Mistake(
            "only expansion",
            "This is the impulse of the expansion alone. Compression comes before it.",
            lambda: lambda m1, m2, v1, v2, e: e * _struck(m1, m2, v1, v2, 0),
        ),
    ),
)
def impulse() -> Law:
    """Return the impulse between two balls on a line."""
    return _struck


MASSES, E3 = (1.0, 2.0, 1.0), 0.5
_GAPS = np.array([[-1.0, 1, 0], [0, -1, 1]])


def _three(
    e: float = E3,
    masses: Sequence[float] = MASSES,
    contacts: Sequence[int] = (0, 1),
    v: Sequence[float] | np.ndarray = (1.0, 0, 0),
) -> np.ndarray:
    """Return the velocities after an impact in which all these contacts take part."""
    rows, before = _GAPS[list(contacts)], np.array(v, float)
    weights = np.linalg.inv(np.diag(masses))
    q = (1 + e) * rows @ before
    p = np.linalg.solve(rows @ weights @ rows.T, -q)
    return np.asarray(before + weights @ rows.T @ p)


@chapter.exercise(
    3,
    "Three balls at once",
    answer=Array("m/s", rtol=1e-6, shape=(3,), names=("v1", "v2", "v3")),
    points=3,
    look="Two contacts close at once: two impulses, two equations of Newton's law.",
    mistakes=(
        Mistake(
            "wrong law",
            "These are impacts one after the other: first the left contact, then the right one. "
            "Here both contacts are closed, and take part at once.",
            lambda: _three(contacts=(1,), v=_three(contacts=(0,))),
        ),
        Mistake(
            "off by one contact",
            "Only the left contact has an impulse. The third ball is touched already: it does not "
            "stay behind.",
            lambda: _three(contacts=(0,)),
        ),
        Mistake(
            "only compression",
            "All balls move together: this is e = 0.",
            lambda: _three(e=0),
        ),
        Mistake(
            "without loss",
            "This is e = 1: the energy after the impact is as large as before it.",
            lambda: _three(e=1),
        ),
        Mistake(
            "equal masses",
            "The middle ball has 2 kg: your impulses move it as if it had 1 kg.",
            lambda: _three(masses=(1, 1, 1)),
        ),
        Mistake(
            "left for right limit",
            "These are the velocities before the impact, the left limits.",
            lambda: np.array([1.0, 0, 0]),
        ),
        Mistake(
            "sign",
            "Check the sign: the sum of all m v has to stay what it was.",
            lambda: -_three(),
        ),
    ),
)
def three_balls() -> np.ndarray:
    """Return the velocities of three touching balls after an impact by Newton's law."""
    return _three()
