"""What a user of Firefox sees first: a page from disk without a kernel, and the tour."""

from __future__ import annotations

import numpy as np
import pytest
from firefox import firefox

import explorer as ex
from explorer.panels.answer import SessionAnswer
from explorer.panels.session import Session
from explorer.panels.static_twin import static_twin

pytestmark = pytest.mark.browser
FRAMES = "Number(document.querySelector('.nsx-panel').dataset.frames)"
DRAWN = "document.querySelector('.nsx-panel')?.dataset.frames > 0"
CURVE = """(() => { const { x, y } = document.querySelector(".nsx-plot").data.find((t) => t.name === "y");
    return [[...x], [...y]]; })()"""
VALUE = "Number(document.querySelector('.nsx-field[data-key=\"rho.e\"]').value)"
INK = """(() => { const c = document.querySelector(".nsx-mechanism");
    return [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data].some((v) => v > 0); })()"""


@pytest.fixture(scope="module")
def fox(tmp_path_factory):
    with firefox(tmp_path_factory.mktemp("firefox")) as one:
        one.size(1280, 720)
        yield one


def height(fox, e):
    """Assert that the page draws the ball with a restitution, gaps at impacts left out."""
    t, y = (np.array(x, float) for x in fox.js(CURVE))
    run = ex.simulate(ex.models.bouncing_ball(), "EventDriven", e=e)
    known = np.isfinite(y)
    assert known.sum() > 40
    np.testing.assert_allclose(y[known], np.interp(t[known], run.t, run.q[:, 0]), atol=5e-3)


def test_a_static_twin_opens_from_disk_and_its_slider_moves_the_picture(fox, tmp_path, shots):
    path, session = tmp_path / "ball.html", Session("bouncing_ball", "EventDriven")
    static_twin(SessionAnswer(session), {"e": [0.4, 0.6]}).save(path)
    fox.errors.clear()
    fox.open(path.as_uri())
    fox.wait(DRAWN)
    height(fox, 0.8)
    fox.wait(INK)
    fox.press(".nsx-range[data-key='rho.e']", "\ue012")  # the arrow to the left
    fox.wait("document.querySelector('.nsx-field[data-key=\"rho.e\"]').value === '0.6'")
    fox.wait("document.querySelector('.nsx-panel').dataset.frames > 1")
    height(fox, 0.6)
    assert fox.js("document.querySelector('.nsx-status').dataset.level") == "ok"
    assert fox.errors == []
    fox.shot(shots / "firefox_twin.png")


def test_the_first_screen_of_the_tour(fox, address, shots):
    fox.errors.clear()
    fox.open(address)
    fox.wait(DRAWN, 60)
    fox.wait("document.querySelectorAll('.nsx-g-picture[data-drawn]').length >= 8")
    fox.shot(shots / "firefox_tour.png")
    fox.js("document.querySelector('.nsx-panel').scrollIntoView() ?? true")
    assert fox.js("document.querySelector('.nsx-panel .nsx-title strong').textContent") == (
        "Bouncing ball"
    )
    fox.js("(document.querySelector('.nsx-panel [data-action=\"reset\"]').click(), true)")
    fox.wait(f"{CURVE}[1][0] === 1")  # the kernel is that of all pages of this notebook
    before = fox.js(CURVE)
    fox.wait(INK)
    e = fox.js(VALUE)
    frames = fox.js(FRAMES)
    fox.press(".nsx-range[data-key='rho.e']", "\ue012")
    fox.wait(f"{FRAMES} > {frames}")
    assert fox.js(VALUE) == pytest.approx(e - 0.01)
    assert fox.js(CURVE) != before
    fox.shot(shots / "firefox_panel.png")
    assert fox.errors == []
