"""A model's native functions as the time-stepping kernels of mechanical systems use them."""

from explorer.kernels.jit import call
from explorer.kernels.model.structures import Bundles, Rows
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Vector

__all__ = ["NEAR", "ROUND", "TOUCH", "evaluate", "fill", "force", "scatter"]

# a gap that round-off alone has opened (in m) is closed: else a column at rest starts to tremble
TOUCH = 1e-13
ROUND, NEAR = 1e-13, 1e-8  # the same beside coordinates, and beside the way of a gap in a step


@kernel(inline=True)
def evaluate(bundles: Bundles, which: int) -> None:
    """Evaluate one of the bundles at the input vector."""
    call(bundles.table[which, 0], bundles.table[which, 1], bundles.out, bundles.inp)


@kernel(inline=True)
def scatter(flat: Vector, sign: float, values: Vector, start: int, places: Integers) -> None:
    """Put ``sign * values[start:]`` to `places` of a matrix; its other entries stay zero."""
    for k in range(places.size):
        flat[places[k]] = sign * values[start + k]


@kernel(inline=True)
def fill(inp: Vector, t: float, q: Vector, v: Vector, n: int) -> None:
    """Write (t, q, v) to the head of the input vector; the parameters behind it stay."""
    inp[0] = t
    for i in range(n):
        inp[1 + i] = q[i]
        inp[1 + n + i] = v[i]


@kernel(inline=True)
def force(bundles: Bundles, which: int, linear: Rows, F: Vector) -> None:
    """F = first block of a bundle, plus the sparse rows times (q, v)."""
    inp, out = bundles.inp, bundles.out
    ptr, col, val = linear.ptr, linear.col, linear.val
    evaluate(bundles, which)
    for i in range(ptr.size - 1):
        total = out[i]
        for k in range(ptr[i], ptr[i + 1]):
            total += val[k] * inp[1 + col[k]]
        F[i] = total
