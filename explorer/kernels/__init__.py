"""Numba and arrays only: no class of ours, no exception, no allocation inside a time loop."""
