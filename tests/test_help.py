"""`help` of the package is one screen, that of a scheme opens with what one wants to know."""

from __future__ import annotations

import doctest
import inspect
import operator
import pydoc
import re

import pytest

import explorer as ex
from explorer.references import library
from explorer.schemes import schemes


@pytest.mark.parametrize("name", schemes)
def test_help_of_a_scheme_opens_with_its_equation_its_source_and_an_example(name):
    text = inspect.getdoc(schemes[name])
    opening = text.partition("\nParameters\n---")[0]
    equation, source, example = opening.find("::\n"), opening.find("Source:"), opening.find(">>>")
    assert 0 < equation < source < example, name
    assert "=" in opening[equation:source]
    dois = {library()[key]["doi"] for key in schemes[name].references} - {""}
    assert any(f"doi:{doi}" in opening[source:example] for doi in dois)
    examples = doctest.DocTestParser().get_examples(opening)
    assert any("simulate(" in e.source and name in e.source for e in examples)
    assert any(e.want for e in examples)


def test_help_of_the_package_is_one_screen():
    page = pydoc.render_doc(ex, renderer=pydoc.plaintext).splitlines()
    assert len(page) <= 40
    assert max(map(len, page)) <= 100
    named = set(re.findall(r"\bex\.(\w+(?:\.\w+)?)", "\n".join(page)))
    wanted = {"simulate", "views.trajectory", "explore", "sensitivity", "models.models", "cite"}
    assert wanted | {"schemes_for", "load", "study.limit_cycle"} < named
    for name in named:  # all of them exist
        operator.attrgetter(name)(ex)
    assert len(dir(ex)) > 50


def test_the_schemes_are_a_table_and_names():
    import explorer as ex

    assert {"MoreauJean", "FESD"} <= {*dir(ex.schemes)}
    assert ex.schemes.MoreauJean is ex.MoreauJean
    assert all(f">{name}<" in ex.schemes._repr_html_() for name in schemes)
    with pytest.raises(AttributeError, match="Did you mean 'MoreauJean'"):
        _ = ex.schemes.MoreuJean
