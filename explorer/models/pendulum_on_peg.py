"""Pendulum on a peg: a mass on a rope that wraps round a peg below its pin (Galileo's pendulum).

In x and y the taut rope is |r| = L left of the pin (x < 0) and |r - r_peg| = L - d right of it,
where the peg at the depth d holds it: a constraint gives way to another one at x = 0. Both are
satisfied there, so the speed stays and the mass rises to the height that it came from,
L (1 - cos a) = (L - d) (1 - cos b). A period is half a swing at each length,
2 sqrt(L / g) K(sin(a / 2)) + 2 sqrt((L - d) / g) K(sin(b / 2)), K the complete elliptic integral of
the first kind (Whittaker, *Analytical Dynamics*, 44).
"""

import numpy as np
import numpy.typing as npt
import scipy
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MechanicalSystem
from explorer.systems.constraints import Constraint
from explorer.systems.sketch import circle, ground, line


def _swings(rho: dict[str, float]) -> list[tuple[float, float, float]]:
    """Return w = sqrt(g / length) in 1/s, k^2 and the time of half a swing at each length."""
    height, swings = rho["L"] * (1 - np.cos(rho["a0"])), []
    for length in (rho["L"], rho["L"] - rho["d"]):
        w, m = np.sqrt(rho["g"] / length), height / (2 * length)
        swings.append(
            (float(w), float(m), float(2 * scipy.special.ellipk(m) / w) if m < 1 else np.inf)
        )
    return swings


def period(rho: dict[str, float]) -> float:
    """Return the time there and back in s, infinite if the rope goes on round the peg."""
    return sum(half for *_, half in _swings(rho))


def exact(t: npt.ArrayLike, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x, y and their rates, (n_t, 2) each; NaN if the rope goes on round the peg."""
    t, d = np.asarray(t, float), rho["d"]
    (w, m, left), (v, n, right) = _swings(rho)
    if not np.isfinite(left + right):
        nothing = np.full((t.size, 2), np.nan)
        return {"q": nothing, "v": nothing}
    since = np.mod(t + left / 2, left + right)  # it comes through x = 0 from the right
    on_peg = since >= left
    k, rate = np.where(on_peg, np.sqrt(n), -np.sqrt(m)), np.where(on_peg, v, w)
    sn, cn, dn, _ = scipy.special.ellipj(rate * (since - left * on_peg), np.where(on_peg, n, m))
    length = np.where(on_peg, rho["L"] - d, rho["L"])
    turn = 2 * k * rate * cn  # sin(angle / 2) = k sn, so cos(angle / 2) = dn
    sine, cosine = 2 * k * sn * dn, 1 - 2 * (k * sn) ** 2
    q = np.column_stack([length * sine, -d * on_peg - length * cosine])
    return {"q": q, "v": np.column_stack([length * cosine, length * sine]) * turn[:, None]}


@register(group="impacts", references=("whittaker-1937",))
def pendulum_on_peg() -> MechanicalSystem:
    """Return a pendulum whose rope is caught by a peg."""
    system = MechanicalSystem(
        "pendulum on a peg",
        q="x y",
        units="m",
        text="The peg shortens the rope; the mass rises as high as it came from, and faster.",
    )
    (x, y), r = system.q, sp.Rational(1, 20)
    m, g, L, d, a0 = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        L=Param(1, 0.5, 2, "m", "length of the rope"),
        d=Param(0.4, 0.05, 0.45, "m", "depth of the peg below the pin"),
        a0=Param(0.8, 0.05, 1.5, "rad", "start angle"),
    )
    system.mass, system.force, system.potential = [[m, 0], [0, m]], [0, -m * g], m * g * y
    long, short = sp.sqrt(x**2 + y**2), sp.sqrt(x**2 + (y + d) ** 2)
    system.constraint(Constraint(long - L, "rope", when=-x))
    system.constraint(Constraint(short - (L - d), "rope on the peg", when=x))
    system.start(q=[-L * sp.sin(a0), -L * sp.cos(a0)], v=[0, 0], t_end=8, h=2e-3, assemble=True)
    system.sketch(
        ground((r * 3, 0), (-r * 3, 0)),
        line((0, 0), (0, -d * sp.Heaviside(x)), (x, y)),
        circle(0, -d, r / 2),
        circle(x, y, r),
    )
    system.exact = exact
    system.preset("just below the pin", "A short peg: hardly a change.", d=0.05)
    system.preset("wide", "From the side: it rises steeply beyond the peg.", a0=1.4, d=0.3)
    return system
