"""How soon the panel in JupyterLab follows a slider, and a key that is held."""

from __future__ import annotations

import numpy as np
import pytest
from lab import FIRST, keeps_up

pytestmark = [pytest.mark.browser, pytest.mark.quiet]


@pytest.mark.parametrize(
    ("model", "key", "drawn"),
    [("bouncing ball", "rho.y0", FIRST),
     ("relay feedback", "x0.x3", FIRST.replace('"y"', '"x<sub>3</sub>"'))],
)  # fmt: skip
def test_single_steps(lab, model, key, drawn):
    """How long from the key to the picture; the numbers are printed, only sanity is asserted."""
    lab.settle(model)
    steps = lab.steps(key, drawn)
    assert len(steps) >= 35  # the rest was overtaken by the picture of the release
    median, late = np.percentile(steps, [50, 95])
    print(f"\n{model}, single step: median {median:.0f} ms, 95 % {late:.0f} ms")
    assert median < 1000


def test_steps_of_a_switched_system_need_no_new_figure(lab):
    """Its pictures are drawn on the canvas as those of the ball are, and about as fast."""
    rates = {}
    for model, key, drawn in (("bouncing ball", "rho.y0", FIRST),
                              ("relay feedback", "x0.x3", FIRST.replace('"y"', '"x<sub>3</sub>"'))):  # fmt: skip
        lab.settle(model)
        lab.js("""() => { const plot = document.querySelector(".nsx-plot");
            window.nsxLive = [];
            new MutationObserver(() => nsxLive.push(plot.classList.contains("nsx-live")))
              .observe(plot, { attributes: true, attributeFilter: ["data-ms"] }); }""")
        log = keeps_up(lab, key, 3, drawn)
        live = lab.js("() => nsxLive")
        assert np.mean(live) >= 0.9, f"{model}: the others are built anew by plotly"
        rates[model] = len(log["drawn"]) / (log["drawn"][-1][0] - log["set"][0][0])
    assert rates["relay feedback"] >= 0.6 * rates["bouncing ball"]


def test_a_held_key_never_falls_behind(lab):
    log = keeps_up(lab, "rho.y0", 4)
    with lab.answered():
        lab.action("undo").click()
    # the last second of the four is one gesture
    assert float(lab.field("rho.y0").input_value()) == pytest.approx(log["ends"][-2], abs=1e-6)
