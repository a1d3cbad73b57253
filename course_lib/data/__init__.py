"""Floor 0: real text in, masked batches out. Knows nothing of models."""
