"""Every number and verdict of page one, and every number of the table of all claims, a second time.

Written from the printed labels: the committed JSON files are read with ``json`` and computed with
NumPy and SciPy, without the code of the report. A figure that is printed but not computed here
fails.
"""

import json
import math
import re
from functools import cache

import numpy as np
import pytest
from scipy import stats

from course_kit.research import report
from course_lib.files import REPOSITORY

pytestmark = pytest.mark.full  # committed records, which no change of the library moves

RESULTS = REPOSITORY / "results"
FILM_AGT, FILM_IRAM = "every-word-film-else-zero-frozen", "film-else-zero"
PHRASES = "words in a phrase"


@cache
def every_run():
    paths = (RESULTS / "runs").rglob("*.json")
    return {path.stem: json.loads(path.read_text("utf-8")) for path in paths}


def runs(name):
    """The trainings of a name, by seed."""
    found = (every_run().get(f"{name}-s{seed}") for seed in range(20))
    return [run for run in found if run]


def study(folder, name):
    found = (RESULTS / folder / f"{name}-s{seed}.json" for seed in range(20))
    return [json.loads(path.read_text("utf-8")) for path in found if path.exists()]


def trained(test):
    path = RESULTS / "faithfulness" / "trained" / f"{test}-sst2_sentences.json"
    return json.loads(path.read_text("utf-8"))


def scored(name, score="accuracy"):
    return [run["test"][score] for run in runs(name)]


def kept(name):
    return [run["epochs"][run["best_epoch"] - 1]["validation_accuracy"] for run in runs(name)]


def looked(name, figure, state="trained"):
    return [run["attention"][state][figure] for run in runs(name)]


def minus(first, second):
    return [a - b for a, b in zip(first, second, strict=True)]


HAN, AG, AMAZON = "han-imdb-report", "sanet-ag_news-base", "sanet-amazon_full-base"
SANET_IMDB = "sanet-imdb-base-max_tokens256-epochs15-patience3"
PLAIN_IMDB = "sanet-imdb-baseline-base-max_tokens256-epochs15-patience3"
UNDIVIDED = "sanet-imdb-base-5000rows-max_tokens256-patience10"
DIVIDED = "sanet-imdb-base-5000rows-max_tokens256-16d909-notest"
FULL, VANILLA, PLAIN = (f"iram-sst2-{name}" for name in ("full", "vanilla", "baseline"))
FILM_FULL = f"iram-sst2-full-{FILM_IRAM}-ngrams0-dropout0.4-51f5e5"
FILM_VANILLA = f"iram-sst2-vanilla-{FILM_IRAM}-dropout0.3-3c2045"
FILM_PLAIN = f"iram-sst2-baseline-{FILM_IRAM}-dropout0.3-5d806b"
AGT, FILM = "agt-sst5-paper", f"agt-sst5-paper-{FILM_AGT}"
JAIN, AVERAGED = "bilstm-sst2-sst2", "bilstm-sst2-sst2-encoder-average"
SENTENCES = "bilstm-sst2_sentences-sst2-every-word-film-f6b1f5"
HUNDRED = "bilstm-sst2_sentences-sst2-epochs8-embedding_rate1"
SHORT = {
    0.0: "iram-sst2-vanilla-penalty0-epochs3-notest",
    0.0003: "iram-sst2-vanilla-epochs3-notest",
    0.1: "iram-sst2-vanilla-penalty0.1-epochs3-notest",
}
STEPS = {
    1: "iram-sst2-vanilla-steps1-penalty0-epochs3-notest",
    2: "iram-sst2-vanilla-steps2-penalty0-epochs3-notest",
    3: SHORT[0.0],
    5: "iram-sst2-vanilla-steps5-penalty0-epochs3-notest",
}


def losses(epoch, other):
    found = [[one["validation_loss"] for one in run["epochs"]] for run in runs(HAN)]
    return [of[epoch - 1] - (of[other - 1] if other else min(of)) for of in found]


def near(name):
    return minus(looked(name, "diagonality 3"), looked(name, "uniform diagonality 3"))


def lengths(rule="", by="", name=FILM):
    """Words in a phrase, ``(trainings, layers)``: selected words over phrases."""
    words, phrases = (
        np.array(looked(name, f"{rule}{figure}")) for figure in ("selected", f"phrases{by}")
    )
    return words / phrases


def at(values, layers, first=1):
    return values[:, [layer - first for layer in layers]].mean(1)


def middle(rule, layers):
    return at(lengths(rule), layers) - at(lengths(rule), [1, 2, 14, 15])


def middle_gates():
    return at(np.array(looked(FILM, "gate")), [8, 9], 2)


def gates():
    values = np.array(looked(FILM, "gate"))
    return at(values, [8, 9], 2) - at(values, [2, 3, 14, 15], 2)


def bias(value, what):
    of = "" if value == 1 else f"-gate_bias{value}"
    name = f"agt-sst5-paper{of}-batch_size200"
    return scored(name) if what == "accuracy" else list(lengths(name=name).mean(1))


