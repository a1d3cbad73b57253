"""Figures of ours by name: functions from records to a value for each training, each with its unit
and what a positive value means.

Page one of the report, its table of all claims and the appendices take their numbers here. Example:
``phrase_gain(tidy(), rule="relaxed").values`` are words in a phrase beyond chance, one a training.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from course_kit.research.report import frames, tables
from course_kit.research.report.differences import PAPER_ACCURACIES
from course_kit.research.report.frames import Group, Record
from course_lib.runs.records import kept_accuracy, largest_class
from course_lib.runs.spec import RunSpec

VANILLA = ("iram", "vanilla")
ATTENTION, GRADIENT = "attention", "gradient × input"
SCORES = {"accuracy": "accuracy", "f1": "F1"}
DIVIDED = frames.COMPARISONS["divided"]  # two specs: scores divided by √d, and not
RULES = {
    "concise": "",
    "relaxed": "relaxed ",
}  # of AGT's paper: what the names of figures begin with


class Measured(NamedTuple):
    """A figure of some trainings: ``values``, one each, and what is to be subtracted: a number, or
    the values of other trainings. ``runs`` and ``others`` are the records of both sides, ``words``
    what else its label says."""

    values: Sequence[float]
    minus: Sequence[float] | float = 0.0
    runs: Group = ()
    others: Group = ()
    words: Mapping[str, str] = {}


@dataclass(frozen=True)
class Figure:
    """A function from the frame of records to ``Measured``, or from a study's records to what else
    has ``words``; its unit, its label and what a positive value means, in which ``{name}`` is an
    argument; and whether it is ``beside`` an accuracy in print, so that a difference of word
    vectors counts."""

    measure: Callable[..., Any]
    unit: str
    label: str
    positive: str
    beside: bool = False

    def __call__(self, frame: Any, **arguments: Any) -> Any:
        """Measure it."""
        return self.measure(frame, **arguments)

    def say(self, text: str, measured: Any, **arguments: Any) -> str:
        """Fill in the arguments of a text of this figure, datasets by their titles."""
        bound = inspect.signature(self.measure).bind(None, **arguments)
        bound.apply_defaults()
        said = {name: _said(value) for name, value in bound.arguments.items()}
        return text.format(**said | measured.words)


def _said(value: Any) -> Any:
    if isinstance(value, str):
        return frames.NAMES.get(value, value)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else value


def vectors_read(runs: Group) -> str:
    """The word vectors of these runs, in words."""
    film = any(name in runs[0]["settings"]["text"]["vectors"] for name in (frames.FILM, "reviews"))
    return "film vectors" if film else frames.vector_size(runs[0])


def figure(unit: str, label: str, positive: str, beside: bool = False) -> Callable[..., Figure]:
    """Make a function that measures into a ``Figure``."""
    return lambda measure: Figure(measure, unit, label, positive, beside)


def _paired(first: Sequence[float], second: Sequence[float], runs: Group) -> Measured:
    """A difference within each training."""
    return Measured(list(np.subtract(first, second)), runs=runs)


def _same_seeds(runs: Group, others: Group) -> tuple[Group, Group]:
    """Both sides; where one is a single training, those of the seeds that both have. TF-IDF, whose
    fit is not random, has none."""
    seeds = [{run["spec"]["seed"] for run in side} for side in (runs, others)]
    bags = any(run["spec"]["system"] == "tfidf" for run in (*runs, *others))
    if bags or min(map(len, seeds)) != 1 or not (both := seeds[0] & seeds[1]):
        return runs, others
    runs, others = ([run for run in side if run["spec"]["seed"] in both] for side in (runs, others))
    return runs, others


# Accuracy


@figure(
    "points",
    "test {of} on {dataset} minus the {paper} in print ({which}, {read})",
    "ours is right more often than theirs",
    beside=True,
)
def beside_the_paper(
    frame: pd.DataFrame,
    model: str,
    dataset: str,
    preset: str | None = None,
    score: str = "accuracy",
    which: str | None = None,
) -> Measured:
    """A score on the test texts, and the paper's; with film vectors where a ``preset`` is given.
    ``which`` names our network where it is not the paper's."""
    runs = frames.runs_of(frame, model, dataset, preset)
    if score == "accuracy":
        paper = PAPER_ACCURACIES[model][dataset] / 100
    else:
        paper = frames.PAPERS["imdb_report"][score]
    said = {
        "paper": f"{100 * paper:.4g}",
        "read": vectors_read(runs),
        "of": SCORES[score],
        "which": which or model,
    }
    return Measured([run["test"][score] for run in runs], paper, runs, words=said)


