"""Bouncing dimer: two spheres on a light rod, on a plate that moves as A sin(omega t).

    m x'' = sum lam_t,   m y'' = sum lam - m g,   I theta'' = their moments

I = m (L^2 / 4 + 2/5 R^2).

Each sphere touches the plate straight below its centre, with Newton's law e and friction mu. Hit
at one end, a body does not simply turn back: with r = (r_x, r_y) from the centre to the contact, a
dimer that falls without turning at the speed V takes, if its contact sticks, the impulses

    (1/m + r_x^2/I) p - (r_x r_y/I) p_t = (1 + e) V,   (1/m + r_y^2/I) p_t - (r_x r_y/I) p = 0

and turns by (r_x p - r_y p_t) / I; else p_t = mu p. On a plate that shakes up and down it can
travel to one side: one end stays down most of the time, the other bounces (Dorbolo, Volfson,
Tsimring and Kudrolli, *Phys. Rev. Lett.* 95 (2005) 044101, doi:10.1103/PhysRevLett.95.044101).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, line


def _travel(run: Callable[..., Solution]) -> float:
    """Return the mean speed along the plate over 40 of its periods, in m/s."""
    done = run("EventDriven", t_end=2.0, rtol=1e-9, atol=1e-12)
    period = 2 * np.pi / done.rho["omega"]
    before, after = np.interp([50 * period, 90 * period], done.t, done.q[:, 0])
    return float((after - before) / (40 * period))


@register(
    group="impacts",
    references=("dorbolo-2005",),
    measures={
        "dimer: speed of its travel, in m/s": _travel,
        "dimer: how fast the first impact turns it, in rad/s": lambda run: (
            run("EventDriven", preset="dropped").events[0].v_plus[2]
        ),
    },
)
def bouncing_dimer() -> MechanicalSystem:
    """Return two joined spheres that bounce on a plate that vibrates."""
    dimer = MechanicalSystem(
        "bouncing dimer",
        q="x y theta",
        units=("m", "m", "rad"),
        text="The plate shakes up and down only, and yet the dimer travels to one side.",
    )
    (x, y, a), (v_x, _, w_a), t = dimer.q, dimer.v, dimer.t
    m, R, L, g, e, mu, G, w, theta0, y0 = dimer.params(
        m=Param(0.005, 0.001, 0.02, "kg", "mass"),
        R=Param(0.002, 0.001, 0.005, "m", "radius of a sphere"),
        L=Param(0.0116, 0.004, 0.03, "m", "distance of the centres"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        e=Param(0.6, 0, 0.95, "", "restitution"),
        mu=Param(0.1, 0, 1, "", "friction"),
        G=Param(0.9, 0, 3, "", "acceleration of the plate, A omega^2 / g"),
        omega=Param(314, 60, 600, "rad/s", "its frequency"),
        theta0=Param(0.2, -0.6, 0.6, "rad", "start angle"),
        y0=Param(0, 0, 5e-3, "m", "drop height"),
    )
    plate = G * g / w**2 * sp.sin(w * t)
    dimer.mass = sp.diag(m, m, m * (L**2 / 4 + sp.Rational(2, 5) * R**2))
    dimer.force, dimer.potential = [0, -m * g, 0], m * g * y
    ends = []
    for side, name in ((-1, "left"), (1, "right")):
        along, up = side * L / 2 * sp.cos(a), side * L / 2 * sp.sin(a)
        ends.append((x + along, y + up))
        slip = v_x - up * w_a + R * w_a
        dimer.contact(Contact(y + up - R - plate, e, name, mu, slip))
    dimer.start(q=[0, R + L / 2 * sp.Abs(sp.sin(theta0)) + y0, theta0], t_end=0.6, h=2e-5)
    dimer.sketch(
        line((-0.03, plate), (0.03, plate), role="ground"),
        line(*ends),
        *(circle(*end, R) for end in ends),
    )
    dimer.published = {
        "dimer: how fast the first impact turns it, in rad/s": (
            -40.91630782006,
            1e-6,
            "closed form, sliding: p = (1 + e) V / (1/m + r_x^2/I - mu r_x r_y/I)",
        ),
        "dimer: speed of its travel, in m/s": (
            -0.0073049,
            1e-6,
            "recomputed: impacts located, and time stepping for h to 0",
        ),
    }
    dimer.preset(
        "dropped", "A plate at rest: one end hits, then the other.", G=0, y0=5e-3, t_end=0.2
    )
    dimer.preset("two periods", "Harder: the right end comes down in every second period.", e=0.9)
    dimer.preset(
        "both ends", "More friction: both ends bounce, and it hardly travels.", e=0.8, mu=0.3
    )
    dimer.preset("no friction", "It bounces the same way, and nothing drives it aside.", mu=0)
    return dimer
