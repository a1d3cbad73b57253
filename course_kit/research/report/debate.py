"""Tables of both sides of the debate: the changed attention of Jain and Wallace, on their networks
trained again, the four tests of Wiegreffe and Pinter, and agreement with a human lexicon."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_kit.research.faithfulness.changed_attention import SHARPNESS, TOLERANCES
from course_kit.research.report import frames
from course_kit.research.report.faithfulness import variants
from course_kit.research.report.frames import Group, mean_std, study_records, to_markdown
from course_kit.research.trained_tests.protocols import ACCURACY, DIVERGENCE, VARIATION

THEIRS = frames.PAPERS["interventions"]
LEVEL_FIGURES = ("comprehensiveness", "comprehensiveness per tenth", "sufficiency",
                 "sufficiency per tenth", "tenths of the words")  # fmt: skip
ENDS = ("0.05", "0.95")  # of the quantiles over texts
GUIDED = "3 · words alone, "
SHOWN = [  # the lines of the four tests, in the order of the paper, and what they are called
    ("guided", "BiLSTM", "the base network"),
    ("guided", "BiLSTM, uniform attention", "1 · uniform attention"),
    ("adversary", "the base, another seed", "2 · another seed"),
    ("guided", "MLP, uniform attention", f"{GUIDED}uniform guide"),
    ("guided", "MLP, its own attention", f"{GUIDED}attention of its own"),
    ("guided", "MLP, the BiLSTM's attention", f"{GUIDED}guide: the base network"),
    ("guided", "MLP, an untrained BiLSTM's attention", f"{GUIDED}guide: untrained"),
    ("guided", "MLP, the attention of its adversary, λ = 0.1", f"{GUIDED}guide: the adversary"),
    *(("adversary", f"adversary, λ = {weight}", f"4 · adversary, λ = {weight}")
      for weight in ("0.001", "0.002", "0.005", "0.01")),
]  # fmt: skip


def _over_seeds(records: Group, key: str, name: str) -> str:
    """The mean ± the deviation over seeds, and the seeds' mean 5 and 95 % quantile over texts."""
    parts = [record[key] for record in records]
    means = [(part[name].get("all") or part[name])["mean"] for part in parts]
    ends = np.mean([[part["quantiles"][name][end] for end in ENDS] for part in parts], axis=0)
    return f"{mean_std(means, digits=2)} [{ends[0]:.2f}, {ends[1]:.2f}]"


def _networks() -> list[tuple[str, str, Group, dict[str, Any]]]:
    """Dataset, variant, our records of all seeds and their figures, in the paper's order."""
    records = study_records("interventions")
    return [
        (data, name, [records[run] for run in variants(data, name) if run in records], theirs)
        for data, networks in THEIRS.items()
        for name, theirs in networks.items()
    ]


def adversaries_table() -> str:
    """How far adversarial attention gets in Jain and Wallace's networks trained again (JSD), and
    what it changes (TVD), beside theirs: mean ± deviation over seeds [5 %, 95 % of the texts]."""
    heads = ["dataset", "network", "JSD, output within 0.01", "JSD, output within 0.05",
             "theirs, within 0.05", "TVD within 0.01", "TVD within 0.05", "seeds"]  # fmt: skip
    rows = []
    for data, name, ours, theirs in _networks():
        mean, low, high = theirs["adversary"]
        cells = [_over_seeds(ours, key, "divergence") for key in reversed(TOLERANCES)]
        cells += [f"{mean:.2f} [{low:.2f}, {high:.2f}]"]
        cells += [_over_seeds(ours, key, "change") for key in reversed(TOLERANCES)]
        rows.append([frames.NAMES[data], name, *cells, len(ours)])
    return to_markdown(heads, rows, "llr")


