"""Systems outside the gallery with stored numbers: for kernels that no model of it comes to.

Each is one that another test has, in a run of a few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
from stored_numbers import Nudge, Told, still
from stored_runs import answered, of_derivative
from test_chains import chain, ladder
from test_changing_constraints import folding
from test_compliance import ball as soft_ball
from test_constrained_events import five_bar, rod
from test_contact_laws import bar as pointed_bar
from test_contact_laws import cube
from test_event_order import balls, two_resets
from test_event_order import bar as two_ends
from test_flexible_supports import stops
from test_inputs import GRID, VALUES, cart_of_many, relay, sliding, thermostat
from test_inputs import ball as pushed_ball
from test_inputs import block as pushed_block
from test_inputs import pendulum as pushed_pendulum
from test_many_contacts import three_discs, tower
from test_massless import frame
from test_random_gradients import block, masses, meeting, together
from test_random_gradients import chain as random_chain
from test_redundant_contacts import blocks
from test_time_freezing import coupled_blocks, room
from test_two_surfaces import curved, random_system, two_roots

import explorer as ex

LOOSE = ex.EventDriven(rtol=1e-5, atol=1e-6, points=7)
PUSHED = {"u": ex.Input.constant(GRID, VALUES)}
HARD = {"u": ex.Input.constant(GRID, 3 * VALUES)}

Build = Callable[[], ex.systems.System]


def pair() -> ex.MechanicalSystem:
    """Two bodies whose inertia a parameter would couple."""
    return ex.MechanicalSystem(
        "pair", q="y1 y2", params={"m12": 0.0, "h": 1.0}, mass=[[1, "m12"], ["m12", 1]],
        force=["-9.81*(1 + m12)"] * 2, start={"q": ["h", "h"], "t_end": 0.6},
        contacts=[ex.Contact("y1", e=0.8, name="A"), ex.Contact("y2", e=0.5, name="B")],
    )  # fmt: skip


def unsteady() -> ex.StepSystem:
    """A surface that attracts and then repels."""
    return ex.StepSystem(
        "opens", x="x y", f=["Piecewise((-sign(x), y < 0), (sign(x), True))", "1"],
        start={"x": [0.5, -1.0], "t_end": 1.6},
    )  # fmt: skip


def sled() -> ex.MechanicalSystem:
    """A sled on two pads on a shared support."""
    return ex.MechanicalSystem(
        "sled", q="x y phi", params={"g": 9.81}, mass=np.diag([2, 2, 0.2]).tolist(),
        force=[0, "-2*g", 0], compliance=[[1e-4, 3e-5], [3e-5, 1e-4]],
        contacts=[
            ex.Contact("y - 0.4*phi", name="rear", mu=0.3, slip="v_x"),
            ex.Contact("y + 0.4*phi", name="front", mu=0.3, slip="v_x"),
        ],
        start={"q": [0, -1e-4, 0.01], "v": [0.1, 0, 0], "t_end": 0.06},
    )  # fmt: skip


def pad() -> ex.MechanicalSystem:
    """A stop as Hertz describes it."""
    return ex.MechanicalSystem(
        "stop", q="y", contacts=[ex.Contact("y + (lam_pad/k)**(2/3)", name="pad")],
        params={"k": 500.0}, start={"q": [0.02], "v": [-1.0]},
    )  # fmt: skip


def swinging() -> ex.MechanicalSystem:
    """Three masses on stiffening springs, of which one is heavier where it is far out."""
    return ex.MechanicalSystem(
        "swinging", q="a b c", params={"k": 40.0, "m": 1.7},
        mass=[["m + a**2", 0.2, 0], [0.2, 1.3, 0], [0, 0, "0.8 + 0.1*sin(b)"]],
        force=["-k*a - 30*a**3 + 9*cos(7*t)", "-k*(b - a) - 50*(b - a)**3 - 0.4*v_b", "-k*(c - b)*exp(c - b)"],
        start={"q": [0.3, -0.2, 0.4], "v": [1, 2, -1], "t_end": 0.5},
    )  # fmt: skip


def landing() -> ex.MechanicalSystem:
    """The same above a floor and a wall."""
    system = swinging()
    system.contact(ex.Contact("0.1 - b", e=0.63, name="floor"))
    system.contact(ex.Contact("c - 0.3", e=0.4, name="wall"))
    return system


RUNS: dict[str, tuple[Build, object, dict]] = {
    **{
        f"{make.__name__} {seed}": (partial(lambda make, seed: make(np.random.default_rng(seed)), make, seed), LOOSE, {})
        for make in (masses, block, random_chain, meeting, together) for seed in range(3)
    },
    **{
        f"{make.__name__} {seed} stepped": (partial(lambda make, seed: make(np.random.default_rng(seed)), make, seed), ex.MoreauJean(h=0.02), {"t_end": 0.7})
        for make in (masses, block, together) for seed in (3, 4)
    },
    "two ends": (two_ends, LOOSE, {"tilt": 0.03}),
    "two ends at once": (two_ends, LOOSE, {}),
    "three balls at once": (partial(balls, 3), LOOSE, {"t_end": 0.5}),
    "two resets": (two_resets, LOOSE, {}),
    "pair": (pair, LOOSE, {}),
    "rod": (rod, LOOSE, {"t_end": 0.4}),
    "rod projected": (rod, ex.EventDriven(formulation="projected", rtol=1e-5), {"t_end": 0.4}),
    "five bar": (five_bar, LOOSE, {"t_end": 0.4}),
    "folding": (folding, LOOSE, {}),
    "folding Newmark": (folding, ex.EventDriven(method="newmark", step=0.02), {}),
    "folding Radau": (folding, ex.EventDriven(method="radau", rtol=1e-4, atol=1e-5), {}),
    "pushed ball": (pushed_ball, LOOSE, {"u": HARD["u"]}),
    "pushed block": (pushed_block, LOOSE, {"u": ex.Input.constant(GRID, [2, 4, 1, -5])}),
    "pushed pendulum": (pushed_pendulum, LOOSE, {"u": PUSHED["u"], "t_end": 0.8}),
    "pushed sliding": (sliding, LOOSE, {"u": ex.Input.constant(GRID, [1, 3, -1, -4])}),
    "pushed room": (thermostat, LOOSE, {"u": PUSHED["u"]}),
    "pushed linearly": (pushed_ball, LOOSE, {"u": ex.Input.linear(GRID, [1, 2, -3, 2, 5])}),
    "pushed stepped ball": (pushed_ball, ex.MoreauJean(h=0.02), {"u": HARD["u"]}),
    "pushed cart": (cart_of_many, ex.Newmark(h=0.05), {"u": PUSHED["u"]}),
    "pushed cart alpha": (cart_of_many, ex.NonsmoothGeneralizedAlpha(h=0.05), {"u": PUSHED["u"]}),
    "pushed pendulum alpha": (pushed_pendulum, ex.GeneralizedAlpha(h=0.05), {"u": PUSHED["u"]}),
    "pushed FESD": (sliding, ex.FESD(h=0.1), {"u": ex.Input.constant(GRID, [1, 3, -1, -4])}),
    "pushed ThetaRK": (sliding, ex.ThetaRK(h=0.1), {"u": ex.Input.constant(GRID, [1, 3, -1, -4])}),
    "pushed relay": (relay, ex.EulerMoreau(h=0.05), {"u": PUSHED["u"]}),
    "pushed stepping": (sliding, ex.EulerMoreau(h=0.05), {"u": ex.Input.constant(GRID, [1, 3, -1, -4])}),
    "soft ball": (soft_ball, ex.MoreauJean(h=2e-3), {"t_end": 0.1, "q0": [0.05], "v0": [-1.0]}),
    "soft ball by theta": (soft_ball, ex.MoreauJean(h=2e-3, theta=0.8), {"t_end": 0.1, "q0": [0.05], "v0": [-1.0]}),
    **{
        f"stops {form}": (partial(stops, form, (1, 2), (-3, -9), (0.004, 0.006), (-0.5, -0.7)), ex.MoreauJean(h=2e-3, theta=0.6), {"t_end": 0.06})
        for form in ("matrix", "gaps", "arrays", "curved")
    },
    "sled": (sled, ex.MoreauJean(h=2e-3), {}),
    "pad": (pad, ex.MoreauJean(h=2e-3), {"t_end": 0.08}),
    "chain": (partial(chain, 4, None, 2, "1 + 0.1*sin(y3)**2", 0.4), ex.MoreauJean(h=0.01), {"t_end": 0.1}),
    "chain in a band": (partial(chain, 9, None, 3, "1 + 0.1*sin(y3)**2", 0.4), ex.MoreauJean(h=0.01), {"t_end": 0.05}),
    "chain iterated": (partial(chain, 9, None, 3, "1", 0.4), ex.MoreauJean(h=0.01, mass_point="iterate", projection="all"), {"t_end": 0.04}),
    "chain alpha": (partial(chain, 9), ex.NonsmoothGeneralizedAlpha(h=0.01), {"t_end": 0.04}),
    **{
        f"swinging {k}": (swinging, scheme, {})
        for k, scheme in enumerate([
            ex.Newmark(h=0.02), ex.Newmark(h=0.02, form="v", beta=0.3, gamma=0.6),
            ex.Newmark(h=0.05, form="d", error_tol=1e-4), ex.GeneralizedAlpha(h=0.02, rho_inf=0.4),
            ex.GeneralizedAlpha(h=0.02, form="d", force="interpolated"), ex.Newmark(h=0.1, newton_max=3),
            ex.GeneralizedAlpha(h=0.05, form="v", family="wbz", error_tol=1e-4), ex.MoreauJean(h=0.03, theta=0.7),
            ex.NonsmoothGeneralizedAlpha(h=0.03, rho_inf=0.4), ex.EventDriven(method="newmark", step=0.03),
            ex.EventDriven(method="generalized-alpha", step=0.03), ex.EventDriven(method="radau", rtol=1e-4, atol=1e-5),
        ])
    },
    **{
        f"landing {k}": (landing, scheme, {})
        for k, scheme in enumerate([
            LOOSE, ex.MoreauJean(h=0.02), ex.MoreauJean(h=0.02, mass_point="iterate", theta=0.8),
            ex.NonsmoothGeneralizedAlpha(h=0.02), ex.NonsmoothGeneralizedAlpha(h=0.02, level="velocity"),
            ex.SchatzmanPaoli(h=0.02), ex.EventDriven(method="newmark", step=0.03),
            ex.EventDriven(method="generalized-alpha", step=0.03), ex.EventDriven(method="radau", rtol=1e-4, atol=1e-5),
        ])
    },
    "masses 0 Newmark": (partial(lambda seed: masses(np.random.default_rng(seed)), 0), ex.EventDriven(method="newmark", step=0.04), {}),
    "masses 0 Radau": (partial(lambda seed: masses(np.random.default_rng(seed)), 0), ex.EventDriven(method="radau", rtol=1e-4, atol=1e-5), {}),
    "chain 2 dopri5": (partial(lambda seed: random_chain(np.random.default_rng(seed)), 2), ex.EventDriven(method="dopri5", rtol=1e-5), {}),
    "five bar Newmark": (five_bar, ex.EventDriven(method="newmark", step=0.04), {"t_end": 0.4}),
    "five bar alpha": (five_bar, ex.EventDriven(method="generalized-alpha", step=0.04), {"t_end": 0.4}),
    "pushed pendulum Newmark": (pushed_pendulum, ex.EventDriven(method="newmark", step=0.05), {"u": PUSHED["u"], "t_end": 0.8}),
    "peg from below": (ex.models.pendulum_on_peg, LOOSE, {"a0": 0.0, "v0": [1.1, 0.0], "t_end": 0.9}),
    "peg": (ex.models.pendulum_on_peg, ex.EventDriven(method="newmark", step=0.05), {"t_end": 0.8}),
    **{
        f"{name} few sweeps": (build, ex.MoreauJean(h=0.02, lcp_max=most, lcp_tol=1e-12, **knobs), {"t_end": t_end})
        for name, build, most, t_end, knobs in (
            ("tower", partial(tower, 52), 4, 0.2, {}), ("pile", partial(ex.models.disc_pile, 14), 4, 0.2, {}),
            ("blocks", partial(blocks, 3, False, 0.02), 4, 0.2, {}), ("blocks in space", partial(blocks, 2, True, 0.02), 4, 0.16, {}),
            ("blocks in space apgd", partial(blocks, 2, True, 0.02), 4, 0.12, {"cone": "apgd"}),
            ("column", partial(ex.models.column, 20), 4, 0.3, {}), ("pointed bar", partial(pointed_bar, 16, 0.3, 0.6, 0.1), 4, 0.2, {}),
            ("high blocks", partial(blocks, 4, True), 30, 0.06, {}),
        )
    },
    "chain Newmark": (partial(chain, 3), ex.GeneralizedAlpha(h=0.01), {"t_end": 0.08}),
    **{
        f"ladder {k}": (partial(ladder, 12, kind, wave), ex.EulerMoreau(h=0.02, **knobs), {"t_end": 0.3})
        for k, (kind, wave, knobs) in enumerate([
            ("complementarity", "", {"theta": 0.7, "gamma": 0.6}), ("relay", "", {"theta": 1.0}),
            ("complementarity", " + 0.005*sin(9*t)", {"theta": 0.5, "gamma_on": "relation"}),
        ])
    },
    "pointed bar": (partial(pointed_bar, 6, 0.3, 0.6, 0.1), ex.MoreauJean(h=0.01), {"t_end": 0.35}),
    "pointed bar with many": (partial(pointed_bar, 16, 0.3, 0.6, 0.1), ex.MoreauJean(h=0.02), {"t_end": 0.3}),
    "cube": (partial(cube, 0.6, 0.4, [0, 0, 0.7, 0.2, 0.1, 0.3], [1, 0.5, 0, 0, 0, 0]), ex.MoreauJean(h=0.02), {"t_end": 0.3}),
    "cube apgd": (partial(cube, 0.6, 0.4, [0, 0, 0.7, 0.2, 0.1, 0.3], [1, 0.5, 0, 0, 0, 0]), ex.MoreauJean(h=0.02, cone="apgd"), {"t_end": 0.2}),
    "blocks in space": (partial(blocks, 2, True, 0.02), ex.MoreauJean(h=0.02), {"t_end": 0.2}),
    "blocks": (partial(blocks, 3, False, 0.02), ex.MoreauJean(h=0.02), {"t_end": 0.3}),
    "tower": (partial(tower, 52), ex.MoreauJean(h=0.02), {"t_end": 0.3}),
    "tower without friction": (partial(ex.models.column, 20), ex.MoreauJean(h=0.02), {"t_end": 0.5, "e": 0.4, "y0": 0.3}),
    "three discs": (lambda: three_discs()[0], ex.MoreauJean(h=0.01), {"t_end": 0.3}),
    "pile": (partial(ex.models.disc_pile, 14), ex.MoreauJean(h=0.01), {"t_end": 0.25}),
    "massless": (lambda: frame(1)[0], ex.MoreauJean(h=0.02), {"t_end": 0.3}),
    "massless Newmark": (lambda: frame(1)[0], ex.Newmark(h=0.02, form="d"), {"t_end": 0.3}),
    "two roots": (two_roots, ex.FESD(h=0.3), {"t_end": 2.4}),
    "two roots located": (two_roots, LOOSE, {"t_end": 2.4}),
    **{
        f"four regions {seed} {kind}": (partial(random_system, seed), scheme, {"t_end": 1.5})
        for seed in range(3) for kind, scheme in (
            ("FESD", ex.FESD(h=0.25)), ("Stewart", ex.FESD(h=0.25, representation="stewart")), ("located", LOOSE),
            ("ThetaRK", ex.ThetaRK(h=0.25, stages=1 + seed % 3)),
        )
    },
    "curved": (curved, ex.FESD(h=0.25), {"t_end": 3.0}),
    "curved ThetaRK": (curved, ex.ThetaRK(h=0.2, tableau="lobatto_iiic"), {"t_end": 3.0}),
    "curved Stewart ThetaRK": (curved, ex.ThetaRK(h=0.2, representation="stewart"), {"t_end": 3.0}),
    "unsteady": (unsteady, LOOSE, {}),
    "unsteady picked": (unsteady, ex.EventDriven(picks="1", rtol=1e-5), {}),
    "frozen room": (room, ex.FESD(h=0.1), {"t_end": 0.5}),
    "frozen blocks": (coupled_blocks, ex.FESD(h=0.1), {"t_end": 0.3}),
    "a lesson": (ex.models.bouncing_ball, ex.ContactInNewmark(h=0.02, beta=0.31, gamma=0.57), {"t_end": 0.8, "e": 0.4}),
}  # fmt: skip


@cache
def system_of(name: str) -> ex.systems.System:
    return RUNS[name][0]()


def run(name: str, nudge: Nudge) -> Told:
    """A system with a scheme over a few steps."""
    _, scheme, given = RUNS[name]
    return answered(
        lambda: ex.simulate(system_of(name), scheme, throw=False, **start(name, nudge, given))
    )


def start(name: str, nudge: Nudge, given: dict) -> dict[str, Any]:
    """Return the arguments of a run, disturbed: its parameters, or else its start, and t_end."""
    system = system_of(name)
    inputs = getattr(system, "input_names", ())
    rho = {k: float(given.get(k, p.value)) for k, p in system.parameters.items() if k not in inputs}
    span = {"t_end": float(given.get("t_end", system.t_end))}
    rest = {k: x for k, x in given.items() if k not in rho and k != "t_end"}
    if nudge is not still and not rho:
        rest |= begun(name, nudge)
    return {"rho": nudge(rho), **rest, **nudge(span)}


def begun(name: str, nudge: Nudge) -> dict[str, Any]:
    """Return a start that is disturbed."""
    _, scheme, given = RUNS[name]
    run = ex.simulate(system_of(name), scheme, throw=False, **given)
    moved = {}
    for key in ("q", "v") if run.has_velocities else ("x",):
        values = getattr(run, key)[0] if key in vars(run) or key != "x" else run.q[0]
        moved[f"{key}0"] = [*nudge({str(k): float(x) for k, x in enumerate(values)}).values()]
    if isinstance(system_of(name), ex.HybridSystem):
        moved["mode0"] = run.mode_names[run.mode[0]]
    return moved


SLOPES: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    **{
        f"{name} {method}": (name, method, None)
        for name in (
            *(f"{make} {k}" for make in ("masses", "block", "chain", "meeting", "together") for k in range(3)),
            "two ends", "two ends at once", "two resets", "pair", "three balls at once", "five bar", "rod",
        )
        for method in ("direct", "adjoint")
    },
    **{
        f"{name} complex_step": (name, "complex_step", None)
        for name in ("masses 0", "block 1", "chain 0", "meeting 1", "together 0", "two ends", "two resets", "rod")
    },
    **{
        f"{name} {method}": (name, method, None)
        for name in ("masses 0", "block 1", "chain 0", "two ends") for method in ("finite_difference", "discrete")
    },
    **{
        f"{name} {method}": (name, method, None)
        for name in ("swinging 9", "swinging 11", "landing 0", "landing 6", "landing 7", "masses 0 Radau", "masses 0 Newmark", "chain 2 dopri5",
                     "five bar Newmark", "five bar alpha", "peg from below", "peg", "pushed pendulum Newmark")
        for method in ("direct", "adjoint")
    },
    "landing complex_step": ("landing 0", "complex_step", None),
    "pushed ball direct": ("pushed ball", "direct", ("u[0]", "u[2]", "e")),
    "pushed ball adjoint": ("pushed ball", "adjoint", ("u[:]",)),
    "pushed block direct": ("pushed block", "direct", ("u[1]", "mu")),
    "pushed sliding adjoint": ("pushed sliding", "adjoint", ("u[:]",)),
    "pushed FESD direct": ("pushed FESD", "direct", ("u[:]",)),
    "curved direct": ("curved", "direct", ("a",)),
    "four regions direct": ("four regions 1 FESD", "direct", ("x", "y")),
    "four regions located direct": ("four regions 1 located", "direct", ("x", "y")),
    "states direct": ("masses 0", "direct", ("x0", "v_x0")),
}  # fmt: skip


def slopes(name: str, nudge: Nudge) -> Told:
    """Derivatives of a run."""
    run, method, wrt = SLOPES[name]
    _, scheme, given = RUNS[run]
    system = system_of(run)
    first, *_, last = map(str, system.coordinates * 2)
    cost = {"g": f"({first} + 0.3)**2", "w": f"{last}**2 + t*{first}"}

    def ask() -> Told:
        found = ex.sensitivity(
            system, None if method == "discrete" else scheme, wrt, cost, method,
            directional="both", **start(run, nudge, given),
        )  # fmt: skip
        told = of_derivative(found, method)
        if method == "direct" and len(found.wrt) > 1:
            told["along"] = (float(found.along([1.0, *[-0.5] * (len(found.wrt) - 1)])),) * 2
        return told

    return answered(ask)
