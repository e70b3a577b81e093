"""A contact problem that Python writes and solves, as that of a scheme whose march is Python."""

from explorer.kernels.complementarity.lcp import solve
from explorer.kernels.complementarity.structures import Lcp, LcpOptions, LcpWorkspace
from explorer.kernels.references import kernel, refer

__all__ = ["solve_lcp"]


@kernel()
def solve_lcp(problem: Lcp, options: LcpOptions, work: LcpWorkspace) -> tuple[int, float]:
    """Solve as `explorer.kernels.complementarity.lcp.solve` does; return a status and the residual.

    The rows are those of ``problem.act``. M may differ from that of the last call.
    """
    m = problem.act.size
    work.kept[0].count = -1
    return solve(refer(problem), m, m, refer(options), refer(work))
