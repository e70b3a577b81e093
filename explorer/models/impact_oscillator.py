"""Forced impact oscillator: m x'' + c x' + k x = f cos(omega t), x <= s, x'(+) = -e x'(-).

Budd and Dux, Phil. Trans. R. Soc. A 347 (1994) 365. For m = k = f = 1, c = s = 0, omega = 2 n there
is an orbit with one impact in each n-th period, at the speed 2 omega / ((omega^2 - 1) (1 - e)).
Grazing: the free response just reaches s = f / sqrt((k - m omega^2)^2 + (c omega)^2).
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import ground, line, spring


def _grazing() -> tuple[float, float]:
    """Return where the stop is grazed, in m, and the exponent of what follows, from runs."""
    from explorer.study.continuation import continuation
    from explorer.study.grazing import grazing

    cycles = continuation(
        impact_oscillator(),
        parameter="s",
        period="2*pi/omega",
        over=(2.5, 3),
        direction="down",
        guess=[2.6, 0.4],
        rho={"omega": 0.8, "c": 0.1, "s": 2.8, "e": 0.8},
    )
    found = grazing(cycles)
    return found.parameter, found.fitted


@register(
    group="impacts",
    references=("budd-dux-1994", "nordmark-1991"),
    measures={
        "impact speed for omega = 2, e = 0.8, s = 0, in m/s": lambda run: (
            run("EventDriven", preset="one impact").events[-1].v_minus[0]
        ),
        "grazing: place of the stop, omega = 0.8, c = 0.1, in m": lambda _: _grazing()[0],
        "grazing: exponent of the deviation": lambda _: _grazing()[1],
    },
)
def impact_oscillator() -> MechanicalSystem:
    """Return a driven mass on a spring that hits a rigid stop."""
    system = MechanicalSystem(
        "impact oscillator",
        q="x",
        units="m",
        text="A driven mass between free swing, grazing, chatter and chaos.",
    )
    (x,), (v,), t = system.q, system.v, system.t
    m, c, k, f, w, s, e, x0, v0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        c=Param(0, 0, 1, "N s/m", "damping"),
        k=Param(1, 0.1, 10, "N/m", "stiffness"),
        f=Param(1, 0, 5, "N", "forcing amplitude"),
        omega=Param(2, 0.1, 6, "rad/s", "forcing frequency"),
        s=Param(0.5, -1, 3, "m", "place of the stop"),
        e=Param(0.8, 0, 1, "", "restitution"),
        x0=Param(-1.5, -6, 3, "m", "start"),
        v0=Param(0, -6, 6, "m/s", "start velocity"),
    )
    system.mass, system.force = [[m]], [f * sp.cos(w * t) - k * x - c * v]
    system.potential = k * x**2 / 2
    system.contact(Contact(gap=s - x, e=e, name="stop"))
    system.start(q=[x0], v=[v0], t_end=40, h=2e-3)
    b = sp.Rational(1, 4)
    system.sketch(
        ground((-5, b), (-5, -b)),
        spring((-5, 0), (x - 2 * b, 0), force=k * x),
        line((x - 2 * b, -b), (x, -b), (x, b), (x - 2 * b, b), closed=True),
        ground((s, -2 * b), (s, 2 * b)),
    )
    system.published = {
        "impact speed for omega = 2, e = 0.8, s = 0, in m/s": (6.66667, 1e-2, "Budd and Dux 1994"),
        "grazing: place of the stop, omega = 0.8, c = 0.1, in m": (
            2.711630722733202,
            1e-8,
            "closed form, f / sqrt((k - m omega^2)^2 + (c omega)^2)",
        ),
        "grazing: exponent of the deviation": (0.5, 0.015, "Nordmark 1991, square root"),
    }
    system.preset(
        "one impact",
        "One impact in a period, speed 2w/((w^2-1)(1-e)).",
        omega=2,
        s=0,
        e=0.8,
        c=0,
        x0=-4.57597,
        v0=4.24264,
        t_end=40,
    )
    system.preset(
        "grazing",
        "The free response just touches the stop: move s by a hair.",
        omega=0.8,
        c=0.1,
        s=2.7,
        e=0.8,
        x0=0,
        t_end=120,
    )
    system.preset(
        "chatter",
        "Impacts accumulate, then the mass sticks to the stop.",
        omega=0.4,
        s=0,
        e=0.6,
        x0=-0.3,
        t_end=60,
    )
    return system
