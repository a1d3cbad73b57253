"""What makes a course of the library: exercises, research, publishing, the reading room."""
