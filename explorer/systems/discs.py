"""`DiscSystem`: discs in a plane between straight walls, with Coulomb friction at every contact.

m_i x_i'' = 0, m_i y_i'' = -m_i g, (m_i R_i^2 / 2) phi_i'' = 0, plus the impulses of the contacts
gap = |c_i - c_j| - R_i - R_j. n discs form n (n - 1) / 2 pairs, of which at most about 3 n touch at
a time. Contacts are therefore not formulas: a neighbour search finds them while the system moves.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence

import sympy as sp

from explorer.arguments import entries
from explorer.errors import BadModel
from explorer.parameters import Param, param_of
from explorer.systems import display
from explorer.systems.arrays import vector
from explorer.systems.contacts import Contact
from explorer.systems.expressions import expression, text
from explorer.systems.mechanical import MechanicalSystem
from explorer.types import Plain, Settings, Value

__all__ = ["DiscSystem"]

_SLOTS = 5


class DiscSystem(MechanicalSystem):
    """Discs that touch each other and walls.

    Coordinates are x1, y1, phi1, x2, ... in m and rad. Each disc has five slots for contacts. A
    pair occupies a slot of one of its discs while it is near, so the contact "disc 3, 1" may belong
    to different pairs at different times.

    Parameters
    ----------
    name : str
    count : int
        Number of discs.
    params, start, text : as for `MechanicalSystem`
    **discs
        As for `discs`, for a system in one call.

    Raises
    ------
    BadModel
        If there is no disc, or an argument of `discs` is inconsistent.

    Examples
    --------
    >>> import explorer as ex
    >>> pair = ex.DiscSystem("pair", 2, radius=0.1, walls=[(0, 1, 0)], e=0.5)  # y >= 0
    >>> pair.coordinates
    ('x1', 'y1', 'phi1', 'x2', 'y2', 'phi2')
    """

    kind = "system of discs"
    needs = frozenset({"neighbours"})

    def __init__(
        self,
        name: str,
        count: int,
        *,
        params: Mapping[str, Param | float] | None = None,
        start: Settings | None = None,
        text: str = "",
        **discs: object,
    ) -> None:
        if not isinstance(count, numbers.Integral) or not count > 0:
            raise BadModel(
                f"'{name}' needs a whole number of discs, at least one disc, not {count!r}."
            )
        names = [f"{c}{i + 1}" for i in range(count) for c in ("x", "y", "phi")]
        super().__init__(name, names, units=["m", "m", "rad"] * count, text=text, params=params)
        self.count: int = int(count)
        self.discs(**{"radius": 1} | entries(discs, self.discs, f"DiscSystem '{name}'", "e=0.5"))
        self._begin(start)

    @property
    def features(self) -> frozenset[str]:
        """The features that a scheme must handle besides the smooth equations."""
        return super().features | self.needs

    def discs(
        self,
        radius: Value | Sequence[Value],
        *,
        mass: Value | Sequence[Value] = 1,
        walls: Sequence[Sequence[Value]] = (),
        gravity: Value = 9.81,
        e: Value = 0,
        mu: Value = 0,
    ) -> None:
        """Define the discs and their walls.

        Parameters
        ----------
        radius, mass : formula, or one for each disc
            In m and kg; a disc is solid and homogeneous.
        walls : sequence of (n_x, n_y, c)
            Discs stay where n_x x + n_y y >= c, with a unit vector n and c in m; formulas.
        gravity : formula
            In m/s2, downwards.
        e, mu : formula
            Restitution in [0, 1] and friction coefficient >= 0 of every contact.

        Raises
        ------
        BadModel
            A formula that depends on the state; another number of radii or masses than of discs.
        """
        known, name = self.symbols(state=False), self.name
        several = [
            x if isinstance(x, Sequence) and not isinstance(x, str) else [x] * self.count
            for x in (radius, mass)
        ]
        self.radii, self.masses = (
            vector(x, self.count, known, f"{what} of '{name}'")
            for x, what in zip(several, ("radius", "mass"), strict=True)
        )
        self.walls = tuple(vector(list(w), 3, known, f"wall of '{name}'") for w in walls)
        self.gravity, e, mu = (
            expression(x, known, f"{what} of '{name}'")
            for x, what in ((gravity, "gravity"), (e, "restitution e"), (mu, "friction mu"))
        )
        inertia, weights = [], [m * self.gravity for m in self.masses]
        for m, R in zip(self.masses, self.radii, strict=True):
            inertia += [m, m, m * R**2 / 2]
        self.mass = [[x if i == j else 0 for j in range(self.n)] for i, x in enumerate(inertia)]
        self.force = [f for w in weights for f in (0, -w, 0)]
        self.potential = sp.Add(*(w * y for w, y in zip(weights, self.q[1::3], strict=True)))
        (gap, slip), none = sp.symbols("gap slip"), sp.S.Zero
        self.contacts = tuple(
            Contact(gap, e, f"disc {i + 1}, {k + 1}", mu, slip, e_t=none, compliance=none)
            for i in range(self.count)
            for k in range(_SLOTS)
        )
        self.touch()

    def equations_markdown(self) -> str:
        """Return name, equations, parameters and start as Markdown."""
        return display.discs(self, self.count, self.gravity, self.walls)

    def to_spec(self) -> Plain:
        """Return everything that defines the system as plain data (JSON)."""
        spec = super().to_spec()
        law = self.contacts[0]
        return {k: spec[k] for k in ("name", "text", "params", "start")} | {
            "type": "DiscSystem",
            "count": self.count,
            "radius": [text(x) for x in self.radii],
            "mass": [text(x) for x in self.masses],
            "walls": [[text(x) for x in wall] for wall in self.walls],
            "gravity": text(self.gravity),
            "e": text(law.e),
            "mu": text(law.mu),
        }

    @classmethod
    def from_spec(cls, spec: Plain) -> DiscSystem:
        """Build the system that `to_spec` described; formulas are parsed, never evaluated."""
        given = {k: spec[k] for k in spec if k not in ("type", "name", "count", "params")}
        params = {k: param_of(p) for k, p in spec["params"].items()}
        return cls(spec["name"], spec["count"], params=params, **given)
