"""`fit()`: parameters of a hybrid system from data, by nonlinear least squares.

min sum ((y(t_i, rho) - data_i) / sigma_i)^2 within bounds, by a trust-region Gauss-Newton method
(`scipy.optimize.least_squares`) with the Jacobian y_x S(t_i) + y_rho from the direct method.
Standard errors: s^2 (J' J)^-1 at the solution (Seber and Wild, *Nonlinear Regression*, 1989,
ch. 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp
from scipy import optimize

from explorer.errors import BadModel, BadValue, ExplorerError
from explorer.optimise.search import Change, Search, met
from explorer.progress import Progress
from explorer.sensitivity.direct import ask
from explorer.systems import System
from explorer.systems.expressions import expression
from explorer.trajectory import Trajectory

__all__ = ["Fit", "fit"]


@dataclass(repr=False)
class Fit:
    """Result of `fit`.

    Attributes
    ----------
    parameters, errors : dict of values and standard errors by name
        An error is infinite where the data do not determine the parameter, NaN at a bound.
    covariance : (p, p) float, NaN where errors are
    residuals : (m, k) data minus model, NaN where data are
    rms : float, root mean square of the residuals
    success : bool
    message : str
    changes : list of Change, changes of the event sequence between iterates
    history : list of dict, one for each iterate: parameters, cost (half the sum of squares), events
    trajectory : Trajectory at the values found, rows at the data's times and at events
    evaluations : int, runs
    """

    parameters: dict[str, float]
    errors: dict[str, float]
    covariance: np.ndarray
    residuals: np.ndarray
    rms: float
    success: bool
    message: str
    changes: list[Change]
    history: list[dict[str, float]]
    trajectory: Trajectory
    evaluations: int

    def __repr__(self) -> str:
        found = ", ".join(
            f"{k} = {v:.6g} ± {self.errors[k]:.2g}" for k, v in self.parameters.items()
        )
        return f"Fit({found}; rms {self.rms:.3g}; {self.message})"


class _Observed:
    """Formulas of the state along the rows of a run, with their derivatives."""

    def __init__(self, search: Search, observe: Any) -> None:
        system, self.flow = search.question.system, search.question.cost.flow
        self.search = search
        many = [observe] if isinstance(observe, (str, sp.Expr)) else list(observe)
        if not many:
            raise BadValue("Nothing is observed: give a state or a formula, such as observe='y'.")
        try:
            self.formulas = [expression(f, system.symbols(), "observe") for f in many]
        except BadModel as error:
            raise BadValue(str(error)) from None
        by = [*(s.name for s in self.flow.states), *system.parameters]
        self.bundle = self.flow.outputs(
            [part for f in self.formulas for part in (f, *(f.diff(sp.Symbol(b)) for b in by))]
        )
        self.width = 1 + len(by)

    def __call__(self, rho: np.ndarray, run: Trajectory, times: np.ndarray) -> tuple:
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


@dataclass
class _Model:
    """What least squares asks for: residuals and Jacobian, at one value after the other."""

    search: Search
    observed: _Observed
    times: np.ndarray
    data: np.ndarray
    weight: np.ndarray
    progress: Progress
    kept: tuple = ()
    runs: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    events: tuple | None = None

    def at(self, values: np.ndarray) -> tuple:
        if not self.kept or not np.array_equal(self.kept[0], values):
            question, run = self.search.run(values)
            self.runs += 1
            y, slopes = self.observed(question.rho, run, self.times)
            self.kept = (values.copy(), run, y, slopes)
        return self.kept

    def residuals(self, values: np.ndarray) -> np.ndarray:
        try:
            _, _, y, _ = self.at(values)
        except ExplorerError:
            if not self.history:
                raise
            # least_squares shortens a step whose residuals are not finite
            return np.full(int(np.isfinite(self.data).sum()), np.inf)
        r = (y - self.data) * self.weight
        return r[np.isfinite(self.data)]

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Called at accepted iterates only."""
        _, run, _, slopes = self.at(values)
        self.note(values, met(run))
        return (slopes * self.weight[:, :, None])[np.isfinite(self.data)]

    def note(self, values: np.ndarray, events: tuple) -> None:
        if self.events is not None and events != self.events:
            self.changes.append(Change(len(self.history), self.events, events))
        self.events = events
        cost = 0.5 * float((self.residuals(values) ** 2).sum())
        self.history.append({**self.search.named(values), "cost": cost, "events": len(events)})
        self.progress(len(self.history), f"cost {cost:.4g}")


