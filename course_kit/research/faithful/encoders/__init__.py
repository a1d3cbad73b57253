"""What makes the states that attention weighs: one file each, found by its name."""
