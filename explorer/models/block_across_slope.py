"""Block launched across a slope: v' = g sin(alpha) e - mu g cos(alpha) v / |v|, e downhill.

Friction in space acts against the velocity, so it takes no side: on level ground the block stops
after v0^2 / (2 mu g) along a straight line. On a slope its path bends. With the angle phi between
the velocity and downhill, r = tan(phi / 2) and k = mu / tan(alpha) the hodograph is

    |v| = C (r^(k - 1) + r^(k + 1)),     r' = -g sin(alpha) r / |v|

so r falls to zero: sideways motion dies out before the motion downhill does, and for k > 1 the
block stops, turned straight downhill, in a finite time.
"""

from collections.abc import Iterator

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, arrow, line, text

_LEVEL = 1e-3  # rad: a slope that bends no path within millimetres


def _power(r: np.ndarray, a: float) -> np.ndarray:
    """Return the integral of s^(a - 1) from r to 1."""
    return np.asarray(-np.log(r) if a == 0 else -np.expm1(a * np.log(r)) / a)


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return place and velocity, by the angle of the path (NaN if it starts along the slope)."""
    g, mu, alpha, v0, phi0 = (rho[name] for name in ("g", "mu", "alpha", "speed", "heading"))
    t = np.asarray(t, float)
    if alpha < _LEVEL:
        stop = v0 / (mu * g) if mu > 0 else np.inf
        on = np.minimum(t, stop)
        along, speed = v0 * on - mu * g * on**2 / 2, v0 - mu * g * on
        x, y, v_x, v_y = (f(phi0) * s for s in (along, speed) for f in (np.cos, np.sin))
    elif not 0 < phi0 < np.pi or v0 == 0:
        x = y = v_x = v_y = np.full(len(t), np.nan)
    else:
        k, pull, r0 = mu / np.tan(alpha), g * np.sin(alpha), np.tan(phi0 / 2)
        a, b = v0 / (1 + r0**2), v0 * r0**2 / (1 + r0**2)  # |v| = (a + b s^2) s^(k-1), s = r / r0

        def clock(s: np.ndarray) -> np.ndarray:
            return np.asarray((a * _power(s, k - 1) + b * _power(s, k + 1)) / pull)

        low, high = np.full(len(t), -690.0), np.zeros(len(t))  # of log s
        for _ in range(60):
            middle = (low + high) / 2
            late = clock(np.exp(middle)) > t
            low, high = np.where(late, middle, low), np.where(late, high, middle)
        s = np.exp((low + high) / 2)
        x = (a**2 * _power(s, 2 * k - 2) - b**2 * _power(s, 2 * k + 2)) / pull
        y = 2 * a * r0 * (a * _power(s, 2 * k - 1) + b * _power(s, 2 * k + 1)) / pull
        v_x, v_y = s ** (k - 1) * (a - b * s**2), 2 * a * r0 * s**k
        still = clock(np.exp(-690.0)) <= t if k > 1 else t < 0
        v_x, v_y = np.where(still, 0.0, v_x), np.where(still, 0.0, v_y)
    zero = np.zeros_like(t)
    return {"q": np.column_stack([x, y, zero]), "v": np.column_stack([v_x, v_y, zero])}


@register(group="friction", references=("moreau-1988",))
def block_across_slope() -> MechanicalSystem:
    """Return a block that is launched obliquely on a rough plane, seen from above."""
    system = MechanicalSystem(
        "block launched across a slope",
        q="x y z",
        units="m",
        text=(
            "Friction acts against the velocity, so the path bends until the block slides downhill."
        ),
    )
    (x, y, z), (v_x, v_y, _) = system.q, system.v
    m, mu, alpha, g, speed, heading = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        mu=Param(0.5, 0, 1.5, "", "friction"),
        alpha=Param(0.3, 0, 1.2, "rad", "angle of the slope"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        speed=Param(3, 0, 5, "m/s", "speed of the launch"),
        heading=Param(2, 0.1, 3, "rad", "its angle to downhill"),
    )
    pull, press = m * g * sp.sin(alpha), m * g * sp.cos(alpha)
    system.mass, system.force = sp.diag(m, m, m), [pull, 0, -press]
    system.potential = press * z - pull * x
    system.contact(Contact(gap=z, name="slope", mu=mu, slip=(v_x, v_y)))
    velocity = [speed * sp.cos(heading), speed * sp.sin(heading), 0]
    system.start(q=[0, 0, 0], v=velocity, t_end=1.5, h=1e-3)
    system.exact = exact

    def square(x: sp.Expr, y: sp.Expr, half: float) -> Iterator[Point]:
        return ((x + i * half, y + j * half) for i, j in ((1, 1), (-1, 1), (-1, -1), (1, -1)))

    # downhill is down; an arrow marks the launch, lines along the slope lead downhill
    system.sketch(
        *(line((0.2 * k, 0.3), (0.2 * k, -0.7), role="trace") for k in range(-1, 9)),
        line((-0.2, 0.3), (1.6, 0.3)),
        text(1.7, 0.3, "uphill", 0.3),
        text(1.7, -0.7, "downhill", 0.4),
        arrow((0, 0), (0.3 * sp.sin(heading), -0.3 * sp.cos(heading))),
        line(*square(y, -x, 0.06), closed=True),
    )
    system.preset("level", "A straight line of length v0^2 / (2 mu g).", alpha=0)
    system.preset("too steep", "mu < tan(alpha): it goes on downhill.", alpha=0.6)
    system.preset(
        "on the edge", "mu = tan(alpha): a speed downhill remains.", mu=0.5, alpha=0.46365
    )
    system.preset("no friction", "A parabola.", mu=0)
    return system
