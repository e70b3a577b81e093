"""`load()`: a saved run, with its system and its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from explorer.compiled.observe import observe
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError
from explorer.recorder import Recorded
from explorer.results.export import read_arrays
from explorer.results.solution import Solution
from explorer.schemes import Scheme, schemes
from explorer.status import Status
from explorer.systems import LagrangianSystem, System, from_spec
from explorer.systems.driving import driven
from explorer.types import Settings

__all__ = ["load"]

_ALIKE = 1e-3  # of their size: numbers of another version or machine that differ by less
_ROUND_OFF = 1e-12  # of the largest: a column of smaller numbers has none that are certain
_OF_MOTION = ("v", "p", "gap", "gap_dot", "active", "residuals")
_OF_LAWS = ("lam", "y", "side", "residuals")
_OF_MAPS = ("branch", "residuals")


def load(path: str | Path) -> Solution:
    """Read a solution written by ``Solution.save``, its system and scheme included.

    A run with located events is computed again, so that it can be evaluated between its rows. Its
    arrays are those of the file.

    Parameters
    ----------
    path : str or Path
        The ``.npz`` file.

    Returns
    -------
    Solution

    Raises
    ------
    BadValue
        If there is no such file, or it is not a saved solution; or if this version finds other
        events or other numbers.

    Examples
    --------
    >>> import explorer as ex
    >>> import tempfile
    >>> run = ex.simulate(ex.models.bouncing_ball(), e=0.5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = ex.load(run.save(f"{folder}/run.npz"))
    >>> bool((again.q == run.q).all())
    True
    """
    arrays, spec = read_arrays(path)
    try:
        scheme, system = _scheme(spec["scheme"]), from_spec(spec["system"])
        system.references = tuple(spec.get("references", ()))
        status, route = Status(**spec["status"]), tuple(spec["route"])
        if "u" in spec and "x" not in arrays:
            system = driven(system, spec["u"], spec["t_end"])[0]
        if "x" in arrays:
            again = _again(path, arrays, spec, system, scheme)
            return again.concluded(status, _warned(spec, again.warned), again.asked or {})
        recorded = None
        if "recorded" in spec:
            kept = {k: arrays.pop(k) for k in list(arrays) if k.startswith("recorded_")}
            recorded = Recorded.read(spec["recorded"], kept)
        empty = np.zeros((len(arrays["t"]), 0))
        missing = [name for name in _needed(system) if name not in arrays]
        if missing and recorded is None:
            raise KeyError(f"the array {missing[0]!r} is missing")
        rows = dict.fromkeys(("q", "v", "p", "gap", "gap_dot", "active"), empty) | arrays
        known = {"laws": scheme.compile(system).system.laws} if "side" in arrays else {}
        solution = Solution(
            rows,
            status=status,
            system=system,
            scheme=scheme,
            rho=dict(zip(system.parameters, system.rho(spec["rho"]), strict=True)),
            route=route,
            observe=observe,
            recorded=recorded,
            known=known,
        )
        asked = {k: spec[k] for k in ("t_end", "t_eval", "record", "u") if spec.get(k) is not None}
        return solution.concluded(status, _warned(spec, ()), asked)
    except ExplorerError:
        raise
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise BadValue(
            f"The description of the run in {str(path)!r} is incomplete ({error})."
        ) from None


def _warned(spec: Settings, found: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was warned of, or what is `found` anew: files of 0.2.0 and before tell nothing.

    A warning may depend on what the recipe does not hold, such as whether e was given.
    """
    return tuple(map(str, spec["warned"])) if "warned" in spec else found


def _needed(system: System) -> tuple[str, ...]:
    """Return which arrays a file must have of a run that stepped over its events."""
    if system.discrete:
        return _OF_MAPS
    return _OF_MOTION if isinstance(system, LagrangianSystem) else _OF_LAWS


def _again(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    spec: Settings,
    system: System,
    scheme: Scheme,
) -> Solution:
    """Return the run of a scheme that locates events, repeated, with the arrays of the file.

    Raises
    ------
    BadValue
        This version finds other events.
    """
    solution = simulate(
        system,
        scheme,
        rho=spec["rho"],
        throw=False,
        t_end=spec["t_end"],
        t_eval=spec["t_eval"],
        u=spec.get("u"),
        **spec["start"],
    )
    rows = {k: x for k, x in arrays.items() if solution.has(k)}
    other = ""
    if any(np.shape(getattr(solution, name)) != x.shape for name, x in rows.items()):
        other = "events"
    elif not all(_alike(getattr(solution, name), rows[name]) for name in ("t", "x")):
        other = "numbers"
    if other:
        raise BadValue(
            f"{str(path)!r} was written by nonsmooth-explorer "
            f"{spec['versions']['nonsmooth-explorer']}, and this version finds other "
            f"{other}. Read its arrays with numpy.load."
        )
    solution.take(rows)
    return solution


def _alike(found: np.ndarray, kept: np.ndarray) -> bool:
    """Whether numbers of a file are those of the run again, beside their size."""
    size = np.nanmax(np.abs(found), axis=0, initial=0.0)
    least = _ROUND_OFF * np.max(size, initial=0.0) + 1e-300
    alike = found.shape == kept.shape and np.abs(kept - found) <= _ALIKE * size + least
    return bool(np.all(alike | (np.isnan(found) & np.isnan(kept))))


def _scheme(spec: Settings) -> Scheme:
    """Return the scheme that `Scheme.to_spec` described."""
    settings = {k: _scheme(x) if isinstance(x, Mapping) else x for k, x in spec.items()}
    return schemes[str(settings.pop("name"))](**settings)
