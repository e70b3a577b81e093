"""Newton's cradle: n pendulums, x_i'' = -(g / l) x_i, 0 <= s + x_{i+1} - x_i perp p_i >= 0.

With a spacing s > 0 the impacts come one after the other and the last ball leaves alone. Touching
balls (s = 0) collide at once, and Newton's law for all contacts together gives another answer,
(-1/3, 2/3, 2/3) for three balls and e = 1: the outcome of a multiple impact is not determined by e
(Acary and Brogliato, *Numerical Methods for Nonsmooth Dynamical Systems*, 2008). Poisson's law, e
times the impulse of compression is given back, is the same with one e for all; week 4 of the
course has both, and springs in the contacts.
"""

from collections.abc import Callable

from explorer.dispatch.simulate import simulate
from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.schemes.event_driven import EventDriven
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import circle, ground, line


def _apart(run: Callable[..., Solution]) -> float:
    """Return the speed of the last ball after the first impact on it, over that of the first."""
    events = run("EventDriven", s=1e-5).events
    last = next(hit for hit in events if hit.contact == "4-5")
    return float(last.v_plus[-1] / events[0].v_minus[0])


def _together(run: Callable[..., Solution]) -> float:
    """Return the speed of the first ball after the impact of all, over that before."""
    hit = run("EventDriven", preset="touching").events[0]
    return float(hit.v_plus[0] / hit.v_minus[0])


def _sprung(power: float) -> float:
    """Return the share of the speed that the last of three balls takes from the first one.

    They touch, and push each other by forces k delta^power; the share is the same for each k.
    """
    near, far = f"max(x1 - x2, 0)**{power}", f"max(x2 - x3, 0)**{power}"
    chain = MechanicalSystem(
        "three balls",
        q="x1 x2 x3",
        force=[f"-{near}", f"{near} - {far}", far],
        start={"v": [1, 0, 0], "t_end": 20},
    )
    return float(simulate(chain, EventDriven(rtol=1e-10, atol=1e-13)).v[-1, 2])


@register(
    group="many bodies",
    references=("acary-brogliato-2008",),
    measures={
        "cradle: share of the speed that the last ball takes": _apart,
        "cradle: speed that the first ball keeps, touching": _together,
        "three balls: share of the speed that the last one takes, springs": lambda run: _sprung(1),
        "three balls: share of the speed that the last one takes, Hertz": lambda run: _sprung(1.5),
    },
)
def newtons_cradle(n: int = 5) -> MechanicalSystem:
    """Return a cradle of `n` equal balls, the first one lifted."""
    system = MechanicalSystem(
        f"Newton's cradle, {n} balls",
        q=[f"x{i + 1}" for i in range(n)],
        units="m",
        text="Impacts one after the other, or all at once: two different outcomes.",
    )
    system.sizes = {"n": Param(n, 2, 12, "", "number of balls")}
    x = system.q
    m, g, length, e, spacing, lift = system.params(
        m=Param(1, 0.1, 5, "kg", "mass of a ball"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        l=Param(1, 0.2, 2, "m", "length of the strings"),
        e=Param(1, 0, 1, "", "restitution"),
        s=Param(0.002, 0, 0.02, "m", "spacing at rest"),
        lift=Param(0.2, 0, 0.4, "m", "lift of the first ball"),
    )
    system.mass = [[m if i == j else 0 for j in range(n)] for i in range(n)]
    system.force = [-m * g / length * xi for xi in x]
    system.potential = m * g / length * sum(xi**2 for xi in x) / 2
    for i in range(n - 1):
        system.contact(Contact(gap=spacing + x[i + 1] - x[i], e=e, name=f"{i + 1}-{i + 2}"))
    system.start(q=[-lift] + [0] * (n - 1), t_end=6, h=1e-3)
    step = 0.1
    shapes = [ground((n * step, 0), (-step, 0))]
    for i, xi in enumerate(x):
        place = i * (step + spacing)
        shapes += [line((place, 0), (place + xi, -length))]
        shapes += [circle(place + xi, -length, step / 2)]
    system.sketch(*shapes)
    system.published = {
        "cradle: share of the speed that the last ball takes": (
            1,
            1e-5,
            "closed form, one impact after the other",
        ),
        "cradle: speed that the first ball keeps, touching": (
            -0.6,
            1e-9,
            "closed form, 2 / n - 1, Newton's law for all contacts at once",
        ),
        "three balls: share of the speed that the last one takes, springs": (
            0.980032,
            1e-6,
            "recomputed: touching, equal springs, however stiff",
        ),
        "three balls: share of the speed that the last one takes, Hertz": (
            0.994549,
            1e-6,
            "recomputed: touching, forces k delta^(3/2), however stiff",
        ),
    }
    system.preset("sequential", "A small spacing: the last ball leaves alone.", s=0.002, e=1)
    system.preset("touching", "No spacing: Newton's law for all contacts at once.", s=0, e=1)
    system.preset("lossy", "e = 0.9: soon all swing together.", s=0.002, e=0.9, t_end=20)
    return system
