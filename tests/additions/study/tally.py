"""How often a run meets an event."""

from explorer.dispatch.simulate import simulate
from explorer.study import study
from explorer.systems import System
from explorer.types import Numbers


@study
def tally(system: System, rho: Numbers | None = None) -> int:
    """Return the number of events of a run."""
    return len(simulate(system, rho=rho).events)
