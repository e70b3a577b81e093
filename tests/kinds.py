"""What shared tests run: all schemes on one model, and on the others one for each kind of result."""

from __future__ import annotations

import explorer as ex
from explorer.schemes.bases.capturing import Capturing
from explorer.schemes.bases.structural import Structural


def of_each_kind(name: str, system: ex.System) -> list[str]:
    """Return names of schemes: what draws or writes a result asks for its kind only."""
    found: dict[object, str] = {}
    for scheme in ex.schemes_for(system):
        same = (kind for kind in (Capturing, Structural) if isinstance(scheme, kind))
        kind = type(scheme) if name == "bouncing_ball" else next(same, type(scheme))
        found.setdefault(kind, type(scheme).__name__)
    return list(found.values())
