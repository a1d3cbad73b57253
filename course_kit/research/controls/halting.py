"""An IRAM that halts itself, where one step is enough and where a second helps."""

from dataclasses import asdict, replace
from functools import partial

from course_kit.research.controls.networks import word_by_word_iram
from course_kit.research.controls.steps import CONFIG as OF_IRAM
from course_kit.research.controls.trials import (
    ControlSpec,
    Line,
    Seen,
    Trial,
    accuracy,
    mean,
    train,
)
from course_kit.research.left_open.iram import AdaptiveIRAM, AdaptiveIRAMConfig, taken

# The paper's penalty would part the steps, too; here only their price acts.
CONFIG = AdaptiveIRAMConfig(**asdict(OF_IRAM) | {"steps": 4, "penalty": 0.0})
NETWORKS = {
    "a step costs 0.01": CONFIG,
    "a step costs 0.1": replace(CONFIG, ponder=0.1),
    "halted by overlap": replace(CONFIG, halting="overlap"),
}
TASKS = {"halting, one fact": "planted", "halting, two facts": "pointer"}


def trial(control: str, network: str, spec: ControlSpec) -> Trial:
    """One of ``NETWORKS``, word by word, on the task of one of ``TASKS``."""
    build = partial(word_by_word_iram, NETWORKS[network], kind=AdaptiveIRAM)
    return train(control, TASKS[control], network, build, spec)


def lines(spec: ControlSpec) -> list[Line]:
    """How many steps each network takes for one fact and for two, and whether it is right."""
    shown = {"accuracy": accuracy, "steps taken": steps_taken, "weight of step 1": first_weight}
    return [
        line
        for control in TASKS
        for network in NETWORKS
        for line in trial(control, network, spec).lines(shown)
    ]


def steps_taken(seen: Seen) -> float:
    """The mean number of steps."""
    return mean(taken(seen.output.halting).sum(1))


def first_weight(seen: Seen) -> float:
    """How much the first step's summary counts."""
    return mean(seen.output.halting[:, 0])
