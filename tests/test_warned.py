"""Warnings that a thread leaves out for its own runs alone."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import explorer as ex
from explorer.study import sweep
from explorer.warned import unsaid, warn


def test_what_one_thread_leaves_out_another_says():
    """The first thread begins before and ends within the silence of the second."""
    first, second = threading.Event(), threading.Event()

    def before():
        with unsaid():
            first.set()
            second.wait(5)
            warn("of the first", ex.ModelWarning, 1)

    def within():
        first.wait(5)
        with unsaid():
            second.set()
            warn("of the second", ex.ModelWarning, 1)
        warn("behind", ex.ModelWarning, 1)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(before), pool.submit(within)]:
                done.result()
    assert [str(w.message) for w in caught] == ["behind"]


def test_no_run_among_many_warns_and_none_silences_what_comes_later():
    """Starts that are put on a constraint, of runs that two threads make one by one."""
    system = ex.models.spherical_pendulum()
    given = {"over": {"v0.x": [0.1, 0.2, 0.3, 0.4]}, "t_end": 0.02, "progress": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = sweep(system, "NonsmoothGeneralizedAlpha", **given)
        assert found.ok.all()
        assert caught == []
        found.run(0)
    assert "does not keep the constraints" in str(caught[0].message)