def tau(name, pair="attention–gradient"):
    return [record["kendall"][pair]["mean"] for record in study("agreement", name)]


def with_leave_one_out(name):
    sides = (tau(name, f"{one}–leave-one-out, deletion") for one in ("attention", "gradient"))
    return minus(*sides)


def adversary(name, search="strict_adversary"):
    records = study("interventions", name)
    return [record[search]["divergence"]["all"]["mean"] for record in records]


def shuffled(weight):
    permuted = [record["permutation"] for record in study("interventions", JAIN)]
    return [of["by_largest_weight"][weight]["median"] for of in permuted]


def guided(score, line):
    record = trained("guided")
    if score == "F1":
        return record["f1_by_seed"][line]
    return record["lines"][line]["accuracy"]["by_seed"]


def guide(score, first, second):
    return minus(guided(score, first), guided(score, second))


def apart(figure, other="the base, another seed", weight=0.005):
    lines = trained("adversary")["lines"]
    first, second = (lines[name][figure]["by_seed"] for name in (f"adversary, λ = {weight}", other))
    return minus(first, second)


def without_half(ranking):
    line = trained("roar")["lines"][f"{ranking}, 50% of the words"]
    return line["accuracy minus that of random"]["by_seed"]


def erased(name, first, second, measure="comprehensiveness"):
    """Of the texts that all trainings of a network were tested on, which every sample begins
    with."""
    found, least = [], min(record["texts"] for record in study("faithfulness", name))
    for seed, record in enumerate(study("faithfulness", name)):
        with np.load(RESULTS / "faithfulness" / f"{name}-s{seed}.npz") as stored:
            rows = list(record["removals"]["deletion"][measure]["rankings"])
            values = stored[measure].astype(float)[:, :least]
        found.append((values[rows.index(first)] - values[rows.index(second)]).mean())
    return found


def leads(name, ranking, place):
    """The same at one share of the words, of all texts of a record."""
    rankings = [
        record["removals"]["deletion"]["comprehensiveness"]["rankings"]
        for record in study("faithfulness", name)
    ]
    sides = [
        [of[each]["by_share"][place]["mean"] for of in rankings] for each in (ranking, "random")
    ]
    return minus(*sides)


def repeated(name, figure):
    return [record["repeats"][figure]["mean"] for record in study("extensions", name)]


def levels():
    lines = [record["lines"] for record in study("levels", "han-imdb-compact")]
    return [
        of["words"]["comprehensiveness"]["mean"] - of["sentence"]["comprehensiveness"]["mean"]
        for of in lines
    ]


UNIFORM, ADVERSARY = "MLP, uniform attention", "MLP, the attention of its adversary, λ = 0.1"
BASE = "MLP, the BiLSTM's attention"
PAIRS, WORDS = "TF-IDF of words and word pairs", "TF-IDF of words"


