# made by: python .ci/stubs.py

from collections.abc import Sequence

import numpy.typing as npt
import sympy as sp

from explorer.derivatives.cost import CostLike
from explorer.optimise.fit import Fit as Fit
from explorer.optimise.minimize import Minimum as Minimum
from explorer.optimise.search import Ranges
from explorer.schemes import Scheme
from explorer.systems import System
from explorer.systems.drive import Inputs
from explorer.types import Names, Numbers, Reals, Value

def fit(
    system: System,
    t: Reals,
    data: npt.ArrayLike,
    observe: str | sp.Expr | Sequence[Value] | None = None,
    wrt: Names | None = None,
    bounds: Ranges | None = None,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    sigma: npt.ArrayLike | None = None,
    loss: str = "linear",
    scale: float | None = None,
    start: Numbers | Reals | float | None = None,
    starts: int = 1,
    seed: int = 0,
    tol: float = 1e-10,
    max_iter: int = 100,
    progress: bool = True,
    rho: Numbers | None = None,
    **parameters: float,
) -> Fit: ...
def minimize(
    system: System,
    cost: CostLike,
    wrt: Names | None = None,
    bounds: Ranges | None = None,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    t_end: float | None = None,
    until: str | tuple[str, int] | None = None,
    start: Numbers | Reals | float | None = None,
    starts: int = 1,
    seed: int = 0,
    tol: float = 1e-07,
    max_iter: int = 100,
    progress: bool = True,
    u: Inputs | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> Minimum: ...
