"""MiniLM, a pre-trained Transformer, as a system that can be run: fine-tuned, or parts of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import datasets
import numpy as np
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import normalize

from course_lib.data.batches import Documents
from course_lib.data.config import TextConfig
from course_lib.data.encoding import encode_sentences
from course_lib.data.pieces import Pieces, load_pieces, whole_words
from course_lib.data.pretrained import fetch_network
from course_lib.data.readers import clean
from course_lib.data.text import TokenisedText, normalised
from course_lib.data.vocabulary import UNKNOWN
from course_lib.files import file_digest
from course_lib.models.bert import SPECIAL, Bert, BertConfig, from_bert, with_special
from course_lib.models.transformer import TransformerOutput
from course_lib.runs.settings import Settings, SpecError
from course_lib.runs.systems.system import Rows, Text
from course_lib.runs.systems.transformer_system import TransformerSystem
from course_lib.training.config import TrainingConfig
from course_lib.views.reading import Reading

WHOLE = Settings(
    TextConfig(max_tokens=128, vectors="none"),
    BertConfig(),
    TrainingConfig(  # vectors of pieces and positions stay, which saves a quarter of the time
        epochs=3, learning_rate=5e-5, warmup=0.1, patience=3, best_by="accuracy", embedding_rate=0.0
    ),
)


def frozen(rank: int, learning_rate: float) -> Settings:
    """Only a classifier learns, and adapters if they have a ``rank``."""
    return replace(
        WHOLE,
        model=replace(WHOLE.model, frozen=True, rank=rank),
        training=replace(WHOLE.training, learning_rate=learning_rate),
    )


class MiniLMSystem(TransformerSystem):
    """One sequence of pieces, read by MiniLM; a reading shows words, all else takes pieces."""

    network_of = Bert
    special: ClassVar[tuple[str, ...]] = SPECIAL
    presets: ClassVar = {
        "whole": WHOLE,
        "frozen": frozen(0, 3e-3),
        "adapters": frozen(8, 1e-3),
        "untrained": replace(
            WHOLE,
            model=replace(WHOLE.model, pretrained=False),
            training=replace(WHOLE.training, embedding_rate=1.0),
        ),
        "long": replace(WHOLE, text=replace(WHOLE.text, max_tokens=256)),
    }

    @classmethod
    def check(cls, settings: Settings, rows: int | None = None) -> None:
        """Raise ``SpecError`` for settings that do not fit together."""
        super().check(settings, rows)
        most = settings.model.positions - len(SPECIAL)
        if not 0 < settings.text.max_tokens <= most:
            raise SpecError(
                f"text.max_tokens takes 1 to {most} pieces, got {settings.text.max_tokens}: the "
                f"network has {settings.model.positions} positions, two of them for [CLS] and [SEP]"
            )
        if settings.text.vectors != "none":
            raise SpecError("text.vectors must be 'none': the network brings vectors of its own")

    @classmethod
    def remade(cls, settings: Settings) -> bool:
        """Whether the network's files and what is stored make it again."""
        return settings.model.frozen and settings.model.pretrained

    @cached_property
    def folder(self) -> Path:
        """The network's files."""
        return fetch_network("minilm")

    @property
    def pieces(self) -> Pieces:
        """What splits its texts."""
        return load_pieces(self.folder)

    def build(self, rows: Rows, seed: int) -> None:
        """Take the network's vocabulary, and make the network as it is before training."""
        self.vocabulary = self.pieces.vocabulary
        self.model = self.untrained(seed)

    def network(self, embedding: Tensor | None) -> nn.Module:
        """The network as it is before training, with trained weights if the settings say so."""
        model = super().network(embedding)
        if embedding is None and self.settings.model.pretrained:
            path = self.folder / "model.safetensors"
            weights = from_bert(load_file(path))
            unknown = self.vocabulary.encode(["[UNK]"])[0]
            weights["embedding.weight"][UNKNOWN] = weights["embedding.weight"][unknown]
            model.load_state_dict(model.state_dict() | weights)
            self.vectors = [{"name": "minilm", "weights": f"sha256:{file_digest(path)}"}]
        model.set_trainable()
        return model

    def word_attention(self, output: TransformerOutput, mask: Tensor) -> dict[str, Tensor]:
        """As ``TransformerSystem``: what each piece receives of all that the pieces receive."""
        found = super().word_attention(output, self.places(mask))
        pieces = mask.shape[1]
        return {name: normalize(each[:, :pieces], p=1) for name, each in found.items()}

    def places(self, mask: Tensor) -> Tensor:
        """The pieces, then [CLS] and [SEP]."""
        return with_special(mask)

    def encode(self, rows: datasets.Dataset) -> Documents:
        """Ids of the first ``max_tokens`` pieces of each text."""
        most = self.settings.text.max_tokens
        texts = [[pieces[:most]] for pieces in self.pieces.split(rows["text"])]
        documents = encode_sentences(texts, self.vocabulary, flat=True)
        return replace(documents, labels=np.asarray(rows["label"], dtype=np.int64))

    def in_words(self, tokens: Sequence[str], values: np.ndarray) -> tuple[list[str], np.ndarray]:
        """``whole_words``."""
        return whole_words(tokens, values)

    def read_together(self, texts: list[Text]) -> list[Reading]:
        """As ``NeuralSystem.read_together``, in words: a word receives what its pieces receive, and
        what it gives is the mean of what they give (Clark et al. 2019)."""
        return [_of_words(reading) for reading in super().read_together(texts)]

    def fit(self, rows: Rows, seed: int, **options: Any) -> dict[str, Any]:
        """As ``NeuralSystem.fit``, with the share of the pieces that are kept."""
        lengths = np.array(list(map(len, self.pieces.split(rows["validation"]["text"]))))
        kept = np.minimum(lengths, self.settings.text.max_tokens).sum() / max(1, lengths.sum())
        return super().fit(rows, seed, **options) | {"share_of_words_kept": float(kept)}

    def tokenised(self, text: Text) -> TokenisedText:
        """All pieces of a text, in one sentence; tokens are joined by blanks and split again."""
        if isinstance(text, Mapping):
            text = clean(text["text"])
        else:
            text = " ".join(text.tokens) if isinstance(text, TokenisedText) else normalised(text)
        (pieces,) = self.pieces.split([text])
        return TokenisedText(pieces, [len(pieces)] if pieces else [])


def _of_words(reading: Reading) -> Reading:
    attention = {}
    for name, seen in reading.attention.items():
        rows, received = whole_words(seen.rows, seen.weights.T)
        given, pieces = (
            whole_words(seen.rows, v)[1] for v in (received.T, np.ones(len(seen.rows)))
        )
        attention[name] = seen._replace(weights=given / pieces[:, None], rows=tuple(rows))
    words, rest = (
        tuple(whole_words(p, np.ones(len(p)))[0]) for p in (reading.tokens, reading.rest)
    )
    lengths = (len(words),) if words else ()
    return replace(reading, tokens=words, sentence_lengths=lengths, rest=rest, attention=attention)
