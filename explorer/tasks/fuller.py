"""Fuller's problem: x1' = x2, x2' = u, |u| <= 1, at the least integral of x1^2.

The best control switches infinitely often before the origin, at x1 = -xi |x2| x2 with
xi = sqrt((sqrt(33) - 1) / 24); each interval is shorter by lam = sqrt((1/2 - xi) / (1/2 + xi)).
From x1 = 1 at rest the first switch is at t1 = 1 / sqrt(1/2 + xi). The cost from a switching point
falls by lam^5 from one to the next (Fuller, J. Electronics Control 15 (1963) 63; Zelikin and
Borisov, *Theory of Chattering Control*, 1994), so the arcs that a grid lacks hardly cost anything.
"""

import math

from explorer.control import OptimalControlProblem
from explorer.systems import StepSystem
from explorer.systems.sketch import ground, line
from explorer.tasks import register

XI = math.sqrt((math.sqrt(33) - 1) / 24)
LAM = math.sqrt((0.5 - XI) / (0.5 + XI))
FIRST = 1 / math.sqrt(0.5 + XI)  # of the switches, in s


def _arc(x: float, v: float, u: float, t: float) -> float:
    """Return the integral of (x + v t + u t^2 / 2)^2 over an arc."""
    return x**2 * t + x * v * t**2 + (v**2 + x * u) * t**3 / 3 + v * u * t**4 / 4 + u**2 * t**5 / 20


def least_cost() -> float:
    """Return the least integral of x1^2, from (1, 0)."""
    behind = _arc(1 - FIRST**2 / 2, -FIRST, 1, FIRST * (1 + LAM))
    return _arc(1, 0, -1, FIRST) + behind / (1 - LAM**5)


@register(
    references=("fuller-1963", "zelikin-borisov-1994"),
    objective=(least_cost(), 1e-8, "closed form, a geometric sum over the arcs"),
)
def fuller(intervals: int = 16) -> OptimalControlProblem:
    """Return the least squared error of a cart whose best control chatters.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.fuller())
    >>> float(min(abs(plan.t - 1.028894))) < 1e-6
    True
    """
    cart = StepSystem("cart", x="x1 x2", units=("m", "m/s"))
    x, _ = cart.x
    cart.inputs("u", low=-1, high=1, units="m/s2", text="push over mass")
    cart.f = ["x2", "u"]
    cart.start(x=[1, 0], t_end=4)
    cart.sketch(
        ground((-1.5, 0), (1.5, 0)),
        line((x - 0.2, 0), (x + 0.2, 0), (x + 0.2, 0.2), (x - 0.2, 0.2), closed=True),
    )
    return OptimalControlProblem(
        cart, intervals=intervals, running="x1**2", grid="free", elements=1, stages=3
    )
