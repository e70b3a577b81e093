"""Chua's circuit: x' = alpha (y - x - f(x)), y' = x - y + z, z' = -beta y.

f(x) = m1 x + (m0 - m1) (|x + 1| - |x - 1|) / 2, in circuit time. With alpha = 9, beta = 100/7,
m0 = -8/7, m1 = -5/7 there is the double scroll (Matsumoto, Chua, Komuro, *IEEE Trans. Circuits
Syst.* 32 (1985) 797) about the equilibria (0, 0, 0) and +-(s, 0, -s), s = (m1 - m0) / (1 + m1) =
3/2; its largest Lyapunov exponent is 0.328.
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem


@register(references=("matsumoto-1985",))
def chua() -> StepSystem:
    """Return Chua's circuit with its piecewise linear diode."""
    system = StepSystem(
        "Chua's circuit",
        x="x y z",
        text="Two kinks in a characteristic curve are enough for chaos: the double scroll.",
    )
    x, y, z = system.x
    a, b, m0, m1, x0 = system.params(
        alpha=Param(9, 5, 12, "", "ratio of the capacitors"),
        beta=Param(100 / 7, 10, 25, "", "inductance"),
        m0=Param(-8 / 7, -1.5, -0.8, "", "slope within the corners"),
        m1=Param(-5 / 7, -0.9, -0.4, "", "slope outside"),
        x0=Param(0.1, -2, 2, "", "start"),
    )
    diode = m1 * x + (m0 - m1) * (sp.Abs(x + 1) - sp.Abs(x - 1)) / 2
    system.f = [a * (y - x - diode), x - y + z, -b * y]
    system.start(x=[x0, 0, 0], t_end=40, h=0.1)
    system.published = {
        "Chua: largest Lyapunov exponent": (0.328, 0.01, "from two runs side by side"),
    }
    system.preset("one scroll", "A smaller alpha: one side only.", alpha=8.5)
    system.preset("a point", "Smaller still: an equilibrium at 3/2.", alpha=6)
    return system
