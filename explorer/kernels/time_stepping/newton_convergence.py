"""Where Newton's method of a step has arrived: at its tolerance, or at what round-off leaves."""

from explorer.kernels.jit import kernel

__all__ = ["BESIDE", "CLOSE", "QUICK", "at_round_off"]

QUICK = 0.05  # of a change, left by the next one: then the factors serve on
CLOSE = 3e-14  # of the terms of phi, what round-off may leave of it
BESIDE = 0.1  # of the largest coordinate, beside which others may round


@kernel(inline=True)
def at_round_off(change: float, size: float, still: int) -> bool:
    """Whether a change is round-off of what it changes, or is small and falls no more.

    Terms that cancel leave a residual that is large beside their sum, and it never falls below.
    `still` : changes in a row that were not half of the one before
    """
    return change <= 1e-15 * size or (still >= 3 and change <= 1e-10 * size)
