"""What the page is told of a network, and what the network reads, before a browser runs it."""

import json
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from course_kit.reading_room.pack import NAMES, reads_pieces
from course_kit.research.report.frames import NAMES as DATASETS
from course_lib.data.catalog import card
from course_lib.data.vocabulary import UNKNOWN
from course_lib.faithfulness import DocumentModel, Variant, ask, kendall, whole, words_of
from course_lib.runs import Run
from course_lib.runs.folders import RESULTS
from course_lib.runs.systems.transformer_system import TransformerSystem
from course_lib.views.reading import Attention, Reading

RECEIVED = "the attention that the word receives in the top layer, the mean over heads"
# who reads, the lesson that builds it, and what the tint of a word shows
INTRODUCTIONS = {
    "han": (
        "Hierarchical attention: first over words, then over sentences.",
        "03_han_imdb",
        "the word's share in its sentence times the sentence's share",
    ),
    "sanet": (
        "Self-attention: every word weighs all words.",
        "04_sanet_zhang",
        "not attention alone: how much of the word arrives, through the attention of all blocks, "
        "in the largest values from which the network answers",
    ),
    "iram": (
        "Iterative recursive attention: it looks several times.",
        "05_iram_regularization",
        "the word's weight in the last step, with what reaches that step through the summaries of "
        "earlier steps",
    ),
    "agt": (
        "Attention-gated transformation: a stack of layers, each of which weighs the words anew.",
        "06_agt_compositionality",
        "the word's weight in every layer, times the layer's part in the last state",
    ),
    "transformer": (
        "Self-attention in several heads and layers.",
        "10_to_transformers",
        RECEIVED,
    ),
    "minilm": (
        "A Transformer, trained before on much other text.",
        "11_pretrained",
        RECEIVED,
    ),
}
SHORT = DATASETS | {"movies2": "film sentences"}
# made by benchmarks/reading_room.py
PACKING, TYPED = (RESULTS / "reading_room" / f"{name}.json" for name in ("packing", "pretrained"))


def facts(run: Run) -> dict[str, Any]:
    """What the page says of a network: who it is, what it learned from, how often it is right."""
    record, spec, vectors = run.record, run.record["spec"], run.system.settings.text.vectors
    about, lesson, tint = INTRODUCTIONS[spec["system"]]
    film = " (100-d, trained on film reviews)" * vectors.startswith("reviews")
    return {
        "id": record["id"],
        "title": NAMES.get(spec["system"], spec["system"]),
        "about": about,
        "lesson": lesson,
        "tint": tint,
        "dataset": SHORT.get(spec["dataset"], spec["dataset"].partition("@")[0]),
        "data": card(spec["dataset"]).title,
        "classes": list(run.system.classes),
        "accuracy": record.get("test", {}).get("accuracy"),
        "record": record["id"],
        "vectors": "of its pieces" if reads_pieces(run) else vectors + film,
        "packing": _packing(run),
        "note": "learned from a part of the data" if record["data"]["subset"] else "",
    }


def _packing(run: Run) -> str:
    """How a network's weights are packed, and how far its answers then are from PyTorch's."""
    how = f"{11 if reads_pieces(run) else 12} bits a number in large matrices, 16 in others"
    if reads_pieces(run):
        found = json.loads(TYPED.read_text(encoding="utf-8"))["figures"]["corpora"].values()
        furthest = max(one["largest difference as shipped"] for one in found)
        other = sum(one["other decisions"] for one in found)
        return (
            f"{how}; over {sum(one['texts'] for one in found):,} texts probabilities are at most "
            f"{furthest:.1g} from PyTorch's; other decisions: {other}"
        )
    measured = json.loads(PACKING.read_text(encoding="utf-8"))["figures"].get(run.record["id"])
    if not measured:
        return how
    furthest = measured["largest difference as shipped"]
    found = f"probabilities are at most {furthest['probabilities']:.1g} from PyTorch's"
    if "attention" in furthest:
        found += f", and attention {furthest['attention']:.1g}"
    return f"{how}; over {measured['texts']} test texts, {found}"


def reading(run: Run, text: str) -> dict[str, Any]:
    """A reading as the page's worker sends it, with ``drops``, each word's leave-one-out.

    ``ValueError`` for a text that is longer than the network's cut: the page would show less.
    """
    system, read = run.system, run.system.read(text)
    if read.rest:
        raise ValueError(f"text has {len(read.rest)} words beyond the cut of {run.record['id']}")
    model = DocumentModel(system)
    document = system.cut(text)
    flat = words_of(document)
    document = document if system.reads_sentences else flat
    members = np.asarray(system.in_words(flat, np.eye(len(flat)))[1])  # (words, tokens)
    word = members @ next(iter(model.attention([document]).values()))[0]
    variants = [whole(document), *(Variant(document, member == 0) for member in members)]
    full, *without = ask(model, variants)
    drops = full.max() - np.array(without)[:, full.argmax()]
    # as the page shows them: words that a network cannot tell apart differ by float32's rounding
    word, drops = _rounded(word), _rounded(drops)
    [tau] = kendall([word], [drops])
    known = system.vocabulary.encode(list(read.tokens)) != UNKNOWN
    if reads_pieces(run):
        known = np.array(read.tokens) != "[UNK]"
    return {
        "model": run.record["id"],
        "tokens": read.sentences,
        "known": [part.tolist() for part in read.by_sentence(known)],
        "read": [[True] * len(sentence) for sentence in read.sentences],
        "probabilities": _rounded(read.probabilities),
        "attention": {
            name: {
                "rows": list(view.rows),
                "weights": _rounded(view.weights, 3 if "head" in name else 4),
                "extra": list(view.extra),
                "of": view.over,
            }
            for name, view in (read.attention | _heads(run, flat, members, read)).items()
        },
        "word": word,
        "drops": drops,
        "tau": None if np.isnan(tau) else round(float(tau), 4),
    }


def _heads(run: Run, flat: list[str], members: np.ndarray, read: Reading) -> dict[str, Attention]:
    """Every head of a Transformer, in words as its layers are."""
    if not isinstance(run.system, TransformerSystem) or reads_pieces(run):
        return {}  # a pre-trained network's would fill megabytes
    like = read.attention["layer 1"]
    members = block_diag(members, np.eye(len(like.extra)))
    given = members / members.sum(1, keepdims=True)
    return {
        f"layer {layer} · head {head}": like._replace(weights=given @ alpha.numpy() @ members.T)
        for layer, heads in enumerate(run.system.heads(flat), start=1)
        for head, alpha in enumerate(heads, start=1)
    }


def _rounded(values: np.ndarray, digits: int = 6) -> list:
    return np.round(np.asarray(values, dtype=float), digits).tolist()
