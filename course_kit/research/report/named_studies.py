"""Named figures of the studies: erasure, changed attention, trained tests, the lexicon, the levels
of HAN, and claims of the four papers measured for their table (``results/seed_claims``)."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from course_kit.research.report import frames
from course_kit.research.report.frames import Group, Record
from course_kit.research.report.named import ATTENTION, Measured, figure
from course_kit.research.report.studies import ACCURACY, DIVERGENCE, VARIATION, roar_line

PAIR = "attention–gradient"
SENTENCES = "sst2_sentences"  # what the trained tests were made on


def _study(frame: pd.DataFrame, study: str, network: str) -> tuple[list[Record], Group]:
    """A study's records of a network's trainings, and those trainings."""
    found = frames.study_records(study)
    names = [name for name in found if name.rpartition("-s")[0] == network]
    runs = {run["id"]: run for run in frame.record}
    return [found[name] for name in names], [runs[name] for name in names]


def _title(network: str) -> dict[str, str]:
    """The texts of a network and its name with them, in words."""
    return {"title": frames.NAMES[network.split("-")[1]], "network": frames.network_title(network)}


def _trained(frame: pd.DataFrame, test: str) -> tuple[Record, Group]:
    """The record of a test that trained networks, and a training that read the same texts, by whose
    record it is known which part of them these are."""
    record = frames.study_records("faithfulness/trained")[f"{test}-{SENTENCES}"]
    texts = record["data"], record["sizes"]
    runs = list(frame.record)
    return record, [next(r for r in runs if (r["data"]["content"], r["sizes"]) == texts)]


# Jain and Wallace: rank correlations and changed attention


def _taus(records: Sequence[Record], pair: str) -> list[float]:
    return [record["kendall"][pair]["mean"] for record in records]


@figure("", "mean τ of attention and gradients, {title}", "the two rank words more alike")
def agreement(frame: pd.DataFrame, network: str) -> Measured:
    """Kendall's τ of the two rankings of the words, in the networks trained again."""
    records, runs = _study(frame, "agreement", network)
    return Measured(_taus(records, PAIR), runs=runs, words=_title(network))


@figure(
    "",
    "mean τ of attention and gradients, {title}, minus {printed}",
    "the two rank words more alike than in theirs",
)
def agreement_beside(frame: pd.DataFrame, network: str, printed: float) -> Measured:
    """Kendall's τ of attention and gradients, and that of the authors' network."""
    records, runs = _study(frame, "agreement", network)
    return Measured(_taus(records, PAIR), printed, runs, words=_title(network))


@figure(
    "",
    "τ of attention and gradients, {title}: averaged words minus BiLSTM",
    "attention follows gradients more over averaged words",
)
def encoder_gap(frame: pd.DataFrame, network: str) -> Measured:
    """Kendall's τ with the averaging encoder and with the BiLSTM."""
    ours, runs = _study(frame, "agreement", f"{network}-encoder-average")
    theirs, others = _study(frame, "agreement", network)
    return Measured(_taus(ours, PAIR), _taus(theirs, PAIR), runs, others, _title(network))


@figure(
    "",
    "τ with leave-one-out: attention's minus the gradient's ({encoder})",
    "attention follows leave-one-out more than gradients do",
)
def leave_one_out_gap(frame: pd.DataFrame, network: str, encoder: str = "BiLSTM") -> Measured:
    """Whether attention or the gradient ranks words more as leave-one-out does."""
    records, runs = _study(frame, "agreement", network)
    pairs = (f"{ranking}–leave-one-out, deletion" for ranking in (ATTENTION, "gradient"))
    attention, gradient = (_taus(records, pair) for pair in pairs)
    return Measured(list(np.subtract(attention, gradient)), runs=runs)


@figure(
    "",
    "divergence of the attention that a search finds within {tolerance} of the output ({encoder})",
    "the further from the network's own, of at most 0.69",
)
def adversary(
    frame: pd.DataFrame, network: str, encoder: str = "BiLSTM", tolerance: float = 0.01
) -> Measured:
    """The Jensen–Shannon divergence, mean over texts."""
    records, runs = _study(frame, "interventions", network)
    searches = ([one[name] for name in ("strict_adversary", "adversary")] for one in records)
    found = [
        search["divergence"]["all"]["mean"]
        for of in searches
        for search in of
        if search["epsilon"] == tolerance
    ]
    return Measured(found, runs=runs)


