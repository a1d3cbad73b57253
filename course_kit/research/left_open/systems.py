"""Until the entry point follows."""

from course_kit.research.extensions import register_all  # noqa: F401
