"""The gallery at its defaults and its presets: no caution that cries wolf."""

from __future__ import annotations

import warnings

import pytest

import explorer as ex
from explorer.models import models
from explorer.panels import Session

# models that are cautioned of, and rightly so: their solutions are not unique, which they show
SEVERAL = {"moments with several continuations"}
NOT_UNIQUE = {"two_fold", "two_genes"}

RUNS = [(name, preset) for name in models for preset in ("", *models[name]().presets)]


def broken(run):
    return {check.name for check in run.certificate.broken}


@pytest.mark.parametrize("name", list(models))
def test_no_scheme_is_cautioned_of_where_a_model_is_as_it_was_made(name):
    system = models[name]()
    for scheme in ex.schemes_for(system):
        run = ex.simulate(system, scheme)
        assert len(run.certificate) or isinstance(system, ex.HybridSystem), scheme
        assert broken(run) <= (SEVERAL if name in NOT_UNIQUE else set()), (scheme, run.certificate)


@pytest.mark.parametrize(("name", "preset"), RUNS)
def test_presets_are_cautioned_of_by_name_alone(name, preset):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = Session(name)
        if preset:
            session.preset(preset)
    known = SEVERAL if name in NOT_UNIQUE else set()
    assert broken(session.solution) <= known, session.solution.certificate
