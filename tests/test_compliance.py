"""Compliant contacts by time stepping: the spring that only pushes, order, limits, refusals."""

import numpy as np
import pytest

import explorer as ex
from explorer import Contact, MechanicalSystem, MoreauJean
from explorer.errors import BadModel, BadValue, NotApplicable

STIFF, SPEED = 400.0, 1.5


def ball(force=0, **contact):
    """Return a ball of 1 kg that flies at a spring of 400 N/m, 0.3 m away."""
    return MechanicalSystem(
        "ball", q="y", params={"c": 1 / STIFF}, force=[force], start={"q": [0.3], "v": [-SPEED]},
        contacts=[Contact("y", **{"compliance": "c", "name": "pad"} | contact)],
    )  # fmt: skip


def bounce(t):
    """Return y and the force: free, half a period of the spring, free again."""
    w, meets = np.sqrt(STIFF), 0.3 / SPEED
    phase = w * (t - meets)
    inside = (phase > 0) & (phase < np.pi)
    y = np.where(phase <= 0, 0.3 - SPEED * t, SPEED * (t - meets - np.pi / w))
    y = np.where(inside, -SPEED / w * np.sin(phase), y)
    return y, np.where(inside, -STIFF * y, 0.0)


@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_a_compliant_contact_is_its_spring_to_first_order(theta):
    """The path to O(h), at every h; the force of the step is compliance^-1 times the depth."""
    errors = []
    for h in (4e-3, 2e-3, 1e-3, 5e-4):
        run = ex.simulate(ball(), MoreauJean(h=h, theta=theta), t_end=0.6)
        y, force = bounce(run.t)
        errors.append(np.abs(run.q[:, 0] - y).max())
        lam = run.lam[1:, 0]
        assert np.abs(lam - STIFF * np.maximum(-run.q[1:, 0], 0)).max() < 1e-9 * force.max()
        assert np.abs(lam - force[1:]).max() < 60 * STIFF * SPEED * h / np.sqrt(STIFF)
        assert [e.kind for e in run.events] == ["closed", "released"]
    assert np.log2(np.array(errors[:-1]) / errors[1:]).mean() == pytest.approx(1, abs=0.35)
    if theta == 0.5:
        assert run.v[-1, 0] == pytest.approx(SPEED, rel=1e-2)


def test_a_resting_weight_sinks_by_its_compliance_and_stays():
    """c m g, and there it is at rest; a D in the relation of velocities would let it creep."""
    run = ex.simulate(ball(force="-9.81", name="scale"), MoreauJean(h=1e-3), q0=[-9.81 / STIFF],
                      v0=[0], t_end=0.5)  # fmt: skip
    assert np.abs(run.q + 9.81 / STIFF).max() < 1e-12
    assert run.p[1:, 0] == pytest.approx(9.81e-3, rel=1e-9)


def test_without_compliance_it_is_rigid_and_friction_works_on_it():
    rigid = ex.simulate(ball(e=0), MoreauJean(h=1e-3), c=0, t_end=0.6)
    assert rigid.gap.min() > -2e-3
    assert rigid.v[-1, 0] == pytest.approx(0, abs=1e-12)
    sled = MechanicalSystem(
        "sled", q="x y", mass=[[1, 0], [0, 1]], force=[0, "-9.81"],
        contacts=[Contact("y", mu=0.3, slip="v_x", compliance=1e-4)],
        start={"q": [0, -9.81e-4], "v": [2, 0], "t_end": 1},
    )  # fmt: skip
    run = ex.simulate(sled, MoreauJean(h=1e-3))
    stop = 2 / (0.3 * 9.81)
    assert run.q[-1, 0] == pytest.approx(stop, abs=3e-3)
    assert [e.t for e in run.events if e.kind == "sticks"] == pytest.approx([stop], abs=2e-3)
    nothing = ex.simulate(sled, MoreauJean(h=1e-3, projection="all"))  # it may give way
    assert np.abs(nothing.q - run.q).max() == 0


def test_three_balls_share_the_speed_as_springs_do():
    """Published for equal springs, however stiff: (-.130262, .150230, .980032); to O(h)."""
    chain = MechanicalSystem(
        "three balls", q="x1 x2 x3", params={"c": 1.0}, start={"v": [1, 0, 0], "t_end": 10}
    )
    for k, gap in enumerate(("x2 - x1", "x3 - x2")):
        chain.contact(Contact(gap, compliance="c", name=f"spring {k}"))
    number = np.array([-0.130262, 0.150230, 0.980032])
    for h, c in ((4e-3, 1.0), (1e-3, 1.0), (1e-4, 1e-2)):
        run = ex.simulate(chain, MoreauJean(h=h), c=c)
        error = np.abs(run.v[-1] - number).max()
        assert error < h / np.sqrt(c) + 1e-6
        assert run.v[-1].sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("stiffness", [1.0, 1e6])
def test_three_balls_share_the_speed_as_hertz_contacts_do(stiffness):
    """Published for equal balls, k delta^(3/2), however stiff: (-.070952, .076403, .994549)."""
    near, far = f"{stiffness}*max(x1 - x2, 0)**1.5", f"{stiffness}*max(x2 - x3, 0)**1.5"
    chain = MechanicalSystem(
        "three balls", q="x1 x2 x3", force=[f"-{near}", f"{near} - {far}", far],
        start={"v": [1, 0, 0], "t_end": 20 * stiffness**-0.4},
    )  # fmt: skip
    number = np.array([-0.070952, 0.076403, 0.994549])
    located = ex.simulate(chain, ex.EventDriven(rtol=1e-10, atol=1e-13))
    assert located.v[-1] == pytest.approx(number, abs=1e-6)
    stepped = ex.simulate(chain, MoreauJean(h=1e-4 * stiffness**-0.4))
    assert stepped.v[-1] == pytest.approx(number, abs=1e-5)


def test_a_nonlinear_system_takes_it_too():
    """The same ball with an inertia that Newton's method has to see."""
    bent = ball()
    bent.mass = [["1 + 1e-9*y**2"]]
    one, two = (ex.simulate(s, MoreauJean(h=1e-3), t_end=0.6) for s in (ball(), bent))
    assert np.abs(one.q - two.q).max() < 1e-7


def test_what_makes_no_sense_is_refused():
    with pytest.raises(BadValue, match="must be >= 0"):
        ex.simulate(ball(), c=-1)
    with pytest.raises(BadValue, match="which theta = 0 does not reach"):
        ex.simulate(ball(), MoreauJean(theta=0.0))
    with pytest.raises(NotApplicable, match=r"compliance(.|\n)*MoreauJean"):
        ex.simulate(ball(), ex.EventDriven())
    with pytest.raises(BadModel, match="compliance"):
        ball(compliance="y")
    again = ex.systems.from_spec(ball().to_spec())
    assert again.contacts == ball().contacts
