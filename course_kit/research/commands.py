"""The studies' commands, which ``attention-course`` finds through an entry point."""

from course_lib.cli import Command, command_of

COMMANDS = {
    "grid": Command(
        "show which runs in notebooks/experiments/grid.yaml are missing, or run them",
        "grid run core", "experiments",
        *command_of("course_kit.research.grid.scheduler"), "run",
    ),
    "faithfulness": Command(
        "test whether the attention of recorded networks says what they use, and record it",
        "faithfulness han-imdb-compact-s0 --texts 100", "course",
        *command_of("course_kit.research.faithfulness.erasure_record"),
    ),
    "trained-tests": Command(
        "train networks that test what attention says, and record what comes out",
        "trained-tests roar --on planted --seeds 0 1 2", "course",
        *command_of("course_kit.research.trained_tests.trained_record"),
    ),
    "faithful": Command(
        "run the study of when attention is faithful: what is missing, a cell, what is published",
        "faithful run --only imdb-bilstm-sparsemax-s0", "course",
        *command_of("course_kit.research.faithful.command"),
    ),
}  # fmt: skip
