"""What is known of tests before a mutant is tried: what they name, what they call, how long they take."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

LONG = 30.0  # seconds of the processor in which a test that ends at all has ended
SURE = 4.0  # times faster it ends as the project stands
DEEP = 3  # modules in modules, of which a test names what they hold
TWICE = 2  # mutants for which a test was too slow, so that it is not tried for another


def of(test: str) -> str:
    """Return the file of a test."""
    return test.partition("::")[0]


def digest(path: Path) -> str:
    """Return a digest of a file, or of all sources in a folder."""
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    found = hashlib.sha1()
    for one in files:
        found.update(
            f"{one.relative_to(path)}".encode() + one.read_bytes() if one.exists() else b""
        )
    return found.hexdigest()


def inner(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and that of each function in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from inner(one)


def file_of(function: object) -> str:
    """Return the file of a class or function, or of what a decorator has made of it."""
    if isinstance(function, type):
        function = sys.modules.get(function.__module__)
    if isinstance(function, ModuleType):
        file = getattr(function, "__file__", None) or ""
        return "" if file.endswith("__init__.py") else file
    function = getattr(function, "py_func", getattr(function, "__wrapped__", function))
    return function.__code__.co_filename if isinstance(function, FunctionType) else ""


def values_of(value: object, names: Collection[str], depth: int = 0) -> Iterator[object]:
    """Yield a value, or what a module holds by some names, as ``ex.study.basins`` does."""
    held = vars(value) if isinstance(value, SimpleNamespace | ModuleType) and depth < DEEP else {}
    yield value
    for name in names if held else ():
        if held.get(name) is not value:
            yield from values_of(held.get(name), names, depth + 1)


def named(function: Callable, folder: str, seen: set[CodeType]) -> set[str]:
    """Return the files in a folder of which a function names a function, itself or by its helpers."""
    function = inspect.unwrap(function)
    if not isinstance(function, FunctionType) or function.__code__ in seen:
        return set()
    seen.add(function.__code__)
    found, own = set(), function.__code__.co_filename
    for code in inner(function.__code__):
        for name in code.co_names:
            for one in values_of(function.__globals__.get(name), code.co_names):
                file = file_of(one)
                if file.startswith(folder):
                    found.add(file)
                elif file == own:
                    found |= named(one, folder, seen)
        if "plain" in code.co_names:
            paths = (Path(folder, "kernels", *c.split(".")).with_suffix(".py")
                     for c in code.co_consts if isinstance(c, str) and c.replace(".", "").isidentifier())  # fmt: skip
            found |= {str(path) for path in paths if path.is_file()}
    return found


def direct(item, folder: str) -> set[str]:
    """Return the files in a folder of which a test, or a fixture of its file, names a function."""
    seen: set[CodeType] = set()
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    functions = [item.function, *(one.func for several in fixtures for one in several[-1:])]
    return set().union(*(named(one, folder, seen) for one in functions))


def plainly(item) -> bool:
    """Whether a test, or a helper of its file, names a kernel that is loaded uncompiled."""
    todo, seen = [inspect.unwrap(item.function)], set()
    while todo:
        function = todo.pop()
        for code in inner(function.__code__):
            for one in map(function.__globals__.get, code.co_names):
                if str(getattr(one, "__name__", "")).startswith("plain."):
                    return True
                own = inspect.unwrap(one) if isinstance(one, FunctionType) else None
                if own not in seen and getattr(own, "__module__", "") == function.__module__:
                    seen.add(own)
                    todo.append(own)
    return False


class Known:
    """What is known of tests as the project stands."""

    def __init__(self, path: str = "", folder: str = "") -> None:
        self.path, self.folder = path, folder
        self.calls: dict[str, set[str]] = {}
        self.seconds: dict[str, float] = {}
        self.slow: set[str] = set()
        self.late: Counter[str] = Counter()
        self.sound: set[str] = set()  # passes as the project stands, and soon
        self.broken: set[str] = set()
        self.kills: dict[str, int] = {}
        self.load()

    def load(self) -> None:
        """Take in what has been written of tests that stand as they stood."""
        if not self.path or not Path(self.path).exists():
            return
        kept = json.loads(Path(self.path).read_text("utf-8"))
        if kept["project"] != digest(Path(self.folder)):
            return
        names = kept["functions"]
        for test, row in kept["tests"].items():
            if kept["files"].get(of(test)) != digest(Path(self.folder).parent / of(test)):
                continue
            self.calls[test] = {names[place] for place in row["calls"]}
            self.seconds[test] = row["seconds"]
            self.kills[test] = row["kills"]
            for name, group in (
                ("slow", self.slow),
                ("sound", self.sound),
                ("broken", self.broken),
            ):
                if row[name]:
                    group.add(test)

    def save(self) -> None:
        """Write what is known of the tests whose calls are."""
        if not self.path:
            return
        names = {
            name: place for place, name in enumerate(sorted(set().union(*self.calls.values())))
        }
        tests = {
            test: {
                "calls": [names[name] for name in called],
                "seconds": self.seconds.get(test, 0.0),
                "kills": self.kills.get(test, 0),
                "slow": test in self.slow,
                "sound": test in self.sound,
                "broken": test in self.broken,
            }
            for test, called in self.calls.items()
        }
        root = Path(self.folder)
        files = {file: digest(root.parent / file) for file in {of(test) for test in tests}}
        kept = {"project": digest(root), "files": files, "functions": [*names], "tests": tests}
        Path(self.path).write_text(json.dumps(kept), "utf-8")

    def note(self, said: dict) -> None:
        """Take in how a test ended in which nothing changed has run."""
        test = said["test"]
        if said["slow"]:
            self.slow.add(test)
        elif said["outcome"] == "passed" and said["seconds"] < LONG / SURE:
            self.sound.add(test)
        self.calls[test] = set(said["called"])
        self.seconds[test] = said["seconds"]

    def note_slow(self, test: str) -> None:
        """Take in that a test was too slow for a mutant."""
        self.late[test] += 1
        if self.late[test] >= TWICE:
            self.slow.add(test)

    def ordered(
        self, items: list, functions: set[str], near: Collection[str] = (),
        quick: Collection[str] = (),
    ) -> list:  # fmt: skip
        """Return the tests that may call one of some functions, in the order to try them in.

        Those come first that name what is changed, then those that call it, then quick ones.
        """
        kept = []
        for place, item in enumerate(items):
            test = item.nodeid
            called = self.calls.get(test)
            sure = called is not None and not called.isdisjoint(functions)
            if test in self.broken or test in self.slow or not (sure or called is None):
                continue
            kept.append(
                (
                    test not in near,
                    not sure,
                    test not in quick,
                    self.seconds.get(test, 0.0) / (1 + self.kills.get(test, 0)),
                    place,
                )
            )
        return [items[place] for *_, place in sorted(kept)]

    def unsure(
        self, items: list, functions: set[str], near: Collection[str] = (),
        quick: Collection[str] = (),
    ) -> list[str]:  # fmt: skip
        """Return the tests that may call one of some functions, as far as is known."""
        sure = [i.nodeid for i in self.ordered(items, functions, near, quick)]
        return [*sure, *(i.nodeid for i in items if i.nodeid in self.slow)]
