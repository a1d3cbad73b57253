"""Until the entry point follows."""
