"""Rod on rough ground (Painleve 1895): a sliding tip that no finite force can hold up.

A uniform rod at the angle theta, its tip at (x - l/2 cos theta, y - l/2 sin theta). A force p at
the tip, with friction -mu sgn(slip) p, lifts it with the acceleration::

    A p / m,    A = 1 + 3 cos^2 theta + 3 mu sgn(slip) sin theta cos theta

A < 0 is the paradox: a tip that slides ahead of the rod (slip < 0 here) is pressed down by the
force that should lift it. It needs mu > (1 + 3 cos^2) / (3 sin cos), least at tan theta = 2, where
it is 4/3. Then only an impulse stops the tip, without a collision.

A tip that keeps its contact comes to A = 0 only where the numerator of its force, p = m (g - l/2
theta'^2 sin theta) / A, vanishes too. In the time s, dt = A ds, that point is a node with::

    eigenvalues a theta', b theta',   a = dA/dtheta,  b = 6 sin theta (cos theta - mu sin theta)

and p goes there with A^(b/a - 1): to a finite value if a is the slow one, without bound if b is.
They are equal for mu = 8/(3 sqrt 3), at tan^2 theta = 4/3. (Genot, Brogliato, Eur. J. Mech. A
18 (1999) 653.)
"""

from collections.abc import Callable

import numpy as np
import scipy
import sympy as sp

from explorer.errors import StepFailed
from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import ground, line


def _paradox(run: Callable[..., Solution]) -> float:
    """Return the friction above which sliding at tan theta = 2 has no solution, by bisection."""
    low, high = 1.0, 2.0
    while high - low > 1e-9:
        mu = 0.5 * (low + high)
        try:
            run("EventDriven", mu=mu, angle=float(np.arctan(2)), t_end=1e-5)
        except StepFailed:
            high = mu
        else:
            low = mu
    return high


def _unbounded(_: Callable[..., Solution]) -> float:
    """Return the friction at which both eigenvalues of the node are equal, from the equations."""
    rod = falling_rod()
    tip, theta = rod.contacts[0], rod.q[2]
    symbols = rod.symbols()
    mu, length, m = symbols["mu"], symbols["l"], symbols["m"]
    push = sp.Matrix([tip.gap]).jacobian(rod.q) + mu * sp.Matrix([tip.slip]).jacobian(rod.v)
    answer = sp.Matrix(rod.mass).inv() * push.T * m  # accelerations by p / m, where slip < 0
    A = (sp.Matrix([tip.gap]).jacobian(rod.q) * answer)[0]
    b = -length * sp.sin(theta) * answer[2]  # of the numerator g - l/2 theta'^2 sin theta
    conditions = sp.lambdify((theta, mu), [x.expand() for x in (A, A.diff(theta) - b)])
    found = scipy.optimize.root(lambda z: conditions(*z), [0.9, 1.5], tol=1e-12)
    return float(found.x[1])


@register(
    group="friction",
    references=("painleve-1895", "genot-brogliato-1999"),
    measures={
        "uniform rod: least friction of the paradox": _paradox,
        "uniform rod: least friction of a force without bound": _unbounded,
    },
)
def falling_rod() -> MechanicalSystem:
    """Return a rod whose tip slides on the ground."""
    system = MechanicalSystem(
        "rod on rough ground",
        q="x y theta",
        units=("m", "m", "rad"),
        text=(
            "Chalk on a blackboard: with enough friction, sliding has no solution and the tip hops."
        ),
    )
    (x, y, a), (v_x, _, w) = system.q, system.v
    m, length, mu, e, g, angle, speed, turn = system.params(
        m=Param(1, 0.1, 5, "kg", "mass"),
        l=Param(1, 0.2, 2, "m", "length"),
        mu=Param(0.5, 0, 2.5, "", "friction"),
        e=Param(0, 0, 1, "", "restitution"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        angle=Param(0.8, 0.1, 1.5, "rad", "start angle"),
        speed=Param(-3, -8, 8, "m/s", "start speed of the tip"),
        turn=Param(0, -5, 5, "rad/s", "start speed of the turn"),
    )
    along, up = length / 2 * sp.cos(a), length / 2 * sp.sin(a)
    system.mass = sp.diag(m, m, m * length**2 / 12)
    system.force = [0, -m * g, 0]
    system.potential = m * g * y
    for side, name in ((1, "tip"), (-1, "end")):
        system.contact(Contact(y - side * up, e, name, mu, v_x + side * up * w))
    half = length / 2
    system.start(
        q=[0, half * sp.sin(angle), angle],
        v=[speed - half * sp.sin(angle) * turn, half * sp.cos(angle) * turn, turn],
        t_end=0.6,
        h=1e-3,
    )
    system.sketch(
        ground((-3, 0), (2, 0)),
        line((x - along, y - up), (x + along, y + up)),
    )
    system.published = {
        "uniform rod: least friction of the paradox": (4 / 3, 1e-8, "Genot and Brogliato 1999"),
        "uniform rod: least friction of a force without bound": (
            1.539601,
            1e-6,
            "8/(3 sqrt 3), Genot and Brogliato 1999",
        ),
    }
    system.preset(
        "paradox",
        "No force holds the tip up: an impulse stops it without a collision.",
        mu=1.6,
        angle=1.2,
        t_end=0.25,
        h=1e-3,
    )
    system.preset(
        "jam",
        "On its way to the paradox the force on the tip grows without bound.",
        mu=1.8,
        l=2,
        angle=0.62,
        speed=-6,
        turn=2.3,
        t_end=0.1,
        h=1e-4,
    )
    system.preset(
        "pulled",
        "The tip trails behind: friction lifts it, and there is no paradox.",
        mu=1.6,
        angle=1.2,
        speed=3,
        t_end=0.4,
    )
    system.preset("no friction", "The centre falls straight down.", mu=0)
    return system
