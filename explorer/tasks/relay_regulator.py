"""Time-optimal regulator: a relay brings an oscillator with friction to rest.

x'' + x + mu sgn(x') ∋ u with |u| <= 1 (Bushaw 1958; Pontryagin et al. 1962; friction moves the
centres). While x' < 0, u = -1 turns the state about c1 = mu - 1 and u = 1 about c2 = mu + 1, with
angular frequency 1. From rest at x0 it turns about c1 up to x1, and about c2 to the origin::

    x1 = (x0^2 - 2 c1 x0) / 4,    T = acos((x1 - c1) / (x0 - c1)) + pi - acos((x1 - c2) / c2)
"""

import math

from explorer.control import OptimalControlProblem
from explorer.systems import StepSystem
from explorer.systems.sketch import ground, line, spring
from explorer.tasks import register

MU, X0 = 0.2, 1.5


def times(mu: float = MU, x0: float = X0) -> tuple[float, float]:
    """Return when the relay switches and when the state rests, in s; x0 (x0 - 2 c1) <= 8 c2."""
    c1, c2 = mu - 1, mu + 1
    x1 = (x0**2 - 2 * c1 * x0) / 4
    switch = math.acos((x1 - c1) / (x0 - c1))
    return switch, switch + math.pi - math.acos((x1 - c2) / c2)


@register(
    references=("pontryagin-1962", "bushaw-1958"),
    objective=(times()[1], 1e-7, "closed form"),
)
def relay_regulator(intervals: int = 6) -> OptimalControlProblem:
    """Return the least time to stop an oscillator with friction by a relay.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.relay_regulator())
    >>> abs(plan.t_end - ex.tasks.relay_regulator.objective.value) < 1e-6
    True
    """
    oscillator = StepSystem("oscillator with friction and a relay", x="x v", units=("m", "m/s"))
    x, _ = oscillator.x
    oscillator.inputs("u", low=-1, high=1, units="m/s2", text="relay, over mass")
    oscillator.f = ["v", f"u - x - {MU}*sign(v)"]
    oscillator.start(x=[X0, 0], t_end=6)
    oscillator.sketch(
        ground((-2, 0), (2, 0)),
        ground((-2, 0.4), (-2, 0)),
        spring((-2, 0.1), (x - 0.2, 0.1)),
        line((x - 0.2, 0), (x + 0.2, 0), (x + 0.2, 0.25), (x - 0.2, 0.25), closed=True),
    )
    return OptimalControlProblem(
        oscillator,
        t_end=(0.1, 20),
        intervals=intervals,
        terminal="t",
        end={"x": 0, "v": 0},
        grid="free",
        stages=4,
    )
