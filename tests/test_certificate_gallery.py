"""The gallery at its defaults: no caution that cries wolf. Its presets: tests/test_session.py."""

from __future__ import annotations

import pytest
from kinds import SYSTEMS, cautioned

import explorer as ex
from explorer.models import models


@pytest.mark.broad
@pytest.mark.parametrize("name", list(models))
def test_no_scheme_is_cautioned_of_where_a_model_is_as_it_was_made(name):
    system = SYSTEMS[name]
    for scheme in ex.schemes_for(system):
        run = ex.simulate(system, scheme)
        assert len(run.certificate) or isinstance(system, ex.HybridSystem), scheme
        broken = {check.name for check in run.certificate.broken}
        assert broken <= cautioned(name), (scheme, run.certificate)
