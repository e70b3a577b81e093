"""Energy balance: the change of T + V as a sum of works, and the error of the scheme."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from explorer.results.solution import Solution
from explorer.verification.energy_balance import EnergyBalance
from explorer.verification.energy_balance import energy_balance as study
from explorer.views.drawing.compose import compose
from explorer.views.drawing.decimate import NONE, rows
from explorer.views.drawing.picture import COLOURS, GREY, TIME, Picture, Plot, curve, extent
from explorer.views.drawing.traces import Line, Trace
from explorer.views.drawing.view import view

__all__ = ["energy_balance"]

_WORKS = {  # name, colour and dash of each curve
    "external": ("external forces", COLOURS[5], "solid"),
    "damping": ("damping", COLOURS[4], "solid"),
    "contact": ("contacts", COLOURS[3], "solid"),
    "friction": ("friction", COLOURS[3], "dot"),
    "yielding": ("yielding", COLOURS[2], "dash"),
    "numerical": ("numerical: the scheme", COLOURS[1], "solid"),
}
_ROUND_OFF = 1e-12  # of the energies: what is below is shown as a flat line


@view(of="velocities", recorded="steps")
def energy_balance(solution: Solution | EnergyBalance) -> Picture:
    """Draw the energies, the works that change them, and the numerical error on its own scale.

    Parameters
    ----------
    solution : Solution, or what `explorer.study.energy_balance` made of one

    Raises
    ------
    NotApplicable
        A system x' = ..., or forces whose potential is not known.
    """
    balance = solution if isinstance(solution, EnergyBalance) else study(solution)
    points, span = rows(balance.solution), (0.0, float(balance.t[-1]))

    def drawn(values: np.ndarray, colour: str, name: str, **line: Unpack[Line]) -> Trace:
        text = f"t = %{{x:.4g}} s<br>{name} = %{{y:.5g}} J<extra></extra>"
        return curve(
            points.t,
            values,
            colour,
            name=name,
            line=line,
            showlegend=True,
            breaks=NONE if values is balance.potential else points.jumps,
            hovertemplate=text,
        )

    energies = [
        drawn(balance.kinetic, GREY, "T", width=1.2),
        drawn(balance.potential, COLOURS[2], "V", width=1.2),
        drawn(balance.energy, COLOURS[0], "T + V", width=2.2),
    ]
    parts = {**balance.works, "numerical": balance.numerical}
    works = [drawn(balance.energy - balance.energy[0], COLOURS[0], "change of T + V", width=2.2)]
    for key, values in parts.items():
        name, colour, dash = _WORKS[key]
        works.append(drawn(values, colour, name, dash=dash))
    own = drawn(balance.numerical, COLOURS[1], _WORKS["numerical"][0])
    least = _ROUND_OFF * max(np.ptp(balance.kinetic), np.abs(balance.energy).max(), 1e-300)
    seen = [trace["y"] for trace in works], [own["y"], np.array([-least, least])]
    picture = compose(
        [
            [
                Plot(energies, TIME, "energy (J)", span, extent(*(x["y"] for x in energies))),
                Plot(works, TIME, "work (J)", span, extent(*seen[0])),
                Plot(
                    [{**own, "showlegend": False}],
                    TIME,
                    "numerical (J)",
                    span,
                    extent(*seen[1]),
                    share=0.7,
                ),
            ]
        ],
        [1],
    )
    picture.layout["yaxis3"]["exponentformat"] = "power"
    return picture
