"""Try mutants in one process: ``pytest -p mutant_server``, which has imported everything once.

Each mutant is tried in a child, in which the functions of its file take the changed code. Tests of
the children are watched: which functions one calls, as long as nothing that is changed has run. So a
test that never calls what is changed is not run for it. Tests that name a function of the file come
first (mutant_direct.py), then what found mutants before, and what is quick. All of this is kept
beside the results (MUTANT_KNOWN), as long as the project and the file of a test stay the same.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from mutant_direct import LONG, SURE, Known, direct, plainly

import explorer

ASLEEP = 60.0  # seconds without work of the processor, in a process that waits for what never comes
ENDLESS = 2  # tests that may not end, for one mutant
TRIES = 5  # tests that may fail by chance, or fail anyway, for one mutant


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of each function in some code."""
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from codes(one)


def key(code: CodeType) -> tuple[str, int]:
    return code.co_name, code.co_firstlineno


def functions_of(folder: str) -> dict[str, list[FunctionType]]:
    """Return all functions of a package there are, by the path of their file."""
    found: dict[str, list[FunctionType]] = {}
    gc.unfreeze()  # what the collection of the tests has frozen is not listed
    for one in gc.get_objects():
        # the class is asked of its type: that of a dead proxy cannot be told
        if type(one) is FunctionType and one.__code__.co_filename.startswith(folder):
            found.setdefault(one.__code__.co_filename, []).append(one)
    gc.freeze()
    return found


def caches_of(functions: dict[str, list[FunctionType]]) -> dict[str, list]:
    """Return what keeps results of some functions, by the path of their file."""
    path = {id(one): path for path, several in functions.items() for one in several}
    found: dict[str, list] = {}
    gc.unfreeze()
    for one in gc.get_objects():
        if type(one) is functools._lru_cache_wrapper and id(one.__wrapped__) in path:
            found.setdefault(path[id(one.__wrapped__)], []).append(one)
    gc.freeze()
    return found


def singles(path: str, source: str) -> dict[tuple[str, int], CodeType]:
    """Return the code of each function of a file, but not of two lambdas of one line."""
    every = [*codes(compile(source, path, "exec"))]
    count = Counter(map(key, every))
    return {key(one): one for one in every if count[key(one)] == 1}


def exchange(functions: list[FunctionType], path: str, source: str) -> set[CodeType]:
    """Give functions of a file the code that they have in a changed source; return what is new."""
    new, done = singles(path, source), set()
    for function in functions:
        code = new.get(key(function.__code__))
        if code is not None and code != function.__code__:
            function.__code__ = code
            done |= {code, *codes(code)}
    return done


class Watch:
    """Which functions of a package are called."""

    def __init__(self, folder: str, changed: set[CodeType]) -> None:
        self.folder, self.changed = folder, changed
        self.seen: set[CodeType] = set()

    def __call__(self, frame, event, value):
        """Note a call; take no part in what follows."""
        self.seen.add(frame.f_code)

    def take(self) -> tuple[list[str], bool]:
        """Return what has been called since, and whether anything that is changed."""
        seen, self.seen = self.seen, set()
        names = [name(one, self.folder) for one in seen if one.co_filename.startswith(self.folder)]
        return names, not seen.isdisjoint(self.changed)


def name(code: CodeType, folder: str) -> str:
    return f"{os.path.relpath(code.co_filename, folder)}:{code.co_firstlineno}"


class Child:
    """What runs the tests of one mutant, and says how each ends."""

    def __init__(self, items: list, channel: int, watch: Watch) -> None:
        self.items, self.channel, self.watch = items, channel, watch
        self.outcome, self.why = "passed", ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        """Keep how a test ends."""
        if report.failed:
            self.outcome = "failed"
        elif report.skipped and self.outcome == "passed":
            self.outcome, self.why = "skipped", str(report.longrepr)

    def say(self, **what: object) -> None:
        """Send a line whole: a signal can interrupt a write halfway."""
        left = (json.dumps(what) + "\n").encode()
        while left:
            left = left[os.write(self.channel, left) :]

    def run(self, long: float) -> None:
        """Run the tests up to the first that fails, each for so many seconds at most."""
        for item, following in zip(self.items, [*self.items[1:], None], strict=True):
            self.say(begins=item.nodeid)
            self.outcome, began = "passed", time.process_time()
            signal.setitimer(signal.ITIMER_PROF, long)  # it ends the process
            sys.settrace(self.watch)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
            called, hit = self.watch.take()
            self.say(
                test=item.nodeid, outcome=self.outcome, called=called, hit=hit,
                slow="too slow" in self.why, seconds=time.process_time() - began,
            )  # fmt: skip
            self.why = ""
            if self.outcome == "failed":
                return


