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


def fresh(name: str) -> list[str]:
    """Return the panels whose rules offer a model."""
    assert panels  # what imports them has declared the rules
    with mock.patch.object(menus, "shipped", dict):  # one rule asks that of another panel
        return [panel for panel, rule in sorted(RULES.items()) if rule(name)]


def written() -> str:
    """Return the file of the menus of all models."""
    rows = [f"  {json.dumps(name)}: {json.dumps(fresh(name))}" for name in sorted(models)]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    if parser.parse_args().write:
        FILE.write_text(written(), "utf-8")
        shipped.cache_clear()
    for name in sorted(models):
        if shipped().get(name) != (now := fresh(name)):
            print(f"{name} stands in {shipped().get(name)}, and is offered by {now}")
    print(f"{len(shipped())} models")


if __name__ == "__main__":
    main()
