"""The hand on the mechanism, in JupyterLab."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.browser


def middle(lab) -> tuple[float, float]:
    """Where the first body of the mechanism is on the page."""
    box = lab.panel.locator(".nsx-grip").first.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def typed(lab, key: str) -> float:
    """Return what a field says, in m or m/s: of small numbers it says mm."""
    number, _, unit = lab.field(key).input_value().partition(" ")
    return float(number) * (1e-3 if unit.startswith("mm") else 1.0)


def test_the_ball_is_grabbed_and_thrown(lab, shots):
    lab.panel.locator(".nsx-scrub").fill("0")
    mouse, (x, y), before = lab.page.mouse, middle(lab), typed(lab, "rho.y0")
    mouse.move(x, y)
    mouse.down()
    for k in range(1, 11):
        with lab.answered():
            mouse.move(x, y + 6 * k)
    lab.rests()
    assert middle(lab) == pytest.approx((x, y + 60), abs=2)  # it is where the pointer is
    lab.page.wait_for_timeout(150)  # it rests: it is put down
    with lab.answered():
        mouse.up()
    lab.rests()
    lowered = typed(lab, "rho.y0")
    assert 0.1 < lowered < before - 0.1
    shots(lab.panel.screenshot, "grabbed.png")
    assert typed(lab, "v0.y") == 0  # put down, not thrown
    for _ in range(5):  # where the machine is busy the last move may come long before the release
        x, y = middle(lab)
        mouse.move(x, y)
        mouse.down()
        for k in range(1, 7):
            mouse.move(x, y - 30 * k)
        mouse.up()
        lab.rests()
        if lab.panel.locator(".nsx-play").get_attribute("aria-label") == "Pause":
            break
        with lab.answered():
            lab.action("undo").click()
    assert typed(lab, "v0.y") > 0.5  # upwards, and it plays
    lab.panel.locator(".nsx-play").click()
    lab.rests()
    for y0 in (lowered, before):  # each gesture is one step
        with lab.answered():
            lab.action("undo").click()
        assert typed(lab, "rho.y0") == pytest.approx(y0)


def test_a_body_is_moved_by_the_arrow_keys_and_stops_at_the_floor(lab):
    grip = lab.panel.locator(".nsx-grip").first
    assert "arrow keys" in grip.get_attribute("aria-label")
    lab.panel.locator(".nsx-scrub").fill("0")
    before = typed(lab, "rho.y0")
    with lab.answered():
        grip.press("ArrowUp")
    lab.rests()
    assert typed(lab, "rho.y0") > before
    for _ in range(4):
        with lab.answered():
            grip.press("Shift+ArrowDown")
    for _ in range(12):
        if typed(lab, "rho.y0") == 0:
            break
        with lab.answered():
            grip.press("Shift+ArrowDown")
        lab.rests()
    assert typed(lab, "rho.y0") == 0
    lab.wait("() => document.querySelector('.nsx-status').textContent.includes('nearest possible')")
