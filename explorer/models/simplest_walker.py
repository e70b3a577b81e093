"""Simplest walker: two massless legs, a mass at the hip, point masses at the feet (in the limit 0).

Stance leg theta from the normal of the slope, swing leg phi from the stance leg, time in
sqrt(l/g)::

    theta'' = sin(theta - gamma)
    phi''   = sin(theta - gamma) + sin(phi) (theta'^2 - cos(theta - gamma))

Heel strike at phi = 2 theta: theta+ = -theta, theta'+ = cos(2 theta) theta', phi+ = -2 theta, phi'+
= cos(2 theta) (1 - cos(2 theta)) theta' (Garcia, Chatterjee, Ruina and Coleman, J. Biomech. Eng.
120 (1998) 281). At the slope 0.009 the gait is stable; at 0.0151 its period doubles, on to chaos.
"""

from collections.abc import Callable

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import circle, ground, line


def _radius(_: Callable[..., Solution]) -> float:
    """Return the largest modulus of the multipliers of the gait."""
    from explorer.study.limit_cycle import limit_cycle

    return limit_cycle(simplest_walker(), section="heel strike").radius


def _doubling(_: Callable[..., Solution]) -> float:
    """Return the slope at which the period of the gait doubles, in rad."""
    from explorer.study.continuation import continuation

    gaits = continuation(
        simplest_walker(),
        parameter="gamma",
        section="heel strike",
        over=(0.012, 0.016),
        gamma=0.0125,
        step=0.1,
    )
    return gaits.found("flip")[0].parameter


@register(
    group="walking",
    references=("garcia-1998", "bhounsule-2014", "schwab-wisse-2001"),
    measures={
        "simplest walker: stance angle after a heel strike, in rad": lambda run: (
            run(t_end=120).events[-1].x_plus[0]
        ),
        "simplest walker: speed after a heel strike, in rad/s": lambda run: (
            run(t_end=120).events[-1].x_plus[2]
        ),
        "simplest walker: period, in s": lambda run: (
            run(t_end=120).events[-1].t - run(t_end=120).events[-2].t
        ),
        "simplest walker: modulus of the multipliers": _radius,
        "simplest walker: period doubling at the slope, in rad": _doubling,
    },
)
def simplest_walker() -> HybridSystem:
    """Return a biped that walks down a shallow slope without any control."""
    walker = HybridSystem(
        "simplest walker",
        x="theta phi v_theta v_phi",
        units=("rad", "rad", "rad/s", "rad/s"),
        text="A gait without control: stable, then with doubled period, then chaotic, then a fall.",
    )
    theta, phi, v, u = walker.x
    gamma, theta0, rate0 = walker.params(
        gamma=Param(0.009, 0.001, 0.019, "rad", "slope"),
        theta0=Param(0.2003109, 0.1, 0.3, "rad", "stance angle after a heel strike"),
        rate0=Param(-0.1998325, -0.3, -0.1, "rad/s", "its speed"),
    )
    pull = sp.sin(theta - gamma)
    walk = walker.mode("walk", [v, u, pull, pull + sp.sin(phi) * (v**2 - sp.cos(theta - gamma))])
    kept = sp.cos(2 * theta)
    # the swing foot is at the ground at the start of a step and when it passes the stance leg, too:
    # stiff legs scuff there, which is ignored
    walker.guard(
        walk,
        phi - 2 * theta,
        direction=+1,
        when=-theta,
        name="heel strike",
        reset=[-theta, -2 * theta, kept * v, kept * (1 - kept) * v],
    )
    walker.guard(walk, theta + 1.2, direction=-1, terminal=True, name="falls forward")
    walker.guard(walk, theta - 1.2, direction=+1, terminal=True, name="falls back")
    walker.start(
        x=[theta0, 2 * theta0, rate0, (1 - sp.cos(2 * theta0)) * rate0], mode=walk, t_end=30, h=5e-3
    )
    # on a treadmill: along the slope the hip stays where it is
    down, up = (sp.cos(gamma), -sp.sin(gamma)), (sp.sin(gamma), sp.cos(gamma))

    def below(angle: sp.Expr, length: float = 1) -> tuple[sp.Expr, sp.Expr]:
        along, across = length * sp.sin(angle), sp.cos(theta) - length * sp.cos(angle)
        return along * down[0] + across * up[0], along * down[1] + across * up[1]

    hip, foot, swing = below(0, 0), below(theta), below(theta - phi)
    walker.sketch(
        ground(tuple(-0.7 * c for c in down), tuple(0.7 * c for c in down)),
        line(hip, foot),
        line(hip, swing),
        circle(*hip, 0.07),
        circle(*foot, 0.02),
        circle(*swing, 0.02),
    )
    walker.published = {
        "simplest walker: stance angle after a heel strike, in rad": (
            0.2003109,
            1e-6,
            "Garcia et al. 1998",
        ),
        "simplest walker: speed after a heel strike, in rad/s": (
            -0.1998325,
            1e-6,
            "Garcia et al. 1998",
        ),
        "simplest walker: period, in s": (3.882464, 1e-5, "recomputed; Garcia et al. 1998"),
        "simplest walker: modulus of the multipliers": (
            0.58911,
            1e-3,
            "-0.1901 +- 0.5576 i, Bhounsule 2014",
        ),
        "simplest walker: period doubling at the slope, in rad": (
            0.01509,
            3e-5,
            "recomputed; Garcia et al. 1998: 0.0151",
        ),
    }
    walker.preset(
        "doubled",
        "A long step and a short one in turn.",
        gamma=0.0165,
        theta0=0.236657,
        rate0=-0.23234,
        t_end=60,
    )
    walker.preset(
        "chaos",
        "No two steps are equal, and it does not fall.",
        gamma=0.0188,
        theta0=0.24696,
        rate0=-0.241016,
        t_end=120,
    )
    walker.preset("a stumble", "Started a little too slow, it falls back.", rate0=-0.17, t_end=20)
    return walker