@cache
def figures():
    """By label: what a figure is computed from; a second part is a number or other trainings."""
    return {
        "test accuracy on IMDb minus the 85 in print (HAN, 7 × 30, 50-d vectors)": (
            scored(HAN),
            0.85,
        ),
        "test F1 on IMDb minus the 82 in print (HAN, 7 × 30, 50-d vectors)": (
            scored(HAN, "f1"),
            0.82,
        ),
        "validation loss after epoch 2 minus after 3": (losses(2, 3), 0),
        "validation loss after epoch 2 minus after the best": (losses(2, None), 0),
        "seconds of a training, divided by its epochs": (
            [run["seconds"] / len(run["epochs"]) for run in runs(HAN)],
            0,
        ),
        "area under the ROC curve": (scored(HAN, "auc"), 0),
        "attention on words that were important before, minus by chance": (
            minus(repeated(HAN, "repeated"), repeated(HAN, "by_chance")),
            0,
        ),
        "attention on words that were important before: with the penalty minus without": (
            repeated(f"{HAN}-hops3-penalty0.1", "repeated"),
            repeated(f"{HAN}-hops3", "repeated"),
        ),
        "loss without the words with most attention minus without the sentence": (levels(), 0),
        f"accuracy on IMDb: HAN, 25 × 50 minus {PAIRS}": (
            scored("han-imdb-long"),
            scored("tfidf-imdb-default"),
        ),
        "test accuracy on AG minus the 92.14 in print (SANet base, 50-d vectors)": (
            scored(AG),
            0.9214,
        ),
        "test accuracy on Amz F. minus the 59.92 in print (SANet base, 50-d vectors)": (
            scored(AMAZON),
            0.5992,
        ),
        **{
            f"test accuracy on {title} minus the {printed} in print ({model}, 50-d vectors)": (
                scored(name),
                printed / 100,
            )
            for model, title, printed, name in (
                ("baseline base", "Amz F.", 58.2, "sanet-amazon_full-baseline-base"),
                ("baseline base", "AG", 92.66, "sanet-ag_news-baseline-base"),
                ("SANet big", "AG", 92.58, "sanet-ag_news-big"),
                ("baseline big", "AG", 92.8, "sanet-ag_news-baseline-big"),
            )
        },
        "accuracy on Amz F.: SANet base minus baseline base": (
            scored(AMAZON),
            scored("sanet-amazon_full-baseline-base"),
        ),
        "accuracy on AG: SANet base minus baseline base": (
            scored(AG),
            scored("sanet-ag_news-baseline-base"),
        ),
        "accuracy on IMDb: SANet base minus baseline base": (
            scored(SANET_IMDB),
            scored(PLAIN_IMDB),
        ),
        "accuracy on AG: SANet big minus SANet base": (scored("sanet-ag_news-big"), scored(AG)[:1]),
        f"accuracy on AG: SANet base minus {PAIRS}": (scored(AG), scored("tfidf-ag_news-default")),
        f"accuracy on Amz F.: {PAIRS} minus {WORDS}": (
            scored("tfidf-amazon_full-default"),
            scored("tfidf-amazon_full-words"),
        ),
        "Gini: Amz F. minus AG": (looked(AMAZON, "gini"), looked(AG, "gini")),
        "Gini on AG, trained": (looked(AG, "gini"), 0),
        **{
            f"Gini on IMDb, 5,000 reviews, {state}: scores divided by √d minus not": (
                looked(DIVIDED, "gini", state),
                looked(UNDIVIDED, "gini", state),
            )
            for state in ("trained", "untrained")
        },
        "Gini on AG, untrained": (looked(AG, "gini", "untrained"), 0),
        "share within 3 words minus that of uniform weights, Amz F.": (near(AMAZON), 0),
        "share within 3 words minus that of uniform weights, AG": (near(AG), 0),
        "share within 3 words minus that of uniform weights, IMDb": (near(SANET_IMDB), 0),
        "test accuracy on SST-2 minus the 90.1 in print (IRAM full, 50-d vectors)": (
            scored(FULL),
            0.901,
        ),
        "test accuracy on SST-2 minus the 89.3 in print "
        "(IRAM full − character n-grams, film vectors)": (scored(FILM_FULL), 0.893),
        "test accuracy on SST-2 minus the 88.7 in print (IRAM vanilla, 50-d vectors)": (
            scored(VANILLA),
            0.887,
        ),
        "test accuracy on SST-2 minus the 88.7 in print (IRAM vanilla, film vectors)": (
            scored(FILM_VANILLA),
            0.887,
        ),
        "test accuracy on SST-5 minus the 53.7 in print (IRAM full, 50-d vectors)": (
            scored("iram-sst5-full"),
            0.537,
        ),
        "test accuracy on IMDb minus the 91.2 in print (IRAM full, 50-d vectors)": (
            scored("iram-imdb-imdb"),
            0.912,
        ),
        "test accuracy on IMDb minus the 91.2 in print (IRAM vanilla, 400 words, film vectors)": (
            scored("iram-imdb-compact-max_tokens400-patience2"),
            0.912,
        ),
        "accuracy on SST-2: IRAM full minus IRAM vanilla": (scored(FULL), scored(VANILLA)),
        "accuracy on SST-2: IRAM full minus IRAM vanilla, film vectors": (
            scored(FILM_FULL),
            scored(FILM_VANILLA),
        ),
        "accuracy on SST-2: IRAM vanilla minus BiLSTM + maxout (IRAM without steps)": (
            scored(VANILLA),
            scored(PLAIN),
        ),
        "accuracy on SST-2: "
        "IRAM vanilla minus BiLSTM + maxout (IRAM without steps), film vectors": (
            scored(FILM_VANILLA),
            scored(FILM_PLAIN),
        ),
        **{
            f"accuracy on SST-2: IRAM full minus IRAM full − {part}": (
                scored(FULL)[:1],
                scored(f"{FULL}-no-{name}"),
            )
            for part, name in (
                ("character n-grams", "ngrams"),
                ("query fine-tuning", "query"),
                ("embedding fine-tuning", "embedding"),
            )
        },
        "cosine of two steps' weights: γ = 0.0003 minus γ = 0.0, three epochs": (
            minus(looked(SHORT[0.0003], "step cosine"), looked(SHORT[0.0], "step cosine")),
            0,
        ),
        "cosine of two steps' weights, γ = 0.0, three epochs": (
            looked(SHORT[0.0], "step cosine"),
            0,
        ),
        **{
            f"weight of step {step} on summaries, γ = {penalty}, three epochs": (
                looked(SHORT[penalty], f"summary share, step {step}"),
                0,
            )
            for penalty in SHORT
            for step in (2, 3)
        },
        **{
            f"validation accuracy on SST-2: 3 steps minus {steps}, γ = 0.0, three epochs": (
                kept(STEPS[3])[:1],
                kept(STEPS[steps]),
            )
            for steps in (1, 2, 5)
        },
        "validation accuracy on SST-2: γ = 0.1 minus γ = 0.0, three epochs": (
            kept(SHORT[0.1]),
            kept(SHORT[0.0])[:1],
        ),
        **{
            f"cosine of two steps' weights, IRAM vanilla on SST-2{read}": (
                looked(name, "step cosine"),
                0,
            )
            for read, name in (("", VANILLA), (", film vectors", FILM_VANILLA))
        },
        **{
            f"weight of step 3 on summaries, IRAM {of}, {state}": (
                looked(name, "summary share, step 3", state),
                0,
            )
            for of, name in (
                ("vanilla on SST-2", VANILLA),
                ("vanilla on SST-2, film vectors", FILM_VANILLA),
                ("full on SST-2", FULL),
                ("full on SST-2, film vectors", FILM_FULL),
                ("full on SST-5", "iram-sst5-full"),
            )
            for state in ("trained", "untrained")
        },
        "test accuracy on SST-5 minus the 50.5 in print (AGT, film vectors)": (scored(FILM), 0.505),
        "accuracy on SST-5: AGT minus AGT, s_0 only": (
            scored(AGT),
            scored("agt-sst5-s0-only-epochs30-patience12"),
        ),
        "accuracy on SST-5: AGT minus AGT, s_0 only, without failed trainings": (
            scored(AGT),
            [x for x in scored("agt-sst5-s0-only-epochs30-patience12") if x > 0.29],
        ),
        "accuracy on SST-5: AGT minus AGT, layers ≤ 2": (
            scored(AGT),
            scored("agt-sst5-layers-to-2-epochs30-patience12"),
        ),
        "accuracy on SST-5: AGT minus mean of word vectors, AGT's classifier, film vectors": (
            scored(FILM),
            scored(f"agt-sst5-mean-{FILM_AGT}"),
        ),
        f"accuracy on SST-5: AGT minus {PAIRS}, film vectors": (
            scored(FILM),
            scored("tfidf-sst5-default"),
        ),
        **{
            f"{PHRASES}, {rule} rule, minus those of the same words in random order": (
                lengths(of).mean(1) - lengths(of, " by chance").mean(1),
                0,
            )
            for rule, of in (("concise", ""), ("relaxed", "relaxed "))
        },
        **{
            f"{PHRASES}, {rule} rule, layers 8, 9, minus those of the same words in random order": (
                at(lengths(of), [8, 9]) - at(lengths(of, " by chance"), [8, 9]),
                0,
            )
            for rule, of in (("concise", ""), ("relaxed", "relaxed "))
        },
        **{
            f"{PHRASES}, {rule} rule, layers {layers}": (
                at(lengths(of), [int(layer) for layer in layers.split(", ")]),
                0,
            )
            for rule, of in (("concise", ""), ("relaxed", "relaxed "))
            for layers in ("8, 9", "1, 2", "8")
        },
        **{
            f"{PHRASES}, {rule} rule: layers {layers} minus layers 1, 2, 14, 15": (
                middle(of, [int(layer) for layer in layers.split(", ")]),
                0,
            )
            for rule, of in (("concise", ""), ("relaxed", "relaxed "))
            for layers in ("8, 9", "9, 10")
        },
        "mean gate: layers 8, 9 minus layers 2, 3, 14, 15": (gates(), 0),
        "mean gate, layers 8, 9": (middle_gates(), 0),
        "entropy of a layer's weights ÷ log n: trained minus untrained": (
            [
                np.mean(a) - np.mean(b)
                for a, b in zip(looked(FILM, "spread"), looked(FILM, "spread", "untrained"))
            ],
            0,
        ),
        f"{PHRASES}, concise rule: gate bias 1 minus 0": (bias(1, "words"), bias(0, "words")),
        "accuracy on SST-5: gate bias 1 minus 0": (bias(1, "accuracy"), bias(0, "accuracy")),
        "mean τ of attention and gradients, SST-2": (tau(JAIN), 0),
        "mean τ of attention and gradients, SST-2's sentences": (tau(SENTENCES), 0),
        "mean τ of attention and gradients, SST-2's sentences, minus 0.35": (tau(SENTENCES), 0.35),
        "mean τ of attention and gradients, IMDb, minus 0.44": (
            tau("bilstm-imdb-imdb-10000rows"),
            0.44,
        ),
        "τ of attention and gradients, SST-2: averaged words minus BiLSTM": (
            tau(AVERAGED),
            tau(JAIN),
        ),
        "τ of attention and gradients, AG: averaged words minus BiLSTM": (
            tau("bilstm-ag_news-ag_news-encoder-average"),
            tau("bilstm-ag_news-ag_news"),
        ),
        "τ with leave-one-out: attention's minus the gradient's (BiLSTM)": (
            with_leave_one_out(SENTENCES),
            0,
        ),
        "τ with leave-one-out: attention's minus the gradient's "
        "(BiLSTM, 100-d vectors that learn, 8 epochs)": (with_leave_one_out(HUNDRED), 0),
        "τ with leave-one-out: attention's minus the gradient's (BiLSTM, trained on phrases)": (
            with_leave_one_out(JAIN),
            0,
        ),
        "τ with leave-one-out: attention's minus the gradient's "
        "(averaged words, trained on phrases)": (with_leave_one_out(AVERAGED), 0),
        "divergence of the attention that a search finds within 0.05 of the output (BiLSTM)": (
            adversary(JAIN, "adversary"),
            0,
        ),
        "divergence of the attention that a search finds within 0.01 of the output (BiLSTM)": (
            adversary(JAIN),
            0,
        ),
        "divergence of the attention that a search finds "
        "within 0.01 of the output (averaged words)": (adversary(AVERAGED), 0),
        # theirs: the mean of both classes, read from the drawings in their repository
        **{
            f"median change of the output by a shuffle, largest weight {name}, minus theirs": (
                shuffled(weight),
                theirs,
            )
            for weight, name, theirs in (
                ("0.25", "0.25 to 0.5", (0.047 + 0.035) / 2),
                ("0.5", "0.5 to 0.75", (0.079 + 0.062) / 2),
                ("0.75", "0.75 to 1", 0.107),
            )
        },
        **{
            f"{score}: {first} minus {second}": (guide(score, first, second), 0)
            for score in ("F1", "accuracy")
            for first, second in (
                ("BiLSTM", "BiLSTM, uniform attention"),
                (BASE, UNIFORM),
                (ADVERSARY, UNIFORM),
            )
        },
        "attention's divergence from the base, λ = 0.005, minus that of another seed": (
            apart("JSD to the base"),
            0,
        ),
        **{
            f"accuracy of the adversary, λ = {weight}, minus the base's": (
                apart("accuracy", "the base network", weight),
                0,
            )
            for weight in (0.005, 0)
        },
        "TVD of the answers from the base's, λ = 0.005, minus that of another seed": (
            apart("TVD to the base"),
            0,
        ),
        "comprehensiveness, HAN on IMDb: gradient × input minus attention": (
            erased("han-imdb-compact", "gradient × input", "attention"),
            0,
        ),
        "comprehensiveness, HAN on IMDb: |gradient × input| minus attention": (
            erased("han-imdb-compact", "|gradient × input|", "attention"),
            0,
        ),
        "comprehensiveness, SANet on AG: attention, pooled minus random": (
            erased("sanet-ag_news-compact", "attention, pooled", "random"),
            0,
        ),
        "area under precision and recall of graded words, IRAM on SST-2: "
        "attention minus |gradient × input|": (
            [
                one["lines"]["attention"]["AUPRC"]["mean"]
                - one["lines"]["|gradient × input|"]["AUPRC"]["mean"]
                for one in study("lexicon", "iram-sst2-compact")
            ],
            0,
        ),
        **{
            f"accuracy without 50% of the words, trained anew: {ranking} minus random": (
                without_half(ranking),
                0,
            )
            for ranking in ("attention", "|gradient × input|")
        },
    }


