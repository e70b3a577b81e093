"""The gallery is searched by words, and the card of a model says what is known of it."""

from __future__ import annotations

import re

import pytest
from loops import for_each

import explorer as ex
from explorer.errors import BadValue
from explorer.models import GROUPS, models
from explorer.models.searching import Found, _built, found
from explorer.references import entry
from explorer.systems.card import card


@for_each("group", GROUPS)
def test_a_group_is_found_by_its_name(group):
    members = {name for name, build in models.items() if getattr(build, "group", "") == group}
    assert members <= set(ex.models.search(group))


def test_a_name_stands_first():
    for name in ("bouncing_ball", "chua", "tent_map", "five_bar_a"):
        assert next(iter(ex.models.search(name.replace("_", " ")))) == name


def test_all_words_have_to_be_there():
    """What is found for two words is what both find."""
    both = set(ex.models.search("impact chaos"))
    assert both == set(ex.models.search("impact")) & set(ex.models.search("chaos"))
    assert both == set(ex.models.search("impact").search("chaos"))
    assert 0 < len(both) < len(ex.models.search("chaos"))


def test_endings_and_beginnings_of_words_are_found():
    assert set(ex.models.search("chaotic")) == set(ex.models.search("CHAOS"))
    assert "simplest_walker" in ex.models["chaos"]  # which says "chaotic"
    assert "duffing" in ex.models["oscillat"]
    assert "bouncing_ball" not in ex.models["friction"]


def test_sources_presets_and_numbers_are_searched():
    assert "stack" in ex.models["Moreau"]
    assert "bouncing_ball" in ex.models["superball"]
    assert "bouncing_ball" in ex.models["Zeno time"]


def test_a_result_is_a_mapping_with_a_table():
    result = ex.models["friction belt"]
    assert isinstance(result, Found)
    assert result["stick_slip"] is models["stick_slip"]
    assert list(result) == list(dict(result))
    lines = repr(result).splitlines()
    assert lines[0] == f"{len(result)} models for 'friction belt':"
    assert [line.split()[0] for line in lines[1:]] == list(result)
    table = result._repr_html_()
    assert table.count("<tr>") == 1 + len(result)
    for head in ("what it shows", "number", "presets", "source"):
        assert head in table
    with pytest.raises(BadValue, match="not among the models that were found"):
        result["bouncing_ball"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "needs a word"),
        (" ,.", "needs a word"),
        ("frcition", "Did you mean 'friction'"),
        ("walking circuit", "No model has all of"),
    ],
)
def test_what_is_not_found_is_said(words, said):
    with pytest.raises(BadValue, match=said):
        ex.models.search(words)


def test_the_gallery_lists_its_names():
    assert [*ex.models] == [*models]
    assert len(ex.models) == len(models)
    assert "bouncing_ball" in ex.models
    assert "nobody" not in ex.models
    for wrong in (0, None):
        with pytest.raises(ex.BadValue, match="A search needs a word"):
            ex.models[wrong]


def test_own_models_are_searched_too():
    def slinky() -> ex.MechanicalSystem:
        return ex.MechanicalSystem("slinky", q="x", text="A spring walks down the stairs.")

    assert list(found("stairs", {"slinky": slinky})) == ["slinky"]


@pytest.mark.broad
@pytest.mark.parametrize("name", sorted(models))
def test_a_card_has_all_numbers_presets_and_sources(name):
    system = _built(name, models[name])
    shown = re.sub(r"\\(.)", r"\1", system._repr_markdown_())
    assert shown.startswith(re.sub(r"\\(.)", r"\1", system.equations_markdown()))
    known = re.sub(r"\\(.)", r"\1", card(system))
    assert shown.endswith(known)
    for what in (*system.published, *system.presets):
        assert f"- {what}: " in known
    for key in system.sources:
        assert re.sub(r"\\(.)", r"\1", entry(key).markdown) in known
    assert ("system.exact" in known) == (system.exact is not None)


def test_a_number_of_a_card_is_the_published_one():
    ((value, _, source),) = ex.models.bouncing_ball().published.values()
    assert f": {value:.10g} ({source})" in card(ex.models.bouncing_ball())


def test_a_system_of_which_nothing_is_known_has_no_card():
    own = ex.MechanicalSystem("own", q="x", force="-x")
    assert card(own) == ""
    assert own._repr_markdown_() == own.equations_markdown()
    own.references = ("no-such-key",)
    assert "no-such-key" in card(own)
