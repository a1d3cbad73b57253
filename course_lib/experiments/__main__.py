"""``python -m course_lib.experiments run …``: the commands, as torchrun starts them."""

import sys

from course_lib.cli import main

if __name__ == "__main__":
    sys.exit(main())
