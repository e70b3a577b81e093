"""Many drags of a body leave nothing behind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_grab_lab import middle, typed

import explorer as ex

DRAGS = 30


@pytest.mark.browser
def test_many_drags_leave_nothing_behind(lab):
    """Its last picture is a fresh run of what the fields say, and the page has not grown."""
    lab.settle()
    client = lab.page.context.new_cdp_session(lab.page)

    def size() -> tuple[int, float]:
        client.send("HeapProfiler.collectGarbage")
        heap = client.send("Runtime.getHeapUsage")["usedSize"]
        return lab.js("() => document.querySelectorAll('*').length"), heap

    rng, mouse, sizes = np.random.default_rng(16), lab.page.mouse, []
    for k in range(DRAGS):
        if k == DRAGS // 6:
            lab.settle()
            sizes.append(size())
        lab.panel.locator(".nsx-scrub").fill("0")
        x, y = middle(lab)
        mouse.move(x, y)
        mouse.down()
        for _ in range(3):
            mouse.move(x + rng.uniform(-80, 80), y + rng.uniform(-60, 60))
        mouse.up()
        lab.rests()
        play = lab.panel.locator(".nsx-play")
        if play.get_attribute("aria-label") == "Pause":  # it was thrown
            play.click()
    y0, v0, shown = typed(lab, "rho.y0"), typed(lab, "v0.y"), lab.curve("y")
    lab.settle()
    sizes.append(size())
    print(f"\nafter {DRAGS} drags: elements and bytes", *sizes)
    assert lab.problems == []
    assert sizes[1][0] <= sizes[0][0] + 20, "the page has more elements"
    assert sizes[1][1] <= sizes[0][1] + 3e6, "the page takes more memory"
    with warnings.catch_warnings(action="ignore"):  # thrown, it may be far above the ranges
        scheme = ex.MoreauJean(h=2e-3)  # that of the panel
        run = ex.simulate(ex.models.bouncing_ball(), scheme, y0=y0, v0=[v0])
    assert shown[np.isfinite(shown)].max() == pytest.approx(run.q.max(), rel=2e-3)
    assert shown[0] == pytest.approx(run.q[0, 0], rel=1e-3)