def shuffled(record: Record, weight: str) -> float:
    """The median change of the output by a shuffle, of texts whose largest weight is in a bin."""
    return record["permutation"]["by_largest_weight"][weight]["median"]


@figure(
    "",
    "median change of the output by a shuffle, largest weight {bin}, minus theirs",
    "a shuffle changes more in ours",
)
def shuffle_gap(frame: pd.DataFrame, network: str, weight: str) -> Measured:
    """Ours and that of Jain and Wallace's BiLSTM (mean of both classes) in the same bin."""
    records, runs = _study(frame, "interventions", network)
    theirs = frames.PAPERS["interventions"][network.split("-")[1]]["BiLSTM, tanh"]["shuffles"]
    words = {"bin": f"{float(weight):g} to {float(weight) + 0.25:g}"}
    found = [shuffled(record, weight) for record in records]
    return Measured(found, float(np.mean(theirs[weight])), runs, words=words)


# Wiegreffe and Pinter, ROAR: networks trained for a test


def _guided(frame: pd.DataFrame, line: str, score: str) -> tuple[list[float], Group]:
    record, on = _trained(frame, "guided")
    if score == "F1":
        return record["f1_by_seed"][line], on
    return record["lines"][line][ACCURACY]["by_seed"], on


@figure("points", "{score}: {line} minus {other}", "{line} does better")
def guide_gain(frame: pd.DataFrame, line: str, other: str, score: str) -> Measured:
    """A score of the networks of the test with guides, seed by seed."""
    (ours, on), (theirs, _) = (_guided(frame, each, score) for each in (line, other))
    return Measured(list(np.subtract(ours, theirs)), runs=on)


def _apart(frame: pd.DataFrame, what: str, line: str) -> tuple[list[float], Group]:
    record, on = _trained(frame, "adversary")
    return record["lines"][line][what]["by_seed"], on


@figure(
    "",
    "attention's divergence from the base, λ = {weight}, minus that of another seed",
    "the adversary's attention is further from the base's",
)
def adversary_apart(frame: pd.DataFrame, weight: float) -> Measured:
    """How far training drives attention from the base network's, seed by seed."""
    ours, on = _apart(frame, DIVERGENCE, f"adversary, λ = {weight}")
    theirs, _ = _apart(frame, DIVERGENCE, "the base, another seed")
    return Measured(list(np.subtract(ours, theirs)), runs=on)


@figure(
    "",
    "TVD of the answers from the base's, λ = {weight}, minus that of another seed",
    "the adversary's answers differ more from the base's",
)
def answers_apart(frame: pd.DataFrame, weight: float) -> Measured:
    """How far the same training moves the predictions, seed by seed."""
    ours, on = _apart(frame, VARIATION, f"adversary, λ = {weight}")
    theirs, _ = _apart(frame, VARIATION, "the base, another seed")
    return Measured(list(np.subtract(ours, theirs)), runs=on)


@figure(
    "points",
    "accuracy of the adversary, λ = {weight}, minus the base's",
    "the adversary is right more often than the base",
)
def adversary_gain(frame: pd.DataFrame, weight: float) -> Measured:
    """What the same training does to accuracy, seed by seed."""
    ours, on = _apart(frame, ACCURACY, f"adversary, λ = {weight}")
    theirs, _ = _apart(frame, ACCURACY, "the base network")
    return Measured(list(np.subtract(ours, theirs)), runs=on)


@figure(
    "points",
    "accuracy without {share:.0%} of the words, trained anew: {ranking} minus random",
    "what it ranks first is needed less than random words",
)
def retrained(frame: pd.DataFrame, ranking: str, share: float) -> Measured:
    """Recursive ROAR, seed by seed; below 0 the ranking names what a network needs."""
    record, on = _trained(frame, "roar")
    line = record["lines"][roar_line(ranking, share)]
    return Measured(line["accuracy minus that of random"]["by_seed"], runs=on)


# Erasure, levels, lexicon


@figure(
    "",
    "comprehensiveness, {network}: {ranking} minus {other}",
    "the words of {ranking} cost more than those of {other}",
)
def erased(frame: pd.DataFrame, network: str, ranking: str, other: str = "random") -> Measured:
    """What the predicted class loses without the words that a ranking puts first (AOPC)."""
    return _erased(frame, "comprehensiveness", network, ranking, other)


@figure(
    "",
    "sufficiency, {network}: {ranking} minus {other}",
    "the words of {ranking} alone leave less of the answer than those of {other}",
)
def kept_alone(frame: pd.DataFrame, network: str, ranking: str, other: str = "random") -> Measured:
    """What the predicted class loses if these words alone are left (AOPC): lower is better."""
    return _erased(frame, "sufficiency", network, ranking, other)


