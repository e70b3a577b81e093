"""IRMA: five yeast genes that were wired together as a benchmark of network models.

With s the step function, time in minutes,

    CBF1'  = (k1 + k2 s(0.035 - ASH1)) s(SWI5 - 0.01)                    - 0.02 CBF1
    GAL4'  = 1.1e-4 + 9e-4 s(CBF1 - 0.04)                                - 0.05 GAL4
    SWI5'  = 3e-4 + k3 s(GAL4 - 0.01) (1 - (1 - u) s(GAL80 - 0.01))      - 0.04 SWI5
    GAL80' = 7.5e-4 + 0.015 s(SWI5 - 0.08)                               - 0.6 GAL80
    ASH1'  = 6e-4 + 0.018 s(SWI5 - 0.06)                                 - 0.05 ASH1

u = 1 in galactose, which keeps Gal80 from silencing SWI5, and 0 in glucose, where SWI5 and GAL80
circle about the corner of their thresholds, ever faster and without an end. The network: Cantone et
al., *Cell* 137 (2009) 172; its piecewise linear model: Batt et al., *Bioinformatics* 26 (2010)
i603; as a complementarity system with these numbers: Acary, de Jong and Brogliato, *Physica D* 269
(2014) 103.
"""

import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import StepSystem
from explorer.systems.schematic import path, tank


@register(
    group="genes",
    references=("cantone-2009", "batt-2010", "acary-2014"),
    measures={
        "IRMA: CBF1 falls through its threshold at, in min": lambda run: next(
            x.t for x in run("FESD", stages=3, h=0.5).events if "CBF1" in x.contact
        )
    },
)
def irma() -> StepSystem:
    """Return a network of five genes, switched on by galactose."""
    system = StepSystem(
        "IRMA",
        x="CBF1 GAL4 SWI5 GAL80 ASH1",
        text="One positive and two negative loops: galactose switches it on, glucose off.",
    )
    cbf1, gal4, swi5, gal80, ash1 = system.x
    u, k1, k2, k3 = system.params(
        u=Param(1, 0.1, 1, "", "galactose"),
        k1=Param(5e-4, 0, 2e-3, "1/min", "synthesis of CBF1, repressed"),
        k2=Param(0.03, 0, 0.1, "1/min", "synthesis of CBF1 besides"),
        k3=Param(0.15, 0, 0.5, "1/min", "synthesis of SWI5"),
    )
    step = sp.Heaviside
    system.f = [
        (k1 + k2 * step(0.035 - ash1)) * step(swi5 - 0.01) - 0.02 * cbf1,
        1.1e-4 + 9e-4 * step(cbf1 - 0.04) - 0.05 * gal4,
        3e-4 + k3 * step(gal4 - 0.01) * (1 - (1 - u) * step(gal80 - 0.01)) - 0.04 * swi5,
        7.5e-4 + 0.015 * step(swi5 - 0.08) - 0.6 * gal80,
        6e-4 + 0.018 * step(swi5 - 0.06) - 0.05 * ash1,
    ]
    system.start(x=[0.05, 0.011, 0.09, 0.015, 0.04], t_end=200, h=2, time_unit="min")
    on = {s.name: s.alpha for s in system.switches}
    places = {"CBF1": (0, 3.5, 0.18), "GAL4": (3.5, 3.5, 0.02), "SWI5": (3.5, 0, 3.2)}
    places |= {"GAL80": (7, 0, 0.03), "ASH1": (0, 0, 0.4)}
    system.sketch(
        *(tank(x, y, 1, 1.6, sp.Symbol(k) / most, k) for k, (x, y, most) in places.items()),
        path((0.8, 4.3), (2.8, 4.3), lit=on["CBF1 - 0.04"]),
        path((3.2, 3.3), (3.2, 2.4), lit=on["GAL4 - 0.01"]),
        path((2.8, 1.3), (0.7, 3.4), lit=on["SWI5 - 0.01"]),
        path((2.8, 0.5), (0.8, 0.5), lit=on["SWI5 - 0.06"]),
        path((4.2, 1.1), (6.2, 1.1), lit=on["SWI5 - 0.08"]),
        path((6.2, 0.5), (4.2, 0.5), lit=on["GAL80 - 0.01"], head="bar"),
        path((-0.2, 2.4), (-0.2, 3.3), lit=on["ASH1 - 0.035"], head="bar"),
    )
    system.published = {
        "IRMA: CBF1 falls through its threshold at, in min": (25.541281188, 1e-9, "50 log(5 / 3)"),
    }
    system.preset("little galactose", "Gal80 slows SWI5 down, but cannot silence it.", u=0.1)
    return system
