"""Many drags of a body leave nothing behind."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from test_grab_lab import middle, typed

import explorer as ex

WARM = 15  # drags in which the browser compiles what runs often
DRAGS = 25
# How much more of each may be alive after so many drags. A picture of this panel has some 12 kB in
# arrays, 250 objects and 20 arrays of JavaScript's own: to keep one a drag is too much of each.
MOST = {
    "elements": 20,
    "bytes": 40e3 * DRAGS,  # without those of arrays of numbers; compiled code is among them
    "bytes of arrays": 2e3 * DRAGS,
    "Object": 100 * DRAGS,
    "Array": DRAGS,
    "Function": DRAGS - 1,  # not one a drag
}


class Memory:
    """What a page holds."""

    def __init__(self, lab):
        self.lab, self.client = lab, lab.page.context.new_cdp_session(lab.page)

    def alive(self) -> dict[str, float]:
        """Return how much of each is alive in the picture that a reset gives."""
        self.lab.settle()
        for _ in range(2):  # what was held by garbage alone goes with the second one
            self.client.send("HeapProfiler.collectGarbage")
        heap = self.client.send("Runtime.getHeapUsage")
        return {
            "elements": self.lab.js("() => document.querySelectorAll('*').length"),
            "bytes": heap["usedSize"],
            "bytes of arrays": heap["backingStorageSize"],
            **{kind: self.count(kind) for kind in ("Object", "Array", "Function")},
        }

    def count(self, kind: str) -> int:
        """Return how many objects inherit from a kind."""
        send, group = self.client.send, "counted"
        given = {"expression": f"{kind}.prototype", "objectGroup": group}
        own = send("Runtime.evaluate", given)["result"]["objectId"]
        wanted = {"prototypeObjectId": own, "objectGroup": group}
        found = send("Runtime.queryObjects", wanted)["objects"]["objectId"]
        given = {"functionDeclaration": "function () { return this.length; }", "objectId": found}
        number = send("Runtime.callFunctionOn", given)["result"]["value"]
        send("Runtime.releaseObjectGroup", {"objectGroup": group})
        return int(number)


def drag(lab, rng):
    """Take the body somewhere, or throw it."""
    mouse = lab.page.mouse
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


@pytest.mark.browser
def test_many_drags_leave_nothing_behind(lab):
    """Its last picture is a fresh run of what the fields say, and the page has not grown."""
    memory, rng = Memory(lab), np.random.default_rng(16)
    for _ in range(WARM):
        drag(lab, rng)
    before = memory.alive()
    for _ in range(DRAGS):
        drag(lab, rng)
    y0, v0, shown = typed(lab, "rho.y0"), typed(lab, "v0.y"), lab.curve("y")
    after = memory.alive()
    grown = {what: after[what] - before[what] for what in MOST}
    print(f"\n{DRAGS} drags more:", grown)
    assert lab.problems == []
    assert [what for what, most in MOST.items() if grown[what] > most] == [], grown
    with warnings.catch_warnings(action="ignore"):  # thrown, it may be far above the ranges
        scheme = ex.MoreauJean(h=2e-3)  # that of the panel
        run = ex.simulate(ex.models.bouncing_ball(), scheme, y0=y0, v0=[v0])
    assert shown[np.isfinite(shown)].max() == pytest.approx(run.q.max(), rel=2e-3)
    assert shown[0] == pytest.approx(run.q[0, 0], rel=1e-3)
