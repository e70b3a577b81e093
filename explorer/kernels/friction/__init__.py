"""Coulomb's law at contacts: single ones, all of them dense, and many of them on their graph."""
