"""Event location: the march from event to event, its jumps, its derivatives, its adjoint."""
