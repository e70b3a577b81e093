"""The sensitivity panel in JupyterLab: how soon it answers, and what it looks like."""

from __future__ import annotations

import nbformat
import numpy as np
import pytest
from conftest import explorer
from lab import Lab, keeps_up

pytestmark = [pytest.mark.browser, pytest.mark.quiet]

CODE = 'import explorer as ex\n\nex.explore_sensitivity("bouncing_ball")'
# the point on the curve of the cost lies at the value of the parameter that is differentiated by
POINT = """(gd) => gd._fullData.find((t) => t.name === "cost ψ" && t.mode === "markers").x[0]"""
MODELS = [("bouncing ball", "e"), ("simplest walker", "gamma"), ("five bar b", "k")]


@pytest.fixture(scope="module")
def opened(chromium, tmp_path_factory):
    home = tmp_path_factory.mktemp("sensitivity")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CODE)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    (home / "shipped").mkdir()
    nbformat.write(notebook, home / "shipped" / "00_tour.ipynb")
    with explorer(home, "--notebooks", home / "shipped") as address:
        context = chromium.new_context(viewport={"width": 1280, "height": 720})
        lab = Lab(context, address)
        yield lab
        assert lab.problems == []
        assert lab.abroad == []
        context.close()


@pytest.fixture(params=MODELS, ids=lambda m: m[0])
def slider(opened, request):
    """A panel on a model, and the slider of what it is differentiated by."""
    model, by = request.param
    opened.settle(model)
    assert opened.panel.locator('select[data-key="see.wrt"] option:checked').count() == 1
    return opened, f"rho.{by}"


def test_a_slider_is_followed(slider):
    lab, key = slider
    steps = lab.steps(key, POINT)
    median, late = np.percentile(steps, [50, 95])
    print(f"\n{lab.title()}, single step: median {median:.0f} ms, 95 % {late:.0f} ms")
    assert len(steps) >= 35  # the rest was overtaken by the picture of the release
    assert median <= 2 * 60 + 50  # 60 ms on a quiet machine; CI's may be busy


def test_a_held_key_gives_a_steady_picture(slider):
    lab, key = slider
    keeps_up(lab, key, 3, POINT)
