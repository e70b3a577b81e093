"""The parts that a solution can have, by name, in the order in which they are told."""

from __future__ import annotations

from explorer.results.constraints import Constraints
from explorer.results.contacts import Contacts
from explorer.results.inputs import Inputs
from explorer.results.multipliers import Multipliers
from explorer.results.part import Part
from explorer.results.springs import Discs, Springs
from explorer.results.states import States
from explorer.results.steps import Steps
from explorer.results.switches import Switches

__all__ = ["PARTS"]

PARTS: dict[str, type[Part]] = {
    part.name: part
    for part in (
        States,
        Inputs,
        Contacts,
        Constraints,
        Multipliers,
        Switches,
        Springs,
        Discs,
        Steps,
    )
}