def shuffles_table() -> str:
    """The median change of the output after a shuffle, by a text's largest weight, beside theirs:
    of ours the mean of the seeds' medians and the texts of all seeds; of theirs both classes."""
    heads = ["dataset", "network", "all texts"]
    heads += [what for low in SHARPNESS for what in (f"weight from {low:g}", "theirs")]
    rows = []
    for data, name, ours, theirs in _networks():
        medians = [one["permutation"]["quantiles"]["change"]["0.5"] for one in ours]
        cells = [mean_std(medians, digits=3)]
        for low in map(str, SHARPNESS):
            bins = [one["permutation"]["by_largest_weight"].get(low) for one in ours]
            cells += [_binned([found for found in bins if found])]
            cells += [", ".join(f"{m:.3f}" for m in theirs["shuffles"].get(low, [])) or None]
        rows.append([frames.NAMES[data], name, *cells])
    return to_markdown(heads, rows, "llr")


def _binned(bins: Sequence[dict[str, float]]) -> str | None:
    if not bins:
        return None
    texts = sum(found["counted"] for found in bins)
    return f"{np.mean([found['median'] for found in bins]):.3f} ({texts})"


def four_tests_table() -> str:
    """Wiegreffe and Pinter's four tests on SST-2's sentences: F1, and how far attention (JSD) and
    predictions (TVD) are from the base network's, mean ± deviation over seeds, beside their F1."""
    records, rows = study_records("faithfulness/trained"), []
    for test, line, title in SHOWN:
        record = records[f"{test}-sst2_sentences"]
        scores = [record["f1_by_seed"][line]]
        for name in (ACCURACY, DIVERGENCE, VARIATION):
            scores.append(record["lines"][line].get(name, {}).get("by_seed", []))
        f1, *others = (mean_std(of, digits=3) for of in scores)
        theirs = frames.PAPERS["guided_f1"].get(line)
        rows.append([title, f1, theirs and f"{theirs:.3f}", *others])
    heads = ["test", "F1", "their F1", "accuracy", "JSD to the base", "TVD to the base"]
    return to_markdown(heads, rows, "lr")


def levels_table() -> str:
    """What HAN loses without the sentence with most attention, or with it alone, beside as many
    words with most attention and random ones: mean ± deviation over the networks' means."""
    records, rows = study_records("levels"), []
    for level in ("sentence", "words", "random sentence", "random words"):
        lines = [record["lines"][level] for record in records.values()]
        rows.append([level, *(mean_std([line[n]["mean"] for line in lines], digits=3)
                              for n in LEVEL_FIGURES)])  # fmt: skip
    return to_markdown(["taken by attention, or at random", *LEVEL_FIGURES], rows, "lr")


def lexicon_table(figure: str = "AUPRC") -> str:
    """A figure of the rankings that all networks have, with 95 % intervals over texts, a column a
    network, the best first: ``"AUPRC"``, ``"token F1"``, ``"Kendall's τ"``, or what attention's is
    above a ranking's, ``"attention − it: AUPRC"``."""
    records = study_records("lexicon")
    lines = [record["lines"] for record in records.values()]
    shared = set.intersection(*map(set, lines))
    side = 1 if figure.startswith("attention") else -1
    order = sorted(
        shared, key=lambda n: (side * np.mean([of[n][figure]["mean"] for of in lines]), n)
    )
    rows = [[name, *(frames.interval(of[name][figure]) for of in lines)] for name in order]
    return to_markdown(["ranking", *map(frames.network_title, records)], rows, "lr")


def graded_phrases_table() -> str:
    """Of the runs of words that a layer or step selects, the share that are phrases with a graded
    sentiment, beside runs as long anywhere in the sentence, with 95 % intervals over texts."""
    records = study_records("lexicon")
    columns = ("graded", "by chance", "difference")
    rows = [
        [frames.network_title(network), layer, *(frames.interval(line[n]) for n in columns)]
        for network, record in records.items() for layer, line in record["phrases"].items()
    ]  # fmt: skip
    return to_markdown(["network", "selected by", *columns], rows, "llr")
