"""Stack of n flat blocks on a table that moves in a circle: |p_t| <= mu_i p, against the slip.

A block that slides on such a table is pulled with mu g whatever its speed, so its own circle is run
at the speed mu g / omega, its acceleration lags behind the table's, and its sliding velocity stands
at right angles to its own: |slip|^2 = (A omega)^2 - (mu g / omega)^2, at all times. Were the cone a
pyramid, the slip would pulsate. Higher interfaces are smoother: each block slides on the one below.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import Point, ground, line


def _slip(run: Callable[..., Solution]) -> float:
    """Return how fast the lowest block slides, all in one piece, in m/s."""
    return float(
        np.linalg.norm(run("MoreauJean", preset="in one piece", h=2e-4, t_end=3).slip[-1, 0])
    )


@register(
    group="many bodies",
    references=("moreau-1988",),
    measures={
        "stack in one piece: sliding speed on the table, in m/s": _slip,
    },
)
def stack(n: int = 2) -> MechanicalSystem:
    """Return a stack of `n` blocks, too flat to tip."""
    system = MechanicalSystem(
        f"stack of {n} blocks",
        q=[f"{c}{i + 1}" for i in range(n) for c in "xyz"],
        units="m",
        text="Friction in space on every interface, on a table that moves in a circle.",
    )
    system.sizes = {"n": Param(n, 1, 20, "", "number of blocks")}
    m, mu, fall, A, omega, g, height = system.params(
        m=Param(1, 0.1, 5, "kg", "mass of a block"),
        mu=Param(0.3, 0, 1, "", "friction on the table"),
        fall=Param(0.6, 0, 1, "", "how much less it is on the top"),
        A=Param(0.05, 0, 0.2, "m", "radius of the table's circle"),
        omega=Param(10, 1, 20, "rad/s", "its angular velocity"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        H=Param(0.1, 0.05, 0.2, "m", "height of a block"),
    )
    system.mass, system.force = m * sp.eye(3 * n), [0, 0, -m * g] * n
    turn = omega * system.t
    table, moves = (
        (A * sp.sin(turn), -A * sp.cos(turn)),
        (A * omega * sp.cos(turn), A * omega * sp.sin(turn)),
    )
    q, v = system.q, system.v
    system.potential = m * g * sum(q[2::3])
    for i in range(n):
        x, y, z = q[3 * i : 3 * i + 3]
        below = (q[3 * i - 1] + height, *v[3 * i - 3 : 3 * i - 1]) if i else (0, *moves)
        slip = (v[3 * i] - below[1], v[3 * i + 1] - below[2])
        rough = mu * (1 - fall * sp.Rational(i, max(n - 1, 1)))
        system.contact(Contact(gap=z - below[0], name=f"under {i + 1}", mu=rough, slip=slip))
    system.start(
        q=[0 if c != 2 else i * height for i in range(n) for c in range(3)], t_end=1.5, h=1e-3
    )

    def seen(x: sp.Expr, y: sp.Expr, z: sp.Expr) -> Point:  # from the front and a little from above
        return x + y / 2, z + y / 4

    shapes = [ground(seen(table[0] - 0.4, table[1], 0), seen(table[0] + 0.4, table[1], 0))]
    for i in range(n):
        x, y, z = q[3 * i : 3 * i + 3]
        corners = ((x - 0.15, z), (x + 0.15, z), (x + 0.15, z + height), (x - 0.15, z + height))
        shapes.append(line(*(seen(a, y, b) for a, b in corners), closed=True))
    system.sketch(*shapes)
    system.published = {
        "stack in one piece: sliding speed on the table, in m/s": (
            0.404212,
            1e-3,
            "closed form, sqrt((A omega)^2 - (mu g / omega)^2)",
        ),
    }
    system.preset("in one piece", "Equal friction on all interfaces: they go as one.", fall=0)
    system.preset("held", "A gentle table takes all of them along.", A=0.005)
    system.preset("no friction", "They stay where they are.", mu=0)
    return system
