"""The tool that changes one operator at a time: what it counts, keeps and takes up again."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import mutant_changes
import numpy as np
import pytest
from mutant_changes import ROOT, Mutant, equivalent, known, mutants
from mutant_direct import Known, direct, plainly
from mutant_rooms import FEW, Rooms, said
from mutant_server import Server, caches_of
from mutant_trials import OUT_OF_TIME, Found, Trial, limited, worked
from mutants import OPEN, Log, result_of, summary
from plain import plain

import explorer as ex
from explorer.study import parts

kernels = plain("friction.contact_modes")

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


def test_an_axis_takes_what_is_left_by_any_negative_number(drawn):
    assert np.zeros(6).reshape(-2, 3).shape == (2, 3)
    for line, told in (("y = x.reshape(-2, 3)", True), ("y = x.reshape(-2)", True), ("y = x.reshape(-20)", False), ("y = x.reshape(2, n)", False)):  # fmt: skip
        assert equivalent(drawn[0]._replace(source=line, line=1)) == told


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


# ---------------------------------------------------------------- which tests come first


def by_helper():
    return kernels.unknowns


def by_plain():
    return plain("maps.tangents")


def by_module():
    return [parts.run_chain for _ in "a"]


def by_chain():
    return ex.study.basins


def by_class():
    return parts.Question


@pytest.fixture
def server(tmp_path):
    """Return a server of one test whose children are scripted, and of one file."""
    one = object.__new__(Server)
    one.known, one.folder = Known(), str(tmp_path / "explorer")
    one.session = SimpleNamespace(items=[SimpleNamespace(nodeid="tests/test_a.py::test_1")])
    one.near = {"tests/test_a.py::test_1": {str(tmp_path / "explorer" / "one.py")}}
    one.functions, one.quick = {}, set()
    (tmp_path / "explorer").mkdir()
    return one


def test_a_test_that_ends_soon_without_a_mutant_has_to_end_with_it(server, monkeypatch):
    """One that is too slow in any case tells nothing."""
    monkeypatch.setattr(server, "differing", lambda path, source: {"one.py:1"}, raising=False)
    asked = {"file": "one.py", "source": "", "names": ["tests/test_a.py"], "seconds": 10}
    for soon, ends in ((True, False), (True, True), (False, False)):
        server.known = Known()

        def tried(items, path, source, seconds, long=30.0, patient=1.0, soon=soon, ends=ends):
            test = items[0].nodeid
            if not path:
                server.known.sound |= {test} if soon else set()
            if patient > 10 and not ends:
                return {"killer": test, "why": "it does not end", "late": [test]}
            return {"killer": "", "why": "", "late": [test] if path else []}

        monkeypatch.setattr(server, "tried", tried, raising=False)
        found = server.answer(asked)
        killed = soon and not ends
        assert found["killer"] == ("tests/test_a.py::test_1" if killed else "")
        assert found["why"] == ("it does not end" if killed else "")


def test_a_file_that_cannot_be_imported_needs_no_test(server):
    asked = {"file": "one.py", "names": ["tests/test_a.py"], "seconds": 10}
    assert server.answer(asked | {"source": "x = [1][1]"})["why"] == "it cannot be imported"
    assert server.answer(asked | {"source": "x = [1][0]"})["killer"] == ""


def test_what_functions_keep_is_found_by_their_file():
    kept = functools.cache(by_chain)
    found = caches_of({"a.py": [by_chain], "b.py": [by_class]})
    assert [kept] == found["a.py"]
    assert "b.py" not in found


def test_a_test_file_stands_once_in_a_room(monkeypatch):
    """What covers a file stands among the first ones, in its place if that is one of them."""
    rooms = object.__new__(Rooms)
    rooms.files, rooms.users = {"explorer.kernels.maps.one": Path("one.py")}, {}
    paths = [Path(f"test_{k}.py") for k in range(FEW + 3)]
    for covering in ([paths[2]], [paths[-1]], [paths[FEW], paths[1]]):
        monkeypatch.setattr(rooms, "uncompiled", lambda own: paths[:3], raising=False)
        monkeypatch.setattr(rooms, "called", lambda own: paths[1:FEW], raising=False)
        monkeypatch.setattr(rooms, "covering", lambda file, told=covering: told, raising=False)
        monkeypatch.setattr(rooms, "ordered", lambda modules: paths, raising=False)
        found = Rooms.of.__wrapped__(rooms, "kernels/maps/one.py")
        assert sorted(found) == sorted(paths)
        assert {*covering} <= {*found[:FEW]}
        assert found[:3] == paths[:3]


def test_what_a_test_names_is_found_by_its_helpers():
    """So a test of one kernel comes before those that run a whole scheme."""
    folder = str(ROOT / "explorer")
    for helper, file in ((by_helper, "kernels/friction/contact_modes.py"), (by_plain, "kernels/maps/tangents.py"),
                         (by_module, "study/parts.py"), (by_chain, "study/basins.py"), (by_class, "study/question.py")):  # fmt: skip
        item = SimpleNamespace(function=helper, _fixtureinfo=SimpleNamespace(name2fixturedefs={}))
        found = direct(item, folder)
        assert str(ROOT / "explorer" / file) in found
        assert len(found) <= 3
    fixture = SimpleNamespace(func=by_module)
    item = SimpleNamespace(
        function=by_plain, _fixtureinfo=SimpleNamespace(name2fixturedefs={"a": [None, fixture]})
    )
    assert {Path(one).name for one in direct(item, folder)} >= {"parts.py", "tangents.py"}


def test_direct_tests_come_first_then_those_that_call_then_quick_ones():
    known = Known()
    items = [SimpleNamespace(nodeid=name) for name in "abcdefg"]
    known.calls = {"a": {"f"}, "b": {"f"}, "c": {"g"}, "d": {"f"}, "e": {"f"}}
    known.seconds = {"a": 2.0, "b": 1.0, "d": 3.0, "e": 0.1}
    known.kills, known.slow = {"d": 9}, {"e"}
    found = [one.nodeid for one in known.ordered(items, {"f"}, near={"c", "a", "g"})]
    assert found == ["a", "g", "d", "b", "f"]
    found = [one.nodeid for one in known.ordered(items, {"f"}, near={"c", "a", "g"}, quick={"b"})]
    assert found == ["a", "g", "b", "d", "f"]


def test_a_test_of_an_uncompiled_kernel_is_known_by_its_helpers():
    for helper, told in ((by_helper, True), (by_chain, False), (by_module, False)):
        assert plainly(SimpleNamespace(function=helper)) == told


def test_what_is_known_of_tests_is_kept_as_long_as_they_stand(tmp_path):
    folder, test = tmp_path / "explorer", tmp_path / "tests" / "test_a.py"
    for path in (folder / "one.py", test):
        path.parent.mkdir()
        path.write_text("x = 1", "utf-8")
    names, kept = ["tests/test_a.py::test_1", "tests/test_a.py::test_2"], str(tmp_path / "known")
    known = Known(kept, str(folder))
    known.note(
        {
            "test": names[0],
            "slow": False,
            "outcome": "passed",
            "seconds": 0.5,
            "called": ["one.py:1", "one.py:9"],
        }
    )
    known.note(
        {
            "test": names[1],
            "slow": True,
            "outcome": "skipped",
            "seconds": 9.0,
            "called": ["one.py:1"],
        }
    )
    known.kills[names[0]] = 3
    known.save()
    again = Known(kept, str(folder))
    assert (again.calls, again.seconds, again.slow, again.sound) == (
        known.calls,
        known.seconds,
        known.slow,
        known.sound,
    )
    assert again.kills == {names[0]: 3, names[1]: 0}
    test.write_text("x = 2", "utf-8")
    assert not Known(kept, str(folder)).calls
    test.write_text("x = 1", "utf-8")
    assert Known(kept, str(folder)).calls == known.calls
    (folder / "one.py").write_text("x = 2", "utf-8")
    assert not Known(kept, str(folder)).calls


def test_names_of_users_are_counted_by_their_parts():
    found = said("ex.study.cycle(ex.models.a().b) + vex.no + ex.study.cycle")
    assert found == {("study", "cycle"): 2, ("models", "a"): 1}


def test_a_limit_counts_the_seconds_of_the_processor():
    """Those of sleep do not count, nor those in which others work; the limit is kept by ticks."""
    before = worked()
    for code, ended in (("import time; time.sleep(1.2)", 0), ("while True: pass", -signal.SIGXCPU)):
        ran = subprocess.run(
            [sys.executable, "-c", code], preexec_fn=lambda: limited(1), check=False
        )
        assert ran.returncode == ended
    assert 0.5 < worked() - before < 3.0
