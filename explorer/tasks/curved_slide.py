"""Through two curved surfaces: x_i' = v_i - sgn c_i(x), v' = u, at the least int u^2 + v^2.

c1 = x1 + 0.15 x2^2 and c2 = x2 + 0.05 x1^3 (Nurkanovic, Sperl, Albrecht and Diehl, *Numer. Math.*
156 (2024) 1115, section 6). The best plan reaches both surfaces, slides on their intersection, and
leaves one after the other.
"""

import math

from explorer.control import OptimalControlProblem
from explorer.systems import StepSystem
from explorer.tasks import register


@register(references="nurkanovic-2024", defect=5e-6)
def curved_slide(intervals: int = 6) -> OptimalControlProblem:
    """Return the least effort to a point behind two surfaces that hold the state.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.curved_slide())
    >>> [part.signs for part in plan.sequence]
    [(1, 1), (1, 0), (0, 0), (0, -1), (-1, -1)]
    """
    system = StepSystem("two curved surfaces", x="x1 x2 v1 v2")
    system.inputs("u1 u2", low=-10, high=10)
    first = system.switch("x1 + 0.15*x2**2", name="c1")
    second = system.switch("x2 + 0.05*x1**3", name="c2")
    _, _, v1, v2 = system.x
    system.f = [v1 + 1 - 2 * first, v2 + 1 - 2 * second, "u1", "u2"]
    system.start(x=["2*pi/3", "pi/3", 0, 0], t_end=4)
    return OptimalControlProblem(
        system,
        intervals=intervals,
        running="u1**2 + u2**2 + v1**2 + v2**2",
        end={"x1": -math.pi / 6, "x2": -math.pi / 4},
    )
