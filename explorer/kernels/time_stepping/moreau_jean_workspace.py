"""The work arrays of `explorer.kernels.time_stepping.moreau_jean.run`."""

import numpy as np

from explorer.kernels.friction.graph import INTS, VECTORS, WIDE, WIDEST

__all__ = ["workspaces"]

MOST_DENSE = 100  # rows of G for which D is formed though the graph of the contacts serves


def workspaces(
    n: int, nc: int, n_out: int, wide_W: int, rough: int = 0, bound: int = 0, entries: int = 0
) -> tuple[np.ndarray, ...]:
    """Return the work arrays of `run`: n coordinates, nc contacts, `rough` tangents.

    n_out : outputs of a bundle at most
    wide_W : columns of W, 0 if it is constant
    bound : number of constraints
    entries : of G where the graph of the contacts serves, else 0
    """
    size, N, held = 3 * nc if rough else nc, n + bound, nc + rough if entries else 0
    wide, dense = max(N, size, 8) + 2, 0 if entries and nc + rough > MOST_DENSE else size
    return (
        np.empty((N if wide_W else 0, wide_W)),
        np.empty((3, dense, dense)),
        np.empty((dense, 2 * dense + 2)),
        np.empty((38, wide)),
        np.empty(n_out + 1),
        np.zeros((16, wide), np.int64),
        np.zeros(size, np.int8),
        np.empty((2 * held, 3 * WIDE + 1) if rough else (held, 3 * WIDEST + 1)),
        np.zeros((VECTORS, wide if entries else 0)),
        np.full((INTS, wide if entries else 0), -2),  # no step comes after it
        np.empty(2 * entries, np.int64),
    )
