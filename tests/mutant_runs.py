"""What runs of the gallery record, to the last bit: ``python tests/mutant_runs.py MODULE ...``.

Every model runs with each scheme of the named modules that takes it, once with each other choice of a
scheme, and with each of its presets; its derivatives are computed by all methods, unless they take
long to compile. For each run a JSON line tells a digest of every array.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator

import kinds
import numpy as np
from stored_cases import SLOW

import explorer as ex
from explorer.derivatives.methods import METHODS
from explorer.models import models
from explorer.parameters import knobs_of
from explorer.schemes import schemes

ROWS = 400  # of a run with a step size, at most
Case = tuple[str, Callable[[], object]]


def arrays(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield a name and a digest of each array and number at any depth of a result."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        said = f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        yield name, hashlib.sha1(said).hexdigest()[:12]
    elif value is None or isinstance(value, str | int | float | complex | np.generic):
        yield name, repr(value)
    elif isinstance(value, dict | list | tuple) and depth < 6:
        for k, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from arrays(one, f"{name}[{k}]", depth + 1)
    elif dataclasses.is_dataclass(value) and depth < 6:
        for field in dataclasses.fields(value):
            if field.name not in ("question", "run"):
                yield from arrays(getattr(value, field.name), f"{name}.{field.name}", depth + 1)


def recorded(run: object) -> dict[str, str]:
    """Return the digests of what a run or a sensitivity holds."""
    if not isinstance(run, ex.Solution):
        return dict(arrays(run))
    found = {one.name: one.values for one in run.quantities}
    found |= {"t": run.t, "iterations": run.iterations, "residuals": run.residuals}
    found |= {"status": str(run.status), "events": [*run.events]}
    return dict(arrays(found | {"certificate": [repr(check) for check in run.certificate]}))


def variants(scheme: object) -> Iterator[object]:
    """Yield a scheme, then itself with each other choice of an option."""
    yield scheme
    for name, (_, knob) in knobs_of(type(scheme)).items():
        for choice in knob.choices:
            if choice != getattr(scheme, name):
                yield dataclasses.replace(scheme, **{name: choice})


def simulated(system: object, scheme: object, **rho: float) -> ex.Solution:
    step = getattr(scheme, "h", None)
    end = min(system.t_end, ROWS * step) if step else system.t_end
    return ex.simulate(system, scheme, t_end=end, throw=False, **rho)


def cases(names: list[str]) -> Iterator[Case]:
    """Yield a name and a run for each that is compared."""
    for model, system in kinds.SYSTEMS.items():
        for scheme in ex.schemes_for(system, lessons=True):
            kind = type(scheme).__name__
            if kind not in names or (model, kind) in kinds.SLOW:
                continue
            for one in variants(scheme):
                yield f"{model} {one!r}", functools.partial(simulated, system, one)
            for preset, entries in system.presets.items():
                rho = {k: v for k, v in entries.items() if k in system.parameters}
                yield (
                    f"{model} {preset!r} {one!r}",
                    functools.partial(simulated, system, scheme, **rho),
                )
    for model in sorted({*models} - {*SLOW}):
        system = kinds.SYSTEMS[model]
        for method in METHODS:
            own = {"EventDriven", "FESD"} if method == "direct" else {"EventDriven"}
            own = {"MoreauJean"} if method == "discrete" else own
            slow = {scheme for name, scheme in kinds.SLOW if name == model}
            for scheme in sorted(own & {*names} - slow):
                given = () if method == "discrete" else (scheme,)
                cost = f"{system.coordinates[0]}**2"
                asked = functools.partial(
                    ex.sensitivity, system, *given, cost=cost, method=method, directional="both"
                )
                yield f"{model} {method} {scheme}", asked


def main(modules: list[str]) -> None:
    warnings.simplefilter("ignore")
    for name, run in cases([n for n, one in schemes.items() if one.__module__ in modules]):
        try:
            found = recorded(run())
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps([name, found]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
