"""Figures outside of the panels: legible on the pages of light and of dark notebooks."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

import explorer as ex
from explorer.panels import Session, panels
from explorer.views.drawing.picture import HEIGHT, INK

GROUNDS = {"light": "#ffffff", "dark": "#111111"}  # of JupyterLab


def lightness(colour):
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts > 0.04045, ((parts + 0.055) / 1.055) ** 2.4, parts / 12.92)
    return linear @ [0.2126, 0.7152, 0.0722] + 0.05


@pytest.fixture(scope="module")
def figure():
    return ex.views.phase_plane(ex.simulate(ex.models.switched_oscillator()))


def test_a_figure_has_no_ground_of_its_own(figure):
    template = figure.layout.template.layout
    assert template.paper_bgcolor == template.plot_bgcolor == "rgba(0,0,0,0)"
    assert figure.layout.paper_bgcolor is None, "so that a template of the user's takes over"


@pytest.mark.parametrize("ground", GROUNDS.values())
def test_its_ink_is_legible_on_both_grounds(figure, ground):
    inks = {figure.layout.template.layout.font.color}
    inks |= {t.line.color for t in figure.data if t.name == "run"}
    for ink in inks:
        low, high = sorted([lightness(ink), lightness(ground)])
        assert high / low >= 4.3


def test_a_figure_is_as_tall_as_its_words_need(figure):
    assert figure.layout.height == HEIGHT
    frozen = ex.simulate(ex.models.bouncing_ball(), ex.FESD(h=0.05), t_end=1)
    assert ex.views.pseudo_time(frozen).layout.height == 560, "what a view asks for itself"


def test_nothing_is_drawn_in_black(figure):
    order = ex.study.order_diagram(ex.models.switched_oscillator(), h=[0.1, 0.05])
    for one in (figure, ex.views.work_precision(order),
                ex.views.regions(ex.models.switched_oscillator())):  # fmt: skip
        for trace in one.data:
            assert INK not in (trace.line.color, trace.marker.color)


def test_a_template_of_the_users_takes_its_place(figure):
    dark = go.Figure(figure).update_layout(template="plotly_dark")
    assert dark.layout.template.layout.paper_bgcolor == "rgb(17,17,17)"


@pytest.mark.parametrize("panel", ["explore", "sensitivity", "order", "stability"])
def test_a_saved_page_is_black_on_white(panel):
    model = "switched_oscillator" if panel == "order" else "bouncing_ball"
    answer = panels[panel](Session(model))._answer
    page = next(m["text"] for m in answer.do("export_html", None) if m["type"] == "file")
    assert '"paper_bgcolor":"white"' in page
    assert '"paper_bgcolor":"rgba(0,0,0,0)"' not in page
