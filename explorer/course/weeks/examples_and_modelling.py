"""Week 1, examples and modelling: exercises on a landing, a gap, and a model of one's own."""

from __future__ import annotations

import math

import numpy as np

from explorer.course.answers import Expression, Model, Number
from explorer.course.exercises import Chapter, Mistake
from explorer.dispatch.simulate import simulate
from explorer.schemes.event_driven import EventDriven
from explorer.systems import Contact, MechanicalSystem, System

chapter = Chapter(
    1,
    "examples_and_modelling",
    "Examples and modelling",
    minutes=70,
    references={
        "brogliato-2016": "impacts and contacts, with many examples",
        "leine-nijmeijer-2004": "three degrees of nonsmoothness",
        "acary-brogliato-2008": "chapter 1: an example of each kind",
    },
)

G, Y0, E = 9.81, 1.3, 0.7
V = -math.sqrt(2 * G * Y0)


@chapter.exercise(
    1,
    "The left limit at a landing",
    answer=Number("m/s"),
    look="Half of the square of the speed is what gravity has done on the way, per mass.",
    mistakes=(
        Mistake(
            "sign",
            "Check the sign: the axis points up, and just before it lands the ball goes down.",
            lambda: -V,
        ),
        Mistake(
            "left for right limit",
            "This is the velocity just after the impact, the right limit. The question asks for "
            "the left limit.",
            lambda: -E * V,
        ),
        Mistake(
            "a factor",
            "Check the energy: m v²/2 = m g y, and the 2 does not cancel.",
            lambda: -math.sqrt(G * Y0),
        ),
        Mistake(
            "unit",
            "This is the time of the landing in s. The question asks for a velocity in m/s.",
            lambda: math.sqrt(2 * Y0 / G),
        ),
        Mistake(
            "off by one event",
            "This is the left limit at the second landing: the ball has lost speed once too often.",
            lambda: E * V,
        ),
        Mistake(
            "a square root",
            "This is the square of the velocity, with the unit m²/s². Take the root.",
            lambda: -2 * G * Y0,
        ),
    ),
)
def landing() -> float:
    """Return the velocity just before a ball lands that is dropped from `Y0`."""
    return V


_AT = {
    "y": (1.0, 0.3, 2.0, 0.7),
    "R": (0.1, 0.2, 0.05, 0.3),
    "A": (0.2, 0.1, 0.4, 0.3),
    "w": (3.0, 10.0, 1.5, 7.0),
    "t": (0.0, 0.2, 1.3, 2.1),
}


@chapter.exercise(
    2,
    "A gap function",
    answer=Expression("m", rtol=1e-9, at=_AT),
    look="Where is the lowest point of the ball, and where is the plate at the time t?",
    mistakes=(
        Mistake(
            "sign",
            "Check the sign: a gap is positive while the bodies are apart.",
            lambda: "A*sin(w*t) + R - y",
        ),
        Mistake(
            "the centre for the surface",
            "This is the distance of the centre. The surface of the ball touches first.",
            lambda: "y - A*sin(w*t)",
        ),
        Mistake(
            "the radius on the wrong side",
            "The ball would touch the plate too late: on which side of the centre is its surface?",
            lambda: "y + R - A*sin(w*t)",
        ),
        Mistake(
            "a plate at rest",
            "The plate moves. Where is it at the time t?",
            lambda: "y - R",
        ),
        Mistake(
            "unit",
            "The argument of a sine is an angle in rad: which of your factors turn t into one?",
            lambda: "y - R - A*sin(2*pi*w*t)",
        ),
        Mistake(
            "the relative motion",
            "If the plate rises, the gap becomes smaller.",
            lambda: "y - R + A*sin(w*t)",
        ),
    ),
)
def gap() -> str:
    """Return the gap between a ball and a plate that oscillates."""
    return "y - R - A*sin(w*t)"


def _hits(system: System) -> np.ndarray:
    """Return the time of the first impact, and the velocities before and after it."""
    run = simulate(system, EventDriven(), t_end=1.0)
    hits = [event for event in run.events if event.kind == "impact"]
    if not hits:
        return np.array([1.0, 0.0, 0.0])
    return np.array([hits[0].t, hits[0].v_minus[0], hits[0].v_plus[0]])


def _sprung(m: float = 2, k: float = 50, g: float = G, e: float = 0.6, up: int = 1) -> System:
    """Return the mass on a spring above a floor, with what may be wrong about it."""
    mass = MechanicalSystem("mass on a spring above a floor", q="y", units="m")
    (y,) = mass.q
    mass.mass, mass.force = [[m]], [-m * g - up * k * (y - 0.5)]
    mass.contact(Contact(y, e=e, name="floor"))
    mass.start(q=[0.8], v=[0], t_end=1)
    return mass


@chapter.exercise(
    3,
    "A model of your own",
    answer=Model("", 1e-6, measure=_hits, kinds=(MechanicalSystem,)),
    points=3,
    look="Compare what your model displays, its mass, force, gap and start, with the text.",
    mistakes=(
        Mistake(
            "sign",
            "Check the sign of the force of the spring: it has to pull the mass back to y = 0.5 m.",
            lambda: _sprung(up=-1),
        ),
        Mistake(
            "the weight",
            "A force is missing: nothing pulls your mass down but the spring.",
            lambda: _sprung(g=0),
        ),
        Mistake(
            "unit",
            "Your weight is an acceleration: the force of gravity is m g, in N.",
            lambda: _sprung(g=G / 2),
        ),
        Mistake(
            "the mass",
            "Your mass moves like one of 1 kg. Look at its mass, and at its weight.",
            lambda: _sprung(m=1),
        ),
        Mistake(
            "wrong law",
            "After the impact your mass is as fast as before it. Which restitution has the floor?",
            lambda: _sprung(e=1),
        ),
        Mistake(
            "off by the rest length",
            "Your spring is at rest at y = 0. Here it is at rest at y = 0.5 m.",
            lambda: _at_the_floor(),
        ),
    ),
)
def own_model() -> System:
    """Return the mass on a spring above a floor."""
    return _sprung()


def _at_the_floor() -> System:
    mass = MechanicalSystem("mass on a spring at the floor", q="y", units="m")
    (y,) = mass.q
    mass.mass, mass.force = [[2]], [-2 * G - 50 * y]
    mass.contact(Contact(y, e=0.6, name="floor"))
    mass.start(q=[0.8], v=[0], t_end=1)
    return mass
