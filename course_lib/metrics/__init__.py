"""Floor 2: numbers about predictions and about attention."""
