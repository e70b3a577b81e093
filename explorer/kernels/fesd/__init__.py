"""Finite elements with switch detection: the march through active sets, elements, derivatives."""
