"""Shared by all views: subplots, their layout, reduction of curves, still images."""
