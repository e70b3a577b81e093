"""What a plan does not know of: pushes along a run, and other parameters of the true system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from explorer.arguments import Checked, items, mapping
from explorer.control.states import states_of
from explorer.errors import BadValue, suggest
from explorer.parameters import number
from explorer.quantities import quantity
from explorer.systems import System

__all__ = ["Disturbance", "Push"]


@dataclass(frozen=True)
class Push(metaclass=Checked):
    """A jump of the state.

    Parameters
    ----------
    t : float
        Its time in s.
    jump : mapping of str to float
        By how much states jump: ``{"v_x": 0.2}``. Contacts answer a jump of velocities at once.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.Push(0.5, {"v": 0.2})
    Push(t=0.5, jump={'v': 0.2})
    """

    t: float
    jump: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        t = number(self.t, "The time of a push", "s")
        if t < 0:
            raise BadValue(f"The time of a push must not be negative, but it is {t:g} s.")
        given = mapping(self.jump, "The jump of a push", '{"v": 0.2}')
        jump = {str(k): number(x, f"The jump of {k!r}") for k, x in given.items()}
        object.__setattr__(self, "t", t)
        object.__setattr__(self, "jump", jump)


@dataclass(frozen=True)
class Disturbance(metaclass=Checked):
    """What happens to the true system without the plan knowing of it.

    Parameters
    ----------
    pushes : sequence of Push
    parameters : mapping of str to float
        Values that the true system has instead of those of the plan.

    Examples
    --------
    >>> import explorer as ex
    >>> ex.Disturbance([ex.Push(0.5, {"v": 0.2})], {"mu": 0.3})
    Disturbance(pushes=(Push(t=0.5, jump={'v': 0.2}),), parameters={'mu': 0.3})
    """

    pushes: Sequence[Push] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given = self.pushes
        one = [given] if isinstance(given, Push) else items(given, "pushes", Push)
        object.__setattr__(self, "pushes", tuple(sorted(one, key=lambda push: push.t)))
        values = mapping(self.parameters, "parameters of a disturbance", '{"mu": 0.3}')
        object.__setattr__(self, "parameters", dict(values))

    def check(self, system: System, controls: Sequence[str], t_end: float) -> None:
        """Refuse what does not fit to a system and a horizon in s.

        Raises
        ------
        BadValue
            An unknown state or parameter, a control, a push outside of the horizon.
        """
        known = [name for name in system.parameters if name not in controls]
        states = [x.name for x in states_of(system)]
        for name in self.parameters:
            if name in controls:
                raise BadValue(
                    f"parameters of a disturbance: {name!r} is a control, which the plan sets."
                )
            if name not in known:
                raise BadValue(
                    f"parameters of a disturbance: '{system.name}' has no parameter {name!r}."
                    f"{suggest(name, known)}"
                )
        for push in self.pushes:
            for name in push.jump:
                if name not in states:
                    raise BadValue(
                        f"A push: '{system.name}' has no state {name!r}.{suggest(name, states)}"
                    )
            if push.t > t_end:
                raise BadValue(
                    f"A push at {quantity(push.t, 's')} is behind the end of the run, "
                    f"{quantity(t_end, 's')}. Push earlier, or follow for longer."
                )

    def jump(self, push: Push, system: System) -> np.ndarray:
        """Return the jump (n_x,) of the state at a push."""
        return np.array([push.jump.get(x.name, 0.0) for x in states_of(system)])
