"""Granular chain: n beads in a row that push each other by Hertz's law, with nothing that pulls.

    m x_i'' = F_(i-1) - F_i,     F_i = k max(0, x_i - x_(i+1))^(3/2)

k = E sqrt(2 R) / (3 (1 - nu^2)), x_i from where the beads touch (but for a nanometre). The first
bead is hit: after some beads one pulse travels alone, five beads long, and the last bead flies off.
Sound would not travel in such a row, because a small push meets no stiffness: the speed of the
pulse, in beads per second, grows with the largest speed v of a bead,

    V = C (k / m)^(2/5) v^(1/5)

In long waves C = (16/25)^(1/5) = 0.9146 (Nesterenko, *J. Appl. Mech. Tech. Phys.* 24 (1983) 733,
doi:10.1007/BF00905892). Of the beads themselves C = 0.907470: with c = k = m = 1 the overlap solves
r(s) = int (1 - |u|) r(s - u)^(3/2) du, |u| < 1, and v is the largest int r^(3/2) over the length 1
(English and Pego, *Proc. Amer. Math. Soc.* 133 (2005) 1763).
"""

import itertools
from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.sketch import circle, line

# m: so far apart the beads stand, and Hertz's law is rounded below it. A step keeps to its side of
# a kink and may end a hair behind it, where there is no root; and the tail of forces that all beads
# ahead of the pulse would feel, down to 1e-300 N, has no digits.
_ROUND = sp.Rational(1, 10**9)


def _peak(t: np.ndarray, v: np.ndarray) -> tuple[float, float]:
    """Return when a curve is highest and how high, from the parabola through its largest points."""
    i = int(np.argmax(v))
    curve = np.polyfit(t[i - 3 : i + 4] - t[i], v[i - 3 : i + 4], 4)
    slope = np.polyder(curve)
    roots = np.roots(slope)
    at = float(min(roots[np.isreal(roots)].real, key=abs))
    return float(t[i]) + at, float(np.polyval(curve, at))


def pulse(v0: float) -> tuple[float, float]:
    """Return the speed of the pulse in beads per second, and the largest speed of a bead in m/s.

    Both from bead 16 to bead 23 of 30: before, the pulse still takes its shape.
    """
    from explorer.dispatch.simulate import simulate
    from explorer.schemes.moreau_jean import MoreauJean

    end = 0.065 / v0**0.2
    done = simulate(granular_chain(30), MoreauJean(h=1e-5 / v0**0.2), t_end=end, v0=v0)
    (early, fast), (late, _) = (_peak(done.t, done.v[:, i]) for i in (15, 22))
    return 7 / (late - early), fast


def _constant(_: Callable[..., Solution]) -> float:
    """Return V / ((k / m)^(2/5) v^(1/5))."""
    V, v = pulse(1.0)
    E, R, nu, m = 2e6, 0.02, 0.5, 0.037
    return float(V / ((E * np.sqrt(2 * R) / (3 * (1 - nu**2)) / m) ** 0.4 * v**0.2))


def _exponent(_: Callable[..., Solution]) -> float:
    """Return d ln V / d ln v, from two blows."""
    (V, v), (W, w) = pulse(1.0), pulse(4.0)
    return float(np.log(W / V) / np.log(w / v))


@register(
    group="many bodies",
    references=("nesterenko-1983", "english-pego-2005"),
    measures={
        "granular chain: speed of the pulse, C": _constant,
        "granular chain: exponent of its speed": _exponent,
    },
)
def granular_chain(n: int = 12) -> MechanicalSystem:
    """Return `n` rubber balls in a row, of which the first one is hit."""
    system = MechanicalSystem(
        f"granular chain, {n} beads",
        q=[f"x{i + 1}" for i in range(n)],
        units="m",
        text="A blow becomes one pulse that keeps its shape: the harder, the faster.",
    )
    system.sizes = {"n": Param(n, 3, max(n, 14), "", "number of beads")}
    x = system.q
    m, R, E, nu, v0 = system.params(
        m=Param(0.037, 0.005, 0.1, "kg", "mass of a bead"),
        R=Param(0.02, 0.01, 0.05, "m", "radius"),
        E=Param(2e6, 2e5, 2e7, "Pa", "modulus"),
        nu=Param(0.5, 0, 0.5, "", "Poisson's ratio"),
        v0=Param(1, 0.1, 5, "m/s", "speed of the first bead"),
    )
    k = E * sp.sqrt(2 * R) / (3 * (1 - nu**2))
    closer = [a - b - _ROUND for a, b in itertools.pairwise(x)]
    overlaps = [sp.Max(0, d) for d in closer]
    pushes = [
        0,
        *(
            k * d * (c**2 + _ROUND**2) ** sp.Rational(1, 4)
            for d, c in zip(overlaps, closer, strict=True)
        ),
        0,
    ]
    system.mass = [[m if i == j else 0 for j in range(n)] for i in range(n)]
    system.force = [pushes[i] - pushes[i + 1] for i in range(n)]
    system.potential = (
        sp.Rational(2, 5)
        * k
        * sum(
            (d**2 + _ROUND**2) ** sp.Rational(5, 4) - _ROUND ** sp.Rational(5, 2) for d in overlaps
        )
    )
    system.start(q=[0] * n, v=[v0] + [0] * (n - 1), t_end=0.0024 * n, h=2e-5)
    places = [2 * R * i + xi for i, xi in enumerate(x)]
    base, tall = 2.5 * R, 120  # of the curve of the overlaps, so many times as high
    middles = [(a + b) / 2 for a, b in itertools.pairwise(places)]
    system.sketch(
        line((-R, -R), ((2 * n + 1) * R, -R), role="node"),
        *(circle(place, 0, R) for place in places),
        line((-R, base), ((2 * n + 1) * R, base), role="trace"),
        line(*((a, base + tall * d) for a, d in zip(middles, overlaps, strict=True))),
    )
    system.published = {
        "granular chain: speed of the pulse, C": (
            0.9074700784,
            1e-5,
            "integral equation of the wave, English and Pego 2005",
        ),
        "granular chain: exponent of its speed": (0.2, 1e-4, "closed form, 1/5"),
    }
    system.preset(
        "hard blow", "Four times as fast a blow: the pulse is a third faster.", v0=4, t_end=0.027
    )
    system.preset("soft beads", "Slow pulses: one sees beads part behind them.", E=2e5, t_end=0.09)
    return system
