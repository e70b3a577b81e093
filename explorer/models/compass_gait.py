"""Compass gait: two legs of length l = a + b, a mass m on each (b below the hip), m_H at the hip.

Angles from the vertical, positive forwards and down the slope gamma; s the stance leg, w the swing
leg. From the energies of the three masses::

    A s'' - B w'' =  m l b sin(s - w) w'^2 + (mH l + m a + m l) g sin(s)
    C w'' - B s'' = -m l b sin(s - w) s'^2 - m b g sin(w)
    A = mH l^2 + m a^2 + m l^2,  B = m l b cos(s - w),  C = m b^2

Heel strike at s + w = 2 gamma: the legs change roles; the angular momenta of the whole about
the new foot and of the old stance leg about the hip are kept (Goswami, Thuilot and Espiau, INRIA
RR-2996 (1996)). On 3 degrees the gait is stable; near 4.39 degrees its period doubles.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import circle, ground, line


def _radius(_: Callable[..., Solution]) -> float:
    """Return the largest modulus of the multipliers of the gait."""
    from explorer.study.limit_cycle import limit_cycle

    return limit_cycle(compass_gait(), section="heel strike").radius


def _doubling(_: Callable[..., Solution]) -> float:
    """Return the slope at which the period of the gait doubles, in degrees."""
    from explorer.study.continuation import continuation

    gaits = continuation(
        compass_gait(), parameter="gamma", section="heel strike", over=(3, 4.6), direction="up"
    )
    return gaits.found("flip")[0].parameter


@register(
    group="walking",
    references=("goswami-1996",),
    measures={
        "compass gait: period, in s": lambda run: (
            run(t_end=15).events[-1].t - run(t_end=15).events[-2].t
        ),
        "compass gait: length of a step, in m": lambda run: (
            2 * np.sin(abs(np.subtract(*run(t_end=15).events[-1].x_plus[:2])) / 2)
        ),
        "compass gait: spectral radius": _radius,
        "compass gait: period doubling at the slope, in deg": _doubling,
    },
)
def compass_gait() -> HybridSystem:
    """Return the compass biped on a slope."""
    walker = HybridSystem(
        "compass gait",
        x="s w v_s v_w",
        units=("rad", "rad", "rad/s", "rad/s"),
        text="Gravity restores the loss of each step: a passive gait and its period doublings.",
    )
    s, w, vs, vw = walker.x
    m, mH, a, b, g, degrees, s0, vs0, vw0 = walker.params(
        m=Param(5, 1, 10, "kg", "mass of a leg"),
        mH=Param(10, 1, 20, "kg", "mass of the hip"),
        a=Param(0.5, 0.2, 1, "m", "foot to the mass of a leg"),
        b=Param(0.5, 0.2, 1, "m", "mass of a leg to the hip"),
        g=Param(9.81, 1, 20, "m/s2", "gravity"),
        gamma=Param(3, 0.5, 5.5, "deg", "slope"),
        s0=Param(-0.2186688, -0.4, 0, "rad", "stance leg at the start"),
        vs0=Param(1.0923836, 0.5, 2, "rad/s", "speed of the stance leg"),
        vw0=Param(0.3773739, -1, 2, "rad/s", "speed of the swing leg"),
    )
    length, gamma = a + b, sp.pi / 180 * degrees
    # [[A, -B], [-B, C]] (s'', w'')
    A, C = mH * length**2 + m * a**2 + m * length**2, m * b**2
    B, twist = m * length * b * sp.cos(s - w), m * length * b * sp.sin(s - w)
    Fs = twist * vw**2 + (mH * length + m * a + m * length) * g * sp.sin(s)
    Fw = -twist * vs**2 - m * b * g * sp.sin(w)
    det = A * C - B**2
    walk = walker.mode("walk", [vs, vw, (C * Fs + B * Fw) / det, (B * Fs + A * Fw) / det])
    # after the impact: (A - B) vs+ + (C - B) vw+ = whole, -B vs+ + C vw+ = leg
    cos = sp.cos(s - w)
    whole = (mH * length**2 + 2 * m * a * length) * cos * vs - m * a * b * (vs + vw)
    leg = -m * a * b * vs
    after = [w, s, (C * whole - (C - B) * leg) / det, ((A - B) * leg + B * whole) / det]
    # the swing foot is at the ground at the start of a step and when it passes the stance leg, too:
    # stiff legs scuff there, which is ignored
    walker.guard(
        walk, s + w - 2 * gamma, direction=+1, when=s - gamma, reset=after, name="heel strike"
    )
    walker.guard(walk, s - 1.3, direction=+1, terminal=True, name="falls forward")
    walker.guard(walk, s + 1.3, direction=-1, terminal=True, name="falls back")
    walker.start(x=[s0, 2 * gamma - s0, vs0, vw0], mode=walk, t_end=8, h=1e-3)
    # on a treadmill: along the slope the hip stays where it is
    height = length * sp.cos(s - gamma)
    hip = (height * sp.sin(gamma), height * sp.cos(gamma))

    def below(angle: sp.Expr, at: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        return hip[0] - at * sp.sin(angle), hip[1] - at * sp.cos(angle)

    slope = (0.8 * sp.cos(gamma), -0.8 * sp.sin(gamma))
    walker.sketch(
        ground((-slope[0], -slope[1]), slope),
        line(hip, below(s, length)),
        line(hip, below(w, length)),
        circle(*hip, 0.07),
        circle(*below(s, b), 0.04),
        circle(*below(w, b), 0.04),
    )
    walker.published = {
        "compass gait: period, in s": (0.734346, 1e-5, "recomputed; Goswami et al. 1996"),
        "compass gait: length of a step, in m": (0.535446, 1e-5, "recomputed; Goswami et al. 1996"),
        "compass gait: spectral radius": (0.57995, 1e-3, "recomputed; Goswami et al. 1996"),
        "compass gait: period doubling at the slope, in deg": (
            4.390898,
            1e-4,
            "recomputed; Goswami et al. 1996",
        ),
    }
    walker.preset(
        "doubled",
        "A step of the left leg is no longer a step of the right one.",
        gamma=4.7,
        s0=-0.217095,
        vs0=1.152472,
        vw0=0.15562,
        t_end=12,
    )
    walker.preset(
        "chaos",
        "No two steps are equal, and it does not fall.",
        gamma=5.2,
        s0=-0.20898,
        vs0=1.168293,
        vw0=0.134993,
        t_end=30,
    )
    walker.preset("too slow", "It does not get over the stance leg.", vs0=0.8, t_end=4)
    return walker
