"""Random runs over models, schemes and numbers, each judged by equations that are written anew.

The judge (`tests/examiner`) shares nothing with the program: formulas by `sympy.lambdify`,
integrals by SciPy. A run that is a success without caution must keep its laws to `lcp_tol`, the
equations of its elements, its flow to its tolerance, and must not gain energy.

``EXAMINER=10000 pytest tests/test_examiner.py`` makes as many runs; `EXAMINER_SEED` moves them.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter

import numpy as np
import pytest
from examiner.draw import family, judge, random_run
from examiner.reference import FACTOR, excess

import explorer as ex

RUNS = int(os.environ.get("EXAMINER", "96"))
SEED = int(os.environ.get("EXAMINER_SEED", "0"))
PARTS, EACH = 8, 10  # of the runs with a tolerance every so many is run again, tighter


def told(run):
    """Whether a run says itself that it is not to be relied on."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return not run.status.ok or bool(run.cautions)


@pytest.mark.broad
@pytest.mark.parametrize("part", range(PARTS))
def test_no_plain_success_breaks_its_equations(part, record_property):
    wrong, judged = [], Counter()
    for k in range(part, RUNS, PARTS):
        rng = np.random.default_rng([SEED, k])
        run = random_run(rng)
        if run is None or told(run):
            continue
        judged[family(run)] += 1
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            said = list(judge(run, rng))
        located = isinstance(run.scheme, ex.EventDriven) and run.system.n <= 12
        if located and k // PARTS % EACH == 0:
            found = excess(run)
            if found is not None and not found[0] <= FACTOR:
                said.append(f"error {found[0]:.2g} of what its steps may leave, t = {found[1]:.4g}")
        wrong += [(k, run.system.name, repr(run.scheme), sentence) for sentence in said]
    for name, count in judged.items():
        record_property(name, count)
    assert judged or RUNS < 5 * PARTS
    assert not wrong, "\n".join(map(str, wrong))
