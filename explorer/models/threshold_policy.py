"""Threshold policy: a fishery that may catch predators only while there are more than Y of them.

    x' = r x (1 - x / K) - a x y,   y' = b x y - m y - E y [y > Y]

A Filippov system: where the catch alone lets y fall through Y and without it y would rise, both
populations slide along y = Y to the pseudo-equilibrium x* = K (1 - a Y / r), while
m / b < x* < (m + E) / b. As Y falls to r / a (1 - (m + E) / (b K)) it meets the equilibrium of the
fished populations, a boundary equilibrium bifurcation (Meza, Bhaya, Kaszkurewicz and Costa, *Theor.
Popul. Biol.* 67 (2005) 273, doi:10.1016/j.tpb.2005.01.005; di Bernardo et al., *Piecewise-smooth
Dynamical Systems*, 2008, ch. 5).
"""

from collections.abc import Callable

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FilippovSystem
from explorer.systems.schematic import lamp, name, path, tank
from explorer.systems.sketch import line


def _boundary(_: Callable[..., Solution]) -> float:
    """Return the threshold at which the pseudo-equilibrium ends, in thousands."""
    from explorer.study.continuation import continuation

    rests = continuation(
        threshold_policy(), parameter="Y", over=(0.3, 0.75), guess=[0.4, 0.6], Y=0.6
    )
    return min(point.parameter for point in rests.found("boundary"))


@register(
    group="switches",
    references=("meza-2005", "di-bernardo-2008"),
    measures={
        "threshold policy: prey at the pseudo-equilibrium, in thousands": lambda run: run(
            "EventDriven", t_end=150
        ).x[-1, 0],
        "threshold policy: threshold of the boundary equilibrium, in thousands": _boundary,
    },
)
def threshold_policy() -> FilippovSystem:
    """Return two populations, of which one is caught above a threshold."""
    system = FilippovSystem(
        "threshold policy",
        x="x y",
        units="1000",
        text="Catch only above a threshold: the populations come to rest on the threshold itself.",
    )
    x, y = system.x
    r, K, a, b, m, E, Y = system.params(
        r=Param(1, 0.2, 2, "1/yr", "growth of the prey"),
        K=Param(1, 0.5, 2, "1000", "most prey that the lake feeds"),
        a=Param(1, 0.2, 3, "1/yr/1000", "how much a predator eats"),
        b=Param(2, 0.5, 4, "1/yr/1000", "what becomes of it"),
        m=Param(0.4, 0.1, 1, "1/yr", "deaths of predators"),
        E=Param(0.6, 0, 2, "1/yr", "catch"),
        Y=Param(0.6, 0.2, 0.9, "1000", "threshold"),
    )
    grow, eat = r * x * (1 - x / K) - a * x * y, b * x * y - m * y
    system.subsystem({"caught": [grow, eat - E * y], "spared": [grow, eat]}, c={"threshold": y - Y})
    system.start(x=[0.8, 0.3], t_end=40, h=0.05, time_unit="yr")
    system.sketch(
        tank(0, 0, 1.6, 3, x, ""),
        name(0, -0.5, "prey"),
        tank(4, 0, 1.6, 3, y, ""),
        name(4, -0.5, "predators"),
        path((1, 0.9), (3, 0.9), lit=a * x * y),
        line((3.05, 3 * Y), (4.95, 3 * Y), role="trace"),
        name(6.2, 3 * 0.6, "threshold Y"),
        lamp(4, 3.9, 1.4, 0.7, "theta_caught", "catch"),
    )
    system.published = {
        "threshold policy: prey at the pseudo-equilibrium, in thousands": (
            0.4,
            1e-6,
            "closed form, K (1 - a Y / r)",
        ),
        "threshold policy: threshold of the boundary equilibrium, in thousands": (
            0.5,
            1e-6,
            "closed form, r / a (1 - (m + E) / (b K))",
        ),
    }
    system.preset(
        "low threshold", "Y < 0.5: both rest above the threshold, caught for ever.", Y=0.4
    )
    system.preset("no catch", "Predator and prey alone.", E=0)
    system.preset("no rest", "Y > 0.8: the catch never begins in the end.", Y=0.85)
    return system
