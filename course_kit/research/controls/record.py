"""All positive controls trained, and their figures recorded.

``attention-course controls --seed 0`` writes ``results/controls/s0.json``; it downloads nothing.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from course_kit.research.controls import halting, pairs, phrases, planted, steps
from course_kit.research.controls.texts import CONTROL_TASKS
from course_kit.research.controls.trials import HELD_OUT, ControlSpec, Line
from course_lib.runs.records import RESULTS, describe_environment, write_json
from course_lib.training.devices import choose_device, use_threads

RECORDS = RESULTS / "controls"
CONTROLS: dict[str, Callable[[ControlSpec], list[Line]]] = {
    "pairs": pairs.lines,
    "steps": steps.lines,
    "phrases": phrases.lines,
    "planted": planted.lines,
    "halting": halting.lines,
}
CONFIGS = {
    "sanet": pairs.CONFIG,
    "iram": steps.CONFIG,
    "agt": phrases.CONFIG,
    "han": planted.HAN_CONFIG,
    "adaptive_iram": halting.CONFIG,
}


def record_controls(spec: ControlSpec) -> dict[str, Any]:
    """Train every control; the record holds what was run and a line for each figure."""
    threads, device = use_threads(spec.threads), choose_device(spec.device)
    environment = describe_environment(device, threads)
    start, lines = time.perf_counter(), []
    for number, (name, measure) in enumerate(CONTROLS.items(), start=1):
        print(f"[{number}/{len(CONTROLS)}] {name}", flush=True)
        lines += measure(spec)
    return {
        "spec": asdict(spec),
        "settings": {name: asdict(config) for name, config in CONFIGS.items()},
        "tasks": {name: task.title for name, task in CONTROL_TASKS.items()},
        "sizes": {"train": spec.rows, "validation": HELD_OUT, "test": HELD_OUT},
        "environment": environment,
        "seconds": round(time.perf_counter() - start, 1),
        "lines": [asdict(line) for line in lines],
    }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command ``controls`` takes: the fields of a ``ControlSpec``, and where to write."""
    for name, value in asdict(ControlSpec()).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--output", type=Path, help="default: results/controls/s<seed>.json")


def command(options: argparse.Namespace) -> int:
    """Train all controls, write their record, and print a line for each figure."""
    defaults = asdict(ControlSpec())
    spec = ControlSpec(**{name: getattr(options, name) for name in defaults})
    changes = [f"--{name} {value}" for name, value in asdict(spec).items()
               if value != defaults[name]]  # fmt: skip
    record = {"command": " ".join(["attention-course controls", *changes])}
    record |= record_controls(spec)
    write_json(options.output or RECORDS / f"s{spec.seed}.json", record)
    for line in record["lines"]:
        name = f"{line['control']:15} {line['network']:32} {line['figure']:42}"
        print(f"{name} {line['trained']:.3f}")
    return 0
