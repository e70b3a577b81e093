"""The films of the gallery. To write them anew: ``python tests/stored_films.py --write``.

Without ``--write`` it only says which cards have changed.
"""

from __future__ import annotations

import argparse
from unittest import mock

import numpy as np
from kinds import SYSTEMS

from explorer.dispatch.simulate import simulate
from explorer.models import models
from explorer.panels.gallery import films
from explorer.panels.gallery.films import FILE, as_film, card, shipped, written
from explorer.results.solution import Solution
from explorer.systems import System
from explorer.types import Numbers, Plain

SLACK = 2  # parts by which a number of a film may differ: rounding may fall on either side
DISTURBED = 1e-11  # relative, of all parameters: what that moves may differ between processors


def differs(name: str) -> str:
    """Say in what the shipped card of a model differs from a fresh one; "" if in nothing.

    A film that a disturbance of the size of round-off changes need not be the same.
    """
    system = SYSTEMS[name]
    fresh, stored = card(system), shipped().get(name)
    if stored is None:
        return "has no card"
    words = [k for k in fresh if k != "film" and fresh[k] != stored[k]]
    if words:
        return f"has another {words[0]}: {stored[words[0]]!r}"
    said = off(fresh["film"], stored["film"])
    return said if said and not off(fresh["film"], disturbed(system)) else ""


def disturbed(system: System) -> Plain:
    """Return the film of a run with parameters that differ by round-off."""

    def run(system: System, *args: object, rho: Numbers | None = None, **more: object) -> Solution:
        usual = {k: p.value for k, p in system.parameters.items()}
        given = {**usual, **{k: more.pop(k) for k in [*more] if k in usual}, **(rho or {})}
        near = {k: x * (1 + DISTURBED) for k, x in given.items()}
        return simulate(system, *args, rho=near, **more)

    with mock.patch.object(films, "simulate", run):
        return films.short(system)


def off(one: Plain, other: Plain) -> str:
    """Say in what two films differ."""
    same = ("items", "moving")
    shapes = [
        [np.shape(film.get(k, [])) for k in ("t", "moves", "values")] for film in (one, other)
    ]
    if any(one[k] != other[k] for k in same) or shapes[0] != shapes[1]:
        return "shows other shapes, or as many of them at other times"
    part = max(other["box"][1] - other["box"][0], other["box"][3] - other["box"][2]) / 1000
    span = other["span"] / 10_000
    a, b = as_film(one), as_film(other)
    for key, unit in (
        ("box", part), ("still", part), ("xy", part), ("t", span), ("values", 1 / 1000)
    ):  # fmt: skip
        wrong = np.abs(np.asarray(a[key], float) - np.asarray(b[key], float)).max(initial=0) / unit
        if wrong > SLACK:
            return f"has {key} that is {wrong:.0f} parts off"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        FILE.write_bytes(written(models.items()))
        shipped.cache_clear()
    for name in models:
        if said := differs(name):
            print(f"{name} {said}")
    print(f"{len(shipped())} cards, {FILE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
