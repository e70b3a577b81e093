"""From a question to a run: which scheme takes a system, `simulate`, `load`."""