OWN = {
    "HAN on IMDb": ("han-imdb-compact", "attention"),
    "IRAM on SST-2": ("iram-sst2-compact", "attention"),
    "AGT on SST-5": ("agt-sst5-compact", "attention"),
    "SANet on AG News, attention followed back from the pooled positions": (
        "sanet-ag_news-compact",
        "attention",
    ),
    "SANet on AG News, attention that a word receives": (
        "sanet-ag_news-compact",
        "attention, received in block 1",
    ),
}
READINGS = [ranking for network, ranking in OWN.values() if network.startswith("sanet")]
# Where a claim has its figures, and what keeps our trainings from judging it: texts ("part",
# "other", or phrases for sentences), word vectors, or what is said of it. A list has one for each
# figure. In the order of the page.
VERDICTS = [
    ("HAN", "85 %", ("within", 0.01), None),
    ("HAN", "F1 of 0.82", ("within", 0.01), None),
    ("HAN", "two epochs", ("below", 0), "said"),
    ("SANet", "92.1 %", ("within", 0.01), "part"),
    ("SANet", "attention gains on sentiment", ("above", 0), "part"),
    ("SANet", "it gains nothing on topics", ("within", 0.01), "part"),
    ("SANet", "attention is sparser on sentiment", ("above", 0), "part"),
    ("SANet", "sentiment: a band", ("above", 0.1), "part"),
    ("IRAM", "90.1 %", ("within", 0.01), "vectors"),
    ("IRAM", "all parts gain", ("above", 0), None),
    ("IRAM", "steps of attention help", ("above", 0), None),
    ("IRAM", "91.2 %", ("within", 0.01), "vectors"),
    ("IRAM", "without a penalty", ("below", -0.1), "said"),
    ("AGT", "50.5 %", ("within", 0.01), "vectors"),
    ("AGT", "all layers gain", ("above", 0), None),
    ("AGT", "… and 1.5", ("above", 0), None),
    ("AGT", "it is ahead of a mean", ("above", 0), None),
    ("AGT", "layers select phrases", ("above", 0), None),
    ("AGT", "the phrases of layers 8 and 9 are long", ("above", 0), None),
    ("AGT", "phrases are longest in the middle", ("above", 0), None),
    ("Jain", "attention and gradients rank words alike little", ("below", 0.5), None),
    ("Jain", "attention agrees more with gradients", ("above", 0), "phrases"),
    ("Jain", "in a BiLSTM gradients agree", ("below", 0), None),
    ("Jain", "attention and gradients on IMDb", ("within", 0.1), "part"),
    ("Jain", "other attention gives the same answer", ("above", 0.49), "phrases"),
    ("Jain", "shuffling the weights", ("below", 0.05), "phrases"),
    ("Wiegreffe", "uniform attention does as well", ("within", 0.01), None),
    ("Wiegreffe", "a word-wise network gains", ("above", 0), None),
    (
        "Wiegreffe",
        "a network can be trained to the same answers",
        [("above", 0), ("within", 0.01)],
        None,
    ),
    ("Wiegreffe", "the attention of an adversary", ("below", 0), None),
    ("DeYoung", "gradients name more comprehensive", ("above", 0), "other"),
    ("DeYoung", "attention agrees better", ("above", 0), "other"),
    ("Hooker", "gradients name pixels", ("within", 0.01), "said"),
    ("Hooker", "attention names words", ("below", 0), None),
]
READINGS_TWO = {  # of page two, in its order
    "attention selects informative words": ("above", 0.5),
    "the same word is important in one": ("above", 0),
    "a good ROC curve": ("above", 0.9),
    "the penalty of Lin et al.": ("below", 0),
    "a bidirectional GRU sees more": ("above", 0),
    "stop words and punctuation": ("above", 0),
    "accuracy competes": ("above", 0),
    "training makes the weights spiky": ("below", 0),
    "the lowest layers select single words": ("below", 1.5),
    "gates are near 0": [("below", 0), ("below", 0.25)],
}
SCALES = {"points": 100}
UNDIVIDED_TITLE = ", scores not divided by √d"
SYSTEMS = {"han": "HAN", "sanet": "SANet", "iram": "IRAM", "agt": "AGT"}
TEXTS = {"imdb": "IMDb", "ag_news": "AG", "amazon_full": "Amz F.", "sst5": "SST-5"}
MINUS = "−"


