"""HAN: do stop words and punctuation, which the report keeps, carry sentiment?"""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.lexicon import is_function_word, is_word
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import (
    Document,
    Model,
    Variant,
    ask,
    lottery,
    whole,
    words_of,
)

PREFIX, TEXTS = "han-imdb-compact", 1000
KINDS: dict[str, Callable[[str], bool]] = {
    "stop words and punctuation": lambda token: is_function_word(token) or not is_word(token),
    "stop words": is_function_word,
    "punctuation": lambda token: not is_word(token),
}


def erased(document: Document, of: Callable[[str], bool]) -> Variant:
    """A document without the tokens that a function names."""
    return Variant(document, np.array([not of(token) for token in words_of(document)], bool))


def randomly_erased(variant: Variant, seed: int) -> Variant:
    """The document with as many tokens erased as in a variant, at random among all."""
    keep = lottery(variant.document, seed).permutation(variant.keep)
    return Variant(variant.document, keep)


def right(model: Model, variants: Sequence[Variant], labels: np.ndarray) -> np.ndarray:
    """Whether the network is right on each, 0 or 1, ``(texts,)``."""
    return (ask(model, variants).argmax(1) == labels).astype(float)


def statistics(
    model: Model, documents: Sequence[Document], labels: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """By text: whether the network is right on all of it, without tokens of some kind, and without
    as many random ones; and the differences."""
    found = {"whole": right(model, [*map(whole, documents)], labels)}
    for name, of in KINDS.items():
        variants = [erased(document, of) for document in documents]
        chance = [randomly_erased(variant, seed) for variant in variants]
        found[f"without {name}"] = right(model, variants, labels)
        found[f"without as many as {name}"] = right(model, chance, labels)
        found[f"{name}: whole − without"] = found["whole"] - found[f"without {name}"]
        found[f"{name}: random − without"] = (
            found[f"without as many as {name}"] - found[f"without {name}"]
        )
    return found


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    networks = studied.group(PREFIX)
    first = next(iter(networks.values()))
    rows = studied.sample(first.run, TEXTS, seed)
    labels = np.array(rows["label"])
    documents = DocumentModel(first.system).documents(rows)
    tokens = [*chain.from_iterable(map(words_of, documents))]
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, network in networks.items():
        each = statistics(DocumentModel(network.system), documents, labels, seed)
        for figure, values in each.items():
            found.setdefault(figure, {})[name] = values
    return {
        "paper": "Bredy-Maux and Robach 2022",
        "says": "Stop words and punctuation carry sentiment, so they are kept.",
        "measured": "Test accuracy of the trained network, on whole reviews (as it cuts them), "
        "without these tokens, and without as many random tokens; it is not trained again.",
        "unit": "accuracy, a share of the reviews",
        "positive": "whole − without: erasing these tokens costs accuracy; random − without: it "
        "costs more than erasing as many random tokens",
        "networks": studied.about_networks({PREFIX: networks}),
        "texts": {PREFIX: studied.about_texts(first.run, rows, seed)},
        "share of tokens": {
            name: round(float(np.mean([*map(of, tokens)])), 4) for name, of in KINDS.items()
        },
        "figures": {PREFIX: studied.figures(found, seed)},
    }
