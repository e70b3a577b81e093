"""What a run returns: `Solution` and its parts, events, tables and files."""
