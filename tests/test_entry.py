"""What a run hands to the entry of a kernel has the types of its annotations, as the kernel sees.

`explorer.kernels.entry` does not look at types. The kernel itself does, so here it is called.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

import explorer as ex
from explorer.models import models
from explorer.runs.event_driven import march, meetings
from explorer.runs.time_stepping import constrained_alpha, moreau_jean, newmark, nonsmooth_alpha


def membrane(n):
    """Return n x n masses, whose matrices are sparse and whose factors are, too."""
    one = sparse.eye_array(n)
    chain = sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n))
    K = sparse.csr_array(sparse.kron(chain, one) + sparse.kron(one, chain))
    system = ex.LinearMechanicalSystem("membrane", sparse.eye_array(n * n), K)
    system.start(v=[1.0] * n * n)
    return system


def oscillator():
    """Return one driven mass."""
    return ex.LinearMechanicalSystem("oscillator", [[1.0]], [[4.0]], [[0.1]], ["sin(2*t)"])


def moving_mass():
    """Return a pendulum whose inertia depends on its angle."""
    system = ex.MechanicalSystem("pendulum", q="a", mass=[["2 + cos(a)"]], force=["-9.81*sin(a)"])
    system.start(q=[1.0])
    return system


def soft_stop():
    """Return a mass that falls on a support which gives way."""
    system = ex.MechanicalSystem("soft stop", q="y", mass=[[1.0]], force=["-9.81"])
    system.contact(ex.Contact(system.q[0], compliance=1e-3, name="support"))
    system.start(q=[0.1])
    return system


ADAPTIVE, ALPHA = {"error_tol": 1e-5}, ex.NonsmoothGeneralizedAlpha
CASES = [
    (oscillator(), ex.Newmark(), {}),
    (oscillator(), ex.Newmark(**ADAPTIVE), {}),
    (oscillator(), ex.GeneralizedAlpha(force="interpolated"), {}),
    (membrane(12), ex.Newmark(), {}),
    (models["duffing"](), ex.Newmark(), {}),
    (models["duffing"](), ex.Newmark(beta=0, form="v"), {}),
    (models["duffing"](), ex.GeneralizedAlpha(**ADAPTIVE), {}),
    (models["duffing"](), ex.Newmark(), {"record": ex.Recorder(every=10)}),
    (moving_mass(), ex.Newmark(), {}),
    (models["bilinear_oscillator"](), ex.Newmark(), {}),
    (models["bouncing_ball"](), ALPHA(), {}),
    (models["elastic_pendulum"](), ALPHA(), {}),
    (models["spherical_pendulum"](), ex.GeneralizedAlpha(), {}),
    (models["column"](3), ALPHA(level="velocity"), {}),
    (models["pendulum_wall"](), ALPHA(force="interpolated", lcp="pgs"), {}),
    (models["bouncing_ball"](), ex.SchatzmanPaoli(), {}),
    (models["bouncing_ball"](), ex.MoreauJean(), {}),
    (models["slider_crank"](), ex.MoreauJean(projection="all"), {}),
    (models["disc_pile"](), ex.MoreauJean(), {}),
    (models["block_across_slope"](), ex.MoreauJean(cone="apgd"), {}),
    (soft_stop(), ex.MoreauJean(), {}),
    (membrane(12), ex.MoreauJean(), {}),
]


def looking(monkeypatch):
    """Let runs call kernels that look at types; return the list to which each one is added."""
    looked_at = []

    def itself(kernel):
        looked_at.append(kernel)
        return kernel

    for module in (constrained_alpha, march, meetings, moreau_jean, newmark, nonsmooth_alpha):
        monkeypatch.setattr(module, "entry", itself)
    return looked_at


@pytest.mark.parametrize(("system", "scheme", "asked"), CASES)
@pytest.mark.filterwarnings("ignore::explorer.SchemeWarning")
def test_structures_have_the_types_that_kernels_are_compiled_for(
    monkeypatch, system, scheme, asked
):
    quick = ex.simulate(system, scheme, t_end=0.2, **asked)
    looked_at = looking(monkeypatch)
    run = ex.simulate(system, scheme, t_end=0.2, **asked)
    assert looked_at
    assert all(len(kernel.signatures) == 1 for kernel in looked_at)
    np.testing.assert_array_equal(run.q, quick.q)


@pytest.mark.parametrize(
    "name", ["bouncing_ball", "pendulum_wall", "stick_slip", "slider_crank_rigid"]
)
def test_so_have_those_of_the_event_driven_kernel_and_of_the_look_at_its_events(monkeypatch, name):
    """With columns and without; t_end may be a whole number."""
    system, scheme = models[name](), ex.EventDriven(max_steps=500)
    wrt, t_end = list(system.parameters)[:2], 1 if system.t_end > 1 else system.t_end
    quick = ex.sensitivity(system, scheme, wrt=wrt, t_end=t_end)
    looked_at = looking(monkeypatch)
    run = ex.sensitivity(system, scheme, wrt=wrt, t_end=t_end)
    alone = ex.simulate(system, scheme, t_end=t_end)
    assert {kernel.__name__ for kernel in looked_at} == {"march", "doubtful"}
    assert all(len(kernel.signatures) == 1 for kernel in looked_at)
    np.testing.assert_array_equal(run.S, quick.S)
    assert alone.status.ok


def test_where_kernels_are_not_compiled_the_entry_is_the_function():
    from explorer.kernels.entry import entry

    assert entry(oscillator) is oscillator
