"""The studies: what was trained, recorded and tabulated around the four papers."""
