"""What makes a course of the library: exercises, audit, reading room, publishing, research."""
