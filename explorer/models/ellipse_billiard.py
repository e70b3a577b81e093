"""Billiard in an ellipse: from collision to collision, as a map of the place and the direction.

The place is the angle phi of (a cos phi, b sin phi), the direction p = u . t the part of the unit
velocity along the wall, which a reflection keeps. The product of the angular momenta about the two
foci, L1 L2 = (P - F1) x u (P - F2) x u, is the same for all collisions: chords touch a confocal
conic, an ellipse for L1 L2 > 0, a hyperbola for L1 L2 < 0 (Birkhoff 1927; Berry, Eur. J. Phys. 2
(1981) 91, doi:10.1088/0143-0807/2/2/006).
"""

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MapSystem
from explorer.systems.sketch import circle, line


def momenta(x: np.ndarray, rho: dict[str, float]) -> np.ndarray:
    """Return L1 L2 in m^2 of states (k, 2), per square of the speed."""
    a, b = rho["a"], rho["b"]
    phi, p = x.T
    place = np.column_stack([a * np.cos(phi), b * np.sin(phi)])
    along = np.column_stack([-a * np.sin(phi), b * np.cos(phi)])
    along /= np.linalg.norm(along, axis=1)[:, None]
    inward = np.column_stack([-along[:, 1], along[:, 0]])
    u = p[:, None] * along + np.sqrt(np.maximum(1 - p**2, 0))[:, None] * inward
    focus = np.array([np.emath.sqrt(a**2 - b**2).real, np.emath.sqrt(a**2 - b**2).imag])
    one, two = place - focus, place + focus
    turning = [v[:, 0] * u[:, 1] - v[:, 1] * u[:, 0] for v in (one, two)]
    return np.asarray(turning[0] * turning[1])


@register(
    group="maps",
    references=("birkhoff-1927", "berry-1981"),
    measures={
        "ellipse: product of the momenta after 2000 collisions": lambda run: momenta(
            run(t_end=2000).x[-1:], run(t_end=2000).rho
        )[0],
    },
)
def ellipse_billiard() -> MapSystem:
    """Return a ball on an elliptic table."""
    table = MapSystem(
        "billiard in an ellipse",
        x="phi p",
        units=("rad", ""),
        text="No orbit is chaotic: the momenta about the foci keep their product.",
    )
    phi, p = table.x
    a, b, phi0, p0 = table.params(
        a=Param(1, 0.6, 1.5, "m", "half of the width"),
        b=Param(0.6, 0.3, 1.5, "m", "half of the height"),
        phi0=Param(0.3, -3.1, 3.1, "rad", "place at the start"),
        p0=Param(0.2, -0.99, 0.99, "", "direction at the start"),
    )
    cos, sin = sp.cos(phi), sp.sin(phi)
    m = sp.sqrt(a**2 * sin**2 + b**2 * cos**2)
    q = sp.sqrt(sp.Max(1 - p**2, 0))
    ux, uy = (-p * a * sin - q * b * cos) / m, (p * b * cos - q * a * sin) / m
    way = 2 * q * m / (a * b) / (ux**2 / a**2 + uy**2 / b**2)
    c, s = cos + way * ux / a, sin + way * uy / b  # the next place, of the unit circle
    along = (-a * s * ux + b * c * uy) / sp.sqrt(a**2 * s**2 + b**2 * c**2)
    table.branch("wall", [sp.atan2(s, c), along])
    table.straight = True
    table.start(x=[phi0, p0], t_end=200)
    angles = [2 * sp.pi * k / 48 for k in range(49)]
    table.sketch(
        line(*((a * sp.cos(w), b * sp.sin(w)) for w in angles), role="node"),
        circle(a * cos, b * sin, "0.03"),
    )
    table.published = {
        "ellipse: product of the momenta after 2000 collisions": (
            -0.03925690,
            1e-8,
            "Birkhoff 1927: as at the start",
        ),
    }
    table.preset("around the foci", "L1 L2 > 0: chords touch an ellipse.", p0=0.6)
    table.preset("between the foci", "L1 L2 < 0: chords touch a hyperbola.", phi0=1.5, p0=0.1)
    table.preset("a circle", "a = b: the direction p never changes.", b=1)
    return table
