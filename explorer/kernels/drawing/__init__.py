"""What pictures need of many points, quickly."""
