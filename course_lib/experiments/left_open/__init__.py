"""What the papers left open, tried: variants of their networks, beside `models.context_han`."""
