"""Bilinear springs with kinematic hardening: a force that remembers how far it has slipped.

A spring of stiffness k yields at the force f_y; beyond, its stiffness is b k. In parallel: b k u,
and (1 - b) k (u - z) held within (1 - b) f_y by the slip z (the model known as Steel01 without
isotropic hardening). z is committed when a step is, never inside a Newton iteration.
"""

from explorer.kernels.jit import call, kernel

__all__ = ["bilinear", "spring_forces"]

SPRINGS = 5  # row of the bundles: elongations u, then k, f_y, b of each, then du/dq by `pattern`


@kernel(
    "void(int64[:, ::1], float64[::1], float64[::1], int64, float64[:, ::1], int64[::1],"
    " float64[::1], float64[::1], boolean)",
    inline=True,
)
def bilinear(table, inp, out, n, plastic, pattern, F, K, tangent):
    """Subtract the springs' forces at the state in `inp` from F, and add their stiffness to K.

    plastic[0] is the committed slip, plastic[1] becomes that of this state. K is flat (n, n).
    `pattern`: pattern[s] to pattern[s + 1] are the places, in `pattern` itself, of the coordinates
    on which the elongation of spring s depends, and of du/dq among the outputs behind the first.
    """
    springs = plastic.shape[1]
    call(table[SPRINGS, 0], table[SPRINGS, 1], out, inp)
    at = 4 * springs - (springs + 1)  # the pattern begins with its own places
    for s in range(springs):
        u = out[s]
        k, yields, b = out[springs + s], out[2 * springs + s], out[3 * springs + s]
        z = plastic[0, s]
        trial = (1.0 - b) * k * (u - z)
        most = (1.0 - b) * yields
        stiffness = k
        if abs(trial) > most:
            trial = most if trial > 0.0 else -most
            z = u - trial / ((1.0 - b) * k)
            stiffness = b * k
        plastic[1, s] = z
        pull = b * k * u + trial
        for p in range(pattern[s], pattern[s + 1]):
            i, g = pattern[p], out[at + p]
            F[i] -= g * pull
            if tangent:
                for r in range(pattern[s], pattern[s + 1]):
                    K[i * n + pattern[r]] += stiffness * g * out[at + r]


@kernel(
    "void(int64[:, ::1], float64[::1], float64[::1], int64, float64[:, ::1], int64[::1],"
    " float64[::1], float64[::1])"
)
def spring_forces(table, inp, out, n, plastic, pattern, F, K):
    """`bilinear` with its stiffness, for a call from Python."""
    bilinear(table, inp, out, n, plastic, pattern, F, K, True)
