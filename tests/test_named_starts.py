"""A parameter that is called q0, v0 or x0: a number means it, a list means the start."""

import numpy as np
import pytest

import explorer as ex


def thrown() -> ex.MechanicalSystem:
    """A mass that is thrown from q0 with v0."""
    return ex.MechanicalSystem(
        "thrown", q="y", params={"q0": 1.0, "v0": 1.0, "g": 9.81}, force="-g",
        start={"q": ["q0"], "v": ["v0"], "t_end": 0.5},
    )  # fmt: skip


def test_a_number_is_the_parameter_and_a_list_the_start():
    run = ex.simulate(thrown(), q0=3, v0=2)
    assert (run.rho["q0"], run.rho["v0"]) == (3, 2)
    assert (run.q[0, 0], run.v[0, 0]) == (3, 2)
    run = ex.simulate(thrown(), v0=[2.0])
    assert (run.rho["v0"], run.v[0, 0]) == (1, 2)


@pytest.mark.parametrize("name", ["q0", "v0"])
def test_derivatives_by_such_a_parameter(name):
    found = ex.sensitivity(thrown(), wrt=name, **{name: 1.5})
    t = 0.5 if name == "v0" else 1.0
    assert found.S[-1, 0] == pytest.approx([t])


def test_of_one_state_too():
    model = ex.models.sliding_mode()
    run = ex.simulate(model, ex.EventDriven(), x0=0.5)
    assert run.rho["x0"] == run.x[0, 0] == 0.5
    known = model.exact(run.t, run.rho)["x"]
    assert np.abs(run.x - known).max() < 1e-6
    with pytest.raises(ex.BadValue, match="has no v0"):
        ex.simulate(model, v0=1)
