"""Discs of different sizes falling into a box: m c'' = weight + contacts with Coulomb friction.

(Moreau, *Some numerical methods in multibody dynamics: application to granular materials*, Eur. J.
Mech. A 13 (1994) 93.)
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import DiscSystem
from explorer.systems.sketch import circle, ground, line


def _carried(run: Callable[..., Solution]) -> float:
    """Return the force of the floor over the weight of smooth discs at rest."""
    done = run(preset="slippery", t_end=3)
    floor = done.discs.partner[-1] == -1
    rho = done.rho
    weight = sum(float(m.subs(rho)) for m in done.system.masses) * rho["g"]
    return float(done.p[-1][floor].sum() / (done.t[-1] - done.t[-2]) / weight)


@register(
    group="many bodies",
    references=("moreau-1994",),
    measures={
        "pile of discs: part of the weight that the floor carries, mu = 0": _carried,
    },
)
def disc_pile(n: int = 5) -> DiscSystem:
    """Return `n` discs that fall into a box."""
    across = max(2, round(n**0.5))
    system = DiscSystem(
        f"pile of {n} discs",
        n,
        text="Contacts come and go; in the end friction and walls carry the pile.",
    )
    system.sizes = {"n": Param(n, 2, 300, "", "number of discs")}
    R, spread, w, rho, g, e, mu = system.params(
        R=Param(0.1, 0.05, 0.2, "m", "mean radius"),
        s=Param(0.2, 0, 0.25, "", "spread of the radii"),
        w=Param(1.5, 1.45, 2.5, "", "width of the box over that of a row"),
        rho=Param(50, 10, 200, "kg/m2", "mass by area"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.2, 0, 0.9, "", "restitution"),
        mu=Param(0.4, 0, 0.9, "", "friction coefficient"),
    )
    # multiples of irrational numbers: spread evenly, no two rows alike, always the same
    radii = [R * (1 + spread * round(2 * (0.6180339887 * i % 1) - 1, 3)) for i in range(n)]
    aside = [R * round(0.4 * (0.7548776662 * i % 1) - 0.2, 3) for i in range(n)]
    width, top = 2 * R * w * across, 2.6 * R * (n // across + 1)
    system.discs(
        radii,
        mass=[sp.pi * rho * r**2 for r in radii],
        gravity=g,
        e=e,
        mu=mu,
        walls=[(0, 1, 0), (1, 0, 0), (-1, 0, -width)],
    )
    places = [
        c
        for i in range(n)
        for c in (R * w * (2 * (i % across) + 1) + aside[i], R * (1.3 + 2.6 * (i // across)), 0)
    ]
    system.start(q=places, t_end=0.8, h=4e-3)
    q = system.q
    discs = [
        shape
        for x, y, phi, r in zip(q[::3], q[1::3], q[2::3], radii, strict=True)
        for shape in (circle(x, y, r), line((x, y), (x + r * sp.cos(phi), y + r * sp.sin(phi))))
    ]
    walls = [
        ground((0, 0), (width, 0)),
        ground((0, top), (0, 0)),
        ground((width, 0), (width, top)),
    ]
    system.sketch(*walls, *discs)
    system.published = {
        "pile of discs: part of the weight that the floor carries, mu = 0": (
            1,
            1e-6,
            "closed form, balance of the vertical momentum",
        ),
    }
    system.preset("slippery", "Without friction the discs flow until they lie in rows.", mu=0)
    system.preset("rough", "Discs that lean on each other hold an arch, or a steep slope.", mu=0.9)
    system.preset("one size", "Discs of one size find the densest rows.", s=0)
    return system
