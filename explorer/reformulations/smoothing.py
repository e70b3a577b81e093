"""`smoothing`: approximates a system with step functions by a smooth one.

alpha = (1 + tanh(c / width)) / 2 in place of the set-valued step of c: a layer of the thickness
`width` stands for each surface, a fast motion in it for the slide. The error is of the first order
in the width, the stiffness of the order of its inverse.
"""

from __future__ import annotations

import sympy as sp

from explorer.arguments import a, checked
from explorer.errors import BadModel
from explorer.parameters import Param, number
from explorer.systems import HybridSystem, StepSystem

__all__ = ["smoothing"]


@checked
def smoothing(system: StepSystem, width: float = 0.01) -> HybridSystem:
    """Return the smooth system, of one mode and without guards; approximate, so only by name.

    Parameters
    ----------
    system : StepSystem or FilippovSystem
    width : float
        Thickness of the layer in the unit of the switching functions; a parameter of the result.

    Raises
    ------
    BadModel
        The system has a state or a parameter called width.
    BadValue
        A width that is not positive.
    """
    a(
        system,
        StepSystem,
        "a system with step functions",
        "smoothing(explorer.models.sliding_mode())",
    )
    thick = number(width, "width", positive=True)
    if "width" in system.symbols():
        raise BadModel(f"'{system.name}' has a width already: rename that one to smooth it.")
    layer = sp.Symbol("width")
    steps = {s.alpha: (1 + sp.tanh(s.c / layer)) / 2 for s in system.switches}
    return HybridSystem(
        f"{system.name}, smoothed",
        system.coordinates,
        units=system.units,
        params={**system.parameters, "width": Param(thick, thick / 10, thick * 10, "", "layer")},
        modes={"smooth": [f.subs(steps) for f in system.f]},
        start={"x": list(system.start_x), "t_end": system.t_end, "h": system.h},
    )
