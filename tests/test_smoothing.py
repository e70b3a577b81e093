"""Smoothed step functions: near the exact solution, to first order in the width."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer.reformulations import smoothing


def test_the_slide_lies_in_a_layer_as_thin_as_the_width():
    """On the slide tanh(x / width) is the disturbance: x = width atanh((d / a) sin(w t))."""
    relay = ex.models.sliding_mode()
    smooth, t = smoothing(relay, 1e-2), np.array([4.0])
    rho, ends = relay.rho({}), []
    a, d, w, _ = rho
    for width in (4e-3, 2e-3):
        run = ex.simulate(smooth, ex.EventDriven(rtol=1e-9, atol=1e-11), t_end=4, width=width)
        ends.append(run.x[-1, 0])
        assert run.x[-1, 0] == pytest.approx(width * np.arctanh(d / a * np.sin(w * t[0])), rel=0.1)
    exact = relay.exact(t, dict(zip(relay.parameters, rho, strict=True)))["x"][0, 0]
    assert (ends[0] - exact) / (ends[1] - exact) == pytest.approx(2, rel=0.1)


def test_refusals():
    with pytest.raises(ex.BadValue, match="width"):
        smoothing(ex.models.sliding_mode(), 0)
    taken = ex.StepSystem("x", "x", params={"width": 1}, f=["-width*sign(x)"])
    with pytest.raises(ex.BadModel, match="has a width already"):
        smoothing(taken)
