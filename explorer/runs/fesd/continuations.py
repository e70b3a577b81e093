"""The moments of a run of `FESD` at which it could have gone on in several ways, and these ways."""

from __future__ import annotations

import numpy as np

from explorer.results.continuations import Continuations
from explorer.runs.fesd.run import Run

__all__ = ["continuations"]


def continuations(run: Run) -> tuple[Continuations, ...]:
    """Return the moments with several continuations, and what these are."""
    from explorer.kernels.fesd.continuations import examine
    from explorer.kernels.fesd.structures import phases

    compiled, known, found = run.compiled, run.phases, []
    unit = compiled.system.time_unit
    for p in np.flatnonzero(known.switches["consistent"] > 1).tolist():
        e = int(known.switches["element"][p])
        t = float(run.times[e - 1].sum()) if e else 0.0
        names, ways, taken = [], [], 0
        for pick in range(int(known.switches["consistent"][p])):
            one = phases(1, compiled.n_x, compiled.n_c, compiled.n_sel)
            work = run.workspace()
            work.end[:] = run.method.end @ run.mult[e - 1] if e else 0.5
            examine(work, t, run.states[e], run.options.h, known, p, pick, one)
            names.append(compiled.system.mode_name(one.signs[0].tolist()))
            ways.append(one)
            same = (one.signs[0] == known.signs[p]).all()
            if same and one.switches["choice"][0] == known.switches["choice"][p]:
                taken = pick
        multipliers, rates = (
            np.concatenate([getattr(way, name) for way in ways])
            for name in ("multipliers", "behind")
        )
        found.append(
            Continuations(t, run.states[e].copy(), tuple(names), multipliers, rates, taken, unit)
        )
    return tuple(found)
