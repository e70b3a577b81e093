"""Coefficients of friction during a run: what makes them none, and which of the two counts."""

from explorer.kernels.jit import kernel

__all__ = ["IMPROPER", "improper", "revised"]

IMPROPER = 32  # a status, beside those of `explorer.status`


@kernel(inline=True)
def improper(mu: float, mu_s: float) -> bool:
    """Whether not 0 <= mu <= mu_s, to round-off; so NaN is improper."""
    return not (mu >= 0.0 and mu <= mu_s + 1e-12 * mu and mu < 1e300)


@kernel(inline=True)
def revised(counts: float, mu: float, mu_s: float, turns: bool) -> float:
    """Return the coefficient that counts for a contact that has been found to slide.

    `counts` did; `turns`: it slid the other way before, so it may have stuck in between.
    """
    if mu_s > mu:
        if counts == mu_s:
            return mu
        if turns:
            return mu_s
    return counts
