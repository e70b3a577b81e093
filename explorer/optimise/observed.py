"""What the data of a fit measure: formulas of the state along a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import sympy as sp

from explorer.errors import BadModel, BadValue
from explorer.optimise.search import Search
from explorer.results.solution import Solution
from explorer.systems.expressions import expression
from explorer.systems.kinks import slope
from explorer.types import Value

__all__ = ["Observed"]


class Observed:
    """Formulas of the state along the rows of a run, with their derivatives."""

    def __init__(self, search: Search, observe: str | sp.Expr | Sequence[Value]) -> None:
        system, self.flow = search.question.system, search.question.cost.flow
        self.search = search
        one = isinstance(observe, (str, sp.Expr)) or not isinstance(observe, Iterable)
        many = [observe] if one else list(observe)
        if not many:
            raise BadValue("Nothing is observed: give a state or a formula, such as observe='y'.")
        try:
            self.formulas = [expression(f, system.symbols(), "observe") for f in many]
        except BadModel as error:
            raise BadValue(str(error)) from None
        for given, f in zip(many, self.formulas, strict=True):
            if not f.free_symbols:
                raise BadValue(
                    f"observe = {given!r} is a number, which no run changes: give a state or a "
                    "formula, such as observe='y'."
                )
        by = [*(s.name for s in self.flow.states), *system.parameters]
        self.bundle = self.flow.outputs(
            [part for f in self.formulas for part in (f, *(slope(f, sp.Symbol(b)) for b in by))]
        )
        self.width = 1 + len(by)

    def __call__(
        self, rho: np.ndarray, run: Solution, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values (m, k) and their derivatives (m, k, p) at the times."""
        n_x, places = self.flow.n_x, self.search.question.places
        rows = np.searchsorted(run.t, times)
        S = run.S[rows][:, :n_x]
        inp = self.flow.input(rho.tolist())
        values = np.empty((len(times), len(self.formulas)))
        slopes = np.empty((*values.shape, len(places)))
        for i, row in enumerate(rows):
            inp[0], inp[1 : 1 + n_x] = times[i], run.x[row]
            out = np.asarray(self.bundle(inp)).reshape(-1, self.width)
            values[i] = out[:, 0]
            slopes[i] = out[:, 1 : 1 + n_x] @ S[i]
            for j, place in enumerate(places):
                if place >= 0:
                    slopes[i, :, j] += out[:, 1 + n_x + place]
        return values, slopes
