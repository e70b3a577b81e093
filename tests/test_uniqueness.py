"""Slides that nothing holds: both fields lead away, and a run that stays is one of many."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each

import explorer as ex
from explorer.models import models
from explorer.verification.uniqueness import held_by_nothing

SCHEMES = (ex.EventDriven(), ex.FESD(h=0.05), ex.EulerMoreau(h=0.01))


def relay(side: int) -> ex.FilippovSystem:
    """x' = side sgn x, from x = 0 or near it, beside a state that says how long it stays."""
    system = ex.FilippovSystem("relay", x="x y", params={"x0": ex.Param(0.0, -1, 1)})
    x, _ = system.x
    system.subsystem({"right": [side, 1], "left": [-side, 1]}, c={"wall": x})
    system.start(x=["x0", 0], t_end=1)
    return system


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
def test_a_slide_through_a_fold_is_one_of_many_solutions(scheme):
    """The fold of the model is at x = 0; to the left of it the slide is held."""
    system = models["two_fold"]()
    met = np.sqrt(1 - 0.6)  # how far from the fold it comes to the line
    fold = 1 - met + met / 1.5
    assert not ex.simulate(system, scheme, t_end=0.95 * fold).cautions
    run = ex.simulate(system, scheme, t_end=2)
    (said,) = run.cautions
    assert "nothing holds the slide on 'line'" in said
    (check,) = held_by_nothing(run)
    assert not check.ok
    assert check.value == 1


@for_each("scheme", SCHEMES[:2])
def test_a_relay_that_pushes_to_its_surface_holds_and_one_that_pushes_away_does_not(scheme):
    assert not ex.simulate(relay(-1), scheme, x0=0.3).cautions
    away = ex.simulate(relay(1), scheme, x0=0.3)
    assert not away.cautions, "it leaves, and never slides"
    moments = ex.simulate(relay(1), scheme).choices
    stays = next(k for k, p in enumerate(moments[0].patterns) if "|" in p or "= 0" in p)
    kept = ex.simulate(relay(1), type(scheme)(picks=str(stays)))
    assert np.abs(kept.x[:, 0]).max() < 1e-12
    assert any("nothing holds" in said for said in kept.cautions)


@for_each("name", ["sliding_mode", "sliding_entry", "threshold_policy", "relay_feedback"])
def test_slides_of_the_gallery_are_held(name):
    run = ex.simulate(models[name]())
    (check,) = held_by_nothing(run) or [None]
    assert check is None or check.ok
    if name.startswith("sliding"):
        assert (run.signs == 0).any()
