"""The tool that changes one operator at a time: what it counts, keeps and takes up again."""

from __future__ import annotations

import mutant_changes
import pytest
from mutant_changes import Mutant, equivalent, mutants
from mutant_trials import Found
from mutants import OPEN, Log, result_of, summary

SOURCE = """
def first(x):
    return x > 0

def second(x):
    if x > 0:
        return -x
    return 2 * x
"""


@pytest.fixture
def drawn(tmp_path, monkeypatch) -> list[Mutant]:
    """Return the mutants of a file of two functions."""
    monkeypatch.setattr(mutant_changes, "ROOT", tmp_path)
    path = tmp_path / "explorer" / "room" / "one.py"
    path.parent.mkdir(parents=True)
    path.write_text(SOURCE, "utf-8")
    return [*mutants(path)]


def test_a_mutant_is_a_line_of_a_function_that_differs(drawn):
    found = {(one.before, one.after, one.function): one.text for one in drawn}
    assert found[("x > 0", "(x >= 0)", "first")] == "return (x >= 0)"
    assert found[("x > 0", "(x >= 0)", "second")] == "if (x >= 0):"
    assert found[("2 * x", "(2 / x)", "second")] == "return (2 / x)"
    assert all(compile(one.source, "one.py", "exec") for one in drawn)


def test_what_cannot_be_seen_is_named_by_its_line_and_by_its_function(drawn, monkeypatch):
    one = next(m for m in drawn if m.after == "(2 / x)")
    for entry, told in (({}, True), ({"in": "second"}, True), ({"in": "first"}, False)):
        named = {(one.file, one.text): [{"why": "", **entry}]}
        monkeypatch.setattr(mutant_changes, "known", lambda named=named: named)
        assert equivalent(one) == told


def test_a_log_is_taken_up_where_it_ends(drawn, tmp_path, capsys):
    path = tmp_path / "log.jsonl"
    results = ["killed", "survived", OPEN, "does not end"]
    log = Log(path, again=False)
    for one, result in zip(drawn, results, strict=False):
        assert not log.tried(one)
        log.add(one, result, Found("tests/test_x.py::test", "it fails"), left=["tests/a"])
        assert log.tried(one)
    log.add(drawn[2], "killed", Found())
    results[2] = "killed"
    for again in (False, True):
        log = Log(path, again)
        assert [log.of(one).get("result") for one in drawn[:4]] == results
        assert [log.tried(one) for one in drawn[:5]] == [True, not again, True, True, False]
    log.add(drawn[1], "killed", Found())
    assert log.tried(drawn[1])


def test_a_table_adds_up(drawn):
    results = [
        ("a", "killed"),
        ("a", "survived"),
        ("b", "does not end"),
        ("b", OPEN),
        ("b", "equivalent"),
    ]
    _, *rows, last = summary(results).splitlines()
    table = {row.split()[-1]: [*map(int, row.split()[:-1])] for row in rows}
    assert table == {"a": [1, 0, 0, 1, 0, 2], "b": [0, 1, 1, 0, 1, 3], "all": [1, 1, 1, 1, 1, 5]}
    assert last == "2 of 5 mutants fail: 40.0%"
    assert summary([]).endswith("0 of 0 mutants fail: 0.0%")


def test_only_a_test_that_does_not_pass_kills(drawn):
    assert result_of(Found("tests/test_x.py::test", "it fails"), drawn[0]) == "killed"
    assert result_of(Found("tests/test_x.py::test", "it ends the process"), drawn[0]) == "killed"
    assert result_of(Found("tests/test_x.py::test", "it does not end"), drawn[0]) == "does not end"
    assert result_of(Found("", "no time is left"), drawn[0]) == "survived"
