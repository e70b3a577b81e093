"""What studies are asked for: schemes by name, and the arguments of their runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypedDict, TypeVar

import numpy as np

from explorer.schemes import Scheme
from explorer.types import Numbers

__all__ = ["TOLERANCES", "Chosen", "Run", "Schemes", "with_knobs"]

Chosen: TypeAlias = Scheme | type[Scheme] | str  # a scheme, its class or its name
Schemes: TypeAlias = Mapping[str, Chosen] | Sequence[Chosen] | Chosen | None
S = TypeVar("S", bound=Scheme)
TOLERANCES = tuple(10.0**-k for k in range(3, 11))  # of a scheme that chooses its steps


class Run(TypedDict, total=False):
    """Arguments of `simulate` that all runs of a study share."""

    t_end: float
    rho: Numbers
    throw: bool
    x0: np.ndarray


def with_knobs(scheme: S, **knobs: float | str | Scheme) -> S:
    """Return a scheme with other values of some of its knobs."""
    replaced: Callable[..., S] = dataclasses.replace  # a scheme is known by its base class alone
    return replaced(scheme, **knobs)
