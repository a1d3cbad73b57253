"""Floor 2: the four families. Models know tensors, not data."""
