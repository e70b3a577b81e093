"""Derivatives along the iterates of a map: Lyapunov exponents by QR, and those by parameters.

The native function of a map writes [f (n), f_x (n n), f_rho (n p)] for the input [t, x, rho].
"""

from math import fabs, inf, log, sqrt

from explorer.kernels.jit import call, kernel

__all__ = ["derivatives", "spectrum"]


@kernel(
    "int64(int64, int64, float64[::1], float64[::1], float64[:, ::1], float64[:, ::1],"
    " int64, float64, float64[::1])"
)
def spectrum(address, data, inp, out, Q, Y, count, bound, sums):
    """Iterate `count` times; add the logarithms of how much each direction is stretched.

    One step is Y = f_x Q, Y = Q R by the modified Gram-Schmidt process, and sums += log |R_ii|
    (Benettin, Galgani, Giorgilli and Strelcyn, Meccanica 15 (1980) 9). Returns how many iterates
    stayed within `bound`.

    Parameters
    ----------
    inp : (1 + n + p,) whose state is replaced by the last one
    out : what the function writes
    Q : (n, n) directions in columns, replaced by the last ones
    Y : (n, n) scratch
    sums : (n,)
    """
    n = Q.shape[0]
    for k in range(count):
        call(address, data, out, inp)
        for i in range(n):
            if not fabs(out[i]) <= bound:
                return k
        for i in range(n):
            for j in range(n):
                total = 0.0
                for m in range(n):
                    total += out[n + i * n + m] * Q[m, j]
                Y[i, j] = total
        for j in range(n):
            for m in range(j):
                along = 0.0
                for i in range(n):
                    along += Q[i, m] * Y[i, j]
                for i in range(n):
                    Y[i, j] -= along * Q[i, m]
            size = 0.0
            for i in range(n):
                size += Y[i, j] * Y[i, j]
            size = sqrt(size)
            if size > 0.0:
                sums[j] += log(size)
                for i in range(n):
                    Q[i, j] = Y[i, j] / size
            else:  # the direction is lost: it shrinks to a point in one iterate
                sums[j] = -inf
                for i in range(n):
                    Q[i, j] = 0.0
        for i in range(n):
            inp[1 + i] = out[i]
    return count


@kernel(
    "int64(int64, int64, float64[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64)"
)
def derivatives(address, data, inp, out, x, S, bound):
    """Write the iterates and their derivatives S' = f_x S + f_rho; return how many stay in bounds.

    Parameters
    ----------
    x : (k + 1, n) states, the first one given
    S : (k + 1, n (p)) derivatives by the parameters, one state behind the other; the first given
    """
    count, n = x.shape[0] - 1, x.shape[1]
    p = S.shape[1] // n
    for k in range(count):
        for i in range(n):
            inp[1 + i] = x[k, i]
        call(address, data, out, inp)
        for i in range(n):
            if not fabs(out[i]) <= bound:
                return k
            x[k + 1, i] = out[i]
            for j in range(p):
                total = out[n + n * n + i * p + j]
                for m in range(n):
                    total += out[n + i * n + m] * S[k, m * p + j]
                S[k + 1, i * p + j] = total
    return count
