"""All the ways in which a run of FESD could have gone on at a moment, for it to be shown."""

from explorer.kernels.fesd.active_set import PICK
from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.march import SIGNS, enter
from explorer.kernels.fesd.structures import Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Vector, takes

__all__ = ["PICK", "arranged", "examine"]


@kernel("int64(int64[::1], int64[::1], int64[::1], float64[::1], float64[:, ::1], int64)")
def arranged(shape, sign, zeros, base, B, choice):
    """`arrange`, for Python."""
    return arrange(shape, sign, zeros, base, B, choice)


@kernel(
    takes(
        Workspace,
        float,
        Vector,
        float,
        Integers,
        Integers,
        Vector,
        int,
        Integers,
        Vector,
        returns=int,
    )
)
def examine(ws, t, x, h, before, behind, end, pick, row, moment):
    """Choose continuation `pick` at (t, x), where the active set of the row `before` has ended.

    `behind` is the row that was recorded there, `end` (n_sel,) the multipliers before. Sets `row`
    and `moment` as `enter` does, and returns its status.
    """
    shape = ws.model.shape
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    vec, best = ws.vec, ws.best
    for j in range(len(sign)):
        sign[j] = before[SIGNS + j] if behind[1] > 0 else 0
    zeros[len(sign)] = 0
    if behind[1] > 0:
        arrange(shape, sign, zeros, base, B, before[SIGNS - 1])
    for k in range(len(end)):
        vec[14, k] = end[k]
    best[0] = before[SIGNS - 1]
    return enter(ws, t, x, h, behind[1], behind[2], PICK + pick, 0, row, moment)
