"""Word vectors of our own: trained, compared, made small."""
