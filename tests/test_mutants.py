"""The tool that changes one operator at a time: what it counts, keeps and takes up again."""

from __future__ import annotations

from types import SimpleNamespace

import mutant_changes
import pytest
from mutant_changes import ROOT, Mutant, equivalent, known, mutants
from mutant_trials import OUT_OF_TIME, Found, Trial
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
        ("b", OUT_OF_TIME),
    ]
    _, *rows, last = summary(results).splitlines()
    table = {row.split()[-1]: [*map(int, row.split()[:-1])] for row in rows}
    a, b = [1, 0, 0, 1, 0, 0, 2], [0, 1, 1, 0, 1, 1, 4]
    assert table == {"a": a, "b": b, "all": [n + m for n, m in zip(a, b, strict=True)]}
    assert last == "2 of 6 mutants fail: 33.3%"
    assert summary([]).endswith("0 of 0 mutants fail: 0.0%")


def test_what_serves_begins_with_the_project_as_it_stands(drawn, tmp_path, monkeypatch):
    """Else the file of the first mutant would be taken as changed ever after."""
    path, seen = tmp_path / "explorer" / drawn[0].file, []

    class Served:
        def ask(self, mutant, names, seconds):
            seen.append(path.read_text("utf-8") == mutant.source)
            return {"killer": "a", "why": "it fails", "left": []} if len(seen) > 1 else None

        def close(self):
            seen.append("closed")

    def server(self, compiled):
        assert path.read_text("utf-8") == SOURCE
        return self.served.setdefault(compiled, Served())

    monkeypatch.setattr(Trial, "server", server)
    trial = Trial(SimpleNamespace(folder=tmp_path), {drawn[0]: []}, 1.0)
    assert trial.quick(drawn[0]) == (Found("a", "it fails"), [])
    assert seen == [True, "closed", True]
    assert path.read_text("utf-8") == SOURCE


def test_only_a_test_that_does_not_pass_kills(drawn):
    assert result_of(Found("tests/test_x.py::test", "it fails"), drawn[0]) == "killed"
    assert result_of(Found("tests/test_x.py::test", "it ends the process"), drawn[0]) == "killed"
    assert result_of(Found("tests/test_x.py::test", "it does not end"), drawn[0]) == "does not end"
    assert result_of(Found(), drawn[0]) == "survived"
    assert result_of(Found("", OUT_OF_TIME), drawn[0]) == OUT_OF_TIME


def test_what_no_test_can_kill_is_a_mutant():
    """Each of them still stands in the code, in the function that is named."""
    there = {
        (file, one.text, one.function)
        for file in {file for file, _ in known()}
        for one in mutants(ROOT / "explorer" / file)
        if (file, one.text) in known()
    }
    stale = [
        one
        for (file, line), entries in known().items()
        for one in entries
        if not any(
            (file, line) == (other, text) and one.get("in", name) == name
            for other, text, name in there
        )
    ]
    assert not stale, f"no mutant of today: {stale}"