@cache
def page():
    return report.claims_table()


@cache
def printed():
    """The figures of page one and of the table of every claim, as a reader sees them."""
    cells = f"{page()}\n{report.every_claim_table()}".replace("\\|", "¦")
    for line in cells.splitlines():
        for cell in line.split(" | "):
            for part in cell.split("<br>"):
                text = part.removeprefix("beside it, ").replace("¦", "|").strip("| ")
                if found := FIGURE.fullmatch(text):
                    yield found


FIGURE = re.compile(
    r"(?P<label>.+): (?P<mean>[+−]?[\d.]+)(?: \[(?P<low>[+−]?[\d.]+), (?P<high>[+−]?[\d.]+)\])?"
    r"(?: (?P<unit>[a-z]+))? \((?P<seeds>\d+|one training)\)"
)


def found_again(label):
    """What a figure is computed from; a label like ``network: name (unit)`` is of a claim's own
    study."""
    if label in figures():
        return figures()[label]
    for path in (RESULTS / "seed_claims").glob("*.json"):
        record = json.loads(path.read_text("utf-8"))
        for network, of in record.get("figures", {}).items():
            system, dataset = network.split("-")[:2]
            title = f"{SYSTEMS[system]} on {TEXTS[dataset]}" + UNDIVIDED_TITLE * (
                (system, "-base-" in network) == ("sanet", True)
            )
            for name, one in of.items():
                if label == f"{title}: {name} ({record['unit']})":
                    return [each["mean"] for each in one["by_network"].values()], 0
    raise KeyError(label)


