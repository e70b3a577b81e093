"""The numbers of the whole gallery are those of tests/data/numbers.json.

What is right about them other tests say; this one says that they have not changed. They change on
purpose only: ``python tests/stored_cases.py --write``.
"""

from __future__ import annotations

import pytest
from stored_cases import groups
from stored_numbers import differences, read, still

STORED = read()
CASES = groups(STORED["spans"], STORED["numbers"])
GROUPS = {  # what is added later has no numbers until they are written
    kind: {name: case for name, case in cases.items() if f"{kind}: {name}" in STORED["numbers"]}
    for kind, cases in CASES.items()
}
COVERS = ("derivatives", "kernels", "optimise", "study", "views/drawing")  # see mutant_rooms.py


def check(kind: str, name: str) -> None:
    """Run one case and compare."""
    found = differences(GROUPS[kind][name](still), STORED["numbers"][f"{kind}: {name}"])
    assert not found, f"{kind} of {name}: {len(found)} numbers have changed, {'; '.join(found[:5])}"


def one_by_one(kind: str):
    return pytest.mark.parametrize("name", GROUPS[kind], ids=lambda name: name.replace(" ", "-"))


@one_by_one("short")
def test_a_short_run(name):
    check("short", name)


@one_by_one("options")
def test_a_short_run_with_an_option(name):
    check("options", name)


@one_by_one("derivative")
def test_derivatives(name):
    check("derivative", name)


@one_by_one("other")
def test_other_systems(name):
    check("other", name)


@one_by_one("slope")
def test_derivatives_of_other_systems(name):
    check("slope", name)


@one_by_one("study")
def test_a_study(name):
    check("study", name)


@one_by_one("search")
def test_a_search(name):
    check("search", name)


@one_by_one("picture")
def test_pictures(name):
    check("picture", name)


@pytest.mark.parametrize("part", range(6))
@pytest.mark.parametrize("kind", ["whole", "preset"])
def test_longer_runs(kind, part):
    """In parts: where nothing is compiled, they take too long."""
    for name in [*GROUPS[kind]][part::6]:
        check(kind, name)


def test_every_number_has_its_run():
    """What is no longer run is no longer stored."""
    assert {f"{kind}: {name}" for kind in GROUPS for name in GROUPS[kind]} == {*STORED["numbers"]}
