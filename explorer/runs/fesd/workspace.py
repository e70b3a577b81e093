"""The memory of the kernels of `FESD`, by the sizes of a system and a method."""

from __future__ import annotations

from typing import Any

import numpy as np

from explorer.compiled import Switched
from explorer.kernels.fesd.collocation import Collocation
from explorer.kernels.fesd.structures import Mode, Model, Solver, Stages, Workspace
from explorer.kernels.sliding.multiaffine import BENCH_ROWS, room

__all__ = ["workspace"]


def workspace(compiled: Switched, method: Collocation, rho: Any, newton_max: int) -> Workspace:
    """Return what the kernels work on; `rho` are the parameters."""
    n, nc, nsel, s = compiled.n_x, compiled.n_c, compiled.n_sel, method.stages
    size = s * (n + nc) + 1
    wide = max(n, nc, 2 * nsel + nc, s + 2, room(nc))
    model = Model(
        compiled.table, compiled.shape(s), compiled.input(rho), np.empty(n * (n + nsel + 2)),
        np.empty(nc * (n + 2) + 1), method.table,
    )  # fmt: skip
    sign, zeros = np.zeros(nc, np.int64), np.zeros(nc + 1, np.int64)
    work = np.array([0.0, 0.0, 0.0, newton_max, 0.0])
    return Workspace(
        model, Mode(sign, zeros, np.empty(nsel), np.empty((nsel, nc))),
        Stages(np.empty((s, n)), np.empty((s, nc)), np.empty((s, nc)), np.empty((s, nsel))),
        Solver(np.empty((size, size)), np.empty(size, np.int64), np.empty((3, size)), work),
        vec=np.zeros((BENCH_ROWS, wide)), saved=np.empty((2 * s, max(n, nc))), found=np.zeros(5),
        near=np.zeros(nc + 1, np.int64), best=np.zeros(nc + 2, np.int64),
    )  # fmt: skip
