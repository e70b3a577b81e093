"""The first page that a new user sees, on a server that nobody has used."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import explorer
from lab import SIZE, Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    with explorer(tmp_path_factory.mktemp("new")) as found:
        yield found


@pytest.fixture(scope="module")
def opened(chromium, address):
    context = chromium.new_context(viewport=SIZE)
    lab = Lab(context, address)
    lab.opening_traffic = lab.traffic
    yield lab
    assert lab.problems == []
    assert lab.abroad == []
    context.close()


def test_the_tour_opens_with_a_picture(opened):
    print(f"\nfirst picture after {opened.seconds:.2f} s, {opened.seconds_with_kernel:.2f} s after "
          f"the kernel's line stood, {opened.opening_traffic / 1e6:.2f} MB")  # fmt: skip
    assert opened.problems == [], "a page that asks for nothing that is not there"
    assert opened.title() == "Bouncing ball"
    y = opened.curve("y")
    assert y[0] == 1
    assert np.ptp(y) > 0.9
    assert opened.panel.locator(".nsx-table tbody tr").count() > 5
    assert opened.js("""() => { const c = document.querySelector(".nsx-mechanism");
        return [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data]
          .some((v) => v > 0); }""")  # fmt: skip
    assert "steps" in opened.panel.locator(".nsx-status").inner_text()


def test_the_tour_opens_with_all_of_the_gallery(chromium, address):
    context = chromium.new_context(viewport=SIZE)
    # a page that a test drives counts as touched: Playwright's calls are the user's
    context.add_init_script("""Object.defineProperty(navigator, "userActivation",
        {value: {hasBeenActive: false}})""")
    lab = Lab(context, address)
    lab.wait("""() => { const box = (name) => document.querySelector(name).getBoundingClientRect();
        const [gallery, room] = [box(".nsx-gallery"), box(".jp-WindowedPanel-outer")];
        return room.top <= gallery.top && gallery.bottom <= room.bottom + 0.5
          && document.querySelectorAll(".nsx-g-picture[data-drawn]").length >= 8; }""")
    assert lab.problems == []
    context.close()


def test_opening_moves_at_most_2_mb(opened):
    assert 50_000 < opened.opening_traffic <= 2_000_000
