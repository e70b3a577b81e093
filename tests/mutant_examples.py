"""Let random examples end at the first that fails: ``pytest -p mutant_examples``.

A mutant is found by any of them. To look for the simplest one takes long, and a test that takes
long is given up.
"""

from __future__ import annotations

from hypothesis import Phase, settings

settings.register_profile("mutants", phases=[Phase.explicit, Phase.generate], database=None)
settings.load_profile("mutants")
