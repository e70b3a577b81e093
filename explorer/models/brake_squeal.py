"""Brake squeal: a pad on two inclined springs is pressed on a belt, with constant friction.

x along the belt, y away from it; the contact pushes with N = N0 - k3 y, and not at all where that
would be negative. With K_xx = sum k_i cos^2 a_i, K_xy = sum k_i sin a_i cos a_i, K_yy likewise,

    m x'' + d x' + K_xx x + K_xy y = mu N sgn(v0 - x')
    m y'' + d y' + K_xy x + K_yy y = N - N0

While it slides, friction couples y into x, but not x into y. The stiffness K_xy + mu k3 of the one
and K_xy of the other differ; where their product is negative enough, two modes of different
frequency become one that grows. With D = (K_xx - K_yy - k3) / 2, A = (K_xx + K_yy + k3) / 2 that is

    mu > (K_xy^2 + D^2 + d^2 A / m) / (k3 |K_xy|),     K_xy < 0

With the numbers here D = 0, and mu > 3/4 without damping: no friction that falls with speed is
needed. The growth ends where the pad sticks to the belt or lifts off (Hoffmann, Fischer, Allgaier
and Gaul, *Mech. Res. Commun.* 29 (2002) 197).
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FilippovSystem
from explorer.systems.sketch import belt, circle, line, spring


def flutter(d: float) -> float:
    """Return the friction at which the steady slide loses its stability, along its branch."""
    from explorer.study.continuation import continuation

    slides = continuation(
        brake_squeal(), parameter="mu", over=(0.3, 1.0), guess=[0.3, 0, 0.1, 0], mu=0.5, d=d
    )
    return slides.found("Hopf")[0].parameter


@register(
    group="friction",
    references=("hoffmann-2002",),
    measures={
        "brake squeal: critical friction, d = 0.1": lambda _: flutter(0.1),
        "brake squeal: critical friction, d to 0": lambda _: (4 * flutter(0.1) - flutter(0.2)) / 3,
    },
)
def brake_squeal() -> FilippovSystem:
    """Return a pad on a belt whose two modes meet and squeal."""
    system = FilippovSystem(
        "brake squeal",
        x="x v_x y v_y",
        units=("m", "m/s", "m", "m/s"),
        text="Constant friction makes two modes one that grows, until the pad sticks or lifts off.",
    )
    x, v_x, y, v_y = system.x
    m, k1, k2, k3, a1, a2, d, N0, mu, v0, x0 = system.params(
        m=Param(1, 0.2, 5, "kg", "mass of the pad"),
        k1=Param(2.488033871712585, 0.2, 5, "N/m", "spring that leads back"),
        k2=Param(0.178632794954082, 0, 2, "N/m", "spring that leads ahead"),
        k3=Param(4 / 3, 0.2, 4, "N/m", "stiffness of the contact"),
        a1=Param(2.617993877991494, 1.6, 3.1, "rad", "direction of the first spring"),
        a2=Param(0.5235987755982988, 0.1, 1.5, "rad", "direction of the second one"),
        d=Param(0.1, 0, 0.5, "N s/m", "damping"),
        N0=Param(1, 0.1, 3, "N", "press"),
        mu=Param(0.9, 0, 1.2, "", "friction"),
        v0=Param(0.1, 0.05, 2, "m/s", "speed of the belt"),
        x0=Param(0.1, -1, 1, "m", "start, off the steady slide of mu = 0"),
    )
    springs = ((k1, a1), (k2, a2))
    K_xx = sum(k * sp.cos(a) ** 2 for k, a in springs)
    K_xy = sum(k * sp.cos(a) * sp.sin(a) for k, a in springs)
    K_yy = sum(k * sp.sin(a) ** 2 for k, a in springs)
    N = N0 - k3 * y

    def rates(pull: sp.Expr, lift: sp.Expr) -> list[sp.Expr]:
        """Return x' under a friction force and a force of the contact beside N0."""
        along = (pull - d * v_x - K_xx * x - K_xy * y) / m
        away = (lift - d * v_y - K_xy * x - K_yy * y) / m
        return [v_x, along, v_y, away]

    system.subsystem(
        {
            "slower": rates(mu * N, -k3 * y),
            "faster": rates(-mu * N, -k3 * y),
            "off": rates(sp.Integer(0), -N0),
        },
        c={"slip": v_x - v0, "press": N},
        S=[[-1, 1], [1, 1], [0, -1]],
    )
    system.start(x=[x0, 0, 0, 0], t_end=80, h=0.05)
    b, up, far = 0.35, 0.7, 3.2
    corners = [(x + side * 1.4 * b, y + up + 2 * b) for side in (-1, 1)]
    ends = [(far * sp.cos(a), up + b + far * sp.sin(a)) for _, a in springs]
    stretched = [sp.cos(a) * x + sp.sin(a) * y for _, a in springs]  # against it
    system.sketch(
        *belt(-2.2, 2.2, 0.16),
        *(
            spring(corner, end, force=-k * u)
            for corner, (k, _), end, u in zip(corners, springs, ends, stretched, strict=True)
        ),
        *(circle(*end, 0.08, role="fixed") for end in ends),
        spring((x, sp.Max(0, y)), (x, y + up), force=-sp.Max(0, N)),
        line(
            *(
                (x + i * b * 1.4, y + up + b + j * b)
                for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))
            ),
            closed=True,
        ),
    )
    system.published = {
        "brake squeal: critical friction, d = 0.1": (
            0.765,
            1e-6,
            "closed form, (K_xy^2 + d^2 A / m) / (k3 |K_xy|)",
        ),
        "brake squeal: critical friction, d to 0": (0.75, 1e-6, "closed form, |K_xy| / k3"),
    }
    system.preset("quiet", "mu < 0.765: two frequencies, and both die out.", mu=0.6)
    system.preset("no damping", "Just above 3/4 it grows slowly.", d=0, mu=0.8, t_end=200)
    system.preset("slow belt", "It sticks and slips, and stays on the belt.", v0=0.05)
    system.preset("fast belt", "It never sticks: it lifts off and comes down.", v0=2)
    system.preset("other way", "The belt of a pad turned round: no squeal.", k1=0.1786, k2=2.488)
    return system
