"""The mode in which a run of a flow begins."""

from __future__ import annotations

import numpy as np

from explorer.compiled.flow import Flow
from explorer.errors import BadModel
from explorer.types import Reals

__all__ = ["start_mode"]

_ROUND_OFF = 1e-6  # a condition this far below zero does not hold, whatever the others are


def start_mode(flow: Flow, rho: Reals, x: Reals | None = None) -> int:
    """Return the number of the mode in which a run from `x` begins, by default the model's own.

    Raises
    ------
    BadModel
        No mode has its conditions hold there.
    """
    if flow.automaton is None or not flow.automaton.start_branches:
        return 0 if flow.automaton is None else flow.automaton.start_mode
    inp = flow.input(rho)
    inp[1 : 1 + flow.n_x] = flow.start(rho)[0] if x is None else x
    values = iter(np.nan_to_num(flow.starts(inp), nan=-np.inf).tolist())
    best, chosen = -np.inf, 0
    for branch in flow.automaton.start_branches:
        least = min([next(values) for _ in branch.when], default=np.inf)
        if least > 0:
            return branch.to
        if least > best:
            best, chosen = least, branch.to
    if best < -_ROUND_OFF:
        raise BadModel(
            f"'{flow.system.name}' starts at a point from which no mode can continue: neither "
            "a region nor a sliding mode there has a consistent field in closed form. Start "
            "beside this point."
        )
    return chosen
