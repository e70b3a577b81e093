"""What shared tests run: every model, and of runs with its schemes one of each kind."""

from __future__ import annotations

import functools

from hybrids import HYBRIDS

import explorer as ex
from explorer.models import models

BUILDS = {**models, **HYBRIDS}
SYSTEMS = {name: BUILDS[name]() for name in sorted(BUILDS)}  # built once, only read
GALLERY = {name: SYSTEMS[name] for name in models}  # the models alone


@functools.cache
def schemes_of(name: str) -> list[str]:
    """Return names of the schemes that a model can run, the one it runs by itself first."""
    return [type(scheme).__name__ for scheme in ex.schemes_for(SYSTEMS[name])]


def alike(name: str, scheme: str | None = None) -> tuple:
    """What decides which equations a run solves and what it records, whatever the numbers."""
    system = SYSTEMS[name]
    laws = (bool(system.contacts), bool(system.rough), bool(system.constraints))
    return type(system), scheme, *laws, len(system.coordinates) > 1


def one_of_each(cases: list, kind) -> list:
    """Return the first of the cases of each kind, the bouncing ball before all others."""
    found: dict = {}
    for case in sorted(cases, key=lambda case: "bouncing_ball" not in case):
        found.setdefault(kind(case), case)
    return list(found.values())


# a run with closed contacts of many coordinates takes too long
SLOW = [("column", "EventDriven"), ("elastic_bar", "EventDriven")]
ALL = [(name, s) for name in SYSTEMS for s in schemes_of(name) if (name, s) not in SLOW]
FIRST = [(name, schemes_of(name)[0]) for name in SYSTEMS]
KINDS = one_of_each(ALL, lambda case: alike(*case))
PRESETS = [(name, preset) for name in sorted(models) for preset in SYSTEMS[name].presets]


def cautioned(name: str) -> set[str]:
    """Return what runs of a model are rightly cautioned of: solutions that are not unique, or
    an impact that its usual step adds.
    """
    if name == "five_bar_b":
        return {"touches"}
    if name == "tent_map":  # a preset shows it
        return {"landing"}
    if name == "granular_chain":  # a bead that begins to touch: 1e-20 N beside nothing
        return {"Newton residual"}
    return {"moments with several continuations"} if name in ("two_fold", "two_genes") else set()
