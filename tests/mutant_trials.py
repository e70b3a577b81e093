"""Try a mutant in a copy of the project: in a child of a server first, then by all its tests."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mutant_changes import Mutant

from explorer import cache

ROOT = Path(__file__).parents[1]
MARKS = ("-m", "not browser and not quiet", "-p", "no:cacheprovider", "-p", "mutant_examples", "-q")
SHORT = os.environ.get(
    "UNCOMPILED_SECONDS", "0.5"
)  # seconds of the processor for a test of which nothing is compiled
QUICK = 10  # seconds of the processor in which a mutant is tried where all is imported
SILENT = 900.0  # seconds after which a server that has not answered is given up
LONG = 60.0  # seconds of the processor, beside those of compiling, in which a test has ended
OUT_OF_TIME = "no time is left"
ASLEEP = 6.0  # times the seconds of the processor that a process may last
SURE = 4.0  # times faster it ends as the project stands


class Found(NamedTuple):
    """A test that does not pass, and how it ends; neither if all pass."""

    test: str = ""
    why: str = ""


class Copy:
    """A copy of the project, in which mutants are made, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = copied(folder / "copy")
        self.kept = folder / "cache"  # in which what is there is found, and mutants stay
        shutil.copytree(cache.directory(), self.kept, copy_function=linked)

    def environment(self) -> dict[str, str]:
        paths = os.pathsep.join([str(self.folder), str(self.folder / "tests")])
        own = {"PYTHONPATH": paths, "NONSMOOTH_EXPLORER_CACHE": str(self.kept)}
        own |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        return {**os.environ, **own}

    def run(
        self,
        names: Sequence[str],
        seconds: float,
        first: Sequence[str] = (),
        without: Sequence[str] = (),
        schemes: Sequence[str] = (),
        long: float = LONG,
    ) -> Found:
        """Return the first test that does not pass; some are run first, some are left out.

        After the first ones come short runs by the schemes of some modules.
        """
        likely, now = self.folder.parent / "first.txt", self.folder.parent / "now.txt"
        likely.write_text("\n".join(first), "utf-8")
        now.write_text("", "utf-8")
        left = [f"--deselect={name}" for name in without]
        command = [sys.executable, "-m", "pytest", "-x", *MARKS, *left, "-p", "mutant_order"]
        given = {"MUTANT_FIRST": str(likely), "MUTANT_NOW": str(now), "MUTANT_LONG": str(long)}
        given["MUTANT_SCHEMES"] = " ".join(schemes)
        try:
            ran = subprocess.run(
                [*command, *names], cwd=self.folder, capture_output=True, text=True,
                timeout=ASLEEP * seconds, env=self.environment() | given,
                preexec_fn=functools.partial(limited, int(seconds)),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Found(now.read_text("utf-8"), OUT_OF_TIME)
        if ran.returncode in (0, 5):
            return Found()
        if ran.returncode == -signal.SIGXCPU:
            return Found(now.read_text("utf-8"), OUT_OF_TIME)
        if ran.returncode < 0:
            why = "it does not end" if -ran.returncode == signal.SIGPROF else "it ends the process"
            return Found(now.read_text("utf-8"), why)
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
        said = ran.stdout.strip().splitlines()
        return Found(failed[0] if failed else said[-1] if said else "pytest", "it fails")

    def recorded(self, schemes: list[str], seconds: float) -> dict[str, dict[str, str]]:
        """Return digests of what runs of the gallery record, as far as they come in time."""
        said = self.folder.parent / "runs.jsonl"
        with said.open("w") as out, contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(
                [sys.executable, "tests/mutant_runs.py", *schemes], cwd=self.folder, stdout=out,
                stderr=subprocess.DEVNULL, timeout=seconds, env=self.environment(),
            )  # fmt: skip
        return dict(map(json.loads, said.read_text("utf-8").splitlines()))


class Served:
    """A process that has imported everything, asked about one mutant after the other."""

    def __init__(self, copy: Copy, names: list[str], *options: str, known: str = "") -> None:
        (there, write), (self.read, back) = os.pipe(), os.pipe()
        given = {"MUTANT_PIPES": f"{there},{back}", "MUTANT_FOLDER": str(copy.folder / "explorer")}
        given |= {"UNCOMPILED_SECONDS": SHORT, "MUTANT_KNOWN": known}
        command = [sys.executable, "-m", "pytest", "-s", *MARKS, *options, "-p", "mutant_server"]
        self.process = subprocess.Popen(
            [*command, f"--basetemp={copy.folder.parent / 'temporary'}", *names], cwd=copy.folder,
            env=copy.environment() | given,
            pass_fds=(there, back), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there), os.close(back)
        self.write = os.fdopen(write, "w")
        self.answer()  # that it has imported the project as it stands

    def ask(self, mutant: Mutant, names: list[str], seconds: int) -> dict | None:
        """Return which test fails, and which tests have not been run; None if no answer comes."""
        asked = {"file": mutant.file, "source": mutant.source, "names": names, "seconds": seconds}
        try:
            self.write.write(json.dumps(asked) + "\n")
            self.write.flush()
        except OSError:
            return None
        return self.answer()

    def answer(self) -> dict | None:
        """Return what the process says next; None if nothing comes."""
        said, end = b"", time.monotonic() + SILENT
        try:
            while not said.endswith(b"\n"):
                left = max(0.0, end - time.monotonic())
                data = (
                    os.read(self.read, 1 << 20)
                    if select.select([self.read], [], [], left)[0]
                    else b""
                )
                if not data:
                    return None
                said += data
            return json.loads(said)
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.write.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read)


