"""HAN: does its recurrent network use more than n-grams?

The words of each sentence are cut into blocks of n, and the blocks change places within their
sentence. Most of the shorter n-grams survive, and longer contexts do not. A network that reads
words one by one loses nothing by it; one that uses contexts longer than n words does.
"""

from collections.abc import Sequence

import numpy as np

from course_kit.research.seed_claims import studied
from course_kit.research.seed_claims.han_erased import right
from course_lib.faithfulness.document_model import DocumentModel
from course_lib.faithfulness.documents import Document, Model, lottery, whole

PREFIX, TEXTS = "han-imdb-compact", 1000
BLOCKS = (1, 2, 3, 5)  # words of a block


def shuffled(document: Document, block: int, seed: int) -> Document:
    """The document with the blocks of each sentence in a random order."""
    random = lottery(document, seed)
    return [_shuffled(list(sentence), block, random) for sentence in document]


def _shuffled(words: Sequence[str], block: int, random: np.random.Generator) -> list[str]:
    blocks = [words[start : start + block] for start in range(0, len(words), block)]
    return [word for place in random.permutation(len(blocks)) for word in blocks[place]]


def statistics(
    model: Model, documents: Sequence[Document], labels: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """By text: whether the network is right on all of it, and with blocks shuffled."""
    found = {"whole": right(model, [*map(whole, documents)], labels)}
    for block in BLOCKS:
        texts = [whole(shuffled(document, block, seed)) for document in documents]
        found[f"blocks of {block} shuffled"] = right(model, texts, labels)
        found[f"whole − blocks of {block} shuffled"] = (
            found["whole"] - found[f"blocks of {block} shuffled"]
        )
    return found


def measure(seed: int = 0) -> studied.Claim:
    """The part of the record that is this claim's."""
    networks = studied.group(PREFIX)
    first = next(iter(networks.values()))
    rows = studied.sample(first.run, TEXTS, seed)
    labels = np.array(rows["label"])
    documents = DocumentModel(first.system).documents(rows)
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, network in networks.items():
        each = statistics(DocumentModel(network.system), documents, labels, seed)
        for figure, values in each.items():
            found.setdefault(figure, {})[name] = values
    return {
        "paper": "Bredy-Maux and Robach 2022",
        "says": "A bidirectional GRU sees more than n-grams.",
        "measured": "Test accuracy of the trained network with the words of each sentence in "
        "blocks of n words, and the blocks in a random order; the network is not trained again.",
        "unit": "accuracy, a share of the reviews",
        "positive": "whole − blocks of n shuffled: the network uses contexts of more than n words",
        "networks": studied.about_networks({PREFIX: networks}),
        "texts": {PREFIX: studied.about_texts(first.run, rows, seed)},
        "figures": {PREFIX: studied.figures(found, seed)},
    }
