"""Make hopper_runs.json, larger runs of notebook 16: ``python notebooks/hopper_runs.py 5 6 8 10``.

One line for each number of jumps, control intervals, form and method: iterations, processor time in
s, products that are left, distance to the goal, and the largest defect of the replay in physical
time. ``--jumps 5 50`` makes those of the paper.
"""

import argparse
import json
import time
from importlib import import_module
from pathlib import Path

import numpy as np

import explorer as ex

FILE = Path(__file__).with_suffix(".json")
CASES = (("step", "fesd"), ("stewart", "fesd"), ("step", "standard"))
hopper = import_module("explorer.tasks.frozen_hopper")


def measured(jumps: int, intervals: int, form: str, method: str) -> dict[str, object]:
    """Return what one run is."""
    task = ex.tasks.frozen_hopper(intervals, jumps, representation=form, method=method)
    begin = time.process_time()
    plan = ex.optimize(
        task, hopper.guess(task), sigmas=hopper.SIGMAS, max_iter=500, max_neighbours=0,
        progress=False,
    )  # fmt: skip
    seconds = time.process_time() - begin
    steps = [line["iterations"] for line in plan.log if line["stage"] == "homotopy"]
    missed = np.abs(hopper.defects(plan))
    goal = [0.1 + 0.98 * jumps, 0.65, 0, 0.4]
    return {
        "jumps": jumps, "N": intervals, "form": form, "method": method, "iterations": sum(steps),
        "seconds": round(seconds, 2), "products": plan.complementarity,
        "objective": round(plan.objective, 3),
        "goal": round(float(np.linalg.norm(plan.x[-1, :4] - goal)), 4),
        "q": round(float(missed[:, :4].max()), 5), "v": round(float(missed[:, 4:].max()), 4),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("intervals", type=int, nargs="+")
    parser.add_argument("--jumps", type=int, default=1)
    asked = parser.parse_args()
    rows = json.loads(FILE.read_text()) if FILE.exists() else []
    kept = {(r["jumps"], r["N"], r["form"], r["method"]): r for r in rows}
    for intervals in asked.intervals:
        for case in CASES:
            key = (asked.jumps, intervals, *case)
            kept[key] = measured(*key)
            lines = ",\n".join(json.dumps(kept[key]) for key in sorted(kept))
            FILE.write_text(f"[\n{lines}\n]\n", "utf-8")
