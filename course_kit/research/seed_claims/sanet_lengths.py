"""SANet: is its accuracy the same for short and for long texts?"""

from typing import Any

import numpy as np

from course_kit.research.seed_claims import studied
from course_lib.data.corpus import content_digest, load_corpus
from course_lib.files import DataError
from course_lib.runs import records
from course_lib.runs.predictions import ItemPredictions

GROUPS = {  # networks, and a bag of words that reads the same texts
    "sanet-ag_news-compact": "tfidf-ag_news-words",
    "sanet-imdb-compact": "tfidf-imdb-words",
}
THIRDS = ("short", "middle", "long")


def thirds(lengths: np.ndarray) -> np.ndarray:
    """The third by length of each text, 0 to 2, as equal in size as ties allow: the cuts are at
    the quantiles 1/3 and 2/3, and a text on a cut belongs to the lower third."""
    return np.searchsorted(np.quantile(lengths, [1 / 3, 2 / 3]), lengths, side="left")


def accuracies(right: np.ndarray, third: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The accuracy of each third, ``(…, 3)``, where text t counts ``draws`` ``(…, texts)`` times;
    ``right`` and ``third`` are ``(texts,)``."""
    members = np.eye(3)[third]
    return draws @ (members * right[:, None]) / (draws @ members)


def statistics(
    right: np.ndarray, beside: np.ndarray, third: np.ndarray, seed: int
) -> dict[str, dict]:
    """The accuracies of one network by third, and how much longer texts differ from shorter ones,
    also minus the same of what stands beside it."""

    def gap(of: np.ndarray, draws: np.ndarray) -> np.ndarray:
        found = accuracies(of, third, draws)
        return found[..., 2] - found[..., 0]

    found: dict[str, Any] = {
        f"accuracy, {name}": lambda d, k=k: accuracies(right, third, d)[..., k]
        for k, name in enumerate(THIRDS)
    }
    found["long − short"] = lambda d: gap(right, d)
    found["long − short, bag of words"] = lambda d: gap(beside, d)
    found["long − short: network − bag of words"] = lambda d: gap(right, d) - gap(beside, d)
    return {name: studied.of_all(of, len(right), seed) for name, of in found.items()}


def predictions(name: str) -> tuple[dict[str, Any], ItemPredictions] | None:
    """The record and the committed test predictions of a run; None without them."""
    for record in records.load_records():
        if record["id"] == name and "predictions" in record:
            return record, records.predictions_of(record)
    return None


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's; it needs no weights."""
    networks, texts, found = {}, {}, {}
    for prefix, words in GROUPS.items():
        _, bag = predictions(f"{words}-s0")
        of: dict[str, dict[str, dict]] = {}
        networks[prefix] = {}
        for name in (f"{prefix}-s{one}" for one in studied.SEEDS):
            if (pair := predictions(name)) is None:
                continue
            record, own = pair
            rows = load_corpus(record["spec"]["dataset"]).splits["test"]
            if {own.items, bag.items} != {f"sha256:{content_digest({'test': rows})}"}:
                raise DataError(
                    f"{name} or {words}-s0 has predictions of other texts than are here"
                )
            lengths = np.array([*map(len, rows["tokens"])])
            whole = lengths <= record["settings"]["text"]["max_tokens"]  # not cut
            third = thirds(lengths[whole])
            right = own.right[whole], bag.right[whole]
            for figure, value in statistics(*right, third, seed).items():
                of.setdefault(figure, {})[name] = value
            networks[prefix][name] = {
                "seed": record["spec"]["seed"],
                "predictions": record["predictions"],
            }
        texts[prefix] = {
            "dataset": record["spec"]["dataset"],
            "texts": int(whole.sum()),
            "test texts": len(rows),
            "data": record["data"]["content"],
            "words at most": [int(lengths[whole][third == k].max()) for k in range(3)],
        }
        found[prefix] = {n: studied.over_networks(values) for n, values in of.items()}
    return {
        "paper": "Letarte et al. 2018",
        "says": "The network is agnostic to the length of a text.",
        "measured": "Test accuracy by thirds of the test texts by length, from the committed "
        "predictions, beside a linear bag of words on the same texts; without the texts that are "
        "longer than what the network reads.",
        "unit": "accuracy, a share of the texts",
        "positive": "long − short: more accurate on long texts; network − bag of words: its "
        "accuracy rises more with the length than that of a bag of words",
        "networks": networks,
        "texts": texts,
        "figures": found,
    }
