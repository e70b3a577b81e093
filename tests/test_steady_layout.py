"""While a slider moves plotly gets new numbers, ranges, ticks and titles, but seldom a new figure.

To build one costs a hundred milliseconds, all else a few.
"""

from __future__ import annotations

import itertools
import json

import pytest
from kinds import alike, one_of_each

from explorer.models import models
from explorer.panels import Session
from explorer.panels.answer import SessionAnswer

MOVED = {"range", "tickvals", "ticktext", "text"}  # as in plots.js
NUMBERS = {"x", "y", "meta", "name", "hovertemplate"}
STEPS = 12


def arrangement(figure: dict) -> str:
    """Return all of a figure that plotly cannot change without a new one."""

    def still(value):
        if isinstance(value, dict):
            return {k: still(v) for k, v in value.items() if k not in MOVED}
        return [still(v) for v in value] if isinstance(value, list) else value

    traces = [{k: v for k, v in trace.items() if k not in NUMBERS} for trace in figure["data"]]
    return json.dumps([still(figure["layout"]), traces], sort_keys=True, default=float)


@pytest.mark.broad
@pytest.mark.parametrize("name", one_of_each(sorted(models), alike))
def test_a_slider_that_moves_needs_few_new_figures(name):
    answer = SessionAnswer(Session(name))
    sliders = [c for group in answer.schema()["groups"] for c in group["controls"]
               if c["kind"] == "slider" and c["key"].startswith(("rho.", "x0."))]  # fmt: skip
    for control in (sliders[0], sliders[-1]):
        begin, step = control["value"], (control["high"] - control["low"]) / 80
        values = [begin + step * k for k in (*range(1, STEPS), *range(STEPS, 0, -1))]
        seen = [arrangement(answer.pull({control["key"]: min(v, control["high"])}, True)["figure"])
                for v in values]  # fmt: skip
        new = sum(a != b for a, b in itertools.pairwise(seen))
        assert new <= 0.2 * len(seen), control["key"]


def test_a_relay_has_as_few_curves_as_before():
    figure = SessionAnswer(Session("relay_feedback")).frame()["figure"]
    assert len(figure["data"]) <= 20
