"""What lesson 10 measures of its small Transformers, and the record of five seeds of each.

``python -m course_kit.research.small_transformer.transformer_record`` trains them and writes
``results/encoder/movies2.json``; with ``--rankings`` the first alone, and what its rankings are
worth, ``movies2-rankings.json``. Trained on the training part, measured on the test half.
"""

import json
import sys
from collections.abc import Callable, Sequence
from copy import copy, deepcopy
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import scipy.stats
import torch
from sklearn.linear_model import LogisticRegression
from tqdm.auto import tqdm

from course_kit.research.recording import CPU, Stopwatch
from course_lib import faithfulness
from course_lib.data.corpus import load_corpus
from course_lib.faithfulness import Document
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.heads import changed_heads
from course_lib.faithfulness.rankers import Importances
from course_lib.models.transformer import Transformer
from course_lib.runs.records import RESULTS, write_json
from course_lib.runs.run import split_rows
from course_lib.runs.settings import with_overrides
from course_lib.runs.systems.network import freeze
from course_lib.runs.systems.system import Rows
from course_lib.runs.systems.transformer_system import TransformerSystem

DATASET, SEEDS, RANKED = "movies2", range(5), 200
RECORD, RANKINGS = (RESULTS / "encoder" / f"{DATASET}{end}.json" for end in ("", "-rankings"))
VARIANTS = {
    "whole": {},
    "without positions": {"model.positions": 0},
    "uniform attention": {"control.attention_weights": "uniform"},
    "one head": {"model.heads": 1},
}


def train_variant(
    name: str, rows: Rows, classes: Sequence[str], seed: int = 0, preset: str = "lesson"
) -> TransformerSystem:
    """One of ``VARIANTS``, trained."""
    settings = with_overrides(TransformerSystem.presets[preset], VARIANTS[name])
    system = TransformerSystem(settings, tuple(classes))
    system.build(rows, seed)
    system.fit(rows, seed, device=CPU)
    return system


def changed(system: TransformerSystem, change: Callable[[Transformer], None]) -> TransformerSystem:
    """The same system with a copy of its network, to which ``change`` has been done."""
    twin = copy(system)
    twin.model = deepcopy(system.model)
    change(twin.model)
    return twin


def without_scores(model: Transformer) -> None:
    """Set queries and keys to zero, in place: all scores are 0, and attention is uniform."""
    attentions = [block.attention for block in model.blocks]
    freeze([part for each in attentions for part in (each.query, each.key)], at_zero=True)


def hits(system: TransformerSystem, texts: Sequence[Document], labels: Sequence[int]) -> np.ndarray:
    """Whether each text gets its label, ``(texts,)``, 1.0 or 0.0."""
    answers = faithfulness.ask(DocumentModel(system), [faithfulness.whole(text) for text in texts])
    return (answers.argmax(1) == np.asarray(labels)).astype(float)


def plain_mean_hits(system: TransformerSystem, rows: Rows) -> np.ndarray:
    """``hits`` on the validation part of the simplest rival: the mean of the same word vectors,
    and a logistic regression."""
    table = system.model.embedding.weight.detach()

    def means(part: datasets.Dataset) -> np.ndarray:
        documents = system.encode(part)
        starts = documents.sentence_starts[documents.document_starts[:-1]]
        ids, offsets = (torch.from_numpy(a).long() for a in (documents.words, starts))
        return torch.nn.functional.embedding_bag(ids, table, offsets, mode="mean").numpy()

    fitted = LogisticRegression(max_iter=1000).fit(means(rows["train"]), rows["train"]["label"])
    answers = fitted.predict(means(rows["validation"]))
    return (answers == np.array(rows["validation"]["label"])).astype(float)


def shuffled(texts: Sequence[Document], seed: int = 0) -> list[Document]:
    """Each text with its words in another order."""
    source = np.random.default_rng(seed)
    return [[text[place] for place in source.permutation(len(text))] for text in texts]


def rankings(
    system: TransformerSystem, texts: Sequence[Document], seed: int = 0
) -> dict[str, Importances]:
    """Importances of the texts' words by name: five rankings without a sign, then five with one."""
    model = DocumentModel(system)
    attention = model.attention(texts)
    gradient = faithfulness.gradient_times_input(model.gradients, model, texts)
    everywhere = (system.heads(faithfulness.words_of(text)) for text in texts)
    unsigned = {
        "top-layer attention": attention["attention"],
        "mean of the layers": [alpha.mean((0, 1, 2)).numpy() for alpha in everywhere],
        "rollout": attention["rollout"],
    }
    return {
        **unsigned,
        "|gradient × input|": faithfulness.magnitude(gradient),
        "random": faithfulness.random_importance(texts, seed),
        **{f"{name} × sign": faithfulness.with_sign(a, gradient) for name, a in unsigned.items()},
        "gradient × input": gradient,
        "leave-one-out": faithfulness.leave_one_out(model, texts),
    }


