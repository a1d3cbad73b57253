"""All sanity checks: what is trained on which task, and the record of their figures.

``attention-course author sanity-checks --seed 0`` writes ``results/sanity_checks/s0.json``, and
with ``--control "sharp band"`` that control alone, ``sharp-band-s0.json``; it downloads nothing.
"""

import argparse
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from course_kit.research.recording import Stopwatch, add_options, chosen
from course_kit.research.sanity_checks import instruments as show
from course_kit.research.sanity_checks.synthetic import HELD_OUT, SYNTHETIC_TASKS
from course_kit.research.sanity_checks.trained_control import Check, ControlSpec, TrainedControl
from course_kit.research.sanity_checks.word_by_word import (
    SumOfWords,
    word_by_word_han,
    word_by_word_iram,
)
from course_lib.front_end import progress
from course_lib.models.agt import AGT, AGTConfig
from course_lib.models.han import HAN, HANConfig
from course_lib.models.iram import IRAM, IRAMConfig
from course_lib.models.sanet import SANet, SANetConfig
from course_lib.runs.records import RESULTS, write_json
from course_lib.training.devices import choose_device

RECORDS = RESULTS / "sanity_checks"
PENALTY = 0.1  # a γ at which steps that overlap cost something; the paper's is 0.0003
SANET = SANetConfig(embedding=32, hidden=32, dropout=0.0)
BASELINE = replace(SANET, attention=False)
IRAM_SIZES = IRAMConfig(
    embedding=32, hidden=32, steps=2, dropout=0.0, hidden_dropout=0.0, initial_std=0.0, frozen=False
)
PENALISED = replace(IRAM_SIZES, penalty=PENALTY)
AGT_SIZES = AGTConfig(embedding=32, hidden=32, layers=4, dropout=0.0)
HAN_SIZES = HANConfig(embedding=32, hidden=16, attention=32)
CONFIGS = {"sanet": SANET, "iram": IRAM_SIZES, "agt": AGT_SIZES, "han": HAN_SIZES}

PAIRS = [  # the band must appear for neighbours, and only for them
    Check(f"{task} pairs", task, name, partial(SANet, config), figures, learning_rate=3e-3)
    for task in ("adjacent", "distant")
    for name, config, figures in (
        ("SANet", SANET, show.OF_PAIRS), ("SANet without attention", BASELINE, show.ACCURACY),
    )
]  # fmt: skip
BANDS = [  # attention this sharp shows a band if the network needs neighbours, and only then
    Check("sharp band", task, f"SANet, {task} pairs", partial(SANet, SANET), show.OF_BANDS,
          show.at_distances, learning_rate=3e-3)
    for task in ("adjacent", "distant")
]  # fmt: skip
STEPS = [  # the steps must part if no encoder helps
    Check("pointer", "pointer", name, build, show.OF_STEPS, show.without_parts)
    for name, build in {
        "IRAM word by word": partial(word_by_word_iram, IRAM_SIZES),
        f"IRAM word by word, γ = {PENALTY}": partial(word_by_word_iram, PENALISED),
        "IRAM with its LSTM": partial(IRAM, IRAM_SIZES),
        f"IRAM with its LSTM, γ = {PENALTY}": partial(IRAM, PENALISED),
    }.items()
]
PHRASES = [  # AGT can learn a pair of words; it cannot learn their order
    Check("phrase", "phrase", "sum of words", SumOfWords, show.ACCURACY),
    Check("phrase", "phrase", "AGT", partial(AGT, AGT_SIZES), show.OF_PHRASES),
    Check("order", "adjacent", "AGT", partial(AGT, AGT_SIZES),
          show.ACCURACY | {"logits of twins differ by": show.between_twins}),
]  # fmt: skip
PLANTED = [  # does what a network shows name the word that decides?
    Check("planted word", "planted", name, build, show.OF_THE_PLANTED, show.reweighting,
          in_sentences=name.startswith("HAN"))
    for name, build in {
        "AGT": partial(AGT, AGT_SIZES),
        "HAN word by word": partial(word_by_word_han, HAN_SIZES),
        "HAN with its GRU": partial(HAN, HAN_SIZES),
        "IRAM word by word": partial(word_by_word_iram, IRAM_SIZES),
        "IRAM with its LSTM": partial(IRAM, IRAM_SIZES),
        "SANet": partial(SANet, SANET),
        "SANet without attention": partial(SANet, BASELINE),
    }.items()
]  # fmt: skip
CHECKS = {(c.control, c.network): c for c in [*PAIRS, *BANDS, *STEPS, *PHRASES, *PLANTED]}


def train_check(control: str, network: str, spec: ControlSpec) -> TrainedControl:
    """The network of one check, trained; ``KeyError`` for a check that there is not."""
    return CHECKS[control, network].train(spec)


def train_pointer(network: str, spec: ControlSpec) -> TrainedControl:
    """An IRAM of ``STEPS`` by its name, trained where a word names the fact that decides."""
    return train_check("pointer", network, spec)


def record_checks(spec: ControlSpec, control: str | None = None) -> dict[str, Any]:
    """Train every check, or those of one control; the record holds what was run and a line for each
    figure."""
    watch = Stopwatch(spec.threads, choose_device(spec.device))
    chosen = [check for check in CHECKS.values() if control in (None, check.control)]
    bar = progress(chosen, desc="sanity checks")
    lines = [line for check in bar for line in check.lines(spec)]
    return {
        "spec": asdict(spec),
        "settings": {name: asdict(config) for name, config in CONFIGS.items()},
        "tasks": {name: task.title for name, task in SYNTHETIC_TASKS.items()},
        "sizes": {"train": spec.rows, "validation": HELD_OUT, "test": HELD_OUT},
        **watch.about(),
        "lines": lines,
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The fields of a ``ControlSpec``, which control, and where to write."""
    add_options(
        parser, ControlSpec(), rows="texts to train on", epochs="times through them",
        seed="of all that is random", device="cpu or cuda, say", threads="on a CPU",
    )  # fmt: skip
    controls = dict.fromkeys(check.control for check in CHECKS.values())
    parser.add_argument("--control", choices=controls, help="one of them alone (default: all)")
    parser.add_argument("--output", type=Path, help="default: results/sanity_checks/s<seed>.json")


def command(options: argparse.Namespace) -> int:
    """Train all checks, write their record, and print a line for each figure."""
    spec = chosen(options, ControlSpec)
    usual = asdict(ControlSpec())
    changes = [f"--{name} {v}" for name, v in asdict(spec).items() if v != usual[name]]
    stem = f"s{spec.seed}"
    if options.control:
        changes.insert(0, f'--control "{options.control}"')
        stem = f"{options.control.replace(' ', '-')}-{stem}"
    record = {"command": " ".join(["attention-course author sanity-checks", *changes])}
    record |= record_checks(spec, options.control)
    write_json(options.output or RECORDS / f"{stem}.json", record)
    for line in record["lines"]:
        name = f"{line['control']:18} {line['network']:32} {line['figure']:42}"
        print(f"{name} {line['trained']:.3f}")
    return 0
