"""Recorded networks put through the tests of ``course_lib.faithfulness``."""
