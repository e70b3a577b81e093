"""Steps of a one-step scheme: how long the next one is, and where it ends."""

from explorer.kernels.jit import kernel

__all__ = ["even_step", "next_step"]


@kernel(inline=True)
def even_step(
    t: float, h: float, t_start: float, t_end: float, row: int, rows: int
) -> tuple[float, float]:
    """Return the step from time t and its end; that of the last of the `rows` is t_end exactly."""
    if row < rows - 1:
        return h, t_start + (row + 1) * h
    left = t_end - t
    return (left if abs(left - h) > 1e-9 * h else h), t_end


@kernel(inline=True)
def next_step(
    t: float, h: float, t_start: float, t_end: float, row: int, even: bool
) -> tuple[float, float]:
    """Return the step from time t and its end; the last one ends at t_end exactly.

    Even steps end at multiples of h: their times do not add up rounding.
    """
    if t + h * (1 + 1e-9) < t_end:
        return h, (t_start + (row + 1) * h if even else t + h)
    return even_step(t, h, t_start, t_end, row, row + 1)
