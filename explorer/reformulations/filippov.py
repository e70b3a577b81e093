"""`filippov`: a system with step functions as a `HybridSystem`, exactly.

A mode is an active set: the sign of each switching function, 0 where it is slid on. Its field is
f(t, x, alpha), with alpha = 1 and 0 on the sides and, on surfaces, what keeps dc/dt at zero
(`explorer.reformulations.sliding`). A mode is left where a function comes to zero, or where a
multiplier leaves [0, 1]. The sets that may follow there are those in which every function at zero
goes to its own side and every multiplier is in (0, 1); only functions that feel the change are
asked anew (Filippov 1988, section 4; Dieci and Lopez, *J. Comput. Appl. Math.* 236 (2012) 3967).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import sympy as sp

from explorer.arguments import a as needs
from explorer.errors import NotApplicable
from explorer.reformulations.active_modes import Modes, coupled, modes_of
from explorer.reformulations.multilinear import Rates, degree
from explorer.reformulations.sliding import Slide, slides
from explorer.systems import HybridSystem, StepSystem
from explorer.systems.kinks import slope
from explorer.types import Plain

__all__ = ["ActiveSets", "active_sets", "filippov", "obstacle"]

_MOST = 5  # switching functions: 3^5 active sets
_LONG = 150  # operations of a formula
_ON = sp.Float(1e-20)  # the square of what is zero at the start

Signs = tuple[int, ...]
Conditions = list[sp.Expr]


@dataclass(frozen=True)
class ActiveSets:
    """The modes of a system with step functions.

    Attributes
    ----------
    automaton : HybridSystem
    signs : tuple of tuple of int
        Of each mode the signs of the switching functions, 0 where it slides.
    alpha : tuple of tuple of sympy.Expr
        Of each mode the multipliers.
    functions : dict of str to int
        The switching function that a guard is about, by the guard's name.
    numbers : Modes or None
        What the modes are where their multipliers are solved for as the run goes on: then the
        automaton has no formulas, and `alpha` is empty.
    """

    automaton: HybridSystem
    signs: tuple[Signs, ...]
    alpha: tuple[tuple[sp.Expr, ...], ...]
    functions: dict[str, int]
    numbers: Modes | None = None


def filippov(system: StepSystem) -> HybridSystem:
    """Return the hybrid system of the active sets, to look at or to run.

    Parameters
    ----------
    system : StepSystem or FilippovSystem

    Raises
    ------
    NotApplicable
        Too many switching functions, or multipliers that enter other than linearly.

    Examples
    --------
    >>> import explorer as ex
    >>> relay = ex.StepSystem("relay", x="x", params={"d": 0.5}, f=["d - sign(x)"])
    >>> [(mode.name, mode.flow) for mode in ex.reformulations.filippov(relay).modes]
    [('x > 0', (d - 1,)), ('x = 0', (0,)), ('x < 0', (d + 1,))]
    """
    _check_kind(system)
    automaton = copy.copy(_closed(system).automaton)
    automaton.parameters = dict(automaton.parameters)
    return automaton


def active_sets(system: StepSystem) -> ActiveSets:
    """Return the modes of a system for event location; cached until its equations change.

    Raises
    ------
    NotApplicable
        As for `filippov`.
    """
    _check_kind(system)
    if "active sets" not in system.made:
        _check(system)
        if _Builder(system).coupled:
            automaton, numbers, functions = modes_of(system)
            signs = tuple(signs for signs, _ in numbers.sets)
            system.made["active sets"] = ActiveSets(automaton, signs, (), functions, numbers)
        else:
            system.made["active sets"] = _closed(system)
    sets: ActiveSets = system.made["active sets"]
    return sets


def _closed(system: StepSystem) -> ActiveSets:
    """Return the modes of a system by formulas."""
    if "closed sets" not in system.made:
        _check(system)
        system.made["closed sets"] = _Builder(system).build()
    sets: ActiveSets = system.made["closed sets"]
    return sets


def _check_kind(system: object) -> None:
    example = "filippov(ex.models.sliding_mode())"
    needs(system, StepSystem, "a system with step functions", example)


def _check(system: StepSystem) -> None:
    why = obstacle(system)
    if why:
        raise NotApplicable(f"'{system.name}' cannot be reformulated with modes: {why}")


def obstacle(system: StepSystem) -> str:
    """Return why a system cannot be rewritten, in a sentence; empty if it can."""
    count = len(system.switches)
    if count > _MOST:
        return (
            f"it has {count} switching functions, and modes are formed for at most {_MOST}, "
            f"3^{_MOST} active sets. FESD accepts any number."
        )
    for s in system.switches:
        unclear = [f for f in system.f if degree(f, s.alpha) > 1]
        if any(s.alpha in sp.expand_mul(f).diff(s.alpha).free_symbols for f in unclear):
            return (
                f"{s.alpha}, the multiplier of {s.name!r}, enters its f nonlinearly, so sliding "
                "has no closed form. FESD accepts this system directly."
            )
    return ""


class _Builder:
    """Makes the modes of one system and their guards."""

    def __init__(self, system: StepSystem) -> None:
        self.system = system
        self.count = len(system.switches)
        self.alphas = [s.alpha for s in system.switches]
        self.c = [s.c for s in system.switches]
        self.sets: list[tuple[Signs, Slide]] = []
        self.of: dict[Signs, list[int]] = {}

    @cached_property
    def rates(self) -> list[sp.Expr]:
        """dc/dt of each function, multiplied out."""
        flow = [sp.expand_mul(f) for f in self.system.f]
        return [
            sp.expand_mul(
                slope(c, self.system.t)
                + sum((g * f for g, f in zip(row, flow, strict=True)), sp.S.Zero)
            )
            for c, row in zip(self.c, self.gradients, strict=True)
        ]

    @cached_property
    def gradients(self) -> list[list[sp.Expr]]:
        """Of each function its derivatives by each state."""
        return [[slope(c, x) for x in self.system.x] for c in self.c]

    @property
    def coupled(self) -> bool:
        """Whether a slide on several surfaces has multipliers that are not quotients of rates."""
        if self.count < 2:
            return False
        rates = Rates(self.system.f, self.alphas, self.gradients)
        for signs in itertools.product((1, 0, -1), repeat=self.count):
            on = [j for j in range(self.count) if signs[j] == 0]
            alpha = {j: int(s > 0) for j, s in enumerate(signs)}
            if len(on) > 1 and coupled(on, partial(rates.depends, held=alpha)):
                return True
        return False

    def build(self) -> ActiveSets:
        system = self.system
        automaton = HybridSystem(
            system.name,
            system.coordinates,
            params=system.parameters,
            units=system.units,
            text=system.text,
        )
        automaton.sketched_as(system)
        automaton.exact = system.exact
        # where several sets can follow, that with the most positive signs
        patterns = list(itertools.product((1, 0, -1), repeat=self.count))
        for signs in sorted(patterns, key=sum, reverse=True):
            on = [j for j in range(self.count) if signs[j] == 0]
            held = self._sides(signs)
            slid = slides([self.rates[j].xreplace(held) for j in on], [self.alphas[j] for j in on])
            for slide in slid or []:
                self.of.setdefault(signs, []).append(len(self.sets))
                self.sets.append((signs, Slide(held | slide.alpha, slide.inside)))
        names: list[str] = []
        for signs, slide in self.sets:
            names.append(self._name(signs, names))
            flow = [f.xreplace(slide.alpha) for f in system.f]
            automaton.mode(names[-1], [_shorter(f) for f in flow] if 0 in signs else flow)
        self.names = names
        functions = {}
        for k in range(len(self.sets)):
            for name, j, guard in self._guards(k):
                functions[name] = j
                automaton.guard(names[k], name=name, **guard)
        starts = {names[k]: list(self._begins(k)) for k in range(len(self.sets))}
        automaton.start(system.start_x, starts, t_end=system.t_end, h=system.h)
        alpha = [tuple(slide.alpha[a] for a in self.alphas) for _, slide in self.sets]
        return ActiveSets(automaton, tuple(s for s, _ in self.sets), tuple(alpha), functions)

    def _name(self, signs: Signs, taken: Sequence[str]) -> str:
        """Return the name of an active set; regions may be unions, of several sets."""
        name = self.system.mode_name(signs)
        if name in taken:
            name += f" ({StepSystem.mode_name(self.system, signs)})"
        return name if name not in taken else f"{name}, other slide"

    def _sides(self, signs: Signs) -> dict[sp.Symbol, sp.Expr]:
        """Return the multipliers of the functions that are not zero."""
        return {a: sp.Integer(s > 0) for a, s in zip(self.alphas, signs, strict=True) if s}

    # -- what follows -------------------------------------------------------------------------

    def _guards(self, k: int) -> Iterator[tuple[str, int, Plain]]:
        """Yield name, switching function and arguments of the guards of a mode."""
        signs, slide = self.sets[k]
        moving = {self.system.t, *self.system.x}
        for j in range(self.count):
            name, alpha = self.system.guard_names[j], slide.alpha[self.alphas[j]]
            if signs[j]:
                to = dict(self._meets(k, j))
                yield name, j, {"r": self.c[j], "direction": -signs[j], "to": to}
            elif alpha.free_symbols & moving:
                for side, r in ((-1, alpha), (1, 1 - alpha)):
                    yield (
                        f"{name}, {self.alphas[j]} = {(side + 1) // 2}",
                        j,
                        {"r": r, "to": dict(self._leaves(k, j, side)), "leaves": name},
                    )

    def _felt(self, signs: Signs, j: int) -> list[int]:
        """Return j and the functions of the slide whose rates depend on its multiplier."""
        free = (*signs[:j], 0, *signs[j + 1 :])
        alpha, functions = self._sides(free), [j]
        on = [i for i in range(self.count) if free[i] == 0]
        uses = {i: self.rates[i].xreplace(alpha).free_symbols for i in on}
        for felt in functions:
            functions += [i for i in on if i not in functions and self.alphas[felt] in uses[i]]
        return functions

    def _candidates(self, signs: Signs, near: Sequence[int]) -> Iterator[int]:
        """Yield the modes that differ in functions `near` only."""
        for k, (other, _) in enumerate(self.sets):
            if all(other[i] == signs[i] for i in range(self.count) if i not in near):
                yield k

    def _holds(self, k: int, near: Sequence[int]) -> Conditions:
        """Return what must be > 0 for the mode to begin where functions `near` are zero."""
        signs, slide = self.sets[k]
        leaving = []
        for i in near:
            if signs[i]:
                leaving.append(signs[i] * self.rates[i].xreplace(slide.alpha))
            else:
                leaving += slide.inside[self.alphas[i]]
        return leaving

    def _meets(self, k: int, j: int) -> Iterator[tuple[str, Conditions]]:
        """Yield the modes that may follow a zero of function j, with their conditions."""
        signs = self.sets[k][0]
        near = self._felt(signs, j)
        across = (*signs[:j], -signs[j], *signs[j + 1 :])
        if (
            near == [j]
            and self.alphas[j]
            not in self.rates[j]
            .xreplace({a: v for a, v in self.sets[k][1].alpha.items() if a != self.alphas[j]})
            .free_symbols
        ):  # both sides go the same way
            yield from ((self.names[to], []) for to in self.of[across][:1])
            return
        for to in self._candidates(signs, near):  # its own side too, where it only grazes
            yield self.names[to], self._holds(to, near)

    def _leaves(self, k: int, j: int, side: int) -> Iterator[tuple[str, Conditions]]:
        """Yield the modes that may follow when the multiplier of j reaches its bound on `side`.

        There dc_j/dt is zero beside the surface too: c_j leaves to this side if the slide attracts,
        det J_Z / det J_(Z without j) < 0 with J = d(dc/dt)/d alpha.
        """
        signs, slide = self.sets[k]
        near = self._felt(signs, j)
        after = (*signs[:j], side, *signs[j + 1 :])

        def determinant(on: Sequence[int]) -> sp.Expr:
            rows = [[slope(self.rates[i], self.alphas[m]) for m in on] for i in on]
            return sp.Matrix(rows).det(method="berkowitz").xreplace(slide.alpha)

        attracts = -determinant(near) * determinant([i for i in near if i != j])
        for to in self.of.get(after, []):
            yield self.names[to], [sp.expand_mul(attracts)]
        for to in self._candidates(signs, near):
            if self.sets[to][0][j] and self.sets[to][0] != after:
                yield self.names[to], self._holds(to, near)

    def _begins(self, k: int) -> Iterator[sp.Expr]:
        """Yield what must be > 0 to start in this mode: +-c or, where c = 0, +- its rate."""
        signs = self.sets[k][0]
        for j in range(self.count):
            off = self.c[j] ** 2 > _ON
            aside = signs[j] * self.c[j] if signs[j] else -(self.c[j] ** 2)
            for holds in self._holds(k, [j]):
                yield sp.Piecewise((aside, off), (holds, True), evaluate=False)


def _shorter(f: sp.Expr) -> sp.Expr:
    """Return the expanded formula if it is shorter; long formulas are not expanded."""
    return f if sp.count_ops(f) > _LONG else min(f, sp.expand_mul(f), key=sp.count_ops)
