"""A compiled system and a method, as the kernels of `FESD` take them."""

from __future__ import annotations

import numpy as np

from explorer.compiled import Switched
from explorer.compiled.held import breaks_of
from explorer.kernels.fesd.collocation import Collocation
from explorer.kernels.fesd.structures import SUBSYSTEM, Native, Problem, Tableau
from explorer.types import Reals

__all__ = ["problem", "tableau"]


def problem(compiled: Switched, rho: Reals, *, tangents: bool = False) -> Problem:
    """Return the system at parameters `rho`; with `tangents` derivatives by these too."""
    first = compiled.at_start
    flow, switching = first.tangents if tangents else (first.flow, first.switching)
    bundles = [flow, switching, *([first.cost] if tangents and first.cost else [])]
    native = [Native(b.address, b.data) for b in bundles]
    subsystems, cells = compiled.layout
    return Problem(
        native[0],
        native[1],
        native[2] if len(native) > 2 else Native(0, 0),
        compiled.n_x,
        compiled.n_c,
        compiled.n_sel,
        compiled.n_rho,
        int(compiled.affine),
        np.array(subsystems, SUBSYSTEM),
        np.array(cells, np.int64),
        compiled.input(rho),
        np.empty(max(b.size for b in bundles) + 1),
        np.empty(switching.size + 1),
        breaks_of(compiled.system, 1 + compiled.n_x + compiled.n_sel),
    )


def tableau(method: Collocation) -> Tableau:
    """Return a collocation method."""
    return Tableau(*(getattr(method, name) for name in Tableau._fields))