def limited(seconds: int) -> None:
    """End a process after some seconds of the processor: how long they last depends on the load."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def worked() -> float:
    """Return the seconds of the processor that processes have taken which have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def linked(source: str, target: str) -> None:
    """Link a file of the cache, unless another process has just removed it."""
    with contextlib.suppress(FileNotFoundError):
        os.link(source, target)


def copied(folder: Path) -> Path:
    """Copy what tests need."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    # found valid by its content, so what a change of a file leaves is never taken for another's
    compile_all = ["compileall", "-q", "--invalidation-mode", "checked-hash", "explorer"]
    subprocess.run([sys.executable, "-m", *compile_all], cwd=folder, check=True)
    return folder


class Trial:
    """What is tried on each mutant until a test fails."""

    def __init__(
        self, copy: Copy, drawn: dict[Mutant, list[str]], seconds: float, quick: int = QUICK,
        known: str = "",
    ) -> None:  # fmt: skip
        self.known = known
        self.copy, self.drawn, self.seconds, self.short = copy, drawn, seconds, quick
        self.served: dict[bool, Served] = {}
        self.runs: dict[str, dict[str, dict[str, str]]] = {}  # by schemes, of each run
        self.sound: dict[tuple[str, float], bool] = {}

    def server(self, compiled: bool) -> Served:
        """Return the process for kernels, or for what is no kernel; started when first asked for."""
        if compiled not in self.served:
            own = [n for m, n in self.drawn.items() if is_kernel(m) is not compiled]
            names = sorted({name for names in own for name in names})
            options = () if compiled else ("-p", "uncompiled")
            known = f"{self.known}.{'compiled' if compiled else 'plain'}" if self.known else ""
            self.served[compiled] = Served(self.copy, names, *options, known=known)
        return self.served[compiled]

    def quick(self, mutant: Mutant) -> tuple[Found, list[str]]:
        """Return the first test that fails in a child, or none and what may fail."""
        compiled = not is_kernel(mutant)
        for _ in range(2):
            server = self.server(compiled)  # which takes the project as it stands
            with made(self.copy, mutant):
                answer = server.ask(mutant, self.drawn[mutant], self.short)
            if answer is not None:
                return Found(answer["killer"], answer["why"]), answer["left"]
            self.served.pop(compiled).close()
        return Found(), []

    def whole(self, mutant: Mutant, first: list[str], schemes: list[str]) -> Found:
        """Return the first test of the room that fails twice, and never as the project stands."""
        without: list[str] = []
        end = worked() + self.seconds
        while True:
            left = end - worked()
            if left < 1:
                return Found("", OUT_OF_TIME)
            with made(self.copy, mutant):
                found = self.copy.run(self.drawn[mutant], left, first, without, schemes)
                if not found.why or found.why == OUT_OF_TIME:
                    return Found("", found.why)
                if "::" not in found.test:
                    return found  # a file cannot even be imported
                if found.why != "it fails":  # by chance, perhaps
                    again = self.copy.run([found.test], self.seconds)
                    late = again.why in ("", OUT_OF_TIME)
                    found = Found(found.test) if late else again
            if found.why and self.passes(found.test, found.why):
                return found
            without.append(found.test)

    def same(self, mutant: Mutant, schemes: list[str]) -> str:
        """Return how many arrays of runs are the same to the last bit, or the first that differs."""
        asked = " ".join(schemes)
        if asked not in self.runs:
            self.runs[asked] = self.copy.recorded(schemes, self.seconds / 2)
        with made(self.copy, mutant):
            found = self.copy.recorded(schemes, self.seconds)
        for run, arrays in self.runs[asked].items():
            theirs = found.get(run)
            if theirs is None:
                return f"no result of {run}"
            for name in arrays.keys() | theirs.keys():
                if arrays.get(name) != theirs.get(name):
                    return f"another {name} of {run}"
        count = sum(map(len, self.runs[asked].values()))
        return f"run: {count} arrays of {len(found)} runs bitwise equal"

    def passes(self, test: str, why: str) -> bool:
        """Whether a test passes as the project stands, and well within the time of a mutant."""
        long = LONG / SURE if why == "it does not end" else LONG
        if (test, long) not in self.sound:
            self.sound[test, long] = not self.copy.run([test], self.seconds, long=long).why
        return self.sound[test, long]

    def close(self) -> None:
        for server in self.served.values():
            server.close()
        self.served.clear()


@contextlib.contextmanager
def made(copy: Copy, mutant: Mutant) -> Iterator[None]:
    """Change the copy for a while."""
    target = copy.folder / "explorer" / mutant.file
    source = target.read_text("utf-8")
    target.write_text(mutant.source, "utf-8")
    try:
        yield
    finally:
        target.write_text(source, "utf-8")


def is_kernel(mutant: Mutant) -> bool:
    return mutant.file.startswith("kernels/")