@figure(
    "points",
    "accuracy on {dataset}: {first} minus {second}{read}{kept}",
    "{first} is right more often than {second}",
)
def accuracy_gain(
    frame: pd.DataFrame,
    dataset: str,
    first: str,
    second: str,
    film: bool = False,
    learned: bool = False,
) -> Measured:
    """Test accuracies of two of our networks, where asked with film vectors, of all that read
    vectors; ``learned`` leaves out trainings that do not beat always answering the largest
    class."""
    presets = [
        frames.MODELS[model][1] if film and model not in frames.SIMPLE else None
        for model in (first, second)
    ]
    runs, others = (
        frames.runs_of(frame, model, dataset, preset)
        for model, preset in zip((first, second), presets, strict=True)
    )
    runs, others = _same_seeds(runs, others)
    if learned:
        runs, others = (
            [run for run in side if frames.accuracy_of(run) > largest_class(run)]
            for side in (runs, others)
        )
    ours, theirs = (list(map(frames.accuracy_of, group)) for group in (runs, others))
    words = {"read": ", film vectors" * film, "kept": ", without failed trainings" * learned}
    return Measured(ours, theirs, runs, others, words)


@figure(
    "points",
    "validation accuracy on SST-2: {first} steps minus {second}, γ = {penalty}, three epochs",
    "more steps are right more often",
)
def steps_gain(frame: pd.DataFrame, first: int, second: int, penalty: float = 0.0) -> Measured:
    """Accuracies of IRAM vanilla with so many steps, short trainings on SST-2."""
    by_steps = tables.steps_sweep(penalty, VANILLA, "sst2", frame)
    runs, others = _same_seeds(by_steps[first], by_steps[second])
    ours, theirs = (list(map(kept_accuracy, group)) for group in (runs, others))
    return Measured(ours, theirs, runs, others)


@figure("", "area under the ROC curve", "the better the ranking of the reviews")
def roc_area(frame: pd.DataFrame, model: str, dataset: str) -> Measured:
    """AUC on the test texts."""
    runs = frames.runs_of(frame, model, dataset)
    return Measured([run["test"]["auc"] for run in runs], runs=runs)


# Training


@figure(
    "nats",
    "validation loss after epoch {epoch} minus after {other}",
    "the network still improves after epoch {epoch}",
)
def loss_left(
    frame: pd.DataFrame, model: str, dataset: str, epoch: int, other: int | str
) -> Measured:
    """How much the loss falls from an epoch to another one, or to ``"the best"``."""
    runs = frames.runs_of(frame, model, dataset)
    losses = [[one["validation_loss"] for one in run["epochs"]] for run in runs]
    later = [min(of) if other == "the best" else of[other - 1] for of in losses]
    return _paired([of[epoch - 1] for of in losses], later, runs)


@figure("s", "seconds of a training, divided by its epochs", "the slower")
def seconds_an_epoch(frame: pd.DataFrame, model: str, dataset: str) -> Measured:
    """On one core; with the time to read the texts and to test."""
    runs = frames.runs_of(frame, model, dataset)
    return Measured([run["seconds"] / len(run["epochs"]) for run in runs], runs=runs)


# SANet's matrices


def _matrices(frame: pd.DataFrame, dataset: str) -> Group:
    return frames.runs_of(frame, "SANet base", dataset)


def _attention(runs: Group, name: str, state: str = "trained") -> list[Any]:
    return [run["attention"][state][name] for run in runs]


@figure("", "Gini on {dataset}, {state}{how}", "the sparser the weights")
def sparsity(
    frame: pd.DataFrame, dataset: str, state: str = "trained", scaled: bool = False
) -> Measured:
    """The Gini coefficient of SANet's weights; ``scaled``: of the compact network, whose scores are
    divided by √d and which reads other vectors."""
    runs = _matrices(frame, dataset)
    if scaled:
        runs = frames.seeds_of(frame, "sanet", "compact", dataset)
    how = ", scores divided by √d" * scaled
    return Measured(_attention(runs, "gini", state), runs=runs, words={"how": how})


@figure(
    "",
    "Gini on IMDb, 5,000 reviews, {state}: scores divided by √d minus not",
    "dividing the scores makes the weights sparser",
)
def divided_gap(frame: pd.DataFrame, state: str = "trained") -> Measured:
    """The Gini coefficients of two trainings of SANet that differ in that division alone."""
    runs, others = (frames.planned(frame, [RunSpec(**spec).resolve()]) for spec in DIVIDED)
    sides = (_attention(group, "gini", state) for group in (runs, others))
    return Measured(*sides, runs, others)


