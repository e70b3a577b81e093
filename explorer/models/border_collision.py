"""Border collision in one dimension: x_{n+1} = a x_n + mu for x_n < 0, b x_n + mu else.

Each piecewise smooth map with a corner is this one near a fixed point that meets the corner; the
fixed points are mu / (1 - a) <= 0 and mu / (1 - b) >= 0. For 0 < a < 1 and b < -1 the left one, of
mu < 0, becomes a cycle with one point on the right and m - 1 on the left,

    x = mu (1 - a^m) / ((1 - a) (1 - a^(m-1) b)) > 0,

stable while |a^(m-1) b| < 1, or chaos; along a the periods m are added one by one (Banerjee,
Karthik, Yuan and Yorke, IEEE Trans. Circuits Syst. I 47 (2000) 389, doi:10.1109/81.841921; di
Bernardo et al., *Piecewise-smooth Dynamical Systems*, 2008, chapter 3).
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import MapSystem
from explorer.systems.sketch import circle, line


@register(
    group="maps",
    references=("banerjee-2000", "di-bernardo-2008"),
    measures={
        "border collision: right point of the cycle of 2": lambda run: (
            run(preset="period 2", t_end=2000).x[-2:, 0].max()
        ),
        "border collision: right point of the cycle of 3": lambda run: (
            run(preset="period 3", t_end=2000).x[-3:, 0].max()
        ),
    },
)
def border_collision() -> MapSystem:
    """Return the normal form of a border collision in one dimension."""
    border = MapSystem(
        "border collision",
        x="x",
        text="A fixed point meets a corner, and is followed by any period, or by chaos at once.",
    )
    (x,) = border.x
    a, b, mu, x0 = border.params(
        a=Param(0.4, -0.9, 0.95, "", "slope on the left"),
        b=Param(-4, -12, 0.9, "", "slope on the right"),
        mu=Param(1, -1, 1, "", "distance of the corner"),
        x0=Param(-0.5, -2, 1, "", "start"),
    )
    border.branch("left", [a * x + mu], when=-x)
    border.branch("right", [b * x + mu])
    border.start(x=[x0], t_end=80)
    after = mu + sp.Piecewise((a * x, x < 0), (b * x, True))
    border.sketch(
        line((-4, -4), (2, 2), role="trace"),
        line((-4, mu - 4 * a), (0, mu), (1, mu + b)),
        line((x, x), (x, after), (after, after), role="trace"),
        circle(x, after, "0.1"),
    )
    border.published = {
        "border collision: right point of the cycle of 2": (
            2 / 3,
            1e-12,
            "closed form, mu (1 + a) / (1 - a b)",
        ),
        "border collision: right point of the cycle of 3": (
            0.9670811997073885,
            1e-9,
            "closed form, mu (1 + a + a^2) / (1 - a^2 b)",
        ),
    }
    border.preset("period 2", "One point on each side of the corner.", a=0.2)
    border.preset("period 3", "A flatter left side: two points on it.", a=0.45, b=-3.5)
    border.preset("chaos", "|a b| > 1 and no longer cycle: the corner begets chaos.", a=0.8, b=-2.2)
    border.preset("before", "mu < 0: the fixed point on the left is stable.", mu=-1)
    return border
