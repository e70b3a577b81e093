"""A picture stays in what is saved, converted or restarted; and no button takes it away."""

from __future__ import annotations

import re
import urllib.parse
import xml.etree.ElementTree as ET

import browsers
import nbformat
import numpy as np
import plotly.graph_objects as go
import pytest
from kinds import SYSTEMS
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from playwright.sync_api import sync_playwright

import explorer as ex
from explorer.models import models
from explorer.panels import panels
from explorer.panels.basins import state as basins
from explorer.panels.orbits.state import OrbitsSession
from explorer.views.drawing.still import MOST, image, mark, still

VIEW = "application/vnd.jupyter.widget-view+json"
SVG = "{http://www.w3.org/2000/svg}"


def points(path: str) -> np.ndarray:
    """Corners of a path of a still in px."""
    at, found = np.zeros(2), []
    for kind, numbers in re.findall(r"([MLl])([-\d.,]+)", path):
        at = np.array(numbers.split(","), float) + (at if kind == "l" else 0)
        found.append(at)
    return np.array(found) / 10


# -- what is drawn --------------------------------------------------------------------------------


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(models))
def test_every_model_has_a_light_still(name):
    picture = ex.views.explore(ex.simulate(SYSTEMS[name], throw=False))
    drawn = still(picture)
    assert len(drawn) <= MOST
    tree = ET.fromstring(drawn)
    assert len(tree.findall(f".//{SVG}clipPath")) >= 2
    assert not re.search(r"nan|inf\b", re.sub(r"<text.*?</text>", "", drawn))
    assert not re.search(r"(href|src|url\()[=\"']*(?!#)\w+:", drawn)
    assert len(mark(picture)) <= 1.3 * MOST


def test_a_curve_lies_where_its_values_are():
    """Corners of a known curve, and nothing that is drawn strays from it by half a pixel."""
    t = np.linspace(0, 10, 5000)
    layout = {"xaxis": {"range": [0, 10]}, "yaxis": {"range": [-1, 1]}, "height": 400,
              "margin": {"l": 60, "r": 100, "t": 100, "b": 100}}  # fmt: skip
    figure = go.Figure({"x": t, "y": np.sin(t), "line": {"color": "#123456"}}, layout)
    tree = ET.fromstring(still(figure))
    (curve,) = [p for p in tree.iter(f"{SVG}path") if p.get("stroke") == "#123456"]
    x, y = points(curve.get("d")).T
    time, value = (x - 60) / 600 * 10, (200 - y) / 100
    assert (time[0], time[-1]) == pytest.approx((0, 10), abs=0.01)
    assert np.abs(np.interp(t, time, value) - np.sin(t)).max() < 0.01  # a pixel


@pytest.mark.parametrize(("anchored", "anchor"), [("y", "x"), ("x", "y")])
def test_a_circle_is_round_where_units_are_as_long_on_both_axes(anchored, anchor):
    """And an ellipse where they are not; whichever axis follows the other."""
    turn = np.linspace(0, 2 * np.pi, 200)
    for follows in (True, False):
        layout = {"xaxis": {"range": [-3, 3]}, "yaxis": {"range": [-3, 3]}, "height": 400}
        layout[f"{anchored}axis"] |= {"scaleanchor": anchor} if follows else {}
        figure = go.Figure(
            {"x": np.cos(turn), "y": np.sin(turn), "line": {"color": "#123456"}}, layout
        )
        tree = ET.fromstring(still(figure))
        (curve,) = [p for p in tree.iter(f"{SVG}path") if p.get("stroke") == "#123456"]
        wide, high = np.ptp(points(curve.get("d")), axis=0)
        assert (abs(wide - high) <= 1.0) == follows


def test_a_jump_is_open_in_a_still():
    run = ex.simulate(ex.models.bouncing_ball(), t_end=1.0)
    tree = ET.fromstring(still(ex.views.velocities(run)))
    (curve,) = [p for p in tree.iter(f"{SVG}path") if p.get("stroke") == "#0072B2"]
    assert curve.get("d").count("M") == 2  # one impact, two arcs


