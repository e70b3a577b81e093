"""Car whose thrust triples at v = 10 m/s: q' = v, v' = u (1 + 2 alpha), alpha = H(v - 10).

Over 200 m with |u| <= 5 and v <= 20 it takes 2 s to v = 10, 2/3 s to v = 20, and the same to brake:
40/3 s, on each grid of 5 k intervals. With 10 intervals a plan of 20 s has its switch on a boundary
of control intervals, where each sequence of active sets alone looks stationary: a kink (after
Nurkanovic and Diehl, *IEEE Control Syst. Lett.* 6 (2022) 3110).
"""

from explorer.control import OptimalControlProblem
from explorer.systems import StepSystem
from explorer.tasks import register


@register(references="nurkanovic-diehl-2022b", objective=(40 / 3, 1e-8, "closed form"))
def threshold_car(intervals: int = 10) -> OptimalControlProblem:
    """Return the least time over 200 m of a car that is stronger when it is fast.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.threshold_car())
    >>> round(plan.t_end, 6)
    13.333333
    """
    car = StepSystem("car with a threshold", x="q v", units=("m", "m/s"))
    car.inputs("u", low=-5, high=5, units="m/s2", text="acceleration below the threshold")
    alpha = car.switch("v - 10", name="fast")
    car.f = ["v", car.symbols()["u"] * (1 + 2 * alpha)]
    car.start(x=[0, 0], t_end=15)
    return OptimalControlProblem(
        car,
        t_end=(1, 50),
        intervals=intervals,
        terminal="t",
        bounds={"v": (-20, 20)},
        end={"q": 200, "v": 0},
    )
