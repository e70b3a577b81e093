"""The numbers of a run of elements."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Options"]


@dataclass(frozen=True)
class Options:
    """What a run of elements is told: see the knobs of `FESD` and of `ThetaRK`.

    Attributes
    ----------
    tableau : str
    stages : int
    h : float
        Length of an interval, or of a step, in s.
    newton_max : int
    elements : int
        Of an interval.
    rule : str
        "plus", "minus" or "slide": the continuation where several are consistent.
    picked : tuple of int
        Its number instead, at each such moment; -1: by the rule.
    split : bool
        Whether an interval gets more elements where there are more switches.
    max_elements, max_switches : int
        Where a run gives up.
    """

    tableau: str
    stages: int
    h: float
    newton_max: int
    elements: int = 1
    rule: str = "plus"
    picked: tuple[int, ...] = ()
    split: bool = True
    max_elements: int = 1
    max_switches: int = 1
