"""A homotopy through the FESD equations finds what the marching finds, knowing no active set."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex

CASES = {
    "switched_oscillator": (0.1, 0.2, [0.83, 0.2], "radau_iia"),
    "stribeck_belt": (0.5, 0.5, None, "radau_iia"),
    "relay_feedback": (0.1, 0.1, [0.05, -1, 0.5], "radau_iia"),
    "three_blocks": (0.1, 0.3, None, "radau_iia"),
    "sliding_mode": (0.25, 0.25, [0.15], "lobatto_iiic"),
    "glass_network": (0.1, 0.2, None, "gauss"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_homotopy_agrees_with_the_marching(name):
    """Crossings and slides entered: states and lengths to 1e-8, each equation to 1e-10."""
    h, t_end, x0, tableau = CASES[name]
    scheme = ex.FESD(h=h, tableau=tableau)
    system = getattr(ex.models, name)()
    rho = {"w": 1, "z": 1, "b1": 0, "b2": 0, "b3": 1} if name == "relay_feedback" else {}
    sol = ex.simulate(system, scheme, t_end=t_end, x0=x0, rho=rho)
    assert len(sol.events) >= 1
    found = ex.study.fesd_reference(sol)
    assert found.difference <= 1e-8
    assert max(found.residual.values()) <= 1e-10
    assert np.abs(found.boundaries - sol.boundaries).max() <= 1e-8
    assert found.alpha == pytest.approx(sol.march.mult, abs=1e-8)
    assert max(sol.fesd_residual.values()) <= 1e-10


def test_what_it_takes():
    """Solutions of FESD in step form."""
    system = ex.models.switched_oscillator()
    with pytest.raises(ex.BadValue, match="FESD"):
        ex.study.fesd_reference(system)
    with pytest.raises(ex.NotApplicable, match="step"):
        ex.study.fesd_reference(ex.simulate(system, ex.FESD(representation="stewart")))
