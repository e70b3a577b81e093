"""Derivatives of the orbit of a map by its parameters: S' = f_x S + f_rho, exact in each branch.

They hold while no iterate changes its branch, so the least distance to the border of a branch is
told beside them. In chaos they grow as nearby orbits part.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from explorer.arguments import items
from explorer.compiled.maps import CompiledMap, compile_map
from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue, suggest
from explorer.schemes.iteration import Iteration
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.systems import MapSystem, System, check_system, values_given
from explorer.systems.maps import iterates
from explorer.types import Numbers

__all__ = ["OrbitDerivatives", "orbit_derivatives"]


@study
@dataclass(frozen=True, repr=False)
class OrbitDerivatives:
    """An orbit and its derivatives by parameters.

    Attributes
    ----------
    x : (k + 1, n) states
    S : (k + 1, n, p) their derivatives; S[-1] are those of the end state
    wrt : tuple of str, the parameters
    margin : float
        Least |condition| of a branch along the orbit, inf of a map with one branch: where it is
        zero there is no derivative.
    system : MapSystem
    """

    x: np.ndarray
    S: np.ndarray
    wrt: tuple[str, ...]
    margin: float
    system: MapSystem = field(repr=False)

    def __repr__(self) -> str:
        by = ", ".join(self.wrt)
        return (
            f"OrbitDerivatives of {self.system.name!r} by {by}: {len(self.x) - 1} iterates, "
            f"margin {self.margin:.3g}"
        )


@study
def orbit_derivatives(
    system: System,
    scheme: Chosen | None = None,
    *,
    wrt: str | tuple[str, ...] | list[str] | None = None,
    t_end: float | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> OrbitDerivatives:
    """Return the orbit of a map from its own start, and its derivatives by parameters.

    Parameters
    ----------
    system : MapSystem
    scheme : Iteration, optional
    wrt : str or sequence of str, optional
        Parameters, by default all; a start that is a formula of them counts.
    t_end : float, optional
        How many iterates, by default those of the system.
    rho, **parameters
        Parameters by name.

    Raises
    ------
    BadValue
        The system is no map, a name is unknown, or the orbit escapes.

    Examples
    --------
    >>> import explorer as ex
    >>> found = ex.study.orbit_derivatives(ex.models.tent_map(), wrt="x0", t_end=3, mu=1.5)
    >>> float(abs(found.S[-1, 0, 0]))
    3.375
    """
    check_system(system)
    if not isinstance(system, MapSystem):
        raise BadValue(
            f"study.orbit_derivatives takes maps, and '{system.name}' is a {system.kind}: "
            "explorer.sensitivity differentiates its runs."
        )
    chosen = choose(system, scheme)
    assert isinstance(chosen, Iteration)
    names = list(system.parameters)
    asked = names if wrt is None else items(wrt, "wrt", str)
    for name in asked:
        if name not in names:
            raise BadValue(f"'{system.name}' has no parameter {name!r}.{suggest(name, names)}")
    values = numbers_of(system, chosen, values_given(system, rho, parameters))
    count = int(iterates(system.t_end if t_end is None else t_end))
    compiled = compile_map(system)
    x, S = _carried(compiled, chosen, values, count)
    places = [names.index(name) for name in asked]
    margin = _margin(compiled, values, x[:-1])
    return OrbitDerivatives(x, S[:, :, places], tuple(asked), margin, system)


def _carried(
    compiled: CompiledMap, chosen: Iteration, rho: list[float], count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return states (k + 1, n) and derivatives (k + 1, n, p)."""
    from explorer.kernels.maps.tangents import derivatives

    n, p, native = compiled.n_x, compiled.n_rho, compiled.tangents
    x, S = np.empty((count + 1, n)), np.empty((count + 1, n * p))
    x[0] = chosen.begin(compiled, rho, None)
    S[0] = compiled.start(rho)[1].ravel()
    inp, out = compiled.input(rho), np.empty(native.size)
    done = derivatives(native.address, native.data, inp, out, x, S, chosen.bound)
    if done < count:
        raise BadValue(
            f"'{compiled.system.name}' escapes at iterate {done + 1}: give t_end = {done} or less."
        )
    return x, S.reshape(count + 1, n, p)


def _margin(compiled: CompiledMap, rho: list[float], x: np.ndarray) -> float:
    """Return the least |condition| of any branch along an orbit."""
    skipped = sum(len(b.f) for b in compiled.system.branches)
    native, inp = compiled.branches, compiled.input(rho)
    if native.size == skipped:
        return float("inf")
    found = np.inf
    for row in x:
        inp[1 : 1 + compiled.n_x] = row
        found = min(found, float(np.abs(native(inp)[skipped:]).min()))
    return found