@pytest.mark.parametrize("kind", ["bar", "pie", "scatter3d"])
def test_what_a_still_cannot_draw_it_refuses(kind):
    with pytest.raises(ex.NotApplicable, match=f"no {kind}"):
        still({"data": [{"type": kind}], "layout": {}})


def test_all_cells_of_a_heat_map_are_drawn_where_they_are():
    """Plotly packs long arrays; cells lie about their centres, or between the ends that are given."""
    shades = np.arange(12.0).reshape(3, 4)
    for x in (np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 1.5, 2.5, 3.5, 4.5])):
        heat = go.Heatmap(x=x, y=np.array([10.0, 20.0, 30.0]), z=shades, colorscale="Viridis")
        figure = go.Figure(heat, {"xaxis": {"range": [0, 5]}, "yaxis": {"range": [0, 40]}})
        drawn = ET.fromstring(still(figure))
        boxes = [r for r in drawn.iter() if r.get("fill", "").startswith("rgb")]
        assert len(boxes) == 12
        left = np.unique([float(r.get("x")) for r in boxes])
        width = 760 - 80 - 20  # of the plot
        np.testing.assert_allclose(left, 81 + width * (np.arange(4) + 0.5) / 5, atol=0.1)


def test_names_of_curves_are_no_markup():
    figure = {
        "data": [{"x": [0, 1], "y": [0, 1], "name": "a<b & c", "showlegend": True}],
        "layout": {},
    }
    ET.fromstring(still(figure))


# -- where it stays -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(panels))
def test_a_panel_keeps_a_still_beside_its_view(kind):
    found = panels[kind].opens()._repr_mimebundle_()
    data = found[0] if isinstance(found, tuple) else found
    assert VIEW in data
    (address,) = re.findall(r'<img[^>]* src="([^"]*)"', data["text/html"])
    assert address.startswith("data:image/svg+xml,")
    ET.fromstring(urllib.parse.unquote(address.partition(",")[2]))
    dots = kind in ("orbits", "basins")  # an image of many dots
    assert len(data["text/html"]) <= (130_000 if dots else 50_000)


@pytest.mark.parametrize("kind", sorted(panels))
def test_a_static_page_has_the_session_and_the_picture_of_it(kind, monkeypatch):
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    monkeypatch.setattr(basins, "COARSE", ((8, 6), (4, 3)))
    monkeypatch.setattr(OrbitsSession, "columns", 9)
    panel = panels[kind].opens()
    assert type(panel) is go.Figure
    assert panel.session.state
    assert image(panel).startswith("data:")


def test_the_picture_of_a_static_page_follows_its_session(monkeypatch):
    monkeypatch.setenv("EXPLORER_STATIC", "1")
    panel = ex.explore("bouncing_ball")
    before = image(panel)
    panel.session.set(e=0.3)
    assert image(panel) != before
    assert image(panel) == image(ex.views.explore(panel.session.solution))


CELLS = [
    "import explorer as ex\nimport plotly.graph_objects as go",
    'panel = ex.explore("bouncing_ball")\npanel',
    "panel.session.set(e=0.4)\nex.views.energy(panel.session.solution)",
    "go.Figure(go.Scatter(x=[0, 1], y=[1, 0]))",
]


