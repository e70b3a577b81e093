"""Period elongation and numerical damping over the step, as schemes are usually compared.

(Bathe and Wilson, Earthquake Eng. Struct. Dyn. 1 (1973) 283; Hughes, *The Finite Element Method*,
9.1.) Thin dotted lines are the leading terms for small steps.
"""

from __future__ import annotations

import numpy as np

from explorer.errors import BadValue
from explorer.parameters import number
from explorer.study.stability import Stability, checked
from explorer.study.stability import stability as study
from explorer.views.drawing.compose import compose
from explorer.views.drawing.picture import COLOURS, GREY, OFF, Picture, Plot, curve, extent
from explorer.views.drawing.view import view

__all__ = ["period_elongation"]

_POINTS = 160
_DASHES = ("solid", "dash", "dashdot", "dot")  # a second sign beside the colour
_MOST = (-30.0, 60.0)  # percent of it that are shown


@view
def period_elongation(
    *schemes: object, xi: float = 0.0, to: float = 2.0, leading: bool = True
) -> Picture:
    """Draw the period error and the numerical damping ratio of several schemes, in percent.

    Parameters
    ----------
    *schemes : Newmark, GeneralizedAlpha, their names, or what `study.stability` returns
    xi : float
        Physical damping ratio, of the schemes that come without a study.
    to : float
        Largest step omega h in rad; 2 pi / (omega h) steps make a period.
    leading : bool
        Whether the leading terms for small steps are drawn too.

    Raises
    ------
    ExplorerError
        There is nothing to draw, a scheme is not of the family, or a number is inadmissible.
    """
    to = number(to, "to, the largest step omega h,", "rad", positive=True)
    if not schemes:
        raise BadValue("views.period_elongation needs schemes, such as 'average acceleration'.")
    steps = np.linspace(to / _POINTS, to, _POINTS)
    studies = [
        study(one.scheme, one.xi, steps)
        if isinstance(one, Stability)
        else study(*checked(one, xi), steps)
        for one in schemes
    ]
    plots = []
    for quantity, title, least in (
        ("period_error", "period elongation ΔT / T (%)", (-2.0, 2.0)),
        ("damping", "numerical damping ratio (%)", (0.0, 2.0)),
    ):
        traces, seen, first = [], [np.array(least)], quantity == "period_error"
        for i, one in enumerate(studies):
            colour = COLOURS[i % len(COLOURS)]
            dash = _DASHES[i // len(COLOURS) % len(_DASHES)]
            y = 100 * getattr(one, quantity)
            y[steps > one.limit] = np.nan  # it grows there
            seen.append(np.clip(y, *_MOST))
            text = f"ωh = %{{x:.4g}} rad: %{{y:.4g}} %<extra>{one.name}</extra>"
            traces.append(
                curve(
                    steps.astype(np.float32),
                    y.astype(np.float32),
                    colour,
                    name=one.name,
                    line={"dash": dash},
                    showlegend=first,
                    hovertemplate=text,
                )
            )
            if leading and one.xi < 1:
                term = one.leading()[0 if quantity == "damping" else 1]
                small = 100 * term(steps)
                traces.append(
                    curve(
                        steps.astype(np.float32),
                        small.astype(np.float32),
                        colour,
                        name=f"{one.name}, small steps",
                        line={"dash": "dot", "width": 1},
                        hoverinfo="skip",
                    )
                )
        if leading:
            traces.append(
                curve(
                    *OFF,
                    GREY,
                    name="small steps: leading terms",
                    showlegend=first,
                    line={"dash": "dot", "width": 1},
                )
            )
        plots.append([Plot(traces, "step ωh (rad)", title, (0.0, to), extent(*seen), time=False)])
    return compose(plots, [1, 1])
