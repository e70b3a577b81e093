"""Fuller's problem: x1' = x2, x2' = u, |u| <= 1, at the least integral of x1^2.

The optimal feedback is u = -sgn(x1 + xi |x2| x2), xi = sqrt((sqrt(33) - 1) / 24) = 0.444624: it
switches infinitely often before it reaches the origin. Each interval is shorter than the last by
the factor lam = sqrt((1/2 - xi) / (1/2 + xi)) = 1 / 4.130160; from x1 = a at rest they end at
2 sqrt(a / (xi + 1/2)) / (1 - lam) (Fuller, J. Electronics Control 15 (1963) 63; Zelikin and
Borisov, *Theory of Chattering Control*, 1994).
"""

import itertools
from collections.abc import Callable

import numpy as np
import scipy
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import HybridSystem
from explorer.systems.sketch import ground, line

XI = 0.44462356018593735


def scales(rho: dict[str, float]) -> tuple[float, float]:
    """Return the time of the first switch in s, and the factor of the intervals after it."""
    xi = rho["xi"]
    return float(np.sqrt(rho["a"] / (0.5 + xi))), float(np.sqrt((0.5 - xi) / (0.5 + xi)))


def zeno_time(rho: dict[str, float]) -> float:
    """Return the time at which the origin is reached, in s (infinite for xi = 0)."""
    first, lam = scales(rho)
    return 2 * first / (1 - lam) if lam < 1 else np.inf


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return x1 and x2, (n_t, 2), from rest at a > 0; NaN unless 0 <= xi < 1/2."""
    t = np.asarray(t, float)
    if not 0 <= rho["xi"] < 0.5 or rho["a"] <= 0:
        return {"x": np.full((len(t), 2), np.nan)}
    first, lam = scales(rho)
    # switch i is at x2 = -first (-lam)^i, and the time since the first one is a geometric sum
    since = np.maximum(t - first, 0.0) / (first * (1 + lam))
    if lam == 1:
        i = np.floor(since)
        passed = i
    else:
        left = np.maximum(1 - since * (1 - lam), 1e-300)
        i = np.floor(np.log(left) / np.log(lam) + 1e-12)
        passed = (1 - lam**i) / (1 - lam)
    s = first * (1 + lam) * (since - passed)
    u = np.where(i % 2 == 0, 1.0, -1.0)
    v = -u * first * lam**i
    x = -rho["xi"] * np.abs(v) * v
    early, moves = t < first, t < zeno_time(rho)
    x1 = np.select([early, moves], [rho["a"] - t**2 / 2, x + v * s + u * s**2 / 2], 0.0)
    x2 = np.select([early, moves], [-t, v + u * s], 0.0)
    return {"x": np.stack([x1, x2], axis=1)}


def _cost(done: Solution) -> float:
    """Return the integral of x1^2: between switches x1 is a parabola."""
    starts = [(0.0, done.x[0], -1.0)]
    starts += [(e.t, e.x_plus, {"u = +1": 1.0, "u = -1": -1.0}.get(e.to, 0.0)) for e in done.events]
    total = 0.0
    for (t, (x1, x2), u), (end, _, _) in itertools.pairwise(starts):
        square = np.polynomial.Polynomial([x1, x2, u / 2]) ** 2
        total += square.integ()(end - t)
    return float(total)


def _best(run: Callable[..., Solution]) -> float:
    """Return the switching curve of the least cost, in s2/m."""
    found = scipy.optimize.minimize_scalar(
        lambda xi: _cost(run("EventDriven", xi=float(xi), t_end=8)),
        bounds=(0.40, 0.48),
        method="bounded",
        options={"xatol": 1e-8},
    )
    return float(found.x)


@register(
    group="switches",
    references=("fuller-1963", "zelikin-borisov-1994"),
    measures={
        "Fuller: factor of the intervals": lambda run: float(
            np.divide(*np.diff([x.t for x in run().events[3:6]]))
        ),
        "Fuller: optimal xi": _best,
    },
)
def fuller() -> HybridSystem:
    """Return a cart brought to rest by Fuller's feedback."""
    cart = HybridSystem(
        "Fuller's problem",
        x="x1 x2",
        units=("m", "m/s"),
        text="The best control switches infinitely often in a finite time.",
    )
    x1, x2 = cart.x
    xi, a = cart.params(
        xi=Param(XI, 0, 0.49, "s2/m", "switching curve"),
        a=Param(1, 0.1, 2, "m", "start"),
    )
    side = x1 + xi * sp.Abs(x2) * x2
    push = cart.mode("u = +1", [x2, 1])
    brake = cart.mode("u = -1", [x2, -1])
    rest = cart.mode("rest", [0, 0])
    cart.guard(push, side, direction=+1, to=brake, zeno=rest, name="switch to -1")
    cart.guard(brake, side, direction=-1, to=push, zeno=rest, name="switch to +1")
    cart.start(x=[a, 0], mode=brake, t_end=3.5, h=1e-3)
    b = sp.Rational(1, 10)
    cart.sketch(
        ground((-2.2, -b), (2.2, -b)),
        line((0, -b), (0, 4 * b)),
        line((x1 - 2 * b, -b), (x1 + 2 * b, -b), (x1 + 2 * b, b), (x1 - 2 * b, b), closed=True),
    )
    cart.exact = exact
    cart.published = {
        "Fuller: factor of the intervals": (4.130160, 1e-5, "Fuller 1963"),
        "Fuller: optimal xi": (0.444624, 1e-5, "Fuller 1963, sqrt((sqrt(33) - 1) / 24)"),
    }
    cart.preset("near time-optimal", "xi near 1/2: one long arc, then hardly anything.", xi=0.49)
    cart.preset("slow spiral", "A small xi: the intervals shrink slowly.", xi=0.1, t_end=20)
    cart.preset("no damping", "xi = 0, the sign of x1 alone: it swings for ever.", xi=0, t_end=20)
    return cart
