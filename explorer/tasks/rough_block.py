"""Block on a rough floor in the least time: x'' + c sgn(x') ∋ u, |u| <= U, U > c.

From the speed v0 away from the goal it is pushed back, turns at |v0| / (U + c), is pushed on up to
the peak speed and braked, all with |u| = U (Pontryagin et al. 1962: bang-bang; friction adds its c
to each acceleration). With d the way from where it turns::

    peak^2 = 2 d / (1 / (U - c) + 1 / (U + c)),    T = turn + peak / (U - c) + peak / (U + c)
"""

import math

from explorer.control import OptimalControlProblem
from explorer.systems import StepSystem
from explorer.systems.sketch import ground, line
from explorer.tasks import register

C, U, V0, D = 0.5, 1.0, -1.0, 1.0


def switches(
    c: float = C, u: float = U, v0: float = V0, d: float = D
) -> tuple[float, float, float]:
    """Return when it turns, when it brakes, and when it rests, in s, for v0 <= 0."""
    turn = -v0 / (u + c)
    way = d + v0**2 / (2 * (u + c))
    peak = math.sqrt(2 * way / (1 / (u - c) + 1 / (u + c)))
    brake = turn + peak / (u - c)
    return turn, brake, brake + peak / (u + c)


@register(
    references=("pontryagin-1962", "filippov-1988"),
    objective=(switches()[2], 1e-8, "closed form"),
)
def rough_block(intervals: int = 4) -> OptimalControlProblem:
    """Return the least time of a double integrator with friction: it turns, speeds up, brakes.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.rough_block())
    >>> plan.switches.round(6)
    array([0.666667])
    """
    block = StepSystem("block on a rough floor", x="x v", units=("m", "m/s"))
    x, _ = block.x
    block.inputs("u", low=-U, high=U, units="m/s2", text="push over mass")
    block.f = ["v", f"u - {C}*sign(v)"]
    block.start(x=[0, V0], t_end=5)
    block.sketch(
        ground((-1, 0), (2, 0)),
        line((x - 0.1, 0), (x + 0.1, 0), (x + 0.1, 0.15), (x - 0.1, 0.15), closed=True),
    )
    return OptimalControlProblem(
        block,
        t_end=(0.1, 20),
        intervals=intervals,
        terminal="t",
        end={"x": D, "v": 0},
        grid="free",
    )
