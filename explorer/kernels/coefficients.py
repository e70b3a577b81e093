"""What makes coefficients of friction none, during a run."""

from explorer.kernels.jit import kernel

__all__ = ["IMPROPER", "improper"]

IMPROPER = 32  # a status, beside those of `explorer.status`


@kernel("boolean(float64, float64)", inline=True)
def improper(mu, mu_s):
    """Whether not 0 <= mu <= mu_s, to round-off; so NaN is improper."""
    return not (mu >= 0.0 and mu <= mu_s + 1e-12 * mu and mu < 1e300)
