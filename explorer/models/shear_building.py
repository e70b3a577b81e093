"""Shear building: n storeys of mass m on columns of stiffness k, shaken at the base.

M x'' + C x' + K x = -m a_g(t) 1 with x relative to the ground, K tridiagonal and Rayleigh damping
C = a0 M + a1 K. Frequencies: omega_j = 2 sqrt(k/m) sin((2 j - 1) pi / (2 (2 n + 1))) (closed form
of the uniform chain, one end free).
"""

import itertools
from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.sketch import Shape, ground, line, text

_SCALE = 10  # of the sketch


def frequencies(n: int, m: float, k: float) -> np.ndarray:
    """Return the n circular frequencies in rad/s, lowest first."""
    j = np.arange(1, n + 1)
    return np.asarray(2 * np.sqrt(k / m) * np.sin((2 * j - 1) * np.pi / (2 * (2 * n + 1))))


def _drawn(x: tuple[sp.Symbol, ...]) -> list[Shape]:
    """Return the floors and the columns between them; displacements are magnified."""
    high, wide, thick = sp.Rational(1, 4), sp.Rational(1, 4), sp.Rational(1, 20)
    places = [sp.Integer(0), *(_SCALE * high * one for one in x)]
    shapes = [ground((-2 * high, 0), (2 * high, 0))]
    for k, (below, place) in enumerate(itertools.pairwise(places)):
        foot, top = k * high, (k + 1) * high
        columns = [(side * wide * sp.Rational(4, 5), foot) for side in (-1, 1)]
        shapes += [line((below + a, y), (place + a, top - thick)) for a, y in columns]
        left, right = place - wide, place + wide
        corners = [(left, top - thick), (right, top - thick), (right, top), (left, top)]
        shapes.append(line(*corners, closed=True, label=f"storey {k + 1}"))
    return [*shapes, text(-0.5, -0.15, f"displacements drawn ×{_SCALE}", 1)]


def _lowest(_: Callable[..., Solution]) -> float:
    """Return the lowest frequency, in rad/s."""
    from explorer.study.modes import modes

    return float(modes(shear_building()).squares[0] ** 0.5)


@register(
    group="structures",
    references=("chopra-2012",),
    measures={
        "shear building: lowest frequency of 5 storeys in rad/s": _lowest,
    },
)
def shear_building(n: int = 5) -> MechanicalSystem:
    """Return a building of `n` storeys on a shaking ground."""
    system = MechanicalSystem(
        f"shear building of {n} storeys",
        q=[f"x{i + 1}" for i in range(n)],
        units="m",
        text="Every storey a mass, every column a spring: sway in the rhythm of the ground.",
    )
    system.sizes = {"n": Param(n, 1, 20, "", "number of storeys")}
    x, v, t = system.q, system.v, system.t
    m, k, a0, a1, shake, w = system.params(
        m=Param(1000, 100, 5000, "kg", "mass of a storey"),
        k=Param(1e6, 1e5, 5e6, "N/m", "stiffness of a storey"),
        a0=Param(0.1, 0, 2, "1/s", "Rayleigh damping of the mass"),
        a1=Param(1e-3, 0, 1e-2, "s", "Rayleigh damping of the stiffness"),
        a_g=Param(1, 0, 5, "m/s2", "ground acceleration"),
        omega=Param(8, 0.5, 60, "rad/s", "frequency of the ground"),
    )

    def strain(u: tuple[sp.Symbol, ...], i: int) -> sp.Expr:
        below = u[i] - (u[i - 1] if i else 0)
        return below - (u[i + 1] - u[i] if i + 1 < n else 0)

    system.mass = [[m if i == j else 0 for j in range(n)] for i in range(n)]
    system.force = [
        -m * shake * sp.sin(w * t) - a0 * m * v[i] - k * (strain(x, i) + a1 * strain(v, i))
        for i in range(n)
    ]
    system.potential = sum(k * (x[i] - (x[i - 1] if i else 0)) ** 2 for i in range(n)) / 2
    system.start(t_end=6, h=1e-2)
    system.sketch(*_drawn(x))
    system.published = {
        "shear building: lowest frequency of 5 storeys in rad/s": (
            9.000780676,
            1e-8,
            "closed form, 2 sqrt(k / m) sin(pi / 22)",
        ),
    }
    system.preset("free", "The ground stops: only what was excited goes on.", a_g=0)
    system.preset(
        "resonance",
        "The ground shakes in the lowest frequency.",
        omega=float(frequencies(n, 1000, 1e6)[0]),
        a0=0.05,
        a1=0,
    )
    return system
