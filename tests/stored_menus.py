"""The menus of panels. To write them anew: ``python tests/stored_menus.py --write``.

Without ``--write`` it only says which models have changed.
"""

from __future__ import annotations

import argparse
import json
from unittest import mock

from explorer.models import models
from explorer.panels import menus, panels
from explorer.panels.menus import FILE, RULES, shipped


def fresh(name: str) -> dict[str, bool]:
    """Return what the rule of each panel says of a model."""
    assert panels  # what imports them has declared the rules
    with mock.patch.object(menus, "shipped", dict):  # one rule asks that of another panel
        return {panel: rule(name) for panel, rule in sorted(RULES.items())}


def stored(name: str) -> dict[str, bool | None]:
    """Return what the file says of a model."""
    return {panel: shipped().get(panel, {}).get(name) for panel in sorted(RULES)}


def written() -> str:
    """Return the file of the menus of all models."""
    said = {name: fresh(name) for name in sorted(models)}
    held = {panel: {name: now[panel] for name, now in said.items()} for panel in sorted(RULES)}
    return json.dumps(held, indent=1) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        FILE.write_text(written(), "utf-8")
        shipped.cache_clear()
    for name in sorted(models):
        if stored(name) != (now := fresh(name)):
            print(f"{name}: the file says {stored(name)}, the rules say {now}")
    print(f"{len(models)} models, {len(shipped())} panels")


if __name__ == "__main__":
    main()
