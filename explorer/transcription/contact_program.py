"""The program of a mechanical system with contacts in physical time.

An element begins with the impulses p of an impact, which may be zero, and forces lam act at its
stages. The unknowns are h lam, so that they have a value in an element of no length, too
(Nurkanovic, Frey, Pozharskiy and Diehl, *FESD-J: Finite elements with switch detection for
numerical optimal control of rigid bodies with impacts and Coulomb friction*, Nonlinear Anal. Hybrid
Syst. 52 (2024) 101460, doi:10.1016/j.nahs.2024.101460)::

    M (v_0+ - v_0-) = G' p + H' p_t,    M v' = F + G' lam + H' lam_t at the stages
    lam, p >= 0,  gap >= 0,  |lam_t| <= mu lam,  |p_t| <= mu p

In each element, with the sums of forces and gaps over the stages, the gap of its begin included,
and the rates of the gap g_0- and g_0+ before and behind the impulse::

    p (gap_0 + (g_0+ + e g_0-)^2) + sum lam (sum gap + g_0+^2) + friction <= sigma

For e = 0 both forces share one pair. Friction is maximal dissipation, in cross products of the
stages: (r + slip)(mu lam + lam_t) + (r - slip)(mu lam - lam_t) with r >= |slip|. All in one row.

The program of the homotopy has this row. The smooth program has rows for the rates of the gaps,
slips and accelerations instead: with known phases they are zero or in a range. The gap of a closed
contact is kept at the level of velocities, where the method has its full order, and what is left of
it at the begin of an element is taken away by a shift of q along G (Ascher and Petzold, SIAM J.
Numer. Anal. 28 (1991) 1097, doi:10.1137/0728059).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from explorer.transcription.builder import Builder
from explorer.transcription.contact_formulas import ContactFormulas
from explorer.transcription.grid import INF, Grid, Limits
from explorer.transcription.program import Program

if TYPE_CHECKING:
    from casadi import SX

__all__ = ["build_contacts"]


def build_contacts(
    formulas: ContactFormulas,
    grid: Grid,
    limits: Limits,
    smooth: bool = True,
    elastic: bool = False,
) -> Program:
    """Return the smooth program of known phases, or that of the homotopy."""
    return _ContactBuilder(formulas, grid, limits, smooth, elastic).build()


def extrapolated(c: np.ndarray) -> np.ndarray:
    """Return the weights (s,) of values at the stages in that of their polynomial at the begin."""
    return np.array([np.prod(-np.delete(c, j) / (c[j] - np.delete(c, j))) for j in range(c.size)])


class _ContactBuilder(Builder):
    """Lays out elements that begin with impulses.

    Its rows, by name: "gap", "rate", "slip" and "cone" of the stages, the last two with the begin
    as stage 0; "first cone" of the forces that the stages mean at the begin. At the begin "begin",
    "start" and "lift": the gap, its rate behind the impulse + e times that before, and its
    acceleration without forces.
    """

    f: ContactFormulas

    def __init__(
        self, f: ContactFormulas, grid: Grid, limits: Limits, smooth: bool, elastic: bool
    ) -> None:
        super().__init__(f, grid, limits, elastic)
        self.smooth = smooth
        self.entered: tuple[SX, SX, SX] | None = None
        self.bounds_of_slip: list[SX] = []

    def start_multipliers(self, t: SX) -> SX:
        """Return the gaps at the start."""
        gap = self.f.switching(t, self.x0, self.padded(self.ca.SX(self.f.n_u, 1)), self.rho)
        return self.ca.fmax(gap, 0)

    def forces(self, name: str) -> SX:
        """Return new forces or impulses: along G, H and those of constraints."""
        low = np.where(np.arange(self.f.n_f) < self.f.n_c, 0.0, -INF)
        return self.variable(name, self.f.n_f, low, INF)

    def cone(self, t: SX, x: SX, u: SX, forces: SX, name: str = "cone") -> SX:
        """Append the friction cones; return mu lam + lam_t and mu lam - lam_t, (n_t, 2)."""
        f = self.f
        if not f.n_t:
            return self.ca.SX(0, 2)
        most = f.friction(t, x, u, self.rho) * forces[f.rough.tolist()]
        along = forces[f.n_c : f.n_c + f.n_t]
        both = self.ca.horzcat(most + along, most - along)
        self.row(name, self.ca.reshape(both, -1, 1), 0.0, INF)
        return both

    def enter(self, t: SX, x: SX, u: SX, before: SX) -> SX:
        """Return the state behind the impulses at the begin of an element."""
        ca, f = self.ca, self.f
        controls, u = u, self.padded(u)
        n = f.n_x // 2
        if f.n_b and self.begun:
            shift = self.variable("bond", f.n_b)
            x = ca.vertcat(x[:n] + f.bond_along(t, x, shift, u, self.rho), x[n:])
            self.row("bond", f.bond(t, x, u, self.rho))
        if self.smooth:
            shift = self.variable("shift", f.n_c, 0.0, 0.0)
            x = ca.vertcat(x[:n] + f.along(t, x, shift, u, self.rho), x[n:])
            self.row("begin", f.switching(t, x, u, self.rho), -INF, INF)
        impulses = self.forces("impulse")
        jump = f.shock(t, x, impulses, u, self.rho)
        after = ca.vertcat(x[:n], x[n:] + jump)
        old, new = (f.gap_rate(t, one, u, self.rho) for one in (x, after))
        start = new + f.restitution(t, x, u, self.rho) * old
        if f.n_b:
            self.row("held", f.held(t, after, u, self.rho))
        if self.smooth:
            self.row("start", start, -INF, INF)
            u = self.determined(t, after, controls, "z0")
            free = f.acceleration(t, after, u, self.rho)
            self.row("lift", f.gap_acceleration(t, after, free, u, self.rho), -INF, INF)
        self.entered = impulses, start, new
        return after

    def element(self, t: SX, x0: SX, u: SX, h: SX, before: SX) -> tuple[SX, SX]:
        """Append an element; return its last state and gaps."""
        ca, f, method, s = self.ca, self.f, self.grid.method, self.grid.stages
        assert self.entered is not None
        impulses, start, rate0 = self.entered
        controls, u = u, self.padded(u)
        slips = [f.slip(t, x0, u, self.rho)]
        cones = [self.cone(t, x0, u, impulses)]
        xs, steps, forces, gaps = [], [], [], [before]
        self.slipping(slips[0])
        for j in range(s):
            x = self.state()
            force = self.forces("force")
            when = t + method.c[j] * h
            u = self.determined(when, x, controls)
            xs.append(x)
            forces.append(force)
            free = f.acceleration(when, x, u, self.rho)
            pushed = h * free + f.shock(when, x, force, u, self.rho)
            steps.append(ca.vertcat(h * x[f.n_x // 2 :], pushed))
            self.integral += method.b[j] * h * f.running(when, x, u, self.rho)
            slack = self.slacks("loose", f.n_c)
            gap = f.switching(when, x, u, self.rho)
            gaps.append(gap)
            self.row("gap", gap + slack, 0.0, INF)
            if self.smooth:
                self.row("rate", f.gap_rate(when, x, u, self.rho), -INF, INF)
            if f.n_b:
                self.row("held", f.held(when, x, u, self.rho))
            slips.append(f.slip(when, x, u, self.rho))
            self.slipping(slips[-1])
            cones.append(self.cone(when, x, u, force))
            slack = self.slacks("path", len(self.limits.path))
            if len(self.limits.path):
                self.row("path", f.path(when, x, u, self.rho) + slack, *self.limits.path.T)
        if self.smooth and f.n_t:  # no stage is at the begin, where sticking would be lost first
            first = ca.mtimes(ca.horzcat(*forces), extrapolated(method.c))
            self.cone(t, x0, self.padded(controls), first, "first cone")
        slopes = np.linalg.inv(method.A)  # so each row has the forces of one stage only
        for j in range(s):
            moved = ca.mtimes(ca.horzcat(*xs) - ca.repmat(x0, 1, s), slopes[j])
            self.row("collocation", (moved - steps[j]) / slopes[j, j])
        if not self.smooth and f.n_c:
            product = self.normal(impulses, start, rate0, forces, gaps, slips)
            self.row("product", product + self.dissipation(slips, cones), -INF, INF)
        return xs[-1], gaps[-1]

    def slipping(self, slip: SX) -> None:
        """Append a row for the sliding velocities of a stage, or their bound r."""
        f = self.f
        if not f.n_t:
            return
        if self.smooth:
            self.row("slip", slip, -INF, INF)
            return
        free = f.free.tolist()
        if free:
            bound = self.variable("bound", len(free), 0.0, INF)
            self.row("bounded", bound + slip[free], 0.0, INF)
            self.row("bounded", bound - slip[free], 0.0, INF)
            self.bounds_of_slip.append(bound)

    def normal(
        self, impulses: SX, start: SX, rate: SX, forces: list[SX], gaps: list[SX], slips: list[SX]
    ) -> SX:
        """Return the products of normal forces and gaps."""
        f, total = self.f, self.ca.SX(0)
        for i in range(f.n_c):
            force = sum(one[i] for one in forces)
            apart = sum((gap[i] for gap in gaps), rate[i] ** 2)
            if f.no_slip[i]:
                k = int(np.flatnonzero(f.rough == i)[0])
                apart = sum((slip[k] ** 2 for slip in slips), apart)
            if f.plastic[i]:
                total += (impulses[i] + force) * apart
            else:
                total += impulses[i] * (gaps[0][i] + start[i] ** 2) + force * apart
        return total

    def dissipation(self, slips: list[SX], cones: list[SX]) -> SX:
        """Return the products of sliding velocities and friction."""
        f, total = self.f, self.ca.SX(0)
        bounds, self.bounds_of_slip = self.bounds_of_slip, []
        for i, k in enumerate(f.free.tolist()):
            for side, sign in ((0, 1), (1, -1)):
                away = [r[i] + sign * v[k] for r, v in zip(bounds, slips, strict=True)]
                total += away[0] * cones[0][k, side]
                total += sum(away[1:]) * sum(one[k, side] for one in cones[1:])
        return total

    def shapes(self) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
        """Return the shapes of the indices of variables and of rows, by name."""
        f, grid = self.f, self.grid
        N, E, s = grid.intervals, grid.elements, grid.stages
        variables, rows = super().shapes()
        variables |= {
            "force": (N, E, s, f.n_f),
            "impulse": (N, E, f.n_f),
            "shift": (N, E, f.n_c if self.smooth else 0),
            "bound": (N, E, s + 1, 0 if self.smooth else len(f.free)),
        }
        rows |= {
            "gap": (N, E, s, f.n_c),
            "rate": (N, E, s, f.n_c if self.smooth else 0),
            "begin": (N, E, f.n_c if self.smooth else 0),
            "start": (N, E, f.n_c if self.smooth else 0),
            "lift": (N, E, f.n_c if self.smooth else 0),
            "slip": (N, E, s + 1, f.n_t if self.smooth else 0),
            "cone": (N, E, s + 1, 2, f.n_t),
            "first cone": (N, E, 2, f.n_t if self.smooth else 0),
        }
        del rows["switching"]
        return variables, rows
