"""Week 12, optimal control: exercises on a least time, the price of a motor, and a turbo."""

from __future__ import annotations

import math

from explorer.course.answers import Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    12,
    "optimal_control",
    "Optimal control",
    minutes=80,
    needs=(1, 3, 11),
    references={
        "pontryagin-1962": "the maximum principle, and bang-bang controls",
        "bushaw-1958": "controls that switch between their bounds",
        "nurkanovic-2024": "finite elements with switch detection",
        "nurkanovic-diehl-2022": "the car with a turbo, and systems with hysteresis",
        "stewart-anitescu-2010": "gradients of smoothed systems, and of time stepping",
        "rawlings-2017": "model predictive control",
    },
)

MASS, FORCE, MU, G, WAY = 3.0, 12.0, 0.15, 9.81, 2.0
PUSH, DRAG = FORCE / MASS, MU * G  # m/s2


def _least(push: float = PUSH, drag: float = DRAG, way: float = WAY) -> float:
    """Return the least time from rest to rest, in s."""
    return 2 * math.sqrt(way * push / (push**2 - drag**2))


@chapter.exercise(
    1,
    "The least time of a sled",
    answer=Number("s", rtol=1e-4),
    points=2,
    look="Two accelerations: one while it is pushed, another one while it is braked.",
    mistakes=(
        Mistake(
            "no friction",
            "Your floor has no friction.",
            lambda: _least(drag=0),
        ),
        Mistake(
            "sign of the friction",
            "Friction helps to brake: you have it against the brake.",
            lambda: 2 * math.sqrt(WAY / (PUSH - DRAG)),
        ),
        Mistake(
            "half of the way",
            "The sled has to stop at the end. You have computed when it passes there at full push.",
            lambda: math.sqrt(2 * WAY / (PUSH - DRAG)),
        ),
        Mistake(
            "off by one event",
            "This is the time up to the switch. The sled still has to brake.",
            lambda: _least() * (PUSH + DRAG) / (2 * PUSH),
        ),
        Mistake(
            "left for right of the switch",
            "This is the time behind the switch alone. The push comes before it.",
            lambda: _least() * (PUSH - DRAG) / (2 * PUSH),
        ),
        Mistake(
            "force for acceleration",
            "A force is not an acceleration: divide the 12 N by something.",
            lambda: _least(push=FORCE),
        ),
        Mistake(
            "no gravity",
            "A friction coefficient is no acceleration: the weight presses the sled down.",
            lambda: _least(drag=MU),
        ),
    ),
)
def sled() -> float:
    """Return the least time of the sled."""
    return _least()


def _price(drag: float = DRAG, mass: float = MASS) -> float:
    """Return the derivative of the least time by the force of the motor, in s/N."""
    ratio = (PUSH**2 + drag**2) / (PUSH**2 - drag**2)
    return -_least(drag=drag) * ratio / (2 * PUSH) / mass


@chapter.exercise(
    2,
    "The price of a motor",
    answer=Number("s/N", rtol=1e-4),
    points=3,
    look="Differentiate the closed form of the least time: by the push first, then by the force.",
    mistakes=(
        Mistake(
            "sign",
            "Check the sign: does a stronger motor need more time?",
            lambda: -_price(),
        ),
        Mistake(
            "by the push",
            "This is the derivative by an acceleration, in s/(m/s²). The question asks for that by "
            "the force.",
            lambda: _price(mass=1),
        ),
        Mistake(
            "mass the wrong way",
            "You have multiplied by the mass. How much acceleration does one newton give?",
            lambda: _price(mass=1 / MASS),
        ),
        Mistake(
            "no friction",
            "Your floor has no friction.",
            lambda: _price(drag=0),
        ),
        Mistake(
            "the root alone",
            "The push stands above and below the fraction line: you have differentiated one of "
            "them.",
            lambda: -_least() * 2 * PUSH / (2 * (PUSH**2 - DRAG**2)) / MASS,
        ),
        Mistake(
            "unit",
            "This is what the motor would save if its force grew by 100 per cent, in s. The "
            "question asks for the derivative, in s/N.",
            lambda: FORCE * _price(),
        ),
        Mistake(
            "by the way",
            "This is the price of the way, in s/m: the derivative by the distance.",
            lambda: _least() / (2 * WAY),
        ),
        Mistake(
            "by the friction",
            "This is the derivative by the friction, not by the force.",
            lambda: _least() * DRAG / (PUSH**2 - DRAG**2),
        ),
    ),
)
def price() -> float:
    """Return the derivative of the least time of the sled by the force."""
    return _price()


U, IN, OUT, TOP, D = 4.0, 12.0, 6.0, 20.0, 150.0  # m/s2, m/s, m


def _turbo(up: float = IN, down: float = OUT, gain: float = 3.0, half: float = 0.5) -> float:
    """Return the time over D: turbo above `up` on the way up, above `down` on the way down."""
    times = (up / U, (TOP - up) / (gain * U), (TOP - down) / (gain * U), down / U)
    means = (up, TOP + up, TOP + down, down)
    ramps = sum(t * half * speed for t, speed in zip(times, means, strict=True))
    return sum(times) + (D - ramps) / TOP


def _unlimited() -> float:
    """Return the time without a top speed."""
    # v^2 = top: ways IN^2/(2U) + (v^2 - IN^2)/(6U) + (v^2 - OUT^2)/(6U) + OUT^2/(2U) = D
    top = math.sqrt((6 * U * D - 2 * (IN**2 + OUT**2)) / 2)
    return IN / U + (top - IN) / (3 * U) + (top - OUT) / (3 * U) + OUT / U


@chapter.exercise(
    3,
    "A turbo with other thresholds",
    answer=Number("s", rtol=1e-4),
    points=3,
    look="Draw the speed over time: two ramps up, a level, two ramps down. The area is the way.",
    mistakes=(
        Mistake(
            "no memory",
            "The turbo does not go out where it came in: it remembers.",
            lambda: _turbo(down=IN),
        ),
        Mistake(
            "left for right threshold",
            "You have taken the lower threshold for both directions.",
            lambda: _turbo(up=OUT),
        ),
        Mistake(
            "no turbo",
            "Your car has no turbo.",
            lambda: _turbo(gain=1),
        ),
        Mistake(
            "off by one event",
            "Your car brakes without the turbo. It is in when the braking begins.",
            lambda: _turbo(down=TOP),
        ),
        Mistake(
            "it never goes out",
            "In your plan the turbo is in until the car rests.",
            lambda: _turbo(down=0),
        ),
        Mistake(
            "a factor two",
            "The way of a ramp is its mean speed by its time: the mean has a factor one half.",
            lambda: _turbo(half=1.0),
        ),
        Mistake(
            "no top speed",
            "Your car is faster than it may be.",
            _unlimited,
        ),
        Mistake(
            "unit",
            "This is the time in minutes.",
            lambda: _turbo() / 60,
        ),
    ),
)
def turbo() -> float:
    """Return the least time of a car whose turbo remembers."""
    return _turbo()
