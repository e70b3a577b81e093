"""Every public name of one release ago is there, or an ImportError says where it is or why not."""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import explorer as ex
from explorer.moved import gone, moved, moved_names

LINES = (Path(__file__).parent / "data" / "old_names.txt").read_text("utf-8").splitlines()[1:]
OLD = {line.partition(":")[0]: line.partition(":")[2].split() for line in LINES}
REASONS = gone()


def refused(statement):
    """Return what an import is refused with, "" if it is not."""
    try:
        exec(statement, {})
    except ImportError as error:
        return str(error)
    return ""


def stands(place):
    """Whether a dotted name is a module, or a name in one."""
    try:
        pkgutil.resolve_name(place)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.parametrize("module", OLD)
def test_a_module_of_one_release_ago_is_there_or_named(module):
    said = refused(f"import {module}")
    if said:
        now = re.match(rf"{module} has moved to (explorer[\w.]+)\.$", said, re.MULTILINE)
        assert now is not None, said
        assert stands(now[1]), said


@pytest.mark.parametrize("module", [module for module in OLD if OLD[module]])
def test_a_name_of_one_release_ago_is_there_or_named(module):
    """Where a module has moved, and a name of it is elsewhere, the sentence has both."""
    for name in OLD[module]:
        said = refused(f"from {module} import {name}")
        if not said:
            continue
        told = re.search(rf"{module}\.{name} is (explorer[\w.]+) now\.", said)
        if told:
            assert stands(told[1]), said
        elif f"{module}.{name}" in REASONS:
            assert f"{module}.{name} is gone: {REASONS[f'{module}.{name}']}" in said
        else:
            now = re.match(rf"{module} has moved to (explorer[\w.]+)\.$", said, re.MULTILINE)
            assert now is not None, said
            assert hasattr(importlib.import_module(now[1]), name), said


def test_nothing_is_listed_that_was_not_there():
    for name in (*moved_names(), *REASONS):
        module, _, last = name.rpartition(".")
        assert last in OLD[module], name
        assert (name in moved_names()) != (name in REASONS), name
    assert {*moved()} <= {*OLD, "explorer.sensitivity"}


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        ("import explorer.sensitivity", "explorer.derivatives."),
        ("import explorer.sensitivity.direct", "explorer.derivatives.direct."),
        ("from explorer.sensitivity.doubts import judged", "explorer.derivatives.judge.judged "),
        ("from explorer.schemes import continuations", "explorer.runs.fesd.continuations."),
        ("from explorer.trajectory import Trajectory", "it is explorer.Solution now"),
        ("from explorer.panels.explore import SessionAnswer", "explorer.panels.answer."),
        ("from explorer.systems.expressions import vector", "explorer.systems.arrays.vector "),
        ("import explorer.systems.expressions as e; e.vector", "explorer.systems.arrays.vector "),
        ("from explorer.kernels.friction import STICK", "explorer.kernels.friction.single_contact."),
        ("from explorer import Trajectory", "explorer.Solution now"),
    ],
)  # fmt: skip
def test_ways_to_import_are_told_the_place(statement, place):
    assert place in refused(statement)


def test_what_never_was_is_told_as_ever():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        importlib.import_module("explorer.systems.expressions").nonsense
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("explorer.systems.nonsense")
    assert ex.views.phase_plane.__module__ == "explorer.views.phase_plane"
