"""``python -m course_lib``: the command ``attention-course``."""

import sys

from course_lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
