"""The order panel in a real Chromium: curves come, go and move, and their names are seen in full."""

import sys
from pathlib import Path

import numpy as np
import pytest

from explorer.panels.order import _Answer
from explorer.panels.order.state import OrderSession

sys.path.insert(0, str(Path(__file__).parent))
from stages import shown

pytestmark = pytest.mark.browser

CURVES = """() => document.querySelector(".nsx-plot")._fullData
  .filter((t) => t.xaxis === "x" && t.mode === "lines+markers").map((t) => [t.name, [...t.y]])"""
CUT = """() => { const plot = document.querySelector(".nsx-plot").getBoundingClientRect();
  return [...document.querySelectorAll(".legendtext")].map((n) => [n.textContent,
    n.getBoundingClientRect()]).filter(([, r]) => r.top < plot.top || r.right > plot.right)
    .map(([text]) => text); }"""


def test_curves_follow_their_controls():
    with shown(_Answer(OrderSession())) as stage:
        assert len(stage.js(CURVES)) == 11
        assert stage.js(CUT) == []
        stage.page.click('[data-key="see.ThetaRK"]')
        stage.drawn()
        before = dict(stage.js(CURVES))
        assert len(before) == 7
        stage.page.locator('input[type=range][data-key="see.width"]').press("ArrowRight")
        stage.drawn()
        session = stage.answer.session
        assert session.state["see"]["width"] > 0.01
        after = dict(stage.js(CURVES))
        moved = [name for name in after if name not in before]
        assert moved == [f"smoothing, width {session.state['see']['width']:.3g}"]
        smooth = session.diagram().curves[-1]
        assert np.allclose(after[moved[0]], smooth.error, rtol=1e-5)
        assert stage.errors == []
