"""FESD with any method, number of stages, multipliers and interval: it ends, and all equations hold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from kinds import SYSTEMS

import explorer as ex
from explorer.kernels.fesd.collocation import TABLEAUX
from explorer.models import models
from explorer.systems import StepSystem

TAKEN = [name for name in models if ex.FESD.fits(SYSTEMS[name])]
METHODS = [
    (tableau, stages)
    for tableau, stages in itertools.product(TABLEAUX, (1, 2, 3, 4))
    if (tableau, stages) != ("lobatto_iiic", 1)
]


@pytest.mark.broad
@pytest.mark.parametrize("name", TAKEN)
def test_any_method_any_interval(name):
    """Every model with a seeded choice of preset, multipliers and interval for each method."""
    system, rng = models[name](), np.random.default_rng(len(name))
    plain = isinstance(system, StepSystem)
    known = {*system.parameters, "t_end"}
    presets = [{}] + [
        found for p in system.presets.values()
        if {*(found := {k: v for k, v in p.items() if k not in ("text", "h")})} <= known
    ]  # fmt: skip
    forms = ("step", "stewart") if hasattr(system, "subsystems") else ("step",)
    usual = ex.FESD.usual_step(system)
    for tableau, stages in METHODS if plain else METHODS[7:8]:
        preset = presets[rng.integers(len(presets))]
        most = min(5 * usual if plain else usual, preset.get("t_end", system.t_end))
        scheme = ex.FESD(
            stages=stages, tableau=tableau, h=float(most * 10 ** rng.uniform(-1, 0)),
            representation=str(rng.choice(forms)), elements=int(rng.integers(1, 5)),
        )  # fmt: skip
        sol = ex.simulate(system, scheme, throw=False, **preset)
        assert sol.status.ok, (scheme, preset, sol.status.message)
        assert max(sol.fesd_residual.values()) <= 1e-10, (scheme, preset, sol.fesd_residual)


@pytest.mark.parametrize("h", [0.1, 0.2, 0.4, 0.8])
def test_a_slide_that_ends_too_early_is_solved_again(h):
    """The multipliers of two stages of Gauss say when it ends; so early it would begin again."""
    scheme = ex.FESD(tableau="gauss", h=h)
    sol = ex.simulate(models["three_blocks"](), scheme, mu=1, t_end=10)
    assert len(sol.events) == 23
    assert max(sol.fesd_residual.values()) <= 1e-10


@pytest.mark.parametrize(("tableau", "stages"), METHODS)
def test_a_slide_that_ends_with_an_interval(tableau, stages):
    """The fold is at t = 2, the end of the fourth interval: the multiplier is just on its bound."""
    system = models["sliding_entry"]()
    sol = ex.simulate(system, ex.FESD(stages=stages, tableau=tableau, h=0.5))
    assert len(sol.events) == 2
    exact = system.exact(sol.t, sol.rho)["x"]
    late = 0.125 if stages == 1 else 1e-9  # the multiplier of a single stage is that of its middle
    assert sol.events[1].t == pytest.approx(2, abs=2 * late)
    assert np.abs(sol.x - exact).max() <= 2 * late


@pytest.mark.parametrize("h", [0.05, 0.3, 1.0])
def test_switches_that_accumulate_are_never_lost(h):
    """Fuller's feedback: where no active set is found any more, the series tells why."""
    fuller = ex.StepSystem(
        "Fuller", x="x1 x2", params={"xi": 0.44462356018593735},
        f=["x2", "-sign(x1 + xi*abs(x2)*x2)"], start={"x": [1, 0], "t_end": 3.5},
    )  # fmt: skip
    sol = ex.simulate(fuller, ex.FESD(h=h), throw=False)
    assert sol.status.name == "accumulation"
    assert sol.status.t == pytest.approx(2.7151945277, abs=1e-8)


def test_a_mode_that_blows_up_is_named():
    """x' = x^2 from x = 1 at t = 1: infinite at t = 2."""
    system = ex.StepSystem(
        "s", x="x", f=["Piecewise((x**2, x > 1), (1, True))"], start={"x": [0], "t_end": 3}
    )
    with pytest.raises(ex.StepFailed, match=r"t = 2 s.* x = .* doubles within .* it may blow up"):
        ex.simulate(system, ex.FESD(h=0.1))


@pytest.mark.parametrize(
    ("S", "modes", "words"),
    [
        (3, {"a": [1], "b": [1]}, "a row for each mode"),
        ([[1], [-1]], [[1], [1]], "needs names"),
        (np.array([[1], [0]]), {"a": [1], "b": [1]}, "row of zeros"),
    ],
)
def test_what_regions_are_made_of(S, modes, words):
    """A sentence for each shape that makes no sense; an array of signs does."""
    with pytest.raises(ex.BadModel, match=words):
        ex.FilippovSystem("s", x="x", c=["x"], S=S, modes=modes)
    made = ex.FilippovSystem(
        "s", x="x", c=["x"], S=np.array([[1], [-1]]), modes={"a": [1], "b": [2]}
    )
    assert [r.where for r in made.subsystems[0].regions] == ["c1", "~c1"]


def test_a_spiral_into_a_corner_accumulates():
    """Four quadrants a turn, each turn a third of the one before: 8/3 (1 + 1/3 + ...) = 4."""
    spiral = ex.FilippovSystem(
        "spiral", x="x y", c=["x", "y"], S=[[1, 1], [-1, 1], [-1, -1], [1, -1]],
        modes={"I": [-1, 2], "II": [-1, -3], "III": [1, -1], "IV": [1, 2]},
        start={"x": [1, 0], "t_end": 5},
    )  # fmt: skip
    sol = ex.simulate(spiral, ex.FESD(h=0.3), throw=False)
    assert sol.status.name == "accumulation"
    assert sol.status.t == pytest.approx(4, abs=1e-9)
    assert max(sol.fesd_residual.values()) <= 1e-10


def test_a_run_that_cannot_begin_has_its_start():
    """One row, no event, a picture: nothing that reads a solution stumbles over it."""
    system = ex.StepSystem("pole", x="x y", f=["1/x", "sign(y)"], start={"x": [0, 1], "t_end": 1})
    run = ex.simulate(system, ex.FESD(), throw=False)
    assert run.status.name == "not_finite"
    assert run.t.tolist() == [0]
    assert run.events == []
    assert np.isfinite(run.alpha).all()
    assert ex.views.explore(run).data
