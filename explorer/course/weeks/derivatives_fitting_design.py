"""Week 11, derivatives, fitting and design: a saltation matrix, a derivative, a restitution."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from explorer.course.answers import Array, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    11,
    "derivatives_fitting_design",
    "Derivatives, fitting and design",
    minutes=80,
    needs=(1, 4, 9),
    references={
        "kong-2024": "saltation matrices: derivation, and where they are used",
        "corner-2019": "direct and adjoint sensitivities of systems with events",
        "stewart-anitescu-2010": "why derivatives of time stepping are wrong",
        "burden-2016": "flows whose derivative exists only direction by direction",
        "seber-wild-1989": "least squares, and error bars of parameters",
        "nocedal-wright-2006": "descent methods",
    },
)

G = 9.81
MU, SPEED, MASS = 0.2, 3.0, 2.0


def _edge(jump: float, rate: float = SPEED) -> np.ndarray:
    """Return the matrix of an edge at which the acceleration jumps, passed with this speed."""
    return np.array([[1.0, 0.0], [jump / rate, 1.0]])


@chapter.exercise(
    1,
    "The edge of a rough floor",
    answer=Array("SI units", shape=(2, 2), rtol=1e-4),
    points=3,
    look="Nothing jumps in the state. Which f holds on each side, and how fast does r grow?",
    mistakes=(
        Mistake(
            "sign",
            "Check the sign: a block that is ahead is on the rough floor earlier. Is it faster "
            "or slower then?",
            lambda: _edge(MU * G),
        ),
        Mistake(
            "no shift of the event",
            "This says that nothing happens: the state does not jump, but its derivative by the "
            "time does. The event shifts.",
            lambda: np.eye(2),
        ),
        Mistake(
            "rows for columns",
            "Rows are what changes, columns are the cause: you have the matrix transposed.",
            lambda: _edge(-MU * G).T,
        ),
        Mistake(
            "multiplied by the speed",
            "A fast block passes the edge with little shift: by the rate D you have to divide.",
            lambda: _edge(-MU * G, 1 / SPEED),
        ),
        Mistake(
            "force for acceleration",
            "The friction force is not the acceleration: what does the mass do?",
            lambda: _edge(-MASS * MU * G),
        ),
        Mistake(
            "no gravity",
            "A friction coefficient is no acceleration: the weight presses the block down.",
            lambda: _edge(-MU),
        ),
        Mistake(
            "the rate left out",
            "The entry is a jump of acceleration. By which rate does r pass zero? Look at units.",
            lambda: _edge(-MU * G, 1),
        ),
    ),
)
def edge() -> np.ndarray:
    """Return the saltation matrix of the edge between ice and a rough floor."""
    return _edge(-MU * G)


Y0, E, T = 1.5, 0.7, 0.8
FALL = math.sqrt(2 * Y0 / G)  # the first impact in s
SINCE = T - FALL
SHIFT = -FALL / (2 * G)  # of the impact, in s/(m/s2)


def _behind(shift: float = SHIFT, own: float = 1.0, e: float = E) -> float:
    """Return the derivative of the height by gravity between two impacts."""
    by_time = e * G * (SINCE - FALL) + G * SINCE
    return own * (e * FALL * SINCE - SINCE**2 / 2) + shift * by_time


@chapter.exercise(
    2,
    "A derivative behind an impact",
    answer=Number("m/(m/s²)", rtol=1e-4),
    points=2,
    look="Write y between the impacts with the impact time in it. Everything depends on g.",
    mistakes=(
        Mistake(
            "no shift of the event",
            "You have kept the time of the impact. It depends on g as well.",
            lambda: _behind(shift=0),
        ),
        Mistake(
            "off by one event",
            "This is the derivative of a ball that has not met the floor. An impact comes before.",
            lambda: -(T**2) / 2,
        ),
        Mistake(
            "the shift alone",
            "This is the effect of the shift of the impact. Gravity also acts in between.",
            lambda: _behind(own=0),
        ),
        Mistake(
            "sign of the shift",
            "Check the sign of the shift: does stronger gravity bring the impact later?",
            lambda: _behind(shift=-SHIFT),
        ),
        Mistake(
            "no restitution",
            "Your ball loses nothing at the impact.",
            lambda: _behind(e=1),
        ),
        Mistake(
            "left for right limit",
            "This is the derivative just before the impact, the left limit there.",
            lambda: -(FALL**2) / 2,
        ),
        Mistake(
            "unit",
            "This is the change of the height for a change of gravity by 100 per cent. The "
            "question asks for the derivative.",
            lambda: G * _behind(),
        ),
        Mistake("sign", "Check the sign of the whole derivative.", lambda: -_behind()),
    ),
)
def behind() -> float:
    """Return the derivative of the height by gravity after one impact."""
    return _behind()


HEARD = np.array([0.440, 1.215, 1.810, 2.352])
FIRST = math.sqrt(2 / G)


def _times(e: float, count: int = 4, gain: float = 2.0) -> np.ndarray:
    """Return the times of impacts in s; `gain` is 2, as a ball goes up and comes down again."""
    powers = e ** np.arange(1, count)
    return FIRST * np.concatenate([[1.0], 1 + gain * np.cumsum(powers)])


def _least(residuals: Callable[[float], np.ndarray]) -> float:
    """Return the restitution for which the sum of squares is least."""
    found = minimize_scalar(
        lambda e: float(np.sum(residuals(e) ** 2)),
        bounds=(0.01, 1.3),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x)


def _right() -> float:
    return _least(lambda e: _times(e) - HEARD)


@chapter.exercise(
    3,
    "A restitution from a microphone",
    answer=Number("", rtol=5e-4),
    points=3,
    look="Write the four times with e alone in them. One of them does not depend on e.",
    mistakes=(
        Mistake(
            "the last impact alone",
            "You have met the last time exactly. All four are measured.",
            lambda: float(brentq(lambda e: _times(e)[-1] - HEARD[-1], 0.1, 1)),
        ),
        Mistake(
            "one flight alone",
            "You have taken the first flight alone. All four times are measured.",
            lambda: float(HEARD[1] - HEARD[0]) / (2 * FIRST),
        ),
        Mistake(
            "the mean of ratios",
            "This is the mean of the ratios of flights. A time that is wrong enters two flights: "
            "the question asks for least squares of the times.",
            lambda: float(np.mean(np.diff(HEARD)[1:] / np.diff(HEARD)[:-1])),
        ),
        Mistake(
            "energy for velocity",
            "This is the share of the energy that is left. Restitution is of velocities.",
            lambda: _right() ** 2,
        ),
        Mistake(
            "a factor two",
            "A ball goes up and comes down again between two impacts.",
            lambda: _least(lambda e: _times(e, gain=1) - HEARD),
        ),
        Mistake(
            "off by one event",
            "You have taken the four times for the second to the fifth impact.",
            lambda: _least(lambda e: _times(e, 5)[1:] - HEARD),
        ),
        Mistake(
            "flights for times",
            "You have fitted the lengths of the flights. The residuals are those of the times.",
            lambda: _least(lambda e: np.diff(_times(e)) - np.diff(HEARD)),
        ),
        Mistake(
            "unit",
            "This is a restitution in per cent. It is a pure number.",
            lambda: 100 * _right(),
        ),
    ),
)
def heard() -> float:
    """Return the restitution of least squares for the four times of impacts."""
    return _right()
