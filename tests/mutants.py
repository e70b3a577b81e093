"""Do the tests notice a wrong operator? Run on demand: ``python tests/mutants.py --number 20``.

A mutant is the project with one operator or one number of one line changed (mutant_changes.py). It
is killed if a test of its room (mutant_rooms.py) fails, and survives if all of them pass. Nor does
it survive if a test does not end that ends soon without it, which is counted apart. Mutants are
drawn by a seed from the files that are asked for, all lines alike. Each is made in a copy, so
nothing here is edited.

It is tried first in a child of a process that has imported everything (mutant_server.py), a kernel
as Python runs it (uncompiled.py). Only where no test fails there, all tests of the room are run in
a process of their own, for which a kernel is compiled anew, in a cache of the copy.

With ``--out`` each result is written at once, and what stands in that file is not tried again; what
is learnt of the tests is kept beside it. ``--stop`` ends a run after some seconds: call it again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from mutant_changes import Mutant, equivalent, mutants
from mutant_rooms import Rooms
from mutant_trials import OUT_OF_TIME, QUICK, ROOT, Copy, Found, Trial, is_kernel

from explorer import cache

ROOMS = ["study", "optimise", "derivatives", "views/drawing", "kernels"]
RESULTS = ("killed", "does not end", "equivalent", "survived", OUT_OF_TIME)
OPEN = "open"  # no test has failed in a child; those of the room have not been run


class Log:
    """What has been found of each mutant, in a file of a JSON line each, the last one counting."""

    def __init__(self, path: Path | None, again: bool) -> None:
        self.path = path
        self.rows: dict[tuple, dict] = {}
        if path and path.exists():
            for line in path.read_text("utf-8").splitlines():
                row = json.loads(line)
                self.rows[row["file"], row["line"], row["before"], row["text"]] = row
        self.again = {
            key
            for key, row in self.rows.items()
            if again and row["result"] in (OPEN, "survived", OUT_OF_TIME)
        }

    def of(self, mutant: Mutant) -> dict:
        """Return what is known of a mutant; nothing if that is empty."""
        return self.rows.get(key(mutant), {})

    def tried(self, mutant: Mutant) -> bool:
        """Whether a mutant has been tried in a child, and is not to be tried again."""
        return key(mutant) in self.rows.keys() - self.again

    def add(self, mutant: Mutant, result: str, found: Found, **more: object) -> None:
        """Write down and print what has been found."""
        row = {k: v for k, v in mutant._asdict().items() if k != "source"}
        row |= {"text": mutant.text, "result": result, "killer": found.test, "why": found.why}
        row |= more
        self.rows[key(mutant)] = row
        if result != OPEN:
            self.again.discard(key(mutant))
        print(f"{result:15} {mutant}  {found.test} {found.why}".rstrip(), flush=True)
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")


def key(mutant: Mutant) -> tuple[str, int, str, str]:
    return mutant.file, mutant.line, mutant.before, mutant.text


def result_of(found: Found, mutant: Mutant) -> str:
    """Return the class that a mutant belongs to when its tests have been run."""
    if found.test:
        return "does not end" if found.why == "it does not end" else "killed"
    if equivalent(mutant):
        return "equivalent"
    return OUT_OF_TIME if found.why == OUT_OF_TIME else "survived"


def summary(results: list[tuple[str, str]]) -> str:
    """Return a table of rooms and results, from a pair for each mutant."""
    count = Counter(results)
    rooms = sorted({room for room, _ in results})
    lines = ["".join(f"{name:>17}" for name in (*RESULTS, OPEN, "all")) + "  room"]
    for room in (*rooms, ""):
        numbers = [
            sum(n for (r, c), n in count.items() if c == result and (not room or r == room))
            for result in (*RESULTS, OPEN)
        ]
        lines.append("".join(f"{n:17}" for n in (*numbers, sum(numbers))) + f"  {room or 'all'}")
    dead = sum(result in RESULTS[:2] for _, result in results)
    return "\n".join(
        [*lines, f"{dead} of {len(results)} mutants fail: {dead / max(1, len(results)):.1%}"]
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rooms", nargs="*", default=ROOMS, help="folders or files in explorer/")
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=8, help="test files that are run for one")
    parser.add_argument("--tests", nargs="*", help="test files that are run instead of the room's")
    parser.add_argument("--seconds", type=float, default=900, help="of the processor, for one")
    parser.add_argument("--quick", type=int, default=QUICK, help="seconds in a child for one")
    parser.add_argument("--stop", type=float, default=1e9, help="seconds after which none is begun")
    parser.add_argument("--list", action="store_true", help="only say what would be changed")
    parser.add_argument("--only", default="", help="a pattern of those that are tried")
    parser.add_argument("--out", type=Path, help="a file for a JSON line of each")
    parser.add_argument(
        "--again",
        action="store_true",
        help="try what survives in that file, or is open, and draw nothing",
    )
    parser.add_argument("--stage", choices=("quick", "room"), help="only one of the two")
    parser.add_argument(
        "--equivalence", action="store_true",
        help="compare what runs of the gallery record with and without what has survived",
    )  # fmt: skip
    asked = parser.parse_args(arguments)
    files = sorted(
        path for room in asked.rooms for base in [ROOT / "explorer" / room]
        for path in ([base] if base.is_file() else base.rglob("*.py"))
    )  # fmt: skip
    log = Log(asked.out, asked.again)
    drawn = [m for path in files for m in mutants(path)]
    if asked.again:
        drawn = [m for m in drawn if key(m) in log.again]
    elif asked.number < len(drawn):
        drawn = random.Random(asked.seed).sample(drawn, asked.number)
    drawn = [m for m in drawn if re.search(asked.only, str(m))]
    rooms = Rooms()
    tests = {
        m: asked.tests or [p.relative_to(ROOT).as_posix() for p in rooms.of(m.file)[: asked.most]]
        for m in drawn
    }
    if asked.list:
        for mutant, names in tests.items():
            print(mutant, "|", " ".join(names))
        return 0
    with tempfile.TemporaryDirectory(dir=cache.directory().parent) as folder:
        begun = time.monotonic()
        known = str(asked.out.absolute().with_suffix(".known")) if asked.out else ""
        trial = Trial(Copy(Path(folder)), tests, asked.seconds, asked.quick, known)
        for mutant in (
            sorted(drawn, key=is_kernel) if asked.stage != "room" and not asked.equivalence else ()
        ):
            if log.tried(mutant):
                continue
            if time.monotonic() - begun > asked.stop:
                break
            began = time.monotonic()
            found, left = trial.quick(mutant)
            left += log.of(mutant).get("left", [])
            result = result_of(found, mutant) if found.test else OPEN
            more = {} if found.test else {"left": left}
            log.add(mutant, result, found, stage="child", seconds=time.monotonic() - began, **more)
        trial.close()
        for mutant in drawn if asked.equivalence else ():
            if (log.of(mutant) or {"result": OPEN})["result"] in (
                OPEN,
                "survived",
                OUT_OF_TIME,
                "equivalent",
            ):
                print(f"{mutant}  {trial.same(mutant, rooms.schemes(mutant.file))}", flush=True)
        if asked.equivalence:
            return 0
        for mutant in drawn if asked.stage != "quick" else ():
            row = log.of(mutant)
            if log.tried(mutant) and row.get("result", OPEN) != OPEN:
                continue
            if time.monotonic() - begun > asked.stop:
                break
            began = time.monotonic()
            schemes = rooms.schemes(mutant.file)
            found = trial.whole(mutant, row.get("left", []), schemes)
            result = result_of(found, mutant)
            log.add(mutant, result, found, stage="room", seconds=time.monotonic() - began)
    print(summary([
        (m.file.rpartition("/")[0], log.of(m).get("result", OPEN)) for m in drawn
    ]))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
