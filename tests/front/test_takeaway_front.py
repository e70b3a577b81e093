"""Pictures and films that are taken away: whole files, with what they were made with."""

import re
import sys
import zlib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from explorer import panels
from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

sys.path.insert(0, str(Path(__file__).parent))
from stage import Stage
from stages import context

import explorer as ex

pytestmark = pytest.mark.browser
TO = "(part) => { const r = document.querySelector('.nsx-scrub'); r.value = part * r.max; "
TO += "r.dispatchEvent(new Event('input')); }"


@pytest.fixture(scope="module")
def stage():
    with context() as one:
        page = one.new_page()
        blank = {"body": "<!doctype html>", "content_type": "text/html"}
        page.route("http://localhost/", lambda route: route.fulfill(**blank))
        page.goto("http://localhost/")  # browsers encode films on safe pages only
        session = Session("bouncing_ball", e=0.75)
        session.set(t_end=0.6)
        yield Stage(page, SessionAnswer(session)).open()


def taken(stage, kind: str) -> bytes:
    stage.page.click(".nsx-menu summary")
    with stage.page.expect_download(timeout=30000) as download:
        stage.page.click(f"[data-action=export_{kind}]")
    assert download.value.suggested_filename == f"bouncing_ball.{kind}"
    assert stage.errors == []
    return Path(download.value.path()).read_bytes()


def test_the_svg_names_model_numbers_scheme_and_version_and_draws_both_parts(stage):
    stage.js(TO, 0.5)
    root = ElementTree.fromstring(taken(stage, "svg"))
    said = " ".join(text.strip() for text in root.itertext() if text.strip())
    version = f"nonsmooth-explorer {ex.__version__}"
    for words in (
        "Bouncing ball",
        "e = 0.75",
        "t_end = 0.6 s",
        "y\u2080 = 1 m",
        "MoreauJean",
        version,
        "t = 0.30",
    ):
        assert words in said, words
    assert "y (m)" in said, "the titles of the plots"
    paths = [p for p in root.iter() if p.tag.endswith("}path")]
    assert any(p.get("fill", "").lower() == "#0072b2" for p in paths), "the ball, in lines"
    assert not [p for p in paths if "NaN" in p.get("d", "")]


