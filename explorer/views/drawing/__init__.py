"""What views share: subplots, their layout, few points for long curves, stills."""
