"""The fields in which equations are written, and the kinds of systems that have them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["KINDS", "Field", "Kind", "Texts"]

Texts = dict[str, str]  # what is typed, by the keys of the fields


@dataclass(frozen=True)
class Field:
    """A field: its key, its label, how it is written, how many lines it has.

    One that is not `usual` stands under "More".
    """

    key: str
    label: str
    how: str
    rows: int = 1
    usual: bool = True


@dataclass(frozen=True)
class Kind:
    """A kind of system: what it is called, its fields, and the text they begin with."""

    label: str
    fields: tuple[Field, ...]
    example: Texts


_NAME = Field("name", "Name", "What the model is called")
_COORDINATES = Field("coordinates", "Coordinates", "x (m), phi (rad); v_x is the velocity of x")
_STATES = Field("states", "States", "x (m), v (m/s)")
_PARAMETERS = Field("parameters", "Parameters", "One a line: k = 2 N/m from 0 to 10: stiffness", 4)
_START = Field("start", "Start", "x = 1, v_x = 0; what is not given is 0")
_END = Field("t_end", "Time span", "3, or with its unit: 30 min")
_STEP = Field("step", "Step size", "0.001")
_CONTACTS = Field(
    "contacts",
    "Gaps",
    "One a line: floor: y >= 0, e = 0.8, mu = 0.3, slip = v_x; e restitution, mu friction",
    2,
)
_CONSTRAINTS = Field(
    "constraints", "Constraints", "One a line: rod: x**2 + y**2 = L**2", 2, usual=False
)
_SPRINGS = Field(
    "springs", "Springs that yield", "One a line: wall: x, k = 50, f_y = 2, b = 0.1", 1, usual=False
)
_ABOUT = Field("text", "What it shows", "One sentence", 1, usual=False)
_FORCE = Field("force", "Force", "y: -m*g; for one coordinate the formula alone", 2)
_LAST = (_START, _END, _STEP)
_MORE = (_CONSTRAINTS, _SPRINGS, _ABOUT)

KINDS: dict[str, Kind] = {
    "mechanical": Kind(
        "Mass and force",
        (
            _NAME,
            _COORDINATES,
            _PARAMETERS,
            Field("mass", "Mass", "m; for several coordinates a diagonal m, J or one row a line"),
            _FORCE,
            _CONTACTS,
            *_LAST,
            Field("potential", "Potential energy", "Only for the plot of the energy", usual=False),
            *_MORE,
        ),
        {
            "name": "Ball in a corner",
            "coordinates": "x (m), y (m)",
            "parameters": "m = 1 kg from 0.1 to 5: mass\ng = 9.81 m/s2 from 0 to 20: gravity\n"
            "e = 0.8 from 0 to 1: restitution\nmu = 0.1 from 0 to 1: friction\n"
            "L = 2 m from 1 to 4: place of the wall",
            "mass": "m, m",
            "force": "y: -m*g",
            "contacts": "floor: y >= 0, e = e, mu = mu, slip = v_x\nwall: x <= L, e = e",
            "start": "y = 1, v_x = 2",
            "t_end": "3",
            "step": "0.001",
        },
    ),
    "energies": Kind(
        "Kinetic, potential energy",
        (
            _NAME,
            _COORDINATES,
            _PARAMETERS,
            Field("kinetic", "Kinetic energy", "m*v_x**2/2"),
            Field("potential", "Potential energy", "m*g*y"),
            Field("force", "Other forces", "x: -c*v_x; what no potential explains", 1),
            _CONTACTS,
            *_LAST,
            *_MORE,
        ),
        {
            "name": "Pendulum at a wall",
            "coordinates": "phi (rad)",
            "parameters": "m = 1 kg from 0.1 to 5: mass\nl = 1 m from 0.2 to 2: length\n"
            "g = 9.81 m/s2 from 0 to 20: gravity\nd = 0.2 m from 0 to 0.9: distance of the wall\n"
            "e = 0.7 from 0 to 1: restitution",
            "kinetic": "m*l**2*v_phi**2/2",
            "potential": "-m*g*l*cos(phi)",
            "force": "",
            "contacts": "wall: l*sin(phi) >= -d, e = e",
            "start": "phi = 1",
            "t_end": "5",
            "step": "0.001",
        },
    ),
    "switching": Kind(
        "Rates with switches",
        (
            _NAME,
            _STATES,
            _PARAMETERS,
            Field("rates", "Rates", "x' = v, v' = -x - mu*sign(v)", 3),
            *_LAST,
            Field(
                "switches", "Switching functions", "A: x - v; its step is alpha_1", 2, usual=False
            ),
            _ABOUT,
        ),
        {
            "name": "Relay control",
            "states": "x (m), v (m/s)",
            "parameters": "u = 1 m/s2 from 0.1 to 5: largest control\n"
            "c = 0.5 s from 0 to 2: slope of the switching line",
            "rates": "x' = v\nv' = -u*sign(x + c*v)",
            "start": "x = 1",
            "t_end": "6",
            "step": "0.02",
        },
    ),
    "regions": Kind(
        "Regions (Filippov)",
        (
            _NAME,
            _STATES,
            _PARAMETERS,
            Field("regions", "Regions", "One a line: right if x > 0: x' = v, v' = -1", 4),
            *_LAST,
            Field(
                "switches",
                "Switching functions",
                "A: x - v; the region A is where it is > 0",
                2,
                usual=False,
            ),
            _ABOUT,
        ),
        {
            "name": "Block on a belt",
            "states": "x (m), v (m/s)",
            "parameters": "m = 1 kg from 0.1 to 5: mass\nk = 2 N/m from 0.1 to 10: stiffness\n"
            "F = 1 N from 0 to 5: friction\nv_b = 0.5 m/s from -1 to 2: speed of the belt",
            "regions": "behind if v < v_b: x' = v, v' = (F - k*x)/m\n"
            "ahead if v > v_b: x' = v, v' = (-F - k*x)/m",
            "start": "v = 2",
            "t_end": "12",
            "step": "0.05",
        },
    ),
    "hybrid": Kind(
        "Modes, guards (hybrid)",
        (
            _NAME,
            _STATES,
            _PARAMETERS,
            Field("modes", "Modes", "One a line: flight: y' = v, v' = -g", 3),
            Field(
                "guards",
                "Guards",
                "One a line: impact: flight -> flight when y falls, then v = -e*v",
                3,
            ),
            *_LAST,
            _ABOUT,
        ),
        {
            "name": "Heater with a thermostat",
            "states": "T (°C)",
            "parameters": "P = 12 K/min from 1 to 30: power\na = 0.5 1/min from 0.1 to 2: losses\n"
            "low = 19 °C from 10 to 20: switches on\nhigh = 21 °C from 20 to 30: switches off",
            "modes": "on: T' = P - a*(T - 5)\noff: T' = -a*(T - 5)",
            "guards": "too hot: on -> off when T - high rises\n"
            "too cold: off -> on when T - low falls",
            "start": "T = 15",
            "t_end": "10 min",
            "step": "0.01",
        },
    ),
    "laws": Kind(
        "Circuit: laws (diodes)",
        (
            _NAME,
            _STATES,
            _PARAMETERS,
            Field("rates", "Rates", "v' = -(i + i_D)/C, i' = v/L", 3),
            Field(
                "laws",
                "Laws",
                "One a line: i_D: R*i_D - v >= 0 (a diode); u: x, lb = -1, ub = 1 (a relay)",
                2,
            ),
            *_LAST,
            Field("outputs", "Outputs", "Also drawn, one a line: p: v*i, unit = W", 2, usual=False),
            _ABOUT,
        ),
        {
            "name": "Oscillator with a diode",
            "states": "v (V), i (A)",
            "parameters": "R = 10 ohm from 1 to 50: resistance\nL = 0.1 H from 0.01 to 1: coil\n"
            "C = 0.001 F from 0.0001 to 0.01: capacitor",
            "rates": "v' = -(i + i_D)/C\ni' = v/L",
            "laws": "i_D: R*i_D - v >= 0",
            "start": "v = 10",
            "t_end": "0.3",
            "step": "0.0002",
        },
    ),
}
