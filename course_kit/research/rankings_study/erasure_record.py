"""A recorded network put through the tests of ``course_lib.faithfulness``, and the figures kept.

``attention-course author faithfulness NAME --texts 100`` writes
``results/faithfulness/NAME.json``: means over test texts with their bootstrap intervals, and no
text; and beside it, ``NAME.npz``, the AOPC of every text by deletion. The folder of a finished
run may stand for a name. ``--only agreement`` measures Jain and Wallace's rank correlations
alone and writes ``results/agreement/NAME.json``; ``--only interventions`` leaves the texts as they
are, changes the attention, and writes ``results/interventions/NAME.json``; ``--only signs`` gives
attention and random numbers the signs of other rankings and writes ``results/signs/NAME.json``.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from course_kit.research.rankings_study import AGREEMENT, ALL, INTERVENTIONS, SIGNS
from course_kit.research.rankings_study.borrowed_signs import record_signs
from course_kit.research.rankings_study.changed_attention import record_interventions
from course_kit.research.rankings_study.ranked_network import (
    AREAS,
    ATTACHED,
    ATTENTION,
    DETACHED,
    INTEGRATED,
    LEFT_OUT,
    MASK,
    RANDOM,
    SIGNED_ATTENTION,
    TIMES_SLOPE,
    FaithfulnessRun,
    choose_run,
    is_run,
    say,
    study_path,
    unsigned,
)
from course_kit.research.recording import Stopwatch, mean_of, with_deviation
from course_lib import faithfulness
from course_lib.files import atomic_path
from course_lib.runs.records import write_json
from course_lib.runs.settings import SpecError

SLOW_TEXTS = 25  # for limits and words to flip, whose cost grows with the square of the length
REMOVALS = {"deletion": None, "masking": MASK}
MEASURES = {of.__name__: of for of in (faithfulness.comprehensiveness, faithfulness.sufficiency)}
Rankings = dict[str, list[np.ndarray]]


def record_faithfulness(tested: FaithfulnessRun) -> dict[str, Any]:
    """Every ranking and every measure.

    Limits and words to flip are of the first ``SLOW_TEXTS`` texts. Each mean has its interval and
    the number of texts behind it; it is None where no text has a value. ``AREAS`` holds each
    measure's AOPC by deletion, ``(rankings, texts)``, so that seeds can be compared text by text.
    """
    watch, model, documents, seed = Stopwatch(), tested.model, tested.documents, tested.seed
    first = documents[:SLOW_TEXTS]
    say("  rankings")
    rankings = all_rankings(tested)
    left_out, removals, areas = {}, {}, {}
    for removal, filler in REMOVALS.items():
        say(f"  by {removal}: leave-one-out")
        left_out[removal] = faithfulness.leave_one_out(model, documents, filler)
        ranked = rankings | {
            LEFT_OUT: left_out[removal],
            unsigned(LEFT_OUT): faithfulness.magnitude(left_out[removal]),
        }
        found = removals[removal] = {}
        for measure in MEASURES:
            say(f"  by {removal}: {measure}")
            found[measure], areas[removal, measure] = _erasure(tested, ranked, measure, filler)
        say(f"  by {removal}: words to flip")
        found["words_to_flip"] = {
            name: mean_of(
                faithfulness.words_to_flip(model, first, r[:SLOW_TEXTS], filler, seed), seed
            )
            for name, r in ranked.items()
        }
    return tested.about(watch) | {
        "slow_texts": len(first),
        "shares": list(faithfulness.SHARES),
        "removals": removals,
        "kendall": _agreement(rankings, left_out, seed),
        AREAS: {measure: areas["deletion", measure] for measure in MEASURES},
    }


def record_agreement(tested: FaithfulnessRun) -> dict[str, Any]:
    """Kendall's τ between attention, gradient × input and leave-one-out by deletion, text by text,
    as Jain and Wallace (2019) measure it, beside the τ of attention and random numbers.

    Theirs is the absolute gradient of the prediction, with attention detached, times the word's
    vector; that of the log-odds ranks alike. With more than two classes, both it and Δŷ are those
    of the predicted class.
    """
    watch = Stopwatch()
    say("  attention and gradients")
    rankings = compared_rankings(tested)
    say("  leave-one-out")
    left_out = {"deletion": faithfulness.leave_one_out(tested.model, tested.documents)}
    return tested.about(watch) | {"kendall": _agreement(rankings, left_out, tested.seed)}


def compared_rankings(tested: FaithfulnessRun) -> Rankings:
    """The rankings whose agreement is measured; none depends on how words are removed."""
    model, documents = tested.model, tested.documents
    attention, gradients = tested.attention(), (model.gradients, model, documents)
    slopes = (model.attention_gradients, model, documents)
    kinds = {n if n == ATTENTION else f"{ATTENTION}, {n}": found for n, found in attention.items()}
    return kinds | {
        TIMES_SLOPE: faithfulness.attention_times_gradient(*slopes),
        ATTACHED: faithfulness.gradient_times_input(*gradients),
        DETACHED: faithfulness.gradient_times_input(*gradients, detached=True),
        RANDOM: faithfulness.random_importance(documents, tested.seed),
    }


def all_rankings(tested: FaithfulnessRun) -> Rankings:
    """Those that do not depend on how words are removed, with and without signs."""
    model, documents = tested.model, tested.documents
    rankings = compared_rankings(tested)
    rankings[INTEGRATED] = faithfulness.integrated_gradients(model.gradients, model, documents)
    for name in (ATTACHED, INTEGRATED, TIMES_SLOPE):
        rankings[unsigned(name)] = faithfulness.magnitude(rankings[name])
    rankings[SIGNED_ATTENTION] = faithfulness.with_sign(rankings[ATTENTION], rankings[DETACHED])
    return rankings


def _erasure(
    tested: FaithfulnessRun, rankings: Rankings, measure: str, filler: str | None
) -> tuple[dict[str, Any], np.ndarray]:
    """One measure of all rankings: at each share of the words, their mean (AOPC), that minus the
    random ranking's text by text, and normalised, apart for limits that were searched and sampled;
    and the AOPC of every text, ``(rankings, texts)``.
    """
    mean, options = partial(mean_of, seed=tested.seed), {"filler": filler, "seed": tested.seed}
    losses = {
        name: MEASURES[measure](tested.model, tested.documents, importances, **options)
        for name, importances in rankings.items()
    }
    some = [importances[:SLOW_TEXTS] for importances in rankings.values()]
    first = tested.documents[:SLOW_TEXTS]
    limits = faithfulness.limits(tested.model, first, measure, rankings=some, **options)
    areas = {name: faithfulness.aopc(loss) for name, loss in losses.items()}

    def figures(name: str) -> dict[str, Any]:
        normalised = faithfulness.normalised_aopc(areas[name][:SLOW_TEXTS], limits)
        return {
            "by_share": [mean(column) for column in losses[name].T],
            "aopc": mean(areas[name]),
            "minus_random": mean(areas[name] - areas[RANDOM]),
            "normalised": by_limit(normalised, limits.how, tested.seed),
        }

    ranked = {"limits": dict(Counter(limits.how)), "rankings": {n: figures(n) for n in areas}}
    return ranked, np.array(list(areas.values()))


def by_limit(values: np.ndarray, how: Sequence[str], seed: int) -> dict[str, Any]:
    """Means apart for exact limits and those of a beam search, and for sampled ones, which a good
    ranking of a long text passes."""
    sampled = np.array(how) == "sampled"
    parts = {"exact or beam": values[~sampled], "sampled": values[sampled]}
    return {name: mean_of(part, seed) for name, part in parts.items() if len(part)}


def _agreement(
    rankings: Rankings, left_out: dict[str, list[np.ndarray]], seed: int
) -> dict[str, Any]:
    """Kendall's τ of pairs of rankings. The gradient is that of Jain and Wallace (2019), with
    attention detached, unless the name says attached; gradients and leave-one-out are absolute."""
    attention, random = rankings[ATTENTION], rankings[RANDOM]
    detached, attached = (faithfulness.magnitude(rankings[name]) for name in (DETACHED, ATTACHED))
    pairs = {
        "attention–gradient": (attention, detached),
        "attention–gradient, attached": (attention, attached),
        "attention–random": (attention, random),
    }
    scores = {removal: faithfulness.magnitude(signed) for removal, signed in left_out.items()}
    for removal, sizes in scores.items():
        pairs[f"attention–leave-one-out, {removal}"] = (attention, sizes)
        pairs[f"gradient–leave-one-out, {removal}"] = (detached, sizes)
    if len(scores) > 1:  # two forms of one measure: how far any agreement with it can go
        pairs["leave-one-out, deletion–masking"] = tuple(scores.values())
    return {n: with_deviation(faithfulness.kendall(*pair), seed) for n, pair in pairs.items()}


def command(options: argparse.Namespace) -> int:
    """Test some networks and write a record of each; all are loaded before the first is tested, so
    that a mistake shows at once."""
    if options.beside and options.kind != INTERVENTIONS:
        raise SpecError(f"--beside goes with --only {INTERVENTIONS}")
    make: Callable[..., dict[str, Any]] = {
        ALL: record_faithfulness,
        AGREEMENT: record_agreement,
        INTERVENTIONS: partial(record_interventions, beside=options.beside),
        SIGNS: record_signs,
    }[options.kind]
    chosen = {
        name: choose_run(name, options.texts, options.seed, options.classes)
        for name in options.names
    }
    for name, tested in chosen.items():
        say(f"{name}: {len(tested.documents)} test texts")
        record = make(tested)
        words = f"{_called(name)} --texts {options.texts} --seed {options.seed}"
        if options.classes:
            words += f" --classes {' '.join(options.classes)}"
        if options.kind != ALL:
            words += f" --only {options.kind}"
        if options.beside:
            words += f" --beside {' '.join(map(_called, options.beside))}"
        path = study_path(name, options.kind)
        if areas := record.pop(AREAS, {}):
            with atomic_path(path.with_suffix(".npz")) as temporary:
                np.savez_compressed(
                    temporary, **{n: a.astype(np.float32) for n, a in areas.items()}
                )
        write_json(path, {"command": f"attention-course author faithfulness {words}"} | record)
        print(f"results in {path}")
    return 0


def _called(name: str) -> str:
    """How a record's command names a network: by its id, or its run's folder without the place."""
    return f"runs/{Path(name).name}" if is_run(name) else name
