"""Runs in pseudo-time, read in physical time."""
