"""Dominoes: each turns about its front edge, and leans on the next one without friction.

    I theta_i'' = m g (h sin theta_i - d cos theta_i) / 2 + contacts,     I = m (h^2 + d^2) / 3

theta_i is the tilt from upright. The edge of domino i touches the back of the next one at

    gap_i = (s + d) cos theta_(i+1) - d - h sin(theta_i - theta_(i+1)) >= 0

where h is their height, d their thickness and s the free space between two. The first contact is
met at sin theta_1 = s / h; both have the same arm there, so that the plastic impact (e = 0) leaves
half of the angular speed to each. Then the whole row behind the front leans together, as one body
of one degree of freedom, and pushes: its speed tends to that of a steady wave (van Leeuwen, *Am. J.
Phys.* 78 (2010) 721, doi:10.1119/1.3406154).
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import Contact, MechanicalSystem
from explorer.systems.sketch import ground, line


def _knocks(run: Callable[..., Solution], **settings: object) -> list[tuple[float, float]]:
    """Return when each domino is hit for the first time, and its speed then, in s and rad/s."""
    done = run("EventDriven", **settings)
    found = []
    for i in range(len(done.system.q) - 1):
        hit = next(e for e in done.events if e.contact == f"{i + 1}-{i + 2}")
        found.append((hit.t, float(hit.v_plus[i + 1])))
    return found


@register(
    group="many bodies",
    references=("van-leeuwen-2010",),
    measures={
        "dominoes: speed of the second one after the first knock, in rad/s": lambda run: _knocks(
            run
        )[0][1],
        "dominoes: time from the sixth knock to the seventh, in s": lambda run: (
            _knocks(run)[6][0] - _knocks(run)[5][0]
        ),
    },
)
def dominoes(n: int = 8) -> MechanicalSystem:
    """Return a row of `n` dominoes, of which the first one is pushed."""
    system = MechanicalSystem(
        f"{n} dominoes",
        q=[f"theta{i + 1}" for i in range(n)],
        units="rad",
        text="One falls on the next, and all that have fallen push the front on.",
    )
    system.sizes = {"n": Param(n, 2, 20, "", "number of dominoes")}
    theta = system.q
    m, g, h, d, s, e, w0 = system.params(
        m=Param(0.01, 0.005, 0.05, "kg", "mass of a domino"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        h=Param(0.048, 0.03, 0.08, "m", "height"),
        d=Param(0.0075, 0.004, 0.012, "m", "thickness"),
        s=Param(0.02, 0.005, 0.027, "m", "space between them"),
        e=Param(0, 0, 0.8, "", "restitution"),
        w0=Param(6, 0, 12, "rad/s", "start speed of the first one"),
    )
    system.mass = sp.eye(n) * m * (h**2 + d**2) / 3
    system.force = [m * g * (h * sp.sin(a) - d * sp.cos(a)) / 2 for a in theta]
    system.potential = m * g / 2 * sum(h * sp.cos(a) + d * sp.sin(a) for a in theta)
    for i in range(n - 1):
        a, b = theta[i], theta[i + 1]
        gap = (s + d) * sp.cos(b) - d - h * sp.sin(a - b)
        system.contact(Contact(gap=gap, e=e, name=f"{i + 1}-{i + 2}"))
    for i, a in enumerate(theta):
        system.contact(Contact(gap=d * sp.sin(a), e=0, name=f"foot {i + 1}"))
    system.contact(Contact(gap=h * sp.cos(theta[-1]), e=0, name="floor"))
    system.start(q=[0] * n, v=[w0] + [0] * (n - 1), t_end=0.6, h=2e-4)
    shapes = [ground((-0.02, 0), ((n + 1) * 0.0275 + 0.05, 0))]
    for i, a in enumerate(theta):
        edge, along, up = i * (s + d), (sp.cos(a), -sp.sin(a)), (sp.sin(a), sp.cos(a))
        corners = ((0, 0), (-d, 0), (-d, h), (0, h))
        shapes.append(
            line(
                *((edge + p * along[0] + q * up[0], p * along[1] + q * up[1]) for p, q in corners),
                closed=True,
            )
        )
    system.sketch(*shapes)
    if n == 8:
        system.published = {
            "dominoes: speed of the second one after the first knock, in rad/s": (
                3.586902285840,
                1e-7,
                "closed form, half of that of the first one by its energy",
            ),
            "dominoes: time from the sixth knock to the seventh, in s": (
                0.02569306995101,
                1e-7,
                "quadrature of the row that leans as one body, van Leeuwen 2010",
            ),
        }
    system.preset("too slow", "It does not reach the point where it would fall by itself.", w0=2)
    system.preset("close together", "A small space: a fast wave.", s=0.008)
    system.preset("far apart", "The front gains little from the row behind it.", s=0.026)
    system.preset("bouncy", "e = 0.5: they knock on the next one several times.", e=0.5)
    return system
