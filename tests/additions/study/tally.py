"""How often a run meets an event."""

from typing import Any

from explorer.dispatch.simulate import simulate
from explorer.study import study


@study
def tally(system: Any, **settings: Any) -> int:
    """Return the number of events of a run."""
    return len(simulate(system, **settings).events)
