"""The record of a step of the event-driven march."""

from explorer.kernels.event_driven.flow import CLOSED, MODE, NC, NX, ROWS, SIDES, N
from explorer.kernels.jit import kernel

__all__ = ["note"]


@kernel(
    "void(int64[::1], int64[::1], float64, float64, float64[::1], float64[::1], float64[::1],"
    " int64[::1])",
    inner=True,
)
def note(shape, state, t, h, y, slope, row, held):
    """Write t, h, y at the start of a step, then the accelerations that a method carries there.

    To `held` go the mode, the closed contacts and the sides of surfaces.
    """
    n, block, size = shape[N], shape[NX] + 1, y.size
    row[0], row[1] = t, h
    for m in range(size):
        row[2 + m] = y[m]
    for m in range(row.size - 2 - size):
        row[2 + size + m] = slope[m // n * block + n + m % n]
    held[0] = state[MODE]
    for a in range(2 * shape[ROWS] - shape[NC] + shape[SIDES]):
        held[1 + a] = state[CLOSED + a]
