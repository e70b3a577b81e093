"""Modes of a system with step functions whose slides have no field in one closed form.

The same automaton as that of `explorer.reformulations.filippov`, with numbers in the place of
formulas: where dc/dt = 0 on several surfaces is not affine in the multipliers that it determines
together, they are solved for as the run goes on (`explorer.kernels.sliding.active_modes`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import sympy as sp

from explorer.systems import HybridSystem, StepSystem
from explorer.systems.modes import Branch, Guard, Mode

__all__ = ["SIDE", "Conditions", "Modes", "coupled", "modes_of"]

SIDE, LOW, HIGH, FOLD = range(4)  # kinds of guards, as in `explorer.kernels.sliding.mode_functions`
_ROOTS = 6  # of a slide on more than two surfaces

Signs = tuple[int, ...]


@dataclass(frozen=True)
class Conditions:
    """A possible next mode, and its conditions.

    Attributes
    ----------
    to : int
    near : tuple of int
        Functions of which their rate or their multiplier decides.
    left, among : int, tuple of int
        Where a slide is left that has to attract: the function, and all that it slid on.
    """

    to: int
    near: tuple[int, ...] = ()
    left: int = -1
    among: tuple[int, ...] = ()


@dataclass
class Modes:
    """The modes, described by numbers.

    Attributes
    ----------
    sets : list of (signs, root)
    watched : list of (mode, function, kind) of each guard
    after : list of list of Conditions, of each guard
    begins : list of Conditions
    """

    sets: list[tuple[Signs, int]] = field(default_factory=list)
    watched: list[tuple[int, int, int]] = field(default_factory=list)
    after: list[list[Conditions]] = field(default_factory=list)
    begins: list[Conditions] = field(default_factory=list)


def coupled(on: Sequence[int], depends: Callable[[int, Sequence[int]], bool]) -> bool:
    """Whether multipliers that are determined together enter the rates other than affinely.

    Parameters
    ----------
    on : sequence of int
        The functions that are slid on.
    depends : callable
        Whether the product of some multipliers enters the rate of a function.
    """
    sets = [S for size in range(1, len(on) + 1) for S in itertools.combinations(on, size)]
    terms = {j: [{*S} for S in sets if depends(j, S)] for j in on}
    unknown, left = set(on), list(on)
    while left:
        uses = [set().union(*terms[j]) & unknown for j in left]
        block: tuple[int, ...] = ()
        mine: set[int] = set()
        for size in range(1, len(left) + 1):
            for chosen in itertools.combinations(range(len(left)), size):
                mine = set().union(*(uses[i] for i in chosen))
                if len(mine) <= size:
                    block = chosen
                    break
            if block:
                break
        if not block or len(mine) < len(block):
            return False
        if any(len(S & mine) > 1 for i in block for S in terms[left[i]]):
            return True
        unknown -= mine
        left = [j for i, j in enumerate(left) if i not in block]
    return False


def modes_of(system: StepSystem) -> tuple[HybridSystem, Modes, dict[str, int]]:
    """Return the automaton without formulas, what its modes are, and each guard's function."""
    count, modes = len(system.switches), Modes()
    patterns = sorted(itertools.product((1, 0, -1), repeat=count), key=sum, reverse=True)
    names: list[str] = []
    for signs in patterns:
        on = signs.count(0)
        roots = 1 if on < 2 else 2 if on == 2 else min(math.factorial(on), _ROOTS)
        for root in range(roots):
            name = system.mode_name(signs)
            if name in names and not root:
                name += f" ({StepSystem.mode_name(system, signs)})"
            elif root:
                name = f"{names[len(names) - root]}, slide {root + 1}"
            names.append(name)
            modes.sets.append((signs, root))
    automaton = HybridSystem(
        system.name,
        system.coordinates,
        params=system.parameters,
        units=system.units,
        text=system.text,
    )
    automaton.sketched_as(system)
    automaton.exact = system.exact
    automaton.modes = tuple(Mode(name, k, tuple(system.x)) for k, name in enumerate(names))
    guards, functions = [], {}
    for k in range(len(modes.sets)):
        for j, kind, name, after, leaves in _guards(system, modes, k):
            functions[name] = j
            modes.watched.append((k, j, kind))
            modes.after.append(after)
            branches = tuple(Branch(c.to, (sp.S.One,) * _conditions(modes, c)) for c in after)
            direction = -modes.sets[k][0][j] if kind == SIDE else -1
            guards.append(
                Guard(
                    k,
                    system.x[0],
                    branches[0].to,
                    direction,
                    tuple(system.x),
                    False,
                    None,
                    name,
                    False,
                    -1,
                    branches,
                    leaves,
                )
            )
    automaton.guards = tuple(guards)
    modes.begins = [Conditions(k, tuple(range(count))) for k in range(len(modes.sets))]
    automaton.start_branches = tuple(
        Branch(c.to, (sp.S.One,) * _conditions(modes, c)) for c in modes.begins
    )
    automaton.start(system.start_x, t_end=system.t_end, h=system.h)
    return automaton, modes, functions


def _conditions(found: Modes, c: Conditions) -> int:
    """Return the number of conditions."""
    if c.left >= 0:
        return 1
    signs = found.sets[c.to][0]
    return sum(1 if signs[j] else 2 for j in c.near)


def _guards(
    system: StepSystem, found: Modes, k: int
) -> Iterator[tuple[int, int, str, list[Conditions], str]]:
    """Yield function, kind, name, possible next modes and the guard to leave, for a mode."""
    signs, _ = found.sets[k]
    on = [j for j, side in enumerate(signs) if side == 0]

    def like(near: Sequence[int]) -> list[Conditions]:
        return [
            Conditions(to, tuple(near))
            for to, (other, _) in enumerate(found.sets)
            if to != k and all(other[i] == signs[i] for i in range(len(signs)) if i not in near)
        ]

    for j, side in enumerate(signs):
        name, alpha = system.guard_names[j], system.switches[j].alpha
        if side:
            own = Conditions(k, (j, *on))  # where it only grazes
            yield j, SIDE, name, [*like((j, *on)), own], ""
            continue
        for kind, end in ((LOW, -1), (HIGH, 1)):
            after = (*signs[:j], end, *signs[j + 1 :])
            first = [
                Conditions(to, (), j, tuple(on))
                for to, (other, _) in enumerate(found.sets)
                if other == after
            ]
            rest = [c for c in like(on) if c.to not in [f.to for f in first]]
            yield j, kind, f"{name}, {alpha} = {(end + 1) // 2}", [*first, *rest], name
    if len(on) == 2:
        yield on[0], FOLD, "both slides meet", like(on), ""
