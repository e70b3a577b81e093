"""The judge of the random runs flags what is wrong: runs that are spoiled by hand, one of a kind."""

from __future__ import annotations

import copy
import dataclasses
import warnings
from types import SimpleNamespace

import numpy as np
from examiner import contacts
from examiner.draw import judge
from examiner.reference import agree
from examiner.systems import made
from loops import for_each

import explorer as ex


def run_of(name, scheme, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ex.simulate(made(name), scheme, **arguments)


def flags(run, seeds=4):
    """Yield what the judge says: it looks at other stretches of the run with each seed."""
    for seed in range(seeds):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            said = judge(run, np.random.default_rng(seed))
        yield from said


def scaled(name, share, rows):
    """Return what makes an array of a run a little larger where it is largest."""

    def spoil(run):
        values = getattr(run, name).copy()
        values[rows] *= 1 + share
        setattr(run, name, values)

    return spoil


def jumped(run):
    """Make an event leave another state than its law says."""
    k = next(i for i, e in enumerate(run.located) if e.kind in ("impact", "event"))
    event = run.located[k]
    run.located[k] = dataclasses.replace(event, x_plus=event.x_plus * (1 + 1e-5) + 1e-6)


def forgotten(run):
    """Forget the second event."""
    rows = {run.located[1].row, run.located[1].row - 1}
    keep = [i for i in range(len(run.t)) if i not in rows]
    for name in ("t", "x", "q", "v", "gap", "gap_dot", "active", "mode", "lam", "p", "slip",
                 "sticks", "lam_t", "p_t", "rates", "lam_max"):  # fmt: skip
        if hasattr(run, name):
            setattr(run, name, getattr(run, name)[keep])
    later = run.located[2:]
    run.located[1:] = [dataclasses.replace(e, row=e.row - 2) for e in later]


def element(name, share):
    def spoil(run):
        run.march = copy.copy(run.march)
        values = getattr(run.march, name).copy()
        values[1:] = values[1:] * (1 + share) + share
        setattr(run.march, name, values)

    return spoil


SLOW = slice(2, None, 2)
SPOILED = {
    "impulse": ("bouncing_ball", ex.MoreauJean(h=2e-3), scaled("p", 1e-4, slice(None))),
    "velocity": ("impact_oscillator", ex.MoreauJean(h=2e-3), scaled("v", 1e-5, SLOW)),
    "friction": ("rough_block", ex.MoreauJean(h=2e-3), scaled("p_t", 1e-3, slice(None))),
    "cone in space": ("space", ex.MoreauJean(h=1e-3), scaled("p_t", 1e-2, slice(None))),
    "constraint": ("three rods", ex.MoreauJean(h=2e-3), scaled("p_phi", 1e-5, slice(None))),
    "discs": ("discs", ex.MoreauJean(h=2e-3), scaled("p", 1e-4, slice(None))),
    "acceleration": ("duffing", ex.Newmark(h=1e-2), scaled("a", 1e-5, SLOW)),
    "yielding spring": ("yielding storeys", ex.Newmark(h=1e-2), scaled("slip", 1e-4, SLOW)),
    "record": ("shaken", ex.MoreauJean(h=2e-3), scaled("v", 1e-5, SLOW)),
    "position": ("bouncing_ball", ex.SchatzmanPaoli(h=2e-3), scaled("q", 1e-3, SLOW)),
    "reset": ("bounces", ex.EventDriven(), jumped),
    "guard": ("bounces", ex.EventDriven(), forgotten),
    "impact": ("impact_oscillator", ex.EventDriven(), jumped),
    "impact of Newmark": ("impact_oscillator", ex.EventDriven(method="newmark", step=5e-3), jumped),
    "missed impact": ("impact_oscillator", ex.EventDriven(), forgotten),
    "flow": ("pendulum", ex.EventDriven(rtol=1e-9), scaled("x", 1e-5, SLOW)),
    "slide": ("kinks", ex.EventDriven(), scaled("x", 1e-4, SLOW)),
    "contact force": ("stick_slip", ex.EventDriven(), scaled("lam_t", 1e-3, slice(None))),
    "stage": ("switched_oscillator", ex.FESD(), element("slopes", 1e-5)),
    "multiplier": ("switched_oscillator", ex.FESD(), element("mult", 1e-5)),
    "element": ("kinks", ex.FESD(), element("states", 1e-5)),
    "frozen impact": ("bouncing_ball", ex.FESD(h=0.02), jumped),
    "law": ("ladder", ex.EulerMoreau(h=5e-3), scaled("lam", 1e-5, slice(None))),
    "step": ("diode_bridge", ex.EulerMoreau(h=5e-6), scaled("q", 1e-6, SLOW)),
    "relay": ("two_genes", ex.EulerMoreau(h=1e-2), scaled("lam", 1e-5, slice(None))),
}


@for_each("what", SPOILED)
def test_what_is_spoiled_is_flagged(what):
    name, scheme, spoil = SPOILED[what]
    run = run_of(name, scheme, t_end=min(made(name).t_end, 400 * getattr(scheme, "h", 1.0)))
    assert [*flags(run, seeds=1)] == []  # nor does the judge flag any of its thousands of runs
    run.t, run.events, getattr(run, "p", None)  # made when they are first looked at
    spoil(run)
    assert next(flags(run), None)


ROCKING = {"B": 0.8554, "H": 2.0, "g": 7.6664, "e": 0.0, "tilt": 0.5}


def test_what_a_step_of_second_order_leaves_of_a_gap_is_no_fault_and_more_is():
    deep, said = [], []
    for step in (0.01, 0.005):
        scheme = ex.EventDriven(method="generalized-alpha", step=step)
        run = run_of("rocking_block", scheme, rho=ROCKING, t_end=3.6)
        deep.append(np.abs(run.gap[-1]).max())
        known, rho, end = contacts.written(run.system), contacts.rho_of(run), len(run.t) - 1
        for further in (0.0, -0.01):
            run.x[end - 3 :, 0] += further
            unit = contacts.tolerance_of(run, run.t[end - 1], run.t[end])
            said.append(list(contacts.stretch(known, run, end - 1, end, rho, unit)))
    assert 1.5 < np.log2(deep[0] / deep[1]) < 2.5
    assert said[0] == said[2] == []
    assert all("gap of contact" in said[k][0] for k in (1, 3))


def met(*kinds, limit):
    """Return as many events as kinds, each half as far from the limit as the one before."""
    events = [SimpleNamespace(kind="event", index=k, t=limit - 0.5**n)
              for n, k in enumerate(kinds)]  # fmt: skip
    return [[*events, SimpleNamespace(kind="zeno", index=kinds[-1], t=limit)], []]


def test_runs_that_go_to_a_limit_earlier_or_later_meet_the_same_events():
    long = [n % 2 for n in range(30)]
    one, other = met(*long, limit=2.0), met(*long[:-1], limit=2.0 + 1e-9)
    assert agree(one, other, 1e-4)
    assert not agree(one, other, 1e-10)  # the last one is that far from the limit
    assert not agree(one, met(*long[:5], limit=2.0), 1e-4)
    assert not agree(one, met(*long[1:], limit=2.0), 1e-4)  # begins with another
    assert not agree(one, one[:1], 1e-4)


def test_a_slip_below_the_tolerance_has_no_direction():
    known = SimpleNamespace(of=[(0, 0)])
    scheme = ex.EventDriven(rtol=7e-9, atol=1e-9)
    for slip, way in ((4e-11, None), (1e-6, 1.0), (-1e-6, -1.0)):
        slips, sticks = np.full((3, 1), slip), np.zeros((3, 1), bool)
        run = SimpleNamespace(slip=slips, sticks=sticks, v=np.full((3, 2), 0.5), scheme=scheme)
        assert contacts.sides_of(known, run, 0, 2, np.array([True])) == {0: way}
        run.sticks = ~sticks
        assert contacts.sides_of(known, run, 0, 2, np.array([True])) == {0: 0}
