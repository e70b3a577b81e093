"""The panel as a page without code: Voila."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import nbformat
import pytest
from conftest import free_port, served
from lab import Lab

from explorer.book.address import opens
from explorer.panels import Session

pytestmark = pytest.mark.browser

CODES = ("import explorer as ex\n\nex.gallery()", 'ex.explore("bouncing_ball", e=0.5)')
# Voila looks for other widgets' code on the network, which is not there
TOLERATED = ("requirejs", "Script error", "require is not defined", "NAME_NOT_RESOLVED")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    home = tmp_path_factory.mktemp("voila")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CODES])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, home / "page.ipynb")
    port = free_port()
    command = ["-m", "voila", home / "page.ipynb", "--no-browser", "--port", port]
    with served(command, home, "http://"):
        yield f"http://127.0.0.1:{port}/"


def test_a_page_without_code_is_alive(page, chromium, shots):
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    lab = Lab(context, page, tolerated=TOLERATED)
    assert lab.field("rho.e").input_value() == "0.5"
    before = lab.state()
    with lab.answered():
        lab.slider("rho.y0").press("ArrowRight")
    assert lab.state() != before
    assert lab.curve("y")[0] == pytest.approx(1.02, rel=1e-6)
    shots(lab.panel.screenshot, "voila.png")
    assert lab.problems == []
    context.close()


def test_the_button_of_a_model_in_the_book_opens_this_model(page, chromium):
    """The gallery is the first panel of the page; the address is that behind ``urlpath``."""
    whole = opens("https://live.example/?urlpath=", Session("chua").to_json())
    (asked,) = parse_qs(urlsplit(whole).query)["urlpath"]
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    lab = Lab(context, page + asked, tolerated=TOLERATED)
    opened = lab.page.locator(".nsx-g-host .nsx-panel .nsx-title strong")
    opened.wait_for(timeout=20_000)
    assert "Chua" in opened.inner_text()
    assert lab.problems == []
    context.close()
