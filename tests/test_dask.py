"""A sweep over a Dask cluster: the same numbers to the last bit, also when a worker dies.

The cluster lives in a process of its own, with two workers; one is killed while it works.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

import explorer as ex

ASK = """
import os, signal, threading
import numpy as np, psutil
from distributed import Client, LocalCluster
import explorer as ex

def memory():
    return psutil.Process().memory_info().rss / 2**20

def main():
    ball = ex.models.bouncing_ball()
    asked = {
        "scheme": ex.EventDriven(),
        "over": {"e": np.linspace(0.3, 0.9, 250), "q0.y": np.linspace(0.5, 1.5, MANY // 250)},
        "observe": ["extrema", ex.study.Section(event="floor", most=2)],
        "t_end": 1.0,
        "progress": False,
    }
    here = ex.study.sweep(ball, **asked)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    )
    with cluster, Client(cluster) as client:
        first = next(iter(cluster.workers.values()))
        pid, seen, before = first.pid, [], memory()

        def stop():  # is asked all the time: here it kills one of the workers, once
            done = sum(1 for key in client.futures) if not seen else 0
            if not seen and len(client.futures) > 2:
                os.kill(pid, signal.SIGKILL)
                seen.append(done)
            return False

        there = ex.study.sweep(ball, executor=client, stop=stop, **asked)
        grown = memory() - before
    for name, left, right in zip(here.observed._fields, here.observed, there.observed):
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f"), name
    print("killed", len(seen), "ok", int(there.ok.sum()), "grown", round(grown))

if __name__ == "__main__":
    main()
"""


def test_two_workers_of_which_one_is_killed_give_the_same_bits(tmp_path):
    assert find_spec("distributed"), "the extra dask is part of the extra test"
    script = tmp_path / "ask.py"
    script.write_text(ASK.replace("MANY", "20_000"), "utf-8")
    ran = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=240, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    words = ran.stdout.split()
    assert words[:4] == ["killed", "1", "ok", "20000"]
    assert int(words[5]) < 200  # MB: what the client keeps is the result


def test_the_cores_of_a_cluster_are_its_workers():
    from explorer.study.parts import workers_of

    client = SimpleNamespace(ncores=lambda: {"a": 2, "b": 3}, get_executor=lambda: None)
    assert workers_of(client) == 5


@pytest.mark.parametrize("wrong", ["all", 2, print])
def test_what_runs_nothing_is_refused(wrong):
    with pytest.raises(ex.BadValue, match=r"executor of concurrent\.futures.*or a Dask client"):
        ex.study.sweep(ex.models.bouncing_ball(), over={"e": [0.5]}, executor=wrong)
