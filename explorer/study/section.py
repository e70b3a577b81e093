"""Where the points of a section lie: at events of a name, or at a phase of a period."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.arguments import Checked
from explorer.errors import BadValue
from explorer.parameters import number, whole
from explorer.study import study
from explorer.types import Value

__all__ = ["Section"]

_MOST = 100  # points of a run


@study
@dataclass(frozen=True)
class Section(metaclass=Checked):
    """A Poincare section: the states that a sweep keeps of each run.

    Parameters
    ----------
    event : str, optional
        A contact, guard, switching function or constraint, by name: each of its events is a point.
        The release of a contact is none.
    period : float or formula of the parameters, optional
        In s, such as "2*pi/omega": the states at t = (j + phase) period.
    phase : float
        In parts of the period.
    side : str
        "after" or "before" the event.
    most : int, optional
        How many points of one run are kept, the first ones behind the transient; by default all
        at times, and 100 at events.

    Raises
    ------
    BadValue
        Both or none of event and period are given; a number is out of range.
    """

    event: str | None = None
    period: Value | None = None
    phase: float = 0.0
    side: str = "after"
    most: int | None = None

    @property
    def room(self) -> int | None:
        """How many points of one run are kept at most, if that is known."""
        return _MOST if self.most is None and self.event is not None else self.most

    def __post_init__(self) -> None:
        if (self.event is None) == (self.period is None):
            raise BadValue(
                "A Section needs an event, as in Section(event='stop'), or a period, as in "
                "Section(period='2*pi/omega'), and not both."
            )
        if self.side not in ("after", "before"):
            raise BadValue(f"side = {self.side!r} of a Section must be 'after' or 'before'.")
        phase = number(self.phase, "phase of a Section")
        if not 0 <= phase < 1:
            raise BadValue(f"phase = {phase:g} of a Section must lie in [0, 1).")
        if self.most is None:
            return
        object.__setattr__(self, "most", whole(self.most, "most of a Section"))
