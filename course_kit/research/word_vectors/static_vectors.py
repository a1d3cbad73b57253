"""Static word vectors out of a pre-trained Transformer, which reads every word alone.

``attention-course author static-vectors`` gives MiniLM the words of ``reviews.100d``, one at a
time. A word's vector is the mean of its pieces' last states, centred over the words and turned into
principal components (strongest first), of which the file keeps the first, a byte a number.
"""

import argparse
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_kit.research.recording import Stopwatch, add_options, chosen
from course_kit.research.word_vectors.compact_vectors import COMPACT, LARGEST, in_bytes
from course_lib.checking import check_number, check_whole
from course_lib.files import atomic_path, file_digest
from course_lib.front_end import progress
from course_lib.runs.records import write_json
from course_lib.runs.systems.minilm_system import MiniLMSystem

BATCH = 256


@dataclass(frozen=True)
class StaticConfig:
    """How many numbers a word keeps (``width``), the standard ``deviation`` of all numbers, by
    default that of ``reviews.100d``, beside which they stand, and the ``largest`` byte, at most
    127. ``ValueError`` names a field."""

    width: int = 160
    deviation: float = 0.4
    largest: int = 40

    def __post_init__(self) -> None:
        check_whole(self, "width", "largest")
        check_number(self, "deviation")
        if self.largest > LARGEST:
            raise ValueError(f"largest takes 1 to {LARGEST}, got {self.largest}")


@torch.inference_mode()
def states_of_words(system: MiniLMSystem, words: list[str]) -> np.ndarray:
    """The mean of the last states of each word's pieces, ``(words, hidden)``; [CLS] and [SEP] are
    read, too, but do not count. Words of about as many pieces are read together."""
    split = system.split(words)
    order = sorted(range(len(words)), key=lambda n: len(split[n]))
    found = np.zeros((len(words), system.settings.model.width), np.float32)
    for start in progress(range(0, len(words), BATCH), desc="words", unit=" batches"):
        rows = order[start : start + BATCH]
        tokens, mask = system.batch([[split[n]] for n in rows])
        states = system.model(tokens, mask, return_states=True).states[:, -1, : mask.shape[1]]
        sums = (states * mask[..., None]).sum(1)
        found[rows] = sums / mask.sum(1, keepdim=True).clamp(min=1)
    return found


def principal(vectors: np.ndarray, config: StaticConfig) -> tuple[np.ndarray, float]:
    """The first ``width`` principal components of ``(words, hidden)``, scaled to ``deviation``, and
    the share of the variance that they hold."""
    centred = vectors - vectors.mean(0)
    variances, directions = np.linalg.eigh(np.cov(centred.T.astype(np.float64)))  # weakest first
    kept = centred @ directions[:, ::-1][:, : config.width]
    share = variances[::-1][: config.width].sum() / variances.sum()
    return (kept * (config.deviation / kept.std())).astype(np.float32), float(share)


def make_static_vectors(config: StaticConfig, path: Path) -> dict[str, Any]:
    """Write the vectors to ``path``, an ``.npz``, and beside it their record, which is returned."""
    watch = Stopwatch()
    system = MiniLMSystem(MiniLMSystem.presets["frozen"], ("negative", "positive"))
    system.build({}, seed=0)
    system.model.eval()
    words = np.load(COMPACT)["words"]
    vectors, share = principal(states_of_words(system, words.tolist()), config)
    numbers, scale = in_bytes(vectors, config.largest)
    lost = np.square(numbers * scale[:, None] - vectors).mean() / vectors.var()
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, words=words, vectors=numbers, scale=scale)
    record = {
        "vectors": path.name,
        "sha256": file_digest(path),
        "bytes": path.stat().st_size,
        "words": len(words),
        "settings": asdict(config),
        "made of": [*system.vectors, {"words of": COMPACT.name, "sha256": file_digest(COMPACT)}],
        "share of the variance kept": round(share, 4),
        "share of the variance lost by rounding": float(f"{lost:.1g}"),
        **watch.about(),
    }
    write_json(path.with_suffix(".json"), record)
    return record


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings as options, with their defaults."""
    add_options(parser, StaticConfig())
    parser.add_argument("--out", type=Path, help="the .npz to write (results/vectors/…)")


def command(options: argparse.Namespace) -> int:
    """Read the words, write the file, and say how to use it."""
    config = chosen(options, StaticConfig)
    path = options.out or COMPACT.with_name(f"minilm.{config.width}d.npz")
    record = make_static_vectors(config, path)
    print(f"{record['words']:,} words in {path}, {record['bytes'] / 1e6:.1f} MB")
    return 0
