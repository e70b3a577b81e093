"""The moments of a run of `FESD` at which it could have gone on in several ways, and these ways."""

from __future__ import annotations

import numpy as np

from explorer.results.switches import Continuations
from explorer.runs.fesd.run import Run

__all__ = ["continuations"]


def continuations(run: Run) -> tuple[Continuations, ...]:
    """Return the moments with several continuations, and what these are."""
    from explorer.kernels.fesd.continuations import SIGNS, examine

    compiled, found = run.compiled, []
    n, nc, nsel = compiled.n_x, compiled.n_c, compiled.n_sel
    for p in np.flatnonzero(run.switches[:, 3] > 1).tolist():
        e, row = int(run.switches[p, 0]), run.switches[p]
        end = np.full(nsel, 0.5) if e == 0 else run.method.table[-1] @ run.mult[e - 1]
        t = float(run.times[e - 1].sum()) if e else 0.0
        names, ways, taken = [], [], 0
        for pick in range(int(row[3])):
            one, moment = np.zeros(SIGNS + nc, np.int64), np.zeros(len(run.moments[p]))
            work = run.workspace()
            examine(
                work, t, run.states[e], run.options.h, run.switches[max(p - 1, 0)], row,
                np.ascontiguousarray(end), pick, one, moment,
            )  # fmt: skip
            names.append(compiled.system.mode_name(one[SIGNS:].tolist()))
            ways.append(moment[2 + 2 * n :])
            if (one[5:] == row[5:]).all():
                taken = pick
        both = np.array(ways)
        found.append(Continuations(
            t, run.states[e].copy(), tuple(names), both[:, n:], both[:, :n], taken
        ))  # fmt: skip
    return tuple(found)
