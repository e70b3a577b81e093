"""The record of a step of the event-driven march."""

from explorer.kernels.event_driven.structures import Problem, Steps
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["note"]


@kernel(inline=True)
def note(
    problem: Problem, steps: Steps, k: int, t: float, h: float, y: Vector, slope: Vector
) -> None:
    """Write step `k` of length h from (t, y), y' = `slope`, and the modes and sides it holds."""
    n, nc, nt, count = problem.sizes.n, problem.sizes.n_c, problem.sizes.n_t, problem.sizes.rows
    at = 1 + count + nt + problem.sides.size
    rows, sides, row, carried = problem.rows, problem.sides, steps.state[k], steps.carried
    block = problem.sizes.n_x + 1
    steps.t[k], steps.h[k] = t, h
    for m in range(y.size):
        steps.y[k, m] = y[m]
    for m in range(carried.shape[1]):
        carried[k, m] = slope[m // n * block + n + m % n]
    row[0] = problem.state[0].mode
    for c in range(count):
        row[1 + c] = rows[c].closed
    for k in range(nt):
        row[1 + count + k] = rows[nc + k].sigma
    for j in range(sides.size):
        row[1 + count + nt + j] = sides[j].now
    if problem.drive.t.size > 0:
        row[at] = problem.drive.now[0]
        at += 1
    for j in range(problem.changes.size):
        row[at + j] = problem.changes[j].side