@figure("", "Gini: {dataset} minus {other}", "weights are sparser on {dataset} than on {other}")
def sparsity_gap(frame: pd.DataFrame, dataset: str, other: str) -> Measured:
    """The Gini coefficients of SANet's weights on two datasets."""
    runs, others = _matrices(frame, dataset), _matrices(frame, other)
    return Measured(_attention(runs, "gini"), _attention(others, "gini"), runs, others)


@figure(
    "points",
    "share within {words} words minus that of uniform weights, {dataset}",
    "more weight is near the diagonal than uniform weights have there",
)
def band(frame: pd.DataFrame, dataset: str, words: int = 3) -> Measured:
    """SANet's diagonality beyond that of uniform attention over the same texts."""
    runs = _matrices(frame, dataset)
    uniform = _attention(runs, f"uniform diagonality {words}")
    return _paired(_attention(runs, f"diagonality {words}"), uniform, runs)


# IRAM's steps


def _of_penalty(frame: pd.DataFrame, penalty: float) -> dict[int, Record]:
    """IRAM vanilla's trainings of three epochs with three steps on SST-2, by seed."""
    runs = tables.sweep("model.penalty", {"model.steps": 3}, VANILLA, "sst2", frame)[penalty]
    return {run["spec"]["seed"]: run for run in runs}


@figure(
    "points",
    "weight of step 3 on summaries, {model} on {dataset}{read}, {state}",
    "the step passes on what a step before it has read",
)
def summaries_of(
    frame: pd.DataFrame, model: str, dataset: str, film: str | None = None, state: str = "trained"
) -> Measured:
    """The same of whole trainings with γ = 0.0003, or of networks before them."""
    runs = frames.runs_of(frame, model, dataset, film)
    words = {"read": ", film vectors" * bool(film)}
    return Measured(_attention(runs, "summary share, step 3", state), runs=runs, words=words)


@figure("", "cosine of two steps' weights, {model} on {dataset}{read}", "the steps are more alike")
def alike_of(frame: pd.DataFrame, model: str, dataset: str, film: str | None = None) -> Measured:
    """How alike the steps are after whole trainings with γ = 0.0003."""
    runs = frames.runs_of(frame, model, dataset, film)
    words = {"read": ", film vectors" * bool(film)}
    return Measured(_attention(runs, "step cosine"), runs=runs, words=words)


@figure("", "cosine of two steps' weights, γ = {penalty}, three epochs", "the steps are more alike")
def alike(frame: pd.DataFrame, penalty: float) -> Measured:
    """How alike IRAM's steps are."""
    runs = list(_of_penalty(frame, penalty).values())
    return Measured(_attention(runs, "step cosine"), runs=runs)


@figure(
    "",
    "cosine of two steps' weights: γ = {penalty} minus γ = {other}, three epochs",
    "a penalty of {penalty} leaves the steps more alike than {other}",
)
def alike_gap(frame: pd.DataFrame, penalty: float, other: float) -> Measured:
    """What a penalty changes, for each seed that both have: its trainings begin alike."""
    first, second = _of_penalty(frame, penalty), _of_penalty(frame, other)
    both = sorted(first.keys() & second.keys())
    runs, others = ([of[seed] for seed in both] for of in (first, second))
    return _paired(_attention(runs, "step cosine"), _attention(others, "step cosine"), runs)


@figure(
    "points",
    "validation accuracy on SST-2: γ = {penalty} minus γ = {other}, three epochs",
    "the larger penalty helps",
)
def penalty_gain(frame: pd.DataFrame, penalty: float, other: float) -> Measured:
    """Accuracies of the same trainings."""
    sides = (list(_of_penalty(frame, each).values()) for each in (penalty, other))
    runs, others = _same_seeds(*sides)
    ours, theirs = (list(map(kept_accuracy, group)) for group in (runs, others))
    return Measured(ours, theirs, runs, others)


@figure(
    "points",
    "weight of step {step} on summaries, γ = {penalty}, three epochs",
    "the step passes on what a step before it has read",
)
def on_summaries(frame: pd.DataFrame, penalty: float, step: int = 3) -> Measured:
    """What IRAM's step gives to the summaries of the steps before it."""
    runs = list(_of_penalty(frame, penalty).values())
    return Measured(_attention(runs, f"summary share, step {step}"), runs=runs)


# AGT's layers, counted from 1 as in its paper


def phrase_lengths(record: Record, rule: str, state: str = "trained", by: str = "") -> np.ndarray:
    """Words in a phrase, ``(layers,)``: selected words ÷ phrases; ``by=" by chance"`` for the same
    words in a random order."""
    of = record["attention"][state]
    selected, phrases = (
        np.array(of[f"{RULES[rule]}{what}"]) for what in ("selected", f"phrases{by}")
    )
    return selected / phrases