def test_the_png_is_three_times_as_sharp_and_the_pdf_holds_the_same(stage):
    png, pdf = taken(stage, "png"), taken(stage, "pdf")
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    size = [int.from_bytes(png[16 + 4 * k : 20 + 4 * k], "big") for k in range(2)]
    box = stage.page.locator(".nsx-plots").bounding_box()
    assert size[0] > 3 * box["width"]
    assert pdf.startswith(b"%PDF-1.4")
    table = pdf[int(re.search(rb"startxref\n(\d+)", pdf)[1]) :]
    places = [int(row) for row in re.findall(rb"(\d{10}) 00000 n", table)]
    assert len(places) == 5
    for number, place in enumerate(places, 1):
        assert pdf[place:].startswith(b"%d 0 obj" % number)
    wide, high = (int(re.search(rb"/%s (\d+)" % k, pdf)[1]) for k in (b"Width", b"Height"))
    assert [wide, high] == size
    length = int(re.search(rb"/FlateDecode /Length (\d+)", pdf)[1])
    begin = pdf.index(b"stream\n", places[4]) + len(b"stream\n")
    pixels = np.frombuffer(zlib.decompress(pdf[begin : begin + length]), np.uint8)
    pixels = pixels.reshape(high, wide, 3)
    assert (pixels[0, 0] == 255).all(), "white paper"
    blue = (np.abs(pixels.astype(int) - [0, 0x72, 0xB2]).max(axis=2) < 8).mean(axis=0)
    assert blue[: wide // 2].any(), "curves"
    assert blue[int(0.7 * wide) :].any(), "the mechanism"


def test_the_gif_shows_the_ball_fall(stage):
    """Decoded here, by the algorithm of the format."""
    frames, size, delay = decoded(taken(stage, "gif"))
    assert len(frames) == 12, "20 pictures a second"
    assert delay == 5
    assert size[0] == 480
    heights = []
    for picture in frames:
        blue = np.abs(picture.astype(int) - [0x18, 0x80, 0xB8]).max(axis=2) < 40
        heights.append(np.nonzero(blue.sum(axis=1) > 5)[0].mean())
    fall = np.array(heights[:8])
    times = np.linspace(0, 0.6, 12)[:8]
    fitted = np.polyfit(times**2, fall, 1)
    assert fitted[0] > 0
    assert np.abs(np.polyval(fitted, times**2) - fall).max() < 2.5, "pixels; it falls as t squared"


def test_the_webm_plays_for_as_long_as_the_run(stage):
    film = taken(stage, "webm")
    assert film[:4] == b"\x1a\x45\xdf\xa3"
    seen = stage.js(
        """async (bytes) => {
          const video = document.createElement("video");
          video.src = URL.createObjectURL(new Blob([new Uint8Array(bytes)], {type: "video/webm"}));
          await new Promise((go, stop) => { video.onloadeddata = go; video.onerror = stop; });
          video.currentTime = 1e6;
          await new Promise((go) => { video.onseeked = go; });
          return [video.videoWidth, video.currentTime];
        }""",
        list(film),
    )
    assert seen[0] == 1280
    assert seen[1] == pytest.approx(0.6, abs=0.05)


def test_a_browser_without_webm_makes_a_gif_and_says_so(stage):
    stage.js("() => { window.Encoder = VideoEncoder; window.VideoEncoder = undefined; }")
    try:
        stage.page.click(".nsx-menu summary")
        with stage.page.expect_download(timeout=30000) as download:
            stage.page.click("[data-action=export_webm]")
        assert download.value.suggested_filename == "bouncing_ball.gif"
        text = "() => document.querySelector('.nsx-said').textContent.includes('makes no WebM')"
        stage.page.wait_for_function(text, timeout=8000)
    finally:
        stage.js("() => { window.VideoEncoder = window.Encoder; }")


def decoded(data: bytes) -> tuple[list[np.ndarray], tuple[int, int], int]:
    """Return the pictures of a GIF, (high, wide, 3) each, its size, and the delay of the last."""
    assert data[:6] == b"GIF89a"
    wide, high = (int.from_bytes(data[k : k + 2], "little") for k in (6, 8))
    colours = np.frombuffer(data[13 : 13 + 768], np.uint8).reshape(256, 3)
    at, frames, delay, canvas = 13 + 768, [], 0, np.zeros((high, wide), np.uint8)
    while data[at] != 0x3B:
        if data[at] == 0x21:
            if data[at + 1] == 0xF9:
                delay = int.from_bytes(data[at + 4 : at + 6], "little")
            _, at = blocks(data, at + 2)
            continue
        assert data[at] == 0x2C
        x, y, w, h = (int.from_bytes(data[at + k : at + k + 2], "little") for k in (1, 3, 5, 7))
        packed, at = blocks(data, at + 11)
        canvas = canvas.copy()
        canvas[y : y + h, x : x + w] = np.frombuffer(unpacked(packed, w * h), np.uint8).reshape(
            h, w
        )
        frames.append(colours[canvas])
    return frames, (wide, high), delay


def blocks(data: bytes, at: int) -> tuple[bytes, int]:
    parts = []
    while data[at]:
        parts.append(data[at + 1 : at + 1 + data[at]])
        at += 1 + data[at]
    return b"".join(parts), at + 1


def unpacked(packed: bytes, count: int) -> bytes:
    """LZW of GIF, appendix F of its specification."""
    bits = int.from_bytes(packed, "little")
    out, table, size, before = bytearray(), {}, 9, b""
    while True:
        code, bits = bits & ((1 << size) - 1), bits >> size
        if code == 256:
            table = {k: bytes([k]) for k in range(256)} | {256: b"", 257: b""}
            size, before = 9, b""
            continue
        if code == 257:
            assert len(out) == count
            return bytes(out)
        now = table[code] if code in table else before + before[:1]
        out += now
        if before and len(table) < 4096:
            table[len(table)] = before + now[:1]
            if len(table) == 1 << size and size < 12:
                size += 1
        before = now


def test_a_copied_link_opens_the_same_state_and_names_nobody(stage):
    stage.js("""() => { window.copied = [];
      document.execCommand = () => { window.copied.push(document.activeElement.value); return true; };
      Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }); }""")
    stage.page.click(".nsx-menu summary")
    stage.page.click("[data-action=copy_link]")
    stage.page.wait_for_function("() => window.copied.length")
    link = stage.js("() => window.copied[0]")
    assert link.startswith("http://localhost/?nsx=")
    assert "token" not in link
    with context() as another:
        page = another.new_page()
        blank = {"body": "<!doctype html>", "content_type": "text/html"}
        page.route("http://localhost/**", lambda route: route.fulfill(**blank))
        page.goto(link)
        other = Stage(page, SessionAnswer(Session("bouncing_ball"))).open()
        assert other.answer.session.state["rho"]["e"] == 0.75
        assert other.answer.session.state == stage.answer.session.state
        assert page.locator('input[type=text][data-key="rho.e"]').input_value() == "0.75"
        assert other.errors == []


def test_the_first_panel_of_a_page_takes_the_link_whatever_comes_first():
    """Where the code of a later panel came sooner, it has taken it too; nobody takes it twice."""
    front = Path(panels.__file__).parent / "front"
    link = "http://localhost/?nsx=e30"  # {}

    def answer(route):
        name = route.request.url.split("?")[0].rpartition("/")[2]
        kind = "text/javascript" if name else "text/html"
        route.fulfill(body=(front / name).read_text("utf-8") if name else "", content_type=kind)

    with context() as room:
        for order, taken in (("012", "0"), ("210", "210"), ("120", "10"), ("00", "0")):
            page = room.new_page()
            page.route("http://localhost/**", answer)
            page.goto(link)
            found = page.evaluate(
                """async (order) => {
                  const { stateInLink } = await import("/share.js");
                  document.body.innerHTML = "<p></p>".repeat(3);
                  const places = [...document.body.children];
                  return [...order].filter((k) => stateInLink(places[k]) === "{}").join("");
                }""",
                order,
            )
            assert found == taken, order
            page.close()
