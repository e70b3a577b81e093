"""Evaluate a model's bundle at every row of a trajectory."""

from explorer.kernels.jit import call, kernel

__all__ = ["evaluate"]


@kernel(
    "void(int64, int64, float64[::1], float64[:, ::1], float64[:, ::1], float64[::1],"
    " float64[::1], float64[:, ::1])"
)
def evaluate(address, data, t, q, v, inp, out, result):
    """``result[i] = f(t_i, q_i, v_i, rho)``; rho stands in the tail of `inp`, `out` is scratch.

    Of a system x' = ... q is x, and v its multipliers, if it has any.
    """
    n = q.shape[1]
    for i in range(t.size):
        inp[0] = t[i]
        for j in range(n):
            inp[1 + j] = q[i, j]
        for j in range(v.shape[1]):
            inp[1 + n + j] = v[i, j]
        call(address, data, out, inp)
        for j in range(result.shape[1]):
            result[i, j] = out[j]
