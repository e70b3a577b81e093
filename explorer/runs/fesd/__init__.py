"""Runs of finite elements with switch detection."""
