"""Derivatives along the iterates of a map."""
