"""Small parts of derivatives and of their pictures, each asked by itself."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each

from explorer.derivatives import captures
from explorer.derivatives.direct import Sensitivity
from explorer.errors import NotApplicable
from explorer.views.drawing.slopes import constraint_place


@for_each(("velocities", "slopes"), [(v, s) for v in (True, False) for s in (True, False)])
def test_forces_have_derivatives_in_mechanical_runs_that_find_them(velocities, slopes):
    march = SimpleNamespace(**({"force_slopes": None} if slopes else {}))
    run = SimpleNamespace(
        has_velocities=velocities, march=march, recorded_row=lambda name: f"row of {name}",
        system=SimpleNamespace(name="one", kind="hybrid system"),
    )  # fmt: skip
    sens = Sensitivity("direct", run, ("m",), 0.0, np.zeros(1), SimpleNamespace())
    if velocities and slopes:
        assert sens.A == "row of A"
    else:
        with pytest.raises(NotApplicable, match="'one' is a hybrid system: forces and accel"):
            _ = sens.A


@for_each(("name", "place"), [("rod", 0), ("belt", 1), ("x", None), ("hook", None), (None, None), (1, None)])  # fmt: skip
def test_a_constraint_is_told_by_its_name_unless_a_coordinate_has_it(name, place):
    constraints = [SimpleNamespace(name=one) for one in ("rod", "belt", "x")]
    system = SimpleNamespace(constraints=constraints, coordinates=("x", "y"))
    sens = SimpleNamespace(question=SimpleNamespace(system=system))
    assert constraint_place(sens, name) == place
    del system.constraints
    assert constraint_place(sens, name) is None


@for_each(("own", "off"), [(own, off) for own in (True, False) for off in (0.0, 1e-7, 1e-2, -1e-2)])
def test_what_begins_to_hold_stays_zero_for_all_parameters(monkeypatch, own, off):
    """Phi_q Q + phi_rho = 0 behind the event, but for a hundred-thousandth of its terms."""
    n, rng = 3, np.random.default_rng(0)
    row, (before, behind) = rng.normal(size=n + 1 + 2), rng.normal(size=(2, 2, 2 * n))
    places = (1, 0) if own else (-1, -1)  # of parameters, or of values at the start
    for j, place in enumerate(places):
        phi_rho = row[n + 1 + place] if own else 0.0
        behind[j, 0] = -(row[1:n] @ behind[j, 1:n] + phi_rho) / row[0]
    behind[1, 0] += off / row[0]
    parts = {
        "x_minus": np.zeros((1, 2 * n)), "s_minus": before.ravel()[None], "s_plus": behind.ravel()[None],
        "dtau": np.zeros((1, 2)),
    }  # fmt: skip
    march = SimpleNamespace(
        flow=SimpleNamespace(n=n), part=parts.get, events=SimpleNamespace(head={"t": [1.5]})
    )
    monkeypatch.setattr(captures, "_gradients", lambda march, k: np.array([row]))
    question = SimpleNamespace(
        wrt=("a", "b"),
        places=places,
        system=SimpleNamespace(constraints=[SimpleNamespace(name="rod")]),
    )
    refused = pytest.raises(NotApplicable, match=r"'rod' begins to hold at t = 1\.5 s, and 'b' moves")  # fmt: skip
    with refused if abs(off) > 1e-3 else contextlib.nullcontext():
        captures.check_captures(question, SimpleNamespace(march=march), [(0, 0)])
