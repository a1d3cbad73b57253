"""A recorded network put through the tests of ``course_lib.faithfulness``, and the figures kept.

``attention-course faithfulness NAME --texts 100`` writes ``results/faithfulness/NAME.json``: means
over test texts with their bootstrap intervals, and no text. The folder of a finished run may stand
for a name. ``--only agreement`` measures Jain and Wallace's rank correlations alone and writes
``results/agreement/NAME.json``.
"""

import argparse
import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch

from course_lib import faithfulness
from course_lib.experiments import records
from course_lib.experiments.faithfulness import DocumentModel
from course_lib.experiments.model_card import DIGEST
from course_lib.experiments.records import (
    check_data,
    describe_environment,
    run_folder,
    write_json,
)
from course_lib.experiments.run import Run, split_rows
from course_lib.experiments.settings import SpecError
from course_lib.experiments.systems import Network
from course_lib.experiments.weights import any_run
from course_lib.faithfulness import Document
from course_lib.faithfulness.agreement import Mean
from course_lib.training.devices import use_threads

TEXTS = 100
SLOW_TEXTS = 25  # for limits and words to flip, whose cost grows with the square of the length
DIGITS = 5
MASK = "⟨unknown⟩"  # in no vocabulary, so the network reads its unknown word
REMOVALS = {"deletion": None, "masking": MASK}
ALL, AGREEMENT = "faithfulness", "agreement"  # kinds of record, and the folders they are kept in
MEASURES = {
    "comprehensiveness": faithfulness.comprehensiveness,
    "sufficiency": faithfulness.sufficiency,
}
ATTENTION, TIMES_SLOPE, ATTACHED, DETACHED, INTEGRATED, LEFT_OUT, RANDOM = (
    "attention",
    "α · ∇α",
    "gradient × input",
    "gradient × input, attention detached",
    "integrated gradients",
    "leave-one-out",
    "random",
)
Rankings = dict[str, list[np.ndarray]]


@dataclass(frozen=True)
class Trial:
    """A recorded network and the test ``documents`` it is tested on, cut as it reads them;
    ``weights`` is the digest of the file that it was read from."""

    run: Run
    weights: str
    documents: list[Document]
    seed: int

    @property
    def name(self) -> str:
        """What the command calls it: the id of a recorded network, or the folder of a run."""
        record = self.run.record
        return f"runs/{record['id']}" if self.weights == record["weights"] else record["id"]

    @property
    def model(self) -> DocumentModel:
        """The network as a function of documents."""
        return DocumentModel(self.run.system)

    @property
    def digest(self) -> str:
        """A digest of the documents, which tells whether two records are of the same texts."""
        words = json.dumps(self.documents, ensure_ascii=False)
        return f"sha256:{hashlib.sha256(words.encode()).hexdigest()}"


def choose(name: str, texts: int = TEXTS, seed: int = 0) -> Trial:
    """A network with a random sample of its test texts; of one seed, a smaller sample is the
    beginning of a larger one. ``name`` is a recorded network's, or the folder of a finished run.

    ``DataError`` for what is neither, ``StaleRun`` if it was trained on other data than are here,
    ``SpecError`` for a run without a network, and for fewer than one text or more than the test
    half has.
    """
    run = any_run(name)
    if not isinstance(run.system, Network):
        raise SpecError(f"{run.record['id']} is no network, so it has no attention to test")
    check_data(run.record, run.record["spec"]["dataset"], Path(name))
    chosen = some_texts(run, "test", texts, seed)
    trained_here = (run_folder(name) / "record.json").exists()
    weights = run.record["weights" if trained_here else DIGEST]
    return Trial(run, weights, DocumentModel(run.system).documents(chosen), seed)


def some_texts(run: Run, split: str, texts: int, seed: int = 0) -> datasets.Dataset:
    """A random sample of a run's ``"validation"`` or ``"test"`` texts; of one seed, a smaller one
    is the beginning of a larger one. ``SpecError`` for fewer than one or more than there are."""
    spec, held_out = run.record["spec"], run.record["settings"]["text"]["validation_share"]
    rows = split_rows(run.corpus, spec["limit"], held_out)[split]
    if not 1 <= texts <= len(rows):
        raise SpecError(
            f"texts takes a whole number from 1 to {len(rows)}, the {split} texts of "
            f"{spec['dataset']}; got {texts}"
        )
    return rows.select(np.random.default_rng(seed).permutation(len(rows))[:texts])


