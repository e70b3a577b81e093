"""Kernels as Python runs them give the numbers that they give compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import explorer as ex

TESTS = Path(__file__).parent
RUNS = {
    "EventDriven": ("bouncing_ball", 1.0, {"rtol": 1e-8}),
    "MoreauJean": ("newtons_cradle", 0.1, {"h": 0.01}),
    "FESD": ("sign_crossing", 1.0, {"h": 0.25}),
    "EulerMoreau": ("diode_bridge", 1e-3, {"h": 1e-4}),
    "Newmark": ("bilinear_oscillator", 0.5, {"h": 0.05}),
}


def ends() -> dict[str, list[float]]:
    """Return the state at the end of a short run of each kind."""
    found = {}
    for scheme, (model, t_end, options) in RUNS.items():
        sol = ex.simulate(getattr(ex.models, model)(), getattr(ex, scheme)(**options), t_end=t_end)
        found[scheme] = [float(value) for value in np.ravel(sol.x[..., -1])]
    return found


def test_a_march_gives_the_same_numbers_uncompiled():
    """Whatever order of sums a compiler may take, and whichever structures are references."""
    code = (
        "import uncompiled, json, test_uncompiled; print(json.dumps(test_uncompiled.ends()));"
        "from explorer.kernels.event_driven.march import march; assert not hasattr(march, 'py_func')"
    )
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True,
                         env=os.environ | {"PYTHONPATH": paths})  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    compiled, plainly = ends(), json.loads(ran.stdout)
    for scheme, state in compiled.items():
        assert plainly[scheme] == pytest.approx(state, rel=1e-9, abs=1e-12), scheme
