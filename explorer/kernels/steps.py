"""Steps of a one-step scheme: the next time, and the step that a local error asks for."""

from explorer.kernels.jit import kernel

__all__ = ["even_step", "following", "next_step"]


@kernel("UniTuple(float64, 2)(float64, float64, float64, float64, int64, int64)", inline=True)
def even_step(t, h, t_start, t_end, row, rows):
    """Return the step from time t and its end; that of the last of the `rows` is t_end exactly."""
    if row < rows - 1:
        return h, t_start + (row + 1) * h
    left = t_end - t
    return (left if abs(left - h) > 1e-9 * h else h), t_end


@kernel("UniTuple(float64, 2)(float64, float64, float64, float64, int64, boolean)", inline=True)
def next_step(t, h, t_start, t_end, row, even):
    """Return the step from time t and its end; the last one ends at t_end exactly.

    Even steps end at multiples of h: their times do not add up rounding.
    """
    if t + h * (1 + 1e-9) < t_end:
        return h, (t_start + (row + 1) * h if even else t + h)
    return even_step(t, h, t_start, t_end, row, row + 1)


@kernel(
    "float64(float64, float64, float64, float64, float64, float64, float64, boolean)", inline=True
)
def following(error, tol, step, h, h_max, t1, t_end, even):
    """Return the h that follows a step to t1 with a local error of third order; negative: repeat.

    A small change is not made: it is not worth a new factorisation.
    """
    if even:
        return h
    factor = 0.9 * (tol / max(error, 1e-300)) ** (1.0 / 3.0)
    if error > tol and step > 1e-12 * t_end:
        return -step * max(0.2, factor)
    if t1 < t_end and (factor > 1.3 or factor < 1.0):
        return min(step * min(factor, 2.0), h_max)
    return h
