"""Behind a link like that of a cloud notebook: 40 ms each way, 10 Mbit/s."""

from __future__ import annotations

import re

import pytest
from lab import Lab, keeps_up
from slow import SlowLink

pytestmark = [pytest.mark.browser, pytest.mark.quiet]


@pytest.fixture(scope="module")
def far(chromium, address):
    port = int(re.search(r":(\d+)/", address)[1])
    with SlowLink(port, delay=0.04, rate=10e6 / 8) as link:
        context = chromium.new_context(viewport={"width": 1280, "height": 720})
        lab = Lab(context, address.replace(f":{port}/", f":{link.port}/"))
        lab.settle()
        link.slow = True
        lab.link = link
        yield lab
        link.slow = False
        assert lab.problems == []
        context.close()


def test_the_link_is_as_slow_as_it_says(far):
    trips = far.js(
        """async () => { const out = [];
          for (let i = 0; i < 5; i++) { const begin = performance.now();
            await fetch("/api", { cache: "no-store" }); out.push(performance.now() - begin); }
          return out; }"""
    )
    assert min(trips) >= 80


def test_a_held_key_at_a_distance(far):
    for _ in range(3):  # the panel measures the line
        with far.answered():
            far.slider("rho.y0").press("ArrowRight")
    drawn = "() => Number(document.querySelector('.nsx-panel').dataset.frames)"
    before, pictures = far.link.down, far.js(drawn)
    keeps_up(far, "rho.y0", 5)
    weight = (far.link.down - before) / (far.js(drawn) - pictures)
    print(f"over the line {weight / 1000:.1f} kB each")
    assert weight <= 40_000
