"""Car with a turbo charger in the least time: q' = v, v' = u, and v' = 3 u with the turbo.

The turbo comes in at v = 15 m/s and goes out at v = 10 m/s (Nurkanovic and Diehl, *IEEE Control
Syst. Lett.* 6 (2022) 3182). Over 200 m with |u| <= 5 and v <= 25 the car pushes 3 s, and 2/3 s with
the turbo, cruises, brakes with the turbo for 1 s and without it for 2 s: T = 12 + 2/15 s.
"""

from explorer.control import OptimalControlProblem
from explorer.systems import HybridSystem
from explorer.tasks import register


def least_time(
    d: float = 200, u: float = 5, v1: float = 10, v2: float = 15, top: float = 25
) -> float:
    """Return the least time over `d` m, in s, where the top speed is reached."""
    up = v2 / u, (top - v2) / (3 * u)
    down = (top - v1) / (3 * u), v1 / u
    way = v2**2 / (2 * u) + (top**2 - v2**2) / (6 * u)
    way += (top**2 - v1**2) / (6 * u) + v1**2 / (2 * u)
    return sum(up) + sum(down) + (d - way) / top


@register(
    references="nurkanovic-diehl-2022",
    objective=(least_time(), 1e-8, "closed form"),
)
def turbo_car(intervals: int = 6) -> OptimalControlProblem:
    """Return the least time over 200 m of a car whose turbo remembers.

    Examples
    --------
    >>> import explorer as ex
    >>> plan = ex.optimize(ex.tasks.turbo_car())
    >>> [part.name for part in plan.sequence]
    ['plain', 'turbo', 'plain']
    """
    car = HybridSystem("turbo car", x="q v", units=("m", "m/s"))
    car.inputs("u", low=-5, high=5, units="m/s2", text="acceleration without turbo")
    car.mode("plain", ["v", "u"])
    car.mode("turbo", ["v", "3*u"])
    car.guard("plain", "v - 15", direction=1, to="turbo", name="turbo in")
    car.guard("turbo", "v - 10", direction=-1, to="plain", name="turbo out")
    car.start(x=[0, 0], mode="plain", t_end=15)
    return OptimalControlProblem(
        car,
        t_end=(1, 60),
        intervals=intervals,
        terminal="t",
        bounds={"v": (-25, 25)},
        end={"q": 200, "v": 0},
        grid="free",
    )
