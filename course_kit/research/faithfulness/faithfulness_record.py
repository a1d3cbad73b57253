"""A recorded network put through the tests of ``course_lib.faithfulness``, and the figures kept.

``attention-course faithfulness NAME --texts 100`` writes ``results/faithfulness/NAME.json``: means
over test texts with their bootstrap intervals, and no text. The folder of a finished run may stand
for a name. ``--only agreement`` measures Jain and Wallace's rank correlations alone and writes
``results/agreement/NAME.json``; ``--only interventions`` leaves the texts as they are, changes the
attention, and writes ``results/interventions/NAME.json``.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.research.faithfulness.interventions_record import record_interventions
from course_kit.research.faithfulness.trial import (
    ATTENTION,
    TEXTS,
    Trial,
    about,
    begin,
    choose,
    deviation_of,
    mean_of,
)
from course_lib import faithfulness
from course_lib.runs import records
from course_lib.runs.records import run_folder, write_json
from course_lib.runs.settings import SpecError
from course_lib.runs.spec import RunSpec

SLOW_TEXTS = 25  # for limits and words to flip, whose cost grows with the square of the length
MASK = "⟨unknown⟩"  # in no vocabulary, so the network reads its unknown word
REMOVALS = {"deletion": None, "masking": MASK}
# kinds of record, and the folders they are kept in
ALL, AGREEMENT, INTERVENTIONS = "faithfulness", "agreement", "interventions"
MEASURES = {
    "comprehensiveness": faithfulness.comprehensiveness,
    "sufficiency": faithfulness.sufficiency,
}
TIMES_SLOPE, ATTACHED, DETACHED, INTEGRATED, LEFT_OUT, RANDOM = (
    "α · ∇α",
    "gradient × input",
    "gradient × input, attention detached",
    "integrated gradients",
    "leave-one-out",
    "random",
)
Rankings = dict[str, list[np.ndarray]]


def record_faithfulness(
    trial: Trial, say: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Every ranking and every measure of a trial; ``say`` is told what comes next.

    Limits and words to flip are of the first ``SLOW_TEXTS`` texts. Each mean stands with its
    interval and the number of texts behind it; it is None where no text has a value.
    """
    begun, model, documents = begin(), trial.model, trial.documents
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
    return about(trial, begun) | {
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
    begun = begin()
    say("attention and gradients")
    rankings = _compared(trial)
    say("leave-one-out")
    left_out = {"deletion": faithfulness.leave_one_out(trial.model, trial.documents)}
    return about(trial, begun) | {"kendall": _agreement(rankings, left_out, trial.seed)}


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
            "by_share": [mean_of(column, trial.seed) for column in loss.T],
            "aopc": mean_of(areas, trial.seed),
            "minus_random": mean_of(areas - random, trial.seed),
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
    return {name: mean_of(part, seed) for name, part in parts.items() if len(part)}


def _flips(trial: Trial, rankings: Rankings, mask: str | None) -> dict[str, Any]:
    first, seed = trial.documents[:SLOW_TEXTS], trial.seed
    return {
        name: mean_of(
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
    return {
        name: mean_of(tau, seed) | {"deviation": deviation_of(tau)} for name, tau in taus.items()
    }


def _absolute(importances: list[np.ndarray]) -> list[np.ndarray]:
    return [np.abs(values) for values in importances]


def record_path(name: str, kind: str = ALL) -> Path:
    """Where the record of the network with that id is, of that kind, which is its folder.

    ``name`` may be the folder of a run. The record of one that ``results/`` does not hold stays
    there.
    """
    folder = run_folder(name)
    if not (folder / "record.json").exists():
        return records.RESULTS / kind / f"{name}.json"
    run = RunSpec(**records.read_record(folder / "record.json")["spec"])
    if records.published_record(run).exists():
        return records.RESULTS / kind / f"{run.id}.json"
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
        "--only", choices=(AGREEMENT, INTERVENTIONS), dest="kind", default=ALL,
        help="measure Jain and Wallace's rank correlations alone; or leave the texts and change "
        "the attention: shuffled, by an adversary, of another seed",
    )  # fmt: skip
    parser.add_argument(
        "--beside",
        nargs="+",
        default=[],
        metavar="OTHER",
        help="with --only interventions: the same network with other seeds, to be compared",
    )


def _named(name: str) -> str:
    """How a record's command names a network: by its id, or its run's folder without the place."""
    return f"runs/{Path(name).name}" if (run_folder(name) / "record.json").exists() else name


def command(options: argparse.Namespace) -> int:
    """Test some networks and write a record of each; all are loaded before the first is tested, so
    that a mistake shows at once."""
    if options.beside and options.kind != INTERVENTIONS:
        raise SpecError(f"--beside goes with --only {INTERVENTIONS}")
    make: Callable[..., dict[str, Any]] = {
        ALL: record_faithfulness,
        AGREEMENT: record_agreement,
        INTERVENTIONS: partial(record_interventions, beside=options.beside),
    }[options.kind]
    trials = {name: choose(name, options.texts, options.seed) for name in options.names}
    for name, trial in trials.items():
        print(f"{name}: {len(trial.documents)} test texts", flush=True)
        record = make(trial, lambda what: print(f"  {what}", flush=True))
        words = f"{trial.name} --texts {options.texts} --seed {options.seed}"
        if options.kind != ALL:
            words += f" --only {options.kind}"
        if options.beside:
            words += f" --beside {' '.join(map(_named, options.beside))}"
        path = record_path(name, options.kind)
        write_json(path, {"command": f"attention-course faithfulness {words}"} | record)
        print(f"results in {path}")
    return 0
