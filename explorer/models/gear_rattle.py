"""Gear rattle: a driven wheel that hits both flanks of the teeth of its driver, 0 <= b/2 -+ x.

The driver turns by (V t + A sin(omega t)) / R, whatever the other wheel does; x is how far it is
ahead of that wheel on the pitch circle, m the reduced mass of the driven wheel, d its drag::

    m x'' = d (V + A omega cos(omega t) - x') - m A omega^2 sin(omega t)

and x'(+) = -e x'(-) at x = -+ b/2 (after Mason and Piiroinen, *SIAM J. Appl. Dyn. Syst.* 8 (2009)
1694; Karagiannis and Pfeiffer, *Nonlinear Dynamics* 2 (1991) 367). The wheels run quietly, always
on the driving flank, while the force on it, d (V + A omega cos) - m A omega^2 sin, stays above
zero: up to A = V / (omega sqrt(1 + (m omega / d)^2)).
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, circle, line

_R, _TEETH = sp.Float(0.05), 12  # of the sketch: radius of both wheels in m


def _loudest(run: Callable[..., Solution]) -> float:
    """Return the amplitude up to which no tooth leaves its flank, by bisection, in m."""
    low, high = 1e-4, 1e-3
    while high - low > 1e-9:
        A = 0.5 * (low + high)
        done = run("EventDriven", A=A, x0=1.0, t_end=2)
        leaves = any(e.kind == "released" for e in done.events)
        low, high = (low, A) if leaves else (A, high)
    return high


@register(
    group="impacts",
    references=("mason-piiroinen-2009", "karagiannis-pfeiffer-1991"),
    measures={"gears: amplitude up to which they run quietly, in m": _loudest},
)
def gear_rattle() -> MechanicalSystem:
    """Return two wheels with play between their teeth."""
    gears = MechanicalSystem(
        "gear rattle",
        q="x",
        units="m",
        text="Play between teeth: a drive that wobbles enough makes them hit both flanks.",
    )
    (x,), (v,), t = gears.q, gears.v, gears.t
    m, d, V, A, w, b, e, x0 = gears.params(
        m=Param(0.5, 0.1, 2, "kg", "reduced mass of the driven wheel"),
        d=Param(0.25, 0.02, 2, "N s/m", "drag of the driven wheel"),
        V=Param(0.1, 0.02, 0.3, "m/s", "mean speed on the pitch circle"),
        A=Param(1e-3, 0, 4e-3, "m", "wobble of the drive"),
        omega=Param(10, 2, 30, "rad/s", "frequency of the wobble"),
        b=Param(4e-3, 5e-4, 8e-3, "m", "play"),
        e=Param(0.7, 0, 0.95, "", "restitution"),
        x0=Param(0.5, -1, 1, "", "start, of half of the play"),
    )
    gears.mass = [[m]]
    gears.potential = 0
    gears.force = [d * (V + A * w * sp.cos(w * t) - v) - m * A * w**2 * sp.sin(w * t)]
    gears.contact(Contact(gap=b / 2 - x, e=e, name="driving flank"))
    gears.contact(Contact(gap=b / 2 + x, e=e, name="back flank"))
    gears.start(q=[x0 * b / 2], v=[0], t_end=6, h=2e-3)
    s = V * t + A * sp.sin(w * t)
    turned = s / _R, sp.pi * (1 + sp.Rational(1, _TEETH)) - (s - x) / _R
    gears.sketch(
        lambda: [
            *(
                line(*_wheel(c * _R, a, b), closed=True)
                for c, a in zip((-1, 1), turned, strict=True)
            ),
            *(circle(side * _R, 0, _R / 8, role="fixed") for side in (-1, 1)),
        ]
    )
    gears.published = {
        "gears: amplitude up to which they run quietly, in m": (
            0.1 / (10 * 401**0.5),
            1e-7,
            "closed form, V / (omega sqrt(1 + (m omega / d)^2))",
        ),
    }
    gears.preset("quiet", "The driving flank never lets go.", A=4e-4, x0=1)
    gears.preset("one flank", "Just too much wobble: hops on the driving flank.", A=6e-4, x0=1)
    gears.preset("both flanks", "The teeth hit in front and behind.", A=3e-3, b=2e-3, t_end=4)
    gears.preset("more drag", "Drag holds the teeth together: quiet again.", d=2, x0=1)
    return gears


def _wheel(x: sp.Expr, turned: sp.Expr, b: sp.Symbol) -> list[Point]:
    """Return the outline of a wheel around (x, 0) with teeth as wide as the play leaves them."""
    half = sp.pi / (2 * _TEETH) - b / (4 * _R)  # of a tooth on the pitch circle
    shapes = ((half + 0.05, 0.87), (half - 0.05, 1.11))
    points = []
    for k in range(_TEETH):
        at = turned + 2 * sp.pi * k / _TEETH
        for side, (wide, far) in ((-1, shapes[0]), (-1, shapes[1]), (1, shapes[1]), (1, shapes[0])):
            a = at + side * wide
            points.append((x + far * _R * sp.cos(a), far * _R * sp.sin(a)))
    return points
