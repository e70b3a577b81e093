"""The certificate of a run: checks, cautions, and what a representation says of them."""

from __future__ import annotations

import math

import explorer as ex
from explorer import Certificate, Check


def test_a_check_holds_up_to_its_bound_and_nan_never_does():
    assert Check("a", 1.0, 1.0).ok
    assert not Check("a", 1.0 + 1e-12, 1.0).ok
    assert not Check("a", math.nan, 1.0).ok


def test_a_certificate_names_what_does_not_hold():
    good, bad = Check("a", 0.0, 1.0), Check("b", 2.0, 1.0, "m", "It is too deep.")
    found = Certificate((good, bad))
    assert not found.ok
    assert found.cautions == ("It is too deep.",)
    assert found.summary == "1 of 2 checks does not hold"
    assert repr(found).splitlines()[-1] == "  ! b 2 m (allowed 1 m): It is too deep."
    assert found["a"] is good
    assert Certificate((good,)).summary == "1 check holds"


def test_a_scheme_certifies_its_runs(monkeypatch):
    words = "It is too deep."
    monkeypatch.setattr(
        ex.MoreauJean, "certify", lambda self, run: [Check("b", 2.0, 1.0, words=words)]
    )
    run = ex.simulate(ex.models.bouncing_ball())
    assert run.certificate is run.certificate
    assert run.cautions == (words,)
    assert repr(run).endswith("success, 1 caution: It is too deep.)")
