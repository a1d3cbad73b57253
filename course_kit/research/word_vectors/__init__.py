"""Word vectors of our own, made small."""
