"""What schemes share: knobs, starts, records."""