def fit(
    system: System,
    t: Any,
    data: Any,
    observe: Any = None,
    wrt: Any = None,
    bounds: Any = None,
    scheme: Any = None,
    *,
    sigma: Any = None,
    start: Any = None,
    tol: float = 1e-10,
    max_iter: int = 100,
    progress: bool = True,
    rho: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Fit:
    """Fit parameters to data.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or StepSystem
    t : (m,) float, increasing times in s
    data : (m,) or (m, k) float
        NaN where nothing was measured.
    observe : str, formula or sequence of k of them, optional
        What was measured: states or formulas; by default the first k states.
    wrt : str or sequence of str, optional
        What is unknown: parameters, or states (their start). By default all parameters.
    bounds : dict by name or sequence of (low, high), optional
        By default the range of each parameter; a start value is free.
    scheme : EventDriven, optional
    sigma : float or array like data, optional
        Standard deviation of the data; without it, it is estimated from the residuals.
    start : dict by name or sequence, optional
        Where the search begins; by default the values of the system. Near the truth: a model that
        bounces once more or less than the data sits in another valley.
    tol : float
        Of the relative change of cost and parameters.
    max_iter : int
    progress : bool
        Whether to show a bar when it takes more than a second.
    rho, **parameters
        Parameters by name; those not given keep their default.

    Returns
    -------
    Fit

    Raises
    ------
    BadValue, BadModel, NotApplicable, StepFailed
        The question makes no sense, or the start has no run.

    Examples
    --------
    >>> import explorer as ex
    >>> ball, t = ex.models.bouncing_ball(), np.linspace(0, 1.2, 30)
    >>> seen = ex.simulate(ball, ex.EventDriven, t_eval=t, e=0.7)
    >>> y = seen.q[np.searchsorted(seen.t, t), 0]
    >>> round(ex.fit(ball, t, y, "y", wrt=("e", "g")).parameters["e"], 6)
    0.7
    """
    times, data, weight = _data(t, data, sigma)
    values = {**(rho or {}), **parameters}
    # the run ends with the data; a single time 0 has nothing to run to
    question = ask(system, scheme, wrt, None, float(times[-1]), None, times, values)
    if observe is None:
        observe = [s.name for s in question.cost.flow.states][: data.shape[1]]
    search = Search.of(question, bounds, start)
    observed = _Observed(search, observe)
    if len(observed.formulas) != data.shape[1]:
        raise BadValue(
            f"The data have {data.shape[1]} columns, but {len(observed.formulas)} observed "
            f"quantities are named: {', '.join(map(str, observed.formulas))}."
        )
    p, m = len(question.wrt), int(np.isfinite(data).sum())
    if m < p:
        raise BadValue(f"{m} numbers cannot determine {p} parameters.")
    waiting = Progress(max_iter, "Fitting", progress)
    model = _Model(search, observed, times, data, weight, waiting)
    found = optimize.least_squares(
        model.residuals, search.start, model.jacobian, bounds=(search.low, search.high),
        x_scale=search.scale, xtol=tol, ftol=tol, gtol=1e-15, max_nfev=max_iter,
    )  # fmt: skip
    waiting.close()
    _, run, y, slopes = model.at(found.x)
    J = (slopes * weight[:, :, None])[np.isfinite(data)]
    covariance, doubts = _covariance(search, found, J, m, sigma is not None)
    residuals = data - y
    message = "converged" if found.status > 0 else f"stopped after max_iter = {max_iter} runs"
    message = "; ".join([message, *doubts])
    if model.changes:
        message += "; " + ", ".join(map(str, model.changes))
    return Fit(
        search.named(found.x), search.named(np.sqrt(np.diag(covariance))), covariance, residuals,
        float(np.sqrt(np.nanmean(residuals**2))), found.status > 0, message, model.changes,
        model.history, run, model.runs,
    )  # fmt: skip


def _data(t: Any, data: Any, sigma: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (m,), data (m, k) and weights (m, k)."""
    try:
        times, values = np.asarray(t, float), np.asarray(data, float)
        spread = np.asarray(1.0 if sigma is None else sigma, float)
    except (TypeError, ValueError):
        raise BadValue("t, data and sigma must be numbers.") from None
    values = values[:, None] if values.ndim == 1 else values
    spread = spread[:, None] if spread.ndim == 1 else spread
    if times.ndim != 1 or values.ndim != 2 or len(times) != len(values):
        raise BadValue(
            f"t (m,) and data (m,) or (m, k) need the same m, not {np.shape(t)} and "
            f"{np.shape(data)}."
        )
    if len(times) == 0 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise BadValue("The times of the data must increase.")
    if times[0] < 0 or times[-1] <= 0:
        raise BadValue("A run begins at t = 0 s: the times of the data must not be before it.")
    try:
        spread = np.broadcast_to(spread, values.shape)
    except ValueError:
        raise BadValue("sigma must be one number or have the shape of the data.") from None
    if not (spread > 0).all():
        raise BadValue("sigma must be greater than zero.")
    return times, values, 1 / spread


def _covariance(
    search: Search, found: Any, J: np.ndarray, m: int, known: bool
) -> tuple[np.ndarray, list[str]]:
    """Return the covariance of the values found, and what must be said about it."""
    names, p = np.array(search.question.wrt), len(found.x)
    held = found.active_mask != 0
    doubts = [f"{name} is at its bound, so it has no standard error" for name in names[held]]
    covariance = np.full((p, p), np.nan)
    free = np.flatnonzero(~held)
    if not len(free):
        return covariance, doubts
    scale = search.scale[free]
    _, s, Vt = np.linalg.svd(J[:, free] * scale, full_matrices=False)
    weak = s <= 1e-9 * max(s[0], 1e-300)
    variance = 1.0 if known else (2 * found.cost / (m - p) if m > p else np.nan)
    inverse = np.where(weak, 0.0, 1 / np.where(weak, 1.0, s)) ** 2
    part = variance * (Vt.T * inverse) @ Vt * np.outer(scale, scale)
    if weak.any():
        lost = (np.abs(Vt[weak]) > 1e-3).any(axis=0)
        part[np.ix_(lost, lost)] = np.inf
        doubts.append(
            "the data do not determine "
            + ", ".join(names[free[lost]])
            + (" (only together)" if lost.sum() > 1 else "")
        )
    covariance[np.ix_(free, free)] = part
    return covariance, doubts
