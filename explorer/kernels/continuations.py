"""All the ways in which a run of FESD could have gone on at a moment, for it to be shown."""

from explorer.kernels.active_set import PICK
from explorer.kernels.arrangement import arrange
from explorer.kernels.fesd import SIGNS, enter
from explorer.kernels.jit import kernel
from explorer.kernels.stretch import WORK

__all__ = ["PICK", "arranged", "examine"]


@kernel("int64(int64[::1], int64[::1], int64[::1], float64[::1], float64[:, ::1], int64)")
def arranged(shape, sign, zeros, base, B, choice):
    """`arrange`, for Python."""
    return arrange(shape, sign, zeros, base, B, choice)


@kernel(
    f"int64({WORK}, int64[::1], int64[::1], float64, float64[::1], float64, int64[::1], int64[::1],"
    " float64[::1], int64, int64[::1], float64[::1])"
)
def examine(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r, work,
    vec, saved, found, near, best, t, x, h, before, behind, end, pick, row, moment,
):  # fmt: skip
    """Choose continuation `pick` at (t, x), where the active set of the row `before` has ended.

    `behind` is the row that was recorded there, `end` (n_sel,) the multipliers before. Sets `row`
    and `moment` as `enter` does, and returns its status.
    """
    for j in range(len(sign)):
        sign[j] = before[SIGNS + j] if behind[1] > 0 else 0
    zeros[len(sign)] = 0
    if behind[1] > 0:
        arrange(shape, sign, zeros, base, B, before[SIGNS - 1])
    for k in range(len(end)):
        vec[14, k] = end[k]
    best[0] = before[SIGNS - 1]
    return enter(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r,
        work, vec, saved, found, near, best, t, x, h, behind[1], behind[2], PICK + pick, 0, row,
        moment,
    )  # fmt: skip
