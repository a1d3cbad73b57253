"""AGT's records beyond accuracy: seeds one by one, gates, phrases, and readings of an optimiser."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from course_kit.research.report.records import (
    accuracy_of,
    seeds_of,
    with_film_vectors,
    with_other_vectors,
)
from course_kit.research.report.sst import AGT_MODELS
from course_lib.runs.records import kept_accuracy, load_records

Records = list[dict[str, Any]]


def optimiser_table(records: Records | None = None) -> str:
    """The grid's ``agt_optimizer`` as a markdown table: training loss after each epoch of the short
    runs and after the last one of a longer run, by optimiser and what "0.0005" was taken for; the
    lowest loss after the epochs that all have comes first."""
    records = load_records() if records is None else records
    found = [
        record
        for record in records
        if record["spec"]["system"] == "agt" and "training.optimizer" in record["spec"]["overrides"]
    ]
    lengths = {len(record["epochs"]) for record in found}
    short = min(lengths, default=0)
    shown = sorted({*range(1, 1 + short), *lengths})
    lines = [_line(["optimiser", *(f"epoch {epoch}" for epoch in shown)])]
    lines.append("|---" + "|---:" * len(shown) + "|")
    for record in sorted(found, key=lambda record: record["epochs"][short - 1]["train_loss"]):
        losses = {n: epoch["train_loss"] for n, epoch in enumerate(record["epochs"], start=1)}
        longer = f", {len(losses)} epochs" if len(losses) > short else ""
        cells = [f"{losses[epoch]:.3f}" if epoch in losses else "–" for epoch in shown]
        lines.append(_line([f"{_optimiser(record['settings']['training'])}{longer}", *cells]))
    return "\n".join(lines)


def _optimiser(chosen: dict[str, Any]) -> str:
    extra = "".join(
        f", {name.replace('_', ' ')} {chosen[name]:g}"
        for name in ("epsilon", "weight_decay")
        if chosen[name]
    )
    return f"{chosen['optimizer'].title()}, rate {chosen['learning_rate']:g}{extra}"


def agt_seeds_table(records: Records | None = None) -> str:
    """Every recorded seed of AGT and its ablations on SST-5 as a markdown table: training loss
    after the second and the last epoch, the kept epoch, accuracies in %."""
    records = load_records() if records is None else records
    head = ["network", "seed", "loss after 2 epochs", "last loss", "epochs", "kept",
            "validation, kept epoch", "test"]  # fmt: skip
    lines = [_line(head), "|---" + "|---:" * (len(head) - 1) + "|"]
    for name, (system, preset) in AGT_MODELS.items():
        for record in seeds_of(records, system, preset, "sst5"):
            epochs = record["epochs"]
            losses = [f"{epochs[place]['train_loss']:.3f}" for place in (1, -1)]
            accuracies = [f"{100 * kept_accuracy(record):.1f}", f"{100 * accuracy_of(record):.1f}"]
            whole = [record["spec"]["seed"], *losses, len(epochs), record["best_epoch"]]
            lines.append(_line([name, *map(str, whole), *accuracies]))
    return "\n".join(lines)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def gate_profiles(records: Records | None = None) -> dict[str, dict[str, Tensor]]:
    """The mean gate by layer, ``(layers − 1,)``, of AGT's recorded runs on SST-5, by their vectors
    and by seed."""
    records = load_records() if records is None else records
    groups = {"50-d vectors that learn": seeds_of(records, "agt", "paper", "sst5")}
    groups |= with_other_vectors(records, "agt", "paper", "sst5")
    return {
        vectors: {
            f"seed {record['spec']['seed']}": torch.tensor(_attention(record)["gate"])
            for record in group
        }
        for vectors, group in groups.items()
    }


class PhraseLengths(NamedTuple):
    """Mean words of a phrase, over all layers and in a random order of the words; ``ratio``
    ``(layers,)`` is how many times as long as by chance a layer's phrases are."""

    mean: float
    by_chance: float
    ratio: Tensor


def phrase_lengths(record: dict[str, Any]) -> dict[str, PhraseLengths]:
    """The phrases of a recorded AGT by the rule of selection, on the texts that it was tested on;
    a rule that is not in the record is left out."""
    recorded, found = _attention(record), {}
    for rule, prefix in (("above 0.95", ""), ("above the median", "relaxed ")):
        if f"{prefix}selected" not in recorded:
            continue
        words, runs, expected = (
            torch.tensor(recorded[f"{prefix}{name}"])
            for name in ("selected", "phrases", "phrases by chance")
        )
        # the words are the same in any order, so lengths go as one over the numbers of runs
        totals = [(words.sum() / count.sum()).item() for count in (runs, expected)]
        found[rule] = PhraseLengths(*totals, expected / runs)
    return found


def composition_figure(records: Records | None = None) -> Figure:
    """Words in a phrase by layer, by both rules of selection, and the mean transform gate: means
    over the seeds of AGT with film vectors on SST-5's test sentences (the paper's Fig. 3), beside
    the same words in a random order and the untrained network."""
    records = load_records() if records is None else records
    group = with_film_vectors(records, "agt", "paper", "sst5")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.1), layout="constrained")
    rules = {"above 0.95": "", "above the median": "relaxed "}
    for axis, (rule, prefix) in zip(axes, rules.items()):
        for state, name, look in (
            ("trained", "phrases", "o-"),
            ("trained", "phrases by chance", "s--"),
            ("untrained", "phrases", "^:"),
        ):
            counts = [
                [record["attention"][state][f"{prefix}{key}"] for record in group]
                for key in ("selected", name)
            ]
            words, phrases = torch.tensor(counts)
            label = "trained, words shuffled" if "chance" in name else state
            axis.plot((words / phrases).mean(0), look, label=label)
        axis.set(
            title=f"weights {rule}", xlabel="layer", ylabel="words in a phrase", ylim=(0.9, 2.5)
        )
        axis.legend(loc="upper left", fontsize=9)
    for state, look in (("trained", "o-"), ("untrained", "^:")):
        gates = torch.tensor([record["attention"][state]["gate"] for record in group])
        axes[2].plot(range(1, 1 + gates.shape[1]), gates.mean(0), look, label=state)
    axes[2].set(title="gates", xlabel="layer", ylabel="mean transform gate", ylim=(0, 1))
    axes[2].legend(loc="lower left", fontsize=9)
    return figure


def _attention(record: dict[str, Any]) -> dict[str, Any]:
    return record["attention"]["trained"]