def number(text):
    return float(text.replace(MINUS, "-").replace("+", ""))


def welch(values, other):
    """The mean, its error and its degrees of freedom: of one sample, or of two by Welch's way."""
    sides = [side for side in (values, other) if np.size(side) > 1]
    parts = [(np.var(side, ddof=1) / len(side), len(side) - 1) for side in sides]
    error = sum(variance for variance, _ in parts)
    freedom = error**2 / sum(variance**2 / free for variance, free in parts) if error else 1
    return np.mean(values) - np.mean(other), error**0.5, freedom


def interval(values, other):
    """The mean and the ends of its 95 % t interval."""
    if len(values) < 2:
        return np.mean(values) - np.mean(other), math.nan, math.nan
    value, error, freedom = welch(values, other)
    half = stats.t.ppf(0.975, freedom) * error
    return value, value - half, value + half


def p_values(values, other, kind, bound):
    """What speaks for a claim (one-sided), and what against it (two-sided)."""
    value, error, freedom = welch(values, other)

    def above(limit):
        return stats.t.sf((value - limit) / error, freedom)

    if kind == "within":
        pro = max(above(-bound), 1 - above(bound))
        contra = min(above(bound), 1 - above(-bound))
    else:
        pro = above(bound) if kind == "above" else 1 - above(bound)
        contra = 1 - pro
    return pro, min(1, 2 * contra)


def by_hand(p):
    """Holm's correction: the smallest times how many there are, the next times one fewer, …"""
    corrected, least = {}, 0.0
    for count, name in enumerate(sorted(p, key=p.get)):
        least = corrected[name] = max(least, min(1.0, p[name] * (len(p) - count)))
    return corrected


