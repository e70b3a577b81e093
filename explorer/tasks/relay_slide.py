"""Along a sliding mode: x' = u - sgn x per axis, at the least integral of u^2.

From x0 > 0 the state coasts onto x = 0 for nothing and slides there. To reach -d it leaves where u
jumps below -1, so at the end of a control interval; with a time s left it moves with the constant
u = -1 - d / s, which costs (1 + d / s)^2 s = s + 2 d + d^2 / s. On N intervals of length L each
boundary is a local optimum of its own, and the best has s = j L next to d (sliding modes: Filippov
1988; in optimal control: Nurkanovic, Sperl, Albrecht and Diehl, *Numer. Math.* 156 (2024) 1115).
"""

import numpy as np

from explorer.control import OptimalControlProblem
from explorer.systems import StepSystem
from explorer.tasks import register

START, GOAL, END = (1.0, 0.6), (0.5, 0.8), 4.0


def least_effort(intervals: int) -> float:
    """Return the least cost, the sum over both axes."""
    left = END / intervals * np.arange(1, intervals)
    return sum(
        float((left + 2 * d + d**2 / left)[left <= END - x].min())
        for x, d in zip(START, GOAL, strict=True)
    )


@register(
    references=("filippov-1988", "nurkanovic-2024"),
    objective=(least_effort(8), 1e-8, "closed form"),
)
def relay_slide(intervals: int = 8) -> OptimalControlProblem:
    """Return the least effort to pass two surfaces on which the state slides.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.relay_slide())
    >>> [part.signs for part in plan.sequence]
    [(1, 1), (1, 0), (0, 0), (0, -1), (-1, -1)]
    """
    relays = StepSystem("two relays with inputs", x="x y")
    relays.inputs("u v", low=-10, high=10)
    relays.f = ["u - sign(x)", "v - sign(y)"]
    relays.start(x=START, t_end=END)
    return OptimalControlProblem(
        relays,
        intervals=intervals,
        running="u**2 + v**2",
        end={"x": -GOAL[0], "y": -GOAL[1]},
    )
