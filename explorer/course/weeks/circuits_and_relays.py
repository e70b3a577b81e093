"""Week 7, circuits and relays: exercises on a peak detector, an oscillation, and a mean voltage."""

from __future__ import annotations

import math
from collections.abc import Callable

from explorer.course.answers import Function, Number
from explorer.course.exercises import Chapter, Mistake

chapter = Chapter(
    7,
    "circuits_and_relays",
    "Circuits and relays",
    minutes=85,
    needs=(2, 5, 6),
    references={
        "acary-bonnefon-brogliato-2011": "circuits with ideal diodes and switches as inclusions",
        "brogliato-2016": "complementarity systems beside mechanics",
        "johansson-1999b": "relay feedback: fast switches and slides in its cycles",
        "di-bernardo-2001": "relay feedback: cycles that slide, and how they change",
        "siconos-2019": "the diode bridge as an example of time stepping",
        "chan-tse-1997": "the boost converter under control of its current: doublings and chaos",
        "banerjee-chakrabarty-1998": "its maps, with borders, and their bifurcations",
    },
)

Detector = Callable[[float, float, float, float, float], float]


def _charged(v: float, u: float, h: float, R: float, C: float) -> float:
    return max(u, v / (1 + h / (R * C)))


@chapter.exercise(
    1,
    "A step of a peak detector",
    answer=Function(
        "V",
        at=((1, 3, 1e-3, 1e3, 1e-6), (5, 2, 1e-3, 1e3, 1e-5), (2, 1.9, 1e-4, 1e3, 1e-6)),
        form="answer_1(v, u, h, R, C)",
    ),
    points=3,
    look="If the diode blocks, the load alone acts. Else the voltage is that of the source.",
    mistakes=(
        Mistake(
            "no load",
            "Your capacitor keeps its voltage. The load discharges it.",
            lambda: lambda v, u, h, R, C: max(u, v),
        ),
        Mistake(
            "no diode",
            "Your capacitor is only discharged: the source charges it where u is larger.",
            lambda: lambda v, u, h, R, C: v / (1 + h / (R * C)),
        ),
        Mistake(
            "the other diode",
            "Check the sign of the law: this diode lets current flow out of the capacitor.",
            lambda: lambda v, u, h, R, C: min(u, v / (1 + h / (R * C))),
        ),
        Mistake(
            "the wrong scheme",
            "This is an explicit step. The question asks for the implicit one, with the voltage of "
            "its end.",
            lambda: lambda v, u, h, R, C: max(u, v * (1 - h / (R * C))),
        ),
        Mistake(
            "a wire",
            "A diode is no wire: it blocks where the source is below the capacitor.",
            lambda: lambda v, u, h, R, C: u,
        ),
        Mistake(
            "too good",
            "This is the exact discharge. The question asks for what an implicit Euler step makes "
            "of it.",
            lambda: lambda v, u, h, R, C: max(u, v * math.exp(-h / (R * C))),
        ),
    ),
)
def detector() -> Detector:
    """Return the voltage after an implicit step."""
    return _charged


LAG = 0.5


@chapter.exercise(
    2,
    "The period of a relay loop",
    answer=Number("s", rtol=1e-3),
    points=2,
    look="At which angular frequency do three equal lags turn the phase by 180 degrees?",
    mistakes=(
        Mistake(
            "the angular frequency",
            "This is the angular frequency in rad/s. The question asks for a period.",
            lambda: math.sqrt(3) / LAG,
        ),
        Mistake(
            "the frequency",
            "This is the frequency in Hz. The question asks for a period.",
            lambda: math.sqrt(3) / LAG / (2 * math.pi),
        ),
        Mistake(
            "the lag",
            "This loop has lags of 1 s. How does a shorter lag change its time?",
            lambda: 2 * math.pi / math.sqrt(3),
        ),
        Mistake(
            "the angle",
            "Each of three lags has to turn by a third of 180 degrees: by 60, not by 30.",
            lambda: 2 * math.pi * LAG * math.sqrt(3),
        ),
        Mistake(
            "off by one event",
            "This is the time from one switch to the next. A period has two switches.",
            lambda: math.pi * LAG / math.sqrt(3),
        ),
        Mistake(
            "the wrong phase",
            "Each lag has turned by 45 degrees, and all three by 135.",
            lambda: 2 * math.pi * LAG,
        ),
        Mistake("sign", "A period is positive.", lambda: -2 * math.pi * LAG / math.sqrt(3)),
    ),
)
def relay_period() -> float:
    """Return the period that the describing function predicts."""
    return 2 * math.pi * LAG / math.sqrt(3)


PEAK = 12.0


@chapter.exercise(
    3,
    "The mean behind a bridge",
    answer=Number("V", rtol=1e-3),
    points=2,
    look="The load sees |u|. Integrate it over half a period.",
    mistakes=(
        Mistake(
            "one diode",
            "This is the mean behind a single diode, which blocks half of the time.",
            lambda: PEAK / math.pi,
        ),
        Mistake(
            "the effective value",
            "This is the root of the mean square. The question asks for the mean.",
            lambda: PEAK / math.sqrt(2),
        ),
        Mistake(
            "the peak",
            "This is the peak. The voltage is lower most of the time.",
            lambda: PEAK,
        ),
        Mistake(
            "the integral",
            "This is the integral over half a period by the phase. Divide by its length.",
            lambda: 2 * PEAK,
        ),
        Mistake(
            "a factor two",
            "This is half of the peak, the mean of a triangle.",
            lambda: PEAK / 2,
        ),
        Mistake(
            "without the bridge",
            "Without a bridge the mean is zero. What does the bridge do to the negative half?",
            lambda: 0.0,
        ),
        Mistake("sign", "Check the sign: the load sees |u|.", lambda: -2 * PEAK / math.pi),
    ),
)
def rectified() -> float:
    """Return the mean of |u| for a sine."""
    return 2 * PEAK / math.pi