def without_each_head(
    system: TransformerSystem, texts: Sequence[Document], labels: Sequence[int]
) -> np.ndarray:
    """Accuracy without each head in turn, ``(layers, heads)``."""
    config, accuracies = system.settings.model, []
    for layer, head in product(range(config.layers), range(config.heads)):
        kept = torch.ones(config.layers, config.heads, 1)
        kept[layer, head] = 0
        with changed_heads(system.model, lambda at, heads, kept=kept: heads * kept[at]):
            accuracies.append(hits(system, texts, labels).mean())
    return np.reshape(accuracies, (config.layers, config.heads))


def measure(system: TransformerSystem, rows: datasets.Dataset, seed: int) -> dict[str, Any]:
    """Accuracies on the rows as they are, shuffled, and under changes of the network."""
    texts, labels = DocumentModel(system).documents(rows), rows["label"]
    return {
        "accuracy": float(hits(system, texts, labels).mean()),
        "shuffled": float(hits(system, shuffled(texts, seed), labels).mean()),
        "made uniform": float(hits(changed(system, without_scores), texts, labels).mean()),
        "without a head": without_each_head(system, texts, labels).tolist(),
    } | measure_rankings(system, rows, seed)


def measure_rankings(system: TransformerSystem, rows: datasets.Dataset, seed: int) -> dict:
    """Of the first ``RANKED`` rows, Kendall's τ of the size of each ranking with that of
    leave-one-out, and the area of comprehensiveness (AOPC) of each."""
    model = DocumentModel(system)
    some = model.documents(rows.select(range(min(RANKED, len(rows)))))
    found: dict[str, dict[str, float]] = {"tau": {}, "aopc": {}}
    for name, ranking in (ranked := rankings(system, some, seed)).items():
        both = map(faithfulness.magnitude, (ranking, ranked["leave-one-out"]))
        found["tau"][name] = float(np.nanmean(faithfulness.kendall(*both)))
        losses = faithfulness.comprehensiveness(model, some, ranking)
        found["aopc"][name] = float(faithfulness.aopc(losses).mean())
    found["tau"].pop("leave-one-out")
    return found


def over_seeds(variant: str, *keys: str, record: Path = RECORD) -> np.ndarray:
    """A number of a record for each seed of a variant, ``(seeds, …)``, found by its ``keys``."""
    runs = [run for run in json.loads(record.read_text())["runs"] if run["variant"] == variant]
    for key in keys:
        runs = [run[key] for run in runs]
    return np.array(runs)


def seed_interval(values: np.ndarray) -> tuple[float, float]:
    """The mean of one number a seed, and half the width of its 95 % interval (Student's t)."""
    wide = scipy.stats.t.ppf(0.975, len(values) - 1)
    return float(values.mean()), float(wide * values.std(ddof=1) / len(values) ** 0.5)


def main(arguments: Sequence[str]) -> None:
    """Train the variants, each with every seed, measure them, and write the record."""
    watch, corpus, runs = Stopwatch(1), load_corpus(DATASET), []
    alone = "--rankings" in arguments
    variants, measured = (["whole"], measure_rankings) if alone else (VARIANTS, measure)
    rows = split_rows(corpus)
    for name, seed in tqdm(list(product(variants, SEEDS)), desc="Transformers"):
        system = train_variant(name, rows, corpus.card.classes, seed)
        runs.append({"variant": name, "seed": seed} | measured(system, rows["test"], seed))
    record = {
        "command": " ".join(["python -m", __spec__.name, *arguments]),
        "settings": asdict(TransformerSystem.presets["lesson"]),
        "variants": {name: VARIANTS[name] for name in variants},
        "data": asdict(corpus.provenance),
        "sizes": {split: len(part) for split, part in rows.items()},
        "ranked": RANKED,
        **watch.about(),
        "runs": runs,
    }
    write_json(RANKINGS if alone else RECORD, record)


if __name__ == "__main__":
    main(sys.argv[1:])
