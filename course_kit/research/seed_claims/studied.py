"""What the claims share: groups of networks, samples of texts, means with intervals."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
from scipy.special import stdtrit

from course_kit.research.recording import DIGITS, mean_of
from course_lib.files import DataError
from course_lib.runs import folders, records
from course_lib.runs.folders import recorded_names
from course_lib.runs.run import Run, load_run
from course_lib.runs.systems import NeuralSystem
from course_lib.runs.weights import DIGEST, load_recorded

SEEDS = (0, 1, 2)
SPEC = ("system", "dataset", "preset", "overrides", "threads", "test")  # what trains it again
BLOCKS = 50  # of texts, each of which is left out once
LEVEL = 0.95
Claim = dict[str, Any]  # the part of a record that a claim fills in
Values = Mapping[str, np.ndarray]  # by network, one value a text
Figure = dict[str, Any]


class Studied(NamedTuple):
    """A network with its run; ``committed`` says whether its weights are in ``results/weights``."""

    run: Run
    committed: bool

    @property
    def system(self) -> NeuralSystem:
        """The trained network."""
        return self.run.system

    @property
    def untrained(self) -> NeuralSystem:
        """The network as it was before training."""
        twin = self.run.system.before_training(self.run.record["spec"]["seed"])
        twin.model.eval()
        return twin

    def about(self) -> dict[str, Any]:
        """What a record says of the network."""
        record = self.run.record
        about = {"seed": record["spec"]["seed"], "committed": self.committed}
        about["weights"] = record[DIGEST if self.committed else "weights"]
        if not self.committed:
            about["validation accuracy"] = round(records.kept_accuracy(record), DIGITS)
            about["spec"] = {name: record["spec"][name] for name in SPEC}
        return about


def group(prefix: str, seeds: Sequence[int] = SEEDS) -> dict[str, Studied]:
    """The networks ``PREFIX-s0`` … by id: recorded ones, and finished runs in ``runs/`` where the
    weights are not committed. Those that are nowhere are left out; ``DataError`` if all are."""
    found, recorded = {}, recorded_names()
    for name in (f"{prefix}-s{seed}" for seed in seeds):
        folder = folders.RUNS / name
        if name in recorded:
            found[name] = Studied(load_recorded(name), True)
        elif (folder / "record.json").exists():
            found[name] = Studied(load_run(folder), False)
    if not found:
        raise DataError(f"no network {prefix}-s… is recorded or trained here")
    return found


def groups(prefixes: Sequence[str]) -> dict[str, dict[str, Studied]]:
    """``group`` of several prefixes, without those of which no network is there; ``DataError`` if
    none is."""
    found = {}
    for prefix in prefixes:
        with suppress(DataError):
            found[prefix] = group(prefix)
    if not found:
        raise DataError(f"no network of {', '.join(prefixes)} is recorded or trained here")
    return found


def sample(run: Run, texts: int, seed: int) -> datasets.Dataset:
    """``texts`` random rows of a run's test half; of one seed, fewer are the first of more."""
    records.check_data(run.record, run.record["spec"]["dataset"], Path(run.record["id"]))
    test_half = run.corpus.splits["test"]
    return test_half.select(np.random.default_rng(seed).permutation(len(test_half))[:texts])


def about_texts(run: Run, rows: datasets.Dataset, seed: int) -> dict[str, Any]:
    """What a record says of a sample."""
    words = json.dumps(rows["tokens"][:], ensure_ascii=False)
    digest = f"sha256:{hashlib.sha256(words.encode()).hexdigest()}"
    data = run.record["data"]
    return {
        "dataset": data["dataset"],
        "texts": len(rows),
        "seed": seed,
        "sample": digest,
        "data": data["content"],
    }


def figure(values: Values, seed: int = 0) -> Figure:
    """A figure of a group: by network, one value a text, NaN where a text has none."""
    return over_networks({name: mean_of(of, seed) for name, of in values.items()})


def figures(values: Mapping[str, Values], seed: int = 0) -> dict[str, Figure]:
    """``figure`` of several, by name."""
    return {name: figure(of, seed) for name, of in values.items()}


def of_all(
    statistic: Callable[[np.ndarray], np.ndarray], texts: int, seed: int = 0
) -> dict[str, Any]:
    """A statistic of all texts together with its interval over them, in the form of ``mean_of``.

    ``statistic`` takes how often each text counts, ``(samples, texts)``, and gives ``(samples,)``.
    The interval is a jackknife's: each of ``BLOCKS`` random parts of the texts is left out once. A
    bootstrap counts some texts twice, which makes occurrences of a word look more alike than they
    are.
    """
    blocks = min(BLOCKS, texts)
    place = np.random.default_rng(seed).permutation(np.arange(texts) % blocks)
    without = (place != np.arange(blocks)[:, None]).astype(float)
    value, left = float(statistic(np.ones((1, texts)))[0]), statistic(without)
    error = ((blocks - 1) / blocks * ((left - left.mean()) ** 2).sum()) ** 0.5
    half = stdtrit(blocks - 1, (1 + LEVEL) / 2) * error
    found = {"mean": value, "low": value - half, "high": value + half}
    rounded = {name: round(float(number), DIGITS) for name, number in found.items()}
    return rounded | {"counted": texts, "left_out": 0}


def over_networks(by_network: Mapping[str, dict[str, Any]]) -> Figure:
    """The mean of the networks' values with their t interval, and the values by network."""
    values = [one["mean"] for one in by_network.values() if one["mean"] is not None]
    found: Figure = {"mean": None, "low": None, "high": None, "networks": len(values)}
    if values:
        found["mean"] = round(float(np.mean(values)), DIGITS)
    if len(values) > 1:
        half = stdtrit(len(values) - 1, (1 + LEVEL) / 2) * np.std(values, ddof=1)
        half /= len(values) ** 0.5
        found["low"], found["high"] = (
            round(float(np.mean(values) + side * half), DIGITS) for side in (-1, 1)
        )
    return found | {"by_network": dict(by_network)}


def about_networks(groups: Mapping[str, Mapping[str, Studied]]) -> dict[str, Any]:
    """What a record says of its networks."""
    return {name: {n: one.about() for n, one in of.items()} for name, of in groups.items()}
