"""Runs of schemes with fixed steps."""
