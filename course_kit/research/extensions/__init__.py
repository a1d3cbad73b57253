"""Extensions: what the papers left open, tried once and recorded."""

from course_lib.runs.systems import register


def register_all() -> None:
    """Make these systems known to ``course_lib``, which finds this through an entry point."""
    from course_kit.research.extensions.finished import SYSTEMS

    for name, system in SYSTEMS.items():
        register(name, system)
