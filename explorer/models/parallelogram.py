"""Parallelogram with three cranks: a constraint more than needed, and still one motion.

Three parallel cranks carry one coupler. Any two of them would do: six constraints for six
coordinates have rank 5, so forces of the bars are not unique, but the motion is (Garcia de Jalon,
Bayo 1994, section 3.4). All cranks turn by the angle phi from the vertical, and with cranks of mass
m, length L and a coupler of mass M ::

    (m + M) L^2 phi'' = -(3/2 m + M) g L sin(phi)

up to 0 <= s - x_3 perp p >= 0, the stop.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.passages import passages
from explorer.results.solution import Solution
from explorer.systems import MechanicalSystem
from explorer.systems.linkages import Linkage


def _period(run: Callable[..., Solution]) -> float:
    """Return the period of the cranks out of reach of the stop, in s."""
    done = run("EventDriven", preset="free", t_end=5, t_eval=np.linspace(0, 5, 10001))
    return float(np.diff(passages(done.t, done.q[:, 0]))[0])


@register(
    group="linkages",
    references=("garcia-de-jalon-1994",),
    measures={
        "parallelogram: period of the cranks from 1.2 rad, in s": _period,
    },
)
def parallelogram() -> MechanicalSystem:
    """Return a coupler on three cranks, with redundant constraints and a stop."""
    swing = Linkage(
        "parallelogram with three cranks",
        gravity=Param(9.81, 1, 20, "m/s2", "gravity"),
        params={
            "L": Param(0.6, 0.3, 1, "m", "length of the cranks"),
            "m": Param(0.5, 0.1, 3, "kg", "mass of a crank"),
            "M": Param(2, 0.2, 10, "kg", "mass of the coupler"),
            "s": Param(1.2, 1, 3, "m", "place of the stop"),
            "e": Param(0.8, 0, 1, "", "restitution"),
            "a0": Param(-0.9, -1.4, 0, "rad", "start angle of the cranks"),
        },
        text="Redundant constraints: forces are not unique, motions are.",
    )
    L, a = sp.symbols("L a0")
    for k in (1, 2, 3):
        pin = swing.pin(f"P{k}", sp.Rational(k - 1, 2), 0)
        point = swing.point(str(k), sp.Rational(k - 1, 2) + L * sp.sin(a), -L * sp.cos(a))
        swing.bar(pin, point, mass="m", length="L", name=f"crank {k}")
    swing.bar("1", "2", mass="M/2", length=0.5, name="coupler, left half")
    swing.bar("2", "3", mass="M/2", length=0.5, name="coupler, right half")
    swing.rod("1", "3", length=1, name="coupler")
    swing.contact("3", (("s", -1), ("s", 0)), e="e", name="stop")
    system = swing.system(redundant=True, t_end=6, h=1e-3)
    system.published = {
        "parallelogram: period of the cranks from 1.2 rad, in s": (
            1.627084323,
            1e-6,
            "closed form, 4 sqrt((m + M) L / ((3/2 m + M) g)) K(sin(a0 / 2))",
        ),
    }
    system.preset("free", "Out of reach of the stop it swings as one pendulum.", s=3, a0=-1.2)
    system.preset("plastic", "It stays at the stop.", e=0)
    return system
