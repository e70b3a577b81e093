"""Sliding modes: multipliers that keep a state on its surfaces, all of them found."""