STATIC = 'import os\nos.environ["EXPLORER_STATIC"] = "1"'


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Return the cells as they ran alive, and without a kernel in view: one kernel runs both."""
    folder = tmp_path_factory.mktemp("still")
    cells = [nbformat.v4.new_code_cell(code) for code in (*CELLS, STATIC, *CELLS)]
    live = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(
        live,
        timeout=120,
        kernel_name="python3",
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    static = nbformat.from_dict(live)
    live.cells, static.cells = live.cells[: len(CELLS)], static.cells[-len(CELLS) :]
    static.metadata.pop("widgets")  # those of the live panel
    return {"live": live, "static": static}, folder


@pytest.fixture(params=["live", "static"])
def executed(request, both):
    notebooks, folder = both
    return notebooks[request.param], folder


def test_each_figure_of_a_notebook_keeps_a_picture(executed):
    notebook, _ = executed
    for cell in notebook.cells[1:]:
        shown = [o for o in cell.outputs if "data" in o]
        assert any("data:image/svg+xml" in o.data.get("text/html", "") for o in shown), cell.source
        assert all("text/html" in o.data for o in shown if VIEW in o.data)
        assert sum(len(o.data.get("text/html", "")) for o in shown) <= 100_000


@pytest.mark.browser
@pytest.mark.parametrize("states", [True, False])
def test_a_converted_notebook_shows_them_without_a_network(executed, states):
    """With the states of widgets in the notebook nbconvert wants a network to show them."""
    notebook, folder = executed
    copy = nbformat.from_dict(notebook)
    if not states:
        copy.metadata.pop("widgets", None)
    nbformat.write(copy, folder / "page.ipynb")
    converted, _ = HTMLExporter().from_filename(str(folder / "page.ipynb"))
    (folder / "page.html").write_text(converted, "utf-8")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browsers.found(), args=["--no-sandbox"])
        context = browser.new_context(offline=True)
        page = context.new_page()
        page.route("http*://**", lambda route: route.abort())
        page.goto(f"file://{folder / 'page.html'}")
        seen = page.evaluate(
            """async () => {
              const found = [];
              for (const one of document.querySelectorAll('img, svg image')) {
                const src = one.getAttribute('src') ?? one.getAttribute('href');
                const copy = Object.assign(new Image(), { src });
                await copy.decode();
                const box = one.getBoundingClientRect();
                if (box.width > 300 && box.height > 200 && copy.naturalWidth > 300) found.push(box.top);
              }
              return found;
            }"""
        )
        browser.close()
    assert len(seen) == len(CELLS) - 1  # each once


# -- nothing leaves the page ----------------------------------------------------------------------

BUTTONS = """(node) => [...node.querySelectorAll('.modebar-btn')].map((b) => b.getAttribute('data-title'))"""


@pytest.mark.browser
def test_no_button_sends_data_anywhere(tmp_path):
    """Each button of a figure as we give it, and of a panel's exported page, is pressed."""
    figure = ex.views.trajectory(ex.simulate(ex.models.bouncing_ball()))
    figure.write_html(tmp_path / "plain.html")
    panel = ex.explore("bouncing_ball")
    (file,) = [m for m in panel._answer.do("export_html", None) if m["type"] == "file"]
    (tmp_path / "export.html").write_text(file["text"], "utf-8")
    go.Figure(go.Scatter(y=[1, 2])).write_html(tmp_path / "control.html")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=browsers.found(), args=["--no-sandbox"])
        for name in ("plain", "export", "control"):
            page = browser.new_page()
            asked, opened = [], []
            page.on("request", lambda request, to=asked: to.append(request.url))
            page.on("popup", lambda popup, to=opened: to.append(popup.url))
            page.goto(f"file://{tmp_path / name}.html")
            page.wait_for_selector(".modebar-btn", state="attached")
            titles = page.eval_on_selector(".js-plotly-plot", BUTTONS)
            assert len(titles) >= 5
            if name == "control":  # plotly as it comes has one: the test sees it
                assert any("Share" in title for title in titles)
                continue
            assert not any(re.search("share|cloud|edit", t, re.IGNORECASE) for t in titles)
            logo = [t for t in titles if "Produced" in t]  # a link, which takes nothing along
            assert not logo or name == "plain"
            page.evaluate(
                "() => document.querySelectorAll('button.modebar-btn, .modebar-btn:not([href])').forEach((b) => b.click())"
            )
            page.wait_for_function("() => !document.querySelector('.plotly-cloud-dialog')")
            outside = [url for url in asked if url.split(":")[0] not in ("file", "data", "blob")]
            assert (outside, opened) == ([], [])
        browser.close()
