"""How much a lesson does: the profile that ``COURSE_PROFILE`` asks for."""

import os

PROFILES = ("smoke", "lesson", "full")


class ProfileError(ValueError):
    """A profile that does not exist; the message lists those that do."""


def profile_from_environment() -> str:
    """``COURSE_PROFILE``, else ``"lesson"``; raises ``ProfileError`` for any other."""
    profile = os.environ.get("COURSE_PROFILE", "lesson")
    if profile not in PROFILES:
        raise ProfileError(f"COURSE_PROFILE is {profile!r}; it takes one of {', '.join(PROFILES)}")
    return profile
