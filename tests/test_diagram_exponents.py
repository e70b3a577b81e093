"""Exponents over an orbit diagram: closed forms of maps and forced motions, the colours, the panel."""

from __future__ import annotations

import numpy as np
import pytest
from test_orbits import of, opened

import explorer as ex
from explorer.panels.orbits.state import OrbitsSession
from explorer.study.diagram_exponents import diagram_exponents
from explorer.views.drawing.orbit_colours import by_exponent

FEW = {"columns": 9, "points": 30}


@pytest.fixture(scope="module")
def asked():
    return ex.study.Sharpening(
        ex.models.impact_oscillator(), over={"omega": (2.6, 2.9)}, s=0, transient=60, **FEW
    )


@pytest.fixture(scope="module")
def diagram(asked):
    return asked.whole()


def test_both_exponents_of_an_undamped_oscillator_sum_to_its_losses(asked, diagram):
    """Of two multipliers mu1 mu2 = e^2 for each impact: a complex pair has ln e each."""
    values = asked.exponents(diagram).values
    for k in np.flatnonzero(diagram.period > 0):
        T = 2 * np.pi / diagram.values[k] * diagram.period[k]
        cycle = ex.study.limit_cycle(
            asked.system,
            period="2*pi/omega",
            count=int(diagram.period[k]),
            guess=diagram.ends[k][0],
            s=0,
            omega=diagram.values[k],
        )
        assert values[k] == pytest.approx(np.log(cycle.radius) / T, abs=1e-4)


def test_chaos_has_the_exponent_of_the_spectrum(asked, diagram):
    values = asked.exponents(diagram).values
    k = int(np.abs(diagram.values - 2.8).argmin())
    whole = ex.study.lyapunov(
        asked.system,
        period="2*pi/omega",
        s=0,
        omega=diagram.values[k],
        x0=diagram.ends[k][0],
        intervals=400,
    )
    assert diagram.period[k] == 0
    assert values[k] > 0.05
    assert values[k] == pytest.approx(whole.exponents[0], abs=0.08)


def test_the_tent_map_parts_at_the_logarithm_of_its_slope():
    tent = ex.models.tent_map()
    found = ex.study.Sharpening(tent, over={"mu": (1.5, 2.2)}, **FEW)
    whole = found.whole()
    exponents = found.exponents(whole)
    good = whole.values <= 2
    assert exponents.values[good] == pytest.approx(np.log(whole.values[good]))
    assert np.isnan(exponents.values[~good]).all()  # sooner or later it escapes
    assert exponents.unit == ""


def test_an_autonomous_motion_that_repeats_has_zero():
    room = ex.models.thermostat()
    found = ex.study.Sharpening(room, over={"a": (0.098, 0.102)}, columns=3, points=12)
    assert (found.exponents().values == 0).all()


def test_it_can_be_stopped(asked, diagram):
    seen = list(diagram_exponents(asked, diagram, lambda: True))
    assert seen[-1].done == 0
    assert np.isnan(seen[-1].values).sum() >= 8


def test_colours_stand_between_falling_and_growing(asked, diagram):
    values = np.array([-1.0, -0.5, -0.1, 0.0, 0.1, 0.5, 1.0, np.nan, -np.inf])
    told = by_exponent(diagram, values, "1/s")
    assert told.kind.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0]
    assert told.words[-2].startswith("λ not known")
    exponents = asked.exponents(diagram)
    data = ex.views.orbits.picture(diagram, exponents=exponents).data
    names = [t["name"] for t in data if t.get("showlegend")]
    assert any("λ" in name or " to " in name for name in names)
    assert not any("period" in name for name in names)
    short = ex.study.DiagramExponents(np.zeros(3), "1/s")
    with pytest.raises(ex.BadValue, match="3 values, but the diagram has 9"):
        ex.views.orbits(diagram, exponents=short)


def test_the_panel_colours_by_exponents(monkeypatch):
    monkeypatch.setattr(OrbitsSession, "columns", 9)
    monkeypatch.setattr(OrbitsSession, "points", 24)
    wire = opened(low=2.6, high=2.7, s=0)
    session = wire.panel.session
    content, _ = wire.pull(**{"see.colour": "exponent"})
    assert content["errors"] == {}
    known = session.exponents()
    assert known.done == 1
    content, _ = wire.pull(**{"see.at": 2.65})
    assert content["status"]["level"] != "unchecked"
    assert session.exponents(0.0) is known
    assert "exponents=sharper.exponents(found)" in session.code()
    wire.pull(**{"rho.e": 0.78})
    assert session.exponents() is not known
    content, _ = wire.pull(**{"see.colour": "basins"})
    assert "no meaning of the colours" in content["errors"]["see.colour"]
    assert of(wire)["colour"] == "exponent"
