"""Marks for a class: submissions run one by one in a sandbox, and are judged outside it."""
