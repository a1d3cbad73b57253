"""Attention you can read, measure and doubt: the library behind the lessons."""
