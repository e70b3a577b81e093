"""Rows of G at the iterate of a step: taken anew as the state moves, until they move no more."""

from explorer.kernels.jit import kernel

__all__ = ["retake", "without_rebound"]


@kernel(
    "float64(int64[::1], int64[::1], float64[::1], float64[::1], int64, int64, int64[::1], int64,"
    " int64, float64[::1], float64[::1], float64[::1], int64)",
    inner=True,
)
def retake(ptr, col, val, out, nc, rows, act, held, bound, probe, bias, v, at_G):
    """Take G and gap_t from the outputs of the gaps; return what that changes, relative.

    The laws of the contacts and the constraints hold with what was there before: by how much the
    velocities G v + gap_t of their rows change is what they are broken by now, beside the largest
    term of these velocities.

    Parameters
    ----------
    act, held : the rows of contacts that take part, and how many
    probe, bias : gap_t of these, and of the `bound` constraints behind the first `rows` rows
    v : (n,) velocities
    at_G : place of G in `out`
    """
    off, size = 0.0, 0.0
    for i in range(held + bound):
        row = act[i] if i < held else rows + i - held
        turned = out[nc + row] - (probe[i] if i < held else bias[i - held])
        for k in range(ptr[row], ptr[row + 1]):
            turned += (out[at_G + k] - val[k]) * v[col[k]]
            size = max(size, abs(out[at_G + k] * v[col[k]]))
        off, size = max(off, abs(turned)), max(size, abs(out[nc + row]))
        if i < held:
            probe[i] = out[nc + row]
        else:
            bias[i - held] = out[nc + row]
    for k in range(val.size):
        val[k] = out[at_G + k]
    return off / size if size > 0.0 else 0.0


@kernel(
    "float64(int64[::1], int64, int64, float64[::1], float64[::1], float64[::1])",
    inner=True,
)
def without_rebound(act, held, nc, compliance, e_dot, z):
    """Take back what rigid contacts are to give back of their approach; return the most of it."""
    most = 0.0
    for j in range(held):
        z[j] = 0.0
        if act[j] >= nc or compliance[act[j]] == 0.0:
            most = max(most, abs(e_dot[j]))
            e_dot[j] = 0.0
    return most
