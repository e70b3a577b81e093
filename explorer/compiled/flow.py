"""A system as the event-driven kernels take it: modes, guards, resets, and all their derivatives.

The input vector of every bundle is ``[t, x, rho, x', lam, e, sigma, penalty]``. A `HybridSystem`
brings its modes; a system with step functions is rewritten exactly to one
(`explorer.reformulations`), and so is a mechanical system: x = (q, v), a mode is a set of closed
contacts, and what is compiled are the residuals of `explorer.compiled.saddle`, so that one saddle
system gives values and derivatives alike (Corner et al. 2019, eq. (15)).

Derivatives by parameters are compiled for those that are asked for (`Flow.by`); a running cost is
one bundle besides (`Flow.with_cost`).
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import symengine as se
import sympy as sp

from explorer.compiled.active_modes import ActiveModes
from explorer.compiled.assembly import assembly
from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.compiled.elimination import eliminated
from explorer.compiled.held import driven_flow, held
from explorer.compiled.remade import Recipe, Remade
from explorer.compiled.saddle import Inputs, forces_of, gradient, inputs_of, saddle
from explorer.compiled.sides import Sides
from explorer.errors import BadModel
from explorer.reformulations import ActiveSets, active_sets
from explorer.systems import HybridSystem, LagrangianSystem, StepSystem, System
from explorer.systems.kinks import sharp_formulas
from explorer.systems.modes import Guard
from explorer.types import Reals

__all__ = ["Flow", "compile_flow"]

Outputs = Callable[[], Bundle | list[Expr]]  # formulas of a bundle, or the bundle itself
_MOST, _FEW = 200, 12  # coordinates; modes compiled at once: others when a run comes to them


def _smoothed(formulas: Sequence[sp.Expr], sides: Sides | None = None) -> list[Expr]:
    return [smooth(sp.sympify(f), sides) for f in formulas]


class Flow(Remade):
    """The native functions of a system for event-driven integration.

    Parameters
    ----------
    system : MechanicalSystem, LinearMechanicalSystem, HybridSystem or StepSystem
    wrt : set of int, optional
        The parameters by which it is differentiated; see `by`.

    Attributes
    ----------
    cost : sympy expression or None
        Running cost g(t, x, x', lam, rho); accelerations are among `rates`. See `with_cost`.
    forces : dict of sympy expressions
        The forces of contacts and constraints by their names in a cost, in the sign of the results.
    automaton : HybridSystem or None
        The modes that it has, or is rewritten to.
    active_sets : ActiveSets or None
        What the modes of a system with step functions are.
    n_x, n, n_c, n_rho : int
        States, coordinates (0 without contacts), contacts, parameters.
    rough : tuple of int
        The contacts with friction, in the order of their tangents.
    rows : int
        Normals, tangents and constraints together; of these constraints there are `n_phi`.
    table : (k, 2) int64
        Addresses of the bundles, as `explorer.kernels.event_driven.flow` orders them; or 0.
    most : int
        Largest number of outputs.
    changes : tuple of Change
        What adds constraints and takes them away.
    resets : (n_c, 1 + n) int64
        The bundle of a contact's law of velocities (-1: none), and which coordinates it names.
    side_places : list of int
        Where the sides of the surfaces stand in the input vector.
    assembles : bool
        Whether constraints correct the start.
    """

    def __init__(self, system: System, wrt: frozenset[int] = frozenset()) -> None:
        self.system, self.wrt = system, wrt
        self.mechanical = isinstance(system, LagrangianSystem)
        self.assembles = getattr(system, "assembles", None) is not None
        self.automaton: HybridSystem | None = None
        self.active_sets: ActiveSets | None = None
        names = list(system.parameters)
        if isinstance(system, LagrangianSystem):
            if system.n > _MOST:
                what = f"'{system.name}' has {system.n} coordinates, but event location uses full"
                raise BadModel(f"{what} matrices, up to {_MOST}. Time stepping accepts any size.")
            self.states = [*system.q, *system.v]
            self.n, self.rough = system.n, system.rough
        elif isinstance(system, (HybridSystem, StepSystem)):
            if isinstance(system, StepSystem):
                self.active_sets = active_sets(system)
                self.automaton = self.active_sets.automaton
            else:
                system.check()
                self.automaton = system
            self.states = list(system.x)
            self.n, self.rough = 0, ()
        else:
            raise BadModel(f"{type(system).__name__} cannot be integrated between events.")
        self.n_x, self.n_rho = len(self.states), len(names)
        self.n_c, self.n_phi = len(system.contacts), len(system.constraints)
        self.changes = system.changes if isinstance(system, LagrangianSystem) else ()
        # x' as inputs; a cost calls them a_<coordinate> (accelerations) or d_<state>
        own = [sp.Symbol(f"{'a' if self.n else 'd'}_{c}") for c in system.coordinates]
        self.forces = forces_of(system)
        self.rates = [*(sp.Symbol(f"_rate_{k}") for k in range(self.n)), *own]
        t, rho = se.Symbol("t"), [se.Symbol(k) for k in names]
        x, rate = [se.sympify(s) for s in self.states], [se.sympify(s) for s in self.rates]
        self.rows = self.n_c + len(self.rough) + self.n_phi
        inputs = inputs_of(self.n_c, len(self.rough), self.n_phi)
        numbers = None if self.active_sets is None else self.active_sets.numbers
        self.sides = Sides([system.t, *self.states], [sp.Symbol(k) for k in names])
        self.sides.collect(sharp_formulas(system) if numbers is None else ())
        self._args = [t, *x, *rho, *rate, *itertools.chain(*inputs), *self.sides.symbols]
        self._t, self._x, self._rho, self._rate, self._lam = t, x, rho, rate, inputs.lam
        self.resets = np.full((self.n_c, 1 + self.n), -1)
        self.bundles: list[Any] = []  # `Bundle`, or None until a run comes to its mode
        self.offsets = {"eliminated": -1}
        self._recipes: list[tuple[int, int, Outputs]] = []
        self._shared: dict[tuple[Expr, ...], Bundle] = system.made.setdefault("bundles", {})
        self.solved: ActiveModes | None = None
        if isinstance(system, StepSystem) and numbers is not None:
            self.solved = ActiveModes(system, numbers, 1 + self.n_x, len(self._args))
        if isinstance(system, LagrangianSystem):
            self._rewrite(system, inputs)
        elif self.automaton is not None:
            self._modes(self.automaton)
        self.offsets["cost"] = len(self.bundles)
        self.cost: sp.Expr | None = None
        self._plain, self._origin = self, system  # without a cost; not begun in another mode
        self._kept: dict[tuple[frozenset[int], sp.Expr | None, System], Flow] = {}
        self._watch_sides()
        self._start(system)  # the last one
        self._list()
        if self.automaton is not None and len(self.automaton.modes) <= _FEW:
            for mode in self.automaton.modes:
                self.make(mode.index)

    def _list(self) -> None:
        """Write the table of the bundles, and drop workspaces of an earlier table."""
        addresses = [[b.address, b.data] if b else [0, 0] for b in self.bundles]
        self.table = np.array(addresses, np.int64)
        sizes = [2 * len(self.sides.symbols), *(size for _, size, _ in self._recipes)]
        self.most = max([*(b.size for b in self.bundles if b), *sizes])
        self.workspaces: dict[tuple[object, ...], list[Any]] = {}  # those that no run is using

    def _add(self, outputs: Sequence[Expr]) -> None:
        self.bundles.append(self._bundle(outputs))

    def _bundle(self, outputs: Sequence[Expr]) -> Bundle:
        """Return a bundle; formulas that several modes or flows share are compiled once."""
        key = tuple(outputs)
        if key not in self._shared:
            self._shared[key] = Bundle(self._args, outputs)
        return self._shared[key]

    def _modes(self, system: HybridSystem) -> None:
        """List the functions of each mode and how to compile them; `make` compiles them."""
        n, columns, solved = self.n_x, 1 + self.n_x + self.n_rho, self.solved
        self.guards = sorted(system.guards, key=lambda g: g.mode)
        by_mode: list[list[Guard]] = [[] for _ in system.modes]
        for guard in self.guards:
            by_mode[guard.mode].append(guard)

        def add(mode: int, size: int, recipe: Outputs) -> None:
            self._recipes.append((mode, size, recipe))
            self.bundles.append(None)

        for mode in system.modes:
            k, plain = mode.index, partial(_smoothed, mode.flow, self.sides)
            add(k, n, partial(solved.field, k, False) if solved else plain)
        self.offsets["tlm"] = len(self.bundles)
        for mode in system.modes:
            k = mode.index
            plain = partial(self._by_all, mode.flow, False, self.sides)
            add(k, n * columns, partial(solved.field, k, True) if solved else plain)
        self.offsets["guard"] = len(self.bundles)
        for k, mine in enumerate(by_mode):
            watched = [g.r for g in mine], [1 if g.when is None else g.when for g in mine]
            plain = partial(_smoothed, [*watched[0], *watched[1]])
            own = [i for i, g in enumerate(self.guards) if g.mode == k]
            add(k, 2 * len(mine), partial(solved.guards, k, own) if solved else plain)
        self.offsets["guard_tlm"] = len(self.bundles)
        for i, guard in enumerate(self.guards):
            plain = partial(self._slope, guard.r)
            add(guard.mode, columns, partial(solved.slope, i) if solved else plain)
        self.offsets["reset"] = len(self.bundles)
        for i, guard in enumerate(self.guards):
            plain = partial(self._by_all, guard.reset, True)
            add(guard.mode, n * (1 + columns), partial(solved.reset, i) if solved else plain)
        self.offsets["branch"] = len(self.bundles)
        for i, guard in enumerate(self.guards):
            if guard.branches:
                when = [w for b in guard.branches for w in b.when]
                plain = partial(_smoothed, when)
                add(guard.mode, len(when), partial(solved.after, i) if solved else plain)
        self._active: dict[int, Bundle] = {}
        self.starts = (
            solved.begins()
            if solved
            else Bundle(self._args, [smooth(w) for b in system.start_branches for w in b.when])
        )

    def _by_all(
        self, formulas: Sequence[sp.Expr], t: bool, sides: Sides | None = None
    ) -> list[Expr]:
        """Return formulas, their derivatives by t if wanted, by x and by the parameters."""
        f = _smoothed(formulas, sides)
        by_t = [g.diff(self._t) for g in f] if t else []
        return [*f, *by_t, *gradient(f, self._x), *self._by_rho(f)]

    def _by_rho(self, functions: Sequence[Expr]) -> list[Expr]:
        """Return the Jacobian by the parameters, row by row; zero for parameters not in `wrt`."""
        none = se.Integer(0)
        return [
            f.diff(r) if k in self.wrt else none for f in functions for k, r in enumerate(self._rho)
        ]

    def _slope(self, formula: sp.Expr) -> list[Expr]:
        return self._by_all([formula], True)[1:]

    def make(self, mode: int) -> None:
        """Compile the functions of a mode."""
        plain = vars(self).get("_undriven") if self._plain is self else self._plain
        if plain is not None:
            plain.make(mode)
            self.bundles[: len(self._recipes)] = plain.bundles[: len(self._recipes)]
            self.table[: len(self._recipes)] = plain.table[: len(self._recipes)]
            return
        # the field, which tells a kernel that the mode is there, comes last
        for row in range(len(self._recipes) - 1, -1, -1):
            of, _, recipe = self._recipes[row]
            if of == mode and self.bundles[row] is None:
                outputs = recipe()
                bundle = outputs if isinstance(outputs, Bundle) else self._bundle(outputs)
                self.bundles[row] = bundle
                self.table[row] = bundle.address, bundle.data

    def _rewrite(self, system: LagrangianSystem, inputs: Inputs) -> None:
        x, rate = (self._x[: self.n], self._x[self.n :]), self._rate[self.n :]
        bundles = saddle(system, self._t, *x, rate, inputs, self._by_rho, self.sides)
        for outputs in bundles:
            self._add(outputs)
        sizes = self.n, self.rows, self.n_phi
        if solved := eliminated(bundles[0], bundles[1], *sizes, inputs.penalty):
            self.offsets["eliminated"] = len(self.bundles)
            self._add(solved)
        for k, law in enumerate(dict(c.reset or ()) for c in system.contacts):
            if law:
                self.resets[k, 0] = len(self.bundles)
                self.resets[k, 1:] = [x in law for x in system.coordinates]
                self._add(self._by_all([sp.sympify(v) for v in law.values()], True))
        self.guards = []
        self.offsets |= dict.fromkeys(("tlm", "guard", "guard_tlm", "reset"), 0)

    def _watch_sides(self) -> None:
        """Arrange the input vector behind the arguments of all bundles, and compile the surfaces.

        It is the work space of active modes, then the sides of a cost's own surfaces, then the
        inverse sizes of all surfaces.
        """
        room = range(self.solved.scratch if self.solved else 0)
        scratch = [se.Symbol(f"_scratch_{k}") for k in room]
        sides, own = self.sides, len(self._plain.sides.symbols)
        inverse = [se.Symbol(f"_inverse_{k}") for k in range(len(sides.symbols))]
        self._all_args = [*self._args, *scratch, *sides.symbols[own:], *inverse]
        behind = len(self._args) + len(scratch)
        places = [*range(len(self._args) - own, len(self._args))]
        self.side_places = [*places, *range(behind, behind + len(sides.symbols) - own)]
        formulas = sides.guards(inverse)
        self.surfaces = Bundle(self._all_args, formulas) if formulas else None

    def _start(self, system: System) -> None:
        mechanical = isinstance(system, LagrangianSystem)
        parts = ("start_q", "start_v") if mechanical else ("start_x",)
        start = _smoothed([x for part in parts for x in getattr(system, part)])
        e = _smoothed([sp.sympify(c.e) for c in system.contacts])
        self._add([*start, *e, *gradient(start, self._rho), *gradient(e, self._rho)])

    def recipe(self) -> Recipe:
        """Return how to make it again, with the modes compiled so far."""
        modes = {of for k, (of, *_) in enumerate(self._recipes) if self.bundles[k] is not None}
        return _again, (self.system, self.cost, sorted(self.wrt), sorted(modes))

    # -- numbers ------------------------------------------------------------------------------

    def input(self, rho: Reals | float) -> np.ndarray:
        """Return a fresh input vector with zero state."""
        inp = np.zeros(len(self._all_args))
        inp[1 + self.n_x : 1 + self.n_x + self.n_rho] = rho
        return inp

    def with_cost(self, g: sp.Expr | None) -> Flow:
        """Return the same system with a running cost g(t, x, x', lam, rho), compiled alone."""
        if g == self.cost:
            return self
        plain, other = self._plain, copy.copy(self)
        other._plain, other.cost, other.bundles = plain, g, plain.bundles.copy()
        if g is not None:
            other.sides = plain.sides.copy()
            f = smooth(sp.sympify(g), other.sides)
            other._watch_sides()
            by = (*self._x, *self._rate, *self._lam)
            outputs = [f, *gradient([f], by), *self._by_rho([f])]
            other.bundles.insert(self.offsets["cost"], Bundle(other._all_args, outputs))
        other._list()
        return other

    @cached_property
    def directions(self) -> np.ndarray:
        """In which direction each guard fires: gaps fall, changes of constraints go both ways."""
        if self.mechanical:
            return np.repeat(np.array([-1, 0]), (self.n_c, self.n_phi))
        return np.array([guard.direction for guard in self.guards], np.int64)

    def by(self, wrt: Iterable[int]) -> Flow:
        """Return the same system with its derivatives by the parameters of these numbers.

        What it has derivatives by already stays. Numbers below zero (start values) need none.
        """
        wanted = self.wrt | {k for k in wrt if k >= 0}
        if wanted == self.wrt:
            return self
        key = wanted, self.cost, self.system
        if key not in self._kept:
            flow = copy.copy(compile_flow(self._origin, None, wanted))
            if self.system is not self._origin:
                flow.system = flow.automaton = self.system  # type: ignore[assignment]
            while len(self._kept) > 8:
                self._kept.pop(next(iter(self._kept)))
            self._kept[key] = flow.with_cost(self.cost)
        return self._kept[key]

    def outputs(self, formulas: Sequence[sp.Expr]) -> Bundle:
        """Compile formulas of t, states, x' (`rates`) and parameters to one native function."""
        return held(Bundle(self._args, _smoothed(formulas)), self.system, 1 + self.n_x)

    def active(self, mode: int) -> Bundle:
        """Return the bundle of the multipliers and switching functions (2 n_c) of a mode."""
        if mode not in self._active:
            assert self.active_sets is not None
            if self.solved is not None:
                active = held(self.solved.active(mode), self.system, 1 + self.n_x)
                return self._active.setdefault(mode, active)
            c = [s.c for s in self.system.switches]  # type: ignore[attr-defined]
            self._active[mode] = self.outputs([*self.active_sets.alpha[mode], *c])
        return self._active[mode]

    def start(self, rho: Reals) -> tuple[np.ndarray, np.ndarray]:
        """Return x0 (n_x,) and its derivative by all parameters (n_x, n_rho)."""
        x, by_rho = self.guess(rho)
        if self.assembles:
            return assembly(self.system).start(rho, x, by_rho, np.eye(self.n_rho))
        return x, by_rho

    def guess(self, rho: Reals) -> tuple[np.ndarray, np.ndarray]:
        """Return the start as its formulas have it, and its derivative by all parameters."""
        values, both = self.bundles[-1](self.input(rho)), self.n_x + self.n_c
        return values[: self.n_x], values[both:].reshape(both, self.n_rho)[: self.n_x]

    def guard_name(self, k: int) -> str:
        """Return the name of a guard; of a mechanical system of a contact, then of constraints."""
        if not self.mechanical:
            return str(self.guards[k].name)
        names = [c.name for c in self.system.contacts]
        return [*names, *(c.name for c in self.system.constraints)][k]


def compile_flow(system: System, cost: sp.Expr | None = None, wrt: Iterable[int] = ()) -> Flow:
    """Return the compiled flow; compiled once for each change of the equations and each `wrt`."""
    kept: dict[frozenset[int], Flow] = system.made.setdefault("flows", {})
    key = frozenset(wrt)
    if key not in kept:
        while len(kept) > 8:
            kept.pop(next(iter(kept)))
        plain = None if system.drive is None else system.base
        flow = None if plain is None else compile_flow(plain, None, wrt)
        kept[key] = Flow(system, key) if flow is None else driven_flow(flow, system)
    return kept[key].with_cost(cost)


def _again(system: System, cost: sp.Expr | None, wrt: Sequence[int], modes: Sequence[int]) -> Flow:
    flow = compile_flow(system, cost, wrt)
    for mode in modes:
        flow.make(mode)
    return flow
