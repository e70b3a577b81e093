"""All that has stored numbers. To write them anew: ``python tests/stored_cases.py --write``.

Without ``--write`` it only says what has changed. With it, the file takes the numbers of now, so
numbers change only where someone has said so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Container, Mapping
from functools import partial

import numpy as np
import stored_systems
from kinds import ALL, KINDS, PRESETS, SYSTEMS
from stored_numbers import Kept, Nudge, Told, differences, disturbed, kept, read, still, write
from stored_pictures import PICTURES
from stored_runs import OPTIONS, answered, derivative, preset, scheme_of, short, values_of, whole
from stored_studies import SEARCHES, STUDIES

import explorer as ex

Case = Callable[[Nudge], Told]
DISTURBED = 3  # runs, beside the one whose numbers are kept
CHANGING = ("pendulum_on_peg", "pendulum_moving_pivot")  # constraints that begin to hold
SLOW = (  # whose derivatives take long to compile
    "parallelogram", "spinning_top", "chua", "three_blocks", "two_blocks_on_belt", "glass_network",
)  # fmt: skip


def span(name: str, scheme: str) -> float:
    """Return a time by which a run has had two events, if it has any."""
    run = ex.simulate(SYSTEMS[name], scheme_of(name, scheme), throw=False, rho=values_of(name, 0.1))
    times = sorted({float(f"{e.t:.2g}") for e in run.events if e.t > 0})
    end = SYSTEMS[name].t_end
    return float(f"{min(1.1 * times[:2][-1] if times else 0.1 * end, end):.3g}")


def groups(spans: Mapping[str, float], stored: Container[str] = ()) -> dict[str, dict[str, Case]]:
    """Return the cases of each kind by name; options and derivatives of one model of each kind.

    Those that are stored stay, also if another model has become the first of its kind.
    """
    found: dict[str, dict[str, Case]] = {kind: {} for kind in ("short", "options", "derivative")}
    for name, scheme in ALL:
        run = f"{name} {scheme}"
        if run not in spans:
            continue
        found["short"][run] = partial(short, name, scheme, spans[run])
        for knobs in OPTIONS.get(scheme, []):
            case = f"{run} {' '.join(f'{k}={x}' for k, x in knobs.items())}"
            if (name, scheme) in KINDS or f"options: {case}" in stored:
                found["options"][case] = partial(short, name, scheme, spans[run], **knobs)
        for method in METHODS.get(scheme, ()):
            case = f"{run} {method}"
            if (name, scheme) in QUICK or f"derivative: {case}" in stored:
                found["derivative"][case] = partial(derivative, name, scheme, method, spans[run])
    found["whole"] = {f"{n} {s}": partial(whole, n, s) for n, s in ALL}
    found["preset"] = {f"{n} {which}": partial(preset, n, which) for n, which in PRESETS}
    found["other"] = {name: partial(stored_systems.run, name) for name in stored_systems.RUNS}
    found["slope"] = {name: partial(stored_systems.slopes, name) for name in stored_systems.SLOPES}
    for kind, cases in (("study", STUDIES), ("search", SEARCHES), ("picture", PICTURES)):
        found[kind] = {name: partial(answer, ask) for name, ask in cases.items()}
    return found


def answer(ask: Callable[[Nudge], object], nudge: Nudge) -> Told:
    return answered(lambda: ask(nudge))


METHODS = {"EventDriven": ("direct", "adjoint"), "FESD": ("direct",)}
QUICK = [
    (n, s) for n, s in ALL
    if n not in SLOW and ((n, s) in KINDS or not SYSTEMS[n].constraints)
]  # fmt: skip


def made(case: Case) -> Kept:
    """Return what is kept of a case."""
    return kept([case(nudge) for nudge in (still, *map(disturbed, range(DISTURBED)))])


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", default="", help="what a name has in it")
    asked = parser.parse_args(arguments)
    before = read()
    spans = dict(before["spans"])
    for name, scheme in ALL:
        spans[f"{name} {scheme}"] = spans.get(f"{name} {scheme}") or span(name, scheme)
    numbers, changes = {}, 0
    for kind, cases in groups(spans, before["numbers"]).items():
        for name, case in cases.items():
            label = f"{kind}: {name}"
            old = before["numbers"].get(label)
            if asked.only not in label:
                numbers |= {label: old} if old else {}
                continue
            numbers[label] = made(case)
            new = {k: tuple(np.ravel(x)[[0, 0]]) for k, x in numbers[label].items()}
            for text in differences(new, old or {}):
                changes += 1
                print(f"{label}: {text}")
            added = [k for k in numbers[label] if k not in (old or {})]
            if added:
                print(f"{label}: {len(added)} new numbers, the first {added[0]}")
    print(f"{len(numbers)} runs, {sum(map(len, numbers.values()))} numbers, {changes} changed")
    if asked.write:
        write(spans, numbers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
