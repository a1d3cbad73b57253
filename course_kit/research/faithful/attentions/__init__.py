"""How states get their weights: one file each, found by its name."""
