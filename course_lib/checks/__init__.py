"""Checkers for the exercises: they try a learner's function on many cases, smallest first.

``check_masked_softmax(my_softmax)`` prints one line when every case agrees with the library. A
wrong answer raises ``CheckFailed`` with a sentence about what is wrong and the smallest case where
it is, drawn: yours beside the expected. A function that is not written yet (it returns ``None`` or
``...``, or raises ``NotImplementedError``) is only reminded of.
"""

from course_lib.checks.attention import check_masked_softmax
from course_lib.checks.core import CheckFailed, check_number

__all__ = ["CheckFailed", "check_masked_softmax", "check_number"]
