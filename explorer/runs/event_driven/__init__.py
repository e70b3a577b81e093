"""Runs from event to event."""
