"""Bouc-Wen: m x'' + c x' + alpha k x + (1 - alpha) k z = F cos(omega t), z lags behind x:

    z' = x' - (b |x'| |z|^(n-1) z + (1 - b) x' |z|^n) / z0^n,     W' = (1 - alpha) k z x'

|z| never passes z0: the element yields there, and between -z0 and z0 it remembers where it turned.
W is the work done on it, in the end its heat. z depends on the way of x, not on its speed. With
n = 1 it loads as z = z0 (1 - exp(-s / z0)), s from where z = 0, and for b = 1/2 unloads straight. A
cycle of the amplitude X turns at +-Z and costs the work (1 - alpha) k A,

    ln(1 + d Z) / d + s = 2 X,  A = 2 (z0 (s - Z) - Z / d + ln(1 + d Z) / d^2),  d = (2 b - 1) / z0

with s = -z0 ln(1 - Z / z0); for b = 1/2 it is 4 z0 (X - Z) - Z^2 (Wen, *J. Eng. Mech. Div. ASCE*
102 (1976) 249, doi:10.1061/JMCEA3.0002106; Ismail, Ikhouane and Rodellar, *Arch. Comput. Methods
Eng.* 16 (2009) 161, doi:10.1007/s11831-009-9031-8).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import StepSystem
from explorer.systems.sketch import Shape, ground, line, spring, text


def loop(X: float, z0: float, b: float) -> tuple[float, float]:
    """Return where z turns, in m, and the area of the loop of (x, z), in m2, for n = 1.

    X is half of the way between the turns of x, in m.
    """
    d = (2 * b - 1) / z0
    low, high = 0.0, z0
    for _ in range(80):
        Z = 0.5 * (low + high)
        back = np.log1p(d * Z) / d if d else Z
        low, high = (Z, high) if back - z0 * np.log1p(-Z / z0) < 2 * X else (low, Z)
    s = -z0 * np.log1p(-Z / z0)
    left = Z / d - np.log1p(d * Z) / d**2 if d else Z**2 / 2
    return Z, float(2 * (z0 * (s - Z) - left))


def _turns(done: Solution) -> list[np.ndarray]:
    """Return the states where x turns."""
    return [e.x_minus for e in done.events if e.contact == "v"]


def _reach(run: Callable[..., Solution]) -> float:
    """Return how far a push of 1 m/s moves the mass at first, in m."""
    return float(_turns(run("EventDriven", preset="pushed", rtol=1e-11, c=0))[0][0])


def _share(run: Callable[..., Solution]) -> float:
    """Return the work of the last cycle over that of the closed form."""
    done = run("EventDriven", rtol=1e-11, atol=1e-12, t_end=200)
    rho, (before, middle, last) = done.rho, _turns(done)[-3:]
    X = abs(last[0] - middle[0]) / 2
    work = (1 - rho["alpha"]) * rho["k"] * loop(X, rho["z0"], rho["b"])[1]
    return float((last[3] - before[3]) / work)


@register(
    group="structures",
    references=("wen-1976", "ismail-2009"),
    measures={
        "Bouc-Wen: first reach of a push, in m": _reach,
        "Bouc-Wen: work of a cycle over that of its closed form": _share,
    },
)
def bouc_wen(n: int = 1) -> StepSystem:
    """Return a driven mass on an element that yields smoothly, with the exponent `n`."""
    system = StepSystem(
        "Bouc-Wen oscillator",
        x="x v z W",
        units=("m", "m/s", "m", "J"),
        text="Hysteresis from one equation: the force remembers where the mass turned round.",
    )
    system.sizes = {"n": Param(n, 1, 6, "", "how sharp it yields")}
    (x, v, z, _), t = system.x, system.t
    m, c, k, alpha, z0, b, F, w, v0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        c=Param(0.05, 0, 1, "N s/m", "damping"),
        k=Param(4, 0.5, 20, "N/m", "stiffness at rest"),
        alpha=Param(0.1, 0, 1, "", "stiffness left when it yields, by that at rest"),
        z0=Param(0.2, 0.05, 1, "m", "what the element stretches at most"),
        b=Param(0.5, 0.5, 1, "", "shape of the loop: 0.5 unloads straight"),
        F=Param(0.6, 0, 3, "N", "force"),
        omega=Param(1.2, 0.2, 4, "rad/s", "its frequency"),
        v0=Param(0, -2, 2, "m/s", "start velocity"),
    )
    size = z**n if n % 2 == 0 else sp.Abs(z) * z ** (n - 1)  # |z|^n
    signed = z**n if n % 2 else sp.Abs(z) * z ** (n - 1)  # |z|^(n-1) z
    soft = (1 - alpha) * k * z
    system.f = [
        v,
        (F * sp.cos(w * t) - c * v - alpha * k * x - soft) / m,
        v - (b * sp.Abs(v) * signed + (1 - b) * v * size) / z0**n,
        soft * v,
    ]
    system.start(x=[0, v0, 0, 0], t_end=40, h=0.02)
    system.sketch(*_drawn(x, z, alpha * k * x, soft))
    if n == 1:
        system.published = {
            "Bouc-Wen: first reach of a push, in m": (
                0.7381155496452,
                1e-8,
                "closed form, from m v0^2 / 2 = alpha k x^2 / 2 + (1 - alpha) k z0 (x - z)",
            ),
            "Bouc-Wen: work of a cycle over that of its closed form": (1, 1e-6, "closed form"),
        }
    system.preset("pushed", "One push: it stops away from where it began.", F=0, v0=1, t_end=20)
    system.preset("elastic", "A small force: hardly a loop.", F=0.1)
    system.preset("fat loop", "b = 1: it unloads as a bow, and the loop is fatter.", b=1)
    system.preset("no yield", "alpha = 1: only the spring is left.", alpha=1)
    return system


def _drawn(x: sp.Symbol, z: sp.Symbol, stiff: sp.Expr, soft: sp.Expr) -> list[Shape]:
    """Return the mass, its spring above its yielding element, and the loop of x and z."""
    wall, top, low, half = -1.6, 0.55, 0.18, 0.3
    slider = x - z - 0.9  # of the element: what has yielded
    face, up = x - half, 1.6
    return [
        ground((wall, 0), (1.4, 0)),
        ground((wall, 0.8), (wall, 0)),
        spring((wall, top), (face, top), force=stiff),
        line((wall, low), (slider, low)),
        line(
            *(
                (slider + i, low + j)
                for i, j in ((-0.1, -0.1), (0.1, -0.1), (0.1, 0.1), (-0.1, 0.1))
            ),
            closed=True,
        ),
        spring((slider + 0.1, low), (face, low), force=soft),
        line((face, 0), (x + half, 0), (x + half, 0.75), (face, 0.75), closed=True),
        line((-1, up), (1, up), role="trace"),
        line((0, up - 0.5), (0, up + 0.5), role="trace"),
        text(1.05, up, "x", 0.1),
        text(0.05, up + 0.55, "z", 0.1),
        Shape(((x, up + 2 * z),), "circle", "point", True, 0.05),
    ]
