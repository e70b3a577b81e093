"""Which models the menu of a panel offers.

A panel tells by the system whether a model suits it, but to build all models takes seconds, and
its menu has to be there when it opens. So for our models the answers are made once and shipped in a
file; `python tests/stored_menus.py` compares them with fresh ones.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

from explorer.models import models

__all__ = ["FILE", "RULES", "menu", "shipped"]

FILE = Path(__file__).with_name("menus.json")
Rule = Callable[[str], bool]
RULES: dict[str, Rule] = {}  # of each panel with such a menu: it builds the system


def menu(panel: str) -> Callable[[Rule], Rule]:
    """Answer by the file of our models, and for others by the rule of a panel, asked once each."""

    def decorate(rule: Rule) -> Rule:
        RULES[panel] = rule
        asked = functools.cache(lambda name, build: rule(name))  # a name may get another model

        @functools.wraps(rule)
        def offered(name: str) -> bool:
            build = models[name]
            ours = build.__module__.startswith("explorer.models.")
            known = shipped().get(panel, {}).get(name) if ours else None
            return asked(name, build) if known is None else known

        return offered

    return decorate


@functools.cache
def shipped() -> dict[str, dict[str, bool]]:
    """Return for each panel whether it offers a model, for each of ours."""
    held: dict[str, dict[str, bool]] = json.loads(FILE.read_text("utf-8"))
    return held
