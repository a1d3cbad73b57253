"""The author's command ``crossover paper``."""

import argparse

from course_kit.research.crossover_paper import paper


def command(options: argparse.Namespace) -> int:
    """Write the paper from the committed tables and records."""
    numbers = paper.write()
    print(f"{paper.PAPER}: {len(numbers.asked)} figures")
    return 0