def test_every_printed_figure_is_computed_again_from_the_records():
    shown = list(printed())
    assert len(shown) > 90
    for found in shown:
        label, unit = found["label"], found["unit"]
        values, other = found_again(label)
        scale, digits = SCALES.get(unit, 1), len(found["mean"].partition(".")[2])
        half = 0.5 * 10.0**-digits * 1.001
        value, low, high = (scale * x for x in interval(values, other))
        assert abs(number(found["mean"]) - value) <= half, found[0]
        single = len(values) == 1 or (isinstance(other, list) and len(other) == 1)
        if single and "TF-IDF" not in label.partition("minus")[2]:
            assert found["low"] is None and found["seeds"] == "one training", found[0]
        elif len(values) > 1:
            ends = number(found["low"]), number(found["high"])
            assert ends == pytest.approx((low, high), abs=half), found[0]
            assert found["seeds"] == str(len(values)), found[0]
        if " minus " in label and value < -half:
            assert found["mean"].startswith(MINUS)


def test_no_figure_of_page_two_lacks_its_record():
    assert "not measured yet" not in f"{page()}\n{report.every_claim_table()}"


def rows():
    for line in page().splitlines():
        if line.startswith("|") and not line.startswith(("| it says", "|---")):
            yield [cell.strip() for cell in line.replace("\\|", "¦").strip("| ").split(" | ")]


def test_every_verdict_of_page_one_is_found_again():
    shown = list(rows())
    assert [row[0].startswith(said) for row, (_, said, *_) in zip(shown, VERDICTS, strict=True)]
    pro, contra = {}, {}
    for row, (paper, said, expected, away) in zip(shown, VERDICTS, strict=True):
        assert row[0].startswith(said)
        judged = [
            FIGURE.fullmatch(part.replace("¦", "|"))
            for part in row[2].split("<br>")[:-1]
            if not part.startswith("beside it")
        ]
        asked = expected if isinstance(expected, list) else [expected] * len(judged)
        computed = [figures()[one["label"]] for one in judged]
        tests = [
            p_values(*values, *of)
            for values, of in zip(computed, asked, strict=True)
            if len(values[0]) > 1
        ]
        if away is None:  # all have to support it; one of them contradicts it, Bonferroni's way
            supports, contradicts = np.transpose(tests)
            pro[paper, said] = max(supports)
            contra[paper, said] = min(1, len(tests) * min(contradicts))
    families = {paper for paper, _ in pro}
    alone = dict(pro), dict(contra)
    for p in (pro, contra):
        for paper in families:
            p |= by_hand({key: value for key, value in p.items() if key[0] == paper})

    def verdict_of(pro, contra):
        if pro < 0.05:
            return "replicated"
        return "not replicated" if contra < 0.05 else "inconclusive"

    undone = []
    for row, (paper, said, _, away) in zip(shown, VERDICTS, strict=True):
        key, verdict, before = (paper, said), "not at its scale", "not at its scale"
        if not away:
            verdict, before = (
                verdict_of(pro[key], contra[key]),
                verdict_of(*(p[key] for p in alone)),
            )
        assert row[1] == f"**{verdict}**", row[0]
        told = re.findall(r"before the correction it would be ([a-z ]+?) \(", row[2])
        assert told == ([before] if before != verdict else []), row[0]
        undone += told
    assert set(undone) == {"replicated", "not replicated"}


def test_the_readings_of_page_two_are_those_of_the_whole_interval():
    read = []
    for line in report.every_claim_table().splitlines():
        cells = line.replace("\\|", "¦").strip("| ").split(" | ")
        if reading := re.match(r"\*\*(for it|against it|undecided)\*\*", cells[1 % len(cells)]):
            said = next(said for said in READINGS_TWO if cells[0].startswith(said))
            expected = READINGS_TWO[said]
            asked = expected if isinstance(expected, list) else [expected]
            told = cells[1].replace("¦", "|").split("<br>")[1 : 1 + len(asked)]
            labels = [FIGURE.fullmatch(one)["label"] for one in told]
            tests = [
                p_values(*found_again(label), *of) for label, of in zip(labels, asked, strict=True)
            ]
            supports, contradicts = np.transpose(tests)
            end = "for it" if max(supports) < 0.025 else "undecided"
            if len(tests) * min(contradicts) < 0.05:
                end = "against it"
            assert reading[1] == end, said
            read.append(said)
    assert read == list(READINGS_TWO)