def record_faithfulness(
    trial: Trial, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Every ranking and every measure of a trial; ``say`` is told what comes next.

    Limits and words to flip are of the first ``SLOW_TEXTS`` texts. Each mean stands with its
    interval and the number of texts behind it; it is None where no text has a value.
    """
    begun, model, documents = _begin(), trial.model, trial.documents
    say("rankings")
    rankings = _rankings(trial)
    left_out, removals = {}, {}
    for removal, mask in REMOVALS.items():
        say(f"by {removal}: leave-one-out")
        left_out[removal] = faithfulness.leave_one_out(model, documents, mask)
        ranked = rankings | {LEFT_OUT: left_out[removal]}
        removals[removal] = {}
        for measure in MEASURES:
            say(f"by {removal}: {measure}")
            removals[removal][measure] = _erasure(trial, ranked, measure, mask)
        say(f"by {removal}: words to flip")
        removals[removal]["words_to_flip"] = _flips(trial, ranked, mask)
    return _about(trial, begun) | {
        "slow_texts": len(documents[:SLOW_TEXTS]),
        "shares": list(faithfulness.SHARES),
        "removals": removals,
        "kendall": _agreement(rankings, left_out, trial.seed),
    }


def record_agreement(trial: Trial, say: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Kendall's τ between attention, gradient × input and leave-one-out by deletion, text by text,
    as Jain and Wallace (2019) measure it, beside the τ of attention and random numbers.

    Theirs is the absolute gradient of the prediction, with attention detached, times the word's
    vector; that of the log-odds ranks alike. With more than two classes, both it and Δŷ are those
    of the predicted class.
    """
    begun = _begin()
    say("attention and gradients")
    rankings = _compared(trial)
    say("leave-one-out")
    left_out = {"deletion": faithfulness.leave_one_out(trial.model, trial.documents)}
    return _about(trial, begun) | {"kendall": _agreement(rankings, left_out, trial.seed)}


def _begin() -> tuple[dict[str, Any], float]:
    """The environment of a record, and when it was begun."""
    environment = describe_environment(torch.device("cpu"), use_threads(None))
    return environment, time.perf_counter()


def _about(trial: Trial, begun: tuple[dict[str, Any], float]) -> dict[str, Any]:
    """Which network was tested, on which texts, where and for how long."""
    environment, start = begun
    record, documents = trial.run.record, trial.documents
    lengths = [len(faithfulness.words_of(document)) for document in documents]
    return {
        "id": record["id"],
        "seed": trial.seed,
        "texts": len(documents),
        "test_texts": len(trial.run.corpus.splits["test"]),
        "words": {"mean": float(np.mean(lengths)), "least": min(lengths), "most": max(lengths)},
        "sample": trial.digest,
        "data": record["data"]["content"],
        "weights": trial.weights,
        "environment": environment,
        "seconds": round(time.perf_counter() - start, 1),
    }


def _rankings(trial: Trial) -> Rankings:
    """The importances that do not depend on how words are removed."""
    model, documents = trial.model, trial.documents
    integrated = faithfulness.integrated_gradients(model.gradients, model, documents)
    return _compared(trial) | {INTEGRATED: integrated}


def _compared(trial: Trial) -> Rankings:
    """Of these, the ones whose agreement is measured."""
    model, documents = trial.model, trial.documents
    reductions = model.attention(documents)
    if ATTENTION not in reductions:
        raise SpecError(f"{trial.run.record['id']} has no attention to test; take another network")
    found = {
        name if name == ATTENTION else f"{ATTENTION}, {name}": importances
        for name, importances in reductions.items()
    }
    gradients = (model.gradients, model, documents)
    return found | {
        TIMES_SLOPE: faithfulness.attention_times_gradient(
            model.attention_gradients, model, documents
        ),
        ATTACHED: faithfulness.gradient_times_input(*gradients),
        DETACHED: faithfulness.gradient_times_input(*gradients, detached=True),
        RANDOM: faithfulness.random_importance(documents, trial.seed),
    }


def _erasure(trial: Trial, rankings: Rankings, measure: str, mask: str | None) -> dict[str, Any]:
    """One measure of all rankings: at each share of the words, their mean (AOPC), that minus the
    random ranking's text by text, and normalised, apart for limits that were searched and sampled.
    """
    options = {"mask": mask, "seed": trial.seed}
    losses = {
        name: MEASURES[measure](trial.model, trial.documents, importances, **options)
        for name, importances in rankings.items()
    }
    some = [importances[:SLOW_TEXTS] for importances in rankings.values()]
    first = trial.documents[:SLOW_TEXTS]
    limits = faithfulness.limits(trial.model, first, measure, rankings=some, **options)
    random = faithfulness.aopc(losses[RANDOM])

    def figures(loss: np.ndarray) -> dict[str, Any]:
        areas = faithfulness.aopc(loss)
        normalised = faithfulness.normalised_aopc(areas[:SLOW_TEXTS], limits)
        return {
            "by_share": [_mean(column, trial.seed) for column in loss.T],
            "aopc": _mean(areas, trial.seed),
            "minus_random": _mean(areas - random, trial.seed),
            "normalised": _by_limit(normalised, limits.how, trial.seed),
        }

    return {
        "limits": dict(Counter(limits.how)),
        "rankings": {name: figures(loss) for name, loss in losses.items()},
    }


def _by_limit(values: np.ndarray, how: Sequence[str], seed: int) -> dict[str, Any]:
    """Means apart for exact limits and those of a beam search, and for sampled ones, which a good
    ranking of a long text passes."""
    sampled = np.array(how) == "sampled"
    parts = {"exact or beam": values[~sampled], "sampled": values[sampled]}
    return {name: _mean(part, seed) for name, part in parts.items() if len(part)}


def _flips(trial: Trial, rankings: Rankings, mask: str | None) -> dict[str, Any]:
    first, seed = trial.documents[:SLOW_TEXTS], trial.seed
    return {
        name: _mean(
            faithfulness.words_to_flip(trial.model, first, importances[:SLOW_TEXTS], mask, seed),
            seed,
        )
        for name, importances in rankings.items()
    }


def _agreement(
    rankings: Rankings, left_out: dict[str, list[np.ndarray]], seed: int
) -> dict[str, Any]:
    """Kendall's τ of pairs of rankings. The gradient is that of Jain and Wallace (2019), with
    attention detached, unless the name says attached; gradients and leave-one-out are absolute."""
    attention, random = rankings[ATTENTION], rankings[RANDOM]
    detached, attached = (_absolute(rankings[name]) for name in (DETACHED, ATTACHED))
    pairs = {
        "attention–gradient": (attention, detached),
        "attention–gradient, attached": (attention, attached),
        "attention–random": (attention, random),
    }
    for removal, scores in left_out.items():
        scores = _absolute(scores)
        pairs[f"attention–leave-one-out, {removal}"] = (attention, scores)
        pairs[f"gradient–leave-one-out, {removal}"] = (detached, scores)
    taus = {name: faithfulness.kendall(*pair) for name, pair in pairs.items()}
    return {name: _mean(tau, seed) | {"deviation": _deviation(tau)} for name, tau in taus.items()}


def _absolute(importances: list[np.ndarray]) -> list[np.ndarray]:
    return [np.abs(values) for values in importances]


def _mean(values: np.ndarray, seed: int) -> dict[str, Any]:
    return as_json(faithfulness.mean_over_documents(values, seed))


def as_json(mean: Mean) -> dict[str, Any]:
    """A mean with its interval as JSON holds it, which has no NaN."""
    return {
        name: None if math.isnan(value) else round(value, DIGITS)
        for name, value in mean._asdict().items()
    }


def _deviation(values: np.ndarray) -> float | None:
    """The standard deviation over documents, of those that have a value; None without any."""
    kept = values[~np.isnan(values)]
    return round(float(kept.std()), DIGITS) if len(kept) else None


def record_path(name: str, kind: str = ALL) -> Path:
    """Where the record of the network with that id is, of that kind, which is its folder.

    ``name`` may be the folder of a run. The record of one that ``results/`` does not hold stays
    there.
    """
    folder = run_folder(name)
    if not (folder / "record.json").exists():
        return records.RESULTS / kind / f"{name}.json"
    run = records.read_record(folder / "record.json")["id"]
    if (records.RESULTS / f"{run}.json").exists():
        return records.RESULTS / kind / f"{run}.json"
    return folder / f"{kind}.json"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``attention-course faithfulness``."""
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="of a recorded network, or the folder of a finished run",
    )
    parser.add_argument("--texts", type=int, default=TEXTS, help=f"test texts (default: {TEXTS})")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and of what is random")
    parser.add_argument(
        "--only", choices=(AGREEMENT,), dest="kind", default=ALL,
        help="measure Jain and Wallace's rank correlations alone",
    )  # fmt: skip


def command(options: argparse.Namespace) -> int:
    """Test some networks and write a record of each; all are loaded before the first is tested, so
    that a mistake shows at once."""
    make = record_agreement if options.kind == AGREEMENT else record_faithfulness
    trials = {name: choose(name, options.texts, options.seed) for name in options.names}
    for name, trial in trials.items():
        print(f"{name}: {len(trial.documents)} test texts", flush=True)
        record = make(trial, lambda what: print(f"  {what}", flush=True))
        words = f"{trial.name} --texts {options.texts} --seed {options.seed}"
        if options.kind == AGREEMENT:
            words += f" --only {AGREEMENT}"
        path = record_path(name, options.kind)
        write_json(path, {"command": f"attention-course faithfulness {words}"} | record)
        print(f"results in {path}")
    return 0
