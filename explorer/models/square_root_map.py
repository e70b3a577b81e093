"""The square-root map of a grazing impact: x_{n+1} = lam x_n + mu for x_n < 0, mu - sqrt(x_n) else.

Near a grazing orbit an impact oscillator returns by this map (Nordmark, J. Sound Vib. 145 (1991)
279, doi:10.1016/0022-460X(91)90592-8); x > 0 means an impact. For mu < 0 the fixed point
mu / (1 - lam) has none. What is born at mu = 0 is told by lam (Chin, Ott, Nusse and Grebogi, Phys.
Rev. E 50 (1994) 4427, doi:10.1103/PhysRevE.50.4427; di Bernardo, Budd, Champneys and Kowalczyk,
*Piecewise-smooth Dynamical Systems*, 2008, chapter 4): chaos at once for 2/3 < lam < 1; for
1/4 < lam < 2/3 windows of periods that fall by one, with chaos between them; for lam < 1/4 these
periods alone, one taking over from the next.

An orbit of period m with one impact has s = sqrt(x) at it, s^2 + lam^(m-1) s = mu (1 - lam^m) /
(1 - lam); its multiplier is -lam^(m-1) / (2 s).
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MapSystem
from explorer.systems.sketch import circle, line


@register(
    group="maps",
    references=("chin-1994", "nordmark-1991", "di-bernardo-2008"),
    measures={
        "square-root map: impact of the cycle, lam = 0.15, mu = 0.02": lambda run: (
            run(preset="periods alone", t_end=2000).x[-2:, 0].max()
        ),
    },
)
def square_root_map() -> MapSystem:
    """Return the map of a grazing impact."""
    grazing = MapSystem(
        "square-root map",
        x="x",
        text="The slope is infinite where an impact begins: one parameter opens all its periods.",
    )
    (x,) = grazing.x
    lam, mu, x0 = grazing.params(
        lam=Param(0.8, 0.05, 0.95, "", "contraction without an impact"),
        mu=Param(0.05, -0.1, 0.2, "", "distance from grazing"),
        x0=Param(-0.1, -0.5, 0.2, "", "start"),
    )
    grazing.branch("no impact", [lam * x + mu], when=-x)
    grazing.branch("impact", [mu - sp.sqrt(x)])
    grazing.start(x=[x0], t_end=80)
    half = sp.Rational(1, 2)
    after = sp.Piecewise((lam * x + mu, x < 0), (mu - sp.sqrt(sp.Max(x, 0)), True))
    roots = [sp.Rational(k, 20) ** 2 for k in range(1, 11)]
    grazing.sketch(
        line((-half, -half), (half / 2, half / 2), role="trace"),
        line((-half, mu - lam / 2), (0, mu), *((r, mu - sp.sqrt(r)) for r in roots)),
        line((x, x), (x, after), (after, after), role="trace"),
        circle(x, after, "0.012"),
    )
    grazing.published = {
        "square-root map: impact of the cycle, lam = 0.15, mu = 0.02": (
            0.008871613526467053,
            1e-12,
            "closed form, s^2 + lam s = mu (1 + lam), x = s^2",
        ),
    }
    grazing.preset("chaos at once", "2/3 < lam: chaos for any mu > 0.", lam=0.8, mu=0.02)
    grazing.preset("windows", "1/4 < lam < 2/3: periods, with chaos between.", lam=0.5, mu=0.02)
    grazing.preset(
        "periods alone", "lam < 1/4: one period takes over from the next.", lam=0.15, mu=0.02
    )
    grazing.preset("no impact", "mu < 0: the fixed point is left of the kink.", mu=-0.05)
    return grazing
