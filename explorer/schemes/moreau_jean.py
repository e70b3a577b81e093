"""Moreau-Jean: the event-capturing theta scheme for mechanical systems with contacts and impacts.

Moreau 1988; Jean, CMAME 177 (1999) 235; *Event-capturing schemes*, "Lagrangian systems" and
"Summary of the time discretized equations", with these corrections: `dt` stands at every smooth
term of "M dv + C v + K q = F + p"; lambda is an impulse p (N s); the impact term e gap' and the
active set use values of the start of the step only; q* = (1 - gamma) q_i + gamma q_k is frozen at
q_i + h gamma v_i (second order for a mass matrix that depends on q) or refreshed at the iterate
(first order, Siconos's choice). The equations stand in
`explorer.kernels.time_stepping.moreau_jean`, Coulomb friction with them in
`explorer.kernels.friction.coulomb` and `explorer.kernels.friction.cone`, constraints and projected
positions in `explorer.kernels.time_stepping.position_projection`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from explorer.certificate import Check
from explorer.codes import LCP_ITERATIONS, LCP_RAY
from explorer.compiled import Compiled
from explorer.errors import BadModel, BadValue
from explorer.parameters import knob
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.runs.time_stepping.ensemble import Answer
from explorer.runs.time_stepping.factors import diagonal
from explorer.runs.time_stepping.moreau_jean import LEVELS, Run, Setup, shared
from explorer.runs.time_stepping.starts import Starts
from explorer.schemes import schemes
from explorer.schemes.bases.capturing import LCP, ImplicitCapturing, Matrices, in_space, rows_of
from explorer.systems import LagrangianSystem, System
from explorer.systems.massless import Massless
from explorer.verification.algorithmic import damped_by_theta
from explorer.verification.energy import made_and_lost
from explorer.verification.growth import mechanical_growth
from explorer.verification.normals import normals
from explorer.verification.positions import drift, penetration
from explorer.verification.steps import moreau
from explorer.verification.touches import touches

__all__ = ["MoreauJean"]

PROJECTED = (
    "none",
    "constraints",
    "all",
    "both levels",
)  # the order of `explorer.kernels.time_stepping.position_projection`, and `LEVELS` of the run
CONES = ("nsgs", "apgd")  # and of `explorer.kernels.friction.cone`, from 1
MANY = 16, 100  # rows of contacts beyond which their graph serves: without friction, and with it


@schemes.register
@dataclass(frozen=True, repr=False)
class MoreauJean(ImplicitCapturing):
    """Moreau-Jean time stepping, for contacts, impacts, friction and constraints.

    One step from (q0, v0), for the contacts with gap + forecast h gap' <= 0 at its start::

        M (v1 - v0) = h [theta F1 + (1 - theta) F0] + G' p
        q1 = q0 + h [theta v1 + (1 - theta) v0]
        0 <= G v1 + e G v0  perp  p >= 0

    Source: Jean, CMAME 177 (1999) 235, doi:10.1016/S0045-7825(98)00383-1; Moreau 1988,
    doi:10.1007/978-3-7091-2624-0_1.

    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=1e-3))
    >>> hit = run.events[0]
    >>> hit.kind, round(hit.t, 2)
    ('impact', 0.45)

    Constraints that are not linear hold at both levels, with a second multiplier gamma::

        M (v1 - v0) = h [theta F1 + (1 - theta) F0] + G_m' p - (G1 - G0)' gamma / h
        q1 = q0 + h [theta v1 + (1 - theta) v0] + M^-1 G_m' gamma,   G_m = (G0 + G1) / 2
        phi(t1, q1) = 0,    G1 v1 + phi_t = 0

    Source: Kinon, Betsch, Schneider, Multibody Syst. Dyn. 57 (2023) 211,
    doi:10.1007/s11044-023-09889-6; Gear et al. 1985, doi:10.1016/0377-0427(85)90008-1.

    Order: 2 between events for theta = 1/2 with ``mass_point="q_star"`` and gamma = 1/2, else 1.
    In a system with constraints, order 2 holds also where contacts stay closed on a curve. Without
    constraints the order is 1 there. It is 1 too for curved constraints with another `projection`,
    since gradients are then evaluated once a step. Across impacts it is 1, with penetration O(h).
    Accumulating impacts need no special treatment.

    With order 2, constraints neither make nor lose energy. The error of the energy is O(h^4) if M
    is constant, phi quadratic and F linear, as for rigid bars, springs and gravity in the
    coordinates of their ends. Otherwise it is O(h^2), without a trend.

    Friction is implicit, so a block that sticks does not creep. mu is evaluated at the start of the
    step, the normal impulse in the step. A contact that sticks, or whose sliding would reverse
    within the step, can hold up to mu_s. An impact may stop sliding, or reverse it by the
    tangential restitution e_t: slip+ = -e_t slip- where friction suffices. Where friction pushes a
    contact open, Newton's law may add energy at an impact (Kane and Levinson 1985), as
    `contact_work` and `friction_work` show. Where friction wedges a body, such as a disc in a
    corner for mu >= 1, no impulses satisfy Newton's impact law. Then no contact rebounds in that
    step, the residual is the violation, and a warning is given.

    Compliant contacts act like springs that only push: 0 <= gap(q, lam) perp lam >= 0 at the end of
    each step, solved by Newton's method if it is nonlinear. The method is of first order for them.
    (A term D p in the relation of velocities, as the source prints it, is not a compliance: its
    unit is 1/kg, it regularises impulses, and a resting contact sinks at the speed D p.)

    Parameters
    ----------
    h : float
        Step size in s; a last shorter step ends exactly at t_end.
    theta : float
        0 explicit, 1/2 midpoint, 1 implicit; A-stable for theta >= 1/2.
    forecast : float
        A contact is active if gap + forecast h gap' <= 0 at the start of the step.
    mass_point : str
        "q_star": M and G at q_i + gamma h v_i, or, of constraints at both levels, between both
        ends of the step; "iterate": at the current Newton iterate.
    gamma : float
        Position of q_star in the step, from 0 (start) to 1 (end).
    projection : str
        "both levels": constraints hold for positions and velocities, as above. The others hold
        constraints at velocity level, with their gradients at one place of the step, and correct
        positions after it: "none"; "constraints", to phi = 0; "all", also to gap >= 0 of active
        contacts. With "all" nothing penetrates, but an impact may lose or gain a little energy.
    newton_tol, newton_max : float, int
        Relative tolerance of the Newton residual; maximum number of iterations.
    lcp : str
        "lemke" (lexicographic), "enumeration" (at most 12 contacts), "pgs".
    cone : str
        Solver for friction in space, instead of `lcp`: "nsgs", nonsmooth Gauss-Seidel, contact by
        contact; "apgd", accelerated projected gradients, all contacts at once.
    lcp_tol, lcp_max : float, int
        Tolerance of the natural residual relative to |q|; maximum number of sweeps of "pgs" and
        "nsgs", and of steps of "apgd".
    """

    handles: ClassVar = ImplicitCapturing.handles | {
        "compliance",
        "constraints",
        "friction",
        "friction in space",
        "neighbours",
        "tangential restitution",
    }
    takes: ClassVar[str] = "mechanical systems with contacts, impacts, friction and constraints"
    massless: ClassVar[bool] = True
    references: ClassVar = ("moreau-1988", "jean-1999", "siconos-schemes")
    choice_references: ClassVar = ImplicitCapturing.choice_references | {
        "projection": {"constraints": ("gear-1985",), "all": ("acary-2013",)},
        "cone": {"apgd": ("mazhar-2015",)},
    }
    feature_references: ClassVar = {
        "compliance": ("acary-brogliato-2008",),
        "constraints": ("kinon-2023", "gear-1985"),
        "friction": ("glocker-2001",),
        "friction in space": ("acary-2018", "jourdan-1998"),
        "neighbours": ("moreau-1994",),
    }

    theta: float = knob(0.5, 0, 1, text="implicitness", strict=True)
    forecast: float = knob(0.5, 0, 1, text="forecast factor of the active set", strict=True)
    mass_point: str = knob("q_star", text="mass matrix at", choices=("q_star", "iterate"))
    gamma: float = knob(0.5, 0, 1, text="place of q_star", strict=True, minor=True)
    projection: str = knob("both levels", text="constraints", choices=PROJECTED)
    cone: str = knob("nsgs", text="solver of friction in space", choices=CONES, minor=True)

    def kernel(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> tuple[Callable[[], int], Callable[[], int], dict[str, np.ndarray]]:
        """Return a march of `explorer.kernels.time_stepping.moreau_jean`."""
        if self.theta == 0 and compiled.compliance.diagonal(inp).any():
            raise BadValue(
                "A compliant contact is evaluated at the end of the step, which theta = 0 does "
                "not reach: use theta = 1/2."
            )
        run = self._run(compiled, t_end, inp, matrices, e, record)
        return run.march, run.last, run.more()

    def _run(
        self,
        compiled: Compiled,
        t_end: float,
        inp: np.ndarray,
        matrices: Matrices,
        e: np.ndarray,
        record: dict[str, np.ndarray],
    ) -> Run:
        return Run(
            compiled,
            Setup(
                h=float(self.h),
                t_end=float(t_end),
                method=(self.theta, self.forecast, self.gamma, self.mass_point == "q_star"),
                newton=(self.newton_tol, self.newton_max),
                lcp=(LCP.index(self.lcp), self.lcp_tol, self.lcp_max),
                cones=1 + CONES.index(self.cone) if in_space(compiled.system) else 0,
                projected=PROJECTED.index(self.projection),
                many=self._on_graph(compiled, matrices),
                inp=inp,
                matrices=matrices,
                e=np.concatenate([e, compiled.at_start.e_t(inp)]),
            ),
            record,
        )

    def shared(
        self, compiled: Compiled, starts: Starts, plain: np.ndarray, t_end: np.ndarray, rows: int
    ) -> Answer:
        """Return a march of `explorer.kernels.time_stepping.moreau_jean` for many members."""
        one = int(plain.argmax())
        matrices = (starts.M[one], starts.K[one], starts.C[one], starts.G[one].copy())
        if self._on_graph(compiled, matrices):
            return Answer(plain, None)
        inp, e = starts.inp[one].copy(), starts.e[one, : compiled.nc]
        record = rows_of(rows, compiled)
        run = self._run(compiled, float(t_end[one]), inp, matrices, e, record)
        return shared(run, starts, plain, t_end)

    def check_massless(self, compiled: Compiled, bare: Massless, G: np.ndarray) -> None:
        """Refuse what is impossible for massless directions.

        Raises
        ------
        BadValue
            theta < 1/2, matrices that are not constant.
        BadModel
            A contact or a constraint that acts on massless coordinates.
        """
        system = compiled.system
        if self.theta < 0.5 or not compiled.constant:
            why = (
                f"theta = {self.theta:g} is unstable for every step there: use theta >= 1/2"
                if self.theta < 0.5
                else "MoreauJean accepts that of a linear system only; Newmark and "
                "GeneralizedAlpha accept it without contacts"
            )
            raise BadValue(f"The mass matrix of '{system.name}' is singular: {why}.")
        ends = zip(compiled.gap_ptr[:-1], compiled.gap_ptr[1:], strict=True)
        N = abs(bare.all)
        for a, (first, after) in enumerate(ends):
            columns = compiled.gap_col[first:after][G[first:after] != 0]
            if not abs(N[columns]).sum() > 0:
                continue
            tangents = [system.contacts[k].name for k, _, _ in system.tangents]
            names = [c.name for c in system.contacts] + tangents
            names += [c.name for c in system.constraints]
            raise BadModel(
                f"{names[a]!r} of '{system.name}' acts on massless coordinates, for which impulses "
                "and the impact law are undefined. Give them mass, or let it act on coordinates "
                "that have mass."
            )

    @property
    def orders(self) -> tuple[int, int]:
        """2 for the midpoint rule with M and G in the middle of the step; else 1."""
        middle = self.theta == 0.5 and self.mass_point == "q_star" and self.gamma == 0.5
        return 2 if middle else 1, 1

    def orders_on(self, system: System) -> tuple[int, int]:
        """Return 1 for constraints that are not linear, unless at both levels; else `orders`."""
        assert isinstance(system, LagrangianSystem)
        if self.projection == PROJECTED[LEVELS]:
            return self.orders
        q = set(system.q)
        curved = any(c.phi.diff(x).free_symbols & q for c in system.constraints for x in q)
        return (1, 1) if curved else self.orders

    def certify(self, solution: Solution) -> list[Check]:
        """Return the checks: laws and momentum of each step, positions, energy, growth."""
        return [
            *moreau(solution),
            *penetration(solution),
            *normals(solution),
            *touches(solution, lambda: self.finer(solution)),
            *drift(solution),
            *made_and_lost(solution, damped=damped_by_theta(solution, self.theta)),
            *mechanical_growth(solution),
        ]

    def explain(self, code: int, system: LagrangianSystem, residual: float) -> str:
        """Return what the status of a run is to say, if it is not what its code says."""
        if code not in (LCP_RAY, LCP_ITERATIONS) or not in_space(system):
            return super().explain(code, system, residual)
        return (
            f"neither cone={self.cone!r} nor cone={CONES[1 - CONES.index(self.cone)]!r} solved the "
            "contact problem with friction in space: its natural residual is "
            f"{quantity(residual, 'm/s', 2)} after lcp_max = {self.lcp_max} sweeps of each. Try a "
            "smaller h, a larger lcp_max, or a larger lcp_tol"
        )

    def _on_graph(self, compiled: Compiled, matrices: Matrices) -> bool:
        """Whether contacts are many and W diagonal: see `explorer.kernels.friction.graph`.

        G may depend on the state, where it is taken at one point of the step.
        """
        found = not compiled.by_formula
        many = found or compiled.rows > MANY[compiled.rows > compiled.nc]
        steady = compiled.constant or (compiled.linear_motion and self.mass_point == "q_star")
        plain = not (compiled.bound or self.projection == "all" or in_space(compiled.system))
        plain = plain and not compiled.compliance.col.size
        many = many and steady and plain and all(map(diagonal, matrices[:3]))
        if found and not many and compiled.rows > MANY[1]:
            raise BadValue(
                f"'{compiled.system.name}' has too many contacts for full matrices: use "
                "mass_point='q_star' and projection='none' or 'constraints'."
            )
        return many
