"""Lyapunov exponents of a map: how fast nearby orbits part, in each direction.

By the QR method: a frame of directions is carried along by the Jacobian of the branch of each
iterate and made orthonormal again; the means of the logarithms of its stretching are the exponents
(Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980) 9, doi:10.1007/BF02128236). The
orbit is that of the formulas' doubles; a mean over it has an error, which batch means estimate.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from explorer.compiled.maps import CompiledMap, compile_map
from explorer.dispatch.choose import choose, numbers_of
from explorer.errors import BadValue, ModelWarning
from explorer.parameters import vector, whole
from explorer.schemes.iteration import Iteration
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.exponents import BATCHES, Exponents, batch_errors
from explorer.systems import MapSystem
from explorer.types import Numbers, Reals
from explorer.verification.landing import landed, sentence

__all__ = ["MapExponents", "map_spectrum"]

_SEED = 1


@study
@dataclass(frozen=True, repr=False)
class MapExponents(Exponents):
    """Lyapunov exponents of a map.

    Attributes
    ----------
    exponents : (n,) per iterate, falling
    errors : (n,) their standard errors by batch means
    x : (n,) the last state
    iterates, transient : int
        How many were averaged, and how many were left out before.
    batches : (64, n) means of the batches
    system : MapSystem
    """

    iterates: int
    transient: int
    system: MapSystem
    batches: np.ndarray = field(repr=False)

    def __repr__(self) -> str:
        return f"Lyapunov exponents of {self.system.name!r}: {self.told} ({self.iterates} iterates)"


def map_spectrum(
    system: MapSystem,
    scheme: Chosen | None,
    iterates: int,
    transient: int,
    x0: Reals | None,
    given: Numbers,
) -> MapExponents:
    """Return the Lyapunov exponents of a map with their standard errors; see `lyapunov`."""
    chosen = choose(system, scheme)
    assert isinstance(chosen, Iteration)
    count, left_out = whole(iterates, "iterates", BATCHES), whole(transient, "transient", 0)
    values = numbers_of(system, chosen, given)
    compiled = compile_map(system)
    start = None if x0 is None else np.array(vector(x0, "x0"))
    if start is not None and len(start) != system.n:
        raise BadValue(f"x0 needs {system.n} numbers, but {len(start)} given.")
    begin = chosen.begin(compiled, values, start)
    means, x, sizes = _averaged(compiled, chosen.bound, values, begin, count, left_out)
    cycle = landed(compiled, x, values)
    if cycle is not None and not (cycle == begin).all(axis=1).any():
        words = f"The orbit of '{system.name}' {sentence(system.coordinates, x)}"
        warnings.warn(words, ModelWarning, stacklevel=3)
    exponents = np.average(means, axis=0, weights=sizes)
    order = np.argsort(-exponents, kind="stable")
    errors = batch_errors(means)
    return MapExponents(
        exponents[order], errors[order], x, count, left_out, system, means[:, order]
    )


def _averaged(
    compiled: CompiledMap,
    bound: float,
    rho: list[float],
    begin: np.ndarray,
    count: int,
    transient: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the means of each batch, the last state and the sizes of the batches."""
    from explorer.kernels.maps.tangents import spectrum

    n, native = compiled.n_x, compiled.tangents
    inp, out = compiled.input(rho), np.empty(native.size)
    inp[1 : 1 + n] = begin
    frame = np.linalg.qr(np.random.default_rng(_SEED).standard_normal((n, n)))[0].copy()
    scratch, done = np.empty((n, n)), 0
    sizes = np.diff(np.linspace(0, count, BATCHES + 1).astype(int))
    means = np.zeros((BATCHES, n))
    for k, size in enumerate([transient, *sizes.tolist()]):
        sums = np.zeros(n)
        passed = spectrum(native.address, native.data, inp, out, frame, scratch, size, bound, sums)
        if passed < size:
            raise BadValue(
                f"'{compiled.system.name}' escapes at iterate {done + passed + 1} from "
                f"{_point(compiled, begin)}, so it has no exponents there."
            )
        done += size
        if k > 0:
            means[k - 1] = sums / size
    return means, inp[1 : 1 + n].copy(), sizes


def _point(compiled: CompiledMap, x: np.ndarray) -> str:
    names = compiled.system.coordinates
    return ", ".join(f"{k} = {v:.4g}" for k, v in zip(names, x, strict=True))