def _layers(values: Sequence[float], layers: Sequence[int], first: int = 1) -> float:
    """The mean over layers of a figure that begins at the layer ``first``."""
    return float(np.mean([values[layer - first] for layer in layers]))


def _agt(frame: pd.DataFrame) -> Group:
    return frames.runs_of(frame, "AGT", "sst5", "paper")


@figure(
    "words",
    "words in a phrase, {rule} rule{at}, minus those of the same words in random order",
    "layers select neighbours, so that phrases are longer than by chance",
)
def phrase_gain(frame: pd.DataFrame, rule: str, layers: Sequence[int] = ()) -> Measured:
    """The mean over AGT's layers, or over some of them."""
    runs, chosen = _agt(frame), layers or range(1, 16)
    ours, chance = (
        [_layers(phrase_lengths(run, rule, by=by), chosen) for run in runs]
        for by in ("", " by chance")
    )
    at = f", layers {_said(layers)}" if layers else ""
    return _paired(ours, chance, runs)._replace(words={"at": at})


@figure("words", "words in a phrase, {rule} rule, layers {layers}", "the longer the phrases")
def phrase_length(frame: pd.DataFrame, rule: str, layers: Sequence[int]) -> Measured:
    """The mean over some of AGT's layers."""
    runs = _agt(frame)
    return Measured([_layers(phrase_lengths(run, rule), layers) for run in runs], runs=runs)


@figure(
    "words",
    "words in a phrase, {rule} rule: layers {middle} minus layers {ends}",
    "phrases are longer in the middle than at the two ends",
)
def middle_gain(
    frame: pd.DataFrame,
    rule: str,
    middle: Sequence[int] = (8, 9),
    ends: Sequence[int] = (1, 2, 14, 15),
) -> Measured:
    """AGT's phrases at layers 8 and 9 beside those at both ends."""
    runs = _agt(frame)
    lengths = [phrase_lengths(run, rule) for run in runs]
    sides = ([_layers(of, layers) for of in lengths] for layers in (middle, ends))
    return _paired(*sides, runs)


@figure(
    "",
    "mean gate: layers {middle} minus layers {ends}",
    "the middle layers let in more than the ends",
)
def gate_gap(
    frame: pd.DataFrame,
    middle: Sequence[int] = (8, 9),
    ends: Sequence[int] = (2, 3, 14, 15),
) -> Measured:
    """AGT's transform gates, of which the first layer has none."""
    runs = _agt(frame)
    gates = _attention(runs, "gate")
    sides = ([_layers(of, layers, first=2) for of in gates] for layers in (middle, ends))
    return _paired(*sides, runs)


@figure("", "mean gate, layers {layers}", "the layers let in more")
def gate_level(frame: pd.DataFrame, layers: Sequence[int] = (8, 9)) -> Measured:
    """How far AGT's transform gates are open."""
    runs = _agt(frame)
    values = [_layers(of, layers, first=2) for of in _attention(runs, "gate")]
    return Measured(values, runs=runs)


@figure(
    "",
    "entropy of a layer's weights ÷ log n: trained minus untrained",
    "training spreads the weights",
)
def spread_gap(frame: pd.DataFrame) -> Measured:
    """The mean over AGT's layers."""
    runs = _agt(frame)
    sides = (np.mean(_attention(runs, "spread", state), 1) for state in ("trained", "untrained"))
    return _paired(*sides, runs)


def _of_bias(frame: pd.DataFrame, bias: float) -> Group:
    fixed = {"model.layers": 15, "training.batch_size": 200}
    return tables.sweep("model.gate_bias", fixed, ("agt", "paper"), "sst5", frame, True)[bias]


@figure(
    "words",
    "words in a phrase, concise rule: gate bias {bias:g} minus {other:g}",
    "phrases are longer with the larger bias",
)
def phrases_by_bias(frame: pd.DataFrame, bias: float, other: float) -> Measured:
    """The mean over AGT's layers, of trainings in batches of 200."""
    runs, others = _same_seeds(_of_bias(frame, bias), _of_bias(frame, other))
    ours, theirs = (
        [phrase_lengths(run, "concise").mean() for run in group] for group in (runs, others)
    )
    return Measured(ours, theirs, runs, others)


@figure(
    "points",
    "accuracy on SST-5: gate bias {bias:g} minus {other:g}",
    "the network with the larger bias is right more often",
)
def accuracy_by_bias(frame: pd.DataFrame, bias: float, other: float) -> Measured:
    """AGT's test accuracies, of trainings in batches of 200."""
    runs, others = _same_seeds(_of_bias(frame, bias), _of_bias(frame, other))
    ours, theirs = (list(map(frames.accuracy_of, group)) for group in (runs, others))
    return Measured(ours, theirs, runs, others)