def test_what_is_not_at_a_papers_scale_follows_from_the_records():
    for name in (AG, AMAZON, "sanet-ag_news-compact"):
        assert all(run["data"]["subset"] for run in runs(name))
    sizes = {name: runs(name)[0]["sizes"]["train"] for name in (AG, AMAZON, JAIN, SENTENCES)}
    assert list(sizes.values()) == [10_923, 4_000, 56_405, 6_920], "9.1 %, 0.13 %; phrases"
    assert "(9.1 % of" in page() and "(0.13 % of" in page()
    assert all(run["spec"]["limit"] == 10_000 for run in runs("bilstm-imdb-imdb-10000rows"))
    for name in (FULL, FILM_FULL, "iram-imdb-imdb", "iram-sst5-full", FILM, AG):
        assert all("840B" not in run["settings"]["text"]["vectors"] for run in runs(name))
    alike = [
        (FULL, VANILLA, PLAIN),
        (FILM_FULL, FILM_VANILLA, FILM_PLAIN),
        (AGT, "agt-sst5-s0-only-epochs30-patience12", "agt-sst5-paper-batch_size200"),
        (FILM, f"agt-sst5-mean-{FILM_AGT}"),
    ]
    for names in alike:
        read = {run["settings"]["text"]["vectors"] for name in names for run in runs(name)}
        texts = {run["data"]["content"] for name in names for run in runs(name)}
        assert len(read) == len(texts) == 1, names
        assert not any(run["data"]["subset"] for name in names for run in runs(name))
    parts = {run["settings"]["model"]["ngrams"] > 0 for run in runs(FULL)}
    assert parts == {True}, "all parts, character n-grams among them"


def test_our_own_measurements_are_found_again():
    lines = [
        line.strip("| ").split(" | ") for line in report.comprehensiveness_table().splitlines()[2:]
    ]
    assert [line[0] for line in lines] == list(OWN)
    for title, *numbers, seeds in lines:
        for numbers_of, measure in zip(numbers, ("comprehensiveness", "sufficiency"), strict=True):
            values = erased(*OWN[title], "random", measure)
            shown = [number(each) for each in re.findall(r"[+−]?\d\.\d+", numbers_of)]
            assert shown == pytest.approx(interval(values, 0), abs=0.00501)
            assert int(seeds) == len(values) == 3


def test_the_leads_by_share_are_found_again():
    network = "sanet-ag_news-compact"
    lines = report.leads_table().replace("\\|", "¦").splitlines()
    assert re.findall(r"\d+%", lines[0]) == [
        f"{100 * share:.0f}%" for share in study("faithfulness", network)[0]["shares"]
    ]
    for line in lines[2:]:
        ranking, *cells = line.strip("| ").replace("¦", "|").split(" | ")
        for place, cell in enumerate(cells[:-1]):
            assert number(cell) == pytest.approx(np.mean(leads(network, ranking, place)), abs=5e-4)
        shown = [number(each) for each in re.findall(r"[+−]\d\.\d+", cells[-1])]
        values = erased(network, ranking, "random", "sufficiency")
        assert shown == pytest.approx(interval(values, 0), abs=0.00501)
    assert len(lines) == 6


def test_appendix_4_draws_the_lengths_of_page_one():
    figure = report.composition_figure()
    for axis, rule in zip(figure.axes, ("", "relaxed ")):
        drawn = {line.get_label(): line.get_ydata() for line in axis.lines}
        assert drawn["trained"] == pytest.approx(lengths(rule).mean(0))
        assert drawn["trained, words shuffled"] == pytest.approx(
            lengths(rule, " by chance").mean(0)
        )


def test_what_the_audit_of_sanet_adds_has_both_readings():
    note = report.other_reading("sanet-ag_news-compact")
    shown = [number(each) for each in re.findall(r"[+−]\d\.\d+", note)]
    network = "sanet-ag_news-compact"
    values = [leads(network, name, 2) for name in READINGS]
    values += [erased(network, name, "random") for name in READINGS]
    assert shown == pytest.approx([x for of in values for x in interval(of, 0)], abs=0.00501)
    received = [np.mean(leads(network, READINGS[1], place)) for place in range(5)]
    assert received[4] > sum(received) / 2, "mainly where half of the text is erased"
    assert min(erased("sanet-ag_news-compact", READINGS[1], "random")) > 0
    assert report.other_reading("han-imdb-compact") is None


def test_what_the_findings_of_the_readme_add_is_found_again():
    leads, weights, shares = report.findings().splitlines()
    lead = interval(scored("han-imdb-compact"), scored("tfidf-imdb-default"))
    assert f"lead of {100 * lead[0]:.2f} points (3 seeds)" in leads
    assert "{:.2f} to {:.2f} over seeds".format(*(100 * x for x in lead[1:])) in leads
    (without,), (divided,) = (looked(name, "gini", "untrained") for name in (UNDIVIDED, DIVIDED))
    assert f"it is {100 * divided:.0f} % instead of {100 * without:.0f} % before" in weights
    changes = [runs(name)[0]["settings"] for name in (UNDIVIDED, DIVIDED)]
    assert [of["model"].pop("scaled") for of in changes] == [False, True]
    assert changes[0] == changes[1], "nothing else differs"
    means = [
        100 * np.mean(looked(name, "summary share, step 3")) for name in (SHORT[0.0003], SHORT[0.0])
    ]
    said = re.findall(r"(\d+) %", shares.partition("own 0.0003")[2])
    assert said == [f"{mean:.0f}" for mean in means]
