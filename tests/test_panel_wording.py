"""The words of the panels: symbols are written as such, names stay names, every text is shown."""

from __future__ import annotations

import pytest
import sympy as sp

from explorer.models import models
from explorer.panels import Session, panels
from explorer.panels.controls import groups
from explorer.panels.wording import beside, choice_name, news, plain, prose
from explorer.quantities import like_unit
from explorer.systems.display import latex
from explorer.views.drawing.picture import label


def test_symbols_get_indices_and_names_do_not():
    assert prose("place of q_star") == "place of q<sub>*</sub>"
    assert prose("u1 = 1; x_2 < 0") == "u<sub>1</sub> = 1; x<sub>2</sub> &lt; 0"
    assert plain(prose("a < b > c & d")) == "a < b > c & d"
    assert prose("table acceleration A omega^2 / g") == "table acceleration A ω² / g"
    assert label("v_R1") == "v<sub>R1</sub>"
    for name in ("CBF1", "GAL80", "slip2", "speed0"):
        assert label(name) == name
    for name, shown in {
        "mH": "m<sub>H</sub>",
        "kN": "k<sub>N</sub>",
        "Hz": "H<sub>z</sub>",
    }.items():
        assert label(name) == shown  # no parameter is read as a unit ...
    assert prose("10 ms, 3 kN") == "10 ms, 3 kN"  # ... but a unit is
    assert latex(sp.Symbol("mH") * sp.Symbol("l")) == "l m_{H}"
    assert choice_name("radau_iia") == "Radau IIA"


def test_a_word_gives_way_to_the_text_that_holds_it():
    assert beside("turn", "start speed of the turn") == ("start speed of the turn", "")
    assert beside("e", "restitution of the corners") == ("e", "restitution of the corners")


@pytest.mark.broad
@pytest.mark.parametrize("model", sorted(models))
def test_every_parameter_is_explained_beside_its_symbol_which_is_no_unit(model):
    session = Session(model)
    shown = {c["key"]: c for g in groups(session) for c in g["controls"]}
    for name, param in {**session.system.parameters, **session.system.sizes}.items():
        control = shown.get(f"rho.{name}") or shown[f"size.{name}"]
        assert not like_unit(control["label"])
        assert plain(prose(param.text)) in plain(f"{control['label']} {control['beside']}")


def test_the_words_of_the_table_are_written_as_symbols():
    rows = panels["explore"](Session("diode_bridge"))._answer.frame()["table"]["rows"]
    assert rows[0][1:3] == [
        "opens v<sub>R1</sub>",
        "v<sub>R1</sub>, i<sub>F1</sub> &gt; 0 → v<sub>F2</sub>, i<sub>R2</sub> &gt; 0",
    ]


def test_a_change_of_mode_is_told_by_what_changes():
    assert news("x > 0, y > 0 → x > 0, y < 0") == "y > 0 → y < 0"
    for same in ("0 → 0", "impact left, 2", "−4.43 → 3.1", "on → off", "v, i > 0 → w, j > 0"):
        assert news(same) == same
    rows = panels["explore"](Session("irma"))._answer.frame()["table"]["rows"]
    assert rows[0][2] == "CBF1 &gt; 0.04 → CBF1 &lt; 0.04"
