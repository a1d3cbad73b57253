"""How much a lesson does: the profile that ``COURSE_PROFILE`` asks for."""

import os

PROFILES = ("smoke", "lesson", "full")


def profile_from_environment() -> str:
    """``COURSE_PROFILE``, else ``"lesson"``; ``ValueError`` lists the profiles there are."""
    profile = os.environ.get("COURSE_PROFILE", "lesson")
    if profile not in PROFILES:
        raise ValueError(f"COURSE_PROFILE is {profile!r}; it takes one of {', '.join(PROFILES)}")
    return profile
