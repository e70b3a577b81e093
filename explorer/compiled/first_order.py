"""A first-order system with relations and laws, compiled for the theta scheme.

The input vector of every bundle is ``[t, x, lam, rho]``. Only entries of the Jacobians that are not
identically zero are outputs; their places in the matrices are integer arrays.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import symengine as se

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.compiled.checks import short
from explorer.compiled.held import Drivable, HeldDict, schedule_of, shared
from explorer.compiled.ordering import Joint, joint
from explorer.errors import BadModel, BadValue
from explorer.quantities import quantity
from explorer.systems import FirstOrderSystem, StateSpaceSystem
from explorer.types import Reals

__all__ = ["FirstOrder", "compile_first_order"]


class FirstOrder(Drivable):
    """The native functions of a first-order system.

    Attributes
    ----------
    given : system
        What was rewritten to `system`, or `system` itself.
    n_x, n, m, n_rho : int
        States, coordinates (0), multipliers, parameters.
    table : (4, 2) int64
        Addresses of f; f_x; (h, g); (H0, H1, G0, G1).
    places : tuple of five (k,) int64
        Flat places of the entries of f_x, H0 = h_x, H1 = h_lam, G0 = g_x, G1 = g_lam.
    kind : int
        0 nonlinear, 1 linear in x and lam, 2 linear and its Jacobians independent of t.
    """

    def __init__(self, system: FirstOrderSystem) -> None:
        system.check()
        self.system = system
        self.given: StateSpaceSystem = system
        t = se.Symbol("t")
        x = [se.sympify(s) for s in system.x]
        lam = [se.sympify(law.lam) for law in system.laws]
        rho = [se.Symbol(k) for k in system.parameters]
        self.args = [t, *x, *lam, *rho]
        self.n_x, self.n, self.m, self.n_rho = len(x), 0, len(lam), len(rho)
        f, h, g = ([smooth(k) for k in part] for part in (system.f, system.y, system.r))
        blocks = [_jacobian(*pair) for pair in ((f, x), (h, x), (h, lam), (g, x), (g, lam))]
        self.places = tuple(np.array(places, np.int64) for _, places in blocks)
        entries = [e for found, _ in blocks for e in found]
        moving = {s for e in entries for s in e.free_symbols}
        timed = {t, *map(se.Symbol, system.input_names)}
        self.kind = 0 if moving & {*x, *lam} else 1 if timed & moving else 2
        self.bundles = {
            "flow": self._bundle(f),
            "flow_x": self._bundle(blocks[0][0]),
            "relation": self._bundle([*h, *g]),
            "relation_x": self._bundle([e for found, _ in blocks[1:] for e in found]),
        }
        self.table = np.array([[b.address, b.data] for b in self.bundles.values()], np.int64)
        self.most = max(b.size for b in self.bundles.values())
        start = [smooth(s) for s in system.start_x]
        bounds = [smooth(b) for law in system.laws for b in (law.lb, law.ub) if not b.is_infinite]
        mass = [smooth(k) for row in system.mass for k in row]
        self._given = self._bundle([*start, *mass, *bounds])

    def _bundle(self, outputs: Sequence[Expr]) -> Bundle:
        bundle, schedule = Bundle(self.args, outputs), schedule_of(self.system)
        if schedule is not None:
            bundle = schedule.bundle(bundle, len(self.args) - self.n_rho)
        return bundle

    def behind_inputs(self, given: StateSpaceSystem) -> FirstOrder:
        """Return the same functions behind the inputs of a system with a drive."""
        other, first = copy.copy(self), len(self.args) - self.n_rho
        other.given, other._undriven = given, self
        other.system = object.__new__(type(self.system))
        object.__setattr__(other.system, "__dict__", vars(self.system).copy())
        vars(other.system).update(
            drive=given.drive,
            made=given.made,
            parameters=given.parameters,  # with its schedule
        )
        other.bundles = HeldDict(self.bundles, other.system, first)
        vars(other).pop("outputs", None)
        return other

    @shared
    def joint(self) -> Joint:
        """States and multipliers in one band, if they are linear and sparse."""
        return joint(self)

    @cached_property
    def outputs(self) -> Bundle:
        """The named outputs."""
        return self._bundle([smooth(o.formula) for o in self.system.outputs])

    def input(self, rho: Reals) -> np.ndarray:
        """Return a fresh input vector with zero state."""
        inp = np.zeros(len(self.args))
        inp[len(inp) - self.n_rho :] = rho
        return inp

    def start(self, rho: Reals) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x0 (n_x,), M (n_x, n_x) and the bounds of lam (2, m).

        Raises
        ------
        BadModel
            A start that is not finite; M that is not finite or singular.
        BadValue
            A relay with lb > ub, or a bound that is not finite.
        """
        system, n = self.system, self.n_x
        values = self._given(self.input(rho))
        x0, M = values[:n].copy(), values[n : n + n * n].reshape(n, n).copy()
        if not np.isfinite(x0).all():
            raise BadModel(f"The start of '{system.name}' is not finite: {short(x0)}.")
        if not np.isfinite(M).all() or np.linalg.cond(M) > 1e14:
            empty = [s for s, row in zip(system.coordinates, M, strict=True) if not row.any()]
            row = f" (the row of {empty[0]!r} is zero)" if empty else ""
            raise BadModel(
                f"The matrix M of '{system.name}' is singular{row}, so M x' = f + r does not "
                "determine x'. Write an algebraic equation as a law of kind 'equality', whose "
                "multiplier is the unknown."
            )
        left = iter(values[n + n * n :])
        bounds = np.array(
            [
                [float(b if b.is_infinite else next(left)) for b in (law.lb, law.ub)]
                for law in system.laws
            ]
        ).reshape(self.m, 2)
        for law, (low, high) in zip(system.laws, bounds, strict=True):
            if not np.isfinite(
                [x for x, b in ((low, law.lb), (high, law.ub)) if not b.is_infinite]
            ).all():
                raise BadValue(
                    f"The bounds of the relay {law.name!r} of '{system.name}' must be finite, but "
                    f"with these parameters lb = {low:g} and ub = {high:g}."
                )
            if not low <= high:
                raise BadValue(
                    f"The relay {law.name!r} of '{system.name}' has lb = {low:g} above ub = "
                    f"{high:g}; lb <= ub is needed (y > 0 gives lb, y < 0 gives ub)."
                )
        return x0, M, np.ascontiguousarray(bounds.T)

    def sides(self, inp: np.ndarray) -> np.ndarray:
        """Return a first guess of the branch of each lam (m,).

        They begin at their bounds. Of the complementarity multipliers in an equality, the one
        with the least y is active.
        """
        m, laws = self.m, self.system.laws
        places = np.array(
            [-int(not law.lb.is_infinite) or int(not law.ub.is_infinite) for law in laws], np.int8
        )
        y = self.bundles["relation"](inp)[:m]
        entries, (_, H0, H1, *_) = self.bundles["relation_x"](inp), self.places
        for k, law in enumerate(laws):
            row = H1[(H1 // m == k) & (entries[H0.size : H0.size + H1.size] != 0)] % m
            acting = [j for j in row if laws[j].kind == "complementarity"]
            if law.kind == "equality" and acting:
                places[min(acting, key=lambda j: y[j])] = 0
        return places

    def culprit(self, inp: np.ndarray) -> str:
        """Return a sentence that names the formula that is not finite here, or nothing."""
        n, m = self.n_x, self.m
        relation = self.bundles["relation"](inp)
        for what, names, values in (
            ("right-hand side", self.system.coordinates, self.bundles["flow"](inp)),
            ("y", [law.name for law in self.system.laws], relation[:m]),
            ("r", self.system.coordinates, relation[m:]),
        ):
            for name, value in zip(names, values, strict=True):
                if not np.isfinite(value):
                    return (
                        f" The {what} of {name!r} is not finite at t = {quantity(inp[0], 's')}, "
                        f"x = {short(inp[1 : 1 + n])}."
                    )
        for what, key in (("f", "flow_x"), ("the relation", "relation_x")):
            if not np.isfinite(self.bundles[key](inp)).all():
                return f" A derivative of {what} is not finite there."
        return ""


def _jacobian(functions: Sequence[Expr], variables: Sequence[Expr]) -> tuple[list[Expr], list[int]]:
    """Return the derivatives that are not zero and their flat places."""
    entries, places = [], []
    for i, f in enumerate(functions):
        for j, v in enumerate(variables):
            derivative = f.diff(v) if v in f.free_symbols else 0
            if derivative != 0:
                entries.append(derivative)
                places.append(i * len(variables) + j)
    return entries, places


def compile_first_order(system: FirstOrderSystem) -> FirstOrder:
    """Return the compiled system; compiled once for each change of its equations."""
    if "first order" not in system.made and system.drive is not None:
        assert isinstance(system.base, FirstOrderSystem)
        system.made["first order"] = compile_first_order(system.base).behind_inputs(system)
    if "first order" not in system.made:
        system.made["first order"] = FirstOrder(system)
    compiled: FirstOrder = system.made["first order"]
    return compiled
