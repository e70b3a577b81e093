"""What a user of Firefox or WebKit sees first: a page from disk without a kernel, and the tour."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from firefox import firefox
from webkit import webkit

import explorer as ex
from explorer.panels.answer import SessionAnswer
from explorer.panels.session import Session
from explorer.panels.static_twin import static_twin

pytestmark = pytest.mark.browser
DRAWN = "document.querySelector('.nsx-panel')?.dataset.frames > 0"
CURVE = """(() => { const { x, y } = document.querySelector(".nsx-plot").data.find((t) => t.name === "y");
    return [[...x], [...y]]; })()"""
ASKED = "Number(document.querySelector('.nsx-panel').dataset.asked)"
SHOWN = "Number(document.querySelector('.nsx-plot').dataset.seq ?? 0)"
VALUE = "Number(document.querySelector('.nsx-field[data-key=\"rho.e\"]').value)"
INK = """(() => { const c = document.querySelector(".nsx-mechanism");
    return c.width && c.height && [...c.getContext("2d").getImageData(0, 0, c.width, c.height).data].some((v) => v > 0); })()"""


@pytest.fixture(scope="module", params=[firefox, webkit], ids=lambda kind: kind.__name__)
def other(request, tmp_path_factory):
    with request.param(tmp_path_factory.mktemp("other")) as one:
        one.size(1280, 720)
        one.name = request.param.__name__
        yield one


def height(other, e):
    """Assert that the page draws the ball with a restitution, gaps at impacts left out."""
    t, y = (np.array(x, float) for x in other.js(CURVE))
    run = ex.simulate(ex.models.bouncing_ball(), "EventDriven", e=e)
    known = np.isfinite(y)
    assert known.sum() > 40
    np.testing.assert_allclose(y[known], np.interp(t[known], run.t, run.q[:, 0]), atol=5e-3)


def test_a_static_twin_opens_from_disk_and_its_slider_moves_the_picture(other, tmp_path, shots):
    path, session = tmp_path / "ball.html", Session("bouncing_ball", "EventDriven")
    static_twin(SessionAnswer(session), {"e": [0.4, 0.6]}).save(path)
    other.open(path.as_uri())
    other.wait(DRAWN)
    height(other, 0.8)
    other.wait(INK)
    other.press(".nsx-range[data-key='rho.e']", "\ue012")  # the arrow to the left
    other.wait("document.querySelector('.nsx-field[data-key=\"rho.e\"]').value === '0.6'")
    other.wait("document.querySelector('.nsx-panel').dataset.frames > 1")
    height(other, 0.6)
    assert other.js("document.querySelector('.nsx-status').dataset.level") == "ok"
    assert other.errors == []
    shots(other.shot, f"{other.name}_twin.png")


def test_the_first_screen_of_the_tour(other, address, shots):
    other.open(address)
    other.wait(DRAWN, 60)
    other.wait("document.querySelectorAll('.nsx-g-picture[data-drawn]').length >= 8")
    shots(other.shot, f"{other.name}_tour.png")
    other.js("document.querySelector('.nsx-panel').scrollIntoView() ?? true")
    assert other.js("document.querySelector('.nsx-panel .nsx-title strong').textContent") == (
        "Bouncing ball"
    )
    # the kernel is that of all pages of this notebook, and the size of this page may be under way
    reset = "document.querySelector('.nsx-panel [data-action=\"reset\"]').click()"
    asked = other.js(f"({reset}, {ASKED})")
    other.wait(f"{SHOWN} >= {asked} && {VALUE} === 0.8")
    other.wait(INK)
    e = other.js(VALUE)
    other.js(f"window.nsxBefore = JSON.stringify({CURVE})")
    for _ in range(5):  # JupyterLab, while it starts, may take the focus away
        other.press(".nsx-range[data-key='rho.e']", "\ue012")
        with contextlib.suppress(AssertionError):
            other.wait(f"{VALUE} !== {e}", 3)
            break
    other.wait(f"JSON.stringify({CURVE}) !== nsxBefore")
    assert 0 < e - other.js(VALUE) < 0.06
    assert other.js(f"{CURVE}[1][0]") == 1
    shots(other.shot, f"{other.name}_panel.png")
    assert other.errors == []
