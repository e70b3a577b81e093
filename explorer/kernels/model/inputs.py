"""A model's native functions as the time-stepping kernels of mechanical systems use them."""

from explorer.kernels.jit import call, kernel

__all__ = ["NEAR", "ROUND", "TOUCH", "fill", "force", "scatter"]

# a gap that round-off alone has opened (in m) is closed: else a column at rest starts to tremble
TOUCH = 1e-13
ROUND, NEAR = 1e-13, 1e-8  # the same beside coordinates, and beside the way of a gap in a step


@kernel("void(float64[::1], float64, float64[::1], int64, int64[::1])", inline=True)
def scatter(flat, sign, values, start, places):
    """Put ``sign * values[start:]`` to `places` of a matrix; its other entries stay zero."""
    for k in range(places.size):
        flat[places[k]] = sign * values[start + k]


@kernel("void(float64[::1], float64, float64[::1], float64[::1], int64)", inline=True)
def fill(inp, t, q, v, n):
    """Write (t, q, v) to the head of the input vector; the parameters behind it stay."""
    inp[0] = t
    for i in range(n):
        inp[1 + i] = q[i]
        inp[1 + n + i] = v[i]


@kernel(
    "void(int64[:, ::1], int64, float64[::1], float64[::1], int64, int64[::1], int64[::1],"
    " float64[::1], float64[::1])",
    inline=True,
)
def force(table, bundle, inp, out, n, ptr, col, val, F):
    """F = first block of the bundle, plus the sparse rows (ptr, col, val) times (q, v)."""
    call(table[bundle, 0], table[bundle, 1], out, inp)
    for i in range(n):
        total = out[i]
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k] * inp[1 + col[k]]
        F[i] = total