def _erased(frame: pd.DataFrame, measure: str, network: str, ranking: str, other: str) -> Measured:
    """Means over the texts that all trainings share."""
    _, runs = _study(frame, "faithfulness", network)
    records = frames.study_records("faithfulness")
    found = frames.areas({run["id"]: records[run["id"]] for run in runs}, measure)
    gaps = (found[ranking] - found[other]).mean(1)
    return Measured(gaps.tolist(), runs=runs, words=_title(network))


@figure(
    "",
    "loss without {share:.0%} of the words, {network}: {ranking} minus random",
    "these words of {ranking} cost more than as many random ones",
)
def erased_share(frame: pd.DataFrame, network: str, ranking: str, share: float) -> Measured:
    """What the predicted class loses without so many of the words that a ranking puts first. Every
    training has to have read as many texts, since a record has only means here."""
    records, runs = _study(frame, "faithfulness", network)
    if len({one["texts"] for one in records}) != 1:
        raise ValueError(f"{network}: its trainings were tested on different numbers of texts")
    at = records[0]["shares"].index(share)
    found = [one["removals"]["deletion"]["comprehensiveness"]["rankings"] for one in records]
    sides = ([of[name]["by_share"][at]["mean"] for of in found] for name in (ranking, "random"))
    return Measured(list(np.subtract(*sides)), runs=runs, words=_title(network))


@figure(
    "",
    "loss without the {first} with most attention minus without the {second}",
    "the {first} cost more",
)
def level_gap(frame: pd.DataFrame, network: str, first: str, second: str) -> Measured:
    """What HAN loses by deletion at two of its levels, as many words each."""
    records, runs = _study(frame, "levels", network)
    sides = (
        [one["lines"][level]["comprehensiveness"]["mean"] for one in records]
        for level in (first, second)
    )
    return Measured(list(np.subtract(*sides)), runs=runs)


@figure(
    "points",
    "attention on words that were important before, minus by chance",
    "repeated words take more attention than by chance",
)
def repeats(frame: pd.DataFrame, network: str) -> Measured:
    """HAN's weight on words that an earlier sentence gave much weight, too."""
    records, runs = _study(frame, "extensions", network)
    sides = (
        [one["repeats"][name]["mean"] for one in records] for name in ("repeated", "by_chance")
    )
    return Measured(list(np.subtract(*sides)), runs=runs)


@figure(
    "points",
    "attention on words that were important before: with the penalty minus without",
    "the penalty makes more of the attention fall on repeats",
)
def repeats_gap(frame: pd.DataFrame, network: str, other: str) -> Measured:
    """The same weight in networks with and without Lin et al.'s penalty."""
    (ours, runs), (theirs, others) = (
        _study(frame, "extensions", name) for name in (network, other)
    )
    first, second = ([one["repeats"]["repeated"]["mean"] for one in of] for of in (ours, theirs))
    return Measured(first, second, runs, others)


@figure(
    "",
    "area under precision and recall of graded words, {network}: attention minus {ranking}",
    "attention agrees more with people's grades than {ranking} does",
)
def lexicon_gap(frame: pd.DataFrame, network: str, ranking: str) -> Measured:
    """Agreement with the treebank's grades of single words."""
    records, runs = _study(frame, "lexicon", network)
    return Measured(
        [one["lines"][ranking]["attention − it: AUPRC"]["mean"] for one in records],
        runs=runs,
        words=_title(network),
    )


@figure("", "{title}{how}: {name} ({unit})", "{positive}")
def measured_for_it(
    frame: pd.DataFrame, record: str, group: str, name: str, how: str = ""
) -> Measured:
    """A figure of ``results/seed_claims``, whose record says its unit and its meaning; no value
    where the record does not have it. ``how`` tells apart what reads the same texts. A network
    without a record of its own can stand beside, but not be judged."""
    words = {"title": frames.network_title(group), "unit": "", "positive": ""}
    found = frames.study_records("seed_claims").get(record, {"figures": {}})
    if name not in found["figures"].get(group, {}):
        return Measured([], words=words)
    words |= {"unit": found["unit"], "positive": found["positive"]}
    by_network = found["figures"][group][name]["by_network"]
    runs = {run["id"]: run for run in frame.record}
    values = [one["mean"] for one in by_network.values()]
    return Measured(values, runs=[runs[each] for each in by_network if each in runs], words=words)
