"""Do the tests notice a wrong operator? Run on demand: ``python tests/mutants.py --number 20``.

A mutant is the project with one operator or one number of one line changed (mutant_changes.py). It
is killed if a test of its room (mutant_rooms.py) fails, and survives if all of them pass. Mutants
are drawn by a seed from the files that are asked for, all lines alike. Each is made in a copy, so
nothing here is edited.

It is tried first in a child of a process that has imported everything (mutant_server.py), a kernel
as Python runs it (uncompiled.py). Only where no test fails there, all tests of the room are run in
a process of their own, for which a kernel is compiled anew, in a cache of the copy.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mutant_changes import Mutant, equivalent, mutants
from mutant_rooms import Rooms

from explorer import cache

ROOT = Path(__file__).parents[1]
ROOMS = ["study", "optimise", "derivatives", "views/drawing", "kernels"]
MARKS = ("-m", "not browser and not quiet", "-p", "no:cacheprovider", "-q")
SHORT = "0.5"  # seconds of the processor for a test of which nothing is compiled
QUICK = 60.0  # seconds in which a mutant is tried where all is imported


class Copy:
    """A copy of the project, in which mutants are made, one at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = copied(folder / "copy")
        self.kept = folder / "cache"  # in which what is there is found, and mutants stay
        shutil.copytree(cache.directory(), self.kept, copy_function=os.link)

    def environment(self) -> dict[str, str]:
        paths = os.pathsep.join([str(self.folder), str(self.folder / "tests")])
        own = {"PYTHONPATH": paths, "NONSMOOTH_EXPLORER_CACHE": str(self.kept)}
        own |= {"PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
        return {**os.environ, **own}

    def fails(self, names: list[str], seconds: float, first: Sequence[str] = ()) -> str:
        """Return the first test that fails, or an empty text; some are run first."""
        likely = self.folder.parent / "first.txt"
        likely.write_text("\n".join(first), "utf-8")
        command = [sys.executable, "-m", "pytest", "-x", *MARKS, "-p", "mutant_order", *names]
        try:
            ran = subprocess.run(
                command, cwd=self.folder, capture_output=True, text=True, timeout=seconds,
                env=self.environment() | {"MUTANT_FIRST": str(likely)},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "it does not end"
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", ran.stdout, re.MULTILINE)
        if ran.returncode in (0, 5):
            return ""
        said = ran.stdout.strip().splitlines() if ran.returncode > 0 else []
        return failed[0] if failed else said[-1] if said else f"it ends with {ran.returncode}"


class Served:
    """A process that has imported everything, asked about one mutant after the other."""

    def __init__(self, copy: Copy, names: list[str], *options: str) -> None:
        (there, write), (read, back) = os.pipe(), os.pipe()
        given = {"MUTANT_PIPES": f"{there},{back}", "MUTANT_FOLDER": str(copy.folder / "explorer")}
        command = [sys.executable, "-m", "pytest", "-s", *MARKS, *options, "-p", "mutant_server"]
        self.process = subprocess.Popen(
            [*command, f"--basetemp={copy.folder.parent / 'temporary'}", *names], cwd=copy.folder,
            env=copy.environment() | given | {"UNCOMPILED_SECONDS": SHORT},
            pass_fds=(there, back), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(there), os.close(back)
        self.write, self.read = os.fdopen(write, "w"), os.fdopen(read)

    def ask(self, mutant: Mutant, names: list[str], seconds: float) -> dict:
        """Return which test fails, and which tests have not been run or call what is changed."""
        asked = {"file": mutant.file, "source": mutant.source, "names": names, "seconds": seconds}
        self.write.write(json.dumps(asked) + "\n")
        self.write.flush()
        return json.loads(self.read.readline())

    def close(self) -> None:
        self.write.close()
        self.process.wait()
        self.read.close()


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

    def __init__(self, copy: Copy, drawn: dict[Mutant, list[str]], seconds: float) -> None:
        self.copy, self.drawn, self.seconds = copy, drawn, seconds
        self.served: dict[bool, Served] = {}
        self.broken: dict[str, bool] = {}

    def server(self, compiled: bool) -> Served:
        """Return the process for kernels, or for what is no kernel; started when first asked for."""
        if compiled not in self.served:
            own = [n for m, n in self.drawn.items() if is_kernel(m) is not compiled]
            names = sorted({name for names in own for name in names})
            options = () if compiled else ("-p", "uncompiled")
            self.served[compiled] = Served(self.copy, names, *options)
        return self.served[compiled]

    def quick(self, mutant: Mutant) -> tuple[str, list[str]]:
        """Return the first test that fails in a child, or an empty text and what may fail."""
        with self.made(mutant):
            answer = self.server(not is_kernel(mutant)).ask(mutant, self.drawn[mutant], QUICK)
        return answer["killer"], answer["left"]

    def whole(self, mutant: Mutant, first: list[str]) -> str:
        """Return the first test of the room that fails, or an empty text; some are run first."""
        with self.made(mutant):
            found = self.copy.fails(self.drawn[mutant], self.seconds, first)
        if found.startswith("tests/") and found not in self.broken:
            self.broken[found] = bool(self.copy.fails([found], self.seconds))
        return "" if self.broken.get(found) else found

    @contextlib.contextmanager
    def made(self, mutant: Mutant) -> Iterator[None]:
        """Change the copy for a while."""
        target = self.copy.folder / "explorer" / mutant.file
        source = target.read_text("utf-8")
        target.write_text(mutant.source, "utf-8")
        try:
            yield
        finally:
            target.write_text(source, "utf-8")

    def close(self) -> None:
        for server in self.served.values():
            server.close()
        self.served.clear()


def text(mutant: Mutant) -> str:
    """Return the line that is changed, as it becomes."""
    return mutant.source.splitlines()[mutant.line - 1].strip()


def is_kernel(mutant: Mutant) -> bool:
    return mutant.file.startswith("kernels/")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS, help="folders or files in explorer/")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=8, help="test files that are run for one")
    parser.add_argument("--seconds", type=float, default=900, help="for the tests of one")
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    parser.add_argument("--only", default="", help="a pattern of those that are tried")
    parser.add_argument("--out", type=Path, help="a file for a JSON line of each")
    asked = parser.parse_args(arguments)
    files = sorted(
        path for room in asked.rooms for base in [ROOT / "explorer" / room]
        for path in ([base] if base.is_file() else base.rglob("*.py"))
    )  # fmt: skip
    every = [m for path in files for m in mutants(path) if re.search(asked.only, str(m))]
    drawn = random.Random(asked.seed).sample(every, min(asked.number, len(every)))
    rooms = Rooms()
    tests = {
        m: [p.relative_to(ROOT).as_posix() for p in rooms.of(m.file)[: asked.most]] for m in drawn
    }
    if asked.list:
        for mutant, names in tests.items():
            print(mutant, "|", " ".join(names))
        return 0
    counts = {"killed": 0, "survived": 0, "equivalent": 0}

    def said(result: str, mutant: Mutant, killer: str, stage: str, seconds: float) -> None:
        counts[result] += 1
        print(f"{result:10} {mutant}  {killer}", flush=True)
        if asked.out:
            row = mutant._asdict() | {"result": result, "killer": killer, "text": text(mutant)}
            row |= {"seconds": seconds, "stage": stage, "tests": tests[mutant]}
            with asked.out.open("a") as file:
                file.write(json.dumps({k: v for k, v in row.items() if k != "source"}) + "\n")

    with tempfile.TemporaryDirectory(dir=cache.directory().parent) as folder:
        trial, left = Trial(Copy(Path(folder)), tests, asked.seconds), {}
        for mutant in drawn:
            began = time.monotonic()
            killer, likely = trial.quick(mutant)
            if killer:
                said("killed", mutant, killer, "child", time.monotonic() - began)
            else:
                left[mutant] = likely
                print(f"{'':10} {mutant}", flush=True)
        trial.close()
        for mutant, likely in left.items():
            began = time.monotonic()
            killer = trial.whole(mutant, likely)
            known = equivalent(mutant.file, text(mutant))
            result = "killed" if killer else "equivalent" if known else "survived"
            said(result, mutant, killer, "room", time.monotonic() - began)
    print(", ".join(f"{n} {name}" for name, n in counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