def worked(process: int) -> list[str]:
    """Return how long a process has worked, in user code and in the kernel."""
    return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[11:15]


def heard(channel: int, process: int) -> Iterator[dict]:
    """Yield what is said line by line, up to the end of the process, or that it works no more."""
    rest, said, before = b"", {}, [""]
    while "all" not in said:
        if not select.select([channel], [], [], ASLEEP)[0]:
            now = worked(process)
            if now == before:
                yield {"asleep": True}
                return
            before = now
            continue
        data = os.read(channel, 1 << 20)
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):  # what a process that ends has not said whole
                said = json.loads(line)
                yield said


class Server:
    """Answers what is asked line by line: a file, its changed source, test files."""

    def __init__(self, session, folder: str) -> None:
        self.session, self.folder = session, folder
        self.known = Known(os.environ.get("MUTANT_KNOWN", ""), folder)
        self.functions = functions_of(folder)
        self.caches = caches_of(self.functions)
        self.near: dict[str, set[str]] = {}
        self.quick = {item.nodeid for item in session.items if plainly(item)}

    def tried(
        self, items: list, path: str, source: str, seconds: int, long: float = LONG,
        patient: float = 1.0,
    ) -> dict:  # fmt: skip
        """Run tests on a mutant in a child; return which does not pass, and how it ends.

        "late" are those that did not end in their time. `patient`: how many times longer a test may
        take of which nothing is compiled.
        """
        receive, send = os.pipe()
        child = os.fork()
        if not child:
            os.close(receive)
            if "uncompiled" in sys.modules:
                sys.modules["uncompiled"].SECONDS *= patient
            self.in_child(items, path, source, send, seconds, long)
        os.close(send)
        answer, test, late = {"killer": "", "why": ""}, "", []
        for said in heard(receive, child):
            if "begins" in said:
                test = said["begins"]
            elif "test" in said:
                if said["outcome"] == "failed":
                    answer = {"killer": test, "why": "it fails"}
                elif not said["hit"]:
                    self.known.note(said)
                elif said["slow"]:
                    self.known.note_slow(test)
                    late.append(test)
                test = ""
            elif "asleep" in said:
                os.kill(child, signal.SIGKILL)
        os.close(receive)
        ended = os.WTERMSIG(os.waitpid(child, 0)[1])
        if test and ended != signal.SIGXCPU:  # which says that the time for all of them is over
            lasts = ended in (signal.SIGPROF, signal.SIGKILL)
            answer = {"killer": test, "why": "it does not end" if lasts else "it ends the process"}
        return answer | {"late": [*late, test] if test else late}

    def in_child(
        self, items: list, path: str, source: str, channel: int, seconds: int, long: float
    ) -> None:
        """Exchange the code, run the tests, and leave."""
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
            done = exchange(self.functions.get(path, []), path, source) if path else set()
            for one in self.caches.get(path, ()):
                one.cache_clear()
            child = Child(items, channel, Watch(self.folder, done))
            if done or not path:
                self.session.config.pluginmanager.register(child)
                child.run(long)
            child.say(all=True)
        finally:
            os._exit(0)

    def imported(self, path: str, source: str) -> bool:
        """Whether what a file runs when it is imported ends well, in a child."""
        child = os.fork()
        if not child:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            name = ".".join(Path(path).relative_to(Path(self.folder).parent).with_suffix("").parts)
            space = {"__name__": name, "__package__": name.rpartition(".")[0], "__file__": path}
            try:
                exec(compile(source, path, "exec"), space)
            except Exception:
                os._exit(1)
            os._exit(0)
        return os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 0

    def differing(self, path: str, source: str) -> set[str]:
        """Return the names of the functions whose code another source changes."""
        new = singles(path, source)
        return {
            name(one.__code__, self.folder)
            for one in self.functions.get(path, [])
            if new.get(key(one.__code__), one.__code__) != one.__code__
        }

    def answer(self, asked: dict) -> dict:
        """Try a mutant on the tests of some files that may find it."""
        path = str(Path(self.folder) / asked["file"])
        items = [
            i for n in asked["names"] for i in self.session.items if i.nodeid.startswith(f"{n}::")
        ]
        functions = self.differing(path, asked["source"])
        near = {i.nodeid for i in items if path in self.direct(i)}
        answer = {"killer": "", "why": ""}
        for _ in range(TRIES) if functions else ():
            left = self.known.ordered(items, functions, near, self.quick)
            answer = self.tried(left, path, asked["source"], asked["seconds"])
            killer = answer["killer"]
            if not killer or self.sure([i for i in items if i.nodeid == killer], answer, asked):
                break
            answer |= {"killer": "", "why": ""}
            items = [one for one in items if one.nodeid != killer]
        if not functions and not self.imported(path, asked["source"]):
            answer = {"killer": asked["names"][0], "why": "it cannot be imported"}
        if not answer["killer"]:
            late = near.intersection(answer.pop("late", ()))
            late_items = [one for one in items if one.nodeid in late]
            answer |= self.endless(late_items[:ENDLESS], path, asked)
        return answer | {"left": self.known.unsure(items, functions, near, self.quick)}

    def endless(self, items: list, path: str, asked: dict) -> dict:
        """Return which of some tests ends soon as the project stands, but not with a mutant."""
        seconds = int(LONG + asked["seconds"])
        for item in items:
            if item.nodeid not in self.known.sound:
                self.tried([item], "", "", seconds, LONG / SURE, patient=SURE)
            if item.nodeid in self.known.sound:
                found = self.tried([item], path, asked["source"], seconds, patient=LONG * SURE)
                if found["killer"]:
                    self.known.late[item.nodeid] = 0
                    self.known.slow.discard(item.nodeid)
                    self.known.kills[item.nodeid] = self.known.kills.get(item.nodeid, 0) + 1
                    return {key: found[key] for key in ("killer", "why")}
        return {}

    def direct(self, item) -> set[str]:
        """Return the files of which a test names a function."""
        if item.nodeid not in self.near:
            self.near[item.nodeid] = direct(item, self.folder)
        return self.near[item.nodeid]

    def sure(self, item: list, answer: dict, asked: dict) -> bool:
        """Whether a test does not pass once more, alone, and passes as the project stands.

        One that does not end passes then well within the time that the mutant has had.
        """
        path, killer = str(Path(self.folder) / asked["file"]), answer["killer"]
        again = self.tried(item, path, asked["source"], asked["seconds"], patient=SURE)
        if not again["killer"]:
            return False
        if killer not in self.known.sound:
            if self.tried(item, "", "", asked["seconds"], LONG / SURE, patient=SURE)["killer"]:
                self.known.broken.add(killer)
                return False
            self.known.sound.add(killer)
        answer["why"] = again["why"]
        self.known.kills[killer] = self.known.kills.get(killer, 0) + 1
        return True


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Answer until nothing more is asked."""
    uncompiled = session.config.pluginmanager.has_plugin("uncompiled")
    for module in pkgutil.walk_packages(explorer.__path__, "explorer."):
        if module.name.rpartition(".")[2] != "__main__" and (
            uncompiled or ".kernels" not in module.name
        ):
            importlib.import_module(module.name)
    read, write = map(int, os.environ["MUTANT_PIPES"].split(","))
    server = Server(session, os.environ["MUTANT_FOLDER"])
    with os.fdopen(read) as questions, os.fdopen(write, "w") as answers:
        answers.write(json.dumps({"ready": len(session.items)}) + "\n")
        answers.flush()
        for question in questions:
            answers.write(json.dumps(server.answer(json.loads(question))) + "\n")
            answers.flush()
    server.known.save()
    return True
