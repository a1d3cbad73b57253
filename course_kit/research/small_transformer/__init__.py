"""The small Transformer of lesson 09, and what five seeds of it show."""
