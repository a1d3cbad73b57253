"""How much a lesson does: the profile that ``COURSE_PROFILE`` asks for."""

import os

from course_lib.files import DataError

PROFILES = ("smoke", "lesson", "full")


def profile_from_environment() -> str:
    """``COURSE_PROFILE``, else ``"lesson"``; raises ``DataError`` for any other."""
    profile = os.environ.get("COURSE_PROFILE", "lesson")
    if profile not in PROFILES:
        raise DataError(f"COURSE_PROFILE is {profile!r}; it takes one of {', '.join(PROFILES)}")
    return profile
